/* mc_formats.h - files in and out: npy, npz (zip), EDF/BDF, samples of other recordings, and safe
 * writing.
 *
 * First part: the public C interface, plain enough for the Lua FFI (opaque handles, pointers,
 * scalars, numbers out through arrays). mc_lua.h includes this header; npy and safe writing stand
 * in mc_files.h. Second part, behind MCI_FORMATS: what the files of runtime/formats share, and the
 * two doors they stand on, mci_infile and mci_outfile.
 *
 * Rules for all: constructors return a handle or NULL with the error record set; `_free` accepts
 * NULL and never touches the record; everything else returns a status. One handle is used by one
 * thread at a time, except that reading calls on a const handle may run in parallel. Indices are
 * 0-based. */
#ifndef MC_FORMATS_H
#define MC_FORMATS_H

#ifndef MC_CDEF
#include <stddef.h>
#include <stdint.h>
#endif
#include "formats/mc_files.h"
#if !defined(MC_CDEF) && defined(__cplusplus)
extern "C" {
#endif

/* ---- public: zip, the container of npz ---- */

typedef struct mc_zip mc_zip;
typedef struct mc_zip_stream mc_zip_stream;
typedef struct mc_zip_writer mc_zip_writer;

enum {
    MC_ZIP_METHOD = 0, /* 0 stored, 8 deflated */
    MC_ZIP_SIZE = 1,   /* bytes of the member */
    MC_ZIP_PACKED = 2, /* bytes it takes in the file */
    MC_ZIP_OFFSET = 3, /* of its first packed byte */
    MC_ZIP_CRC = 4,
    MC_ZIP_INFO_LEN = 5
};

/* Maps a zip file and reads its directory: stored and deflated members, zip64. Refused: several
 * disks, members that overlap or lie outside, a declared size no deflate stream could reach, two
 * members of one name; encrypted and otherwise packed members when they are read. Owns. The file
 * must not be shortened while it is open. */
MC_API mc_zip *mc_zip_open(const char *path);
/* The same over n bytes in memory, which must outlive the handle and all npy handles made from it
 * (borrows). */
MC_API mc_zip *mc_zip_from_memory(const void *bytes, int64_t n);
MC_API int mc_zip_count(const mc_zip *z);
/* Name of member i in the order of the directory, NULL outside. Borrows: valid until mc_zip_free.
 */
MC_API const char *mc_zip_name(const mc_zip *z, int i);
/* Index of the member called `name`, or -1. Sets no error. */
MC_API int mc_zip_find(const mc_zip *z, const char *name);
MC_API int mc_zip_info(const mc_zip *z, int i, int64_t *out);
/* The bytes of a stored member where they lie, NULL for a deflated one (no error set). crc not
 * checked. Borrows. */
MC_API const void *mc_zip_stored(const mc_zip *z, int i);
/* Unpacks member i into out[0..capacity), which must hold all of it; size and crc are checked. */
MC_API int mc_zip_extract(const mc_zip *z, int i, void *out, int64_t capacity);
/* Reads crc of a member through without keeping it. */
MC_API int mc_zip_verify(const mc_zip *z, int i);
/* Member i as an npy handle: a stored one in place (crc checked when `verify`), a deflated one
 * unpacked to memory and always checked. Owns; keeps the mapping alive by itself. */
MC_API mc_npy *mc_zip_npy(const mc_zip *z, int i, int verify);
/* Member i piece by piece. Owns; the zip handle must outlive it. */
MC_API mc_zip_stream *mc_zip_stream_open(const mc_zip *z, int i);
/* Up to n bytes to `out`; *got of 0 with MC_OK is the end, reached only when size and crc are
 * right. */
MC_API int mc_zip_stream_read(mc_zip_stream *s, void *out, int64_t n, int64_t *got);
MC_API void mc_zip_stream_free(mc_zip_stream *s);
MC_API void mc_zip_free(mc_zip *z);

/* Starts a zip file. All times are 1980-01-01, so equal contents give equal bytes. Owns. */
MC_API mc_zip_writer *mc_zip_create(const char *path);
/* Starts a member. level 0 stores (its data begins at a multiple of 64 in the file), 1..9 deflates.
 * size: bytes to come, or -1 when not known. */
MC_API int mc_zip_begin(mc_zip_writer *w, const char *name, int level, int64_t size);
/* Starts a member that is an npy image, writing its header; then numel elements follow through
 * mc_zip_write. */
MC_API int mc_zip_begin_npy(mc_zip_writer *w, const char *name, int level, int dtype, int rank,
                            const int64_t *shape, int fortran);
MC_API int mc_zip_write(mc_zip_writer *w, const void *bytes, int64_t n);
MC_API int mc_zip_end(mc_zip_writer *w);
/* Writes the directory, syncs, gives the file its name. The handle still needs its free. */
MC_API int mc_zip_commit(mc_zip_writer *w);
MC_API void mc_zip_writer_free(mc_zip_writer *w);

/* ---- public: EDF, EDF+, BDF, BDF+ ---- */

typedef struct mc_edf mc_edf;

enum { MC_EDF_PLAIN = 0, MC_EDF_PLUS_C = 1, MC_EDF_PLUS_D = 2 };

/* Bits of MC_EDF_WARNINGS: the file was read, but is not quite what its header says. */
enum {
    MC_EDF_WARN_TRUNCATED = 1,  /* fewer whole records than promised; a piece of one is dropped */
    MC_EDF_WARN_UNFINISHED = 2, /* record count -1 in the header: counted from the file's size */
    MC_EDF_WARN_EXTRA = 4,      /* bytes after the last promised record, ignored */
    MC_EDF_WARN_SCALE = 8,      /* a channel without a usable range delivers digital values */
    MC_EDF_WARN_DATE = 16,      /* start date or time not readable; those fields are 0 */
    MC_EDF_WARN_TEXT = 32,      /* text that is not UTF-8 was taken as Latin-1 */
    MC_EDF_WARN_TAL = 64,       /* an annotation list is malformed; its rest was skipped */
    MC_EDF_WARN_ONSET = 128     /* EDF+ record without an onset: taken to follow the one before */
};

enum {
    MC_EDF_KIND = 0, /* MC_EDF_PLAIN, MC_EDF_PLUS_C (continuous), MC_EDF_PLUS_D (may have gaps) */
    MC_EDF_SAMPLE_BYTES = 1, /* 2 EDF, 3 BDF */
    MC_EDF_CHANNELS = 2,     /* signals that are not annotation lists */
    MC_EDF_SIGNALS = 3,      /* all */
    MC_EDF_RECORDS = 4,      /* whole records present */
    MC_EDF_RECORD_BYTES = 5,
    MC_EDF_HEADER_BYTES = 6,
    MC_EDF_WARNINGS = 7,
    MC_EDF_ANNOTATIONS = 8, /* -1 before mc_edf_scan */
    MC_EDF_GAPS = 9,        /* -1 before mc_edf_scan */
    MC_EDF_YEAR = 10,       /* start: year, month, day, hour, minute, second */
    MC_EDF_INFO_LEN = 16
};

enum {
    MC_EDF_RECORD_SECONDS = 0, /* duration of one record, s */
    MC_EDF_START_FRACTION = 1, /* onset of the first record after the start time, s; needs a scan */
    MC_EDF_DATA_SECONDS = 2, /* records * duration, s */
    MC_EDF_END_SECONDS = 3,  /* end of the last record after the start time, s */
    MC_EDF_TIMES_LEN = 4
};

/* Texts of mc_edf_text ... */
enum {
    MC_EDF_PATIENT = 0,
    MC_EDF_RECORDING = 1,
    MC_EDF_START_DATE = 2,
    MC_EDF_START_TIME = 3,
    MC_EDF_RESERVED = 4
};
/* ... and of mc_edf_channel_text. */
enum { MC_EDF_LABEL = 0, MC_EDF_TRANSDUCER = 1, MC_EDF_UNIT = 2, MC_EDF_PREFILTER = 3 };

enum {
    MC_EDF_RATE = 0, /* samples per second */
    MC_EDF_PHYS_MIN = 1,
    MC_EDF_PHYS_MAX = 2, /* in the channel's unit */
    MC_EDF_DIG_MIN = 3,
    MC_EDF_DIG_MAX = 4,
    MC_EDF_PER_RECORD = 5, /* samples per record */
    MC_EDF_SAMPLES = 6,    /* samples in the file (exact below 2^53) */
    MC_EDF_CHANNEL_LEN = 7
};

/* Opens a recording and checks its header; samples stay in the file and are read on demand. Owns.
 * MC_EIO, MC_EFORMAT with the field that is wrong. */
MC_API mc_edf *mc_edf_open(const char *path);
/* The same over n bytes in memory, which must outlive the handle (borrows them). */
MC_API mc_edf *mc_edf_from_memory(const void *bytes, int64_t n);
/* Reads the annotation lists of all records: annotations, record onsets, gaps. Once is enough;
 * later calls and files without lists cost nothing. A failed call changes nothing. */
MC_API int mc_edf_scan(mc_edf *f);
MC_API int mc_edf_info(const mc_edf *f, int64_t *out);
MC_API int mc_edf_times(const mc_edf *f, double *out);
/* UTF-8, trimmed; NULL for an unknown `what` or channel. Borrows: valid until mc_edf_free. */
MC_API const char *mc_edf_text(const mc_edf *f, int what);
MC_API const char *mc_edf_channel_text(const mc_edf *f, int channel, int what);
MC_API int mc_edf_channel(const mc_edf *f, int channel, double *out);
/* Index of the first channel with this label, exact, else ignoring case, or -1. Sets no error. */
MC_API int mc_edf_find(const mc_edf *f, const char *label);
/* Onset of each record in seconds after the start time, MC_EDF_RECORDS numbers. Needs mc_edf_scan
 * for EDF+. */
MC_API int mc_edf_onsets(const mc_edf *f, double *out);
/* For each of MC_EDF_GAPS jumps: records[i] is the first record after it, times[2i] and times[2i+1]
 * when that record should have and has started, in seconds. */
MC_API int mc_edf_gaps(const mc_edf *f, int64_t *records, double *times);
/* Annotation i in file order: out[0] onset, out[1] duration (NaN when none is given), seconds after
 * the start time. */
MC_API int mc_edf_annotation(const mc_edf *f, int64_t i, double *out);
/* Its text, UTF-8, NULL outside. Borrows: valid until mc_edf_free. */
MC_API const char *mc_edf_annotation_text(const mc_edf *f, int64_t i);
/* Samples [first, first + count) of n channels to rows of `out`, row r starting at element r *
 * row_stride. dtype f64 or f32: physical units; i32: the stored numbers. The channels must have one
 * sampling rate (MC_ESHAPE otherwise). Memory beyond `out` is bounded by 1 MiB or one record,
 * whichever is more. */
MC_API int mc_edf_read(const mc_edf *f, const int *channels, int n, int64_t first, int64_t count,
                       int dtype, void *out, int64_t row_stride);
MC_API void mc_edf_free(mc_edf *f);

/* ---- public: numbers on a grid of channels and samples, the body of many recordings ---- */

typedef struct mc_samples mc_samples;

/* How a number is stored; MC_SAMPLE_BIG is added for big-endian ones. */
enum {
    MC_SAMPLE_I8 = 0,
    MC_SAMPLE_U8 = 1,
    MC_SAMPLE_I16 = 2,
    MC_SAMPLE_U16 = 3,
    MC_SAMPLE_I32 = 4,
    MC_SAMPLE_U32 = 5,
    MC_SAMPLE_F32 = 6,
    MC_SAMPLE_F64 = 7,
    MC_SAMPLE_I64 = 8, /* rounded beyond 2^53 */
    MC_SAMPLE_U64 = 9,
    MC_SAMPLE_BIG = 16
};

/* Opens a file to be read by position. Owns. */
MC_API mc_samples *mc_samples_open(const char *path);
/* The same over n bytes in memory, which must outlive the handle (borrows them). */
MC_API mc_samples *mc_samples_from_memory(const void *bytes, int64_t n);
/* Bytes of the file to out[0]. */
MC_API int mc_samples_size(const mc_samples *f, int64_t *out);
/* Samples [first, first + count) of n channels to rows of `out`, row r starting at element r *
 * row_stride, times scale[r] (NULL: 1). The number of channel c and sample t lies at byte base + c
 * * channel_step + t * sample_step. MC_EINVAL when the file does not hold them all. Memory beyond
 * `out` is bounded by 256 KiB or one sample of all channels, whichever is more. */
MC_API int mc_samples_read(const mc_samples *f, int type, int64_t base, int64_t channel_step,
                           int64_t sample_step, const int *channels, int n, int64_t first,
                           int64_t count, const double *scale, double *out, int64_t row_stride);
MC_API void mc_samples_free(mc_samples *f);
/* n numbers of dtype (f32, f64, i32) at `in` as stored bytes of `type` (F32, F64, I32, each also
 * big-endian) to `out`. */
MC_API int mc_samples_pack(int type, int dtype, const void *in, int64_t n, void *out);

/* ---- public: FIF, the tagged files of MEG ---- */

typedef struct mc_fif mc_fif;

enum {
    MC_FIF_TAGS = 0,   /* number of tags */
    MC_FIF_PACKED = 1, /* 1: the file was gzip and lies unpacked in memory */
    MC_FIF_ENDED = 2, /* 1: the last tag says so; 0: the bytes ended, perhaps too early */
    MC_FIF_INFO_LEN = 3
};
enum {
    MC_FIF_KIND = 0,
    MC_FIF_TYPE = 1,  /* with the bits of matrices */
    MC_FIF_BYTES = 2, /* of its data */
    MC_FIF_POS = 3,   /* of its data in the (unpacked) file */
    MC_FIF_TAG_LEN = 4
};
#define MC_FIF_RANK 8

/* Opens a FIF file, plain or gzip, and walks the chain of its tags; data stay in the file. Owns.
 * MC_EIO, MC_EFORMAT when a tag reaches beyond the end or the chain turns back. */
MC_API mc_fif *mc_fif_open(const char *path);
/* The same over n bytes in memory, which must outlive the handle (borrows them). */
MC_API mc_fif *mc_fif_from_memory(const void *bytes, int64_t n);
MC_API int mc_fif_info(const mc_fif *f, int64_t *out);
/* Tags [first, first + count), MC_FIF_TAG_LEN numbers each. */
MC_API int mc_fif_tags(const mc_fif *f, int64_t first, int64_t count, int64_t *out);
/* Bytes [first, first + n) of the data of tag i. */
MC_API int mc_fif_bytes(const mc_fif *f, int64_t i, int64_t first, int64_t n, void *out);
/* Shape of tag i: out[0] the rank (1 for a plain list), then the sizes, the slowest axis first;
 * room for 1 + MC_FIF_RANK. MC_EFORMAT when it is no list or dense matrix of numbers. */
MC_API int mc_fif_shape(const mc_fif *f, int64_t i, int64_t *out);
/* Numbers [first, first + count) of tag i in stored order, every NaN as the plain one. */
MC_API int mc_fif_numbers(const mc_fif *f, int64_t i, int64_t first, int64_t count, double *out);
/* Samples on a grid within tag i: as mc_samples_read with base and steps in numbers, not bytes;
 * what lies outside the tag is refused. */
MC_API int mc_fif_samples(const mc_fif *f, int64_t i, int64_t base, int64_t channel_step,
                          int64_t sample_step, const int *channels, int n, int64_t first,
                          int64_t count, const double *scale, double *out, int64_t row_stride);
MC_API void mc_fif_free(mc_fif *f);

/* ---- public: MATLAB files, version 5 ---- */

typedef struct mc_mat mc_mat;

/* Classes of arrays. */
enum {
    MC_MAT_CELL = 1,
    MC_MAT_STRUCT = 2,
    MC_MAT_OBJECT = 3,
    MC_MAT_CHAR = 4,
    MC_MAT_SPARSE = 5,
    MC_MAT_DOUBLE = 6, /* 6 to 15: numbers */
    MC_MAT_U64 = 15
};
/* Places in the array that mc_mat_array fills. */
enum {
    MC_MAT_CLASS = 0,
    MC_MAT_NUMEL = 1,
    MC_MAT_FIELDS = 2,   /* of a struct */
    MC_MAT_CHILDREN = 3, /* of a cell, or of a struct: field by field within each element */
    MC_MAT_STORED = 4,   /* MC_SAMPLE_* of its numbers or characters, -1: none that can be read */
    MC_MAT_NUMBERS = 5,  /* of them in the file */
    MC_MAT_UTF8 = 6,     /* 1: characters stored as UTF-8 */
    MC_MAT_RANK = 7,
    MC_MAT_SHAPE = 8, /* 8 places, the fastest axis first */
    MC_MAT_ARRAY_LEN = 16
};

/* Opens a MAT-file of version 5 (MATLAB 5 to 7.2) and reads the tree of its arrays; packed
 * variables are unpacked to memory, numbers of others stay in the file. Owns. MC_EIO, MC_EFORMAT,
 * MC_EUNSUPPORTED for version 7.3 (HDF5) and version 4, with what to do. */
MC_API mc_mat *mc_mat_open(const char *path);
/* The same over n bytes in memory, which must outlive the handle (borrows them). */
MC_API mc_mat *mc_mat_from_memory(const void *bytes, int64_t n);
/* Number of variables to out[0], of all arrays to out[1]. */
MC_API int mc_mat_info(const mc_mat *f, int64_t *out);
/* Array index of variable k to out[0]. */
MC_API int mc_mat_variable(const mc_mat *f, int64_t k, int64_t *out);
MC_API int mc_mat_array(const mc_mat *f, int64_t i, int64_t *out);
/* Array index of child k of array i to out[0]. */
MC_API int mc_mat_child(const mc_mat *f, int64_t i, int64_t k, int64_t *out);
/* Name of a variable, and of field k of a struct; NULL outside. Borrows: valid until
 * mc_mat_free. */
MC_API const char *mc_mat_name(const mc_mat *f, int64_t i);
MC_API const char *mc_mat_field(const mc_mat *f, int64_t i, int64_t k);
/* Numbers or characters [first, first + count) of array i in stored order, every NaN as the plain
 * one. */
MC_API int mc_mat_numbers(const mc_mat *f, int64_t i, int64_t first, int64_t count, double *out);
/* Samples on a grid within array i: as mc_samples_read with base and steps in numbers. */
MC_API int mc_mat_samples(const mc_mat *f, int64_t i, int64_t base, int64_t channel_step,
                          int64_t sample_step, const int *channels, int n, int64_t first,
                          int64_t count, const double *scale, double *out, int64_t row_stride);
MC_API void mc_mat_free(mc_mat *f);

/* ---- public: HDF5, through its plug-in ---- */

/* An open group, dataset or attribute. The file stays open as long as one of its objects. */
typedef struct mc_hdf5 mc_hdf5;
typedef struct mc_hdf5_writer mc_hdf5_writer;

/* What an object is, what it holds, and which names it lists. */
enum { MC_HDF5_GROUP = 0, MC_HDF5_DATASET = 1, MC_HDF5_ATTRIBUTE = 2, MC_HDF5_ELSE = 3 };
enum { MC_HDF5_UNKNOWN = 0, MC_HDF5_NUMBERS = 1, MC_HDF5_TEXTS = 2, MC_HDF5_REFERENCES = 3 };
enum { MC_HDF5_LINKS = 0, MC_HDF5_ATTRIBUTES = 1, MC_HDF5_FILTERS = 2 };

/* Places in the array that mc_hdf5_info fills. */
enum {
    MC_HDF5_KIND = 0,
    MC_HDF5_HOLDS = 1,
    MC_HDF5_DTYPE = 2, /* delivered: u2 as i32, u4 and u8 as i64 (2^63 and more: error on read) */
    MC_HDF5_RANK = 3,
    MC_HDF5_NUMEL = 4,
    MC_HDF5_STORED = 5, /* bytes in the file */
    MC_HDF5_NULL = 6,   /* 1: no elements and no shape (h5py.Empty) */
    MC_HDF5_CHUNKED = 7,
    MC_HDF5_FILE = 8, /* with the address: what tells one object from another */
    MC_HDF5_ADDRESS = 9,
    MC_HDF5_SHAPE = 10, /* 32 places */
    MC_HDF5_CHUNK = 42, /* 32 places */
    MC_HDF5_INFO_LEN = 74
};

/* Answers for another process that reads a file through this one (descriptors 3 and 4): the hidden
 * start --read-hdf5 of the program. Returns an exit status. */
MC_API int mc_hdf5_serve(void);
/* The root group of a file. Owns. MC_EIO, MC_EFORMAT, MC_EUNSUPPORTED without the plug-in. */
MC_API mc_hdf5 *mc_hdf5_open(const char *path);
/* The caller knows the bytes of a file (by their checksum): it is read here, without a process of
 * its own, until 64 others were written. */
MC_API void mc_hdf5_trust(const char *path);
/* What a path of links leads to from a group: soft and external links are followed. Owns. */
MC_API mc_hdf5 *mc_hdf5_at(const mc_hdf5 *o, const char *name);
MC_API mc_hdf5 *mc_hdf5_attribute(const mc_hdf5 *o, const char *name);
/* What a reference, as mc_hdf5_read delivers them, means. Owns. */
MC_API mc_hdf5 *mc_hdf5_refer(const mc_hdf5 *o, int64_t reference);
MC_API int mc_hdf5_info(const mc_hdf5 *o, int64_t *out);
/* How many names there are, in the order of their bytes (filters: of their work); -1: failure. */
MC_API int mc_hdf5_count(mc_hdf5 *o, int what);
/* Name i of those counted last. Borrows: valid until the next count. */
MC_API const char *mc_hdf5_name(const mc_hdf5 *o, int what, int64_t i);
/* count elements from start on, step apart, along each axis, row-major, to out. All of an
 * attribute. */
MC_API int mc_hdf5_read(const mc_hdf5 *o, const int64_t *start, const int64_t *count,
                        const int64_t *step, void *out);
/* The same for texts, which are kept until the next call ... */
MC_API int mc_hdf5_read_texts(mc_hdf5 *o, const int64_t *start, const int64_t *count,
                              const int64_t *step);
/* ... text i of them and its bytes, NULL outside. Borrows. */
MC_API const char *mc_hdf5_text(const mc_hdf5 *o, int64_t i, int64_t *bytes);
MC_API void mc_hdf5_free(mc_hdf5 *o);

/* Starts a file. No times are stored, so equal contents give equal bytes. Owns. */
MC_API mc_hdf5_writer *mc_hdf5_create(const char *path);
/* A group, with those above it. */
MC_API int mc_hdf5_put_group(mc_hdf5_writer *w, const char *name);
/* Starts a dataset, or the attribute `name` of what is called `of`. level 0 stores plainly unless
 * chunk is given, 1..9 packs (shuffle and gzip) in chunks, chosen when chunk is NULL. */
MC_API int mc_hdf5_begin(mc_hdf5_writer *w, const char *of, const char *name, int dtype, int rank,
                         const int64_t *shape, const int64_t *chunk, int level);
/* Rows [first, first + count) of it; the one element when it has no axes. */
MC_API int mc_hdf5_write(mc_hdf5_writer *w, int64_t first, int64_t count, const void *data);
/* A text (rank 0) or n texts (rank 1), UTF-8: a dataset or an attribute. */
MC_API int mc_hdf5_put_texts(mc_hdf5_writer *w, const char *of, const char *name, int rank,
                             int64_t n, const char *const *texts);
/* Completes the file, syncs, gives it its name. The handle still needs its free. */
MC_API int mc_hdf5_commit(mc_hdf5_writer *w);
/* Releases; without a successful commit nothing of the file remains. */
MC_API void mc_hdf5_writer_free(mc_hdf5_writer *w);

/* ---- public: YAML, through its plug-in ---- */

/* The events of a text: per event a line "kind line column anchor tag value", the last three as
 * lengths in bytes, then these texts. Kinds: D document, { } mapping, [ ] sequence, p plain scalar,
 * q quoted one, * alias. */
typedef struct mc_yaml mc_yaml;
/* Owns. MC_EINVAL names line and column; MC_EUNSUPPORTED without the plug-in. */
MC_API mc_yaml *mc_yaml_parse(const char *text, int64_t bytes);
MC_API int64_t mc_yaml_size(const mc_yaml *y);
/* Borrows: valid until the free. */
MC_API const char *mc_yaml_events(const mc_yaml *y);
MC_API void mc_yaml_free(mc_yaml *y);

#if !defined(MC_CDEF) && defined(__cplusplus)
}
#endif

