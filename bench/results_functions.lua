-- results_functions.lua - the page's table of functions: ratios to the peers, geometric means, rows that lose and why.
--
-- section(ours, theirs) -> text. A ratio is theirs / ours, the median over rounds; the sums of both results must agree.
-- Holds the reasons for rows under the floor. May not run anything.
local measure = require 'measure'
local M = {}

local FLOOR, GOAL = 0.8, 1.5
local FAMILY = '^fn_'
local LIBRARIES = { 'numpy', 'scipy', 'torch' }
local TITLE = { numpy = 'NumPy', scipy = 'SciPy', torch = 'PyTorch' }
local SAME = 1e-5 -- relative difference of the sums: f32 results rounded in another order

-- What was measured is said first; a row that loses for no cause listed here is reported as unexplained.
local FREED = 'the collector: with each result given back at once, as the peers do, it takes %s of the %s'
local MOST = 'mostly the collector: with each result given back at once, as the peers do, it takes %s of the %s, and '
  .. 'the ratio is %.2f'
local MUCH = 1.25 -- times as long with the collector
local LIMIT = 'at %.2f of the limit, a %s: the peer measured found part of its data in the last-level cache'
local CALL = 'the fixed cost of a call: 100 elements take %s, 10^4 take %s'
local FEW = 20 -- times as long for 100 times the elements: most of the short call is no work on elements

-- Causes that lie in how a function is computed, by op.
local KNOWN = {
  lgamma = 'the kernel: f64 calls libm for each element, f32 takes two logarithms in f64', pow = 'the kernel: f64 '
    .. 'takes the logarithm in pairs of numbers, f32 in f64; at most 1.2 ULP off, where 4 are allowed to SVML',
  mask = 'the kernel: where an element goes depends on those before it, so it takes one after the other',
  take = 'the kernel: all positions are checked before an element moves, so they are read twice',
  permutation = 'the way: an order is what sorts random 64-bit words, the same on any device and for any number of '
    .. 'threads; the peers exchange elements in turn',
  solve = 'the way: LAPACK factors on one thread, so that the bits do not depend on the number of threads; PyTorch '
    .. 'does on two (threads = 2 asks for that)',
  fft2 = 'the way: what lies along the first axis is laid into rows, transformed and laid back, for plans run on '
    .. 'aligned rows (two fifths of that axis at 8 x 1024); PyTorch plans columns as they lie',
  expm = 'the way: two fifths of the time are the solution of the Pade approximant, LAPACK on one thread; PyTorch sums '
    .. 'Taylor polynomials, which takes products only',
  stdtrit = 'the kernel: the distribution function is inverted by two steps of third order from a start of three '
    .. 'digits, each with the density, where the peer is content with fewer digits in the tails',
  gradient = 'the way: the differences inside, their division and the two ends are ops of their own over views',
  kron = 'the way: both operands are spread to the shape of the result before they are multiplied',
}
for name in (
  'exp expm1 log log1p log2 log10 sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh atan2 logistic')
  :gmatch '%S+' do
  KNOWN[name] = 'the kernel: the peer calls SVML, which may be off by 4 ULP and has AVX-512 instructions; ours stays '
    .. 'below 2 with the same bits on v3 and v4'
end
for name in ('gamma erfinv j0 gammainc'):gmatch '%S+' do
  KNOWN[name] = 'the kernel: all lanes compute every range of the argument, a scalar loop only the one it is in'
end
local STRIDED = 'the layout: elements are copied next to each other in blocks before the kernel sees them'

