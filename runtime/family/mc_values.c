/* mc_values.c - elements as numbers of the caller's language, and the hash of a tensor: the ways
 * from a tensor to host memory. */
#include "base/mc_hash.h"
#include "record/mc_record.h"

#include <math.h>

/* Only one NaN is safe to become a Lua value, see mc_numbers. */
static void one_nan(double *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        v[i] = v[i] == v[i] ? v[i] : NAN;
}

int mc_numbers(const mc_tensor *t, int64_t first, int64_t count, double *out)
{
    if (mci_check_elements("numbers", t) || (mci_recording && mci_record_check_value("numbers", t)))
        return mc_errstatus();
    if (first < 0 || count < 0 || first > t->numel - count || !mc_is_contiguous(t))
        return mci_error(
            MC_EINVAL,
            "numbers: elements outside the tensor, or one that is not contiguous; check the call");
    int width = mci_kind(t->dtype) == 'c' ? 2 : 1;
    const mci_cast_fn cast = mci_cast(width == 2 ? MC_C128 : MC_F64, t->dtype);
    if (t->device) {
        const int64_t size = MCI_SIZE(t->dtype);
        mci_ref from = mci_ref_of(t);
        from.at += first * size;
        char *host = mci_alloc((size_t)(count * size));
        int rc = host ? mci_device_get(host, from, count * size) : mc_errstatus();
        if (!rc)
            cast(count, out, 1, host, 1);
        mci_free(host);
        if (rc)
            return rc;
    } else {
        cast(count, out, 1, (const char *)t->data + first * MCI_SIZE(t->dtype), 1);
    }
    one_nan(out, width * count);
    return MC_OK;
}

/* The one element of a tensor on a device. */
static MC_NOINLINE int fetched(const mc_tensor *t, double v[2], int64_t *exact)
{
    MC_ALIGNED(16) char one[16];
    int rc = mci_device_get(one, mci_ref_of(t), MCI_SIZE(t->dtype));
    const mc_tensor host = {.data = one, .numel = 1, .dtype = t->dtype};
    return rc ? rc : mc_item(&host, v, exact);
}

int mc_item(const mc_tensor *t, double v[2], int64_t *exact)
{
    char s[MCI_TEXT];
    if (mci_check_elements("item", t) || (mci_recording && mci_record_check_value("item", t)))
        return mc_errstatus();
    if (t->numel != 1)
        return mci_error(MC_ESHAPE, "item: %s has %lld elements; index one of them first",
                         mci_tensor_text(s, sizeof s, t), (long long)t->numel);
    v[1] = 0;
    if (MC_UNLIKELY(t->device != 0))
        return fetched(t, v, exact);
    mci_cast(MC_C128, t->dtype)(1, v, 1, t->data, 1);
    one_nan(v, 2);
    int kind = mci_kind(t->dtype);
    if (!exact)
        return MC_OK;
    *exact = 0;
    if (kind != 'f' && kind != 'c')
        mci_cast(MC_I64, t->dtype)(1, exact, 1, t->data, 1);
    return MC_OK;
}

int mc_sha256_tensor(const mc_tensor *t, char *hex)
{
    enum { CHUNK = 1 << 16 };
    unsigned char buffer[CHUNK];
    mci_sha256 c;
    int rc = mci_check_elements("sha256", t);
    if (rc)
        return rc;
    if (t->device) {
        mc_tensor host = {0};
        rc = mc_to_device(&host, 0, t);
        rc = rc ? rc : mc_sha256_tensor(&host, hex);
        mc_drop(&host);
        return rc;
    }
    const int64_t size = MCI_SIZE(t->dtype), step = CHUNK / size;
    mci_sha256_start(&c);
    if (mci_contiguous(t)) {
        for (int64_t at = 0; at < t->numel && !mc_cancel_pending(); at += CHUNK) {
            int64_t n = t->numel - at < CHUNK ? t->numel - at : CHUNK;
            mci_sha256_update(&c, (const unsigned char *)t->data + at * size, (size_t)(n * size));
        }
    } else {
        for (int64_t at = 0; at < t->numel && !mc_cancel_pending(); at += step) {
            int64_t n = t->numel - at < step ? t->numel - at : step;
            mci_gather(t, at, n, t->dtype, buffer);
            mci_sha256_update(&c, buffer, (size_t)(n * size));
        }
    }
    if (mc_cancel_pending())
        return mci_error(MC_ECANCELLED, "interrupted");
    mci_sha256_finish(&c, hex);
    return MC_OK;
}