/* ---- internal ---- */
#ifdef MCI_FORMATS

/* A file to read: mapped, or read by position, or a piece of memory. Refcounted, so that an npy
 * handle may outlive the zip it came from. `op` is the word that opens its messages and must be a
 * literal. */
typedef struct mci_infile mci_infile;
mci_infile *mci_infile_map(const char *op, const char *path);
mci_infile *mci_infile_open(const char *op, const char *path);
mci_infile *mci_infile_memory(const char *op, const void *bytes, int64_t n);
/* n bytes that the file itself frees by mci_free; taken over also when the call fails. Owns. */
mci_infile *mci_infile_adopt(const char *op, const char *name, void *bytes, int64_t n);
mci_infile *mci_infile_share(mci_infile *f);
void mci_infile_release(mci_infile *f);
/* The pages of a mapping that hold n bytes at `from` leave the process; they are read again when
 * they are touched. Nothing happens to what is not mapped. */
void mci_infile_forget(const mci_infile *f, const void *from, int64_t n);
int64_t mci_infile_size(const mci_infile *f);
const char *mci_infile_name(const mci_infile *f);
/* All bytes where they lie, NULL for a file opened by mci_infile_open. */
const unsigned char *mci_infile_data(const mci_infile *f);
/* Exactly n bytes from `at`; MC_EIO when the file is shorter by now. */
int mci_infile_read(const mci_infile *f, int64_t at, void *out, int64_t n);

