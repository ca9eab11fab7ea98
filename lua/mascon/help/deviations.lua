-- deviations.lua - where mascon differs from the Python array API standard 2023.12, as data: the one list.
--
-- help('deviations') prints it, the reference has it as a page, tests/spec/arrayapi_spec.lua holds mascon's names to
-- the standard's and to this list. A row: about, text, names (of the standard that it concerns), absent (these names
-- are not there), instead (expressions that stand for them).
local M = {}

M.rows = {
  { about = 'positions and axes', text = 'Positions and axes count from 1, negative ones from the end; 0 is an error. '
      .. 'Functions that return or take positions have the option base = 0.',
    names = {
      'argmax', 'argmin', 'argsort', 'nonzero', 'searchsorted', 'take', 'unique_all', 'unique_inverse', 'sum', 'concat',
      'stack', 'permute_dims', 'moveaxis', '__getitem__', '__setitem__',
    } },
  { about = 'ranges', text = 'Ranges hold both ends: arange(1, 3) is 1, 2, 3, arange(n) runs from 1 to n, x[{ { 2, 4 } '
      .. '}] has three elements. A position outside is an error, never clamped.',
    names = { 'arange', '__getitem__', '__setitem__' } },
  { about = 'arguments', text = "Keyword arguments stand in a last table: mc.sum(x, { axis = 1 }), or x:sum{ 1, "
      .. "keepdim = true }; keepdims is keepdim, and both are taken. Tuples are tables. None is nil; where nil already "
      .. "has a meaning it is mc.none: concat(list, { axis = mc.none }) joins what is flattened, and concat and take "
      .. "without an axis use the first.",
    names = { 'concat', 'take', 'sum', 'reshape', 'clip' } },
  { about = 'several results', text = 'unique_all gives a table with the names of the standard; unique_counts and '
      .. 'unique_inverse give two results, nonzero one per axis, broadcast_arrays and unstack a list.',
    names = { 'unique_all', 'unique_counts', 'unique_inverse', 'nonzero', 'broadcast_arrays', 'unstack' } },
  { about = 'truth',
    text = 'any() and all() over everything give Lua booleans; with an axis, keepdim or out= they give tensors.',
    names = { 'any', 'all' } },
  { about = 'repeat', text = "repeat is a word of Lua: the function is repeat_each, and mc['repeat'].",
    names = { 'repeat' }, instead = { 'repeat_each' } },
  { about = 'numbers', text = 'Lua has one kind of number, so tensors made from numbers are f64, whole or not (arange, '
      .. 'full, linspace, asarray, eye, zeros); dtype = "i64" asks for integers. A plain number in arithmetic is weak: '
      .. 'it only decides the kind.',
    names = { 'arange', 'full', 'asarray', 'zeros', 'ones', 'eye', 'linspace' } },
  { about = 'dtypes', text =
      "A dtype is its name, 'f32'; 'float32' and mc.float32 mean the same. bf16 and f16 are there beyond the standard.",
    names = { 'astype', 'isdtype', 'result_type', 'can_cast', 'finfo', 'iinfo' } },
  { about = 'unsigned integers',
    text = 'u16, u32 and u64 are not offered; i32 and i64 hold the values of the first two.',
    names = { 'uint16', 'uint32', 'uint64' }, absent = true, instead = { 'int32', 'int64' } },
  { about = 'promotion', text = 'Where the standard leaves it open: an integer tensor with a float tensor takes the '
      .. 'float dtype; functions of floats take integers as f64; divide and mean of integers give f64.',
    names = { 'result_type', 'divide', 'mean' } },
  { about = 'products of integers', text = 'matmul, tensordot and vecdot of integers give i64, whatever their width, '
      .. 'so that sums do not wrap; the standard keeps the dtype.', names = { 'matmul', 'tensordot', 'vecdot' } },
  { about = 'number of axes', text = 'A tensor has at most 8 axes.', names = { 'reshape', 'expand_dims', 'stack' } },
  { about = 'floor_divide', text = 'floor_divide of an infinity is NaN and of a finite number by an infinity of the '
      .. 'other sign is -1, as in Python; the standard allows both.', names = { 'floor_divide' } },
  { about = 'tanh of complex numbers',
    text = 'The imaginary zero of tanh(inf + b i) takes the sign of sin 2b, as in C99 annex G; the standard writes +0.',
    names = { 'tanh' } },
  { about = 'sign of NaN', names = { 'signbit' },
    text = 'Lua has one NaN, whose sign bit is set: signbit of a tensor made from it is true.' },
  { about = 'sets', text = 'Distinct values come in ascending order (complex ones by real, then imaginary part), which '
      .. 'the standard leaves open.', names = { 'unique_all', 'unique_counts', 'unique_inverse', 'unique_values' } },
  { about = 'squeeze and expand_dims', text =
      'squeeze without axes drops all axes of size 1; expand_dims without an axis adds the first. Both take lists.',
    names = { 'squeeze', 'expand_dims' } },
  { about = 'numbers among tensors as keys', text = 'In x[{ 2, mc.all, t }] the plain number takes its axis away '
      .. 'before tensors are looked at (NumPy counts it among the tensors, which moves their result to the front). '
      .. 'Integer tensors of any rank, several of them and masks of lower rank go beyond the standard.',
    names = { '__getitem__', '__setitem__' } },
  { about = 'operators', text = '== compares handles and raises an error against a number; <, <=, >, >= take '
      .. 'one-element tensors; the others have no sign in Lua.',
    names = { '__eq__', '__ne__', '__lt__', '__le__', '__gt__', '__ge__', '__and__', '__or__', '__xor__', '__invert__',
      '__lshift__', '__rshift__', '__matmul__', '__floordiv__', '__pos__', '__abs__' }, absent = true,
    instead = {
      'eq', 'ne', 'lt', 'le', 'gt', 'ge', 'bitwise_and', 'bitwise_or', 'bitwise_xor', 'bitwise_invert',
      'bitwise_left_shift', 'bitwise_right_shift', 'matmul', 'floor_divide', 'positive', 'abs',
    } },
  { about = 'one element as a number', text =
      'x:item() gives the number, boolean or complex number of a one-element tensor; a tensor is always true in an if.',
    names = { '__bool__', '__int__', '__float__', '__complex__', '__index__' }, absent = true },
  { about = 'size', text =
      'x:numel() is the number of elements; x:size() gives the sizes as several results, x:size(axis) one of them.',
    names = { 'size' } },
  { about = 'shape', text = 'x.shape is a Lua table of its own: writing into it changes nothing in x.',
    names = { 'shape' } },
  { about = 'exchange of memory',
    text = 'from_dlpack takes a pointer to a DLManagedTensor or DLManagedTensorVersioned, or a tensor, and has no '
      .. 'options device and copy; x:dlpack() gives such a pointer. Devices of CUDA and OpenCL exchange tensors '
      .. 'too, once they are opened.',
    names = { 'from_dlpack' } },
  { about = 'names of exchange', text = 'x:dlpack() stands for __dlpack__; there is no __dlpack_device__.',
    names = { '__dlpack__', '__dlpack_device__' }, absent = true },
  { about = 'names of the namespace', text = "__array_namespace__ of an array is mc itself; __array_namespace_info__ "
      .. "is mc.namespace_info, and mc['__array_namespace_info__'].", names = { '__array_namespace__' }, absent = true,
    instead = { 'namespace_info' } },
}

