/* matmul_few.c - products of a few rows in f32: b is read where it lies, once, so that nothing is
 * packed for the few times that it is used.
 *
 * out[m][n] = sum_k a[k][m] b[k][n]. Two vectors of columns by MOST rows of a stay in registers.
 * Steps of k come first within the columns: the first rows read b and leave it in a buffer of the
 * first cache for the others. Where b is turned, and in the last columns, the buffer is filled
 * before. A sum runs along k in order, in steps of MCK_FEW_STEP, whatever the shape and the layout
 * of b, so that bits do not depend on either, and v3 and v4 agree. */
#include "../mck_matmul.h"
#include "../mck_lanes.h"

#if MCK_VL32 == 16 /* 32 registers */
enum { MOST = 12 };
#else
enum { MOST = 6 };
#endif
/* Rows of b between a read and a prefetch. 32 x 1024 by 1024 x 1024: 2 rows 126 GFLOP/s, 8 rows
 * 142, 16 rows 133. */
enum { AHEAD = 8, VL = MCK_VL32, COLUMNS = 2 * VL };

typedef void (*few_fn)(float *out, int64_t out_row, const float *a, int64_t a_row, const float *b,
                       int64_t b_row, float *keep, int64_t n, int add);

/* R rows by two vectors of columns and n steps of k: to out, or added to it. far: b does not lie in
 * the buffer; keeps: its rows go there. Constants where this is called: R, far, keeps. */
MC_INLINE void few(const int R, const int far, const int keeps, float *out, int64_t out_row,
                   const float *a, int64_t a_row, const float *b, int64_t b_row, float *keep,
                   int64_t n, int add)
{
    mck_vec32 acc[MOST][2], v[2];
    MC_UNROLL(12) for (int r = 0; r < R; r++) acc[r][0] = acc[r][1] = mck_set_32(0);
    for (int64_t k = 0; k < n; k++, a += a_row, b += b_row) {
        v[0] = mck_load_32(b);
        v[1] = mck_load_32(b + VL);
        if (far) {
            __builtin_prefetch(b + AHEAD * b_row);
            if (VL * sizeof *b == 64) __builtin_prefetch(b + AHEAD * b_row + VL);
        }
        if (keeps) {
            mck_store_32(keep + k * COLUMNS, v[0]);
            mck_store_32(keep + k * COLUMNS + VL, v[1]);
        }
        MC_UNROLL(12) for (int r = 0; r < R; r++)
        {
            const mck_vec32 f = mck_set_32(a[r]);
            acc[r][0] = mck_muladd_32(f, v[0], acc[r][0]);
            acc[r][1] = mck_muladd_32(f, v[1], acc[r][1]);
        }
    }
    MC_UNROLL(12) for (int r = 0; r < R; r++) MC_UNROLL(2) for (int x = 0; x < 2; x++)
    {
        float *const o = out + r * out_row + x * VL;
        mck_store_32(o, add ? mck_add_32(mck_load_32(o), acc[r][x]) : acc[r][x]);
    }
}

#define FEW(name, R, far, keeps)                                                         \
    static MC_NOINLINE void name##_##R(float *out, int64_t out_row, const float *a,      \
                                       int64_t a_row, const float *b, int64_t b_row,     \
                                       float *keep, int64_t n, int add)                  \
    {                                                                                    \
        few(R, far, keeps, out, out_row, a, a_row, b, b_row, keep, n, add);              \
    }
#define ROWS(R) FEW(near, R, 0, 0) FEW(far, R, 1, 0) FEW(kept, R, 1, 1)
ROWS(1) ROWS(2) ROWS(3) ROWS(4) ROWS(5) ROWS(6)
#define SIX(name) name##_1, name##_2, name##_3, name##_4, name##_5, name##_6
#if MCK_VL32 == 16
ROWS(7) ROWS(8) ROWS(9) ROWS(10) ROWS(11) ROWS(12)
#define ALL(name) SIX(name), name##_7, name##_8, name##_9, name##_10, name##_11, name##_12
#else
#define ALL(name) SIX(name)
#endif

enum { NEAR, FAR, KEPT };
static const few_fn fews[][MOST] = { { ALL(near) }, { ALL(far) }, { ALL(kept) } };

