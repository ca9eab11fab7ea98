/* mc_context.h - what the process has: plug-ins, ISA level, threads, cancel flag.
 *
 * Owns opening neighbours at first use and the choice of kernels. One context per process; its lock
 * is named beside the fields it guards (mc_context.c). */
#ifndef MC_CONTEXT_H
#define MC_CONTEXT_H

#include "mc_lua.h"
#include "mc_gen_kernels.h"
#include "../../kernels/mck.h"
#include "device/mc_device_api.h"
#include "base/mc_error.h"

/* Neighbours; NULL with the error record set (advice included) when missing. */
const mc_zlib_api *mci_zlib(void);
const mc_blas_api *mci_blas(void);
/* Whether the user named it (MASCON_BLAS): its products are then what is asked for. */
int mci_blas_is_named(void);
const mc_lapack_api *mci_lapack(void);
const mc_hdf5_api *mci_hdf5(void);
const mc_yaml_api *mci_yaml(void);
/* The kinds of devices beside the CPU, in the order in which a card is looked for: the one list.
 * card: users see it, and "gpu" may mean one of its devices; others are for tests and stand behind.
 * dlpack: DLPack's number of the kind, 0: it has none. The last has no name. driver: NULL with the
 * record where it cannot be opened. */
typedef struct mci_device_kind {
    const char *name;
    int32_t card, dlpack;
    const mc_device_api *(*driver)(void);
} mci_device_kind;
const mci_device_kind *mci_device_kinds(void);
const mc_fft_api *mci_fftw(void);
/* The folder of the plug-ins; borrowed. */
const char *mci_plugin_dir(void);
/* Name of the neighbour of a kind other than "fft", NULL when missing. */
const char *mci_neighbour(const char *kind);

/* Transforms (mc_fft_engine.c): FFTW, or our own when FFTW is missing or "mascon" was asked for.
 * Never NULL. */
const mc_fft_api *mci_fft(void);
const mc_fft_api *mci_fft_own(void);
int mci_fft_own_suits(int kind, int prec, int64_t n);
/* The engine for a transform: the one that was asked for, else by shape. */
const mc_fft_api *mci_fft_for(int kind, int prec, int64_t n);
int mci_fft_measure(void);

/* Kernel tables of the active ISA level. */
typedef void (*mci_kernel)(void);
mci_kernel mci_kernel_get(int op, int dtype);
/* The same of a level by its name; NULL where this build has it not. */
mci_kernel mci_kernel_of_level(const char *isa, int op, int dtype);
/* A function that is no kernel of an op, MCK_FN_* of the active ISA level. */
mck_any_fn mci_function(int fn);
typedef void (*mci_cast_fn)(int64_t n, void *out, int64_t so, const void *in, int64_t si);
mci_cast_fn mci_cast(int to, int from);
int mci_isa(void);      /* 0 v2, 1 v3, 2 v4 */
int mci_isa_best(void); /* what this machine has, whatever is in use */

/* The one parallel driver: fn(arg, begin, end, worker) over [0, tasks). The cut into tasks must
 * depend on shapes only. Serial for one task or one thread. Returns MC_OK or MC_ECANCELLED (tasks
 * not yet started are skipped after Ctrl-C). */
int mci_parallel(int64_t tasks, mc_range_fn fn, void *arg);
/* 1 before, -1 after what ends by itself soon, also in drivers and their compilers: mc_working. */
void mci_works(int by);
/* Number of workers mci_parallel may use: workspaces are sized by it. */
int mci_workers(int64_t tasks);

#endif
