"""Index expressions and what NumPy takes with them: index_expressions.json.

What it is for: the forms of x[...] in every mixture: numbers, ranges, new axes, ellipses, integer and boolean tensors.
What it owns: the drawing of expressions (a fixed seed). x holds 1, 2, 3, ... in row-major order, so the elements
of x[key] are the positions that were taken.
What it may not know: mascon. Keys are written as Lua counts: from 1, ranges with both ends. Plain numbers take their axis
away first (NumPy would count them among its integer arrays where a tensor stands in the key too).
Run: python make_index.py   Needs NumPy 2.
"""

import json
import os

import numpy as np

rng = np.random.default_rng(20231231)
COUNT = 260


def draw_range(n):
    """A Lua range and the positions (from 0) it means."""
    step = int(rng.choice([1, 1, 1, 2, 3, -1, -2]))
    a, b = int(rng.integers(1, n + 1)), int(rng.integers(1, n + 1))
    if (b - a) * step < 0:
        a, b = b, a
    if rng.random() < 0.1:  # empty
        return [a, a - (1 if step > 0 else -1), step], []
    lua = [a, b, step]
    for k in (0, 1):
        if rng.random() < 0.3:
            lua[k] -= n + 1
    return lua, list(range(a - 1, b - 1 + (1 if step > 0 else -1), step))


def expression():
    nd = int(rng.integers(1, 5))
    shape = [int(rng.integers(1, 5)) for _ in range(nd)]
    if rng.random() < 0.04:
        shape[int(rng.integers(nd))] = 0
    x = np.arange(1, int(np.prod(shape)) + 1).reshape(shape)
    # how many tensors, and the shape they broadcast to
    common = [int(rng.integers(1, 4)) for _ in range(int(rng.integers(0, 3)))]
    key, at, after_numbers, lua = [], 0, [], []
    dots = rng.random() < 0.25
    advanced = rng.random() < 0.85
    masked = False
    while at < nd:
        kind = rng.choice(['number', 'range', 'all', 'new', 'tensor', 'mask', 'stop', 'dots', 'point'], p=[0.12, 0.14, 0.18, 0.08, 0.25, 0.1, 0.05, 0.05, 0.03])
        n = shape[at]
        if kind == 'stop':
            break
        if kind == 'dots' and dots:
            left = nd - at
            skip = int(rng.integers(0, left + 1))
            lua.append('dots')
            key.append(('dots', skip))
            at += skip
            dots = False
        elif kind == 'new':
            lua.append('new')
            key.append(('new',))
        elif kind == 'all':
            lua.append('all')
            key.append(('all',))
            at += 1
        elif kind == 'range' and n > 0:
            r, positions = draw_range(n)
            lua.append({'r': r})
            key.append(('take', positions))
            at += 1
        elif kind == 'number' and n > 0:
            p = int(rng.integers(n))
            lua.append(p + 1 if rng.random() < 0.5 else p - n)
            key.append(('number', p))
            at += 1
        elif kind == 'tensor' and advanced and n > 0 and not masked:
            s = common[int(rng.integers(0, len(common) + 1)):]
            s = [1 if rng.random() < 0.2 else v for v in s]
            p = rng.integers(0, n, s)
            neg = rng.random(s) < 0.3
            q = np.where(neg, p - n, p + 1)
            lua.append({'i': np.ravel(q).tolist(), 's': s})
            key.append(('adv', np.asarray(p)))
            at += 1
        elif kind == 'mask' and advanced and not masked and not any(k[0] == 'adv' for k in key):
            d = int(rng.integers(1, nd - at + 1))
            m = rng.random(shape[at : at + d]) < 0.4
            lua.append({'m': np.ravel(m).tolist(), 's': shape[at : at + d]})
            key.append(('adv', m))
            at += d
            masked = True
        elif kind == 'point' and advanced and not masked and not any(k[0] == 'adv' for k in key):
            m = np.array(rng.random() < 0.7)
            lua.append({'m': [bool(m)], 's': []})
            key.append(('adv', m))
            masked = True
    # the ellipsis reaches as far as the other keys leave room: count again
    used = sum(k[1].ndim if k[0] == 'adv' and k[1].dtype == bool else 1 for k in key if k[0] not in ('new', 'dots'))
    rest = nd - used
    full, axis, numbers = [], 0, [slice(None)] * nd
    pieces = []
    for k in key:
        if k[0] == 'dots':
            pieces += [('all',)] * rest
        else:
            pieces.append(k)
    axis = 0
    y = x
    for k in pieces:
        if k[0] == 'number':
            if k[1] >= shape[axis]:
                return None
            numbers[axis] = k[1]
        if k[0] == 'take':
            if k[1] and max(k[1]) >= shape[axis]:
                return None
            numbers[axis] = slice(None)
            y = np.take(y, k[1], axis)
        if k[0] == 'adv' and k[1].dtype != bool and (k[1].size and k[1].max() >= shape[axis]):
            return None
        if k[0] == 'adv' and k[1].dtype == bool:
            if list(k[1].shape) != shape[axis : axis + k[1].ndim]:
                return None
            axis += k[1].ndim
        elif k[0] != 'new':
            axis += 1
    y = y[tuple(numbers)]
    rest_key = tuple(None if k[0] == 'new' else k[1] if k[0] == 'adv' else slice(None) for k in pieces if k[0] != 'number')
    try:
        out = y[rest_key] if rest_key else y
    except IndexError:
        return None
    if out.ndim > 8 or out.size > 48:
        return None
    return {'shape': shape, 'key': lua, 'result': list(out.shape), 'taken': np.ravel(out).tolist()}


cases, seen = [], set()
while len(cases) < COUNT:
    case = expression()
    if case is None or not case['key'] or len(case['key']) > 7:
        continue
    text = json.dumps(case, sort_keys=True)
    if text in seen:
        continue
    seen.add(text)
    cases.append(text)
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'index_expressions.json')
with open(path, 'w', encoding='utf-8') as f:
    f.write('{"script": "make_index.py", "numpy": "%s", "cases": [\n%s\n]}\n' % (np.__version__, ',\n'.join(cases)))
print(len(cases), os.path.getsize(path))
