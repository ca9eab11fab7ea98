/* hdf5.c - the HDF5 neighbour, its reading half: objects, their shapes, numbers and texts.
 *
 * Holds libhdf5's ids, each behind an object with its label for messages. A file stays open as
 * long as an object of it. Links to other places and files are followed by libhdf5. Reading goes
 * in slabs of whole chunks, between which Ctrl-C is looked at. What remains: memory that libhdf5
 * takes for chunks and names is its own, not counted; and it trusts the bytes of a file more than
 * our own parsers do: changed bytes in its heaps and headers can end the process (seen with
 * 1.10.8), while a file that is cut short, or of another kind, is an error; therefore the host
 * reads files of others with it in a process of their own. */
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* An open object. The type in memory is kept for reading, negative when it cannot be read. */
typedef struct object {
    hid_t id, type, space, memory;
    mc_hdf5_about about;
    int listed; /* which kind of names is kept, -1 none */
    int64_t listed_count;
    char *names;     /* one after the other, with their zeros */
    int64_t *places; /* where each begins */
    char *texts;
    int64_t *text_places; /* text_count + 1 */
    int64_t text_count;
    char label[]; /* FILE or FILE:/where */
} object;

static int damaged(const char *label, const char *what)
{
    const int status = hdf5_starved(label);
    if (status) return status;
    return hdf5_host->error(STATUS_FORMAT, "hdf5: %s: %s (%s); copy or download the file again",
                            label, what, hdf5_why());
}

static int no_memory(const char *label)
{
    return hdf5_host->error(STATUS_NOMEM, "hdf5: %s: no memory; read less at a time", label);
}

/* ---- objects ---- */

static void close_object(object *o)
{
    if (o->memory >= 0) (void)H5Tclose(o->memory);
    if (o->type >= 0) (void)H5Tclose(o->type);
    if (o->space >= 0) (void)H5Sclose(o->space);
    if (o->id >= 0) (void)(o->about.kind == MC_H5_ATTRIBUTE ? H5Aclose(o->id) : H5Oclose(o->id));
    hdf5_host->free(o->names);
    hdf5_host->free(o->places);
    hdf5_host->free(o->texts);
    hdf5_host->free(o->text_places);
    hdf5_host->free(o);
}

static void close_any(void *p)
{
    if (!p) return;
    hdf5_enter();
    close_object(p);
    hdf5_leave();
}

static int shape_of(object *o)
{
    hsize_t dims[MC_H5_RANK];
    const H5S_class_t what = H5Sget_simple_extent_type(o->space);
    if (what == H5S_NULL) {
        o->about.null = 1;
        return 0;
    }
    const int rank = H5Sget_simple_extent_ndims(o->space);
    if (rank < 0 || rank > MC_H5_RANK || H5Sget_simple_extent_dims(o->space, dims, NULL) < 0)
        return damaged(o->label, "its shape cannot be read");
    o->about.rank = rank;
    o->about.numel = 1;
    for (int k = 0; k < rank; k++) {
        if (dims[k] > (hsize_t)INT64_MAX ||
            __builtin_mul_overflow(o->about.numel, (int64_t)dims[k], &o->about.numel))
            return hdf5_host->error(
                STATUS_FORMAT,
                "hdf5: %s: its shape has more than 2^63 elements; the file is damaged", o->label);
        o->about.shape[k] = (int64_t)dims[k];
    }
    return 0;
}

static int about_dataset(object *o)
{
    hsize_t dims[MC_H5_RANK];
    const int attribute = o->about.kind == MC_H5_ATTRIBUTE;
    o->type = attribute ? H5Aget_type(o->id) : H5Dget_type(o->id);
    o->space = attribute ? H5Aget_space(o->id) : H5Dget_space(o->id);
    if (o->type < 0 || o->space < 0) return damaged(o->label, "its type or shape cannot be read");
    const int status = shape_of(o);
    if (status) return status;
    hdf5_content content;
    hdf5_content_of(o->type, &content);
    o->about.holds = content.holds;
    o->about.type = content.type;
    o->about.size = content.size;
    o->memory = content.memory;
    if (attribute) {
        o->about.stored = (int64_t)H5Aget_storage_size(o->id);
        return 0;
    }
    o->about.stored = (int64_t)H5Dget_storage_size(o->id);
    hid_t list = H5Dget_create_plist(o->id);
    if (list >= 0 && H5Pget_layout(list) == H5D_CHUNKED &&
        H5Pget_chunk(list, MC_H5_RANK, dims) == o->about.rank) {
        o->about.chunked = 1;
        for (int k = 0; k < o->about.rank; k++) o->about.chunk[k] = (int64_t)dims[k];
    }
    if (list >= 0) (void)H5Pclose(list);
    return 0;
}

