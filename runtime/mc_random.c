/* mc_random.c - driver of random tensors: element i of a result is element first+i of the stream, whatever the cut.
 *
 * Parameters: i[0], i[1] key (low and high 32 bits), i[2], i[3] stream, i[4..] shape, d[] those of the distribution. May not know Philox. */
#include "mc_ops.h"
#include "../kernels/mck.h"

#define GRAIN 16384

typedef struct random_job {
    mck_random_fn fn;
    mck_random k;
    int64_t total, size;
} random_job;

static void random_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const random_job *j = arg;
    (void)end;
    (void)worker;
    mck_random k = j->k;
    k.first += begin * GRAIN;
    k.n = j->total - begin * GRAIN < GRAIN ? j->total - begin * GRAIN : GRAIN;
    k.out = (char *)j->k.out + begin * GRAIN * j->size;
    j->fn(&k);
}

/* axes/naxes carry the shape: axes[0..naxes) are sizes */
int mci_random_run(const mci_op *op, int nout, mc_tensor **outs, int nin, const mc_tensor *const *in, const mc_params *p)
{
    (void)nout;
    (void)nin;
    (void)in;
    mc_tensor *out = outs[0];
    int dtype = op->id == MC_OP_RANDOM_INTEGERS ? MC_I64 : p->dtype == MC_F32 ? MC_F32 : MC_F64, given = (out->flags & MC_FLAG_OUT) != 0;
    int nd = p->naxes < 0 ? 0 : p->naxes;
    if (op->id == MC_OP_RANDOM_INTEGERS && !(p->d[1] > p->d[0]))
        return mci_error(MC_EINVAL, "random_integers: low %.17g is above high %.17g; swap them", p->d[0], p->d[1] - 1);
    int rc = mci_out(op->name, out, dtype, nd, p->axes);
    if (rc || out->numel == 0)
        return rc;
    int fn = op->id == MC_OP_RANDOM_INTEGERS ? MCK_FN_RANDOM_INTEGERS_I64
             : op->id == MC_OP_RANDOM_NORMAL ? (dtype == MC_F32 ? MCK_FN_RANDOM_NORMAL_F32 : MCK_FN_RANDOM_NORMAL_F64)
                                             : (dtype == MC_F32 ? MCK_FN_RANDOM_UNIFORM_F32 : MCK_FN_RANDOM_UNIFORM_F64);
    mc_tensor tmp = {0}, *target = out;
    if (!mci_contiguous(out)) {
        rc = mc_create(&tmp, dtype, nd, p->axes);
        target = &tmp;
    }
    if (!rc) {
        random_job j = {.fn = (mck_random_fn)mci_function(fn), .total = target->numel, .size = MCI_SIZE(dtype)};
        j.k.out = target->data;
        j.k.key = (uint64_t)(uint32_t)p->i[0] | (uint64_t)(uint32_t)p->i[1] << 32;
        j.k.stream = (uint64_t)(uint32_t)p->i[2] | (uint64_t)(uint32_t)p->i[3] << 32;
        j.k.p = p->d;
        rc = mci_parallel((j.total + GRAIN - 1) / GRAIN, random_task, &j);
    }
    if (!rc && target == &tmp)
        rc = mc_copy(out, &tmp);
    mc_drop(&tmp);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}
