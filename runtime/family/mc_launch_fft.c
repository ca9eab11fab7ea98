/* mc_launch_fft.c - Fourier, cosine and sine transforms on devices with programs.
 *
 * A length is cut into passes of a product of small primes that a group's memory holds
 * (kernels/device/fft.c); one with a prime above 31 becomes a convolution. Which way is taken, and
 * in which order is added, depends on the length alone. The roots of a length are computed by each
 * call into workspace. A library of the device goes before all of it. */
#include "family/mc_launch.h"
#include "family/mc_fft.h"
#include "device/mc_context.h"
#include "../../kernels/device/jobs.h"

#include <stdio.h>
#include <string.h>

#define LARGEST 31 /* prime that a pass takes */
#define PRIMES 64

/* What transforms of one precision share. */
typedef struct engine {
    mci_bound *b;
    int complex;               /* dtype */
    int64_t size;              /* elements in a group's memory: 32 KiB for two arrays */
    char plain[160], odd[160]; /* programs */
} engine;

static engine engine_of(mci_bound *b, int prec)
{
    engine e = { .b = b, .complex = prec == 4 ? MC_C64 : MC_C128, .size = prec == 4 ? 2048 : 1024 };
    for (int odd = 0; odd < 2; odd++)
        snprintf(
            odd ? e.odd : e.plain, sizeof e.odd,
            "#define T %s\n#define Z %s\n#define SIZE %d\n#define ODD %d\n#include \"fft.c\"\n",
            prec == 4 ? "float" : "double", mci_device_types[e.complex], (int)e.size, odd);
    return e;
}

/* A kernel with a lane for each of `items`. */
static int each(const engine *e, const char *kernel, int64_t items, const mcd_fft *j, int n,
                const mci_place *const *buffers)
{
    mc_launch *l = mci_launch_lanes(e->b, e->plain, kernel, items, j, sizeof *j);
    if (!l) return mc_errstatus();
    for (int k = 0; k < n; k++) mci_launch_buffer(l, buffers[k]);
    return MC_OK;
}

static mci_place workspace(const engine *e, int64_t m, int64_t n)
{
    return mci_place_work(e->b, e->complex, 2, (const int64_t[]){ m, n });
}

static int roots(const engine *e, int64_t n, mci_place *table)
{
    *table = workspace(e, 1, n);
    return each(e, "roots", n, &(mcd_fft){ .n = n }, 1, (const mci_place *[]){ table });
}

/* Prime factors, the largest first. */
static int primes_of(int64_t n, int64_t *prime)
{
    int count = 0;
    for (int64_t p = 2; p * p <= n; p++)
        for (; n % p == 0; n /= p) prime[count++] = p;
    if (n > 1) prime[count++] = n;
    for (int i = 0; i < count / 2; i++) {
        const int64_t p = prime[i];
        prime[i] = prime[count - 1 - i];
        prime[count - 1 - i] = p;
    }
    return count;
}

/* The radices of the next pass, taken out of the primes (set to 1). */
static void next_pass(int64_t *prime, int count, int64_t limit, mcd_fft *j)
{
    int twos = 0;
    j->r = 1;
    j->radices = 0;
    for (int i = 0; i < count; i++) {
        if (prime[i] == 1 || j->r * prime[i] > limit) continue;
        j->r *= (int32_t)prime[i];
        if (prime[i] == 2)
            twos++;
        else
            j->radix[j->radices++] = (int32_t)prime[i];
        prime[i] = 1;
    }
    for (; twos >= 3; twos -= 3) j->radix[j->radices++] = 8;
    if (twos) j->radix[j->radices++] = twos == 2 ? 4 : 2;
}

static int convolved(const engine *e, const mcd_fft *how, const mci_place *in,
                     const mci_place *out);

/* how: m, n, have, keep, scale, swap_in, swap_out; table: roots of n * step, NULL: they are
 * made. in and out are apart. */
