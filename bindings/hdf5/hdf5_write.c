/* hdf5_write.c - the HDF5 neighbour, its writing half: groups, datasets, texts, attributes.
 *
 * The file is a descriptor that the host opened under a temporary name (hdf5_drive.c). Equal
 * contents give equal bytes: no times are stored. */
#include "parts.h"

#include <string.h>

#define CHUNK_BYTES ((int64_t)1 << 20)

typedef struct writer {
    hdf5_sink to;
    hid_t file;
    hid_t set, memory; /* the dataset begun last, or an attribute */
    int attribute, rank;
    int64_t row; /* bytes of one row of it */
    int64_t shape[MC_H5_RANK];
    char path[];
} writer;

/* ---- writers ---- */

static int refuse(const writer *w, const char *name, const char *what)
{
    const int status = hdf5_starved(w->path);
    if (status) return status;
    if (w->to.err) return hdf5_host->error(STATUS_IO, "hdf5: %s: %s", w->path, strerror(w->to.err));
    return hdf5_host->error(STATUS_INVALID, "hdf5: %s: %s: %s (%s)", w->path, name, what,
                            hdf5_why());
}

static void end_set(writer *w)
{
    if (w->memory >= 0) (void)H5Tclose(w->memory);
    if (w->set >= 0) (void)(w->attribute ? H5Aclose(w->set) : H5Dclose(w->set));
    w->set = w->memory = -1;
}

static void *create(int fd, const char *path)
{
    const size_t n = strlen(path) + 1;
    writer *w = hdf5_host->alloc(sizeof *w + n);
    if (!w) return NULL;
    memset(w, 0, sizeof *w);
    memcpy(w->path, path, n);
    w->to.fd = fd;
    w->file = w->set = w->memory = -1;
    if (hdf5_enter_with_room(path)) {
        hdf5_host->free(w);
        return NULL;
    }
    const hid_t access = hdf5_access(&w->to);
    if (access >= 0 && H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0)
        w->file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    if (w->file < 0) (void)hdf5_why();
    if (access >= 0) (void)H5Pclose(access);
    if (w->file < 0) (void)refuse(w, "/", "the file cannot be begun");
    hdf5_leave();
    if (w->file >= 0) return w;
    hdf5_host->free(w);
    return NULL;
}

static hid_t with_parents(void)
{
    const hid_t list = H5Pcreate(H5P_LINK_CREATE);
    if (list >= 0) {
        (void)H5Pset_create_intermediate_group(list, 1);
        (void)H5Pset_char_encoding(list, H5T_CSET_UTF8);
    }
    return list;
}

static int put_group(void *p, const char *name)
{
    writer *w = p;
    int status = 0;
    status = hdf5_enter_with_room(w->path);
    if (status) return status;
    end_set(w);
    const hid_t links = with_parents(),
                g = H5Gcreate2(w->file, name, links, H5P_DEFAULT, H5P_DEFAULT);
    if (g < 0 || w->to.err) status = refuse(w, name, "the group cannot be made");
    if (g >= 0) (void)H5Gclose(g);
    if (links >= 0) (void)H5Pclose(links);
    hdf5_leave();
    return status;
}

/* Chunks of about CHUNK_BYTES: whole rows, then halves along the first axis that is not 1. */
static void choose_chunk(int rank, const int64_t *shape, int64_t item, hsize_t *chunk)
{
    int64_t bytes = item;
    for (int k = 0; k < rank; k++) {
        chunk[k] = (hsize_t)shape[k];
        bytes *= shape[k];
    }
    for (int k = 0; k < rank; k++)
        while (bytes > CHUNK_BYTES && chunk[k] > 1) {
            bytes = bytes / (int64_t)chunk[k] * (int64_t)((chunk[k] + 1) / 2);
            chunk[k] = (chunk[k] + 1) / 2;
        }
}

