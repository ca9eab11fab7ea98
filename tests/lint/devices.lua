-- devices.lua - what knows a kind of device outside its binding, and breaches of the language of device kernels.
--
-- What code asks of a device is a field of runtime/device/mc_device_api.h; the kinds are those of
-- runtime/device/mc_context.c. The rules of the language are those of kernels/device/dialect.h. check(path, complain)
-- reads a file of C or Lua; finish(complain) is called after the last.
local HERE = arg[0]:match '^(.*)/[^/]*$' or '.'
local code = dofile(HERE .. '/code.lua')
local M = {}

-- Files that name a kind, with the reason.
local NAMES = {
  ['runtime/device/mc_context.c'] = 'the list of kinds',
  ['lua/mascon/kernel/init.lua'] = 'the option cuda: a whole text',
  ['lua/mascon/core/elsewhere.lua'] = 'names of PyTorch',
  ['lua/mascon/nn/fields.lua'] = 'what stands here for a method of PyTorch',
}

local LANGUAGE = 'kernels/device/dialect.h'
-- Words of one language alone that a file of kernels/ may use, with the reason.
local OWN = {
  ['kernels/device/meet.h'] = { 'MCD_OPENCL barrier', 'a barrier for the memory of the device, too' },
  ['kernels/device/matmul.c'] = { 'MCD_CUDA MCD_HOST __global__ __launch_bounds__', 'registers of a lane' },
}

local WORDS = {}
for word in ([[fmin fminf fmax fmaxf min max restrict printf goto bool size_t MCD_CUDA MCD_OPENCL MCD_HOST
  threadIdx blockIdx blockDim gridDim
  and and_eq bitand bitor catch class compl const_cast constexpr decltype delete dynamic_cast explicit export friend
  mutable namespace new not noexcept nullptr operator or or_eq private protected public reinterpret_cast static_assert
  static_cast template this throw try typeid typename using virtual wchar_t xor xor_eq
  kernel global local constant generic pipe uchar ushort uint ulong event_t sampler_t]]):gmatch '%S+' do
  WORDS[word] = 'uses %s'
end
-- functions of a device's library: math is ours
for word in ([[acos acosh asin asinh atan atan2 atanh cbrt cos cosh erf erfc exp exp2 exp10 expm1 hypot ilogb lgamma log
  log10 log1p log2 logb mad nextafter pow remainder round rsqrt sin sinh tan tanh tgamma]]):gmatch '%S+' do
  WORDS[word], WORDS[word .. 'f'] = 'calls %s of a library', 'calls %s of a library'
end
local PATTERNS = { '^__%l', '^atomic', '^atom_', '^get_%l+_id$', '^get_%l+_size$', '^barrier$', '^native_' }
local SHAPES = {
  { '[=(,]%s*%(%s*[%a_][%w_]*%s*%)%s*{', 'has a compound literal' },
  { '%f[%w_]return%s*%(%s*[%a_][%w_]*%s*%)%s*{', 'has a compound literal' },
  { '%(%s*%*%s*[%a_][%w_]*%s*%)%s*%(', 'has a pointer to a function' },
}

