-- decide.lua - a condition written with <, <=, and, or, not, as a truth value that is not known yet.
--
-- Lua turns the result of a comparison into true or false at once. Where values are not known, the condition is run
-- once for each way its comparisons may come out, and what the runs return is chosen by the comparisons themselves.
-- Holds these runs.
local mc = require 'mascon.array'
local check = require 'mascon.core.check'
local recording = require 'mascon.graph.recording'
local tensor = require 'mascon.core.tensor'
local error = check.error

local M = {}

local MOST = 64 -- runs of a condition

--- What f() returns as a 0-d bool tensor. truth(value, device) makes one of what a run returns, a boolean on a device.
---@param name string of the public function, for messages
---@param f fun(): any
---@param truth fun(value: any, device?: string): any
---@return any tensor
function M.run(name, f, truth)
  if not recording.mode() then return truth(f()) end
  local runs = 0
  local function explore(answers)
    runs = runs + 1
    if runs > MOST then
      error(('%s: the condition compares so often that it has more than %d ways to come out; combine comparisons with '
        .. 'mc.logical_and and mc.logical_or (a:lt(b) gives a tensor)'):format(name, MOST), 2)
    end
    local asked, given, before = {}, #answers, tensor.decide
    tensor.decide = function(t)
      local n = #asked + 1
      asked[n] = t:reshape {}
      if answers[n] == nil then answers[n] = true end
      return answers[n]
    end
    local ok, value = pcall(f)
    tensor.decide = before
    if not ok then error(value, 0) end
    local out = truth(value, asked[1] and asked[1].device)
    for n = #asked, given + 1, -1 do
      local other = { unpack(answers, 1, n - 1) }
      other[n] = false
      out = mc.where(asked[n], out, explore(other))
    end
    return out
  end
  return explore {}
end

return M
