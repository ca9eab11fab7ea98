-- pac.lua - options, a batch of recordings and comparisons of results for the specs of pac.compute. Loaded with
-- support.load 'pac'.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/support/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local assert = require 'luassert'
local tol = support.load 'tol'
local generate = mc.pac.generate
local M = { PHA = { { 4, 8 }, { 8, 12 } }, AMP = { { 30, 50 }, { 50, 70 }, { 60, 80 } } }

function M.with(base, more)
  local o = {}
  for k, v in pairs(base) do o[k] = v end
  for k, v in pairs(more or {}) do o[k] = v end
  return o
end

function M.near(want, got, bound)
  if type(want) == 'number' then want = mc.tensor { want } end
  if type(got) == 'number' then got = mc.tensor { got } end
  assert.equal(want:numel(), got:numel())
  local w, g = want:to('f64'):flatten():totable(), got:to('f64'):flatten():totable()
  for i = 1, #w do
    local wrong = tol.compare('ITERATIVE', 'f64', g[i], w[i], { bound = bound })
    assert.is_nil(wrong, wrong and ('element %d: %s'):format(i, wrong))
  end
end

--- The same bits; NaN equals NaN.
function M.same_bits(want, got, what)
  assert.equal(tostring(want.shape), tostring(got.shape), what)
  assert.equal(want.dtype, got.dtype, what)
  local w, g = want:to('f64'), got:to('f64')
  assert.is_true(mc.all(mc.logical_or(mc.eq(w, g), mc.logical_and(mc.isnan(w), mc.isnan(g)))), what)
end

M.RESULTS = { 'pac', 'status', 'z', 'p', 'surr_mean', 'surr_std', 'pref_phase', 'peak_phase', 'dist',
  'surrogates', 'normalized' }
function M.same_results(want, got, what)
  for _, name in ipairs(M.RESULTS) do
    assert.equal(want[name] == nil, got[name] == nil, name)
    if want[name] then M.same_bits(want[name], got[name], (what or '') .. ' ' .. name) end
  end
end

function M.shape(...) return '{' .. table.concat({ ... }, ', ') .. '}' end
function M.bit(status, b) return mc.all(mc.eq(mc.bitwise_and(status, b), b)) end

--- [2, 2, 3, 300] of noise and a coupled part.
function M.batch()
  local seeds = {}
  for i = 1, 12 do seeds[i] = i end
  return (generate.noise(300, seeds) + generate.g1 { n = 300, fs = 256, fp = 6, fa = 60, sigma = 0, segments = 12 })
    :reshape(2, 2, 3, 300)
end

M.AXES = { 'T', 'CT', 'ST', 'BCT', 'CST', 'BCST' }
--- The part of the batch with these axes, and its leading sizes.
function M.part(axes)
  local x, lead = M.batch(), {}
  if not axes:find 'B' then x = x[1] end
  if not axes:find 'C' then x = x[1] end
  if not axes:find 'S' then
    x = axes:find 'B' and x[{ mc.all, mc.all, 1 }] or x.ndim == 3 and x[{ mc.all, 1 }] or x[1]
  end
  for i = 1, #axes - 1 do lead[i] = axes:sub(i, i) == 'S' and 3 or 2 end
  return x, lead
end

return M
