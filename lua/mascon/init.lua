-- mascon/init.lua - tensors, kernels and workflows for scientific analyses.
--
-- The public table. Core modules are loaded at once, everything else (signal, stats, plot, ...) when first touched,
-- which keeps the start in milliseconds; a name that is not there is looked for among the workflows.
local compiles = jit.status()
if compiles then jit.off() end -- what runs once is not worth a trace: a fifth of the start
local lib = require 'mascon.core.ffi'
local op = require 'mascon.core.op'
local tensor = require 'mascon.core.tensor'
local elsewhere = require 'mascon.core.elsewhere'
local check = require 'mascon.core.check'
local array = require 'mascon.array'
local guard = require 'mascon.core.guard'
local lazy = require 'mascon.core.lazy'
local place = require 'mascon.core.place'
local workflow = require 'mascon.base.workflow'
require 'mascon.transform.leaf'
local error = check.error

local M = {}
lazy.public = M
for name, v in pairs(array) do
  if not array.spaces[name] then M[name] = v end
end
M.spaces = nil

-- ---------------------------------------------------------------- process

--- Worker threads; results do not depend on the number.
function M.set_num_threads(n)
  check.arg('set_num_threads', 'n', n, 'integer >= 1', 3)
  lib.check(lib.C.mc_set_num_threads(n), 2)
end
--- Worker threads in use.
function M.get_num_threads() return lib.C.mc_get_num_threads() end

--- Batch-invariant mode: a row of a result has the same bits whatever other rows are in its batch.
---
--- Products of matrices choose their order of summation by their shape, as BLAS libraries do, so that a network gives a
--- sample slightly other numbers (rounding) alone than among others. In this mode products run by a kernel of mascon
--- that adds up along the inner axis in order, on a device too, and take two to three times as long; cuFFT is not used
--- for Fourier transforms. Convolutions,
--- norms, attention and reductions are batch-invariant in any mode. Sums over the batch itself, as in gradients of
--- parameters, depend on the batch as before.
---     mc.set_batch_invariant(false)
---     mc.get_batch_invariant()  --> false
---@param on boolean (off at the start)
function M.set_batch_invariant(on)
  check.arg('set_batch_invariant', 'on', on, 'boolean', 3)
  lib.C.mc_set_batch_invariant(on and 1 or 0)
end
--- Whether the batch-invariant mode is on.
---     mc.get_batch_invariant()  --> false
---@return boolean
function M.get_batch_invariant() return lib.C.mc_get_batch_invariant() == 1 end

--- TF32 mode: products of f32 matrices on a card of NVIDIA run on its tensor cores.
---
--- These round each element of the operands to 11 significant bits (TF32) and add in f32: a product has an error
--- of about 5e-4 of its terms. It holds for products by cuBLASLt; the CPU, OpenCL and own kernels compute in f32 as
--- before. A compiled function keeps the mode that held at its first call.
---     mc.set_tf32(false)
---     mc.get_tf32()  --> false
---@param on boolean (off at the start)
function M.set_tf32(on)
  check.arg('set_tf32', 'on', on, 'boolean', 3)
  lib.C.mc_set_tf32(on and 1 or 0)
end
--- Whether the TF32 mode is on.
---     mc.get_tf32()  --> false
---@return boolean
function M.get_tf32() return lib.C.mc_get_tf32() == 1 end

--- Memory counters in bytes: live, tensors, cached, peak, limit and more; of a device with
--- mc.memory{ device = "opencl:0" }.
---@param opts? table device (the CPU)
---@return table
function M.memory(opts)
  local o = check.opts('memory', opts, { device = { 'cpu', 'string' } }, 3)
  return lib.memory_stats(tensor.device_number('memory', o.device, 3))
end

--- The device that a word such as "auto" means, and why. An enquiry: to have what has no form there go through the
--- host, give "auto" as the device where tensors are made, not this name.
---@param device? string auto (default): what MASCON_DEVICE names, else the first card (of CUDA, else of OpenCL) that
---  computes in f64 and has programs, else the CPU; or the name of a device
---@return string name
---@return string why in words
---     mc.choose_device 'cpu'  --> cpu, it was named
--- Errors: a device that is named and not there.
function M.choose_device(device)
  if device == nil or device == 'auto' then return tensor.device_auto(3) end
  return tensor.device_name(tensor.device_number('choose_device', device, 3)), 'it was named'
