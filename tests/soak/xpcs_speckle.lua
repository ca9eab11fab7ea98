-- xpcs_speckle.lua - do errors of XPCS fits hold the truth where the noise is that of speckle? 20 data sets a case.
-- soak: 72
--
--     mascon tests/soak/xpcs_speckle.lua [--count N] [--seed N] [--seconds N] [--state FILE]
--
-- Cases go through the geometries in turn: fields are simulated, intensities counted, C2 fitted. A case fails when a
-- count of its 20 is not credible (z below -8 or above 4.5 under the level). The sums of all cases lie beside the state
-- (FILE.tsv); the last case tests them for each geometry and parameter: 68 +- 8 % and 95 +- 4 % of the intervals hold
-- the truth, and errors are 0.85 to 1.25 times the standard deviation of the values, all widened by what chance gives.
local mc = require 'mascon'
local here = debug.getinfo(1, 'S').source:match '^@(.*)/soak/[^/]*$' or 'tests'
local soak, speckle = dofile(here .. '/support/soak.lua'), dofile(here .. '/support/speckle.lua')
local xpcs = mc.xpcs

local SETS, CHANCE = 20, 2.8 -- standard deviations, as many as 200 counts reach
local LEVELS = { { 0.68, 0.994458, 0.08 }, { 0.95, 1.959964, 0.04 } }
local FALLING, THREE = { 2200, -0.35, 300 }, { 0, 60, 120 } -- A^2/s, -, A^2/s; deg
local EIGHT = { 0, 20, 40, 60, 80, 100, 120, 140 }

--- A geometry: n times of dt s at q in 1/A, pixels of 4 modes, alpha held, scaling averaged, unless given.
local function static(name, n, q, o)
  local g = { name = name, n = n, q = q, dt = 0.5, phi = THREE, physics = FALLING, pixels = 1500, modes = 4 }
  for k, v in pairs(o) do g[k] = v end
  g.options = g.options or { fixed = { alpha = g.physics[2] }, scaling = 'averaged' }
  return g
end

local GEOMETRIES = {
  static('decay inside', 50, 0.009, { counts = 20 }),
  static('decay beyond', 50, 0.006, { counts = 20 }),
  static('decay in few frames', 60, 0.02, {}),
  static('one angle', 30, 0.012, { phi = { 0 }, counts = 5 }),
  static('eight angles', 40, 0.012, { phi = EIGHT, pixels = 500 }),
  static('few counts', 59, 0.012, { physics = { 2200, 0.2, 300 }, pixels = 2000, counts = 1.5,
    options = { fixed = { D_offset = 300 }, scaling = 'averaged' } }),
  static('two modes', 40, 0.012, { pixels = 4000, modes = 2 }),
  static('12 frames', 12, 0.015, { dt = 1, pixels = 3000, counts = 10 }),
  static('soft_l1', 50, 0.009, { counts = 20, options = { fixed = { alpha = -0.35 }, scaling = 'averaged',
    loss = 'soft_l1' } }),
  static('120 frames', 120, 0.008, { phi = { 0, 90 }, pixels = 1000, counts = 10 }),
  static('individual', 40, 0.01, { options = { fixed = { alpha = -0.35 }, scaling = 'individual' } }),
  static('laminar', 40, 0.01, { dt = 0.25, phi = { -25, 0, 30, 75 }, physics = { 3000, 0, 300, 1.5e-3, 0, 1e-5, 4 },
    pixels = 2000, counts = 20, options = { scaling = 'averaged', fixed = { alpha = 0, beta = 0,
      gamma_dot_t_offset = 1e-5, D_offset = 300 } } }),
}

local state
for i = 1, #arg do if arg[i] == '--state' then state = arg[i + 1] end end
local last = 72
for i = 1, #arg do if arg[i] == '--count' then last = tonumber(arg[i + 1]) end end

--- Adds the sums of a line to those of its key: sets, hits at both levels, deviations, their squares, errors.
local function add(to, key, values)
  local s = to[key]
  if not s then
    s = { 0, 0, 0, 0, 0, 0 }
    to[key], to[#to + 1] = s, key
  end
  for i, v in ipairs(values) do s[i] = s[i] + v end
end

--- Raises unless the sums of all cases are within the goals.
local function judge()
  local all = {}
  for line in io.lines(state .. '.tsv') do
    local key, rest = line:match '^([^\t]*)\t(.*)$'
    local values = {}
    for v in rest:gmatch '%S+' do values[#values + 1] = tonumber(v) end
    add(all, key, values)
  end
  local wrong = {}
  for _, key in ipairs(all) do
    local n, low, high, sum, squares, errors = unpack(all[key])
    local ratio = errors / n / math.sqrt((squares - sum * sum / n) / (n - 1))
    local chance, good = CHANCE / math.sqrt(2 * n), true
    for i, hits in ipairs { low, high } do
      local level, _, goal = unpack(LEVELS[i])
      good = good and math.abs(hits / n - level) < goal + CHANCE * math.sqrt(level * (1 - level) / n)
    end
    good = good and ratio > 0.85 * (1 - chance) and ratio < 1.25 * (1 + chance)
    local text = ('%s: %.1f %%, %.1f %% of %d, ratio %.2f'):format(key, 100 * low / n, 100 * high / n, n, ratio)
    print(text)
    if not good then wrong[#wrong + 1] = text end
  end
  assert(#wrong == 0, table.concat(wrong, '; '))
end

soak.run('xpcs_speckle', 72, arg, function(_, k)
  local g = GEOMETRIES[(k - 1) % #GEOMETRIES + 1]
  local truth, found = { contrast = 1 / g.modes, offset = 1 }, {}
  local laminar = #g.physics > 3
  for i, name in ipairs(xpcs.parameters.names(laminar and 'laminar_flow' or 'static')) do truth[name] = g.physics[i] end
  for set = 1, SETS do
    mc.scope(function()
      g.seed = 1000 * k + set
      local r = xpcs.fit(speckle.data(g), g.options)
      for _, name in ipairs(r.names) do
        local away, e = r.values[name] - truth[name:gsub('_%d+$', '')], r.errors[name]
        local inside = {}
        for i, l in ipairs(LEVELS) do inside[i] = math.abs(away) < l[2] * e and 1 or 0 end
        add(found, name, { 1, inside[1], inside[2], away, away * away, e })
      end
    end)
  end
  for _, name in ipairs(found) do
    for i, l in ipairs(LEVELS) do
      local z = (found[name][1 + i] - SETS * l[1]) / math.sqrt(SETS * l[1] * (1 - l[1]))
      assert(z > -8 and z < 4.5, ('%s, %s: %d of %d'):format(g.name, name, found[name][1 + i], SETS))
    end
  end
  if state then
    local f = assert(io.open(state .. '.tsv', 'a'))
    for _, name in ipairs(found) do
      f:write(('%s, %s\t%s\n'):format(g.name, name, table.concat(found[name], ' ')))
    end
    f:close()
    if k % last == 0 then judge() end
  end
end)
