"""Golden cases of activations with a parameter, normalisations and losses.

What it is for: cases_network.npz, read by tests/spec/cases_spec.lua.
What it owns: the shapes and options tried; seeds are fixed.
Answers by PyTorch in float64; focal and cosine embedding losses by their formulas.
"""

import numpy as np
import torch
import torch.nn.functional as F

from cases import Cases

rng = np.random.default_rng(20261123)
HALF = ('f32', 'f64', 'f16', 'bf16')  # the first is compiled too: fused halves are rounded less often


def draw(c, *shape, bits=8):
    return c.round(rng.normal(size=shape), bits)


def t(x):
    return torch.from_numpy(np.ascontiguousarray(x))


def moved(f, x, axis):
    """f along the last axis, applied to another one."""
    return np.moveaxis(f(t(np.moveaxis(x, axis, -1))).numpy(), -1, axis)


def activations(c):
    x = np.concatenate([draw(c, 11), [0.0, -0.0, 30.0, -30.0, 4.0]])
    c.add('nn.leaky_relu', [x], want=F.leaky_relu(t(x)).numpy(), bits=8, dtypes=HALF)
    c.add('nn.leaky_relu', [x, 0.25], want=F.leaky_relu(t(x), 0.25).numpy(), bits=8)
    c.add('nn.elu', [x], want=F.elu(t(x)).numpy(), bits=8, dtypes=HALF)
    c.add('nn.elu', [x, 2.5], want=F.elu(t(x), 2.5).numpy(), bits=8)
    c.add('nn.gelu_tanh', [x], want=F.gelu(t(x), approximate='tanh').numpy(), bits=8, dtypes=HALF, tol='ACCUM', terms=40, size=30)
    y = draw(c, 3, 4, 6)
    for name, act in [('glu', torch.sigmoid), ('reglu', F.relu), ('geglu', F.gelu), ('swiglu', F.silu)]:
        def f(v, act=act):
            a, b = v.chunk(2, -1)
            return a * act(b)
        c.add(f'nn.{name}', [y], want=f(t(y)).numpy(), bits=8, dtypes=HALF, tol='ACCUM', terms=4, size=4)
        c.add(f'nn.{name}', [y, 2], want=moved(f, y, 1), bits=8, tol='ACCUM', terms=4, size=4)


def norms(c):
    x, w, b = draw(c, 3, 4, 6), draw(c, 4, 6), draw(c, 4, 6)
    c.add('nn.layer_norm', [x, 6], want=F.layer_norm(t(x), [6]).numpy(), bits=8, terms=40, size=8, dtypes=HALF)
    c.add('nn.layer_norm', [x, [4, 6]], {'weight': w, 'bias': b, 'eps': 0.01},
          want=F.layer_norm(t(x), [4, 6], t(w), t(b), 0.01).numpy(), bits=8, terms=40, size=8)
    far = c.round(x + 1000, 24)
    c.add('nn.layer_norm', [far, 6], want=F.layer_norm(t(far), [6]).numpy(), bits=24, dtypes=('f64',), terms=40, size=1e4)
    c.add('nn.rms_norm', [x, 6], want=F.rms_norm(t(x), [6], None, 1e-6).numpy(), bits=8, terms=40, size=8, dtypes=HALF)
    c.add('nn.rms_norm', [x, [4, 6]], {'weight': w, 'eps': 0.1}, want=F.rms_norm(t(x), [4, 6], t(w), 0.1).numpy(), bits=8, terms=40, size=8)
    w, b = draw(c, 4), draw(c, 4)
    for shape in [(2, 4), (2, 4, 5), (2, 4, 3, 2), (2, 4, 2, 2, 2)]:
        x = draw(c, *shape)
        c.add('nn.group_norm', [x, 2], {'weight': w, 'bias': b}, want=F.group_norm(t(x), 2, t(w), t(b)).numpy(), bits=8, terms=60, size=20)
        c.add('nn.group_norm', [x, 1], {'eps': 0.1}, want=F.group_norm(t(x), 1, eps=0.1).numpy(), bits=8, terms=40, size=8)
        if len(shape) > 2:
            c.add('nn.instance_norm', [x], {'weight': w, 'bias': b, 'eps': 0.01},
                  want=F.instance_norm(t(x), None, None, t(w), t(b), True, 0.1, 0.01).numpy(), bits=8, terms=40, size=8)
        mean, var = draw(c, 4), c.round(rng.uniform(0.5, 2, 4), 8)
        c.add('nn.batch_norm', [x, mean, var], {'weight': w, 'bias': b},
              want=[F.batch_norm(t(x), t(mean), t(var), t(w), t(b)).numpy(), mean, var], bits=8, terms=40, size=8)
        m, v = t(mean).clone(), t(var).clone()
        y = F.batch_norm(t(x), m, v, t(w), t(b), True, 0.25, 0.01).numpy()
        c.add('nn.batch_norm', [x, mean, var], {'weight': w, 'bias': b, 'training': True, 'momentum': 0.25, 'eps': 0.01},
              want=[y, m.numpy(), v.numpy()], bits=8, terms=60, size=20)


