"""Golden cases of ops: arguments, options and the answer of another program, run by tests/spec/cases_spec.lua.

What it is for: a make_cases_<part>.py says `c.add(op, args, opts, want=...)` per case; the spec runs each
case over floating dtypes, memory layouts and instruction levels, and holds the result to the tolerance
class of the op's row.
What it owns: the form of cases_<part>.npz: arrays k0, k1, ... and `index`, JSON text as u8.
What it may not know: what any op does.

How a case runs. Floating and complex arrays are turned into the dtype of the run ('f16' 'bf16' 'f32' 'f64';
complex ones into the complex dtype of the same precision), so `add` first rounds them to `bits` significant
bits: give bits=8 when halves are among the dtypes (bf16 has 8, f16 has 11), 24 for f32 and f64, 53 for f64
alone. THE ANSWER MUST BE COMPUTED FROM THE ROUNDED ARRAYS: take them with `c.round(x, bits)` first. Integer and boolean
arrays keep their dtype unless `cast` is 'all'. dtypes=None means ('f32', 'f64') when a floating array is
there, else 'own', the stored dtypes.

Axes, positions and everything else stand as Lua counts (from 1). `None` is nil (an absent argument); a tuple or list is a Lua
list (of arrays too), a dict a table with names.
want: an array; a number, bool or string (a Lua value); a dict (a table of results); a list (several results of the
call, or, with listed=True, one result that is a list).
Tolerance: the class of the row, or `tol`. ACCUM takes `terms` (default: elements of the largest array) and
`size` (default: the largest magnitude in the answer). ITERATIVE takes `units`: the bound is
units * eps(dtype) * (|want| of the element when scale='element', the largest |want| when scale='array').
"""

import json
import os

import numpy as np

import golden_file

SPECIAL = {np.inf: 'inf', -np.inf: '-inf'}


class Cases:
    def __init__(self, part):
        self.part, self.cases, self.arrays, self.seen, self.about = part, [], {}, {}, {}

    @staticmethod
    def round(x, bits=24):
        """x with at most `bits` significant bits, ties to even."""
        x = np.asarray(x)
        if x.dtype.kind == 'c':
            return Cases.round(x.real, bits) + 1j * Cases.round(x.imag, bits)
        if x.dtype.kind != 'f' or bits >= 53:
            return x
        m, e = np.frexp(x.astype(np.float64))
        with np.errstate(invalid='ignore', over='ignore'):
            return np.where(np.isfinite(x), np.ldexp(np.rint(np.ldexp(m, bits)), e - bits), x)

    def _array(self, x):
        x = np.ascontiguousarray(x) if x.ndim else x
        key = (x.dtype.str, x.shape, x.tobytes())
        if key not in self.seen:
            self.seen[key] = f'k{len(self.arrays)}'
            self.arrays[self.seen[key]] = x
        return {'a': self.seen[key]}

    def _value(self, v, bits):
        if v is None:
            return {'nil': True}
        if isinstance(v, np.generic):
            v = np.asarray(v)
        if isinstance(v, np.ndarray):
            rounded = self.round(v, bits)
            if not np.array_equal(rounded, v, equal_nan=v.dtype.kind in 'fc'):
                raise ValueError(f'{self.part}: an argument has more than {bits} bits: pass it through c.round(x, {bits}) first')
            return self._array(v)
        if isinstance(v, (bool, str)):
            return {'v': v}
        if isinstance(v, complex):
            return {'c': [v.real, v.imag]}
        if isinstance(v, (int, float)):
            return {'n': repr(float(v))} if v != v or v in SPECIAL else {'v': v}
        if isinstance(v, (list, tuple)):
            return {'l': [self._value(x, bits) for x in v]}
        if isinstance(v, dict):
            return {'t': {k: self._value(x, bits) for k, x in v.items()}}
        raise TypeError(f'{self.part}: {type(v)} cannot be an argument')

    def add(self, op, args, opts=None, *, want, dtypes=None, bits=24, cast=None, tol=None, terms=None, size=None,
            units=None, scale=None, listed=False, note=None, layouts=None):
        case = {'op': op, 'args': [self._value(v, bits) for v in args], 'want': self._value(want, 53)}
        if opts:
            case['opts'] = {'t': {k: self._value(v, bits) for k, v in opts.items()}}
        for key, value in dict(dtypes=dtypes, cast=cast, tol=tol, terms=terms, size=size, units=units, scale=scale,
                               listed=listed or None, note=note, layouts=layouts).items():
            if value is not None:
                case[key] = float(value) if isinstance(value, np.generic) else value
        self.cases.append(case)

    def save(self, **about):
        """Writes cases_<part>.npz; `about` names library versions and sources."""
        about = dict(about, script=f'make_cases_{self.part}.py', cases=len(self.cases))
        arrays = dict(self.arrays, index=golden_file.text(json.dumps(self.cases, sort_keys=True)))
        golden_file.save(f'cases_{self.part}', about, arrays)
        return os.path.join(golden_file.FOLDER, f'cases_{self.part}.npz')