static hid_t layout(int rank, const int64_t *shape, const int64_t *chunk, int level, int64_t item)
{
    hsize_t sizes[MC_H5_RANK];
    int64_t numel = 1;
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    if (list < 0) return -1;
    int ok = H5Pset_obj_track_times(list, 0) >= 0;
    for (int k = 0; k < rank; k++) numel *= shape[k];
    if (ok && rank > 0 && numel > 0 && (chunk || level > 0)) {
        if (chunk)
            for (int k = 0; k < rank; k++) sizes[k] = (hsize_t)chunk[k];
        else
            choose_chunk(rank, shape, item, sizes);
        ok = H5Pset_chunk(list, rank, sizes) >= 0;
        if (ok && level > 0)
            ok = H5Pset_shuffle(list) >= 0 && H5Pset_deflate(list, (unsigned)level) >= 0;
    }
    if (ok) return list;
    (void)H5Pclose(list);
    return -1;
}

/* A dataset `name`, or an attribute of it on `of`, of type `type` in the file. */
static hid_t make_set(writer *w, const char *of, const char *name, hid_t type, hid_t space,
                      hid_t list)
{
    if (of) {
        const hid_t on = H5Oopen(w->file, of, H5P_DEFAULT);
        if (on < 0) return -1;
        const hid_t a = H5Acreate2(on, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
        if (a < 0) (void)hdf5_why();
        (void)H5Oclose(on);
        return a;
    }
    const hid_t links = with_parents();
    const hid_t set = H5Dcreate2(w->file, name, type, space, links, list, H5P_DEFAULT);
    if (set < 0) (void)hdf5_why();
    if (links >= 0) (void)H5Pclose(links);
    return set;
}

static hid_t space_of(int rank, const int64_t *shape)
{
    hsize_t sizes[MC_H5_RANK];
    for (int k = 0; k < rank; k++) sizes[k] = (hsize_t)shape[k];
    return rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, sizes, NULL);
}

static int begin(void *p, const char *of, const char *name, int type, int size, int rank,
                 const int64_t *shape, const int64_t *chunk, int level)
{
    writer *w = p;
    int status = 0;
    if (rank > MC_H5_RANK)
        return hdf5_host->error(STATUS_INVALID, "hdf5: %s: %s: more than %d axes", w->path, name,
                                MC_H5_RANK);
    status = hdf5_enter_with_room(w->path);
    if (status) return status;
    end_set(w);
    w->attribute = of != NULL;
    w->rank = rank;
    w->row = size;
    for (int k = 0; k < rank; k++) {
        w->shape[k] = shape[k];
        if (k > 0) w->row *= shape[k];
    }
    w->memory = hdf5_memory_type(type, size);
    const hid_t space = space_of(rank, shape), list = layout(rank, shape, chunk, level, size);
    if (list >= 0) (void)H5Pset_fill_time(list, H5D_FILL_TIME_NEVER); /* every element is written */
    if (w->memory < 0 || space < 0 || list < 0)
        status = refuse(w, name, "its shape, chunks or type are refused");
    else
        w->set = make_set(w, of, name, w->memory, space, list);
    if (!status && w->set < 0)
        status =
            refuse(w, name, of ? "the attribute cannot be made" : "the dataset cannot be made");
    if (!status && w->to.err) status = refuse(w, name, "cannot be written");
    if (space >= 0) (void)H5Sclose(space);
    if (list >= 0) (void)H5Pclose(list);
    hdf5_leave();
    return status;
}

/* Rows [first, first + n) of the dataset. */
static int write_rows(writer *w, int64_t first, int64_t n, const void *data)
{
    hsize_t from[MC_H5_RANK], many[MC_H5_RANK];
    for (int k = 0; k < w->rank; k++) {
        from[k] = k ? 0 : (hsize_t)first;
        many[k] = (hsize_t)(k ? w->shape[k] : n);
    }
    const hid_t space = H5Dget_space(w->set), memory = H5Screate_simple(w->rank, many, NULL);
    int ok = space >= 0 && memory >= 0 &&
             H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, many, NULL) >= 0 &&
             H5Dwrite(w->set, w->memory, memory, space, H5P_DEFAULT, data) >= 0 && !w->to.err;
    if (!ok) (void)hdf5_why();
    if (space >= 0) (void)H5Sclose(space);
    if (memory >= 0) (void)H5Sclose(memory);
    return ok ? 0 : refuse(w, "data", "cannot be written");
}

