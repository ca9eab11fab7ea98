-- limits.lua - the machine's limits as functions of tensors: bench/limits.c behind the FFI.
--
-- Opens liblimits.so (made by `make bench`, or here when it is missing), passes tensors' memory. The
-- yardsticks run in our process, on the same memory, threads and clock as what they are compared with.
local ffi = require 'ffi'
local lib = require 'mascon.core.ffi'
local M = {}

ffi.cdef [[
void limit_pause(double seconds);
void limit_copy(int threads, float *d, const float *a, int64_t n, int streaming);
void limit_triad(int threads, float *d, const float *a, const float *b, int64_t n, int streaming);
float limit_read(int threads, const float *a, int64_t n);
void limit_blas_threads(int threads);
void limit_gemm(int is_double, int64_t m, int64_t n, int64_t k, const void *a, const void *b, void *c);
void limit_gemm_batch(int threads, int64_t batch, int64_t m, int64_t n, int64_t k, const float *a, const float *b,
                      float *c);
void limit_gelu(int threads, int64_t rows, int64_t n, const float *x, const float *bias, float *y);
void *limit_fft_plan(int kind, int64_t n);
void limit_fft_rows(int kind, void *plan, int threads, int64_t rows, int64_t n, void *in, void *out);
void limit_fft_drop(int kind, void *plan);
double limit_spawn(const char *program, const char *first, const char *second);
void limit_slab_size(int64_t bytes);
void *limit_slab_get(void);
void limit_slab_put(void *record);
]]

local L

--- Where the shared object lies: beside what was built.
function M.path() return lib.libdir .. '/bench/liblimits.so' end

local function open()
  if L then return L end
  local found, so = pcall(ffi.load, M.path())
  if not found then
    error('bench: liblimits.so is not there; run `make bench`, or `make build/bench/liblimits.so`', 0)
  end
  L = so
  return L
end

--- The C functions themselves.
function M.raw() return open() end

local function memory(t, kind) return ffi.cast(kind or 'float *', t._data) end

-- a pointer keeps no tensor alive: the function that uses it does, through this table
local anchors = setmetatable({}, { __mode = 'k' })
local function holding(f, ...)
  anchors[f] = { ... }
  return f
end

function M.pause(seconds) open().limit_pause(seconds) end

--- run(n) functions over f32 tensors of one size.
function M.copy(threads, d, a, streaming)
  local C, pd, pa, n, s = open(), memory(d), memory(a), a:numel(), streaming and 1 or 0
  return holding(function(times) for _ = 1, times do C.limit_copy(threads, pd, pa, n, s) end end, d, a)
end
function M.triad(threads, d, a, b, streaming)
  local C, pd, pa, pb, n, s = open(), memory(d), memory(a), memory(b), a:numel(), streaming and 1 or 0
  return holding(function(times) for _ = 1, times do C.limit_triad(threads, pd, pa, pb, n, s) end end, d, a, b)
end
function M.read(threads, a)
  local C, pa, n = open(), memory(a), a:numel()
  return holding(function(times) for _ = 1, times do C.limit_read(threads, pa, n) end end, a)
end

--- One call of cblas_sgemm or cblas_dgemm over the whole product. OpenBLAS is back at one thread after each call of the
--- function.
function M.gemm(threads, c, a, b)
  local C, double, m, k, n = open(), a.dtype == 'f64' and 1 or 0, a.shape[1], a.shape[2], b.shape[2]
  local pa, pb, pc = memory(a, 'void *'), memory(b, 'void *'), memory(c, 'void *')
  return holding(function(times)
    C.limit_blas_threads(threads)
    for _ = 1, times do C.limit_gemm(double, m, n, k, pa, pb, pc) end
    C.limit_blas_threads(1)
  end, c, a, b)
end
function M.gemm_batch(threads, c, a, b)
  local C, batch, m, k, n = open(), a.shape[1], a.shape[2], a.shape[3], b.shape[3]
  local pa, pb, pc = memory(a), memory(b), memory(c)
  return holding(function(times)
    for _ = 1, times do C.limit_gemm_batch(threads, batch, m, n, k, pa, pb, pc) end
  end, c, a, b)
end

--- gelu by libm's erff, element by element.
function M.gelu(threads, y, x)
  local C, rows, n, px, py = open(), x.shape[1], x.shape[2], memory(x), memory(y)
  return holding(function(times) for _ = 1, times do C.limit_gelu(threads, rows, n, px, nil, py) end end, x, y)
end

--- gelu(x w + bias) as one call of cblas and one pass by libm's erff; w: [in, out].
function M.linear_gelu(threads, y, x, w, bias)
  local C, rows, n, pb, py, product = open(), y.shape[1], y.shape[2], memory(bias), memory(y), M.gemm(threads, y, x, w)
  return holding(function(times)
    for _ = 1, times do
      product(1)
      C.limit_gelu(threads, rows, n, py, pb, py)
    end
  end, bias)
end

local FFT = { c64 = 0, f32 = 1, c128 = 2 }
local BACK = 3
--- FFTW with an estimated plan over the rows of a; `d` has room for all results. back: the length of a real
--- inverse transform whose rows of bins a holds. Returns run(n) and the function that drops the plan.
function M.fft(threads, d, a, back)
  local C, kind, rows, n = open(), back and BACK or FFT[a.dtype], a.shape[1], back or a.shape[2]
  local plan = C.limit_fft_plan(kind, n)
  if plan == nil then error('bench: FFTW has no plan for ' .. n .. ' points', 0) end
  local pa, pd = memory(a, 'void *'), memory(d, 'void *')
  return holding(function(times)
    for _ = 1, times do C.limit_fft_rows(kind, plan, threads, rows, n, pa, pd) end
  end, d, a),
    function() C.limit_fft_drop(kind, plan) end
end

--- Seconds a new process takes; nil when it cannot be run or fails.
function M.spawn(program, first, second)
  local t = open().limit_spawn(program, first, second)
  return t >= 0 and t or nil
end

return M
