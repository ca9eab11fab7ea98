/* dialect.h - the language of device kernels: C that is OpenCL C 1.2 and CUDA C++ at once.
 *
 * Rules. Address spaces are spelled on every pointer: GLOBAL, GROUP, or none (a lane's own).
 * Arguments of a kernel: buffers, then one struct by value (jobs.h) whose first members say how
 * many bytes into its buffer each operand begins. One lane does one element or one row; lanes
 * beyond the end do nothing, but meet every BARRIER. Math is ours (mck_math*.h), contraction is
 * off: a fused multiply-add is asked for by name. No compound literals, function pointers,
 * restrict, printf; no fmin, fmax, min, max, whose NaN rules differ. */
#ifndef MCD_DIALECT_H
#define MCD_DIALECT_H

/* what the headers of the kernels find here instead */
#define MC_DEF_H
#define MCK_H
#define MC_RESTRICT
#define MC_UNUSED
#define MC_IVDEP
#define MC_LIKELY(x) (x)
#define MC_UNLIKELY(x) (x)
#define MC_PRODUCT(a, b) ((a) * (b))
#define MCK_FUSED 1
#define MCK_BITS 1

#if defined(MCD_OPENCL)

#pragma OPENCL FP_CONTRACT OFF
#if defined(cl_khr_fp64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
typedef char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;
#define MC_INLINE static inline
#define MC_NOINLINE
#define KERNEL __kernel void
#define GLOBAL __global
#define GROUP __local
#define MC_MAKE(type) (type)
#define MC_TABLE __constant
#define MC_TABLE_LOCAL const
#define MC_TABLE_AT __constant
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define LANE ((int)get_local_id(0))
#define LANES ((int)get_local_size(0))
#define GROUP_AT(axis) ((int64_t)get_group_id(axis))
#define GLOBAL_LANE \
    ((int64_t)get_group_id(0) * (int64_t)get_local_size(0) + (int64_t)get_local_id(0))
#define ATOMIC_MIN(p, v) atomic_min((volatile __global uint *)(p), (v))
#define half mcd_half /* no type here, but a name in the headers */
#define ATOMIC_MAX(p, v) atomic_max((volatile __global uint *)(p), (v))
#define sqrtf sqrt
#define fabsf fabs
#define floorf floor
#define ceilf ceil
#define truncf trunc
#define rintf rint
#define fmaf fma
#define fmodf fmod
#define copysignf copysign
#define ldexpf ldexp
MC_INLINE uint64_t mck_bits_f64(double x)
{
    return as_ulong(x);
}
MC_INLINE double mck_from_bits_f64(uint64_t u)
{
    return as_double(u);
}
MC_INLINE uint32_t mck_bits_f32(float x)
{
    return as_uint(x);
}
MC_INLINE float mck_from_bits_f32(uint32_t u)
{
    return as_float(u);
}
#define MCD_HIGH(a, b) mul_hi((ulong)(a), (ulong)(b))

#elif defined(MCD_HOST) /* C on the processor, one lane after the other: tests/standin */

