/* formats_meeg.c - samples on a grid, FIF and MAT-files through the public header: numbers of every
 * type, calls that ask for too much, damage, failing allocations. Files are made here. Prints "N
 * passed, M failed".
 * build: -L$B -lmascon -Wl,-rpath,'$ORIGIN/..' -lm
 */
#define _XOPEN_SOURCE 700
#include "formats_check.h"

typedef struct image {
    unsigned char p[4096];
    int64_t n;
} image;

static void put(image *m, const void *bytes, int64_t n)
{
    if (n > 0) memcpy(m->p + m->n, bytes, (size_t)n);
    m->n += n;
}

/* `bytes` bytes of v, in either order. */
static void put_int(image *m, uint64_t v, int bytes, int large)
{
    for (int k = 0; k < bytes; k++)
        m->p[m->n++] = (unsigned char)(v >> (8 * (large ? bytes - 1 - k : k)));
}

static uint64_t bits_of(double v, int bytes)
{
    float f = (float)v;
    uint32_t b32;
    uint64_t b64;
    memcpy(&b32, &f, 4);
    memcpy(&b64, &v, 8);
    return bytes == 4 ? b32 : b64;
}

/* ---- samples ---- */

/* Value of channel c and sample t. */
static double value_of(int type, int64_t c, int64_t t)
{
    int plain = type & ~MC_SAMPLE_BIG;
    int has_sign = plain == MC_SAMPLE_I8 || plain == MC_SAMPLE_I16 || plain == MC_SAMPLE_I32 ||
                   plain == MC_SAMPLE_F32 || plain == MC_SAMPLE_F64 || plain == MC_SAMPLE_I64;
    return (double)(10 * c + t) * (has_sign ? -1 : 1);
}

static image grid_image(int type, int bytes, int side_by_side)
{
    image m = { { 0 }, 0 };
    int plain = type & ~MC_SAMPLE_BIG;
    for (int64_t i = 0; i < 3 * 7; i++) {
        int64_t c = side_by_side ? i % 3 : i / 7, t = side_by_side ? i / 3 : i % 7;
        double v = value_of(type, c, t);
        put_int(&m,
                plain == MC_SAMPLE_F32 || plain == MC_SAMPLE_F64 ? bits_of(v, bytes)
                                                                 : (uint64_t)(int64_t)v,
                bytes, (type & MC_SAMPLE_BIG) != 0);
    }
    return m;
}

static void test_samples(void)
{
    static const int bytes[10] = { 1, 1, 2, 2, 4, 4, 4, 8, 8, 8 }, picks[2] = { 2, 0 };
    static const double scale[2] = { 2, 0.5 };
    for (int k = 0; k < 40; k++) {
        int type = k % 10 + (k / 10 % 2) * MC_SAMPLE_BIG, b = bytes[k % 10], beside = k / 20,
            right = 1;
        image m = grid_image(type, b, beside);
        mc_samples *f = mc_samples_from_memory(m.p, m.n);
        int64_t channel = beside ? b : 7 * b, sample = beside ? 3 * b : b, size;
        double out[10];
        expect(mc_samples_size(f, &size) == MC_OK && size == m.n);
        expect(mc_samples_read(f, type, 0, channel, sample, picks, 2, 2, 4, scale, out, 5) ==
               MC_OK);
        for (int t = 0; t < 4; t++)
            right &= out[t] == 2 * value_of(type, 2, t + 2) &&
                     out[5 + t] == 0.5 * value_of(type, 0, t + 2);
        expect(right);
        expect(mc_samples_read(f, type, 0, channel, sample, picks, 1, 6, 1, NULL, out, 1) == MC_OK);
        expect_error(mc_samples_read(f, type, 0, channel, sample, picks, 1, 7, 1, NULL, out, 1),
                     MC_EFORMAT, "ends before sample 8");
        mc_samples_free(f);
    }
}

