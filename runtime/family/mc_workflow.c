/* mc_workflow.c - ops that workflows bring along in a plug-in of their own: what they are given,
 * how they are opened. How their rows run stands in mc_added.c.
 *
 * A plug-in stays open until the process ends, as its ops do. */
#include "family/mc_added.h"
#include "family/mc_fft.h"
#include "family/mc_family.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- what a plug-in is given ---- */

typedef struct tasks_job {
    mc_tasks_fn fn;
    const void *args;
    char *work;
    int64_t bytes;
} tasks_job;

static void run_tasks(void *arg, int64_t begin, int64_t end, int worker)
{
    const tasks_job *j = arg;
    j->fn(j->args, begin, end, j->work + worker * j->bytes);
}

static int tasks(mc_tasks_fn fn, const void *args, int64_t n, int64_t work)
{
    tasks_job j = {fn, args, NULL, (work + 63) & ~(int64_t)63};
    int64_t total;
    if (n == 0)
        return MC_OK;
    if (mci_size_mul(j.bytes, mci_workers(n), &total))
        return mc_errstatus();
    j.work = mci_alloc((size_t)total);
    int rc = j.work ? mci_parallel(n, run_tasks, &j) : mc_errstatus();
    mci_free(j.work);
    return rc;
}

static int dtype_size(int dtype) { return (int)MCI_SIZE(dtype); }

static int axis(const mc_call *c, int k, int64_t given, int *at)
{
    return mci_axis(c->name, c->in[k], given, at);
}

static int broadcast(const mc_call *c, int *ndim, int64_t *shape)
{
    return mci_broadcast(c->name, c->in, c->nin, ndim, shape);
}

static int promoted(const mc_call *c, int *dtype)
{
    int compute;
    return mci_resolve(c->row, c->nin, c->in, dtype, &compute);
}

static int operand(const mc_call *c, int k, int dtype, int64_t least)
{
    char s[MCI_TEXT];
    if (k >= c->nin)
        return mci_error(MC_EINVAL, "%s: operand %d is missing", c->name, k + 1);
    const mc_tensor *t = c->in[k];
    if ((dtype < 0 || t->dtype == dtype) && t->numel >= least && !mci_contiguous(t))
        return mci_error(MC_EDTYPE,
                         "%s: operand %d is %s, which is not contiguous; give x:contiguous()",
                         c->name, k + 1, mci_tensor_text(s, sizeof s, t));
    if ((dtype >= 0 && t->dtype != dtype) || !mci_contiguous(t) || t->numel < least)
        return mci_error(
            MC_EDTYPE, "%s: operand %d is %s; it must be contiguous %s with at least %lld elements",
            c->name, k + 1, mci_tensor_text(s, sizeof s, t), mc_dtype_name(dtype),
            (long long)least);
    return MC_OK;
}

static void *wanted(mc_results *r, int64_t bit, int dtype, int ndim, const int64_t *shape)
{
    if (r->rc || !(r->want & bit))
        return NULL;
    if (r->next >= r->call->nout) {
        r->rc = mci_error(MC_EINVAL, "%s: %d results are not enough for what is wanted",
                          r->call->name, r->call->nout);
        return NULL;
    }
    const int k = r->next++;
    if (r->call->infer) r->rc = mci_added_shape(r->call, k, dtype, ndim, shape);
    return r->call->infer ? NULL : r->call->out[k]->data;
}

static int finish(mc_results *r, int rc)
{
    rc = rc ? rc : r->rc;
    if (!rc && r->next != r->call->nout)
        return mci_error(MC_EINVAL, "%s: %d results given, %d wanted", r->call->name, r->call->nout,
                         r->next);
    return rc;
}

static int run_named(const char *name, int nout, mc_tensor **out, int nin,
                     const mc_tensor *const *in, const mc_params *p)
{
    const mci_op *op = mci_op_named(name);
    return op ? mc_op(op->id, nout, out, nin, in, p)
              : mci_error(MC_EINVAL, "there is no op %s", name);
}

