-- ask.lua - minimisers that are asked for points and told values, so that the loop can be anybody's.
--
-- A method is four functions on a state s, a plain table of numbers, strings, tensors and tables of them: start makes
-- it, ask(s) gives the points wanted next [k, n], tell(s, points, values) takes their values and returns true at the
-- end of an iteration; it sets s.status when it has ended. All of a state is on the CPU, where a method compares
-- values; s.on names the device that points are asked for on, where the start was, nil for the CPU. Holds the object
-- around a state, its keeping and restoring, the best point so far, random numbers, and the loop that drives a method
-- over an objective.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local source = require 'mascon.random.source'
local objective = require 'mascon.optim.objective'
local parameters = require 'mascon.optim.parameters'
local error = check.error
local is, methods, F = tensor.is, tensor.methods, op.functions
local M = {}

--- Options by which random methods are seeded.
M.SEEDED = { seed = { nil, 'integer >= 0' }, key = { nil, 'any' }, generator = { nil, 'table' } }

--- What a state keeps of the source of random numbers.
function M.random(fname, o)
  local key, stream = source.resolve(fname, { key = o.key, seed = o.seed, generator = o.generator })
  if o.key == nil and o.seed == nil then key = key:fold_in(stream) end
  return source.generator(key):state()
end

--- Name of the device of a tensor, nil for the CPU and for what is no tensor: s.on of a state.
function M.device(x) return is(x) and x._device ~= 0 and x.device or nil end

--- A tensor of a state where the points are asked for.
function M.there(s, t) return s.on and methods.to(t, { device = s.on }) or t end

--- Random numbers of a state: f(generator), which moves on.
function M.draw(s, f)
  local g = source.generator(0):restore(s.random)
  local x = f(g)
  s.random = g:state()
  return x
end

--- The values told as a list of numbers; NaN counts as infinity, never as the best.
local function values(fname, f, k)
  local list
  if type(f) == 'number' then list = { f }
  elseif is(f) and tensor.kind[f.dtype] ~= 'c' then list = methods.totable(methods.reshape(f, { f:numel() }))
  elseif type(f) == 'table' then
    list = {}
    for i, v in ipairs(f) do list[i] = is(v) and v:numel() == 1 and methods.item(v) or v end
  end
  if not list or #list ~= k then
    error(('%s: tell was given %s for %d points; give as many values'):format(fname,
      list and #list .. ' values' or is(f) and tensor.describe(f) or check.show(f), k), 3)
  end
  for i, v in ipairs(list) do
    if type(v) ~= 'number' then
      error(('%s: value %d told is %s; it must be a number'):format(fname, i,
        is(v) and tensor.describe(v) or check.show(v)), 3)
    end
    if v ~= v then list[i] = math.huge end
  end
  return list
end

--- Takes the values of the points that were asked for.
local function tell(method, s, list)
  local X = s.asked
  s.asked = nil
  s.nfev = s.nfev + #list
  for i, v in ipairs(list) do
    if v < s.fun then
      s.fun = v
      s.x = methods.copy(X[i])
    end
  end
  local iterated = method.tell(s, X, list)
  if iterated then s.nit = s.nit + 1 end
  if not s.status then
    if s.nfev >= s.maxfev then s.status = 4
    elseif s.nit >= s.maxiter then s.status = 1 end
  end
  return iterated
end

local function ask(method, s)
  if not s.asked then s.asked = method.ask(s) end
  return s.asked
end

---@class mascon.Asker
local Asker = {}
Asker.__index = Asker

--- The points whose values are wanted next, [k, n]; the same ones until they are told.
---@return any
function Asker:ask()
  if self.s.status then error(self.fname .. ': it has ended; result() has the best point', 2) end
  local x = ask(self.method, self.s)
  return self.s.on and M.there(self.s, x) or methods.copy(x)
end

--- Takes the values of all points asked for, in their order: a list or tensor [k], or a number for one point.
---@param x any what ask gave
---@param f any
function Asker:tell(x, f)
  local wanted = self.s.asked
  if not wanted then error(self.fname .. ': tell before ask; ask for points first', 2) end
  if not is(x) or x:numel() ~= wanted:numel()
    or not F.array_equal(methods.reshape(methods.to(tensor.hosted(x), wanted.dtype), wanted.shape), wanted) then
    error(('%s: tell was given points that ask did not give (%s, asked were %s); tell the values of those'):format(
      self.fname, is(x) and tensor.describe(x) or check.show(x), tensor.describe(wanted)), 2)
  end
  tell(self.method, self.s, values(self.fname, f, wanted.shape[1]))
  return self
end

--- Whether it has ended.
---@return boolean
function Asker:done() return self.s.status ~= nil end

--- The best point so far, and how it stands.
---@return table x, fun, nit, nfev, success, status, message
function Asker:result()
  local s = self.s
  return {
    x = s.x and M.there(s, methods.copy(s.x)), fun = s.fun, nit = s.nit, nfev = s.nfev, success = s.status == 0,
    status = s.status,
    message = s.message or (s.status and objective.MESSAGES[s.status]) or 'not ended yet',
  }
end

--- All there is to know, as plain tables, numbers, strings and tensors: { state = it } in the options goes on with the
--- same bits.
---@return table
function Asker:state() return parameters.copy(self.s) end

--- The object around a method.
---@param fname string
---@param method table
---@param o table options with state, or make() gives a new state
function M.object(fname, method, o, make)
  local s
  if o.state then
    s = o.state
    if s.method ~= method.name then
      error(('%s: option state is of %s; give one of %s'):format(fname, check.show(s.method), method.name), 3)
    end
    s = parameters.copy(s)
  else
    s = make()
    s.method, s.nfev, s.nit, s.fun = method.name, 0, 0, s.fun or math.huge
    s.maxfev, s.maxiter = s.maxfev or math.huge, s.maxiter or math.huge
  end
  return setmetatable({ fname = fname, method = method, s = s }, Asker)
end

--- Runs an asker over an objective.
---@param self mascon.Objective
---@param vectorized boolean f takes all points [k, n] at once
function M.drive(self, asker, vectorized)
  local method, s = asker.method, asker.s
  local stopped
  while not s.status and not stopped do
    local X = M.there(s, ask(method, s))
    local list
    if vectorized then
      self.nfev = self.nfev + X.shape[1]
      list = values(self.fname, (self.f(X, unpack(self.args, 1, self.args.n))), X.shape[1])
    else
      list = {}
      for i = 1, X.shape[1] do
        local v = self:value(X[i])
        list[i] = v == v and v or math.huge
      end
    end
    if tell(method, s, list) then stopped = self:iterate(M.there(s, s.x or X[1]), s.fun) end
  end
  local r = self:result(s.x and M.there(s, s.x) or self.x, s.fun, nil, s.status or 99, s.message)
  r.njev = nil
  if not s.x then r.success, r.status, r.message = false, 3, 'no value was a number below infinity' end
  return r
end

return M
