/* mc_plugin.h - the one header of a workflow's native part: ops written in C, added to the library
 * when the workflow is loaded.
 *
 * A workflow NAME is a folder workflows/NAME/ with init.lua. Its native part is a shared object
 * mc_wf_NAME.so and a list of rows, rows.lua, both in that folder (those of mascon itself are
 * built from kernels/workflows/NAME/). In Lua require('mascon.base.workflow').native 'NAME' loads
 * both and gives the functions; a row has the fields of the op table (runtime/ops/ops.lua). In C:
 *
 *   #include "mc_plugin.h"
 *   // tasks [begin, end)
 *   static void half(const void *args, int64_t begin, int64_t end, void *work)
 *   {
 *       const double *const *a = args;
 *       (void)work;
 *       for (int64_t i = begin; i < end; i++) ((double *)a[1])[i] = a[0][i] / 2;
 *   }
 *   static int infer_half(const mc_call *c)                // what headers say: dtypes and shapes
 *   {
 *       int rc = mc_operand(c, 0, MC_F64, 0);              // contiguous f64, or an error
 *       return rc ? rc : mc_shape(c, 0, MC_F64, c->in[0]->ndim, c->in[0]->shape);
 *   }
 *   static int run_half(const mc_call *c)                  // elements
 *   {
 *       const void *a[2] = {c->in[0]->data, mc_result(c, 0)};
 *       return mc_tasks(half, a, c->in[0]->numel, 0);
 *   }
 *   MC_PLUGIN({"moon_half", infer_half, run_half})
 *
 *   gcc -std=c11 -O3 -march=x86-64-v3 -ffp-contract=off -fPIC -fvisibility=hidden -shared \
 *     -I INCLUDE -o mc_wf_moon.so moon.c
 *
 * INCLUDE: include/mascon of an installation. The shared object never links libmascon: it receives
 * a table of functions. Kernels that exist for several instruction levels are compiled once for
 * each with -DMC_ISA=v2|v3|v4, and mc_isa() chooses. Everything runs on the calling thread but the
 * functions given to mc_parallel and mc_tasks, which may only compute. Errors: a status and a text
 * that names the row, what was given and what to do. */
#ifndef MC_PLUGIN_H
#define MC_PLUGIN_H

#include "base/mc_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MC_PLUGIN_ABI 2
#define MC_TEXT 128 /* bytes that describe a tensor in a message */

/* One call of a row: operands as they were given (any layout), results, parameters in the order of
 * the row. */
typedef struct mc_call {
    const char *name; /* of the row */
    int nin, nout;
    const mc_tensor *const *in;
    mc_tensor *const *out;
    const mc_params *params;
    const void *row;
    int infer; /* headers only */
} mc_call;

/* A row is called twice, each time for 0, or a status with the text left by mc_error.
 * infer: says what the results look like (mc_shape or mc_wanted for each) from headers and
 * parameters, and checks what these tell. It may not read elements: operands may lie in the memory
 * of a device. run: computes. Every operand and result is in host memory; results have the dtypes
 * and shapes that were inferred, are contiguous and share no memory with operands; their elements
 * are not set. */
typedef struct mc_plugin_row {
    const char *name;
    int (*infer)(const mc_call *c);
    int (*run)(const mc_call *c);
} mc_plugin_row;

/* fn(arg, begin, end, worker): tasks [begin, end) by the worker of this number. */
typedef void (*mc_parallel_fn)(void *arg, int64_t begin, int64_t end, int worker);
/* fn(args, begin, end, work): tasks [begin, end) with a workspace of the worker's own, 64-byte
 * aligned. */
typedef void (*mc_tasks_fn)(const void *args, int64_t begin, int64_t end, void *work);

/* A plan of one transform of length n: execute(plan, in, out) on rows that start at multiples of
 * `align` bytes. Give back with mc_fft_done. */
typedef struct mc_fft_use {
    void *plan;
    void (*execute)(void *plan, const void *in, void *out);
    int slot, held, align;
} mc_fft_use;

