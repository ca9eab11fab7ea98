"""Layers of networks, their derivatives and steps of training in PyTorch: the cases of bench/networks.lua.

What it owns: the peers' calls. A row is named as ours with _torch behind; shapes come from a file that
`networks.lua` writes (--plan). `_back`: derivatives alone, from a graph that is kept; `_both`: result and
derivatives.
"""

import json
import os
import subprocess
import sys
import time

import peer

PLAN = OPTIONS = None
if __name__ == '__main__':
    at = sys.argv.index('--plan') if '--plan' in sys.argv else None
    if at:
        PLAN = sys.argv[at + 1]
        del sys.argv[at : at + 2]
    OPTIONS = peer.arguments(__doc__.splitlines()[0], processes=0)

import torch
import torch.nn.functional as F
from torch import nn


def pair(name, f, operands, suffix, others=None):
    """others: name of the function in bench_networks_jax.py; torch.compile and JAX run it as well."""
    plain = [t.detach() for t in operands]
    with torch.no_grad():
        peer.emit_threads(f'nn_{name}', lambda: f(*plain))
        if others:
            fast = torch.compile(f)
            peer.emit_one(f'nn_{name}', 'torch_compile', lambda: fast(*plain), ['torch'])
    if others:
        import bench_networks_jax

        forward, both = bench_networks_jax.pair(others, [t.numpy() for t in plain])
        peer.emit_one(f'nn_{name}', 'jax', forward, ['jax', 'jaxlib'])
        peer.emit_one(f'nn_{name}{suffix}', 'jax', both, ['jax', 'jaxlib'])
    for t in operands:
        t.requires_grad_(True)
    if not suffix:
        return
    y = f(*operands)
    c = torch.randn_like(y)
    if suffix == '_both':
        peer.emit_threads(f'nn_{name}_both', lambda: torch.autograd.grad(f(*operands), operands, c))
        if others:
            fast = torch.compile(f)
            peer.emit_one(f'nn_{name}_both', 'torch_compile', lambda: torch.autograd.grad(fast(*operands), operands, c), ['torch'])
    else:
        peer.emit_threads(f'nn_{name}_back', lambda: torch.autograd.grad(y, operands, c, retain_graph=True))


def norm(row):
    shape, over = row['shape'], row['over']
    width = shape[-1] if over in ('layer', 'rms') else shape[1]
    x, w, b = torch.randn(shape), torch.randn(width), torch.randn(width)
    f = {
        'layer': lambda x, w, b: F.layer_norm(x, (width,), w, b),
        'rms': lambda x, w: F.rms_norm(x, (width,), w, 1e-6),
        'group': lambda x, w, b: F.group_norm(x, 8, w, b),
        'batch': lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
    }[over]
    pair(row['name'], f, [x, w] if over == 'rms' else [x, w, b], '_both', 'layer_norm' if over == 'layer' else None)


def fused(row):
    m, k, *n = [s for s in row['sizes'] if s]
    f = {
        'gelu': F.gelu,
        'gelu_tanh': lambda x: F.gelu(x, approximate='tanh'),
        'linear_gelu': lambda x, w, b: F.gelu(F.linear(x, w, b)),
        'linear_relu': lambda x, w, b: F.relu(F.linear(x, w, b)),
        'layernorm_linear': lambda x, w, b, g, s: F.linear(F.layer_norm(x, (k,), g, s), w, b),
    }[row['what']]
    shapes = [(m, k)] + ([(n[0], k), (n[0],)] if n else []) + ([(k,), (k,)] if row['what'] == 'layernorm_linear' else [])
    operands = [torch.randn(s) for s in shapes]
    if n:
        operands[1] /= k**0.5
    pair(row['name'], f, operands, '_both', row['what'])


