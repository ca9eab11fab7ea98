/* hash.c - SHA-256 against the examples of FIPS 180-4 and the lengths at which padding changes.
 * build: library
 * Prints "N passed, M failed". */
#include "../../runtime/mascon.h"
#include "count_check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void expect(const char *what, const char *want, const char *got)
{
    check(strcmp(want, got) == 0, "%s: want %s, got %s", what, want, got);
}

static void known(const char *text, const char *want)
{
    char hex[65];
    if (mc_sha256(text, (int64_t)strlen(text), hex)) strcpy(hex, mc_errmsg());
    expect(text, want, hex);
}

/* Every length around the block size: a file, the same bytes in memory and the same as a tensor
 * agree. */
static void lengths(void)
{
    char path[] = "/tmp/mascon-hash-XXXXXX", a[65], b[65], c[65], what[40];
    unsigned char bytes[300];
    int fd = mkstemp(path);
    if (fd < 0) {
        check(0, "no temporary file");
        return;
    }
    for (int i = 0; i < 300; i++) bytes[i] = (unsigned char)(i * 7 + 3);
    for (int64_t n = 0; n < 300; n++) {
        int64_t shape = n;
        mc_tensor *t = mc_tensor_new(MC_U8, 1, &shape);
        if (ftruncate(fd, 0) || pwrite(fd, bytes, (size_t)n, 0) != n) perror(path);
        memcpy(t->data, bytes, (size_t)n);
        if (mc_sha256(bytes, n, a) || mc_sha256_file(path, b) || mc_sha256_tensor(t, c))
            printf("%s\n", mc_errmsg());
        snprintf(what, sizeof what, "file of %d bytes", (int)n);
        expect(what, a, b);
        snprintf(what, sizeof what, "tensor of %d bytes", (int)n);
        expect(what, a, c);
        mc_tensor_free(t);
    }
    close(fd);
    unlink(path);
}

/* A transposed view hashes like its copy, across more than one buffer. */
static void views(void)
{
    const int64_t shape[2] = {300, 70}, turned[2] = {70, 300}, axes[2] = {1, 0};
    char a[65], b[65];
    mc_tensor *t = mc_tensor_new(MC_F64, 2, shape), *copy = mc_tensor_new(MC_F64, 2, turned), view;
    double *x = t->data;
    memset(&view, 0, sizeof view);
    view.dtype = -1;
    for (int i = 0; i < 300 * 70; i++) x[i] = i;
    if (mc_view_permute(&view, t, axes) || mc_copy(copy, &view) || mc_sha256_tensor(&view, a) ||
        mc_sha256_tensor(copy, b))
        printf("%s\n", mc_errmsg());
    expect("transposed view", b, a);
    mc_drop(&view);
    mc_tensor_free(t);
    mc_tensor_free(copy);
}

/* At level v2 the plain loop runs, else the processor's SHA instructions where it has them. */
static void all(void)
{
    char hex[65];
    known("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    known("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    known("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    known("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
          "lmnopqrsmnopqrstnopqrstu",
          "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    char *million = malloc(1000000);
    memset(million, 'a', 1000000);
    if (mc_sha256(million, 1000000, hex)) strcpy(hex, mc_errmsg());
    expect("a million a", "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0", hex);
    free(million);
    lengths();
    views();
}

int main(void)
{
    char hex[65];
    all();
    if (mc_isa_set("v2") == MC_OK)
        all();
    expect("a missing file is an error", "1",
           mc_sha256_file("/nonexistent/file", hex) == MC_EIO ? "1" : "0");
    return report();
}