struct mcd_lane {
    int lane, lanes;
    int64_t group[3];
    void (*barrier)(int line);
};
extern struct mcd_lane *mcd_lane;
#define MC_INLINE static inline
#define MC_NOINLINE __attribute__((noinline))
#define KERNEL void
#define GLOBAL
#define GROUP
#define MC_MAKE(type) (type)
#define MC_TABLE static const
#define MC_TABLE_LOCAL static const
#define MC_TABLE_AT const
#define MCD_GROUP_MEMORY static __attribute__((section("mcd_group")))
#define BARRIER mcd_lane->barrier(__LINE__)
#define LANE (mcd_lane->lane)
#define LANES (mcd_lane->lanes)
#define GROUP_AT(axis) (mcd_lane->group[axis])
#define GLOBAL_LANE (mcd_lane->group[0] * LANES + LANE)
#define ATOMIC_MIN(p, v) mcd_atomic_min((p), (v))
#define ATOMIC_MAX(p, v) mcd_atomic_max((p), (v))
MC_INLINE void mcd_atomic_min(uint32_t *p, uint32_t v)
{
    *p = v < *p ? v : *p;
}
MC_INLINE void mcd_atomic_max(uint32_t *p, uint32_t v)
{
    *p = v > *p ? v : *p;
}
MC_INLINE uint64_t mck_bits_f64(double x)
{
    uint64_t u;
    __builtin_memcpy(&u, &x, sizeof u);
    return u;
}
MC_INLINE double mck_from_bits_f64(uint64_t u)
{
    double x;
    __builtin_memcpy(&x, &u, sizeof x);
    return x;
}
MC_INLINE uint32_t mck_bits_f32(float x)
{
    uint32_t u;
    __builtin_memcpy(&u, &x, sizeof u);
    return u;
}
MC_INLINE float mck_from_bits_f32(uint32_t u)
{
    float x;
    __builtin_memcpy(&x, &u, sizeof x);
    return x;
}
#define MCD_HIGH(a, b) ((uint64_t)(((unsigned __int128)(a) * (b)) >> 64))

#else /* CUDA C++ */

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define MC_INLINE static __device__ __forceinline__
#define MC_NOINLINE __device__ __noinline__
#define KERNEL extern "C" __global__ void __launch_bounds__(256)
#define GLOBAL
#define GROUP
#define MC_MAKE(type) type
#define MC_TABLE static __device__ const
#define MC_TABLE_LOCAL static const
#define MC_TABLE_AT const
#define MCD_GROUP_MEMORY __shared__
#define BARRIER __syncthreads()
#define LANE ((int)threadIdx.x)
#define LANES ((int)blockDim.x)
#define MCD_BLOCK_0 blockIdx.x
#define MCD_BLOCK_1 blockIdx.y
#define MCD_BLOCK_2 blockIdx.z
#define GROUP_AT(axis) ((int64_t)MCD_BLOCK_##axis)
#define GLOBAL_LANE ((int64_t)blockIdx.x * (int64_t)blockDim.x + (int64_t)threadIdx.x)
#define ATOMIC_MIN(p, v) atomicMin((unsigned *)(p), (v))
#define ATOMIC_MAX(p, v) atomicMax((unsigned *)(p), (v))
MC_INLINE uint64_t mck_bits_f64(double x)
{
    return (uint64_t)__double_as_longlong(x);
}
MC_INLINE double mck_from_bits_f64(uint64_t u)
{
    return __longlong_as_double((long long)u);
}
MC_INLINE uint32_t mck_bits_f32(float x)
{
    return __float_as_uint(x);
}
MC_INLINE float mck_from_bits_f32(uint32_t u)
{
    return __uint_as_float(u);
}
#define MCD_HIGH(a, b) __umul64hi((a), (b))

#endif

#if defined(MCD_OPENCL)
#define MCD_GROUP_MEMORY __local
#endif

#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define INT64_MIN (-(int64_t)0x7fffffffffffffff - 1)
#define INT64_MAX ((int64_t)0x7fffffffffffffff)
#if !defined(INFINITY)
#define INFINITY mck_from_bits_f32(0x7f800000u)
#endif
#if !defined(NAN)
#define NAN mck_from_bits_f32(0x7fc00000u)
#endif

typedef struct mck_c64 {
    float re, im;
} mck_c64;
typedef struct mck_c128 {
    double re, im;
} mck_c128;
typedef uint8_t mck_bool;

/* Element i of a buffer argument b whose operand begins `at` bytes in. */
#define AT(T, b, at) ((GLOBAL T *)((b) + (at)))
/* The operand in buffer argument k of a kernel with a job j, read only. */
#define OPERAND(T, name, b, k) GLOBAL const T *name = AT(const T, b, j.at[k])

#endif
