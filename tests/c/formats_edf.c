/* formats_edf.c - EDF, EDF+, BDF and BDF+ through the public header: samples, annotations, gaps,
 * headers that lie, damage, failing allocations. Recordings are made here. Prints "N passed, M
 * failed".
 * build: -L$B -lmascon -Wl,-rpath,'$ORIGIN/..' -lm
 */
#define _XOPEN_SOURCE 700
#include "formats_check.h"

/* ---- making recordings ---- */

typedef struct image {
    unsigned char *p;
    int64_t n, room;
} image;

static void put_text(image *m, const char *text, int width)
{
    if (m->n + width > m->room) {
        m->room = 2 * m->room + width + 1024;
        m->p = realloc(m->p, (size_t)m->room);
    }
    memset(m->p + m->n, ' ', (size_t)width);
    memcpy(m->p + m->n, text, strlen(text) < (size_t)width ? strlen(text) : (size_t)width);
    m->n += width;
}

static void put_number(image *m, int64_t v, int width)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)v);
    put_text(m, text, width);
}

static int32_t sample_of(int channel, int64_t i, int bytes)
{
    int64_t span = bytes == 2 ? 65536 : 16777216;
    return (int32_t)(((int64_t)(channel + 1) * 7919 * i + i * i * 31) % span - span / 2);
}

/* Channels: `fast` signals of 10 samples a record, one of 3, and (reserved not empty) 24 bytes of
 * annotations. */
static image make_edf(int bytes, int fast, int records, const char *reserved,
                      const char *const *lists)
{
    static const int widths[10] = { 16, 80, 8, 8, 8, 8, 8, 80, 8, 32 };
    int notes = reserved[0] != 0, ns = fast + 1 + notes;
    image m = { NULL, 0, 0 };
    put_text(&m,
             bytes == 2 ? "0"
                        : "\xFF"
                          "BIOSEMI",
             8);
    put_text(&m, "patient", 80);
    put_text(&m, "Startdate 02-MAR-2091 X X X", 80);
    put_text(&m, "02.03.91", 8);
    put_text(&m, "04.05.06", 8);
    put_number(&m, 256 * (ns + 1), 8);
    put_text(&m, reserved, 44);
    put_number(&m, records, 8);
    put_text(&m, "0.5", 8);
    put_number(&m, ns, 4);
    for (int c = 0; c < 10; c++)
        for (int s = 0; s < ns; s++) {
            int note = s == fast + 1;
            const char *label = note       ? (bytes == 2 ? "EDF Annotations" : "BDF Annotations")
                                : s < fast ? "fast"
                                           : "Slow";
            if (c == 0)
                put_text(&m, label, widths[c]);
            else if (c == 2)
                put_text(&m, "\xB5V", widths[c]);
            else if (c == 3)
                put_number(&m, -200, widths[c]);
            else if (c == 4)
                put_text(&m, "1.5e2", widths[c]);
            else if (c == 5)
                put_number(&m, bytes == 2 ? -32768 : -8388608, widths[c]);
            else if (c == 6)
                put_number(&m, bytes == 2 ? 32767 : 8388607, widths[c]);
            else if (c == 8)
                put_number(&m, note ? 24 / bytes : s < fast ? 10 : 3, widths[c]);
            else
                put_text(&m, "text", widths[c]);
        }
    for (int r = 0; r < records; r++) {
        for (int s = 0; s <= fast; s++)
            for (int i = 0, n = s < fast ? 10 : 3; i < n; i++) {
                uint32_t v = (uint32_t)sample_of(s, (int64_t)r * n + i, bytes);
                char little[4] = { (char)(v & 255), (char)(v >> 8 & 255), (char)(v >> 16 & 255),
                                   0 };
                put_text(&m, "", bytes);
                memcpy(m.p + m.n - bytes, little, (size_t)bytes);
            }
        if (!notes) continue;
        put_text(&m, "", 24);
        memset(m.p + m.n - 24, 0, 24);
        for (int i = 0; lists[r][i]; i++)
            m.p[m.n - 24 + i] = (unsigned char)(lists[r][i] == '|' ? 0 : lists[r][i]);
    }
    m.p = realloc(m.p, (size_t)m.n); /* exact, for the sanitizer */
    return m;
}

