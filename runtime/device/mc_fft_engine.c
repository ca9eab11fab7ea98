/* mc_fft_engine.c - which engine computes a transform: FFTW or our own; names of neighbours.
 *
 * Our own serves where FFTW is missing or was not asked for, and the shapes for which it is
 * faster (mc_fft_own.c). */
#include "device/mc_context.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int engine, measure; /* engine: 0 auto, 1 fftw, 2 ours */

int mci_fft_measure(void)
{
    return measure;
}

const mc_fft_api *mci_fft(void)
{
    const mc_fft_api *api = engine == 2 ? NULL : mci_fftw();
    return api ? api : mci_fft_own();
}

const mc_fft_api *mci_fft_for(int kind, int prec, int64_t n)
{
    const int own = engine == 0 && !measure && mci_fft_own_suits(kind, prec, n);
    return own ? mci_fft_own() : mci_fft();
}

int mc_fft_config(const char *name, int measured)
{
    int e = !strcmp(name, "auto")     ? 0
            : !strcmp(name, "fftw")   ? 1
            : !strcmp(name, "mascon") ? 2
                                      : -1;
    if (e < 0)
        return mci_error(MC_EINVAL, "fft engine: '%s' is unknown; choose auto, fftw or mascon",
                         name);
    if (e == 1 && !mci_fftw()) return mc_errstatus();
    engine = e;
    measure = measured != 0;
    return MC_OK;
}

int mc_fft_wisdom(const char *path, int save)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one file at a time */
    const mc_fft_api *api = mci_fft();
    if (!api->wisdom_save)
        return mci_error(MC_EUNSUPPORTED, "fft wisdom: engine %s keeps none", api->name);
    pthread_mutex_lock(&lock);
    int rc = save ? api->wisdom_save(path) : api->wisdom_load(path);
    pthread_mutex_unlock(&lock);
    return rc ? mci_error(MC_EIO, "fft wisdom: %s cannot be %s; check the path", path,
                          save ? "written" : "read")
              : MC_OK;
}

const char *mc_neighbour(const char *kind)
{
    static char both[96];
    if (strcmp(kind, "fft") != 0) return mci_neighbour(kind);
    if (engine || measure || mci_fft() == mci_fft_own()) return mci_fft()->name;
    snprintf(both, sizeof both, "%s, mascon by shape", mci_fft()->name);
    return both;
}