/* Takes the id, also when it fails. `of` is what it was found in, `name` how. */
static object *make_object(hid_t id, int kind, const char *of, const char *name)
{
    const size_t inside = strlen(of), more = name ? strlen(name) : 0;
    H5O_info_t info;
    object *o = hdf5_alloc(sizeof *o + inside + more + 4);
    if (!o) {
        (void)(kind == MC_H5_ATTRIBUTE ? H5Aclose(id) : H5Oclose(id));
        return NULL;
    }
    memset(o, 0, sizeof *o);
    o->id = id;
    o->type = o->space = o->memory = -1;
    o->listed = -1;
    memcpy(o->label, of, inside + 1);
    if (name)
        (void)snprintf(o->label + inside, more + 4, "%s%s",
                       kind == MC_H5_ATTRIBUTE ? "@"
                       : name[0] == '/'        ? ":"
                       : strstr(of, ":/")      ? "/"
                                               : ":/",
                       name);
    if (kind < 0) {
        const H5I_type_t type = H5Iget_type(id);
        kind = type == H5I_GROUP ? MC_H5_GROUP : type == H5I_DATASET ? MC_H5_DATASET : MC_H5_ELSE;
    }
    o->about.kind = kind;
    if (kind != MC_H5_ATTRIBUTE) {
        if (H5Oget_info(id, &info) < 0) {
            (void)damaged(o->label, "it cannot be read");
            close_object(o);
            return NULL;
        }
        o->about.file = (int64_t)info.fileno;
        o->about.address = (int64_t)info.addr;
    }
    if ((kind == MC_H5_DATASET || kind == MC_H5_ATTRIBUTE) && about_dataset(o)) {
        close_object(o);
        return NULL;
    }
    return o;
}

static object *open_locked(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        (void)hdf5_host->error(STATUS_IO, "hdf5: %s: %s; check the path", path, strerror(errno));
        return NULL;
    }
    (void)close(fd);
    if (H5Fis_hdf5(path) <= 0) {
        (void)hdf5_host->error(STATUS_FORMAT, "hdf5: %s is no HDF5 file; check what wrote it",
                               path);
        return NULL;
    }
    hid_t access = hdf5_access(NULL),
          file = access < 0 ? -1 : H5Fopen(path, H5F_ACC_RDONLY, access);
    if (file < 0) (void)hdf5_why();
    if (access >= 0) (void)H5Pclose(access);
    if (file < 0) {
        (void)damaged(path, "it cannot be opened");
        return NULL;
    }
    hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
    if (root < 0) (void)damaged(path, "its root group cannot be read");
    (void)H5Fclose(file); /* the file closes with its last object */
    return root < 0 ? NULL : make_object(root, MC_H5_GROUP, path, NULL);
}

static void *open_file(const char *path)
{
    if (hdf5_enter_with_room(path)) return NULL;
    object *o = open_locked(path);
    hdf5_leave();
    return o;
}

static void *open_at(const void *p, const char *name)
{
    const object *o = p;
    object *found = NULL;
    if (!name[0]) {
        (void)hdf5_host->error(STATUS_INVALID,
                               "hdf5: %s: the name is empty; give the path of a group or dataset",
                               o->label);
        return NULL;
    }
    if (hdf5_enter_with_room(o->label)) return NULL;
    hid_t id = H5Oopen(o->id, name, H5P_DEFAULT);
    if (id >= 0)
        found = make_object(id, -1, o->label, name);
    else if (!hdf5_starved(o->label))
        (void)hdf5_host->error(STATUS_INVALID,
                               "hdf5: %s: there is no %s, or it links to what is not there (%s)",
                               o->label, name, hdf5_why());
    hdf5_leave();
    return found;
}

