/* mc_launch_linalg.c - factors and systems of equations on devices with programs: copies in
 * workspace, factored and solved in blocks of columns with a product after each of them. */
#include "family/mc_launch.h"
#include "../../kernels/device/jobs.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define BLOCK 32
#define LANES 256

static const char *const singular =
    "a matrix is singular; use lstsq or pinv, or add a small multiple of eye";

/* What the launches of a call share. */
typedef struct work {
    mci_bound *b;
    char source[768];
    int nb, dtype, device;
    int64_t batch[MC_MAX_RANK], count;
} work;

static void source_of(work *w, const char *file)
{
    const char *t = mci_device_types[w->dtype], *n = mc_dtype_name(w->dtype);
    const int narrow = w->dtype == MC_F32 || w->dtype == MC_C64;
    const char *real = narrow ? "float" : "double", *root = narrow ? "sqrtf" : "sqrt";
    if (mci_kind(w->dtype) == 'c')
        snprintf(w->source, sizeof w->source,
                 "#include \"mck_math_c.h\"\n#define T %s\n#define R %s\n#define ROOT %s\n"
                 "#define SUB_MUL(d, x, y) mck_sub_%s(d, mck_mul_%s(x, y))\n"
                 "#define DIV mck_div_%s\n#define CONJ mck_conj_%s\n"
                 "#define SIZE(x) (fabs((double)(x).re) + fabs((double)(x).im))\n"
                 "#define REAL(x) ((x).re)\n#define IMAG(x) ((x).im)\n"
                 "#define JOINED(re, im) mck_make_%s((R)(re), (R)(im))\n"
                 "#define MAKE(x) mck_make_%s((R)(x), 0)\n#define TIMES mck_mul_%s\n"
                 "#define ADD_MUL(d, x, y) mck_add_%s(d, mck_mul_%s(x, y))\n"
                 "#include \"%s\"\n",
                 t, real, root, n, n, n, n, n, n, n, n, n, file);
    else
        snprintf(w->source, sizeof w->source,
                 "#define T %s\n#define R %s\n#define ROOT %s\n"
                 "#define SUB_MUL(d, x, y) %s(-(x), y, d)\n#define DIV(x, y) ((x) / (y))\n"
                 "#define CONJ(x) (x)\n#define SIZE(x) fabs((double)(x))\n#define REAL(x) (x)\n"
                 "#define IMAG(x) 0\n#define JOINED(re, im) ((T)(re))\n#define MAKE(x) ((T)(x))\n"
                 "#define TIMES(x, y) ((x) * (y))\n#define ADD_MUL(d, x, y) %s(x, y, d)\n"
                 "#include \"%s\"\n",
                 t, real, root, narrow ? "fmaf" : "fma", narrow ? "fmaf" : "fma", file);
}

/* Room for [batch][rows][cols]. */
static mci_place room(work *w, int dtype, int64_t rows, int64_t cols)
{
    int64_t shape[MC_MAX_RANK];
    memcpy(shape, w->batch, sizeof *shape * (size_t)w->nb);
    shape[w->nb] = rows;
    shape[w->nb + 1] = cols;
    return mci_place_work(w->b, dtype, w->nb + 2, shape);
}

/* rows x cols of it from (r, c) on, as one axis of matrices; turned: the transpose. */
static mci_place part(const work *w, const mci_place *p, int64_t r, int64_t c, int64_t rows,
                      int64_t cols, int turned)
{
    const int64_t ld = p->shape[p->ndim - 1], size = p->shape[p->ndim - 2] * ld;
    mci_place q = *p;
    q.off += (r * ld + c) * MCI_SIZE(p->dtype);
    q.ndim = 3;
    q.shape[0] = w->count;
    q.strides[0] = size;
    q.shape[1] = turned ? cols : rows;
    q.shape[2] = turned ? rows : cols;
    q.strides[1] = turned ? 1 : ld;
    q.strides[2] = turned ? ld : 1;
    return q;
}

