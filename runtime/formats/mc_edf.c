/* mc_edf.c - the header of EDF, EDF+, BDF and BDF+ recordings.
 *
 * A recording is a header of 256 bytes, 256 more for each signal, then records of equal length
 * in which each signal has its own fixed number of samples: 2 bytes little-endian in EDF (1992),
 * 3 in BDF. EDF+ (2003) adds signals that hold annotation lists; its +D kind allows gaps between
 * records. All header fields are space-padded text and none is believed before it is checked.
 * Holds the handle; samples are read in mc_edf_read.c, annotations in mc_edf_notes.c. */
#define MCI_FORMATS
#include "formats/mc_formats.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <math.h>
#include <string.h>

#define MAIN_BYTES 256
#define MAX_SIGNALS 9999 /* the field has four digits */

/* Columns of the signal header: each is an array over the signals. */
enum {
    LABEL,
    TRANSDUCER,
    UNIT,
    PHYS_MIN,
    PHYS_MAX,
    DIG_MIN,
    DIG_MAX,
    PREFILTER,
    SAMPLES,
    N_COLUMNS
};
static const int widths[N_COLUMNS] = { 16, 80, 8, 8, 8, 8, 8, 80, 8 };
static const char *const names[N_COLUMNS] = {
    "label",           "transducer",      "unit",      "physical minimum", "physical maximum",
    "digital minimum", "digital maximum", "prefilter", "number of samples"
};

typedef struct field {
    const unsigned char *p;
    int64_t n;
} field;

/* A field without the spaces and zero bytes around its text. */
static field trim(const unsigned char *p, int64_t n)
{
    field f = { p, n };
    while (f.n > 0 && (f.p[f.n - 1] == ' ' || f.p[f.n - 1] == 0)) f.n--;
    while (f.n > 0 && *f.p == ' ') {
        f.p++;
        f.n--;
    }
    return f;
}

static field column(const mc_edf *f, const unsigned char *head, int which, int signal)
{
    int64_t at = MAIN_BYTES;
    for (int c = 0; c < which; c++) at += (int64_t)widths[c] * f->n_signals;
    return trim(head + at + (int64_t)signal * widths[which], widths[which]);
}

static int bad(const mc_edf *f, const char *what)
{
    return mci_error(MC_EFORMAT,
                     "edf: %s: %s; the header is damaged or this is another kind of file",
                     mci_infile_name(f->src), what);
}

/* Names a field and quotes it. */
static int bad_field(const mc_edf *f, const char *what, field v, const char *wanted)
{
    char text[64];
    int64_t n = v.n < (int64_t)sizeof text - 1 ? v.n : (int64_t)sizeof text - 1;
    for (int64_t i = 0; i < n; i++) text[i] = (char)(v.p[i] >= ' ' && v.p[i] < 127 ? v.p[i] : '?');
    text[n] = 0;
    return mci_error(MC_EFORMAT, "edf: %s: %s is '%s' and must be %s; the header is damaged",
                     mci_infile_name(f->src), what, text, wanted);
}

int mci_edf_number(const unsigned char *p, int64_t n, double *out)
{
    const unsigned char *end = p + n;
    uint64_t digits = 0;
    int negative = 0, any = 0, scale = 0, power = 0, power_negative = 0;
    double v;
    if (p < end && (*p == '+' || *p == '-')) negative = *p++ == '-';
    for (int point = 0; p < end && ((*p >= '0' && *p <= '9') || (*p == '.' && !point)); p++) {
        if (*p == '.') {
            point = 1;
            continue;
        }
        any = 1;
        if (digits < 100000000000000000u) { /* 17 digits and more do not change a double */
            digits = digits * 10 + (uint64_t)(*p - '0');
            scale -= point;
        } else {
            scale += !point;
        }
    }
    if (!any) return 0;
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-')) power_negative = *p++ == '-';
        if (p == end) return 0;
        for (; p < end && *p >= '0' && *p <= '9'; p++)
            if (power < 1000) power = power * 10 + (*p - '0');
    }
    if (p != end) return 0;
    scale += power_negative ? -power : power;
    /* 10^22 is the last power that a double holds exactly: up to there one rounding, correct. */
    v = (double)digits;
    if (digits != 0 && scale > 0) v *= pow(10.0, scale);
    if (digits != 0 && scale < 0) v /= pow(10.0, -scale);
    if (!isfinite(v)) return 0;
    *out = negative ? -v : v;
    return 1;
}