static void test_calls(void)
{
    static const int picks[2] = { 0, -1 };
    image m = grid_image(MC_SAMPLE_I16, 2, 1);
    mc_samples *f = mc_samples_from_memory(m.p, m.n);
    double out[16];
    expect_error(mc_samples_read(NULL, 2, 0, 2, 6, picks, 1, 0, 1, NULL, out, 1), MC_EINVAL,
                 "no file");
    expect_error(mc_samples_read(f, 12, 0, 2, 6, picks, 1, 0, 1, NULL, out, 1), MC_EINVAL,
                 "a type");
    expect_error(mc_samples_read(f, 2, -1, 2, 6, picks, 1, 0, 1, NULL, out, 1), MC_EINVAL,
                 "a type");
    expect_error(mc_samples_read(f, 2, 0, 2, 6, picks, 2, 0, 1, NULL, out, 1), MC_EINVAL,
                 "channel -1");
    expect_error(mc_samples_read(f, 2, 0, 2, 6, picks, 2, 0, 2, NULL, out, 1), MC_ESHAPE,
                 "overlap");
    expect_error(mc_samples_read(f, 2, 0, INT64_MAX, INT64_MAX, picks, 1, 5, 2, NULL, out, 2),
                 MC_EFORMAT, "ends before");
    expect_error(mc_samples_read(f, 2, INT64_MAX, 2, 6, picks, 1, 0, 1, NULL, out, 1), MC_EFORMAT,
                 "ends before");
    expect_error(mc_samples_read(f, 2, 0, 2, 6, picks, 1, INT64_MAX, 1, NULL, out, 1), MC_EINVAL,
                 "a range");
    expect(mc_samples_read(f, 2, 0, 2, 6, picks, 0, 0, 5, NULL, NULL, 0) == MC_OK);
    expect(mc_samples_read(f, 2, 0, 2, 6, picks, 1, 0, 0, NULL, NULL, 0) == MC_OK);
    expect_error(mc_samples_pack(MC_SAMPLE_I16, MC_F64, out, 1, big), MC_EDTYPE, "packed as");
    mc_samples_free(f);
    mc_samples_free(NULL);
    expect(mc_samples_open("/nowhere/x") == NULL && strstr(mc_errmsg(), "check the path"));
}

/* What is packed reads back as the same numbers. */
static void test_pack(void)
{
    static const int zero[1] = { 0 };
    static const double in[3] = { 1.5, -2.25e10, 0.1 };
    static const float in32[3] = { 1.5f, -2.25e10f, 0.1f };
    for (int k = 0; k < 8; k++) {
        int wide = k & 1,
            type = (wide ? MC_SAMPLE_F64 : MC_SAMPLE_F32) + (k & 2 ? MC_SAMPLE_BIG : 0);
        int b = wide ? 8 : 4, right = 1;
        const void *from = k & 4 ? (const void *)in32 : in;
        double out[3];
        mc_samples *f;
        expect(mc_samples_pack(type, k & 4 ? MC_F32 : MC_F64, from, 3, big) == MC_OK);
        f = mc_samples_from_memory(big, 3 * b);
        expect(mc_samples_read(f, type, 0, b, b, zero, 1, 0, 3, NULL, out, 3) == MC_OK);
        for (int i = 0; i < 3; i++) right &= out[i] == (wide && !(k & 4) ? in[i] : (double)in32[i]);
        expect(right);
        mc_samples_free(f);
    }
}

/* ---- FIF ---- */

static void put_tag(image *m, int kind, uint32_t type, const void *data, int64_t n, int next)
{
    put_int(m, (uint64_t)kind, 4, 1);
    put_int(m, type, 4, 1);
    put_int(m, (uint64_t)n, 4, 1);
    put_int(m, (uint64_t)(int64_t)next, 4, 1);
    put(m, data, n);
}

/* A list of 6 shorts 1 to 6 and a matrix f32 [2, 3] of 0 to 5 between beginning and end. */
static image fif_image(void)
{
    image m = { { 0 }, 0 }, data = { { 0 }, 0 };
    put_tag(&m, 100, 31, m.p + 2000, 20, 0);
    for (uint64_t i = 1; i <= 6; i++) put_int(&data, i, 2, 1);
    put_tag(&m, 300, 16, data.p, data.n, 0);
    data.n = 0;
    for (int i = 0; i < 6; i++) put_int(&data, bits_of(i, 4), 4, 1);
    put_int(&data, 3, 4, 1);
    put_int(&data, 2, 4, 1);
    put_int(&data, 2, 4, 1);
    put_tag(&m, 302, 0x40000004u, data.p, data.n, 0);
    put_tag(&m, 108, 0, NULL, 0, -1);
    return m;
}

