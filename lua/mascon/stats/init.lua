--- mascon.stats: distributions, descriptive and circular statistics, correlation, tests and their correction.
--
-- The public table; every function is defined and documented in the file of its concept. Axes are 1-based. Owns nothing.
local M = {}

local PARTS = {
  distributions = { 'norm_cdf', 'norm_sf', 'norm_pdf', 'norm_ppf', 'norm_isf', 't_sf', 't_cdf', 'chi2_sf', 'chi2_cdf', 'f_sf', 'f_cdf' },
  descriptive = { 'median', 'quantile', 'nanquantile', 'nanmedian', 'histogram', 'zscore', 'sem', 'mad', 'iqr', 'skew', 'kurtosis' },
  multiple = { 'fdr_bh', 'fdr_by', 'bonferroni', 'holm' },
  surrogate = { 'surrogate_z', 'p_empirical', 'p_maxstat' },
  circular = { 'circmean', 'circ_r', 'circvar', 'circstd', 'rayleigh' },
  rank = { 'rankdata', 'pearsonr', 'spearmanr', 'cov', 'corrcoef', 'ttest_1samp', 'ttest_rel', 'ttest_ind' },
}
for part, names in pairs(PARTS) do
  local from = require('mascon.stats.' .. part)
  for _, name in ipairs(names) do M[name] = from[name] end
end

return M