end

--- Waits until a device has done all that it was given; without a name, all devices that are in use.
---
--- Operations of a device are queued and run while Lua goes on: what is timed without waiting is the queueing. Results
--- that are fetched (item, totable, to 'cpu') are waited for by themselves.
---     mc.synchronize() == nil  --> true
---@param device? string as in x:to: cuda:0, opencl:0, gpu, auto; cpu: nothing is waited for
--- Errors: a device that is not there; a position outside or a division by zero that one of its operations met.
function M.synchronize(device)
  lib.check(lib.C.mc_device_sync(device == nil and -1 or tensor.device_number('synchronize', device, 3)), 2)
end

--- Calls f(...) with another default device: functions of the script that make tensors put them there where their
--- options name no device (those with the option device: mc.zeros, mc.tensor, mc.randn, mc.random, layers of mc.nn).
--- What the library makes for itself, files that are loaded and tensors that are there stay where they are. Blocks
--- nest; the default before holds again afterwards, also after an error. Result: what f returns.
---     mc.with_device('cpu', function() return mc.zeros { 2 } end).device  --> cpu
---@param device string as in x:to: cpu, cuda:0, opencl:0, gpu, auto
---@param f function
---@param ... any
---@return any ...
--- Errors: a device that is not there; a function that yields.
function M.with_device(device, f, ...)
  if type(f) ~= 'function' then
    error('with_device: the second argument is ' .. check.show(f) .. '; give a function', 2)
  end
  return place.within(tensor.device_name(tensor.device_number('with_device', device, 3)), f, ...)
end

--- Operations that went through the host, because they have no form on the device that auto led to: calls by name.
---     mc.through_host()  --> {}
---@return table<string, integer>
function M.through_host() return (require 'mascon.report.devices'.through_host()) end

--- The devices of this machine: a list of { name, kind, title (as its maker calls it), memory (bytes,
--- absent where it is not known), f64 (whether it computes in it), processor (it is the machine's
--- processor) }, the CPU first. Kinds whose driver is not there are left out: mascon info says why.
---     mc.devices()[1].name  --> cpu
---@return table[]
function M.devices() return (require 'mascon.report.devices'.list()) end

--- Starts the peaks of mc.memory() (peak, tensor_peak) anew from what is live now, those of devices too.
function M.reset_peak_memory() lib.C.mc_memory_reset_peak() end

--- Upper bound of live bytes; 0 removes it (a device then has all its memory).
---@param bytes integer
---@param opts? table device (the CPU)
function M.set_memory_limit(bytes, opts)
  check.arg('set_memory_limit', 'bytes', bytes, 'integer >= 0', 3)
  local o = check.opts('set_memory_limit', opts, { device = { 'cpu', 'string' } }, 3)
  local number = tensor.device_number('set_memory_limit', o.device, 3)
  lib.check(number == 0 and lib.C.mc_memory_limit_set(bytes) or number > 0 and lib.C.mc_device_limit_set(number, bytes)
    or 0, 2)
end

M.version = lib.version()

do -- a device that is named and not there is said before the work, by `mascon info` among the rest
  local wanted, host = os.getenv 'MASCON_DEVICE', package.loaded['mascon.host']
  local told = type(host) == 'table' and host.telling
  if wanted and wanted ~= '' and wanted ~= 'cpu' and wanted ~= 'auto' and not told then
    if lib.C.mc_device_find(wanted) < 0 then error(check.outside('MASCON_DEVICE: ' .. lib.message()), 0) end
    tensor.device_number('MASCON_DEVICE', wanted, 3)
  end
end
M.ops = op.rows

-- ---------------------------------------------------------------- names for the prompt