static void *open_attribute(const void *p, const char *name)
{
    const object *o = p;
    object *found = NULL;
    if (hdf5_enter_with_room(o->label)) return NULL;
    hid_t id = H5Aopen(o->id, name, H5P_DEFAULT);
    if (id >= 0)
        found = make_object(id, MC_H5_ATTRIBUTE, o->label, name);
    else if (!hdf5_starved(o->label))
        (void)hdf5_host->error(STATUS_INVALID, "hdf5: %s: there is no attribute %s (%s)", o->label,
                               name, hdf5_why());
    hdf5_leave();
    return found;
}

static void *open_reference(const void *p, int64_t reference)
{
    const object *o = p;
    object *found = NULL;
    const hobj_ref_t place = (hobj_ref_t)reference;
    char name[40];
    hdf5_enter();
    hid_t id = H5Rdereference2(o->id, H5P_DEFAULT, H5R_OBJECT, &place);
    (void)snprintf(name, sizeof name, "<%lld>", (long long)reference);
    if (id >= 0)
        found = make_object(id, -1, o->label, name);
    else
        (void)damaged(o->label, "a reference in it leads nowhere");
    hdf5_leave();
    return found;
}

static void about_object(const void *p, mc_hdf5_about *out)
{
    *out = ((const object *)p)->about;
}

/* ---- names ---- */

typedef struct listing {
    char *names;
    int64_t *places;
    int64_t count, fill, room, slots;
} listing;

/* Room for at least `want` bytes of what holds `have`; NULL leaves the old block. */
static void *grown(void *old, int64_t have, int64_t want)
{
    void *p = hdf5_alloc((size_t)want);
    if (p && have > 0) memcpy(p, old, (size_t)have);
    if (p) hdf5_host->free(old);
    return p;
}

static int keep_name(listing *l, const char *name)
{
    const int64_t n = (int64_t)strlen(name) + 1;
    if (n > l->room - l->fill) {
        void *p = grown(l->names, l->fill, 2 * (l->fill + n) + 256);
        if (!p) return -1;
        l->names = p;
        l->room = 2 * (l->fill + n) + 256;
    }
    if (l->count == l->slots) {
        void *p = grown(l->places, l->count * (int64_t)sizeof *l->places,
                        (2 * l->count + 32) * (int64_t)sizeof *l->places);
        if (!p) return -1;
        l->places = p;
        l->slots = 2 * l->count + 32;
    }
    memcpy(l->names + l->fill, name, (size_t)n);
    l->places[l->count++] = l->fill;
    l->fill += n;
    return 0;
}

static herr_t each_link(hid_t group, const char *name, const H5L_info_t *info, void *to)
{
    (void)group;
    (void)info;
    return keep_name(to, name);
}

static herr_t each_attribute(hid_t at, const char *name, const H5A_info_t *info, void *to)
{
    (void)at;
    (void)info;
    return keep_name(to, name);
}

static int each_filter(object *o, listing *l)
{
    char name[80];
    unsigned flags;
    int rc = 0;
    hid_t list = o->about.kind == MC_H5_DATASET ? H5Dget_create_plist(o->id) : -1;
    const int n = list >= 0 ? H5Pget_nfilters(list) : 0;
    for (int k = 0; k < n && !rc; k++) {
        size_t values = 0;
        const H5Z_filter_t id =
            H5Pget_filter2(list, (unsigned)k, &flags, &values, NULL, sizeof name, name, NULL);
        const char *known = id == H5Z_FILTER_DEFLATE       ? "gzip"
                            : id == H5Z_FILTER_SHUFFLE     ? "shuffle"
                            : id == H5Z_FILTER_FLETCHER32  ? "fletcher32"
                            : id == H5Z_FILTER_SZIP        ? "szip"
                            : id == H5Z_FILTER_NBIT        ? "nbit"
                            : id == H5Z_FILTER_SCALEOFFSET ? "scaleoffset"
                            : id == 32000                  ? "lzf"
                                                           : NULL;
        char text[120];
        (void)snprintf(text, sizeof text, known ? "%s" : "%s (filter %d)",
                       known                ? known
                       : name[0] && id >= 0 ? name
                                            : "unknown",
                       (int)id);
        rc = keep_name(l, text);
    }
    if (list >= 0) (void)H5Pclose(list);
    return rc;
}

