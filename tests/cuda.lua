-- cuda.lua - device programs through NVRTC: mascon tests/cuda.lua FOLDER [--archs "75 90"] [--jobs N] [--every K]
--
-- FOLDER holds their texts as HASH.cu, which `make cuda` leaves there. What compiled is remembered beside the text, so
-- that a run goes on where another was cut. Prints the programs that pass the limits of their family and a table by
-- family: most registers, spilled bytes and group memory of a kernel, least occupancy (tests/support/families.lua).
-- Ends with the count.
local folder = (arg[0]:match '^(.*)/[^/]*$' or '.')
local nvrtc = assert(loadfile(folder .. '/support/nvrtc.lua'))()
local families = assert(loadfile(folder .. '/support/families.lua'))()
local ptx_of = assert(loadfile(folder .. '/support/pack.lua'))().key
local mc = require 'mascon'

local o = mc.args.parse({ ... }, {
  name = 'cuda', usage = 'mascon tests/cuda.lua FOLDER [options]', about = 'Compiles device programs for NVIDIA cards.',
  positional = 1,
  options = {
    { 'archs', 'string', 'capabilities, apart by spaces', default = '75 80 86 89 90 100 120' },
    { 'jobs', 'integer', 'processes', default = 1 },
    { 'every', 'integer', 'every so many programs only', default = 1 },
    { 'ptx', 'string', 'folder of their PTX (KEY.ptx), for flops and bytes', value = 'DIR' },
    { 'part', 'string', 'K/N: the K-th of N shares (what --jobs starts)' },
  },
})
local at = assert(o[1], 'which folder?')

local function read(path)
  local f = io.open(path, 'rb')
  local text = f and f:read '*a'
  if f then f:close() end
  return text
end

--- The table of all that is known of the programs in the folder.
local function table_of_families()
  for arch in o.archs:gmatch '%d+' do
    local all, some = {}, false
    for mark in io.popen(("ls '%s'/*.cu.sm_%s 2>/dev/null"):format(at, arch)):lines() do
      local text = read(mark:match '^(.*)%.sm_%d+$')
      if text then
        families.add(all, text, tonumber(arch), read(mark), o.ptx and read(('%s/%s.ptx'):format(o.ptx, ptx_of(text))))
        some = true
      end
    end
    if some then print('sm_' .. arch .. '\n' .. table.concat(families.lines(all), '\n')) end
  end
end
local ok, why = nvrtc.open()
if not ok then
  io.stderr:write(why, '; nothing was compiled: install NVRTC (libnvrtc) and run this again\n')
  os.exit(1)
end

if o.jobs > 1 and not o.part then
  local pipes = {}
  for k = 1, o.jobs do
    pipes[k] = io.popen(("'%s/mascon' '%s' '%s' --archs '%s' --every %d --part %d/%d"):format(
      require 'mascon.host'.libdir, arg[0], at, o.archs, o.every, k, o.jobs))
  end
  local passed, failed = 0, 0
  for _, pipe in ipairs(pipes) do
    for line in pipe:lines() do
      local p, f = line:match '^(%d+) passed, (%d+) failed'
      if p then
        passed, failed = passed + p, failed + f
      else
        print(line)
      end
    end
    pipe:close()
  end
  table_of_families()
  print(('%d passed, %d failed'):format(passed, failed))
  os.exit(failed == 0 and passed > 0 and 0 or 1)
end

local share, shares = (o.part or '1/1'):match '^(%d+)/(%d+)$'
local files = {}
for file in io.popen(("ls '%s'/*.cu 2>/dev/null"):format(at)):lines() do files[#files + 1] = file end
if not files[1] then
  io.stderr:write(at, ' holds no programs; make cuda puts them there\n')
  os.exit(1)
end

--- What the assembler says of a program, or nil and why not; kept beside the text.
local function assembled(file, text, arch)
  local mark = ('%s.sm_%s'):format(file, arch)
  local said = read(mark)
  if said then return said end
  local log, info = nvrtc.compile(text, 'sm_' .. arch)
  if log then return nil, log:sub(1, 1500) end
  local out = io.open(mark .. '.new', 'w')
  if out then
    out:write(info)
    out:close()
    os.rename(mark .. '.new', mark)
  end
  return info
end

local passed, failed = 0, 0
for arch in o.archs:gmatch '%d+' do
  local began = os.clock()
  for i = tonumber(share) * o.every, #files, tonumber(shares) * o.every do
    local text = read(files[i])
    local said, wrong = assembled(files[i], text, arch)
    wrong = wrong or families.beyond(text, said)
    if wrong then
      failed = failed + 1
      print(('%s for sm_%s: %s'):format(files[i], arch, wrong))
    else
      passed = passed + 1
    end
  end
  print(('sm_%s, part %s: %.0f s of a processor'):format(arch, o.part or '1/1', os.clock() - began))
  io.stdout:flush()
end
if not o.part then table_of_families() end
print(('%d passed, %d failed'):format(passed, failed))
os.exit(failed == 0 and 0 or 1)
