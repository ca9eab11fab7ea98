-- pointwise.lua - residuals and derivatives of a model that treats points one by one, and the sums of their products,
-- as one C loop.
--
-- The function is recorded on a few points. When all that it does is elementwise along them, its graph is a program of
-- one point, and that is also the proof that a pass may be cut anywhere. The program runs on blocks that stay in the
-- first-level cache, where the products of its rows are summed in a fixed order: lanes, parts, units, all cut by the
-- number of the point. Anything else (sums or products along the points, tables of values, shifts) has no such program.
local codegen = require 'mascon.compile.native.codegen'
local create = require 'mascon.array.create'
local fuse = require 'mascon.compile.passes.fuse'
local graphs = require 'mascon.graph.graph'
local op = require 'mascon.core.op'
local pipeline = require 'mascon.compile.pipeline'
local tensor = require 'mascon.core.tensor'
local trace = require 'mascon.transform.trace'
local tree = require 'mascon.graph.tree'
local F = op.functions
local M = {}

-- points of the recordings: a number that follows from how many there are differs between them
local FEW = { 97, 64 }
--- The fewest points that can be recorded.
M.LEAST = FEW[1]

local PART = 4096 -- points whose sums are joined within a unit
local NEAR = 256 -- points of a block

-- ---------------------------------------------------------------- the program of a point

--- The one value of a constant, as C; nil when it has several or none that can be written.
local function literal(u, m)
  local t = u.value.const
  if not t then return nil end
  local v
  if codegen.is_one(u, { m }) and (u.offset or 0) == 0 then v = t:reshape { -1 }[1]:item()
  else
    local low, high = F.min(t):item(), F.max(t):item()
    if low ~= high then return nil end
    v = low
  end
  if type(v) == 'boolean' then return v and '1' or '0' end
  if type(v) ~= 'number' or v - v ~= 0 then return nil end
  return ('%.17g'):format(v)
end

--- What a leaf is in C: an address at point `at`, and whether it is one value; nil when it runs along no points.
---@param inputs table[] of each input: kind 'one' or 'points', name, and for points the number of rows
local function leaf(u, m, inputs)
  local c = codegen.by_code[u.dtype or u.value.dtype].c
  local from = u.value.input and inputs[u.value.input]
  if not from then
    local v = literal(u, m)
    return v and ('&(const %s){ %s }'):format(c, v), true
  end
  if from.kind == 'one' then return ('&P[%d]'):format(from.index), true end
  local offset = u.offset or 0
  if #u.shape ~= 1 or u.shape[1] ~= m or u.strides[1] ~= 1 or offset % m ~= 0 then return nil end
  return ('%s + %d * m + at'):format(from.name, offset / m), false
end

--- The program of f at m points: { text (C), rows = { C of each result }, key } or nil.
local function program(f, args, inputs, m)
  local options = { on = pipeline.switches(nil, false, 2), math = 'strict' }
  local t = trace.run(f, args, { numbers = {}, strict = true, name = 'curve_fit' })
  local graph = t.graph
  pipeline.run(graph, options)
  local outs, place = {}, {}
  for _, u in ipairs(graph.outputs) do if u.value.node then outs[u.value] = true end end
  for _, n in ipairs(graph.nodes) do
    if not fuse.eligible(n) or not graphs.same(n.outs[1].shape, { m }) then return nil end
  end
  local rows, from, emitted = {}, {}, nil
  if #graph.nodes > 0 then
    local group = fuse.group(graph.nodes, outs)
    local heads, results = {}, {}
    for k, u in ipairs(group.ins) do
      local text, one = leaf(u, m, inputs)
      if not text then return nil end
      from[k], heads[k] = text, { dtype = u.dtype or u.value.dtype, shape = one and {} or { m },
        strides = one and {} or { 1 } }
    end
    for k, v in ipairs(group.outs) do place[v], results[k] = k, { dtype = v.dtype, shape = { m } } end
    emitted = codegen.emit(group, heads, results)
    if not emitted or next(emitted.ops) then return nil end
  end
  for k, u in ipairs(graph.outputs) do
    if (u.dtype or u.value.dtype) ~= tensor.code.f64 or not graphs.same(u.shape, { m }) then return nil end
    if place[u.value] then
      if not graphs.is_dense(u) then return nil end
      rows[k] = { made = place[u.value] }
    else
      local text, one = leaf(u, m, inputs)
      if not text then return nil end
      rows[k] = { text = text, one = one }
    end
  end
  local key = { emitted and emitted.name or '', table.concat(from, ';') }
  for k, r in ipairs(rows) do key[k + 2] = ('%s %s'):format(r.made or r.text, tostring(r.one)) end
  return { emitted = emitted, from = from, rows = rows, key = table.concat(key, '\n') }