--- Field and method names of a value the prompt cannot enumerate.
function M.complete(v)
  local names = {}
  if tensor.is(v) then
    for n in pairs(tensor.methods) do names[#names + 1] = n end
    for n in pairs(tensor.properties) do names[#names + 1] = n end
    table.sort(names)
  end
  return names
end

local LAZY = {
  fft = 'mascon.fft', signal = 'mascon.signal', stats = 'mascon.stats', plot = 'mascon.plot',
  progress = 'mascon.base.progress', report = 'mascon.report', args = 'mascon.base.args', file = 'mascon.base.file',
  manifest = 'mascon.report.manifest', results = 'mascon.report.results', interpolate = 'mascon.interpolate',
  json = 'mascon.base.json',
  text = 'mascon.base.text', random = 'mascon.random', linalg = 'mascon.linalg', special = 'mascon.special',
  help = 'mascon.help', tree = 'mascon.graph.tree', optim = 'mascon.optim',
  integrate = 'mascon.integrate', ceiling = 'mascon.base.ceiling', sample = 'mascon.sample', meeg = 'mascon.meeg',
  nn = 'mascon.nn',
}
-- plain tables of functions; the others put checks before theirs themselves
local PLAIN = {}
for name in ('args ceiling file manifest progress results json text random tree meeg plot report help'):gmatch '%S+' do
  PLAIN[name] = true
end
local FROM = {
  compile = 'mascon.compile', kernel = 'mascon.kernel', grad = 'mascon.transform', value_and_grad = 'mascon.transform',
  vjp = 'mascon.transform', jvp = 'mascon.transform', vmap = 'mascon.transform', jacrev = 'mascon.transform',
  jacfwd = 'mascon.transform', hessian = 'mascon.transform', hvp = 'mascon.transform',
  cond = 'mascon.transform.branch', switch = 'mascon.transform.branch', while_loop = 'mascon.transform.loop',
  fori_loop = 'mascon.transform.loop', scan = 'mascon.transform.scan', custom_vjp = 'mascon.transform.custom',
  custom_jvp = 'mascon.transform.custom', stop_gradient = 'mascon.transform.custom',
  checkpoint = 'mascon.transform.checkpoint', no_grad = 'mascon.transform.tape',
  load = 'mascon.meeg.load', open = 'mascon.meeg.load', save = 'mascon.meeg.load', info = 'mascon.report.info',
  printf = 'mascon.base.format', format = 'mascon.base.format',
}

-- What has a public name is a module of that name, wherever its file lies: require 'mascon.base.json' is mc.json.
for name, module in pairs(LAZY) do
  if module ~= 'mascon.' .. name then
    package.preload['mascon.' .. name] = function() return require(module) end
  end
end

do -- ops check their own calls
  local ops = {}
  for _, f in pairs(op.functions) do ops[f] = true end
  for f in pairs(op.in_place) do ops[f] = true end
  guard.all('', M, ops)
  for name, f in pairs(tensor.methods) do if not ops[f] then tensor.methods[name] = guard.method(name, f) end end
end

if compiles then jit.on() end

-- parts whose names other libraries have in one place
local PARTS = {}
for name in ('nn linalg fft special stats random signal optim integrate interpolate'):gmatch '%S+' do
  PARTS[#PARTS + 1] = name
end

--- Where a name stands that mc does not have: in a part, or as a method of tensors.
local function place_of(k)
  for _, part in ipairs(PARTS) do
    local ok, v = pcall(function() return require(LAZY[part])[k] end)
    if ok and v ~= nil then return ('mc.%s.%s'):format(part, k) end
  end
  if tensor.methods[k] then return ('the method x:%s of tensors'):format(k) end
end

return setmetatable(M, {
  __index = function(t, k)
    local v
    if LAZY[k] then
      v = require(LAZY[k])
      if PLAIN[k] then guard.all(k .. '.', v) end
      if type(v) == 'table' then lazy.strict(v, 'mc.' .. k) end
    elseif FROM[k] then
      v = require(FROM[k])[k]
      if type(v) == 'function' then v = guard.of(k, v) end
    elseif type(k) ~= 'string' or k:sub(1, 1) == '_' then return nil
    else
      local module = workflow.find(k)
      if module then
        v = require(module)
        if type(v) == 'table' then lazy.strict(guard.all(k .. '.', v), 'mc.' .. k) end
      end
    end
    if v == nil then
      local names = {}
      for n in pairs(t) do if type(n) == 'string' then names[n] = true end end
      for n in pairs(LAZY) do names[n] = true end
      for n in pairs(FROM) do names[n] = true end
      for _, n in ipairs(workflow.names()) do names[n] = true end
      local here, near = place_of(k) or elsewhere[k], check.nearest(k, names)
      error(('mc.%s: there is no such name%s'):format(k, here and '; it is ' .. here
        or near and ('; did you mean mc.%s?'):format(near) or ''), 2)
    end
    rawset(t, k, v)
    return v
  end,
})
