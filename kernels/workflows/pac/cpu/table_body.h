/* table_body.h - body of table.c, once per dtype. Letters as in pac.h. */
#include "measure.h"

#define PAC_STAGE(name, struct_name)                                                               \
    void FN(name)(const struct_name *a, int64_t begin, int64_t end, void *work);                   \
    int64_t FN(name##_work)(const struct_name *a);
PAC_STAGE(analytic, mck_pac_analytic)
PAC_STAGE(bins, mck_pac_bins)
PAC_STAGE(exhaustive, mck_pac_bins)
PAC_STAGE(moments, mck_pac_moments)
PAC_STAGE(row, mck_pac_row)
PAC_STAGE(theta, mck_pac_theta)
PAC_STAGE(ranks, mck_pac_ranks)
#undef PAC_STAGE
void FN(tile)(const mck_pac_tile *a, int64_t begin, int64_t end, void *work);
void FN(index)(const mck_pac_index *a, int64_t begin, int64_t end, void *work);
void FN(edges)(void *out, int64_t bins);
void FN(scores)(void *out, int64_t L);

typedef struct SN(measure_work) {
    T *scale;       /* [B] */
    T *sums;        /* [B][W] */
    double *centre; /* [2][B] */
    int64_t bytes;
} SN(measure_work);

static SN(measure_work) SN(measure_layout)(const mck_pac_bins *a, void *base)
{
    SN(measure_work) w;
    pac_work p = { base, 0 };
    w.scale = pac_take(&p, a->bins, sizeof(T));
    w.sums = pac_take(&p, a->bins * W, sizeof(T));
    w.centre = pac_take(&p, 2 * a->bins, sizeof(double));
    w.bytes = p.used;
    return w;
}

static int64_t SN(measure_bytes)(const mck_pac_bins *a)
{
    return SN(measure_layout)(a, NULL).bytes;
}

/* Task = one row of sums [B][A], count [B] (a phase band of a job). */
static void SN(measure_rows)(const mck_pac_bins *a, int64_t begin, int64_t end, void *work)
{
    const SN(measure_work) w = SN(measure_layout)(a, work);
    const pac_rule rule = pac_rule_make(a);
    const int64_t bins = a->bins, A = a->A;
    T value[W], total[W];
    SN(measure_centres)(w.centre, bins);
    for (int64_t m = begin; m < end; m++) {
        const double *sums = a->sums + m * bins * A, *count = a->count + m * bins;
        SN(measure_scale)(count, a->divisor, a->norm, bins, w.scale);
        for (int64_t i0 = 0; i0 < A; i0 += W) {
            const int64_t lanes = A - i0 < W ? A - i0 : W;
            for (int64_t j = 0; j < bins; j++)
                for (int64_t i = 0; i < W; i++)
                    w.sums[j * W + i] = i < lanes ? (T)sums[j * A + i0 + i] : (T)0;
            SN(measure_tile)(w.sums, W, w.scale, &rule, NV, value, total);
            for (int64_t i = 0; i < lanes; i++) {
                const int64_t at = m * A + i0 + i;
                if (a->value)
                    ((T *)a->value)[at] = value[i];
                if (a->status)
                    a->status[at] = SN(measure_status)(total[i], count, bins);
                SN(measure_shape)(w.sums + i, W, w.scale, w.centre, bins,
                                  a->dist ? (T *)a->dist + at * bins : NULL,
                 a->best ? a->best + at : NULL, a->pref ? (T *)a->pref + at : NULL);
            }
        }
    }
}

#undef PAC_TABLE
#if PAC_BITS == 32
#define PAC_TABLE MCK(pac_f32)
#else
#define PAC_TABLE MCK(pac_f64)
#endif

const mck_pac_ops PAC_TABLE = {
    .analytic = FN(analytic),
    .analytic_work = FN(analytic_work),
    .bins = FN(bins),
    .bins_work = FN(bins_work),
    .exhaustive = FN(exhaustive),
    .exhaustive_work = FN(exhaustive_work),
    .measure = SN(measure_rows),
    .measure_work = SN(measure_bytes),
    .moments = FN(moments),
    .moments_work = FN(moments_work),
    .row = FN(row),
    .row_work = FN(row_work),
    .theta = FN(theta),
    .theta_work = FN(theta_work),
    .ranks = FN(ranks),
    .ranks_work = FN(ranks_work),
    .tile = FN(tile),
    .index = FN(index),
    .edges = FN(edges),
    .scores = FN(scores),
};
