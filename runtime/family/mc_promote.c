/* mc_promote.c - the dtype in which operands meet; errors of ops that devices have no form of.
 *
 * Holds the promotion lattice (Python array API: within a kind by size, mixed kinds to the next
 * kind, plain numbers are weak). */
#include "family/mc_family.h"

#include <math.h>

/* bool < integers < floats < complex. u8 meets a signed type of equal size in the next one; f16 and
 * bf16 meet in f32. An integer with a float takes the float, as the scalar rule of every tensor
 * library does; the standard leaves it open. */
int mc_promote_types(int a, int b)
{
    static const char rank[] = { 'b', 'i', 'i', 'i', 'i', 'i', 'f', 'f', 'f', 'f', 'c', 'c' };
    if (a < 0 || b < 0 || a >= MC_NDTYPE || b >= MC_NDTYPE) return -1;
    if (a == b) return a;
    if (rank[a] == rank[b]) {
        if ((a == MC_F16 && b == MC_BF16) || (a == MC_BF16 && b == MC_F16)) return MC_F32;
        if ((a == MC_U8 && b == MC_I8) || (a == MC_I8 && b == MC_U8)) return MC_I16;
        return a > b ? a : b;
    }
    int hi = a > b ? a : b, lo = a > b ? b : a;
    if (hi == MC_C64 && lo == MC_F64) return MC_C128;
    return hi;
}

int mci_number_fits(const char *op, int dtype, double number, const char *text)
{
    static const double lo[] = { 0, 0, -128, -32768, -2147483648.0, -9223372036854775808.0 };
    static const double hi[] = { 1, 255, 127, 32767, 2147483647.0, 9223372036854774784.0 };
    if (dtype > MC_I64 || (number >= lo[dtype] && number <= hi[dtype])) return MC_OK;
    return mci_error(MC_EINVAL,
                     "%s: the number %.17g does not fit %s; convert the tensor to a wider dtype "
                     "first",
                     op, number, text);
}

/* A weak number against dtype: keeps the dtype when its kind can hold the number. */
static int promote_weak(const char *op, const mc_tensor *t, const mc_tensor *num, int *dtype)
{
    char s[MCI_TEXT];
    const double *v = num->data;
    int kind = mci_kind(t->dtype);
    *dtype = t->dtype;
    if (num->dtype == MC_C128) {
        *dtype = kind == 'c'                                                       ? t->dtype
                 : t->dtype == MC_F32 || t->dtype == MC_F16 || t->dtype == MC_BF16 ? MC_C64
                                                                                   : MC_C128;
        return MC_OK;
    }
    if (kind == 'f' || kind == 'c') return MC_OK;
    if (MC_UNLIKELY(mci_hollow(num))) return mci_check_elements(op, num);
    int whole = v[0] == floor(v[0]) && fabs(v[0]) < 9.3e18;
    if (!whole) {
        *dtype = MC_F64;
        return MC_OK;
    }
    if (kind == 'b') {
        *dtype = MC_I64;
        return MC_OK;
    }
    return mci_number_fits(op, t->dtype, v[0], mci_tensor_text(s, sizeof s, t));
}

int mci_resolve(const mci_op *op, int nin, const mc_tensor *const *in, int *dtype, int *compute)
{
    char s[MCI_TEXT];
    int first = op->where ? 1 : 0, dt = -1;
    const mc_tensor *strong = NULL;
    for (int i = first; i < nin; i++)
        if (!(in[i]->flags & MCI_WEAK)) {
            dt = dt < 0 ? in[i]->dtype : mc_promote_types(dt, in[i]->dtype);
            strong = in[i];
        }
    for (int i = first; i < nin; i++)
        if (in[i]->flags & MCI_WEAK) {
            if (!strong) {
                const int begin = in[i]->dtype == MC_BOOL ? MC_BOOL : MC_F64;
                dt = mc_promote_types(dt < 0 ? begin : dt, in[i]->dtype);
                continue;
            }
            mc_tensor as = *strong;
            as.dtype = dt;
            int rc = promote_weak(op->name, &as, in[i], &dt);
            if (rc) return rc;
        }
    if (op->promote == MCI_PROMOTE_FLOAT && mci_kind(dt) != 'f' && mci_kind(dt) != 'c') dt = MC_F64;
    if (op->promote == MCI_PROMOTE_BOOL) dt = MC_BOOL;
    *dtype = dt;
    *compute = op->compute[dt];
    if (*compute < 0)
        return mci_error(MC_EDTYPE,
                         "%s: not defined for %s, operand is %s; convert it with :to first",
                         op->name, mc_dtype_name(dt), mci_tensor_text(s, sizeof s, in[first]));
    return MC_OK;
}

int mci_by_value(const mci_op *op)
{
    return mci_error(MC_EUNSUPPORTED,
                     "%s: the size of its result depends on values, so that it has a form on the "
                     "CPU only; move the operands with :to \"cpu\" first",
                     op->name);
}

int mci_no_launch(const mci_op *op, int device)
{
    return mci_error(MC_EUNSUPPORTED,
                     "%s: it has no form for %s yet; move the operands with :to \"cpu\" first",
                     op->name, mci_device_text(device));
}