/* Ranges across records, of several channels in any order, in three dtypes. */
static void check_samples(const mc_edf *f, int fast, int64_t records, int bytes)
{
    static const int64_t ranges[][2] = { { 0, 1 },   { 0, 30 }, { 7, 15 },
                                         { 10, 10 }, { 29, 1 }, { 5, 0 } };
    double span = bytes == 2 ? 65535.0 : 16777215.0, worst = 0;
    int slow = fast, wrong = 0, channels[2] = { fast - 1, 0 };
    for (int k = 0; k < 6; k++) {
        int64_t first = ranges[k][0] + (records - 3) * 10, n = ranges[k][1];
        double f64[64];
        float f32[64];
        int32_t i32[64];
        expect(mc_edf_read(f, channels, 2, first, n, MC_F64, f64, 32) == MC_OK);
        expect(mc_edf_read(f, channels, 2, first, n, MC_F32, f32, 32) == MC_OK);
        expect(mc_edf_read(f, channels, 2, first, n, MC_I32, i32, 32) == MC_OK);
        for (int c = 0; c < 2; c++)
            for (int64_t i = 0; i < n; i++) {
                int32_t v = sample_of(channels[c], first + i, bytes);
                long double want =
                    ((long double)v - (bytes == 2 ? -32768 : -8388608)) * 350 / span - 200;
                double off = fabs(f64[c * 32 + i] - (double)want);
                if (off > worst) worst = off;
                wrong += i32[c * 32 + i] != v || f32[c * 32 + i] != (float)f64[c * 32 + i];
            }
    }
    expect(wrong == 0);
    expect(worst <= 200 * 0x1p-53);
    expect(mc_edf_read(f, &slow, 1, 0, 3 * records, MC_I32, big, 0) == MC_OK);
    for (int64_t i = 0; i < 3 * records; i++)
        wrong += ((int32_t *)(void *)big)[i] != sample_of(fast, i, bytes);
    expect(wrong == 0);
}

static void check_edf(const mc_edf *f, int fast, int64_t records, int bytes)
{
    int64_t info[MC_EDF_INFO_LEN];
    double times[MC_EDF_TIMES_LEN], about[MC_EDF_CHANNEL_LEN], out[4];
    int mixed[2] = { 0, fast }, none = -1;
    expect(mc_edf_info(f, info) == MC_OK && mc_edf_times(f, times) == MC_OK);
    expect(info[MC_EDF_KIND] == MC_EDF_PLAIN && info[MC_EDF_SAMPLE_BYTES] == bytes &&
           info[MC_EDF_CHANNELS] == fast + 1);
    expect(info[MC_EDF_RECORDS] == records && info[MC_EDF_WARNINGS] == MC_EDF_WARN_TEXT);
    expect(info[MC_EDF_YEAR] == 1991 && info[MC_EDF_YEAR + 1] == 3 && info[MC_EDF_YEAR + 5] == 6);
    expect(times[MC_EDF_RECORD_SECONDS] == 0.5 &&
           times[MC_EDF_DATA_SECONDS] == 0.5 * (double)records);
    expect(mc_edf_channel(f, fast, about) == MC_OK && about[MC_EDF_RATE] == 6 &&
           about[MC_EDF_PHYS_MAX] == 150);
    expect(strcmp(mc_edf_channel_text(f, 0, MC_EDF_UNIT), "\xC2\xB5V") == 0 &&
           mc_edf_channel_text(f, fast + 1, 0) == NULL);
    expect(strcmp(mc_edf_text(f, MC_EDF_PATIENT), "patient") == 0 && mc_edf_text(f, 9) == NULL);
    expect(mc_edf_find(f, "slow") == fast && mc_edf_find(f, "fast") == 0 &&
           mc_edf_find(f, "x") == -1);
    expect_error(mc_edf_read(f, mixed, 2, 0, 1, MC_F64, out, 1), MC_ESHAPE,
                 "fast has 20 Hz and Slow has 6 Hz");
    expect_error(mc_edf_read(f, mixed, 1, 1, records * 10, MC_F64, out, 1), MC_EINVAL,
                 "take a smaller range");
    expect_error(mc_edf_read(f, mixed, 1, 0, 1, MC_I64, out, 1), MC_EDTYPE, "i32 (stored numbers)");
    expect_error(mc_edf_read(f, &none, 1, 0, 1, MC_F64, out, 1), MC_EINVAL, "no such channel");
    check_samples(f, fast, records, bytes);
}

/* From memory and from a file, where records are read in blocks (few channels) and in pieces
 * (many). */
static void test_edf_samples(void)
{
    static const int fasts[] = { 2, 400 };
    for (int bytes = 2; bytes <= 3; bytes++)
        for (int k = 0; k < 2; k++) {
            image m = make_edf(bytes, fasts[k], 40, "", NULL);
            mc_edf *f = mc_edf_from_memory(m.p, m.n);
            expect(f != NULL);
            if (f) check_edf(f, fasts[k], 40, bytes);
            mc_edf_free(f);
            expect(mc_file_write(path_of("a.edf"), m.p, m.n) == MC_OK);
            f = mc_edf_open(path_of("a.edf"));
            expect(f != NULL);
            if (f) check_edf(f, fasts[k], 40, bytes);
            if (f && truncate(path_of("a.edf"), 256 * (fasts[k] + 2) + 4) == 0)
                expect_error(mc_edf_read(f, (int[]){ 0 }, 1, 390, 10, MC_F64, big, 10), MC_EIO,
                             "has become shorter");
            mc_edf_free(f);
            free(m.p);
        }
    count_files(1);
}

