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
STEPS = {'small': (2, 16, 3, 3), 'deep': (4, 32, 3, 4), 'wide_5': (3, 40, 5, 3), 'wide_7': (2, 32, 7, 3)}


def main():
    torch.manual_seed(1)
    for name, (layers, base, kernel, states) in STEPS.items():
        case = dict(type='cnn', channels=C, base=base, layers=layers, kernel=kernel, grid=G, norm='instance',
                    activation='gelu', gelu='exact', groups=32, padding_mode='zeros')  # fmt: skip
        net = ro.Operator(case, dtype=torch.float32).eval()
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


if __name__ == '__main__':
    main()
