-- calls.lua - one large call per op of the table, for measurements over the whole table (memory, machine limits).
--
-- M.list(row, dtype) gives calls { what =, f =, args = { ... } } with operands of about M.BYTES bytes (a quarter for
-- elementwise ops, which need no more to show), contiguous and transposed; nil when nothing is known about the op (a
-- composed row then needs a line in COMPOSED). Values suit the op: positive, below 1, or what COMPOSED says.
local mc = require 'mascon'
local op = require 'mascon.core.op'
local M = { BYTES = 2 ^ 20 }

local SIZE, KIND = {}, {}
for _, d in ipairs(require 'mascon.gen.ops'.dtypes) do SIZE[d[1]], KIND[d[1]] = d.size, d.kind end
M.size = SIZE

--- Values in (0, 1) for floats, 1..7 for integers, both for booleans; the same for the same arguments.
local store = {}
local function fresh(shape, dtype, seed)
  local k = KIND[dtype]
  if k == 'b' then return mc.gt(mc.rand(shape, { seed = seed }), 0.5) end
  if k == 'i' or k == 'u' then return mc.randint(1, 7, shape, { seed = seed }):to(dtype) end
  return (mc.rand(shape, { seed = seed }) * 0.9 + 0.05):to(dtype)
end
local function values(shape, dtype, seed)
  local key = table.concat(shape, ',') .. dtype .. seed
  store[key] = store[key] or fresh(shape, dtype, seed)
  return store[key]
end
M.values = values
--- Gives the operands' memory back.
function M.forget() store = {} end

local function count(dtype) return math.floor(M.BYTES / SIZE[dtype] + 0.5) end
local function vector(dtype, seed) return values({ count(dtype) }, dtype, seed or 1) end
local function matrix(dtype, seed)
  local n = count(dtype)
  local rows = 2 ^ math.floor(math.log(n) / math.log(2) / 2)
  return values({ rows, n / rows }, dtype, seed or 1)
end
local function square(dtype, seed)
  local n = math.floor(math.sqrt(count(dtype)) / 2)
  local a = values({ n, n }, dtype, seed or 1)
  return a + mc.eye(n):to(dtype) * n
end
local function positive(dtype)
  local a = square(dtype)
  return a + a.mT
end
local function positions(n, high, seed) return mc.randint(1, high, { n }, { seed = seed or 3 }) end
M.vector, M.matrix, M.square, M.positive, M.positions = vector, matrix, square, positive, positions

local function both(t) return { { 'contiguous', t }, { 'transposed', t:permute_dims(2, 1) } } end

local FAMILY = {}
local function elementwise(n)
  return function(row, dtype)
    local out = {}
    for k, first in ipairs(both(matrix(dtype))) do
      local args = { first[2] }
      for i = 2, n do args[i] = both(matrix(dtype, i))[k][2] end
      if row.family == 'where' then args[1] = both(matrix('bool'))[k][2]['1:' .. args[2].shape[1] .. ', 1:'
        .. args[2].shape[2]] end
      out[k] = { what = first[1], args = args }
    end
    return out
  end
end
FAMILY.unary, FAMILY.binary, FAMILY.ternary = elementwise(1), elementwise(2), elementwise(3)
function FAMILY.where(_, dtype)
  local x, y = matrix(dtype), matrix(dtype, 2)
  return { { what = 'contiguous', args = { mc.gt(mc.rand(x.shape, { seed = 4 }), 0.5), x, y } } }
