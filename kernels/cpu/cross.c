/* cross.c - vector products in space: out[i] = a[i] x b[i] for m rows of three.
 *
 * Arguments are those of the dot family with n = 3; out is dense, in the dtype of the operands.
 * Every component is the difference of two rounded products, as the operations multiply and
 * subtract give it. */
#include "../mck_dot.h"

#define ROW(oa, ob, ea, eb)                                         \
    const T x = a[oa], y = a[(oa) + (ea)], z = a[(oa) + 2 * (ea)];  \
    const T u = b[ob], v = b[(ob) + (eb)], w = b[(ob) + 2 * (eb)];  \
    o[3 * i] = y * w - z * v;                                       \
    o[3 * i + 1] = z * u - x * w;                                   \
    o[3 * i + 2] = x * v - y * u;

#define CROSS                                                                          \
    const T *const MC_RESTRICT a = k->a, *const MC_RESTRICT b = k->b;                  \
    T *const MC_RESTRICT o = k->out;                                                   \
    if (k->a_row == 3 && k->b_row == 3 && k->a_elem == 1 && k->b_elem == 1)            \
        for (int64_t i = 0; i < k->m; i++) {                                           \
            ROW(3 * i, 3 * i, 1, 1)                                                    \
        }                                                                              \
    else                                                                               \
        for (int64_t i = 0; i < k->m; i++) {                                           \
            ROW(i * k->a_row, i * k->b_row, k->a_elem, k->b_elem)                      \
        }

#define T float
void MCK(cross_product_f32)(const mck_dot *k);
void MCK(cross_product_f32)(const mck_dot *k)
{
    CROSS
}
#undef T

#define T double
void MCK(cross_product_f64)(const mck_dot *k);
void MCK(cross_product_f64)(const mck_dot *k)
{
    CROSS
}
#undef T
