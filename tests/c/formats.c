/* formats.c - safe writing, npy and zip through the public header: round trips, refusals, damage,
 * full disks, failing allocations. Prints "N passed, M failed".
 * build: -L$B -lmascon -Wl,-rpath,'$ORIGIN/..' -lm
 */
#define _XOPEN_SOURCE 700
#include "formats_check.h"

/* ---- safe writing ---- */

static unsigned char *read_file(const char *name, int64_t *n)
{
    FILE *f = fopen(path_of(name), "rb");
    unsigned char *p;
    *n = 0;
    if (!f) return calloc(1, 1);
    fseek(f, 0, SEEK_END);
    *n = ftell(f);
    rewind(f);
    p = malloc((size_t)*n + 1);
    *n = (int64_t)fread(p, 1, (size_t)*n, f);
    p[*n] = 0;
    fclose(f);
    return p;
}

static int file_is(const char *name, const char *text)
{
    int64_t n;
    unsigned char *p = read_file(name, &n);
    int same = n == (int64_t)strlen(text) && memcmp(p, text, (size_t)n) == 0;
    free(p);
    return same;
}

static void test_file_write(void)
{
    mc_file_writer *w;
    struct stat st;
    expect(mc_file_write(path_of("a.txt"), "first", 5) == MC_OK);
    expect(file_is("a.txt", "first"));
    chmod(path_of("a.txt"), 0640);
    expect(mc_file_write(path_of("a.txt"), "second", 6) == MC_OK);
    expect(file_is("a.txt", "second"));
    expect(stat(path_of("a.txt"), &st) == 0 && (st.st_mode & 0777) == 0640);
    expect(mc_file_write(path_of("empty"), "", 0) == MC_OK && file_is("empty", ""));

    w = mc_file_create(path_of("a.txt"));
    expect(w != NULL && mc_file_append(w, "third", 5) == MC_OK);
    expect(count_files(0) == 3); /* a.txt, empty, the temporary file */
    mc_file_writer_free(w);
    expect(file_is("a.txt", "second") && count_files(0) == 2);

    w = mc_file_create(path_of("b.txt"));
    for (int i = 0; i < 50000; i++) mc_file_append(w, "0123456789", 10);
    expect(mc_file_commit(w) == MC_OK);
    expect_error(mc_file_append(w, "x", 1), MC_EINVAL, "complete already");
    expect_error(mc_file_commit(w), MC_EINVAL, "complete already");
    mc_file_writer_free(w);
    expect(stat(path_of("b.txt"), &st) == 0 && st.st_size == 500000);

    expect(symlink("a.txt", path_of("link")) == 0);
    expect(mc_file_write(path_of("link"), "through", 7) == MC_OK);
    expect(lstat(path_of("link"), &st) == 0 && S_ISLNK(st.st_mode) && file_is("a.txt", "through"));
    expect(mc_file_write("/dev/null", "gone", 4) == MC_OK);
    count_files(1);
}

static void test_file_errors(void)
{
    expect_error(mc_file_write(path_of("no/such"), "x", 1), MC_EIO, "create the directory first");
    expect_error(mc_file_write(folder, "x", 1), MC_EIO, "inside this directory");
    expect_error(mc_file_write("", "x", 1), MC_EINVAL, "the file name is empty");
    expect_error(mc_file_write(NULL, "x", 1), MC_EINVAL, "the file name is empty");
    expect_error(mc_file_write(path_of("n"), NULL, 1), MC_EINVAL, "check the call");
    expect_error(mc_file_write(path_of("n"), "x", -1), MC_EINVAL, "check the call");
    expect_error(mc_file_append(NULL, "x", 1), MC_EINVAL, "no file");
    if (access("/dev/full", W_OK) == 0)
        expect_error(mc_file_write("/dev/full", "x", 1), MC_EIO, "free some space");
    expect(count_files(0) == 0);
    mc_file_writer_free(NULL);
    expect(strstr(mc_errmsg(), "free some space") != NULL || access("/dev/full", W_OK) != 0);
}

/* Runs `body` in a child, whose limits and rights it may spoil; its failures count here. */
static void in_child(void (*body)(void))
{
    int status = 0;
    pid_t pid;
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        passed = failed = 0;
        body();
        fflush(stdout);
        _exit(failed > 100 ? 100 : failed);
    }
    expect(pid > 0 && waitpid(pid, &status, 0) == pid);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A file may not pass 100 kB: what a full disk looks like half way. */
