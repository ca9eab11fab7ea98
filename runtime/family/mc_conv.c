/* mc_conv.c - driver of convolutions and their two derivatives: operands and results as the forms
 * need them (mc_conv_forms.c). */
#include "family/mc_conv.h"

int mci_conv_run(const mci_op *op, int nout, mc_tensor **outs, int nin, const mc_tensor *const *in,
                 const mc_params *p)
{
    mc_tensor *out = outs[0], res = { 0 }, tmp[2] = { { 0 }, { 0 } };
    const mc_tensor *operand[2];
    const int given = (out->flags & MC_FLAG_OUT) != 0;
    mci_conv c;
    mci_result r;
    int way;
    int rc = mci_conv_of(&(mci_job){ op, p, nin, in, nout }, &c, &r);
    if (rc || (rc = mci_out(op->name, out, r.dtype[0], r.ndim[0], r.shape[0])) != 0 ||
        out->numel == 0)
        return rc;
    const int direct = out->dtype == r.compute && mci_contiguous(out) &&
                       mci_overlap(out, in[0]) < 0 && mci_overlap(out, in[1]) < 0;
    mc_tensor *target = out;
    if (!direct) {
        rc = mc_create(&res, r.compute, r.ndim[0], r.shape[0]);
        target = &res;
    }
    for (int k = 0; k < 2; k++) {
        operand[k] = in[k];
        if (!rc && in[k]->dtype != r.compute) {
            rc = mci_materialize(&tmp[k], in[k], r.compute);
            operand[k] = &tmp[k];
        }
    }
    if (!rc && (in[0]->numel == 0 || in[1]->numel == 0))
        rc = mci_fill(target, 0, 0);
    else if (!rc && mci_conv_by_point(&c))
        rc = mci_conv_point(&c, target, operand[0], operand[1]);
    else if (!rc && (way = mci_conv_by_tiles(&c, r.compute)) != 0)
        rc = mci_conv_tiled(&c, way, target, operand[0], operand[1]);
    else if (!rc && mci_conv_by_lanes(&c, r.compute))
        rc = mci_conv_lanes(&c, target, operand[0], operand[1]);
    else if (!rc)
        rc = (c.form == MCI_CONV_RESULT  ? mci_conv_result
              : c.form == MCI_CONV_INPUT ? mci_conv_input
                                         : mci_conv_weight)(&c, target, operand[0], operand[1]);
    mci_conv_drop(&c);
    if (!rc && target == &res) rc = mci_copy(out, &res);
    mc_drop(&res);
    mc_drop(&tmp[0]);
    mc_drop(&tmp[1]);
    if (rc) mci_out_fail(out, given);
    return rc;
}

int mc_conv_way(int op, const mc_params *p, const mc_tensor *a, const mc_tensor *b, int64_t out[4])
{
    const mc_tensor *const in[2] = { a, b };
    mci_conv c;
    mci_result r;
    const int rc = mci_conv_of(&(mci_job){ mci_op_at(op), p, 2, in, 1 }, &c, &r);
    if (rc) return rc;
    for (int k = 0; k < 4; k++) out[k] = 0;
    if (mci_conv_by_point(&c)) {
        out[0] = 1;
        return MC_OK;
    }
    const int way = mci_conv_by_tiles(&c, r.compute);
    if (!way) return MC_OK;
    out[0] = 1 + way;
    out[3] = mci_conv_tiles(&c, way, out + 1);
    return MC_OK;
}
