/* yaml.c - the libyaml neighbour: a YAML text as a row of events behind mc_yaml_api.
 *
 * Holds the parser and nothing after the call. Texts are handed on as libyaml gives them: UTF-8,
 * with their lengths, since a text may hold zero bytes. What plain scalars mean, anchors and
 * merging are the caller's matter. libyaml takes its memory from malloc, which is not counted;
 * it is bounded by the length of the text. */
#include "../../runtime/device/mc_backend.h"
#include "../../runtime/base/mc_def.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

enum { STATUS_INVALID = 1, STATUS_NOMEM = 4, STATUS_UNSUPPORTED = 9 };

/* Set once by mc_plugin_open, before any other call. */
static const mc_host_api *host;

static const char *text(const yaml_char_t *s)
{
    return s ? (const char *)s : "";
}

static int refuse(const yaml_parser_t *p)
{
    const size_t line = p->problem_mark.line + 1, column = p->problem_mark.column + 1;
    if (p->error == YAML_MEMORY_ERROR)
        return host->error(STATUS_NOMEM, "yaml: no memory to read the text");
    if (p->error == YAML_READER_ERROR)
        return host->error(STATUS_INVALID, "yaml: byte %zu: %s; the text must be UTF-8",
                           p->problem_offset, p->problem ? p->problem : "not readable");
    return host->error(STATUS_INVALID, "yaml: line %zu, column %zu: %s%s%s", line, column,
                       p->problem ? p->problem : "not readable", p->context ? ", " : "",
                       p->context ? p->context : "");
}

/* Hands one event on. 0, or what the sink answered. */
static int pass(const yaml_event_t *e, mc_yaml_sink sink, void *arg)
{
    mc_yaml_event out = { .line = (int64_t)e->start_mark.line + 1,
                          .column = (int64_t)e->start_mark.column + 1,
                          .anchor = "",
                          .tag = "",
                          .value = "" };
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT: out.kind = 'D'; break;
    case YAML_MAPPING_START_EVENT:
        out.kind = '{';
        out.anchor = text(e->data.mapping_start.anchor);
        out.tag = text(e->data.mapping_start.tag);
        break;
    case YAML_MAPPING_END_EVENT: out.kind = '}'; break;
    case YAML_SEQUENCE_START_EVENT:
        out.kind = '[';
        out.anchor = text(e->data.sequence_start.anchor);
        out.tag = text(e->data.sequence_start.tag);
        break;
    case YAML_SEQUENCE_END_EVENT: out.kind = ']'; break;
    case YAML_ALIAS_EVENT:
        out.kind = '*';
        out.anchor = text(e->data.alias.anchor);
        break;
    case YAML_SCALAR_EVENT:
        out.kind = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? 'p' : 'q';
        out.anchor = text(e->data.scalar.anchor);
        out.tag = text(e->data.scalar.tag);
        out.value = text(e->data.scalar.value);
        out.length = (int64_t)e->data.scalar.length;
        break;
    default: return 0;
    }
    return sink(arg, &out);
}

static int run_parse(const char *bytes, int64_t n, mc_yaml_sink sink, void *arg)
{
    yaml_parser_t parser;
    yaml_event_t event;
    int status = 0, more = 1;
    if (!yaml_parser_initialize(&parser))
        return host->error(STATUS_NOMEM, "yaml: no memory to read the text");
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, (size_t)n);
    while (!status && more) {
        if (!yaml_parser_parse(&parser, &event)) {
            status = refuse(&parser);
            break;
        }
        more = event.type != YAML_STREAM_END_EVENT;
        status = pass(&event, sink, arg);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return status;
}

MC_API int mc_plugin_open(const mc_host_api *h, void *api);

int mc_plugin_open(const mc_host_api *h, void *api)
{
    static char name[32];
    int major, minor, patch;
    mc_yaml_api *y = api;
    if (h->abi != MC_BACKEND_ABI || y->abi != MC_BACKEND_ABI)
        return h->error(
            STATUS_UNSUPPORTED,
            "yaml: the plug-in belongs to another version of mascon; build both together");
    host = h;
    yaml_get_version(&major, &minor, &patch);
    (void)snprintf(name, sizeof name, "libyaml %d.%d.%d", major, minor, patch);
    y->name = name;
    y->parse = run_parse;
    return 0;
}