static void full_half_way(void)
{
    struct rlimit limit = { 100000, 100000 };
    static char block[70000];
    mc_file_writer *w;
    mc_npy_writer *n;
    mc_zip_writer *z;
    int64_t shape[1] = { -1 };
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    w = mc_file_create(path_of("old"));
    expect(mc_file_append(w, block, sizeof block) == MC_OK);
    expect_error(mc_file_append(w, block, sizeof block), MC_EIO, "write less");
    expect_error(mc_file_append(w, block, 1), MC_EIO, "an earlier write failed");
    expect_error(mc_file_commit(w), MC_EIO, "an earlier write failed");
    mc_file_writer_free(w);
    n = mc_npy_create(path_of("old"), MC_U8, 1, shape, 0);
    expect(n && mc_npy_write(n, block, sizeof block) == MC_OK);
    expect(mc_npy_write(n, block, sizeof block) == MC_EIO && mc_npy_commit(n) == MC_EIO);
    mc_npy_writer_free(n);
    z = mc_zip_create(path_of("old"));
    expect(z && mc_zip_begin(z, "m", 0, -1) == MC_OK &&
           mc_zip_write(z, block, sizeof block) == MC_OK);
    expect(mc_zip_write(z, block, sizeof block) == MC_EIO);
    expect_error(mc_zip_end(z), MC_EIO, "an earlier write failed");
    expect(mc_zip_commit(z) == MC_EIO);
    mc_zip_writer_free(z);
    expect(file_is("old", "old content") && count_files(0) == 1);
}

/* Nothing may be created in the directory, and a protected file stays. */
static void read_only(void)
{
    /* opens zlib while its folder can be read */
    mc_zip_writer_free(mc_zip_create(path_of("new")));
    if (geteuid() == 0 && seteuid(65534) != 0) return;
    expect_error(mc_file_write(path_of("new"), "x", 1), MC_EIO, "that you may write");
    expect_error(mc_file_write(path_of("old"), "x", 1), MC_EIO, "that you may write");
    expect(mc_npy_create(path_of("new"), MC_F64, 0, NULL, 0) == NULL && mc_errstatus() == MC_EIO);
    expect(mc_zip_create(path_of("new")) == NULL && mc_errstatus() == MC_EIO);
}

static void test_disk(void)
{
    expect(mc_file_write(path_of("old"), "old content", 11) == MC_OK);
    in_child(full_half_way);
    chmod(path_of("old"), 0444);
    chmod(folder, 0555);
    in_child(read_only);
    chmod(folder, 0755);
    expect(file_is("old", "old content") && count_files(0) == 1);
    count_files(1);
}

/* ---- npy ---- */

static const struct {
    int dtype, item, part; /* part: bytes that swap together */
    const char *code;
} dtypes[] = {
    { MC_BOOL, 1, 1, "b1" }, { MC_U8, 1, 1, "u1" },   { MC_I8, 1, 1, "i1" },
    { MC_I16, 2, 2, "i2" },  { MC_I32, 4, 4, "i4" },  { MC_I64, 8, 8, "i8" },
    { MC_F16, 2, 2, "f2" },  { MC_BF16, 2, 2, "V2" }, { MC_F32, 4, 4, "f4" },
    { MC_F64, 8, 8, "f8" },  { MC_C64, 8, 4, "c8" },  { MC_C128, 16, 8, "c16" },
};
#define N_DTYPES ((int)(sizeof dtypes / sizeof dtypes[0]))

/* An npy image with this header text; returns its length. */
static int64_t make_npy(unsigned char *out, int version, const char *text, const void *data,
                        int64_t n)
{
    int64_t fixed = version == 1 ? 10 : 12, length = (int64_t)strlen(text);
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (unsigned char)version;
    out[7] = 0;
    memset(out + 8, 0, 4);
    out[8] = (unsigned char)(length & 255);
    out[9] = (unsigned char)(length >> 8);
    memcpy(out + fixed, text, (size_t)length);
    if (n) memcpy(out + fixed + length, data, (size_t)n);
    return fixed + length + n;
}

/* Bytes that are a valid array of any dtype. */
static void fill(unsigned char *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++) p[i] = (unsigned char)(i * 37 + 11);
}

