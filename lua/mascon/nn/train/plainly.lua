-- plainly.lua - a compiled function whose errors are those of the function it was made of.
--
-- A replayed operation that refuses its operands knows neither the part of the network nor what the numbers mean. The
-- plain function, run once more on the same arguments, does.
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local error = check.error
local M = {}

local function told(plain, ok, ...)
  if ok then return ... end
  local why = ...
  if check.stopped(why) or type(why) == 'string' and why:find('compile: the function ', 1, true) then error(why, 0) end
  local good, better = check.try(tensor.scope, plain)
  if good and type(why) == 'string' and why:find('not known yet', 1, true) then
    why = why .. '. To look at numbers, give nn.Step or nn.Trainer compile = false, or compute them as metrics'
  end
  error(good and why or better, 0)
end

--- f(...); where it fails, the error of plain(), unless that succeeds.
---@param plain function
---@param f function
function M.call(plain, f, ...) return told(plain, pcall(f, ...)) end

return M
