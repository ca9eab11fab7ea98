/* mc_shapes.c - recording by shapes: ops make results of their dtypes and shapes, and compute
 * nothing.
 *
 * Such results, and the arguments that they come from, are hollow (mc_tensor.h). */
#include "record/mc_log.h"

int mci_some_hollow(int nout, mc_tensor *const *out, int nin, const mc_tensor *const *in)
{
    for (int i = 0; mci_by_shapes && i < nin + nout; i++)
        if (mci_hollow(i < nin ? in[i] : out[i - nin]))
            return 1;
    return 0;
}

int mci_run_by_shapes(const mci_family *family, const mci_op *op, int nout, mc_tensor **out,
                      int nin, const mc_tensor *const *in, const mc_params *p)
{
    const mci_job job = { op, p, nin, in, nout };
    mci_result r;
    int device;
    if (mci_check_devices(op->name, nin, in, nout, out, &device))
        return mc_errstatus();
    if (!family->infer || nout > MCI_RESULTS)
        return mci_ask(op->name);
    if (family->infer(&job, &r)) /* of values, perhaps: the op itself says it better */
        return op->by_value ? mci_ask(op->name) : mc_errstatus();
    for (int i = 0; i < nout; i++) {
        const int given = (out[i]->flags & MC_FLAG_OUT) != 0;
        if (given ? mci_out_on(device, op->name, out[i], r.dtype[i], r.ndim[i], r.shape[i])
                  : mci_create_hollow(device, out[i], r.dtype[i], r.ndim[i], r.shape[i])) {
            while (i-- > 0)
                mci_out_fail(out[i], 0);
            return mc_errstatus();
        }
    }
    return MC_OK;
}