static int list_names(object *o, int what)
{
    listing l = { NULL, NULL, 0, 0, 0, 0 };
    herr_t rc = 0;
    hsize_t from = 0;
    if (what == MC_H5_LINKS && o->about.kind == MC_H5_GROUP)
        rc = H5Literate(o->id, H5_INDEX_NAME, H5_ITER_INC, &from, each_link, &l);
    else if (what == MC_H5_ATTRIBUTES && o->about.kind != MC_H5_ATTRIBUTE)
        rc = H5Aiterate2(o->id, H5_INDEX_NAME, H5_ITER_INC, &from, each_attribute, &l);
    else if (what == MC_H5_FILTERS)
        rc = each_filter(o, &l);
    if (rc < 0) {
        hdf5_host->free(l.names);
        hdf5_host->free(l.places);
        return damaged(o->label, "its names cannot be listed");
    }
    hdf5_host->free(o->names);
    hdf5_host->free(o->places);
    o->names = l.names;
    o->places = l.places;
    o->listed = what;
    o->listed_count = l.count;
    return 0;
}

static int64_t count_names(void *p, int what)
{
    object *o = p;
    if (hdf5_enter_with_room(o->label)) return -1;
    const int rc = o->listed == what ? 0 : list_names(o, what);
    hdf5_leave();
    return rc ? -1 : o->listed_count;
}

static const char *name_of(const void *p, int what, int64_t i)
{
    const object *o = p;
    return o->listed == what && i >= 0 && i < o->listed_count ? o->names + o->places[i] : NULL;
}

/* ---- reading ---- */

/* Refuses a dataset packed by something that is not here, before libhdf5 fails half way. */
static int check_filters(const object *o)
{
    char name[80] = "";
    unsigned flags;
    int status = 0;
    hid_t list = H5Dget_create_plist(o->id);
    if (list < 0) return 0;
    for (int k = 0, n = H5Pget_nfilters(list); k < n && !status; k++) {
        size_t values = 0;
        const H5Z_filter_t id =
            H5Pget_filter2(list, (unsigned)k, &flags, &values, NULL, sizeof name, name, NULL);
        if (id >= 0 && H5Zfilter_avail(id) <= 0)
            status = hdf5_host->error(STATUS_UNSUPPORTED,
                                      "hdf5: %s: it is packed by filter %d%s%s, which is not here; "
                                      "install its plug-in for HDF5 and "
                                      "name the folder in HDF5_PLUGIN_PATH, or pack it with gzip",
                                      o->label, (int)id, name[0] ? ", " : "", name);
    }
    (void)H5Pclose(list);
    return status;
}

static int check_selection(const object *o, const int64_t *start, const int64_t *count,
                           const int64_t *step)
{
    for (int k = 0; k < o->about.rank; k++) {
        const int64_t n = o->about.shape[k];
        if (start[k] < 0 || count[k] < 0 || step[k] < 1 || count[k] > n ||
            (count[k] > 0 && (start[k] >= n || (count[k] - 1) > (n - 1 - start[k]) / step[k])))
            return hdf5_host->error(STATUS_INVALID,
                                    "hdf5: %s: the selection lies outside its shape", o->label);
    }
    return 0;
}

/* Whole numbers past 2^63, which have no dtype here, and booleans that are neither. */
static int check_values(const object *o, void *out, int64_t n)
{
    if (o->about.type == 'b') {
        unsigned char *b = out;
        for (int64_t k = 0; k < n; k++) b[k] = b[k] != 0;
    }
    if (o->about.type == 'u' && o->about.size == 8) {
        const int64_t *v = out;
        for (int64_t k = 0; k < n; k++)
            if (v[k] < 0)
                return hdf5_host->error(
                    STATUS_UNSUPPORTED,
                    "hdf5: %s: it holds %llu; numbers from 2^63 on have no dtype here", o->label,
                    (unsigned long long)v[k]);
    }
    return 0;
}

/* Rows along the first axis that are read at once: whole chunks of about SLAB bytes. */
static int64_t rows_at_once(const object *o, const int64_t *count, const int64_t *step,
                            int64_t item)
{
    int64_t row = item, chunk = 1;
    for (int k = 1; k < o->about.rank; k++) row *= count[k];
    int64_t rows = SLAB / (row > 0 ? row : 1);
    if (o->about.chunked && step[0] == 1) chunk = o->about.chunk[0];
    rows = rows / chunk * chunk;
    return rows > 0 ? rows : chunk;
}

