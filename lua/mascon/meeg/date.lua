-- date.lua - dates of measurements between text and seconds since 1970.
--
-- Holds the one form in which mascon.meeg keeps them: '2013-11-13T16:14:03.794232', UTC or the clock of the file,
-- fractions where known.
local floor = math.floor
local M = {}

--- { seconds since 1970, microseconds } of a date, or nil when it is none.
---@param text any
---@return integer[]|nil
function M.stamp(text)
  local y, m, d, h, mi, s, fraction = tostring(text):match '^(%d%d%d%d)-(%d%d)-(%d%d)T(%d%d):(%d%d):(%d%d)(%.?%d*)'
  if not y then return nil end
  y, m, d = tonumber(y), tonumber(m), tonumber(d)
  -- days since 1970-01-01 in the Gregorian calendar, the year taken from March on
  if m <= 2 then y, m = y - 1, m + 12 end
  local days =
    365 * y + floor(y / 4) - floor(y / 100) + floor(y / 400) + floor((153 * (m - 3) + 2) / 5) + d - 1 - 719468
  return { days * 86400 + tonumber(h) * 3600 + tonumber(mi) * 60 + tonumber(s),
    floor((tonumber('0' .. fraction) or 0) * 1e6 + 0.5) }
end

--- The date of { seconds, microseconds }.
---@param stamp number[]
---@return string|nil
function M.text(stamp)
  local s, us = stamp[1], stamp[2] or 0
  -- "no date" is written as impossible microseconds
  if not s or us < 0 or us >= 1e6 or math.abs(s) > 2 ^ 40 then return nil end
  return os.date('!%Y-%m-%dT%H:%M:%S', s) .. (us > 0 and ('.%06d'):format(us) or '')
end

return M
