-- reduction.lua - a user's reduction as generated C: init, step, combine, finish.
--
-- Every variable of the state runs in LANES copies side by side, joined by the user's own `combine` in a fixed tree; so
-- are chunks of long rows (mc_kernel.c). Formulas mean what they mean in elementwise kernels: every call is the formula
-- of that op's row. Holds the text.
local check = require 'mascon.core.check'
local codegen = require 'mascon.compile.native.codegen'
local body = require 'mascon.kernel.body'
local error = check.error

local M = {}

local LANES = 8

local E = codegen.emitter

--- C of a tree in dtype row d; calls become lines of their own. emitter: of its language.
local function printer(emitter, what, d, lines, counter)
  local function go(tree, names, line)
    if tree[1] == 'call' then
      local args = {}
      for i = 3, #tree do
        counter[1] = counter[1] + 1
        local t = ('c%d'):format(counter[1])
        lines[#lines + 1] = ('const %s %s = %s;'):format(d.c, t, go(tree[i], names, line))
        args[#args + 1] = t
      end
      local row = body.functions()[tree[2]]
      if not row then -- a conversion and back
        local to = codegen.by_name[tree[2]]
        return ('(%s)'):format(emitter.cast(('(%s)'):format(emitter.cast(args[1], d, to)), to, d))
      end
      local fits = false
      for _, name in ipairs(row.dtypes) do fits = fits or name == d[1] end
      if not fits then
        error(('%s: line %d: %s is not defined for %s, in which the state is kept'):format(what, line, tree[2], d[1]),
          0)
      end
      local e = emitter.element(row, d, args)
      if e.dtype ~= d then return emitter.cast('(' .. e.value .. ')', e.dtype, d) end
      return e.test and '(' .. e.careful .. ')' or e.value
    end
    if tree[1] == 'var' then return names[tree[2]] end
    if tree[1] == 'num' then return emitter.expr(tree, d) end
    local copy, leaves = { tree[1] }, {}
    for i = 2, #tree do -- operands as names of their own, so that the scalar language prints only the operator
      leaves[('o%d'):format(i)] = '(' .. go(tree[i], names, line) .. ')'
      copy[i] = { 'var', ('o%d'):format(i) }
    end
    return emitter.expr(copy, d, leaves)
  end
  return go
end

--- Lines of statements over names; assigned names get C names of their own.
local function lines_of(what, statements, names, d, counter, emitter)
  local lines, now = {}, {}
  for k, v in pairs(names) do now[k] = v end
  for _, s in ipairs(statements) do
    counter[1] = counter[1] + 1
    local t = ('t%d'):format(counter[1])
    local text = printer(emitter or E, what, d, lines, counter)(s.tree, now, s.line)
    lines[#lines + 1] = ('const %s %s = (%s)%s; /* %s */'):format(d.c, t, d.kind == 'c' and '' or d.c, text, s.name)
    if d.kind == 'c' then lines[#lines] = ('const %s %s = %s; /* %s */'):format(d.c, t, text, s.name) end
    now[s.name] = t
  end
  return lines, now
end

local function indent(lines, blanks)
  return #lines > 0 and (' '):rep(blanks) .. table.concat(lines, '\n' .. (' '):rep(blanks)) .. '\n' or ''
end

--- Reads the four parts once.
---@param k table name, inputs, outputs
---@param spec table state, init, step, combine, finish
function M.parse(k, spec, level)
  local state = spec.state or { 'acc' }
  local inputs, outputs, both = {}, {}, {}
  for i, p in ipairs(k.inputs) do inputs[i] = p.name end
  for i, p in ipairs(k.outputs) do outputs[i] = p.name end
  local known = {}
  for _, s in ipairs(state) do known[#known + 1], both[#both + 1] = s, s end
  for _, s in ipairs(state) do both[#both + 1] = s .. '_b' end
  local with = {}
  for _, list in ipairs { state, inputs } do for _, n in ipairs(list) do with[#with + 1] = n end end
  local what = 'kernel ' .. k.name .. ', '
  return {
    state = state,
    init = body.parse(what .. 'init', spec.init, {}, state, level + 1),
    step = body.parse(what .. 'step', spec.step, with, { state[1] }, level + 1),
    combine = body.parse(what .. 'combine', spec.combine, both, { state[1] }, level + 1),
    finish = body.parse(what .. 'finish', spec.finish or state[1], known, outputs, level + 1),
  }
end

--- Whether one of the four parts calls a special function.
local function calls_special(parts)
  local special = false
  local function look(tree)
    if tree[1] == 'call' then
      local row = body.functions()[tree[2]]
      special = special or row and row.kernels == 'special'
    end
    for i = 2, #tree do if type(tree[i]) == 'table' then look(tree[i]) end end
  end
  for _, part in ipairs { 'init', 'step', 'combine', 'finish' } do
    for _, s in ipairs(parts[part]) do look(s.tree) end
  end
  return special
end

--- The source for operands of these dtypes.
---@param dtypes string[] of the inputs
---@param d table dtype row of the state
---@param results string[] dtypes of the outputs
---@return string source
---@return integer bytes of a state
function M.source(k, parts, dtypes, d, results)
  local counter, what = { 0 }, 'kernel ' .. k.name
  local o = { '/* generated by mascon: the reduction ', k.name,
    ' */\n#define MC_ISA native\n#include "mck.h"\n#include "mck_math.h"\n#include "mck_special.h"\n#include '
      .. '"mck_int.h"\n#include "mck_cast.h"\n#include "mck_class.h"\n#include <string.h>\n\n',
    ('#define LANES %d\n\n'):format(LANES) }
  if not calls_special(parts) then o[3] = o[3]:gsub('#include "mck_special.h"\n', '') end
  local names, other, fields = {}, {}, {}
  for _, s in ipairs(parts.state) do
    fields[#fields + 1] = ('%s %s;'):format(d.c, s)
    names[s], other[s], other[s .. '_b'] = ('s->%s'):format(s), ('s->%s'):format(s), ('r->%s'):format(s)
  end
  o[#o + 1] = ('struct state {\n%s};\n\n'):format(indent(fields, 4))
  local function stores(made, target, indirect)
    local list = {}
    for _, s in ipairs(parts.state) do
      list[#list + 1] =
        ('%s%s = %s;'):format(indirect and target .. '->' or '', indirect and s or target:format(s), made[s])
    end
    return list
  end
  -- join
  local lines, made = lines_of(what .. ', combine', parts.combine, other, d, counter)
  o[#o + 1] = ('MC_API void k_join(void *state, const void *later)\n{\n    struct state *s = state;\n    const struct '
    .. 'state *r = later;\n%s%s}\n\n'):format(indent(lines, 4), indent(stores(made, 's', true), 4))
  -- part
  o[#o + 1] = 'MC_API void k_part(int64_t n, const void *const *in, void *state)\n{\n'
  local lanes, into = {}, {}
  for i, p in ipairs(k.inputs) do
    o[#o + 1] = ('    const %s *const x_%s = in[%d];\n'):format(codegen.by_name[dtypes[i]].c, p.name, i - 1)
  end
  for _, s in ipairs(parts.state) do
    o[#o + 1] = ('    %s l_%s[LANES];\n'):format(d.c, s)
    lanes[s] = ('l_%s[l]'):format(s)
  end
  for _, p in ipairs(k.inputs) do lanes[p.name] = 'v_' .. p.name end
  lines, made = lines_of(what .. ', init', parts.init, {}, d, counter)
  o[#o + 1] =
    ('    for (int l = 0; l < LANES; l++) {\n%s%s    }\n'):format(indent(lines, 8), indent(stores(made, 'l_%s[l]'), 8))
  for i, p in ipairs(k.inputs) do
    local from = codegen.by_name[dtypes[i]]
    local x = ('x_%s[i + l]'):format(p.name)
    into[i] = ('const %s v_%s = %s;'):format(d.c, p.name, from == d and x or E.cast(x, from, d))
  end
  lines, made = lines_of(what .. ', step', parts.step, lanes, d, counter)
  o[#o + 1] = ('    for (int64_t i = 0; i < n; i += LANES) {\n        const int m = n - i < LANES ? (int)(n - i) : '
    .. 'LANES;\n        if (m == LANES) {\n            MC_IVDEP\n            for (int l = 0; l < LANES; l++) {\n'
    .. '%s%s%s            }\n        } else {\n            for (int l = 0; l < m; l++) {\n%s%s%s            }\n        '
    .. '}\n    }\n'):format(
      indent(into, 16), indent(lines, 16), indent(stores(made, 'l_%s[l]'), 16), indent(into, 16), indent(lines, 16),
      indent(stores(made, 'l_%s[l]'), 16))
  o[#o + 1] = '    struct state lane[LANES];\n    for (int l = 0; l < LANES; l++) {\n'
  for _, s in ipairs(parts.state) do o[#o + 1] = ('        lane[l].%s = l_%s[l];\n'):format(s, s) end
  o[#o + 1] = '    }\n    for (int step = 1; step < LANES; step *= 2)\n        for (int l = 0; l + step < LANES; l += '
    .. '2 * step)\n            k_join(&lane[l], &lane[l + step]);\n    memcpy(state, &lane[0], sizeof lane[0]);\n}\n\n'
  -- finish
  lines, made = lines_of(what .. ', finish', parts.finish, names, d, counter)
  local last = {}
  for i, p in ipairs(k.outputs) do
    local to = codegen.by_name[results[i]]
    last[i] = ('*(%s *)out[%d] = %s;'):format(to.c, i - 1, to == d and made[p.name] or E.cast(made[p.name], d, to))
  end
  o[#o + 1] = ('MC_API void k_finish(const void *state, void *const *out)\n{\n    const struct state *s = state;\n    '
    .. '(void)s;\n%s%s}\n'):format(indent(lines, 4), indent(last, 4))
  return table.concat(o), #parts.state * d.size
end

-- ---------------------------------------------------------------- devices

-- A row is one lane's, or a group's, whose lanes take every LANES-th element and join in a tree; long rows are cut into
-- pieces by shape alone. $B: buffer arguments, $N of them; $X, $Y: those of inputs and results; $L: lanes of a group.
local DEVICE = [[
typedef struct fold_job {
    int64_t at[$N], m, n, parts, step;
} fold_job;

MC_INLINE state fold_none(void)
{
    state s;
$INIT    return s;
}
MC_INLINE state fold_join(state s, state r)
{
$JOIN    return s;
}
MC_INLINE state fold_walk($INPUTS, const fold_job *j, int64_t row, int64_t first, int64_t last, int64_t by)
{
    state s = fold_none();
    for (int64_t i = row * j->n + first; i < row * j->n + last; i += by) {
$STEP    }
    return s;
}
MC_INLINE void fold_write($OUTPUTS, const fold_job *j, int64_t row, state s)
{
$FINISH}
#define PIECE(i)                                                                                   \
    const int64_t row = (i) / j.parts, first = ((i) - row * j.parts) * j.step,                     \
                  last = first + j.step < j.n ? first + j.step : j.n;

KERNEL lanes($B, const fold_job j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.m) {
        const state s = fold_walk($X, &j, i, 0, j.n, 1);
        fold_write($Y, &j, i, s);
    }
}
KERNEL groups($B, const fold_job j)
{
    MCD_GROUP_MEMORY state seen[$L];
    PIECE(GROUP_AT(0))
    seen[LANE] = fold_walk($X, &j, row, first + LANE, last, LANES);
    for (int h = LANES / 2; h > 0; h /= 2) {
        BARRIER;
        if (LANE < h) seen[LANE] = fold_join(seen[LANE], seen[LANE + h]);
    }
    if (LANE == 0) {
        const state s = seen[0];
        if (j.parts > 1)
            AT(state, partial, j.at[$N - 1])[GROUP_AT(0)] = s;
        else
            fold_write($Y, &j, row, s);
    }
}
KERNEL join($B, const fold_job j)
{
    MCD_GROUP_MEMORY state seen[$L];
    const int64_t row = GROUP_AT(0);
    state s = fold_none();
    for (int64_t i = LANE; i < j.parts; i += LANES)
        s = fold_join(s, AT(const state, partial, j.at[$N - 1])[row * j.parts + i]);
    seen[LANE] = s;
    for (int h = LANES / 2; h > 0; h /= 2) {
        BARRIER;
        if (LANE < h) seen[LANE] = fold_join(seen[LANE], seen[LANE + h]);
    }
    if (LANE == 0) {
        const state all = seen[0];
        fold_write($Y, &j, row, all);
    }
}
]]

--- The program of devices for operands of these dtypes: buffers are the results, the inputs, then states of pieces.
---@param bytes integer of a state
---@return string text
---@return integer lanes of a group
function M.device(k, parts, dtypes, d, results, bytes)
  local programs = require 'mascon.compile.native.device'
  local device, counter, what = programs.emitter, { 0 }, 'kernel ' .. k.name
  local fields, own, later, all = {}, {}, {}, {}
  for _, s in ipairs(parts.state) do
    fields[#fields + 1] = ('%s u_%s;'):format(d.c, s)
    own[s], later[s], later[s .. '_b'] = 's.u_' .. s, 's.u_' .. s, 'r.u_' .. s
  end
  local function stores(made)
    local list = {}
    for _, s in ipairs(parts.state) do list[#list + 1] = ('s.u_%s = %s;'):format(s, made[s]) end
    return list
  end
  local function block(list, blanks)
    for _, l in ipairs(list) do all[#all + 1] = l end
    return indent(list, blanks)
  end
  local function part(name, statements, names, blanks, before)
    local lines, made = lines_of(what .. ', ' .. name, statements, names, d, counter, device)
    return block(before or {}, blanks) .. block(lines, blanks), made
  end
  local text = { N = tostring(#dtypes + #results + 1) }
  local made
  text.INIT, made = part('init', parts.init, {}, 4)
  text.INIT = text.INIT .. block(stores(made), 4)
  text.JOIN, made = part('combine', parts.combine, later, 4)
  text.JOIN = text.JOIN .. block(stores(made), 4)
  local loads, step = {}, {}
  for s, v in pairs(own) do step[s] = v end
  local inputs, outputs, in_names, out_names = {}, {}, {}, {}
  for i, p in ipairs(k.inputs) do
    local from = codegen.by_name[dtypes[i]]
    local x = ('AT(const %s, x%d, j->at[%d])[i]'):format(from.c, i, #results + i - 1)
    loads[i] = ('const %s v_%s = %s;'):format(d.c, p.name, from == d and x or device.cast('(' .. x .. ')', from, d))
    step[p.name] = 'v_' .. p.name
    inputs[i], in_names[i] = ('GLOBAL const char *x%d'):format(i), 'x' .. i
  end
  text.STEP, made = part('step', parts.step, step, 8, loads)
  text.STEP = text.STEP .. block(stores(made), 8)
  local last = {}
  text.FINISH, made = part('finish', parts.finish, own, 4)
  for i, p in ipairs(k.outputs) do
    local to = codegen.by_name[results[i]]
    last[i] = ('AT(%s, y%d, j->at[%d])[row] = %s;'):format(to.c, i, i - 1,
      to == d and made[p.name] or device.cast(made[p.name], d, to))
    outputs[i], out_names[i] = ('GLOBAL char *y%d'):format(i), 'y' .. i
  end
  text.FINISH = text.FINISH .. block(last, 4)
  text.INPUTS, text.OUTPUTS = table.concat(inputs, ', '), table.concat(outputs, ', ')
  text.X, text.Y = table.concat(in_names, ', '), table.concat(out_names, ', ')
  text.B = text.OUTPUTS .. ', ' .. text.INPUTS .. ', GLOBAL char *partial'
  local lanes = 256
  while lanes * bytes > 32768 do lanes = lanes / 2 end
  text.L = tostring(lanes)
  return programs.headers(all,
    calls_special(parts)) .. ('typedef struct state {\n%s} state;\n'):format(indent(fields, 4))
    .. DEVICE:gsub('%$(%u+)', text), lanes
end

return M
