/* rsvg.c - the librsvg neighbour: SVG text to a PNG file behind mc_raster_api.
 *
 * Holds the parse, the cairo surface and the file. The SVG is parsed from memory without a base
 * address, so librsvg loads nothing from anywhere but data: addresses. The image is written
 * beside its place, synced and renamed: a reader never sees half a file. Pixel memory is cairo's
 * own, 4 bytes a pixel, bounded first. What remains: GLib, below librsvg, ends the process when
 * it gets no memory for its own small objects. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif

#include "../../runtime/device/mc_backend.h"
#include "../../runtime/base/mc_def.h"

#include <cairo.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <librsvg/rsvg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The statuses this neighbour gives back; numbers as in the table of runtime/ops/ops.lua. */
enum {
    STATUS_INVALID = 1,
    STATUS_NOMEM = 4,
    STATUS_IO = 5,
    STATUS_CANCELLED = 7,
    STATUS_UNSUPPORTED = 9,
    STATUS_INTERNAL = 11
};

#define MAX_SIDE 30000.0                 /* cairo counts pixels in 15 bits */
#define MAX_PIXELS (256.0 * 1024 * 1024) /* 1 GiB of pixels */

/* Set once by mc_plugin_open, before any other call. */
static const mc_host_api *host;

typedef struct sink {
    int fd;
    int err; /* errno of the first failed write */
} sink;

static cairo_status_t write_all(void *arg, const unsigned char *data, unsigned length) {
    sink *s = arg;
    while (length > 0) {
        ssize_t n = write(s->fd, data, length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            s->err = n < 0 ? errno : EIO;
            return CAIRO_STATUS_WRITE_ERROR;
        }
        data += n;
        length -= (unsigned)n;
    }
    return CAIRO_STATUS_SUCCESS;
}

/* The record of a problem that GLib describes; its texts may end in line breaks. */
static int refuse(const char *what, const GError *problem) {
    const char *text = problem ? problem->message : "unknown";
    return host->error(STATUS_INVALID, "svg_to_png: %s: %.*s", what, (int)strcspn(text, "\n"),
                       text);
}

static int io_error(const char *path, int err) {
    return host->error(err == ENOMEM ? STATUS_NOMEM : STATUS_IO,
                       "svg_to_png: %s: %s; check the folder and its free space", path,
                       strerror(err));
}

/* Encodes the surface into `path` by way of a temporary name in the same folder. */
static int write_png(cairo_surface_t *surface, const char *path) {
    sink s = {-1, 0};
    int status = 0;
    size_t room = strlen(path) + 32;
    char *temporary = host->alloc(room);
    if (!temporary) return host->error(STATUS_NOMEM, "svg_to_png: no memory for a file name");
    /* A name of our own; O_EXCL refuses one that a stranger has put there, link or file. */
    for (int attempt = 0; attempt < 100 && s.fd < 0; attempt++) {
        (void)snprintf(temporary, room, "%s.%ld-%d.tmp", path, (long)getpid(), attempt);
        s.fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (s.fd < 0 && errno != EEXIST) break;
    }
    if (s.fd < 0) {
        status = io_error(path, errno);
        goto done;
    }
    cairo_status_t wrote = cairo_surface_write_to_png_stream(surface, write_all, &s);
    if (wrote == CAIRO_STATUS_NO_MEMORY)
        status = host->error(STATUS_NOMEM,
                             "svg_to_png: no memory to encode the image; use a smaller scale");
    else if (wrote != CAIRO_STATUS_SUCCESS)
        status =
            s.err ? io_error(path, s.err)
                  : host->error(STATUS_INTERNAL, "svg_to_png: %s", cairo_status_to_string(wrote));
    if (!status && fsync(s.fd) != 0 && errno != EINVAL && errno != EROFS)
        status = io_error(path, errno);
    if (close(s.fd) != 0 && !status) status = io_error(path, errno);
    if (!status && rename(temporary, path) != 0) status = io_error(path, errno);
    if (status) (void)unlink(temporary);
done:
    host->free(temporary);
    return status;
}

/* Size of the picture in px: its width and height, or its viewBox when these are absent or
 * relative. */