--- A text cut into lines of at most `width` columns.
local function wrap(text, width)
  local out, line = {}, ''
  for word in text:gmatch '%S+' do
    if #line + #word + 1 > width and line ~= '' then
      out[#out + 1], line = line, word
    else line = line == '' and word or line .. ' ' .. word end
  end
  out[#out + 1] = line
  return out
end

--- The list as lines of plain text.
---@return string[]
function M.lines()
  local out = {
    'Where mascon differs from the Python array API standard 2023.12 (everything else has its name and its meaning):' }
  for _, r in ipairs(M.rows) do
    out[#out + 1] = ''
    out[#out + 1] = r.about
    for _, line in ipairs(wrap(r.text, 96)) do out[#out + 1] = '  ' .. line end
    local what = (r.absent and 'not there: ' or 'concerns: ') .. table.concat(r.names, ', ')
      .. (r.instead and '; instead: ' .. table.concat(r.instead, ', ') or '')
    for _, line in ipairs(wrap(what, 96)) do out[#out + 1] = '  ' .. line end
  end
  return out
end

--- The list as a page of the reference.
---@return string[]
function M.markdown()
  local out = {
    '# Array API: what differs', '', 'mascon has every function of the Python array API standard 2023.12 (main '
      .. 'namespace, `linalg`, `fft`) under its name and with its special cases, but for this list.', '',
  }
  for _, r in ipairs(M.rows) do
    out[#out + 1] = ('- **%s.** %s (%s`%s`%s)'):format(r.about, r.text, r.absent and 'not there: ' or '',
      table.concat(r.names, '`, `'), r.instead and '; instead `' .. table.concat(r.instead, '`, `') .. '`' or '')
  end
  return out
end

return M
