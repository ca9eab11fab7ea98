/* row_body.h - body of row.c, once per dtype. Letters as in pac.h. */
#include "job.h"

void FN(analytic)(const mck_pac_analytic *a, int64_t begin, int64_t end, void *work);
int64_t FN(analytic_work)(const mck_pac_analytic *a);
void FN(bins)(const mck_pac_bins *a, int64_t begin, int64_t end, void *work);
int64_t FN(bins_work)(const mck_pac_bins *a);
void FN(exhaustive)(const mck_pac_bins *a, int64_t begin, int64_t end, void *work);
int64_t FN(exhaustive_work)(const mck_pac_bins *a);
void FN(moments)(const mck_pac_moments *a, int64_t begin, int64_t end, void *work);
int64_t FN(moments_work)(const mck_pac_moments *a);

typedef struct SN(row_work) {
    uint8_t *idx; /* [P][L] */
    T *angle;     /* [P][L], soft bins */
    T *unit;      /* [P][2][L] */
    T *amp;       /* [tiles][L][W] */
    void *stage;  /* the stages run one after the other */
    int64_t bytes;
} SN(row_work);

static SN(row_work) SN(row_layout)(const mck_pac_row *a, void *base)
{
    SN(row_work) w;
    pac_work p = { base, 0 };
    const mck_pac_analytic *amp = a->amp ? a->amp : a->pha;
    const int64_t phases = a->pha->P * a->pha->L, tiles = (amp->A + W - 1) / W;
    const int soft = a->bins && a->bins->tau > 0;
    int64_t stage = FN(analytic_work)(a->pha), need = 0;
    if (a->amp)
        need = FN(analytic_work)(a->amp);
    stage = need > stage ? need : stage;
    need = !a->bins        ? FN(moments_work)(a->moments)
           : a->exhaustive ? FN(exhaustive_work)(a->bins)
                           : FN(bins_work)(a->bins);
    stage = need > stage ? need : stage;
    w.idx = pac_take(&p, a->bins && !soft ? phases : 0, 1);
    w.angle = pac_take(&p, soft ? phases : 0, sizeof(T));
    w.unit = pac_take(&p, a->bins ? 0 : 2 * phases, sizeof(T));
    w.amp = pac_take(&p, tiles * amp->L * W, sizeof(T));
    w.stage = pac_take(&p, stage, 1);
    w.bytes = p.used;
    return w;
}

int64_t FN(row_work)(const mck_pac_row *a) { return SN(row_layout)(a, NULL).bytes; }

/* Row r as row 0; what later stages need goes to the caller's buffer where there is one, else to
 * ours. */
static mck_pac_analytic SN(analytic_at)(const mck_pac_analytic *a, int64_t r)
{
    mck_pac_analytic b = *a;
    const int64_t tiles = (a->A + W - 1) / W, L = a->L;
    b.idx = a->idx ? a->idx + r * a->P * L : NULL;
    b.unit = a->unit ? (T *)a->unit + r * a->P * 2 * L : NULL;
    b.angle = a->angle ? (T *)a->angle + r * a->P * L : NULL;
    b.amp = a->amp ? (T *)a->amp + r * tiles * L * W : NULL;
    b.z = a->z ? (T *)a->z + r * (a->P + a->A) * 2 * L : NULL;
    b.status = a->status ? a->status + r : NULL;
    b.x = (const T *)a->x + r * a->x_stride;
    return b;
}

static void SN(row_one)(const mck_pac_row *a, const SN(row_work) *w, int64_t r)
{
    mck_pac_analytic pha = SN(analytic_at)(a->pha, r);
    mck_pac_analytic own = SN(analytic_at)(a->amp ? a->amp : a->pha, r);
    mck_pac_analytic *amp = a->amp ? &own : &pha;
    const int64_t L = pha.L;
    if (w->idx && a->bins && !pha.idx && !(a->bins->tau > 0))
        pha.idx = w->idx;
    if (a->bins && a->bins->tau > 0 && !pha.angle)
        pha.angle = w->angle;
    if (!a->bins && !pha.unit)
        pha.unit = w->unit;
    if (!amp->amp)
        amp->amp = w->amp;
    FN(analytic)(&pha, 0, 1, w->stage);
    if (a->amp)
        FN(analytic)(amp, 0, 1, w->stage);
    if (a->bins) {
        mck_pac_bins b = *a->bins;
        b.idx_at = b.amp_at = NULL;
        b = SN(bins_at)(&b, r);
        b.idx = pha.idx;
        b.angle = pha.angle;
        b.amp = amp->amp;
        b.idx_band = L;
        b.amp_tile = L * W;
        (a->exhaustive ? FN(exhaustive) : FN(bins))(&b, 0, 1, w->stage);
    } else {
        mck_pac_moments m = *a->moments;
        m.unit_at = m.amp_at = NULL;
        m = SN(moments_at)(&m, r);
        m.unit = pha.unit;
        m.amp = amp->amp;
        m.unit_band = L;
        m.amp_tile = L * W;
        FN(moments)(&m, 0, 1, w->stage);
    }
}

void FN(row)(const mck_pac_row *a, int64_t begin, int64_t end, void *work)
{
    const SN(row_work) w = SN(row_layout)(a, work);
    for (int64_t r = begin; r < end; r++)
        SN(row_one)(a, &w, r);
}
