/* mc_matmul.c - driver of the matrix product: shapes, batches, tiles.
 *
 * OpenBLAS is called single-threaded on tiles of the result. The cut depends on the shape only
 * (`cut` says how), so the bits do not depend on the number of threads. Operands whose rows or
 * columns have unit stride go in place, others are copied. A tile of more than PIECE
 * multiplications is handed over in pieces of columns, between which the cancel flag is read. A
 * finished tile can be handed on while it is in cache (a fused epilogue). Two matrices of f32 with
 * few rows in the first take a kernel of our own where OpenBLAS would pack the second for the few
 * times that it is read (`few_rows`). Integers, machines without OpenBLAS and the batch-invariant
 * mode use the plain kernel, whose sums run along k in order whatever the number of rows and
 * columns. */
#include "family/mc_rows.h"
#include "family/mc_family.h"
#include "base/mc_memory.h"
#include "../../kernels/mck_matmul.h"

#include <math.h>
#include <string.h>

#define PIECE 1.5e9 /* real multiplications: 30 to 60 ms of one core in f64 */
#define WIDE 256    /* columns a piece keeps at least */

typedef struct operand {
    const char *data;
    int64_t ld, batch[MC_MAX_RANK];
    int trans;
    mc_tensor tmp;
} operand;

typedef struct matmul_job {
    const mc_blas_api *blas;
    mck_matmul_fn plain;
    int type, nb;
    /* the grid of tiles and the size of one */
    int64_t m, n, k, size, row_tiles, col_tiles, rows, cols;
    int64_t bshape[MC_MAX_RANK];
    operand a, b;
    char *c;
    mci_after *after;
} matmul_job;

/* Tiles of one result, by the number of real multiplications. Measured with OpenBLAS 0.3.21,
 * AVX-512, two cores, against its own threads: up to 10^6 a product runs without packing and 1.1 to
 * 1.5 times faster, so medium products are cut down to that (128^3 f32: 1.6, whole: 0.77); above
 * 200^3 each tile packs again, which rows of full width repay best (512^3: two tiles 0.99, four
 * 0.95; one thread at 1024^3: four tiles of 256 rows 0.96, eight with half the columns 0.89). */
static const struct {
    double work;        /* up to this many multiplications */
    double grain;       /* wanted of a tile; 0: two tiles */
    int64_t rows, cols; /* a tile has at least */
} cuts[] = {{1e6, 1e6, 1, 1}, {8e6, 1e6, 4, 16}, {64e6, 0, 8, 64}, {INFINITY, 32e6, 192, 2048}};
enum { PAIR = 2 };

/* A matrix of at least so many elements times a vector is rows of products: it is read once, in
 * order, where gemm packs it first (3000 x 3000 f64: 5.2 ms against 2.0). */
#define DOTS 65536

/* Halves the grid where that repeats less packing (of b for each row of tiles, of a for each
 * column), as long as tiles stay large. */
static void cut(matmul_job *j, int is_complex)
{
    double work = (double)j->m * (double)j->n * (double)j->k * (is_complex ? 4 : 1);
    int i = 0;
    while (work > cuts[i].work)
        i++;
    double want = cuts[i].grain > 0 ? work / cuts[i].grain : 2;
    int64_t gm = 1, gn = 1;
    while ((double)gm * (double)gn < want) {
        int rows = j->m / (2 * gm) >= cuts[i].rows,
            cols = j->blas && j->n / (2 * gn) >= cuts[i].cols;
        if (rows && (!cols || gm * j->n <= gn * j->m)) {
            gm *= 2;
        } else if (cols) {
            gn *= 2;
        } else if (i > PAIR && gm * gn < 2) { /* neither side is long: two tiles all the same */
            want = 2;
            i = PAIR;
        } else {
            break;
        }
    }
    j->rows = ((j->m + gm - 1) / gm + 3) & ~(int64_t)3;
    j->cols = ((j->n + gn - 1) / gn + 15) & ~(int64_t)15;
    j->row_tiles = (j->m + j->rows - 1) / j->rows;
    j->col_tiles = (j->n + j->cols - 1) / j->cols;
}

