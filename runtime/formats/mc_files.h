/* mc_files.h - files that are whole or absent, and npy arrays: the part of the formats that
 * mascon.h shows. */
#ifndef MC_FILES_H
#define MC_FILES_H

#ifndef MC_CDEF
#include "base/mc_def.h"
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#endif

/* ---- safe writing ---- */

/* Writes `bytes[0..n)` to `path`: a temporary file in the same directory, fsync, rename. On failure
 * the old file, if any, is untouched and the temporary one removed. Devices and pipes are written
 * directly. Borrows both arguments. MC_EIO with advice on a full disk, a missing or read-only
 * directory. */
MC_API int mc_file_write(const char *path, const void *bytes, int64_t n);

/* A file written in pieces under a temporary name. Owns. */
typedef struct mc_file_writer mc_file_writer;
MC_API mc_file_writer *mc_file_create(const char *path);
/* Appends n bytes; buffered. After a failure every further call fails. */
MC_API int mc_file_append(mc_file_writer *w, const void *bytes, int64_t n);
/* Syncs and gives the file its name. The handle still needs mc_file_writer_free. */
MC_API int mc_file_commit(mc_file_writer *w);
/* Releases; without a successful commit nothing of the file remains. */
MC_API void mc_file_writer_free(mc_file_writer *w);

/* ---- npy ---- */

typedef struct mc_npy mc_npy;
typedef struct mc_npy_writer mc_npy_writer;

/* Places in the array that mc_npy_info fills. */
enum {
    MC_NPY_DTYPE = 0,   /* dtype delivered (after widening) */
    MC_NPY_RANK = 1,    /* 0..8 */
    MC_NPY_NUMEL = 2,   /* elements */
    MC_NPY_FORTRAN = 3, /* 1: first axis fastest */
    MC_NPY_DIRECT = 4, /* 1: the bytes at mc_npy_data are the array; may still be unaligned */
    MC_NPY_ALIGNED = 5, /* 1: mc_npy_data is a multiple of the element size */
    MC_NPY_OFFSET = 6,  /* of the data, bytes from the start of the npy image */
    MC_NPY_BYTES = 7,   /* of the data as stored */
    MC_NPY_ITEM = 8,    /* bytes per element as stored */
    MC_NPY_SWAPPED = 9, /* 1: stored in the other byte order */
    MC_NPY_WIDENED = 10, /* 1: u2 -> i32, u4 and u8 -> i64 (2^63 and more: error on read) */
    MC_NPY_EXTRA = 11,   /* bytes after the array, ignored */
    MC_NPY_SHAPE = 12,   /* 8 places */
    MC_NPY_STRIDES = 20, /* 8 places, in elements, of the array in file order */
    MC_NPY_INFO_LEN = 28
};

/* Maps an .npy file read-only and checks its header: versions 1 to 3, bool, signed, unsigned, float
 * and complex dtypes of both byte orders, rank up to 8. The file must not be shortened while it is
 * open. Owns. MC_EIO, MC_EFORMAT (broken or truncated), MC_EUNSUPPORTED (structured, object, text,
 * date, long double). */
MC_API mc_npy *mc_npy_open(const char *path);
/* The same over n bytes in memory, which must outlive the handle (borrows them). */
MC_API mc_npy *mc_npy_from_memory(const void *bytes, int64_t n);
MC_API int mc_npy_info(const mc_npy *f, int64_t *out);
/* The stored bytes, in file order; possibly unaligned (see MC_NPY_ALIGNED). Borrows: valid until
 * mc_npy_free. */
MC_API const void *mc_npy_data(const mc_npy *f);
/* Elements [first, first + count) in file order, in native byte order and the delivered dtype, to
 * `out`. */
MC_API int mc_npy_read(const mc_npy *f, int64_t first, int64_t count, void *out);
MC_API void mc_npy_free(mc_npy *f);
/* The pages that hold n bytes at `from`, which lie in the stored bytes, are not needed for now:
 * they leave the process and come back from the file. Nothing happens to an array that is not
 * mapped. */
MC_API void mc_npy_forget(const mc_npy *f, const void *from, int64_t n);

/* Starts an .npy file of `dtype` and shape[0..rank). shape[0] of -1 grows with what is written (C
 * order only). fortran: the data will come first axis fastest. Owns. bf16 is written as V2, which
 * NumPy reads as two raw bytes and mc_npy_open as bf16 again. */
MC_API mc_npy_writer *mc_npy_create(const char *path, int dtype, int rank, const int64_t *shape,
                                    int fortran);
/* Appends `count` elements in file order. MC_ESHAPE when more come than the shape holds. */
MC_API int mc_npy_write(mc_npy_writer *w, const void *data, int64_t count);
/* Checks the count, enters the final shape, syncs, gives the file its name. The handle still needs
 * its free. */
MC_API int mc_npy_commit(mc_npy_writer *w);
/* Releases; without a successful commit nothing of the file remains. */
MC_API void mc_npy_writer_free(mc_npy_writer *w);

#ifndef MC_CDEF
#ifdef __cplusplus
}
#endif
#endif
#endif
