/* mc_device_auto.c - which device the words "gpu" and "auto" mean.
 *
 * A card is a device that is not this machine's processor under another name, computes in f64, and
 * has programs: a compiler, those that come with mascon, or kept ones. Kinds are asked in order and
 * their devices by number; the first that serves is taken. */
#include "device/mc_device.h"
#include "device/mc_program.h"
#include "base/mc_error.h"
#include "mascon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first card; negative with the record, which says why the first that is there does not
 * serve. */
static int open_card(void)
{
    static const char *const kinds[] = { "cuda", "opencl" };
    char why[640] = "";
    int processor = 0;
    for (int k = 0; k < 2; k++) {
        const int n = mc_device_count(kinds[k]);
        for (int i = 0; i < n; i++) {
            char name[32];
            snprintf(name, sizeof name, "%s:%d", kinds[k], i);
            const int d = mci_device_open(name);
            if (d >= 0 && mci_device_caps(d)->processor)
                processor = 1;
            else if (d >= 0 && !mci_device_programmed(d))
                return d;
            else if (!*why)
                snprintf(why, sizeof why, "%s", mc_errmsg());
        }
    }
    if (*why) return -mci_error(MC_EUNSUPPORTED, "%s", why);
    if (processor)
        return -mci_error(MC_EUNSUPPORTED,
                          "device \"gpu\" is not there: OpenCL has this machine's processor alone; "
                          "use \"cpu\", or set MASCON_DEVICE=opencl:0 to have that");
    return -mci_error(MC_EUNSUPPORTED, "device \"gpu\" is not there: neither CUDA nor OpenCL has a "
                                       "device; use \"cpu\"");
}

/* What MASCON_DEVICE names; NULL where it is left out or is one of the words. */
static const char *named(const char *but)
{
    const char *s = getenv("MASCON_DEVICE");
    return s && *s && strcmp(s, "auto") != 0 && strcmp(s, but) != 0 ? s : NULL;
}

int mci_device_gpu(void)
{
    const char *s = named("gpu");
    return s && strcmp(s, "cpu") != 0 ? mci_device_open(s) : open_card();
}

int mc_device_auto(char *why, int64_t room)
{
    const char *s = named("");
    int d = s ? mci_device_open(s) : open_card();
    if (s)
        snprintf(why, (size_t)room, "MASCON_DEVICE names it");
    else if (d >= 0)
        snprintf(why, (size_t)room, "the first card, %s", mci_device_caps(d)->name);
    else
        snprintf(why, (size_t)room, "there is no card (%s)", mc_errmsg());
    return s || d >= 0 ? d : 0;
}