static int use_fif(const unsigned char *p, int64_t n)
{
    static const int picks[2] = { 0, 1 };
    mc_fif *f = mc_fif_from_memory(p, n);
    int64_t info[MC_FIF_INFO_LEN], t[MC_FIF_TAG_LEN], shape[MC_FIF_RANK + 1];
    double out[64];
    int short_of_memory = 0;
    if (!f) return mc_errstatus() == MC_ENOMEM ? -1 : 0;
    expect(mc_fif_info(f, info) == MC_OK);
    for (int64_t i = 0; i < info[MC_FIF_TAGS]; i++) {
        expect(mc_fif_tags(f, i, 1, t) == MC_OK && t[MC_FIF_POS] + t[MC_FIF_BYTES] <= n);
        if (t[MC_FIF_BYTES] <= (int64_t)sizeof big)
            expect(mc_fif_bytes(f, i, 0, t[MC_FIF_BYTES], big) == MC_OK);
        if (mc_fif_shape(f, i, shape) == MC_OK && shape[shape[0]] <= 32)
            short_of_memory |= mc_fif_samples(f, i, 0, shape[shape[0]], 1, picks, 2, 0,
                                              shape[shape[0]], NULL, out, 32) == MC_ENOMEM;
    }
    mc_fif_free(f);
    return short_of_memory ? -1 : (int)info[MC_FIF_ENDED];
}

static void test_fif(void)
{
    static const int picks[2] = { 1, 0 };
    image m = fif_image();
    mc_fif *f = mc_fif_from_memory(m.p, m.n);
    int64_t info[MC_FIF_INFO_LEN], t[4 * MC_FIF_TAG_LEN], shape[MC_FIF_RANK + 1];
    double out[8];
    expect(mc_fif_info(f, info) == MC_OK && info[MC_FIF_TAGS] == 4 && !info[MC_FIF_PACKED]);
    expect(mc_fif_tags(f, 0, 4, t) == MC_OK && t[4 + MC_FIF_KIND] == 300 &&
           t[4 + MC_FIF_BYTES] == 12);
    expect(mc_fif_shape(f, 1, shape) == MC_OK && shape[0] == 1 && shape[1] == 6);
    expect(mc_fif_shape(f, 2, shape) == MC_OK && shape[0] == 2 && shape[1] == 2 && shape[2] == 3);
    expect(mc_fif_numbers(f, 1, 2, 3, out) == MC_OK && out[0] == 3 && out[2] == 5);
    expect(mc_fif_samples(f, 2, 0, 3, 1, picks, 2, 1, 2, NULL, out, 2) == MC_OK);
    expect(out[0] == 4 && out[1] == 5 && out[2] == 1 && out[3] == 2);
    expect_error(mc_fif_samples(f, 2, 1, 3, 1, picks, 2, 1, 2, NULL, out, 2), MC_EFORMAT,
                 "ends before");
    expect_error(mc_fif_samples(f, 2, 7, 3, 1, picks, 2, 0, 1, NULL, out, 2), MC_EINVAL, "outside");
    expect_error(mc_fif_shape(f, 0, shape), MC_EUNSUPPORTED, "no plain numbers");
    expect_error(mc_fif_shape(f, 4, shape), MC_EINVAL, "no tag 4");
    expect_error(mc_fif_bytes(f, 1, 10, 3, out), MC_EINVAL, "outside the tag");
    expect_error(mc_fif_tags(f, 3, 2, t), MC_EINVAL, "no such tags");
    mc_fif_free(f);
    mc_fif_free(NULL);
    damage(use_fif, m.p, m.n);
}

/* ---- MAT ---- */

static void put_element(image *m, uint32_t type, const void *data, int64_t n)
{
    static const unsigned char none[8];
    put_int(m, type, 4, 0);
    put_int(m, (uint64_t)n, 4, 0);
    put(m, data, n);
    put(m, none, (8 - n % 8) % 8);
}

/* An array of a class, one row, with a body of elements. */
static void put_array(image *m, int kind, int columns, const char *name, const image *body)
{
    image a = { { 0 }, 0 }, part = { { 0 }, 0 };
    put_int(&part, (uint64_t)kind, 8, 0);
    put_element(&a, 6, part.p, 8);
    part.n = 0;
    put_int(&part, 1, 4, 0);
    put_int(&part, (uint64_t)columns, 4, 0);
    put_element(&a, 5, part.p, 8);
    put_element(&a, 1, name, (int64_t)strlen(name));
    put(&a, body->p, body->n);
    put_element(m, 14, a.p, a.n);
}