static int picture_size(RsvgHandle *handle, double *width, double *height) {
    gboolean has_width, has_height, has_box;
    RsvgLength w, h;
    RsvgRectangle box;
    if (rsvg_handle_get_intrinsic_size_in_pixels(handle, width, height)) return 1;
    rsvg_handle_get_intrinsic_dimensions(handle, &has_width, &w, &has_height, &h, &has_box, &box);
    if (!has_box) return 0;
    *width = box.width;
    *height = box.height;
    return 1;
}

static int svg_to_png(const char *svg, size_t bytes, double scale, const char *path) {
    int status = 0;
    double width = 0, height = 0;
    GError *problem = NULL;
    cairo_surface_t *surface = NULL;
    cairo_t *cr = NULL;

    if (!(scale > 0) || !isfinite(scale))
        return host->error(STATUS_INVALID,
                           "svg_to_png: the scale is %g; give a finite number above 0", scale);
    RsvgHandle *handle = rsvg_handle_new_from_data((const guint8 *)svg, bytes, &problem);
    if (!handle) {
        status = refuse("not readable as SVG", problem);
        goto done;
    }
    if (!picture_size(handle, &width, &height) || !(width > 0) || !(height > 0)) {
        status =
            host->error(STATUS_INVALID,
                        "svg_to_png: the picture has no size; give width and height or a viewBox");
        goto done;
    }
    double columns = ceil(width * scale), rows = ceil(height * scale);
    if (columns > MAX_SIDE || rows > MAX_SIDE || columns * rows > MAX_PIXELS) {
        status = host->error(STATUS_INVALID,
                             "svg_to_png: %.0f x %.0f pixels are too many; use a smaller scale",
                             columns, rows);
        goto done;
    }
    surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, (int)columns, (int)rows);
    cr = cairo_create(surface);
    if (cairo_status(cr) != CAIRO_STATUS_SUCCESS) {
        status = host->error(STATUS_NOMEM,
                             "svg_to_png: no memory for %.0f x %.0f pixels; use a smaller scale",
                             columns, rows);
        goto done;
    }
    const RsvgRectangle page = {0, 0, columns, rows};
    if (!rsvg_handle_render_document(handle, cr, &page, &problem)) {
        status = refuse("cannot draw", problem);
        goto done;
    }
    cairo_surface_flush(surface);
    status = host->cancelled() ? host->error(STATUS_CANCELLED, "svg_to_png: cancelled")
                               : write_png(surface, path);
done:
    if (cr) cairo_destroy(cr);
    if (surface) cairo_surface_destroy(surface);
    if (handle) g_object_unref(handle);
    if (problem) g_error_free(problem);
    return status;
}

/* On a machine without fonts, those that a relocatable folder carries (fonts/fonts.conf beside the
 * folder of plug-ins). */
static void own_fonts(void)
{
    Dl_info about;
    char path[4096];
    if (getenv("FONTCONFIG_FILE") || access("/etc/fonts/fonts.conf", R_OK) == 0) return;
    if (!dladdr((void *)(uintptr_t)&svg_to_png, &about) || !about.dli_fname) return;
    const char *slash = strrchr(about.dli_fname, '/');
    const int n = slash ? (int)(slash - about.dli_fname) : 1;
    const int wrote =
        snprintf(path, sizeof path, "%.*s/../fonts/fonts.conf", n, slash ? about.dli_fname : ".");
    if (wrote > 0 && (size_t)wrote < sizeof path && access(path, R_OK) == 0)
        (void)setenv("FONTCONFIG_FILE", path, 0);
}

MC_API int mc_plugin_open(const mc_host_api *h, void *api);

int mc_plugin_open(const mc_host_api *h, void *api) {
    static char name[64];
    mc_raster_api *r = api;
    if (h->abi != MC_BACKEND_ABI || r->abi != MC_BACKEND_ABI)
        return h->error(
            STATUS_UNSUPPORTED,
            "rsvg: the plug-in belongs to another version of mascon; build both together");
    host = h;
    own_fonts();
    (void)snprintf(name, sizeof name, "librsvg %u.%u.%u, cairo %s", rsvg_major_version,
                   rsvg_minor_version, rsvg_micro_version, cairo_version_string());
    r->name = name;
    r->svg_to_png = svg_to_png;
    return 0;
}
