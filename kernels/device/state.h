/* state.h - what a lane keeps of the elements it has seen, for reductions and scans: KIND names it.
 *
 * T: dtype of the arithmetic, its name NAME; W: dtype of sums. SKIP: NaN are left out. A state
 * knows how many numbers it has seen (n), so that one that has seen none joins as nothing. push
 * takes elements in any order, `at` is the element's place; join keeps the first of equal ones. */
#ifndef MCD_STATE_H
#define MCD_STATE_H

#define MCD_SUM 0
#define MCD_PROD 1
#define MCD_MAX 2
#define MCD_MIN 3
#define MCD_ARGMAX 4
#define MCD_ARGMIN 5
#define MCD_TRUE 6
#define MCD_MOMENTS 7
#define MCD_LSE 8

#define MCD_CAT2(a, b) a##b
#define MCD_CAT(a, b) MCD_CAT2(a, b)
#define FN(name) MCD_CAT(mck_##name##_, NAME)
#define WFN(name) MCD_CAT(mck_##name##_, WNAME)

#if COMPLEX
#define IS_NAN(v) ((v).re != (v).re || (v).im != (v).im)
#else
#define IS_NAN(v) ((v) != (v))
#endif
#define LEFT_OUT(v) (SKIP && IS_NAN(v))

#if KIND == MCD_SUM || KIND == MCD_PROD

typedef struct state {
    W v;
    int64_t n;
} state;
MC_INLINE state state_none(void)
{
    state s;
    s.n = 0;
#if COMPLEX
    s.v.re = KIND == MCD_PROD ? 1 : 0;
    s.v.im = 0;
#else
    s.v = KIND == MCD_PROD ? 1 : 0;
#endif
    return s;
}
MC_INLINE W state_two(W a, W b)
{
#if COMPLEX
    return KIND == MCD_PROD ? WFN(mul)(a, b) : WFN(add)(a, b);
#elif WHOLE
    return KIND == MCD_PROD ? (W)((uint64_t)a * (uint64_t)b) : (W)((uint64_t)a + (uint64_t)b);
#else
    return KIND == MCD_PROD ? a * b : a + b;
#endif
}
MC_INLINE state state_join(state a, state b)
{
    a.v = state_two(a.v, b.v);
    a.n += b.n;
    return a;
}
MC_INLINE state state_push(state s, T v, int64_t at)
{
    W w;
    if (LEFT_OUT(v)) return s;
#if COMPLEX
    w.re = v.re;
    w.im = v.im;
#else
    w = (W)v;
#endif
    s.v = state_two(s.v, w);
    s.n++;
    return s;
}
#define RESULT(s) (s).v

#elif KIND == MCD_MAX || KIND == MCD_MIN

typedef struct state {
    T v;
    int64_t n;
} state;
MC_INLINE state state_none(void)
{
    state s;
    s.v = 0;
    s.n = 0;
    return s;
}
MC_INLINE state state_join(state a, state b)
{
    if (b.n == 0) return a;
    if (a.n == 0) return b;
#if KIND == MCD_MAX
    a.v = FN(maximum)(a.v, b.v);
#else
    a.v = FN(minimum)(a.v, b.v);
#endif
    a.n += b.n;
    return a;
}
MC_INLINE state state_push(state s, T v, int64_t at)
{
    state o;
    o.v = v;
    o.n = 1;
    return LEFT_OUT(v) ? s : state_join(s, o);
}
#define RESULT(s) (s).v

#elif KIND == MCD_ARGMAX || KIND == MCD_ARGMIN

