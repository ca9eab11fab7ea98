-- pac.lua - phase-amplitude coupling of a recording: table, maps, report.
--
-- usage: mascon scripts/pac.lua INPUT [options]; --help lists them. INPUT is an array (.npz, .npy) or a recording
-- (.fif, .edf, .bdf, .vhdr, .set); --demo makes one.
-- Writes DIR/pac.npz, comodulogram.svg/.png, channels.svg, preferred.svg, pac.csv, report.html and manifest.json;
-- with --contrast also contrast.npz, contrast.csv and contrast.svg.
local mc = require 'mascon'
local pac = mc.pac

local LINE = {
  name = 'pac', usage = 'usage: mascon scripts/pac.lua INPUT [options]', positional = 1,
  about = 'Phase-amplitude coupling with surrogate statistics for every channel of a recording (.npz, .npy, .fif, '
    .. '.edf, .bdf, .vhdr, .set).',
  options = {
    { 'demo', 'flag', 'make a recording with known coupling instead of reading INPUT' },
    { 'fs', 'number', 'sampling rate, Hz (files that know theirs need none)', of = 'rate' },
    { 'key', 'string', 'array of an .npz (its largest)', of = 'npz' },
    { 'axes', 'string',
      'axes of the array, such as CT (channels x samples), ST, TC, CST or SCT (epochs of MNE); 2 axes: CT, 3 axes: CST',
      of = 'array' },
    { 'pick', 'list', 'channels: names, numbers, patterns such as EEG* (all that record brain signals)' },
    { 'types', 'named', 'types of channels that neither file nor names tell', value = 'NAME=TYPE,...', of = 'typed' },
    { 'from', 'number', 'first second to read', of = 'file' }, { 'to', 'number', 'last second to read', of = 'file' },
    { 'mask', 'string', 'samples that count: .npy of true and false, [T] or [S,T]; or a table .csv of onset,duration '
        .. '(s) that do not count', value = 'FILE',
      of = 'file' },
    { 'keep_marked', 'flag', 'analyse stretches annotated "bad..." too (they are masked)', of = 'marks' },
    { 'pha_range', 'range', 'range of phase centres, Hz', default = { 2, 20 } },
    { 'pha_bands', 'integer', 'number of phase bands', default = 10 },
    { 'amp_range', 'range', 'range of amplitude centres, Hz', default = { 60, 160 } },
    { 'amp_bands', 'integer', 'number of amplitude bands', default = 10 },
    { 'spacing', { 'linear', 'log' }, 'spacing of centres', default = 'linear' },
    { 'measure', 'string', 'coupling measure: ' .. table.concat(pac.options.MEASURES, ', ') ..
      '; or a file FILE.lua that returns function(phase, amp, info)', default = 'mi' }, { 'filter', { 'fir1',
      'butter_trunc', 'morlet' }, 'band filter', default = 'fir1' },
    { 'n_bins', 'integer', 'phase bins', default = 18, of = 'bins' },
    { 'bin_norm', { 'mean', 'sum', 'pooled' }, 'bin normalisation (mean; pooled with --compat tensorpac)',
      of = 'binned' },
    { 'surrogate', pac.options.SURROGATES,
      'kind of surrogates (exhaustive for mi and hr, else and in segments block_swap)' },
    { 'n_perm', 'integer', 'number of drawn surrogates', default = 200, of = 'drawn search' },
    { 'min_shift', 'integer', 'smallest shift, samples (1)', of = 'shifted' },
    { 'null_shift', 'integer',
      'mean and spread for z are those of shifts of at least so many samples (a cycle of the slowest band)',
      of = 'shifted' },
    { 'norm', { 'none', 'sub', 'div', 'subdiv', 'z' }, 'normalisation', default = 'z', of = 'surrogates' },
    { 'mcp', { 'none', 'maxstat', 'fdr', 'bonferroni' }, 'correction of p for many pairs', default = 'maxstat',
      of = 'surrogates' },
    { 'mcp_scope', { 'run', 'channel' },
      'pairs that are corrected together: of all channels, or of each', default = 'run',
      of = 'corrected contrast' },
    { 'maxstat_of', { 'z', 'raw' }, 'maxima of values on the scale of their own null, or raw (z; raw with --compat)',
      of = 'maxstat' },
    { 'compat', { 'native', 'tensorpac', 'gpac' }, 'behave as another program', default = 'native' },
    { 'segments', { 'pool', 'each' }, 'segments: one map from all, or one each', default = 'pool', of = 'pooled' },
    { 'seed', 'natural', 'seed of drawn surrogates', default = 42, of = 'drawn search contrast' },
    { 'dtype', { 'f32', 'f64' }, 'precision', default = 'f32' },
    { 'device', 'string', 'cpu, gpu, cuda:0, opencl:0, or auto: what MASCON_DEVICE names, else a card, else cpu; '
        .. 'several, such as cuda:0,cuda:1, share the rows', value = 'NAME' },
    { 'threads', 'integer', 'worker threads (all cores); results do not depend on it' },
    { 'max_memory', 'string', 'memory the whole program may take, such as 2GiB; results do not depend on it' },
    { 'segment_length', 'number', 'seconds: analyse a long recording in segments, whose sums are added up (60 s and 64 '
        .. 'cycles beyond 2^20 samples; 0: never)' },
    { 'search', 'integer',
      'also find the best bands of each channel among all that a grid of so many frequencies spans (6 is a start)' },
    { 'contrast', 'string', 'epochs of a second condition: test how coupling of INPUT (A) differs from it (B)',
      value = 'FILE' },
    { 'contrast_perm', 'count', 'permutations of the contrast', default = 1000, of = 'contrast' },
    { 'paired', 'flag', 'trial i of INPUT belongs to trial i of --contrast', of = 'contrast' },
    { 'top', 'count', 'rows of the table', default = 10 },
    { 'out', 'string', 'folder for the results', value = 'DIR', default = 'pac-results' },
    { 'overwrite', 'flag', 'replace results that are there' }, { 'quiet', 'flag', 'no progress bar' },
  },
  -- under which settings an option does something: the words of its field `of`
  settings = {
    file = 'a recording, and --demo makes one', array = 'arrays (.npy, .npz); other files say their axes',
    rate = 'arrays, and for an EDF or BDF of several rates; other files say their rate',
    npz = 'an .npz, which holds several arrays', marks = 'recordings with marks; an array has none',
    typed = 'channels with names; an .npy names none, and --demo its own',
    surrogates = 'p and z, which are made of surrogates (not --surrogate none, not --measure ndpac)',
    drawn = 'drawn surrogates (--surrogate block_swap, time_lag or swap_trials)',
    shifted = 'surrogates that are shifts (--surrogate exhaustive, block_swap or time_lag)',
    corrected = 'corrected p (--mcp maxstat, fdr or bonferroni, with surrogates)',
    maxstat = '--mcp maxstat with surrogates',
    bins = 'measures with phase bins (mi, hr, or a function of a file)', binned = 'the measures mi and hr',
    pooled = 'several segments and the measures mi and hr (--compat native, --bin-norm mean or sum)',
    search = '--search N', contrast = '--contrast FILE',
  },
}
local o, asked = mc.args.parse(arg, LINE)
if o[1] and o.demo then
  io.stderr:write(('pac: %s is not read with --demo, which makes a recording; leave one of them out\n'):format(o[1]))
  os.exit(2)
