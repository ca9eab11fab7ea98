/* mc_hdf5.c - HDF5 files through the plug-in: its objects under public names, its writer on a file
 * that appears when it is whole.
 *
 * Files of others are read by a process of their own (mc_hdf5_apart.c), those that this process
 * wrote, or all with MASCON_HDF5=inprocess, here. Holds the way between the plug-in's types and
 * dtypes and the temporary file behind a writer.
 * What lies in the file is libhdf5's matter. */
#define MCI_FORMATS
#include "formats/mc_formats.h"
#include "formats/mc_hdf5_apart.h"
#include "device/mc_context.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The public names of the plug-in's numbers. */
_Static_assert((int)MC_HDF5_ELSE == (int)MC_H5_ELSE &&
                   (int)MC_HDF5_REFERENCES == (int)MC_H5_REFERENCES &&
                   (int)MC_HDF5_FILTERS == (int)MC_H5_FILTERS &&
                   MC_HDF5_CHUNK - MC_HDF5_SHAPE == MC_H5_RANK,
               "mc_formats.h and mc_backend.h name the same things");

struct mc_hdf5_writer {
    mci_outfile *out;
    void *to; /* the plug-in's writer */
    char path[];
};

static const struct {
    int dtype, type, size;
} types[] = {
    { MC_BOOL, 'b', 1 }, { MC_U8, 'u', 1 },  { MC_I8, 'i', 1 },  { MC_I16, 'i', 2 },
    { MC_I32, 'i', 4 },  { MC_I64, 'i', 8 }, { MC_F16, 'f', 2 }, { MC_BF16, 'w', 2 },
    { MC_F32, 'f', 4 },  { MC_F64, 'f', 8 }, { MC_C64, 'c', 8 }, { MC_C128, 'c', 16 },
    { MC_I64, 'u', 8 },
};
#define TYPES ((int)(sizeof types / sizeof types[0]))

/* An object of the plug-in, or of a process that reads with it. */
struct mc_hdf5 {
    const mc_hdf5_api *api;
    void *o;
};

/* ---- files of this process ---- */

/* The files that were written last, or that the caller knows, which are read here: we know what is
 * in them. */
#define OWN 64
static struct own {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
} own[OWN]; /* guarded by own_lock */
static int own_next;
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;

static int identify(const char *path, struct own *out)
{
    struct stat st;
    if (stat(path, &st) != 0) return -1;
    memset(out, 0, sizeof *out);
    out->device = st.st_dev;
    out->inode = st.st_ino;
    out->size = st.st_size;
    out->changed = st.st_mtim;
    return 0;
}

static void remember(const char *path)
{
    struct own mine;
    if (identify(path, &mine)) return;
    (void)pthread_mutex_lock(&own_lock);
    own[own_next++ % OWN] = mine;
    (void)pthread_mutex_unlock(&own_lock);
}

void mc_hdf5_trust(const char *path)
{
    remember(path);
}

static int written_here(const char *path)
{
    struct own mine;
    int found = 0;
    if (identify(path, &mine)) return 0;
    (void)pthread_mutex_lock(&own_lock);
    for (int k = 0; k < OWN && !found; k++) found = memcmp(&own[k], &mine, sizeof mine) == 0;
    (void)pthread_mutex_unlock(&own_lock);
    return found;
}

/* ---- reading ---- */

static mc_hdf5 *handle(const mc_hdf5_api *api, void *o)
{
    mc_hdf5 *h = o ? mci_alloc(sizeof *h) : NULL;
    if (!h && o) api->close(o);
    if (!h) return NULL;
    h->api = api;
    h->o = o;
    return h;
}

/* Who reads a file: a process of its own, unless we wrote it or the user trusts it, or the library
 * was embedded and there is no program to start. */
static const mc_hdf5_api *reader_of(const char *path)
{
    const char *how = getenv("MASCON_HDF5");
    const mc_hdf5_api *here = mci_hdf5(), *apart = here ? mci_hdf5_apart() : NULL;
    if (!apart || (how && !strcmp(how, "inprocess"))) return here;
    if (how && !strcmp(how, "child")) return apart;
    return written_here(path) ? here : apart;
}

mc_hdf5 *mc_hdf5_open(const char *path)
{
    if (!path || !path[0]) {
        mci_error(MC_EINVAL, "hdf5: the file name is empty; give a path");
        return NULL;
    }
    const mc_hdf5_api *api = reader_of(path);
    return api ? handle(api, api->open(path)) : NULL;
}

/* Objects exist only where the plug-in does. */
static const mc_hdf5_api *api_of(const mc_hdf5 *o)
{
    if (o) return o->api;
    mci_error(MC_EINVAL, "hdf5: no object; open the file with mc_hdf5_open");
    return NULL;
}

mc_hdf5 *mc_hdf5_at(const mc_hdf5 *o, const char *name)
{
    const mc_hdf5_api *api = api_of(o);
    return api ? handle(api, api->at(o->o, name)) : NULL;
}

mc_hdf5 *mc_hdf5_attribute(const mc_hdf5 *o, const char *name)
{
    const mc_hdf5_api *api = api_of(o);
    return api ? handle(api, api->attribute(o->o, name)) : NULL;
}

mc_hdf5 *mc_hdf5_refer(const mc_hdf5 *o, int64_t reference)
{
    const mc_hdf5_api *api = api_of(o);
    return api ? handle(api, api->refer(o->o, reference)) : NULL;
}

