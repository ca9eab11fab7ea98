-- place.lua - the device on which functions that make tensors put them, where their options name none: the CPU, or
-- that of the innermost mc.with_device.
--
-- It holds for calls of the script. A call from outside the library offers the device to the function that was called
-- (guard.lua), and the first options that this one reads take it: tensors that the library makes for itself inside stay
-- where they are made. Holds the names of open blocks.
local check = require 'mascon.core.check'
local error = check.error
local M = {}

M.name = nil -- of the innermost block
local offered

M.makers = setmetatable({}, { __mode = 'k' }) -- functions that take the offer

--- Names the functions of a module that make tensors.
---@param module table
---@param names string names, apart by spaces
function M.made_by(module, names)
  for name in names:gmatch '%S+' do M.makers[module[name]] = true end
end

--- Offers the device to a function that the script calls. After the call: withdraw.
function M.offer() offered = M.name end
function M.withdraw() offered = nil end

--- The device of a block where a call of the script reads its options, else nil; the next reader finds none.
function M.taken()
  local name = offered
  offered = nil
  return name
end

--- Rules of the option device for check.opts: of makers, and of what is made by a call alone (layers).
M.OPTION = { 'cpu', 'string', from = function() return M.taken() or 'cpu' end }
M.STANDING = { 'cpu', 'string', from = function() return M.name or 'cpu' end }

--- Device of an analysis whose options name none, and the rule of its option: what MASCON_DEVICE says, which "auto"
--- reads, else the CPU.
function M.of_analysis() return (os.getenv 'MASCON_DEVICE' or '') ~= '' and 'auto' or 'cpu' end
M.ANALYSIS = { 'cpu', 'string | table', from = M.of_analysis }

--- Calls f(...) with a default device, also for what it calls; the one before holds again after it, on error too.
---@param name string a device that is there
function M.within(name, f, ...)
  local before, co = M.name, coroutine.create(f)
  M.name = name
  local function done(ok, ...)
    M.name = before
    if ok and coroutine.status(co) == 'suspended' then
      error('with_device: the function yielded; a block must end before control leaves it', 3)
    end
    if ok then return ... end
    local e = ...
    if type(e) == 'string' then error(e, 0) end
    error(e)
  end
  return done(coroutine.resume(co, ...))
end

return M