#if KIND == MCD_ARGMAX
#define BETTER(a, b) ((a) > (b) || (IS_NAN(a) && !IS_NAN(b)))
#else
#define BETTER(a, b) ((a) < (b) || (IS_NAN(a) && !IS_NAN(b)))
#endif
typedef struct state {
    T v;
    int64_t at, n;
} state;
MC_INLINE state state_none(void)
{
    state s;
    s.v = 0;
    s.at = 0;
    s.n = 0;
    return s;
}
MC_INLINE state state_join(state a, state b)
{
    const int64_t n = a.n + b.n;
    if (a.n == 0 || (b.n > 0 && (BETTER(b.v, a.v) || (!BETTER(a.v, b.v) && b.at < a.at)))) a = b;
    a.n = n;
    return a;
}
MC_INLINE state state_push(state s, T v, int64_t at)
{
    state o;
    o.v = v;
    o.at = at;
    o.n = 1;
    return LEFT_OUT(v) ? s : state_join(s, o);
}
#define RESULT(s) (s).at

#elif KIND == MCD_TRUE /* n: elements, v: those that are not zero */

typedef struct state {
    int64_t v, n;
} state;
MC_INLINE state state_none(void)
{
    state s;
    s.v = 0;
    s.n = 0;
    return s;
}
MC_INLINE state state_join(state a, state b)
{
    a.v += b.v;
    a.n += b.n;
    return a;
}
MC_INLINE state state_push(state s, T v, int64_t at)
{
#if COMPLEX
    s.v += v.re != 0 || v.im != 0;
#else
    s.v += v != 0;
#endif
    s.n++;
    return s;
}
#define RESULT(s) (s).v

#elif KIND == \
    MCD_MOMENTS

/* n numbers, their mean, sums of powers of the distance from it (Pebay, Formulas for robust,
 * one-pass parallel computation of covariances and arbitrary-order statistical moments, 2008) */
typedef struct state {
    double mean, m2, m3, m4;
    int64_t n;
} state;
MC_INLINE state state_none(void)
{
    state s;
    s.mean = s.m2 = s.m3 = s.m4 = 0;
    s.n = 0;
    return s;
}
MC_INLINE state state_join(state a, state b)
{
    if (b.n == 0) return a;
    if (a.n == 0) return b;
    const double na = (double)a.n, nb = (double)b.n, n = na + nb, d = b.mean - a.mean, dn = d / n;
    state s;
    s.n = a.n + b.n;
    s.mean = a.mean + nb * dn;
    s.m2 = a.m2 + b.m2 + d * dn * na * nb;
    s.m3 = a.m3 + b.m3 + d * dn * dn * na * nb * (na - nb) + 3 * dn * (na * b.m2 - nb * a.m2);
    s.m4 = a.m4 + b.m4 + d * dn * dn * dn * na * nb * (na * na - na * nb + nb * nb) +
           6 * dn * dn * (na * na * b.m2 + nb * nb * a.m2) + 4 * dn * (na * b.m3 - nb * a.m3);
    return s;
}
MC_INLINE state state_push(state s, T v, int64_t at)
{
    state o;
    o.mean = (double)v;
    o.m2 = o.m3 = o.m4 = o.mean - o.mean; /* NaN: an infinity is far from any mean */
    o.n = 1;
    return LEFT_OUT(v) ? s : state_join(s, o);
}

#else /* MCD_LSE: the largest, and the sum of exponentials of the distances from it */

typedef struct state {
    double v, sum;
    int64_t n;
} state;
MC_INLINE state state_none(void)
{
    state s;
    s.v = -MCK_INF_F64;
    s.sum = 0;
    s.n = 0;
    return s;
}
MC_INLINE state state_join(state a, state b)
{
    const double top = mck_maximum_f64(a.v, b.v);
    const int far = top - top != 0; /* infinite or NaN: the answer itself */
    a.sum = far ? 1 : a.sum * mck_exp_f64(a.v - top) + b.sum * mck_exp_f64(b.v - top);
    a.v = top;
    a.n += b.n;
    return a;
}
MC_INLINE state state_push(state s, T v, int64_t at)
{
    state o;
    o.v = (double)v;
    o.sum = 1;
    o.n = 1;
    return LEFT_OUT(v) ? s : state_join(s, o);
}
#define RESULT(s) ((s).v - (s).v != 0 ? (s).v : (s).v + mck_log_f64((s).sum))

#endif
#endif