end
if not o[1] and not o.demo then
  io.stderr:write 'pac: give a recording, or --demo; --help shows the options\n'
  os.exit(2)
end

--- Sets o.NAME to a range of centres whose bands the sampling rate holds: the default gives way where its lower end
--- still fits, with a note; else one that does not fit is refused. part: of the centre that half a band takes.
local function fit_range(name, part, source)
  local fs, range, option = source.fs, o[name], name:gsub('_', '-')
  local reach = o.compat == 'tensorpac' and 1 + 1 / part or 1 -- else bands are clipped to the range
  if range[2] * reach < fs / 2 then return end
  local high = math.floor(0.99 * fs / 2 / (1 + 1 / part))
  local fits = range[1] < 0.75 * high
  if fits and not asked[name] then
    o[name] = { range[1], high }
    table.insert(source.notes, ('centres of --%s are %g-%g Hz and not the default %g-%g: samples at %g Hz hold '
      .. 'frequencies below %g Hz'):format(option, range[1], high, range[1], range[2], fs, fs / 2))
    return
  end
  error(('--%s is %g-%g Hz%s, and samples at %g Hz hold frequencies below %g Hz; give a range that fits, such as '
    .. '--%s %g-%g'):format(option, range[1], range[2], asked[name] and '' or ' by default', fs, fs / 2, option,
      fits and range[1] or math.floor(high / 2), high), 0)
