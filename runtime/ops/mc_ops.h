/* mc_ops.h - the table of ops as C sees it: rows (generated from ops.lua), families, and what
 * is known of a call before it runs. */
#ifndef MC_OPS_H
#define MC_OPS_H

#include "tensor/mc_tensor.h"

typedef struct mci_op mci_op;

/* One call of an op: operands as headers. Numbers are operands that carry MCI_WEAK; their value
 * is read through mci_number. */
typedef struct mci_job {
    const mci_op *op;
    const mc_params *params;
    int nin;
    const mc_tensor *const *in;
    int nout; /* read by families whose ops have several results */
} mci_job;

/* What the results of a call look like, found from headers alone. It is large: set its fields. */
#define MCI_RESULTS 16
typedef struct mci_result {
    int nout, compute; /* compute: dtype of the arithmetic, -1 where there is none */
    int dtype[MCI_RESULTS], ndim[MCI_RESULTS];
    int64_t shape[MCI_RESULTS][MC_MAX_RANK];
} mci_result;

static inline void mci_result_set(mci_result *r, int k, int dtype, int ndim, const int64_t *shape)
{
    r->dtype[k] = dtype;
    r->ndim[k] = ndim;
    for (int i = 0; i < ndim; i++) r->shape[k][i] = shape[i];
}
/* One result, no arithmetic. */
static inline int mci_result_one(mci_result *r, int dtype, int ndim, const int64_t *shape)
{
    r->nout = 1;
    r->compute = -1;
    mci_result_set(r, 0, dtype, ndim, shape);
    return MC_OK;
}

struct mci_bound;  /* family/mc_bind.h */
struct mci_row_op; /* family/mc_family.h */

/* A family of ops. infer: dtypes and shapes from headers, all checks that need no elements. exec:
 * the CPU's form; computes into results that are there, of those shapes and dtypes, contiguous or
 * not, whatever they overlap. launches: the form of a device with programs; fills launches, patches
 * and workspace of b, from headers alone. rows: the CPU's form along the last axes of contiguous
 * rows, looked up once (mci_row_op); 0 where the op is to be run as any other. NULL: there is none;
 * without infer the family's driver does all at once. */
typedef struct mci_family {
    const char *name;
    int (*infer)(const mci_job *job, mci_result *r);
    int (*exec)(const mci_job *job, const mci_result *r, mc_tensor *const *out);
    int (*launches)(int device, const mci_job *job, const mci_result *r, mc_tensor *const *out,
                    struct mci_bound *b);
    int (*rows)(struct mci_row_op *r, const mci_op *op, const mc_tensor *out, const mc_tensor *in,
                const mc_params *p);
} mci_family;

typedef int (*mci_run_fn)(const mci_op *op, int nout, mc_tensor **out, int nin,
                          const mc_tensor *const *in, const mc_params *p);

enum { MCI_PROMOTE_NUMERIC, MCI_PROMOTE_FLOAT, MCI_PROMOTE_BOOL };
enum { MCI_RESULT_SAME, MCI_RESULT_BOOL, MCI_RESULT_REAL, MCI_RESULT_I64 };
/* How a reduction leaves NaN out: not at all, a copy with `fill`, a copy that holds the number
 * before, a kernel that does it and counts, one whose results hold the count. */
enum { MCI_SKIP_NONE, MCI_SKIP_FILL, MCI_SKIP_HOLD, MCI_SKIP_COUNT, MCI_SKIP_KERNEL };
/* What is made of the joined pieces of a row: nothing, a mean, a spread or shape from moments,
 * a logarithm, NaN or an error without numbers. */
enum {
    MCI_FINISH_NONE,
    MCI_FINISH_MEAN,
    MCI_FINISH_VAR,
    MCI_FINISH_STD,
    MCI_FINISH_SKEW,
    MCI_FINISH_KURTOSIS,
    MCI_FINISH_LOG,
    MCI_FINISH_NAN,
    MCI_FINISH_REFUSE
};

struct mci_op {
    const char *name;
    int16_t id, family;     /* MCI_FAMILY_* */
    mci_run_fn run;
    uint8_t nin, nout, promote, result;
    int16_t kernel;         /* kernel of the op's own name, -1 none */
    uint8_t where;          /* the first operand is a condition */
    uint8_t empty_error;    /* nothing to reduce is an error */
    const char *guard;      /* what a kernel's status means */
    /* dtype of the arithmetic for operands of a dtype, -1: not supported */
    int8_t compute[MC_NDTYPE];
    int16_t pieces;         /* reductions: kernel of the pieces, -1 none */
    uint8_t skip, finish;   /* reductions: MCI_SKIP_*, MCI_FINISH_* */
    uint8_t reverse;        /* the first parameter of kind int or bool is `reverse` */
    uint8_t joins;          /* axes a result has more than the operands that are joined */
    uint8_t variant;        /* MCI_<FAMILY>_<VARIANT>, 0 where rows have none */
    /* reductions: stands for NaN that is left out; the value over nothing */
    double fill, nothing;
    uint8_t by_value;       /* the sizes of its results may depend on elements: CPU only */
    const char *operands;   /* linear algebra: one letter for each, as messages name them */
};

extern const mci_op mci_ops[];
extern const int mci_nop; /* how many */

/* Ops that were added while the program runs (mc_registry.c): their number, at least mci_nop, is
 * given by _add; they are never taken away. An op of a number or name, NULL when there is none. */
int mci_op_add(mci_op *op);
const mci_op *mci_op_added(int id);
const mci_op *mci_op_named(const char *name);
static inline const mci_op *mci_op_at(int id)
{
    return id >= 0 && id < mci_nop ? &mci_ops[id] : mci_op_added(id);
}

/* Runs an op where its operands are (mc_bind.c): nothing is recorded. */
int mci_op_run(const mci_op *op, int nout, mc_tensor **out, int nin, const mc_tensor *const *in,
               const mc_params *p);

/* MCI_FAMILY_*, MCI_<FAMILY>_<VARIANT> where rows say `variant`, and mci_<family>_run of every
 * family in the table, one per mc_<family>.c. */
#include "mc_gen_families.h"
/* copies, fills and writes to positions are no rows; rows that were added are one family */
enum { MCI_FAMILY_COPY = MCI_NFAMILY, MCI_FAMILY_PUT, MCI_FAMILY_ADDED, MCI_FAMILIES };
extern const mci_family mci_families[MCI_FAMILIES]; /* mc_family.c */

#endif
