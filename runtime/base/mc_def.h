/* mc_def.h - the few macros that hide compiler differences.
 *
 * Visibility, restrict, assertion and attribute spellings. The only file in which GNU syntax may
 * appear. Headers that CUDA files include stay valid C++, hence MC_RESTRICT. Knows nothing else. */
#ifndef MC_DEF_H
#define MC_DEF_H

#if defined(__GNUC__)
#define MC_API __attribute__((visibility("default")))
#define MC_RESTRICT __restrict__
#define MC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define MC_LIKELY(x) __builtin_expect(!!(x), 1)
#define MC_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define MC_NOINLINE __attribute__((noinline))
#define MC_INLINE static inline __attribute__((always_inline))
#define MC_UNUSED __attribute__((unused))
#define MC_ALIGNED(n) __attribute__((aligned(n)))
#define MC_PREFETCH(p) __builtin_prefetch(p)
/* Before a loop whose iterations touch only their own index: operands may be the same array. */
#define MC_IVDEP _Pragma("GCC ivdep")
/* Before a loop: how often it is to be unrolled. */
#define MC_UNROLL_(text) _Pragma(#text)
#define MC_UNROLL(n) MC_UNROLL_(GCC unroll n)
/* a b, rounded. GCC 12 makes vfmaddsub of neighbouring a b - c d, a d + c b in vector loops in
 * spite of -ffp-contract=off (and in the loop's tail not, so that an element's bits would depend on
 * its place); it leaves products behind this barrier alone. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_assoc_barrier)
#define MC_PRODUCT(a, b) __builtin_assoc_barrier((a) * (b))
#endif
#endif
#else
#define MC_API
#define MC_RESTRICT
#define MC_PRINTF(fmt, args)
#define MC_LIKELY(x) (x)
#define MC_UNLIKELY(x) (x)
#define MC_NOINLINE
#define MC_INLINE static inline
#define MC_UNUSED
#define MC_ALIGNED(n)
#define MC_PREFETCH(p) ((void)(p))
#define MC_IVDEP
#define MC_UNROLL(n)
#endif
#ifndef MC_PRODUCT
#define MC_PRODUCT(a, b) ((a) * (b))
#endif

/* Tables of numbers, in a file and in a function, and what a pointer to one is to: a device's
 * language says otherwise (kernels/device/dialect.h). */
#define MC_TABLE MC_UNUSED static const
#define MC_TABLE_LOCAL static const
#define MC_TABLE_AT const
/* MC_MAKE(type){members}: a value of a struct */
#define MC_MAKE(type) (type)

/* For our own mistakes only. Live in `make debug` and `make check`, gone in release. */
#if defined(MC_DEBUG)
void mci_assert_failed(const char *cond, const char *file, int line);
#define mc_assert(cond) ((cond) ? (void)0 : mci_assert_failed(#cond, __FILE__, __LINE__))
#else
#define mc_assert(cond) ((void)0)
#endif

/* A function that runs when the library leaves the process, after all that atexit was told. */
#define MC_AT_UNLOAD __attribute__((destructor))

#endif
