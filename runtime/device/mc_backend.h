/* mc_backend.h - what a neighbour implements.
 *
 * A neighbour (FFTW, OpenBLAS, libgomp, zlib, HDF5, libyaml, libedit, librsvg, ...) is a shared
 * object build/plugins/mc_<who>.so that exports one function, `mc_plugin_open`. It receives the
 * host's functions in a table, never links libmascon, and fills the API struct of its kind.
 * tests/lint/rooms.lua lists the headers a neighbour may include.
 * A missing or failing neighbour is an error with advice, never a crash. */
#ifndef MC_BACKEND_H
#define MC_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#define MC_BACKEND_ABI 4

typedef void (*mc_range_fn)(void *arg, int64_t begin, int64_t end, int worker);

typedef struct mc_host_api {
    int abi;
    /* 64-byte aligned, counted; NULL on failure */
    void *(*alloc)(size_t bytes);
    void (*free)(void *p);
    int (*error)(int status, const char *fmt, ...);    /* writes the error record, returns status */
    int (*cancelled)(void);                            /* non-zero after Ctrl-C */
} mc_host_api;

/* Every plug-in exports this under the name "mc_plugin_open". `api` points to the struct of its
 * kind with its `abi` field set by the caller. Returns 0 or a status with the record written
 * through host->error. */
typedef int (*mc_plugin_open_fn)(const mc_host_api *host, void *api);

/* libgomp: the one thread pool. */
typedef struct mc_threads_api {
    int abi;
    /* Runs fn(arg, i, i + 1, worker) for i in [0, tasks), handed out dynamically to `threads`
     * workers. */
    void (*run)(int64_t tasks, int threads, mc_range_fn fn, void *arg);
} mc_threads_api;

/* FFTW (or our own transform). kind: 0 c2c forward, 1 c2c backward, 2 r2c, 3 c2r. prec: 4 f32, 8
 * f64.
 * Unnormalised, like FFTW. Plans are for one transform of length n, contiguous, out of place, rows
 * at multiples of `align` bytes (complex interleaved; r2c gives n/2+1 bins). c2r may overwrite its
 * input; the others leave it alone. `howmany` transforms at distances idist/odist (in elements of
 * their type). Executing a plan is thread-safe; making and dropping one is not (the caller holds a
 * lock). */
typedef struct mc_fft_api {
    int abi;
    const char *name;                                  /* "fftw 3.3.10" or "mascon" */
    void *(*plan)(int kind, int prec, int64_t n, int64_t howmany, int64_t idist, int64_t odist,
                  int measure);
    void (*execute)(void *plan, const void *in, void *out);
    void (*drop)(void *plan);
    int (*wisdom_save)(const char *path);              /* 0 ok */
    int (*wisdom_load)(const char *path);
    int align;                                         /* bytes, a power of two up to 64 */
} mc_fft_api;

/* Work areas of a LAPACK routine. With lwork = -1 a routine only writes into the three sizes what
 * it wants: elements of the type, of its real type, integers. */
typedef struct mc_lapack_work {
    void *work, *rwork;
    int *iwork;
    int lwork, lrwork, liwork;
} mc_lapack_work;

/* LAPACK through OpenBLAS, column-major. type as in mc_blas_api, sizes fit 32 bits (the caller
 * checks). Arrays hold elements of the type; those named s, w (heevd, hegvd), wr, wi, scale hold
 * reals of its precision. Each returns LAPACK's info. A real type takes the orthogonal and
 * symmetric routines under the complex names (unghr, heevd). Single-threaded unless threads(n) said
 * otherwise. */
