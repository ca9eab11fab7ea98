/* parts.h - what the files of this plug-in share. */
#ifndef MCO_FFTW_PARTS_H
#define MCO_FFTW_PARTS_H

#include <stddef.h>

int mco_reserve(size_t bytes); /* memory.c; 0: the system has no room for so much */

#endif