/* A launch over the matrices: `n` lanes, or a group for each (0). guards: the kernel has that
 * buffer; why: what it refuses, NULL: nothing. */
static int launch(work *w, const char *kernel, int64_t n, const mcd_linalg *j, const mci_place *x,
                  const mci_place *y, int guards, const char *why)
{
    const int most = mci_device_caps(w->device)->group;
    const int lanes = j->rows <= BLOCK ? BLOCK : most < LANES ? most : LANES;
    mc_launch *l = n ? mci_launch_lanes(w->b, w->source, kernel, n, j, sizeof *j)
                     : mci_launch_new(w->b, w->source, kernel, w->count, lanes, j, sizeof *j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, x);
    if (y) mci_launch_buffer(l, y);
    if (!guards) return MC_OK;
    return why ? mci_launch_guard(w->b, why, offsetof(mcd_linalg, guard))
               : mci_launch_guards(w->b);
}

static mcd_linalg job_of(const work *w, const mci_place *p)
{
    return (mcd_linalg){ .n = w->count,
                         .rows = p->shape[p->ndim - 2],
                         .cols = p->shape[p->ndim - 1] };
}

/* a = P L U in place; pivots [batch][min(rows, cols)]. strict: a pivot of 0 is refused. */
static int factor(work *w, const mci_place *a, const mci_place *pivots, int base, int strict)
{
    mcd_linalg j = job_of(w, a);
    int rc = MC_OK;
    j.count = j.rows < j.cols ? j.rows : j.cols;
    j.base = base;
    j.strict = strict;
    for (j.first = 0; j.first < j.count && !rc; j.first += BLOCK) {
        j.width = j.count - j.first < BLOCK ? j.count - j.first : BLOCK;
        const int64_t last = j.first + j.width;
        rc = launch(w, "lu_panel", 0, &j, a, pivots, 1, strict ? singular : NULL);
        if (!rc && j.width < j.cols)
            rc = launch(w, "lu_rows", w->count * j.cols, &j, a, pivots, 0, NULL);
        if (rc || last >= j.cols || last >= j.rows) continue;
        const mci_place out = part(w, a, last, last, j.rows - last, j.cols - last, 0),
                        l = part(w, a, last, j.first, j.rows - last, j.width, 0),
                        u = part(w, a, j.first, last, j.width, j.cols - last, 0);
        rc = mci_launch_subtract(w->b, &out, &l, &u, 0);
    }
    return rc;
}

/* x = t^-1 x in place for a triangle of t, or of its transpose (turned) or adjoint (conj too). */
static int triangle(work *w, const mci_place *x, const mci_place *t, int low, int turned, int conj,
                    int one)
{
    mcd_linalg j = job_of(w, x);
    const int back = low == turned; /* of what is solved with */
    int rc = MC_OK;
    j.back = back;
    j.conj = conj;
    j.unit = one;
    j.rs = turned ? 1 : j.rows;
    j.cs = turned ? j.rows : 1;
    for (int64_t done = 0; done < j.rows && !rc; done += BLOCK) {
        j.width = j.rows - done < BLOCK ? j.rows - done : BLOCK;
        j.first = back ? j.rows - done - j.width : done;
        const int64_t left = j.rows - done - j.width, rest = back ? 0 : j.first + j.width;
        rc = launch(w, "block", w->count * j.cols, &j, x, t, 1, singular);
        if (rc || left == 0) continue;
        const mci_place out = part(w, x, rest, 0, left, j.cols, 0),
                        e = turned ? part(w, t, j.first, rest, j.width, left, 1)
                                   : part(w, t, rest, j.first, left, j.width, 0),
                        known = part(w, x, j.first, 0, j.width, j.cols, 0);
        rc = mci_launch_subtract(w->b, &out, &e, &known, conj);
    }
    return rc;
}

