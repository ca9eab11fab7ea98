/* fuzz_npy.c - any bytes as an npy image: opening, asking and reading stay inside the bytes given.
 *
 * A libFuzzer target (clang -fsanitize=fuzzer,address,undefined); linked with replay.c instead it
 * replays files. */
#include "../../runtime/mc_lua.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int held)
{
    if (!held) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mc_npy *f = mc_npy_from_memory(data, (int64_t)size);
    int64_t info[MC_NPY_INFO_LEN], n, half;
    unsigned char *out;
    int whole;
    if (!f) {
        check(mc_errstatus() != MC_OK && strncmp(mc_errmsg(), "npy: ", 5) == 0);
        return 0;
    }
    check(mc_npy_info(f, info) == MC_OK);
    n = info[MC_NPY_NUMEL];
    check(info[MC_NPY_OFFSET] + info[MC_NPY_BYTES] + info[MC_NPY_EXTRA] == (int64_t)size);
    check(n * info[MC_NPY_ITEM] == info[MC_NPY_BYTES]);
    check((const uint8_t *)mc_npy_data(f) == data + info[MC_NPY_OFFSET]);
    out = malloc((size_t)n * 16 + 1);
    whole = mc_npy_read(f, 0, n, out);
    check(whole == MC_OK || info[MC_NPY_WIDENED]);
    if (info[MC_NPY_DIRECT]) check(memcmp(out, mc_npy_data(f), (size_t)info[MC_NPY_BYTES]) == 0);
    half = n / 2;
    if (whole == MC_OK) {
        check(mc_npy_read(f, half, n - half, out) == MC_OK);
        check(mc_npy_read(f, half, n - half + 1, out) == MC_EINVAL);
    }
    free(out);
    mc_npy_free(f);
    return 0;
}
