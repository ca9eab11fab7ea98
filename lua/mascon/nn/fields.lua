-- fields.lua - fields of modules that hide what they hold from training, and names that modules have elsewhere.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error = check.error
local is = tensor.is
local M = {}

--- The first tensor or module in a plain table, and the name under which it stands there.
local function inside(t, name, is_module, seen)
  seen[t] = true
  for k, v in pairs(t) do
    local full = type(k) == 'string' and name .. '.' .. k or ('%s[%s]'):format(name, tostring(k))
    if is(v) or is_module(v) then return v, full end
    if type(v) == 'table' and getmetatable(v) == nil and not seen[v] then
      local x, deeper = inside(v, full, is_module, seen)
      if x then return x, deeper end
    end
  end
end

--- Refuses what a plain field would hide from training and files: a tensor, and a table that holds one or a module.
---@param k any name of the field
---@param v any
---@param is_module function
---@param level integer as in error()
function M.check(k, v, is_module, level)
  local name = tostring(k)
  if is(v) then
    error(('module: %s is a tensor (%s), and as a plain field nothing trains or saves it; write self:parameter(%q, '
      .. 'tensor) for a weight, self:buffer(%q, tensor) for a constant'):format(name, tensor.describe(v), name, name),
      level)
  end
  if type(v) ~= 'table' or getmetatable(v) ~= nil then return end
  local x, full = inside(v, name, is_module, {})
  if is(x) then
    error(('module: %s is a tensor (%s) in a table, where nothing trains or saves it; give each a name of its own: '
      .. "self:parameter('%s_1', tensor) for a weight, self:buffer for a constant"):format(full, tensor.describe(x),
      name), level)
  elseif x then
    error(('module: %s is a module in a table, where nothing trains or saves it; write self.%s = mc.nn.ModuleList{ '
      .. '... }, or mc.nn.ModuleDict'):format(full, name), level)
  end
end

--- Refuses a name that is a method of every module; nothing where it is none.
function M.free(class, name, methods, level)
  if methods[name] then
    error(('%s: %s is a method of every module, as a field it would hide it; choose another name, such as %s_'):format(
      class._name, name, name), level)
  end
end

-- methods that a class may define anew; the library calls the others
local ANEW = { forward = true, train = true, eval = true }
--- Refuses a class with a method in the place of one that the library calls, or with a module that its objects would
--- call and nothing would train.
function M.class(class, methods, is_module, level)
  for name, v in pairs(class) do
    if methods[name] and not ANEW[name] then
      error(('%s: the library calls the method %s of modules, which the class defines anew; choose another name')
        :format(class._name, name), level)
    elseif is_module(v) then
      error(('%s: %s is a module in the class, where nothing trains or saves it; write self.%s = ... in init'):format(
        class._name, tostring(name), tostring(name)), level)
    end
  end
  local base = rawget(class, '_base')
  if base then M.class(base, methods, is_module, level + 1) end
end

local guards = setmetatable({}, { __mode = 'k' })
--- The forward of a class for callers outside, which looks whether a module comes first. plain: that of classes without
--- one.
function M.forward(class, plain, is_module)
  local forward = class.forward or plain
  local g = guards[class]
  if not g or g.forward ~= forward then
    g = { forward = forward, f = function(self, ...)
      if not is_module(self) then
        error(('%s.forward: the first argument is %s; call the module, net(x)'):format(class._name, is(self)
          and tensor.describe(self) or check.show(self)), 2)
      end
      return forward(self, ...)
    end }
    guards[class] = g
  end
  return g.f
end

-- methods of PyTorch's modules under the names that stand here
local ELSEWHERE = { cuda = "net:to 'gpu'", zero_grad = 'nothing, since gradients are results (mc.grad, mc.nn.Step)',
  register_parameter = 'module:parameter', register_buffer = 'module:buffer', register_forward_hook = 'module:hook',
  requires_grad_ = 'module:freeze and module:unfreeze' }
--- A method of another library, which says what stands here for it; nothing for other names.
function M.elsewhere(class, name)
  if not ELSEWHERE[name] then return nil end
  return function()
    error(('%s has no method %s; it is %s'):format(class._name, name, ELSEWHERE[name]), 2)
  end
end

return M
