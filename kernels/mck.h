/* mck.h - what every kernel has: scalar types and the suffix of the instruction level.
 *
 * A kernel is arithmetic on raw pointers that are checked, promoted and collapsed: it cannot fail,
 * allocate, lock or log. The kernels of a family share one signature, `void fn(const mck_<family>
 * *)`; the struct stands in mck_<family>.h, so that a change of it compiles that family alone.
 * Kernel files are compiled once for each level with -DMC_ISA=v2|v3|v4 and name their functions
 * through MCK(name), which appends the level. Sizes and strides are int64_t in elements. Output,
 * inputs, parameters, in that order. Letters in all families: n elements of a row, m rows (or
 * batch). Rows are 64-byte aligned where the runtime made the buffer, else aligned to their
 * elements. */
#ifndef MCK_H
#define MCK_H

#include "../runtime/base/mc_def.h"
#include <stddef.h>
#include <stdint.h>

#ifndef MC_ISA
#define MC_ISA v2
#endif
#define MCK_CAT_(a, b) a##_##b
#define MCK_CAT(a, b) MCK_CAT_(a, b)
/* MCK(sort_f32) -> mck_sort_f32_v3 */
#define MCK_(name) MCK_CAT(mck_##name, MC_ISA)
#define MCK(name) MCK_(name)

typedef struct mck_c64 { float re, im; } mck_c64;
typedef struct mck_c128 { double re, im; } mck_c128;
typedef uint8_t mck_bool;

#endif
