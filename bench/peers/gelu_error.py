"""Largest error of PyTorch's gelu and of its derivative: the column of bench/gelu_error.lua.

What it owns: the peer's calls. Prints form, dtype, error of the value, error of the derivative.
"""

import torch
import torch.nn.functional as F

POINTS = torch.linspace(-20, 20, 400001, dtype=torch.float64)


def both(x, form):
    x = x.clone().requires_grad_()
    y = F.gelu(x, approximate='tanh' if form == 'gelu_tanh' else 'none')
    return y.detach().double(), torch.autograd.grad(y.sum(), x)[0].double()


for form in ('gelu', 'gelu_tanh'):
    for name, dtype in (('f32', torch.float32), ('bf16', torch.bfloat16)):
        x = POINTS.to(dtype)
        scale = x.double().abs().clamp(min=1)
        far = [((a - b).abs() / scale).max().item() for a, b in zip(both(x, form), both(x.double(), form))]
        print(form, name, *far)
