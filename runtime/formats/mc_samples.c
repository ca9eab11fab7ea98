/* mc_samples.c - numbers on a grid: the samples of recordings whose description lies elsewhere.
 *
 * Many formats keep their samples as plain numbers, channel by channel or sample by sample, in
 * one of a few types. Here stands that reading: bounds, byte order, a bounded buffer, the
 * factor to physical units; and the packing of numbers for files that are written. */
#define MCI_FORMATS
#include "formats/mc_formats.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <math.h>
#include <string.h>

#define BUFFER_BYTES ((int64_t)1 << 18)

/* ---- one number ---- */

int mci_sample_bytes(int type)
{
    static const int bytes[10] = { 1, 1, 2, 2, 4, 4, 4, 8, 8, 8 };
    int plain = type & ~MC_SAMPLE_BIG;
    return plain >= 0 && plain < 10 ? bytes[plain] : 0;
}

static inline uint32_t be16(const unsigned char *p)
{
    return (uint32_t)p[0] << 8 | (uint32_t)p[1];
}

static inline double float_of(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return (double)v;
}

static inline double double_of(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline double short_of(uint32_t bits)
{
    return (double)((int32_t)(bits ^ 0x8000u) - 0x8000);
}

static inline double int_of(uint32_t bits)
{
    int32_t v;
    memcpy(&v, &bits, sizeof v);
    return (double)v;
}

static inline double long_of(uint64_t bits)
{
    int64_t v;
    memcpy(&v, &bits, sizeof v);
    return (double)v;
}

#define EACH(value)                                                    \
    for (int64_t i = 0; i < n; i++, p += step) out[i] = (value)*scale; \
    return

void mci_sample_decode(const unsigned char *p, int64_t step, int64_t n, int type, double scale,
                       double *out)
{
    switch (type) {
    case MC_SAMPLE_I8:
    case MC_SAMPLE_I8 + MC_SAMPLE_BIG: EACH((double)((int)(p[0] ^ 0x80u) - 0x80));
    case MC_SAMPLE_U8:
    case MC_SAMPLE_U8 + MC_SAMPLE_BIG: EACH((double)p[0]);
    case MC_SAMPLE_I16: EACH(short_of(mci_le16(p)));
    case MC_SAMPLE_I16 + MC_SAMPLE_BIG: EACH(short_of(be16(p)));
    case MC_SAMPLE_U16: EACH((double)mci_le16(p));
    case MC_SAMPLE_U16 + MC_SAMPLE_BIG: EACH((double)be16(p));
    case MC_SAMPLE_I32: EACH(int_of(mci_le32(p)));
    case MC_SAMPLE_I32 + MC_SAMPLE_BIG: EACH(int_of(mci_be32(p)));
    case MC_SAMPLE_U32: EACH((double)mci_le32(p));
    case MC_SAMPLE_U32 + MC_SAMPLE_BIG: EACH((double)mci_be32(p));
    case MC_SAMPLE_F32: EACH(float_of(mci_le32(p)));
    case MC_SAMPLE_F32 + MC_SAMPLE_BIG: EACH(float_of(mci_be32(p)));
    case MC_SAMPLE_F64: EACH(double_of(mci_le64(p)));
    case MC_SAMPLE_F64 + MC_SAMPLE_BIG: EACH(double_of(mci_be64(p)));
    case MC_SAMPLE_I64: EACH(long_of(mci_le64(p)));
    case MC_SAMPLE_I64 + MC_SAMPLE_BIG: EACH(long_of(mci_be64(p)));
    case MC_SAMPLE_U64: EACH((double)mci_le64(p));
    case MC_SAMPLE_U64 + MC_SAMPLE_BIG: EACH((double)mci_be64(p));
    default: return;
    }
}

void mci_one_nan(double *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++) v[i] = v[i] == v[i] ? v[i] : NAN;
}

/* ---- the grid ---- */

/* No file is longer; sums of three such numbers stay within 64 bits. */
#define FAR ((int64_t)1 << 60)

static int64_t product(int64_t a, int64_t b)
{
    return b != 0 && a > FAR / b ? FAR : a * b;
}

/* Byte behind the last number of channel `channel` and sample `t`, FAR or more when it is beyond
 * any file. */
