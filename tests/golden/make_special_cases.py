"""Special-case tables of the Python array API standard 2023.12 as data: tests/support/special_cases.lua.

What it is for: each sentence "If x1_i is +0 and x2_i is greater than 0, the result is +0." of the standard's
documentation becomes the points of a fixed grid that fulfil it, with the value the standard asks for.
What it owns: the reading of those sentences. A sentence it cannot read stops it.
What it may not know: mascon.
Run: python make_special_cases.py STUBS   where STUBS is the folder src/array_api_stubs/_2023_12 of a checkout of
github.com/data-apis/array-api (written from commit 8884c406ff8a3b81ab836cefcacb08bc4a92ae18).
"""

import math
import os
import re
import sys

INF, NAN = math.inf, math.nan
GRID = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 2.0, -2.0, 3.0, -3.0]
# sentences about the language, not about values, and those that leave the result open
SKIP = re.compile(r'min` or `max|both min and max|unspecified and thus|sign bit')
NAMES = {'x_i': 0, 'x1_i': 0, 'x2_i': 1, 'a': 0, 'b': 1, 'c': 2, 'd': 3, 'min_i': 1, 'max_i': 2}


def is_zero(v, sign=None):
    return v == 0 and (sign is None or math.copysign(1, v) == sign)


def number(text):
    t = text.strip().lstrip('+')
    if t in ('infinity', '-infinity'):
        return -INF if t[0] == '-' else INF
    if t == 'NaN':
        return NAN
    return float(t)


def equals(text):
    """Predicate of one written value: zeros with their sign, NaN as itself."""
    t = text.strip()
    if t == 'NaN':
        return lambda v: v != v
    if t in ('+0', '-0'):
        return lambda v: is_zero(v, -1 if t[0] == '-' else 1)
    w = number(t)
    return lambda v: v == w


CLASSES = [
    (r'any value( \(including NaN\)|, including NaN)?', lambda v: True),
    (r'(either )?a finite number or NaN', lambda v: not math.isinf(v)),
    (r'a finite number', math.isfinite),
    (r'a nonzero finite number', lambda v: math.isfinite(v) and v != 0),
    (r'a nonzero number', lambda v: v == v and v != 0),
    (r'a positive (\(i\.e\., greater than 0\) )?finite number', lambda v: math.isfinite(v) and v > 0),
    (r'a negative (\(i\.e\., less than 0\) )?finite number', lambda v: math.isfinite(v) and v < 0),
    (r'not NaN', lambda v: v == v),
    (r'an integer value', lambda v: math.isfinite(v) and v == math.floor(v)),
    (r'not an integer value', lambda v: math.isfinite(v) and v != math.floor(v)),
    (r'an odd integer value', lambda v: math.isfinite(v) and v % 2 == 1),
    (r'not an odd integer value', lambda v: v == v and not (math.isfinite(v) and v % 2 == 1)),
    (r'already integer-valued', lambda v: math.isfinite(v) and v == math.floor(v)),
]
VALUE = r'[-+]?(?:NaN|infinity|\d+(?:\.\d+)?)'


def predicate(text):
    """What may follow `x_i is`."""
    for pattern, f in CLASSES:
        if re.fullmatch(pattern, text):
            return f
    m = re.fullmatch(r'(greater than|less than|not equal to) (%s)' % VALUE, text)
    if m:
        w = number(m[2])
        return {
            'greater than': lambda v: v > w,
            'less than': lambda v: v < w,
            'not equal to': lambda v: v == v and v != w,
        }[m[1]]
    m = re.fullmatch(r'(?:either )?(%s) or (%s)' % (VALUE, VALUE), text)
    if m:
        f, g = equals(m[1]), equals(m[2])
        return lambda v: f(v) or g(v)
    if re.fullmatch(VALUE, text):
        return equals(text)
    raise ValueError('cannot read the class %r' % text)


def sign(v):
    return math.copysign(1, v)