static int passes(const engine *e, const mcd_fft *how, const mci_place *in, const mci_place *out,
                  const mci_place *table)
{
    mci_place own, spare[2];
    int64_t prime[PRIMES];
    const int count = primes_of(how->n, prime), lanes = mci_device_caps(e->b->device)->group;
    if (count && prime[0] > LARGEST) return convolved(e, how, in, out);
    const int odd = count && prime[0] > 2;
    const int64_t limit = how->n <= e->size ? e->size : e->size / 8;
    mcd_fft j = *how;
    if (!table) {
        int rc = roots(e, how->n, &own);
        if (rc) return rc;
        j.step = 1;
        table = &own;
    }
    j.s = 1;
    for (int at = 0;; at++) {
        next_pass(prime, count, limit, &j);
        const int last = j.s * j.r == j.n;
        const mci_place *from = at ? &spare[(at - 1) & 1] : in, *to = last ? out : &spare[at & 1];
        if (!last && at < 2) spare[at] = workspace(e, j.m, j.n);
        const int64_t total = j.m * (j.n / j.r);
        j.tiles = (int32_t)(e->size / j.r < total ? e->size / j.r : total);
        j.have = at ? j.n : how->have;
        j.swap_in = at ? 0 : how->swap_in;
        j.keep = last ? how->keep : j.n;
        j.swap_out = last ? how->swap_out : 0;
        j.scale = last ? how->scale : 1;
        mc_launch *l =
            mci_launch_new(e->b, odd ? e->odd : e->plain, "pass", (total + j.tiles - 1) / j.tiles,
                           lanes < 256 ? lanes : 256, &j, sizeof j);
        if (!l) return mc_errstatus();
        mci_launch_buffer(l, to);
        mci_launch_buffer(l, from);
        mci_launch_buffer(l, table);
        if (last) return MC_OK;
        j.s *= j.r;
    }
}

/* The shortest length of small primes that holds a convolution of n points. */
static int64_t longer(int64_t n)
{
    static const int64_t odd[] = { 1, 3, 5, 9, 15 };
    int64_t best = 0;
    for (int i = 0; i < 5; i++) {
        int64_t length = odd[i];
        while (length < 2 * n - 1) length *= 2;
        if (!best || length < best) best = length;
    }
    return best;
}

static int convolved(const engine *e, const mcd_fft *how, const mci_place *in, const mci_place *out)
{
    const int64_t n = longer(how->n), m = how->m;
    const mci_place chirp = workspace(e, 1, n), spectrum = workspace(e, 1, n),
                    a = workspace(e, m, n), c = workspace(e, m, n);
    mci_place table;
    mcd_fft j = *how;
    j.n = n;
    j.count = how->n;
    j.scale = how->scale / (double)n;
    int rc = roots(e, n, &table);
    rc = rc ? rc : each(e, "chirp", n, &j, 1, (const mci_place *[]){ &chirp });
    mcd_fft whole = { .m = 1, .n = n, .have = n, .keep = n, .step = 1, .scale = 1 };
    rc = rc ? rc : passes(e, &whole, &chirp, &spectrum, &table);
    rc = rc ? rc : each(e, "spread", m * n, &j, 3, (const mci_place *[]){ &a, in, &chirp });
    whole.m = m;
    rc = rc ? rc : passes(e, &whole, &a, &c, &table);
    rc = rc ? rc : each(e, "convolve", m * n, &j, 2, (const mci_place *[]){ &c, &spectrum });
    whole.swap_in = whole.swap_out = 1;
    rc = rc ? rc : passes(e, &whole, &c, &a, &table);
    return rc ? rc
              : each(e, "gather", m * how->keep, &j, 3, (const mci_place *[]){ out, &a, &chirp });
}

/* A real row of even length n is n / 2 pairs. */
static mci_place pairs_of(const engine *e, const mci_place *p, int64_t m, int64_t n)
{
    mci_place q = mci_place_as(*p, 2, (const int64_t[]){ m, n });
    q.dtype = e->complex;
    return q;
}

static int real_to_half(const engine *e, mcd_fft j, const mci_place *in, const mci_place *out)
{
    const int64_t n = j.n, h = n / 2;
    const int even = n % 2 == 0, whole = even && j.have == n;
    mci_place operand, table;
    int rc = even ? roots(e, n, &table) : MC_OK;
    if (rc) return rc;
    j.kind = even ? 2 : 1;
    j.n = even ? h : n;
    if (whole) {
        operand = pairs_of(e, in, j.m, h);
    } else {
        operand = workspace(e, j.m, j.n);
        rc = each(e, "enter", j.m * j.n, &j, 3, (const mci_place *[]){ &operand, in, &operand });
    }
    if (rc) return rc;
    j.have = j.n;
    j.keep = even ? h : h + 1;
    if (!even) return passes(e, &j, &operand, out, NULL);
    const mci_place bins = workspace(e, j.m, h);
    mcd_fft inner = j;
    inner.scale = 1;
    inner.step = 2;
    rc = passes(e, &inner, &operand, &bins, &table);
    j.keep = h + 1;
    return rc ? rc
              : each(e, "leave", j.m * (h + 1), &j, 3, (const mci_place *[]){ out, &bins, &table });
}

