/* mc_unique.c - driver of group_runs: where runs of equal elements of a sorted row begin, how long
 * they are, who belongs to them.
 *
 * Elements are equal as the Python array API has it: NaN differs from NaN, -0 equals 0, complex
 * numbers in both parts. What is sorted and how is the caller's business
 * (lua/mascon/array/sets.lua). Letters: n elements, u runs. */
#include "family/mc_family.h"

/* begins[i] = 1 where element i differs from the one before; the type is that of one part, `parts`
 * of them make an element */
#define BEGINS(T, parts)                                                                   \
    do {                                                                                   \
        const T *x = v;                                                                    \
        for (int64_t i = from > 0 ? from : 1; i < to; i++) {                               \
            int differs = x[i * (parts)] != x[(i - 1) * (parts)];                          \
            if ((parts) == 2)                                                              \
                differs |= x[i * (parts) + (parts) - 1] != x[i * (parts) - 1];             \
            begins[i] = (uint8_t)differs;                                                  \
        }                                                                                  \
    } while (0)

typedef struct mark_job {
    int dtype;
    int64_t n;
    const void *v;
    uint8_t *begins;
} mark_job;

#define MARK_TASK 131072 /* elements per task: some 30 us */

static void mark(void *arg, int64_t begin, int64_t end, int worker)
{
    const mark_job *j = arg;
    const int64_t from = begin * MARK_TASK, to = end * MARK_TASK < j->n ? end * MARK_TASK : j->n;
    const void *v = j->v;
    uint8_t *begins = j->begins;
    (void)worker;
    if (from == 0)
        begins[0] = 1;
    switch (j->dtype) {
    case MC_I16: BEGINS(int16_t, 1); break;
    case MC_I32: BEGINS(int32_t, 1); break;
    case MC_I64: BEGINS(int64_t, 1); break;
    case MC_F32: BEGINS(float, 1); break;
    case MC_F64: BEGINS(double, 1); break;
    case MC_C64: BEGINS(float, 2); break;
    case MC_C128: BEGINS(double, 2); break;
    default: BEGINS(uint8_t, 1); break; /* bool, u8, i8 */
    }
}

/* in: the sorted row [n] and, for results 3 and 4, the positions [n] that sorted it. out: first
 * position of each run in the sorted row [u], counts [u], smallest original position of each run
 * [u], run of each original element [n]; positions count from p->base. */
int mci_unique_run(const mci_op *op, int nout, mc_tensor **outs, int nin,
                   const mc_tensor *const *in, const mc_params *p)
{
    char s1[MCI_TEXT], s2[MCI_TEXT];
    const mc_tensor *t = in[0], *order = nin > 1 ? in[1] : NULL;
    mc_tensor v = {0}, perm = {0};
    uint8_t *begins = NULL;
    int given[4] = {0}, made = 0, wanted = order ? 4 : 2;
    if (nout != wanted)
        return mci_error(MC_EINVAL,
                         "%s: %d results from %d operands; it gives 2 from one and 4 from two",
                         op->name, nout, nin);
    if (t->ndim != 1 ||
        (order && (order->ndim != 1 || order->numel != t->numel || order->dtype != MC_I64)))
        return mci_error(MC_ESHAPE,
                         "%s: operands must be one sorted row and i64 positions of its length, "
                         "they are %s and %s",
                         op->name, mci_tensor_text(s1, sizeof s1, t),
                         order ? mci_tensor_text(s2, sizeof s2, order) : "none");
    int64_t n = t->numel, u = 0;
    int rc = mci_materialize(&v, t, op->compute[t->dtype]);
    if (!rc && order)
        rc = mci_materialize(&perm, order, MC_I64);
    const int64_t *from = perm.data;
    for (int64_t i = 0; !rc && order && i < n; i++)
        if (from[i] < p->base || from[i] >= n + p->base)
            rc = mci_error(MC_ESHAPE, "%s: position %lld is outside %s", op->name,
                           (long long)from[i], mci_tensor_text(s1, sizeof s1, t));
    if (!rc && !(begins = mci_alloc((size_t)(n > 0 ? n : 1))))
        rc = mc_errstatus();
    if (!rc) {
        mark_job j = {op->compute[t->dtype], n, v.data, begins};
        rc = mci_parallel((n + MARK_TASK - 1) / MARK_TASK, mark, &j);
        for (int64_t i = 0; !rc && i < n; i++)
            u += begins[i];
    }
    mc_drop(&v);
    for (; !rc && made < nout; made++) {
        given[made] = (outs[made]->flags & MC_FLAG_OUT) != 0;
        rc = mci_out(op->name, outs[made], MC_I64, 1, made == 3 ? &n : &u);
        if (!rc && !mci_contiguous(outs[made]))
            rc = mci_error(MC_EINVAL, "%s: results must be contiguous", op->name);
    }
    if (!rc) {
        int64_t *start = outs[0]->data, *count = outs[1]->data, k = -1;
        for (int64_t i = 0; i < n; i++)
            if (begins[i])
                start[++k] = i + p->base;
        for (k = 0; k < u; k++)
            count[k] = (k + 1 < u ? start[k + 1] : n + p->base) - start[k];
        if (order) {
            int64_t *first = outs[2]->data, *inverse = outs[3]->data;
            k = -1;
            for (int64_t i = 0; i < n && !rc; i++) {
                if (i % MARK_TASK == 0 && mc_cancel_pending())
                    rc = mci_error(MC_ECANCELLED, "%s: interrupted", op->name);
                k += begins[i];
                if (begins[i] || from[i] < first[k])
                    first[k] = from[i];
                inverse[from[i] - p->base] = k + p->base;
            }
        }
    }
    mci_free(begins);
    mc_drop(&perm);
    for (int k = 0; rc && k < made; k++)
        mci_out_fail(outs[k], given[k]);
    return rc;
}