def condition(text):
    """Predicate over the tuple of arguments."""
    fixed = {
        'either x1_i or x2_i is NaN': lambda p: p[0] != p[0] or p[1] != p[1],
        'x1_i is NaN or x2_i is NaN': lambda p: p[0] != p[0] or p[1] != p[1],
        'a is NaN or b is NaN': lambda p: p[0] != p[0] or p[1] != p[1],
        'a or b is NaN': lambda p: p[0] != p[0] or p[1] != p[1],
        'a, b, c, or d is NaN': lambda p: any(v != v for v in p),
        'a, b, c, and d are all NaN': lambda p: all(v != v for v in p),
        'x1_i and x2_i have the same mathematical sign': lambda p: sign(p[0]) == sign(p[1]),
        'x1_i and x2_i have different mathematical signs': lambda p: sign(p[0]) != sign(p[1]),
        'x1_i and x2_i have the same mathematical sign and are both nonzero finite numbers': lambda p: sign(p[0]) == sign(p[1]) and all(math.isfinite(v) and v != 0 for v in p),
        'x1_i and x2_i have different mathematical signs and are both nonzero finite numbers': lambda p: sign(p[0]) != sign(p[1]) and all(math.isfinite(v) and v != 0 for v in p),
        'two integers are equally close to x_i': lambda p: math.isfinite(p[0]) and abs(p[0] - math.trunc(p[0])) == 0.5,
    }
    if text in fixed:
        return fixed[text]
    parts = re.split(r',? and (?=abs|x|a |b |c |d |min_i|max_i)|, (?=x1_i|x2_i)', text)
    preds = []
    for part in parts:
        part = part.strip().rstrip(',')
        m = re.fullmatch(r'abs\(x1_i\) is (.*)', part)
        if m:
            f = predicate(m[1])
            preds.append(lambda p, f=f: f(abs(p[0])))
            continue
        if part == 'x2_i is -x1_i':
            preds.append(lambda p: p[1] == -p[0])
            continue
        if part in ('x1_i equals x2_i', 'x1_i does not equal x2_i'):
            preds.append((lambda p: p[0] == p[1]) if 'not' not in part else (lambda p: p[0] != p[1]))
            continue
        m = re.fullmatch(r'(\w+) (?:is )?(.*)', part)
        if not m or m[1] not in NAMES:
            raise ValueError('cannot read the condition %r of %r' % (part, text))
        f, k = predicate(m[2]), NAMES[m[1]]
        preds.append(lambda p, f=f, k=k: f(p[k]))
    return lambda p: all(f(p) for f in preds)


PI = {'π': math.pi, 'π/2': math.pi / 2, 'π/4': math.pi / 4, '3π/4': 3 * math.pi / 4}


def part_value(t):
    t = t.replace(' ', '')
    s = -1.0 if t.startswith('-') else 1.0
    t = t.lstrip('+-±')
    if t in PI:
        return s * PI[t]
    if t == 'NaN':
        return NAN
    if t == 'infinity':
        return s * INF
    return s * float(t)


SAME = {'x_i': 0, 'x1_i': 0, 'x2_i': 1}


def result(fn, text, note):
    """(function of the arguments -> value or None, open signs). A complex value is a tuple."""
    opened = ''
    m = re.search(r'sign of (?:the )?(real|imaginary) component is unspecified', note)
    if m:
        opened = 're' if m[1] == 'real' else 'im'
    if 'signs of real and imaginary' in note:
        opened = 'both'
    text = text.replace('an implementation-dependent approximation to ', '')
    if text in ('True', 'False'):
        return (lambda p: text == 'True'), opened
    if text in SAME:
        return (lambda p: p[SAME[text]]), opened
    if text in ('|x1_i|', '-|x1_i|'):
        return (lambda p: -abs(p[0]) if text[0] == '-' else abs(p[0])), opened
    m = re.fullmatch(r'(?:equal to|equivalent to) abs\((\w+)\)', text)
    if m:
        return (lambda p: abs(p[NAMES[m[1]]])), opened
    m = re.fullmatch(r'(\+0|\+infinity) \* cis\(b\)( - 1\.0)?', text)
    if m:
        r, off = number(m[1]), 1.0 if m[2] else 0.0
        return (lambda p: (r * math.cos(p[1]) - off, r * math.sin(p[1]))), opened
    if text.startswith('the even integer closest'):
        return (lambda p: math.copysign(float(round(p[0])), p[0])), opened
    if 'signed infinity with the mathematical sign' in text:
        return (lambda p: sign(p[0]) * sign(p[1]) * INF), opened
    m = re.fullmatch(r'([-+±]?[^ ]+) ([-+±]) (.+)', text)
    if m and m[1] == '0' and not opened:  # "0 + 0j", not "+0 + 0j"
        opened = 're'
    if m and (m[3].endswith('j') or 'πj' in m[3]):
        im = m[3].replace(' ', '').replace('πj', 'π').rstrip('j')
        v = (part_value(m[1]), part_value(('-' if m[2] == '-' else '') + im))
        if '±' in m[1] or '±' in m[2]:
            opened = 're' if '±' in m[1] else 'im'
        return (lambda p: v), opened
    v = part_value(text)
    return (lambda p: v), opened


# The standard lets a library follow Python instead where it says so; these sentences have a second right answer.
def second(note):
    m = re.search(r'libraries may return (NaN|-1\.0) to match Python', note)
    return part_value(m[1]) if m else None


def lua(v):
    if v is True or v is False:
        return 'true' if v else 'false'
    if v != v:
        return 'N'
    if math.isinf(v):
        return 'I' if v > 0 else '-I'
    if v == 0:
        return '0' if sign(v) > 0 else 'Z'
    return repr(int(v)) if v == int(v) else repr(v)


