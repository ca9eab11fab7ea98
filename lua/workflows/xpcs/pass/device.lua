-- device.lua - the pass on a device: data in its memory, a pass of launches, a few numbers back.
--
-- What is launched stands in kernels/workflows/xpcs/device/two_time.c. Data stay there from pass to pass where they fit
-- into the room that they may take, else they go there block by block in each pass. Several devices share the tiles;
-- their sums are added up on the first of them, in the order of the tiles. Sums run in an order that the shape fixes,
-- so neither blocks, devices nor reruns change a bit. On devices without programs of their own (ref) the native pass of
-- the CPU runs.
local mc = require 'mascon'
local lib = require 'mascon.core.ffi'
local devices = require 'mascon.core.devices'
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local check = require 'mascon.core.check'
local text = require 'workflows.xpcs.device_text' -- made from kernels/workflows/xpcs/device
local sums_of = require 'workflows.xpcs.model.sums'
local error = check.error
local C = lib.C
local M = {}

-- share of what a device has free that data may take: the rest is for sums and for others
local SHARE = 3 / 4
-- values of a block that goes to the device and back out of it: those of some hundred tiles of ten angles
local BLOCK = 2 ^ 23
local LANES, PARTS, ANGLE = 128, 4, 7 -- TT_LANES, TT_PARTS, TT_ANGLE of the text

local PASS = [[
    MCD_GROUP_MEMORY double room[TT_ROOM];
    tt_pass(out, y, weight, tables, waves, tiles, angles, n, F, first, count, origin, each, weighted, loss, part, kd,
            f_scale, room);]]
local PREPARE = [[
    MCD_GROUP_MEMORY double room[4 * (TT_CHUNK + 1)];
    const double p[XPCS_P] = { p0, p1, p2, p3, p4, p5, p6 };
    tt_prepare(out, time, angles, n, F, least, ks, p, one, room);]]

-- what mc.kernel takes, by name; LAMINAR, COMMON, ROBUST and VALUE of a text are 0, 0, 0 and double where it has none
local FORMS = {
  tables = { inputs = { 'time f64', 'angles f64' }, lanes = 256, grid = 1, launch = PREPARE,
    values = { 'n i64', 'F i64', 'least f64', 'ks f64', 'p0 f64', 'p1 f64', 'p2 f64', 'p3 f64', 'p4 f64', 'p5 f64',
      'p6 f64', 'one i32' },
    shape = function(_, _, n, F) return { 8 * n + ANGLE * F } end },
  waves = { inputs = { 'tables f64', 'tiles i64' }, lanes = LANES, values = { 'n i64', 'F i64', 'first i64',
    'count i64' }, launch = 'tt_waves(out, tables, tiles, n, F, first, count);',
    shape = function(_, _, n, F, _, count) return { 2 * F * (n + count) } end,
    grid = function(_, _, n, F, _, count) return math.ceil(F * (n + count) / LANES) end },
  pass = { lanes = LANES, launch = PASS,
    values = { 'n i64', 'F i64', 'first i64', 'count i64', 'origin i64', 'each i64', 'width i64', 'kd f64',
      'f_scale f64', 'weighted i32', 'loss i32', 'part i32' },
    shape = function(_, _, _, _, _, _, _, F, _, count, _, each, width)
      return { count * PARTS, each == 1 and F or 1, width }
    end,
    grid = function(_, _, _, _, _, _, _, F, _, count, _, each) return { count * PARTS, each == 1 and F or 1 } end },
  join = { inputs = { 'parts f64' }, lanes = LANES, values = { 'F i64', 'count i64', 'each i64', 'sums i64',
    'width i64' }, launch = 'tt_join(out, parts, F, count, each, sums, width);',
    shape = function(_, _, count, _, sums) return { count * sums } end },
  fold = { inputs = { 'tile f64', 'state f64' }, lanes = 64, values = { 'count i64', 'sums i64' },
    launch = 'tt_fold(out, tile, state, count, sums);',
    shape = function(_, _, _, sums) return { 2, sums } end,
    grid = function(_, _, _, sums) return math.ceil(sums / 64) end },
}