local function ratio(theirs, ours)
  if not theirs or not theirs.seconds or not ours.seconds then return nil end
  local list = {}
  for i = 1, math.min(theirs.rounds and #theirs.rounds or 0, ours.rounds and #ours.rounds or 0) do
    list[i] = theirs.rounds[i] / ours.rounds[i]
  end
  return #list > 0 and measure.summary(list).median or theirs.seconds / ours.seconds
end

--- Why a row loses, as far as measurements tell; by: rows of this run by name.
local function reason(row, by)
  local r = row.ours
  if r.freed_seconds and row.least * r.seconds / r.freed_seconds >= FLOOR then
    return FREED:format(measure.time(r.freed_seconds), measure.time(r.seconds))
  end
  if r.share and r.share >= FLOOR then return LIMIT:format(r.share, r.limit) end
  local long = by[(r.name:gsub('_small', '_cache'))]
  if r.size == 'small' and long and long ~= r and long.seconds < FEW * r.seconds then
    return CALL:format(measure.time(r.seconds), measure.time(long.seconds))
  end
  if r.freed_seconds and not KNOWN[r.op] and r.seconds >= MUCH * r.freed_seconds then
    return MOST:format(measure.time(r.freed_seconds), measure.time(r.seconds), row.least * r.seconds / r.freed_seconds)
  end
  return KNOWN[r.op] or (r.layout == 'strided' and STRIDED) or '**unexplained**'
end

local function table_of(head, body)
  local lines = { '| ' .. table.concat(head, ' | ') .. ' |', '|' .. ('---|'):rep(#head) }
  for _, r in ipairs(body) do lines[#lines + 1] = '| ' .. table.concat(r, ' | ') .. ' |' end
  return table.concat(lines, '\n')
end

--- Geometric mean and count of a list.
local function mean(list)
  local s = 0
  for _, v in ipairs(list) do s = s + math.log(v) end
  return #list > 0 and ('%.2f (%d)'):format(math.exp(s / #list), #list) or ''
end

local function differs(a, b)
  return a.sum and b.sum and math.abs(a.sum - b.sum) > SAME * math.max(1, math.abs(a.sum))
end

--- Rows of functions with their ratios, in the order they were run.
function M.rows(ours, theirs)
  local by, list = {}, {}
  for _, t in ipairs(theirs) do by[t.name] = t end
  for _, r in ipairs(ours) do
    if r.family:find(FAMILY) and r.seconds then
      local row = { ours = r, ratios = {}, wrong = {} }
      for _, p in ipairs(LIBRARIES) do
        local t = by[r.name .. '_' .. p]
        local q = ratio(t, r)
        if q then
          row.ratios[p] = q
          row.least = math.min(row.least or q, q)
          if differs(r, t) then
            row.wrong[#row.wrong + 1] = ('%s (sum %.10g, ours %.10g)'):format(TITLE[p], t.sum, r.sum)
          end
        end
      end
      list[#list + 1] = row
    end
  end
  return list
end

local SHAPES = { { 'small', '100 elements' }, { 'cache', '10^4 elements' }, { 'memory', '4 * 10^6 elements' } }

local function summary(list)
  local body = {}
  local function add(title, wanted)
    local line, least = { title }, {}
    local per = {}
    for _, row in ipairs(list) do
      if wanted(row.ours) and row.least then
        least[#least + 1] = row.least
        for p, q in pairs(row.ratios) do
          per[p] = per[p] or {}
          table.insert(per[p], q)
        end
      end
    end
    local all = {}
    for _, p in ipairs(LIBRARIES) do
      line[#line + 1] = mean(per[p] or {})
      for _, q in ipairs(per[p] or {}) do all[#all + 1] = q end
    end
    line[#line + 1], line[#line + 2] = mean(all), mean(least)
    body[#body + 1] = line
  end
  add('all rows', function() return true end)
  for _, s in ipairs(SHAPES) do
    add(s[1] .. ', contiguous', function(r) return r.size == s[1] and r.layout == 'contiguous' end)
    add(s[1] .. ', strided', function(r) return r.size == s[1] and r.layout == 'strided' end)
  end
  local filled = {}
  for _, b in ipairs(body) do if b[5] ~= '' then filled[#filled + 1] = b end end
  return table_of({ 'rows', 'NumPy', 'SciPy', 'PyTorch', 'all ratios', 'against the fastest peer' }, filled)
end

--- The section of the page, or nil when no function was measured.
function M.section(ours, theirs)
  local list = M.rows(ours, theirs)
  if #list == 0 then return nil end
  local seen, functions, body, lost, wrong, by = {}, 0, {}, {}, {}, {}
  for _, row in ipairs(list) do by[row.ours.name] = row.ours end
  for _, row in ipairs(list) do
    local r = row.ours
    if row.least and not seen[r.op] then
      seen[r.op], functions = true, functions + 1
    end
    local line = { '`' .. r.op .. '`', r.dtype, r.size, r.layout, measure.time(r.seconds),
      r.share and ('%.2f of %s'):format(r.share, r.limit) or '' }
    for _, p in ipairs(LIBRARIES) do line[#line + 1] = row.ratios[p] and ('%.2f'):format(row.ratios[p]) or '' end
    body[#body + 1] = line
    if row.least and row.least < FLOOR then
      lost[#lost + 1] = { '`' .. r.name:sub(4) .. '`', ('%.2f'):format(row.least), reason(row, by) }
    end
    if #row.wrong > 0 then wrong[#wrong + 1] = { '`' .. r.name:sub(4) .. '`', table.concat(row.wrong, ', ') } end
  end
  table.sort(lost, function(a, b) return tonumber(a[2]) < tonumber(b[2]) end)
  local parts = {
    ('%d functions in %d rows against NumPy or SciPy and PyTorch on the same cores, each library as it comes: results '
      .. 'are new arrays on all sides, NumPy and most of SciPy use one thread. '):format(functions, #list)
      .. ('Ratios are theirs / ours. Goal: a geometric mean of %.1f; rows under %.1f stand below with what their own '
        .. 'measurements say of the cause. The limit is one copy (or read) of the bytes that have to move, on one '
        .. 'thread below the size "memory", a direct cblas product of as many operations on one thread, or FFTW.')
        :format(GOAL, FLOOR),
    'Geometric means (rows):\n\n' .. summary(list),
    ('Rows under %.1f against one of the peers: %d of %d.'):format(FLOOR, #lost, #list),
    #lost > 0 and table_of({ 'row', 'least ratio', 'reason' }, lost) or nil,
  }
  if #wrong > 0 then parts[#parts + 1] = 'Results that differ:\n\n' .. table_of({ 'row', 'from' }, wrong) end
  parts[#parts + 1] = 'All rows:\n\n' .. table_of({ 'function', 'dtype', 'size', 'layout', 'ours', 'share of the limit',
    'NumPy', 'SciPy', 'PyTorch' }, body)
  return table.concat(parts, '\n\n')
end

return M
