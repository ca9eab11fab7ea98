-- progress.lua - how far a long job has come.
--
-- Holds: the line with bar, rate and time left, and the decision when to draw it. On a terminal one line is redrawn, at
-- most ten times a second; elsewhere (a log file, a batch job) one line is written at every tenth of the way.
-- MASCON_PROGRESS=0 silences it, MASCON_PROGRESS=1 forces the terminal form. Writes to standard error, so that results
-- on standard output stay clean. Clock, stream and terminal test can be handed in; the job itself never depends on
-- them.
--
-- The rate is the mean over all so far, blended with the pace of the last seconds: a steady estimate that still follows
-- a job whose steps get slower.

local check = require 'mascon.core.check'
local text = require 'mascon.base.text'

local M = {}

local floor, max, min, fmt = math.floor, math.max, math.min, string.format

---@class mascon.Progress
local Progress = {}
Progress.__index = Progress

local OPTS = {
  label = { nil, 'string' },
  unit = { '', 'string' },
  stream = { nil, 'any' },
  clock = { nil, 'any' },
  tty = { nil, 'boolean' },
  width = { nil, 'integer >= 1' },
  from = { 0, 'number >= 0' },
}

local INTERVAL = 0.1 -- seconds between redraws
local HALF_LIFE = 5 -- seconds after which an old pace counts half

-- What the program offers (clock_seconds, isatty, terminal_width); nil in a bare LuaJIT.
local function host()
  local ok, ffi = pcall(require, 'mascon.core.ffi')
  return ok and type(ffi) == 'table' and ffi or nil
end

local function default_clock()
  local h = host()
  return h and h.clock_seconds or os.time
end

local function default_width()
  local h = host()
  local w = h and h.terminal_width and h.terminal_width() or tonumber(os.getenv('COLUMNS') or '')
  return w and w >= 20 and w or 80
end

local function is_terminal(opts)
  if opts.tty ~= nil then return opts.tty end
  if os.getenv('MASCON_PROGRESS') == '1' then return true end
  if opts.stream then return false end
  local h = host()
  return h and h.isatty and h.isatty(2) or false
end

--- A progress display.
---     local bar = mc.progress.new(10, { stream = io.tmpfile(), tty = false })
---     bar.total  --> 10
---@param total? number amount of work, above 0; nil when it is not known
---@param opts? table label, unit ('' or a word such as 'epochs'; 'B' counts bytes), stream (default io.stderr),
---  clock (function returning seconds), tty (boolean), width (columns), from (0): amount that was done before, which
---  counts for the share but not for the pace
---@return mascon.Progress
function M.new(total, opts)
  local o = check.opts('progress', opts, OPTS)
  if total ~= nil and not (type(total) == 'number' and total >= 0 and total < math.huge) then
    error('progress: total must be finite and at least 0, or nil when it is not known; got ' .. tostring(total), 2)
  end
  local clock = o.clock or default_clock()
  local now = clock()
  local self = setmetatable({
    total = total, count = o.from, label = o.label and text.plain(o.label), unit = o.unit,
    _clock = clock, _stream = o.stream or io.stderr, _tty = is_terminal(o), _width = o.width,
    _silent = os.getenv('MASCON_PROGRESS') == '0', _start = now, _drawn = nil,
    _tenth = total and total > 0 and floor(min(1, o.from / total) * 10 + 1e-9) or 0, _shown = 0,
    _pace = nil, _pace_time = now, _pace_count = o.from, _from = o.from, _finished = false, _bar = 30,
  }, Progress)
  return self
end

local function amount(self, n)
  if self.unit == 'B' then return text.bytes(n) end
  if n == floor(n) then return fmt('%.0f', n) end
  return text.significant(n, 4)
end

local function rate_text(self, rate)
  if rate <= 0 then return nil end
  local unit = self.unit
  if unit == 'B' then return text.bytes(rate) .. '/s' end
  local word = unit ~= '' and unit or 'steps'
  if rate < 1 then return text.duration(1 / rate) .. '/' .. (unit ~= '' and unit:gsub('s$', '') or 'step') end
  return text.significant(rate, 3) .. ' ' .. word .. '/s'
end

-- Follows the pace of late, in work per second.
local function track(self, now)
  local dt = now - self._pace_time
  if dt < 0.05 then return end
  local pace = (self.count - self._pace_count) / dt
  local keep = self._pace and 0.5 ^ (dt / HALF_LIFE) or 0
  self._pace = keep * (self._pace or 0) + (1 - keep) * pace
  self._pace_time, self._pace_count = now, self.count
end

local function time_left(self, elapsed)
  if not self.total or self.count <= self._from or elapsed <= 0 then return nil end
  local mean = (self.count - self._from) / elapsed
  local rate = self._pace and self._pace > 0 and (mean + self._pace) / 2 or mean
  return (self.total - self.count) / rate
end