/* Where our own kernel serves f32, by what the machine has. v4: OpenBLAS 0.3.21 reads b in
 * place up to 10^6 multiplications, and turned up to 1200 elements of a tile, as fast as we do.
 * Where it packs we are faster (one core, us): 32 x 256 by 1024 102 against 153, b turned 125
 * against 200; 12 x 1024 x 1024 197 against 555; 128 rows 1.0 to 1.6 times. v3: OpenBLAS for AVX2
 * always packs, and is 1.1 to 3 times slower up to 32 rows; a large b, of which a row gives a line
 * of memory at a time, is read slowly (1024 x 4096: 0.8 times). Stacks stay with OpenBLAS, so that
 * bits do not depend on the number of matrices. */
static const struct {
    int64_t rows, cols; /* at most, at least */
    double work;        /* multiplications at least, with b as it lies */
    int64_t most;       /* elements of b then */
    int64_t turned;     /* more elements of a tile where b is turned, or */
    double tile;        /* more multiplications */
} fews[] = {{0}, {32, 64, 0, 1 << 20, 0, 0}, {128, 32, 3e6, INT64_MAX, 1200, 1e6}};
#define FEW_WORK 1e6          /* multiplications of a task, about */
#define FEW_COLUMNS 64        /* of a task at least, and their number a multiple */
#define FEW_OPERAND (1 << 20) /* elements of a at most: a turned copy is made */

/* After `cut`, whose tiles OpenBLAS would get. */
static int few_rows(const matmul_job *j, int turned)
{
    /* by the machine, so that its levels agree in the way taken */
    const int level = mci_isa() ? mci_isa_best() : 0;
    const double cols = (double)j->n, rows = (double)j->m, inner = (double)j->k;
    if (j->type != 's' || j->nb > 0 || j->m < 2 || j->m > fews[level].rows ||
        j->n < fews[level].cols || rows * inner > FEW_OPERAND || mci_blas_is_named())
        return 0;
    if (turned)
        return j->rows * j->cols > fews[level].turned ||
               (double)j->rows * (double)j->cols * inner > fews[level].tile;
    return rows * cols * inner >= fews[level].work && cols * inner <= (double)fews[level].most;
}

/* Hands a finished tile on, row by row unless it has the full width. */
static void hand_over(const matmul_job *j, int64_t first, int64_t m, int64_t n, int worker)
{
    if (n == j->n) {
        j->after->range(j->after->arg, first, first + m * n, worker);
        return;
    }
    for (int64_t r = 0; r < m; r++)
        j->after->range(j->after->arg, first + r * j->n, first + r * j->n + n, worker);
}

static void matmul_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const matmul_job *j = arg;
    (void)end;
    int64_t tiles = j->row_tiles * j->col_tiles, batch = begin / tiles, tile = begin % tiles,
            oa = 0, ob = 0, rest = batch;
    for (int i = j->nb - 1; i >= 0; i--) {
        int64_t x = rest % j->bshape[i];
        rest /= j->bshape[i];
        oa += x * j->a.batch[i];
        ob += x * j->b.batch[i];
    }
    int64_t r0 = tile / j->col_tiles * j->rows, c0 = tile % j->col_tiles * j->cols;
    int64_t m = j->m - r0 < j->rows ? j->m - r0 : j->rows,
            n = j->n - c0 < j->cols ? j->n - c0 : j->cols;
    const char *a = j->a.data + (oa + (j->a.trans ? r0 : r0 * j->a.ld)) * j->size;
    const char *b = j->b.data + (ob + (j->b.trans ? c0 * j->b.ld : c0)) * j->size;
    char *c = j->c + ((batch * j->m + r0) * j->n + c0) * j->size;
    if (!j->blas) {
        mck_matmul k = {m, n, j->k, c, a, b};
        j->plain(&k);
        if (j->after)
            hand_over(j, (batch * j->m + r0) * j->n + c0, m, n, worker);
        return;
    }
    int64_t piece = n;
    while (piece > WIDE && (double)m * (double)piece * (double)j->k > PIECE)
        piece = (piece / 2 + WIDE - 1) / WIDE * WIDE;
    for (int64_t at = 0; at < n && !mc_cancel_pending(); at += piece) {
        int64_t wide = n - at < piece ? n - at : piece;
        j->blas->gemm(j->type, j->a.trans, j->b.trans, m, wide, j->k, a, j->a.ld,
                      b + (j->b.trans ? at * j->b.ld : at) * j->size, j->b.ld, c + at * j->size,
                      j->n);
    }
    if (j->after && !mc_cancel_pending())
        hand_over(j, (batch * j->m + r0) * j->n + c0, m, n, worker);
}

