/* mc_rows.c - operands and results as contiguous rows along chosen axes. See mc_rows.h. */
#include "family/mc_rows.h"

#include <string.h>

/* A header over t with the masked axes moved to the end. */
static void permuted(mc_tensor *v, const mc_tensor *t, unsigned mask)
{
    *v = *t;
    int k = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < t->ndim; i++)
            if ((int)(mask >> i & 1) == pass) {
                v->shape[k] = t->shape[i];
                v->strides[k++] = t->strides[i];
            }
}

static int rows_in(mci_rows *r, const mc_tensor *t, unsigned mask, int dtype, int fresh)
{
    memset(r, 0, sizeof *r);
    mc_tensor v;
    permuted(&v, t, mask);
    r->n = 1;
    for (int i = 0; i < t->ndim; i++)
        if (mask >> i & 1)
            r->n *= t->shape[i];
    r->m = r->n ? t->numel / r->n : 0;
    if (t->dtype == dtype && mci_contiguous(&v) && !fresh) {
        r->data = t->data;
        return MC_OK;
    }
    int rc = mci_materialize(&r->tmp, &v, dtype);
    r->data = r->tmp.data;
    return rc;
}

int mci_rows_in(mci_rows *r, const mc_tensor *t, unsigned mask, int dtype)
{
    return rows_in(r, t, mask, dtype, 0);
}

int mci_rows_apart(mci_rows *r, const mc_tensor *t, unsigned mask, int dtype, const mc_tensor *out,
                   int in_place)
{
    int overlap = mci_overlap(out, t);
    return rows_in(r, t, mask, dtype, overlap > 0 || (overlap == 0 && !in_place));
}

void mci_rows_drop(mci_rows *r)
{
    mc_drop(&r->tmp);
}

int mci_rows_open(mci_rows_out *r, mc_tensor *out, int axis, int dtype)
{
    memset(r, 0, sizeof *r);
    r->out = out;
    r->axis = axis;
    r->direct = out->dtype == dtype && mci_contiguous(out) && (axis < 0 || axis == out->ndim - 1);
    r->data = out->data;
    if (r->direct)
        return MC_OK;
    mc_tensor v;
    permuted(&v, out, axis < 0 ? 0 : 1u << axis);
    int rc = mc_create(&r->tmp, dtype, out->ndim, v.shape);
    r->data = r->tmp.data;
    return rc;
}

int mci_rows_store(mci_rows_out *r)
{
    if (r->direct)
        return MC_OK;
    mc_tensor v;
    permuted(&v, r->out, r->axis < 0 ? 0 : 1u << r->axis);
    int rc = mci_copy(&v, &r->tmp);
    mc_drop(&r->tmp);
    return rc;
}

void mci_rows_abandon(mci_rows_out *r)
{
    mc_drop(&r->tmp);
}

int mci_row_axis(const char *op, const mc_tensor *t, const mc_params *p, int *axis)
{
    char s[MCI_TEXT];
    if (t->ndim == 0)
        return mci_error(MC_ESHAPE, "%s: operand is %s; it needs at least one axis", op,
                         mci_tensor_text(s, sizeof s, t));
    return mci_axis(op, t, p->naxes < 1 ? -1 : p->axes[0], axis);
}

int mci_axes_mask(const char *op, const mc_tensor *t, const mc_params *p, unsigned *mask)
{
    char s[MCI_TEXT];
    *mask = 0;
    if (p->naxes < 0)
        *mask = (1u << t->ndim) - 1;
    for (int i = 0; i < p->naxes; i++) {
        int axis;
        int rc = mci_axis(op, t, p->axes[i], &axis);
        if (rc)
            return rc;
        if (*mask >> axis & 1)
            return mci_error(MC_ESHAPE, "%s: an axis of %s is named twice; name each once", op,
                             mci_tensor_text(s, sizeof s, t));
        *mask |= 1u << axis;
    }
    return MC_OK;
}

int mci_last_axes(const mc_tensor *t, const mc_params *p, int64_t *m, int64_t *n)
{
    unsigned mask;
    if (!mci_contiguous(t) || mci_axes_mask("rows", t, p, &mask))
        return 0;
    int kept = 0;
    while (kept < t->ndim && !(mask >> kept & 1))
        kept++;
    *m = mci_numel(kept, t->shape);
    *n = mci_numel(t->ndim - kept, t->shape + kept);
    return kept > 0 && kept < t->ndim && mask >> kept == (1u << (t->ndim - kept)) - 1;
}

void mci_reduced_shape(const mc_tensor *t, unsigned mask, int keepdim, int *ndim, int64_t *shape)
{
    int nd = 0;
    for (int i = 0; i < t->ndim; i++) {
        if (!(mask >> i & 1))
            shape[nd++] = t->shape[i];
        else if (keepdim)
            shape[nd++] = 1;
    }
    *ndim = nd;
}
