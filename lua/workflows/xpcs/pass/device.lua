-- device.lua - the pass on a device: data in its memory, a pass of launches, a few numbers back.
--
-- What is launched stands in kernels/workflows/xpcs/device/two_time.c. Data stay there from pass to pass where they fit
-- into the room that they may take, else they go there block by block in each pass. Sums run in an order that the
-- shape fixes, so neither blocks nor reruns change a bit. On devices without programs of their own (ref) the native
-- pass of the CPU runs.
local mc = require 'mascon'
local lib = require 'mascon.core.ffi'
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

-- ---------------------------------------------------------------- what lies on the device

local resident = setmetatable({}, { __mode = 'k' }) -- data -> { number, y, weight, tiles, times }

--- Forgets what lies on a device of all data but these.
local function clear(number, data)
  for other, r in pairs(resident) do -- which ones go first changes no result
    if other ~= data and r.number == number then
      for _, t in pairs { r.y, r.weight } do t:release() end
      r.y, r.weight = nil, nil
    end
  end
end

local function free(number)
  local m = lib.memory_stats(number)
  return m.limit > 0 and m.limit - m.live or math.huge
end

--- Room that data may take on the device of a placement, bytes.
local function room(place) return place.room or SHARE * free(place.number) end

local function bytes(data)
  return data.packed:numel() * tensor.size[data.packed.dtype] * (data.weight and 2 or 1)
end

--- What of these data lies on the device: tiles and times always, values and weights where they fit.
local function lying(data, place, t)
  local r = resident[data]
  if not r or r.number ~= place.number then
    r = { number = place.number }
    local list = {}
    for k, tile in ipairs(data.tiles) do list[k] = { tile.I, tile.J, tile.at } end
    r.tiles = tensor.outlive(tensor.moved(mc.tensor(list, { dtype = 'i64' }), place.number, 3))
    resident[data] = r
  end
  if not rawequal(r.host_times, t) then
    r.host_times, r.times = t, tensor.outlive(tensor.moved(t:contiguous(), place.number, 3))
  end
  if data.packed and not r.y then
    local need = bytes(data)
    if need > room(place) and not place.room then clear(place.number, data) end
    if need <= room(place) then
      r.y = tensor.outlive(tensor.moved(data.packed, place.number, 3))
      r.weight = data.weight and tensor.outlive(tensor.moved(data.weight, place.number, 3))
    end
  end
  return r
end

--- Blocks of tiles from `from` on, as data:blocks gives them; at most so many values each.
local function blocks(data, from, most)
  local before = data.block_values
  if most then data.block_values = math.min(before or math.huge, most) end
  local each = data:blocks(from)
  data.block_values = before
  return each
end

-- ---------------------------------------------------------------- the pass

--- Values and weights of a block that do not lie on the device, on their way there.
local function brought(r, block)
  if r.y then return {} end
  local function there(t) return t and tensor.moved(t, r.number, 3) end
  return { y = there(block.y), weight = there(block.weight) }
end

--- The state after a block, by launches. v: the numbers of the op xpcs_pass.
local function launched(data, v, r, block, here, state, angles, tables)
  local n, F, count = data.n, data.F, block.holes.shape[1]
  local first, sums = block.first - 1, state.shape[2]
  local y, weight, origin = r.y, r.weight, 0
  if not y then y, weight, origin = here.y, here.weight, data.tiles[block.first].at end
  local waves = v.laminar == 1 and program 'waves'(tables, r.tiles, n, F, first, count) or tables
  local common, each = v.scaling > 0 and 1 or 0, v.scaling == 2 and 1 or 0
  local width = sums_of.count(common == 1 and 'common' or 'fixed', 1)
  local pass = program('pass', v.laminar, common, v.loss > 0 and 1 or 0, data.dtype)
  local parts = pass(y, weight or y, tables, waves, r.tiles, angles, n, F, first, count, origin, each, width, v.kd,
    v.f_scale, weight and 1 or 0, v.loss, v.part)
  return program 'fold'(program 'join'(parts, F, count, each, sums, width), state, count, sums)
end

--- The same by the op, where host memory stands behind the device.
local function hosted(v, r, block, state, angles, theta)
  local function there(t) return tensor.moved(t, r.number, 3) end
  local list = { there(block.y), there(block.holes), r.times, angles, theta, state }
  if block.weight then list[7] = there(block.weight) end
  v.first = block.first - 1
  return op.raw('xpcs_pass', list, v, 1)[1]
end

local function run(data, p, v, physics, count, between)
  local place = p.device
  local own = C.mc_device_hosted(place.number) == 0
  local function there(t) return tensor.moved(t, place.number, 3) end
  local state = there(p.from and p.from.state or mc.zeros { 2, count })
  local r = lying(data, place, p.t)
  local rest -- tables, or the physics
  local angles = there(mc.tensor { data.phi, p.sigma, p.contrast, p.offset })
  if own then
    local gap = data.n > 1 and math.abs(p.t[2]:item() - p.t[1]:item()) / 2 or 0
    rest = program('tables', v.laminar)(r.times, angles, data.n, data.F, math.max(gap, 1e-8), v.ks, physics[1],
      physics[2], physics[3], physics[4], physics[5], physics[6], physics[7], v.scaling > 0 and 1 or 0)
  else rest = there(mc.tensor(physics)) end
  local most = not r.y and data.packed and math.min(BLOCK, math.floor(room(place) / 3 / bytes(data)
    * data.packed:numel())) or nil
  local before = {}
  for block in blocks(data, p.from and p.from.tile or 1, most) do
    -- one block goes there while the launches of the one before it run, which keeps its memory until then
    local here = own and brought(r, block) or {}
    for _, t in pairs(before) do t:release() end
    before = here
    state = mc.scope(function()
      if own then return launched(data, v, r, block, here, state, angles, rest) end
      return hosted(v, r, block, state, angles, rest)
    end)
    data:done(block)
    if between then between(tensor.outlive(tensor.hosted(state)), block.first + block.holes.shape[1]) end
  end
  state = tensor.hosted(state)
  for _, t in pairs(before) do t:release() end
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
  local number = tensor.device_number('xpcs.fit', o.device, 4)
  if number == 0 then return nil end
  local name, auto = tensor.device_name(number), o.fall_back == true or o.fall_back == nil and o.device == 'auto'
  if o.legacy_abs then
    local why = 'legacy_abs has no form on a device'
    if not auto then error(('xpcs: %s; leave it out, or give device = "cpu"'):format(why), 4) end
    table.insert(warnings, ('the pass runs on the CPU: %s'):format(why))
    return nil
  end
  return { number = number, name = name, auto = auto, room = o.max_memory, warnings = warnings }
end

return M
