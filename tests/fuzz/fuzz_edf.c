/* fuzz_edf.c - any bytes as an EDF or BDF recording: header, annotations and samples stay inside
 * the bytes given.
 *
 * A libFuzzer target (clang -fsanitize=fuzzer,address,undefined); linked with replay.c instead it
 * replays files. */
#include "../../runtime/mc_lua.h"

#include <stdlib.h>
#include <string.h>

#define MOST_SAMPLES 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int held)
{
    if (!held) abort();
}

/* Reading a range in one piece and in two gives the same numbers. */
static void check_channel(const mc_edf *f, int channel)
{
    static const int dtypes[3] = { MC_F64, MC_F32, MC_I32 }, bytes[3] = { 8, 4, 4 };
    double about[MC_EDF_CHANNEL_LEN];
    int64_t n, half;
    for (int what = MC_EDF_LABEL; what <= MC_EDF_PREFILTER; what++)
        check(mc_edf_channel_text(f, channel, what) != NULL);
    check(mc_edf_channel(f, channel, about) == MC_OK);
    check(mc_edf_find(f, mc_edf_channel_text(f, channel, MC_EDF_LABEL)) <= channel);
    n = about[MC_EDF_SAMPLES] < MOST_SAMPLES ? (int64_t)about[MC_EDF_SAMPLES] : MOST_SAMPLES;
    half = n / 2;
    for (int k = 0; k < 3; k++) {
        unsigned char *a = malloc((size_t)(n * bytes[k]) + 1),
                      *b = malloc((size_t)(n * bytes[k]) + 1);
        check(mc_edf_read(f, &channel, 1, 0, n, dtypes[k], a, n) == MC_OK);
        check(mc_edf_read(f, &channel, 1, 0, half, dtypes[k], b, n) == MC_OK);
        check(mc_edf_read(f, &channel, 1, half, n - half, dtypes[k], b + half * bytes[k], n) ==
              MC_OK);
        check(memcmp(a, b, (size_t)(n * bytes[k])) == 0);
        free(a);
        free(b);
    }
}

static void check_notes(const mc_edf *f, const int64_t *info)
{
    double pair[2],
        *times = malloc((size_t)(2 * info[MC_EDF_GAPS] + info[MC_EDF_RECORDS]) * sizeof *times + 1);
    int64_t *records = malloc((size_t)info[MC_EDF_GAPS] * sizeof *records + 1);
    check(mc_edf_gaps(f, records, times) == MC_OK);
    check(mc_edf_onsets(f, times) == MC_OK);
    for (int64_t i = 0; i < info[MC_EDF_ANNOTATIONS]; i++) {
        check(mc_edf_annotation(f, i, pair) == MC_OK);
        check(strlen(mc_edf_annotation_text(f, i)) > 0);
    }
    free(times);
    free(records);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mc_edf *f = mc_edf_from_memory(data, (int64_t)size);
    int64_t info[MC_EDF_INFO_LEN];
    double times[MC_EDF_TIMES_LEN];
    if (!f) {
        check(mc_errstatus() != MC_OK && strncmp(mc_errmsg(), "edf: ", 5) == 0);
        return 0;
    }
    check(mc_edf_scan(f) == MC_OK);
    check(mc_edf_info(f, info) == MC_OK);
    check(mc_edf_times(f, times) == MC_OK);
    check(info[MC_EDF_HEADER_BYTES] + info[MC_EDF_RECORDS] * info[MC_EDF_RECORD_BYTES] <=
          (int64_t)size);
    for (int what = MC_EDF_PATIENT; what <= MC_EDF_RESERVED; what++)
        check(mc_edf_text(f, what) != NULL);
    for (int c = 0; c < info[MC_EDF_CHANNELS]; c++) check_channel(f, c);
    check_notes(f, info);
    mc_edf_free(f);
    return 0;
}
