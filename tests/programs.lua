-- programs.lua - the programs of NVIDIA cards that come with mascon: mascon tests/programs.lua PACK [options]
--
-- Calls every row of the op table in every dtype, and the passes of XPCS fits, on a stand-in of a card that launches
-- nothing, which leaves the texts of all programs behind, and compiles them as PTX for capability 7.5, which later
-- cards take too. PTX says version 8.0, so that drivers from CUDA 12.0 on load it; `--check` has the assembler take all
-- of it. Needs NVRTC; what was compiled is kept in FOLDER, so that a run goes on where another was cut.
--
-- The stand-in is on the loader's path of the first part alone, which this program starts itself (--texts).
local folder = (arg[0]:match '^(.*)/[^/]*$' or '.')
local support = assert(loadfile(folder .. '/support/init.lua'))()
local families = support.load 'families'
local mc = require 'mascon'
local ffi = require 'ffi'
local host = require 'mascon.host'

local o = mc.args.parse({ ... }, {
  name = 'programs', usage = 'mascon tests/programs.lua PACK [options]', positional = 1,
  about = 'Packs the programs of devices that come with mascon.',
  options = {
    { 'folder', 'string', 'texts and code (beside the program: programs.tmp)', value = 'DIR' },
    { 'check', 'flag', 'assemble the code for capabilities 7.5, 9.0 and 12.0 (ptxas)' },
    { 'collect', 'flag', 'only write the texts to DIR/texts' },
    { 'texts', 'flag', 'only call what has programs, on the device cuda:0' },
    { 'passes', 'flag', 'with --texts: those of the passes of XPCS fits alone' },
    { 'transforms', 'flag', 'with --texts: those of Fourier transforms alone' },
  },
})

-- ---------------------------------------------------------------- texts

local function moved(v)
  if mc.is_tensor(v) then return v:to 'cuda:0' end
  if type(v) ~= 'table' then return v end
  local out = {}
  for k, x in pairs(v) do out[k] = moved(x) end
  return out
end

local function try(f) pcall(function() mc.scope(function() f() end) end) end

--- Lengths of transforms: short, long, of large primes.
local function transforms()
  for _, from in ipairs(require 'mascon.gen.ops'.dtypes) do
    for _, n in ipairs { 2, 3, 17, 31, 64, 97, 1000, 4096, 8192, 65536, 65537 } do
      for _, f in ipairs { 'fft', 'ifft', 'rfft', 'irfft' } do
        try(function() return mc.fft[f](mc.ones({ 2, n }, { dtype = from[1] }):to 'cuda:0', { n = n }) end)
      end
    end
  end
end

--- Calls on a device whose results mean nothing: errors say so, or that there is no form.
local function texts()
  local calls, ops = support.load 'calls', require 'mascon.gen.ops'.ops
  calls.BYTES, calls.SMALL = 4096, 2048
  transforms()
  for _, row in ipairs(ops) do
    for _, dtype in ipairs(row.dtypes or {}) do
      local ok, list = pcall(calls.list, row, dtype)
      for _, call in ipairs(ok and list or {}) do try(function() call.f(unpack(moved(call.args))) end) end
    end
  end
  for _, f in ipairs { 'sobol', 'halton' } do try(function() return mc.random[f](4, 2, { device = 'cuda:0' }) end) end
  for _, from in ipairs(require 'mascon.gen.ops'.dtypes) do
    local x = mc.ones({ 6, 4 }, { dtype = from[1] }):to 'cuda:0'
    for _, to in ipairs(require 'mascon.gen.ops'.dtypes) do try(function() return x:T(), x:to(to[1]) end) end
    try(function() x[{ { 1, 2 }, 3 }] = 1 end)
    try(function() x[{ mc.tensor({ 1, 2 }, { dtype = 'i64' }):to 'cuda:0', 1 }] = 1 end)
    try(function() return x[{ { 1, 6, 2 } }]:contiguous() end)
    try(function() return x:fill_(0) end)
    -- random numbers of a key that is there
    for _, f in ipairs { 'uniform', 'normal', 'integers', 'bernoulli' } do
      local draw = mc.compile(function(word)
        return mc.random[f]({ 4 }, { key = mc.random.keys(word), low = f == 'integers' and 1 or nil,
          high = f == 'integers' and 9 or nil, dtype = from[1] })
      end)
      try(function() return draw(mc.random.key(1):words():to 'cuda:0') end)
    end
    -- samples through filters, and systems that are solved in blocks of columns
    local samples = mc.ones({ 2, 40 }, { dtype = from[1] }):to 'cuda:0'
    try(function() return mc.signal.sosfilt(mc.ones { 1, 6 }, samples) end)
    try(function() return mc.signal.lfilter({ 1, 0.5 }, { 1, -0.5 }, samples) end)
    local square = mc.ones({ 80, 80 }, { dtype = from[1] }):to 'cuda:0'
    for _, f in ipairs { 'inv', 'det', 'cholesky', 'lu_factor', 'qr' } do
      try(function() return mc.linalg[f](square) end)
    end
    try(function() return mc.linalg.solve(square, square) end)
    try(function() return mc.linalg.solve_triangular(square, square) end)
    -- rows of reductions and sorts that are cut into pieces
    for _, n in ipairs { 300, 5000, 200000 } do
      local y = mc.ones({ n }, { dtype = from[1] }):to 'cuda:0'
      for _, f in ipairs { 'sum', 'prod', 'mean', 'var', 'max', 'min', 'argmax', 'any', 'all', 'cumsum', 'sort',
        'argsort', 'median', 'logsumexp', 'softmax' } do
        try(function() return mc[f](y) end)
        try(function() return mc[f](y, 1) end)
      end
    end
  end