/* A whole number in [lo, hi]. */
static int take_integer(field v, int64_t lo, int64_t hi, int64_t *out)
{
    double d;
    if (!mci_edf_number(v.p, v.n, &d) || d != floor(d) || d < (double)lo || d > (double)hi)
        return 0;
    *out = (int64_t)d;
    return 1;
}

/* Length of the UTF-8 sequence at p, or 0: no overlong forms, no surrogates, nothing beyond
 * U+10FFFF. */
static int utf8_length(const unsigned char *p, int64_t n)
{
    int length = *p < 0x80 ? 1 : *p < 0xC2 ? 0 : *p < 0xE0 ? 2 : *p < 0xF0 ? 3 : *p < 0xF5 ? 4 : 0;
    if (length > n) return 0;
    for (int i = 1; i < length; i++)
        if ((p[i] & 0xC0) != 0x80) return 0;
    if (length == 3 && ((*p == 0xE0 && p[1] < 0xA0) || (*p == 0xED && p[1] > 0x9F))) return 0;
    if (length == 4 && ((*p == 0xF0 && p[1] < 0x90) || (*p == 0xF4 && p[1] > 0x8F))) return 0;
    return length;
}

int64_t mci_edf_utf8(const unsigned char *p, int64_t n, char *out, int *latin)
{
    int64_t made = 0;
    int valid = 1;
    for (int64_t i = 0; i < n && valid;) {
        int length = utf8_length(p + i, n - i);
        valid = length > 0;
        i += length;
    }
    for (int64_t i = 0; i < n; i++) {
        int c = p[i] < ' ' || p[i] == 127 ? ' ' : p[i];
        if (!valid && c > 127) {
            out[made++] = (char)(0xC0 | c >> 6);
            c = 0x80 | (c & 0x3F);
        }
        out[made++] = (char)c;
    }
    out[made] = 0;
    *latin = !valid;
    return made;
}

/* Appends a field to mc_edf.text, which has room; returns where it begins. */
static int64_t keep_text(mc_edf *f, int64_t *used, field v)
{
    int latin;
    int64_t at = *used;
    *used += mci_edf_utf8(v.p, v.n, f->text + at, &latin) + 1;
    if (latin) f->warnings |= MC_EDF_WARN_TEXT;
    return at;
}

/* ---- start ---- */

static int two_digits(const unsigned char *p, int64_t *out)
{
    if (p[0] < '0' || p[0] > '9' || p[1] < '0' || p[1] > '9') return 0;
    *out = (p[0] - '0') * 10 + p[1] - '0';
    return 1;
}

/* The four digits of the year in EDF+'s `Startdate dd-MMM-yyyy`, or 0. */
static int64_t long_year(field recording)
{
    static const char word[] = "Startdate ";
    int64_t century, year;
    if (recording.n < 21 || memcmp(recording.p, word, sizeof word - 1) != 0 ||
        recording.p[16] != '-')
        return 0;
    if (!two_digits(recording.p + 17, &century) || !two_digits(recording.p + 19, &year)) return 0;
    return century * 100 + year;
}

static void read_start(mc_edf *f, const unsigned char *head)
{
    const unsigned char *date = head + 168, *time = head + 176;
    int64_t *s = f->start, year;
    int ok = two_digits(date, &s[2]) && two_digits(date + 3, &s[1]) &&
             two_digits(date + 6, &s[0]) && s[2] >= 1 && s[2] <= 31 && s[1] >= 1 && s[1] <= 12;
    if (ok) {
        s[0] += s[0] >= 85 ? 1900 : 2000; /* the format began in 1985 */
        year = long_year(trim(head + 88, 80));
        if (f->kind != MC_EDF_PLAIN && year != 0) s[0] = year;
    }
    ok = two_digits(time, &s[3]) && two_digits(time + 3, &s[4]) && two_digits(time + 6, &s[5]) &&
         s[3] < 24 && s[4] < 60 && s[5] < 61 && ok;
    if (ok) return;
    memset(s, 0, sizeof f->start);
    f->warnings |= MC_EDF_WARN_DATE;
}

