-- pipeline.lua - the passes in their order, which of them run, and what each did.
--
-- Holds the list, the switches (option `passes`, environment MASCON_PASSES, `fuse`) and the record of time and effect.
local check = require 'mascon.core.check'
local graphs = require 'mascon.graph.graph'
local lib = require 'mascon.core.ffi'
local rewrite = require 'mascon.compile.rewrite'
local error = check.error

local M = {}

-- Module of each pass under mascon.compile.passes, in order. FUSION: those that `fuse = false` leaves out.
local ORDER = { 'dce', 'fold', 'algebra', 'copies', 'cse', 'dce', 'patterns', 'fuse', 'split', 'epilogue', 'rows',
  'prologue', 'anew' }
local FILE = { rows = 'tiles' } -- where a pass has another name than its option
local FUSION = { patterns = true, fuse = true, split = true, epilogue = true, rows = true, prologue = true }
-- Passes that are no step of this list but ask for their switch: `inplace` of the memory planner.
local ELSEWHERE = { inplace = true }

local function names()
  local out = {}
  for _, name in ipairs(ORDER) do out[name] = true end
  for name in pairs(ELSEWHERE) do out[name] = true end
  return out
end

local function known(name, where, level)
  local all = names()
  if all[name] then return end
  local list, near = {}, check.nearest(tostring(name), all)
  for k in pairs(all) do list[#list + 1] = k end
  table.sort(list)
  error(('compile: %s names no pass, %s; %spasses are %s'):format(where, check.show(name),
    near and ('did you mean %s? '):format(near) or '', table.concat(list, ', ')), level + 1)
end

--- Which passes run: the option over the environment over everything on.
---@param given? table<string, boolean> option `passes`
---@param fuse? boolean false: none of those that put ops together
---@return table<string, boolean>
function M.switches(given, fuse, level)
  local on = {}
  for name in pairs(names()) do on[name] = true end
  for word in (os.getenv 'MASCON_PASSES' or ''):gmatch '[^,%s]+' do
    local sign, name = word:match '^([+-]?)(.*)$'
    known(name, 'MASCON_PASSES', level + 1)
    on[name] = sign ~= '-'
  end
  for name, value in pairs(given or {}) do
    known(name, 'option passes', level + 1)
    if type(value) ~= 'boolean' then
      error(('compile: option passes.%s is %s; give true or false'):format(name, check.show(value)), level)
    end
    on[name] = value
  end
  if fuse == false then for name in pairs(FUSION) do on[name] = false end end
  return on
end

-- Passes whose results only the CPU runs, or that compute there: a device has groups, each one launch.
local HOST = { fold = true }
for name in pairs(FUSION) do HOST[name] = name ~= 'fuse' or nil end

--- The options of a function for a graph that runs on a device: none of the passes that are the CPU's, no groups where
--- programs cannot be compiled.
function M.on_device(options, device)
  if device == 0 then return options end
  local on = {}
  for name, value in pairs(options.on) do on[name] = value and not HOST[name] end
  -- a group is a program of its own, which a machine without a compiler cannot make
  if lib.C.mc_device_compiles(device) == 0 then on.fuse = false end
  local own = setmetatable({ on = on, device = device }, { __index = options })
  if options.prepare then function own.prepare(graph) return M.run(graph, own) end end
  return own
end

--- Bytes of the values that nodes hand to one another.
local function traffic(graph)
  local bytes, out = 0, {}
  for _, u in ipairs(graph.outputs) do out[u.value] = true end
  for _, n in ipairs(graph.nodes) do
    for _, v in ipairs(n.outs) do if not out[v] then bytes = bytes + graphs.bytes(v) end end
  end
  return bytes
end

--- Runs the passes over a graph, which changes.
---@param graph table
---@param options table { on = switches, math = 'strict' | 'fast' }
---@param watch? function (name, when, graph) called before and after each pass
---@return table[] reports { name, doc, skipped, seconds, nodes = { before, after }, bytes = { before, after }, and what
---  the pass says }
function M.run(graph, options, watch)
  local reports = {}
  rewrite.epochs(graph)
  for _, name in ipairs(ORDER) do
    local pass = require('mascon.compile.passes.' .. (FILE[name] or name))
    local report = { name = name, doc = pass.doc }
    reports[#reports + 1] = report
    if not options.on[name] then
      report.skipped = true
    else
      local before, held, start = #graph.nodes, traffic(graph), lib.clock_seconds()
      if watch then watch(name, 'before', graph) end
      report.did = pass.run(graph, options)
      report.seconds = lib.clock_seconds() - start
      report.nodes, report.bytes = { before, #graph.nodes }, { held, traffic(graph) }
      if watch then watch(name, 'after', graph) end
    end
  end
  return reports
end

--- The report of the last run of a pass among reports.
function M.report(reports, name)
  for k = #reports, 1, -1 do
    if reports[k].name == name then return reports[k].did end
  end
end

M.ORDER = ORDER
return M