static int write_set(void *p, int64_t first, int64_t count, const void *data)
{
    writer *w = p;
    int status = 0;
    if (w->set < 0)
        return hdf5_host->error(STATUS_INVALID, "hdf5: %s: no dataset is begun", w->path);
    if (w->rank > 0 && (first < 0 || count < 0 || first > w->shape[0] - count))
        return hdf5_host->error(STATUS_INVALID, "hdf5: %s: rows outside the dataset", w->path);
    status = hdf5_enter_with_room(w->path);
    if (status) return status;
    if (w->attribute) {
        if (H5Awrite(w->set, w->memory, data) < 0)
            status = refuse(w, "attribute", "cannot be written");
    } else if (w->rank == 0) {
        if (H5Dwrite(w->set, w->memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
            status = refuse(w, "data", "cannot be written");
    } else if (w->row > 0) {
        const int64_t rows = SLAB / w->row > 0 ? SLAB / w->row : 1;
        for (int64_t at = 0; at < count && !status; at += rows) {
            const int64_t n = count - at < rows ? count - at : rows;
            if (hdf5_host->cancelled())
                status = hdf5_host->error(STATUS_CANCELLED, "hdf5: %s: cancelled", w->path);
            else
                status = write_rows(w, first + at, n, (const char *)data + at * w->row);
        }
    }
    if (!status && w->to.err) status = refuse(w, "data", "cannot be written");
    hdf5_leave();
    return status;
}

static int put_texts(void *p, const char *of, const char *name, int rank, int64_t n,
                     const char *const *texts)
{
    writer *w = p;
    int status = 0;
    status = hdf5_enter_with_room(w->path);
    if (status) return status;
    end_set(w);
    const hid_t type = H5Tcopy(H5T_C_S1), space = space_of(rank, &n),
                list = layout(rank, &n, NULL, 0, 16);
    hid_t set = -1;
    if (type < 0 || space < 0 || list < 0 || H5Tset_size(type, H5T_VARIABLE) < 0 ||
        H5Tset_cset(type, H5T_CSET_UTF8) < 0)
        status = refuse(w, name, "its shape is refused");
    else
        set = make_set(w, of, name, type, space, list);
    if (!status && set < 0)
        status =
            refuse(w, name, of ? "the attribute cannot be made" : "the dataset cannot be made");
    if (set >= 0 && n > 0 &&
        (of ? H5Awrite(set, type, texts)
            : H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts)) < 0)
        status = refuse(w, name, "cannot be written");
    if (set >= 0) (void)(of ? H5Aclose(set) : H5Dclose(set));
    if (!status && w->to.err) status = refuse(w, name, "cannot be written");
    if (type >= 0) (void)H5Tclose(type);
    if (space >= 0) (void)H5Sclose(space);
    if (list >= 0) (void)H5Pclose(list);
    hdf5_leave();
    return status;
}

static int finish(void *p)
{
    writer *w = p;
    int status = 0;
    hdf5_enter();
    end_set(w);
    if (w->file < 0)
        status =
            hdf5_host->error(STATUS_INVALID, "hdf5: %s: the file is complete already", w->path);
    else if (H5Fflush(w->file, H5F_SCOPE_GLOBAL) < 0 || w->to.err) {
        status = refuse(w, "/", "cannot be written");
        w->to.dropped = 1;
    }
    /* once, whatever it says: libhdf5 forgets the file before it fails */
    if (w->file >= 0 && H5Fclose(w->file) < 0 && !status)
        status = refuse(w, "/", "cannot be closed");
    if (!status && w->to.err) status = refuse(w, "/", "cannot be written");
    w->file = -1;
    hdf5_leave();
    return status;
}

static int failure(const void *p)
{
    return ((const writer *)p)->to.err;
}

static void drop(void *p)
{
    writer *w = p;
    if (!w) return;
    hdf5_enter();
    w->to.dropped = 1;
    end_set(w);
    if (w->file >= 0) (void)H5Fclose(w->file);
    hdf5_leave();
    hdf5_host->free(w);
}

void hdf5_writer_api(mc_hdf5_api *t)
{
    t->create = create;
    t->put_group = put_group;
    t->begin = begin;
    t->write = write_set;
    t->put_texts = put_texts;
    t->finish = finish;
    t->failure = failure;
    t->drop = drop;
}
