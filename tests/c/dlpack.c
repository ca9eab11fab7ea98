/* dlpack.c - a producer and a consumer of DLPack structs as other libraries write them: the
 * deleter is called once, when the last view goes. build: library Prints "N passed, M failed". */
#include "../../runtime/mascon.h"
#include "count_check.h"
#include <stdlib.h>
#include <string.h>

/* as dlpack.h 0.8 has it */
typedef struct { int32_t device_type, device_id; } DLDevice;
typedef struct { uint8_t code, bits; uint16_t lanes; } DLDataType;
typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

static int deleted;

static void drop_array(DLManagedTensor *self)
{
    deleted++;
    free(self->manager_ctx);
    free(self);
}

/* A column-major int32 array of 3 rows and 4 columns: 10 row + column, counted from 0. */
static DLManagedTensor *produce(void)
{
    struct { int64_t shape[2], strides[2]; int32_t v[14]; } *a = malloc(sizeof *a);
    DLManagedTensor *m = calloc(1, sizeof *m);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            a->v[2 + 3 * j + i] = 10 * i + j;
    a->shape[0] = 3, a->shape[1] = 4, a->strides[0] = 1, a->strides[1] = 3;
    m->dl_tensor =
        (DLTensor){ a->v, { 1, 0 }, 2, { 0, 32, 1 }, a->shape, a->strides, 2 * sizeof(int32_t) };
    m->manager_ctx = a;
    m->deleter = drop_array;
    return m;
}

/* On a card, or what OpenCL has; nothing where there is neither. */
static void on_a_device(void)
{
    int device = mc_device_find("cuda");
    const int64_t shape[2] = {3, 4};
    int64_t before[9], after[9], offset;
    void *at[2];
    if (device < 0) device = mc_device_find("opencl");
    if (device < 0) return;
    mc_tensor x, y;
    memset(&x, 0, sizeof x);
    memset(&y, 0, sizeof y);
    check(mc_create_on(&x, device, MC_F32, 2, shape) == MC_OK, "create: %s", mc_errmsg());
    check(mc_device_memory(device, before) == MC_OK, "memory");
    check(mc_pointer(&x, 0, at, &offset) == MC_OK && at[0] && at[1], "pointer: %s", mc_errmsg());
    for (int i = 0; i < 100; i++) {
        DLManagedTensor *m = mc_dlpack_give(&x, i % 2 ? -1 : 0);
        check(m && (m->dl_tensor.device.device_type == 2 || m->dl_tensor.device.device_type == 4) &&
                  m->dl_tensor.data == at[0] && (int64_t)m->dl_tensor.byte_offset == offset,
              "given: %s", mc_errmsg());
        check(m && mc_dlpack_take(&y, m) == MC_OK && y.device == device && y.data == x.data &&
                  mc_shares_storage(&x, &y),
              "taken: %s", mc_errmsg());
        mc_drop(&y);
        memset(&y, 0, sizeof y);
    }
    check(mc_device_memory(device, after) == MC_OK && after[0] == before[0], "memory is flat");
    mc_drop(&x);
    check(mc_device_memory(device, after) == MC_OK && after[0] < before[0], "and given back");
}

int main(void)
{
    mc_tensor t, view;
    memset(&t, 0, sizeof t);
    memset(&view, 0, sizeof view);
    DLManagedTensor *m = produce();
    check(mc_dlpack_take(&t, m) == MC_OK, "take: %s", mc_errmsg());
    check(t.dtype == MC_I32 && t.ndim == 2 && t.shape[0] == 3 && t.shape[1] == 4 &&
              t.strides[0] == 1 && t.strides[1] == 3,
          "layout");
    const int64_t swap[2] = {1, 0};
    check(mc_view_permute(&view, &t, swap) == MC_OK, "view: %s", mc_errmsg());
    double re[2];
    int64_t exact;
    int same = 1;
    for (int64_t i = 0; i < 3; i++)
        for (int64_t j = 0; j < 4; j++) {
            mc_tensor one = view;
            one.ndim = 0;
            one.numel = 1;
            one.data = (int32_t *)view.data + j * view.strides[0] + i * view.strides[1];
            same = same && mc_item(&one, re, &exact) == MC_OK && (int)re[0] == (int)(10 * i + j);
        }
    check(same, "elements");
    mc_drop(&t);
    check(deleted == 0, "a view is left");
    mc_drop(&view);
    check(deleted == 1, "deleted %d times", deleted);

    m = produce();
    m->dl_tensor.device = (DLDevice){ 2, 99 };
    memset(&t, 0, sizeof t);
    check(mc_dlpack_take(&t, m) == MC_EDEVICE && deleted == 1,
          "another device is refused and the struct left alone");
    m->deleter(m);

    const int64_t shape[2] = {2, 5};
    mc_tensor *own = mc_tensor_new(MC_F32, 2, shape);
    check(own && mc_fill(own, 3, 0) == MC_OK, "a tensor: %s", mc_errmsg());
    m = mc_dlpack_give(own, 0);
    check(m && m->dl_tensor.dtype.code == 2 && m->dl_tensor.dtype.bits == 32 &&
              m->dl_tensor.shape[1] == 5 && m->dl_tensor.strides[0] == 5 &&
              m->dl_tensor.byte_offset == 0,
          "given");
    mc_tensor_free(own);
    check(m && ((const float *)m->dl_tensor.data)[9] == 3.0f, "the memory outlives the tensor");
    m->deleter(m);
    mc_dlpack_drop(NULL);
    on_a_device();
    return report();
}
