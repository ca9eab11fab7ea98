-- tables.lua - the generated tables of the reference: support (op x dtype x device x differentiable) and accuracy.
--
-- Called by docs.lua. support() comes from rows and what is known of their derivatives; accuracy() from
-- runtime/ops/gen/accuracy.tsv, which `make accuracy` measures. Both give the lines of a Markdown page.
local M = {}

local function cell(text) return (tostring(text):gsub('|', '\\|')) end

--- What the rules say of a row: yes or no, zero, or through its parts, and the reason or the exception.
local function derivative(yes, why)
  if yes == 'parts' then return 'through its parts' end
  if yes == 'zero' then return 'zero: piecewise constant' end
  if not yes then return 'no: ' .. why end
  return why and 'yes, ' .. why or 'yes'
end

--- Where a row runs. Sizes that depend on values are found on the host.
local function place(row, launches)
  if row.family == 'lua' then return 'as its parts' end
  return launches(row.id) and not row.by_value and 'all' or 'cpu, ref'
end

--- The support table.
---@param rows table[] rows of the op table in order
---@param dtypes table[] rows of dtypes
---@param launches fun(id: integer): boolean whether the family of an op has a form for cards
---@param differentiable fun(row: table): boolean|string, string? mascon.rules' answer
---@return string[] lines
function M.support(rows, dtypes, launches, differentiable)
  local names = {}
  for i, d in ipairs(dtypes) do names[i] = d[1] end
  local out = {
    '# Support', '',
    'Made by `make docs` from the op table. A dot: the dtype is taken as it is; `f`: it is taken as f64 (integers) or '
      .. 'as its float; empty: refused or promoted by the',
    'rules of the array API. Derivative: whether `mc.grad`, `mc.jvp` and kin go through the op for its floating and '
      .. 'complex dtypes, on every device.',
    'Device: `all` is the processor, `ref` (tests), OpenCL and CUDA, the last two for the dtypes that they compute;',
    'an operand elsewhere is an error that names `:to "cpu"`.', '',
    '| op | family | ' .. table.concat(names, ' | ') .. ' | device | derivative | workspace |',
    '|---|---|' .. ('---|'):rep(#names) .. '---|---|---|',
  }
  for _, r in ipairs(rows) do
    local has, marks = {}, {}
    for _, d in ipairs(r.dtypes) do has[d] = true end
    for i, d in ipairs(dtypes) do
      marks[i] = has[d[1]] and '·' or (r.promote == 'float' and d.kind ~= 'c' and has.f64) and 'f' or ' '
    end
    out[#out + 1] = ('| `%s` | %s | %s | %s | %s | %s |'):format(r.namespace and r.namespace .. '.' .. r[1] or r[1],
      r.family, table.concat(marks, ' | '), place(r, launches),
      cell(derivative(differentiable(r))), r.work and ('%g'):format(r.work) or '0')
  end
  return out
end

--- The measured table as records { op, dtype, level, worst, unit, source, values } and the lines of its head.
---@param text string content of accuracy.tsv
function M.read(text)
  local list, head, columns = {}, {}, nil
  for line in text:gmatch '[^\n]+' do
    if line:sub(1, 1) == '#' then head[#head + 1] = line:match '^#%s*(.*)'
    else
      local fields = {}
      for field in (line .. '\t'):gmatch '([^\t]*)\t' do fields[#fields + 1] = field end
      if not columns then columns = fields
      else
        local r = {}
        for i, name in ipairs(columns) do r[name] = fields[i] end
        list[#list + 1] = r
      end
    end
  end
  return list, head
end

--- The accuracy table: one line per function, dtype and source, ISA levels side by side.
---@param text string content of accuracy.tsv
---@param special? table name -> { points, v2, v3 }: worst errors of the special functions against mpmath
---  (tests/golden/accuracy_special.lua)
---@return string[] lines
function M.accuracy(text, special)
  local list, head = M.read(text)
  local out = {
    '# Accuracy', '',
    'Worst errors that were measured, per function, dtype and ISA level. `ulp`: units in the last place of the correct '
      .. 'result. `eps`: errors over the largest',
    'magnitude of the answer, in units of the eps of the dtype (2^-23 for f32 and c64, 2^-52 for f64 and c128). Source '
      .. '`sweep`: tests/c/ulp.c against a wider libm,',
    'f32 exhaustively in `make long`; `golden`: the golden cases of other programs (tests/golden), whose own error is '
      .. 'included. EXACT ops are not listed: they',
    'have none.', '',
  }
  for i = 2, #head do out[#out + 1] = '- ' .. head[i] end
  out[#out + 1] = ''
  out[#out + 1] = '| function | dtype | v2 | v3 | v4 | unit | source | values |'
  out[#out + 1] = '|---|---|---|---|---|---|---|---|'
  local merged, order = {}, {}
  for _, r in ipairs(list) do
    local key = r.op .. '\t' .. r.dtype .. '\t' .. r.source
    if not merged[key] then
      merged[key] = { r = r }
      order[#order + 1] = merged[key]
    end
    merged[key][r.level] = r.worst
  end
  for _, m in ipairs(order) do
    local r = m.r
    out[#out + 1] = ('| `%s` | %s | %s | %s | %s | %s | %s | %s |'):format(r.op, r.dtype, m.v2 or '', m.v3 or '',
      m.v4 or '', r.unit, r.source, r.values == '0' and '' or r.values)
  end
  if special then
    out[#out + 1] = ''
    out[#out + 1] = '## Special functions'
    out[#out + 1] = ''
    out[#out + 1] = 'Worst error found against mpmath, in units in the last place of f64, by ISA level (v4 computes '
      .. 'what v3 does). Where a function oscillates the unit is'
    out[#out + 1] = 'that of its amplitude. f32, f16 and bf16 are the f64 result rounded once.'
    out[#out + 1] = ''
    out[#out + 1] = '| function | points | v2 | v3 |'
    out[#out + 1] = '|---|---|---|---|'
    local names = {}
    for name in pairs(special) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do
      local m = special[name]
      out[#out + 1] = ('| `mc.special.%s` | %d | %s | %s |'):format(name, m.points, m.v2 or m.v3, m.v3 or m.v2)
    end
  end
  return out
end

return M