/* Elements of the selection to out, whose items take `item` bytes. */
static int read_slabs(const object *o, const int64_t *start, const int64_t *count,
                      const int64_t *step, int64_t item, void *out)
{
    hsize_t from[MC_H5_RANK], many[MC_H5_RANK], apart[MC_H5_RANK];
    const int rank = o->about.rank;
    int status = 0;
    if (o->about.kind == MC_H5_ATTRIBUTE)
        return H5Aread(o->id, o->memory, out) < 0 ? damaged(o->label, "it cannot be read") : 0;
    status = check_filters(o);
    if (status) return status;
    if (rank == 0)
        return H5Dread(o->id, o->memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) < 0
                   ? damaged(o->label, "it cannot be read")
                   : 0;
    int64_t row = item;
    for (int k = 0; k < rank; k++) {
        from[k] = (hsize_t)start[k];
        many[k] = (hsize_t)count[k];
        apart[k] = (hsize_t)step[k];
        if (k > 0) row *= count[k];
    }
    const int64_t rows = rows_at_once(o, count, step, item);
    hid_t space = H5Scopy(o->space);
    if (space < 0) return no_memory(o->label);
    for (int64_t at = 0, n = 0; at < count[0] && !status; at += n) {
        if (hdf5_host->cancelled()) {
            status = hdf5_host->error(STATUS_CANCELLED, "hdf5: %s: cancelled", o->label);
            break;
        }
        n = rows;
        if (o->about.chunked && step[0] == 1)
            n -= (start[0] + at) % o->about.chunk[0]; /* up to the border of a chunk */
        if (n > count[0] - at) n = count[0] - at;
        from[0] = (hsize_t)(start[0] + at * step[0]);
        many[0] = (hsize_t)n;
        hid_t memory = H5Screate_simple(rank, many, NULL);
        if (memory < 0 || H5Sselect_hyperslab(space, H5S_SELECT_SET, from, apart, many, NULL) < 0)
            status = no_memory(o->label);
        else if (H5Dread(o->id, o->memory, memory, space, H5P_DEFAULT, (char *)out + at * row) < 0)
            status = damaged(o->label, "it cannot be read");
        if (memory >= 0) (void)H5Sclose(memory);
    }
    (void)H5Sclose(space);
    return status;
}

static int64_t selected(const object *o, const int64_t *count)
{
    int64_t n = o->about.null ? 0 : 1;
    if (o->about.kind == MC_H5_ATTRIBUTE) return o->about.numel;
    for (int k = 0; k < o->about.rank; k++) n *= count[k];
    return n;
}

static int read_numbers(const void *p, const int64_t *start, const int64_t *count,
                        const int64_t *step, void *out)
{
    const object *o = p;
    if (o->about.holds != MC_H5_NUMBERS && o->about.holds != MC_H5_REFERENCES)
        return hdf5_host->error(STATUS_UNSUPPORTED,
                                "hdf5: %s: it holds no numbers that have a dtype here", o->label);
    int status = check_selection(o, start, count, step);
    const int64_t n = status ? 0 : selected(o, count);
    if (n == 0) return status;
    status = hdf5_enter_with_room(o->label);
    if (status) return status;
    status = read_slabs(o, start, count, step, o->about.size, out);
    hdf5_leave();
    return status ? status : check_values(o, out, n);
}

/* ---- texts ---- */

#define MOST_TEXTS ((int64_t)1 << 24)

/* Bytes of text i in what was read, and where they are. */
static const char *text_in(const object *o, const void *raw, int64_t i, int64_t item,
                           int64_t *bytes)
{
    const char *s;
    if (H5Tget_class(o->memory) == H5T_VLEN) {
        const hvl_t *v = (const hvl_t *)raw + i;
        *bytes = v->p ? (int64_t)v->len : 0;
        return v->p;
    }
    if (H5Tis_variable_str(o->memory) > 0) {
        s = ((char *const *)raw)[i];
        *bytes = s ? (int64_t)strlen(s) : 0;
        return s;
    }
    s = (const char *)raw + i * item;
    int64_t n = (int64_t)strnlen(s, (size_t)item);
    if (H5Tget_strpad(o->memory) == H5T_STR_SPACEPAD)
        while (n > 0 && s[n - 1] == ' ') n--;
    *bytes = n;
    return s;
}

