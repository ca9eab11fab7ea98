-- help/init.lua - documentation of every public name: from its row of the op table, the comment above its definition,
-- or its file's head.
--
-- Holds the list of public names (walked from the public table, never written down), the reading of docstrings and
-- their layout as text. `?name` and `??text` at the prompt, help(value), and the reference page
-- (runtime/ops/gen/docs.lua) all stand on entries(). Source files are read when help is asked for.
local mc = require 'mascon'
local op = require 'mascon.core.op'
local into = require 'mascon.core.into'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local file = require 'mascon.base.file'
local workflow = require 'mascon.base.workflow'
local classes = require 'mascon.help.classes'
local spaces = require 'mascon.core.lazy'

local M = {}

-- ---------------------------------------------------------------- source files

local lines_of = {}
local function lines(source)
  local path = source:sub(1, 1) == '@' and source:sub(2) or nil
  if not path then return {} end
  if not lines_of[path] then
    local list = {}
    for line in ((file.read(path) or '') .. '\n'):gmatch '([^\n]*)\n' do list[#list + 1] = line end
    lines_of[path] = list
  end
  return lines_of[path]
end

--- The comment that ends above line `at`, from its first line with three dashes on (those after it may have two), or
--- nil.
local function comment_above(list, at)
  local out, begun = {}, nil
  for i = at - 1, 1, -1 do
    local dashes, text = (list[i] or ''):match '^%s*(%-%-%-?)%s?(.*)$'
    if not dashes then break end
    table.insert(out, 1, text)
    if dashes == '---' then begun = #out end
  end
  if not begun then return nil end
  for _ = begun + 1, #out do table.remove(out, 1) end
  return out
end

--- Line that defines `name` in a file: function X.name, X.name = or a list of names on the left of =.
local function definition(list, name)
  local plain = name:gsub('%p', '%%%0')
  for i, line in ipairs(list) do
    local left = line:match '^%s*function%s+([%w_.:]+)' or line:match '^%s*([%w_.][%w_., ]*)=[^=]' or ''
    if (left .. ','):find('[%w_][.:]' .. plain .. '%s*,') then return i end
  end
end

--- Comment at the head of a file, without the dashes.
local function head(path)
  local out = {}
  for _, line in ipairs(lines('@' .. path)) do
    local text = line:match '^%-%-%-?%s?(.*)$'
    if not text then break end
    out[#out + 1] = text
  end
  if out[1] then out[1] = out[1]:gsub('^%S+%s+[-:]+%s+', ''):gsub('^[%w_.]+:%s+', '') end
  return out[1] and out or nil
end

-- ---------------------------------------------------------------- one entry

local function parameters(f)
  local info = debug.getinfo(f, 'u')
  local names = {}
  for i = 1, info.nparams or 0 do names[i] = debug.getlocal(f, i) end
  if names[#names] == 'extra' then names[#names] = nil end -- there to be refused
  if info.isvararg then names[#names + 1] = '...' end
  return names
end

local OPERANDS = { { 'x' }, { 'a', 'b' }, { 'a', 'b', 'c' } }

--- Text of an op from its row: what it computes, dtypes, parameters, other spellings, source.
local function of_row(row)
  local operands = row.operands or (row.nin == 255 and { row.nout and 'list' or 'tensors' }) or OPERANDS[row.nin] or {}
  local text = { row.doc .. '.' }
  if row.expr and row.expr:gsub('[%s()]', '') ~= row.doc:gsub('[%s()]', '') then
    text[#text + 1] = 'Formula: ' .. row.expr
  end
  text[#text + 1] = 'dtypes: ' .. table.concat(row.dtypes, ', ')
    .. (row.promote == 'float' and ' (integers become f64)' or '')
  if row.result and row.result ~= 'same' then
    text[#text + 1] = 'Result: ' .. (row.result == 'real' and 'real dtype of the operand' or row.result)
  end
  local names = {}
  for i, v in ipairs(operands) do names[i] = v end
  local options = {}
  for _, p in ipairs(row.params or {}) do
    local kind = type(p[2]) == 'table' and table.concat(p[2], '|') or p[2]
    options[#options + 1] =
      ('  %s (%s)%s'):format(p[1], kind, p[3] ~= nil and (', default %s'):format(tostring(p[3])) or '')
  end
  if row.base then options[#options + 1] = '  base (0|1), default 1: positions count from it' end
  if row.family ~= 'random' and not row.nout then options[#options + 1] = '  out (tensor): takes the result' end
  if options[1] then
    names[#names + 1] = 'opts'
    text[#text + 1] = 'Options:'
    for _, line in ipairs(options) do text[#text + 1] = line end
  end
  local also = {}
  for _, a in ipairs(row.alias or {}) do also[#also + 1] = a end
  if row.method ~= false then
    also[#also + 1] = operands[1] and ('%s:%s(%s)'):format(operands[1], row[1], table.concat(operands, ', ', 2)) or nil
  end
  if row.inplace then
    also[#also + 1] = ('%s:%s_(%s) in place'):format(operands[1], row[1], table.concat(operands, ', ', 2))
  end
  if also[1] then text[#text + 1] = 'Also: ' .. table.concat(also, ', ') end
  for _, line in ipairs(type(row.example) == 'string' and { row.example } or row.example or {}) do
    text[#text + 1] = '    ' .. line
  end
  text[#text + 1] = 'Accuracy class: ' .. row.tol .. (row.ctol and (' (complex ' .. row.ctol .. ')') or '')
  if row.work then
    text[#text + 1] = ('Workspace: up to %g times the operands in the dtype of their arithmetic'):format(row.work)
  end
  text[#text + 1] = 'Source: ' .. row.source
  return text, names
end

--- Rows by the functions made from them.
local row_of = setmetatable({}, { __index = op.added })
for name, f in pairs(op.functions) do row_of[f] = op.rows[name] or row_of[f] end

--- Comment about function `f` called `name`: above the line that begins it, else above the line of its file that
--- defines the name.
local function comment_of(f, name)
  local info = debug.getinfo(f, 'S')
  if info.what == 'C' or info.source:sub(1, 1) ~= '@' then return nil end
  local list = lines(info.source)
  local first = list[info.linedefined] or ''
  local plain = name:gsub('%p', '%%%0')
  local own = (first:find('[.:%s]' .. plain .. '%s*[(=]') or first:find '^%s*function%s'
    or first:find '^%s*local%s+function%s') and comment_above(list, info.linedefined)
  if own then return own end
  local at = definition(list, name)
  local above = at and comment_above(list, at)
  if above or not first:find '%[[%w_]+%]%s*=' then return above or nil end
  -- several names made in one loop share the comment above it
  for i = info.linedefined, 1, -1 do
    if list[i]:find '^%S' then return list[i]:find '^for ' and comment_above(list, i) or nil end
  end
end

--- The function behind a name: a composed op's stub stands for the function of the row's module, one that takes out=
--- for the one it calls.
local function behind(f)
  local row = row_of[f]
  local g = f
  if row then
    local ok, composed = check.try(op.composed, row)
    g = ok and composed or f
  end
  return into.behind[g] or g
end

--- A comment that ends its first sentence with "; see MODULE" is continued by that of the same name there.
local function followed(text, name)
  local module = text and text[1]:match '; see (%l[%w_]*%.[%w_.]*%w)'
  local path = module and package.searchpath(module, package.path)
  local list = path and lines('@' .. path)
  local at = list and definition(list, name)
  local more = at and comment_above(list, at)
  if not more then return text end
  for i = 2, #text do -- what stands here stays, but what that says too
    if not text[i]:find '^@' then more[#more + 1] = text[i] end
  end
  return more
end

local function describe_own(f, name)
  local real = behind(f)
  if row_of[f] and real ~= f then return comment_of(real, row_of[f][1]) or of_row(row_of[f]), parameters(real) end
  f = real
  local text = comment_of(f, name)
  local row = row_of[f]
  if text then return text, row and select(2, of_row(row)) or parameters(f) end
  if row then return of_row(row) end
  local method = tensor.methods[name] -- mc.reshape(x, ...) is the method x:reshape(...)
  if method and method ~= f then
    method = behind(method)
    local m = comment_of(method, name)
    if m then return m, parameters(method) end
  end
  return nil, parameters(f)
end

local function describe(f, name)
  local text, args = describe_own(f, name)
  return followed(text, name), args
end

--- Comment above the definition of a table of functions (a distribution), found in the file of the namespace that
--- defines it, and its names.
local function of_table(module, name, value)
  local names = {}
  for k in pairs(value) do names[#names + 1] = k end
  table.sort(names)
  for at, part in pairs(package.loaded) do
    if part == value then return head(package.searchpath(at, package.path) or '') end -- a module of its own
    if type(part) == 'table' and at:sub(1, #module + 1) == module .. '.' and rawget(part, name) == value then
      local list = lines('@' .. (package.searchpath(at, package.path) or ''))
      local line = definition(list, name)
      local text = line and comment_above(list, line)
      if text then
        text[#text + 1] = 'Functions: ' .. table.concat(names, ', ')
        return text
      end
    end
  end
end

-- ---------------------------------------------------------------- all entries

--- Names of a table that load when first touched: the tables LAZY (namespaces) and FROM (names) in its __index.
local function lazy_names(t)
  local found, index = {}, (getmetatable(t) or {}).__index
  for i = 1, type(index) == 'function' and 60 or 0 do
    local name, v = debug.getupvalue(index, i)
    if not name then break end
    if name == 'LAZY' or name == 'FROM' then found[name] = v end
  end
  return found.LAZY or {}, found.FROM or {}
end

local function sorted(t)
  local out = {}
  for k in pairs(t) do if type(k) == 'string' and k:sub(1, 1) ~= '_' then out[#out + 1] = k end end
  table.sort(out)
  return out
end

local function callable(v)
  return type(v) == 'function' or (type(v) == 'table' and (getmetatable(v) or {}).__call ~= nil)
end

--- The functions of a table of functions: mc.meeg.raw.open, mc.stats.norm.sf. Those of distributions have one text.
local function add_parts(add, space, inner, t, whole)
  for _, k in ipairs(sorted(t)) do
    local f = t[k]
    if type(f) == 'function' then
      local text, args = describe(f, k)
      if not text and whole then text = { ('One of the functions of mc.%s.%s.'):format(space, inner),
        unpack(whole) } end
      if text then
        add { name = ('mc.%s.%s.%s'):format(space, inner, k), kind = 'part', value = f, text = text, args = args,
          space = space }
      end
    end
  end
end

local CONSTANTS = {
  pi = 'The number 3.14159...: half the turn of a circle, in radians.',
    e = 'The base of the natural logarithm, 2.71828...',
  inf = 'Infinity.', nan = 'Not a number: the result of 0/0. It is not equal to itself; see mc.isnan.',
  none = 'What stands for "absent" in nested tables and lists, where Lua has no nil.',
  all = 'The whole of an axis in an index, x[{ mc.all, 1 }]; called, mc.all(x, axis): whether all elements are true.',
  newaxis = 'A new axis of size 1 in an index: x[{ mc.newaxis, mc.ellipsis }].',
  ellipsis = 'All axes that an index does not name: x[{ mc.ellipsis, 1 }].',
    version = 'Version of the library, a text.',
}

local all, there -- the list, and the workflows it was made with
--- Some value of a table is a function, in whatever order its keys come.
local function holds_functions(t)
  for _, v in pairs(t) do if type(v) == 'function' then return true end end
  return false
end

--- Every public name once: { name = 'mc.fft.rfft', kind = 'function' | 'method' | 'property' | 'module' | 'table',
--- value =, text = lines or nil, args = names or nil, space = 'fft' }. Modules that cannot be loaded stand with
--- `failed`.
---@return table list sorted by name within each space
function M.entries()
  local found = table.concat(workflow.names(), ' ') -- a workflow may have come since
  if all and found == there then return all end
  there = found
  local list, seen = {}, {}
  local function add(e)
    if not seen[e.name] then
      seen[e.name] = true
      list[#list + 1] = e
    end
  end
  local modules, from = lazy_names(mc)
  local lazy = {}
  for k, module in pairs(modules) do lazy[k] = module end
  for _, name in ipairs(workflow.names()) do lazy[name] = workflow.find(name) end
  for k in pairs(from) do local _ = mc[k] end
  for _, k in ipairs(sorted(mc)) do
    local v = mc[k]
    if type(v) == 'function' then
      local text, args = describe(v, k)
      add { name = 'mc.' .. k, kind = 'function', value = v, text = text, args = args, space = 'mc' }
    end
  end
  for _, k in ipairs(sorted(CONSTANTS)) do
    add { name = 'mc.' .. k, kind = 'constant', value = mc[k], text = { CONSTANTS[k] }, space = 'mc' }
  end
  for _, space in ipairs(sorted(lazy)) do
    local ok, module = check.try(function() return mc[space] end)
    local path = package.searchpath(lazy[space], package.path)
    if not ok then
      add { name = 'mc.' .. space, kind = 'module', space = space, failed = tostring(module) }
    else
      add { name = 'mc.' .. space, kind = 'module', value = module, text = path and head(path), space = space }
      local tables, parts = lazy_names(module)
      for k in pairs(parts) do local _ = module[k] end
      for _, inner in ipairs(sorted(tables)) do -- namespaces within: mc.meeg.raw.open
        local t = module[inner]
        for _, k in ipairs(sorted(t)) do
          if type(t[k]) == 'function' then
            local text, args = describe(t[k], k)
            add { name = ('mc.%s.%s.%s'):format(space, inner, k), kind = 'function', value = t[k], text = text,
              args = args, space = space }
          end
        end
        for _, k in ipairs(sorted(rawget(t, 'methods') or {})) do -- of the objects it makes
          local text, args = describe(t.methods[k], k)
          add { name = ('%s:%s'):format(inner, k), kind = 'method', value = t.methods[k], text = text,
            args = { unpack(args or {}, 2) }, space = space }
        end
      end
      for _, k in ipairs(sorted(module)) do
        local v = module[k]
        if callable(v) and type(v) == 'function' then
          local text, args = describe(v, k)
          add { name = ('mc.%s.%s'):format(space, k), kind = 'function', value = v, text = text,
            args = args, space = space }
        elseif type(v) == 'table' and holds_functions(v) then
          local whole = of_table(lazy[space], k, v)
          add { name = ('mc.%s.%s'):format(space, k), kind = 'table', value = v, text = whole, space = space }
          add_parts(add, space, k, v, whole)
        end
      end
    end
  end
  for _, k in ipairs(sorted(tensor.methods)) do
    local v = tensor.methods[k]
    local text, args = describe(v, k)
    local base = k:match '^(.*)_$'
    if not text and base and tensor.methods[base] then
      text = { ('%s in place: the result goes into the tensor, which is returned.'):format(base) }
      args = parameters(v)
    end
    local rest = {}
    for i = 2, #(args or {}) do rest[#rest + 1] = args[i] end
    add { name = 'x:' .. k, kind = 'method', value = v, text = text, args = rest, space = 'tensor' }
  end
  -- a second name of one function shares its text
  local said = {}
  for _, e in ipairs(list) do if e.text and type(e.value) == 'function' then said[e.value] = e end end
  for _, e in ipairs(list) do
    local first = not e.text and said[e.value]
    if first then
      e.text = { ('Another name of %s.'):format(first.name), unpack(first.text) }
    end
  end
  all = list
  return list
end

local types, types_of -- the list, and the entries it was made with
--- Types that docstrings name, and their methods: mascon.plot.Axes, Axes:line.
local function type_entries()
  local entries = M.entries()
  if types_of ~= entries then types, types_of = classes.list(entries, comment_above), entries end
  return types
end

--- The type, or the method of one, of a name: mascon.Fit, mc.plot.Axes, Axes:line.
local function find_type(name)
  if not name:find '%u' then return nil end
  local wanted = name:gsub('^mc(%.)', 'mascon%1')
  for _, e in ipairs(type_entries()) do
    if e.name == wanted or e.kind == 'class' and e.name:match '[^.]*$' == wanted then return e end
  end
end

-- ---------------------------------------------------------------- as text

--- Name with its arguments, as it is called.
---     mc.help.signature({ name = 'mc.hypot', args = { 'a', 'b' } })  --> mc.hypot(a, b)
---@param entry table
---@return string
function M.signature(entry)
  local ok = type(entry.name) == 'string' and (entry.args == nil or type(entry.args) == 'table')
  for _, name in ipairs(ok and entry.args or {}) do ok = ok and type(name) == 'string' end
  if not ok then
    error('help.signature: the entry has no name, or arguments that are no names; give ' ..
      "{ name = 'f', args = { 'x' } }", 2)
  end
  if not entry.args then return entry.name end
  return ('%s(%s)'):format(entry.name, table.concat(entry.args, ', '))
end

--- The docstring of an entry as plain lines: annotations become words.
---@param entry table
---@return string[]
function M.lines(entry)
  local out = {}
  for _, line in ipairs(entry.text or {}) do
    local name, rest = line:match '^@param%s+(%S+)%s+(.*)$'
    local back = line:match '^@return%s+(.*)$'
    if name then out[#out + 1] = ('  %s: %s'):format(name, rest)
    elseif back then out[#out + 1] = '  returns ' .. back
    elseif not line:match '^@' then out[#out + 1] = line end
  end
  return out
end

--- Whether a function of a table is named by the text of that table, as those of distributions are.
local function said_of(e, group)
  return e.kind == 'part' and e.text and e.text[1] == ('One of the functions of %s.'):format(group)
end

local function page(entry)
  local out = { M.signature(entry) }
  if entry.failed then out[2] = '  cannot be loaded: ' .. entry.failed end
  for _, line in ipairs(M.lines(entry)) do out[#out + 1] = '  ' .. line end
  if not entry.text and not entry.failed then out[#out + 1] = '  no documentation is written for it' end
  if entry.kind == 'module' and entry.value then
    local groups, order = {}, {}
    for _, e in ipairs(M.entries()) do
      local group, name = e.name:match '^(.*)%.([^.]*)$'
      if e.space == entry.space and (e.kind == 'function' or e.kind == 'part') and not said_of(e, group) then
        if not groups[group] then groups[group], order[#order + 1] = {}, group end
        table.insert(groups[group], name)
      end
    end
    table.sort(order)
    for _, group in ipairs(order) do
      out[#out + 1] = ('  Functions%s: %s'):format(group == entry.name and '' or ' of ' .. group,
        table.concat(groups[group], ', '))
    end
  end
  return table.concat(out, '\n') .. '\n'
end

local function find(text)
  local name = text:gsub('^%s+', ''):gsub('%s+$', ''):gsub('%(.*$', '')
  local own = name:find '^%u[%w_]*:' and find_type(name) -- before the method of a tensor
  if own then return own end
  local method = name:match '^[%a_][%w_]*:([%a_][%w_]*)$'
  local wanted = { name, 'mc.' .. name, 'x:' .. (method or name) }
  local bare = name:match '^[%a_][%w_]*%.(.+)$' -- the library under another local name
  if bare then wanted[#wanted + 1] = 'mc.' .. bare end
  for _, w in ipairs(wanted) do
    for _, e in ipairs(M.entries()) do if e.name == w then return e end end
  end
  local one = find_type(name)
  if one then return one end
  for _, e in ipairs(M.entries()) do if e.name:match '[^.:]*$' == name then return e end end
  return nil, name
end

--- Names of other libraries and what stands here for them: a list of { name, here }, in the order of the names.
local function elsewhere()
  local out = {}
  for space, names in pairs(spaces.elsewhere) do
    for k, here in pairs(names()) do out[#out + 1] = { name = space .. '.' .. k, here = here } end
  end
  table.sort(out, function(a, b) return a.name < b.name end)
  return out
end

--- Documentation of a name ("mc.fft.rfft", "rfft", "x:sum", "fft") or of a value (a function or module of the library).
---@param what any
---@return string text
function M.show(what)
  if type(what) ~= 'string' then
    if what == mc then return M.overview() end
    for _, e in ipairs(M.entries()) do if rawequal(e.value, what) then return page(e) end end
    local own = (getmetatable(what) or {}).__help -- a kernel of the user's describes itself
    if type(what) == 'table' and own then return page(own(what)) end
    if tensor.is(what) then return ('%s: a tensor; its methods are listed by ??x:\n'):format(tensor.describe(what)) end
    return ('help: there is no documentation for %s\n'):format(check.show(what))
  end
  if what:match '^%s*mc%s*$' then return M.overview() end
  if what:match '^%s*deviations%s*$' then
    return table.concat(require('mascon.help.deviations').lines(), '\n') .. '\n'
  end
  local entry, name = find(what)
  if entry then return page(entry) end
  for _, e in ipairs(elsewhere()) do
    if e.name == name or e.name == 'mc.' .. name or e.name:match '[^.]*$' == name then
      return ('help: nothing is called %s; it is %s\n'):format(e.name, e.here)
    end
  end
  local names, near = {}, nil
  if name:find '[.:]' then -- first among the whole names
    for _, e in ipairs(M.entries()) do names[e.name] = true end
    near = check.nearest(name:find '^mc%.' and name or 'mc.' .. name, names)
  end
  if not near then
    names = {}
    for _, e in ipairs(M.entries()) do names[e.name:match '[^.:]*$'] = true end
    near = check.nearest(name:match '[^.:]*$', names)
  end
  return ('help: nothing is called %s%s; ??%s searches the documentation\n'):format(name,
    near and ('; did you mean %s?'):format(near) or '', name)
end

--- The namespaces of the library, one line each.
---@return string text
function M.overview()
  local out = { 'mc: tensors, kernels and workflows. ?name shows one name, ??text searches.' }
  for _, e in ipairs(M.entries()) do
    if e.kind == 'module' then
      out[#out + 1] = ('  %-14s %s'):format(e.name, e.failed and 'cannot be loaded' or (e.text and e.text[1] or ''))
    end
  end
  return table.concat(out, '\n') .. '\n'
end

--- Names whose name or documentation contains the text, or else all of its words (plain, any case), with their first
--- sentence.
---@param text string
---@return string
function M.apropos(text)
  check.arg('help.apropos', 'text', text, 'string', 3)
  local want, out, some = text:lower(), {}, {}
  local list = { unpack(M.entries()) }
  for _, e in ipairs(type_entries()) do list[#list + 1] = e end
  for _, e in ipairs(list) do
    local all_text = e.name .. '\n' .. table.concat(e.text or {}, '\n')
    all_text = all_text:lower()
    local line, every = ('%-28s %s'):format(e.name, e.text and e.text[1] or ''), true
    if all_text:find(want, 1, true) then out[#out + 1] = line end
    for word in want:gmatch '%S+' do every = every and all_text:find(word, 1, true) end
    if every then some[#some + 1] = line end
  end
  for _, e in ipairs(elsewhere()) do
    if e.name:lower():find(want, 1, true) then out[#out + 1] = ('%-28s is %s here'):format(e.name, e.here) end
  end
  if not out[1] then out = some end
  if not out[1] then return ('no name and no documentation contains %q\n'):format(text) end
  return table.concat(out, '\n') .. '\n'
end

return setmetatable(M, { __call = function(_, what) io.write(M.show(what == nil and mc or what)) end })
