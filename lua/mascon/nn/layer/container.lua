-- container.lua - modules made of modules: one after the other, lists, tables, and a sum with what came in.
local check = require 'mascon.core.check'
local module = require 'mascon.nn.module'
local linear = require 'mascon.nn.layer.linear'
local public = require 'mascon.nn.public'
local error = check.error
local M = {}

--- The name of a layer of mc.nn that was given without being called; nil for other functions.
local function uncalled(f)
  for name, v in next, public.names do
    if v == f and type(name) == 'string' and name:find '^%u' then return name end
  end
end

--- A part of a container: a module, a function, or a list of these.
local function part(fname, v, level)
  if module.is(v) then return v end
  if type(v) == 'function' then
    local name = uncalled(v)
    if name then
      error(('%s: a part is the function nn.%s; call it, as in nn.%s()'):format(fname, name, name), level + 1)
    end
    return linear.Lambda(v)
  end
  if type(v) == 'table' and getmetatable(v) == nil and v[1] ~= nil then return M.Sequential(v) end
  error(('%s: a part is %s; give a module, a function, or a list of them'):format(fname, check.show(v)), level + 1)
end

--- Refuses a place in a list that is neither one of its parts nor the next: nothing would call what stands there.
local function placed(self, k, v)
  if type(k) ~= 'number' or not module.is(v) then return end
  if k < 1 or k % 1 ~= 0 or k > self.n + 1 then
    error(('%s: position %s is outside its %d parts; positions count from 1, list[list.n] is the last'):format(
      rawget(self, '_class')._name, tostring(k), self.n), 3)
  end
  if k > self.n then rawset(self, 'n', k) end
end

local Sequential = module.Module 'Sequential'
Sequential.placed = placed
function Sequential:init(parts)
  if type(parts) ~= 'table' or module.is(parts) then
    error(('nn.Sequential: parts are %s; give a list, nn.Sequential{ ... }'):format(check.show(parts)), 4)
  end
  rawset(self, 'n', #parts)
  for k in pairs(parts) do
    if type(k) ~= 'number' then error(('nn.Sequential: option %q is unknown; it takes a list'):format(tostring(k)),
      4) end
  end
  for i, p in ipairs(parts) do self[i] = part('nn.Sequential', p, 4) end
end
function Sequential:forward(...)
  if self.n == 0 then return ... end
  local y = self[1](...)
  for i = 2, self.n do y = self[i](y) end
  return y
end
--- PyTorch counts parts from 0.
function Sequential.pytorch_name(_, name)
  return (name:gsub('^%d+', function(k) return ('%d'):format(k - 1) end))
end
--- Adds a part behind the others.
function Sequential:append(p)
  self[self.n + 1] = part('nn.Sequential', p, 2)
  return self
end

--- Modules one after the other: each is called with the result of the one before, the first with all arguments.
---
--- Parts are net[1], net[2], ...; net:append(part) adds one.
---@param parts table list of modules, functions of one tensor, or lists of these
---@return mascon.Module
--- Source: PyTorch nn.Sequential.
---     mc.nn.Sequential{ mc.nn.Linear(4, 2), mc.nn.ReLU() }(mc.zeros{ 1, 4, dtype = 'f32' }).shape  --> {1, 2}
function M.Sequential(parts) return Sequential(parts) end

local ModuleList = module.Module 'ModuleList'
function ModuleList:init(parts)
  rawset(self, 'n', #(parts or {}))
  for i, p in ipairs(parts or {}) do self[i] = part('nn.ModuleList', p, 4) end
end
ModuleList.append, ModuleList.pytorch_name, ModuleList.placed = Sequential.append, Sequential.pytorch_name, placed
ModuleList.holds_only = true
function ModuleList:forward() error('nn.ModuleList: a list is not called; call its parts, list[1](x)', 2) end

--- Modules in a list: list[1] ... list[list.n], which ipairs goes through; list:append(part) adds one. It is not
--- called itself.
---@param parts? table list
---@return mascon.Module
--- Source: PyTorch nn.ModuleList.
---     mc.nn.ModuleList{ mc.nn.Linear(2, 2), mc.nn.Linear(2, 2) }:count()  --> 12
function M.ModuleList(parts) return ModuleList(parts) end

local ModuleDict = module.Module 'ModuleDict'
function ModuleDict:init(parts)
  local names = {}
  for k in pairs(parts or {}) do names[#names + 1] = k end
  table.sort(names)
  for _, k in ipairs(names) do self[k] = part('nn.ModuleDict', parts[k], 4) end
end
ModuleDict.holds_only = true
function ModuleDict:forward() error('nn.ModuleDict: a table is not called; call its parts, parts.name(x)', 2) end

--- Modules by name, registered in the order of their names. It is not called itself.
---@param parts? table name -> module
---@return mascon.Module
--- Source: PyTorch nn.ModuleDict.
---     mc.nn.ModuleDict{ a = mc.nn.Linear(2, 2) }.a.outputs  --> 2
function M.ModuleDict(parts) return ModuleDict(parts) end

local Residual = module.Module 'Residual'
function Residual:init(inner, shortcut)
  self.inner = part('nn.Residual', inner, 4)
  if shortcut ~= nil then self.shortcut = part('nn.Residual', shortcut, 4) end
end
function Residual:forward(x)
  local y, s = self.inner(x), self.shortcut and self.shortcut(x) or x
  if y.shape ~= s.shape then
    error(('nn.Residual: the result is %s and the shortcut is %s; both need the same shape'):format(
      check.show(y), check.show(s)), 2)
  end
  return y + s
end

--- x + inner(x), or shortcut(x) + inner(x).
---@param inner any module, function, or list of parts
---@param shortcut? any module or function (the identity)
---@return mascon.Module
--- Source: Deep residual learning for image recognition, 2016.
---     mc.nn.Residual(mc.nn.ReLU())(mc.tensor{ -1, 2 })  --> f64[2]@cpu { -1, 4 }
function M.Residual(inner, shortcut) return Residual(inner, shortcut) end

return M
