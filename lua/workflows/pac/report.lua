-- report.lua - tables and figures of a coupling analysis, and the folder they go to.
--
-- Decides what a reader sees: the strongest couplings, comodulograms, preferred phases, the CSV of all cells, the HTML
-- page, the note on Tensorpac's pooled counts. Takes results of pac.compute on [C, S, T] or [C, T]; computes nothing
-- but averages.
local mc = require 'mascon'
local plot = require 'mascon.plot'
local text = require 'mascon.base.text'
local M = {}

--- Mean over an axis of the values that are numbers; NaN where none is.
local function mean_of(t, axis)
  local ok = mc.logical_not(mc.isnan(t))
  return mc.sum(mc.where(ok, t, 0), axis) / mc.sum(ok:to(t.dtype), axis)
end

--- Mean over the segments axis, if there is one: [C, P, A]. Segments without a value are left out.
local function by_channel(t)
  if t.ndim == 4 then return mean_of(t, 2) end
  return t
end

--- Circular mean over segments: [C, P, A] rad.
local function phase_by_channel(t)
  if t.ndim < 4 then return t end
  return mc.atan2(mean_of(mc.sin(t), 2), mean_of(mc.cos(t), 2))
end

--- Which pairs p-values are corrected for, in words; '' without surrogates.
function M.family(r)
  if not r.p then return '' end
  local o = r.options
  if o.compat == 'tensorpac' then
    return ('p is that of Tensorpac (%s) in each channel.'):format(o.mcp == 'none' and 'maxstat' or o.mcp)
  end
  if o.mcp == 'none' then return 'p is that of each pair alone, not corrected for their number.' end
  local cells = r.pac.shape[r.pac.ndim] * r.pac.shape[r.pac.ndim - 1]
  -- a pair without a value is not tested; one whose surrogates are all equal has no part in their maxima
  local value = o.mcp == 'maxstat' and r.z and o.compat == 'native' and r.z or r.p
  local tested = mc.sum(mc.logical_not(mc.isnan(value)):reshape(-1, cells):to 'i64', 2):totable()
  local maps, pairs_ = 0, 0
  for _, n in ipairs(tested) do
    if n > 0 then maps, pairs_ = maps + 1, pairs_ + n end
  end
  if maps == 0 then return 'No pair has a p-value.' end
  local run = o.mcp_scope == 'run'
  local how = { maxstat = ('the largest %s of every surrogate'):format(o.maxstat_of == 'z' and 'standardised value'
    or 'raw value'), fdr = 'false discovery rate', bonferroni = 'Bonferroni' }
  local many = run and maps > 1
  local p = ('p is corrected for %d pairs: %s%d phase x %d amplitude bands (%s).'):format(many and pairs_ or cells,
    many and maps .. ' maps of ' or '',
    r.pac.shape[r.pac.ndim - 1], r.pac.shape[r.pac.ndim], how[o.mcp])
  if r.p.ndim == 4 and r.p.shape[2] > 1 then p = p .. ' That of a channel is twice the mean over its segments.' end
  return p
end

--- Maps of a result per channel, f64 on the host side: value, z, p (of segments that are not pooled: twice their mean),
--- pref.
function M.maps(r)
  local m = { value = by_channel(r.pac:to 'f64') }
  if r.z then m.z = by_channel(r.z) end
  if r.p then
    m.p = r.p.ndim >= 3 and by_channel(r.p) or r.p:reshape(1, r.p.shape[1], r.p.shape[2])
    -- the mean of p-values is none, twice the mean is, whatever they have in common
    if r.p.ndim == 4 and r.p.shape[2] > 1 then m.p = mc.minimum(2 * m.p, 1) end
  end
  if r.pref_phase then m.pref = phase_by_channel(r.pref_phase:to 'f64') end
  return m
end

local function centre(b) return (b[1] + b[2]) / 2 end

--- Where the largest value of a map is among pairs that have a z: { phase band, amplitude band }, or nil.
local function largest(value, z)
  local best, at = -math.huge, nil
  for i, row in ipairs(value) do
    for j, v in ipairs(row) do
      if z[i][j] == z[i][j] and v > best then best, at = v, { i, j } end
    end
  end
  return at
end

