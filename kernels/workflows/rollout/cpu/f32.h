/* f32.h - T and NAME(x) of the bodies that are included next. */
#undef T
#undef NAME
#define T float
#define NAME(x) x##_f32