/* ---- header ---- */

static int read_main(mc_edf *f, const unsigned char *head)
{
    field bytes = trim(head + 184, 8), seconds = trim(head + 244, 8), signals = trim(head + 252, 4);
    int64_t n;
    if (head[0] == 0xFF && memcmp(head + 1, "BIOSEMI", 7) == 0) {
        f->sample_bytes = 3;
    } else {
        field version = trim(head, 8);
        if (version.n != 1 || *version.p != '0')
            return mci_error(
                MC_EFORMAT,
                "edf: %s begins neither like EDF nor like BDF; check which file this is",
                mci_infile_name(f->src));
        f->sample_bytes = 2;
    }
    if (memcmp(head + 193, "DF+C", 4) == 0) f->kind = MC_EDF_PLUS_C;
    if (memcmp(head + 193, "DF+D", 4) == 0) f->kind = MC_EDF_PLUS_D;
    if (!take_integer(signals, 1, MAX_SIGNALS, &n))
        return bad_field(f, "the number of signals", signals, "1 to 9999");
    f->n_signals = (int)n;
    if (!take_integer(bytes, 0, 99999999, &f->header_bytes) ||
        f->header_bytes != MAIN_BYTES * (n + 1))
        return bad_field(f, "the header's length", bytes, "256 bytes and 256 more per signal");
    if (!mci_edf_number(seconds.p, seconds.n, &f->record_seconds) || f->record_seconds < 0)
        return bad_field(f, "the duration of a record", seconds,
                         "a number of seconds, not negative");
    read_start(f, head);
    return MC_OK;
}

/* The four numbers that scale samples. A signal without a usable range delivers what is stored. */
static int read_range(mc_edf *f, const unsigned char *head, int i)
{
    mci_edf_signal *s = &f->signals[i];
    double *const out[4] = { &s->phys_min, &s->phys_max, &s->dig_min, &s->dig_max };
    double lowest = f->sample_bytes == 2 ? -32768.0 : -8388608.0;
    for (int k = 0; k < 4; k++) {
        field v = column(f, head, PHYS_MIN + k, i);
        int ok = mci_edf_number(v.p, v.n, out[k]);
        if (!ok && s->notes) *out[k] = 0; /* of no use there */
        if (!ok && !s->notes) return bad_field(f, names[PHYS_MIN + k], v, "a number");
    }
    if (s->notes) return MC_OK;
    if (s->dig_min != floor(s->dig_min) || s->dig_max != floor(s->dig_max) || s->dig_min < lowest ||
        s->dig_max < lowest || s->dig_min > -lowest || s->dig_max > -lowest)
        return bad_field(f, "a digital limit", column(f, head, DIG_MIN, i),
                         "a whole number that a sample can hold");
    s->digital = s->dig_min == s->dig_max || s->phys_min == s->phys_max;
    if (s->digital || s->dig_min > s->dig_max) f->warnings |= MC_EDF_WARN_SCALE;
    return MC_OK;
}

static int read_signal(mc_edf *f, const unsigned char *head, int i, int64_t *used)
{
    static const int texts[4] = { LABEL, TRANSDUCER, UNIT, PREFILTER };
    mci_edf_signal *s = &f->signals[i];
    field samples = column(f, head, SAMPLES, i), label = column(f, head, LABEL, i);
    for (int k = 0; k < 4; k++) s->text[k] = keep_text(f, used, column(f, head, texts[k], i));
    s->notes =
        f->kind != MC_EDF_PLAIN && label.n == 15 &&
        memcmp(label.p, f->sample_bytes == 2 ? "EDF Annotations" : "BDF Annotations", 15) == 0;
    if (!take_integer(samples, 1, 99999999, &s->samples))
        return bad_field(f, "the number of samples of a signal in a record", samples,
                         "a whole number from 1");
    s->offset = f->record_bytes;
    f->record_bytes += s->samples * f->sample_bytes;
    return read_range(f, head, i);
}

