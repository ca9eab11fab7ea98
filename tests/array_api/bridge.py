"""bridge.py - the Python array API over a mascon process, so that the standard's public test suite runs against mascon.

For tests only; mascon_array_api.py is the namespace. Arrays live in the child (server.lua); a Python array is a number, a dtype and a shape. Calls are forwarded by name with the
signatures of the standard. What the list of deviations names is translated here and nowhere else: positions and axes from 0 to 1, half-open to
closed ranges, keyword names, dtypes of Python numbers. Run by `make array-api SUITE=DIR`.
"""
import importlib
import inspect
import math
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.environ.get("MASCON", os.path.join(HERE, "..", "..", "build", "mascon"))

# ---------------------------------------------------------------- the child

_child = subprocess.Popen([PROGRAM, os.path.join(HERE, "server.lua")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
PUBLIC = {}  # names of the standard; some of them hide those of Python
_gone = []  # numbers of arrays that Python has dropped


class DType:
    def __init__(self, name, short):
        self.name, self.short = name, short

    def __repr__(self):
        return self.name

    def __eq__(self, other):
        return isinstance(other, DType) and other.short == self.short

    def __hash__(self):
        return hash(self.short)


_NAMES = dict(bool="bool", uint8="u8", int8="i8", int16="i16", int32="i32", int64="i64", float32="f32", float64="f64", complex64="c64", complex128="c128")
_DTYPES = {short: DType(name, short) for name, short in _NAMES.items()}
_KIND = {s: "b" if s == "bool" else "i" if s[0] in "iu" else s[0] for s in _DTYPES}


def _read():
    line = _child.stdout.readline()
    if not line:
        raise RuntimeError("the mascon process has ended with %r" % _child.wait())
    kind, _, rest = line.rstrip("\n").partition(" ")
    if kind == "T":
        number, dtype, *sizes = rest.split()
        return Array(int(number), _DTYPES[dtype], tuple(int(s) for s in sizes))
    if kind == "N":
        return float(rest)
    if kind == "I":
        return int(rest)
    if kind == "C":
        return complex(*(float(p) for p in rest.split()))
    if kind == "B":
        return rest == "1"
    if kind == "S":
        return rest
    if kind == "Z":
        return None
    if kind == "L":
        return [_read() for _ in range(int(rest))]
    if kind == "D":
        return {_read(): _read() for _ in range(int(rest))}
    raise (IndexError if "outside" in rest else TypeError if "dtype" in rest else ValueError)(rest)


def _run(chunk):
    drop = "".join("A[%d]=nil " % _gone.pop() for _ in range(len(_gone)))
    _child.stdin.write(drop + chunk + "\n")
    _child.stdin.flush()
    return _read()


def _lua(v):
    """A Python value as an expression of Lua."""
    if isinstance(v, Array):
        return "A[%d]" % v._number
    if v is None:
        return "nil"
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, int):
        if not -2**63 <= v < 2**63:
            raise OverflowError("%d needs more than 64 bits" % v)
        return "%d" % v if abs(v) < 2**53 else "(-%dLL-1)" % (2**63 - 1) if v == -2**63 else "%dLL" % v
    if isinstance(v, float):
        return "mc.nan" if v != v else "mc.inf" if v == math.inf else "(-mc.inf)" if v == -math.inf else "(-0.0)" if v == 0 and math.copysign(1, v) < 0 else repr(v)
    if isinstance(v, complex):
        return "mc.complex(%s,%s)" % (_lua(v.real), _lua(v.imag))
    if isinstance(v, DType):
        return '"%s"' % v.short
    if isinstance(v, str):
        return '"%s"' % v
    if isinstance(v, dict):
        return "{%s}" % ",".join("%s=%s" % (k, _lua(x)) for k, x in v.items() if x is not None)
    if isinstance(v, (list, tuple)):
        return "{%s}" % ",".join(_lua(x) for x in v)
    if hasattr(v, "__index__"):
        return _lua(v.__index__())
    raise TypeError("%r is no value of the array API" % (v,))


def _call(name, *args):
    return _run("return mc.%s(%s)" % (name, ",".join(_lua(a) for a in args)))


def _axis(a):
    """Axes from 0 as axes from 1."""
    if a is None:
        return None
    if isinstance(a, (list, tuple)):
        return [_axis(x) for x in a]
    a = a.__index__()
    return a + 1 if a >= 0 else a


# ---------------------------------------------------------------- arrays


class Array:
    def __init__(self, number, dtype, shape):
        self._number, self.dtype, self.shape = number, dtype, shape

    def __del__(self):
        _gone.append(self._number)

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    device = property(lambda self: "cpu")
    T = property(lambda self: _run("return A[%d].T" % self._number))
    mT = property(lambda self: _run("return A[%d].mT" % self._number))

    def __array_namespace__(self, *, api_version=None):
        return importlib.import_module("mascon_array_api")

    def to_device(self, device, /, *, stream=None):
        if device != "cpu" or stream is not None:
            raise ValueError("the device is cpu")
        return self

    def __repr__(self):
        return "mascon(%s)" % _call("repr", self)

    def _item(self):
        if self.size != 1:
            raise ValueError("only an array of one element is a number")
        return _run("return A[%d]:reshape(1):item()" % self._number)

    def __bool__(self):
        return bool(self._item())

    def __int__(self):
        return int(self._item())

    def __float__(self):
        if _KIND[self.dtype.short] == "c":
            raise TypeError("a complex number is no float")
        return float(self._item())

    def __complex__(self):
        return complex(self._item())

    def __index__(self):
        if _KIND[self.dtype.short] != "i":
            raise TypeError("%s is no index" % self.dtype)
        return int(self._item())

    __hash__ = None

    def _key(self, key):
        """A Python key as a key of mascon; None where it means the whole array."""
        key = key if isinstance(key, tuple) else (key,)
        taken = sum(k.ndim if isinstance(k, Array) and k.dtype.short == "bool" else k is not None and k is not Ellipsis for k in key)
        if taken > self.ndim:
            raise IndexError("%d keys for %d axes" % (taken, self.ndim))
        if not any(k is Ellipsis for k in key):
            key = key + (Ellipsis,)
        out, at = [], 0
        for k in key:
            if k is None:
                out.append("mc.newaxis")
            elif k is Ellipsis:
                out += ["mc.all"] * (self.ndim - taken)
                at += self.ndim - taken
            elif isinstance(k, Array) and k.dtype.short == "bool":
                out.append(_lua(k))
                at += k.ndim
            elif isinstance(k, Array) and k.ndim > 0:
                out.append("(A[%d]+mc.lt(A[%d],0):to('i64')*%d+1)" % (k._number, k._number, self.shape[at]))
                at += 1
            elif isinstance(k, slice):
                start, stop, step = k.indices(self.shape[at])
                n = len(range(start, stop, step))
                out.append("{1,0}" if n == 0 else "{%d,%d,%d}" % (start + 1, start + (n - 1) * step + 1, step))
                at += 1
            else:
                i = k.__index__()
                if not -self.shape[at] <= i < self.shape[at]:
                    raise IndexError("%d is outside an axis of %d" % (i, self.shape[at]))
                out.append(str(i % self.shape[at] + 1))
                at += 1
        return "{%s}" % ",".join(out) if out else None

    def __getitem__(self, key):
        key = self._key(key)
        return _run("return A[%d]%s" % (self._number, "[%s]" % key if key else ":reshape(A[%d].shape)" % self._number))

    def __setitem__(self, key, value):
        key = self._key(key)
        if isinstance(value, Array) or key:
            _run("A[%d]%s" % (self._number, "[%s] = %s" % (key, _lua(value)) if key else ":copy_(%s)" % _lua(value)))
        else:
            _run("A[%d]:fill_(%s)" % (self._number, _lua(value)))


_OPERATORS = dict(add="add", sub="subtract", mul="multiply", truediv="divide", floordiv="floor_divide", mod="remainder", pow="pow", matmul="matmul",
                  lshift="bitwise_left_shift", rshift="bitwise_right_shift")
_OPERATORS["and"], _OPERATORS["or"], _OPERATORS["xor"] = "bitwise_and", "bitwise_or", "bitwise_xor"
_ORDER = {"b": 0, "i": 1, "f": 2, "c": 3}


def _fits(array, other):
    """Whether Python's operator takes the other operand: an array, or a number of no higher kind."""
    if isinstance(other, Array):
        return True
    if not isinstance(other, (bool, int, float, complex)):
        return False
    kind = "b" if isinstance(other, bool) else "i" if isinstance(other, int) else "f" if isinstance(other, float) else "c"
    return _ORDER[kind] <= _ORDER[_KIND[array.dtype.short]] and (kind != "b" or _KIND[array.dtype.short] == "b")


def _operator(name):
    def forward(self, other):
        return _call(name, self, other) if _fits(self, other) else NotImplemented

    def reflected(self, other):
        return _call(name, other, self) if _fits(self, other) else NotImplemented

    def in_place(self, other):
        if not _fits(self, other):
            return NotImplemented
        result = _call(name, self, other)
        if result.shape != self.shape:
            raise ValueError("the result has another shape")
        _run("A[%d]:copy_(%s)" % (self._number, _lua(result)))
        return self
    return forward, reflected, in_place


for _short, _full in _OPERATORS.items():
    _f, _r, _i = _operator(_full)
    for _prefix, _function in (("", _f), ("r", _r), ("i", _i)):
        _function.__name__ = "__%s%s__" % (_prefix, _short)
        setattr(Array, _function.__name__, _function)
for _short, _full in dict(eq="equal", ne="not_equal", lt="less", le="less_equal", gt="greater", ge="greater_equal").items():
    setattr(Array, "__%s__" % _short, (lambda full: lambda self, other: _call(full, self, other) if _fits(self, other) else NotImplemented)(_full))
for _short, _full in dict(abs="abs", neg="negative", pos="positive", invert="bitwise_invert").items():
    setattr(Array, "__%s__" % _short, (lambda full: lambda self: _call(full, self))(_full))

# ---------------------------------------------------------------- creation

for _long, _short in _NAMES.items():
    PUBLIC[_long] = _DTYPES[_short]
PUBLIC.update(e=math.e, pi=math.pi, inf=math.inf, nan=math.nan, newaxis=None)
float64 = _DTYPES["f64"]


def _sizes(shape):
    return [int(s) for s in shape] if isinstance(shape, (list, tuple)) else [int(shape)]


def _default(values):
    kinds = {"b" if isinstance(v, bool) else "i" if isinstance(v, int) else "f" if isinstance(v, float) else "c" for v in values} or {"f"}
    return _DTYPES[{"b": "bool", "i": "i64", "f": "f64", "c": "c128"}[max(kinds, key=_ORDER.get)]]


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    if isinstance(obj, Array):
        if dtype is None or dtype == obj.dtype:
            return _run("return A[%d]:copy()" % obj._number) if copy else obj
        if copy is False:
            raise ValueError("another dtype needs a copy")
        return astype(obj, dtype)
    shape, flat = [], [obj]
    while flat and isinstance(flat[0], (list, tuple)):
        if len({len(x) for x in flat}) > 1:
            raise ValueError("rows of different lengths")
        shape.append(len(flat[0]))
        flat = [y for x in flat for y in x]
    flat = [v._item() if isinstance(v, Array) else v for v in flat]
    if isinstance(obj, (list, tuple)) and not flat:
        return zeros(tuple(shape), dtype=dtype or float64)
    for v in flat:
        if not isinstance(v, (bool, int, float, complex)):
            raise TypeError("%r is no number" % (v,))
    dtype = dtype or _default(flat)
    if not shape:
        return full((), flat[0], dtype=dtype)
    if _KIND[dtype.short] == "b":
        flat = [bool(v) for v in flat]
    elif _KIND[dtype.short] == "c":
        flat = [complex(v) for v in flat]
    else:
        flat = [int(v) if isinstance(v, bool) else v for v in flat]
    return _run("return mc.tensor(%s,{dtype=%s}):reshape(%s)" % (_lua(flat), _lua(dtype), _lua(shape)))


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    if stop is None:
        start, stop = 0, start
    dtype = dtype or _default([start, stop, step])
    n = max(math.ceil((stop - start) / step), 0)
    if n == 0:
        return zeros((0,), dtype=dtype)
    if _KIND[dtype.short] == "i":
        return _run("return mc.arange(%s,%s,%s,{dtype=%s})" % (_lua(start), _lua(start + (n - 1) * step), _lua(step), _lua(dtype)))
    return _run("return (mc.arange(0,%d)*%s+%s):to(%s)" % (n - 1, _lua(float(step)), _lua(float(start)), _lua(dtype)))


def full(shape, fill_value, *, dtype=None, device=None):
    dtype = dtype or (fill_value.dtype if isinstance(fill_value, Array) else _default([fill_value]))
    if isinstance(fill_value, bool) and dtype.short != "bool":
        fill_value = int(fill_value)
    return _call("full", _sizes(shape), fill_value, dict(dtype=dtype))


def full_like(x, /, fill_value, *, dtype=None, device=None):
    return full(x.shape, fill_value, dtype=dtype or x.dtype)


def _filled(name):
    def make(shape, *, dtype=None, device=None):
        return _call(name, _sizes(shape), dict(dtype=dtype or float64))

    def like(x, /, *, dtype=None, device=None):
        return make(x.shape, dtype=dtype or x.dtype)
    return make, like


empty, empty_like = _filled("empty")
ones, ones_like = _filled("ones")
zeros, zeros_like = _filled("zeros")


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    return _call("eye", n_rows, n_rows if n_cols is None else n_cols, dict(k=k, dtype=dtype or float64))


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    dtype = dtype or _default([start, stop, 1.0])
    return _call("linspace", start, stop, num, dict(dtype=dtype, endpoint=endpoint))


def meshgrid(*arrays, indexing="xy"):
    return _listed(_call("meshgrid", *arrays, dict(indexing=indexing)))


def _listed(result):
    return result if isinstance(result, list) else [result]


def unstack(x, /, *, axis=0):
    return tuple(_listed(_run("return mc.unstack(A[%d],{axis=%d})" % (x._number, _axis(axis)))))


def from_dlpack(x, /, *, device=None, copy=None):
    raise BufferError("arrays of another process have no shared memory")


# ---------------------------------------------------------------- dtypes


class _Info:
    def __init__(self, fields):
        self.__dict__.update(fields)


def finfo(type, /):
    f = _call("finfo", type.dtype if isinstance(type, Array) else type)
    return _Info(dict(f, bits=int(f["bits"]), dtype=_DTYPES[f["dtype"]]))


def iinfo(type, /):
    f = _call("iinfo", type.dtype if isinstance(type, Array) else type)
    return _Info(dict(bits=int(f["bits"]), min=int(f["min"]), max=int(f["max"]), dtype=_DTYPES[f["dtype"]]))


def astype(x, dtype, /, *, copy=True, device=None):
    if not copy and x.dtype == dtype:
        return x
    return _call("astype", x, dtype, dict(copy=copy))


def isdtype(dtype, kind):
    return _call("isdtype", dtype, list(kind) if isinstance(kind, tuple) else kind)


def can_cast(from_, to, /):
    return _call("can_cast", from_.dtype if isinstance(from_, Array) else from_, to)


def result_type(*arrays_and_dtypes):
    return _DTYPES[_call("result_type", *arrays_and_dtypes)]


class _Namespace:
    def capabilities(self):
        return {k.strip('"'): v for k, v in _run("return mc.namespace_info().capabilities()").items()}

    def default_device(self):
        return _run("return mc.namespace_info().default_device()")

    def devices(self):
        return _run("return mc.namespace_info().devices()")

    def default_dtypes(self, *, device=None):
        return {k: _DTYPES[v] for k, v in _run("return mc.namespace_info().default_dtypes()").items()}

    def dtypes(self, *, device=None, kind=None):
        listed = _run("return mc.namespace_info().dtypes(%s)" % _lua(list(kind) if isinstance(kind, tuple) else kind))
        return {_DTYPES[k].name: _DTYPES[v] for k, v in listed.items()} if listed else {}


def __array_namespace_info__():
    return _Namespace()


# ---------------------------------------------------------------- functions by their signatures

_RENAMED = dict(keepdims="keepdim")
_POSITIONS = {"argmax", "argmin", "argsort", "nonzero", "searchsorted"}


def _function(name, signature, target=None, after=None):
    """A function of the standard: positional arguments in order, the others as options under mascon's names."""
    space = {}
    exec("def %s(%s): pass" % (name, signature), space)
    parameters = inspect.signature(space[name])

    def forward(*args, **options):
        bound = parameters.bind(*args, **options)
        bound.apply_defaults()
        values, named = [], {}
        for p in parameters.parameters.values():
            v = bound.arguments[p.name]
            if p.kind == p.VAR_POSITIONAL:
                values += list(v)
                continue
            if p.name in ("axis", "axes", "source", "destination") and not (name == "tensordot" and isinstance(v, int)):
                v = _axis(v)
            elif p.name in ("shape", "repetitions", "s") and isinstance(v, (tuple, list)):
                v = list(v)
            if p.kind == p.KEYWORD_ONLY:
                named[_RENAMED.get(p.name, p.name)] = v
            else:
                values.append(v)
        named.pop("device", None)
        if name in _POSITIONS:
            named["base"] = 0
        while values and values[-1] is None:
            values.pop()
        if any(v is not None for v in named.values()):
            values.append(named)
        result = _call(target or name, *values)
        return after(result) if after else result
    forward.__name__, forward.__signature__ = name, parameters
    return forward


_UNARY = """abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan log log1p log2 log10 logical_not
negative positive real reciprocal round sign signbit sin sinh sqrt square tan tanh trunc matrix_transpose unique_values""".split()
_BINARY = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal floor_divide greater greater_equal hypot
less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder subtract matmul""".split()
_SIGNATURES = dict(
    clip="x, /, min=None, max=None", where="condition, x1, x2, /", tril="x, /, *, k=0", triu="x, /, *, k=0", broadcast_to="x, /, shape",
    broadcast_arrays="*arrays", expand_dims="x, /, axis=0", flip="x, /, *, axis=None", moveaxis="x, source, destination, /", permute_dims="x, /, axes",
    reshape="x, /, shape, *, copy=None", roll="x, /, shift, *, axis=None", squeeze="x, /, axis", stack="arrays, /, *, axis=0", tile="x, repetitions, /",
    argmax="x, /, *, axis=None, keepdims=False", argmin="x, /, *, axis=None, keepdims=False",
    searchsorted="x1, x2, /, *, side='left', sorter=None", argsort="x, /, *, axis=-1, descending=False, stable=True",
    sort="x, /, *, axis=-1, descending=False, stable=True", cumulative_sum="x, /, *, axis=None, dtype=None, include_initial=False",
    max="x, /, *, axis=None, keepdims=False", mean="x, /, *, axis=None, keepdims=False", min="x, /, *, axis=None, keepdims=False",
    prod="x, /, *, axis=None, dtype=None, keepdims=False", sum="x, /, *, axis=None, dtype=None, keepdims=False",
    std="x, /, *, axis=None, correction=0.0, keepdims=False", var="x, /, *, axis=None, correction=0.0, keepdims=False",
    tensordot="x1, x2, /, *, axes=2", vecdot="x1, x2, /, *, axis=-1")
for _n in _UNARY:
    PUBLIC[_n] = _function(_n, "x, /")
for _n in _BINARY:
    PUBLIC[_n] = _function(_n, "x1, x2, /")
for _n, _signature in _SIGNATURES.items():
    PUBLIC[_n] = _function(_n, _signature)


def _array(result):
    return asarray(result) if isinstance(result, bool) else result


PUBLIC["all"] = _function("all", "x, /, *, axis=None, keepdims=False", after=_array)
PUBLIC["any"] = _function("any", "x, /, *, axis=None, keepdims=False", after=_array)


def concat(arrays, /, *, axis=0):
    return _run("return mc.concat(%s,{axis=%s})" % (_lua(list(arrays)), "mc.none" if axis is None else _axis(axis)))


def take(x, indices, /, *, axis=None):
    n = x.shape[axis if axis is not None else 0]
    return _run("return mc.take(A[%d],A[%d]+mc.lt(A[%d],0):to('i64')*%d+1,%s)" % (x._number, indices._number, indices._number, n, _axis(axis if axis is not None else 0)))


def repeat(x, repeats, /, *, axis=None):
    return _call("repeat_each", x, repeats, dict(axis=_axis(axis)))


def nonzero(x, /):
    result = _call("nonzero", x, dict(base=0))
    return tuple(result) if isinstance(result, list) else (result,)


from collections import namedtuple  # noqa: E402

_all = namedtuple("unique_all", "values indices inverse_indices counts")
_counts, _inverse = namedtuple("unique_counts", "values counts"), namedtuple("unique_inverse", "values inverse_indices")


def unique_all(x, /):
    r = _call("unique_all", x, dict(base=0))
    return _all(r["values"], r["indices"], r["inverse_indices"], r["counts"])


def unique_counts(x, /):
    return _counts(*_call("unique_counts", x))


def unique_inverse(x, /):
    return _inverse(*_call("unique_inverse", x, dict(base=0)))


# ---------------------------------------------------------------- extensions


class _Space:
    def __init__(self, name, signatures):
        self.__name__ = name
        for n, (signature, after) in signatures.items():
            setattr(self, n, _function(n, signature, "%s.%s" % (name, n), after))


def _tuple(name, *fields):
    kind = namedtuple(name, fields)
    return lambda r: kind(*(r if isinstance(r, list) else [r[f] for f in fields]))


linalg = _Space("linalg", dict(
    {n: ("x, /", None) for n in "det eigvalsh inv matrix_transpose svdvals".split()}, cholesky=("x, /, *, upper=False", None),
    cross=("x1, x2, /, *, axis=-1", None), diagonal=("x, /, *, offset=0", None), eigh=("x, /", _tuple("eigh", "eigenvalues", "eigenvectors")),
    matmul=("x1, x2, /", None), matrix_norm=("x, /, *, keepdims=False, ord='fro'", None), matrix_power=("x, n, /", None), matrix_rank=("x, /, *, rtol=None", None),
    outer=("x1, x2, /", None), pinv=("x, /, *, rtol=None", None), qr=("x, /, *, mode='reduced'", _tuple("qr", "Q", "R")),
    slogdet=("x, /", _tuple("slogdet", "sign", "logabsdet")), solve=("x1, x2, /", None), svd=("x, /, *, full_matrices=True", _tuple("svd", "U", "S", "Vh")),
    tensordot=("x1, x2, /, *, axes=2", None), trace=("x, /, *, offset=0, dtype=None", None), vecdot=("x1, x2, /, *, axis=-1", None),
    vector_norm=("x, /, *, axis=None, keepdims=False, ord=2", None)))
_one, _many = "x, /, *, n=None, axis=-1, norm='backward'", "x, /, *, s=None, axes=None, norm='backward'"
fft = _Space("fft", dict(
    {n: (_one, None) for n in "fft ifft rfft irfft hfft ihfft".split()}, **{n: (_many, None) for n in "fftn ifftn rfftn irfftn".split()},
    fftfreq=("n, /, *, d=1.0, dtype=None, device=None", None), rfftfreq=("n, /, *, d=1.0, dtype=None, device=None", None), fftshift=("x, /, *, axes=None", None), ifftshift=("x, /, *, axes=None", None)))

for _function_ in (asarray, arange, full, full_like, empty, empty_like, ones, ones_like, zeros, zeros_like, eye, linspace, meshgrid, unstack, from_dlpack, finfo, iinfo, astype,
                   isdtype, can_cast, result_type, __array_namespace_info__, concat, take, repeat, nonzero, unique_all, unique_counts, unique_inverse):
    PUBLIC[_function_.__name__] = _function_
PUBLIC.update(empty=empty, empty_like=empty_like, ones=ones, ones_like=ones_like, zeros=zeros, zeros_like=zeros_like, linalg=linalg, fft=fft)
