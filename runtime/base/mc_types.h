/* mc_types.h - the header of a tensor and the parameters of an op, as plain structs: what every
 * header that others include begins with. */
#ifndef MC_TYPES_H
#define MC_TYPES_H

#ifndef MC_CDEF
#include "base/mc_def.h"
#include <stdint.h>
#include <stddef.h>
#endif

#include "mc_gen_enums.h" /* statuses, dtypes, op ids: generated from ops.lua */

#define MC_MAX_RANK 8
#define MC_INLINE_BYTES 1024

typedef struct mc_storage mc_storage;

typedef struct mc_tensor {
    void *data;          /* first element; NULL when released */
    mc_storage *storage; /* shared owner, NULL when inline */
    int64_t numel;
    int32_t dtype, ndim;
    int32_t flags, device; /* device: a number of mc_device_find, 0 cpu */
    /* bytes of all elements when at most MC_INLINE_BYTES, else 0: sizes results without 64-bit
     * boxes */
    int32_t small;
    /* bytes of payload behind this header that a result may use; 0 once it has storage */
    int32_t capacity;
    int64_t shape[8];
    int64_t strides[8];    /* in elements */
#ifndef __cplusplus
    double payload[];  /* elements of a small tensor */
#endif
} mc_tensor;

enum {
    MC_FLAG_RELEASED = 1, /* x:release() was called */
    /* memory-mapped file or broadcast view: not a target of in-place writes */
    MC_FLAG_READONLY = 2,
    /* set by callers on a result header that must keep its shape and memory (out=) */
    MC_FLAG_OUT = 4
};

/* Parameters of an op, packed by the generated wrappers: `i` and `d` hold the row's parameters in
 * order, `axes` a list of 0-based axes (naxes < 0: not given). base: index base of positions, 0 or
 * 1. */
typedef struct mc_params {
    int32_t naxes, keepdim;
    int32_t dtype, base; /* dtype: result dtype asked for, -1 none */
    int64_t axes[8];
    int64_t i[24];
    double d[16];
} mc_params;

#endif
