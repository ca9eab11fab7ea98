"""Gradients that PyTorch leaves in its leaves: tape.json.

What it is for: the tape (requires_grad, backward, hooks, no_grad) behaves as PyTorch's, pass by pass.
What it owns: the little programs, which tests/spec/tape_spec.lua repeats.
What it may not know: mascon.
Run: python make_tape.py   Needs torch.
"""

import json
import os

import torch

torch.set_default_dtype(torch.float64)
out = {'about': 'make_tape.py, torch ' + torch.__version__.split('+')[0]}


def leaf(values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


A, B = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], [[1.0, 2.0], [-0.5, 0.3], [0.7, -1.2]]


def loss(a, b):
    h = torch.tanh(a @ b)
    return (h * h.exp()).sum() + a.abs().max()


# one pass; two passes that add up; a pass with a cotangent
a, b = leaf(A), leaf(B)
loss(a, b).backward()
out['once'] = [a.grad.tolist(), b.grad.tolist()]
loss(a, b).backward()
(a * 2).backward(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
out['accumulated'] = [a.grad.tolist(), b.grad.tolist()]

# kept graphs
a, b = leaf(A), leaf(B)
y = loss(a, b)
y.backward(retain_graph=True)
y.backward()
out['retained'] = [a.grad.tolist(), b.grad.tolist()]

# hooks and gradients of inner values
a, b = leaf(A), leaf(B)
h = a @ b
h.retain_grad()
h.register_hook(lambda g: g * 3)
a.register_hook(lambda g: g.clamp(-1, 1))
(h * h).sum().backward()
out['hooks'] = [a.grad.tolist(), b.grad.tolist(), h.grad.tolist()]

# detach cuts, no_grad does not record
a, b = leaf(A), leaf(B)
with torch.no_grad():
    c = a.sum()
(c * (a.detach() @ b).sum() * a.sum()).backward()
out['cut'] = [a.grad.tolist(), b.grad.tolist()]

# second order
a, b = leaf(A), leaf(B)
loss(a, b).backward(create_graph=True)
g = (a.grad * a.grad).sum()
a.grad = b.grad = None
g.backward()
out['second'] = [a.grad.tolist(), b.grad.tolist()]

# views and writes in place into values that are no leaves
a, b = leaf(A), leaf(B)
h = a * 1
h[0] = h[1] * 2
h[:, 1] += b[:, 0][:2]
h.mul_(a)
(h * h).sum().backward()
out['written'] = [a.grad.tolist(), b.grad.tolist()]

# ten steps of descent
a, b = leaf(A), leaf(B)
for _ in range(10):
    y = ((a @ b - torch.eye(2)) ** 2).sum()
    y.backward()
    with torch.no_grad():
        a -= 0.05 * a.grad
        b -= 0.05 * b.grad
    a.grad = b.grad = None
out['descent'] = [a.tolist(), b.tolist(), y.item()]

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'tape.json'), 'w') as f:
    json.dump(out, f)
    f.write('\n')