end

-- ---------------------------------------------------------------- the loop

--- Sums of the products of row i with rows i, i + 1, ..., in eight lanes: some rows at a time, as registers are few.
local function products(K)
  local o, pair, AT_ONCE = {}, 0, 5
  local function each(first, last, text)
    for j = first, last do o[#o + 1] = text:gsub('@j', j):gsub('@s', pair + j - first) end
  end
  for i = 0, K - 1 do
    for first = i, K - 1, AT_ONCE do
      local last = math.min(first + AT_ONCE, K) - 1
      o[#o + 1] = '        {\n'
      each(first, last, [[
          mck_vec64 s@j[WIDE];
          for (int h = 0; h < WIDE; h++) s@j[h] = mck_load_64(acc[@s] + h * MCK_VL64);
]])
      o[#o + 1] = ([[
          for (int64_t p = 0; p < full; p += 8)
            for (int h = 0; h < WIDE; h++) {
              const mck_vec64 a = mck_load_64(R[%d] + p + h * MCK_VL64);
]]):format(i)
      each(first, last, [[
              s@j[h] = mck_muladd_64(a, mck_load_64(R[@j] + p + h * MCK_VL64), s@j[h]);
]])
      o[#o + 1] = '            }\n'
      each(first, last, [[
          for (int h = 0; h < WIDE; h++) mck_store_64(acc[@s] + h * MCK_VL64, s@j[h]);
]])
      o[#o + 1] = '          for (int64_t p = full; p < n; p++) {\n'
      each(first, last, ([[
            acc[@s][p - full] = MC_MULADD(R[%d][p], R[@j][p], acc[@s][p - full]);
]]):format(i))
      o[#o + 1] = '          }\n        }\n'
      pair = pair + last - first + 1
    end
  end
  return table.concat(o), pair
end

local LOOP = [[
  enum { ROWS = %d, SUMS = %d, UNIT = %d, PART = %d, NEAR = %d, WIDE = 8 / MCK_VL64 };
  const int64_t m = y_shape[0];
  double R[ROWS][NEAR] __attribute__((aligned(64)));
  int32_t op = 0;
  (void)op;
%s  for (int64_t u = first; u < last; u++) {
    double *to = out + u * SUMS;
    const int64_t end = (u + 1) * UNIT < m ? (u + 1) * UNIT : m;
    for (int k = 0; k < SUMS; k++) to[k] = 0;
    for (int64_t part = u * UNIT; part < end; part += PART) {
      double acc[SUMS][8] __attribute__((aligned(64))) = {{0}};
      const int64_t stop = part + PART < end ? part + PART : end;
      for (int64_t at = part; at < stop; at += NEAR) {
        const int64_t n = stop - at < NEAR ? stop - at : NEAR, full = n / 8 * 8;
%s%s%s      }
      for (int k = 0; k < SUMS; k++) {
        const double *s = acc[k];
        to[k] += ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
      }
    }
  }
]]

--- The body of the kernel: fills rows block by block, sums their products. Rows past K are robust: rho, summed, and the
--- residual, whose squares are.
local function body(p, K, unit)
  local once, fill, more = {}, {}, {}
  if p.emitted then
    local to = {}
    for k, r in ipairs(p.rows) do if r.made then to[r.made] = to[r.made] or ('R[%d]'):format(k - 1) end end
    fill[1] = ('        const void *const from[] = { %s };\n        void *const into[] = { %s };\n        %s(n, into, '
      .. 'from, &op);\n'):format(#p.from > 0 and table.concat(p.from, ', ') or '0', table.concat(to, ', '),
        p.emitted.name)
  end
  local filled = {}
  for k, r in ipairs(p.rows) do
    if r.one then
      once[#once + 1] = ('  for (int i = 0; i < NEAR; i++) R[%d][i] = *(%s);\n'):format(k - 1, r.text)
    elseif not r.made then
      fill[#fill + 1] = ('        memcpy(R[%d], %s, (size_t)n * sizeof(double));\n'):format(k - 1, r.text)
    elseif filled[r.made] then
      local text = '        memcpy(R[%d], R[%d], (size_t)n * sizeof(double));\n'
      fill[#fill + 1] = text:format(k - 1, filled[r.made] - 1)
    else
      filled[r.made] = k
    end
  end
  local sums, pairs_of = products(K)
  if #p.rows > K then
    more[1] = ([[
        for (int64_t i = 0; i < n; i++) {
          acc[%d][i & 7] += R[%d][i];
          acc[%d][i & 7] = MC_MULADD(R[%d][i], R[%d][i], acc[%d][i & 7]);
        }
]]):format(pairs_of, K, pairs_of + 1, K + 1, K + 1, pairs_of + 1)
    pairs_of = pairs_of + 2
  end
  return LOOP:format(#p.rows, pairs_of, unit, PART, NEAR, table.concat(once), table.concat(fill), sums,
    table.concat(more)), pairs_of
end

-- ---------------------------------------------------------------- the public function

--- Sums of units by one C loop; nil when f does not treat points one by one or there is no C compiler.
---
---   f: function(v, x, y, sigma) -> n + 1 rows [m], derivatives and residuals, then under a loss rho and plain
---   residuals
---   n: parameters; unit: points of a row of sums; piece: x, y, sigma of at least LEAST points; cut(x, first, last)
---   result: function(free, piece) -> f64 [units, sums], the upper triangle of products row after row, then sum of rho
---   and sum of squares
---@return fun(free: number[], piece: table): mc.tensor
function M.sums(f, n, unit, piece, cut)
  local wide = tensor.is(piece.sigma) and piece.sigma:numel() > 1
  local inputs, names = {}, { 'P f64' }
  for k = 1, n do inputs[k] = { kind = 'one', index = k - 1 } end
  for k, x in ipairs(tree.leaves(piece.x)) do
    if not tensor.is(x) then return nil end
    inputs[#inputs + 1] = { kind = 'points', name = 'x' .. k }
    names[#names + 1] = ('x%d %s'):format(k, x.dtype)
  end
  inputs[#inputs + 1], names[#names + 1] = { kind = 'points', name = 'y' }, 'y f64'
  if wide then inputs[#inputs + 1], names[#names + 1] = { kind = 'points', name = 'sigma' }, 'sigma f64'
  elseif piece.sigma then inputs[#inputs + 1] = { kind = 'one', index = n } end

  local function at(m)
    local args = { n = n + 3 }
    for k = 1, n do args[k] = create.full({ m }, 1 + k / 8) end
    args[n + 1], args[n + 2] = cut(piece.x, 1, m), piece.y[{ { 1, m } }]
    args[n + 3] = wide and piece.sigma[{ { 1, m } }] or piece.sigma and create.full({ m }, 1.5) or false
    return program(function(...)
      local v = { ... }
      return f({ unpack(v, 1, n) }, v[n + 1], v[n + 2], v[n + 3] or nil)
    end, args, inputs, m)
  end
  local p, again = at(FEW[1]), at(FEW[2])
  if not p or not again or p.key ~= again.key then return nil end
  local text, count = body(p, n + 1, unit)
  local head = '#include "mck_lanes.h"\n'
    .. (p.emitted and codegen.source { p.emitted }:gsub('MC_API int64_t', 'static int64_t') or '')
  local function units(_, ...)
    local y = select(#tree.leaves(piece.x) + 1, ...)
    return math.ceil(y.shape[1] / unit)
  end
  local kernel = require('mascon.kernel').kernel { name = 'pass', inputs = names, outputs = { 'out f64' }, grain = 1,
    head = head, c = text, range = units, shape = function(...) return { units(...), count } end }
  return function(free, now)
    local P = { unpack(free, 1, n) }
    if now.sigma and not wide then P[n + 1] = tensor.is(now.sigma) and now.sigma:item() or now.sigma end
    local operands = { op.from_table(P) }
    for _, x in ipairs(tree.leaves(now.x)) do operands[#operands + 1] = x end
    operands[#operands + 1] = now.y
    if wide then operands[#operands + 1] = now.sigma end
    return kernel(unpack(operands))
  end
end

return M