static int keep_texts(object *o, const void *raw, int64_t n, int64_t item)
{
    int64_t total = 0, bytes;
    for (int64_t i = 0; i < n; i++) {
        (void)text_in(o, raw, i, item, &bytes);
        total += bytes + 1;
    }
    hdf5_host->free(o->texts);
    hdf5_host->free(o->text_places);
    o->text_count = 0;
    o->texts = hdf5_alloc((size_t)total + 1);
    o->text_places = hdf5_alloc((size_t)(n + 1) * sizeof *o->text_places);
    if (!o->texts || !o->text_places) return STATUS_NOMEM;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        const char *s = text_in(o, raw, i, item, &bytes);
        o->text_places[i] = at;
        if (bytes > 0) memcpy(o->texts + at, s, (size_t)bytes);
        at += bytes;
    }
    o->text_places[n] = at;
    o->text_count = n;
    return 0;
}

static int read_texts(void *p, const int64_t *start, const int64_t *count, const int64_t *step)
{
    object *o = p;
    if (o->about.holds != MC_H5_TEXTS)
        return hdf5_host->error(STATUS_UNSUPPORTED, "hdf5: %s: it holds no texts", o->label);
    int status = check_selection(o, start, count, step);
    if (status) return status;
    const int64_t n = selected(o, count);
    status = hdf5_enter_with_room(o->label);
    if (status) return status;
    const int64_t item = (int64_t)H5Tget_size(o->memory);
    const int points = H5Tget_class(o->memory) == H5T_VLEN || H5Tis_variable_str(o->memory) > 0;
    if (n > MOST_TEXTS || item <= 0 || item > ((int64_t)1 << 32) / (n > 0 ? n : 1)) {
        status = hdf5_host->error(
            STATUS_UNSUPPORTED,
            "hdf5: %s: its texts are more than 16 million or 4 GiB; read fewer at a time",
            o->label);
        goto done;
    }
    void *raw = hdf5_alloc((size_t)(n * item) + 1);
    if (!raw) {
        status = STATUS_NOMEM;
        goto done;
    }
    memset(raw, 0, (size_t)(n * item) + 1);
    if (n > 0) status = read_slabs(o, start, count, step, item, raw);
    if (!status) status = keep_texts(o, raw, n, item);
    if (points && n > 0) { /* also after a failure: what was read before it */
        const hsize_t one = (hsize_t)n;
        hid_t flat = H5Screate_simple(1, &one, NULL);
        if (flat >= 0) {
            (void)H5Dvlen_reclaim(o->memory, flat, H5P_DEFAULT, raw);
            (void)H5Sclose(flat);
        }
    }
    hdf5_host->free(raw);
done:
    hdf5_leave();
    return status;
}

static const char *text_of(const void *p, int64_t i, int64_t *bytes)
{
    const object *o = p;
    if (i < 0 || i >= o->text_count) return NULL;
    *bytes = o->text_places[i + 1] - o->text_places[i];
    return o->texts + o->text_places[i];
}

MC_API int mc_plugin_open(const mc_host_api *h, void *api);

int mc_plugin_open(const mc_host_api *h, void *api)
{
    static char name[32];
    unsigned a = 0, b = 0, c = 0;
    mc_hdf5_api *t = api;
    if (h->abi != MC_BACKEND_ABI || t->abi != MC_BACKEND_ABI)
        return h->error(
            STATUS_UNSUPPORTED,
            "hdf5: the plug-in belongs to another version of mascon; build both together");
    hdf5_host = h;
    /* At the end of the process nothing of ours needs libhdf5, and its own clean-up has ended in
     * crashes over files that could not be opened for want of memory (1.10.8). */
    (void)H5dont_atexit();
    if (H5open() < 0 || H5get_libversion(&a, &b, &c) < 0)
        return h->error(STATUS_INTERNAL, "hdf5: the library does not start");
    (void)snprintf(name, sizeof name, "HDF5 %u.%u.%u", a, b, c);
    t->name = name;
    t->open = open_file;
    t->at = open_at;
    t->attribute = open_attribute;
    t->refer = open_reference;
    t->about = about_object;
    t->count = count_names;
    t->name_of = name_of;
    t->read = read_numbers;
    t->read_texts = read_texts;
    t->text = text_of;
    t->close = close_any;
    hdf5_writer_api(t);
    return 0;
}