static int half_to_real(const engine *e, mcd_fft j, const mci_place *in, const mci_place *out)
{
    const int64_t n = j.n, h = n / 2;
    const int even = n % 2 == 0;
    mci_place table = *in;
    int rc = even ? roots(e, n, &table) : MC_OK;
    j.kind = even ? 3 : 4;
    j.n = even ? h : n;
    const mci_place bins = workspace(e, j.m, j.n);
    rc = rc ? rc : each(e, "enter", j.m * j.n, &j, 3, (const mci_place *[]){ &bins, in, &table });
    j.have = j.keep = j.n;
    j.swap_in = j.swap_out = 1;
    j.step = 2;
    if (rc) return rc;
    if (even) {
        const mci_place to = pairs_of(e, out, j.m, h);
        return passes(e, &j, &bins, &to, &table);
    }
    const mci_place row = workspace(e, j.m, n);
    rc = passes(e, &j, &bins, &row, NULL);
    return rc ? rc : each(e, "leave", j.m * n, &j, 3, (const mci_place *[]){ out, &row, &row });
}

/* ---- by a library of the device ---- */

/* A kernel of around.c. */
static int around(const engine *e, const char *kernel, int64_t items, const mcd_fft *j,
                  const mci_place *out, const mci_place *in)
{
    char source[160];
    const int real = e->complex == MC_C64 ? MC_F32 : MC_F64;
    snprintf(source, sizeof source, "#define T %s\n#define Z %s\n#include \"around.c\"\n",
             mci_device_types[real], mci_device_types[e->complex]);
    mc_launch *l = mci_launch_lanes(e->b, source, kernel, items, j, sizeof *j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, out);
    if (in) mci_launch_buffer(l, in);
    return MC_OK;
}

/* The transforms at the end of the list: 1, 0 where no library does them; negative on failure. The
 * operand is copied where its rows are shorter, and half a spectrum always: it is overwritten, and
 * what its ends hold beside real numbers is none of it. */
static int by_library(const engine *e, const mci_fourier *f, const mci_place *in,
                      const mci_place *out)
{
    const mc_device_api *api = mci_device_api(e->b->device);
    const int real = e->complex == MC_C64 ? MC_F32 : MC_F64;
    const int64_t half = f->n / 2 + 1, length = f->kind == 3 ? half : f->n;
    mc_transform_job t = { .m = f->m, .n = f->n, .kind = f->kind, .prec = f->prec };
    if (mc_get_batch_invariant() || !api->fft || f->n < 2) return 0;
    int64_t bytes = api->fft(mci_device_handle(e->b->device), &t);
    if (bytes < 0) return 0;
    mci_place operand = *in;
    if (f->kind == 3 || f->have < f->n) {
        const mcd_fft j = { .m = f->m, .n = length, .have = f->have, .kind = f->kind,
                            .r = f->n % 2 == 0 };
        operand = mci_place_work(e->b, f->kind == 2 ? real : e->complex, 2,
                                 (const int64_t[]){ f->m, length });
        const int rc = around(e, "rows", f->m * length, &j, &operand, in);
        if (rc) return -rc;
    }
    const mci_place *rows = f->kind == 2 ? &operand : out; /* real ones */
    t.spare = f->kind >= 2 && rows->slot < e->b->nin + e->b->nout;
    if (t.spare) bytes += f->m * f->n * f->prec;
    if (bytes == 0) bytes = 1; /* a place to name */
    const mci_place room = mci_place_work(e->b, MC_U8, 1, &bytes);
    mc_launch *l = mci_launch_library(e->b, MC_BY_FFT, &t, sizeof t);
    if (!l) return -mc_errstatus();
    mci_launch_buffer(l, out);
    mci_launch_buffer(l, &operand);
    mci_launch_buffer(l, &room);
    if (f->scale == 1) return 1;
    const mcd_fft j = { .n = f->m * (f->kind == 2   ? 2 * half
                                     : f->kind == 3 ? f->n
                                                    : 2 * f->n),
                        .scale = f->scale };
    const int rc = around(e, "scaled", j.n, &j, out, NULL);
    return rc ? -rc : 1;
}

int mci_launch_fourier(mci_bound *b, const mci_fourier *f, const mci_place *in,
                       const mci_place *out)
{
    const engine e = engine_of(b, f->prec);
    mcd_fft j = {
        .m = f->m, .n = f->n, .have = f->have, .keep = f->n, .step = 1, .scale = f->scale
    };
    mci_place none;
    if (f->have == 0) { /* no memory */
        none = workspace(&e, 1, 1);
        in = &none;
    }
    const int done = by_library(&e, f, in, out);
    if (done) return done < 0 ? -done : MC_OK;
    if (f->kind == 2) return real_to_half(&e, j, in, out);
    if (f->kind == 3) return half_to_real(&e, j, in, out);
    j.swap_in = j.swap_out = f->kind == 1;
    return passes(&e, &j, in, out, NULL);
}

/* Rows of the operand along an axis, no more than `most` of each, dense in dtype; their count when
 * the operand has elements. */