static void test_edf_notes(void)
{
    static const char *const lists[] = { "+0.25\x14\x14|+1\x15"
                                         "0.5\x14"
                                         "a\x14|",
                                         "+0.75\x14\x14|-2\x14"
                                         "b\x14\xC3\xA9\x14|",
                                         "+3\x14\x14|+3.125\x14\xE9\x14|",
                                         "+3.5\x14\x14|x\x14|+9\x14never\x14|" };
    for (int bytes = 2; bytes <= 3; bytes++) {
        image m = make_edf(bytes, 1, 4, bytes == 2 ? "EDF+D" : "BDF+D", lists);
        mc_edf *f = mc_edf_from_memory(m.p, m.n);
        int64_t info[MC_EDF_INFO_LEN], gap[1];
        double times[MC_EDF_TIMES_LEN], pair[2], onsets[4], jump[2];
        expect(f && mc_edf_info(f, info) == MC_OK && info[MC_EDF_ANNOTATIONS] == -1 &&
               info[MC_EDF_CHANNELS] == 2);
        expect_error(mc_edf_annotation(f, 0, pair), MC_EINVAL, "call mc_edf_scan first");
        expect(mc_edf_scan(f) == MC_OK && mc_edf_scan(f) == MC_OK);
        expect(mc_edf_info(f, info) == MC_OK && info[MC_EDF_KIND] == MC_EDF_PLUS_D &&
               info[MC_EDF_YEAR] == 2091);
        expect(info[MC_EDF_ANNOTATIONS] == 4 && info[MC_EDF_GAPS] == 1);
        expect(info[MC_EDF_WARNINGS] == (MC_EDF_WARN_TEXT | MC_EDF_WARN_TAL));
        expect(mc_edf_annotation(f, 0, pair) == MC_OK && pair[0] == 1 && pair[1] == 0.5);
        expect(strcmp(mc_edf_annotation_text(f, 0), "a") == 0);
        expect(mc_edf_annotation(f, 2, pair) == MC_OK && pair[0] == -2 && isnan(pair[1]));
        expect(strcmp(mc_edf_annotation_text(f, 2), "\xC3\xA9") == 0 &&
               strcmp(mc_edf_annotation_text(f, 3), "\xC3\xA9") == 0);
        expect_error(mc_edf_annotation(f, 4, pair), MC_EINVAL, "the file has 4");
        expect(mc_edf_onsets(f, onsets) == MC_OK && onsets[0] == 0.25 && onsets[1] == 0.75 &&
               onsets[2] == 3 && onsets[3] == 3.5);
        expect(mc_edf_gaps(f, gap, jump) == MC_OK && gap[0] == 2 && jump[0] == 1.25 &&
               jump[1] == 3);
        expect(mc_edf_times(f, times) == MC_OK && times[MC_EDF_START_FRACTION] == 0.25 &&
               times[MC_EDF_END_SECONDS] == 4);
        mc_edf_free(f);
        free(m.p);
    }
}

/* Writes `text` over a field of a good header and opens it. */
static mc_edf *open_changed(const image *m, int64_t at, int width, const char *text)
{
    unsigned char *p = malloc((size_t)m->n);
    mc_edf *f;
    memcpy(p, m->p, (size_t)m->n);
    memset(p + at, ' ', (size_t)width);
    memcpy(p + at, text, strlen(text));
    f = mc_edf_from_memory(p, m->n);
    if (f) { /* samples stay readable to the last one */
        int64_t info[MC_EDF_INFO_LEN];
        mc_edf_info(f, info);
        mc_edf_free(f);
        free(p);
        expect(info[MC_EDF_RECORDS] > 0);
        return NULL;
    }
    free(p);
    return NULL;
}

