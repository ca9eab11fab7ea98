-- key.lua - keys: 64-bit values from which random numbers and further keys are derived.
--
-- A key is two halves of 32 bits, or a word (i64) of a tensor: the second where it is an argument of a function that is
-- compiled, vectorised or differentiated, a carry of a loop, or one of several stacked keys. What is derived from a
-- traced key is computed by ops from its word, so that one trace serves all keys; from any other key with the same bits
-- in Lua. Here the choice is made.
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local lib = require 'mascon.core.ffi'
local error = check.error
local is = tensor.is
local M = {}

local WORD = 2 ^ 32
local DEVICE = { device = { nil, 'string' } }
-- Streams of users stay below 2^53; what the library derives itself has a tag of 24 bits in the high half.
local FOLD, SPLIT = 0x464f4c44, 0x53504c54

---@class mascon.Key a 64-bit key of the Philox generator: lo, hi are its 32-bit halves. Keys are values: nothing
--- changes them. A key may also stand for several (mc.random.keys): keys[i] is one of them.
---@field lo integer
---@field hi integer
local Key = {}

---@field device string where what is drawn with it is made
local function is_key(v) return getmetatable(v) == Key end
M.is_key = is_key

local function new(lo, hi, device) return setmetatable({ lo = lo, hi = hi, _device = device }, Key) end
M.new = new

--- The key whose word stands in a tensor, or several keys: i64, of any shape.
---@param words mascon.Tensor
function M.of(words) return setmetatable({ _words = words }, Key) end

--- Number of the device of a key; nil: the CPU.
function M.place(key)
  local words = rawget(key, '_words')
  local number = words and words._device or rawget(key, '_device')
  return number ~= 0 and number or nil
end

--- A key on a device (its number).
local function on(key, number, level)
  local words = rawget(key, '_words')
  if words then return words._device == number and key or M.of(tensor.moved(words, number, level + 1)) end
  return new(key.lo, key.hi, number ~= 0 and number or nil)
end

--- The words of keys among the arguments of a function go where its tensors are: a key is a value, like a number.
---@param leaves table tensors and numbers
---@param at integer[] places of words
function M.settle(leaves, at)
  if #at == 0 then return end
  local words, number = {}, nil
  for _, i in ipairs(at) do words[i] = true end
  for i = 1, #leaves do
    local t = leaves[i]
    if not words[i] and is(t) and t._device ~= 0 then
      number = t._device
      break
    end
  end
  for _, i in ipairs(number and at or {}) do
    if leaves[i]._device == 0 then leaves[i] = tensor.moved(leaves[i], number, 3) end
  end
end

--- The words of a key where a recording follows them; else nil.
local function traced(key)
  local words = rawget(key, '_words')
  return words and tensor.recorded(words) and words or nil
end

--- Halves of an element of words.
local function halves(word)
  local lo = tonumber(word % 0x100000000LL)
  if lo < 0 then lo = lo + WORD end
  return lo, tonumber((word - lo) / 0x100000000LL) % WORD
end

--- A key whose word is known.
function M.known(word, device)
  local lo, hi = halves(word)
  return new(lo, hi, device)
end

--- The one key that is asked for here; of several there is none.
local function single(fname, key, level)
  local words = rawget(key, '_words')
  if words and words._ndim > 0 then
    error(('%s: the key is %s; name one of them, as in keys[1], or map over them with mc.vmap or mc.scan'):format(fname,
      tostring(key)), level + 1)
  end
  return key
end
M.single = single

Key.__index = function(key, name)
  local method = rawget(Key, name)
  local words = rawget(key, '_words')
  if type(name) == 'number' then
    if not M.several(key) then error(('key: it is one key, and was asked for element %d'):format(name), 2) end
    return M.of(words[name])
  end
  if name == 'device' then return tensor.device_name(M.place(key) or 0) end
  if method or not words then return method end
  if name ~= 'lo' and name ~= 'hi' then return nil end
  single('key', key, 2)
  local lo, hi = halves(tensor.methods.item(words))
  if not traced(key) then key.lo, key.hi = lo, hi end
  return name == 'lo' and lo or hi
