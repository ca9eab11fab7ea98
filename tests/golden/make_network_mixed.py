"""Mixed precision of PyTorch: two small networks under torch.autocast('cpu', bfloat16).

What it is for: tests/spec/network_mixed_spec.lua.
What it owns: network_mixed.npz: for each network logits (values of bfloat16) and the gradients of all parameters of the first
step, and the losses of twelve steps of SGD, in mixed precision and in float32. Tensors that go in are sines of their position.
What it may not know: mascon.
"""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import golden_file

torch.set_num_threads(1)


def wave(shape, k, size=0.6):
    n = int(np.prod(shape))
    i = np.arange(n, dtype=np.float64)
    return torch.tensor((size * np.sin(1.7 * (i + 1) + 0.9 * k + 0.003 * i**1.5)).reshape(shape).astype(np.float32))


def mlp():
    return nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4)), [24, 6]


def cnn():
    return nn.Sequential(nn.Conv2d(2, 5, 3, padding=1), nn.BatchNorm2d(5), nn.ReLU(), nn.Conv2d(5, 6, 3, stride=2), nn.SiLU(), nn.Flatten(),
                         nn.Linear(54, 4)), [8, 2, 7, 7]


def main():
    out = {}
    for name, make in (('mlp', mlp), ('cnn', cnn)):
        for mixed in (True, False):
            net, shape = make()
            with torch.no_grad():
                for k, p in enumerate(net.parameters()):
                    p.copy_(wave(p.shape, k + 1, 0.4))
            x, y = wave(shape, 20, 1.5), torch.arange(shape[0]) % 4
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            losses = []
            for step in range(12):
                opt.zero_grad()
                with torch.autocast('cpu', torch.bfloat16, enabled=mixed):
                    z = net(x)
                    loss = F.cross_entropy(z, y)
                loss.backward()
                if step == 0 and mixed:
                    assert z.dtype == torch.bfloat16 and loss.dtype == torch.float32
                    out[f'{name}.logits'] = z.detach().float().numpy()
                    for n, p in net.named_parameters():
                        out[f'{name}.grad.{n}'] = p.grad.numpy()
                losses.append(float(loss.detach()))
                opt.step()
            out[f'{name}.losses.{"mixed" if mixed else "f32"}'] = np.array(losses)
    golden_file.save('network_mixed', {'script': 'make_network_mixed.py', 'torch': torch.__version__}, out)


main()
