"""Golden cases of convolutions.

What it is for: cases_conv.npz, read by tests/spec/cases_spec.lua.
What it owns: the shapes and options tried; seeds are fixed.
Answers by PyTorch in float64.
"""

import numpy as np
import torch
import torch.nn.functional as F

from cases import Cases

rng = np.random.default_rng(20261123)
HALF = ('f16', 'f32', 'f64', 'bf16')


def draw(c, *shape, bits=8):
    return c.round(rng.normal(size=shape), bits)


def t(x):
    return torch.from_numpy(np.ascontiguousarray(x))


def reversed_pairs(padding):
    return [v for p in reversed(padding) for v in (p if isinstance(p, list) else [p, p])]


def convolution(c):
    functions = [F.conv1d, F.conv2d, F.conv3d]
    back = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d]
    shapes = [
        # groups, channels in and out of a group, sizes, taps, options
        (1, 1, 1, [7], [3], {}),
        (1, 3, 5, [20], [4], {'stride': 3, 'padding': 2}),
        (2, 2, 3, [33], [3], {'dilation': 4, 'padding': [[3, 5]]}),
        (1, 2, 4, [9], [4], {'padding': 'same'}),
        (1, 2, 4, [9], [3], {'padding': 2, 'padding_mode': 'circular'}),
        (1, 2, 4, [9], [5], {'padding': 4, 'padding_mode': 'reflect', 'stride': 2}),
        (3, 1, 1, [6, 5], [3, 3], {'padding': 1}),
        (1, 4, 6, [8, 9], [3, 2], {'stride': [2, 1], 'padding': [1, 0]}),
        (1, 5, 9, [7, 7], [1, 1], {'stride': 2}),
        (2, 3, 2, [9, 11], [3, 5], {'dilation': [2, 1], 'padding': [2, 3], 'padding_mode': 'circular'}),
        (1, 2, 3, [6, 6], [4, 3], {'padding': [2, 1], 'padding_mode': 'replicate', 'stride': 2}),
        (1, 2, 3, [5, 6], [3, 3], {'padding': 2, 'padding_mode': 'reflect'}),
        (1, 2, 2, [4, 4, 5], [2, 3, 2], {'padding': 1, 'stride': [1, 2, 1]}),
        (2, 1, 2, [4, 5, 4], [3, 2, 3], {'padding': [2, 1, 2], 'padding_mode': 'circular'}),
    ]
    for groups, cin, cout, size, taps, o in shapes:
        n = len(size)
        w, b = draw(c, groups * cout, cin, *taps), draw(c, groups * cout)
        for batch in ([2], []) if n == 1 else ([2],):
            x = draw(c, *batch, groups * cin, *size)
            o = dict(o, groups=groups)
            padding = o.get('padding', 0)
            torch_options = {k: o[k] for k in ('stride', 'dilation', 'groups') if k in o}
            padded = t(x)
            if padding == 'same':
                torch_options['padding'] = 'same'
            else:
                pairs = reversed_pairs(padding if isinstance(padding, list) else [padding] * n)
                mode = {'zeros': 'constant'}.get(o.get('padding_mode', 'zeros'), o.get('padding_mode'))
                padded = F.pad(padded if batch else padded[None], pairs, mode=mode)
                padded = padded if batch else padded[0]
            y = functions[n - 1](padded, t(w), t(b), **torch_options).numpy()
            terms = cin * int(np.prod(taps)) + 1
            size_of = float(np.abs(x).max() * np.abs(w).max() * np.sqrt(terms))
            c.add(f'nn.conv{n}d', [x, w], dict(o, bias=b), want=y, bits=8, dtypes=HALF, terms=terms, size=size_of)
            if n == 1 and not batch:
                c.add(f'nn.conv{n}d', [x, w], o, want=functions[n - 1](padded, t(w), **torch_options).numpy(), bits=8, terms=terms, size=size_of)
    whole = rng.integers(-9, 9, (1, 2, 5, 5))
    k = rng.integers(-3, 3, (2, 2, 2, 2))
    c.add('nn.conv2d', [whole, k], want=F.conv2d(t(whole).double(), t(k).double()).numpy(), bits=8, terms=8)
    # transposed
    for groups, cin, cout, size, taps, o in [
        (1, 1, 1, [4], [3], {}),
        (2, 2, 3, [7], [4], {'stride': 3, 'padding': 1, 'output_padding': 2}),
        (1, 3, 4, [5], [3], {'dilation': 2, 'stride': 2, 'output_padding': 1}),
        (1, 3, 5, [4, 5], [3, 3], {'stride': 2, 'padding': 1, 'output_padding': 1}),
        (2, 2, 2, [5, 4], [2, 3], {'stride': [3, 1], 'padding': [0, 2]}),
        (1, 2, 3, [3, 3], [1, 2], {'stride': 4}),
        (1, 2, 3, [3, 4, 2], [3, 2, 2], {'stride': 2, 'padding': [1, 0, 1], 'output_padding': [1, 1, 0]}),
    ]:
        n = len(size)
        w, b = draw(c, groups * cin, cout, *taps), draw(c, groups * cout)
        for batch in ([2], []) if n == 1 else ([2],):
            x = draw(c, *batch, groups * cin, *size)
            o = dict(o, groups=groups)
            terms = cin * int(np.prod(taps)) + 1
            size_of = float(np.abs(x).max() * np.abs(w).max() * np.sqrt(terms))
            c.add(f'nn.conv_transpose{n}d', [x, w], dict(o, bias=b), want=back[n - 1](t(x), t(w), t(b), **o).numpy(), bits=8, dtypes=HALF, terms=terms, size=size_of)


def conv():
    c = Cases('conv')
    convolution(c)
    return c.save(torch=torch.__version__.split('+')[0])


if __name__ == '__main__':
    torch.set_num_threads(1)
    print(conv())