/* Hands out results in the order of the bits of `want`: { c, want }. */
typedef struct mc_results {
    const mc_call *call;
    int64_t want;
    int next, rc;
} mc_results;

/* What the library gives. The functions below are the way to it. */
typedef struct mc_host_table {
    int abi;
    /* errors */
    int (*error)(int status, const char *fmt, ...);
    int (*status)(void);
    /* memory: 64-byte aligned, counted; NULL with the error set */
    void *(*alloc)(size_t bytes);
    void (*free)(void *p);
    int (*size)(int64_t a, int64_t b, int64_t *product);
    /* work */
    int (*parallel)(int64_t tasks, mc_parallel_fn fn, void *arg);
    int (*workers)(int64_t tasks);
    int (*tasks)(mc_tasks_fn fn, const void *args, int64_t tasks, int64_t work);
    int (*cancelled)(void);
    int (*isa)(void);
    double (*clock)(void);
    /* of a debug build, else NULL */
    void (*assert_failed)(const char *cond, const char *file, int line);
    /* tensors */
    char *(*text)(char *buf, size_t n, const mc_tensor *t);
    const char *(*dtype_name)(int dtype);
    int (*dtype_size)(int dtype);
    int (*dtype_kind)(int dtype);
    int (*contiguous)(const mc_tensor *t);
    int (*overlap)(const mc_tensor *a, const mc_tensor *b);
    int (*axis)(const mc_call *c, int k, int64_t given, int *axis);
    int (*broadcast)(const mc_call *c, int *ndim, int64_t *shape);
    void (*broadcast_strides)(const mc_tensor *t, int ndim, int64_t *strides);
    int (*promoted)(const mc_call *c, int *dtype);
    int (*dense)(mc_tensor *copy, const mc_tensor *t, int dtype);
    void (*gather)(const mc_tensor *t, int64_t first, int64_t count, int dtype, void *buf);
    void (*scatter)(const mc_tensor *t, int64_t first, int64_t count, int dtype, const void *buf);
    int (*create)(mc_tensor *t, int dtype, int ndim, const int64_t *shape);
    void (*drop)(mc_tensor *t);
    /* operands and results of a call */
    int (*operand)(const mc_call *c, int k, int dtype, int64_t least);
    int (*shape)(const mc_call *c, int k, int dtype, int ndim, const int64_t *shape);
    void *(*wanted)(mc_results *r, int64_t bit, int dtype, int ndim, const int64_t *shape);
    int (*finish)(mc_results *r, int rc);
    /* other ops, transforms, products */
    int (*op)(const char *name, int nout, mc_tensor **out, int nin, const mc_tensor *const *in,
              const mc_params *p);
    int (*fft_plan)(mc_fft_use *use, int kind, int prec, int64_t n);
    void (*fft_done)(mc_fft_use *use);
    int (*gemm)(int type, int transa, int transb, int64_t m, int64_t n, int64_t k, const void *a,
                int64_t lda, const void *b, int64_t ldb, void *c, int64_t ldc);
} mc_host_table;

extern const mc_host_table *mc_host_;

/* ---- errors ---- */
/* Writes the text of the error and gives back the status: return mc_error(MC_ESHAPE, "%s: ...",
 * c->name, ...). */
#define mc_error(...) (mc_host_->error(__VA_ARGS__))
/* Status of the last failing call of this thread. */
static inline int mc_status(void) { return mc_host_->status(); }

/* ---- memory ---- */
static inline void *mc_alloc(size_t bytes) { return mc_host_->alloc(bytes); }
static inline void mc_free(void *p) { mc_host_->free(p); }
/* *product = a b; an error when it does not fit. */
static inline int mc_size(int64_t a, int64_t b, int64_t *product)
{
    return mc_host_->size(a, b, product);
}

/* ---- work ---- */
/* Tasks 0 .. tasks - 1 on the worker threads. Cut by shapes alone, never by the number of threads:
 * then neither do the bits depend on it. MC_ECANCELLED after Ctrl-C. */