/* What the gzip file `src` holds, unpacked in memory; releases src, also on failure. look, unless
 * NULL, judges its first MiB before more is unpacked: a status. */
mci_infile *mci_infile_gunzip(const char *op, mci_infile *src,
                              int (*look)(const unsigned char *first, int64_t n, const char *name));
/* What the zlib stream in the bytes [at, at + n) of `src` holds, unpacked in memory; the caller has
 * checked that they are within. */
mci_infile *mci_infile_inflate(const char *op, mci_infile *src, int64_t at, int64_t n);

/* A file to write: see mc_file_writer, which it is. */
typedef mc_file_writer mci_outfile;
/* patch: the caller will come back to earlier bytes, which devices and pipes do not allow. */
mci_outfile *mci_outfile_open(const char *op, const char *path, int patch);
int mci_outfile_write(mci_outfile *f, const void *bytes, int64_t n);
/* Overwrites n bytes at `at`, all of them written before. */
int mci_outfile_patch(mci_outfile *f, int64_t at, const void *bytes, int64_t n);
int64_t mci_outfile_size(const mci_outfile *f);
/* The descriptor, for who places bytes by itself; nothing may have been written before. */
int mci_outfile_fd(const mci_outfile *f);
/* The record of an errno met on that descriptor; nothing more is written. */
int mci_outfile_failed(mci_outfile *f, int err);
int mci_outfile_commit(mci_outfile *f);
void mci_outfile_free(mci_outfile *f);

