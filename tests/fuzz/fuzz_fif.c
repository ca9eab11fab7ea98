/* fuzz_fif.c - any bytes as a FIF file, plain or packed: tags, shapes, numbers and samples stay
 * inside the bytes given.
 *
 * A libFuzzer target (clang -fsanitize=fuzzer,address,undefined); linked with replay.c instead it
 * replays files. */
#include "../../runtime/mc_lua.h"

#include <stdlib.h>
#include <string.h>

#define MOST_TAGS 256
#define MOST_NUMBERS 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int held)
{
    if (!held) abort();
}

/* Same bits; one NaN is as good as another. */
static int same(double a, double b)
{
    return (a != a && b != b) || memcmp(&a, &b, sizeof a) == 0;
}

/* The numbers of a tag in one piece, and as samples of channels side by side, are the same. */
static void check_numbers(const mc_fif *f, int64_t i, int64_t n)
{
    int64_t most = n < MOST_NUMBERS ? n : MOST_NUMBERS, channels = most < 3 ? 1 : 3,
            samples = most / channels;
    double *a = malloc((size_t)most * sizeof *a + 1), *b = malloc((size_t)most * sizeof *b + 1);
    static const int list[3] = { 0, 1, 2 };
    check(mc_fif_numbers(f, i, 0, most, a) == MC_OK);
    for (int64_t c = 0; c < channels; c++)
        check(mc_fif_samples(f, i, c, 1, channels, list, 1, 0, samples, NULL, b + c * samples,
                             samples) == MC_OK);
    for (int64_t t = 0; t < samples; t++)
        for (int64_t c = 0; c < channels; c++)
            check(same(a[t * channels + c], b[c * samples + t]));
    check(mc_fif_samples(f, i, 0, 1, channels, list, (int)channels, 0, samples, NULL, b, samples) ==
          MC_OK);
    check(n == INT64_MAX || mc_fif_numbers(f, i, n, 1, a) != MC_OK);
    free(a);
    free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mc_fif *f = mc_fif_from_memory(data, (int64_t)size);
    int64_t info[MC_FIF_INFO_LEN], tags, t[MC_FIF_TAG_LEN], shape[MC_FIF_RANK + 1];
    if (!f) {
        check(mc_errstatus() != MC_OK && strncmp(mc_errmsg(), "fif: ", 5) == 0);
        return 0;
    }
    check(mc_fif_info(f, info) == MC_OK);
    tags = info[MC_FIF_TAGS] < MOST_TAGS ? info[MC_FIF_TAGS] : MOST_TAGS;
    for (int64_t i = 0; i < tags; i++) {
        int64_t n = 1;
        unsigned char byte;
        check(mc_fif_tags(f, i, 1, t) == MC_OK);
        check(info[MC_FIF_PACKED] || t[MC_FIF_POS] + t[MC_FIF_BYTES] <= (int64_t)size);
        if (t[MC_FIF_BYTES] > 0) check(mc_fif_bytes(f, i, t[MC_FIF_BYTES] - 1, 1, &byte) == MC_OK);
        check(mc_fif_bytes(f, i, t[MC_FIF_BYTES], 1, &byte) != MC_OK);
        if (mc_fif_shape(f, i, shape) != MC_OK) continue;
        check(shape[0] >= 1 && shape[0] <= MC_FIF_RANK);
        for (int64_t k = 1; k <= shape[0]; k++) n *= shape[k];
        check_numbers(f, i, n);
    }
    check(mc_fif_tags(f, info[MC_FIF_TAGS], 1, t) != MC_OK);
    mc_fif_free(f);
    return 0;
}