local kinds = {}
do
  local context = code.of(HERE .. '/../../runtime/device/mc_context.c').text
  for name in (context:match 'mci_device_kind kinds%[%].-};' or ''):gmatch '{ "(%l+)"' do kinds[#kinds + 1] = name end
  assert(#kinds > 1, 'runtime/device/mc_context.c: the list of kinds is not found')
end

--- The kind that a quoted text is the name of, or of one of its devices, or a pattern for one. ref is a word of its
--- own, too: its devices have numbers.
local function named(text)
  for _, kind in ipairs(kinds) do
    local rest = text:match('^%^?' .. kind .. '(.*)$')
    if rest and (rest == '' and kind ~= 'ref' or rest:find '^:%d*$' or rest:find '^:?[%%$%[]') then return kind end
  end
end

local used = {}

local function check_names(path, f, complain)
  local function met(at, what)
    used[path] = true
    if NAMES[path] then return end
    complain(path, code.line(f.text, at), what .. '; make what it asks for a field of runtime/device/mc_device_api.h')
  end
  for _, kind in ipairs(kinds) do
    local from = 1
    while true do -- a name is found where it stands, the text around it looked at then
      local at, last = f.text:find(kind, from, true)
      if not at then break end
      local first = f.text:sub(1, at - 1):match '()[\'"]%^?$'
      local text = first and f.bare_text:sub(first, first):find '[\'"]'
        and f.text:match('^[^\'"\n]*', first + 1)
      if text and named(text) == kind then met(first, ('names the kind of device %s'):format(kind))
      elseif path:find '%.lua$' and kind ~= 'ref' and f.bare_text:sub(at, last) == kind
        and f.bare_text:find('^%s*=[^=]', last + 1) and f.bare_text:sub(1, at - 1):find '[{,]%s*$' then
        met(at, ('has a table with the kind of device %s'):format(kind))
      end
      from = last + 1
    end
  end
  if path:find '%.lua$' or path:find '^runtime/device/' then return end
  for at, call in f.text:gmatch '()%f[%w_]str%l*cmp%s*(%b())' do
    if call:find 'api[%w_]*%s*%b()%s*%->%s*kind%f[^%w_]' or call:find 'api%s*%->%s*kind%f[^%w_]'
      or call:find 'device_text%s*%(' or call:find 'device_name%s*%(' then
      met(at, 'compares the kind or name of a device')
    end
  end
  for at in f.text:gmatch '()%f[%w_]mci?_device_%l+%s*%b()%s*%[' do met(at, 'takes the name of a device apart') end
  for at in f.text:gmatch '()%f[%w_]mci_device_api%s*%b()%s*%->%s*kind%s*%[' do
    met(at, 'takes the name of a device apart')
  end
end

local function check_language(path, f, complain)
  local own = OWN[path] and ' ' .. OWN[path][1] .. ' ' or ''
  for at, line in ipairs(f.bare) do
    for word, after in line:gmatch '%f[%w_]([%a_][%w_]*)%f[^%w_](%s*%(?)' do
      local what = WORDS[word]
      if what and what:find 'library' and after:sub(-1) ~= '(' then what = nil end
      for _, pattern in ipairs(not what and PATTERNS or {}) do
        if word:find(pattern) then what = 'uses %s' end
      end
      if what and own:find(' ' .. word .. ' ', 1, true) then used[path .. ' ' .. word] = true
      elseif what then
        complain(path, at, (what .. ', which the language of device kernels has not (%s)'):format(word, LANGUAGE))
      end
    end
  end
  for _, shape in ipairs(SHAPES) do
    for at in f.bare_text:gmatch('()' .. shape[1]) do
      complain(path, code.line(f.bare_text, at), ('%s, which the language of device kernels has not (%s)'):format(
        shape[2], LANGUAGE))
    end
  end
end

--- Structs that launches pass by value: members of 8 bytes first, no pointers.
local function check_jobs(path, f, complain)
  for start, body in f.bare_text:gmatch '%f[%w_]struct%s+[%w_]+%s*()(%b{})' do
    local small = false
    for at, member in body:gmatch '()([^;{}]+);' do
      local wide = member:find '%f[%w_]u?int64_t%f[^%w_]' or member:find '%f[%w_]double%f[^%w_]'
      local line = code.line(f.bare_text, start + at - 1 + #member:match '^%s*')
      if member:find '%*' then complain(path, line, 'has a pointer in a struct that launches pass by value') end
      if wide and small then complain(path, line, 'has a member of 8 bytes behind a smaller one') end
      small = small or not wide
    end
  end
end

function M.check(path, complain)
  if path:find '^runtime/' or path:find '^lua/' or path:find '^scripts/' then
    check_names(path, code.of(path), complain)
  elseif path ~= LANGUAGE and (path:find '^kernels/device/' or path:find '^kernels/workflows/[%w_]+/device/') then
    check_language(path, code.of(path), complain)
    if path:find '/jobs%.h$' then check_jobs(path, code.of(path), complain) end
  end
end

function M.finish(complain)
  local function unused(path, what)
    if io.open(path) then
      complain('tests/lint/devices.lua', 1, ('lists %s%s; take it off the list'):format(path, what))
    end
  end
  for path in pairs(NAMES) do if not used[path] then unused(path, ', which names no kind') end end
  for path, own in pairs(OWN) do
    for word in own[1]:gmatch '%S+' do
      if not used[path .. ' ' .. word] then unused(path, (' for %s'):format(word)) end
    end
  end
end

return M