end
Key.__tostring = function(key)
  local words = rawget(key, '_words')
  if words and words._ndim > 0 then return ('%s keys'):format(table.concat(words.shape, 'x')) end
  if words and traced(key) then return 'a key that is known when the function runs' end
  return ('key 0x%08x%08x'):format(key.hi, key.lo)
end
Key.__eq = function(a, b)
  if M.several(a) or M.several(b) then
    local v, w = a:words(), b:words()
    return v.shape == w.shape and op.functions.all(op.functions.eq(v, w))
  end
  return a.lo == b.lo and a.hi == b.hi
end

--- Whether a key stands for several.
function M.several(key)
  local words = rawget(key, '_words')
  return words ~= nil and words._ndim > 0
end

--- The 64 bits of a key, or of each of several, as a tensor.
---
---     mc.random.key(5):words()  --> i64[]@cpu 5
---@return mascon.Tensor i64
function Key:words(extra)
  if extra ~= nil then error(('key:words: %s is one argument too many'):format(check.show(extra)), 2) end
  local words = rawget(self, '_words')
  if words then return words end
  words = tensor.empty('random.key', {}, 'i64', 3)
  tensor.pointer(words)[0] = (self.hi >= 2 ^ 31 and self.hi - WORD or self.hi) * 0x100000000LL + self.lo
  return tensor.moved(words, M.place(self) or 0, 3)
end

--- The key on another device: what is drawn with it, and keys derived from it, are there, with the same numbers.
---
---     mc.random.key(5):to('cpu').device  --> cpu
---@param device string as in x:to
---@return mascon.Key
function Key:to(device) return (on(self, tensor.device_number('key:to', device, 3), 2)) end

--- Writes the key into the parameters P of an op; the operand by which it travels instead, nil for a key whose value is
--- known. number: of a device that the words are to be on, also of a key whose value is known.
function M.pack(P, key, number)
  local words = traced(key)
  if number and words and words._device ~= number then
    local there = tensor.device_name(number)
    error(('random: the key is an argument on %s of a function that is being recorded, and the numbers are wanted on '
      .. '%s; call the function with key:to "%s"'):format(words.device, there, there), 4)
  end
  if number then words = tensor.moved(words or key:words(), number, 4) end
  P.i[12] = words and 1 or 0
  P.i[0], P.i[1] = words and 0 or key.lo, words and 0 or key.hi
  return words
end

--- A number of a family as an operand, where a recording follows it; else as a number.
local function number(i, level)
  if not is(i) then return check.arg('key:fold_in', 'i', i, 'integer >= 0', level + 1) end
  local kind = tensor.kind[i.dtype]
  if i:numel() ~= 1 or not (kind == 'i' or kind == 'u' or kind == 'f') then
    error(('key:fold_in: i is %s; give a whole number, or a 0-d tensor of one'):format(tensor.describe(i)), level + 1)
  end
  if tensor.recorded(i) then return i.ndim == 0 and i or i:reshape {} end
  return check.arg('key:fold_in', 'i', i:item(), 'integer >= 0', level + 1)
end

