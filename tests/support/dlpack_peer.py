"""DLPack's version 1 between libmascon and NumPy or PyTorch in one process: dlpack_peer.py LIBMASCON numpy|torch.

Tensors are libmascon's, called through ctypes; capsules are made and read as Python's protocol says. The last line is
"N passed, M failed". Called by tests/spec/dlpack_spec.lua."""
import ctypes as c
import importlib
import sys

lib = c.CDLL(sys.argv[1])
peer = importlib.import_module(sys.argv[2])
NAME = b"dltensor_versioned"
api = c.pythonapi
api.PyCapsule_New.restype, api.PyCapsule_New.argtypes = c.py_object, [c.c_void_p, c.c_char_p, c.c_void_p]
api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
api.PyCapsule_SetName.restype, api.PyCapsule_SetName.argtypes = c.c_int, [c.py_object, c.c_char_p]
lib.mc_errmsg.restype = lib.mc_dtype_name.restype = c.c_char_p
lib.mc_tensor_new.restype = lib.mc_dlpack_give_versioned.restype = c.c_void_p
lib.mc_dlpack_give_versioned.argtypes = [c.c_void_p, c.c_int64]
lib.mc_dlpack_take_versioned.argtypes = [c.c_void_p, c.c_void_p]
lib.mc_fill.argtypes = [c.c_void_p, c.c_double, c.c_double]
lib.mc_tensor_free.argtypes = lib.mc_drop.argtypes = [c.c_void_p]
lib.mc_pointer.argtypes = [c.c_void_p, c.c_int64, c.c_void_p, c.c_void_p]
lib.mc_memory_stats.argtypes = [c.c_void_p]
counts = [0, 0]


def check(what, ok):
    counts[0 if ok else 1] += 1
    if not ok:
        print("FAILED", what, lib.mc_errmsg())


def blocks():
    out = (c.c_int64 * 9)()
    lib.mc_memory_stats(out)
    return out[7]


def address(t):
    out, offset = (c.c_void_p * 2)(), c.c_int64()
    check("pointer", lib.mc_pointer(t, 0, out, c.byref(offset)) == 0)
    return out[0]


class Given:
    """What a consumer asks for a tensor of ours."""

    def __init__(self, t):
        self.t = t

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, stream=None, max_version=None, dl_device=None, copy=None):
        assert max_version and max_version[0] >= 1, max_version
        p = lib.mc_dlpack_give_versioned(self.t, 0)
        assert p, lib.mc_errmsg()
        return api.PyCapsule_New(p, NAME, None)


def take(array):
    """A header of ours over an array of the peer."""
    capsule = array.__dlpack__(max_version=(1, 0))
    p = api.PyCapsule_GetPointer(capsule, NAME)
    header = c.create_string_buffer(4096)
    check("taken", lib.mc_dlpack_take_versioned(header, p) == 0)
    api.PyCapsule_SetName(capsule, b"used_" + NAME)
    return header


f64 = next(k for k in range(32) if lib.mc_dtype_name(k) == b"f64")
start = blocks()
t = lib.mc_tensor_new(f64, 2, (c.c_int64 * 2)(3, 4))
lib.mc_fill(t, 2.5, 0)
a = peer.from_dlpack(Given(t))
check("shape and values", tuple(a.shape) == (3, 4) and float(a.sum()) == 30.0)
a[1, 2] = 7.0
lib.mc_tensor_free(t)
check("the memory outlives our tensor", float(a.sum()) == 34.5 and blocks() > start)
h = take(a[::2, 1:])
view = c.cast(address(h), c.POINTER(c.c_double))
check("a view of the peer, where it lies", view[0] == 2.5 and view[8] == 2.5)
check("is written in place", lib.mc_fill(h, -1.0, 0) == 0 and float(a[0, 1]) == -1.0 and float(a[2, 3]) == -1.0)
del a
check("and holds the memory", blocks() > start and view[0] == -1.0)
lib.mc_drop(h)
check("which is given back", blocks() == start)
if sys.argv[2] == "numpy":  # PyTorch has no arrays that may only be read
    b = peer.arange(6.0)
    b.flags.writeable = False
    h = take(b)
    check("what may only be read", lib.mc_fill(h, 0.0, 0) != 0 and float(b.sum()) == 15.0)
    lib.mc_drop(h)
    h, two = c.create_string_buffer(4096), (c.c_double * 2)(1, 2)
    lib.mc_wrap(h, two, f64, 1, (c.c_int64 * 1)(2), None, None, None, 1)
    b = peer.from_dlpack(Given(c.addressof(h)))
    check("ours that may only be read", not b.flags.writeable and float(b.sum()) == 3.0)
print("%d passed, %d failed" % tuple(counts))
sys.exit(1 if counts[1] else 0)