def rows(path):
    fn, kind, mirror = None, 'r', False
    for line in open(path, encoding='utf-8'):
        mirror = mirror or '(conj(x))`` must equal' in line
        m = re.match(r'def (\w+)\(', line)
        if m:
            fn, kind, mirror = m[1], 'r', False
        if 'For complex floating-point operand' in line:
            kind = 'c'
        elif 'For real-valued floating-point operand' in line:
            kind = 'r'
        m = re.match(r'\s+- If (.*)$', line)
        if not m or SKIP.search(m[1].replace('``', '`')) or 'sign bit' in m[1]:
            continue
        text = m[1].replace('``', '').strip()
        if fn == 'round':
            kind = 'r'
        m = re.fullmatch(r'(.*?), (?:the result|the (real) component of the result|the elements of the returned array) (?:is|has|must equal) (.*)', text)
        if not m or 'None' in text:
            continue
        cond, real_part, res = m[1], m[2], m[3]
        cut = re.match(r'(.*?)(?:, even if .*|, unless .*)?\.?(?: \((.*)\)\.?)?$', res)
        value, note = cut[1].rstrip('.').strip(), (cut[2] or '') + ' ' + res
        value = re.sub(r' \(sign.*$', '', value)
        value = re.sub(r'\. \(\*\*note.*$', '', value)
        yield fn, kind, text, cond, bool(real_part), value, note, mirror and kind == 'c'


def main(stubs):
    out, seen = [], {}
    count = points = twice = 0
    for fn, kind, text, cond, real_part, value, note, mirror in rows(os.path.join(stubs, 'elementwise_functions.py')):
        holds = condition(cond)
        names = set(re.findall(r'\b(x_i|x1_i|x2_i|a|b|c|d|min_i|max_i)\b', cond.replace('is a ', 'is ').replace('or a ', 'or ').replace('either a ', 'either ')))
        if kind == 'c':
            n = 4 if names & {'c', 'd'} else 2
        else:
            n = 3 if fn == 'clip' else 2 if fn in TWO else 1
        if 'mathematical sign' in value and 'infinity' not in value:
            positive = 'positive' in value
            f, opened = (lambda p, positive=positive: 'positive' if positive else 'negative'), ''
        else:
            f, opened = result(fn, value, note)
        alt = second(note)
        grid = [()]
        for k in range(n):
            some = GRID if n < 3 else [NAN, -0.0, 1.0, -2.5, INF] if fn != 'clip' else [NAN, 1.0, 2.5, 3.0]
            grid = [g + (v,) for g in grid for v in some]
        args, want = [], []

        def add(p, v):
            nonlocal twice
            key, said = (fn, kind, repr(p)), repr((v, alt, real_part))
            if seen.get(key, said) != said:  # two sentences about one point: the first holds
                twice += 1
                return
            seen[key] = said
            args.append(p)
            want.append(v)

        for p in grid:
            if fn == 'clip' and p[1] > p[2]:
                continue
            if not holds(p):
                continue
            v = f(p)
            if v in ('positive', 'negative'):  # unless the result is NaN
                if math.nan in p or any(x != x for x in p) or (0 in p and any(math.isinf(x) for x in p)):
                    continue
            add(p, v)
            if mirror and p[1] == p[1]:  # f(conj z) = conj f(z)
                add((p[0], -p[1]), (v[0], -v[1]))
        if not args:
            continue
        more = ''
        if opened:
            more += ", open = '%s'" % opened
        if alt is not None:
            more += ', also = %s' % lua(alt)
        if real_part:
            more += ", part = 're'"
        flat = ', '.join(lua(v) for p in args for v in p)
        if want[0] in ('positive', 'negative'):
            w = "'%s'" % want[0]
        else:
            tuples = isinstance(want[0], tuple)
            parts = [lua(v) for w in want for v in (w if tuples else (w,))]
            size = 2 if tuples else 1
            if all(parts[i] == parts[i % size] for i in range(len(parts))):
                parts = parts[:size]
            w = '{ %s }' % ', '.join(parts)
        out.append("  { '%s', '%s', %d, { %s }, %s%s }," % (fn, kind, n, flat, w, more))
        count += 1
        points += len(args)
    head = [
        '-- special_cases.lua: the special values that the Python array API standard 2023.12 asks of elementwise functions, as data.',
        '--',
        '-- Written by tests/golden/make_special_cases.py from the documentation of the standard (github.com/data-apis/array-api); do not edit.',
        "-- A row: { function, 'r' real or 'c' complex, n numbers per point, { points }, { result of each point, or one for all }, open =, also =, part = }.",
        "-- Complex operands are pairs, two operands are a, b, c, d = a + bj and c + dj. open: parts whose sign is unspecified. also: a second right",
        "-- answer. part = 're': only the real part is stated. 'positive' and 'negative' stand for the sign alone. N: NaN, I: infinity, Z: -0.",
        'local N, I, Z = 0 / 0, math.huge, -1 / math.huge',
        'return {',
    ]
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, '..', 'support', 'special_cases.lua'), 'w', encoding='utf-8') as f:
        f.write('\n'.join(head + out + ['}', '']))
    print('%d sentences, %d points, %d of them said twice with different results' % (count, points, twice))


TWO = 'add atan2 copysign divide equal floor_divide hypot logaddexp multiply not_equal pow remainder subtract maximum minimum'.split()

if __name__ == '__main__':
    main(sys.argv[1])
