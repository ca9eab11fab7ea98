/* mc_edf_read.c - samples of an EDF or BDF recording, decoded from the file on demand.
 *
 * A record holds its signals one after the other, so a slice of some channels is scattered: the
 * reader takes the span from the first to the last wanted byte of each record, many records at a
 * time when the span is most of a record, else one by one. Memory stays below 1 MiB or one
 * record. */
#define MCI_FORMATS
#include "formats/mc_formats.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"

#define BUFFER_BYTES ((int64_t)1 << 20)
/* Below this many bytes a record is read whole: one more system call costs as much as copying a
 * page. */
#define SMALL_RECORD 4096

int mci_edf_span_open(mci_edf_span *s, const mc_edf *f, int64_t lo, int64_t hi, int64_t records)
{
    int64_t bytes;
    s->f = f;
    s->lo = lo;
    s->hi = hi;
    s->first = s->have = 0;
    s->per = 1;
    s->buffer = NULL;
    if (mci_infile_data(f->src)) return MC_OK;
    if ((hi - lo) * 4 >= f->record_bytes || f->record_bytes <= SMALL_RECORD)
        s->per = BUFFER_BYTES / f->record_bytes;
    if (s->per > records) s->per = records;
    if (s->per < 1) s->per = 1;
    bytes = (s->per - 1) * f->record_bytes + hi - lo;
    s->buffer = mci_alloc((size_t)bytes);
    return s->buffer ? MC_OK : mc_errstatus();
}

int mci_edf_span_at(mci_edf_span *s, int64_t record, int64_t last, const unsigned char **out)
{
    const mc_edf *f = s->f;
    int64_t at = f->header_bytes + record * f->record_bytes + s->lo;
    int rc;
    if (!s->buffer) {
        *out = mci_infile_data(f->src) + at;
        return MC_OK;
    }
    if (record < s->first || record >= s->first + s->have) {
        int64_t n = last - record + 1 < s->per ? last - record + 1 : s->per;
        s->have = 0;
        rc = mci_infile_read(f->src, at, s->buffer, (n - 1) * f->record_bytes + s->hi - s->lo);
        if (rc != MC_OK) return rc;
        s->first = record;
        s->have = n;
    }
    *out = s->buffer + (record - s->first) * f->record_bytes;
    return MC_OK;
}

void mci_edf_span_close(mci_edf_span *s)
{
    mci_free(s->buffer);
    s->buffer = NULL;
}

/* ---- decoding ---- */

/* Two's complement of 2 and 3 bytes. */
static inline int32_t sample2(const unsigned char *p)
{
    uint32_t v = mci_le16(p);
    return (int32_t)(v ^ 0x8000u) - 0x8000;
}

static inline int32_t sample3(const unsigned char *p)
{
    uint32_t v = mci_le16(p) | (uint32_t)p[2] << 16;
    return (int32_t)(v ^ 0x800000u) - 0x800000;
}

/* physical = (digital * num + add) / den: num, add and den are whole for whole limits, so that one
 * rounding remains. */
typedef struct scale {
    double num, add, den;
} scale;

static scale scale_of(const mci_edf_signal *s)
{
    scale k = { 1, 0, 1 };
    if (s->digital) return k;
    k.num = s->phys_max - s->phys_min;
    k.add = s->phys_min * s->dig_max - s->phys_max * s->dig_min;
    k.den = s->dig_max - s->dig_min;
    return k;
}

/* n samples of 2 or 3 bytes at p to out, an array of dtype, from element `at` on. */
static void decode(const unsigned char *p, int64_t n, int bytes, scale k, int dtype, void *out,
                   int64_t at)
{
    double *f64 = (double *)out + (dtype == MC_F64 ? at : 0);
    float *f32 = (float *)out + (dtype == MC_F32 ? at : 0);
    int32_t *i32 = (int32_t *)out + (dtype == MC_I32 ? at : 0);
    switch (dtype * 4 + bytes) {
    case MC_F64 * 4 + 2:
        for (int64_t i = 0; i < n; i++) f64[i] = (sample2(p + 2 * i) * k.num + k.add) / k.den;
        break;
    case MC_F64 * 4 + 3:
        for (int64_t i = 0; i < n; i++) f64[i] = (sample3(p + 3 * i) * k.num + k.add) / k.den;
        break;
    case MC_F32 * 4 + 2:
        for (int64_t i = 0; i < n; i++)
            f32[i] = (float)((sample2(p + 2 * i) * k.num + k.add) / k.den);
        break;
    case MC_F32 * 4 + 3:
        for (int64_t i = 0; i < n; i++)
            f32[i] = (float)((sample3(p + 3 * i) * k.num + k.add) / k.den);
        break;
    case MC_I32 * 4 + 2:
        for (int64_t i = 0; i < n; i++) i32[i] = sample2(p + 2 * i);
        break;
    default:
        for (int64_t i = 0; i < n; i++) i32[i] = sample3(p + 3 * i);
        break;
    }
}