end

--- The files of kernels/device with which none of the texts ends.
local function absent(list)
  local seen, out = {}, {}
  for _, text in ipairs(list) do seen[families.of(text)] = true end
  for path in io.popen(("ls '%s'/../kernels/device/*.c"):format(folder)):lines() do
    local name = path:match '([%w_]+)%.c$'
    if not seen[name] then out[#out + 1] = name end
  end
  return out
end

--- Passes of XPCS fits: every model, kind of scaling, loss and dtype.
local function passes()
  local phi, place = { 0, 60 }, require 'workflows.xpcs.pass.device'.place { device = 'cuda:0' }
  local s = mc.xpcs.generate.simulate { n = 8, dt = 0.1, q = 0.0054, gap = 2e6, phi = phi, contrast = 0.3, offset = 1,
    physics = { 400, -0.3, 5, 3e-3, -0.2, 1e-4, -6 }, sigma = 0.01, seed = 3, first = 1 }
  local kd, ks = mc.xpcs.model.constants { q = 0.0054, gap = 2e6, dt = 0.1 }
  for _, dtype in ipairs { 'f64', 'f32' } do
    local data = mc.xpcs.data.of { c2 = s.c2, phi = phi, t = s.t, q = 0.0054, dt = 0.1, gap = 2e6,
      mode = 'laminar_flow', dtype = dtype }
    for _, physics in ipairs { { 500, -0.25, 6, 2.5e-3, -0.25, 2e-4, -4 }, { 500, -0.25, 6 } } do
      for _, kind in ipairs { 'common', 'fixed', 'each' } do
        for _, loss in ipairs { 'linear', 'soft_l1' } do
          mc.xpcs.pass.run(data, { physics = physics, contrast = { 0.3, 0.3 }, offset = { 1, 1 }, sigma = { 0.1, 0.1 },
            kd = kd, ks = ks, t = data.t, loss = loss, f_scale = 1.5, device = place }, kind)
        end
      end
    end
  end
end

if o.texts then
  if o.transforms then
    transforms()
  else
    passes()
    if not o.passes then texts() end
  end
  os.exit(0)
end

-- ---------------------------------------------------------------- code

local at = o.folder or host.libdir .. '/programs.tmp'
local path = assert(o[1], 'which file?')
local process, standin = support.load 'process', support.load 'standin'
process.shell(("mkdir -p '%s/texts' '%s/code'; rm -f '%s'/texts/*.cu"):format(at, at, at))
local there, why = standin.folder()
if not there then
  io.stderr:write('programs: ', why, '; no programs are packed\n')
  os.exit(3)
end
for _, fft in ipairs { 'none', 'all' } do -- own transforms, and what those of a library want around them
  local r = process.shell(("%s STANDIN_CACHE='%s/texts' MASCON_CACHE=off '%s' '%s' x --texts%s"):format(
    standin.environment { DRY = 1, KEEP = 1, FFT = fft }, at, host.program or arg[-1], arg[0],
    fft == 'all' and ' --transforms' or ''))
  if r.status ~= 0 then
    io.stderr:write('programs: ', r.text, '\n')
    os.exit(1)
  end
end

local function read(file)
  local f = io.open(file, 'rb')
  local text = f and f:read '*a'
  if f then f:close() end
  return text
end

local paths, all = {}, {}
for file in io.popen(("ls '%s'/texts/*.cu"):format(at)):lines() do
  paths[#paths + 1], all[#all + 1] = file, read(file)
end
local without = absent(all)
if without[1] then
  io.stderr:write('programs: no call has a program of ', table.concat(without, ', '), '\n')
  os.exit(1)
end
if o.collect then
  print(('%s/texts: %d programs'):format(at, #all))
  os.exit(0)
end

ffi.cdef [[
int nvrtcCreateProgram(void **, const char *, const char *, int, const char **, const char **);
int nvrtcCompileProgram(void *, int, const char *const *);
int nvrtcGetPTXSize(void *, size_t *);
int nvrtcGetPTX(void *, char *);
int nvrtcDestroyProgram(void **);
]]
local nvrtc, missing = support.load 'nvrtc'.open()
local pack = support.load 'pack'
if not nvrtc then
  io.stderr:write('programs: ', missing, '; no programs are packed\n')
  os.exit(3)
end

local OPTIONS = { '--gpu-architecture=compute_75', '--fmad=false', '--prec-div=true', '--prec-sqrt=true', '--ftz=false',
  '-w' }
local function compiled(text)
  local p, size = ffi.new 'void *[1]', ffi.new 'size_t[1]'
  assert(nvrtc.nvrtcCreateProgram(p, text, 'mascon.cu', 0, nil, nil) == 0)
  local rc = nvrtc.nvrtcCompileProgram(p[0], #OPTIONS, ffi.new('const char *[?]', #OPTIONS, OPTIONS))
  local code
  if rc == 0 and nvrtc.nvrtcGetPTXSize(p[0], size) == 0 then
    local buffer = ffi.new('char[?]', size[0])
    if nvrtc.nvrtcGetPTX(p[0], buffer) == 0 then code = ffi.string(buffer) end
  end
  nvrtc.nvrtcDestroyProgram(p)
  -- comments name the compiler, and lines of blanks divide what one reads
  return code and code:gsub('//[^\n]*', ''):gsub('\n%s*\n+', '\n'):gsub('%.version [%d.]+', '.version 8.0', 1)
end

local codes, files, made, failed = {}, {}, 0, 0
for i, text in ipairs(all) do
  local key = pack.key(text)
  local kept = ('%s/code/%s.ptx'):format(at, key)
  local code = read(kept)
  if not code then
    code = compiled(text)
    made = made + 1
    if code then
      local f = assert(io.open(kept .. '.new', 'wb'))
      f:write(code)
      f:close()
      os.rename(kept .. '.new', kept)
    else
      failed = failed + 1
      io.stderr:write('programs: ', paths[i], ' does not compile\n')
    end
  end
  if code then codes[key], files[#files + 1] = code, kept end
end
local bytes = pack.write(path, codes)
print(('%s: %d programs (%d compiled now), %.1f MB'):format(path, #files, made, bytes / 1e6))

if o.check then
  local ptxas = process.shell 'command -v ptxas || ls /usr/local/cuda/bin/ptxas'.text:match '[^\n]+'
  for _, file in ipairs(ptxas and files or {}) do
    for _, arch in ipairs { 75, 90, 120 } do
      local said = process.shell(("'%s' -arch=sm_%d '%s' -o /dev/null"):format(ptxas, arch, file))
      if said.status ~= 0 then
        failed = failed + 1
        io.stderr:write(('programs: %s for sm_%d: %s\n'):format(file, arch, said.text))
      end
    end
  end
  print(ptxas and 'the assembler takes all of it' or 'ptxas is not there: the code was not assembled')
end
os.exit(failed == 0 and 0 or 1)
