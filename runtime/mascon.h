/* mascon.h - libmascon for C and C++ programs that embed it: tensors, ops, memory, arrays in files.
 *
 *   #include <mascon.h>
 *   #include <stdio.h>
 *   int main(void)
 *   {
 *       static mc_tensor x, y, sum; const int64_t shape[] = {5};
 *       if (mc_create(&x, MC_F64, 1, shape) || mc_fill(&x, 3, 0) ||
 *           mc_op2_scalar(MC_OP_ADD, &y, &x, 1, 0) || mc_op1(MC_OP_SUM, &sum, &y, NULL))
 *           return fprintf(stderr, "%s\n", mc_errmsg()), 1;
 *       printf("%g\n", *(double *)sum.data); // 20
 *       mc_drop(&x), mc_drop(&y), mc_drop(&sum);
 *   }
 *
 *   gcc -std=c11 example.c $(pkg-config --cflags --libs mascon)
 *
 * Every call that can fail returns a status (0 is success) and leaves a text for mc_errmsg().
 * Ownership words: owns = the caller must give it back; borrows = valid while the argument lives;
 * shares = refcounted. What our Lua side uses besides stands in mc_lua.h; C for workflows has
 * mc_plugin.h.
 *
 * The handle. mc_tensor is a plain header: anyone may read it, only libmascon writes it. One that a
 * program declares is all zero; calls that make a tensor fill it, and mc_drop() gives its memory
 * back.
 *
 * Threads. Any thread may call, and kernels use worker threads by themselves: each calling thread
 * has workers of its own, so that several threads at once share the processors. What is safe at
 * once, and what is not:
 *   - ops on different tensors, and reading one tensor: yes. References to a storage are counted
 *     atomically; memory, devices and plug-ins have locks. A tensor that one thread writes (or a
 *     header that it fills or drops) is not used by another meanwhile.
 *   - mc_errmsg, mc_errstatus: each thread has its own.
 *   - settings (threads, isa, FFT engine, plug-in folder, memory limit) belong to the process; set
 *     them before the other threads start. Large matrix factorisations set the thread number of
 *     OpenBLAS for their time: those one at a time.
 *   - mc_cancel_request stops the kernels of all threads, until mc_cancel_clear.
 *   - recording a function (grad, compile, vmap, backward of the Lua side) is one at a time in a
 *     process: a second thread that begins gets MC_EINVAL. The check is no lock, so order them;
 *     meanwhile other threads run ops on tensors that the recorded function does not use.
 *   - a handle of a file: one thread at a time; calls that read a const handle may run at once.
 *   - Lua states: one per thread, and all that stands above holds between them. A Lua tensor is
 *     never used from two states. */
#ifndef MASCON_H
#define MASCON_H