int mc_hdf5_info(const mc_hdf5 *o, int64_t *out)
{
    const mc_hdf5_api *api = api_of(o);
    mc_hdf5_about a;
    if (!api) return mc_errstatus();
    api->about(o->o, &a);
    out[MC_HDF5_KIND] = a.kind;
    out[MC_HDF5_HOLDS] = a.holds;
    out[MC_HDF5_DTYPE] = -1;
    for (int k = 0; k < TYPES; k++)
        if (a.holds == MC_H5_NUMBERS && types[k].type == a.type && types[k].size == a.size)
            out[MC_HDF5_DTYPE] = types[k].dtype;
    out[MC_HDF5_RANK] = a.rank;
    out[MC_HDF5_NUMEL] = a.numel;
    out[MC_HDF5_STORED] = a.stored;
    out[MC_HDF5_NULL] = a.null;
    out[MC_HDF5_CHUNKED] = a.chunked;
    out[MC_HDF5_FILE] = a.file;
    out[MC_HDF5_ADDRESS] = a.address;
    memcpy(out + MC_HDF5_SHAPE, a.shape, sizeof a.shape);
    memcpy(out + MC_HDF5_CHUNK, a.chunk, sizeof a.chunk);
    return MC_OK;
}

int mc_hdf5_count(mc_hdf5 *o, int what)
{
    const mc_hdf5_api *api = api_of(o);
    const int64_t n = api ? api->count(o->o, what) : -1;
    return n > INT32_MAX ? INT32_MAX : (int)n;
}

const char *mc_hdf5_name(const mc_hdf5 *o, int what, int64_t i)
{
    const mc_hdf5_api *api = api_of(o);
    return api ? api->name_of(o->o, what, i) : NULL;
}

int mc_hdf5_read(const mc_hdf5 *o, const int64_t *start, const int64_t *count, const int64_t *step,
                 void *out)
{
    const mc_hdf5_api *api = api_of(o);
    return api ? api->read(o->o, start, count, step, out) : mc_errstatus();
}

int mc_hdf5_read_texts(mc_hdf5 *o, const int64_t *start, const int64_t *count, const int64_t *step)
{
    const mc_hdf5_api *api = api_of(o);
    return api ? api->read_texts(o->o, start, count, step) : mc_errstatus();
}

const char *mc_hdf5_text(const mc_hdf5 *o, int64_t i, int64_t *bytes)
{
    const mc_hdf5_api *api = api_of(o);
    return api ? api->text(o->o, i, bytes) : NULL;
}

void mc_hdf5_free(mc_hdf5 *o)
{
    if (!o) return;
    o->api->close(o->o);
    mci_free(o);
}

/* ---- writing ---- */

mc_hdf5_writer *mc_hdf5_create(const char *path)
{
    const mc_hdf5_api *api = mci_hdf5();
    mc_hdf5_writer *w = api && path ? mci_calloc(1, sizeof *w + strlen(path) + 1) : NULL;
    if (!w) return NULL;
    strcpy(w->path, path);
    w->out = mci_outfile_open("hdf5", path, 1);
    w->to = w->out ? api->create(mci_outfile_fd(w->out), path) : NULL;
    if (w->to) return w;
    mci_outfile_free(w->out);
    mci_free(w);
    return NULL;
}

/* The record of a failed write comes from who knows the file. */
static int checked(mc_hdf5_writer *w, int status)
{
    const int err = status ? mci_hdf5()->failure(w->to) : 0;
    return err ? mci_outfile_failed(w->out, err) : status;
}

static const mc_hdf5_api *api_to(const mc_hdf5_writer *w)
{
    if (w) return mci_hdf5();
    mci_error(MC_EINVAL, "hdf5: no file; begin one with mc_hdf5_create");
    return NULL;
}

int mc_hdf5_put_group(mc_hdf5_writer *w, const char *name)
{
    const mc_hdf5_api *api = api_to(w);
    return api ? checked(w, api->put_group(w->to, name)) : mc_errstatus();
}

int mc_hdf5_begin(mc_hdf5_writer *w, const char *of, const char *name, int dtype, int rank,
                  const int64_t *shape, const int64_t *chunk, int level)
{
    const mc_hdf5_api *api = api_to(w);
    if (!api) return mc_errstatus();
    for (int k = 0; k < TYPES; k++)
        if (types[k].dtype == dtype)
            return checked(w, api->begin(w->to, of, name, types[k].type, types[k].size, rank, shape,
                                         chunk, level));
    return mci_error(MC_EDTYPE, "hdf5: dtype %d is unknown", dtype);
}

int mc_hdf5_write(mc_hdf5_writer *w, int64_t first, int64_t count, const void *data)
{
    const mc_hdf5_api *api = api_to(w);
    return api ? checked(w, api->write(w->to, first, count, data)) : mc_errstatus();
}

int mc_hdf5_put_texts(mc_hdf5_writer *w, const char *of, const char *name, int rank, int64_t n,
                      const char *const *texts)
{
    const mc_hdf5_api *api = api_to(w);
    return api ? checked(w, api->put_texts(w->to, of, name, rank, n, texts)) : mc_errstatus();
}

int mc_hdf5_commit(mc_hdf5_writer *w)
{
    const mc_hdf5_api *api = api_to(w);
    if (!api) return mc_errstatus();
    const int status = checked(w, api->finish(w->to));
    if (status) return status;
    const int done = mci_outfile_commit(w->out);
    if (!done) remember(w->path);
    return done;
}

void mc_hdf5_writer_free(mc_hdf5_writer *w)
{
    if (!w) return;
    mci_hdf5()->drop(w->to);
    mci_outfile_free(w->out);
    mci_free(w);
}