static void round_trip(int k, int rank, const int64_t *shape, int fortran)
{
    unsigned char data[1024] = { 0 }, back[1024];
    int64_t info[MC_NPY_INFO_LEN], n = 1;
    mc_npy_writer *w;
    mc_npy *f;
    for (int i = 0; i < rank; i++) n *= shape[i];
    fill(data, n * dtypes[k].item);
    for (int64_t i = 0; dtypes[k].dtype == MC_BOOL && i < n; i++) data[i] &= 1;
    w = mc_npy_create(path_of("a.npy"), dtypes[k].dtype, rank, shape, fortran);
    expect(w && mc_npy_write(w, data, n / 2) == MC_OK);
    expect(mc_npy_write(w, data + n / 2 * dtypes[k].item, n - n / 2) == MC_OK);
    expect_error(mc_npy_write(w, data, 1), MC_ESHAPE, "more than the shape holds");
    expect(mc_npy_commit(w) == MC_OK);
    mc_npy_writer_free(w);
    f = mc_npy_open(path_of("a.npy"));
    expect(f != NULL);
    if (!f) return;
    expect(mc_npy_info(f, info) == MC_OK && info[MC_NPY_DTYPE] == dtypes[k].dtype &&
           info[MC_NPY_RANK] == rank);
    expect(info[MC_NPY_FORTRAN] == fortran && info[MC_NPY_NUMEL] == n &&
           info[MC_NPY_ITEM] == dtypes[k].item);
    expect(memcmp(info + MC_NPY_SHAPE, shape, (size_t)rank * sizeof *shape) == 0);
    expect(info[MC_NPY_OFFSET] % 64 == 0 && info[MC_NPY_ALIGNED] == 1 && info[MC_NPY_EXTRA] == 0);
    expect(info[MC_NPY_DIRECT] == (dtypes[k].dtype != MC_BOOL) && !info[MC_NPY_SWAPPED] &&
           !info[MC_NPY_WIDENED]);
    if (rank == 2 && n > 0) {
        expect(info[MC_NPY_STRIDES] == (fortran ? 1 : shape[1]));
        expect(info[MC_NPY_STRIDES + 1] == (fortran ? shape[0] : 1));
    }
    memset(back, 0, sizeof back);
    expect(mc_npy_read(f, 0, n, back) == MC_OK &&
           memcmp(back, data, (size_t)(n * dtypes[k].item)) == 0);
    expect(n == 0 || memcmp(mc_npy_data(f), data, (size_t)(n * dtypes[k].item)) == 0);
    expect_error(mc_npy_read(f, 1, n, back), MC_EINVAL, "outside the array");
    mc_npy_free(f);
}

static void test_npy_round_trips(void)
{
    static const int64_t shapes[][8] = { { 0 },    { 5 },    { 0 },
                                         { 3, 4 }, { 2, 0 }, { 1, 2, 1, 3, 1, 1, 2, 1 } };
    static const int ranks[] = { 0, 1, 1, 2, 2, 8 };
    for (int k = 0; k < N_DTYPES; k++)
        for (int s = 0; s < 6; s++)
            for (int fortran = 0; fortran < 2; fortran++)
                round_trip(k, ranks[s], shapes[s], fortran);
    count_files(1);
}

/* The other byte order, in all three header versions, from a place that is not aligned. */
static void test_npy_swapped(void)
{
    unsigned char data[48], other[48], back[48], image[256];
    int64_t info[MC_NPY_INFO_LEN];
    const uint16_t one = 1;
    char order = *(const unsigned char *)&one ? '>' : '<', text[128];
    for (int k = 0; k < N_DTYPES; k++) {
        int part = dtypes[k].part, item = dtypes[k].item;
        fill(data, 48);
        for (int i = 0; i < 48; i++) other[i] = data[i / part * part + part - 1 - i % part];
        if (dtypes[k].dtype == MC_BOOL)
            for (int i = 0; i < 48; i++) data[i] = other[i] != 0;
        for (int version = 1; version <= 3; version++) {
            mc_npy *f;
            snprintf(text, sizeof text,
                     "{\"shape\" : (3 , ), 'fortran_order':False,'descr':'%c%s'}\n", order,
                     dtypes[k].code);
            f = mc_npy_from_memory(image + 1, make_npy(image + 1, version, text, other, 3 * item));
            expect(f && mc_npy_info(f, info) == MC_OK);
            if (!f) continue;
            expect(info[MC_NPY_DTYPE] == dtypes[k].dtype && info[MC_NPY_SWAPPED] == (item > 1));
            expect(info[MC_NPY_ALIGNED] == ((uintptr_t)mc_npy_data(f) % (unsigned)part == 0));
            expect(mc_npy_read(f, 0, 3, back) == MC_OK &&
                   memcmp(back, data, (size_t)(3 * item)) == 0);
            expect(mc_npy_read(f, 2, 1, back) == MC_OK &&
                   memcmp(back, data + 2 * item, (size_t)item) == 0);
            mc_npy_free(f);
        }
    }
}

