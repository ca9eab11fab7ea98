/* block_body.h - one dtype of block.c; included with T and NAME(x) defined. */

MC_INLINE T NAME(relu)(T t)
{
    return t > 0 ? t : t != t ? t : 0; /* NaN stays */
}
MC_INLINE T NAME(silu)(T t)
{
    return t / (1 + NAME(mck_exp)(-t));
}
MC_INLINE T NAME(gelu)(T t)
{
    return (T)0.5 * t * (1 + NAME(mck_erf)(t * (T)0.70710678118654752440));
}
MC_INLINE T NAME(gelu_tanh)(T t)
{
    return (T)0.5 * t *
           (1 + NAME(mck_tanh)((T)0.79788456080286535588 * (t + (T)0.044715 * t * t * t)));
}
MC_INLINE T NAME(linear)(T t)
{
    return t;
}

#define ALONG(f)                                                                               \
    static void NAME(f##_along)(T * y, const T *x, const T *skip, int64_t n, T shift, T scale) \
    {                                                                                          \
        if (skip) {                                                                            \
            MC_IVDEP                                                                           \
            for (int64_t i = 0; i < n; i++) y[i] = NAME(f)((x[i] - shift) * scale) + skip[i];  \
        } else {                                                                               \
            MC_IVDEP                                                                           \
            for (int64_t i = 0; i < n; i++) y[i] = NAME(f)((x[i] - shift) * scale);            \
        }                                                                                      \
    }
ALONG(linear)
ALONG(relu)
ALONG(mck_tanh)
ALONG(silu)
ALONG(gelu)
ALONG(gelu_tanh)
#undef ALONG

void MCK(NAME(ro_block))(const void *args, int64_t begin, int64_t end, void *work)
{
    static void (*const along[])(T *, const T *, const T *, int64_t,
                                 T, T) = { NAME(linear_along),   NAME(relu_along),
                                           NAME(mck_tanh_along), NAME(silu_along),
                                           NAME(gelu_along),     NAME(gelu_tanh_along) };
    const mck_ro_block *k = args;
    (void)work;
    for (int64_t g = begin; g < end; g++) {
        const T *x = (const T *)k->x + g * k->n;
        const T *skip = k->skip ? (const T *)k->skip + g * k->n : NULL;
        double mean = 0, var = 0, scale = 1;
        if (k->norm == RO_MOMENTS) {
            NAME(moments)(x, k->n, &mean, &var);
            scale = 1 / sqrt(var + k->eps);
        } else if (k->norm == RO_FACTOR)
            scale = 1 / sqrt(1 + k->eps);
        along[k->activation]((T *)k->y + g * k->n, x, skip, k->n, (T)mean, (T)scale);
    }
}
