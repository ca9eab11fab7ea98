-- leaf.lua - what a tensor says of its gradient: methods and fields that the tape answers.
--
-- The tape (transform/tape.lua) is loaded by the first of these calls, so that programs without it pay nothing. Holds
-- the names, no logic.
local tensor = require 'mascon.core.tensor'
local methods, properties = tensor.methods, tensor.properties

local function tape() return require 'mascon.transform.tape' end

-- x.grad = g
function tensor.setters.grad(t, v) return tape().set_grad(t, v) end

-- fields: a program that has no tape has no gradients either
for _, name in ipairs { 'grad', 'needs_grad', 'is_leaf' } do
  properties[name] = function(t)
    local loaded = package.loaded['mascon.transform.tape']
    if loaded then return loaded[name](t) end
    if name ~= 'grad' then return false end
  end
end

--- Makes x a leaf: what is computed from it can be gone through by backward(), which adds to x.grad.
---
--- x: floating point or complex, contiguous. yes: true (default) or false. Returns x. In place, a leaf is written only
--- within mc.no_grad. Views made of x before do not count. Errors: integers; x is itself computed from a leaf (use
--- x:detach()); a function is being recorded.
--- Source: torch.Tensor.requires_grad_
---     local x = mc.tensor{ 1, 2 }:requires_grad()
---     local y = mc.sum(x * x)
---     y:backward()
---     x.grad  --> f64[2]@cpu { 2, 4 }
---@param yes? boolean
---@return any x
function methods.requires_grad(t, yes) return tape().requires_grad(t, yes) end

--- Forgets the gradient of x; returns x.
---     local x = mc.tensor{ 1 }:requires_grad()
---     mc.sum(x):backward()
---     x:zero_grad().grad  --> nil
function methods.zero_grad(t) return tape().zero_grad(t) end

--- A tensor over the same memory that the tape does not follow; within mc.compile and mc.grad a copy without
--- derivative.
---     mc.tensor{ 1, 2 }:requires_grad():detach().needs_grad  --> false
---@return any
function methods.detach(t) return tape().detach(t) end

--- f(g) is called with the gradient of x in each backward(), before it is added to x.grad or goes on; what it returns
--- (nil: nothing) takes its place. Returns a function that takes the hook away.
---@param f fun(g: any): any
---@return function remove
function methods.register_hook(t, f) return tape().register_hook(t, f) end

--- Keeps the gradient of a tensor that is no leaf, after its hooks: x.grad after backward(). Returns x.
function methods.retain_grad(t) return tape().retain_grad(t) end

--- Goes back from y to the leaves it was computed from and adds to their gradients.
---
--- y: a tensor of one element, or of any shape with its cotangent g (same shape). What y was computed through is
--- dropped afterwards.
--- Options: retain_graph (false, or what create_graph is): it is kept for another backward() · create_graph (false):
--- gradients are themselves recorded.
--- Errors: y depends on no leaf; it was gone through before; a value was lost by writing in place; several elements and
--- no g.
--- Source: torch.Tensor.backward
---     local w = mc.tensor{ 3 }:requires_grad()
---     for _ = 1, 2 do mc.sum(w * w):backward() end
---     w.grad  --> f64[1]@cpu { 12 }
---@param g? any
---@param opts? table
function methods.backward(t, g, opts) return tape().backward(t, g, opts) end