/* Header of an npy image. */
#define MCI_NPY_RANK 8
#define MCI_NPY_HEADER 1024 /* more than any header we write */
typedef struct mci_npy_header {
    int dtype, rank, fortran, item, swapped, widened;
    int64_t shape[MCI_NPY_RANK], numel, offset;
} mci_npy_header;
/* Parses the header at p[0..n); `name` is for messages, which open with `npy:`. */
int mci_npy_parse(const unsigned char *p, int64_t n, const char *name, mci_npy_header *h);
/* Checks dtype, rank and shape of an array to be written and fills h; shape[0] of -1 counts as 0
 * elements when `grows`, else is refused. */
int mci_npy_plan(const char *op, int dtype, int rank, const int64_t *shape, int fortran, int grows,
                 mci_npy_header *h);
/* The header as text, its length as result. grows: leaves room for any first size. */
int mci_npy_format(const mci_npy_header *h, int grows, unsigned char out[MCI_NPY_HEADER]);
/* An npy handle over `src` from `at` on; shares src. */
mc_npy *mci_npy_over(mci_infile *src, int64_t at, int64_t n, const char *name);

/* A zip file that has passed all checks of its directory. */
enum { MCI_ZIP_STORED = 0, MCI_ZIP_DEFLATED = 8 };
typedef struct mci_zip_member {
    int64_t size, packed, local,
        data; /* local: place of its header; data: of its first packed byte */
    uint32_t crc;
    int method, encrypted;
    int64_t name; /* offset into mc_zip.names */
} mci_zip_member;
struct mc_zip {
    mci_infile *src;
    int count;
    mci_zip_member *members;
    int *by_name; /* indices sorted by name */
    char *names;
};
/* Member i, or NULL with the error record set. */
const mci_zip_member *mci_zip_at(const mc_zip *z, int i);

