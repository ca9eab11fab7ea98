/* fuzz_mat.c - any bytes as a MAT-file: its tree has no loops and no loose ends, and its numbers
 * stay inside the bytes given.
 *
 * A libFuzzer target (clang -fsanitize=fuzzer,address,undefined); linked with replay.c instead it
 * replays files. */
#include "../../runtime/mc_lua.h"

#include <stdlib.h>
#include <string.h>

#define MOST_NUMBERS 1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int held)
{
    if (!held) abort();
}

static void check_numbers(const mc_mat *f, int64_t i, int64_t n)
{
    int64_t most = n < MOST_NUMBERS ? n : MOST_NUMBERS;
    double *a = malloc((size_t)most * sizeof *a + 1), last;
    check(mc_mat_numbers(f, i, 0, most, a) == MC_OK);
    if (n > 0) check(mc_mat_numbers(f, i, n - 1, 1, &last) == MC_OK);
    check(mc_mat_numbers(f, i, n, 1, &last) != MC_OK);
    free(a);
}

/* Children come behind their parents, so that walking down ends. */
static void check_array(const mc_mat *f, int64_t i, int64_t count)
{
    int64_t a[MC_MAT_ARRAY_LEN], child, n = 1;
    check(mc_mat_array(f, i, a) == MC_OK);
    check(a[MC_MAT_RANK] >= 0 && a[MC_MAT_RANK] <= 8);
    for (int64_t k = 0; k < a[MC_MAT_RANK]; k++) n *= a[MC_MAT_SHAPE + k];
    check(a[MC_MAT_RANK] == 0 || n == a[MC_MAT_NUMEL]);
    for (int64_t k = 0; k < a[MC_MAT_CHILDREN]; k++)
        check(mc_mat_child(f, i, k, &child) == MC_OK && child > i && child < count);
    check(mc_mat_child(f, i, a[MC_MAT_CHILDREN], &child) != MC_OK);
    for (int64_t k = 0; k < a[MC_MAT_FIELDS]; k++) check(strlen(mc_mat_field(f, i, k)) <= 4096);
    check(mc_mat_field(f, i, a[MC_MAT_FIELDS]) == NULL);
    if (a[MC_MAT_STORED] >= 0) {
        check(a[MC_MAT_CLASS] == MC_MAT_CHAR || a[MC_MAT_NUMBERS] >= a[MC_MAT_NUMEL]);
        check_numbers(f, i, a[MC_MAT_NUMBERS]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mc_mat *f = mc_mat_from_memory(data, (int64_t)size);
    int64_t info[2], i;
    if (!f) {
        check(mc_errstatus() != MC_OK);
        check(strncmp(mc_errmsg(), "mat: ", 5) == 0 || mc_errstatus() == MC_ENOMEM);
        return 0;
    }
    check(mc_mat_info(f, info) == MC_OK);
    for (int64_t k = 0; k < info[0]; k++) {
        check(mc_mat_variable(f, k, &i) == MC_OK);
        check(i >= 0 && i < info[1]);
        (void)mc_mat_name(f, i);
    }
    check(mc_mat_variable(f, info[0], &i) != MC_OK);
    for (int64_t k = 0; k < info[1]; k++) check_array(f, k, info[1]);
    mc_mat_free(f);
    return 0;
}