static void test_npy_widened(void)
{
    static const unsigned char bytes[] = { 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F,
                                           0,    0,    0,    0,    0,    0,    0,    0x80 };
    unsigned char image[256];
    int64_t wide[2];
    int32_t narrow[2];
    mc_npy *f;
    f = mc_npy_from_memory(
        image, make_npy(image, 1, "{'descr':'<u2','fortran_order':False,'shape':(2,)}", bytes, 4));
    expect(f && mc_npy_read(f, 0, 2, narrow) == MC_OK && narrow[0] == 65534 && narrow[1] == 65535);
    mc_npy_free(f);
    f = mc_npy_from_memory(
        image, make_npy(image, 1, "{'descr':'>u4','fortran_order':False,'shape':(2,)}", bytes, 8));
    expect(f && mc_npy_read(f, 0, 2, wide) == MC_OK && wide[0] == 0xFEFFFFFF &&
           wide[1] == 0xFFFFFF7F);
    mc_npy_free(f);
    f = mc_npy_from_memory(
        image, make_npy(image, 1, "{'descr':'<u8','fortran_order':False,'shape':(2,)}", bytes, 16));
    expect(f && mc_npy_read(f, 0, 1, wide) == MC_OK && wide[0] == INT64_MAX - 1);
    wide[0] = 7;
    expect_error(mc_npy_read(f, 0, 2, wide), MC_EUNSUPPORTED,
                 "9223372036854775808, which i64 cannot");
    expect(wide[0] == 7); /* a failed call changes no output */
    mc_npy_free(f);
}

static void test_npy_refused(void)
{
    static const struct {
        const char *text, *message;
        int status;
    } cases[] = {
        { "{'descr':'|O','fortran_order':False,'shape':(1,)}", "an object array", MC_EUNSUPPORTED },
        { "{'descr':'<U3','fortran_order':False,'shape':(1,)}", "a text array", MC_EUNSUPPORTED },
        { "{'descr':'|S3','fortran_order':False,'shape':(1,)}", "a byte string array",
          MC_EUNSUPPORTED },
        { "{'descr':'<M8[ns]','fortran_order':False,'shape':(1,)}", "a date", MC_EUNSUPPORTED },
        { "{'descr':'<f16','fortran_order':False,'shape':(1,)}", "wider than f64",
          MC_EUNSUPPORTED },
        { "{'descr':'<V7','fortran_order':False,'shape':(1,)}", "raw bytes", MC_EUNSUPPORTED },
        { "{'descr':[('a','<f8')],'fortran_order':False,'shape':(1,)}", "structured array",
          MC_EUNSUPPORTED },
        { "{'descr':'<f8','fortran_order':False,'shape':(1,1,1,1,1,1,1,1,1)}", "more than 8 axes",
          MC_EUNSUPPORTED },
        { "{'descr':'<f8','fortran_order':False,'shape':(1)}", "not a tuple", MC_EFORMAT },
        { "{'descr':'<f8','fortran_order':False,'shape':(-1,)}", "not a whole number", MC_EFORMAT },
        { "{'descr':'<f8','fortran_order':False,'shape':(9223372036854775808,)}",
          "not a whole number", MC_EFORMAT },
        { "{'descr':'<f8','fortran_order':False,'shape':(4294967296,4294967296)}", "more than 2^63",
          MC_EFORMAT },
        { "{'descr':'<f8','fortran_order':False,'shape':(0,4294967296,4294967296)}",
          "more than 2^63", MC_EFORMAT },
        { "{'descr':'<f8','fortran_order':False,'shape':(9,)}",
          "is truncated: the array needs 72 bytes and 8", MC_EFORMAT },
        { "{'descr':'<f8','fortran_order':0,'shape':(1,)}", "neither True nor False", MC_EFORMAT },
        { "{'descr':'<f8','fortran_order':False}", "is missing", MC_EFORMAT },
        { "{'descr':'<f8','descr':'<f8','fortran_order':False,'shape':(1,)}", "comes twice",
          MC_EFORMAT },
        { "{'x':1,'descr':'<f8','fortran_order':False,'shape':(1,)}", "a key besides", MC_EFORMAT },
        { "{'descr':'<f8' 'fortran_order':False,'shape':(1,)}", "a comma is missing", MC_EFORMAT },
        { "{'descr':'<f8','fortran_order':False,'shape':(1 1)}", "lacks a comma", MC_EFORMAT },
        { "{'descr':'<f8','fortran_order':False,'shape':(1,)} + exit()", "something follows",
          MC_EFORMAT },
        { "['descr']", "not a dict", MC_EFORMAT },
    };
    unsigned char image[256];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect(mc_npy_from_memory(image, make_npy(image, 1, cases[i].text, "12345678", 8)) == NULL);
        expect_error(mc_errstatus(), cases[i].status, cases[i].message);
    }
    make_npy(image, 1, "{'descr':'<f8','fortran_order':False,'shape':(1,)}", "12345678", 8);
    image[6] = 4;
    expect(mc_npy_from_memory(image, 80) == NULL &&
           strstr(mc_errmsg(), "format version 4.0") != NULL);
    expect(mc_npy_from_memory("PK\3\4......", 10) == NULL &&
           strstr(mc_errmsg(), "does not begin like") != NULL);
    expect(mc_npy_open(path_of("absent")) == NULL && mc_errstatus() == MC_EIO &&
           strstr(mc_errmsg(), "check the path") != NULL);
    expect(mc_npy_open(folder) == NULL && mc_errstatus() == MC_EIO);
    expect(mc_npy_open("/dev/null") == NULL && mc_errstatus() == MC_EUNSUPPORTED);
}