static int64_t end_of(const mci_grid *g, int64_t channel, int64_t t)
{
    int64_t base = g->base < FAR ? g->base : FAR;
    return base + product(channel, g->channel_step) + product(t, g->sample_step) +
           mci_sample_bytes(g->type);
}

static int check_grid(const mci_infile *src, const mci_grid *g, int64_t limit, const int *channels,
                      int n, int64_t first, int64_t count, const double *out, int64_t row_stride)
{
    int64_t most = 0, end;
    if (mci_sample_bytes(g->type) == 0 || g->base < 0 || g->channel_step < 0 ||
        g->sample_step < 0 || n < 0 || (n > 0 && !channels) || first < 0 || count < 0 ||
        (n > 0 && count > 0 && !out) || first > INT64_MAX - count)
        return mci_error(
            MC_EINVAL, "%s: a type, a step, a list of channels or a range is wrong; check the call",
            g->op);
    if (n > 1 && row_stride < count)
        return mci_error(
            MC_ESHAPE,
            "%s: rows of %lld samples at a distance of %lld overlap; give a larger distance", g->op,
            (long long)count, (long long)row_stride);
    for (int i = 0; i < n; i++) {
        if (channels[i] < 0)
            return mci_error(MC_EINVAL, "%s: channel %d; they count from 0", g->op, channels[i]);
        if (channels[i] > most) most = channels[i];
    }
    if (n == 0 || count == 0) return MC_OK;
    end = end_of(g, most, first + count - 1);
    if (end > limit)
        return mci_error(
            MC_EFORMAT,
            "%s: %s ends before sample %lld; it is truncated, copy or download it again", g->op,
            mci_infile_name(src), (long long)(first + count));
    return MC_OK;
}

/* Channels of one sample side by side: whole rows through the buffer, some channels out of each. */
static int read_rows(const mci_infile *src, const mci_grid *g, const int *channels, int n,
                     int64_t first, int64_t count, const double *scale, double *out,
                     int64_t row_stride)
{
    int64_t lo = INT64_MAX, hi = 0, per;
    unsigned char *buffer;
    int rc = MC_OK;
    for (int i = 0; i < n; i++) {
        int64_t at = channels[i] * g->channel_step;
        if (at < lo) lo = at;
        if (at + mci_sample_bytes(g->type) > hi) hi = at + mci_sample_bytes(g->type);
    }
    per = BUFFER_BYTES / (g->sample_step > hi - lo ? g->sample_step : hi - lo);
    if (per > count) per = count;
    if (per < 1) per = 1;
    buffer = mci_alloc((size_t)((per - 1) * g->sample_step + hi - lo));
    if (!buffer) return mc_errstatus();
    for (int64_t t = 0; rc == MC_OK && t < count; t += per) {
        int64_t k = count - t < per ? count - t : per;
        rc = mci_infile_read(src, g->base + (first + t) * g->sample_step + lo, buffer,
                             (k - 1) * g->sample_step + hi - lo);
        for (int i = 0; rc == MC_OK && i < n; i++)
            mci_sample_decode(buffer + channels[i] * g->channel_step - lo, g->sample_step, k,
                              g->type, scale ? scale[i] : 1, out + i * row_stride + t);
    }
    mci_free(buffer);
    return rc;
}

/* Samples of one channel side by side: channel by channel. */
static int read_columns(const mci_infile *src, const mci_grid *g, const int *channels, int n,
                        int64_t first, int64_t count, const double *scale, double *out,
                        int64_t row_stride)
{
    int bytes = mci_sample_bytes(g->type), rc = MC_OK;
    int64_t per = BUFFER_BYTES / bytes;
    unsigned char *buffer;
    if (per > count) per = count;
    buffer = mci_alloc((size_t)(per * bytes));
    if (!buffer) return mc_errstatus();
    for (int i = 0; rc == MC_OK && i < n; i++)
        for (int64_t t = 0; rc == MC_OK && t < count; t += per) {
            int64_t k = count - t < per ? count - t : per;
            rc = mci_infile_read(src, g->base + channels[i] * g->channel_step + (first + t) * bytes,
                                 buffer, k * bytes);
            if (rc == MC_OK)
                mci_sample_decode(buffer, bytes, k, g->type, scale ? scale[i] : 1,
                                  out + i * row_stride + t);
        }
    mci_free(buffer);
    return rc;
}

