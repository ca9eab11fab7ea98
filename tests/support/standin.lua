-- standin.lua - the stand-in for the CUDA driver, NVRTC, cuBLASLt and cuFFT (tests/standin), built where specs need it.
--
-- Programs of a process that has its folder on LD_LIBRARY_PATH see a card that runs kernels on the processor.
local M = {}

local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/support/[^/]*$' or 'tests') .. '/support/init.lua')
local process = support.load 'process'
local root = debug.getinfo(1, 'S').source:match '^@(.*)/tests/support/[^/]*$' or '.'

local PARTS = {
  ['libcuda.so.1'] = 'cuda.c graphs.c lanes.c', ['libnvrtc.so.13'] = 'nvrtc.c', ['libcublasLt.so.13'] = 'cublaslt.c',
  ['libcufft.so.12'] = 'cufft.c',
}

local built, why
--- The folder of its libraries, or nil and the reason.
function M.folder()
  if built ~= nil then return built or nil, why end
  local libdir = require 'mascon.host'.libdir
  local folder = libdir .. '/standin'
  local uname = process.shell 'uname -m'.text:match '%S+'
  if uname ~= 'x86_64' then
    built, why = false, 'the stand-in switches stacks in x86-64 code'
    return nil, why
  end
  for library, sources in pairs(PARTS) do
    local at = ('%s/tests/standin/'):format(root)
    local r = process.shell(([[
cd '%s' && mkdir -p '%s' && newest=$(ls -t %s *.h '%s' 2>/dev/null | head -n 1)
[ "$newest" = '%s' ] || {
  cc -std=gnu11 -O1 -g -w -shared -fPIC -fvisibility=hidden -o '%s'.$$ %s -ldl -lm && mv '%s'.$$ '%s'; }]]):format(
      at, folder, sources, folder .. '/' .. library, folder .. '/' .. library, folder .. '/' .. library, sources,
      folder .. '/' .. library, folder .. '/' .. library))
    if r.status ~= 0 then
      built, why = false, 'the stand-in cannot be built: ' .. r.text
      return nil, why
    end
  end
  built = folder
  return folder
end

--- What stands before a command line of the shell so that the program sees the stand-in; settings: STANDIN_ variables.
function M.environment(settings)
  local folder = assert(M.folder())
  local parts = { ("LD_LIBRARY_PATH='%s' STANDIN_CACHE='%s/cache' MASCON_TEST_DEVICE=cuda:0"):format(folder, folder) }
  for name, value in pairs(settings or {}) do parts[#parts + 1] = ("STANDIN_%s='%s'"):format(name, value) end
  return table.concat(parts, ' ')
end

local sanitizers
--- What stands before it, too, for kernels under the address and undefined behaviour sanitizers; nil and why not.
function M.sanitized(settings)
  if sanitizers == nil then
    local found = process.shell('gcc -print-file-name=libasan.so; gcc -print-file-name=libubsan.so').text
    local a, u = found:match '^(/%S+)\n(/%S+)'
    sanitizers = a and ("LD_PRELOAD='%s %s' ASAN_OPTIONS=detect_leaks=0 MASCON_CACHE=off"):format(a, u) or false
  end
  if not sanitizers then return nil, 'the sanitizers of gcc are not installed' end
  local all = { SANITIZE = 1 }
  for k, v in pairs(settings or {}) do all[k] = v end
  return M.environment(all) .. ' ' .. sanitizers
end

--- try(what, f): a test that needs the stand-in; pending with the reason where it cannot be built.
---@param it function of the spec file, as pending
function M.tests(it, pending)
  local folder, reason = M.folder()
  return function(what, f)
    it(what, function()
      if not folder then return pending(reason) end
      f()
    end)
  end
end

return M