def conv_bn_relu(row):
    w, mean, var = torch.randn(row['w']), torch.randn(64), torch.rand(64) + 0.5
    gain, bias = torch.ones(64), torch.zeros(64)
    pair(row['name'], lambda x: F.relu(F.batch_norm(F.conv2d(x, w, padding=1), mean, var, gain, bias)), [torch.randn(row['x'])], None)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down, self.heads = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), heads

    def forward(self, x):
        n, t, d = x.shape
        h = self.norm1(x)
        q, k, v = (f(h).view(n, t, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(n, t, d))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, layers=4):
        super().__init__()
        self.emb, self.places = nn.Embedding(1024, 256), nn.Embedding(128, 256)
        self.blocks = nn.Sequential(*(Block(256, 4) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(256), nn.Linear(256, 1024, bias=False)

    def forward(self, x):
        h = self.emb(x) + self.places(torch.arange(128))
        return self.head(self.norm(self.blocks(h))).reshape(-1, 1024)


class Last(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(256, 256, batch_first=True), nn.Linear(256, 10)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


def trained(net, x, y, compiled=False):
    """A function that makes one step of AdamW and gives the loss."""
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4)
    value = torch.compile(lambda x, y: F.cross_entropy(net(x), y)) if compiled else lambda x, y: F.cross_entropy(net(x), y)

    def run():
        opt.zero_grad(set_to_none=True)
        loss = value(x, y)
        loss.backward()
        opt.step()
        return loss.item()

    return run


def step(row):
    n = row['batch']
    if row['net'] == 'mlp':
        net, x = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)), torch.randn(n, 784)
    elif row['net'] == 'cnn':
        net = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1568, 10),
        )  # fmt: skip
        x = torch.randn(n, 1, 28, 28)
    elif row['net'] == 'gpt':
        net, x = GPT(), torch.randint(1024, (n, 128))
    else:
        net, x = Last(), torch.randn(n, 128, 256)
    y = torch.randint(1024, (n * 128,)) if row['net'] == 'gpt' else torch.randint(10, (n,))
    peer.emit_threads(f'nn_{row["name"]}', trained(net, x, y))
    peer.emit_one(f'nn_{row["name"]}', 'torch_compile', trained(net, x, y, True), ['torch'])
    if row['net'] in ('mlp', 'gpt'):
        import bench_networks_jax

        peer.emit_one(f'nn_{row["name"]}', 'jax', bench_networks_jax.step(row['net'], n), ['jax', 'jaxlib'])


def child(*words):
    """Wall seconds and the line of network_child.py."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'network_child.py')
    start = time.perf_counter()
    text = subprocess.run([sys.executable, program, *map(str, words)], capture_output=True, text=True, check=True).stdout
    return time.perf_counter() - start, json.loads(text.strip().splitlines()[-1])


def processes():
    """The rows of bench/networks_process.lua."""

    def memory(name, line, **more):
        own = line['peak'] - line['base']
        peer.emit(name, peer.summary([line['cpu']]), ['torch'], resident=line['peak'], own=own, params=line['params'], **more)

    for how, tail in (('eager', ''), ('compile', '_compile')):
        runs = [child(1, 4, how) for _ in range(1 if tail else 3)]
        least = min(line['cpu'] for _, line in runs)
        peer.emit(f'nn_first_gpt_torch{tail}', peer.summary([t for t, _ in runs]), ['torch'], cpu=least)
    four, twelve = child(2, 4)[1], child(2, 12)[1]
    memory('nn_peak_gpt_torch', four)
    n = int(4 + (2**31 - four['peak']) / ((twelve['peak'] - four['peak']) / 8))
    while (line := child(2, n)[1])['peak'] > 2**31:
        n -= 1
    memory('nn_largest_gpt_torch', line, layers=n)


def main():
    if OPTIONS and OPTIONS.processes:
        return processes()
    torch.set_num_threads(peer.STATE['threads'])
    torch.manual_seed(1)
    for line in open(PLAN):
        row = json.loads(line)
        if not any(peer.wanted(f'nn_{row["name"]}{s}') for s in ('', '_back', '_both')):
            continue
        if row['kind'] == 'conv':
            options = {k: row[k] for k in ('padding', 'stride', 'groups')}
            pair(row['name'], lambda x, w, options=options: F.conv2d(x, w, **options), [torch.randn(row['x']), torch.randn(row['w'])], '_back')
        elif row['kind'] == 'norm':
            norm(row)
        elif row['kind'] == 'attention':
            causal = row['causal']
            shape = row['shape']
            pair(
                row['name'],
                lambda q, k, v, causal=causal: F.scaled_dot_product_attention(q, k, v, is_causal=causal),
                [torch.randn(shape) for _ in range(3)],
                '_both',
            )
        elif row['kind'] == 'fused':
            fused(row)
        elif row['kind'] == 'conv_bn_relu':
            conv_bn_relu(row)
        elif row['kind'] == 'loss':
            n, m = row['shape']
            y = torch.randint(m, (n,))
            pair(row['name'], lambda x, y=y: F.cross_entropy(x, y), [torch.randn(n, m)], '_both', 'cross_entropy')
        else:
            step(row)


if __name__ == '__main__':
    sys.exit(main())
