-- gelu_error.lua - largest error of gelu and of its derivative, exact and by tanh, in f32 and bf16, beside PyTorch.
--
-- usage: build/mascon bench/gelu_error.lua [PYTHON]   (PYTHON: with PyTorch, for its column)
-- Errors are against f64 at the same 400001 points of [-20, 20], in units of max(1, |x|). bf16: operands and results.
local mc = require 'mascon'
local points = mc.linspace(-20, 20, 400001)

local function far(got, want, x) return mc.max(mc.abs(got:to 'f64' - want) / mc.maximum(mc.abs(x), 1)):item() end
local function slope(f, x) return (mc.grad(function(t) return mc.sum(f(t)) end)(x)) end

local theirs = {}
if arg[1] then
  local p = assert(io.popen(("'%s' bench/peers/gelu_error.py"):format(arg[1])))
  for line in p:lines() do
    local form, dtype, value, derivative = line:match '^(%S+) (%S+) (%S+) (%S+)$'
    if form then theirs[form .. dtype] = { tonumber(value), tonumber(derivative) } end
  end
  p:close()
end
print '| form | dtype | value | PyTorch | derivative | PyTorch |\n|---|---|---|---|---|---|'
for _, form in ipairs { 'gelu', 'gelu_tanh' } do
  for _, dtype in ipairs { 'f32', 'bf16' } do
    local f, x = mc.nn[form], points:to(dtype)
    local exact = x:to 'f64'
    local peer = theirs[form .. dtype] or {}
    local function shown(v) return v and ('%.2g'):format(v) or '' end
    print(('| %s | %s | %s | %s | %s | %s |'):format(form, dtype, shown(far(f(x), f(exact), exact)), shown(peer[1]),
      shown(far(slope(f, x), slope(f, exact), exact)), shown(peer[2])))
  end
end
