/* body.h - what the files of this folder share: sums in lanes, their entry points. */
#ifndef ROLLOUT_BODY_H
#define ROLLOUT_BODY_H

#include "../../../mck_math.h"
#include "../rollout.h"

#include <math.h>

/* Vectors of 32 bytes whatever the level, so that no width shows in a sum; 64 bytes are taken apart
 * by compilers for levels without such registers. */
#define LANE(p) (*(const NAME(lane) *)(const void *)(p))
#define VEC(p) (*(const NAME(vec) *)(const void *)(p))
#define WIDTH ((int64_t)(32 / sizeof(T)))
#define BLOCK 512 /* elements that are added in T before their sum is taken to f64 */

#include "f32.h"
#include "moments.h"
#include "f64.h"
#include "moments.h"

#define ENTRY(f) void MCK(f)(const void *args, int64_t begin, int64_t end, void *work)
ENTRY(ro_block_f32);
ENTRY(ro_block_f64);
ENTRY(ro_state_f32);
ENTRY(ro_state_f64);
ENTRY(ro_power_f32);
ENTRY(ro_power_f64);
ENTRY(ro_flow_f32);
ENTRY(ro_flow_f64);
ENTRY(ro_cross_f32);
ENTRY(ro_cross_f64);
int64_t MCK(ro_state_work)(int64_t g);
int64_t MCK(ro_cross_work)(int64_t channels, int64_t n);

#endif