end

-- bytes of what is loaded on the way: transforms, figures
local LIBRARIES = 16 * 2 ^ 20

local function limit_of(word)
  if not word then return nil end
  return mc.ceiling.bytes(word)
    or error(('--max-memory: %q is no size; give bytes, or a size such as 2GiB'):format(word), 0)
end

--- The measure: a name, or the function that a Lua file returns, with the file's name.
local function measure_of(word)
  if not word:find '%.lua$' then
    for _, name in ipairs(pac.options.MEASURES) do if name == word then return word end end
    error(('--measure: %q is no measure; choose %s, or a file that ends in .lua'):format(word,
      table.concat(pac.options.MEASURES, ', ')), 0)
  end
  local chunk, why = loadfile(word)
  if not chunk then error(('--measure: %s'):format(why), 0) end
  local f = chunk()
  if type(f) ~= 'function' then
    error(('--measure: %s returns a %s; it must return function(phase, amp, info), which ' ..
      'returns coupling [n, P, A]'):format(word, type(f)), 0)
  end
  return f, word:match '([^/]+)%.lua$'
end

local ARRAYS = { npy = true, npz = true }
local function ending(path) return path and (path:lower():gsub('%.gz$', ''):match '%.(%w+)$' or '') end

--- Refuses options without effect: what the line and the names of the files say, before anything is read.
local function refuse_unused()
  local one, other = ending(o[1]), ending(o.contrast)
  local function any(of) return of[one] or of[other] or false end
  mc.args.refuse(LINE, asked, {
    contrast = o.contrast ~= nil, search = o.search ~= nil, npz = any { npz = true }, file = not o.demo,
    array = any(ARRAYS), rate = any { npy = true, npz = true, edf = true, bdf = true },
    marks = not o.demo and not (ARRAYS[one] and (not other or ARRAYS[other])),
    typed = not o.demo and (one ~= 'npy' or other ~= nil and other ~= 'npy'),
  })
  if o.search and o.search < 2 then
    error(('--search %d: a grid needs at least 2 frequencies'):format(o.search), 0)
  end
end

--- The same for what follows from the measure, the surrogates and the segments.
local function refuse_useless(measure, surrogate, source)
  local some, mi = surrogate ~= 'none' and measure ~= 'ndpac', measure == 'mi' or measure == 'hr'
  mc.args.refuse(LINE, asked, {
    surrogates = some, drawn = some and surrogate ~= 'exhaustive', shifted = some and surrogate ~= 'swap_trials',
    corrected = some and o.mcp ~= 'none', maxstat = some and o.mcp == 'maxstat', search = o.search ~= nil,
    contrast = o.contrast ~= nil, binned = mi, bins = mi or type(measure) == 'function',
    pooled = source.segmented and source.S > 1 and (o.segments == 'each'
      or mi and o.compat == 'native' and o.bin_norm ~= 'pooled'),
  })
  if o.compat == 'gpac' and asked.filter and o.filter ~= 'butter_trunc' then
    error(('--filter is %s; --compat gpac has one filter, butter_trunc'):format(o.filter), 0)
  end
