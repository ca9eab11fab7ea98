/* math.h - stands for the system's where fused groups are compiled at run time (see stddef.h
 * here): what the kernels' headers call. */
#ifndef MCK_NATIVE_MATH_H
#define MCK_NATIVE_MATH_H
#define isinf(x) __builtin_isinf(x)
#define isnan(x) __builtin_isnan(x)
#define isfinite(x) __builtin_isfinite(x)
#define signbit(x) __builtin_signbit(x)
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define MCK_ONE(name)       \
    double name(double x);  \
    float name##f(float x);
#define MCK_TWO(name)                 \
    double name(double x, double y);  \
    float name##f(float x, float y);
MCK_ONE(sqrt)
MCK_ONE(fabs)
MCK_ONE(floor)
MCK_ONE(ceil)
MCK_ONE(trunc)
MCK_ONE(rint)
MCK_ONE(round)
MCK_ONE(exp)
MCK_ONE(expm1)
MCK_ONE(log)
MCK_ONE(log1p)
MCK_ONE(sin)
MCK_ONE(cos)
MCK_ONE(tan)
MCK_ONE(sinh)
MCK_ONE(cosh)
MCK_ONE(lgamma)
MCK_TWO(pow)
MCK_TWO(fmod)
MCK_TWO(copysign)
MCK_TWO(hypot)
double fma(double x, double y, double z);
float fmaf(float x, float y, float z);
double ldexp(double x, int n);
float ldexpf(float x, int n);
#endif