/* ---- slices ---- */

static int check_read(const mc_edf *f, const int *channels, int n, int64_t first, int64_t count,
                      int dtype, const void *out, int64_t row_stride)
{
    const mci_edf_signal *a;
    if (!f || n < 0 || (n > 0 && !channels))
        return mci_error(MC_EINVAL, "edf: no file or no list of channels; check the call");
    for (int i = 0; i < n; i++)
        if (channels[i] < 0 || channels[i] >= f->n_channels)
            return mci_error(MC_EINVAL, "edf: no such channel, the file has %d; ask mc_edf_find",
                             f->n_channels);
    if (dtype != MC_F64 && dtype != MC_F32 && dtype != MC_I32)
        return mci_error(
            MC_EDTYPE,
            "edf: samples come as f64 or f32 (physical units) or i32 (stored numbers); choose one");
    if (n == 0) return MC_OK;
    a = &f->signals[f->channels[channels[0]]];
    for (int i = 1; i < n; i++) {
        const mci_edf_signal *b = &f->signals[f->channels[channels[i]]];
        if (a->samples != b->samples)
            return mci_error(
                MC_ESHAPE,
                "edf: channels of different sampling rates in one read, %s has %.6g Hz and %s has "
                "%.6g Hz; read each rate by itself",
                f->text + a->text[0], (double)a->samples / f->record_seconds, f->text + b->text[0],
                (double)b->samples / f->record_seconds);
    }
    if (first < 0 || count < 0 || first > a->samples * f->n_records - count)
        return mci_error(
            MC_EINVAL,
            "edf: %lld samples from %lld are not in %s, which has %lld; take a smaller range",
            (long long)count, (long long)first, f->text + a->text[0],
            (long long)(a->samples * f->n_records));
    if (count > 0 && !out)
        return mci_error(MC_EINVAL, "edf: no place for the samples; check the call");
    if (row_stride < count && n > 1)
        return mci_error(
            MC_ESHAPE,
            "edf: rows of %lld samples at a distance of %lld overlap; give a larger distance",
            (long long)count, (long long)row_stride);
    return MC_OK;
}

int mc_edf_read(const mc_edf *f, const int *channels, int n, int64_t first, int64_t count,
                int dtype, void *out, int64_t row_stride)
{
    mci_edf_span span;
    int64_t lo = INT64_MAX, hi = 0, samples, begin, end;
    int rc = check_read(f, channels, n, first, count, dtype, out, row_stride);
    if (rc != MC_OK || n == 0 || count == 0) return rc;
    samples = f->signals[f->channels[channels[0]]].samples;
    for (int i = 0; i < n; i++) {
        const mci_edf_signal *s = &f->signals[f->channels[channels[i]]];
        if (s->offset < lo) lo = s->offset;
        if (s->offset + samples * f->sample_bytes > hi) hi = s->offset + samples * f->sample_bytes;
    }
    begin = first / samples;
    end = (first + count - 1) / samples;
    rc = mci_edf_span_open(&span, f, lo, hi, end - begin + 1);
    for (int64_t r = begin; rc == MC_OK && r <= end; r++) {
        const unsigned char *p;
        int64_t from = r == begin ? first - r * samples : 0;
        int64_t to = r == end ? first + count - r * samples : samples;
        rc = mci_edf_span_at(&span, r, end, &p);
        for (int i = 0; rc == MC_OK && i < n; i++) {
            const mci_edf_signal *s = &f->signals[f->channels[channels[i]]];
            decode(p + s->offset - lo + from * f->sample_bytes, to - from, f->sample_bytes,
                   scale_of(s), dtype, out, i * row_stride + r * samples + from - first);
        }
    }
    mci_edf_span_close(&span);
    return rc;
}