typedef struct few_job {
    const matmul_job *j;
    mck_few_fn sums;
    mck_few k;       /* of the whole product */
    int64_t columns; /* of a task */
    char *work;
} few_job;

static void few_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const few_job *f = arg;
    (void)end;
    const int64_t at = begin * f->columns;
    mck_few k = f->k;
    k.n = k.n - at < f->columns ? k.n - at : f->columns;
    k.out = (float *)k.out + at;
    k.b = (const float *)k.b + (k.turned ? at * k.b_row : at);
    k.work = f->work + worker * MCK_FEW_WORK(k.m);
    f->sums(&k);
    if (f->j->after) hand_over(f->j, at, k.m, k.n, worker);
}

static int run_few(const matmul_job *j)
{
    few_job f = {.j = j, .sums = (mck_few_fn)mci_function(MCK_FN_MATMUL_FEW_F32)};
    const int64_t grain = (int64_t)(FEW_WORK / ((double)j->m * (double)j->k));
    f.columns = (grain / FEW_COLUMNS + 1) * FEW_COLUMNS;
    const int64_t tasks = (j->n + f.columns - 1) / f.columns;
    float *turned = j->a.trans ? NULL : mci_alloc((size_t)(j->m * j->k) * sizeof *turned);
    f.work = mci_alloc((size_t)mci_workers(tasks) * MCK_FEW_WORK((size_t)j->m));
    int rc = f.work && (turned || j->a.trans) ? MC_OK : mc_errstatus();
    if (!rc) {
        f.k = (mck_few){.m = j->m,
                        .n = j->n,
                        .k = j->k,
                        .out = j->c,
                        .a = j->a.trans ? (const void *)j->a.data : turned,
                        .b = j->b.data,
                        .out_row = j->n,
                        .a_row = j->a.trans ? j->a.ld : j->m,
                        .b_row = j->b.ld,
                        .turned = j->b.trans};
        const mck_turn t = {.m = j->m, .k = j->k, .out = turned, .a = j->a.data, .row = j->a.ld};
        if (turned) ((mck_turn_fn)mci_function(MCK_FN_MATMUL_TURN_F32))(&t);
        rc = mci_parallel(tasks, few_task, &f);
    }
    mci_free(f.work);
    mci_free(turned);
    return rc;
}

/* Matrix axes of t (rows r, columns c with strides) usable by BLAS as they are? Else a contiguous
 * copy. */
static int prepare(operand *o, const mc_tensor *t, int dtype, int nb, int64_t rows, int64_t cols,
                   int plain)
{
    int64_t rs = t->strides[t->ndim - 2], cs = t->strides[t->ndim - 1];
    int row_major = (cs == 1 || cols == 1) && (rs >= (cols > 1 ? cols : 1) || rows == 1);
    int col_major = (rs == 1 || rows == 1) && (cs >= (rows > 1 ? rows : 1) || cols == 1);
    const mc_tensor *src = t;
    if (t->dtype != dtype || plain || (!row_major && !col_major)) {
        int rc = mci_materialize(&o->tmp, t, dtype);
        if (rc)
            return rc;
        src = &o->tmp;
        row_major = 1;
        rs = cols;
        cs = 1;
    }
    o->data = src->data;
    o->trans = !row_major;
    o->ld = row_major ? (rows > 1 ? rs : cols) : (cols > 1 ? cs : rows);
    if (o->ld < 1)
        o->ld = 1;
    mc_tensor outer = *src;
    outer.ndim -= 2;
    mci_broadcast_strides(&outer, nb, o->batch);
    return MC_OK;
}