def pools(c):
    for n, sizes in ((1, [13]), (2, [8, 9]), (3, [4, 5, 6])):
        for batch in ([2], []) if n < 3 else ([],):
            x = draw(c, *batch, 3, *sizes)
            for o in ({}, {'stride': 2, 'padding': 1}, {'stride': 3}, {'stride': 2, 'padding': 1, 'ceil_mode': True}, {'stride': 3, 'ceil_mode': True}):
                k = [3, 2, 2][:n]
                stride, pad, up = o.get('stride', k), o.get('padding', 0), o.get('ceil_mode', False)
                top, mid = getattr(F, f'max_pool{n}d'), getattr(F, f'avg_pool{n}d')
                c.add(f'nn.max_pool{n}d', [x, k], o, want=top(t(x), k, stride, pad, ceil_mode=up).numpy(), bits=8, dtypes=HALF)
                for counted in (True, False):
                    c.add(f'nn.avg_pool{n}d', [x, k], dict(o, count_include_pad=counted),
                          want=mid(t(x), k, stride, pad, up, counted).numpy(), bits=8, terms=8, size=4)


def attention(c):
    f = F.scaled_dot_product_attention
    more = dict(bits=8, terms=400, size=4)
    q, k, v = draw(c, 2, 4, 5, 6), draw(c, 2, 4, 7, 6), draw(c, 2, 4, 7, 3)
    mask, add = rng.uniform(size=(5, 7)) < 0.7, draw(c, 4, 5, 7)
    mask[:, 0] = True
    name = 'nn.scaled_dot_product_attention'
    c.add(name, [q, k, v], want=f(t(q), t(k), t(v)).numpy(), **more)
    c.add(name, [q, k, v], {'causal': True, 'scale': 0.5}, want=f(t(q), t(k), t(v), is_causal=True, scale=0.5).numpy(), **more)
    c.add(name, [q, k, v], {'mask': mask}, want=f(t(q), t(k), t(v), t(mask)).numpy(), **more)
    c.add(name, [q, k, v], {'mask': add}, want=f(t(q), t(k), t(v), t(add)).numpy(), **more)
    late = np.tril(np.ones((5, 7), bool), 2)
    c.add(name, [q, k, v], {'causal': True, 'start': 2}, want=f(t(q), t(k), t(v), t(late)).numpy(), **more)
    k, v = draw(c, 2, 2, 7, 6), draw(c, 2, 2, 7, 3)
    c.add(name, [q, k, v], want=f(t(q), t(k), t(v), enable_gqa=True).numpy(), **more)
    c.add(name, [q[0, 0], k[0, 0], v[0, 0]], want=f(t(q[0, 0]), t(k[0, 0]), t(v[0, 0])).numpy(), **more)