#ifdef MC_CDEF
#define MC_API
#endif
#include "base/mc_types.h"
#include "formats/mc_files.h"
#if !defined(MC_CDEF) && defined(__cplusplus)
extern "C" {
#endif

struct DLManagedTensor;
struct DLManagedTensorVersioned;

/* ---- library ---- */
MC_API const char *mc_version(void);
/* Text and status of the last failing call of this thread; borrowed until the next failing call. */
MC_API const char *mc_errmsg(void);
MC_API int mc_errstatus(void);
/* Cooperative cancellation: async-signal-safe; kernels stop within 100 ms with MC_ECANCELLED. */
MC_API void mc_cancel_request(void);
MC_API void mc_cancel_clear(void);
MC_API int mc_cancel_pending(void);
/* Whether kernels are running, which end by themselves soon after a request: async-signal-safe,
 * like the request. */
MC_API int mc_working(void);
/* Worker threads of the one pool, 1..1024. Results do not depend on it. */
MC_API int mc_set_num_threads(int n);
/* Where the number comes from, in words: a variable, the cgroup, the processors of the process.
 * Borrowed for ever. */
MC_API const char *mc_threads_source(void);
MC_API int mc_get_num_threads(void);
/* Whether products of matrices add up in an order that the number of rows does not change, so that
 * a row has the same bits in any batch. Off at first. */
MC_API void mc_set_batch_invariant(int on);
MC_API int mc_get_batch_invariant(void);
/* Whether a library of a card may multiply f32 matrices whose elements it rounds to 11 bits (TF32
 * of NVIDIA), from the next product on; what is compiled keeps what held at its first call. Off at
 * first. */
MC_API void mc_set_tf32(int on);
MC_API int mc_get_tf32(void);
/* "v2", "v3" or "v4": the instruction level of the kernels in use; set accepts a level the machine
 * has. */
MC_API const char *mc_isa_name(void);
MC_API int mc_isa_set(const char *name);
/* Folder in which plug-ins lie; default beside the library in plugins/. Text is copied. */
MC_API int mc_plugin_dir_set(const char *path);
/* Name and version of a neighbour ("fft", "blas", "zlib", "threads", "raster", "hdf5", "yaml"),
 * opened if need be; NULL: missing. */
MC_API const char *mc_neighbour(const char *kind);
/* FFT engine: "auto" (FFTW, else ours), "fftw", "mascon". measure != 0 asks for measured plans. */
MC_API int mc_fft_config(const char *engine, int measure);
MC_API int mc_fft_wisdom(const char *path, int save);
MC_API double mc_clock(void); /* monotonic seconds */
/* SHA-256 as 64 hex digits and a zero: of bytes, of a file, of a tensor's elements in row-major
 * order (layout does not matter). */
MC_API int mc_sha256(const void *data, int64_t bytes, char *hex);
MC_API int mc_sha256_file(const char *path, char *hex);
MC_API int mc_sha256_tensor(const mc_tensor *t, char *hex);

/* ---- memory ---- */
/* out[0] live bytes, [1] cached bytes, [2] peak live bytes, [3] allocations so far, [4] soft
 * ceiling, [5] limit (0 none), [6] live blocks, [7] tensor bytes (storages only), [8] peak of
 * tensor bytes since mc_memory_reset_peak, which starts the peaks of all devices anew. */
MC_API void mc_memory_stats(int64_t out[9]);
MC_API void mc_memory_reset_peak(void);
/* Allocations beyond this many live bytes fail with MC_ENOMEM; 0: no limit. Where it comes from, in
 * words; "none" without one. */
MC_API int mc_memory_limit_set(int64_t bytes);
MC_API const char *mc_memory_limit_source(void);
/* Gives cached blocks back to the system. */
MC_API void mc_memory_trim(void);
/* Blocks in use and cached ones together stay within this many bytes where they can: the cache goes
 * first. 0: no such bound. Returns the bound before. */
MC_API int64_t mc_memory_room_set(int64_t bytes);

/* ---- devices ---- */
/* Number of the device of a name: cpu, ref:N, cuda:N, opencl:N, gpu (the first of cuda, opencl),
 * auto (what MASCON_DEVICE names, else a card, else cpu); opened if
 * need be. 0 is the CPU. Negative with the error record set when there is none. */
MC_API int mc_device_find(const char *name);
MC_API const char *mc_device_name(int device); /* "cpu", "ref:0"; borrowed */
/* Number of the device that auto is, and why, in words. An enquiry: what has no form there goes
 * through the host only where mc_device_find "auto" led there. */
MC_API int mc_device_auto(char *why, int64_t room);
/* Memory of an open device other than the CPU, as in mc_memory_stats; its limit (0: all it has);
 * cached blocks of all devices given back. */
MC_API int mc_device_memory(int device, int64_t out[9]);
/* Calls of an op (-1: of all) whose operands went through the host: it has no form on a device that
 * auto led to. */
MC_API int64_t mc_through_host(int op);
MC_API int mc_device_limit_set(int device, int64_t bytes);
MC_API void mc_device_trim(void);
/* How many devices of a kind there are ("cuda", "opencl", "ref"); negative with the error record
 * set where it cannot be opened. What an open one says of itself: name, and bytes of memory (0
 * unknown), whether it computes in f64, whether it is the machine's processor. */
MC_API int mc_device_count(const char *kind);
/* Name of the kind of card at a place from 0; NULL behind the last. */
MC_API const char *mc_device_kind(int place);
MC_API int mc_device_about(int device, char *name, int64_t room, int64_t out[3]);
/* Waits for all work of a device, below 0 of all; MC_EINVAL where a launch refused an element. */
MC_API int mc_device_sync(int device);

/* ---- tensors ---- */
/* A tensor header with storage on the C heap. Owns: mc_tensor_free. NULL with the error record set
 * on failure. */
MC_API mc_tensor *mc_tensor_new(int dtype, int ndim, const int64_t *shape);
MC_API void mc_tensor_free(mc_tensor *t);
/* Fills a header that the caller allocated (capacity set, all else zero): contiguous,
 * uninitialised. */
MC_API int mc_create(mc_tensor *out, int dtype, int ndim, const int64_t *shape);
/* The same on a device (a number of mc_device_find). */
MC_API int mc_create_on(mc_tensor *out, int device, int dtype, int ndim, const int64_t *shape);
/* A copy of t on a device, contiguous, in its dtype. */
MC_API int mc_to_device(mc_tensor *out, int device, const mc_tensor *t);
/* Gives the reference to the storage back and marks the header released. Accepts released and
 * inline headers, cannot fail, keeps the error record: fit for a finalizer. */
MC_API void mc_drop(mc_tensor *t);
/* Moves an inline payload into a refcounted storage, so that views can share it. */
MC_API int mc_promote(mc_tensor *t);
/* Wraps foreign memory (a mapped file): `owner` is passed to release(owner) when the last view
 * goes. Shares. */
MC_API int mc_wrap(mc_tensor *out, void *data, int dtype, int ndim, const int64_t *shape,
                   const int64_t *strides,
                   void *owner, void (*release)(void *), int readonly);
/* DLPack's structs (dlpack.h: its ABI before version 1, and version 1, which can say that a tensor
 * may only be read: such a tensor is given in that one alone) of the CPU and of opened devices of
 * CUDA and OpenCL. give: a new one that shares t's storage, NULL on failure; what gets it owns it
 * and calls its deleter once, as drop does (NULL is accepted). stream, for devices: 0 waits for
 * queued work, -1 does nothing; a stream of CUDA (1, 2 or a handle) or a queue of OpenCL runs
 * after that work. take: `out` shares the memory, and m's deleter is called when the last view
 * goes and no queued work wants it; on failure m is left as it is. */
MC_API struct DLManagedTensor *mc_dlpack_give(mc_tensor *t, int64_t stream);
/* The memory of a tensor for code of others, valid while the tensor lives; stream as for
 * mc_dlpack_give. out: the address of the first element (of OpenCL: its cl_mem, and *offset bytes
 * from its start), the stream or queue that work of the device runs in (NULL on the CPU). */
MC_API int mc_pointer(mc_tensor *t, int64_t stream, void *out[2], int64_t *offset);
MC_API int mc_dlpack_take(mc_tensor *out, struct DLManagedTensor *m);
MC_API void mc_dlpack_drop(struct DLManagedTensor *m);
MC_API struct DLManagedTensorVersioned *mc_dlpack_give_versioned(mc_tensor *t, int64_t stream);
MC_API int mc_dlpack_take_versioned(mc_tensor *out, struct DLManagedTensorVersioned *m);
MC_API void mc_dlpack_drop_versioned(struct DLManagedTensorVersioned *m);
MC_API int64_t mc_itemsize(int dtype);
MC_API const char *mc_dtype_name(int dtype);
/* dtype that operands of these dtypes promote to, or -1 when there is none. */
MC_API int mc_promote_types(int a, int b);
MC_API int mc_is_contiguous(const mc_tensor *t);
MC_API int mc_shares_storage(const mc_tensor *a, const mc_tensor *b);

/* ---- views ---- `out` shares t's storage (t must be stored, see mc_promote). Axes and indices are
 * 0-based here. */
/* spec: entries {kind, ...} of 4 numbers each: {0, index,0,0} integer, {1, start, count, step}
 * range, {2,0,0,0} new axis. Missing trailing axes are taken whole. */
MC_API int mc_view_index(mc_tensor *out, const mc_tensor *t, int nspec, const int64_t *spec);
MC_API int mc_view_permute(mc_tensor *out, const mc_tensor *t, const int64_t *axes);
MC_API int mc_view_expand(mc_tensor *out, const mc_tensor *t, int ndim, const int64_t *shape);
/* reshape: a view where strides allow it, else MC_ESHAPE with copy==0, or a fresh contiguous copy
 * with copy==1. One -1 allowed. */
MC_API int mc_view_reshape(mc_tensor *out, const mc_tensor *t, int ndim, const int64_t *shape,
                           int copy);
/* windows of `size` every `step` along axis: shape[axis] becomes the count, a last axis of `size`
 * is added. */
MC_API int mc_view_windows(mc_tensor *out, const mc_tensor *t, int axis, int64_t size,
                           int64_t step);
/* The elements [..., k + down, k + right] of two axes as a last axis; offset > 0: right, < 0: down.
 * The other axes keep their order. */
MC_API int mc_view_diagonal(mc_tensor *out, const mc_tensor *t, int first, int second,
                            int64_t offset);
/* real and imaginary parts of a complex tensor as views (part 0, 1). */
MC_API int mc_view_part(mc_tensor *out, const mc_tensor *t, int part);
/* Any layout within t's buffer: strides and offset (from t's first element) in elements; every
 * element must lie inside the buffer. */
MC_API int mc_view_strided(mc_tensor *out, const mc_tensor *t, int ndim, const int64_t *shape,
                           const int64_t *strides, int64_t offset);

/* ---- values ---- */
/* dst[...] = src with broadcasting and dtype conversion (checked: values out of the range of an
 * integer dtype are MC_EINVAL for floats that are not finite, otherwise they wrap like NumPy's
 * astype). */
MC_API int mc_copy(mc_tensor *dst, const mc_tensor *src);
MC_API int mc_fill(mc_tensor *dst, double re, double im);
/* The one element of t: v[0] real (or integer up to 2^53), v[1] imaginary; *exact, unless NULL,
 * receives 64-bit integers. */
MC_API int mc_item(const mc_tensor *t, double v[2], int64_t *exact);
/* Elements [first, first + count) of a contiguous tensor as doubles, two each when it is complex.
 * Every NaN comes as the one that a Lua value can be: LuaJIT takes the bits of others, which a file
 * may hold, for values of other types. */
MC_API int mc_numbers(const mc_tensor *t, int64_t first, int64_t count, double *out);
/* dst at positions (1-based or negative) of an axis = values (accumulate: +=), broadcast; later
 * positions win. */
MC_API int mc_put(mc_tensor *dst, int axis, const mc_tensor *index, const mc_tensor *values,
                  int accumulate);

/* ---- ops ---- */
/* Runs op MC_OP_NAME (base/mc_types.h has the parameters, NULL: none given). Result headers: all
 * zero, or MC_FLAG_OUT with memory that is written into. Operands of other dtypes are converted and
 * broadcast as in the array API. */
MC_API int mc_op(int op, int nout, mc_tensor **out, int nin, const mc_tensor *const *in,
                 const mc_params *p);
MC_API int mc_op1(int op, mc_tensor *out, const mc_tensor *a, const mc_params *p);
MC_API int mc_op2(int op, mc_tensor *out, const mc_tensor *a, const mc_tensor *b);
MC_API int mc_op3(int op, mc_tensor *out, const mc_tensor *a, const mc_tensor *b,
                  const mc_tensor *c);
/* One operand is a number, which has no dtype of its own; swapped: it is the first. */
MC_API int mc_op2_scalar(int op, mc_tensor *out, const mc_tensor *a, double s, int swapped);
MC_API int mc_op2_complex(int op, mc_tensor *out, const mc_tensor *a, double re, double im,
                          int swapped);

#ifndef MC_CDEF
#ifdef __cplusplus
}
#endif
#endif
#endif
