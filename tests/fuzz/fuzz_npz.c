/* fuzz_npz.c - any bytes as a zip file: its directory and every way to a member stay inside the
 * bytes given.
 *
 * A libFuzzer target (clang -fsanitize=fuzzer,address,undefined); linked with replay.c instead it
 * replays files. */
#include "../../runtime/mc_lua.h"

#include <stdlib.h>
#include <string.h>

#define MOST_MEMBERS 32
#define MOST_BYTES (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int held)
{
    if (!held) abort();
}

/* The three ways to a member's bytes agree. */
static void check_member(const mc_zip *z, int i)
{
    int64_t info[MC_ZIP_INFO_LEN], got = 1, made = 0;
    unsigned char *whole, *pieces;
    mc_zip_stream *s;
    mc_npy *npy;
    int rc, verified;
    check(mc_zip_info(z, i, info) == MC_OK);
    check(mc_zip_find(z, mc_zip_name(z, i)) == i);
    npy = mc_zip_npy(z, i, 0);
    mc_npy_free(npy);
    verified = mc_zip_verify(z, i);
    if (verified == MC_EUNSUPPORTED) {
        check(mc_zip_stream_open(z, i) == NULL &&
              mc_zip_extract(z, i, info, info[MC_ZIP_SIZE]) == MC_EUNSUPPORTED);
        return;
    }
    if (info[MC_ZIP_SIZE] > MOST_BYTES) return;
    whole = malloc((size_t)info[MC_ZIP_SIZE] + 1);
    pieces = malloc((size_t)info[MC_ZIP_SIZE] + 1);
    rc = mc_zip_extract(z, i, whole, info[MC_ZIP_SIZE]);
    check(rc == verified);
    s = mc_zip_stream_open(z, i);
    check(s != NULL);
    while ((rc = mc_zip_stream_read(s, pieces + made,
                                    made % 7 < info[MC_ZIP_SIZE] - made ? made % 7 + 1
                                                                        : info[MC_ZIP_SIZE] - made,
                                    &got)) == MC_OK &&
           got > 0)
        made += got;
    check(rc == verified);
    if (rc == MC_OK) check(made == info[MC_ZIP_SIZE] && memcmp(whole, pieces, (size_t)made) == 0);
    if (mc_zip_stored(z, i) && rc == MC_OK)
        check(memcmp(whole, mc_zip_stored(z, i), (size_t)made) == 0);
    mc_zip_stream_free(s);
    free(whole);
    free(pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mc_zip *z = mc_zip_from_memory(data, (int64_t)size);
    if (!z) {
        check(mc_errstatus() != MC_OK && strncmp(mc_errmsg(), "npz: ", 5) == 0);
        return 0;
    }
    for (int i = 0; i < mc_zip_count(z) && i < MOST_MEMBERS; i++) check_member(z, i);
    check(mc_zip_find(z, "no such member") < 0 || mc_zip_count(z) > 0);
    mc_zip_free(z);
    return 0;
}