/* A struct s with fields x = [1.5 2.5 3.5] and c = { 'ab' }. */
static image mat_image(void)
{
    image m = { { 0 }, 0 }, x = { { 0 }, 0 }, part = { { 0 }, 0 }, cell = { { 0 }, 0 },
          body = { { 0 }, 0 };
    memset(m.p, ' ', 116);
    memcpy(m.p, "MATLAB 5.0 MAT-file", 19);
    m.n = 124;
    put(&m, "\0\1IM", 4);
    for (int i = 0; i < 3; i++) put_int(&part, bits_of(1.5 + i, 8), 8, 0);
    put_element(&x, 9, part.p, part.n);
    part.n = 0;
    put_int(&part, 0x00620061, 4, 0);
    put_element(&cell, 4, part.p, 4);
    part.n = 0;
    put_array(&part, 4, 2, "", &cell);
    body.n = 0;
    put_int(&body, 0x00040005, 4, 0); /* the short form: the length of a name */
    put_int(&body, 4, 4, 0);
    put_element(&body, 1, "x\0\0\0c\0\0\0", 8);
    put_array(&body, 6, 3, "", &x);
    put_array(&body, 1, 1, "", &part);
    put_array(&m, 2, 1, "s", &body);
    return m;
}

static int use_mat(const unsigned char *p, int64_t n)
{
    mc_mat *f = mc_mat_from_memory(p, n);
    int64_t info[2], a[MC_MAT_ARRAY_LEN], child;
    double out[64];
    int whole, short_of_memory = 0;
    if (!f) return mc_errstatus() == MC_ENOMEM ? -1 : 0;
    expect(mc_mat_info(f, info) == MC_OK);
    for (int64_t i = 0; i < info[1]; i++) {
        expect(mc_mat_array(f, i, a) == MC_OK);
        for (int64_t k = 0; k < a[MC_MAT_CHILDREN]; k++)
            expect(mc_mat_child(f, i, k, &child) == MC_OK && child > i);
        if (a[MC_MAT_STORED] >= 0 && a[MC_MAT_NUMBERS] <= 64) {
            int rc = mc_mat_numbers(f, i, 0, a[MC_MAT_NUMBERS], out);
            expect(rc == MC_OK || rc == MC_ENOMEM);
            short_of_memory |= rc == MC_ENOMEM;
        }
    }
    whole = info[1] == 4;
    mc_mat_free(f);
    return short_of_memory ? -1 : whole;
}

static void test_mat(void)
{
    image m = mat_image();
    mc_mat *f = mc_mat_from_memory(m.p, m.n);
    int64_t info[2], i, a[MC_MAT_ARRAY_LEN];
    double out[4];
    expect(mc_mat_info(f, info) == MC_OK && info[0] == 1 && info[1] == 4);
    expect(mc_mat_variable(f, 0, &i) == MC_OK && strcmp(mc_mat_name(f, i), "s") == 0);
    expect(mc_mat_array(f, i, a) == MC_OK && a[MC_MAT_CLASS] == MC_MAT_STRUCT &&
           a[MC_MAT_FIELDS] == 2);
    expect(strcmp(mc_mat_field(f, i, 1), "c") == 0 && mc_mat_field(f, i, 2) == NULL);
    expect(mc_mat_child(f, i, 0, &i) == MC_OK && mc_mat_array(f, i, a) == MC_OK);
    expect(a[MC_MAT_CLASS] == MC_MAT_DOUBLE && a[MC_MAT_NUMEL] == 3 && mc_mat_name(f, i) == NULL);
    expect(mc_mat_numbers(f, i, 1, 2, out) == MC_OK && out[0] == 2.5 && out[1] == 3.5);
    expect_error(mc_mat_numbers(f, i, 2, 2, out), MC_EFORMAT, "ends before");
    expect_error(mc_mat_numbers(f, 0, 0, 1, out), MC_EUNSUPPORTED, "holds no numbers");
    expect_error(mc_mat_array(f, 4, a), MC_EINVAL, "no such array");
    expect_error(mc_mat_child(f, i, 0, &i), MC_EINVAL, "no such array");
    mc_mat_free(f);
    mc_mat_free(NULL);
    damage(use_mat, m.p, m.n);
}

/* ---- allocation ---- */

static image whole_fif, whole_mat;

static int open_all(void)
{
    int rc = use_fif(whole_fif.p, whole_fif.n);
    if (rc < 0) return MC_ENOMEM;
    rc = use_mat(whole_mat.p, whole_mat.n);
    return rc < 0 ? MC_ENOMEM : rc == 1 ? MC_OK : MC_EFORMAT;
}

int main(void)
{
    make_folder();
    test_samples();
    test_calls();
    test_pack();
    test_fif();
    test_mat();
    whole_fif = fif_image();
    whole_mat = mat_image();
    fail_allocations(open_all);
    return finish();
}