end
local function axes(row, dtype)
  local out = {}
  for _, t in ipairs(both(matrix(dtype))) do
    out[#out + 1] = { what = t[1] .. ', axis 1', args = { t[2], 1 } }
    out[#out + 1] = { what = t[1] .. ', axis 2', args = { t[2], 2 } }
    if row.family == 'reduce' or row.family == 'select' then out[#out + 1] = { what = t[1], args = { t[2] } } end
  end
  return out
end
FAMILY.reduce, FAMILY.scan, FAMILY.select = axes, axes, axes
function FAMILY.sort(_, dtype)
  local out = {}
  for _, t in ipairs(both(matrix(dtype))) do
    for axis = 1, 2 do out[#out + 1] = { what = ('%s, axis %d'):format(t[1], axis),
      args = { t[2], { axis = axis } } } end
  end
  return out
end
function FAMILY.fft(row, dtype)
  local out = {}
  if row[1] == 'rfft' and KIND[dtype] == 'c' then return out end
  for _, t in ipairs(both(matrix(dtype))) do
    for axis = 1, 2 do out[#out + 1] = { what = ('%s, axis %d'):format(t[1], axis),
      args = { t[2], { axis = axis } } } end
  end
  return out
end
function FAMILY.matmul(_, dtype)
  local a, b = matrix(dtype), matrix(dtype, 2)
  return { { what = 'contiguous', args = { a, b:reshape(b.shape[2], b.shape[1]) } },
    { what = 'transposed', args = { a, b:permute_dims(2, 1) } } }
end
function FAMILY.linalg(row, dtype)
  local args = {}
  for k = 1, row.nin do args[k] = k == 1 and positive(dtype) or k == 2
    and matrix(dtype)['1:' .. positive(dtype).shape[1]] or k == 3 and positions(positive(dtype).shape[1], 1) end
  return { { what = 'contiguous', args = args } }
end

-- calls that a family's rule does not give: name -> function(dtype) -> arguments, or a list of argument lists
local CALL = {
  take = function(dt) return { vector(dt), positions(count(dt), count(dt)) } end,
  take_along_axis = function(dt) return { vector(dt), positions(count(dt), count(dt)) } end,
  put_along_axis = function(dt) return { vector(dt), positions(count(dt), count(dt)), vector(dt, 2) } end,
  scatter_add = function(dt) return { vector(dt), positions(count(dt), count(dt)), vector(dt, 2) } end,
  scatter_reduce = function(dt) return { vector(dt), positions(count(dt), count(dt)), vector(dt, 2) } end,
  searchsorted = function(dt) return { mc.sort(vector(dt)), vector(dt, 2) } end,
  bincount = function() return { mc.randint(0, 99, { count 'i64' }, { seed = 3 }) } end,
  bincount_weighted = function() return { mc.randint(0, 99, { count 'f64' }, { seed = 3 }), vector 'f64' } end,
  nonzero_flat = function(dt) return { vector(dt) } end,
  concat = function(dt) return { { vector(dt), vector(dt, 2) } } end,
  stack = function(dt) return { { vector(dt), vector(dt, 2) } } end,
  roll = function(dt) return { vector(dt), 5 } end,
  linear_recurrence = function(dt) return { matrix(dt), matrix(dt, 2), 2 } end,
  topk = function(dt) return { matrix(dt), 5 } end,
  partition = function(dt) return { matrix(dt), 5 } end,
  argpartition = function(dt) return { matrix(dt), 5 } end,
  softmax = function(dt) return { matrix(dt), 2 } end,
  log_softmax = function(dt) return { matrix(dt), 2 } end,
  cholesky_solve = function(dt) return { positive(dt), matrix(dt)['1:' .. positive(dt).shape[1]] } end,
  lstsq = function(dt) return { square(dt), matrix(dt)['1:' .. square(dt).shape[1]] } end,
  matrix_power = function(dt) return { square(dt) / 1000, 5 } end,
  funm = function(dt) return { positive(dt), mc.exp } end,
  multi_dot = function(dt) return { { square(dt), square(dt, 2), square(dt, 3) } } end,
}
-- nothing to measure: they take names, not elements
local WORDS = {}
for _, name in ipairs { 'broadcast_shapes', 'can_cast', 'finfo', 'iinfo', 'isdtype', 'result_type', 'namespace_info',
  'complete' } do WORDS[name] = true end
local MORE = {
  astype = function(dt) return { matrix(dt), 'f32' } end,
  broadcast_arrays = function(dt) return { matrix(dt), values({ matrix(dt).shape[2] }, dt, 9) } end,
  choice = function() return { count 'f64', { count 'f64' } } end,
  digitize = function(dt) return { matrix(dt), { 0.25, 0.5 } } end,
  dirichlet = function() return { { math.floor(count 'f64' / 3) }, { alpha = { 1, 2, 3 } } } end,
  fftfreq = function() return { count 'f64' } end, rfftfreq = function() return { count 'f64' } end,
  histogram2d = function(dt) return { vector(dt), vector(dt, 2) } end,
  histogramdd = function(dt) return { vector(dt):reshape(-1, 2) } end,
  index_add = function(dt) return { matrix(dt), positions(20, 9), values({ 20, matrix(dt).shape[2] }, dt, 7) } end,
  isin = function(dt) return { vector(dt), values({ 100 }, dt, 5) } end,
  latin_hypercube = function() return { count 'f64' / 2, 2 } end,
  multivariate_normal = function() return { { count 'f64' / 2 },
    { mean = { 0, 0 }, cov = { { 1, 0 }, { 0, 1 } } } } end,
  permutation = function() return { count 'i64' } end,
  nanpercentile = function(dt) return { matrix(dt), 25 } end, percentile = function(dt) return { matrix(dt), 25 } end,
  nanquantile = function(dt) return { matrix(dt), 0.25 } end, quantile = function(dt) return { matrix(dt), 0.25 } end,
  put = function(dt) return { vector(dt), positions(20, 99), values({ 20 }, dt, 7) } end,
  reduceat = function(dt) return { vector(dt), mc.tensor({ 1, 50, 90 }, { dtype = 'i64' }) } end,
  repeat_each = function(dt) return { vector(dt), 2 } end, tile = function(dt) return { vector(dt), { 2 } } end,
  trim_mean = function(dt) return { matrix(dt), 0.1 } end,
  wishart = function() return { { count 'f64' / 4 }, { df = 5, scale = { { 1, 0 }, { 0, 1 } } } } end,
  moment = function(dt) return { matrix(dt), 3 } end,
}
local function line(n) return mc.linspace(0, 1, n) end
local function few(dt, n, seed) return values({ n }, dt, seed or 5) end
for name, f in pairs {
  interp = function(dt) return { vector(dt), line(1000):to(dt), few(dt, 1000) } end,
  interp1d = function(dt) return { line(1000):to(dt), few(dt, 1000), vector(dt) } end,
  ppoly = function(dt) return { vector(dt), line(9):to(dt), values({ 4, 8 }, dt, 5) } end,
  array_split = function(dt) return { vector(dt), 7 } end, split = function(dt) return { vector(dt), 8 } end,
  cross = function(dt) return { values({ math.floor(count(dt) / 3), 3 }, dt, 1),
    values({ math.floor(count(dt) / 3), 3 }, dt, 2) } end,
  dot = function(dt) return { vector(dt), vector(dt, 2) } end,
    vecdot = function(dt) return { matrix(dt), matrix(dt, 2) } end,
  einsum = function(dt) return { 'ij,jk->ik', square(dt), square(dt, 2) } end,
    einsum_path = function(dt) return { 'ij,jk->ik', square(dt), square(dt, 2) } end,
  fill_diagonal_ = function(dt) return { square(dt):copy(), 5 } end,
  geomspace = function() return { 1, 8, count 'f64' } end, logspace = function() return { 0, 3, count 'f64' } end,
  hankel = function(dt) return { few(dt, 300), few(dt, 400) } end, toeplitz = function(dt) return { few(dt, 300),
    few(dt, 400) } end,
  indices = function() return { { 300, 200 } } end, mgrid = function() return { { 1, 300 }, { 1, 200 } } end,
  kron = function(dt) return { few(dt, 300), few(dt, 400) } end,
    outer = function(dt) return { few(dt, 300), few(dt, 400) } end,
  ravel_multi_index = function() return { { positions(count 'i64', 9), positions(count 'i64', 9, 4) }, { 9, 9 } } end,
  unravel_index = function() return { positions(count 'i64', 81), { 9, 9 } } end,
  regular_grid = function(dt) return { { line(9):to(dt), line(9):to(dt) }, values({ 9, 9 }, dt, 5),
    vector(dt):reshape(-1, 2) } end,
  romb = function(dt) return { values({ 2 ^ 16 + 1 }, dt, 1) } end,
  sph_harm_y = function(dt) return { 2, 1, vector(dt), vector(dt, 2) } end,
  swapaxes = function(dt) return { matrix(dt), 1, 2 } end,
  tri = function() return { 300 } end, eye = function() return { 300 } end,
    tril_indices = function() return { 300 } end, triu_indices = function() return { 300 } end,
  tridiagonal = function(dt) return { values({ 3, math.floor(count(dt) / 3) }, dt, 1) + 1,
    values({ math.floor(count(dt) / 3) }, dt, 2) } end,
  pad = function(dt) return { vector(dt), { 2, 1 } } end, diagflat = function(dt) return { few(dt, 300) } end,
} do CALL[name] = f end
for _, name in ipairs { 'dct', 'dst', 'idct', 'idst' } do CALL[name] = function(dt) return { matrix(dt) } end end
for _, name in ipairs { 'akima', 'pchip',
  'cubic_spline' } do CALL[name] = function(dt) return { line(count(dt)):to(dt), vector(dt) } end end
for name, f in pairs {
  polyval = function(dt) return { few(dt, 9), vector(dt) } end, polydiv = function(dt) return { few(dt, 2000),
    few(dt, 1000) + 1 } end,
  polyfit = function(dt) return { vector(dt), vector(dt, 2), 3 } end, poly = function(dt) return { few(dt, 50) } end,
    roots = function(dt) return { few(dt, 100) } end,
  convolve = function(dt) return { vector(dt), few(dt, 100) } end,
    correlate = function(dt) return { vector(dt), few(dt, 100) } end,
  polymul = function(dt) return { vector(dt), few(dt, 100) } end,
  circulant = function(dt) return { few(dt, 400) } end, solve_circulant = function(dt) return { few(dt, 4096),
    few(dt, 4096, 6) } end,
  matmul_toeplitz = function(dt) return { vector(dt), vector(dt, 2) } end,
    solve_toeplitz = function(dt) return { few(dt, 500) + mc.eye(1, 500)[1] * 999, few(dt, 500, 6) } end,
  solve_tridiagonal = function(dt) return { few(dt, 29999), few(dt, 30000, 6) + 4, few(dt, 29999, 7),
    few(dt, 30000, 8) } end,
  solve_banded = function(dt) return { values({ 3, 10000 }, dt, 5) + 3, few(dt, 10000), { lower = 1, upper = 1 } } end,
  solveh_banded = function(dt) return { mc.concat({ values({ 1, 10000 }, dt, 5), values({ 1, 10000 }, dt, 6) + 3 },
    1), few(dt, 10000) } end,
  eigsh = function(dt) return { positive(dt), { k = 2 } } end,
  vander = function(dt) return { few(dt, 10000), 13 } end,
} do CALL[name] = f end
for _, name in ipairs { 'chebval', 'hermval', 'hermeval', 'lagval',
  'legval' } do CALL[name] = function(dt) return { vector(dt), few(dt, 9) } end end
for _, name in ipairs { 'cg', 'bicgstab', 'gmres', 'lsqr' } do CALL[name] = function(dt) return { positive(dt),
  few(dt, positive(dt).shape[1]) } end end
for _, name in ipairs { 'polyadd', 'polysub' } do CALL[name] = function(dt) return { vector(dt), vector(dt, 2) } end end
for name, f in pairs(MORE) do CALL[name] = f end
for _, name in ipairs { 'cond', 'expm', 'logm', 'matrix_norm', 'matrix_rank', 'null_space', 'orth', 'pinv', 'polar',
  'schur', 'sqrtm' } do
  CALL[name] = function(dt) return { positive(dt) / 1000 } end
end
for _, name in ipairs { 'norm', 'vector_norm' } do CALL[name] = function(dt) return { matrix(dt) } end end
for _, name in ipairs { 'sum', 'prod', 'max', 'min', 'mean' } do
  CALL['segment_' .. name] = function(dt)
    return { matrix(dt), positions(matrix(dt).shape[1], 9), { num_segments = 9 } }
  end
end
for d, shape in ipairs { { 1, 8, 16384 }, { 1, 4, 128, 256 }, { 1, 2, 32, 32, 64 } } do
  local size = { 4, shape[2] }
  for k = 1, d do size[2 + k] = 3 end
  CALL['conv' .. d .. 'd'] = function(dt) return { values(shape, dt, 1), values(size, dt, 2), { padding = 1 } } end
  CALL['conv_transpose' .. d .. 'd'] = function(dt)
    return { values(shape, dt, 1), values({ size[2], size[1], unpack(size, 3) }, dt, 2), { padding = 1 } }
  end
end
for _, name in ipairs {
  'mse_loss', 'l1_loss', 'huber_loss', 'smooth_l1_loss', 'binary_cross_entropy', 'binary_cross_entropy_with_logits',
    'kl_div_loss',
} do CALL[name] = function(dt) return { matrix(dt), matrix(dt, 2) } end end
local function classes(dt)
  local x = matrix(dt)
  return { x, mc.randint(0, x.shape[2] - 1, { x.shape[1] }, { seed = 3 }) }
end
CALL.cross_entropy, CALL.nll_loss, CALL.focal_loss = classes, classes, classes
for name, f in pairs {
  max_pool1d = function(dt) return { matrix(dt):reshape(1, 8, -1), 2 } end,
  avg_pool1d = function(dt) return { matrix(dt):reshape(1, 8, -1), 2 } end,
  max_pool2d = function(dt) return { matrix(dt):reshape(2, 4, M.SMALL and 8 or 128, -1), 2 } end,
  avg_pool2d = function(dt) return { matrix(dt):reshape(2, 4, M.SMALL and 8 or 128, -1), 2 } end,
  max_pool3d = function(dt) return { matrix(dt):reshape(2, 1, 4, M.SMALL and 8 or 128, -1), 2 } end,
  avg_pool3d = function(dt) return { matrix(dt):reshape(2, 1, 4, M.SMALL and 8 or 128, -1), 2 } end,
  scaled_dot_product_attention = function(dt)
    local t = matrix(dt):reshape(8, -1, M.SMALL and 8 or 64)
    return { t, t, t }
  end,
  layer_norm = function(dt) return { matrix(dt), matrix(dt).shape[2] } end,
  rms_norm = function(dt) return { matrix(dt), matrix(dt).shape[2] } end,
  group_norm = function(dt) return { matrix(dt), 4 } end,
  instance_norm = function(dt) return { matrix(dt):reshape(M.SMALL and 4 or 8, M.SMALL and 4 or 8, -1) } end,
  batch_norm = function(dt) return { matrix(dt), nil, nil, { training = true } } end,
  cosine_embedding_loss = function(dt) return { matrix(dt), matrix(dt, 2), few(dt, matrix(dt).shape[1]) } end,
  contrastive_loss = function(dt)
    local rows = { { 1, M.SMALL and 8 or 32 } }
    return { matrix(dt)[rows], matrix(dt, 2)[rows] }
  end,
  triplet_margin_loss = function(dt) return { matrix(dt), matrix(dt, 2), matrix(dt, 3) } end,
} do CALL[name] = f end
M.call = CALL

local internal = { random = true, filter = true, native = true }
--- Whether a row is the inside of functions that other rows or specs stand for.
function M.inside(row) return row.internal or internal[row.family] or op.functions[row[1]] == nil
  and row.family ~= 'lua' end

-- elementwise ops share one driver: a dtype of each kind is enough
M.ewise = { unary = true, binary = true, ternary = true, where = true }
local KINDS = { f64 = true, f16 = true, i32 = true, c128 = true }
--- Dtypes to call a row with.
function M.dtypes(row)
  if not FAMILY[row.family] or row.family == 'lua' then
    for _, d in ipairs(row.dtypes) do if d == 'f64' then return { 'f64' } end end
    return { row.dtypes[#row.dtypes] }
  end
  if not M.ewise[row.family] then return row.dtypes end
  local out = {}
  for _, d in ipairs(row.dtypes) do if KINDS[d] then out[#out + 1] = d end end
  return out[1] and out or row.dtypes
end

--- Calls of a row for a dtype.
function M.list(row, dtype)
  local f, given = op.functions[row[1]], CALL[row[1]]
  M.BYTES = M.SMALL or M.ewise[row.family] and 2 ^ 18 or 2 ^ 20
  if WORDS[row[1]] then return { { what = 'words', f = function() end, args = {} } } end
  if row.family == 'lua' and not given then
    for _, args in ipairs { { matrix(dtype) }, { matrix(dtype), matrix(dtype, 2) }, { vector(dtype) } } do
      if pcall(f, unpack(args)) then return { { what = 'contiguous', f = f, args = args } } end
    end
  end
  local list
  if given then list = { { what = 'contiguous', args = given(dtype) } }
  elseif FAMILY[row.family] then list = FAMILY[row.family](row, dtype) end
  for _, call in ipairs(list or {}) do call.f = f end
  return list
end

return M
