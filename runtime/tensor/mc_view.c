/* mc_view.c - views: new headers over the storage of another tensor.
 *
 * Indices arrive 0-based and in range-checked form from the caller's language; they are checked
 * again here, because C programs call these too. */
#include "tensor/mc_tensor.h"

#include <string.h>

/* Starts a view: same storage, dtype and flags; the caller sets shape, strides and first
 * element. */
static int view_begin(const char *op, mc_tensor *out, const mc_tensor *t)
{
    if (mci_check_released(op, t))
        return mc_errstatus();
    if (!t->storage)
        return mci_error(
            MC_EINTERNAL,
            "%s: an inline tensor must be promoted before it is viewed; call mc_promote", op);
    memset(out, 0, sizeof *out);
    out->storage = t->storage;
    out->data = t->data;
    out->dtype = t->dtype;
    out->device = t->device;
    out->flags = t->flags & MC_FLAG_READONLY;
    return MC_OK;
}

static int view_end(mc_tensor *out)
{
    out->numel = mci_numel(out->ndim, out->shape);
    int64_t bytes = out->numel * MCI_SIZE(out->dtype);
    out->small = bytes <= MC_INLINE_BYTES && out->device == 0 ? (int32_t)bytes : 0;
    atomic_fetch_add(&out->storage->refs, 1);
    return MC_OK;
}

static int view_fail(mc_tensor *out, int rc)
{
    out->storage = NULL;
    out->data = NULL;
    return rc;
}

int mc_view_strided(mc_tensor *out, const mc_tensor *t, int ndim, const int64_t *shape,
                    const int64_t *strides, int64_t offset)
{
    char s[MCI_TEXT];
    int rc = view_begin("as_strided", out, t);
    if (rc)
        return rc;
    if (ndim < 0 || ndim > MC_MAX_RANK)
        return view_fail(
            out, mci_error(MC_ESHAPE, "as_strided: rank %d; at most %d", ndim, MC_MAX_RANK));
    int64_t first = ((const char *)t->data - (const char *)t->storage->data) / MCI_SIZE(t->dtype) +
                    offset,
            low = first, high = first;
    int64_t size = t->storage->bytes / MCI_SIZE(t->dtype);
    int empty = 0;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0)
            return view_fail(out, mci_error(MC_ESHAPE, "as_strided: a size is negative"));
        empty |= shape[i] == 0;
        int64_t span = (shape[i] - 1) * strides[i];
        low += span < 0 ? span : 0;
        high += span > 0 ? span : 0;
        if (shape[i] > 1 && strides[i] == 0)
            out->flags |= MC_FLAG_READONLY;
        out->shape[i] = shape[i];
        out->strides[i] = strides[i];
    }
    if (!empty && (low < 0 || high >= size))
        return view_fail(
            out, mci_error(MC_ESHAPE,
                           "as_strided: the layout leaves the %lld elements of the buffer of %s",
                           (long long)size, mci_tensor_text(s, sizeof s, t)));
    out->ndim = ndim;
    out->data = mci_at(t, offset);
    return view_end(out);
}

int mc_view_index(mc_tensor *out, const mc_tensor *t, int nspec, const int64_t *spec)
{
    char s[MCI_TEXT];
    int rc = view_begin("index", out, t);
    if (rc)
        return rc;
    int axis = 0, nd = 0;
    int64_t offset = 0;
    for (int k = 0; k < nspec; k++) {
        const int64_t *e = spec + 4 * k;
        if (nd >= MC_MAX_RANK)
            return view_fail(out,
                             mci_error(MC_ESHAPE, "index: the result would have more than %d axes",
                                       MC_MAX_RANK));
        if (e[0] == 2) {
            out->shape[nd] = 1;
            out->strides[nd++] = 0;
            continue;
        }
        if (axis >= t->ndim)
            return view_fail(out, mci_error(MC_ESHAPE, "index: more indices than the %d axes of %s",
                                            t->ndim, mci_tensor_text(s, sizeof s, t)));
        int64_t n = t->shape[axis], stride = t->strides[axis];
        int64_t last = e[0] == 0 ? e[1] : e[1] + (e[2] - 1) * e[3];
        int empty = e[0] == 1 && e[2] == 0;
        if (!empty && (e[1] < 0 || e[1] >= n || last < 0 || last >= n || (e[0] == 1 && e[2] < 0)))
            return view_fail(
                out, mci_error(MC_ESHAPE,
                               "index: a position lies outside %s; each axis runs over its size",
                               mci_tensor_text(s, sizeof s, t)));
        if (!empty)
            offset += e[1] * stride;
        if (e[0] == 1) {
            out->shape[nd] = e[2];
            out->strides[nd++] = stride * e[3];
        }
        axis++;
    }
    for (; axis < t->ndim; axis++, nd++) {
        if (nd >= MC_MAX_RANK)
            return view_fail(out,
                             mci_error(MC_ESHAPE, "index: the result would have more than %d axes",
                                       MC_MAX_RANK));
        out->shape[nd] = t->shape[axis];
        out->strides[nd] = t->strides[axis];
    }
    out->ndim = nd;
    out->data = mci_at(t, offset);
    return view_end(out);
}

