-- soak.lua - the frame of a long job: cases drawn from a seed, a time box, a state from which it goes on.
--
-- A job is a script tests/soak/NAME.lua with a line `-- soak: COUNT` in its head, run as
--     mascon tests/soak/NAME.lua [--count N] [--seed N] [--seconds N] [--state FILE]
-- Case k has a generator of its own, seeded by (seed, k), so that a case that failed is run again alone: --seed S
-- --count 1 after a state of k. Owns command line, state and count line. May not know what a job does.
local M = {}

--- A generator of whole numbers: draw(lo, hi), draw() in [0, 1). SplitMix-like steps of 2^31 - 1.
---@param seed integer
function M.drawer(seed)
  local state = (seed * 7919 + 12345) % 2147483646 + 1
  local function step()
    state = state * 16807 % 2147483647
    return state
  end
  for _ = 1, 3 do step() end
  return function(lo, hi)
    local v = step() / 2147483647
    if not lo then return v end
    return lo + math.floor(v * (hi - lo + 1))
  end
end

local function options(args, name, count)
  local o, i = { count = count, seed = 1, seconds = 3600 }, 1
  while args[i] do
    local key = args[i]:match '^%-%-(%a+)$'
    if not (key == 'count' or key == 'seed' or key == 'seconds' or key == 'state') or not args[i + 1] then
      io.stderr:write(name, ': ', args[i],
        ' is not understood; there are --count N, --seed N, --seconds N and --state FILE\n')
      os.exit(2)
    end
    o[key] = key == 'state' and args[i + 1] or assert(tonumber(args[i + 1]), args[i] .. ' needs a number')
    i = i + 2
  end
  return o
end

--- Runs a job as a script: case(draw, k) raises where something is wrong. Ends the process.
---@param name string
---@param count integer cases of the whole job
---@param args string[] command line
---@param case function
function M.run(name, count, args, case)
  local o = options(args, name, count)
  local clock = require 'mascon.host'.clock
  local start, first, failed = clock(), o.seed, 0
  local f = o.state and io.open(o.state)
  if f then
    first = f:read '*n' or first
    failed = f:read '*n' or 0
    f:close()
  end
  local k = first
  while k < o.seed + o.count and clock() - start < o.seconds do
    local ok, why = pcall(case, M.drawer(k), k)
    if not ok then
      failed = failed + 1
      io.stderr:write(('%s, case %d: %s\n'):format(name, k, tostring(why)))
    end
    k = k + 1
    if o.state then
      local out = assert(io.open(o.state .. '.new', 'w'))
      out:write(('%d %d\n'):format(k, failed))
      out:close()
      os.rename(o.state .. '.new', o.state)
    end
  end
  print(('%s: cases %d to %d of %d, %.0f s'):format(name, first, k - 1, o.seed + o.count - 1, clock() - start))
  print(('%d passed, %d failed'):format(math.max(0, k - first - failed), failed))
  os.exit(failed == 0 and 0 or 1)
end

return M
