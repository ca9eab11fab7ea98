-- ops.lua - the single source of truth: dtypes, statuses, ISA levels, and the rows of every op by family, as pure data.
--
-- Read by runtime/ops/gen/*.lua at build time (LuaJIT), which writes the C enums, the dispatch table, the elementwise
-- kernels, the FFI declarations, the Lua functions, the reference page, the test matrix and the bench matrix. Nothing
-- here runs at start.
--
-- A row:  op{ name, family=, dtypes=, result=, expr=, cexpr=, params=, nout=, base=, alias=, method=, tol=, cost=,
--         rules=, doc=, source= }
--   family   which C driver runs it (runtime/family/mc_<family>.c) and which signature its Lua function has
--   dtypes   dtypes a kernel exists for, after promotion; f16 and bf16 are computed in f32 when listed
--   result   'same' | 'bool' | 'real' (complex -> real) | 'i64' | 'f64' ... ; promote: how inputs meet: 'numeric' |
--            'float' (integers -> f64)
--   expr     elementwise formula in the scalar language (scalar.lua): + - * / ( ) ?: comparisons, functions of
--            mck_math.h; a, b, c are the operands, p0.. scalar parameters. cexpr: the same for complex dtypes when it
--            differs. ix: for integers.
--   params   { name, kind, default } in the order they are packed; kind: 'int' 'ints' 'number' 'axes' 'axis' 'bool'
--            'dtype' 'shape'
--   compute  dtype of the arithmetic whatever the operand (else it follows from the family); nin, nout: operands and
--            results
--   light    its function takes a few instructions: a loop of fused code may hold several such
--   kernels  'special': the body stands in kernels/mck_special.h, whose loops are compiled apart
--   alias    other names; method=false keeps it off the tensor; inplace=true adds name_ ; tol: class of tests/tol.lua
--   example  'EXPR  --> RESULT', or a list of such lines, run as tests by tests/spec/examples_spec.lua
--   work     memory asked for beside the result, in units of what the operands take in the dtype of their arithmetic
--            (small integers as i64, halves as f32), or of the result if that is more; none by default.
--            tests/spec/footprint_spec.lua holds every op to it with two threads; a further one may hold a block of its
--            own, whatever the size of the operands. Operands whose axis is not the innermost one are copied.
--   named    C names this row (MC_OP_*), as it may every row that is neither elementwise nor has `kernel`
--   pieces   reductions: the kernel of the pieces of a row, where it has not the op's name; skip: how NaN is left out
--            ('fill', 'hold', 'count', 'kernel'), fill: C text of what stands for it; finish: what is made of the
--            joined pieces; nothing: C text of the value over nothing, 0 by default (MCI_SKIP_*, MCI_FINISH_* of
--            mc_ops.h)
--   variant  what the driver of the family does for this row, where it does several things; rows may share one.
--            A word, in C MCI_<FAMILY>_<VARIANT>; all rows of a family have one or none has
--   modes    ways of an op by number, from 0: in C MCI_<FAMILY>_<MODE>
--   columns  false: a reduction whose kernel has no form along columns
--   law      an identity of the op that rewriting may use (compile/passes/algebra.lua): 'involution' f(f(x)) = x,
--            'idempotent' f(f(x)) = f(x), 'even' f(-x) = f(x), 'same' f(x, x) = x; inverse: the op g with f(g(x)) = x;
--            plain: the result is the operand itself ('all'), or where that is real ('real'); modulus: |f(x)| = |x|
--   operator of the scalar language, made from expr: '+' of a + b, 'neg', 'not', '?'; those that meet in bool (promote)
--            are operators of conditions
--   header   the part of kernels/mck_*.h with its function of one element, where it is none of mathematics
--   more, fewer  rows whose number of results depends on options: all of `results` are given where the option `more` is
--            true, else the last is missing; one less still where fewer[1] is fewer[2]
--   batch    linear algebra of two operands: 'system', which takes a batch axis in front of both
--   wide     random numbers: the parameter (from 1) that has an axis of its own
--   mixed    under mixed precision (mc.nn.autocast): 'low' casts f32 operands down, 'f32' casts 16-bit ones up;
--            'bias' casts a smaller operand down beside a product; other ops take what they get
--   joins    takes a list of tensors and an axis: how many axes the result has more than an operand
--   kernel   dtypes of a kernel written by hand under the op's own name (reductions: pieces joined by addition). Of an
--            elementwise row it takes the place of the loop over expr, in fused code too, which calls it; devices take
--            expr
--   rules    derivative and batching: 'auto', 'none: why', or the key of lua/mascon/rules. For an elementwise row
--            'auto' is derived from expr (derivative.lua), or the formulas d: one for each operand in a, b, c and the
--            result y, or 'none: why'; cd: the same for complex dtypes when it differs. Of a reduction d is the
--            derivative by an element a. A rule by hand says in `hand` why. At corners d takes the mean of both sides
--            or one of them, and 0 where a function has a cone (|a|, hypot at the origin).
--   by_value the size of the result depends on the values of the operands (where num_segments is not given): what to do
--   instead under tracing own_out the Lua function takes out= itself (else the result is copied into it) by_rows fused
--   native code calls the kernel along rows operands names of the operands in the reference, where they are not x or a,
--   b, c; in linear algebra one letter
--            each, for messages, too
--   truth    over everything the result is a Lua boolean
--   module   for rows of any family: the Lua file whose function of the op's name stands in front of the C driver
-- Family 'lua': a composition of other ops; module = the Lua file whose function of the op's name it is. No C, no
-- kernel; derivatives by its parts ('auto'). namespace = 'linalg' puts a function there instead of among mc's own
-- names. results: names of three or more results. internal = true: no function of its own, a step of compositions
-- (called through mascon.core.op's raw); says: the op its messages name.
local T = { ops = {}, kernels = {}, functions = {} }

T.version = '0.1.0'

-- code = position - 1; kind: b bool, i signed, u unsigned, f float, c complex; c = C type; compute = dtype of
-- arithmetic
T.dtypes = {
  { 'bool', kind = 'b', size = 1, c = 'uint8_t', npy = 'b1' },
  { 'u8', kind = 'u', size = 1, c = 'uint8_t', npy = 'u1' },
  { 'i8', kind = 'i', size = 1, c = 'int8_t', npy = 'i1' },
  { 'i16', kind = 'i', size = 2, c = 'int16_t', npy = 'i2' },
  { 'i32', kind = 'i', size = 4, c = 'int32_t', npy = 'i4' },
  { 'i64', kind = 'i', size = 8, c = 'int64_t', npy = 'i8' },
  { 'f16', kind = 'f', size = 2, c = 'uint16_t', npy = 'f2', compute = 'f32' },
  { 'bf16', kind = 'f', size = 2, c = 'uint16_t', npy = 'V2', compute = 'f32' },
  { 'f32', kind = 'f', size = 4, c = 'float', npy = 'f4' },
  { 'f64', kind = 'f', size = 8, c = 'double', npy = 'f8' },
  { 'c64', kind = 'c', size = 8, c = 'mck_c64', npy = 'c8', real = 'f32' },
  { 'c128', kind = 'c', size = 16, c = 'mck_c128', npy = 'c16', real = 'f64' },
}

T.statuses = {
  'OK', 'EINVAL', 'ESHAPE', 'EDTYPE', 'ENOMEM', 'EIO', 'EFORMAT', 'ECANCELLED',
  'EDEVICE', 'EUNSUPPORTED', 'ENUMERIC', 'EINTERNAL', 'ERELEASED',
}

T.isa = { { 'v2', march = 'x86-64-v2' }, { 'v3', march = 'x86-64-v3' }, { 'v4', march = 'x86-64-v4' } }

-- ---------------------------------------------------------------- the rows, by family
local HERE = debug.getinfo(1, 'S').source:match '^@(.*)ops%.lua$'
local function read(name, ...) return assert(loadfile(HERE .. name .. '.lua'))(...) end
local W = read('words', T)
for name in ([[
  elementwise special ternary reduce product move random linalg shape statistics sample matrix network
]]):gmatch '%S+' do read('rows/' .. name, W) end

return T
