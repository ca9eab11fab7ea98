-- repairer.lua - weights that rebuild bad sensors from good ones, kept by set of bad ones.
--
-- Holds the check of a set and the store; how weights come about is the caller's (splines, field mapping).
local mc = require 'mascon.array'
local check = require 'mascon.core.check'
local error = check.error
local M = {}

--- Bytes of weights that are kept when the caller says nothing.
M.CACHE = 64 * 2 ^ 20

local Repairer = {}
Repairer.__index = Repairer

--- A repairer over C sensors. solve(at, seen): weights f64 [#at, C] of the sensors at places `at` (i64 tensor), `seen`
--- the same as a set; columns of bad sensors are set to zero here.
---@param C integer
---@param solve function
---@param cache? number bytes
---@return table with :weights(bad)
function M.new(C, solve, cache)
  check.arg('meeg.repairer.new', 'C', C, 'integer >= 1', 3)
  check.arg('meeg.repairer.new', 'solve', solve, 'function', 3)
  if cache ~= nil then check.arg('meeg.repairer.new', 'cache', cache, 'number >= 0', 3) end
  return setmetatable({ C = C, solve = solve, limit = cache or M.CACHE, kept = {}, bytes = 0 }, Repairer)
end

--- Weights of bad sensors from the good ones: y_B = W X, with zero columns at the bad.
---@param bad integer[] their places, 1 .. C, at least one good one left
---@return any f64 [#bad, C], rows in the order of `bad`; not to be written to
--- Errors: no place, a place outside, twice the same, no good sensor left.
function Repairer:weights(bad)
  local key = table.concat(bad, ' ')
  local kept = self.kept[key]
  if kept then return kept end
  local C, b, seen = self.C, #bad, {}
  if b == 0 then error('meeg.repairer: no bad sensor is given; give places from 1 to ' .. C, 2) end
  for _, c in ipairs(bad) do
    if type(c) ~= 'number' or c % 1 ~= 0 or c < 1 or c > C then
      error(('meeg.repairer: bad sensor %s is not one; places run from 1 to %d'):format(check.show(c), C), 2)
    end
    if seen[c] then error(('meeg.repairer: bad sensor %d is named twice; give each once'):format(c), 2) end
    seen[c] = true
  end
  if b == C then
    error(('meeg.repairer: all %d sensors are bad; at least one good one is needed to repair from'):format(C), 2)
  end
  local at = mc.tensor(bad, { dtype = 'i64' })
  local W = self.solve(at, seen)
  W[{ mc.all, at }] = 0
  local size = b * C * 8
  if self.bytes + size > self.limit then self.kept, self.bytes = {}, 0 end
  if size <= self.limit then self.kept[key], self.bytes = W, self.bytes + size end
  return W
end

return M