local made = {}
--- A program for a kind of pass.
local function program(name, laminar, common, robust, dtype)
  local key = ('#define LAMINAR %d\n#define COMMON %d\n#define ROBUST %d\n#define VALUE %s\n'):format(laminar or 0,
    common or 0, robust or 0, dtype == 'f32' and 'float' or 'double')
  local full = name .. key
  if not made[full] then
    local o = { name = 'tt_' .. name .. '_kernel', head = key .. text, outputs = { 'out f64' } }
    for k, v in pairs(FORMS[name]) do o[k] = v end
    if name == 'pass' then
      o.inputs = { 'y ' .. dtype, 'weight ' .. dtype, 'tables f64', 'waves f64', 'tiles i64', 'angles f64' }
    end
    made[full] = mc.kernel(o)
  end
  return made[full]
end

-- ---------------------------------------------------------------- what lies on the devices

-- Data in memory are cut into pieces of whole tiles, which the devices take in turn: one piece where there is one
-- device. A piece lies on its device from pass to pass where all pieces of that device fit.
local PIECES = 4 -- a device at least, so that none waits long for the last piece

local resident = setmetatable({}, { __mode = 'k' }) -- data -> { of (names), pieces, on }

--- Forgets what lies on a device of all data but these.
local function clear(number, data)
  for other, r in pairs(resident) do -- which ones go first changes no result
    for _, piece in ipairs(other ~= data and r.pieces or {}) do
      if piece.number == number then
        for _, t in pairs { piece.y, piece.weight } do t:release() end
        piece.y, piece.weight = nil, nil
      end
    end
  end
end

local function free(number)
  local m = lib.memory_stats(number)
  return m.limit > 0 and m.limit - m.live or math.huge
end

--- Room that data may take on a device of a placement, bytes.
local function room(place, number) return place.room or SHARE * free(number) end

--- Bytes of some values with their weights.
local function bytes(data, values) return values * tensor.size[data.dtype] * (data.weight and 2 or 1) end