static int exchange(work *w, const mci_place *x, const mci_place *pivots, int base, int back)
{
    mcd_linalg j = job_of(w, x);
    j.base = base;
    j.back = back;
    j.count = pivots->shape[pivots->ndim - 1];
    return launch(w, "exchange", w->count * j.cols, &j, x, pivots, 1,
                  "positions outside the rows; hand over both results of lu_factor");
}

/* L of a = L L^H in the lower triangle, zeros above. */
static int cholesky(work *w, const mci_place *a)
{
    mcd_linalg j = job_of(w, a);
    int rc = MC_OK;
    for (j.first = 0; j.first < j.rows && !rc; j.first += BLOCK) {
        j.width = j.rows - j.first < BLOCK ? j.rows - j.first : BLOCK;
        const int64_t last = j.first + j.width, left = j.rows - last;
        rc = launch(w, "cholesky_panel", 0, &j, a, NULL, 1,
                    "a matrix is not positive definite; use lu or eigh, or add a small multiple of "
                    "eye");
        if (rc || left == 0) continue;
        /* the transpose of what is left: conj(L) L^T */
        const mci_place out = part(w, a, last, last, left, left, 1),
                        l = part(w, a, last, j.first, left, j.width, 0),
                        turned = part(w, a, last, j.first, left, j.width, 1);
        rc = mci_launch_subtract(w->b, &out, &l, &turned, 1);
    }
    return rc ? rc : launch(w, "lower", mci_place_numel(a), &j, a, NULL, 0, NULL);
}

/* A kernel of factors.c, `n` lanes or a group for each matrix (0), on a list of places. */
static int launch_factors(work *w, const char *kernel, int64_t n, const mcd_linalg *j, int places,
                          const mci_place *const *p)
{
    work own = *w;
    source_of(&own, "factors.c");
    int rc = launch(&own, kernel, n, j, p[0], NULL, 0, NULL);
    mc_launch *l = rc ? NULL : &w->b->launch[w->b->nlaunch - 1];
    for (int k = 1; k < places && l; k++) mci_launch_buffer(l, p[k]);
    return rc;
}

/* The first rows and columns of t in memory of their own, passed through a kernel of linalg.c, into
 * a result. */
static int trapezium(work *w, const mci_place *t, int64_t rows, int64_t cols, const char *kernel,
                     int result)
{
    const mci_place x = room(w, w->dtype, rows, cols), from = part(w, t, 0, 0, rows, cols, 0),
                    to = part(w, &x, 0, 0, rows, cols, 0), out = mci_place_out(w->b, result);
    const mcd_linalg j = job_of(w, &x);
    if (mci_place_numel(&x) == 0) return MC_OK;
    int rc = mci_launch_copy(w->b, &to, &from);
    if (!rc) rc = launch(w, kernel, mci_place_numel(&x), &j, &x, NULL, 0, NULL);
    return rc ? rc : mci_launch_copy(w->b, &out, &x);
}

/* The unit matrix in workspace. */
static int unit(work *w, int64_t rows, int64_t cols, mci_place *x)
{
    *x = room(w, w->dtype, rows, cols);
    const mcd_linalg j = job_of(w, x);
    return mci_place_numel(x) ? launch(w, "unit", mci_place_numel(x), &j, x, NULL, 0, NULL) : MC_OK;
}

static int determinant(work *w, const mci_place *t, const mci_place *pivots, int base, int nout)
{
    const int real = w->dtype == MC_F32 || w->dtype == MC_C64 ? MC_F32 : MC_F64;
    mcd_linalg j = job_of(w, t);
    mci_place out = mci_place_work(w->b, w->dtype, w->nb, w->batch),
              logs = mci_place_work(w->b, real, w->nb, w->batch);
    const mci_place first = mci_place_out(w->b, 0), second = mci_place_out(w->b, nout - 1);
    j.base = base;
    j.count = j.rows;
    j.unit = nout == 2;
    int rc = launch_factors(w, "determinant", w->count, &j, 4,
                            (const mci_place *const[]){ t, pivots, &out, &logs });
    if (!rc) rc = mci_launch_copy(w->b, &first, &out);
    return rc || nout < 2 ? rc : mci_launch_copy(w->b, &second, &logs);
}

