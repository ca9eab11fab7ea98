"""Steps of neural operators and features of their states in PyTorch: the cases of bench/rollout.lua.

What it owns: how each is called: eager, and with torch.compile where a C++ compiler is there. The networks and the
features are those of tests/golden/rollout_torch.py, batched as PyTorch programs are.
What it may not know: mascon.
"""

import os
import sys

import peer

peer.arguments(__doc__.splitlines()[0])

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tests', 'golden'))
import rollout_torch as ro

G, C = 64, 3
MIXED = [(3, 57, 3), (4, 31, 7), (4, 47, 3), (2, 25, 5), (3, 42, 7), (5, 17, 5), (4, 61, 7), (3, 39, 3)]
REALISATIONS, MIXED_STATES, SMALL_STATES, NOISE = 3, 4, 50, 0.01
FILED = 20
STEPS = {'small': (2, 16, 3, 3), 'deep': (4, 32, 3, 4), 'wide_5': (3, 40, 5, 3), 'wide_7': (2, 32, 7, 3)}


def case_of(layers, base, kernel):
    return dict(type='cnn', channels=C, base=base, layers=layers, kernel=kernel, grid=G, norm='instance',
                activation='gelu', gelu='exact', groups=32, padding_mode='zeros')  # fmt: skip


class Noisy(ro.Operator):
    """Weights of PyTorch's generator, and white noise on the last hidden tensor, as the reference has both."""

    def weight(self, shape, fan):
        if self.fresh:
            self.list.append((2 * torch.rand(shape) - 1) / fan**0.5)
        return super().weight(shape, fan) if not self.fresh else self.list[-1]

    def conv(self, x, cout, k, bias, stride=1):
        if k == 1 and bias:  # the last layer
            x = x + NOISE * torch.randn_like(x)
        return super().conv(x, cout, k, bias, stride)


def rows(operators, states, nets=None):
    """Whole rows: weights, a field, steps with noise, features. nets: networks that are there already."""
    with torch.no_grad():
        for k, o in enumerate(operators):
            net = nets[k] if nets else Noisy(case_of(*o), dtype=torch.float32).eval()
            x = torch.randn(1, C, G, G).expand(REALISATIONS, C, G, G)
            out = [x]
            for _ in range(states - 1):
                x = x + 0.01 * net(x)
                out.append(x)
            ro.features(torch.stack(out))


def main():
    torch.manual_seed(1)
    for name, (layers, base, kernel, states) in STEPS.items():
        net = ro.Operator(case_of(layers, base, kernel), dtype=torch.float32).eval()
        x = torch.randn(states, C, G, G)
        with torch.no_grad():
            peer.emit_threads(f'rollout_{name}', lambda: net(x))
            fast = torch.compile(net)
            try:
                fast(x)
            except Exception as why:  # no compiler
                peer.skipped(f'rollout_{name}_compiled_torch', str(why).splitlines()[0])
                continue
            peer.emit_threads(f'rollout_{name}_compiled', lambda: fast(x))
    x = torch.randn(16, 3, C, G, G)
    with torch.no_grad():
        peer.emit_threads('rollout_features', lambda: ro.features(x))
    peer.emit_threads('rollout_mixed', lambda: rows(MIXED, MIXED_STATES))
    small = [(2, 16, 3)]
    peer.emit_threads('rollout_row_small', lambda: rows(small, SMALL_STATES))
    peer.emit_threads('rollout_file', lambda: rows(small * 2, SMALL_STATES), FILED / 2)  # writes no file
    # compiled once and used again with the same weights, which is more than a program with other weights per row gets
    nets = [Noisy(case_of(*o), dtype=torch.float32).eval() for o in small]
    rows(small, MIXED_STATES, nets)
    nets = [torch.compile(net) for net in nets]
    try:
        rows(small, MIXED_STATES, nets)
    except Exception as why:  # no compiler
        peer.skipped('rollout_row_small_compiled_torch', str(why).splitlines()[0])
        return
    peer.emit_threads('rollout_row_small_compiled', lambda: rows(small, SMALL_STATES, nets))


if __name__ == '__main__':
    main()
