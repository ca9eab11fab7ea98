-- cases.lua - golden cases (tests/golden/cases.py says what they are), loaded, run and compared.
--
-- Holds: the reading of cases_<part>.npz, the arguments of one run (a dtype, a layout), the comparison with the answer.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/support/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local json = require 'mascon.base.json'
local sample, tol = support.load 'sample', support.load 'tol'

local M = {}

M.layouts = { 'contiguous', 'transposed', 'strided', 'offset' }
local COMPLEX = { f16 = 'c64', bf16 = 'c64', f32 = 'c64', f64 = 'c128' }
local KIND = sample.kind

--- Names of the files of cases.
function M.parts()
  local out = {}
  local pipe = assert(io.popen(('ls %q'):format(support.folder .. '/golden')))
  for name in pipe:lines() do out[#out + 1] = name:match '^cases_(.*)%.npz$' end
  pipe:close()
  table.sort(out)
  return out
end

--- { cases =, arrays = } of a part.
function M.load(part)
  local arrays = mc.load(support.folder .. '/golden/cases_' .. part .. '.npz')
  local bytes = {}
  for i, b in ipairs(arrays.index:totable()) do bytes[i] = string.char(b) end
  return { cases = json.decode(table.concat(bytes)), arrays = arrays }
end

-- ---------------------------------------------------------------- arguments

--- A copy of t in a memory layout.
local function arrange(t, layout)
  local nd = t.ndim
  if nd == 0 or layout == 'contiguous' then return t:copy() end
  local shape = {}
  for i = 1, nd do shape[i] = t.shape[i] end
  if layout == 'transposed' then
    local order = {}
    for i = 1, nd do order[i] = nd + 1 - i end
    return t:permute_dims(order):copy():permute_dims(order)
  end
  local big, spec = {}, {}
  for i = 1, nd do big[i], spec[i] = shape[i], mc.all end
  if layout == 'strided' then
    big[nd], spec[nd] = 2 * shape[nd], { -1, 1, -2 }
  else -- offset
    big[nd], spec[nd] = shape[nd] + 3, { 3, shape[nd] + 2 }
  end
  local base = mc.zeros(big, { dtype = t.dtype })
  local view = base[spec]
  if t:numel() > 0 then view[mc.ellipsis] = t end
  return view
end

local function argument(file, v, case, dtype, layout)
  if v.a then
    local t = file.arrays[v.a]
    local k = KIND[t.dtype]
    local to = t.dtype
    if dtype ~= 'own' then
      if k == 'c' then to = COMPLEX[dtype] or dtype
      elseif k == 'f' or case.cast == 'all' then to = dtype end
    end
    local u = to == t.dtype and t or t:to { dtype = to }
    return arrange(u, layout)
  end
  if v.n then return tonumber((v.n:gsub('inf', '1e999'))) or 0 / 0 end
  if v.c then return mc.complex(v.c[1], v.c[2]) end
  if v.l then
    local out = {}
    for i, x in ipairs(v.l) do out[i] = argument(file, x, case, dtype, layout) end
    return out
  end
  if v.t then
    local out = {}
    for key, x in pairs(v.t) do out[key] = argument(file, x, case, dtype, layout) end
    return out
  end
  return v.v
end

local function resolve(name)
  local f = mc
  for part in name:gmatch '[^.]+' do f = f[part] end
  return f
end
M.resolve = resolve

--- Row of the op table of a name such as 'linalg.solve'.
function M.row(name)
  local space, short = name:match '^(.*)%.([^.]+)$'
  local row = mc.ops[short or name]
  if row and row.namespace and row.namespace ~= space and space ~= 'special' then return nil end
  return row
end

-- ---------------------------------------------------------------- comparison

local function largest(list)
  local m = 0
  for _, v in ipairs(list) do
    local a = type(v) == 'table' and math.max(math.abs(v.re), math.abs(v.im))
      or type(v) == 'number' and math.abs(v) or 0
    if a < math.huge and a > m then m = a end
  end
  return m
end

local function magnitude(v) return type(v) == 'table' and math.max(math.abs(v.re), math.abs(v.im)) or math.abs(v) end

local function same_tensor(got, want, class, case, terms)
  local gs, ws = table.concat(got.shape, ','), table.concat(want.shape, ',')
  if gs ~= ws then return ('shape {%s}, want {%s}'):format(gs, ws) end
  local x, y = sample.read(got), sample.read(want)
  local kx, ky = KIND[got.dtype], KIND[want.dtype]
  if kx ~= ky and not (kx == 'f' and ky == 'i') then
    return ('dtype %s, want one like %s'):format(got.dtype, want.dtype)
  end
  local size = largest(y)
  for i = 1, #y do
    local w = y[i]
    if kx == 'f' and ky == 'i' then w = tonumber(w) end
    local more = { n = case.terms or terms, scale = case.size or (size > 0 and size or 1) }
    if class == 'ITERATIVE' and (kx == 'f' or kx == 'c') then
      local scale = case.scale == 'element' and magnitude(w) or size
      if scale ~= scale or scale == math.huge then scale = 0 end
      more.bound = (case.units or 64) * tol.kind[got.dtype].eps * scale + tol.kind[got.dtype].tiny
    end
    if (kx == 'f' or kx == 'c') and class ~= 'EXACT' and type(w) == 'number' and math.abs(w) < math.huge then
      local round = sample.round[got.dtype]
      if round and math.abs(round(w)) == math.huge then w = round(w) end -- overflows in this dtype
    end
    local wrong = tol.compare(kx ~= 'f' and kx ~= 'c' and 'EXACT' or class, got.dtype, x[i], w, more)
    if wrong then return ('element %d: %s'):format(i, wrong) end
  end
end

local function same(file, got, want, class, case, terms, path)
  local function fail(text) return (path ~= '' and path .. ': ' or '') .. text end
  if want['nil'] then return got ~= nil and fail(('got %s, want nil'):format(tostring(got))) or nil end
  if want.a then
    local w = file.arrays[want.a]
    if not mc.is_tensor(got) then
      if type(got) == 'boolean' and w.ndim == 0 then
        return got ~= (w:item() ~= false and w:item() ~= 0) and fail(('got %s'):format(tostring(got))) or nil
      end
      return fail(('got %s, want a tensor'):format(tostring(got)))
    end
    local wrong = same_tensor(got, w, class, case, terms)
    return wrong and fail(wrong)
  end
  if want.l or want.t then
    if type(got) ~= 'table' then return fail(('got %s, want a table'):format(tostring(got))) end
    for key, w in pairs(want.l or want.t) do
      local wrong = same(file, got[key], w, class, case, terms, path .. '.' .. tostring(key))
      if wrong then return wrong end
    end
    if want.l and #got ~= #want.l then return fail(('%d results, want %d'):format(#got, #want.l)) end
    return nil
  end
  local w = argument(file, want, case, 'own')
  if type(w) == 'number' then
    if type(got) ~= 'number' then return fail(('got %s, want the number %.17g'):format(tostring(got), w)) end
    local wrong = tol.compare(class, 'f64', got, w,
      { n = case.terms or terms, scale = case.size or math.abs(w), bound = (case.units or 64) * 2 ^ -52 * math.abs(w) })
    return wrong and fail(wrong)
  end
  if got ~= w then return fail(('got %s, want %s'):format(tostring(got), tostring(w))) end
end

--- Dtypes a case runs in.
function M.dtypes(file, case)
  if case.dtypes then return case.dtypes end
  local function floats(v)
    if v.a then return KIND[file.arrays[v.a].dtype] == 'f' or KIND[file.arrays[v.a].dtype] == 'c' end
    for _, x in pairs(v.l or v.t or {}) do if floats(x) then return true end end
    return false
  end
  for _, v in ipairs(case.args) do if floats(v) then return { 'f32', 'f64' } end end
  return { 'own' }
end

local function elements(file, v)
  if v.a then return tonumber(file.arrays[v.a]:numel()) end
  local n = 0
  for _, x in pairs(v.l or v.t or {}) do n = math.max(n, elements(file, x)) end
  return n
end

--- Arguments of a case in a dtype and a layout, and how many there are.
local function arguments(file, case, dtype, layout)
  local args, n = {}, #case.args
  for i, v in ipairs(case.args) do args[i] = argument(file, v, case, dtype, layout) end
  if case.opts then
    n = n + 1
    args[n] = argument(file, case.opts, case, dtype, layout)
  end
  return args, n
end
M.arguments = arguments

--- Calls the op of a case in a dtype and a layout: the results behind true or false (as pcall), terms of the largest
--- operand.
local function call(file, case, dtype, layout)
  local args, n = arguments(file, case, dtype, layout)
  local terms = 1
  for _, v in ipairs(case.args) do terms = math.max(terms, elements(file, v)) end
  return { pcall(resolve(case.op), unpack(args, 1, n)) }, terms
end

local function each_number(file, got, want, case, visit)
  if want.a and mc.is_tensor(got) then
    local w = file.arrays[want.a]
    local x, y = sample.read(got), sample.read(w)
    if KIND[got.dtype] ~= 'f' and KIND[got.dtype] ~= 'c' or #x ~= #y then return end
    local size = math.max(largest(y), case.size or 0)
    for i = 1, #y do visit(x[i], type(y[i]) == 'cdata' and tonumber(y[i]) or y[i], size, got.dtype) end
  elseif (want.l or want.t) and type(got) == 'table' then
    for key, w in pairs(want.l or want.t) do each_number(file, got[key], w, case, visit) end
  end
end

--- How far the results of a case lie from the answer: visit(got, want, largest magnitude of the answer, dtype) for each
--- floating or complex number.
function M.numbers(file, case, dtype, layout, visit)
  local got = call(file, case, dtype, layout)
  if not got[1] then return end
  if case.want.l and not case.listed then
    for i, w in ipairs(case.want.l) do each_number(file, got[i + 1], w, case, visit) end
  else each_number(file, got[2], case.want, case, visit) end
end

--- Runs a case in a dtype and a layout; nil or what is wrong.
function M.run(file, case, dtype, layout)
  local row = M.row(case.op)
  if not row then return case.op .. ': no row of the op table' end
  local got, terms = call(file, case, dtype, layout)
  local class = case.tol or row.tol
  if not got[1] then return tostring(got[2]) end
  if case.want.l and not case.listed then
    for i, w in ipairs(case.want.l) do
      local wrong = same(file, got[i + 1], w, class, case, terms, 'result ' .. i)
      if wrong then return wrong end
    end
    return nil
  end
  return same(file, got[2], case.want, class, case, terms, '')
end

return M