static inline int mc_parallel(int64_t tasks, mc_parallel_fn fn, void *arg)
{
    return mc_host_->parallel(tasks, fn, arg);
}
/* Workers that it may use. */
static inline int mc_workers(int64_t tasks) { return mc_host_->workers(tasks); }
/* The same with `work` bytes for each worker. */
static inline int mc_tasks(mc_tasks_fn fn, const void *args, int64_t tasks, int64_t work)
{
    return mc_host_->tasks(fn, args, tasks, work);
}
/* Whether Ctrl-C was pressed: long work between calls of mc_parallel asks. */
static inline int mc_cancelled(void) { return mc_host_->cancelled(); }
/* Instruction level in use: 0 v2, 1 v3, 2 v4. */
static inline int mc_isa(void) { return mc_host_->isa(); }
static inline double mc_seconds(void) { return mc_host_->clock(); }

/* ---- tensors ---- */
/* `dtype[shape]@device` for messages, into buf of MC_TEXT bytes. Returns buf. */
static inline char *mc_text(char *buf, size_t n, const mc_tensor *t)
{
    return mc_host_->text(buf, n, t);
}
static inline const char *mc_dtype_text(int dtype) { return mc_host_->dtype_name(dtype); }
static inline int mc_dtype_bytes(int dtype) { return mc_host_->dtype_size(dtype); }
/* 'b' 'u' 'i' 'f' 'c' */
static inline int mc_dtype_kind(int dtype) { return mc_host_->dtype_kind(dtype); }
/* Elements in row-major order without gaps. */
static inline int mc_is_dense(const mc_tensor *t) { return mc_host_->contiguous(t); }
/* -1: no element in common; 0: the same elements in the same places; 1: some. */
static inline int mc_overlap(const mc_tensor *a, const mc_tensor *b)
{
    return mc_host_->overlap(a, b);
}
/* A number of an axis of operand k, from the end when negative (0-based, as parameters are), made
 * 0-based; an error when there is none. */
static inline int mc_axis(const mc_call *c, int k, int64_t given, int *axis)
{
    return mc_host_->axis(c, k, given, axis);
}
/* Shape that all operands are broadcast to, and the strides of one under it. */
static inline int mc_broadcast(const mc_call *c, int *ndim, int64_t *shape)
{
    return mc_host_->broadcast(c, ndim, shape);
}
static inline void mc_broadcast_strides(const mc_tensor *t, int ndim, int64_t *strides)
{
    mc_host_->broadcast_strides(t, ndim, strides);
}
/* dtype in which the operands meet; an error when the row is not defined for it. */
static inline int mc_promoted(const mc_call *c, int *dtype) { return mc_host_->promoted(c, dtype); }
/* A dense copy of t in dtype (zero `copy` before, mc_drop it after). */
static inline int mc_dense(mc_tensor *copy, const mc_tensor *t, int dtype)
{
    return mc_host_->dense(copy, t, dtype);
}
/* `count` elements from flat place `first` on, converted, out of t into buf or back. */
static inline void mc_gather(const mc_tensor *t, int64_t first, int64_t count, int dtype, void *buf)
{
    mc_host_->gather(t, first, count, dtype, buf);
}
static inline void mc_scatter(const mc_tensor *t, int64_t first, int64_t count, int dtype,
                              const void *buf)
{
    mc_host_->scatter(t, first, count, dtype, buf);
}
/* A tensor of one's own in a zeroed header, contiguous, its elements not set; mc_drop it after. */
static inline int mc_make(mc_tensor *t, int dtype, int ndim, const int64_t *shape)
{
    return mc_host_->create(t, dtype, ndim, shape);
}
static inline void mc_give_back(mc_tensor *t) { mc_host_->drop(t); }

/* ---- operands and results of a call ---- */
/* Operand k (from 0) must be contiguous, of dtype (any when < 0), with at least `least`
 * elements. */