static void test_npy_writer(void)
{
    static const int64_t grows[2] = { -1, 3 }, negative[2] = { 3, -1 }, empty_rows[2] = { -1, 0 };
    double v[9] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 }, back[9];
    int64_t info[MC_NPY_INFO_LEN];
    mc_npy_writer *w = mc_npy_create(path_of("g.npy"), MC_F64, 2, grows, 0);
    mc_npy *f;
    expect(w && mc_npy_write(w, v, 4) == MC_OK);
    expect_error(mc_npy_commit(w), MC_ESHAPE, "no whole number of rows");
    expect(mc_npy_write(w, v + 4, 5) == MC_OK && mc_npy_commit(w) == MC_OK);
    mc_npy_writer_free(w);
    f = mc_npy_open(path_of("g.npy"));
    expect(f && mc_npy_info(f, info) == MC_OK && info[MC_NPY_SHAPE] == 3 &&
           info[MC_NPY_SHAPE + 1] == 3);
    expect(mc_npy_read(f, 0, 9, back) == MC_OK && memcmp(v, back, sizeof v) == 0);
    mc_npy_free(f);
    w = mc_npy_create(path_of("g.npy"), MC_F64, 2, empty_rows, 0);
    expect(w && mc_npy_commit(w) == MC_OK);
    mc_npy_writer_free(w);
    w = mc_npy_create(path_of("h.npy"), MC_F64, 1, info + MC_NPY_SHAPE, 0);
    expect(w && mc_npy_write(w, v, 2) == MC_OK);
    expect_error(mc_npy_commit(w), MC_ESHAPE, "2 elements were written and the shape needs 3");
    mc_npy_writer_free(w);
    expect(count_files(0) == 1);
    expect(mc_npy_create(path_of("h"), MC_F64, 2, negative, 0) == NULL &&
           mc_errstatus() == MC_ESHAPE);
    expect(mc_npy_create(path_of("h"), MC_F64, 2, grows, 1) == NULL &&
           strstr(mc_errmsg(), "Fortran order") != NULL);
    expect(mc_npy_create(path_of("h"), 99, 1, grows, 0) == NULL && mc_errstatus() == MC_EDTYPE);
    expect(mc_npy_create(path_of("h"), MC_F64, 9, grows, 0) == NULL && mc_errstatus() == MC_ESHAPE);
    expect(mc_npy_create("/dev/null", MC_F64, 2, grows, 0) == NULL &&
           mc_errstatus() == MC_EUNSUPPORTED);
    count_files(1);
}

/* ---- zip ---- */

