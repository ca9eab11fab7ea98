-- codegen.lua - a fused group as a C function.
--
-- One function per group: a loop over n elements in which every op of the group is one line, the same text as in the
-- op's own kernel, so the bits are the same. Sizes and strides are not in it: a leaf runs along or is one value, and
-- the driver (mc_native.c) brings operands into that form; a new shape of the same layout is the same text. A group
-- with several long functions (exp, tanh, ...) is a loop per function over blocks that stay in cache: in one loop they
-- would push each other's constants out of the registers (measured: half the speed). Ops that need a slow path for rare
-- elements, or forbid some, go over their block again. An op whose kernel is written by hand is a call of it for each
-- block, through a variable that is set when the code is opened. The name of a function is the hash of its text. Holds
-- the text.
local lib = require 'mascon.core.ffi'
local emit = require 'mascon.gen.emit'

local M = {}

local EWISE = lib.gen.elementwise
local SHORT, BLOCK = 16, 256 -- BLOCK: elements of what one loop hands to the next; stays in the first-level cache

local by_id, by_code, by_name = lib.by_id, {}, {}
for _, d in ipairs(lib.gen.dtypes) do by_code[d.code], by_name[d[1]] = d, d end
M.by_code, M.by_name = by_code, by_name
local HEADER = {} -- of functions by name
for _, r in ipairs(lib.gen.ops) do HEADER[r[1]] = r.header end

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

-- ---------------------------------------------------------------- one op

local E = emit.new('c', by_name, lib.gen.ops)
M.emitter = E

