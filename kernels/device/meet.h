/* meet.h - a barrier after which a group sees what its lanes wrote to the memory of the device. */
#ifndef MCD_MEET_H
#define MCD_MEET_H

#if defined(MCD_OPENCL)
#define MEET barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#else
#define MEET BARRIER
#endif

#endif
