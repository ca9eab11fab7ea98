"""Modules of PyTorch: random configurations of every layer, forward, gradients, three steps of SGD.

What it is for: tests/spec/network_modules_spec.lua.
What it owns: the configurations (seeded), one file network_modules.npz with `cases` (JSON text as u8:
how mascon makes the module, shapes of inputs, names and shapes of its parameters) and `values`: for each tensor of a
case, in order result, gradients of inputs, gradients of parameters, parameters after three steps,
buffers after them, five numbers: two projections on cosines, the sum of magnitudes, first and last
element. Tensors that go in are sines of their position, so that they need not be stored.
What it may not know: mascon.

`make_network_modules.py N FILE [SEED]` writes N configurations of each layer to another file, of any size.
"""

import json
import random
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import golden_file

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
EACH = int(sys.argv[1]) if len(sys.argv) > 1 else 4


def wave(shape, k):
    """Numbers of one tensor: 0.6 sin(1.7 (i + 1) + 0.9 k + 0.003 i^1.5)."""
    n = int(np.prod(shape)) if len(shape) else 1
    i = np.arange(n, dtype=np.float64)
    return torch.tensor(0.6 * np.sin(1.7 * (i + 1) + 0.9 * k + 0.003 * i**1.5).reshape(shape))


def five(t):
    """What is kept of a tensor."""
    v = t.detach().numpy().reshape(-1).astype(np.float64)
    if v.size == 0:
        return [0.0] * 5
    i = np.arange(v.size)
    return [
        float(np.sum(v * np.cos(0.37 * i + 1))),
        float(np.sum(v * np.cos(1.91 * i + 0.2))),
        float(np.sum(np.abs(v))),
        float(v[0]),
        float(v[-1]),
    ]


class Sum(nn.Module):
    """Parts of a module that PyTorch does not have, around a function."""

    def __init__(self, f, **parts):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)
        self.f = f

    def forward(self, *x):
        return self.f(self, *x)


def plain(m):
    return {name: (name, None) for name, _ in m.named_parameters()}


def heads(prefix, theirs, width, out):
    """Names of attention: q, k, v stand below each other in PyTorch."""
    for i, letter in enumerate('qkv'):
        cut = slice(i * width, (i + 1) * width)
        out[f'{prefix}{letter}_proj.weight'] = (f'{theirs}in_proj_weight', cut)
        out[f'{prefix}{letter}_proj.bias'] = (f'{theirs}in_proj_bias', cut)
    for name in ('weight', 'bias'):
        out[f'{prefix}out_proj.{name}'] = (f'{theirs}out_proj.{name}', None)
    return out


