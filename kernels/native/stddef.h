/* stddef.h - stands for the system's where fused groups are compiled at run time: reading a
 * system's headers takes longer than compiling one. */
#ifndef MCK_NATIVE_STDDEF_H
#define MCK_NATIVE_STDDEF_H
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
#define NULL ((void *)0)
#endif