end

--- Everything, within --max-memory.
local function analyse()
  local line
  o.device, line = mc.args.device(o.device)
  if line then print(line) end
  refuse_unused()
  local measure, measure_name = measure_of(o.measure)
  local dir, source, truth = o.out
  if not mc.manifest.planning() then -- before the work, not after it
    mc.results.folder('--out', dir, { overwrite = o.overwrite })
  end
  if o.demo then
    local rec = pac.generate.recording { seed = 1 }
    source, truth =
      pac.source.wrap(rec.x, { fs = rec.fs, names = rec.channels, axes = 'CST', pick = o.pick }), rec.truth
  else
    source = pac.source.open(o[1], { fs = o.fs, key = o.key, axes = o.axes, pick = o.pick, from = o.from, to = o.to,
      mask = o.mask, keep_marked = o.keep_marked, types = o.types })
  end

  fit_range('pha_range', 4, source)
  fit_range('amp_range', 8, source)
  local bins = o.measure == 'mi' or o.measure == 'hr'
  local pooled = source.segmented and source.S > 1 and o.segments == 'pool' and bins and o.compat == 'native'
    and o.bin_norm ~= 'pooled'
  local long = o.segment_length and o.segment_length > 0 or not o.segment_length and source.T > pac.segments.LONG
  local surrogate = o.surrogate
    or (bins and o.compat == 'native' and not (long and source.S == 1) and 'exhaustive' or 'block_swap')
  refuse_useless(measure, surrogate, source)
  -- sums for the comparison with pooled counts, as long as they are small
  local sums = o.measure == 'mi' and o.compat == 'native' and o.bin_norm ~= 'pooled'
    and not (source.mask and source.mask.ndim > 1)
    and 8 * source.C * (pooled and 1 or source.S) * o.pha_bands * o.amp_bands * o.n_bins <= 2 ^ 25
  local opts = {
    fs = source.fs, pha_range_hz = o.pha_range, pha_n_bands = o.pha_bands,
    amp_range_hz = o.amp_range, amp_n_bands = o.amp_bands, spacing = o.spacing,
    measure = measure, measure_name = measure_name, filter = o.filter, n_bins = o.n_bins, bin_norm = o.bin_norm,
    surrogate = surrogate, n_perm = (surrogate == 'none' or surrogate == 'exhaustive') and 0 or o.n_perm,
    min_shift = o.min_shift, null_shift = o.null_shift, norm = o.norm,
    mcp = surrogate ~= 'none' and measure ~= 'ndpac' and o.mcp or nil,
    mcp_scope = o.mcp_scope, maxstat_of = o.maxstat_of,
    windows = source.windows, mask = source.mask, compat = o.compat, seed = o.seed, dtype = o.dtype, device = o.device,
    threads = o.threads, pool_segments = pooled, axes = 'CST',
    segment_length = o.segment_length, return_sums = sums or nil,
  }
  if o.compat == 'gpac' then opts.filter = 'butter_trunc' end
  local plan = pac.plan(source.T, opts)
  if plan.engine.segment and o.search then
    error('--search needs whole rows, and these are analysed in segments; name a part with --from and --to, or '
      .. '--segment-length 0', 0)
  end
  local second = o.contrast and pac.source.open(o.contrast, { fs = o.fs, key = o.key, axes = o.axes, pick = o.pick,
    from = o.from, to = o.to, keep_marked = o.keep_marked, types = o.types })
  if second then pac.source.comparable(source, second, o.paired) end
  local contrast_options = second and { fs = source.fs, pha_range_hz = o.pha_range,
      pha_n_bands = o.pha_bands, amp_range_hz = o.amp_range, amp_n_bands = o.amp_bands, spacing = o.spacing,
      measure = measure, measure_name = measure_name, filter = o.filter, n_bins = o.n_bins, dtype = o.dtype,
        threads = o.threads, mcp_scope = o.mcp_scope,
      n_perm = o.contrast_perm, paired = o.paired, seed = o.seed }
  if mc.manifest.planning() then
    local file = o[1] and io.open(o[1], 'rb')
    local size = file and file:seek 'end' or 0
    if second then
      local other = io.open(o.contrast, 'rb')
      size = size + (other and other:seek 'end' or 0)
    end
    local bytes = pac.source.bytes(plan, source)
    if second then bytes = math.max(bytes, pac.source.contrast_bytes(source, second, contrast_options)) end
    if measure_name then print(('pac: time without that of %s, which is not known'):format(o.measure)) end
    local seconds, there = pac.source.seconds(plan, source, opts)
    if second then seconds = seconds + pac.source.contrast_seconds(source, second, contrast_options) end
    print(('pac: %d channels x %d segments x %d samples, %d surrogates%s: about %.1f s, peak %.1f MiB%s'):format(
      source.C, source.S, source.T, plan.n_surrogates,
      second and (', contrast with %d segments'):format(second.S) or '', seconds + mc.manifest.hash_seconds(size),
      math.min(mc.ceiling.resident() + LIBRARIES + bytes, limit_of(o.max_memory) or math.huge) / 2 ^ 20,
      mc.args.there(o.device, there)))
    os.exit(0)
  end
  local recorded, inputs = {}, { o[1] }
  for k, v in pairs(opts) do recorded[k] = v end
  recorded.segment_length = plan.options.segment_length
  recorded.min_shift, recorded.null_shift = plan.min_shift, plan.engine.near
  if measure_name then
    recorded.measure = o.measure
    inputs[#inputs + 1] = o.measure
  end
  if o.contrast then
    recorded.contrast, recorded.contrast_perm, recorded.paired = o.contrast, o.contrast_perm, o.paired or false
    inputs[#inputs + 1] = o.contrast
  end
  local record = mc.manifest.new { options = recorded,
    inputs = #inputs > 0 and inputs or nil, seed = o.seed, quiet = o.quiet }
  local function plural(n, what) return ('%d %s%s'):format(n, what, n == 1 and '' or 's') end
  print(('%s: %s, %s of %.1f s at %g Hz, %d surrogates (%s)'):format(o[1] or 'demonstration recording',
    plural(source.C, 'channel'), plural(source.S, 'segment'), source.T / source.fs, source.fs, plan.n_surrogates,
      surrogate))

  for _, w in ipairs(source.notes) do print('note: ' .. w) end

  local bar = not o.quiet and mc.progress.new(source.C, { label = 'coupling', unit = 'channels' }) or nil
  local r = pac.source.run(plan, source, { progress = bar })
  if bar then bar:done() end
  record:stage('pac', r.pac)
  if r.z then record:stage('z', r.z) end

  -- how far the definition is from Tensorpac's pooled counts, on these data
  local note
  if plan.options.return_sums then note = pac.report.pooled_note(r.pac, pac.pooled(r)) end

  local report = pac.report
  local best = report.strongest(r, source.names, o.top)
  print()
  io.write(report.table(best))
  print(report.family(r))
  local largest = report.largest_note(best)
  if largest then print(largest) end
  for _, w in ipairs(r.warnings) do print('note: ' .. w) end

  local bands, band_pairs
  if o.search then
    bar = not o.quiet and mc.progress.new(source.C, { label = 'bands', unit = 'channels' }) or nil
    local function grid(range) return mc.linspace(range[1], range[2], o.search) end
    bands, band_pairs = pac.source.search(source, { fs = source.fs, pha_grid_hz = grid(o.pha_range),
      amp_grid_hz = grid(o.amp_range), measure = measure, measure_name = measure_name, n_bins = o.n_bins,
      n_perm = o.n_perm, seed = o.seed, dtype = o.dtype, windows = source.windows, mask = source.mask, top = 1 }, bar)
    if bar then bar:done() end
    print(('\nbest bands of %d pairs, %d drawn surrogates:'):format(band_pairs, o.n_perm))
    io.write(report.bands(bands))
  end

  local contrast, contrast_figure
  if second then
    bar = not o.quiet and mc.progress.new(source.C + second.C, { label = 'contrast', unit = 'channels' }) or nil
    contrast = pac.source.contrast(source, second, contrast_options, bar)
    if bar then bar:done() end
    print(('\ncontrast of %s (A) with %s (B):'):format(o[1] or 'the demonstration', o.contrast))
    io.write(report.contrast_table(contrast, source.names, o.top))
    print(report.contrast_summary(contrast))
    for _, w in ipairs(contrast.warnings) do print('note: ' .. w) end
    contrast_figure = report.contrast_figure(contrast, source.names)
    record:stage('contrast', contrast.z)
  end

  local arrays = { pac = r.pac, z = r.z, p = r.p, surr_mean = r.surr_mean, surr_std = r.surr_std,
    pref_phase = r.pref_phase, status = r.status, bin_centers = r.bin_centers,
    pha_bands_hz = r.pha_bands_hz, amp_bands_hz = r.amp_bands_hz, dist = r.dist, normalized = r.normalized }
  local como, channels = report.comodulogram(r, 'Phase-amplitude coupling'), report.channels(r, source.names)
  local preferred, no_preferred = report.preferred(best)
  r.notes = source.notes
  local settings = { { 'input', o[1] or 'demonstration' }, { 'channels', source.C }, { 'segments', source.S },
    { 'samples', source.T } }
  local png, why
  local names = mc.results.write(dir, record, function(set)
    mc.save(set:path 'pac.npz', arrays)
    set:put('pac.csv', report.csv(r, source.names))
    for _, f in ipairs { { 'comodulogram.svg', como }, { 'channels.svg', channels }, { 'preferred.svg', preferred } } do
      if f[2] then set:put(f[1], mc.plot.render(f[2])) end
    end
    if contrast then
      local keep = {}
      for _, name in ipairs { 'mean_a', 'mean_b', 'difference', 't', 'z', 'p', 'p_maxz', 'p_cluster', 'maxima',
        'pha_bands_hz', 'amp_bands_hz' } do keep[name] = contrast[name] end
      mc.save(set:path 'contrast.npz', keep)
      set:put('contrast.csv', report.contrast_csv(contrast, source.names))
      set:put('contrast.svg', mc.plot.render(contrast_figure))
    end
    set:put('report.html', report.page(r, { contrast = contrast, contrast_figure = contrast_figure,
      names = source.names,
      contrast_text = contrast and ('A: %s. B: %s.'):format((o[1] or 'demonstration'):match '[^/]*$',
        o.contrast:match '[^/]*$'),
       strongest = best, comodulogram = como, channels = channels, preferred = preferred,
       no_preferred = no_preferred, pooled = note,
         bands = bands, band_pairs = band_pairs, settings = settings,
      subtitle = ('%s, %d channels'):format(o[1] and o[1]:match '[^/]*$' or 'demonstration recording', source.C),
      summary = (pooled and 'Amplitudes of all segments are binned together.' or source.S > 1
        and 'Values of segments are averaged.' or '') .. ' ' .. report.family(r) }), { compare = false })
    png, why = set:try('comodulogram.png', function(path) return mc.plot.save(como, path, { required = false }) end,
      { compare = false })
  end)
  if truth then
    print '\ncouplings put into the demonstration recording:'
    for _, t in ipairs(truth) do
      print(('  %-4s %s'):format(t.channel, t.coupled and ('%g Hz -> %g Hz, preferred phase %.0f deg'):format(t.fp,
        t.fa, t.preferred_phase * 180 / math.pi) or 'none'))
    end
  end
  print(('\nresults in %s: %s'):format(dir, table.concat(names, '  ')))
  if not png then print('no PNG: ' .. tostring(why)) end
end

mc.args.run('pac', function() mc.ceiling.with(limit_of(o.max_memory), analyse) end)