/* Unaligned little-endian fields. */
static inline uint32_t mci_le16(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}
static inline uint32_t mci_le32(const unsigned char *p)
{
    return mci_le16(p) | mci_le16(p + 2) << 16;
}
static inline uint64_t mci_le64(const unsigned char *p)
{
    return (uint64_t)mci_le32(p) | (uint64_t)mci_le32(p + 4) << 32;
}

static inline uint32_t mci_be32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}
static inline uint64_t mci_be64(const unsigned char *p)
{
    return (uint64_t)mci_be32(p) << 32 | mci_be32(p + 4);
}

/* Where numbers lie in a file: see mc_samples_read. `op` opens the messages. */
typedef struct mci_grid {
    const char *op;
    int type;
    int64_t base, channel_step, sample_step;
} mci_grid;
/* Bytes of one number of this type, 0 for an unknown type. */
int mci_sample_bytes(int type);
/* n numbers in a row at p, `step` bytes apart, times scale, to out. */
void mci_sample_decode(const unsigned char *p, int64_t step, int64_t n, int type, double scale,
                       double *out);
/* Makes every NaN the plain one: Lua would take the bits of others for values of other types. */
void mci_one_nan(double *v, int64_t n);
/* limit: the byte behind the last that may be read. */
int mci_grid_read(const mci_infile *src, const mci_grid *g, int64_t limit, const int *channels,
                  int n, int64_t first, int64_t count, const double *scale, double *out,
                  int64_t row_stride);

