/* f64.h - T and NAME(x) of the bodies that are included next. */
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
