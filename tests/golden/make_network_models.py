"""Two small networks of PyTorch, trained for three steps: a convolutional one and a transformer.

What it is for: tests/spec/network_models_spec.lua (nn C43, C44).
What it owns: network_models.npz: for each of them results, gradients and parameters, in f64. Tensors that go in are
sines of their position, so that they need not be stored; names are those of mascon.
What it may not know: mascon.
"""

import numpy as np
import torch
from torch.nn import functional as F

import golden_file

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


def wave(shape, k):
    """Numbers of one tensor: 0.6 sin(1.7 (i + 1) + 0.9 k + 0.003 i^1.5)."""
    i = np.arange(int(np.prod(shape)), dtype=np.float64)
    return torch.tensor(0.6 * np.sin(1.7 * (i + 1) + 0.9 * k + 0.003 * i**1.5).reshape(shape))


def parameters(shapes):
    """Waves; gains of norms stand around 1."""
    out = {}
    for k, (name, shape) in enumerate(shapes):
        gain = len(shape) == 1 and name.endswith('weight')
        out[name] = (wave(shape, k) * (0.25 if gain else 1) + gain).requires_grad_()
    return out


def kept(arrays, prefix, tensors):
    for name, t in tensors.items():
        arrays[f'{prefix}/{name}'] = t.detach().numpy()


def cnn(arrays):
    p = parameters([('1.weight', (3, 2, 3, 3)), ('1.bias', (3,)), ('2.weight', (3,)), ('2.bias', (3,)), ('6.weight', (4, 27)), ('6.bias', (4,))])
    mean, var = torch.zeros(3), torch.ones(3)
    x, y = wave((4, 2, 6, 6), 20).requires_grad_(), torch.tensor([1, 3, 0, 2])

    def net(train):
        h = F.conv2d(x, p['1.weight'], p['1.bias'], padding=1)
        h = F.batch_norm(h, mean, var, p['2.weight'], p['2.bias'], train, 0.1, 1e-5)
        h = F.max_pool2d(F.relu(h), 2).flatten(1)
        return F.linear(h, p['6.weight'], p['6.bias'])

    opt = torch.optim.AdamW(p.values(), lr=0.01, weight_decay=0.1)
    for step in range(3):
        opt.zero_grad()
        x.grad = None
        logits = net(True)
        F.cross_entropy(logits, y).backward()
        if step == 0:
            kept(arrays, 'cnn/first', {'logits': logits, 'x': x.grad, 'mean': mean.clone(), 'var': var.clone()})
            kept(arrays, 'cnn/gradient', {n: t.grad for n, t in p.items()})
        opt.step()
    kept(arrays, 'cnn/last', {'mean': mean, 'var': var, 'logits': net(False)})
    kept(arrays, 'cnn/after', p)


def rotated(x, start):
    n, d = x.shape[-2], x.shape[-1]
    a = (torch.arange(n) + start)[:, None] * 10000.0 ** (-2 * torch.arange(d // 2) / d)
    u, v = x[..., : d // 2], x[..., d // 2 :]
    return torch.cat([u * a.cos() - v * a.sin(), u * a.sin() + v * a.cos()], -1)


def transformer(arrays):
    shapes = [('emb.weight', (11, 16))]
    for layer in (1, 2):
        at = f'blocks.layers.{layer}.'
        shapes += [(at + 'norm1.weight', (16,))]
        shapes += [(f'{at}self_attn.{n}_proj.weight', (8 if n in 'kv' else 16, 16)) for n in ('q', 'k', 'v', 'out')]
        shapes += [(at + 'norm2.weight', (16,))]
        shapes += [(f'{at}feed_forward.{n}_proj.weight', s) for n, s in (('gate', (24, 16)), ('up', (24, 16)), ('down', (16, 24)))]
    shapes += [('blocks.norm.weight', (16,))]
    p = parameters(shapes)
    ids = torch.tensor([(7 * i * i + 3) % 11 for i in range(14)]).reshape(2, 7)
    y = torch.tensor([(5 * i * i + 1) % 11 for i in range(14)]).reshape(2, 7)
    y[0, 3] = y[1, 6] = -100

    def net():
        x = F.embedding(ids, p['emb.weight']) * 4
        for layer in (1, 2):
            w = {n[len(f'blocks.layers.{layer}.') :]: t for n, t in p.items() if n.startswith(f'blocks.layers.{layer}.')}
            h = F.layer_norm(x, (16,), w['norm1.weight'])
            q, k, v = ((h @ w[f'self_attn.{n}_proj.weight'].T).reshape(2, 7, -1, 4).transpose(1, 2) for n in 'qkv')
            a = F.scaled_dot_product_attention(rotated(q, 5), rotated(k, 5), v, is_causal=True, enable_gqa=True)
            x = x + a.transpose(1, 2).reshape(2, 7, 16) @ w['self_attn.out_proj.weight'].T
            h = F.layer_norm(x, (16,), w['norm2.weight'])
            h = F.silu(h @ w['feed_forward.gate_proj.weight'].T) * (h @ w['feed_forward.up_proj.weight'].T)
            x = x + h @ w['feed_forward.down_proj.weight'].T
        return F.layer_norm(x, (16,), p['blocks.norm.weight']) @ p['emb.weight'].T

    opt = torch.optim.AdamW(p.values(), lr=0.01, weight_decay=0.1)
    losses, norms = [], []
    for step in range(3):
        opt.zero_grad()
        logits = net()
        loss = F.cross_entropy(logits.reshape(14, 11), y.reshape(14), label_smoothing=0.1)
        loss.backward()
        if step == 0:
            kept(arrays, 'transformer/first', {'logits': logits})
            kept(arrays, 'transformer/gradient', {n: p[n].grad.clone() for n in ('emb.weight', 'blocks.layers.1.self_attn.k_proj.weight')})
        losses.append(loss.item())
        norms.append(torch.nn.utils.clip_grad_norm_(p.values(), 0.5).item())
        opt.step()
    kept(arrays, 'transformer/after', p)
    arrays['transformer/losses'], arrays['transformer/norms'] = np.array(losses), np.array(norms)


def main():
    arrays = {}
    cnn(arrays)
    transformer(arrays)
    golden_file.save('network_models', {'script': 'make_network_models.py', 'torch': torch.__version__}, arrays)


main()