/* keep[k][c] = b[c][k] of n steps k and `columns` columns, the others 0. */
static void turned(float *keep, const float *b, int64_t b_row, int64_t columns, int64_t n)
{
    int64_t c = 0, k = 0;
    for (; c + VL <= columns; c += VL) {
        for (k = 0; k + VL <= n; k += VL) {
            mck_vec32 v[VL];
            MC_UNROLL(16)
            for (int i = 0; i < VL; i++) v[i] = mck_load_32(b + (c + i) * b_row + k);
            mck_transpose_32(v);
            MC_UNROLL(16)
            for (int i = 0; i < VL; i++) mck_store_32(keep + (k + i) * COLUMNS + c, v[i]);
        }
        for (; k < n; k++)
            for (int i = 0; i < VL; i++) keep[k * COLUMNS + c + i] = b[(c + i) * b_row + k];
    }
    for (; c < COLUMNS; c++)
        for (k = 0; k < n; k++) keep[k * COLUMNS + c] = c < columns ? b[c * b_row + k] : 0;
}

/* keep[k][c] = b[k][c], where a vector would read past the columns. */
static void copied(float *keep, const float *b, int64_t b_row, int64_t columns, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        for (int64_t c = 0; c < COLUMNS; c++)
            keep[k * COLUMNS + c] = c < columns ? b[k * b_row + c] : 0;
}

/* Step k .. k + n - 1 of the columns from c on. */
static void few_step(const mck_few *p, float *out, int64_t out_row, int64_t c, int64_t columns,
                     int64_t k, int64_t n)
{
    const int64_t panels = (p->m + MOST - 1) / MOST;
    float *const keep = p->work;
    const float *b = (const float *)p->b + (p->turned ? c * p->b_row + k : k * p->b_row + c);
    int64_t b_row = p->b_row;
    int way = panels > 1 ? KEPT : FAR;
    if (p->turned || columns < COLUMNS) {
        (p->turned ? turned : copied)(keep, b, b_row, columns, n);
        way = NEAR;
    }
    for (int64_t i = 0, r = 0, next; i < panels; i++, r = next, way = NEAR) {
        if (way == NEAR) {
            b = keep;
            b_row = COLUMNS;
        }
        next = (p->m * (i + 1) + panels - 1) / panels;
        fews[way][next - r - 1](out + r * out_row, out_row,
                                (const float *)p->a + k * p->a_row + r, p->a_row, b, b_row, keep,
                                n, k > 0);
    }
}

void MCK(matmul_few_f32)(const mck_few *p);
void MCK(matmul_few_f32)(const mck_few *p)
{
    float *const edge = (float *)p->work + MCK_FEW_STEP * COLUMNS;
    for (int64_t c = 0; c < p->n; c += COLUMNS) {
        const int64_t columns = p->n - c < COLUMNS ? p->n - c : COLUMNS;
        const int part = columns < COLUMNS;
        float *const out = (float *)p->out + c;
        for (int64_t k = 0; k < p->k; k += MCK_FEW_STEP)
            few_step(p, part ? edge : out, part ? COLUMNS : p->out_row, c, columns, k,
                     p->k - k < MCK_FEW_STEP ? p->k - k : MCK_FEW_STEP);
        for (int64_t r = 0; part && r < p->m; r++)
            memcpy(out + r * p->out_row, edge + r * COLUMNS, (size_t)columns * sizeof *out);
    }
}

/* out[k][m] = a[m][k] */
void MCK(matmul_turn_f32)(const mck_turn *p);
void MCK(matmul_turn_f32)(const mck_turn *p)
{
    const float *const a = p->a;
    float *const out = p->out;
    int64_t r = 0, k = 0;
    for (; r + VL <= p->m; r += VL)
        for (k = 0; k + VL <= p->k; k += VL) {
            mck_vec32 v[VL];
            MC_UNROLL(16)
            for (int i = 0; i < VL; i++) v[i] = mck_load_32(a + (r + i) * p->row + k);
            mck_transpose_32(v);
            MC_UNROLL(16)
            for (int i = 0; i < VL; i++) mck_store_32(out + (k + i) * p->m + r, v[i]);
        }
    for (int64_t l = 0; l < p->k; l++)
        for (int64_t i = l < k ? r : 0; i < p->m; i++) out[l * p->m + i] = a[i * p->row + l];
}