/* The operands as stacks of matrices: a vector is a row on the left and a column on the right. */
static void matrices(const mc_tensor *const *in, mc_tensor *a, mc_tensor *b)
{
    *a = *in[0];
    *b = *in[1];
    if (a->ndim == 1) {
        a->ndim = 2;
        a->shape[1] = a->shape[0];
        a->strides[1] = a->strides[0];
        a->shape[0] = 1;
        a->strides[0] = 0;
    }
    if (b->ndim == 1) {
        b->ndim = 2;
        b->shape[1] = 1;
        b->strides[1] = 0;
    }
}

/* a, b: of matrices; their outer axes broadcast to shape[nb]. */
static int infer(const mc_tensor *const *in, mci_result *r, mc_tensor *a, mc_tensor *b, int *nb,
                 int64_t *shape)
{
    char s1[MCI_TEXT], s2[MCI_TEXT];
    int dtype;
    r->nout = 1;
    int rc = mci_resolve(&mci_ops[MC_OP_MATMUL], 2, in, &dtype, &r->compute);
    if (rc)
        return rc;
    if (in[0]->ndim == 0 || in[1]->ndim == 0)
        return mci_error(MC_ESHAPE,
                         "matmul: operands need at least one axis, a is %s and b is %s; use "
                         "multiply for scalars",
                         mci_tensor_text(s1, sizeof s1, in[0]),
                         mci_tensor_text(s2, sizeof s2, in[1]));
    matrices(in, a, b);
    if (a->shape[a->ndim - 1] != b->shape[b->ndim - 2])
        return mci_error(
            MC_ESHAPE, "matmul: inner sizes differ, a is %s and b is %s; transpose b or reshape a",
            mci_tensor_text(s1, sizeof s1, in[0]), mci_tensor_text(s2, sizeof s2, in[1]));
    mc_tensor oa = *a, ob = *b;
    oa.ndim -= 2;
    ob.ndim -= 2;
    const mc_tensor *outer[2] = {&oa, &ob};
    if (mci_broadcast("matmul", outer, 2, nb, shape))
        return mci_error(
            MC_ESHAPE,
            "matmul: batch sizes do not broadcast, a is %s and b is %s; they must be equal or 1",
            mci_tensor_text(s1, sizeof s1, in[0]), mci_tensor_text(s2, sizeof s2, in[1]));
    int nd = *nb;
    memcpy(r->shape[0], shape, sizeof *shape * (size_t)nd);
    if (in[0]->ndim > 1)
        r->shape[0][nd++] = a->shape[a->ndim - 2];
    if (in[1]->ndim > 1)
        r->shape[0][nd++] = b->shape[b->ndim - 1];
    r->ndim[0] = nd;
    r->dtype[0] = mci_kind(r->compute) == 'i' ? r->compute : dtype;
    return MC_OK;
}

int mci_matmul_infer(const mci_job *job, mci_result *r)
{
    mc_tensor a, b;
    int nb;
    int64_t shape[MC_MAX_RANK];
    return infer(job->in, r, &a, &b, &nb, shape);
}

static int blas_type(int dtype)
{
    return dtype == MC_F32    ? 's'
           : dtype == MC_F64  ? 'd'
           : dtype == MC_C64  ? 'c'
           : dtype == MC_C128 ? 'z'
                              : 0;
}

