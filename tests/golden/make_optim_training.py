"""Steps of PyTorch's optimisers and rates of its schedules.

What it is for: tests/spec/optim_training_spec.lua.
What it owns: the gradients (a formula of step and position, stored too), one file
optim_training.npz with the parameters after each of 20 steps per optimiser and option set, rates per schedule,
and `index`, JSON text as u8. Lion is not in PyTorch: program 1 of Symbolic discovery of optimization algorithms,
2023, in NumPy.
What it may not know: mascon.
"""

import json

import numpy as np
import torch

import golden_file

STEPS = 20
SHAPE = (2, 3)
start = np.linspace(-1, 1.5, 6).reshape(SHAPE)
i = np.arange(STEPS)[:, None, None]
j = np.arange(6).reshape(SHAPE)[None]
grads = np.sin(0.7 * i + 1.3 * j) * (1 + 0.1 * j) + 0.2 * np.cos(2.1 * i * (j + 1))
grads = grads.astype(np.float32).astype(np.float64)

CASES = [
    ('sgd', {'lr': 0.1}),
    ('sgd', {'lr': 0.1, 'momentum': 0.9}),
    ('sgd', {'lr': 0.1, 'momentum': 0.9, 'dampening': 0.3, 'weight_decay': 0.05}),
    ('sgd', {'lr': 0.1, 'momentum': 0.9, 'nesterov': True, 'maximize': True}),
    ('adam', {}),
    ('adam', {'lr': 0.05, 'betas': [0.8, 0.95], 'eps': 1e-6, 'weight_decay': 0.1}),
    ('adam', {'lr': 0.05, 'amsgrad': True, 'maximize': True}),
    ('adamw', {}),
    ('adamw', {'lr': 0.05, 'weight_decay': 0.2, 'amsgrad': True}),
    ('rmsprop', {}),
    ('rmsprop', {'lr': 0.05, 'alpha': 0.9, 'momentum': 0.7, 'centered': True, 'weight_decay': 0.1}),
    ('adagrad', {}),
    ('adagrad', {'lr': 0.1, 'lr_decay': 0.1, 'initial_accumulator_value': 0.3, 'weight_decay': 0.1}),
    ('lion', {'lr': 0.05}),
    ('lion', {'lr': 0.05, 'betas': [0.8, 0.95], 'weight_decay': 0.1}),
]
CLASS = {
    'sgd': torch.optim.SGD,
    'adam': torch.optim.Adam,
    'adamw': torch.optim.AdamW,
    'rmsprop': torch.optim.RMSprop,
    'adagrad': torch.optim.Adagrad,
}


def run(name, options, dtype):
    out = np.empty((STEPS,) + SHAPE)
    if name == 'lion':
        p, m = start.copy(), np.zeros(SHAPE)
        b1, b2 = options.get('betas', [0.9, 0.99])
        lr, decay = options['lr'], options.get('weight_decay', 0)
        for k in range(STEPS):
            p = p - lr * (np.sign(b1 * m + (1 - b1) * grads[k]) + decay * p)
            m = b2 * m + (1 - b2) * grads[k]
            out[k] = p
        return out
    p = torch.tensor(start, dtype=dtype, requires_grad=True)
    opt = CLASS[name]([p], **options)
    for k in range(STEPS):
        p.grad = torch.tensor(grads[k], dtype=dtype)
        opt.step()
        out[k] = p.detach().numpy()
    return out


arrays = {'start': start, 'grads': grads}
index = {'optimizers': [], 'schedules': []}
for k, (name, options) in enumerate(CASES):
    arrays[f'o{k}'] = run(name, options, torch.float64)
    index['optimizers'].append({'name': name, 'options': options, 'array': f'o{k}'})

S = torch.optim.lr_scheduler
LENGTH = 30


def rates(make, lr):
    opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    schedule = make(opt)
    out = []
    for _ in range(LENGTH):
        out.append(opt.param_groups[0]['lr'])
        opt.step()
        schedule.step()
    return np.array(out)


def warm(opt):
    return S.SequentialLR(
        opt,
        [S.LinearLR(opt, start_factor=0.25, total_iters=6), S.StepLR(opt, 5, 0.5)],
        milestones=[6],
    )


SCHEDULES = [
    ('step_decay', {'size': 7, 'gamma': 0.3}, lambda o: S.StepLR(o, 7, 0.3)),
    ('exponential_decay', {'gamma': 0.9}, lambda o: S.ExponentialLR(o, 0.9)),
    ('cosine', {'steps': 29, 'least': 0.01}, lambda o: S.CosineAnnealingLR(o, 29, 0.01)),
    ('one_cycle', {'steps': 31}, lambda o: S.OneCycleLR(o, 0.4, total_steps=31)),
    (
        'one_cycle',
        {'steps': 31, 'pct_start': 0.5, 'div_factor': 10, 'final_div_factor': 100},
        lambda o: S.OneCycleLR(
            o, 0.4, total_steps=31, pct_start=0.5, div_factor=10, final_div_factor=100
        ),
    ),
    ('warmup', {'steps': 6, 'start': 0.25}, warm),
]
for k, (name, options, make) in enumerate(SCHEDULES):
    arrays[f's{k}'] = rates(make, 0.4)
    index['schedules'].append({'name': name, 'options': options, 'array': f's{k}'})

about = dict(torch=torch.__version__, script='make_optim_training.py', source='torch.optim')
golden_file.save('optim_training', about, dict(arrays, index=golden_file.text(index)))
