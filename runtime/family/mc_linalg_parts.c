/* mc_linalg_parts.c - what the methods of linear algebra and their driver share: results and work
 * areas described, errors that name operands, operands of one problem of a batch. */
#include "family/mc_linalg.h"

#include <limits.h>
#include <stdio.h>

#define BLOCK 64 /* columns turned at a time: two lines of cache for every row of them */

/* ---- what methods use ---- */

int64_t mci_linalg_extra(mci_linalg *j, int64_t count, int64_t size)
{
    int64_t at = j->extra;
    j->extra += (count * size + 63) & ~(int64_t)63;
    return at;
}

void mci_linalg_result(mci_linalg *j, int k, int rank, int dtype, int64_t rows, int64_t cols,
                       int from)
{
    j->out[k] = (mci_part_out){
        .rank = rank, .dtype = dtype, .rows = rows, .cols = rank == 2 ? cols : 1, .from = from
    };
}

int mci_linalg_wrong(const mci_linalg *j, int status, const char *what, const char *advice)
{
    char text[3 * MCI_TEXT], one[MCI_TEXT];
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < j->nin && used < sizeof text - MCI_TEXT; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%c is %s", i ? " and " : "",
                                 j->op->operands[i], mci_tensor_text(one, sizeof one, j->t[i]));
    return mci_error(status, "%s: %s, %s; %s", j->op->name, what, text, advice);
}

int mci_linalg_fits(const mci_linalg *j, double elements)
{
    if (elements < INT_MAX) return MC_OK;
    return mci_linalg_wrong(j, MC_EUNSUPPORTED, "the work area has more than 2147483647 elements",
                            "LAPACK counts with 32 bits; use a smaller matrix");
}

int mci_linalg_square(const mci_linalg *j, int k)
{
    if (j->in[k].rows == j->in[k].cols) return MC_OK;
    return mci_linalg_wrong(j, MC_ESHAPE, "the matrices are not square",
                            "the last two axes must be equal");
}

void mci_linalg_conj(int type, void *a, int64_t n)
{
    if (type == 'c')
        for (float *f = a, *end = f + 2 * n; f < end; f += 2) f[1] = -f[1];
    else if (type == 'z')
        for (double *d = a, *end = d + 2 * n; d < end; d += 2) d[1] = -d[1];
}

/* ---- one problem of a batch ---- */

void mci_linalg_turn(mci_cast_fn fn, int64_t rows, int64_t cols, char *dst, int64_t dsize,
                     int64_t ld, const char *src, int64_t ssize, int64_t rs, int64_t cs)
{
    int64_t block = rs == 1 ? rows : BLOCK;
    for (int64_t r = 0; r < rows; r += block) {
        int64_t n = rows - r < block ? rows - r : block;
        for (int64_t c = 0; c < cols; c++)
            fn(n, dst + (c * ld + r) * dsize, 1, src + (r * rs + c * cs) * ssize, rs);
    }
}

static void load(const mci_part_in *x, const mc_tensor *t, int64_t at, char *dst)
{
    mci_cast_fn fn = mci_cast(x->dtype, t->dtype);
    int64_t dsize = MCI_SIZE(x->dtype), ssize = MCI_SIZE(t->dtype);
    int64_t cs = x->rank == 2 ? t->strides[t->ndim - 1] : 0, rs = t->strides[t->ndim - x->rank];
    const char *src = (const char *)t->data + at * ssize;
    if (!x->as_is)
        mci_linalg_turn(fn, x->rows, x->cols, dst, dsize, x->ld, src, ssize, rs, cs);
    else if ((cs == 1 && rs == x->cols && x->ld == x->cols) ||
             (x->rank == 1 && rs == 1 && x->ld == 1))
        fn(x->rows * x->cols, dst, 1, src, 1);
    else
        mci_linalg_turn(fn, x->cols, x->rows, dst, dsize, x->ld, src, ssize, cs, rs);
}

int64_t mci_linalg_offset(const mci_batch *b, int k, int64_t at)
{
    int64_t rest = at, offset = 0;
    for (int i = b->nb - 1; i >= 0; i--) {
        offset += rest % b->shape[i] * b->j->in[k].batch[i];
        rest /= b->shape[i];
    }
    return offset;
}

char *mci_linalg_place(const mci_batch *b, int k, int64_t at)
{
    const mci_part_out *x = &b->j->out[k];
    return (char *)b->target[k]->data + at * x->rows * x->cols * MCI_SIZE(x->dtype);
}

void mci_linalg_load(const mci_batch *b, int k, int64_t at, char *dst)
{
    load(&b->j->in[k], b->j->t[k], mci_linalg_offset(b, k, at), dst);
}

void mci_linalg_bad(mci_batch *b, int64_t at, int why)
{
    int64_t mine = at << 8 | why, seen = atomic_load(&b->bad);
    while (mine < seen && !atomic_compare_exchange_weak(&b->bad, &seen, mine))
        ;
}
