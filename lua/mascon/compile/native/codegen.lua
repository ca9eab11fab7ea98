-- codegen.lua - a fused group as a C function.
--
-- One function per group: a loop over n elements in which every op of the group is one line, the same text as in the op's own kernel, so the
-- bits are the same. Sizes and strides are not in it: a leaf runs along or is one value, and the driver (mc_native.c) brings operands into
-- that form; a new shape of the same layout is the same text. Ops that need a slow path for rare elements, or forbid some, write to a small
-- block first and go over it again. The name of a function is the hash of its text. Owns the text. May not know compilers or plans.
local lib = require 'mascon.ffi'
local scalar = require 'mascon.compile.native.scalar'

local M = {}

local EWISE = { unary = true, binary = true, ternary = true, where = true }
local SHORT, BLOCK = 16, 512

local by_id, by_code, by_name = {}, {}, {}
for _, r in ipairs(lib.gen.ops) do if r.id >= 0 then by_id[r.id] = r end end
for _, d in ipairs(lib.gen.dtypes) do by_code[d.code], by_name[d[1]] = d, d end
M.by_code, M.by_name = by_code, by_name

--- A leaf is one value along the rows of the result.
---@param leaf table shape, strides
---@param shape integer[] of the result
function M.is_one(leaf, shape)
  local all, skip = true, #shape - #leaf.shape
  local function stride(d)
    local own = d - skip
    return own >= 1 and leaf.shape[own] ~= 1 and leaf.strides[own] or 0
  end
  local row -- the last axis with more than one element
  for d = 1, #shape do
    if shape[d] > 1 then
      row = d
      all = all and stride(d) == 0
    end
  end
  if all then return true end
  return stride(row) == 0 and shape[row] >= SHORT
end

-- ---------------------------------------------------------------- one group

local trees = {}
local function formula(row, d)
  local text = scalar.text(row, d)
  trees[text] = trees[text] or scalar.parse(text)
  return trees[text]
end

local LETTERS = { 'a', 'b', 'c' }

