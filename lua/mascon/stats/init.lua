-- stats/init.lua - distributions, descriptive and circular statistics, correlation, tests and their correction.
--
-- The public table; every function is defined and documented in the file of its concept. Axes are 1-based.
local op = require 'mascon.core.op'
local into = require 'mascon.core.into'
local lazy = require 'mascon.core.lazy'
local M = {}

for name, row in pairs(op.rows) do
  if row.namespace == 'stats' and op.functions[name] then M[name] = op.composed(row) or op.functions[name] end
end
-- order statistics and covariances live among mc's own names
for _, name in ipairs { 'median', 'quantile', 'nanquantile', 'percentile', 'nanmedian', 'histogram',
  'cov', 'corrcoef' } do
  M[name] = op.functions[name]
end

local PARTS = {
  distributions = { 'norm_cdf', 'norm_sf', 'norm_pdf', 'norm_ppf', 'norm_isf', 't_sf', 't_cdf', 'chi2_sf', 'chi2_cdf',
    'f_sf', 'f_cdf' },
  continuous = { 'norm', 't', 'chi2', 'f', 'beta', 'gamma', 'expon', 'lognorm', 'weibull_min', 'weibull', 'uniform',
    'cauchy', 'laplace', 'logistic', 'vonmises' },
  discrete = { 'binom', 'poisson', 'nbinom', 'geom', 'hypergeom' },
  multiple = { 'fdr_bh', 'fdr_by', 'bonferroni', 'holm' },
  surrogate = { 'surrogate_z', 'p_empirical', 'p_maxstat' },
  circular = { 'circmean', 'circ_r', 'circvar', 'circstd', 'rayleigh' },
  rank = { 'pearsonr', 'spearmanr', 'ttest_1samp', 'ttest_rel', 'ttest_ind' },
}
for part, names in pairs(PARTS) do
  local from = require('mascon.stats.' .. part)
  for _, name in ipairs(names) do
    local v = from[name]
    M[name] = type(v) == 'table' and lazy.strict(v, 'mc.stats.' .. name) or v
  end
end

return into.all('stats.', M, op.functions)
