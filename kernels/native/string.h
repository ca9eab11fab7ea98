/* string.h - stands for the system's where fused groups are compiled at run time (see stddef.h
 * here). */
#ifndef MCK_NATIVE_STRING_H
#define MCK_NATIVE_STRING_H
#include <stddef.h>
void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int value, size_t n);
#endif