--- An instruction as C: { fast, slow (lines), uses, var, c (type), heavy, careful (has a slow path or a forbidden
--- operand), special }, or with `kernel` in place of lines.
local function instruction(c, var, register)
  local d, rd = by_code[c.dtype], by_code[c.rdtype]
  local e = { var = var, c = rd.c, uses = {}, fast = {}, slow = {} }
  for i, r in ipairs(c.src) do e.uses[i] = register[r] end
  if c.op < 0 then
    e.fast[1] = ('const %s %s = %s;'):format(rd.c, var, E.cast(register[c.src[1]], d, rd))
    e.slow = e.fast
    return e
  end
  local row = by_id[c.op]
  if not row or not EWISE[row.family] then return nil, 'an op that is no elementwise one' end
  if emit.by_hand(row, d) then
    e.kernel = { row = row, dtype = d, name = ('kernel_%s_%s'):format(row[1], d[1]) }
    return e
  end
  local x = E.element(row, d, e.uses)
  e.heavy, e.special = x.heavy, x.special
  if x.test then e.fast[1] = ('off |= (%s) != 0;'):format(x.test) end
  if x.forbidden then
    e.fast[#e.fast + 1] = ('off |= (%s);'):format(x.forbidden)
    e.slow[1] = ('if (%s) {\n    *op = MC_OP_%s;\n    return first + i + 1;\n}'):format(x.forbidden, row[1]:upper())
    e.guard = row[1]:upper()
  end
  e.careful = #e.fast > 0
  e.fast[#e.fast + 1] = ('const %s %s = %s; /* %s */'):format(rd.c, var, x.value, row[1])
  e.slow[#e.slow + 1] = ('const %s %s = %s; /* %s */'):format(rd.c, var, x.careful, row[1])
  return e
end

-- ---------------------------------------------------------------- one group

local function indent(lines, blanks)
  local pad = (' '):rep(blanks)
  local out = {}
  for _, l in ipairs(lines) do out[#out + 1] = pad .. l:gsub('\n', '\n' .. pad) .. '\n' end
  return table.concat(out)
end

--- Runs of instructions with at most one heavy one each: every run is a loop of its own, and every call of a kernel.
local function stages_of(list)
  local stages, now = {}, { careful = false }
  local function close()
    if #now > 0 then stages[#stages + 1] = now end
    now = { careful = false }
  end
  for _, e in ipairs(list) do
    if e.kernel or e.heavy and now.heavy then close() end
    now[#now + 1] = e
    now.heavy, now.careful = now.heavy or e.heavy, now.careful or e.careful
    if e.kernel then
      now.kernel = e.kernel
      close()
    end
  end
  close()
  if #stages == 0 then stages[1] = now end -- nothing is computed: operands are copied
  return stages
end

--- What each stage takes from earlier ones (`take`) and leaves to later ones (`keep`), and the buffer of each value
--- that crosses: one per type, free again after the last stage that reads it.
local function crossings(stages, results)
  local made, last = {}, {}
  for k, stage in ipairs(stages) do
    for _, e in ipairs(stage) do
      made[e.var] = { stage = k, c = e.c }
      for _, v in ipairs(e.uses) do last[v] = k end
    end
  end
  for _, v in ipairs(results) do last[v] = #stages end
  local free, slots, slot_of = {}, {}, {}
  for k, stage in ipairs(stages) do
    stage.take, stage.keep = {}, {}
    local dying, seen = {}, {}
    local function need(v)
      local m = made[v]
      if m and m.stage < k and not seen[v] then
        seen[v] = true
        stage.take[#stage.take + 1] = v
        if last[v] == k then dying[#dying + 1] = v end
      end
    end
    for _, e in ipairs(stage) do for _, v in ipairs(e.uses) do need(v) end end
    if k == #stages then for _, v in ipairs(results) do need(v) end end
    local function release()
      for _, v in ipairs(dying) do
        local c = made[v].c
        free[c] = free[c] or {}
        table.insert(free[c], slot_of[v])
      end
      dying = {}
    end
    if not stage.careful then release() end -- a careful stage may run again over what it took
    for _, e in ipairs(stage) do
      if last[e.var] and last[e.var] > k then
        local list = free[e.c] or {}
        local slot = table.remove(list)
        if not slot then
          slots[#slots + 1] = e.c
          slot = #slots
        end
        slot_of[e.var] = slot
        stage.keep[#stage.keep + 1] = e.var
      end
    end
    release()
  end
  return slots, slot_of, made
end

--- Leaves of one value that a long function of several operands reads: they are read from a block that is filled with
--- them, as choices by a value that does not change keep compilers from using vectors (gcc 12, pow: 13 times slower).
local function spread_leaves(list, alone)
  local spread = {}
  for _, e in ipairs(list) do
    for _, v in ipairs(e.heavy and #e.uses > 1 and e.uses or {}) do spread[v] = alone[v] end
  end
  return spread
end

--- The function of a fused step, or nil and why there is none.
---@param group table code, want, result (of a step with a program)
---@param leaves table[] headers: dtype (code), shape, strides
---@param results table[] headers: shape, dtype
---@return table|nil { name, text, one = { boolean }, special, ops, kernels = { [variable] = { row, dtype } } }
---@return string|nil reason
function M.emit(group, leaves, results)
  if not group.code then return nil, 'no elementwise group' end
  local one, register, head, loads, list = {}, {}, {}, {}, {}
  local alone, plain = {}, {} -- leaves of one value by name, those that are read as they lie
  for k, h in ipairs(leaves) do
    local v, from, want = ('v%d'):format(k), by_code[h.dtype], by_code[group.want[k]]
    one[k] = M.is_one(h, results[1].shape)
    register[k - 1] = v
    if one[k] then
      local x = ('*(const %s *)in[%d]'):format(from.c, k - 1)
      alone[v] = { c = want.c, k = k, text = from == want and x or E.cast('(' .. x .. ')', from, want) }
    else
      head[#head + 1] = ('const %s *const x%d = in[%d];'):format(from.c, k, k - 1)
      local x = ('x%d[first + i]'):format(k)
      loads[v] = ('const %s %s = %s;'):format(want.c, v, from == want and x or E.cast(x, from, want))
      plain[v] = from == want and ('x%d + first'):format(k)
    end
  end
  local special, ops, kernels = false, {}, {}
  for k, c in ipairs(group.code) do
    local e, why = instruction(c, ('t%d'):format(k), register)
    if not e then return nil, why end
    if e.kernel then
      kernels[e.kernel.name] = e.kernel
      for i, v in ipairs(e.uses) do -- a kernel reads memory: what does not lie there is put there
        if alone[v] or loads[v] and not plain[v] then
          local copy = ('%s_%d'):format(e.var, i)
          list[#list + 1] = { var = copy, c = e.kernel.dtype.c, uses = { v },
            fast = { ('const %s %s = %s;'):format(e.kernel.dtype.c, copy, v) } }
          list[#list].slow = list[#list].fast
          e.uses[i] = copy
        end
      end
    end
    list[#list + 1], register[c.dst] = e, e.var
    special = special or e.special == true
    if e.guard then ops[e.guard] = c.op end
  end
  local spread = spread_leaves(list, alone)
  for k = 1, #leaves do
    local a = alone['v' .. k]
    if a and spread['v' .. k] then
      head[#head + 1] =
        ('%s p%d[BLOCK];\nfor (int64_t i = 0; i < BLOCK && i < n; i++)\n    p%d[i] = %s;'):format(a.c, k, k, a.text)
      loads['v' .. k] = ('const %s v%d = p%d[i];'):format(a.c, k, k)
    elseif a then
      head[#head + 1] = ('const %s v%d = %s;'):format(a.c, k, a.text)
    end
  end
  local final = {}
  for k, h in ipairs(results) do
    head[#head + 1] = ('%s *const y%d = out[%d];'):format(by_code[h.dtype].c, k, k - 1)
    final[k] = register[group.result[k]]
  end
  local stages = stages_of(list)
  local last = stages[#stages]
  local direct = last.kernel and #final == 1 and final[1] == last[#last].var -- the kernel writes the result
  if last.kernel and not direct then stages[#stages + 1] = { careful = false } end
  local slots, slot_of, made = crossings(stages, direct and {} or final)
  local blocked = #stages > 1 or last.careful or last.kernel or next(spread) ~= nil

  local function loop(stage, k, slow)
    local lines, loaded = {}, {}
    local function leaf(v)
      if loads[v] and not loaded[v] then
        loaded[v] = true
        lines[#lines + 1] = loads[v]
      end
    end
    for _, e in ipairs(stage) do for _, v in ipairs(e.uses) do leaf(v) end end
    if k == #stages then for _, v in ipairs(final) do leaf(v) end end
    for _, v in ipairs(stage.take) do lines[#lines + 1] = ('const %s %s = b%d[i];'):format(made[v].c, v, slot_of[v]) end
    for _, e in ipairs(stage) do
      for _, l in ipairs(slow and e.slow or e.fast) do lines[#lines + 1] = l end
    end
    for _, v in ipairs(stage.keep) do lines[#lines + 1] = ('b%d[i] = %s;'):format(slot_of[v], v) end
    if k == #stages then
      for j, v in ipairs(final) do
        lines[#lines + 1] = stage.careful and ('s%d[i] = %s;'):format(j, v) or ('y%d[first + i] = %s;'):format(j, v)
      end
    end
    return lines
  end

  --- The call of a kernel.
  local function call_of(stage)
    local e, ins, strides = stage[1], {}, {}
    for i, v in ipairs(e.uses) do ins[i], strides[i] = plain[v] or ('b%d'):format(slot_of[v]), '1' end
    return ('        %s(&(const mck_ewise){.n = m, .out = %s, .in = {%s}, .stride = {%s}});\n'):format(e.kernel.name,
      direct and stage == last and 'y1 + first' or ('b%d'):format(slot_of[e.var]), table.concat(ins, ', '),
      table.concat(strides, ', '))
  end

  local body
  if not blocked then
    local lines = loop(stages[1], 1, false)
    for i, l in ipairs(lines) do lines[i] = l:gsub('%[first %+ i%]', '[i]') end
    body = indent(head, 4) .. '    (void)op;\n    MC_IVDEP\n    for (int64_t i = 0; i < n; i++) {\n' .. indent(lines, 8)
      .. '    }\n    return 0;\n'
  else
    local o = {}
    o[#o + 1] = indent(head, 4) .. '    (void)op;\n    for (int64_t first = 0; first < n; first += BLOCK) {\n        '
      .. 'const int64_t m = n - first < BLOCK ? n - first : BLOCK;\n'
    for k, c in ipairs(slots) do o[#o + 1] = ('        %s b%d[BLOCK];\n'):format(c, k) end
    last = stages[#stages]
    if last.careful then
      for k, h in ipairs(results) do o[#o + 1] = ('        %s s%d[BLOCK];\n'):format(by_code[h.dtype].c, k) end
    end
    for k, stage in ipairs(stages) do
      if stage.kernel then o[#o + 1] = call_of(stage) end
      if stage.careful then
        o[#o + 1] = ('        int off%d = 0; /* some element needs the slow path */\n'):format(k)
      end
      local fast = indent(loop(stage, k, false), 12)
      if stage.careful then fast = fast:gsub('%f[%w_]off |=', ('off%d |='):format(k)) end
      if not stage.kernel then
        o[#o + 1] = '        MC_IVDEP\n        for (int64_t i = 0; i < m; i++) {\n' .. fast .. '        }\n'
      end
      if stage.careful then
        o[#o + 1] = ('        for (int64_t i = 0; off%d && i < m; i++) {\n%s        }\n'):format(k,
          indent(loop(stage, k, true), 12))
      end
    end
    if last.careful then
      for k in ipairs(results) do
        o[#o + 1] = ('        memcpy(y%d + first, s%d, (size_t)m * sizeof *y%d);\n'):format(k, k, k)
      end
    end
    o[#o + 1] = '    }\n    return 0;\n'
    body = table.concat(o)
  end
  local name = 'f_' .. lib.sha256(body):sub(1, 20)
  return { name = name, one = one, special = special, ops = ops, kernels = kernels,
    text = ('MC_API int64_t %s(int64_t n, void *const *out, const void *const *in, int32_t *op)\n{\n%s}\n'):format(name,
      body) }
end

-- ---------------------------------------------------------------- a source file

--- The headers that a text calls into: the fewer, the sooner it is compiled.
local function headers_of(text, kernels)
  local list = { '#include "mck.h"\n#include "mck_math.h"\n' }
  if kernels then list[2] = '#include "mck_ewise.h"\n' end
  local need = {}
  for fn, dtype in text:gmatch 'mck_([a-z0-9_]-)_([a-z]+%d+)%f[^%w_]' do
    local d = by_name[dtype]
    need.int = need.int or d and (d.kind == 'i' or d.kind == 'u')
    need.class = need.class or d and d.kind == 'c' or HEADER[fn] == 'class'
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

-- what functions of whole rows need. Two rows ahead, measured: layer norm of 4096 x 1024 f32, two threads: none 2.1 ms,
-- all of the next row at once 2.0, a part of it at every step 1.7
local ROWS = [[
typedef struct row_op { /* a reduction or softmax along a row */
    void (*run)(const struct row_op *r, void *out, const void *in);
    void *state;
} row_op;
/* asks for part k of n of a row that comes after the next one */
#define AHEAD(row, step, bytes, k, n, writes)                                                                  \
    for (int64_t i = (bytes) * (k) / (n) & ~(int64_t)63; i < (bytes) * ((k) + 1) / (n); i += 64)               \
        __builtin_prefetch((const char *)(row) + 2 * (step) + i, writes, 2)
]]

--- A source file of functions.
---@param functions table[] of emit
---@return string source
---@return boolean bare it needs no header of the system
function M.source(functions)
  local special, rows, ops, names, kernels = false, false, {}, {}, {}
  for _, f in ipairs(functions) do
    special, rows = special or f.special, rows or f.by_rows
    for name in pairs(f.kernels) do
      if not kernels[name] then kernels[#kernels + 1], kernels[name] = name, true end
    end
    for name, id in pairs(f.ops) do
      if not ops[name] then names[#names + 1] = name end
      ops[name] = id
    end
  end
  table.sort(names)
  table.sort(kernels)
  local texts = {}
  for i, f in ipairs(functions) do texts[i] = '\n' .. f.text end
  local text = table.concat(texts)
  local o = { '/* generated by mascon: fused groups of compiled functions, one element after the other */\n#define '
      .. 'MC_ISA native\n', headers_of(text, kernels[1]),
    special and '#include "mck_special.h"\n#include "mck_int.h"\n#include "mck_class.h"\n' or '',
    '#include <string.h>\n\n', ('#define BLOCK %d\n'):format(BLOCK) }
  if rows then o[#o + 1] = ROWS end
  for _, name in ipairs(kernels) do o[#o + 1] = ('MC_API mck_ewise_fn %s;\n'):format(name) end
  if #names > 0 then
    o[#o + 1] = 'enum { '
    for i, name in ipairs(names) do o[#o + 1] = ('%sMC_OP_%s = %d'):format(i > 1 and ', ' or '', name, ops[name]) end
    o[#o + 1] = ' };\n'
  end
  o[#o + 1] = text
  return table.concat(o), not special
end

return M