typedef struct mc_lapack_api {
    void (*threads)(int n);
    int (*getrf)(int type, int m, int n, void *a, int lda, int *ipiv);
    int (*getrs)(int type, char trans, int n, int nrhs, const void *a, int lda, const int *ipiv,
                 void *b, int ldb);
    int (*getri)(int type, int n, void *a, int lda, const int *ipiv, mc_lapack_work *w);
    int (*potrf)(int type, char uplo, int n, void *a, int lda);
    /* hermitian = 0: of symmetric matrices, which differ for complex types */
    int (*hetrf)(int type, int hermitian, char uplo, int n, void *a, int lda, int *ipiv,
                 mc_lapack_work *w);
    int (*trtrs)(int type, char uplo, char trans, char diag, int n, int nrhs, const void *a,
                 int lda, void *b, int ldb);
    int (*geqrf)(int type, int m, int n, void *a, int lda, void *tau, mc_lapack_work *w);
    int (*geqp3)(int type, int m, int n, void *a, int lda, int *jpvt, void *tau, mc_lapack_work *w);
    int (*ungqr)(int type, int m, int n, int k, void *a, int lda, const void *tau,
                 mc_lapack_work *w);
    int (*gelsd)(int type, int m, int n, int nrhs, void *a, int lda, void *b, int ldb, void *s,
                 double rcond, int *rank, mc_lapack_work *w);
    int (*gesdd)(int type, char jobz, int m, int n, void *a, int lda, void *s, void *u, int ldu,
                 void *vt, int ldvt, mc_lapack_work *w);
    int (*heevd)(int type, char jobz, char uplo, int n, void *a, int lda, void *w,
                 mc_lapack_work *work);
    int (*hegvd)(int type, int itype, char jobz, char uplo, int n, void *a, int lda, void *b,
                 int ldb, void *w, mc_lapack_work *work);
    /* complex types: eigenvalues in wr, wi unused */
    int (*geev)(int type, char jobvl, char jobvr, int n, void *a, int lda, void *wr, void *wi,
                void *vl, int ldvl, void *vr, int ldvr, mc_lapack_work *w);
    int (*gees)(int type, char jobvs, int n, void *a, int lda, void *wr, void *wi, void *vs,
                int ldvs, mc_lapack_work *w);
    /* selected eigenvalues first; work: n elements */
    int (*trsen)(int type, const int *select, int n, void *t, int ldt, void *q, int ldq, void *wr,
                 void *wi, int *selected, void *work);
    int (*gehrd)(int type, int n, int ilo, int ihi, void *a, int lda, void *tau, mc_lapack_work *w);
    int (*unghr)(int type, int n, int ilo, int ihi, void *a, int lda, const void *tau,
                 mc_lapack_work *w);
    int (*gbsv)(int type, int n, int kl, int ku, int nrhs, void *ab, int ldab, int *ipiv, void *b,
                int ldb);
    int (*gtsv)(int type, int n, int nrhs, void *dl, void *d, void *du, void *b, int ldb);
    int (*pbsv)(int type, char uplo, int n, int kd, int nrhs, void *ab, int ldab, void *b, int ldb);
} mc_lapack_api;

/* OpenBLAS. Row-major, single-threaded; dtype letters as in BLAS: 's','d','c','z'. C = A*B.
 * ready: 0 once a thread can work in it, else a status with the record. Calls of LAPACK that work,
 * not those that ask for sizes, stand between enter and leave; enter waits where memory is short of
 * a work buffer for one thread more. gemm does so itself. */
typedef struct mc_blas_api {
    int abi;
    const char *name;
    int (*ready)(void);
    void (*enter)(void);
    void (*leave)(void);
    const mc_lapack_api *lapack;                       /* NULL: built without */
    void (*gemm)(int type, int transa, int transb, int64_t m, int64_t n, int64_t k, const void *a,
                 int64_t lda, const void *b, int64_t ldb, void *c, int64_t ldc);
} mc_blas_api;

/* zlib. One-shot calls plus streams; return 0, or a zlib error number. */
typedef struct mc_zlib_api {
    int abi;
    const char *name;
    uint32_t (*crc32)(uint32_t crc, const void *p, size_t n);
    void *(*inflate_new)(int raw);                     /* raw: no zlib header, as in zip */
    void *(*deflate_new)(int raw, int level);
    /* Consumes up to *nin bytes, produces up to *nout; both are set to what was used. finish: no
     * more input. Returns 0 to go on, 1 at the end of the stream, negative on corrupt data. */
    int (*inflate_run)(void *s, const void *in, size_t *nin, void *out, size_t *nout);
    int (*deflate_run)(void *s, const void *in, size_t *nin, void *out, size_t *nout, int finish);
    void (*inflate_free)(void *s);
    void (*deflate_free)(void *s);
} mc_zlib_api;

/* What an object of an HDF5 file is. The type of numbers as delivered: 'b' bool, 'u', 'i', 'f', 'w'
 * (bfloat16), 'c' and their bytes; unsigned ones of 2 bytes come as 'i' of 4, those of 4 and 8 as
 * 'i' of 8. */
