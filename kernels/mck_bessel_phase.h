/* mck_bessel_phase.h - exponent and phase of J and Y of large order, to more than double precision.
 *
 * Below the turning point J falls like e^-w with w = v (artanh t - t); past it, it oscillates with
 * the phase w - pi / 4, w = v (t - arctan t), where t = sqrt(|v^2 - x^2|) / v. An error of w is a
 * relative error of the result, and both terms of w are some 3 / t^2 times larger than w, so that w
 * is a pair. */
#ifndef MCK_BESSEL_PHASE_H
#define MCK_BESSEL_PHASE_H

#include "mck_gamma.h"

#define MCK_LN2_PAIR 0x1.62e42fefa39efp-1
#define MCK_LN2_PAIR_LO 0x1.abc9e3b39803fp-56

/* atan(k / 16) */
MC_TABLE double mck_arc_steps_f64[17][2] = {
    {0.0, 0.0},
    {0x1.ff55bb72cfdeap-5, -0x1.c934d86d23f1dp-60},
    {0x1.fd5ba9aac2f6ep-4, -0x1.cd37686760c17p-59},
    {0x1.7b97b4bce5b02p-3, 0x1.347b0b4f881cap-58},
    {0x1.f5b75f92c80ddp-3, 0x1.8ab6e3cf7afbdp-57},
    {0x1.362773707ebccp-2, -0x1.963a544b672d8p-57},
    {0x1.6f61941e4def1p-2, -0x1.c63aae6f6e918p-56},
    {0x1.a64eec3cc23fdp-2, -0x1.24dec1b50b7ffp-56},
    {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
    {0x1.0657e94db30d0p-1, -0x1.d5b495f6349e6p-56},
    {0x1.1e00babdefeb4p-1, -0x1.928df287a668fp-58},
    {0x1.345f01cce37bbp-1, 0x1.1021137c71102p-55},
    {0x1.4978fa3269ee1p-1, 0x1.2419a87f2a458p-56},
    {0x1.5d58987169b18p-1, 0x1.0028e4bc5e7cap-57},
    {0x1.700a7c5784634p-1, -0x1.8c34d25aadef6p-56},
    {0x1.819d0b7158a4dp-1, -0x1.bf76229d3b917p-56},
    {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55},
};

/* artanh(k / 16) */
MC_TABLE double mck_arch_steps_f64[15][2] = {
    {0.0, 0.0},
    {0x1.005588ad375adp-4, -0x1.1a7676ad4e1ccp-59},
    {0x1.015891c9eaef7p-3, 0x1.a6519e83dae46p-57},
    {0x1.8498ed69936dcp-3, -0x1.90c066fca62dap-57},
    {0x1.058aefa811452p-2, -0x1.636250f41f7efp-56},
    {0x1.4b12b73c1dd95p-2, -0x1.cf874eab86927p-60},
    {0x1.93b0aee21c2c8p-2, 0x1.1eb08151fbd93p-59},
    {0x1.e064e0c92c396p-2, -0x1.ca9772fc5eaafp-57},
    {0x1.193ea7aad030bp-1, -0x1.a256f99caabebp-55},
    {0x1.45e1141a8c010p-1, -0x1.f9cde95328c5ep-55},
    {0x1.7761ddbb61597p-1, 0x1.968ae8146fdeap-55},
    {0x1.afb7d78197becp-1, 0x1.6d033540ba421p-55},
    {0x1.f2272ae325a57p-1, 0x1.51bda525b3c98p-55},
    {0x1.226438e777c99p+0, 0x1.c6c5ff4a16c83p-54},
    {0x1.5aa16394d481fp+0, 0x1.341c89935864ap-60},
};

MC_INLINE mck_pair mck_pair_root(mck_pair a)
{
    const double r = sqrt(a.hi), p = r * r;
    const double rest = (a.hi - p) - mck_prod_err_f64(r, r, p) + a.lo;
    return MC_MAKE(mck_pair){r, r > 0 ? rest / (2.0 * r) : 0.0};
}

/* atan (side 1) or artanh (side -1) of a pair 0 <= q <= 1 (7 / 8 for artanh), relative error below
 * 2^-75: from the nearest sixteenth k by
 * (q - k) / (1 + side q k) in its series. */
MC_INLINE mck_pair mck_pair_arc(mck_pair q, double side)
{
    const int k = (int)(16.0 * q.hi + 0.5);
    const double c = k / 16.0;
    MC_TABLE_AT double *const step = side > 0 ? mck_arc_steps_f64[k] : mck_arch_steps_f64[k];
    mck_pair top = mck_pair_sum(q.hi, -c);
    top = mck_pair_sum(top.hi, top.lo + q.lo);
    const mck_pair low = mck_pair_add(MC_MAKE(mck_pair){1.0, 0}, mck_pair_scale(q, side * c));
    const mck_pair z = mck_pair_quotient(top.hi, top.lo, low);
    const mck_pair z2 = mck_pair_scale(mck_pair_times(z, z), -side);
    double rest = 0;
    for (int i = 27; i >= 13; i -= 2)
        rest = 1.0 / i + z2.hi * rest;
    mck_pair s = {rest, 0};
    for (int i = 11; i >= 1; i -= 2)
        s = mck_pair_add(mck_pair_quotient(1.0, 0, MC_MAKE(mck_pair){i, 0}), mck_pair_times(z2, s));
    s = mck_pair_add(MC_MAKE(mck_pair){step[0], step[1]}, mck_pair_times(z, s));
    return mck_pair_sum(s.hi, s.lo);
}

/* atan of a pair q >= 0. */
MC_INLINE mck_pair mck_pair_atan(mck_pair q)
{
    if (q.hi <= 1.0)
        return mck_pair_arc(q, 1.0);
    const mck_pair s = mck_pair_arc(mck_pair_quotient(1.0, 0, q), 1.0);
    const mck_pair half_pi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
    return mck_pair_add(half_pi, MC_MAKE(mck_pair){-s.hi, -s.lo});
}

/* (a - b) v, with a low part below a rounding of the high one where a and b cancel. */
MC_INLINE mck_pair mck_pair_less(mck_pair a, mck_pair b, double v)
{
    const mck_pair d = mck_pair_add(a, MC_MAKE(mck_pair){-b.hi, -b.lo});
    const mck_pair s = mck_pair_scale(mck_pair_sum(d.hi, d.lo), v);
    return mck_pair_sum(s.hi, s.lo);
}

/* w of v > 0 and x > 0, and t; y = 1 - x^2 / v^2, its sign that of v - x. */
MC_INLINE mck_pair mck_bessel_phase(double v, double x, double *t, double *y)
{
    const mck_pair pv = {v, 0}, d = mck_pair_sum(v, -x), u = mck_pair_sum(0.5 * v, 0.5 * x);
    const mck_pair a = mck_pair_quotient(d.hi, d.lo, pv), b = mck_pair_quotient(u.hi, u.lo, pv);
    const mck_pair half = mck_pair_times(a, b), z = {2.0 * half.hi, 2.0 * half.lo};
    const mck_pair r = mck_pair_root(z.hi < 0 ? MC_MAKE(mck_pair){-z.hi, -z.lo} : z);
    *t = r.hi;
    *y = z.hi;
    if (z.hi > 0) {
        if (r.hi < 0.84375) {
            const mck_pair l = mck_pair_arc(r, -1.0);
            return mck_pair_less(l, r, v);
        } /* artanh t = log((1 + t) v / x) */
        const mck_pair ratio = mck_pair_quotient(v, 0, MC_MAKE(mck_pair){x, 0});
        const mck_pair q = mck_pair_times(mck_pair_add(MC_MAKE(mck_pair){1.0, 0}, r), ratio);
        const mck_pair ln2 = {MCK_LN2_PAIR, MCK_LN2_PAIR_LO};
        const mck_pair l = mck_pair_times(mck_pair_log2(q.hi, q.lo), ln2);
        return mck_pair_less(l, r, v);
    }
    const mck_pair l = mck_pair_atan(r);
    return mck_pair_less(r, l, v);
}

#endif