int mci_grid_read(const mci_infile *src, const mci_grid *g, int64_t limit, const int *channels,
                  int n, int64_t first, int64_t count, const double *scale, double *out,
                  int64_t row_stride)
{
    int rc = check_grid(src, g, limit, channels, n, first, count, out, row_stride);
    if (rc != MC_OK || n == 0 || count == 0) return rc;
    return (g->sample_step == mci_sample_bytes(g->type) ? read_columns : read_rows)(
        src, g, channels, n, first, count, scale, out, row_stride);
}

/* ---- public ---- */

struct mc_samples {
    mci_infile *src;
};

static mc_samples *over(mci_infile *src)
{
    mc_samples *f;
    if (!src) return NULL;
    f = mci_calloc(1, sizeof *f);
    if (f)
        f->src = src;
    else
        mci_infile_release(src);
    return f;
}

mc_samples *mc_samples_open(const char *path)
{
    return over(mci_infile_open("samples", path));
}

mc_samples *mc_samples_from_memory(const void *bytes, int64_t n)
{
    return over(mci_infile_memory("samples", bytes, n));
}

void mc_samples_free(mc_samples *f)
{
    if (!f) return;
    mci_infile_release(f->src);
    mci_free(f);
}

int mc_samples_size(const mc_samples *f, int64_t *out)
{
    if (!f || !out)
        return mci_error(MC_EINVAL, "samples: no file or no place for the result; check the call");
    out[0] = mci_infile_size(f->src);
    return MC_OK;
}

int mc_samples_read(const mc_samples *f, int type, int64_t base, int64_t channel_step,
                    int64_t sample_step, const int *channels, int n, int64_t first, int64_t count,
                    const double *scale, double *out, int64_t row_stride)
{
    mci_grid g = { "samples", type, base, channel_step, sample_step };
    if (!f) return mci_error(MC_EINVAL, "samples: no file; check the call");
    return mci_grid_read(f->src, &g, mci_infile_size(f->src), channels, n, first, count, scale, out,
                         row_stride);
}

/* ---- packing ---- */

/* Written out, so that the compiler makes one store of them. */
static inline void put32(unsigned char *p, uint32_t v, int big)
{
    if (big) {
        p[0] = (unsigned char)(v >> 24);
        p[1] = (unsigned char)(v >> 16);
        p[2] = (unsigned char)(v >> 8);
        p[3] = (unsigned char)v;
    } else {
        p[0] = (unsigned char)v;
        p[1] = (unsigned char)(v >> 8);
        p[2] = (unsigned char)(v >> 16);
        p[3] = (unsigned char)(v >> 24);
    }
}

static inline void put64(unsigned char *p, uint64_t v, int big)
{
    put32(p, (uint32_t)(big ? v >> 32 : v), big);
    put32(p + 4, (uint32_t)(big ? v : v >> 32), big);
}

int mc_samples_pack(int type, int dtype, const void *in, int64_t n, void *out)
{
    const double *f64 = in;
    const float *f32 = in;
    const int32_t *i32 = in;
    unsigned char *p = out;
    int plain = type & ~MC_SAMPLE_BIG, big = (type & MC_SAMPLE_BIG) != 0;
    int known = (dtype == MC_I32 && plain == MC_SAMPLE_I32) ||
                ((dtype == MC_F32 || dtype == MC_F64) &&
                 (plain == MC_SAMPLE_F32 || plain == MC_SAMPLE_F64));
    if (!known)
        return mci_error(
            MC_EDTYPE, "samples: f32 and f64 are packed as F32 or F64, i32 as I32; check the call");
    if (n < 0 || (n > 0 && (!in || !out)))
        return mci_error(MC_EINVAL, "samples: nothing to pack or no place for it; check the call");
    for (int64_t i = 0; i < n; i++) {
        if (dtype == MC_I32) {
            put32(p + 4 * i, (uint32_t)i32[i], big);
        } else if (plain == MC_SAMPLE_F32) {
            float v = dtype == MC_F32 ? f32[i] : (float)f64[i];
            uint32_t bits;
            memcpy(&bits, &v, sizeof bits);
            put32(p + 4 * i, bits, big);
        } else {
            double v = dtype == MC_F32 ? (double)f32[i] : f64[i];
            uint64_t bits;
            memcpy(&bits, &v, sizeof bits);
            put64(p + 8 * i, bits, big);
        }
    }
    return MC_OK;
}
