/* lanes_f32.h - short names of the vector operations on f32 (mck_lanes.h), for a kernel whose lanes
 * are f32 throughout. */
#include "../mck_lanes.h"

#define V mck_vec32
#define VL MCK_VL32
#define LD mck_load_32
#define ST mck_store_32
#define ADD mck_add_32
#define SUB mck_sub_32
#define MUL mck_mul_32
#define FMA mck_muladd_32
#define SET mck_set_32