local EIGHTHS = { '▏', '▎', '▍', '▌', '▋', '▊', '▉' }

local function bar(share, width)
  local eighths = floor(min(1, max(0, share)) * width * 8)
  local whole, part = floor(eighths / 8), eighths % 8
  return ('█'):rep(whole) .. (EIGHTHS[part] or '') .. (' '):rep(width - whole - (part > 0 and 1 or 0))
end

-- The words of a line: share, count (not in a short one), rate and time.
local function words(self, now, short)
  local elapsed, out = now - self._start, { self._note }
  local unit = self.unit ~= '' and self.unit ~= 'B' and ' ' .. self.unit or ''
  if not short then
    local whole = self.total and '/' .. amount(self, self.total) or ''
    out[#out + 1] = amount(self, self.count) .. whole .. unit
  end
  if elapsed > 0 then out[#out + 1] = rate_text(self, (self.count - self._from) / elapsed) end
  if self._finished then
    out[#out + 1] = 'took ' .. text.duration(elapsed)
  else
    local left = time_left(self, elapsed)
    if left then out[#out + 1] = text.duration(max(0, left)) .. ' left' end
  end
  return out
end

local function share(self)
  if not self.total then return nil end
  return self.total > 0 and min(1, self.count / self.total) or 1
end

-- The redrawn line: everything when there is room, then without the bar, then without the count, then cut.
local function terminal_line(self, now)
  local width = (self._width or default_width()) - 1
  local s = share(self)
  local head = self.label and self.label .. ' ' or ''
  local tail = table.concat(words(self, now), ', ')
  if s then
    local percent = fmt('%3d%%', floor(s * 100))
    local room = width - text.width(head) - text.width(tail) - #percent - 5
    if room >= 8 then
      self._bar = min(self._bar, room) -- it never grows back, or it would twitch with the length of the words
      return head .. percent .. ' │' .. bar(s, self._bar) .. '│ ' .. tail
    end
    local plain = head .. percent .. ' '
    if text.width(plain .. tail) > width then tail = table.concat(words(self, now, true), ', ') end
    return text.truncate(plain .. tail, width)
  end
  return text.truncate(head .. tail, width)
end

local function write(self, s)
  self._stream:write(s)
  if self._stream.flush then self._stream:flush() end
end

local function redraw(self, now)
  self._drawn = now
  local line = terminal_line(self, now)
  local w = text.width(line)
  -- Blanks cover what a longer line before left; '\r' alone works on every terminal.
  write(self, '\r' .. line .. (' '):rep(max(0, self._shown - w)))
  self._shown = w
end

local function log_line(self, now)
  local s = share(self)
  local percent = s and fmt('%d%%, ', floor(s * 100)) or ''
  write(self, (self.label and self.label .. ': ' or '') .. percent .. table.concat(words(self, now), ', ') .. '\n')
end

--- Sets how much is done. Cheap enough for an inner loop of some microseconds a turn.
---@param n number
---@param note? string words that stand before the amount from here on
function Progress:update(n, note)
  if type(n) ~= 'number' or n ~= n then
    error('progress: update takes the amount done so far, got ' .. tostring(n), 2)
  end
  if note ~= nil then self._note = text.plain(check.arg('progress', 'note', note, 'string', 3)) end
  self.count = n
  if self._silent or self._finished then return self end
  if self._tty then
    local now = self._clock()
    if self._drawn and now - self._drawn < INTERVAL then return self end
    track(self, now)
    redraw(self, now)
  elseif self.total and self.total > 0 then
    local tenth = floor(min(1, n / self.total) * 10 + 1e-9)
    if tenth > self._tenth and tenth < 10 then
      local now = self._clock()
      self._tenth = tenth
      track(self, now)
      log_line(self, now)
    end
  end
  return self
end

--- Writes a line of its own: on a terminal above the display, which is drawn again below it.
---@param line string
function Progress:say(line)
  line = text.plain(check.arg('progress', 'line', line, 'string', 3))
  if self._silent then return self end
  if self._tty and self._shown > 0 and not self._finished then
    write(self, '\r' .. line .. (' '):rep(max(0, self._shown - text.width(line))) .. '\n')
    self._shown = 0
    redraw(self, self._clock())
  else write(self, line .. '\n') end
  return self
end

--- Adds to what is done; 1 by default.
---@param n? number
function Progress:add(n)
  n = n or 1
  return self:update(type(n) == 'number' and self.count + n or n)
end

--- Ends the display with a line that stays: amount, rate and time taken. Later calls do nothing.
function Progress:done(...)
  if select('#', ...) > 0 then error('progress: done takes no argument', 2) end
  if self._finished then return self end
  self._finished = true
  if self._silent then return self end
  local now = self._clock()
  if self._tty then
    redraw(self, now)
    write(self, '\n')
  else
    log_line(self, now)
  end
  return self
end

return M