#define MC_H5_RANK 32
enum { MC_H5_GROUP = 0, MC_H5_DATASET = 1, MC_H5_ATTRIBUTE = 2, MC_H5_ELSE = 3 };
enum { MC_H5_UNKNOWN = 0, MC_H5_NUMBERS = 1, MC_H5_TEXTS = 2, MC_H5_REFERENCES = 3 };
enum { MC_H5_LINKS = 0, MC_H5_ATTRIBUTES = 1, MC_H5_FILTERS = 2 };
typedef struct mc_hdf5_about {
    int kind, holds;
    int type, size;
    int rank;
    int null;                                          /* no elements and no shape, as h5py.Empty */
    int chunked;
    int64_t numel, stored;                             /* stored: bytes in the file */
    int64_t file, address;                             /* what tells one object from another */
    int64_t shape[MC_H5_RANK], chunk[MC_H5_RANK];
} mc_hdf5_about;

/* HDF5 files. Objects and writers are used by one thread at a time; the plug-in has one lock for
 * all calls. Functions return 0, or a status with the record written; those that return a pointer:
 * NULL with the record. */
typedef struct mc_hdf5_api {
    int abi;
    const char *name;
    void *(*open)(const char *path);                   /* the root group */
    void *(*at)(const void *o, const char *name);      /* by a path of links from group o */
    void *(*attribute)(const void *o, const char *name);
    /* the object that a reference in o's file means */
    void *(*refer)(const void *o, int64_t reference);
    void (*about)(const void *o, mc_hdf5_about *out);
    /* how many names of this kind there are, -1 on failure; name i, borrowed, NULL outside */
    int64_t (*count)(void *o, int what);
    const char *(*name_of)(const void *o, int what, int64_t i);
    /* count elements from start on (step apart) along each axis, row-major, to out; of an attribute
     * always all */
    int (*read)(const void *o, const int64_t *start, const int64_t *count, const int64_t *step,
                void *out);
    /* the same for texts, kept in o until the next call */
    int (*read_texts)(void *o, const int64_t *start, const int64_t *count, const int64_t *step);
    const char *(*text)(const void *o, int64_t i, int64_t *bytes);
    void (*close)(void *o);
    /* Writing into descriptor fd, which stays the caller's; path is for messages. */
    void *(*create)(int fd, const char *path);
    int (*put_group)(void *w, const char *name);
    /* A dataset of this name, or attribute `name` of object `of`. level: 0 plain, 1..9 packed;
     * chunk: NULL lets the plug-in choose. */
    int (*begin)(void *w, const char *of, const char *name, int type, int size, int rank,
                 const int64_t *shape, const int64_t *chunk, int level);
    /* rows of the dataset begun last */
    int (*write)(void *w, int64_t first, int64_t count, const void *data);
    int (*put_texts)(void *w, const char *of, const char *name, int rank, int64_t n,
                     const char *const *texts);
    int (*finish)(void *w);
    /* errno of the first failed write to fd, 0 without */
    int (*failure)(const void *w);
    void (*drop)(void *w);
} mc_hdf5_api;

/* Line editing for the prompt. */
typedef struct mc_edit_api {
    int abi;
    const char *name;
    /* Returns a malloc-free line owned by the plug-in until the next call, without newline; NULL at
     * end of file; *interrupted is set when Ctrl-C was pressed. */
    const char *(*readline)(const char *prompt, int *interrupted);
    void (*history_load)(const char *path);
    void (*history_add)(const char *line);
    void (*history_save)(const char *path);
    /* complete(arg, line, cursor, &start) returns a NULL-terminated list, valid until the next
     * call. */
    void (*set_complete)(const char *const *(*complete)(void *arg, const char *line, int cursor,
                                                        int *start),
                         void *arg);
    void (*close)(void);
} mc_edit_api;

/* YAML, as a row of events: 'D' a document begins, '{' '}' a mapping, '[' ']' a sequence, 'p' a
 * plain scalar, 'q' a quoted one, '*' an alias. Texts are UTF-8, valid during the call; value has
 * `length` bytes. Lines and columns from 1. */
typedef struct mc_yaml_event {
    char kind;
    int64_t line, column, length;
    const char *anchor, *tag, *value;
} mc_yaml_event;
typedef int (*mc_yaml_sink)(void *arg, const mc_yaml_event *e);
typedef struct mc_yaml_api {
    int abi;
    const char *name;
    /* Gives the events of a text to sink, which answers 0 or a status that ends the call. */
    int (*parse)(const char *text, int64_t bytes, mc_yaml_sink sink, void *arg);
} mc_yaml_api;

/* SVG to PNG. */
typedef struct mc_raster_api {
    int abi;
    const char *name;
    /* Renders `svg` at `scale` into an RGBA PNG file. 0, or a status with the record written. */
    int (*svg_to_png)(const char *svg, size_t bytes, double scale, const char *path);
} mc_raster_api;

#endif
