/* scalar.h - what a pac body file needs to be compiled once per dtype.
 *
 * A body is included with PAC_BITS 32 or 64. Here T, the names and the lanes of that dtype are
 * chosen, anew at every inclusion (no include guard). FN(name) is exported, SN(name) is static to
 * the file. Knows pac.h, the lanes and the functions of mck_math.h. */
#undef T
#undef FN
#undef SN
#undef LN
#undef W
#undef VL
#undef NV
#undef vec
#undef PAC_ABS
#undef PAC_SQRT
#undef PAC_ATAN2
#undef PAC_EXP
#undef PAC_FMOD
#undef PAC_FLOOR
#undef PAC_INT_T
#undef PAC_BIG
#if PAC_BITS == 32
#define T float
#define FN(name) MCK_CAT(mck_pac_##name##_f32, MC_ISA)
#define SN(name) name##_f32
#define LN(name) mck_##name##_32
#define W MCK_PAC_LANES_F32
#define VL MCK_VL32
#define vec mck_vec32
#define PAC_INT_T int32_t
#define PAC_BIG 3.402823466e38f
#define PAC_ABS fabsf
#define PAC_SQRT sqrtf
#define PAC_ATAN2 mck_atan2_f32
#define PAC_EXP mck_exp_f32
#define PAC_FMOD fmodf
#define PAC_FLOOR floorf
#else
#define T double
#define FN(name) MCK_CAT(mck_pac_##name##_f64, MC_ISA)
#define SN(name) name##_f64
#define LN(name) mck_##name##_64
#define W MCK_PAC_LANES_F64
#define VL MCK_VL64
#define vec mck_vec64
#define PAC_INT_T int64_t
#define PAC_BIG 1.7976931348623157e308
#define PAC_ABS fabs
#define PAC_SQRT sqrt
#define PAC_ATAN2 mck_atan2_f64
#define PAC_EXP mck_exp_f64
#define PAC_FMOD fmod
#define PAC_FLOOR floor
#endif
/* Vectors to a tile row of W lanes. */
#define NV (W / VL)