--- The lines of a group's loop. slow: with the slow path of ops that have one.
local function lines_of(group, ins, slow)
  local register, typed, lines = {}, {}, {}
  local parts = { fix = {}, guard = {}, special = false }
  for k, leaf in ipairs(ins) do
    local want = by_code[group.want[k]]
    local v = ('v%d'):format(k)
    register[k - 1], typed[k - 1] = v, want
    if not leaf.one then
      local x = ('x%d[i]'):format(k)
      lines[#lines + 1] = ('const %s %s = %s;'):format(want.c, v, leaf.dtype == want and x or scalar.cast(x, leaf.dtype, want, by_name))
    end
  end
  local count = 0
  for _, c in ipairs(group.code) do
    count = count + 1
    local t, d, rd = ('t%d'):format(count), by_code[c.dtype], by_code[c.rdtype]
    local value, note
    if c.op < 0 then
      value, note = scalar.cast(register[c.src[1]], d, rd, by_name), ''
    else
      local row = by_id[c.op]
      if not row or not EWISE[row.family] then return nil, 'an op that is no elementwise one' end
      local names, args = {}, {}
      for i, r in ipairs(c.src) do names[LETTERS[i]], args[i] = register[r], register[r] end
      value = scalar.c(formula(row, d), d, names)
      if rd.kind ~= 'c' then value = ('(%s)%s'):format(rd.c, value) end
      if row.fix and d.kind == 'f' then
        local list = table.concat(args, ', ')
        local test = ('MCK_NEEDS_FIX_%s_%s(%s)'):format(row.fix, d[1], list)
        parts.fix[#parts.fix + 1] = test
        if slow then value = ('%s ? mck_%s_%s_slow(%s) : %s'):format(test, row.fix, d[1], list, value)
        else lines[#lines + 1] = ('off |= (%s) != 0;'):format(test) end
      end
      if scalar.guarded(row, d) then
        local test = row.guard:gsub('%f[%w_][abc]%f[^%w_]', names)
        parts.guard[#parts.guard + 1] = test
        if slow then lines[#lines + 1] = ('if (%s) {\n    *op = MC_OP_%s;\n    return first + i + 1;\n}'):format(test, row[1]:upper())
        else lines[#lines + 1] = ('off |= (%s);'):format(test) end
        parts.ops = parts.ops or {}
        parts.ops[row[1]:upper()] = c.op
      end
      parts.special = parts.special or row.kernels == 'special'
      note = (' /* %s */'):format(row[1])
    end
    lines[#lines + 1] = ('const %s %s = %s;%s'):format(rd.c, t, value, note)
    register[c.dst], typed[c.dst] = t, rd
  end
  return lines, parts, register, typed
end

local function indent(lines, blanks)
  local pad = (' '):rep(blanks)
  local out = {}
  for _, l in ipairs(lines) do out[#out + 1] = pad .. l:gsub('\n', '\n' .. pad) end
  return table.concat(out, '\n')
end

--- The function of a fused step, or nil and why there is none.
---@param group table code, want, result (of a step of kind 'fused')
---@param leaves table[] headers: dtype (code), shape, strides
---@param results table[] headers
---@return table|nil { name, text, one = { boolean }, special, ops }
---@return string|nil reason
function M.emit(group, leaves, results)
  if group.kind ~= 'fused' or not group.code or group.reduce then return nil, 'no elementwise group' end
  local ins, one = {}, {}
  for k, h in ipairs(leaves) do
    one[k] = M.is_one(h, results[1].shape)
    ins[k] = { one = one[k], dtype = by_code[h.dtype] }
  end
  local fast, parts, register = lines_of(group, ins, false)
  if not fast then return nil, parts end
  local blocked = #parts.fix > 0 or #parts.guard > 0
  local head = {}
  for k, leaf in ipairs(ins) do
    local want = by_code[group.want[k]]
    if leaf.one then
      local x = ('*(const %s *)in[%d]'):format(leaf.dtype.c, k - 1)
      head[#head + 1] = ('const %s v%d = %s;'):format(want.c, k, leaf.dtype == want and x or scalar.cast('(' .. x .. ')', leaf.dtype, want, by_name))
    else
      head[#head + 1] = ('const %s *const x%d = %s;'):format(leaf.dtype.c, k, ('in[%d]'):format(k - 1))
    end
  end
  local stores, back = {}, {}
  for k, h in ipairs(results) do
    local c = by_code[h.dtype].c
    head[#head + 1] = ('%s *const y%d = out[%d];'):format(c, k, k - 1)
    stores[#stores + 1] = ('%s%d[i] = %s;'):format(blocked and 's' or 'y', k, register[group.result[k]])
    if blocked then back[#back + 1] = ('memcpy(y%d + first, s%d, (size_t)m * sizeof *y%d);'):format(k, k, k) end
  end
  local body
  if not blocked then
    body = ('%s\n    (void)op;\n    MC_IVDEP\n    for (int64_t i = 0; i < n; i++) {\n%s\n%s\n    }\n    return 0;\n'):format(indent(head, 4), indent(fast, 8), indent(stores, 8))
  else
    local slow = lines_of(group, ins, true)
    local function moved(lines) -- leaves from the first element of the block on
      local out = {}
      for i, l in ipairs(lines) do out[i] = l:gsub('(x%d+)%[i%]', '%1[first + i]') end
      return out
    end
    local room = {}
    for k, h in ipairs(results) do room[k] = ('%s s%d[BLOCK];'):format(by_code[h.dtype].c, k) end
    body = ('%s\n    (void)op;\n    for (int64_t first = 0; first < n; first += BLOCK) {\n        const int64_t m = n - first < BLOCK ? n - first : BLOCK;\n        int off = 0; /* some element needs the slow path */\n%s\n        MC_IVDEP\n        for (int64_t i = 0; i < m; i++) {\n%s\n%s\n        }\n        for (int64_t i = 0; off && i < m; i++) {\n%s\n%s\n        }\n%s\n    }\n    return 0;\n'):format(
      indent(head, 4), indent(room, 8), indent(moved(fast), 12), indent(stores, 12), indent(moved(slow), 12), indent(stores, 12), indent(back, 8))
  end
  local name = 'f_' .. lib.sha256(body):sub(1, 20)
  return { name = name, one = one, special = parts.special, ops = parts.ops or {},
    text = ('MC_API int64_t %s(int64_t n, void *const *out, const void *const *in, int32_t *op)\n{\n%s}\n'):format(name, body) }
end

-- ---------------------------------------------------------------- a source file

--- The headers that a text calls into: the fewer, the sooner it is compiled.
local function headers_of(text)
  local list = { '#include "mck.h"\n#include "mck_math.h"\n' }
  local need = {}
  for fn, dtype in text:gmatch 'mck_([a-z0-9_]-)_([a-z]+%d+)%f[^%w_]' do
    local d = by_name[dtype]
    need.int = need.int or d and (d.kind == 'i' or d.kind == 'u')
    need.class = need.class or d and d.kind == 'c' or fn:find '^is' or fn == 'signbit' or fn == 'fma'
    need.cast = need.cast or fn:find '_to$' or fn:find '^to_' or fn:find '^f%d+_to'
  end
  if text:find 'mck_[a-z0-9]+_to_' then need.cast = true end
  if text:find 'mck_[a-z_]+_bool%f[^%w_]' then need.int = true end
  if text:find 'mck_c%d' then need.class = true end
  for _, name in ipairs { 'int', 'cast', 'class' } do
    if need[name] then list[#list + 1] = ('#include "mck_%s.h"\n'):format(name) end
  end
  return table.concat(list)
end

--- A source file of functions.
---@param functions table[] of emit
---@return string source
---@return boolean bare it needs no header of the system
function M.source(functions)
  local special, ops, names = false, {}, {}
  for _, f in ipairs(functions) do
    special = special or f.special
    for name, id in pairs(f.ops) do
      if not ops[name] then names[#names + 1] = name end
      ops[name] = id
    end
  end
  table.sort(names)
  local texts = {}
  for i, f in ipairs(functions) do texts[i] = '\n' .. f.text end
  local text = table.concat(texts)
  local o = { '/* generated by mascon: fused groups of compiled functions, one element after the other */\n#define MC_ISA native\n', headers_of(text),
    special and '#include "mck_special.h"\n#include "mck_int.h"\n#include "mck_class.h"\n' or '', '#include <string.h>\n\n', ('#define BLOCK %d\n'):format(BLOCK) }
  if #names > 0 then
    o[#o + 1] = 'enum { '
    for i, name in ipairs(names) do o[#o + 1] = ('%sMC_OP_%s = %d'):format(i > 1 and ', ' or '', name, ops[name]) end
    o[#o + 1] = ' };\n'
  end
  o[#o + 1] = text
  return table.concat(o), not special
end

return M
