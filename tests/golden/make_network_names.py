"""State dictionaries of PyTorch's modules under their names there, and one result of each.

What it is for: tests/spec/network_names_spec.lua.
What it owns: network_names.npz: MODULE/state/NAME, MODULE/in/K, MODULE/out, in f64.
What it may not know: mascon.
"""

import numpy as np
import torch
from torch import nn

import golden_file

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


def wave(shape, k):
    """Numbers of one tensor: 0.6 sin(1.7 (i + 1) + 0.9 k + 0.003 i^1.5)."""
    i = np.arange(int(np.prod(shape)), dtype=np.float64)
    return torch.tensor(0.6 * np.sin(1.7 * (i + 1) + 0.9 * k + 0.003 * i**1.5).reshape(shape))


class Attention(nn.Module):
    """Attention to a memory, called with two tensors."""

    def __init__(self, **options):
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True, **options)

    def forward(self, x, memory):
        return self.attention(x, memory, memory, need_weights=False)[0]


def main():
    arrays = {}
    block = {'dim_feedforward': 6, 'batch_first': True, 'dropout': 0.0}
    modules = {
        'list': (nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.BatchNorm1d(4), nn.ReLU()), nn.Linear(4, 2)), [(5, 3)]),
        'attention': (Attention(), [(2, 3, 4), (2, 5, 4)]),
        'plain': (Attention(bias=False), [(2, 3, 4), (2, 5, 4)]),
        'memory': (Attention(kdim=6, vdim=6), [(2, 3, 4), (2, 5, 6)]),
        'transformer': (nn.Transformer(4, 2, 2, 1, **block), [(2, 5, 4), (2, 3, 4)]),
        'first': (nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, activation='gelu', norm_first=True, **block), 1,
                                        norm=nn.LayerNorm(4)), [(2, 3, 4)]),
    }
    for name, (module, shapes) in modules.items():
        state = {}
        for k, (n, t) in enumerate(module.state_dict().items()):
            if t.dtype == torch.int64:
                state[n] = t
            else:
                gain = t.ndim == 1 and n.endswith(('weight', 'running_var'))
                state[n] = wave(tuple(t.shape), k) * (0.25 if gain else 1) + gain
            arrays[f'{name}/state/{n}'] = state[n].numpy()
        module.load_state_dict(state)
        module.eval()
        inputs = [wave(s, 20 + k) for k, s in enumerate(shapes)]
        for k, x in enumerate(inputs):
            arrays[f'{name}/in/{k + 1}'] = x.numpy()
        with torch.no_grad():
            arrays[f'{name}/out'] = module(*inputs).numpy()
    golden_file.save('network_names', {'script': 'make_network_names.py', 'torch': torch.__version__}, arrays)


main()