def rope(x, base=10000, half=False):
    n, d = x.shape[-2], x.shape[-1]
    a = torch.arange(n)[:, None] * base ** (-2 * torch.arange(d // 2) / d)
    c, s = a.cos(), a.sin()
    if half:
        u, v = x[..., : d // 2], x[..., d // 2 :]
        return torch.cat([u * c - v * s, u * s + v * c], -1)
    u, v = x[..., 0::2], x[..., 1::2]
    return torch.stack([u * c - v * s, u * s + v * c], -1).flatten(-2)


# each function: rng -> (class of mascon, its arguments, options, module, shapes of inputs, names, call)
def linear(r):
    i, o, b = r.randint(1, 7), r.randint(1, 7), r.random() < 0.7
    m = nn.Linear(i, o, bias=b)
    lead = [r.randint(1, 4) for _ in range(r.randint(1, 3))]
    return 'Linear', [i, o], {'bias': b}, m, [lead + [i]], plain(m)


def conv(n, transposed):
    def make(r):
        groups = r.choice([1, 1, 2])
        i, o = groups * r.randint(1, 3), groups * r.randint(1, 3)
        k = [r.randint(1, 3) for _ in range(n)]
        stride, dilation = [r.randint(1, 2) for _ in range(n)], [r.randint(1, 2) for _ in range(n)]
        pad = [r.randint(0, 1) for _ in range(n)]
        bias = r.random() < 0.7
        how = {'stride': stride, 'dilation': dilation, 'padding': pad, 'groups': groups, 'bias': bias}
        if transposed:
            how['output_padding'] = [r.randint(0, max(stride[j], dilation[j]) - 1) for j in range(n)]
        else:
            how['padding_mode'] = r.choice(['zeros', 'zeros', 'circular', 'reflect', 'replicate'])
        name = f'Conv{"Transpose" if transposed else ""}{n}d'
        m = getattr(nn, name)(i, o, k, **how)
        size = [r.randint(5, 7) if n < 3 else 5 for _ in range(n)]
        return name, [i, o, k], how, m, [[r.randint(1, 3), i] + size], plain(m)

    return make


def layer_norm(r):
    d = [r.randint(2, 5) for _ in range(r.randint(1, 2))]
    m = nn.LayerNorm(d, eps=1e-5)
    return 'LayerNorm', [d], {}, m, [[r.randint(1, 3), 2] + d], plain(m)


def rms_norm(r):
    d = r.randint(2, 7)
    m = nn.RMSNorm(d, eps=1e-6)
    return 'RMSNorm', [d], {}, m, [[3, 2, d]], plain(m)


def batch_norm(n):
    def make(r):
        c, momentum = r.randint(1, 4), r.choice([0.1, 0.3])
        m = getattr(nn, f'BatchNorm{n}d')(c, momentum=momentum)
        shape = [r.randint(2, 4), c] + [r.randint(2, 4) for _ in range(n)]
        if n == 1 and r.random() < 0.5:
            shape = [r.randint(2, 5), c]
        return f'BatchNorm{n}d', [c], {'momentum': momentum}, m, [shape], plain(m)

    return make


def group_norm(r):
    g = r.randint(1, 3)
    c = g * r.randint(1, 3)
    m = nn.GroupNorm(g, c)
    return 'GroupNorm', [g, c], {}, m, [[2, c, r.randint(2, 5)]], plain(m)


def instance_norm(r):
    c = r.randint(1, 4)
    m = nn.InstanceNorm2d(c, affine=True)
    return 'InstanceNorm', [c], {'affine': True}, m, [[2, c, 3, r.randint(2, 4)]], plain(m)


def embedding(r):
    n, d = r.randint(3, 8), r.randint(1, 5)
    pad = r.choice([None, r.randint(0, n - 1)])
    m = nn.Embedding(n, d, padding_idx=pad)
    how = {} if pad is None else {'padding_idx': pad}
    return 'Embedding', [n, d], how, m, [{'ids': [r.randint(2, 4), 3], 'most': n}], plain(m)


ACTIVATIONS = [
    ('ReLU', []), ('LeakyReLU', [0.2]), ('ELU', [0.7]), ('GELU', []), ('GELU', ['tanh']), ('SiLU', []), ('Mish', []), ('Softplus', []),
    ('Hardswish', []), ('LogSigmoid', []), ('Sigmoid', []), ('Tanh', []), ('Softmax', [-1]), ('LogSoftmax', [-1]), ('GLU', [-1]),
]  # fmt: skip


def activation(name, args):
    def make(r):
        m = getattr(nn, name)(approximate='tanh') if args == ['tanh'] else getattr(nn, name)(*args)
        return name, args, None, m, [[3, r.choice([2, 4, 6])]], {}

    return make


def pool(n, kind):
    def make(r):
        shape = [2, 2] + [r.randint(5, 8) for _ in range(n)]
        name = f'{kind}Pool{n}d'
        if kind.startswith('Adaptive'):
            size = [r.randint(1, 4) for _ in range(n)]
            m = getattr(nn, name)(size if n > 1 else size[0])
            return name, [size if n > 1 else size[0]], None, m, [shape], {}
        k, s = r.randint(2, 3), r.randint(1, 3)
        how = {'stride': s, 'padding': r.randint(0, 1)}
        if kind == 'Avg':
            how['count_include_pad'] = r.random() < 0.5
        return name, [k], how, getattr(nn, name)(k, **how), [shape], {}

    return make


def recurrent(name):
    def make(r):
        i, h, layers, both, bias = r.randint(1, 4), r.randint(1, 4), r.randint(1, 2), r.random() < 0.5, r.random() < 0.8
        m = getattr(nn, name)(i, h, num_layers=layers, bidirectional=both, bias=bias, batch_first=True)
        b = r.randint(1, 3)
        shapes = [[b, r.randint(1, 5), i]]
        if r.random() < 0.5:
            shapes += [[layers * (2 if both else 1), b, h]] * (2 if name == 'LSTM' else 1)

        def call(net, x, *s):
            if name == 'LSTM':
                y, (h1, c1) = net(x, tuple(s)) if s else net(x)
                return [y, h1, c1]
            y, h1 = net(x, *s)
            return [y, h1]

        how = {'layers': layers, 'bidirectional': both, 'bias': bias}
        return name, [i, h], how, m, shapes, plain(m), call

    return make


def cell(name):
    def make(r):
        i, h, b = r.randint(1, 4), r.randint(1, 4), r.randint(1, 3)
        m = getattr(nn, name)(i, h)
        shapes = [[b, i], [b, h]] + ([[b, h]] if name == 'LSTMCell' else [])

        def call(net, x, *s):
            y = net(x, tuple(s) if name == 'LSTMCell' else s[0])
            return list(y) if name == 'LSTMCell' else [y]

        return name, [i, h], {}, m, shapes, plain(m), call

    return make


def attention(r):
    nh = r.randint(1, 3)
    w = nh * r.randint(1, 4)
    b, t = r.randint(1, 3), r.randint(1, 5)
    m = nn.MultiheadAttention(w, nh, batch_first=True)
    causal, cross = r.random() < 0.5, r.random() < 0.4
    shapes = [[b, t, w]] + ([[b, r.randint(1, 5), w]] if cross else [])
    mask = torch.triu(torch.ones(t, t, dtype=torch.bool), 1) if causal and not cross else None

    def call(net, x, *memory):
        k = memory[0] if memory else x
        return [net(x, k, k, attn_mask=mask, need_weights=False)[0]]

    return 'MultiheadAttention', [w, nh], {'causal': mask is not None}, m, shapes, heads('', '', w, {}), call


def grouped(r):
    kv, per, d = r.randint(1, 2), r.randint(1, 3), 2 * r.randint(1, 2)
    nh, turned, half = kv * per, r.random() < 0.6, r.random() < 0.5
    w = nh * d
    parts = {'q_proj': nn.Linear(w, w, bias=False), 'k_proj': nn.Linear(w, kv * d, bias=False), 'v_proj': nn.Linear(w, kv * d, bias=False),
             'out_proj': nn.Linear(w, w, bias=False)}

    def f(net, x):
        b, t, _ = x.shape
        q, k, v = (p(x).reshape(b, t, -1, d).transpose(1, 2) for p in (net.q_proj, net.k_proj, net.v_proj))
        if turned:
            q, k = rope(q, half=half), rope(k, half=half)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return net.out_proj(y.transpose(1, 2).reshape(b, t, -1))

    m = Sum(f, **parts)
    how = {'kv_heads': kv, 'bias': False, 'causal': True}
    if turned:
        how['rope'] = {'layout': 'half' if half else 'interleaved'}
    return 'MultiheadAttention', [w, nh], how, m, [[2, r.randint(1, 4), w]], plain(m)


def bucket(far, both, buckets, longest):
    """T5's bucket of a distance, key minus query."""
    base = 0
    if both:
        buckets //= 2
        base, far = (buckets if far > 0 else 0), abs(far)
    else:
        far = max(-far, 0)
    near = buckets // 2
    if far < near:
        return base + far
    return base + min(near + int(np.log(far / near) / np.log(longest / near) * (buckets - near)), buckets - 1)


def relative(r):
    nh, causal = r.randint(1, 3), r.random() < 0.5
    w = nh * r.randint(1, 3)
    buckets, longest = 2 * r.randint(2, 5), r.randint(12, 20)
    parts = {f'{n}_proj': nn.Linear(w, w) for n in ('q', 'k', 'v', 'out')}
    parts['relative'] = nn.Embedding(buckets, nh)

    def f(net, x):
        b, t, _ = x.shape
        q, k, v = (p(x).reshape(b, t, nh, -1).transpose(1, 2) for p in (net.q_proj, net.k_proj, net.v_proj))
        at = torch.tensor([[bucket(j - i, not causal, buckets, longest) for j in range(t)] for i in range(t)])
        bias = net.relative(at).permute(2, 0, 1)
        if causal:
            bias = bias.masked_fill(torch.triu(torch.ones(t, t, dtype=torch.bool), 1), -torch.inf)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        return net.out_proj(y.transpose(1, 2).reshape(b, t, -1))

    how = {'causal': causal, 'relative': {'buckets': buckets, 'longest': longest}}
    m = Sum(f, **parts)
    return 'MultiheadAttention', [w, nh], how, m, [[2, r.randint(6, 24), w]], plain(m)


def gated(name, act):
    def make(r):
        w, h = r.randint(1, 5), r.randint(1, 6)
        m = Sum(lambda net, x: net.down_proj(act(net.gate_proj(x)) * net.up_proj(x)), gate_proj=nn.Linear(w, h), up_proj=nn.Linear(w, h),
                down_proj=nn.Linear(h, w))
        return name, [w], {'hidden': h, 'bias': True}, m, [[2, 3, w]], plain(m)

    return make


def encoder(r):
    nh = r.randint(1, 2)
    w, hid, first, act = nh * r.randint(1, 3), r.randint(2, 6), r.random() < 0.5, r.choice(['relu', 'gelu'])
    m = nn.TransformerEncoderLayer(w, nh, hid, dropout=0.0, activation=act, batch_first=True, norm_first=first)
    names = heads('self_attn.', 'self_attn.', w, {})
    for p in ('weight', 'bias'):
        for n in ('norm1', 'norm2'):
            names[f'{n}.{p}'] = (f'{n}.{p}', None)
        for n in ('linear1', 'linear2'):
            names[f'feed_forward.{n}.{p}'] = (f'{n}.{p}', None)
    how = {'hidden': hid, 'activation': act, 'norm_first': first}
    return 'TransformerEncoderLayer', [w, nh], how, m, [[2, r.randint(1, 4), w]], names


def decoder(r):
    nh = r.randint(1, 2)
    w, hid, first, t = nh * r.randint(1, 3), r.randint(2, 6), r.random() < 0.5, r.randint(1, 4)
    m = nn.TransformerDecoderLayer(w, nh, hid, dropout=0.0, activation='gelu', batch_first=True, norm_first=first)
    names = heads('self_attn.', 'self_attn.', w, heads('cross_attn.', 'multihead_attn.', w, {}))
    for p in ('weight', 'bias'):
        for n in ('norm1', 'norm2', 'norm3'):
            names[f'{n}.{p}'] = (f'{n}.{p}', None)
        for n in ('linear1', 'linear2'):
            names[f'feed_forward.{n}.{p}'] = (f'{n}.{p}', None)
    mask = torch.triu(torch.ones(t, t, dtype=torch.bool), 1)
    how = {'hidden': hid, 'norm_first': first}
    return 'TransformerDecoderLayer', [w, nh], how, m, [[2, t, w], [2, r.randint(1, 4), w]], names, lambda net, x, y: [net(x, y, tgt_mask=mask)]


def residual(r):
    i, o, s = r.randint(1, 3), r.randint(1, 3), r.randint(1, 2)
    parts = {'conv1': nn.Conv2d(i, o, 3, s, 1, bias=False), 'conv2': nn.Conv2d(o, o, 3, 1, 1, bias=False), 'norm1': nn.BatchNorm2d(o), 'norm2': nn.BatchNorm2d(o)}
    if i != o or s != 1:
        parts['shortcut'] = nn.Conv2d(i, o, 1, s, bias=False)
        parts['shortcut_norm'] = nn.BatchNorm2d(o)

    def f(net, x):
        y = net.norm2(net.conv2(F.relu(net.norm1(net.conv1(x)))))
        return F.relu(y + (net.shortcut_norm(net.shortcut(x)) if 'shortcut' in parts else x))

    m = Sum(f, **parts)
    return 'ResidualBlock', [i, o], {'stride': s}, m, [[2, i, 6, 6]], plain(m)


def language(r):
    kv, per, d, layers = r.randint(1, 2), r.randint(1, 2), 2 * r.randint(1, 2), r.randint(1, 2)
    nh, v, longest = kv * per, r.randint(3, 7), 6
    w, hid, t, bias = nh * d, r.randint(2, 6), r.randint(1, 5), r.random() < 0.6
    turned, half, tied, scaled, swish, rms = (r.random() < 0.5 for _ in range(6))
    parts, names = {'embedding': nn.Embedding(v, w)}, {'embedding.weight': ('embedding.weight', None)}

    def part(ours, m):
        theirs = ours.replace('.', '_')
        parts[theirs] = m
        for n, _ in m.named_parameters():
            names[f'{ours}.{n}'] = (f'{theirs}.{n}', None)

    def norm():
        return nn.RMSNorm(w, eps=1e-5) if rms else nn.LayerNorm(w, bias=bias)

    for k in range(1, layers + 1):
        b = f'blocks.layers.{k}.'
        part(b + 'norm1', norm())
        part(b + 'norm2', norm())
        for n, o in (('q', w), ('k', kv * d), ('v', kv * d), ('out', w)):
            part(f'{b}self_attn.{n}_proj', nn.Linear(w, o, bias=bias))
        if swish:
            for n, i, o in (('gate', w, hid), ('up', w, hid), ('down', hid, w)):
                part(f'{b}feed_forward.{n}_proj', nn.Linear(i, o, bias=False))
        else:
            part(b + 'feed_forward.linear1', nn.Linear(w, hid, bias=bias))
            part(b + 'feed_forward.linear2', nn.Linear(hid, w, bias=bias))
    part('blocks.norm', norm())
    if not tied:
        part('head', nn.Linear(w, v, bias=False))
    if not turned:
        parts['places'] = nn.Embedding(longest, w)
        names['positions.weight'] = ('places.weight', None)

    def f(net, ids):
        n = ids.shape[1]
        x = net.embedding(ids) * (w**0.5 if scaled else 1)
        x = x if turned else x + net.places.weight[:n]
        for k in range(1, layers + 1):
            def of(name, k=k):
                return getattr(net, f'blocks_layers_{k}_{name}')

            z = of('norm1')(x)
            q, key, val = (of(f'self_attn_{c}_proj')(z).reshape(len(ids), n, -1, d).transpose(1, 2) for c in 'qkv')
            if turned:
                q, key = rope(q, half=half), rope(key, half=half)
            y = F.scaled_dot_product_attention(q, key, val, is_causal=True, enable_gqa=True)
            x = x + of('self_attn_out_proj')(y.transpose(1, 2).reshape(len(ids), n, w))
            z = of('norm2')(x)
            if swish:
                x = x + of('feed_forward_down_proj')(F.silu(of('feed_forward_gate_proj')(z)) * of('feed_forward_up_proj')(z))
            else:
                x = x + of('feed_forward_linear2')(F.gelu(of('feed_forward_linear1')(z)))
        x = net.blocks_norm(x)
        return F.linear(x, net.embedding.weight if tied else net.head.weight)

    how = {'vocabulary': v, 'width': w, 'layers': layers, 'heads': nh, 'kv_heads': kv, 'hidden': hid, 'longest': longest, 'dropout': 0, 'bias': bias,
           'activation': 'swiglu' if swish else 'gelu', 'norm': 'rms' if rms else 'layer', 'positions': 'rope' if turned else 'learned', 'tied': tied,
           'scale': scaled, 'rope': {'layout': 'half' if half else 'interleaved'}}
    return 'PreNormTransformer', [], how, Sum(f, **parts), [{'ids': [2, t], 'most': v}], names


LAYERS = [linear, embedding, layer_norm, rms_norm, batch_norm(1), batch_norm(2), batch_norm(3), group_norm, instance_norm,
          recurrent('RNN'), recurrent('LSTM'), recurrent('GRU'), cell('RNNCell'), cell('LSTMCell'),
          cell('GRUCell'), attention, grouped, gated('SwiGLU', F.silu), gated('GeGLU', F.gelu), encoder, decoder, residual]
LAYERS += [conv(n, t) for n in (1, 2, 3) for t in (False, True)]
LAYERS += [pool(n, kind) for n in (1, 2, 3) for kind in ('Max', 'Avg', 'AdaptiveAvg', 'AdaptiveMax')]
LAYERS += [activation(*a) for a in ACTIVATIONS] + [relative, language]


def run(parts):
    name, args, how, m, shapes, names = parts[:6]
    call = parts[6] if len(parts) > 6 else lambda net, *x: [net(*x)]
    m = m.double().train()
    params = dict(m.named_parameters())
    order = sorted(names)

    def of(ours, what=lambda p: p):
        theirs, cut = names[ours]
        t = what(params[theirs])
        return t if cut is None else t[cut]

    with torch.no_grad():
        for k, ours in enumerate(order):
            of(ours).copy_(wave(of(ours).shape, k + 10))
    inputs = []
    for k, s in enumerate(shapes):
        if isinstance(s, dict):
            n = int(np.prod(s['ids']))
            inputs.append(torch.tensor([(7 * i + 3) % s['most'] for i in range(n)]).reshape(s['ids']))
        else:
            inputs.append(wave(s, k).requires_grad_())
    opt = torch.optim.SGD(list(params.values()), lr=0.05, momentum=0.9, weight_decay=0.01) if params else None
    kept = []
    for step in range(3 if opt else 1):
        y = call(m, *inputs)
        loss = sum((t * wave(t.shape, 5 + k)).sum() for k, t in enumerate(y))
        if opt:
            opt.zero_grad()
        loss.backward()
        if step == 0:
            kept += [five(t) for t in y] + [five(x.grad) for x in inputs if x.dtype.is_floating_point]
            kept += [five(of(n, lambda p: p.grad)) for n in order]
        if opt:
            opt.step()
    kept += [five(of(n)) for n in order]
    buffers = {n: t for n, t in m.named_buffers() if t.dtype.is_floating_point}
    kept += [five(buffers[n]) for n in sorted(buffers)]
    entry = {'name': name, 'args': args, 'inputs': shapes, 'names': [[n, list(of(n).shape)] for n in order], 'buffers': sorted(buffers), 'results': len(y)}
    if how is not None:
        entry['options'] = how
    return entry, kept


def main():
    r = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 16)
    cases, values = [], []
    for _ in range(EACH):
        for make in LAYERS:
            while True:
                try:
                    entry, kept = run(make(r))
                    break
                except (RuntimeError, ValueError) as why:  # a window larger than its input
                    print('again:', str(why)[:90])
            entry['first'] = len(values)
            cases.append(entry)
            values += kept
    arrays = {'cases': golden_file.text(cases), 'values': np.array(values)}
    if len(sys.argv) > 2:
        np.savez(sys.argv[2], **arrays)
    else:
        golden_file.save('network_modules', {'script': 'make_network_modules.py', 'torch': torch.__version__}, arrays)
    print(len(cases), 'cases')


main()
