-- coverage.lua - do the 68 % and 95 % intervals of XPCS fits hold the truth that often? 10 simulated data sets a
-- case.
-- soak: 50
--
--     mascon tests/soak/coverage.lua [--count N] [--seed N] [--seconds N] [--state FILE]
--
-- 50 cases are 500 data sets of set B's kind. Standard errors for every parameter; profile intervals for those on the
-- curved ridges, D0 and D_offset, gamma_dot_t0 and its offset. A case fails when a count of its 10 is not credible
-- (probability below 1e-5 under the level). The counts of all cases lie beside the state (FILE.tsv). The last case
-- draws them (FILE.svg, with the range of 99 % of such counts) and tests the sums: profiles within that range for as
-- many counts as there are, standard errors within 4.5 standard deviations.
local mc = require 'mascon'
local here = debug.getinfo(1, 'S').source:match '^@(.*)/soak/[^/]*$' or 'tests'
local soak = dofile(here .. '/support/soak.lua')
local xpcs = mc.xpcs

local PHYSICS, SETS = { 5000, 0.3, 900, 4e-4, -0.25, 1.2e-4, 4 }, 10
local LEVELS = { { 0.68, 0.994458 }, { 0.95, 1.959964 } }
local PROFILED = { D0 = true, D_offset = true, gamma_dot_t0 = true, gamma_dot_t_offset = true }
local state
for i = 1, #arg do if arg[i] == '--state' then state = arg[i + 1] end end
local last = 50
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

local NAMES = {}
for i, q in ipairs(xpcs.parameters.LIST) do NAMES[i] = q.name end
local BOUNDS = { 2.58, 3.3 } -- normal quantiles: 99 % of one count, 99 % of the largest of four at two levels

local KINDS = { { '', 'standard errors', '#0062a3', -0.08 }, { '_profile', 'profile likelihood', '#c8553d', 0.08 } }

local function draw_all()
  local out, names = sums()
  local fig = mc.plot.figure { title = 'share of intervals that hold the truth, 500 data sets', width = 900,
    height = 460 }
  local ax, labels, places = fig:axes(1, 1), {}, {}
  for i, name in ipairs(NAMES) do places[i], labels[i] = i, name end
  for k, l in ipairs(LEVELS) do
    for _, kind in ipairs(KINDS) do
      local x, y, n = {}, {}, 0
      for i, name in ipairs(NAMES) do
        local c = out[('%s%s@%g'):format(name, kind[1], l[1])]
        if c then x[#x + 1], y[#y + 1], n = i + kind[4], c[1] / c[2], c[2] end
      end
      if #x > 0 then
        ax:scatter(x, y, { label = k == 1 and kind[2] or nil, color = kind[3], size = 6 })
        if kind[1] == '' then
          local half = BOUNDS[1] * math.sqrt(l[1] * (1 - l[1]) / n)
          ax:line({ 0.5, #NAMES + 0.5 }, { l[1], l[1] }, { color = '#666666' })
          for _, side in ipairs { -1, 1 } do
            local y_ = l[1] + side * half
            ax:line({ 0.5, #NAMES + 0.5 }, { y_, y_ }, { dash = 'dashed', color = '#999999' })
          end
        end
      end
    end
  end
  ax:set { ylabel = 'share of data sets', legend = 'best', xticks = places, xticklabels = labels,
    xlim = { 0.5, #NAMES + 0.5 }, ylim = { 0.55, 1 } }
  assert(mc.plot.save(fig, state .. '.svg'))
  for _, name in ipairs(names) do
    local level = tonumber(name:match '@(.*)$')
    local z = z_of(out[name][1], out[name][2], level)
    assert(math.abs(z) < (name:find '_profile' and BOUNDS[2] or 4.5), ('%s: %d of %d'):format(name,
      out[name][1], out[name][2]))
  end
end

soak.run('coverage', 50, arg, function(_, k)
  local counts, names = {}, {}
  local function note(name, inside)
    if not counts[name] then
      counts[name] = 0
      names[#names + 1] = name
    end
    if inside then counts[name] = counts[name] + 1 end
  end
  for set = SETS * (k - 1) + 1, SETS * k do
    mc.scope(function()
      local s = xpcs.simulate { n = 30, q = 0.01, dt = 0.25, phi = { -25, 0, 30, 75, 92 }, physics = PHYSICS,
        sigma = 0.004, seed = 1000 * math.ceil(set / 25) + (set - 1) % 25 + 1 }
      local r = xpcs.fit(xpcs.data.of(s), { sigma = 0.004 })
      for _, l in ipairs(LEVELS) do
        for i, q in ipairs(xpcs.parameters.LIST) do
          note(('%s@%g'):format(q.name, l[1]), math.abs(r.values[q.name] - PHYSICS[i]) < l[2] * r.errors[q.name])
        end
      end
      for _, l in ipairs(LEVELS) do
        for i, name in ipairs(NAMES) do
          if PROFILED[name] then
            local q = xpcs.intervals.profile(r, { name }, l[1])[name]
            note(('%s_profile@%g'):format(name, l[1]), q.low <= PHYSICS[i] and PHYSICS[i] <= q.high)
          end
        end
      end
    end)
  end
  for _, name in ipairs(names) do
    local level = tonumber(name:match '@(.*)$')
    local z = z_of(counts[name], SETS, level)
    assert(z > -7 and z < 4.5, ('%s: %d of %d'):format(name, counts[name], SETS))
  end
  if state then
    local f = assert(io.open(state .. '.tsv', 'a'))
    for _, name in ipairs(names) do f:write(('%s\t%d\t%d\n'):format(name, counts[name], SETS)) end
    f:close()
    if k % last == 0 then draw_all() end
  end
end)