/* Three members: an npy image, bytes of known and of unknown size. */
static int write_zip(const char *name, int level)
{
    static const int64_t shape[1] = { 16 };
    mc_zip_writer *w = mc_zip_create(path_of(name));
    int rc;
    if (!w) return mc_errstatus();
    rc = mc_zip_begin_npy(w, "a.npy", level, MC_F64, 1, shape, 0);
    if (rc == MC_OK) rc = mc_zip_write(w, big, 128);
    if (rc == MC_OK) rc = mc_zip_end(w);
    if (rc == MC_OK) rc = mc_zip_begin(w, "known", level, (int64_t)sizeof big);
    for (int i = 0; i < 10 && rc == MC_OK; i++) rc = mc_zip_write(w, big + i * 20000, 20000);
    if (rc == MC_OK) rc = mc_zip_end(w);
    if (rc == MC_OK) rc = mc_zip_begin(w, "\xC3\xBCnknown", level, -1);
    if (rc == MC_OK) rc = mc_zip_write(w, big, 1000);
    if (rc == MC_OK) rc = mc_zip_end(w);
    if (rc == MC_OK) rc = mc_zip_begin(w, "empty", level, 0);
    if (rc == MC_OK) rc = mc_zip_end(w);
    if (rc == MC_OK) rc = mc_zip_commit(w);
    mc_zip_writer_free(w);
    return rc;
}

static void read_zip(const mc_zip *z, int level, int mapped)
{
    static unsigned char back[sizeof big + 1];
    int64_t info[MC_ZIP_INFO_LEN], npy[MC_NPY_INFO_LEN], got, made = 0;
    int known = mc_zip_find(z, "known"), a = mc_zip_find(z, "a.npy");
    mc_zip_stream *s;
    mc_npy *f;
    expect(mc_zip_count(z) == 4 && strcmp(mc_zip_name(z, 2), "\xC3\xBCnknown") == 0 &&
           mc_zip_find(z, "nothing") == -1);
    expect(mc_zip_info(z, known, info) == MC_OK && info[MC_ZIP_SIZE] == (int64_t)sizeof big);
    expect(info[MC_ZIP_METHOD] == (level ? 8 : 0) && (level || info[MC_ZIP_OFFSET] % 64 == 0));
    expect(mc_zip_extract(z, known, back, (int64_t)sizeof big) == MC_OK &&
           memcmp(back, big, sizeof big) == 0);
    expect_error(mc_zip_extract(z, known, back, 10), MC_ESHAPE, "has 200000 bytes, room is for 10");
    expect((mc_zip_stored(z, known) != NULL) == !level);
    s = mc_zip_stream_open(z, known);
    while (
        s &&
        mc_zip_stream_read(s, back + made,
                           7777 < (int64_t)sizeof back - made ? 7777 : (int64_t)sizeof back - made,
                           &got) == MC_OK &&
        got > 0)
        made += got;
    expect(made == (int64_t)sizeof big && memcmp(back, big, sizeof big) == 0);
    mc_zip_stream_free(s);
    for (int i = 0; i < 4; i++) expect(mc_zip_verify(z, i) == MC_OK);
    expect(mc_zip_extract(z, mc_zip_find(z, "empty"), NULL, 0) == MC_OK);
    expect_error(mc_zip_verify(z, 4), MC_EINVAL, "no such member");
    expect(mc_zip_npy(z, known, 1) == NULL &&
           strstr(mc_errmsg(), ":known does not begin like") != NULL);
    f = mc_zip_npy(z, a, 1);
    expect(f && mc_npy_info(f, npy) == MC_OK && npy[MC_NPY_NUMEL] == 16 && npy[MC_NPY_ALIGNED]);
    expect(memcmp(mc_npy_data(f), big, 128) == 0 &&
           (!mapped || (uintptr_t)mc_npy_data(f) % 64 == 0));
    mc_npy_free(f);
}

static void test_zip_round_trips(void)
{
    fill(big, 100000);
    for (int level = 0; level <= 9; level += 3) {
        int64_t n, m;
        unsigned char *p, *q;
        mc_zip *z;
        mc_npy *f;
        expect(write_zip("a.npz", level) == MC_OK && write_zip("b.npz", level) == MC_OK);
        p = read_file("a.npz", &n);
        q = read_file("b.npz", &m);
        expect(n > 0 && n == m && memcmp(p, q, (size_t)n) == 0);
        z = mc_zip_open(path_of("a.npz"));
        expect(z != NULL);
        if (z) read_zip(z, level, 1);
        f = z ? mc_zip_npy(z, 0, 0) : NULL;
        mc_zip_free(z);
        expect(f && memcmp(mc_npy_data(f), big, 128) == 0); /* outlives the zip */
        mc_npy_free(f);
        z = mc_zip_from_memory(p, n);
        expect(z != NULL);
        if (z) read_zip(z, level, 0);
        mc_zip_free(z);
        free(p);
        free(q);
    }
    count_files(1);
}

