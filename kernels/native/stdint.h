/* stdint.h - stands for the system's where fused groups are compiled at run time (see stddef.h
 * here). */
#ifndef MCK_NATIVE_STDINT_H
#define MCK_NATIVE_STDINT_H
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295u
#define INT64_MIN (-(int64_t)9223372036854775807 - 1)
#define INT64_MAX ((int64_t)9223372036854775807)
#define UINT64_MAX ((uint64_t)18446744073709551615u)
#endif
