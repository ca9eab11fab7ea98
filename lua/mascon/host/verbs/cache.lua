-- cache.lua - `mascon cache list|clear|verify|tune`: compiled code on disk.
--
-- Shows, empties and checks the folder, and measures the setting of the vector machine that is kept there. Exit status
-- 0, 1 when verify found damage or there is no cache, 2 for wrong use.
local M = {}

local HELP = [[
mascon cache ACTION

  list      what is kept: size, last use, library version, instruction level, functions, compiler
  clear     removes everything
  verify    checks every entry and removes damaged ones
  tune      measures the block size of the vector machine on this computer and keeps it

The folder is $XDG_CACHE_HOME/mascon/kernels (else ~/.cache/mascon/kernels); MASCON_CACHE names another one or turns
the cache off, MASCON_CACHE_SIZE (256M) is how much is kept. Entries unused for longest go first. Removing them is
always safe.
]]

local function say(...) io.stdout:write(string.format(...), '\n') end

local function amount(bytes)
  return bytes >= 2 ^ 20 and ('%.1f MiB'):format(bytes / 2 ^ 20) or ('%.1f KiB'):format(bytes / 2 ^ 10)
end

local function absent(why)
  say('no cache: %s', why)
  return 1
end

local action = {}

function action.list(cache)
  local list, why = cache.list()
  if not list then return absent(why) end
  local total = 0
  for _, e in ipairs(list) do
    total = total + e.bytes
    if e.key then
      say('%s  %9s  %s  %s', e.key:sub(1, 12), amount(e.bytes), os.date('%Y-%m-%d %H:%M', e.used),
        e.bad and 'DAMAGED: ' .. e.bad or e.info)
    else
      say('%-12s  %9s  %s  a measured setting', e.name:sub(1, 12), amount(e.bytes), os.date('%Y-%m-%d %H:%M', e.used))
    end
  end
  say('%d files, %s of %s in %s', #list, amount(total), amount(cache.capacity()), cache.path())
  return 0
end

function action.clear(cache)
  local n, why = cache.clear()
  if not n then return absent(why) end
  say('%d files removed from %s', n, cache.path())
  return 0
end

function action.verify(cache)
  local n, bad = cache.verify()
  if not n then return absent(bad) end
  for _, e in ipairs(bad) do say('%s  removed: %s', e.key:sub(1, 12), e.bad) end
  say('%d files checked, %d damaged', n, #bad)
  return #bad == 0 and 0 or 1
end

function action.tune(cache)
  local path, why = cache.path()
  if not path then return absent(why) end
  local tune = require 'mascon.compile.tune'
  local best, rows = tune.measure(require 'mascon'.compile)
  for _, r in ipairs(rows) do
    say('%9s  %.2f GB/s%s', amount(r.bytes), r.rate / 1e9, r.bytes == best and '  <-' or '')
  end
  local kept, trouble = tune.keep(best)
  if not kept then return absent(trouble) end
  say('kept in %s', path)
  return 0
end

---@param args string[]
---@return integer status
function M.main(args)
  local f = action[args[1] or '']
  if args[1] == '--help' or args[1] == '-h' then
    io.stdout:write(HELP)
    return 0
  end
  if not f or args[2] then
    io.stderr:write(args[1]
      and ("mascon cache: '%s' is none of list, clear, verify, tune\n"):format(table.concat(args, ' ')) or HELP)
    return 2
  end
  return f(require 'mascon.compile.native.cache')
end

return M
