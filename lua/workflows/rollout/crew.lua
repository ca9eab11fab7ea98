-- crew.lua - rows made by copies of the program side by side, each with one thread.
--
-- Pieces of a small operator are too short to be divided among threads; whole rows are not. A copy gets the
-- configuration as a text and lists of rows one at a time, as a file in its folder, and leaves the rows as a file. Rows
-- do not depend on who makes them. Holds both ends.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local child = require 'mascon.base.child'
local clock = require 'mascon.base.clock'
local file = require 'mascon.base.file'
local workers = require 'mascon.nn.data.workers'
local config_of = require 'workflows.rollout.config'
local space = require 'workflows.rollout.space'
local error = check.error
local M = {}

local CODE = [[
local mc = require 'mascon'
local ok, why = pcall(mc.rollout.crew.serve, arg[1], mc.rollout.generate.rows)
if not ok then
  io.stderr:write(tostring(why), '\n')
  os.exit(1)
end
]]

--- Whether copies can be started: a library inside another program has none.
function M.possible() return child.possible() end

local function asked(folder, k) return ('%s/rows-%d.json'):format(folder, k) end
local function answered(folder, k) return ('%s/rows-%d.npz'):format(folder, k) end

---@class rollout.Crew
---@field list mascon.Process[]
local Crew = {}
Crew.__index = Crew

--- Starts n copies for the rows of a configuration, or as many as there is room for; nil and why where there is none.
---@param config table
---@param n integer
---@param limit? number bytes that each may take
---@param room? number bytes that each keeps for the next rows, beside what it begins with
---@return rollout.Crew?
---@return string? why not
function M.start(config, n, limit, room)
  local self = setmetatable({ list = {} }, Crew)
  local about = mc.json.encode { config = config_of.text(config), names = space.names(config.space),
    name = config.name, limit = limit, room = room, parent = (workers.processes()) }
  for i = 1, n do
    local process, why = child.start(CODE, { ['config.json'] = about })
    if not process then return i > 1 and self or nil, (why:gsub(';.*', '')) end
    self.list[i] = process
  end
  return self
end

--- Ends the copies.
function Crew:stop()
  for _, process in ipairs(self.list) do process:stop() end
  self.list = {}
end

--- Has lists { indices, us } made; got(k, rows) is called with each as it comes, rows as generate.rows gives them
--- without architecture and policy. A copy has a second list ahead, so that none waits for got; the last ones are
--- handed out one by one.
---@param lists table[]
---@param got fun(k: integer, rows: table[])
function Crew:each(lists, got)
  local at, next_list, left = {}, 1, #lists
  for i in ipairs(self.list) do at[i] = {} end
  while left > 0 do
    local idle = true
    for i, process in ipairs(self.list) do
      local has = at[i]
      local path = has[1] and answered(process.folder, has[1])
      local lives = process:running() -- looked at before the file: a copy may answer and end
      if path and file.exists(path) then
        local rows = workers.get(path)
        os.remove(path)
        if rows.failed then error(rows.failed, 0) end
        left, idle = left - 1, false
        got(table.remove(has, 1), rows)
      elseif path and not lives then
        local said = process:said()
        error(('rollout: a copy of the program that made rows ended: %s; fewer threads take less memory'):format(
          said and said ~= '' and said or 'it was killed, or there was no memory for it'), 0)
      end
      while next_list <= #lists and (#has == 0 or #has == 1 and next_list <= #lists - #self.list) do
        local ok, why = file.write(asked(process.folder, next_list), mc.json.encode(lists[next_list]))
        if not ok then
          error(('rollout: %s takes no more files (%s), and copies of the program get their rows there; free some '
            .. 'space in it, or use one thread'):format(process.folder, why:gsub(';.*', '')), 0)
        end
        has[#has + 1], next_list, idle = next_list, next_list + 1, false
      end
    end
    if idle then child.pause(0.0005) end
  end
end

-- ---------------------------------------------------------------- the other end

local SENT = { 'input', 'kind', 'status', 'bad_step', 'filtered', 'temporal', 'summary', 'aggregated', 'seconds' }

--- What a copy does: makes the rows that it finds asked for, until the process that started it ends it or is gone.
---@param folder string
---@param make function generate.rows
function M.serve(folder, make)
  check.arg('rollout.crew.serve', 'folder', folder, 'string', 3)
  check.arg('rollout.crew.serve', 'make', make, 'function', 3)
  local about = mc.json.decode(assert(file.read(folder .. '/config.json')))
  local tree, order = config_of.ordered(about.config, about.names, about.name)
  local config, looked = config_of.of(tree, { name = about.name, order = order }), clock.seconds()
  mc.set_num_threads(1)
  --- Ends the copy when nobody waits for it any more.
  local function look()
    if clock.seconds() - looked < 0.2 then return end
    looked = clock.seconds()
    if select(2, workers.processes()) == about.parent then return end
    for _, name in ipairs(file.names(folder)) do os.remove(folder .. '/' .. name) end
    os.remove(folder)
    error('the program that wanted the rows is gone', 0)
  end
  local function rows_of(list)
    local out = {}
    for i, row in ipairs(make(config, list.indices, list.us, { visit = look })) do
      out[i] = {}
      for _, name in ipairs(SENT) do out[i][name] = row[name] end
    end
    return out
  end
  local function answer(k)
    local list = assert(mc.json.decode(assert(file.read(asked(folder, k)))))
    mc.scope(function()
      local ok, rows = pcall(rows_of, list)
      local fresh = folder .. '/fresh.npz'
      workers.put(fresh, ok and rows or { failed = tostring(rows) })
      os.remove(asked(folder, k))
      assert(os.rename(fresh, answered(folder, k)))
    end)
  end
  mc.ceiling.with(about.limit, mc.ceiling.beside, about.room, function()
    while true do
      local first
      for _, name in ipairs(file.names(folder)) do
        local k = tonumber(name:match '^rows%-(%d+)%.json$')
        first = k and math.min(k, first or k) or first
      end
      if first then answer(first) else child.pause(0.0005) end
      look()
    end
  end)
end

return M