/* P, L, U of factors. */
static int parts_of(work *w, const mci_place *t, const mci_place *pivots, int base)
{
    const int64_t rows = t->shape[t->ndim - 2], cols = t->shape[t->ndim - 1],
                  few = rows < cols ? rows : cols;
    const mci_place out = mci_place_out(w->b, 0);
    mci_place p;
    int rc = unit(w, rows, rows, &p);
    if (!rc && few > 0) rc = exchange(w, &p, pivots, base, 1);
    if (!rc) rc = mci_launch_copy(w->b, &out, &p);
    if (!rc) rc = trapezium(w, t, rows, few, "unit_lower", 1);
    return rc ? rc : trapezium(w, t, few, cols, "upper", 2);
}

/* Q (unless mode is 2) and R. mode 1: all of Q. */
static int qr(work *w, const mci_place *t, int mode)
{
    const int64_t rows = t->shape[t->ndim - 2], cols = t->shape[t->ndim - 1],
                  few = rows < cols ? rows : cols, wide = mode == 1 ? rows : few;
    mcd_linalg j = job_of(w, t);
    const mci_place tau = room(w, w->dtype, 1, few);
    mci_place q;
    int rc = MC_OK;
    j.count = few;
    j.width = wide;
    if (few > 0)
        rc = launch_factors(w, "reflect", 0, &j, 2, (const mci_place *const[]){ t, &tau });
    if (!rc) rc = trapezium(w, t, wide, cols, "upper", mode != 2);
    if (rc || mode == 2) return rc;
    const mci_place out = mci_place_out(w->b, 0);
    rc = unit(w, rows, wide, &q);
    if (!rc && few > 0)
        rc = launch_factors(w, "columns", w->count * wide, &j, 3,
                            (const mci_place *const[]){ &q, t, &tau });
    return rc ? rc : mci_launch_copy(w->b, &out, &q);
}

/* A vector as a column. */
static void column(mci_place *p)
{
    p->shape[p->ndim] = 1;
    p->strides[p->ndim++] = 1;
}

int mci_linalg_launched(const mci_op *op)
{
    switch (op->variant) {
    case MCI_LINALG_SOLVE:
    case MCI_LINALG_SOLVE_TRIANGULAR:
    case MCI_LINALG_INV:
    case MCI_LINALG_LU_FACTOR:
    case MCI_LINALG_LU_SOLVE:
    case MCI_LINALG_DET:
    case MCI_LINALG_LU:
    case MCI_LINALG_QR:
    case MCI_LINALG_CHOLESKY: return 1;
    default: return 0;
    }
}