static void test_zip_writer_errors(void)
{
    mc_zip_writer *w = mc_zip_create(path_of("e.npz"));
    expect_error(mc_zip_write(w, "x", 1), MC_EINVAL, "no member is begun");
    expect_error(mc_zip_begin(w, "", 0, 1), MC_EINVAL, "1 to 65535 bytes");
    expect_error(mc_zip_begin(w, "a", 10, 1), MC_EINVAL, "level 10");
    expect(mc_zip_begin(w, "a", 6, 3) == MC_OK);
    expect_error(mc_zip_begin(w, "b", 0, 1), MC_EINVAL, "begun inside another");
    expect_error(mc_zip_write(w, "wxyz", 4), MC_ESHAPE, "gets more");
    expect(mc_zip_write(w, "xy", 2) == MC_OK);
    expect_error(mc_zip_end(w), MC_ESHAPE, "announced with 3 bytes and got 2");
    expect_error(mc_zip_commit(w), MC_EINVAL, "not ended");
    expect(mc_zip_write(w, "z", 1) == MC_OK && mc_zip_end(w) == MC_OK);
    expect_error(mc_zip_begin(w, "a", 0, 1), MC_EINVAL, "there is a member a already");
    mc_zip_writer_free(w);
    expect(count_files(0) == 0);
    expect(mc_zip_create("/dev/null") == NULL && mc_errstatus() == MC_EUNSUPPORTED);
}

static int64_t find_bytes(const unsigned char *p, int64_t n, const char *what, int64_t length)
{
    for (int64_t i = 0; i + length <= n; i++)
        if (memcmp(p + i, what, (size_t)length) == 0) return i;
    return -1;
}

static void test_zip_damage(void)
{
    int64_t n, dir, local;
    unsigned char *p, keep;
    mc_zip *z;
    mc_zip_writer *w = mc_zip_create(path_of("d.npz"));
    static const char same[] = "the same text, the same text, the same text, the same text";
    expect(mc_zip_begin(w, "one", 6, -1) == MC_OK && mc_zip_write(w, same, 58) == MC_OK &&
           mc_zip_end(w) == MC_OK);
    expect(mc_zip_begin(w, "two", 0, 58) == MC_OK && mc_zip_write(w, same, 58) == MC_OK &&
           mc_zip_end(w) == MC_OK);
    expect(mc_zip_commit(w) == MC_OK);
    mc_zip_writer_free(w);
    p = read_file("d.npz", &n);
    dir = find_bytes(p, n, "PK\1\2", 4);
    local = find_bytes(p + 4, n - 4, "PK\3\4", 4) + 4;
    expect(dir > 0 && local > 3);

    p[dir - 1] ^= 1; /* last byte of the stored member */
    z = mc_zip_from_memory(p, n);
    expect(z && mc_zip_verify(z, 0) == MC_OK);
    expect_error(mc_zip_verify(z, 1), MC_EFORMAT, "member two is damaged: its checksum differs");
    expect(mc_zip_npy(z, 1, 1) == NULL && strstr(mc_errmsg(), "checksum") != NULL);
    mc_zip_free(z);
    p[dir - 1] ^= 1;

    keep = p[dir + 24];
    p[dir + 24] = 57; /* size of the deflated member */
    z = mc_zip_from_memory(p, n);
    expect_error(mc_zip_verify(z, 0), MC_EFORMAT, "more bytes than the directory says");
    mc_zip_free(z);
    p[dir + 24] = 59;
    z = mc_zip_from_memory(p, n);
    expect_error(mc_zip_verify(z, 0), MC_EFORMAT, "fewer bytes than the directory says");
    mc_zip_free(z);
    p[dir + 24] = keep;
    p[dir + 27] = 0x7F;
    expect(mc_zip_from_memory(p, n) == NULL && strstr(mc_errmsg(), "promises more bytes") != NULL);
    p[dir + 27] = 0;

    p[dir + 8] |= 1;
    z = mc_zip_from_memory(p, n);
    expect_error(mc_zip_verify(z, 0), MC_EUNSUPPORTED, "is encrypted");
    expect(mc_zip_verify(z, 1) == MC_OK);
    mc_zip_free(z);
    p[dir + 8] &= 0xFE;

    memcpy(p + dir + 46 + 3 + 46, "one", 3); /* the second entry's name */
    expect(mc_zip_from_memory(p, n) == NULL && strstr(mc_errmsg(), "two different names") != NULL);
    memcpy(p + local + 30, "one", 3);
    expect(mc_zip_from_memory(p, n) == NULL && strstr(mc_errmsg(), "have the same name") != NULL);
    memcpy(p + dir + 46 + 3 + 46, "two", 3);
    memcpy(p + local + 30, "two", 3);
    keep = p[dir + 20];
    p[dir + 20] = (unsigned char)(keep + 40);
    expect(mc_zip_from_memory(p, n) == NULL && strstr(mc_errmsg(), "two members overlap") != NULL);
    free(p);
    count_files(1);
}

