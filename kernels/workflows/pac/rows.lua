-- rows.lua - the ops of phase-amplitude coupling, called by mc.pac; shapes of operands and results stand in pac.c.
--
-- What the fields of a row mean stands in runtime/ops/ops.lua.

--- Integer parameters that are 0 by default, by their names.
local function ints(text)
  local out = {}
  for n in text:gmatch '%S+' do out[#out + 1] = { n, 'int', 0 } end
  return out
end

local PA = { { 'P', 'int' }, { 'A', 'int' } }
local function params(...)
  local out = {}
  for _, list in ipairs { ... } do for _, p in ipairs(list) do out[#out + 1] = p end end
  return out
end
local PACSRC =
  'modulation index: J. Neurophysiol. 104, 1195, 2010; the other measures stand in the docstring of mc.pac.compute'
local ANALYTIC = ints 'N pad bins demean zero_ext complex_table L'
local rows = {}
for i, r in ipairs {
  { 'pac_analytic', params(PA, ANALYTIC, ints 'want'),
    'rows -> analytic signals of bands: phase bins, unit phasors, angles, amplitudes' },
  { 'pac_bins', params(PA,
    ints 'L G bins norm measure exhaustive N first K want asymmetric idx_band amp_tile jobs near near_count', { {
      'epsilon', 'number', 0 }, { 'tau', 'number', 0 } }), 'phase bins and amplitudes -> coupling and its surrogates' },
  { 'pac_row', params(PA, ANALYTIC, ints 'kind norm measure NX first K want near near_count', { { 'epsilon', 'number',
    0 }, { 'threshold', 'number', 0 } }), 'pac_analytic and pac_bins or pac_moments chained row by row' },
  { 'pac_moments', params(PA, ints 'L measure K first want unit_band amp_tile jobs near near_count',
    { { 'threshold', 'number', 0 } }), 'unit phasors and amplitudes -> coupling from moments and its surrogates' },
  { 'pac_theta', ints 'L N A', 'tiled amplitudes -> cosine and sine of the phase of their envelope' },
  { 'pac_ranks', ints 'L step', 'rows -> normal scores of their ranks' },
  { 'pac_tile', ints 'A L', 'amplitudes [jobs, A, L] -> tiles' },
  { 'pac_index', ints 'L bins', 'angles -> phase bins' },
  { 'pac_measure', params(PA, ints 'bins norm measure want', { { 'epsilon', 'number', 0 } }),
    'bin sums and counts -> coupling' },
} do
  rows[i] = { r[1], nin = 'list', nout = 'list', dtypes = { 'f32', 'f64' }, params = r[2], tol = 'ACCUM',
    rules = 'none: analysis end point', doc = r[3], source = PACSRC }
end
return rows