static int read_signals(mc_edf *f, const unsigned char *head)
{
    static const int main_at[5] = { 8, 88, 168, 176, 192 }, main_width[5] = { 80, 80, 8, 8, 44 };
    int64_t used = 0, room = 2 * 220 + 5 + (int64_t)f->n_signals * (2 * 184 + 4);
    f->signals = mci_calloc((size_t)f->n_signals, sizeof *f->signals);
    f->channels = mci_calloc((size_t)f->n_signals, sizeof *f->channels);
    f->text = mci_alloc((size_t)room);
    if (!f->signals || !f->channels || !f->text) return mc_errstatus();
    for (int k = 0; k < 5; k++)
        f->main_text[k] = keep_text(f, &used, trim(head + main_at[k], main_width[k]));
    for (int i = 0; i < f->n_signals; i++) {
        int rc = read_signal(f, head, i, &used);
        if (rc != MC_OK) return rc;
        if (!f->signals[i].notes) f->channels[f->n_channels++] = i;
    }
    if (f->n_channels > 0 && f->record_seconds <= 0)
        return bad(f, "a record lasts 0 s, so that no sampling rate follows");
    return MC_OK;
}

/* Compares the promised number of records with the bytes that are there. */
static int count_records(mc_edf *f, const unsigned char *head)
{
    field promised = trim(head + 236, 8);
    int64_t bytes = mci_infile_size(f->src) - f->header_bytes, whole = bytes / f->record_bytes, n;
    if (!take_integer(promised, -1, 99999999, &n) || n == 0)
        return bad_field(f, "the number of records", promised,
                         "a whole number from 1, or -1 for not known");
    if (n < 0) {
        f->warnings |= MC_EDF_WARN_UNFINISHED;
        n = whole;
        if (bytes % f->record_bytes != 0) f->warnings |= MC_EDF_WARN_TRUNCATED;
    } else if (n > whole) {
        f->warnings |= MC_EDF_WARN_TRUNCATED;
        n = whole;
    } else if (bytes > n * f->record_bytes) {
        f->warnings |= MC_EDF_WARN_EXTRA;
    }
    if (n == 0)
        return mci_error(
            MC_EFORMAT, "edf: %s is truncated: it holds no whole record; copy or download it again",
            mci_infile_name(f->src));
    f->n_records = n;
    f->end_seconds = (double)n * f->record_seconds;
    return MC_OK;
}

static int read_header(mc_edf *f)
{
    unsigned char *head = mci_alloc(MAIN_BYTES);
    int rc;
    if (!head) return mc_errstatus();
    if (mci_infile_size(f->src) < MAIN_BYTES) {
        rc =
            mci_error(MC_EFORMAT,
                      "edf: %s is shorter than any header; it is truncated or another kind of file",
                      mci_infile_name(f->src));
        goto done;
    }
    rc = mci_infile_read(f->src, 0, head, MAIN_BYTES);
    if (rc == MC_OK) rc = read_main(f, head);
    if (rc != MC_OK) goto done;
    mci_free(head);
    head = NULL;
    if (mci_infile_size(f->src) < f->header_bytes) {
        rc = mci_error(MC_EFORMAT, "edf: %s ends inside its header; copy or download it again",
                       mci_infile_name(f->src));
        goto done;
    }
    head = mci_alloc((size_t)f->header_bytes);
    rc = head ? mci_infile_read(f->src, 0, head, f->header_bytes) : mc_errstatus();
    if (rc == MC_OK) rc = read_signals(f, head);
    if (rc == MC_OK) rc = count_records(f, head);
done:
    mci_free(head);
    return rc;
}

static mc_edf *open_edf(mci_infile *src)
{
    mc_edf *f;
    if (!src) return NULL;
    f = mci_calloc(1, sizeof *f);
    if (!f) {
        mci_infile_release(src);
        return NULL;
    }
    f->src = src;
    f->n_notes = f->n_gaps = -1;
    if (read_header(f) != MC_OK) {
        mc_edf_free(f);
        return NULL;
    }
    return f;
}