int mc_view_permute(mc_tensor *out, const mc_tensor *t, const int64_t *axes)
{
    char s[MCI_TEXT];
    int rc = view_begin("permute_dims", out, t), seen = 0;
    if (rc)
        return rc;
    for (int i = 0; i < t->ndim; i++) {
        if (axes[i] < 0 || axes[i] >= t->ndim || (seen >> axes[i] & 1))
            return view_fail(
                out, mci_error(
                         MC_ESHAPE,
                         "permute_dims: the axes are no permutation of those of %s; name each once",
                         mci_tensor_text(s, sizeof s, t)));
        seen |= 1 << axes[i];
        out->shape[i] = t->shape[axes[i]];
        out->strides[i] = t->strides[axes[i]];
    }
    out->ndim = t->ndim;
    return view_end(out);
}

int mc_view_expand(mc_tensor *out, const mc_tensor *t, int ndim, const int64_t *shape)
{
    char s[MCI_TEXT], want[MCI_TEXT];
    int rc = view_begin("broadcast_to", out, t);
    if (rc)
        return rc;
    int ok = ndim >= t->ndim && ndim <= MC_MAX_RANK;
    for (int i = 0; ok && i < ndim; i++) {
        int j = i - (ndim - t->ndim);
        int64_t have = j < 0 ? 1 : t->shape[j];
        ok = shape[i] >= 0 && (have == shape[i] || have == 1);
        out->shape[i] = shape[i];
        out->strides[i] = j >= 0 && have == shape[i] ? t->strides[j] : 0;
        if (have != shape[i])
            out->flags |= MC_FLAG_READONLY; /* elements appear many times */
    }
    if (!ok)
        return view_fail(
            out, mci_error(MC_ESHAPE,
                           "broadcast_to: %s does not broadcast to [%s]; only axes of size 1 grow",
                           mci_tensor_text(s, sizeof s, t),
                           mci_shape_text(want, sizeof want, ndim, shape)));
    out->ndim = ndim;
    return view_end(out);
}

/* Strides of `shape` over the memory of t without moving elements; 0 when there are none. Groups of
 * old axes are matched with groups of new axes of equal size; inside a group the old axes must be
 * jointly contiguous. */
static int reshape_strides(const mc_tensor *t, int ndim, const int64_t *shape, int64_t *strides)
{
    int64_t old[MC_MAX_RANK], olds[MC_MAX_RANK];
    int no = 0;
    for (int i = 0; i < t->ndim; i++)
        if (t->shape[i] != 1) {
            old[no] = t->shape[i];
            olds[no++] = t->strides[i];
        }
    int i = 0, j = 0;
    while (i < no && j < ndim) {
        int i1 = i + 1, j1 = j + 1;
        int64_t a = old[i], b = shape[j];
        while (a != b) {
            if (a < b) {
                if (i1 >= no)
                    return 0;
                a *= old[i1++];
            } else {
                if (j1 >= ndim)
                    return 0;
                b *= shape[j1++];
            }
        }
        for (int k = i; k + 1 < i1; k++)
            if (olds[k] != olds[k + 1] * old[k + 1])
                return 0;
        int64_t stride = olds[i1 - 1];
        for (int k = j1 - 1; k >= j; k--) {
            strides[k] = stride;
            stride *= shape[k];
        }
        i = i1;
        j = j1;
    }
    for (; j < ndim; j++)
        strides[j] = 1;
    return 1;
}

