-- results_xpcs.lua - the page's tables of two-time fits: beside SciPy, lmfit, NLSQ,
-- homodyne and NumPyro; of files.
--
-- section(ours, theirs, load) -> text. A ratio is the peer's time / ours (per gradient where a row holds them). May not
-- run anything.
local measure = require 'measure'
local M = {}

local PEERS = {
  { 'xpcs_fit_200_scipy', 'xpcs_fit_200', 'SciPy least_squares, vectorised model, analytic derivatives', 20 },
  { 'xpcs_fit_200_lmfit', 'xpcs_fit_200', 'lmfit, the same functions' },
  { 'xpcs_fit_200_nlsq_first', 'xpcs_fit_200', 'NLSQ (JAX), first call', 20 },
  { 'xpcs_fit_200_nlsq', 'xpcs_fit_200', 'NLSQ, later calls', 5 },
  { 'xpcs_fit_200_homodyne_first', 'xpcs_fit_200', 'homodyne, first call' },
  { 'xpcs_fit_200_homodyne', 'xpcs_fit_200', 'homodyne, later calls' },
  { 'xpcs_nuts_200_numpyro', 'xpcs_nuts_200', 'NumPyro NUTS (JAX), a gradient', 3 },
}

--- Seconds of a row, or processor seconds, per gradient where it counts them.
local function per(r, field) return r[field] and r[field] / (r.nfev and r.nfev > 0 and r.nfev or 1) end

--- Load and versions of the rows of the table.
local function said(rows, load)
  local names, seen = {}, {}
  for _, r in ipairs(rows) do
    for n, v in pairs(r.versions or {}) do
      if not seen[n] then names[#names + 1] = n end
      seen[n] = v
    end
  end
  table.sort(names)
  for i, n in ipairs(names) do names[i] = n .. ' ' .. seen[n] end
  return ('%s; %d thread%s, load of the machine %.1f.'):format(table.concat(names, ', '), rows[1].threads,
    rows[1].threads == 1 and '' or 's', load)
end

local function ratio(a, b) return a and b and ('%.1f'):format(a / b) or '' end

local function peers(by, load)
  local used = {}
  local lines = { '| peer | theirs | ours | ratio | ratio of processor time | floor |', '|---|---|---|---|---|---|' }
  for _, p in ipairs(PEERS) do
    local t, u = by[p[1]], by[p[2]]
    if t and u and t.seconds > 0 then
      used[#used + 1] = t
      local a, b = per(t, 'seconds'), per(u, 'seconds')
      local what = t.compiled and ('%s, %d program%s compiled'):format(p[3], t.compiled, t.compiled == 1 and '' or 's')
        or p[3]
      lines[#lines + 1] = ('| %s | %s | %s | %s | %s | %s |'):format(what, measure.time(a), measure.time(b),
        ratio(a, b), ratio(per(t, 'cpu'), per(u, 'cpu')), p[4] or '')
    end
  end
  if #used == 0 then return nil end
  return ('A fit of 23 angles x 200 x 200 points, diffusion and shear, averaged scaling, f64, each pair once, from one '
    .. 'start; the same model, bounds, starts and numbers of threads on both sides. NumPyro is compiled before it is '
    .. 'timed. Processor time is the least of several runs. %s\n\n%s'):format(said(used, load),
    table.concat(lines, '\n'))
end

local function files(by)
  local lines = { '| what | now | floor | goal | load |', '|---|---|---|---|---|' }
  local function add(r, what, now, floor, goal)
    if not now then return end
    lines[#lines + 1] = ('| %s | %s | %s | %s | %.1f |'):format(what, now, floor or '', goal or '', r.load)
  end
  local function times(r)
    return r and r.cpu and ('%s, %s of processors'):format(measure.time(r.seconds), measure.time(r.cpu))
  end
  local function percent(v) return v and ('%.2g %%'):format(100 * v) end
  local s, b = by.xpcs_stream_1e8, by.xpcs_blocks
  add(by.xpcs_file_1e8, 'from the file to the report, `--no-arrays`', times(by.xpcs_file_1e8), '30 s', 'reading')
  add(by.xpcs_file_1e8_arrays, 'the same with fitted_data.npz (4.8 GB)', times(by.xpcs_file_1e8_arrays))
  if s then
    add(s, ('the fit alone, every pass from a packed file, %d passes'):format(s.passes), times(s))
    add(s, 'resident memory of that process, mean', ('%.0f MB'):format(s.resident / 1e6), '700 MB', '600 MB')
    add(s, 'its standard deviation over blocks, of the mean', percent(s.varies), '20 %', '2 %')
    add(s, 'one checkpoint, on disk', measure.time(s.save), '50 ms', '10 ms')
    add(s, ('its share of the fit, %d of them'):format(s.written), percent(s.saving), '1 %', '0.1 %')
  end
  if b then
    add(b, 'checkpoints and retries on against off, 23 angles in memory', percent(b.tolerant / b.plain - 1), '5 %',
      '1 %')
    add(b, 'blocks checked for finite sums, against passes without', percent(b.checks / b.plain - 1), '1 %',
      '0.2 %')
  end
  if #lines == 2 then return nil end
  local r = by.xpcs_file_1e8 or s or b
  return ('Files of 100 angles x 1000 x 1000 points (10^8 published ones), diffusion and shear, APS-U layout; '
    .. 'mascon %s, %d threads; load: of the machine when the row began. Checks and checkpoints are compared by '
    .. 'least processor times of 23 angles, one thread.\n\n%s'):format(r.version, r.threads, table.concat(lines, '\n'))
end

--- The section of the page, or nil when nothing was measured. load: of the machine during the run.
function M.section(ours, theirs, load)
  local by, parts = {}, {}
  for _, list in ipairs { ours, theirs } do for _, r in ipairs(list) do if r.seconds then by[r.name] = r end end end
  parts[1] = peers(by, load)
  parts[#parts + 1] = files(by)
  return #parts > 0 and table.concat(parts, '\n\n') or nil
end

return M