/* One signal of an EDF header. Texts are offsets into mc_edf.text. */
typedef struct mci_edf_signal {
    int64_t text[4];
    int64_t samples; /* per record */
    int64_t offset;  /* bytes from the start of the record */
    double phys_min, phys_max, dig_min, dig_max;
    int notes;   /* an annotation list */
    int digital; /* no usable range */
} mci_edf_signal;

typedef struct mci_edf_note {
    double onset, duration;
    int64_t text; /* offset into mc_edf.note_text */
} mci_edf_note;

struct mc_edf {
    mci_infile *src;
    int kind, sample_bytes, n_signals, n_channels, scanned;
    int64_t n_records, record_bytes, header_bytes, warnings;
    int64_t start[6];
    double record_seconds, start_fraction, end_seconds;
    mci_edf_signal *signals;
    int *channels; /* signal of each channel */
    char *text;
    int64_t main_text[5];
    int64_t n_notes, n_gaps, note_bytes;
    mci_edf_note *notes;
    char *note_text;
    double *onsets; /* of records; NULL: continuous from 0 */
};

/* Walks the bytes [lo, hi) of each record, through memory or a bounded buffer. */
typedef struct mci_edf_span {
    const mc_edf *f;
    int64_t lo, hi, per, first, have; /* records per refill; those in the buffer */
    unsigned char *buffer;
} mci_edf_span;
int mci_edf_span_open(mci_edf_span *s, const mc_edf *f, int64_t lo, int64_t hi, int64_t records);
/* Points *out at byte lo of `record`; `last` bounds how far the buffer may read ahead. */
int mci_edf_span_at(mci_edf_span *s, int64_t record, int64_t last, const unsigned char **out);
void mci_edf_span_close(mci_edf_span *s);
/* Copies n bytes as UTF-8 to out (room for 2n + 1); bytes that are not UTF-8 are taken as Latin-1,
 * which is reported as 1 through *latin. Control characters become spaces. Returns the length
 * without the closing 0. */
int64_t mci_edf_utf8(const unsigned char *p, int64_t n, char *out, int *latin);
/* A decimal number in p[0..n), nothing around it: 1 and *out, or 0. Independent of the locale. */
int mci_edf_number(const unsigned char *p, int64_t n, double *out);

#endif
#endif
