/* body.h - what the files of this folder share: selections by lane, the sums of one pair of times
 * over the angles.
 *
 * A lane is a pair (i, j). Lanes never meet before the end of a tile, where eight of them are
 * folded as one tree, so all levels with fused multiply-adds give the same bits. */
#ifndef XPCS_BODY_H
#define XPCS_BODY_H

#include "../../../mck_lanes.h"
#include "../xpcs.h"

#define VL MCK_VL64
typedef mck_vec64 vec;

#define ld mck_load_64
#define st mck_store_64
#define set mck_set_64
#define add mck_add_64
#define sub mck_sub_64
#define mul mck_mul_64
#define fma_ mck_muladd_64

/* a where y is a number, 0 where it is NaN; and a where |x| < limit, b elsewhere. */
#if defined(__AVX512F__)
MC_INLINE vec keep(vec y, vec a)
{
    return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(y, y, _CMP_ORD_Q), a);
}
MC_INLINE vec pick(vec x, vec limit, vec a, vec b)
{
    return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(_mm512_abs_pd(x), limit, _CMP_LT_OQ), b, a);
}
#elif defined(__AVX2__)
MC_INLINE vec keep(vec y, vec a) { return _mm256_and_pd(_mm256_cmp_pd(y, y, _CMP_ORD_Q), a); }
MC_INLINE vec pick(vec x, vec limit, vec a, vec b)
{
    const vec size = _mm256_andnot_pd(_mm256_set1_pd(-0.0), x);
    return _mm256_blendv_pd(b, a, _mm256_cmp_pd(size, limit, _CMP_LT_OQ));
}
#elif defined(__SSE2__)
MC_INLINE vec keep(vec y, vec a) { return _mm_and_pd(_mm_cmpord_pd(y, y), a); }
MC_INLINE vec pick(vec x, vec limit, vec a, vec b)
{
    const vec near = _mm_cmplt_pd(_mm_andnot_pd(_mm_set1_pd(-0.0), x), limit);
    return _mm_or_pd(_mm_and_pd(near, a), _mm_andnot_pd(near, b));
}
#else
MC_INLINE vec keep(vec y, vec a) { return y == y ? a : 0; }
MC_INLINE vec pick(vec x, vec limit, vec a, vec b) { return (x < 0 ? -x : x) < limit ? a : b; }
#endif

void MCK(xpcs_prepare)(const mck_xpcs_model *m, const mck_xpcs_tables *t);
void MCK(xpcs_pass)(const mck_xpcs_pass *a, int64_t begin, int64_t end, void *work);
int64_t MCK(xpcs_pass_work)(const mck_xpcs_pass *a);

#endif