--- Words derived from a key, of the given sizes: elements first, first + 1, ... of a stream that no user reaches.
local function derive(key, tag, first, ...)
  local n, P = select('#', ...), lib.params()
  P.naxes, P.axes[0], P.dtype = n, ... or 1, tensor.code.i64
  local operands = { M.pack(P, key) }
  if is(first) then
    operands[#operands + 1] = first
    P.i[12] = P.i[12] + 2
  end
  P.i[2], P.i[3], P.i[4] = 0, tag, is(first) and 0 or first
  P.i[5], P.i[6], P.i[7], P.i[10], P.i[11] = 0, -0x7fffffffffffffffLL - 1, 0x7fffffffffffffffLL, 0, 2
  return op.run('random.key', 4, nil, (... or 1) * 8,
    function(out) return lib.op_list(op.rows.random_integers.id, out, operands, P) end), #operands > 0
end

--- n keys whose numbers have nothing to do with each other's or with the key's own.
---
---     #mc.random.key(5):split(3)  --> 3
---@param n? integer default 2
---@return mascon.Key[]
function Key:split(n)
  n = check.arg('key:split', 'n', n or 2, 'integer >= 1', 3)
  local words, follow = derive(single('key:split', self, 2), SPLIT, 0, n)
  local keys, p = {}, not follow and tensor.pointer(words)
  for i = 1, n do
    if follow then keys[i] = M.of(words[i]) else keys[i] = M.known(p[i - 1], M.place(self)) end
  end
  return keys
end

--- The key for number i of a family: a step of a loop, a subject, a rank.
---
---     mc.random.key(5):fold_in(1) == mc.random.key(5):fold_in(1)  --> true
---@param i integer|mascon.Tensor 0 <= i < 2^53; the number of a turn that mc.fori_loop gives, for example
---@return mascon.Key
function Key:fold_in(i)
  local words, follow = derive(single('key:fold_in', self, 2), FOLD, number(i, 2))
  return follow and M.of(words) or M.known(tensor.pointer(words)[0], M.place(self))
end

--- A key from a whole number 0 <= seed < 2^53, which may be a tensor of one integer.
---
---     tostring(mc.random.key(5))  --> key 0x0000000000000005
---@param seed integer|mascon.Key|mascon.Tensor a key comes back as it is
---@param opts? table device: where what is drawn with it is made (of a key or tensor: where that is, else the CPU)
---@return mascon.Key
function M.key(seed, opts)
  if opts ~= nil then
    local o = check.opts('random.key', opts, DEVICE, 3)
    local key = M.key(seed)
    return o.device and on(key, tensor.device_number('random.key', o.device, 3), 2) or key
  end
  if is_key(seed) then return seed end
  if is(seed) then
    local kind = tensor.kind[seed.dtype]
    if seed:numel() ~= 1 or not (kind == 'i' or kind == 'u') then
      error(('random.key: seed is %s; give a whole number, or a tensor of one integer (a compiled function takes keys '
        .. 'themselves as arguments)'):format(tensor.describe(seed)), 2)
    end
    return M.of(seed:reshape({}):to 'i64')
  end
  check.arg('random.key', 'seed', seed, 'integer >= 0', 3)
  return new(seed % WORD, math.floor(seed / WORD))
end

--- Several keys as one value that mc.vmap and mc.scan take apart: n derived from one key, those of a list, or those
--- whose words stand in a tensor.
---
--- mc.random.keys(key, n)[i] is key:split(n)[i]. keys:words() is the way back to a tensor, for files.
--- Errors: a tensor that is not of i64.
---     mc.vmap(function(k) return mc.random.normal({ 2 }, { key = k }) end)(mc.random.keys(mc.random.key(1),
---       3)).shape
---       --> {3, 2}
---@param from mascon.Key|mascon.Key[]|mascon.Tensor
---@param n? integer with a key
---@return mascon.Key
function M.keys(from, n)
  if is(from) then
    if from.dtype ~= 'i64' then error(('random.keys: the words are %s; give i64'):format(tensor.describe(from)), 2) end
    return M.of(from)
  elseif is_key(from) then
    n = check.arg('random.keys', 'n', n, 'integer >= 1', 3)
    return on(M.of((derive(single('random.keys', from, 2), SPLIT, 0, n))), M.place(from) or 0, 2)
  end
  local words = {}
  for i, k in ipairs(type(from) == 'table' and from or {}) do words[i] = is_key(k) and k:words() or nil end
  if #words == 0 or #words ~= #from then
    error(('random.keys: the first argument is %s; give a key and a number, a list of keys, or a tensor of their words')
      :format(check.show(from)), 2)
  end
  return M.of(op.functions.stack(words, 1))
end

return M
