/* job.h - the argument structs of one job taken out of many: every pointer moved on so that job
 * 0 is the wanted one.
 *
 * Body, included per dtype after scalar.h. Lets one stage run another on a single job. */

#define PAC_STEP(type, p, n) ((p) ? (type *)(p) + (n) : NULL)

MC_UNUSED static mck_pac_null SN(null_at)(const mck_pac_null *u, int64_t job, int64_t cells)
{
    mck_pac_null n = *u;
    n.mean = PAC_STEP(double, u->mean, job *cells);
    n.m2 = PAC_STEP(double, u->m2, job *cells);
    n.exceed = PAC_STEP(int64_t, u->exceed, job * cells);
    n.max = PAC_STEP(T, u->max, job * u->K);
    n.zmax = PAC_STEP(T, u->zmax, job * u->K);
    n.zvalue = PAC_STEP(T, u->zvalue, job * cells);
    n.znear = PAC_STEP(T, u->znear, job * u->near_count * cells);
    n.all = PAC_STEP(T, u->all, job * u->K * cells);
    return n;
}

MC_UNUSED static mck_pac_bins SN(bins_at)(const mck_pac_bins *a, int64_t job)
{
    mck_pac_bins b = *a;
    const int64_t cells = a->P * a->A, tiles = (a->A + W - 1) / W;
    b.value = PAC_STEP(T, a->value, job * cells);
    b.sums = PAC_STEP(double, a->sums, job *cells * a->bins);
    b.count = PAC_STEP(double, a->count, job * a->P * a->bins);
    b.dist = PAC_STEP(T, a->dist, job * cells * a->bins);
    b.best = PAC_STEP(int32_t, a->best, job * cells);
    b.pref = PAC_STEP(T, a->pref, job * cells);
    b.status = PAC_STEP(int32_t, a->status, job * cells);
    b.null = SN(null_at)(&a->null, job, cells);
    if (a->idx_at)
        b.idx_at = a->idx_at + job * a->G;
    else if (a->tau > 0)
        b.angle = PAC_STEP(const T, a->angle, job * a->G * a->P * a->idx_band);
    else
        b.idx = PAC_STEP(const uint8_t, a->idx, job * a->G * a->P * a->idx_band);
    if (a->amp_at)
        b.amp_at = a->amp_at + job * a->G;
    else
        b.amp = PAC_STEP(const T, a->amp, job * a->G * tiles * a->amp_tile);
    return b;
}

MC_UNUSED static mck_pac_moments SN(moments_at)(const mck_pac_moments *a, int64_t job)
{
    mck_pac_moments b = *a;
    const int64_t cells = a->P * a->A, tiles = (a->A + W - 1) / W;
    b.value = PAC_STEP(T, a->value, job * cells);
    b.moment = PAC_STEP(double, a->moment, job * 2 * cells);
    b.status = PAC_STEP(int32_t, a->status, job * cells);
    b.null = SN(null_at)(&a->null, job, cells);
    if (a->unit_at)
        b.unit_at = a->unit_at + job;
    else
        b.unit = PAC_STEP(const T, a->unit, job * a->P * 2 * a->unit_band);
    if (a->amp_at) {
        b.amp_at = a->amp_at + job;
    } else {
        b.amp = PAC_STEP(const T, a->amp, job *tiles * a->amp_tile);
        b.amp2 = PAC_STEP(const T, a->amp2, job *tiles * a->amp_tile);
    }
    return b;
}
#undef PAC_STEP
