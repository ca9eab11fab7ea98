/* replay.c - a main() for the fuzz targets where libFuzzer is not at hand: runs each file given as
 * argument through the target once, so that the corpus and every crasher ever found are tests on
 * any compiler.
 *
 * Prints "N passed, M failed"; a file that cannot be read counts as failed, a target that
 * misbehaves ends the process. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t room = 0, n = 0, got;
    if (!f) return 0;
    do {
        if (n == room) {
            room = room ? 2 * room : 4096;
            data = realloc(data, room);
            if (!data) exit(2);
        }
        got = fread(data + n, 1, room - n, f);
        n += got;
    } while (got > 0);
    fclose(f);
    /* An exact block, so that a sanitizer sees the first byte beyond. */
    data = realloc(data, n ? n : 1);
    fprintf(stderr, "replay: %s (%zu bytes)\n", path, n);
    LLVMFuzzerTestOneInput(data, n);
    free(data);
    return 1;
}

int main(int argc, char **argv)
{
    int passed = 0;
    for (int i = 1; i < argc; i++) passed += replay(argv[i]);
    printf("%d passed, %d failed\n", passed, argc - 1 - passed);
    return passed == argc - 1 ? 0 : 1;
}
