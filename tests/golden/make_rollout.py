"""Random configurations of rollouts in PyTorch, f64: states of networks of both types, features.

What it is for: tests/spec/rollout_torch_spec.lua.
What it owns: the configurations (seeded), one file rollout.npz: `cases` (JSON text as u8), `states`
with six numbers for each step that a case keeps (sum, sum of squares, a projection on a cosine, first,
middle and last element), `temporal` and `trajectory`, the 63 and 110 columns of the cases that have
features, `extra`, the 8 + 20 columns of the opt-in families of their last state.
What it may not know: mascon.

`make_rollout.py N FILE` writes N configurations to another file, of any size.
"""

import json
import random
import sys

import numpy as np
import torch

import golden_file
import rollout_torch as ro

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 48
KEPT = (1, 2, 5, 10, 50)


def case(rng, k):
    kind = 'u_afno' if k % 4 == 3 else 'cnn'
    policy = ('autoregressive', 'residual', 'convex')[k % 3]
    norm = ('instance', 'group', 'layer', 'batch', 'none')[k % 5]
    levels = rng.randint(1, 3)
    features = k % 3 != 0 and k % 2 == 0
    steps = 12 if features else 5 if policy == 'autoregressive' else 50 if k % 8 < 3 else 10
    return {
        'type': kind,
        'channels': rng.choice([3, 3, 1, 2, 4]) if not features else rng.choice([3, 4]),
        'base': rng.randint(2, 9 if kind == 'cnn' else 5),
        'layers': rng.randint(1, 5),
        'kernel': rng.choice([1, 3, 5, 7]),
        'grid': 2**levels * rng.randint(2, 3) if kind == 'u_afno' else rng.choice([8, 9, 13, 16]),
        'norm': norm,
        'activation': ('relu', 'gelu', 'silu', 'tanh', 'none', 'swish')[rng.randrange(6)],
        'gelu': rng.choice(['exact', 'tanh']),
        'groups': rng.choice([1, 2, 4, 32]),
        'padding_mode': rng.choice(['zeros', 'circular']),
        'u': {'modes': rng.choice([1, 2, 3, 8]), 'levels': levels, 'blocks': rng.randint(1, 2), 'per': rng.randint(1, 2), 'hidden': rng.choice([0, 3, 16])},
        'policy': policy,
        'dt': rng.choice([0.01, 0.1]),
        'alpha': rng.choice([0.0, 0.5, 0.7, 0.9]),
        'normalize': rng.choice(['none', 'none', 'none', 'minmax', 'zscore']),
        'clamp': rng.choice([None, None, [-1.5, 1.5]]),
        'states': rng.choice([1, 2, 3]),
        'steps': steps,
        'features': features,
        'seed': 5000 + k,
    }


def six(x):
    v = x.reshape(-1).numpy()
    i = np.arange(v.size)
    return [v.sum(), (v * v).sum(), (v * np.cos(0.37 * i + 1)).sum(), v[0], v[v.size // 2], v[-1]]


def main():
    rng = random.Random(20)
    cases, states, temporal, trajectory, extra = [], [], [], [], []
    for k in range(COUNT):
        c = case(rng, k)
        net = ro.Operator(c, seed=c['seed'])
        shape = (c['states'], c['channels'], c['grid'], c['grid'])
        x = torch.tensor(ro.values(int(np.prod(shape)), c['seed'] + 100000).reshape(shape))
        s = ro.rollout(c, net, x, c['steps'])
        if not torch.isfinite(s).all() or s.abs().max() > 1e6:
            c['features'] = False
            c['steps'] = 2
            s = s[:3]
        # how fast a disturbance of 1e-12 grows says how many digits two programs can share
        noise = torch.tensor(ro.values(int(np.prod(shape)), 7).reshape(shape)) * 1e-12
        d = (ro.rollout(c, net, x + noise, c['steps']) - s).flatten(1).norm(dim=1) / (1e-300 + s.flatten(1).norm(dim=1))
        kept = [t for t in KEPT if t <= c['steps']]
        c['kept'] = kept
        c['growth'] = [float(d[t] / 1e-12) for t in kept]
        cases.append(c)
        states += [six(s[t]) for t in kept]
        if c['features']:
            a, b = ro.features(s)
            temporal.append(torch.nan_to_num(a[-1]).numpy())
            trajectory.append(torch.nan_to_num(b[-1]).numpy())
            one = s[-1].reshape(-1, c['grid'], c['grid'])
            extra.append(torch.cat([ro.distributional(one), ro.wavelet(one)], 1).mean(0).numpy())
    about = {
        'script': 'make_rollout.py',
        'torch': torch.__version__,
        'source': 'PyTorch, the networks written from the specification of rollouts 2.1 to 2.5 and 2.10',
    }
    arrays = {
        'cases': golden_file.text(cases),
        'states': np.array(states),
        'temporal': np.array(temporal),
        'trajectory': np.array(trajectory),
        'extra': np.array(extra),
    }
    if len(sys.argv) > 2:
        np.savez(sys.argv[2], **arrays)
    else:
        golden_file.save('rollout', about, arrays)


if __name__ == '__main__':
    main()
