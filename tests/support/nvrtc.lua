-- nvrtc.lua - NVIDIA's compiler by itself: texts of device programs to code for a card, without a card.
local ffi = require 'ffi'
local C = require 'mascon.core.ffi'.C
local M = {}

ffi.cdef [[
int nvrtcCreateProgram(void **, const char *, const char *, int, const char **, const char **);
int nvrtcCompileProgram(void *, int, const char *const *);
int nvrtcGetProgramLogSize(void *, size_t *);
int nvrtcGetProgramLog(void *, char *);
int nvrtcGetCUBIN(void *, char *);
int nvrtcDestroyProgram(void **);
extern const int standin_nvrtc;
]]

local lib
--- The library, or nil and why not.
function M.open()
  if lib then return lib end
  local places = {}
  for _, folder in ipairs { '', '/usr/local/cuda/lib64/' } do
    for _, version in ipairs { '.13', '.12' } do places[#places + 1] = folder .. 'libnvrtc.so' .. version end
  end
  for _, path in ipairs(places) do
    local ok, opened = pcall(ffi.load, path)
    if ok and pcall(function() return opened.standin_nvrtc end) then
      return nil, 'the stand-in for NVRTC is on the path of the loader'
    end
    if ok then
      lib = opened
      return lib
    end
  end
  return nil, 'NVRTC is not installed'
end

--- The whole text for CUDA of a source that a program is asked for with.
function M.text(source)
  local n = C.mc_device_source('cuda', source, nil, 0)
  assert(n >= 0)
  local text = ffi.new('char[?]', n + 1)
  C.mc_device_source('cuda', source, text, n + 1)
  return ffi.string(text, n)
end

--- Sources of programs that the op table makes, n of them, another choice each day of the year.
function M.sample(n)
  local all = {}
  while true do
    local s = C.mc_device_formula(#all)
    if s == nil then break end
    all[#all + 1] = ffi.string(s)
  end
  local out, step = {}, math.floor(#all / n)
  for i = 1, n do out[i] = all[(os.date '*t'.yday * 7 + i * step) % #all + 1] end
  return out, all
end

--- nil and what the assembler says of registers, or the compiler's log.
function M.compile(text, arch)
  local p, size = ffi.new 'void *[1]', ffi.new 'size_t[1]'
  assert(lib.nvrtcCreateProgram(p, text, 'mascon.cu', 0, nil, nil) == 0)
  local capability = '--gpu-architecture=' .. arch -- held here until the call is done: the array does not hold it
  local options = ffi.new('const char *[4]', { capability, '--fmad=false', '-w', '--ptxas-options=-v' })
  local rc = lib.nvrtcCompileProgram(p[0], 4, options)
  lib.nvrtcGetProgramLogSize(p[0], size)
  local log = ffi.new('char[?]', size[0] + 1)
  lib.nvrtcGetProgramLog(p[0], log)
  lib.nvrtcDestroyProgram(p)
  if rc ~= 0 then return ('%s for %s'):format(ffi.string(log), capability) end
  return nil, ffi.string(log)
end

return M
