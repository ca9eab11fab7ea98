/* fft_radix.h - the butterfly loops of one radix; body included by fft_body.h once per radix.
 *
 * Wants R, EACH(F) (F(0) .. F(R-1)), REST(F) (F(1) .. F(R-1)), DFT (in-place transform of CX v[R])
 * and NAME(x, R). Leg k of the input is x + k*xl, leg k of the output y + k*yl; the loop runs over
 * n neighbours, unit stride. Three forms: without twiddles, with one twiddle per leg, and with one
 * per leg and neighbour (leg k-1 at w + (k-1)*wl). */

#define TAKE(k) \
    v[k].re = xr[k * xl + i]; \
    v[k].im = xi[k * xl + i];
#define GIVE(k) \
    yr[k * yl + i] = v[k].re; \
    yi[k * yl + i] = v[k].im;
#define TURN(k) v[k] = NAME(mul)(v[k], wr[k - 1], wi[k - 1]);
#define TURN_EACH(k) v[k] = NAME(mul)(v[k], wr[(k - 1) * wl + i], wi[(k - 1) * wl + i]);

static void RNAME(plain)(int64_t n, T *MC_RESTRICT yr, T *MC_RESTRICT yi, int64_t yl,
                         const T *MC_RESTRICT xr, const T *MC_RESTRICT xi, int64_t xl)
{
    MC_IVDEP
    for (int64_t i = 0; i < n; i++) {
        CX v[R];
        EACH(TAKE)
        DFT(v);
        EACH(GIVE)
    }
}

static void RNAME(turned)(int64_t n, T *MC_RESTRICT yr, T *MC_RESTRICT yi, int64_t yl,
                          const T *MC_RESTRICT xr, const T *MC_RESTRICT xi, int64_t xl,
                          const T *MC_RESTRICT wr, const T *MC_RESTRICT wi)
{
    MC_IVDEP
    for (int64_t i = 0; i < n; i++) {
        CX v[R];
        EACH(TAKE)
        DFT(v);
        REST(TURN)
        EACH(GIVE)
    }
}

static void RNAME(turned_each)(int64_t n, T *MC_RESTRICT yr, T *MC_RESTRICT yi, int64_t yl,
                               const T *MC_RESTRICT xr, const T *MC_RESTRICT xi, int64_t xl,
                               const T *MC_RESTRICT wr, const T *MC_RESTRICT wi, int64_t wl)
{
    MC_IVDEP
    for (int64_t i = 0; i < n; i++) {
        CX v[R];
        EACH(TAKE)
        DFT(v);
        REST(TURN_EACH)
        EACH(GIVE)
    }
}

#undef TAKE
#undef GIVE
#undef TURN
#undef TURN_EACH
#undef R
#undef EACH
#undef REST
#undef DFT
#undef RNAME