static int matmul(mc_tensor *out, const mc_tensor *const *in, mci_after *after)
{
    mc_tensor a, b, res = {0};
    const int given = (out->flags & MC_FLAG_OUT) != 0, va = in[0]->ndim == 1, vb = in[1]->ndim == 1;
    int nb;
    int64_t shape[MC_MAX_RANK];
    mci_result r;
    int rc = infer(in, &r, &a, &b, &nb, shape);
    if (rc)
        return rc;
    const int compute = r.compute, nd = r.ndim[0];
    const int64_t m = a.shape[a.ndim - 2], k = a.shape[a.ndim - 1], n = b.shape[b.ndim - 1],
                  batches = mci_numel(nb, shape), *full = r.shape[0];
    const int own = mc_get_batch_invariant();
    if (vb && !va && !after && !own && (r.dtype[0] == MC_F32 || r.dtype[0] == MC_F64) &&
        a.strides[a.ndim - 1] == 1 && (double)m * (double)k >= DOTS) {
        const mc_params last = {.naxes = 1, .axes = {-1}};
        return mci_dot_run(&mci_ops[MC_OP_MATMUL], 1, &out, 2, in, &last);
    }
    if ((rc = mci_out("matmul", out, r.dtype[0], nd, full)) != 0)
        return rc;
    int direct = out->dtype == compute && mci_contiguous(out) && mci_overlap(out, in[0]) < 0 &&
                 mci_overlap(out, in[1]) < 0;
    mc_tensor *target = out;
    if (!direct) {
        rc = mc_create(&res, compute, nd, full);
        target = &res;
    }
    if (!rc && k == 0)
        rc = mci_fill(target, 0, 0);
    matmul_job j = {.m = m, .n = n, .k = k, .nb = nb, .size = MCI_SIZE(compute)};
    if (!rc && target->numel > 0 && k > 0) {
        j.type = blas_type(compute);
        j.blas = j.type && !own ? mci_blas() : NULL;
        j.plain = (mck_matmul_fn)mci_kernel_get(MCK_K_MATMUL, compute);
        memcpy(j.bshape, shape, sizeof j.bshape);
        if (j.type && !own && !j.blas && mc_errstatus() != MC_EUNSUPPORTED)
            rc = mc_errstatus(); /* the plain kernel would answer with other bits */
        if (!rc)
            rc = prepare(&j.a, &a, compute, nb, m, k, !j.blas);
        if (!rc)
            rc = prepare(&j.b, &b, compute, nb, k, n, !j.blas);
        if (!rc) {
            j.c = target->data;
            j.after = after && direct ? after : NULL;
            cut(&j, mci_kind(compute) == 'c');
            rc = j.blas && few_rows(&j, j.b.trans)
                     ? run_few(&j)
                     : mci_parallel(batches * j.row_tiles * j.col_tiles, matmul_task, &j);
            if (j.after)
                after->done = 1;
        }
        mc_drop(&j.a.tmp);
        mc_drop(&j.b.tmp);
    }
    if (!rc && target == &res)
        rc = mci_copy(out, &res);
    mc_drop(&res);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}

int mc_matmul_way(int dtype, int outer, int64_t m, int64_t n, int64_t k, int turned)
{
    matmul_job j = {.m = m, .n = n, .k = k, .nb = outer};
    const int compute = MCI_SIZE(dtype) < 4 && mci_kind(dtype) == 'f' ? MC_F32 : dtype;
    j.type = blas_type(compute);
    j.blas = j.type && !mc_get_batch_invariant() ? mci_blas() : NULL;
    if (!j.blas) return 0;
    cut(&j, mci_kind(compute) == 'c');
    return few_rows(&j, turned) ? 2 : 1;
}

int mci_matmul_run(const mci_op *op, int nout, mc_tensor **outs, int nin,
                   const mc_tensor *const *in, const mc_params *p)
{
    (void)op;
    (void)nout;
    (void)nin;
    (void)p;
    return matmul(outs[0], in, NULL);
}

int mci_matmul_then(mc_tensor *out, const mc_tensor *a, const mc_tensor *b, mci_after *after)
{
    return matmul(out, (const mc_tensor *const[]){a, b}, after);
}
