-- several.lua - the functions of the rows of the family 'linalg': operands first, then one table of options.
--
-- Holds the call rule of the family and the form of several results (two: two values; three or more: a table with the
-- names of the row).
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local error = check.error
local M = {}

local KINDS = { bool = 'bool', int = 'integer', number = 'number', tensor = 'tensor' }

--- Number of results, which may depend on the options.
local function count(row, o)
  if not row.more then return row.nout or 1 end
  local n, fewer = #row.results, row.fewer
  if not o[row.more] then n = n - 1 end
  return fewer and o[fewer[1]] == fewer[2] and n - 1 or n
end

--- Runs a row on a list of tensors; a list of `n` results.
local function results(row, list, n, P)
  local outs = {}
  for again = 1, 2 do
    for k = 1, n do outs[k] = tensor.header(256) end
    local rc = lib.op_multi(row.id, outs, list, P)
    if rc == 0 then break end
    tensor.failed(rc, 2, again == 2, unpack(list))
  end
  for k = 1, n do
    if outs[k]._storage ~= nil then tensor.finish(outs[k]) end
  end
  return outs
end

--- The function of a row: f(operands..., opts).
function M.maker(row)
  local name, nin, id = row[1], row.nin, row.id
  local spec, plain, extra = { out = { nil, 'tensor' } }, { params = {} }, {}
  for _, p in ipairs(row.params) do
    spec[p[1]] = { p[3], type(p[2]) == 'table' and p[2] or KINDS[p[2]] }
    if p[2] == 'tensor' then extra[#extra + 1] = p[1] else plain.params[#plain.params + 1] = p end
  end
  if row.base then spec.base = { 1, { 0, 1 } } end
  if type(row.nout) ~= 'nil' then spec.out = nil end
  local function call(out, list, P) return lib.op_list(id, out, list, P) end
  return function(...)
    local list, opts = {}, select(nin + 1, ...)
    for i = 1, nin do list[i] = (select(i, ...)) end
    op.operands(name, list, nin, 3)
    if select('#', ...) > nin + 1 then
      error(('%s: %d arguments; it takes %d and a table of options'):format(name, select('#', ...), nin), 2)
    end
    opts = check.opts(name, opts, spec, 3)
    local P = op.pack(plain, name, list[1], opts, 3)
    for _, e in ipairs(extra) do
      if opts[e] ~= nil then list[#list + 1] = op.beside(name, opts[e], list[1], 3) end
    end
    local n = count(row, opts)
    if n == 1 and (opts.out or not row.nout) then return op.run(name, 2, opts, 1024, call, list, P) end
    local outs = results(row, list, n, P)
    if n < 3 then return outs[1], outs[2] end
    local named = {}
    for k, key in ipairs(row.results) do named[key] = outs[k] end
    return named
  end
end

op.makers.linalg = M.maker

--- An internal row, for compositions: results of `name` with parameters by name.
---@param n? integer how many results, for rows where that depends
function M.raw(name, list, values, n)
  return unpack(op.raw(name, list, values or {}, n or op.rows[name].nout or 1))
end

return M