mc_edf *mc_edf_open(const char *path)
{
    return open_edf(mci_infile_open("edf", path));
}

mc_edf *mc_edf_from_memory(const void *bytes, int64_t n)
{
    return open_edf(mci_infile_memory("edf", bytes, n));
}

void mc_edf_free(mc_edf *f)
{
    if (!f) return;
    mci_free(f->signals);
    mci_free(f->channels);
    mci_free(f->text);
    mci_free(f->notes);
    mci_free(f->note_text);
    mci_free(f->onsets);
    mci_infile_release(f->src);
    mci_free(f);
}

/* ---- questions ---- */

int mc_edf_info(const mc_edf *f, int64_t *out)
{
    if (!f || !out)
        return mci_error(MC_EINVAL, "edf: no file or no place for the result; check the call");
    memset(out, 0, MC_EDF_INFO_LEN * sizeof *out);
    out[MC_EDF_KIND] = f->kind;
    out[MC_EDF_SAMPLE_BYTES] = f->sample_bytes;
    out[MC_EDF_CHANNELS] = f->n_channels;
    out[MC_EDF_SIGNALS] = f->n_signals;
    out[MC_EDF_RECORDS] = f->n_records;
    out[MC_EDF_RECORD_BYTES] = f->record_bytes;
    out[MC_EDF_HEADER_BYTES] = f->header_bytes;
    out[MC_EDF_WARNINGS] = f->warnings;
    out[MC_EDF_ANNOTATIONS] = f->n_notes;
    out[MC_EDF_GAPS] = f->n_gaps;
    memcpy(out + MC_EDF_YEAR, f->start, sizeof f->start);
    return MC_OK;
}

int mc_edf_times(const mc_edf *f, double *out)
{
    if (!f || !out)
        return mci_error(MC_EINVAL, "edf: no file or no place for the result; check the call");
    out[MC_EDF_RECORD_SECONDS] = f->record_seconds;
    out[MC_EDF_START_FRACTION] = f->start_fraction;
    out[MC_EDF_DATA_SECONDS] = (double)f->n_records * f->record_seconds;
    out[MC_EDF_END_SECONDS] = f->end_seconds;
    return MC_OK;
}

const char *mc_edf_text(const mc_edf *f, int what)
{
    return f && what >= 0 && what < 5 ? f->text + f->main_text[what] : NULL;
}

const char *mc_edf_channel_text(const mc_edf *f, int channel, int what)
{
    if (!f || channel < 0 || channel >= f->n_channels || what < 0 || what > 3) return NULL;
    return f->text + f->signals[f->channels[channel]].text[what];
}

int mc_edf_channel(const mc_edf *f, int channel, double *out)
{
    const mci_edf_signal *s;
    if (!f || !out || channel < 0 || channel >= f->n_channels)
        return mci_error(MC_EINVAL, "edf: no such channel, the file has %d; ask mc_edf_find",
                         f ? f->n_channels : 0);
    s = &f->signals[f->channels[channel]];
    out[MC_EDF_RATE] = (double)s->samples / f->record_seconds;
    out[MC_EDF_PHYS_MIN] = s->phys_min;
    out[MC_EDF_PHYS_MAX] = s->phys_max;
    out[MC_EDF_DIG_MIN] = s->dig_min;
    out[MC_EDF_DIG_MAX] = s->dig_max;
    out[MC_EDF_PER_RECORD] = (double)s->samples;
    out[MC_EDF_SAMPLES] = (double)(s->samples * f->n_records);
    return MC_OK;
}

static int lower(int c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

static int same_label(const char *a, const char *b, int fold)
{
    while (*a && (*a == *b || (fold && lower(*a) == lower(*b)))) {
        a++;
        b++;
    }
    return *a == *b;
}

int mc_edf_find(const mc_edf *f, const char *label)
{
    for (int fold = 0; f && label && fold < 2; fold++)
        for (int i = 0; i < f->n_channels; i++)
            if (same_label(mc_edf_channel_text(f, i, MC_EDF_LABEL), label, fold)) return i;
    return -1;
}
