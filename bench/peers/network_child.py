"""A process of its own that trains the GPT of bench_networks.py: for its first step and its memory.

Usage: network_child.py STEPS [LAYERS] [eager|compile]. Prints one JSON line as bench/network_child.lua.
"""

import json
import os
import sys
import time

for name in ('OMP', 'MKL'):
    os.environ[name + '_NUM_THREADS'] = '1'

import torch

import bench_networks as networks


def status(name):
    for line in open('/proc/self/status'):
        if line.startswith(name):
            return 1024 * int(line.split()[1])


def main():
    steps, layers = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 4
    base = status('VmRSS')
    net = networks.GPT(layers)
    run = networks.trained(net, torch.randint(1024, (8, 128)), torch.randint(1024, (1024,)), sys.argv[3:] == ['compile'])
    for _ in range(steps):
        loss = run()
    params = sum(p.numel() for p in net.parameters())
    print(json.dumps({'params': params, 'loss': loss, 'peak': status('VmHWM'), 'base': base, 'cpu': time.process_time()}))


if __name__ == '__main__':
    main()
