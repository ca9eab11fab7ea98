-- devices.lua - what knows a kind of device outside its binding, and breaches of the language of device kernels.
--
-- What code asks of a device is a field of runtime/device/mc_device_api.h. check(path, complain) reads a file of C or
-- Lua; finish(complain) is called after the last. The kinds are those of runtime/device/mc_context.c, the rules of the
-- language those that kernels/device/dialect.h states.
local HERE = arg[0]:match '^(.*)/[^/]*$' or '.'
local code = dofile(HERE .. '/code.lua')
local M = {}

-- Files that name a kind, with the reason.
local NAMES = {
  ['runtime/device/mc_context.c'] = 'the list of kinds',
  ['lua/mascon/kernel/init.lua'] = 'the option cuda: a whole text',
  ['lua/mascon/core/elsewhere.lua'] = 'names of PyTorch',
  ['lua/mascon/nn/fields.lua'] = 'what stands here for a method of PyTorch',
  ['lua/workflows/rollout/place.lua'] = 'the word cuda of configurations, which serve without a card',
}
-- Headers and kernels with lines for one of the languages, with the reason.
local BRANCHES = {
  ['kernels/device/meet.h'] = 'what lanes of a subgroup share', ['kernels/device/matmul.c'] = 'registers of a lane',
}
local LANGUAGE = 'kernels/device/dialect.h'

local WORDS = { -- that the language has not, or only under a name of dialect.h
  'fminf?', 'fmaxf?', 'min', 'max', 'restrict', 'printf', 'goto', '__%l[%l_]*', 'atomic[%a_]*', 'atom_%l+', 'threadIdx',
  'blockIdx', 'blockDim', 'gridDim', 'get_%l+_id', 'get_%l+_size', 'barrier',
}
local SHAPES = {
  { '[=(,]%s*%(%s*[%a_][%w_]*%s*%)%s*{', 'has a compound literal' },
  { '%(%s*%*%s*[%a_][%w_]*%s*%)%s*%(', 'has a pointer to a function' },
}

local kinds = {}
local listed = code.of(HERE .. '/../../runtime/device/mc_context.c').text:match 'mci_device_kind kinds%[%].-};'
for name in listed:gmatch '{ "(%l+)"' do kinds[#kinds + 1] = name end
assert(#kinds > 1, 'runtime/device/mc_context.c: the list of kinds is not found')

--- Whether a text is the name of a kind or of its devices, or a pattern for one.
local function names_kind(text)
  for _, kind in ipairs(kinds) do
    local rest = text:match('^%^?' .. kind .. '(.*)$')
    -- ref is a word of its own, too: its devices have numbers
    if rest and (rest == '' and kind ~= 'ref' or rest:find '^:%d*$' or rest:find '^:?[%%$%[]') then return kind end
  end
end

--- Each quoted text of a file: calls met(position, text).
local function quoted(f, met)
  local at = 1
  while true do
    local first, mark = f.bare_text:match('()([\'"])', at)
    if not first then return end
    local last = f.bare_text:find(mark, first + 1, true)
    if not last then return end
    met(first, f.text:sub(first + 1, last - 1))
    at = last + 1
  end
end

local used = {}

local function check_names(path, f, complain)
  local function met(at, what)
    if NAMES[path] then used[path] = true
    else
      complain(path, code.line(f.text, at), what .. '; make what it asks for a field of runtime/device/mc_device_api.h')
    end
  end
  quoted(f, function(at, text)
    local kind = names_kind(text)
    if kind then met(at, ('names the kind of device %s'):format(kind)) end
  end)
  for at, key in f.bare_text:gmatch '[{,]%s*()(%l+)%s*=%f[^=]' do
    for _, kind in ipairs(path:find '%.lua$' and kinds or {}) do
      if key == kind and kind ~= 'ref' then met(at, ('has a table with the kind of device %s'):format(kind)) end
    end
  end
  if path:find '%.lua$' or path:find '^runtime/device/' then return end
  for at, call in f.text:gmatch '()%f[%w_](str%l*cmp%s*%b())' do
    if call:find '%->%s*kind%f[^%w_]' or call:find 'mci?_device_text%s*%(' or call:find 'mc_device_name%s*%(' then
      met(at, 'compares the kind or name of a device')
    end
  end
  for at in f.text:gmatch '()%f[%w_]mci?_device_%l+%s*%b()%s*%[' do met(at, 'takes the name of a device apart') end
  for at in f.text:gmatch '()%->%s*kind%s*%[' do met(at, 'takes the name of a kind apart') end
end

local function check_language(path, f, complain)
  for at, line in ipairs(f.bare) do
    for _, word in ipairs(WORDS) do
      local found = line:match('%f[%w_](' .. word .. ')%f[^%w_]')
      if found and not BRANCHES[path] then
        complain(path, at, ('uses %s, which the language of device kernels has not (%s)'):format(found, LANGUAGE))
      end
    end
    if line:find '^%s*#' and line:find '%f[%w_]MCD_[OCH]%u+%f[^%w_]' then
      local which = line:match '%f[%w_](MCD_[OCH]%u+)%f[^%w_]'
      if which == 'MCD_OPENCL' or which == 'MCD_CUDA' or which == 'MCD_HOST' then
        if BRANCHES[path] then used[path] = true
        else complain(path, at, ('asks for %s; give the difference a name in %s'):format(which, LANGUAGE)) end
      end
    end
  end
  for _, shape in ipairs(SHAPES) do
    for at in f.bare_text:gmatch('()' .. shape[1]) do
      complain(path, code.line(f.bare_text, at),
        ('%s, which the language of device kernels has not (%s)'):format(shape[2], LANGUAGE))
    end
  end
end

function M.check(path, complain)
  if path:find '^runtime/' or path:find '^lua/' or path:find '^scripts/' then
    check_names(path, code.of(path), complain)
  elseif path:find '^kernels/device/' or path:find '^kernels/workflows/[%w_]+/device/' then
    if path ~= LANGUAGE then check_language(path, code.of(path), complain) end
  end
end

function M.finish(complain)
  for _, list in ipairs { NAMES, BRANCHES } do
    for path in pairs(list) do
      if not used[path] and io.open(path) then
        complain('tests/lint/devices.lua', 1, ('lists %s, which knows no kind; take it off the list'):format(path))
      end
    end
  end
end

return M
