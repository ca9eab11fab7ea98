-- verdict.lua - votes of cells, and verdicts on whole channels.
--
-- Decides what goes beyond a limit for each channel: channels without signal, and channels so often bad that they are
-- bad altogether.
local mc = require 'mascon'
local vote_ = require 'workflows.autoreject.vote'
local M = {}

-- names that a sentence can hold
local SAID = 8

--- The remark about channels without signal, or nil.
---@param names string[]
---@param dead boolean[] one each
---@param E integer epochs
---@param advice string
function M.flat_remark(names, dead, E, advice)
  local list = {}
  for c, name in ipairs(names) do if dead[c] then list[#list + 1] = name end end
  if #list == 1 then return ('channel %s is flat in all %d epochs; %s'):format(list[1], E, advice) end
  if #list > 1 then
    return ('%d channels are flat in all %d epochs (%s); %s'):format(#list, E,
      table.concat(list, ', ', 1, math.min(#list, SAID)) .. (#list > SAID and ', ...' or ''), advice)
  end
end

--- Votes with the options flat and bad_channel.
---@param range any f64 [E, C]
---@param threshold any f64 [C]
---@param names string[]
---@param o table options flat, bad_channel
---@param warnings string[] remarks are added
---@param known? string[] channels already found bad altogether (a model applied to other epochs)
---@return table vote of vote.lua
---@return string[] channels that are bad altogether
function M.vote(range, threshold, names, o, warnings, known)
  local E = range.shape[1]
  if not o.flat then
    warnings[#warnings + 1] = M.flat_remark(names, mc.all(mc.le(range, 0), 1):totable(), E,
      'a limit from above never finds that: mark them bad, or give flat = 0')
  end
  local more = { flat = o.flat }
  local vote = vote_.cast(range, threshold, more)
  if not o.bad_channel then return vote, {} end
  local share, list, set, place = (mc.sum(vote.bad:to 'f64', 1) / E):totable(), {}, {}, {}
  for c, name in ipairs(names) do place[name] = c end
  if known then
    for _, name in ipairs(known) do
      if place[name] then set[place[name]] = true end
    end
  end
  for c, name in ipairs(names) do
    if not known and share[c] > o.bad_channel then
      set[c] = true
      warnings[#warnings + 1] =
        ('channel %s is bad in %.0f %% of the epochs and so taken as bad in all'):format(name, 100 * share[c])
    end
    if set[c] then list[#list + 1] = name end
  end
  if #list == 0 then return vote, list end
  more.channels = set
  return vote_.cast(range, threshold, more), list
end

return M