def losses(c):
    x, y = draw(c, 5, 3), draw(c, 5, 3)
    for how in ('mean', 'sum', 'none'):
        o = {'reduction': how}
        more = dict(bits=8, terms=40, size=40)
        c.add('nn.mse_loss', [x, y], o, want=F.mse_loss(t(x), t(y), reduction=how).numpy(), **more)
        c.add('nn.l1_loss', [x, y], o, want=F.l1_loss(t(x), t(y), reduction=how).numpy(), **more)
        c.add('nn.huber_loss', [x, y], dict(o, delta=0.5), want=F.huber_loss(t(x), t(y), reduction=how, delta=0.5).numpy(), **more)
        c.add('nn.smooth_l1_loss', [x, y], dict(o, beta=0.5), want=F.smooth_l1_loss(t(x), t(y), reduction=how, beta=0.5).numpy(), **more)
        p, q = c.round(rng.uniform(0.01, 0.99, (5, 3)), 8), c.round(rng.uniform(0, 1, (5, 3)), 8)
        p[0, 0], q[0, 0] = 0, 1
        c.add('nn.binary_cross_entropy', [p, q], o, want=F.binary_cross_entropy(t(p), t(q), reduction=how).numpy(), bits=8, terms=40, size=400)
        weight = draw(c, 3) ** 2
        weight = c.round(weight, 8)
        c.add('nn.binary_cross_entropy_with_logits', [x, q], dict(o, pos_weight=weight),
              want=F.binary_cross_entropy_with_logits(t(x), t(q), pos_weight=t(weight), reduction=how).numpy(), **more)
        z = draw(c, 4, 2, 5)
        labels = rng.integers(0, 5, (4, 2))
        labels[1, 0] = -100
        w = c.round(rng.uniform(0.5, 2, 5), 8)
        flat, at = t(z).reshape(-1, 5), t(labels).reshape(-1)
        for e in (0, 0.125):
            for weights in (None, w):
                extra = {} if weights is None else {'weight': weights}
                want = F.cross_entropy(flat, at, None if weights is None else t(weights), reduction=how, label_smoothing=e).numpy()
                c.add('nn.cross_entropy', [z, labels], dict(o, label_smoothing=e, **extra), want=want.reshape(4, 2) if how == 'none' else want, **more)
        dist = c.round(torch.softmax(t(draw(c, 4, 2, 5)), -1).numpy(), 8)
        want = F.cross_entropy(flat, t(dist).reshape(-1, 5), t(w), reduction=how, label_smoothing=0.125).numpy()
        c.add('nn.cross_entropy', [z, dist], dict(o, label_smoothing=0.125, weight=w), want=want.reshape(4, 2) if how == 'none' else want, **more)
        logs = c.round(F.log_softmax(t(z), -1).numpy(), 8)
        want = F.nll_loss(t(logs).reshape(-1, 5), at, t(w), reduction=how).numpy()
        c.add('nn.nll_loss', [logs, labels], dict(o, weight=w), want=want.reshape(4, 2) if how == 'none' else want, **more)
        own = F.log_softmax(t(z), -1).gather(-1, t(np.abs(labels) % 5)[..., None])[..., 0].numpy()
        focal = -0.25 * (1 - np.exp(own)) ** 1.5 * own
        c.add('nn.focal_loss', [z, np.abs(labels) % 5], dict(o, alpha=0.25, gamma=1.5),
              want={'mean': focal.mean(), 'sum': focal.sum(), 'none': focal}[how], **more)
        p = np.array(dist)
        p[0, 0, 0] = 0
        c.add('nn.kl_div_loss', [logs, p], o, want=F.kl_div(t(logs), t(p), reduction=how).numpy(), **more)
        a, b = draw(c, 4, 6), draw(c, 4, 6)
        sign = np.array([1, -1, -1, 1.0])
        # PyTorch adds 1e-12 to the squares
        cos = (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))
        each = np.where(sign > 0, 1 - cos, np.maximum(cos + 0.5, 0))
        c.add('nn.cosine_embedding_loss', [a, b, sign], dict(o, margin=-0.5), want={'mean': each.mean(), 'sum': each.sum(), 'none': each}[how], **more)
        n = draw(c, 4, 6)
        for power in (2, 3):
            c.add('nn.triplet_margin_loss', [a, b, n], dict(o, margin=2, p=power),
                  want=F.triplet_margin_loss(t(a), t(b), t(n), 2, power, reduction=how).numpy(), **more)
    a, b = draw(c, 5, 3), draw(c, 5, 3)
    for scale in (1.5, 9.0):
        fit = F.normalize(t(a)) @ F.normalize(t(b)).T * min(np.exp(scale), 100.0)
        own = torch.arange(5)
        want = (F.cross_entropy(fit, own) + F.cross_entropy(fit.T, own)) / 2
        c.add('nn.contrastive_loss', [a, b], {'log_scale': scale}, want=want.numpy(), bits=8, terms=400, size=100)
    c.add('nn.cosine_similarity', [x, y], {'axis': 1}, want=F.cosine_similarity(t(x), t(y), 0).numpy(), bits=8, terms=40, size=4)
    c.add('nn.kl_div_loss', [logs, p], {'reduction': 'batchmean'}, want=F.kl_div(t(logs), t(p), reduction='batchmean').numpy(), **more)


def network():
    c = Cases('network')
    activations(c)
    norms(c)
    losses(c)
    pools(c)
    attention(c)
    return c.save(torch=torch.__version__.split('+')[0])


if __name__ == '__main__':
    torch.set_num_threads(1)
    print(network())