static int fft_plan(mc_fft_use *use, int kind, int prec, int64_t n)
{
    mci_fft_use own;
    int rc = mci_fft_plan(&own, kind, prec, n);
    *use = (mc_fft_use){own.plan, own.execute, own.slot, own.held, own.align};
    return rc;
}

static void fft_done(mc_fft_use *use)
{
    mci_fft_use own = {use->plan, use->execute, use->slot, use->held, use->align};
    mci_fft_done(&own);
    use->held = own.held;
}

static int gemm(int type, int transa, int transb, int64_t m, int64_t n, int64_t k, const void *a,
                int64_t lda, const void *b, int64_t ldb, void *c, int64_t ldc)
{
    const mc_blas_api *blas = mci_blas();
    if (!blas)
        return mc_errstatus();
    blas->gemm(type, transa, transb, m, n, k, a, lda, b, ldb, c, ldc);
    return MC_OK;
}

static const mc_host_table host = {
    .abi = MC_PLUGIN_ABI,
    .error = mci_error,
    .status = mc_errstatus,
    .alloc = mci_alloc,
    .free = mci_free,
    .size = mci_size_mul,
    .parallel = mci_parallel,
    .workers = mci_workers,
    .tasks = tasks,
    .cancelled = mc_cancel_pending,
    .isa = mci_isa,
    .clock = mc_clock,
#ifdef MC_DEBUG
    .assert_failed = mci_assert_failed,
#endif
    .text = mci_tensor_text,
    .dtype_name = mc_dtype_name,
    .dtype_size = dtype_size,
    .dtype_kind = mci_kind,
    .contiguous = mci_contiguous,
    .overlap = mci_overlap,
    .axis = axis,
    .broadcast = broadcast,
    .broadcast_strides = mci_broadcast_strides,
    .promoted = promoted,
    .dense = mci_materialize,
    .gather = mci_gather,
    .scatter = mci_scatter,
    .create = mc_create,
    .drop = mc_drop,
    .operand = operand,
    .shape = mci_added_shape,
    .wanted = wanted,
    .finish = finish,
    .op = run_named,
    .fft_plan = fft_plan,
    .fft_done = fft_done,
    .gemm = gemm,
};

/* ---- opened ---- */

struct mc_workflow {
    const mc_plugin_row *rows;
    mc_workflow *next;
    char path[];
};

/* guards the list of those that are open */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static mc_workflow *opened;

static mc_workflow *open_locked(const char *path)
{
    for (mc_workflow *w = opened; w; w = w->next)
        if (!strcmp(w->path, path))
            return w;
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    mc_plugin_rows_fn rows_of = NULL;
    if (!lib) {
        mci_error(MC_EUNSUPPORTED, "%s cannot be opened: %s", path, dlerror());
        return NULL;
    }
    *(void **)(&rows_of) = dlsym(lib, "mc_plugin_rows");
    const mc_plugin_row *rows = rows_of ? rows_of(&host) : NULL;
    mc_workflow *w = rows ? mci_alloc(sizeof *w + strlen(path) + 1) : NULL;
    if (!rows_of)
        mci_error(MC_EUNSUPPORTED, "%s is no native part of a workflow: it has no MC_PLUGIN(...)",
                  path);
    else if (!rows)
        mci_error(MC_EUNSUPPORTED,
                  "%s was built for another version of mc_plugin.h than %d; compile it again", path,
                  MC_PLUGIN_ABI);
    if (!w) {
        dlclose(lib);
        return NULL;
    }
    strcpy(w->path, path);
    w->rows = rows;
    w->next = opened;
    opened = w;
    return w;
}

mc_workflow *mc_workflow_open(const char *path)
{
    pthread_mutex_lock(&lock);
    mc_workflow *w = open_locked(path);
    pthread_mutex_unlock(&lock);
    return w;
}

const char *mc_workflow_row(const mc_workflow *w, int k) { return w->rows[k].name; }

int mc_workflow_add(mc_workflow *w, int k, int nin, int nout, int promote, const int8_t *compute)
{
    return mci_added_new(&w->rows[k], nin, nout, promote, compute);
}
