/* mc_linalg_small.c - many small matrices: tiles of a batch through the kernels of the small
 * family.
 *
 * Used from FEW matrices of at most MCK_SMALL rows on; fewer go through LAPACK, with results
 * that agree within the tolerance class. Matrices that lie as the kernels want them are read in
 * place. Holds the split into tiles. */
#include "family/mc_linalg.h"
#include "../../kernels/mck_small.h"

#include <string.h>

#define FEW 8           /* below, tiles run half empty */
#define TASK_TILES 64   /* about 50 us for matrices of 4 rows */

/* Most rows for which a kernel was worth it (see the head of small_linalg.c), by type s, d, c,
 * z. */
static const struct {
    int kernel;
    int8_t most[4];
} worth[] = {
    {MCK_K_SMALL_SOLVE, {8, 8, 8, 8}},
    {MCK_K_SMALL_INV, {8, 8, 8, 5}},
    {MCK_K_SMALL_LU, {8, 8, 8, 6}},
    {MCK_K_SMALL_CHOLESKY, {8, 6, 6, 4}},
};

typedef struct small_job {
    mci_batch *b;
    mck_small_fn fn;
    int64_t lanes, tiles, bytes;
} small_job;

/* Rows contiguous and of the right dtype: no copy is needed. */
static int in_place(const mci_linalg *j, int k)
{
    const mc_tensor *t = j->t[k];
    const mci_part_in *x = &j->in[k];
    if (t->dtype != x->dtype)
        return 0;
    int64_t cs = x->rank == 2 ? t->strides[t->ndim - 1] : 1, rs = t->strides[t->ndim - x->rank];
    return (cs == 1 || x->cols == 1) && (rs == x->cols || x->rows == 1);
}

static void small_tile(const small_job *job, int64_t first, char *area)
{
    mci_batch *b = job->b;
    const mci_linalg *j = b->j;
    int64_t left = b->count - first, count = left < job->lanes ? left : job->lanes,
            n = j->in[0].rows;
    int64_t pivots[MCK_SMALL_LANES][MCK_SMALL];
    int32_t bad[MCK_SMALL_LANES] = {0};
    int here[2] = { in_place(j, 0), j->nin == 2 && in_place(j, 1) },
        det = j->op->variant == MCI_LINALG_DET;
    mck_small s = { .count = count,
                    .n = n,
                    .k = j->nin == 2 ? j->in[1].cols : n,
                    .bad = bad,
                    .upper = (int)j->p->i[1] };
    for (int64_t l = 0; l < count; l++) {
        for (int k = 0; k < j->nin; k++) {
            const void **from = k ? s.b : s.a;
            if (here[k]) {
                from[l] = (const char *)j->t[k]->data +
                          mci_linalg_offset(b, k, first + l) * MCI_SIZE(j->dtype);
            } else {
                mci_linalg_load(b, k, first + l, area);
                from[l] = area;
                area += MCK_SMALL * MCK_SMALL * job->bytes;
            }
        }
        s.pivot[l] = pivots[l];
        s.out[l] = det ? area : mci_linalg_place(b, 0, first + l);
        area += det ? MCK_SMALL * MCK_SMALL * job->bytes : 0;
    }
    job->fn(&s);
    for (int64_t l = 0; l < count; l++) {
        if (bad[l] && j->small_reason)
            mci_linalg_bad(b, first + l, j->small_reason);
        if (det) {
            int ipiv[MCK_SMALL];
            for (int64_t i = 0; i < n; i++)
                ipiv[i] = (int)pivots[l][i] + 1;
            mci_linalg_product(j, s.out[l], ipiv, mci_linalg_place(b, 0, first + l),
                               j->nout == 2 ? mci_linalg_place(b, 1, first + l) : NULL);
        } else if (j->op->variant == MCI_LINALG_LU_FACTOR) {
            int64_t *out = (int64_t *)(void *)mci_linalg_place(b, 1, first + l);
            for (int64_t i = 0; i < n; i++)
                out[i] = pivots[l][i] + j->p->base;
        }
    }
}

static void small_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const small_job *job = arg;
    int64_t first = begin * TASK_TILES,
            last = end * TASK_TILES < job->tiles ? end * TASK_TILES : job->tiles;
    for (int64_t i = first; i < last && !mc_cancel_pending(); i++)
        small_tile(job, i * job->lanes, job->b->areas + worker * job->b->area);
}

static int64_t most_rows(const mci_linalg *j)
{
    int type = j->type == 's' ? 0 : j->type == 'd' ? 1 : j->type == 'c' ? 2 : 3;
    for (size_t i = 0; j->small && i < sizeof worth / sizeof worth[0]; i++)
        if (worth[i].kernel == j->small)
            return worth[i].most[type];
    return 0;
}

int mci_linalg_small(mci_batch *b, int *rc)
{
    mci_linalg j = *b->j;
    int64_t n = j.in[0].rows, k = j.nin == 2 ? j.in[1].cols : 1;
    if (b->count < FEW || n < 1 || n > most_rows(&j) || k < 1 || k > MCK_SMALL)
        return 0;
    for (int i = 0; i < j.nin; i++) { /* the kernels want rows, close together */
        j.in[i].as_is = 1;
        j.in[i].ld = j.in[i].cols;
    }
    small_job job = { .b = b,
                      .fn = (mck_small_fn)mci_kernel_get(j.small, j.dtype),
                      .bytes = MCI_SIZE(j.dtype) };
    const mci_linalg *given = b->j;
    b->j = &j;
    job.lanes = MCK_SMALL_TILE(MCI_SIZE(j.real));
    job.tiles = (b->count + job.lanes - 1) / job.lanes;
    int64_t tasks = (job.tiles + TASK_TILES - 1) / TASK_TILES;
    b->area = 3 * MCK_SMALL_LANES * MCK_SMALL * MCK_SMALL * job.bytes;
    b->areas = mci_alloc((size_t)(b->area * mci_workers(tasks)));
    *rc = b->areas ? mci_parallel(tasks, small_task, &job) : mc_errstatus();
    mci_free(b->areas);
    b->j = given;
    return 1;
}
