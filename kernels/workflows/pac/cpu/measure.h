/* measure.h - value of one tile row from its bin sums: modulation index or height ratio, W
 * bands at once.
 *
 * Body, included per dtype after scalar.h. MI-2010 in the form sum_j relent(u_j) / (B ln B), u_j =
 * B a_j / sum a: equal to 1 + sum p ln p / ln B since the u_j average 1, but without its
 * cancellation (an MI of 1e-4 keeps its digits in f32). Shared by drawn shifts, all shifts and
 * sums given by the caller. Allocates nothing. */

/* What turns sums into a value. scale[j]: 1/n_j, 1 or 1/divisor_j; 0 for an empty bin. */
#ifndef PAC_MEASURE_RULE
#define PAC_MEASURE_RULE
typedef struct pac_rule {
    int64_t bins;
    int measure;
    double epsilon;
    double norm; /* 1/(B ln B), or 1/ln B with epsilon: pac_rule_make */
} pac_rule;
MC_UNUSED static pac_rule pac_rule_make(const mck_pac_bins *a)
{
    const double b = (double)a->bins, n = a->epsilon > 0 ? log(b) : b * log(b);
    const pac_rule r = { a->bins, a->measure, a->epsilon, 1.0 / n };
    return r;
}
#endif

/* Lanes of nv <= NV vectors, s[j*step] is a row of lanes: total of the a_j, then out. Shares near 1
 * in all bins, the usual case, take the short polynomial of relent. That is decided for a whole
 * tile row of W lanes, whatever the vector width, so that ISA levels take the same path (in f32 a
 * neighbour band may thus change the last digit). FFT rounding may leave an empty bin a hair below
 * zero: clamped where it could matter. */
MC_INLINE void SN(measure_mi)(const T *s, int64_t step, const T *scale, const pac_rule *r, int nv,
                              T *out, T *total)
{
    const int64_t bins = r->bins;
    const vec zero = LN(set)(0), norm = LN(set)((T)r->norm);
    vec share[NV];
    int near = 1;
    for (int v = 0; v < nv; v++) {
        vec tot = zero, hi = zero, lo = LN(set)(PAC_BIG);
        for (int64_t j = 0; j < bins; j++) {
            const vec a = LN(mul)(LN(load)(s + j * step + v * VL), LN(set)(scale[j]));
            tot = LN(add)(tot, a);
            hi = LN(max)(hi, a);
            lo = LN(min)(lo, a);
        }
        share[v] = LN(div)(LN(set)((T)bins), tot);
        near &= LN(relent_near)(LN(mul)(lo, share[v]), LN(mul)(hi, share[v]), tot);
        LN(store)(total + v * VL, tot);
    }
    for (int v = 0; v < nv; v++) {
        vec h = zero;
        if (near)
            for (int64_t j = 0; j < bins; j++) {
                const vec a = LN(mul)(LN(load)(s + j * step + v * VL), LN(set)(scale[j]));
                h = LN(relent_add)(LN(mul)(a, share[v]), h);
            }
        else
            for (int64_t j = 0; j < bins; j++) {
                const vec a = LN(mul)(LN(load)(s + j * step + v * VL), LN(set)(scale[j]));
                h = LN(add)(h, LN(relent)(LN(mul)(LN(max)(zero, a), share[v])));
            }
        LN(store)(out + v * VL, LN(mul)(h, norm));
    }
}

MC_INLINE void SN(measure_hr)(const T *s, int64_t step, const T *scale, const pac_rule *r, T *out,
                              T *total)
{
    const vec first = LN(mul)(LN(load)(s), LN(set)(scale[0]));
    vec tot = first, hi = first, lo = first;
    for (int64_t j = 1; j < r->bins; j++) {
        const vec a = LN(mul)(LN(load)(s + j * step), LN(set)(scale[j]));
        tot = LN(add)(tot, a);
        hi = LN(max)(a, hi);
        lo = LN(min)(a, lo);
    }
    LN(store)(out, LN(div)(LN(sub)(hi, lo), hi));
    LN(store)(total, tot);
}

