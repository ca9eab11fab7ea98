-- coverage.lua - do the 68 % and 95 % intervals of XPCS fits hold the truth that often? 25 simulated data sets a
-- case.
-- soak: 20
--
--     mascon tests/soak/coverage.lua [--count N] [--seed N] [--seconds N] [--state FILE]
--
-- 20 cases are 500 data sets of set B's kind. Standard errors for every parameter, 95 % profile intervals for D0 and
-- D_offset. A case fails when a count of its 25 is not credible (probability below 1e-5 under the level); the counts
-- of
-- all cases lie beside the state (FILE.tsv), and the last case draws them (FILE.svg) and tests the sum.
local mc = require 'mascon'
local here = debug.getinfo(1, 'S').source:match '^@(.*)/soak/[^/]*$' or 'tests'
local soak = dofile(here .. '/support/soak.lua')
local xpcs = mc.xpcs

local PHYSICS, SETS = { 5000, 0.3, 900, 4e-4, -0.25, 1.2e-4, 4 }, 25
local LEVELS = { { 0.68, 0.994458 }, { 0.95, 1.959964 } }
local PROFILED = { 'D0', 'D_offset' }
local state
for i = 1, #arg do if arg[i] == '--state' then state = arg[i + 1] end end
local last = 20
for i = 1, #arg do if arg[i] == '--count' then last = tonumber(arg[i + 1]) end end

--- Standard deviations from the level of a count.
local function z_of(count, n, level) return (count - n * level) / math.sqrt(n * level * (1 - level)) end

--- All counts so far, by name: { hits, sets }.
local function sums()
  local out, names = {}, {}
  local f = io.open(state .. '.tsv')
  for line in f and f:lines() or function() end do
    local name, hits, n = line:match '^(%S+)\t(%d+)\t(%d+)$'
    if name then
      if not out[name] then
        names[#names + 1] = name
        out[name] = { 0, 0 }
      end
      out[name][1], out[name][2] = out[name][1] + hits, out[name][2] + n
    end
  end
  if f then f:close() end
  table.sort(names)
  return out, names
end

local function draw_all()
  local out, names = sums()
  local fig = mc.plot.figure { title = 'coverage of intervals', width = 760, height = 420 }
  local ax = fig:axes(1, 1)
  for _, l in ipairs(LEVELS) do
    local x, y = {}, {}
    for _, name in ipairs(names) do
      if name:find(('@%g$'):format(l[1])) then x[#x + 1], y[#y + 1] = #x + 1, out[name][1] / out[name][2] end
    end
    if #x > 0 then
      ax:scatter(x, y, { label = ('%g %%'):format(100 * l[1]), size = 6 })
      ax:line({ 1, #x }, { l[1], l[1] }, { dash = 'dashed', color = '#666666' })
    end
  end
  ax:set { xlabel = 'parameter and kind of interval', ylabel = 'share of data sets', legend = 'best' }
  assert(mc.plot.save(fig, state .. '.svg'))
  for _, name in ipairs(names) do
    local level = tonumber(name:match '@(.*)$')
    local z = z_of(out[name][1], out[name][2], level)
    assert(math.abs(z) < 4.5, ('%s: %d of %d'):format(name, out[name][1], out[name][2]))
  end
end

soak.run('coverage', 20, arg, function(_, k)
  local counts, names = {}, {}
  local function note(name, inside)
    if not counts[name] then
      counts[name] = 0
      names[#names + 1] = name
    end
    if inside then counts[name] = counts[name] + 1 end
  end
  for set = 1, SETS do
    mc.scope(function()
      local s = xpcs.simulate { n = 30, q = 0.01, dt = 0.25, phi = { -25, 0, 30, 75, 92 }, physics = PHYSICS,
        sigma = 0.004, seed = 1000 * k + set }
      local r = xpcs.fit(xpcs.data.of(s), { sigma = 0.004 })
      for _, l in ipairs(LEVELS) do
        for i, q in ipairs(xpcs.parameters.LIST) do
          note(('%s@%g'):format(q.name, l[1]), math.abs(r.values[q.name] - PHYSICS[i]) < l[2] * r.errors[q.name])
        end
      end
      local list = xpcs.intervals.profile(r, PROFILED, 0.95)
      for i, name in ipairs(PROFILED) do
        local v = PHYSICS[2 * i - 1]
        note(name .. '_profile@0.95', list[name].low <= v and v <= list[name].high)
      end
    end)
  end
  for _, name in ipairs(names) do
    local level = tonumber(name:match '@(.*)$')
    local z = z_of(counts[name], SETS, level)
    assert(z > -6 and z < 4.5, ('%s: %d of %d'):format(name, counts[name], SETS))
  end
  if state then
    local f = assert(io.open(state .. '.tsv', 'a'))
    for _, name in ipairs(names) do f:write(('%s\t%d\t%d\n'):format(name, counts[name], SETS)) end
    f:close()
    if k % last == 0 then draw_all() end
  end
end)
