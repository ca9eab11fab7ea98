/* mc_yaml.c - YAML texts through the plug-in: the events of a text written one behind the other
 * into memory.
 *
 * An event is a line "kind line column anchor tag value" with the three lengths in bytes, a
 * newline, then the three texts. Kinds: D document, { } mapping, [ ] sequence, p plain scalar, q
 * quoted one, * alias. One call of C per text instead of one per event. */
#define MCI_FORMATS
#include "formats/mc_formats.h"
#include "device/mc_context.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <stdio.h>
#include <string.h>

struct mc_yaml {
    char *bytes;
    int64_t size, room;
};

static int grow(mc_yaml *y, int64_t more)
{
    if (y->size + more <= y->room) return MC_OK;
    const int64_t room = 2 * y->room + more + 4096;
    char *bytes = mci_alloc((size_t)room);
    if (!bytes) return mc_errstatus();
    if (y->size) memcpy(bytes, y->bytes, (size_t)y->size);
    mci_free(y->bytes);
    y->bytes = bytes;
    y->room = room;
    return MC_OK;
}

static int take(void *arg, const mc_yaml_event *e)
{
    mc_yaml *y = arg;
    const size_t anchor = strlen(e->anchor), tag = strlen(e->tag), value = (size_t)e->length;
    char head[128];
    const int n = snprintf(head, sizeof head, "%c %lld %lld %zu %zu %zu\n", e->kind,
                           (long long)e->line, (long long)e->column, anchor, tag, value);
    const int rc = grow(y, n + (int64_t)(anchor + tag + value));
    if (rc) return rc;
    const struct {
        const char *p;
        size_t n;
    } parts[4] = {
        { head, (size_t)n }, { e->anchor, anchor }, { e->tag, tag }, { e->value, value }
    };
    for (int k = 0; k < 4; k++) {
        memcpy(y->bytes + y->size, parts[k].p, parts[k].n);
        y->size += (int64_t)parts[k].n;
    }
    return MC_OK;
}

mc_yaml *mc_yaml_parse(const char *text, int64_t bytes)
{
    const mc_yaml_api *api = mci_yaml();
    if (!api) return NULL;
    if (!text || bytes < 0) {
        mci_error(MC_EINVAL, "yaml: no text; give a string");
        return NULL;
    }
    mc_yaml *y = mci_alloc(sizeof *y);
    if (!y) return NULL;
    *y = (mc_yaml){0};
    if (api->parse(text, bytes, take, y)) {
        mc_yaml_free(y);
        return NULL;
    }
    return y;
}

int64_t mc_yaml_size(const mc_yaml *y)
{
    return y ? y->size : 0;
}

const char *mc_yaml_events(const mc_yaml *y)
{
    return y && y->bytes ? y->bytes : "";
}

void mc_yaml_free(mc_yaml *y)
{
    if (!y) return;
    mci_free(y->bytes);
    mci_free(y);
}