static void test_edf_headers(void)
{
    image m = make_edf(2, 1, 3, "", NULL);
    int64_t info[MC_EDF_INFO_LEN];
    mc_edf *f;
    static const struct {
        int at, width;
        const char *text, *message;
    } cases[] = {
        { 0, 8, "PK", "begins neither like EDF nor like BDF" },
        { 184, 8, "769", "the header's length" },
        { 184, 8, "1e9", "the header's length" },
        { 236, 8, "0", "the number of records is '0'" },
        { 236, 8, "-2", "the number of records" },
        { 236, 8, "many", "the number of records is 'many'" },
        { 244, 8, "-1", "the duration of a record" },
        { 244, 8, "0", "a record lasts 0 s" },
        { 244, 8, "nan", "the duration of a record" },
        { 252, 4, "0", "the number of signals" },
        { 252, 4, "-1", "the number of signals" },
        { 252, 4, "9999", "the header's length" },
        { 256 + 2 * 104, 8, "1,5", "physical minimum is '1,5'" },
        { 256 + 2 * 112, 8, "", "physical maximum is ''" },
        { 256 + 2 * 120, 8, "-32769", "a whole number that a sample can hold" },
        { 256 + 2 * 128, 8, "1.5", "a whole number that a sample can hold" },
        { 256 + 2 * 216, 8, "0", "the number of samples of a signal" },
        { 256 + 2 * 216, 8, "-3", "the number of samples of a signal" },
        { 256 + 2 * 216, 8, "99999999", "holds no whole record" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)mc_npy_from_memory("", 0); /* another message, so that an old one cannot pass */
        expect(open_changed(&m, cases[i].at, cases[i].width, cases[i].text) == NULL);
        expect_error(mc_errstatus(), MC_EFORMAT, cases[i].message);
    }
    memcpy(m.p + 236, "-1      ", 8);
    f = mc_edf_from_memory(m.p, m.n - 1);
    expect(f && mc_edf_info(f, info) == MC_OK && info[MC_EDF_RECORDS] == 2);
    expect(info[MC_EDF_WARNINGS] ==
           (MC_EDF_WARN_TEXT | MC_EDF_WARN_UNFINISHED | MC_EDF_WARN_TRUNCATED));
    mc_edf_free(f);
    memcpy(m.p + 236, "3       ", 8);
    f = mc_edf_from_memory(m.p, m.n - 1);
    expect(f && mc_edf_info(f, info) == MC_OK && info[MC_EDF_RECORDS] == 2);
    expect(info[MC_EDF_WARNINGS] == (MC_EDF_WARN_TEXT | MC_EDF_WARN_TRUNCATED));
    mc_edf_free(f);
    memcpy(m.p + 236, "2       ", 8);
    memcpy(m.p + 168, "99.99.99", 8);
    f = mc_edf_from_memory(m.p, m.n);
    expect(f && mc_edf_info(f, info) == MC_OK && info[MC_EDF_RECORDS] == 2 &&
           info[MC_EDF_YEAR] == 0);
    expect(info[MC_EDF_WARNINGS] == (MC_EDF_WARN_TEXT | MC_EDF_WARN_EXTRA | MC_EDF_WARN_DATE));
    mc_edf_free(f);
    free(m.p);
}

/* ---- damage and allocation ---- */

/* Opens and reads all there is; 1 when the image was accepted as whole. */
static int use_edf(const unsigned char *p, int64_t n)
{
    mc_edf *f = mc_edf_from_memory(p, n);
    int64_t info[MC_EDF_INFO_LEN];
    double about[MC_EDF_CHANNEL_LEN];
    if (!f) return 0;
    expect(mc_edf_scan(f) == MC_OK && mc_edf_info(f, info) == MC_OK);
    for (int c = 0; c < info[MC_EDF_CHANNELS]; c++) {
        mc_edf_channel(f, c, about);
        if (about[MC_EDF_SAMPLES] * 8 <= sizeof big)
            expect(mc_edf_read(f, &c, 1, 0, (int64_t)about[MC_EDF_SAMPLES], MC_F64, big, 0) ==
                   MC_OK);
    }
    mc_edf_free(f);
    return (info[MC_EDF_WARNINGS] & MC_EDF_WARN_TRUNCATED) == 0;
}

static void test_damage(void)
{
    static const char *const lists[] = { "+0\x14\x14|+1\x15"
                                         "0.5\x14"
                                         "a\x14|",
                                         "+0.5\x14\x14|" };
    image m = make_edf(2, 1, 2, "EDF+C", lists);
    damage(use_edf, m.p, m.n);
    free(m.p);
}

static int all_of_edf(void)
{
    static const char *const lists[] = { "+0\x14\x14|+1\x15"
                                         "0.5\x14"
                                         "a\x14|",
                                         "+0.5\x14\x14|" };
    image m = make_edf(3, 2, 2, "BDF+C", lists);
    int rc = mc_file_write(path_of("n"), m.p, m.n), channel = 1;
    mc_edf *f = rc == MC_OK ? mc_edf_open(path_of("n")) : NULL;
    if (rc == MC_OK) rc = f ? mc_edf_scan(f) : mc_errstatus();
    if (rc == MC_OK) rc = mc_edf_read(f, &channel, 1, 3, 12, MC_F32, big, 12);
    mc_edf_free(f);
    free(m.p);
    return rc;
}

int main(void)
{
    make_folder();
    test_edf_samples();
    test_edf_notes();
    test_edf_headers();
    test_damage();
    fail_allocations(all_of_edf);
    return finish();
}