/* p = max(S/(sum S + eps), eps); p ln p through relent(p) + p - 1. */
MC_INLINE void SN(measure_clamped)(const T *s, int64_t step, const T *scale, const pac_rule *r,
                                   T *out, T *total)
{
    const vec one = LN(set)(1), eps = LN(set)((T)r->epsilon);
    vec tot = LN(set)(0), h = LN(set)(0);
    for (int64_t j = 0; j < r->bins; j++)
        tot = LN(add)(tot, LN(mul)(LN(load)(s + j * step), LN(set)(scale[j])));
    const vec share = LN(div)(one, LN(add)(tot, eps));
    for (int64_t j = 0; j < r->bins; j++) {
        const vec a = LN(mul)(LN(load)(s + j * step), LN(set)(scale[j]));
        const vec p = LN(max)(eps, LN(mul)(a, share));
        h = LN(add)(h, LN(add)(LN(relent)(p), LN(sub)(p, one)));
    }
    LN(store)(out, LN(muladd)(h, LN(set)((T)r->norm), one));
    LN(store)(total, tot);
}

/* s: [B] rows of W lanes, step apart -> out[W] and the totals of the a_j. A total of zero gives 0,
 * one that is not finite NaN. nv: vectors in use. */
MC_UNUSED static void SN(measure_tile)(const T *s, int64_t step, const T *scale, const pac_rule *r,
                                       int nv, T *out, T *total)
{
    if (r->measure == MCK_PAC_MI && !(r->epsilon > 0))
        for (int v = 0; v < nv; v += NV)
            SN(measure_mi)(s + v * VL, step, scale, r, nv - v < NV ? nv - v : NV, out + v * VL,
                           total + v * VL);
    else
        for (int v = 0; v < nv; v++) {
            if (r->measure == MCK_PAC_HR)
                SN(measure_hr)(s + v * VL, step, scale, r, out + v * VL, total + v * VL);
            else
                SN(measure_clamped)(s + v * VL, step, scale, r, out + v * VL, total + v * VL);
        }
    for (int i = 0; i < nv * VL; i++) {
        if (total[i] == 0)
            out[i] = 0;
        else if (total[i] - total[i] != 0)
            out[i] = (T)NAN;
    }
}

/* The factor that turns S_j into a_j. */
MC_UNUSED static void SN(measure_scale)(const double *count, const double *divisor, int norm,
                                        int64_t bins, T *scale)
{
    for (int64_t j = 0; j < bins; j++) {
        const double n = norm == MCK_PAC_MEAN ? count[j] : norm == MCK_PAC_SUM ? 1.0 : divisor[j];
        scale[j] = n != 0 ? (T)(1.0 / n) : (T)0;
    }
}

MC_UNUSED static int32_t SN(measure_status)(T total, const double *count, int64_t bins)
{
    int32_t st = total - total != 0 ? MCK_PAC_BAD : total == 0 ? MCK_PAC_ZERO : 0;
    for (int64_t j = 0; j < bins; j++)
        if (count[j] == 0)
            return st | MCK_PAC_EMPTY;
    return st;
}

/* cos c_j, sin c_j of the bin centres, [2][B]. */
MC_UNUSED static void SN(measure_centres)(double *centre, int64_t bins)
{
    for (int64_t j = 0; j < bins; j++) {
        const double c = (((double)j + 0.5) / (double)bins - 0.5) * 6.283185307179586;
        centre[j] = cos(c);
        centre[bins + j] = sin(c);
    }
}

/* The lesser results of one pair from its sums s[j*step]: p_j, fullest bin, preferred phase. Any
 * output may be NULL. */
MC_UNUSED static void SN(measure_shape)(const T *s, int64_t step, const T *scale,
                                        const double *centre, int64_t bins, T *dist, int32_t *best,
                                        T *pref)
{
    double total = 0, re = 0, im = 0, top = 0;
    int32_t at = -1;
    for (int64_t j = 0; j < bins; j++) {
        const double a = (double)s[j * step] * (double)scale[j];
        if (a > top) {
            top = a;
            at = (int32_t)j;
        }
        total += a;
        re += a * centre[j];
        im += a * centre[bins + j];
    }
    const int finite = total - total == 0, some = finite && total != 0;
    if (dist) {
        const double share = some ? 1.0 / total : finite ? 0.0 : (double)NAN;
        for (int64_t j = 0; j < bins; j++)
            dist[j] = (T)((double)s[j * step] * (double)scale[j] * share);
    }
    if (best)
        *best = some ? at : -1;
    if (pref)
        *pref = some ? (T)atan2(im, re) : (T)NAN;
}
