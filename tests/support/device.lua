-- device.lua - the device that specs run on beside the CPU: OpenCL on this machine's processor, or what
-- MASCON_TEST_DEVICE names.
--
-- What the driver compiles is kept with the build, so that only the first run of a change pays for it. Memory of OpenCL
-- on the processor lies between pages without rights, so that a kernel that leaves it faults.
local ffi = require 'ffi'
local M = {}

local name, why
--- Name of the device, or nil and the reason why there is none.
function M.name()
  if name == nil then
    ffi.cdef 'int setenv(const char *name, const char *value, int overwrite);'
    local libdir = require "mascon.host".libdir
    ffi.C.setenv('POCL_CACHE_DIR', libdir .. '/pocl', 0)
    ffi.C.setenv('MASCON_TEST_GUARD', '1', 0)
    os.execute(("mkdir -p '%s/pocl'"):format(libdir))
    local want = os.getenv 'MASCON_TEST_DEVICE' or 'opencl:0'
    local ok, t = pcall(function() return require 'mascon'.zeros({ 1 }, { device = want }) end)
    name, why = ok and t.device or false, not ok and tostring(t):match '^[^\n]*' or nil
    if ok then t:release() end
  end
  return name or nil, why
end

--- Whether an error says that an operation has no form on the device.
function M.lacks(message)
  return message:find('has no form', 1, true) ~= nil or message:find('has a form on the CPU only', 1, true) ~= nil
end

--- on(what, f): a test on the device, in a scope: f(name); pending with the reason where there is none.
---@param it function of the spec file, as pending
function M.tests(it, pending)
  return function(what, f)
    it(what, function()
      local found, reason = M.name()
      if not found then return pending(reason) end
      require 'mascon'.scope(f, found)
    end)
  end
end

--- A copy of a call's arguments on the device, tables of tensors included.
function M.moved(v)
  local mc = require 'mascon'
  if mc.is_tensor(v) then return v:to(M.name()) end
  if type(v) ~= 'table' then return v end
  local out = {}
  for k, x in pairs(v) do out[k] = M.moved(x) end
  return out
end

return M