int mci_view_reshape(mc_tensor *out, const mc_tensor *t, int ndim, const int64_t *shape,
                     int64_t *size)
{
    char s[MCI_TEXT], want[MCI_TEXT];
    int64_t strides[MC_MAX_RANK] = {0}, known = 1;
    int hole = -1;
    if (ndim < 0 || ndim > MC_MAX_RANK)
        return mci_error(MC_ESHAPE, "reshape: rank %d is not in 0..%d", ndim, MC_MAX_RANK);
    int ok = 1;
    for (int i = 0; i < ndim; i++) {
        size[i] = shape[i];
        if (shape[i] == -1 && hole < 0)
            hole = i;
        else if (shape[i] < 0 || __builtin_mul_overflow(known, shape[i], &known))
            ok = 0;
    }
    if (ok && hole >= 0) {
        ok = known > 0 && t->numel % known == 0;
        size[hole] = ok ? t->numel / known : 0;
    } else if (ok) {
        ok = known == t->numel;
    }
    if (!ok)
        return mci_error(
            MC_ESHAPE,
            "reshape: %s does not have the elements of [%s]; sizes must multiply to %lld",
            mci_tensor_text(s, sizeof s, t), mci_shape_text(want, sizeof want, ndim, shape),
            (long long)t->numel);
    if (t->numel == 0 || !reshape_strides(t, ndim, size, strides))
        return -1;
    int rc = view_begin("reshape", out, t);
    if (rc)
        return rc;
    out->ndim = ndim;
    memcpy(out->shape, size, sizeof *size * (size_t)ndim);
    memcpy(out->strides, strides, sizeof *strides * (size_t)ndim);
    return view_end(out);
}

int mc_view_windows(mc_tensor *out, const mc_tensor *t, int axis, int64_t size, int64_t step)
{
    char s[MCI_TEXT];
    int rc = view_begin("windows", out, t);
    if (rc)
        return rc;
    if (axis < 0 || axis >= t->ndim || t->ndim + 1 > MC_MAX_RANK || size < 1 || step < 1 ||
        size > t->shape[axis])
        return view_fail(
            out, mci_error(MC_ESHAPE, "windows: size %lld step %lld does not fit an axis of %s",
                           (long long)size, (long long)step, mci_tensor_text(s, sizeof s, t)));
    out->ndim = t->ndim + 1;
    memcpy(out->shape, t->shape, sizeof t->shape);
    memcpy(out->strides, t->strides, sizeof t->strides);
    out->shape[axis] = (t->shape[axis] - size) / step + 1;
    out->strides[axis] = t->strides[axis] * step;
    out->shape[t->ndim] = size;
    out->strides[t->ndim] = t->strides[axis];
    if (step < size)
        out->flags |= MC_FLAG_READONLY;
    return view_end(out);
}

int mc_view_diagonal(mc_tensor *out, const mc_tensor *t, int first, int second, int64_t offset)
{
    char s[MCI_TEXT];
    int rc = view_begin("diagonal", out, t);
    if (rc)
        return rc;
    if (first < 0 || second < 0 || first >= t->ndim || second >= t->ndim || first == second)
        return view_fail(
            out, mci_error(MC_ESHAPE, "diagonal: two different axes are needed, the operand is %s",
                           mci_tensor_text(s, sizeof s, t)));
    const int64_t down = offset < 0 ? -offset : 0, right = offset > 0 ? offset : 0;
    int64_t rows = t->shape[first] - down, cols = t->shape[second] - right,
            n = rows < cols ? rows : cols;
    int nd = 0;
    for (int i = 0; i < t->ndim; i++)
        if (i != first && i != second) {
            out->shape[nd] = t->shape[i];
            out->strides[nd++] = t->strides[i];
        }
    out->ndim = nd + 1;
    out->shape[nd] = n > 0 ? n : 0;
    out->strides[nd] = t->strides[first] + t->strides[second];
    if (n > 0)
        out->data = mci_at(t, down * t->strides[first] + right * t->strides[second]);
    return view_end(out);
}

int mc_view_part(mc_tensor *out, const mc_tensor *t, int part)
{
    char s[MCI_TEXT];
    int rc = view_begin("part", out, t);
    if (rc)
        return rc;
    if (mci_kind(t->dtype) != 'c' || part < 0 || part > 1)
        return view_fail(
            out, mci_error(MC_EDTYPE, "part: %s is not complex", mci_tensor_text(s, sizeof s, t)));
    out->dtype = t->dtype == MC_C64 ? MC_F32 : MC_F64;
    out->ndim = t->ndim;
    for (int i = 0; i < t->ndim; i++) {
        out->shape[i] = t->shape[i];
        out->strides[i] = t->strides[i] * 2;
    }
    out->data = (char *)t->data + part * MCI_SIZE(out->dtype);
    return view_end(out);
}