static int rows_in(mci_bound *b, mci_place p, int axis, int64_t most, int dtype, mci_place *rows,
                   int64_t *have)
{
    int64_t m;
    if (p.shape[axis] > most) p.shape[axis] = most;
    *rows = mci_place_rows(&p, 1u << axis, &m, have);
    return mci_launch_dense(b, rows, dtype);
}

/* Where rows of the result are made: there, or workspace of that dtype. */
static mci_place rows_out(mci_bound *b, const mci_place *rows, int dtype)
{
    return mci_place_dense(rows) && rows->dtype == dtype
               ? *rows
               : mci_place_work(b, dtype, rows->ndim, rows->shape);
}

int mci_fft_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *outs,
                     mci_bound *b)
{
    (void)device, (void)r, (void)outs;
    mci_fft_call c;
    mci_result again;
    int rc = mci_fft_describe(job, &c, &again);
    const mci_place result = mci_place_out(b, 0);
    if (rc || mci_place_numel(&result) == 0) return rc;
    int64_t m, n;
    const mci_place out = mci_place_rows(&result, 1u << c.axis, &m, &n);
    mci_fourier f = { .kind = c.kind, .prec = c.prec, .m = m, .n = c.n, .scale = c.scale };
    mci_place in;
    rc = rows_in(b, mci_place_in(b, 0), c.axis, c.kind == 3 ? c.n / 2 + 1 : c.n, c.idt, &in,
                 &f.have);
    if (rc) return rc;
    const mci_place to = rows_out(b, &out, out.dtype);
    rc = mci_launch_fourier(b, &f, &in, &to);
    return rc || to.slot == out.slot ? rc : mci_launch_copy(b, &out, &to);
}

/* A complex place as a real one with a last axis of two. */
static mci_place as_pairs(mci_place p)
{
    if (mci_kind(p.dtype) != 'c') return p;
    for (int i = 0; i < p.ndim; i++) p.strides[i] *= 2;
    p.dtype = p.dtype == MC_C64 ? MC_F32 : MC_F64;
    p.shape[p.ndim] = 2;
    p.strides[p.ndim++] = 1;
    return p;
}

int mci_dct_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *outs,
                     mci_bound *b)
{
    (void)outs;
    mci_dct_call c;
    mci_result again;
    char source[128];
    int rc = mci_dct_describe(job, &c, &again);
    const mci_place whole = mci_place_out(b, 0);
    if (rc || mci_place_numel(&whole) == 0) return rc;
    if (mci_kind(r->dtype[0]) == 'c' && whole.ndim == MC_MAX_RANK)
        return mci_error(MC_ESHAPE, "%s: complex operands may have 7 axes on %s; reshape them",
                         job->op->name, mci_device_text(device));
    const mci_place result = as_pairs(whole);
    const int real = c.prec == 4 ? MC_F32 : MC_F64, complex = c.prec == 4 ? MC_C64 : MC_C128;
    mcd_dct j = {
        .type = c.type, .sine = c.sine, .orthogonal = job->params->i[3] != 0, .scale = c.scale
    };
    const mci_place out = mci_place_rows(&result, 1u << c.axis, &j.m, &j.n);
    mci_place in;
    rc = rows_in(b, as_pairs(mci_place_in(b, 0)), c.axis, c.n, real, &in, &j.have);
    if (rc) return rc;
    const mci_place to = rows_out(b, &out, real);
    const int64_t half = c.length / 2 + 1, before = c.kind == 3 ? half : c.length,
                  after = c.kind == 2 ? half : c.length;
    const mci_place one =
        mci_place_work(b, c.kind == 2 ? real : complex, 2, (const int64_t[]){ j.m, before });
    const mci_place two =
        mci_place_work(b, c.kind == 3 ? real : complex, 2, (const int64_t[]){ j.m, after });
    snprintf(source, sizeof source, "#define T %s\n#include \"dct.c\"\n", mci_device_types[real]);
    j.wide = c.kind == 2 ? before : 2 * before;
    mc_launch *l = mci_launch_lanes(b, source, "before", j.m * j.wide, &j, sizeof j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, &one);
    mci_launch_buffer(l, j.have ? &in : &one);
    const mci_fourier f = {
        .kind = c.kind, .prec = c.prec, .m = j.m, .n = c.length, .have = before, .scale = 1
    };
    if ((rc = mci_launch_fourier(b, &f, &one, &two)) != 0) return rc;
    j.wide = c.kind == 3 ? after : 2 * after;
    l = mci_launch_lanes(b, source, "after", j.m * j.n, &j, sizeof j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, &to);
    mci_launch_buffer(l, &two);
    return to.slot == out.slot ? MC_OK : mci_launch_copy(b, &out, &to);
}
