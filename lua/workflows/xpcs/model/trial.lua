-- trial.lua - calls of a user's g1, with errors that name its file and line, its parameters and the shape it must give.
--
-- A first call with numbers at some pairs of times finds most mistakes before the function is recorded and fitted. May
-- not fit.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local raise, error = error, check.error
local M = {}

-- pairs of the first call: the first time with others, and others with the last one
local MOST = 50

--- The file of a function, its lines as text, and the file as messages of Lua name it.
local function place(g1)
  local about = debug.getinfo(g1, 'S')
  local first, last = about.linedefined, about.lastlinedefined
  return about.source:match '^@(.*)' or about.short_src, first == last and tostring(first)
    or ('%d-%d'):format(first, last), about.short_src
end

--- Names of a table, in order.
---@param p table
---@return string[]
local function sorted(p)
  local out = {}
  for name in pairs(p) do out[#out + 1] = tostring(name) end
  table.sort(out)
  return out
end

--- The same values, to be read; a name that is none of them raises with the nearest one.
---@param is? string what a name is called in that error
local function guarded(p, is, has)
  local out = {}
  for name, v in pairs(p) do out[name] = v end
  return setmetatable({}, {
    __index = function(_, name)
      if out[name] ~= nil then return out[name] end
      local names = sorted(p)
      local near = type(name) == 'string' and check.nearest(name, names)
      raise(('there is no %s%s%s; %s %s'):format(is or 'parameter ', tostring(name), near
        and (' (did you mean %s?)'):format(near) or '', has or 'the model has', #names > 0
        and table.concat(names, ', ') or 'none: give p0, its values to start from'), 2)
    end,
    __newindex = function(_, name)
      raise(('p.%s is assigned, and the parameters are the fit\'s; use a local of another name'):format(tostring(name)),
        2)
    end,
    __pairs = function()
      local names, i = sorted(p), 0
      return function()
        i = i + 1
        return names[i], out[names[i]]
      end
    end,
  })
end

--- An error of a model in words, also one that is no text.
---@param why any as pcall gives it
---@return string
function M.words(why)
  if type(why) == 'string' then return why end
  local meta = getmetatable(why)
  if type(why) == 'table' and type(rawget(why, 'message')) == 'string' then return why.message end
  if type(why) == 'cdata' or type(meta) == 'table' and rawget(meta, '__tostring') then return tostring(why) end
  return ('error was called with %s; give it a text that says what is wrong'):format(why == nil and 'nothing'
    or check.show(why))
end

local function forbidden(name, why)
  return function() raise(('%s is called, and a model %s'):format(name, why), 2) end
end

--- The chunk of a model's file without what would end the program or leave the fit half way.
---@param chunk function
---@return function chunk
function M.confined(chunk)
  local globals = getfenv(chunk)
  local parts = {
    os = { exit = forbidden('os.exit', 'does not end the program; call error with a text') },
    coroutine = { yield = forbidden('coroutine.yield', 'returns its values at once') },
  }
  for name, part in pairs(parts) do setmetatable(part, { __index = globals[name] }) end
  return setfenv(chunk, setmetatable(parts, { __index = globals, __newindex = globals }))
end

--- What g1 returns. Its errors name the file of the model and the line.
---@param g1 function
---@param p table parameters by name
---@param about table q (1/A), dt (s), gap (A) of the data
function M.call(g1, p, t1, t2, phi, about)
  local ok, g = pcall(g1, guarded(p), t1, t2, phi, guarded(about, '', 'the fifth argument of g1 has'))
  if ok then return g end
  local path, lines, short = place(g1)
  if check.stopped(g) then error(g, 0) end
  local text = M.words(g)
  local file, line, what = text:match '^(.-):(%d+): (.*)$'
  if file == short or file == path then lines = line
  elseif file then what = text end -- a file that the model calls keeps its place in the text
  what = what or text
  local name = what:match "bad argument #%d+ to '([^']+)'"
  if name then
    local from, use = 'a function of Lua such as math.exp', 'the one of mascon, such as mc.exp'
    if math[name] then from, use = 'math.' .. name, 'mc.' .. name end
    what = ('%s takes numbers, and got a tensor or a parameter of the fit: use %s'):format(from, use)
  end
  error(('xpcs: the model %s:%s: %s'):format(path, lines, what), 0)
end

--- Calls g1 once with the starting values at some pairs of times of the data, and raises where the result is not one
--- finite number per pair.
---@param g1 function
---@param p table starting values by name
---@param data mascon.xpcs.Data
---@param about table q, dt, gap
function M.first(g1, p, data, about)
  mc.scope(function()
    local n = data.n
    local a, b, step = {}, {}, math.max(1, math.floor((n - 1) / MOST))
    for k = 2, n, step do a[#a + 1], b[#b + 1] = 1, k end
    for k = 2, n - 1, step do a[#a + 1], b[#b + 1] = k, n end
    local t1, t2 = mc.take(data.t, mc.tensor(a):to 'i64', 1), mc.take(data.t, mc.tensor(b):to 'i64', 1)
    local m = #a
    local g = M.call(g1, p, t1, t2, mc.full({ m }, data.phi[1]), about)
    local path, lines = place(g1)
    local function wrong(what, ...) error(('xpcs: the model %s:%s: '):format(path, lines) .. what:format(...), 0) end
    if not mc.is_tensor(g) then
      wrong('g1 returns %s; it must return a tensor with one value per pair of times, of the shape [%d] of t1 and t2',
        type(g) == 'number' and 'the number ' .. check.show(g) or check.show(g), m)
    end
    if g.ndim ~= 1 or g.shape[1] ~= m then
      wrong('g1 returns %s[%s]; it must return one value per pair of times, of the shape [%d] of t1 and t2', g.dtype,
        table.concat({ g:size() }, ', '), m)
    end
    if g.dtype ~= 'f64' and g.dtype ~= 'f32' then
      wrong('g1 returns values of dtype %s; it must return f64', g.dtype)
    end
    for k, v in ipairs(g:to('f64'):totable()) do
      if v - v ~= 0 then
        local values = {}
        for i, name in ipairs(sorted(p)) do values[i] = ('%s = %s'):format(name, check.show(p[name])) end
        wrong('g1 is %s at t1 = %g s, t2 = %g s, phi = %g deg with %s; start where it is finite for all pairs',
          tostring(v):gsub('^%-nan', 'nan'), t1[k]:item(), t2[k]:item(), data.phi[1], table.concat(values, ', '))
      end
    end
  end)
end

M.sorted = sorted

return M
