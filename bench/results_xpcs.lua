-- results_xpcs.lua - the page's table of the two-time fit beside SciPy, lmfit, NLSQ and NumPyro.
--
-- section(ours, theirs) -> text. A ratio is the peer's time / ours (per gradient where a row holds them). May not run
-- anything.
local measure = require 'measure'
local M = {}

local PEERS = {
  { 'xpcs_fit_200_scipy', 'xpcs_fit_200', 'SciPy least_squares, vectorised model, analytic derivatives', 20 },
  { 'xpcs_fit_200_lmfit', 'xpcs_fit_200', 'lmfit, the same functions' },
  { 'xpcs_fit_200_nlsq_first', 'xpcs_fit_200', 'NLSQ (JAX), first call', 20 },
  { 'xpcs_fit_200_nlsq', 'xpcs_fit_200', 'NLSQ, later calls', 5 },
  { 'xpcs_nuts_200_numpyro', 'xpcs_nuts_200', 'NumPyro NUTS (JAX), a gradient', 3 },
}

--- Seconds of a row, per gradient where it counts them.
local function seconds(r) return r.seconds / (r.nfev and r.nfev > 0 and r.nfev or 1) end

--- The section of the page, or nil when nothing was measured.
function M.section(ours, theirs)
  local by = {}
  for _, list in ipairs { ours, theirs } do for _, r in ipairs(list) do if r.seconds then by[r.name] = r end end end
  local lines = { '| peer | theirs | ours | ratio | floor |', '|---|---|---|---|---|' }
  for _, p in ipairs(PEERS) do
    local t, u = by[p[1]], by[p[2]]
    if t and u and t.seconds > 0 then
      local a, b = seconds(t), seconds(u)
      lines[#lines + 1] = ('| %s | %s | %s | %.1f | %s |'):format(p[3], measure.time(a), measure.time(b), a / b,
        p[4] or '')
    end
  end
  if #lines == 2 then return nil end
  return 'A fit of 23 angles x 200 x 200 points, diffusion and shear, averaged scaling, f64, each pair once, from one '
    .. 'start; the same model, bounds, starts and numbers of threads on both sides.\n\n' .. table.concat(lines, '\n')
end

return M
