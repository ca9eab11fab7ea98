/* mc_conv_point.c - convolutions of one tap as products of matrices.
 *
 * With one tap, no stride and no padding each sample is a matrix [channels, places], and y = w x,
 * x = w^T y; the gradient of w is the sum over the samples of y x^T, joined in f64 in their order.
 * Samples are multiplied one by one, and convolutions of their own one after the other, so that
 * none depends on the others. */
#include "family/mc_conv.h"

#include "base/mc_memory.h"

#define PLACES 64              /* below, a sample is too small a matrix */
#define CHANNELS 16
#define ROOM (8 << 20)         /* bytes of products of samples at a time */
#define PIECE 16384            /* elements of a task that adds them up */

int mci_conv_by_point(const mci_conv *c)
{
    int64_t places = 1;
    if (c->g != 1 || c->og < CHANNELS || c->cg < CHANNELS) return 0;
    for (int k = 0; k < 3; k++) {
        const mci_conv_axis *ax = &c->axis[k];
        if (ax->taps != 1 || ax->stride != 1 || ax->in != ax->out) return 0;
        places *= ax->out;
    }
    return places >= PLACES;
}

/* A header over contiguous memory. */
static mc_tensor matrix(const mc_tensor *t, void *data, int64_t n, int64_t rows, int64_t columns)
{
    mc_tensor v = { .data = data, .dtype = t->dtype, .ndim = 3, .numel = n * rows * columns,
                    .flags = MC_FLAG_OUT };
    v.shape[0] = n;
    v.shape[1] = rows;
    v.shape[2] = v.strides[1] = columns;
    v.strides[0] = rows * columns;
    v.strides[2] = 1;
    return v;
}

static void turn(mc_tensor *t)
{
    const int64_t rows = t->shape[1], step = t->strides[1];
    t->shape[1] = t->shape[2];
    t->strides[1] = t->strides[2];
    t->shape[2] = rows;
    t->strides[2] = step;
}

typedef struct join_job {
    double *sum;
    const mc_tensor *part;
    int64_t n;
} join_job;

static void join_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const join_job *j = arg;
    (void)end;
    (void)worker;
    const int64_t lo = begin * PIECE, hi = lo + PIECE < j->n ? lo + PIECE : j->n;
    for (int64_t s = 0; s < j->part->shape[0]; s++) {
        if (j->part->dtype == MC_F32) {
            const float *v = (const float *)j->part->data + s * j->n;
            for (int64_t i = lo; i < hi; i++) j->sum[i] += (double)v[i];
        } else {
            const double *v = (const double *)j->part->data + s * j->n;
            for (int64_t i = lo; i < hi; i++) j->sum[i] += v[i];
        }
    }
}

/* The first element of convolution i, of `size` elements, in an operand that all may share. */
static char *part_of(const mci_conv *c, const mc_tensor *t, int64_t i, int64_t size)
{
    return mci_at(t, c->batched && t->shape[0] > 1 ? i * size : 0);
}

/* out [og, cg] = sum over the samples of y[og, places] x[cg, places]^T, for convolution i */
static int weight(const mci_conv *c, int64_t i, mc_tensor *out, const mc_tensor *x,
                  const mc_tensor *y, int64_t places)
{
    const int64_t n = c->og * c->cg, size = MCI_SIZE(out->dtype), fit = ROOM / (n * size),
                  most = fit < 1 ? 1 : fit < c->n ? fit : c->n;
    char *const from_x = part_of(c, x, i, c->n * c->cg * places),
         *const from_y = part_of(c, y, i, c->n * c->og * places);
    char *part = mci_alloc((size_t)(most * n * size));
    double *sum = mci_calloc((size_t)n, sizeof *sum);
    int rc = part && sum ? MC_OK : mc_errstatus();
    for (int64_t s = 0; s < c->n && !rc; s += most) {
        const int64_t many = c->n - s < most ? c->n - s : most;
        mc_tensor a = matrix(out, from_y + s * c->og * places * size, many, c->og, places),
                  b = matrix(out, from_x + s * c->cg * places * size, many, c->cg, places),
                  v = matrix(out, part, many, c->og, c->cg);
        turn(&b);
        rc = mci_matmul_then(&v, &a, &b, NULL);
        if (!rc)
            rc = mci_parallel((n + PIECE - 1) / PIECE, join_task, &(join_job){ sum, &v, n });
    }
    if (!rc) mci_cast(out->dtype, MC_F64)(n, mci_at(out, i * n), 1, sum, 1);
    mci_free(sum);
    mci_free(part);
    return rc;
}

/* Convolution i of those of their own. */
static int one(const mci_conv *c, int64_t i, mc_tensor *out, const mc_tensor *x, const mc_tensor *w)
{
    const int64_t places = c->axis[0].out * c->axis[1].out * c->axis[2].out;
    if (c->form == MCI_CONV_WEIGHT) return weight(c, i, out, x, w, places);
    const int back = c->form == MCI_CONV_INPUT;
    const int64_t from = back ? c->og : c->cg, to = back ? c->cg : c->og;
    mc_tensor m = matrix(out, part_of(c, w, i, c->og * c->cg), 1, c->og, c->cg),
              v = matrix(out, part_of(c, x, i, c->n * from * places), c->n, from, places),
              y = matrix(out, mci_at(out, i * c->n * to * places), c->n, to, places);
    if (back) turn(&m);
    return mci_matmul_then(&y, &m, &v, NULL);
}

int mci_conv_point(const mci_conv *c, mc_tensor *out, const mc_tensor *a, const mc_tensor *b)
{
    mc_tensor tmp[2] = { { 0 }, { 0 } };
    int rc = MC_OK;
    const mc_tensor *x = mci_conv_dense(&tmp[0], a, &rc),
                    *w = rc ? NULL : mci_conv_dense(&tmp[1], b, &rc);
    for (int64_t i = 0; !rc && i < c->b; i++) rc = one(c, i, out, x, w);
    mc_drop(&tmp[0]);
    mc_drop(&tmp[1]);
    return rc;
}
