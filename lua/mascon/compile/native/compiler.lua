-- compiler.lua - the C compiler of this machine: which one, with which options, and the running of one at a time beside
-- us.
--
-- Holds the queue of sources. Nothing here waits unless asked to: poll() is called where calls begin. A missing,
-- failing, hanging or lying compiler ends in a message for whoever asked.
local lib = require 'mascon.core.ffi'
local handles = require 'mascon.compile.native.handles'

local M = {}

-- the options of the kernels, so that the same text gives the same bits
local FLAGS = { '-std=c11', '-D_GNU_SOURCE', '-O3', '-ffp-contract=off', '-fno-math-errno', '-fno-trapping-math',
  '-fPIC', '-fvisibility=hidden', '-w' }
local CANDIDATES = { 'gcc', 'cc', 'clang' }
--- Seconds after which a compiler is stopped; MASCON_CC_TIMEOUT overrides it.
M.timeout = 30

local found -- { words, identity } or { reason }

--- Where the headers of the kernels lie.
local function headers()
  local root = debug.getinfo(1, 'S').source:match '^@(.*)/lua/mascon/compile/native/[^/]*$'
  if not root and debug.getinfo(1, 'S').source:find '^@lua/' then root = '.' end
  return root and root .. '/kernels'
end

local function look()
  local folder = headers()
  local facts = folder and handles.facts(folder .. '/mck_math.h')
  if not facts then
    return { reason = ('the headers of the kernels are not in %s; install mascon again'):format(tostring(folder)) }
  end
  local own = os.getenv 'MASCON_CC'
  if own == '' then own = nil end
  local why
  for _, text in ipairs(own and { own } or CANDIDATES) do
    local words, identity = {}, {}
    for w in text:gmatch '%S+' do words[#words + 1] = w end
    local path
    for i, w in ipairs(words) do
      if w:sub(1, 1) ~= '-' then -- a program: ccache gcc
        path, why = handles.program(w)
        local f = path and handles.facts(path)
        if not f then
          path = nil
          break
        end
        identity[i] = ('%s %d %.9f'):format(path, f.bytes, f.changed)
      else
        identity[i] = w
      end
    end
    if path then return { words = words, identity = table.concat(identity, '\n'), headers = folder } end
  end
  return { reason = why or 'no C compiler is found; install gcc or set MASCON_CC' }
end

--- The compiler: { words, identity (changes with the program), headers } or nil and why there is none.
---@return table|nil
---@return string|nil
function M.find()
  local own = os.getenv 'MASCON_CC' or ''
  if not found or found.asked ~= own then
    found = look()
    found.asked = own
  end
  if found.reason then return nil, found.reason end
  return found
end

--- Options for a source at the instruction level in use. A source that needs no more than the kernels' headers sees
--- small stand-ins for the system's headers and no start-up files, which halves the time it takes (measured: 77 ms,
--- then 47); libm only where it is called.
---@param source string
---@param bare boolean it includes nothing but the kernels' headers
function M.flags(source, bare)
  local list = {}
  for i, f in ipairs(FLAGS) do list[i] = f end
  list[#list + 1] = '-march=x86-64-' .. lib.isa()
  local cc = found and found.headers
  if bare then
    list[#list + 1] = '-nostdinc'
    list[#list + 1] = '-nostdlib'
    list[#list + 1] = '-I' .. cc .. '/native'
  end
  list[#list + 1] = '-I' .. cc
  if not bare or source:find('_slow(', 1, true) or source:find('lgamma', 1, true) then
    list[#list + 1] = '-Wl,--no-as-needed'
    list[#list + 1] = '-lm'
    list[#list + 1] = '-lc'
  end
  return list
end

-- ---------------------------------------------------------------- the queue

local queue, running = {}, nil

--- How many sources wait or are being compiled.
function M.pending() return #queue + (running and 1 or 0) end

local function write(path, text)
  local f, why = io.open(path, 'wb')
  if not f then return nil, why end
  local ok, message = f:write(text)
  local closed, last = f:close()
  if not ok or not closed then return nil, message or last end
  return true
end

local function start(job)
  local cc, why = M.find()
  if not cc then return job.done(nil, why) end
  local folder
  folder, why = handles.temporary()
  if not folder then return job.done(nil, why) end
  local source, library = folder .. '/fused.c', folder .. '/fused.so'
  local ok
  ok, why = write(source, job.source)
  if not ok then
    handles.remove(folder)
    return job.done(nil, why)
  end
  local words = {}
  for _, list in ipairs { cc.words, { '-shared', '-o', library, source }, M.flags(job.source, job.bare) } do
    for _, w in ipairs(list) do words[#words + 1] = w end
  end
  job.handle, why = handles.start(words, folder, tonumber(os.getenv 'MASCON_CC_TIMEOUT') or M.timeout)
  if not job.handle then
    handles.remove(folder)
    return job.done(nil, why)
  end
  job.folder, job.library, job.since = folder, library, lib.clock_seconds()
  running = job
end

--- What a compiler said, without the name of the temporary folder, at most a screen of it.
local function said(job)
  local f = io.open(job.folder .. '/log', 'rb')
  local text = f and f:read(4000) or ''
  if f then f:close() end
  return (text:gsub(job.folder:gsub('%p', '%%%0') .. '/', ''):gsub('%s+$', ''))
end

--- Who waits for compiled groups is told at the next poll; who asked for this source, now.
local function finish(job, state)
  local seconds = lib.clock_seconds() - job.since
  running = nil
  if state == 'done' and handles.facts(job.library) then
    local code, why = handles.open(job.library)
    job.done(code, why, job, seconds)
  elseif state == 'timeout' then
    job.done(nil, ('the compiler ran for %.0f s and was stopped'):format(seconds))
  else
    local text = said(job)
    job.done(nil, 'the compiler failed' .. (text ~= '' and ': ' .. text or ' and said nothing'), job)
  end
  handles.finish(job.handle)
end

--- Looks after the compiler: to be called often.
function M.poll()
  if running then
    local state = handles.poll(running.handle)
    if state == 'running' then return end
    finish(running, state)
  end
  while not running and queue[1] do start(table.remove(queue, 1)) end
end

--- Compiles a source. done(code | nil, message, job) is called by some later poll; job.library is the file.
---@param source string
---@param done function
---@param bare boolean it includes nothing but the kernels' headers
function M.submit(source, done, bare)
  queue[#queue + 1] = { source = source, done = done, bare = bare }
  M.poll()
end

--- Waits until nothing is left to compile, or `still()` is false.
function M.wait(still)
  M.poll()
  while M.pending() > 0 and (not still or still()) do
    handles.pause(0.0005)
    M.poll()
  end
end

--- Forgets which compiler was found (tests, a changed MASCON_CC).
function M.forget() found = nil end

return M
