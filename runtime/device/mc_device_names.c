/* mc_device_names.c - what the name of a device means, the words "gpu" and "auto" included.
 *
 * A card is a device that is not this machine's processor under another name, computes in f64, and
 * has programs: a compiler, those that come with mascon, or kept ones. Kinds are asked in order and
 * their devices by number; the first that serves is taken. */
#include "device/mc_context.h"
#include "device/mc_device.h"
#include "device/mc_program.h"
#include "base/mc_error.h"
#include "mc_lua.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "cuda:1" into kind and index; 0 when it is no such name. */
static int split(const char *name, char *kind, size_t room, int *index)
{
    size_t n = strcspn(name, ":");
    char *end = NULL;
    *index = 0;
    if (name[n] == ':') {
        if (name[n + 1] < '0' || name[n + 1] > '9') return 0;
        long v = strtol(name + n + 1, &end, 10);
        if (*end || v > 1000) return 0;
        *index = (int)v;
    }
    for (const mci_device_kind *k = mci_device_kinds(); k->name; k++)
        if (strlen(k->name) == n && n < room && !strncmp(name, k->name, n)) {
            memcpy(kind, k->name, n + 1);
            return 1;
        }
    return 0;
}

/* The kinds of cards one after the other, each between two texts. */
static const char *cards(char *out, size_t room, const char *before, const char *after)
{
    size_t n = 0;
    out[0] = 0;
    for (const mci_device_kind *k = mci_device_kinds(); k->name; k++)
        if (k->card && n < room)
            n += (size_t)snprintf(out + n, room - n, "%s%s%s%s", n ? ", " : "", before, k->name,
                                  after);
    return out;
}

/* The first card; negative with the record, which says why the first that is there does not
 * serve. */
static int open_card(void)
{
    char why[640] = "", processor[32] = "", kinds[128];
    for (const mci_device_kind *k = mci_device_kinds(); k->name; k++) {
        const int n = k->card ? mc_device_count(k->name) : 0;
        for (int i = 0; i < n; i++) {
            char name[32];
            snprintf(name, sizeof name, "%s:%d", k->name, i);
            const int d = mci_device_open(name);
            if (d >= 0 && mci_device_caps(d)->processor && !*processor)
                snprintf(processor, sizeof processor, "%s", name);
            else if (d >= 0 && mci_device_caps(d)->processor)
                continue;
            else if (d >= 0 && !mci_device_programmed(d))
                return d;
            else if (!*why)
                snprintf(why, sizeof why, "%s", mc_errmsg());
        }
    }
    if (*why) return -mci_error(MC_EUNSUPPORTED, "%s", why);
    if (*processor)
        return -mci_error(MC_EUNSUPPORTED,
                          "device \"gpu\" is not there: %s is this machine's processor; use "
                          "\"cpu\", or set MASCON_DEVICE=%s to have that",
                          processor, processor);
    return -mci_error(MC_EUNSUPPORTED,
                      "device \"gpu\" is not there: no driver has one (%s); use \"cpu\"",
                      cards(kinds, sizeof kinds, "", ""));
}

/* What MASCON_DEVICE names; NULL where it is left out or is one of the words. */
static const char *named(const char *but)
{
    const char *s = getenv("MASCON_DEVICE");
    return s && *s && strcmp(s, "auto") != 0 && strcmp(s, but) != 0 ? s : NULL;
}

static int open_gpu(void)
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

int mci_device_open(const char *name)
{
    char kind[16], why[640], kinds[128];
    int index;
    if (!strcmp(name, "cpu")) return 0;
    if (!strcmp(name, "gpu")) return open_gpu();
    if (!strcmp(name, "auto")) {
        const int d = mc_device_auto(why, sizeof why);
        if (d > 0) mci_device_choose(d);
        return d;
    }
    if (!split(name, kind, sizeof kind, &index))
        return -mci_error(
            MC_EINVAL,
            "device \"%s\" is unknown; use \"cpu\", %s, \"gpu\" or \"auto\"", name,
            cards(kinds, sizeof kinds, "\"", ":0\""));
    return mci_device_open_kind(name, kind, index);
}

int mc_device_find(const char *name)
{
    return mci_device_open(name);
}

int mc_device_words(int number, char *text, int64_t room)
{
    char name[128];
    int64_t about[3];
    const int rc = mc_device_about(number, name, sizeof name, about);
    if (rc) return rc;
    const mc_device_api *api = mci_device_api(number);
    text[0] = 0;
    if (api->about) api->about(mci_device_handle(number), text, room);
    const size_t n = strlen(text);
    if (!mc_device_compiles(number))
        snprintf(text + n, (size_t)room - n, ", %d programs come with mascon",
                 mc_device_shipped(api->kind));
    return MC_OK;
}