int mci_linalg_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *outs,
                        mci_bound *b)
{
    (void)outs;
    const int what = job->op->variant, base = job->params->base;
    const int64_t *i = job->params->i;
    work w = { .b = b, .dtype = r->compute, .device = device };
    if (!mci_linalg_launched(job->op)) return mci_no_launch(job->op, device);
    mci_place out = mci_place_out(b, 0), a = mci_place_in(b, 0);
    if (what == MCI_LINALG_QR && i[2]) return mci_no_launch(job->op, device);
    const int factors = what == MCI_LINALG_DET || what == MCI_LINALG_LU || what == MCI_LINALG_QR;
    if (factors ? mci_numel(a.ndim - 2, a.shape) == 0 : mci_place_numel(&out) == 0) return MC_OK;
    const int vector = job->nin > 1 && job->in[1]->ndim == 1,
              upper = what == MCI_LINALG_CHOLESKY && i[1];
    if (vector) column(&out);
    w.nb = factors ? a.ndim - 2 : out.ndim - 2;
    if (out.ndim > MC_MAX_RANK) return mci_no_launch(job->op, device);
    memcpy(w.batch, factors ? a.shape : out.shape, sizeof *w.batch * (size_t)w.nb);
    w.count = mci_numel(w.nb, w.batch);
    source_of(&w, "linalg.c");
    const int64_t rows = a.shape[a.ndim - 2], cols = a.shape[a.ndim - 1],
                  few = rows < cols ? rows : cols;
    const mci_place t = room(&w, w.dtype, rows, cols);
    if (upper) { /* its transpose is the lower triangle of the conjugate, whose L is U^T */
        const int64_t kept = a.strides[a.ndim - 1];
        a.strides[a.ndim - 1] = a.strides[a.ndim - 2];
        a.strides[a.ndim - 2] = kept;
    }
    int rc = mci_launch_copy(b, &t, &a);
    if (rc) return rc;
    if (what == MCI_LINALG_QR) return qr(&w, &t, (int)i[1]);
    if (what == MCI_LINALG_CHOLESKY) {
        mci_place l = t;
        rc = cholesky(&w, &t);
        if (upper) {
            l.strides[l.ndim - 1] = cols;
            l.strides[l.ndim - 2] = 1;
        }
        return rc ? rc : mci_launch_copy(b, &out, &l);
    }
    mci_place pivots = room(&w, MC_I64, 1, few);
    if (factors) {
        if (few > 0) rc = factor(&w, &t, &pivots, base, 0);
        if (rc) return rc;
        return what == MCI_LINALG_LU ? parts_of(&w, &t, &pivots, base)
                                     : determinant(&w, &t, &pivots, base, r->nout);
    }
    if (what == MCI_LINALG_LU_FACTOR) {
        const mci_place places = mci_place_out(b, 1);
        rc = factor(&w, &t, &pivots, base, 0);
        pivots = mci_place_as(pivots, places.ndim, places.shape);
        rc = rc ? rc : mci_launch_copy(b, &out, &t);
        return rc ? rc : mci_launch_copy(b, &places, &pivots);
    }
    const mci_place x = room(&w, w.dtype, out.shape[out.ndim - 2], out.shape[out.ndim - 1]);
    if (what == MCI_LINALG_INV) {
        const mcd_linalg j = job_of(&w, &x);
        rc = launch(&w, "unit", mci_place_numel(&x), &j, &x, NULL, 0, NULL);
    } else {
        mci_place given = mci_place_in(b, 1);
        if (vector) {
            given.strides[1] = 0;
            given.shape[given.ndim++] = 1;
        }
        rc = mci_launch_copy(b, &x, &given);
    }
    if (rc) return rc;
    if (what == MCI_LINALG_SOLVE_TRIANGULAR)
        rc = triangle(&w, &x, &t, i[1] != 0, i[2] != 0, i[2] == 2, i[3] != 0);
    else {
        const int turned = what == MCI_LINALG_LU_SOLVE && i[1] != 0, conj = turned && i[1] == 2;
        if (what == MCI_LINALG_LU_SOLVE) {
            mci_place given = mci_place_in(b, 2);
            mci_place to = pivots;
            to.ndim--;
            to.shape[w.nb] = few;
            to.strides[w.nb] = 1;
            rc = mci_launch_copy(b, &to, &given);
        } else {
            rc = factor(&w, &t, &pivots, base, 1);
        }
        if (!rc && !turned) rc = exchange(&w, &x, &pivots, base, 0);
        if (!rc) rc = triangle(&w, &x, &t, !turned, turned, conj, !turned);
        if (!rc) rc = triangle(&w, &x, &t, turned, turned, conj, turned);
        if (!rc && turned) rc = exchange(&w, &x, &pivots, base, 1);
    }
    return rc ? rc : mci_launch_copy(b, &out, &x);
}
