-- network_child.lua - a process of its own that trains the GPT of networks.lua: for its first step and its memory.
--
-- usage: mascon bench/network_child.lua STEPS [LAYERS] [HOW]; HOW: plain, checkpoint (blocks keep nothing for the way
-- back), spare (so, and 8 batches of one sequence in a step). Prints one JSON line: parameters, loss, bytes resident at
-- most (peak) and before the network was there (base), pages that the system gave (faults), processor seconds (cpu).
local folder = arg[0]:match '^(.*)/[^/]*$' or '.'
package.path = folder .. '/?.lua;' .. package.path
local mc = require 'mascon'
local nn = mc.nn
local networks = require 'networks'

local function status(name)
  local text = io.open '/proc/self/status':read '*a'
  return 1024 * tonumber(text:match(name .. ':%s*(%d+) kB'))
end

local steps, layers, how = tonumber(arg[1]), tonumber(arg[2] or 4), arg[3] or 'plain'
mc.set_num_threads(1)
local base = status 'VmRSS'
local many = how == 'spare' and 8 or 1
local net, loss, batch = networks.nets.gpt(8 / many, layers)
if how ~= 'plain' then nn.checkpoint_scope(net) end
local step = nn.Step(net, loss, { optimizer = mc.optim.adamw { lr = 1e-4 }, accumulate = many })
local value
for _ = 1, steps * many do value = step(batch) or value end
local params = 0
for _, p in pairs(net:parameters()) do params = params + p:numel() end
local fields = io.open '/proc/self/stat':read '*a':match '%) (.*)$' -- from the third on
local faults = tonumber(fields:match('^' .. ('%S+ '):rep(7) .. '(%d+)'))
print(mc.json.encode { params = params, loss = value, peak = status 'VmHWM', base = base, faults = faults,
  cpu = os.clock() })