--- The strongest couplings, best first: by p, equal ones by z, where there are surrogates, else by value. At most one
--- neighbourhood per channel and peak.
---@return table[] { channel, p, a, phase_hz, amp_hz, value, z, pval, pref_deg, largest }; largest, in
---  the first row of a channel: { phase_hz, amp_hz, value } of its pair of largest coupling, where it is another one
function M.strongest(r, names, count)
  local m = M.maps(r)
  local pha, amp = r.pha_bands_hz:totable(), r.amp_bands_hz:totable()
  local value, z = m.value:totable(), m.z and m.z:totable()
  local p, pref = m.p and m.p:totable(), m.pref and m.pref:totable()
  local key = z or value
  local cells = {}
  for c = 1, #value do
    for i = 1, #pha do
      for j = 1, #amp do
        local k = key[c][i][j]
        local peak = k == k
        for di = -1, 1 do
          for dj = -1, 1 do
            local row = key[c][i + di]
            local v = row and row[j + dj]
            if v and v == v and (v > k or (v == k and (di < 0 or (di == 0 and dj < 0)))) then peak = false end
          end
        end
        if peak then
          cells[#cells + 1] = {
            channel = names[c], c = c, p = i, a = j, phase_hz = centre(pha[i]), amp_hz = centre(amp[j]),
            value = value[c][i][j], z = z and z[c][i][j],
            pval = p and (p[c] or p[1])[i][j], pref_deg = pref and pref[c][i][j] * 180 / math.pi, key = k,
          }
        end
      end
    end
  end
  table.sort(cells, function(a, b)
    local u, v = a.pval == a.pval and a.pval or 2, b.pval == b.pval and b.pval or 2
    if u ~= v then return u < v end
    if a.key ~= b.key then return a.key > b.key end
    if a.c ~= b.c then return a.c < b.c end
    return a.p * 1e4 + a.a < b.p * 1e4 + b.a
  end)
  local out, seen = {}, {}
  for i = 1, math.min(count or 10, #cells) do
    local s = cells[i]
    local top = z and not seen[s.c] and largest(value[s.c], z[s.c])
    seen[s.c] = true
    if top and (top[1] ~= s.p or top[2] ~= s.a) then
      s.largest = { phase_hz = centre(pha[top[1]]), amp_hz = centre(amp[top[2]]), value = value[s.c][top[1]][top[2]] }
    end
    out[i] = s
  end
  return out
end

--- What the last column of the table says, or nil where there is none.
function M.largest_note(list)
  for _, s in ipairs(list) do
    if s.largest then
      return 'Rows are maxima of z, which is coupling on the scale of its surrogates. The last column is the pair of '
        .. 'largest coupling of the channel, where that is another one.'
    end
  end
end

local function cells_of(list)
  local rows, any = {}, false
  for i, s in ipairs(list) do
    rows[i] = { s.channel, s.phase_hz, s.amp_hz, s.value, s.z or '', s.pval or '', s.pref_deg or '' }
    if s.largest then
      any = true
      rows[i][8] = ('%.4g at %.4g, %.4g Hz'):format(s.largest.value, s.largest.phase_hz, s.largest.amp_hz)
    else rows[i][8] = '' end
  end
  local head = { 'channel', 'phase Hz', 'amplitude Hz', 'coupling', 'z', 'p', 'preferred phase, deg',
    any and 'largest coupling' or nil }
  if not any then for _, row in ipairs(rows) do row[8] = nil end end
  return head, rows
end

--- The table of the strongest couplings for a terminal.
function M.table(list)
  local head, rows = cells_of(list)
  return text.table(rows, { header = head, digits = 4 })
end

local function search_cells(list)
  local rows = {}
  for i, s in ipairs(list) do
    local function band(b) return ('%.4g-%.4g'):format(b[1], b[2]) end
    rows[i] = { s.channel, band(s.pha_hz), band(s.amp_hz), s.value, s.z or '', s.p or '', s.p_search or '' }
  end
  return { 'channel', 'phase band, Hz', 'amplitude band, Hz', 'coupling', 'z', 'p', 'p of the search' }, rows
end

--- The table of the best bands of each channel for a terminal. list: the `best` of pac.search.best with the field
--- channel.
function M.bands(list)
  local head, rows = search_cells(list)
  return text.table(rows, { header = head, digits = 4 })
end

-- ---------------------------------------------------------------- figures

local function edges_text(r) return r.pha_bands_hz:mean(2):totable(), r.amp_bands_hz:mean(2):totable() end

--- Means over the channels [P, A] that have a value, those without any z (flat, NaN) left out; how many these are.
local function mean_maps(m)
  local C = m.value.shape[1]
  local ok = mc.any(mc.logical_not(mc.isnan((m.z or m.value):reshape(C, -1))), 2)
  local used = mc.sum(ok:to 'i64'):item()
  local function mean(t) return mean_of(used == 0 and t or mc.where(ok:reshape(C, 1, 1), t, mc.nan), 1) end
  return mean(m.value), m.z and mean(m.z), used == C and 'channels' or ('%d of %d channels'):format(used, C)
end

--- Comodulogram of the mean over channels: coupling, and z when there are surrogates. Channels without z take no part.
function M.comodulogram(r, title)
  local m = M.maps(r)
  local value, z, over = mean_maps(m)
  local x, y = edges_text(r)
  local panels = m.z and 2 or 1
  local fig = plot.figure { title = title, width = panels == 2 and 980 or 560, height = 440, rows = 1, cols = panels }
  local function panel(k, map, name, opts)
    opts.xlabel, opts.ylabel, opts.title = 'phase frequency, Hz', 'amplitude frequency, Hz', name
    opts.colorbar = true
    fig:axes(1, k):heatmap(x, y, mc.permute_dims(map, { 2, 1 }):contiguous():totable(), opts)
  end
  panel(1, value, 'mean coupling over ' .. over, { label = r.options.measure, cmap = 'viridis' })
  if z then panel(2, z, 'mean z over ' .. over, { label = 'z', cmap = 'viridis' }) end
  return fig
end

--- One small map per channel (at most 16, by largest z or value).
function M.channels(r, names)
  local m = M.maps(r)
  local x, y = edges_text(r)
  local map = m.z or m.value
  local C = map.shape[1]
  local some = mc.isfinite(map)
  -- one scale for all; channels without z come last
  local low = mc.min(mc.where(some, map, mc.inf)):item()
  local high = mc.max(mc.where(some, map, -mc.inf)):item()
  if not (low < high) then low, high = nil, nil end
  local order = mc.argsort(mc.max(mc.where(some, map, -mc.inf):reshape(C, -1), 2), { descending = true }):totable()
  local n = math.min(16, C)
  local cols = math.min(4, n)
  local rows = math.ceil(n / cols)
  local fig = plot.figure {
    title = (m.z and 'z' or r.options.measure) .. ' per channel' .. (C > n and (' (%d of %d)'):format(n, C) or ''),
    width = 280 * cols + 40, height = 250 * rows + 50, rows = rows, cols = cols,
  }
  for k = 1, n do
    local c = order[k]
    fig:axes(math.ceil(k / cols), (k - 1) % cols + 1):heatmap(x, y,
      mc.permute_dims(map[c], { 2, 1 }):contiguous():totable(),
      { title = names[c], colorbar = true, cmap = 'viridis', vmin = low, vmax = high, xlabel = 'phase, Hz',
        ylabel = 'amplitude, Hz' })
  end
  return fig
end

-- p below which a coupling counts as one
local LEVEL = 0.05

--- Where in the slow cycle the amplitude is largest, over the strongest couplings: those with p < 0.05, all where there
--- are no surrogates. Where none is left: nil and a sentence.
function M.preferred(list)
  local angles, tested = {}, false
  for _, s in ipairs(list) do
    tested = tested or s.pref_deg and s.pval
    if s.pref_deg and (not s.pval or s.pval < LEVEL) then angles[#angles + 1] = s.pref_deg * math.pi / 180 end
  end
  if #angles == 0 then
    return nil, tested and ('No coupling has p < %g, so no preferred phases are drawn.'):format(LEVEL) or nil
  end
  return plot.polar(angles, { title = 'preferred phase of the strongest couplings'
    .. (tested and (' with p < %g'):format(LEVEL) or '') })
end

-- ---------------------------------------------------------------- files

--- All cells of all channels as CSV.
function M.csv(r, names)
  local m = M.maps(r)
  local pha, amp = r.pha_bands_hz:totable(), r.amp_bands_hz:totable()
  local value, z, p, pref = m.value:totable(), m.z and m.z:totable(), m.p and m.p:totable(), m.pref and m.pref:totable()
  local status = (r.status.ndim == 4 and mc.max(r.status, 2) or r.status):totable()
  local rows = {}
  for c = 1, #value do
    for i = 1, #pha do
      for j = 1, #amp do
        rows[#rows + 1] = {
          names[c], pha[i][1], pha[i][2], amp[j][1], amp[j][2], value[c][i][j], z and z[c][i][j] or '',
          p and (p[c] or p[1])[i][j] or '', pref and pref[c][i][j] or '', status[c][i][j],
        }
      end
    end
  end
  return text.csv(rows, { header = { 'channel', 'phase_lo_hz', 'phase_hi_hz', 'amp_lo_hz', 'amp_hi_hz',
    r.options.measure, 'z', 'p', 'preferred_phase_rad', 'status' }, newline = 'lf' })
end

-- ---------------------------------------------------------------- contrast of two conditions

local function contrast_cells(r, names, count)
  local rows = {}
  local function band(b) return ('%.4g-%.4g'):format(b[1], b[2]) end
  for i = 1, math.min(count or 10, #r.clusters) do
    local c = r.clusters[i]
    rows[i] = { names[c.channel], c.sign > 0 and 'A > B' or 'A < B', band(c.pha_hz), band(c.amp_hz), c.size, c.mass,
      c.p, c.p_maxz }
  end
  return { 'channel', 'difference', 'phase, Hz', 'amplitude, Hz', 'pairs', 'sum of z', 'p of the cluster',
    'least p, max-z' }, rows
end

--- Smallest p_maxz in each cluster, for the table.
local function add_maxz(r)
  local cells = r.pha_bands_hz.shape[1] * r.amp_bands_hz.shape[1]
  local p = r.p_maxz:reshape(-1, cells):totable()
  for _, c in ipairs(r.clusters) do
    c.p_maxz = 1
    for _, cell in ipairs(c.cells) do c.p_maxz = math.min(c.p_maxz, p[c.map][cell + 1]) end
  end
end

--- The clusters of a contrast for a terminal, best first; a sentence when there are none.
---@param r table result of pac.contrast [C, P, A]
---@param names string[] of channels
---@param count? integer rows, 10
function M.contrast_table(r, names, count)
  if #r.clusters == 0 then return 'no cluster: |z| of no pair reaches the threshold\n' end
  add_maxz(r)
  local head, rows = contrast_cells(r, names, count)
  return text.table(rows, { header = head, digits = 4 })
end

--- What was tested, in words.
function M.contrast_summary(r)
  local t = r.test
  local maps = r.z:numel() / (r.pha_bands_hz.shape[1] * r.amp_bands_hz.shape[1])
  return ('A - B of %s, %d permutations%s. p of clusters and of max-z is corrected over %s. Clusters join ' ..
    'neighbouring pairs of one channel with %s beyond p = %g. Conditions that differ in rhythm strength or noise ' ..
    'differ in coupling values too.'):format(
    t.paired and ('%d pairs of trials'):format(r.n_a) or ('%d and %d trials'):format(r.n_a, r.n_b), r.n_perm,
      t.paired and ' of the conditions within pairs' or ' of the labels',
    t.mcp_scope == 'run' and maps > 1 and ('the maps of %d channels'):format(maps) or 'the map of each channel',
      t.tail == 'two-sided' and '|z|' or 'z', t.cluster_p)
end

--- z of the difference for the channels with the strongest differences (at most 16).
function M.contrast_figure(r, names)
  local x, y = edges_text(r)
  local C = r.z.shape[1]
  local size = mc.max(mc.abs(mc.where(mc.isnan(r.z), 0, r.z)):reshape(C, -1), 2)
  local order, top = mc.argsort(size, { descending = true }):totable(), math.max(mc.max(size):item(), 1)
  local n = math.min(16, C)
  local cols = math.min(4, n)
  local rows = math.ceil(n / cols)
  local fig = plot.figure { title = 'z of the difference A - B' .. (C > n and (' (%d of %d channels)'):format(n, C)
    or ''), width = 280 * cols + 60, height = 250 * rows + 50, rows = rows, cols = cols }
  for k = 1, n do
    local c = order[k]
    fig:axes(math.ceil(k / cols), (k - 1) % cols + 1):heatmap(x, y, mc.permute_dims(r.z[c], { 2,
      1 }):contiguous():totable(),
      { title = names[c], colorbar = true, cmap = 'tide', vmin = -top, vmax = top, xlabel = 'phase, Hz',
        ylabel = 'amplitude, Hz' })
  end
  return fig
end

--- All cells of a contrast as CSV.
function M.contrast_csv(r, names)
  local pha, amp = r.pha_bands_hz:totable(), r.amp_bands_hz:totable()
  local columns = { 'mean_a', 'mean_b', 't', 'z', 'p', 'p_maxz', 'p_cluster' }
  local values, rows = {}, {}
  for k, name in ipairs(columns) do values[k] = r[name]:totable() end
  for c = 1, #names do
    for i = 1, #pha do
      for j = 1, #amp do
        local row = { names[c], pha[i][1], pha[i][2], amp[j][1], amp[j][2] }
        for k = 1, #columns do row[#row + 1] = values[k][c][i][j] end
        rows[#rows + 1] = row
      end
    end
  end
  return text.csv(rows, { header = { 'channel', 'phase_lo_hz', 'phase_hi_hz', 'amp_lo_hz', 'amp_hi_hz',
    unpack(columns) }, newline = 'lf' })
end

--- How far the native map is from Tensorpac's pooled counts, and why. nil when it does not apply.
function M.pooled_note(native, pooled)
  local a, b = by_channel(native:to 'f64'):reshape(-1), by_channel(pooled:to 'f64'):reshape(-1)
  local ok = mc.logical_and(mc.isfinite(a), mc.isfinite(b))
  a, b = a[ok], b[ok]
  if a:numel() < 3 then return nil end
  local da, db = a - mc.mean(a), b - mc.mean(b)
  local r = (mc.sum(da * db) / mc.sqrt(mc.sum(da * da) * mc.sum(db * db))):item()
  local d = mc.max(mc.abs(a - b)):item()
  return ('Tensorpac divides the amplitude sums of a phase bin by its count over all phase bands and epochs of the '
    .. 'call; here each band and row has its own count, which is the definition. On these data the two maps correlate '
    .. 'at r = %.4f and differ by at most %.3g. The difference is largest where coupling is weak, because pooled '
    .. 'counts let the phase distribution of the other bands leak into a pair.'):format(r, d), r, d
end

--- The page.
function M.page(r, info)
  local o = r.options
  local head, rows = cells_of(info.strongest)
  local sections = {
    { heading = 'Strongest couplings', paragraphs = { info.summary, M.largest_note(info.strongest) },
      table = { header = head, rows = rows } },
    { heading = 'Comodulogram', figure = info.comodulogram },
    { heading = 'Channels', figure = info.channels },
  }
  if info.preferred or info.no_preferred then
    sections[#sections + 1] = { heading = 'Preferred phase', figure = info.preferred,
      paragraphs = { info.no_preferred } }
  end
  if info.bands then
    local h, cells = search_cells(info.bands)
    sections[#sections + 1] = { heading = 'Best bands', table = { header = h, rows = cells },
      paragraphs = { ('Every band between two of the frequencies of a grid was tried for phase and for amplitude (%d '
        .. 'pairs). p is that of the pair alone, p of the search counts how often a surrogate of the whole search '
        .. 'reaches this z.'):format(info.band_pairs) } }
  end
  if info.contrast then
    local c = info.contrast
    local section = { heading = 'Contrast of two conditions', paragraphs = { info.contrast_text,
      M.contrast_summary(c) }, figure = info.contrast_figure }
    if #c.clusters > 0 then
      local h, cells = contrast_cells(c, info.names)
      section.table = { header = h, rows = cells }
    else table.insert(section.paragraphs, 'There is no cluster: |z| of no pair reaches the threshold.') end
    for _, w in ipairs(c.warnings) do table.insert(section.paragraphs, w) end
    sections[#sections + 1] = section
  end
  local care = {}
  for _, list in ipairs { r.notes or {}, r.warnings } do for _, w in ipairs(list) do care[#care + 1] = w end end
  if #care > 0 then sections[#sections + 1] = { heading = 'Read with care', paragraphs = care } end
  if info.pooled then
    sections[#sections + 1] = { heading = 'Compared with Tensorpac', paragraphs = { info.pooled } }
  end
  local settings = {}
  for _, k in ipairs { 'fs', 'measure', 'n_bins', 'bin_norm', 'filter', 'surrogate', 'n_perm', 'mcp', 'mcp_scope',
    'maxstat_of', 'seed', 'dtype', 'demean', 'compat' } do
    settings[#settings + 1] = { k, tostring(o[k]) }
  end
  settings[#settings + 1] = { 'device', r.device or 'cpu' }
  settings[#settings + 1] = { 'surrogates', r.n_surrogates }
  settings[#settings + 1] = { 'smallest shift, samples', r.min_shift or '' }
  settings[#settings + 1] = { 'shifts of the mean and spread for z, samples at least', r.null_shift
    and math.max(r.null_shift, r.min_shift or 0) or '' }
  for _, s in ipairs(info.settings or {}) do settings[#settings + 1] = s end
  sections[#sections + 1] = { heading = 'Settings', table = { header = { 'name', 'value' }, rows = settings } }
  return mc.report.html { title = 'Phase-amplitude coupling', subtitle = info.subtitle, sections = sections,
    footer = 'mascon ' .. mc.version }
end

return M
