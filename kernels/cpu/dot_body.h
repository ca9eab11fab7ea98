/* dot_body.h - inner products of one dtype; included by dot.c with T, ACC, NAME and, for complex
 * numbers, PAIRS defined (T is then the type of a part). Rows of unit stride run in lanes along
 * the row; all others column-wise, BLOCK rows at a time, so that rows that lie side by side in
 * memory are read as they lie. */
#define CAT3_(a, b) a##_##b
#define CAT3(a, b) CAT3_(a, b)

#ifdef PAIRS
static void CAT3(dot_row, NAME)(ACC *out, const T *a, const T *b, int64_t n, ACC sign)
{
    ACC re[LANES] = {0}, im[LANES] = {0};
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (int l = 0; l < LANES; l++) {
            const ACC ar = a[2 * (j + l)], ai = sign * (ACC)a[2 * (j + l) + 1], br = b[2 * (j + l)],
                      bi = b[2 * (j + l) + 1];
            re[l] += MC_PRODUCT(ar, br) - MC_PRODUCT(ai, bi);
            im[l] += MC_PRODUCT(ar, bi) + MC_PRODUCT(ai, br);
        }
    for (int l = 0; j < n; j++, l++) {
        const ACC ar = a[2 * j], ai = sign * (ACC)a[2 * j + 1], br = b[2 * j], bi = b[2 * j + 1];
        re[l] += MC_PRODUCT(ar, br) - MC_PRODUCT(ai, bi);
        im[l] += MC_PRODUCT(ar, bi) + MC_PRODUCT(ai, br);
    }
    for (int h = LANES / 2; h >= 1; h /= 2)
        for (int l = 0; l < h; l++) {
            re[l] += re[l + h];
            im[l] += im[l + h];
        }
    out[0] = re[0];
    out[1] = im[0];
}

static void CAT3(dot_columns, NAME)(ACC *out, const T *a, const T *b, const mck_dot *k, int64_t m,
                                    ACC sign)
{
    ACC re[BLOCK] = {0}, im[BLOCK] = {0};
    for (int64_t j = 0; j < k->n; j++) {
        const T *x = a + 2 * j * k->a_elem, *y = b + 2 * j * k->b_elem;
        for (int64_t i = 0; i < m; i++) {
            const T *p = x + 2 * i * k->a_row, *q = y + 2 * i * k->b_row;
            const ACC ar = p[0], ai = sign * (ACC)p[1], br = q[0], bi = q[1];
            re[i] += MC_PRODUCT(ar, br) - MC_PRODUCT(ai, bi);
            im[i] += MC_PRODUCT(ar, bi) + MC_PRODUCT(ai, br);
        }
    }
    for (int64_t i = 0; i < m; i++) {
        out[2 * i] = re[i];
        out[2 * i + 1] = im[i];
    }
}
#define WIDTH 2
#else
static void CAT3(dot_row, NAME)(ACC *out, const T *a, const T *b, int64_t n, ACC sign)
{
    ACC lane[LANES] = {0};
    int64_t j = 0;
    (void)sign;
    for (; j + LANES <= n; j += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] = MADD((ACC)a[j + l], (ACC)b[j + l], lane[l]);
    for (int l = 0; j < n; j++, l++)
        lane[l] = MADD((ACC)a[j], (ACC)b[j], lane[l]);
    for (int h = LANES / 2; h >= 1; h /= 2)
        for (int l = 0; l < h; l++)
            lane[l] += lane[l + h];
    *out = lane[0];
}

static void CAT3(dot_columns, NAME)(ACC *out, const T *a, const T *b, const mck_dot *k, int64_t m,
                                    ACC sign)
{
    ACC acc[BLOCK] = {0};
    const int side = k->a_row == 1 && k->b_row == 1, one = k->a_row == 1 && k->b_row == 0;
    (void)sign;
    for (int64_t j = 0; j < k->n; j++) {
        const T *x = a + j * k->a_elem, *y = b + j * k->b_elem;
        if (side) {
            for (int64_t i = 0; i < m; i++)
                acc[i] = MADD((ACC)x[i], (ACC)y[i], acc[i]);
        } else if (one) {
            const ACC v = (ACC)*y;
            for (int64_t i = 0; i < m; i++)
                acc[i] = MADD((ACC)x[i], v, acc[i]);
        } else {
            for (int64_t i = 0; i < m; i++)
                acc[i] = MADD((ACC)x[i * k->a_row], (ACC)y[i * k->b_row], acc[i]);
        }
    }
    for (int64_t i = 0; i < m; i++)
        out[i] = acc[i];
}
#define WIDTH 1
#endif

void MCK(CAT3(vecdot, NAME))(const mck_dot *k);
void MCK(CAT3(vecdot, NAME))(const mck_dot *k)
{
    ACC *out = k->out;
    const T *a = k->a, *b = k->b;
    const ACC sign = k->conj ? (ACC)-1 : (ACC)1;
    /* one vector against windows that slide by one: a convolution, which goes window beside
     * window */
    const int slides = k->a_elem == 1 && k->a_row == 1 && k->b_row == 0 && k->m >= BLOCK;
    if (k->a_elem == 1 && k->b_elem == 1 && !slides) {
        for (int64_t i = 0; i < k->m; i++)
            CAT3(dot_row, NAME)
            (out + i * WIDTH, a + i * k->a_row * WIDTH, b + i * k->b_row * WIDTH, k->n, sign);
        return;
    }
    for (int64_t i = 0; i < k->m; i += BLOCK)
        CAT3(dot_columns, NAME)
        (out + i * WIDTH, a + i * k->a_row * WIDTH, b + i * k->b_row * WIDTH, k,
         k->m - i < BLOCK ? k->m - i : BLOCK, sign);
}

#undef WIDTH
#undef T
#undef ACC
#undef NAME
#undef MADD
#undef PAIRS
#undef CAT3
#undef CAT3_