/* ---- damage: every length, every byte ---- */

/* Opens and reads all there is; 1 when the image was accepted. */
static int use_npy(const unsigned char *p, int64_t n)
{
    mc_npy *f = mc_npy_from_memory(p, n);
    int64_t info[MC_NPY_INFO_LEN];
    if (!f) return 0;
    mc_npy_info(f, info);
    if (info[MC_NPY_NUMEL] * 16 <= (int64_t)sizeof big)
        (void)mc_npy_read(f, 0, info[MC_NPY_NUMEL], big);
    mc_npy_free(f);
    return 1;
}

static int use_zip(const unsigned char *p, int64_t n)
{
    mc_zip *z = mc_zip_from_memory(p, n);
    int good = z != NULL;
    for (int i = 0; i < mc_zip_count(z); i++) {
        good &= mc_zip_verify(z, i) == MC_OK;
        mc_npy_free(mc_zip_npy(z, i, 0));
    }
    mc_zip_free(z);
    return good;
}

static void test_damage(void)
{
    unsigned char npy[256];
    int64_t n;
    unsigned char *zip;
    n = make_npy(npy, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }",
                 "123456781234567812345678", 24);
    damage(use_npy, npy, n);
    for (int level = 0; level <= 6; level += 6) {
        mc_zip_writer *w = mc_zip_create(path_of("z"));
        expect(mc_zip_begin(w, "a", level, n) == MC_OK && mc_zip_write(w, npy, n) == MC_OK &&
               mc_zip_end(w) == MC_OK);
        expect(mc_zip_begin(w, "b", level, -1) == MC_OK && mc_zip_end(w) == MC_OK &&
               mc_zip_commit(w) == MC_OK);
        mc_zip_writer_free(w);
        zip = read_file("z", &n);
        damage(use_zip, zip, n);
        free(zip);
        n = make_npy(npy, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }",
                     "123456781234567812345678", 24);
    }
    count_files(1);
}

/* ---- allocation ---- */

static int all_of_npy(void)
{
    static const int64_t shape[2] = { -1, 2 };
    mc_npy_writer *w = mc_npy_create(path_of("n"), MC_F32, 2, shape, 0);
    mc_npy *f;
    int rc = w ? mc_npy_write(w, big, 10) : mc_errstatus();
    if (rc == MC_OK) rc = mc_npy_commit(w);
    mc_npy_writer_free(w);
    if (rc != MC_OK) return rc;
    f = mc_npy_open(path_of("n"));
    if (!f) return mc_errstatus();
    mc_npy_free(f);
    return MC_OK;
}

static int all_of_zip(void)
{
    int rc = write_zip("n", 6);
    mc_zip *z = rc == MC_OK ? mc_zip_open(path_of("n")) : NULL;
    mc_npy *f = z ? mc_zip_npy(z, 0, 1) : NULL;
    mc_zip_stream *s = f ? mc_zip_stream_open(z, 1) : NULL;
    int64_t got;
    if (s)
        rc = mc_zip_stream_read(s, big, 100, &got);
    else
        rc = mc_errstatus();
    if (rc == MC_OK) rc = mc_zip_verify(z, 1);
    mc_zip_stream_free(s);
    mc_npy_free(f);
    mc_zip_free(z);
    return rc;
}

int main(void)
{
    make_folder();
    test_file_write();
    test_file_errors();
    test_disk();
    test_npy_round_trips();
    test_npy_swapped();
    test_npy_widened();
    test_npy_refused();
    test_npy_writer();
    test_zip_round_trips();
    test_zip_writer_errors();
    test_zip_damage();
    test_damage();
    fail_allocations(all_of_npy);
    fail_allocations(all_of_zip);
    return finish();
}