--- The pieces of data in memory, and their devices.
local function cut(data, numbers)
  local tiles, list, count = data.tiles, {}, #numbers
  local total = tiles[#tiles].at + tiles[#tiles].values
  local most = count > 1 and math.min(BLOCK, math.ceil(total / count / PIECES)) or math.huge
  for k, tile in ipairs(tiles) do
    local piece = list[#list]
    if not piece or piece.values + tile.values > most then
      piece = { first = k, number = numbers[#list % count + 1], at = tile.at, values = 0 }
      list[#list + 1] = piece
    end
    piece.last, piece.values = k, piece.values + tile.values
  end
  return list
end

--- Brings the pieces of a device there where they fit.
local function fill(data, place, pieces, number)
  local need, missing = 0, false
  for _, piece in ipairs(pieces) do
    if piece.number == number and not piece.y then need, missing = need + bytes(data, piece.values), true end
  end
  if not missing then return end
  if need > room(place, number) and not place.room then clear(number, data) end
  if need > room(place, number) then return end
  for _, piece in ipairs(pieces) do
    if piece.number == number and not piece.y then
      local range = { { piece.at + 1, piece.at + piece.values } }
      local function there(t) return t and tensor.outlive(mc.scope(tensor.moved, t[range], number, 3)) end
      piece.y, piece.weight = there(data.packed), there(data.weight)
    end
  end
end

--- What of these data lies on the devices: tiles and times always, values and weights where they fit. Returns pieces
--- (nil: the values are in a file) and, by number of the device, { number, tiles, times }.
local function lying(data, place, t)
  local r = resident[data]
  if not r or r.of ~= place.name then
    r = { of = place.name, pieces = data.packed and cut(data, place.numbers), on = {} }
    local list = {}
    for k, tile in ipairs(data.tiles) do list[k] = { tile.I, tile.J, tile.at } end
    local tiles = mc.tensor(list, { dtype = 'i64' })
    for _, number in ipairs(place.numbers) do
      r.on[number] = r.on[number] or { number = number, tiles = tensor.outlive(tensor.moved(tiles, number, 3)) }
    end
    resident[data] = r
  end
  for number, here in pairs(r.on) do -- in any order: each device for itself
    if not rawequal(here.host_times, t) then
      here.host_times, here.times = t, tensor.outlive(tensor.moved(t:contiguous(), number, 3))
    end
    if r.pieces then fill(data, place, r.pieces, number) end
  end
  return r.pieces, r.on
end

--- Blocks of tiles from a tile on with the device of each and its values there, if they lie there: in the order of the
--- tiles, whole within a piece.
local function blocks(data, place, from, pieces)
  if not pieces then
    local k, each = 0, data:blocks(from)
    return function()
      k = k + 1
      return each(), place.numbers[(k - 1) % #place.numbers + 1], {}
    end
  end
  local k, each = 0, nil
  local function following()
    local block = each and each()
    if block then return block, pieces[k].number, pieces[k] end
    repeat k = k + 1 until not pieces[k] or pieces[k].last >= from
    local piece = pieces[k]
    if not piece then return nil end
    local most = not piece.y and math.min(BLOCK, math.floor(room(place, piece.number) / 3 / bytes(data, 1))) or nil
    each = data:blocks(math.max(from, piece.first), piece.last, most)
    return following()
  end
  return following
end

-- ---------------------------------------------------------------- the pass

--- What a pass takes on a device beside the data: angles, and tables of times or the physics.
local function prepared(data, p, v, physics, here)
  local function there(t) return tensor.moved(t, here.number, 3) end
  local with = { angles = there(mc.tensor { data.phi, p.sigma, p.contrast, p.offset }) }
  if C.mc_device_hosted(here.number) ~= 0 then
    with.theta = there(mc.tensor(physics))
    return with
  end
  local gap = data.n > 1 and math.abs(p.t[2]:item() - p.t[1]:item()) / 2 or 0
  with.tables = program('tables', v.laminar)(here.times, with.angles, data.n, data.F, math.max(gap, 1e-8), v.ks,
    physics[1], physics[2], physics[3], physics[4], physics[5], physics[6], physics[7], v.scaling > 0 and 1 or 0)
  return with
end

--- Sums of each tile of a block, by launches. v: the numbers of the op xpcs_pass.
local function launched(data, v, job, here, with, sums)
  local block, n, F, count = job.block, data.n, data.F, job.count
  local first = block.first - 1
  local y, weight, tiles = job.y, job.weight, here.tiles
  local waves = v.laminar == 1 and program 'waves'(with.tables, tiles, n, F, first, count) or with.tables
  local common, each = v.scaling > 0 and 1 or 0, v.scaling == 2 and 1 or 0
  local width = sums_of.count(common == 1 and 'common' or 'fixed', 1)
  local pass = program('pass', v.laminar, common, v.loss > 0 and 1 or 0, data.dtype)
  local parts = pass(y, weight or y, with.tables, waves, tiles, with.angles, n, F, first, count, job.origin, each,
    width, v.kd, v.f_scale, weight and 1 or 0, v.loss, v.part)
  return program 'join'(parts, F, count, each, sums, width)
end

--- The state after a block by the op, where host memory stands behind the device.
local function hosted(v, job, here, with, state)
  local function there(t) return tensor.moved(t, here.number, 3) end
  local list = { there(job.block.y), there(job.block.holes), here.times, with.angles, with.theta, there(state) }
  if job.block.weight then list[7] = there(job.block.weight) end
  v.first = job.block.first - 1
  return op.raw('xpcs_pass', list, v, 1)[1]
end

local function run(data, p, v, physics, count, between)
  local place = p.device
  local home = place.numbers[1] -- where the sums of tiles are added up, in their order
  local own = C.mc_device_hosted(home) == 0
  local state = tensor.moved(p.from and p.from.state or mc.zeros { 2, count }, home, 3)
  local pieces, on = lying(data, place, p.t)
  local with, waiting = {}, {}
  for number, here in pairs(on) do with[number] = prepared(data, p, v, physics, here) end
  --- Begins a block on its device: nothing waits there. What does not lie there goes there.
  local function begun(block, number, piece)
    local job = { block = block, number = number, count = block.holes.shape[1], y = piece.y, weight = piece.weight,
      origin = piece.at }
    if not own then return job end
    if not job.y then
      job.origin = data.tiles[block.first].at
      job.y, job.weight = tensor.moved(block.y, number, 3), block.weight and tensor.moved(block.weight, number, 3)
      job.brought = { job.y, job.weight }
    end
    job.tiles = mc.scope(launched, data, v, job, on[number], with[number], count)
    data:done(block)
    return job
  end
  --- Adds the sums of a block that began to the state.
  local function added(job)
    state = mc.scope(function()
      if not own then return hosted(v, job, on[job.number], with[job.number], state) end
      return program 'fold'(tensor.moved(job.tiles, home, 3), state, job.count, count)
    end)
    for _, t in pairs(job.brought or {}) do t:release() end
    if own then job.tiles:release() else data:done(job.block) end
    if between then between(tensor.outlive(tensor.hosted(state)), job.block.first + job.count) end
  end
  -- a block on each device, and the next one goes there while it is computed
  for block, number, piece in blocks(data, place, p.from and p.from.tile or 1, pieces) do
    waiting[#waiting + 1] = begun(block, number, piece)
    if #waiting > #place.numbers then added(table.remove(waiting, 1)) end
  end
  for _, job in ipairs(waiting) do added(job) end
  state = tensor.hosted(state)
  return (state[1] + state[2]):totable()
end

--- Sums of a pass on the device of p.device, in the order of pass.lua. Nil where `auto` took the device and it fails:
--- the warnings of the fit say so, and this pass and the next ones are left to the CPU.
---@param data mascon.xpcs.Data
---@param p table as for pass.run, with device: of M.place
---@param v table the numbers of the op xpcs_pass
---@param physics number[] 7 of them
---@param count integer sums
---@return number[]|nil
function M.run(data, p, v, physics, count)
  local place, outside = p.device, false
  if place.left then return nil end
  local between = p.between and function(state, tile)
    outside = true
    p.between(state, tile)
    outside = false
  end
  local ok, sums = pcall(mc.scope, function() return run(data, p, v, physics, count, between) end)
  if ok then return sums end
  local why = tostring(sums)
  if outside or not place.auto or check.stopped(sums) then error(sums, 0) end
  place.left = true
  table.insert(place.warnings, ('the passes run on the CPU, since %s failed: %s'):format(place.name,
    (why:match '^[^\n]*')))
  return nil
end

-- ---------------------------------------------------------------- which device

--- Where a fit computes: nil for the CPU.
---@param o table options of the fit: device, fall_back, max_memory, legacy_abs
---@param warnings string[] which says why `auto` stays on the CPU
function M.place(o, warnings)
  local numbers = devices.numbers('xpcs.fit', o.device, 4)
  if numbers[1] == 0 then return nil end
  local name, auto = devices.names(numbers), o.fall_back == true or o.fall_back == nil and o.device == 'auto'
  if o.legacy_abs then
    local why = 'legacy_abs has no form on a device'
    if not auto then error(('xpcs: %s; leave it out, or give device = "cpu"'):format(why), 4) end
    table.insert(warnings, ('the pass runs on the CPU: %s'):format(why))
    return nil
  end
  return { numbers = numbers, name = name, auto = auto, room = o.max_memory, warnings = warnings }
end

return M