static inline int mc_operand(const mc_call *c, int k, int dtype, int64_t least)
{
    return mc_host_->operand(c, k, dtype, least);
}
/* In infer: result k (from 0) has this dtype and shape. */
static inline int mc_shape(const mc_call *c, int k, int dtype, int ndim, const int64_t *shape)
{
    return mc_host_->shape(c, k, dtype, ndim, shape);
}
/* In run: memory of result k. */
static inline void *mc_result(const mc_call *c, int k)
{
    return c->out[k]->data;
}
/* The next result when this bit is wanted, else NULL: in infer as mc_shape (NULL, too), in run its
 * memory. NULL once r->rc is set. */
static inline void *mc_wanted(mc_results *r, int64_t bit, int dtype, int ndim, const int64_t *shape)
{
    return mc_host_->wanted(r, bit, dtype, ndim, shape);
}
/* rc, else r->rc, or an error when not all results were handed out. */
static inline int mc_finish(mc_results *r, int rc) { return mc_host_->finish(r, rc); }

/* ---- other ops, transforms, products ---- */
/* An op of the library, by its name in the op table, into zeroed headers. */
static inline int mc_op_call(const char *name, int nout, mc_tensor **out, int nin,
                             const mc_tensor *const *in, const mc_params *p)
{
    return mc_host_->op(name, nout, out, nin, in, p);
}
/* kind: 0 forward, 1 backward, 2 real to complex (n / 2 + 1 bins), 3 back (its input is spoiled);
 * not normalised. prec: 4 f32, 8 f64. */
static inline int mc_fft_plan(mc_fft_use *use, int kind, int prec, int64_t n)
{
    return mc_host_->fft_plan(use, kind, prec, n);
}
static inline void mc_fft_done(mc_fft_use *use) { mc_host_->fft_done(use); }
/* C = A B, row-major, one thread. type: 's' f32, 'd' f64, 'c' c64, 'z' c128. */
static inline int mc_gemm(int type, int transa, int transb, int64_t m, int64_t n, int64_t k,
                          const void *a, int64_t lda, const void *b, int64_t ldb, void *c,
                          int64_t ldc)
{
    return mc_host_->gemm(type, transa, transb, m, n, k, a, lda, b, ldb, c, ldc);
}

/* x where the plug-in was compiled with kernels of the level (-DMC_HAS_v3), else 0: static const
 * ops *const t[3] = {MC_LEVELS(my_ops)}; t[mc_isa()] */
#ifdef MC_HAS_v2
#define MC_LEVEL_v2(x) &x##_v2
#else
#define MC_LEVEL_v2(x) NULL
#endif
#ifdef MC_HAS_v3
#define MC_LEVEL_v3(x) &x##_v3
#else
#define MC_LEVEL_v3(x) NULL
#endif
#ifdef MC_HAS_v4
#define MC_LEVEL_v4(x) &x##_v4
#else
#define MC_LEVEL_v4(x) NULL
#endif
#define MC_LEVELS(x) MC_LEVEL_v2(x), MC_LEVEL_v3(x), MC_LEVEL_v4(x)

/* What the library looks for: the rows by name, { "moon_half", infer_half, run_half }, ... Stands
 * once, in one file of the plug-in. */
typedef const mc_plugin_row *(*mc_plugin_rows_fn)(const mc_host_table *host);
#ifdef MC_DEBUG /* what mc_assert calls */
#define MC_PLUGIN_ASSERT                                                 \
    void mci_assert_failed(const char *cond, const char *file, int line) \
    {                                                                    \
        mc_host_->assert_failed(cond, file, line);                       \
    }
#else
#define MC_PLUGIN_ASSERT
#endif
#define MC_PLUGIN(...)                                                             \
    const mc_host_table *mc_host_;                                                 \
    MC_PLUGIN_ASSERT                                                               \
    MC_API const mc_plugin_row *mc_plugin_rows(const mc_host_table *host);         \
    MC_API const mc_plugin_row *mc_plugin_rows(const mc_host_table *host)          \
    {                                                                              \
        static const mc_plugin_row rows[] = { __VA_ARGS__, { NULL, NULL, NULL } }; \
        if (host->abi != MC_PLUGIN_ABI) return NULL;                               \
        mc_host_ = host;                                                           \
        return rows;                                                               \
    }

#ifdef __cplusplus
}
#endif
#endif
