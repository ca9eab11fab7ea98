-- docs.lua - writes the reference: one Markdown page per namespace, an index, and the table of ops.
--
-- usage: mascon runtime/ops/gen/docs.lua OUT    (run by `make docs` inside the program, since the public names are
--   those the program has)
-- Everything comes from mascon.help: rows of the op table, docstrings, heads of files. Exit status 1 and a list when a
-- public name has no docstring.
local mc = require 'mascon'
local help = require 'mascon.help'
local file = require 'mascon.base.file'

local out = arg[1] or 'build/reference'

local function write(name, lines)
  local ok, why = file.write(out .. '/' .. name, table.concat(lines, '\n') .. '\n')
  if not ok then
    io.stderr:write('docs: ', why, '\n')
    os.exit(1)
  end
end

local function anchor(name) return (name:lower():gsub('[^%w]+', '-')) end

local spaces, order, missing = {}, {}, {}
for _, e in ipairs(help.entries()) do
  if not spaces[e.space] then
    spaces[e.space] = {}
    order[#order + 1] = e.space
  end
  table.insert(spaces[e.space], e)
  if e.failed then missing[#missing + 1] = ('%s cannot be loaded: %s'):format(e.name, e.failed:match '^[^\n]*')
  elseif not e.text then
    local at = type(e.value) == 'function' and debug.getinfo(e.value, 'S')
    missing[#missing + 1] = ('%s has no docstring%s'):format(e.name,
      at and (' (%s:%d)'):format(at.short_src:match '[^/]*/[^/]*$' or at.short_src, at.linedefined) or '')
  end
end

local index =
  { '# mascon ' .. mc.version .. ': reference', '', 'Made by `make docs` from docstrings and the op table.', '' }
for _, space in ipairs(order) do
  local page = { '# ' .. (space == 'mc' and 'mc' or space == 'tensor' and 'Tensor methods' or 'mc.' .. space), '' }
  local count = 0
  for _, e in ipairs(spaces[space]) do
    if e.kind == 'module' then
      for _, line in ipairs(help.lines(e)) do page[#page + 1] = line end
      page[#page + 1] = ''
    else
      count = count + 1
      page[#page + 1] = ('<a id="%s"></a>'):format(anchor(e.name))
      page[#page + 1] = '## `' .. help.signature(e) .. '`'
      page[#page + 1] = ''
      local code = false
      for _, line in ipairs(help.lines(e)) do
        local is_code = line:match '^    %S' ~= nil
        if is_code ~= code then page[#page + 1] = is_code and '```lua' or '```' end
        code = is_code
        page[#page + 1] = is_code and line:sub(5)
          or line:match '^%s%s' and '- ' .. line:gsub('^%s+', '') or line .. '  '
      end
      if code then page[#page + 1] = '```' end
      page[#page + 1] = ''
    end
  end
  write(space .. '.md', page)
  local title = (space == 'mc' or space == 'tensor') and space or 'mc.' .. space
  index[#index + 1] = ('- [%s](%s.md): %d names'):format(title, space, count)
end

local rows = {}
for _, row in pairs(mc.ops) do rows[#rows + 1] = row end
table.sort(rows, function(a, b) -- composed rows have no number of their own
  if a.id ~= b.id then return a.id < b.id end
  return a[1] < b[1]
end)
local ops = { '# Ops', '', '| op | family | dtypes | accuracy | what | source |', '|---|---|---|---|---|---|' }
local function cell(text) return (tostring(text):gsub('|', '\\|')) end
for _, r in ipairs(rows) do
  ops[#ops + 1] = ('| `%s` | %s | %s | %s | %s | %s |'):format(r[1], r.family, table.concat(r.dtypes, ' '), r.tol,
    cell(r.doc), cell(r.source))
end
write('ops.md', ops)

local here = debug.getinfo(1, 'S').source:match '^@(.*)/[^/]*$' or '.'
local tables = dofile(here .. '/tables.lua')
local lib = require 'mascon.core.ffi'
local function launches(id) return lib.C.mc_op_launches(id) == 1 end
write('support.md',
  tables.support(rows, require 'mascon.gen.ops'.dtypes, launches, require 'mascon.rules'.differentiable))
index[#index + 1] = '- [support](support.md): op by dtype, device and derivative'
write('accuracy.md', tables.accuracy(file.read(here .. '/accuracy.tsv') or '',
  dofile(here .. '/../../../tests/golden/accuracy_special.lua')))
index[#index + 1] = '- [accuracy](accuracy.md): worst errors measured, by function, dtype and ISA level'
write('deviations.md', require('mascon.help.deviations').markdown())
index[#index + 1] = '- [deviations](deviations.md): where names of the Python array API differ'
index[#index + 1] = ('- [ops](ops.md): %d rows'):format(#rows)
write('index.md', index)

local total = #help.entries()
if #missing > 0 then
  io.stderr:write(table.concat(missing, '\n'), '\n')
  io.stderr:write(('docs: %d of %d public names lack documentation\n'):format(#missing, total))
  os.exit(1)
end
print(('reference of %d names in %s'):format(total, out))
