"""Rollouts in PyTorch, written from their specification: operators, policies, features.

What it is for: make_rollout.py (goldens in f64) and bench/peers/bench_rollout.py (times in f32).
What it owns: the networks of type cnn and u_afno, the update with what follows it, the features of
states and trajectories, all batched as PyTorch programs are; the numbers of a SplitMix64 stream.
What it may not know: mascon.

A case is a dict: type, channels, base, layers, kernel, grid, norm, activation, gelu, groups,
padding_mode, u (modes, levels, blocks, per, hidden), policy, dt, alpha, normalize, clamp.
"""

import math

import numpy as np
import torch
from torch.nn import functional as F


def values(n, seed):
    """v = 2u - 1 of n draws of 24 bits."""
    with np.errstate(over='ignore'):
        z = np.uint64(seed) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return 2.0 * ((z >> np.uint64(40)).astype(np.float64) * 2.0**-24) - 1.0


class Stream:
    """Weights one after the other: v 2^-e with the least e such that 4^e >= fan."""

    def __init__(self, seed, dtype):
        self.seed, self.at, self.dtype = seed, 0, dtype

    def take(self, shape, fan):
        n = int(np.prod(shape))
        v = values(self.at + n, self.seed)[self.at :]
        self.at += n
        e = 0
        while 4**e < fan:
            e += 1
        return torch.tensor(v.reshape(shape) * 2.0**-e, dtype=self.dtype)


class Operator(torch.nn.Module):
    """A network whose weights are read in the order in which they are used."""

    def __init__(self, case, seed=1001, dtype=torch.float64):
        super().__init__()
        self.case, self.stream, self.list, self.fresh = case, Stream(seed, dtype), [], True
        with torch.no_grad():
            g = case['grid']
            self.forward(torch.zeros(1, case['channels'], g, g, dtype=dtype))
        self.fresh = False

    def weight(self, shape, fan):
        if self.fresh:
            self.list.append(self.stream.take(shape, fan))
            self.at = len(self.list)
        else:
            self.at += 1
        return self.list[self.at - 1]

    def conv(self, x, cout, k, bias, stride=1):
        cin, c = x.shape[1], self.case
        w = self.weight((cout, cin, k, k), cin * k * k)
        b = self.weight((cout,), cin * k * k) if bias else None
        p = k // 2
        if c['padding_mode'] == 'circular' and p > 0:
            x, p = F.pad(x, (p, p, p, p), mode='circular'), 0
        return F.conv2d(x, w, b, stride=stride, padding=p)

    def norm(self, x):
        n, c = self.case['norm'], x.shape[1]
        if n == 'instance':
            return F.instance_norm(x, eps=1e-5)
        if n == 'layer':
            return F.group_norm(x, 1, eps=1e-5)
        if n == 'group':
            g = min(self.case['groups'], c)
            while c % g:
                g -= 1
            return F.group_norm(x, g, eps=1e-5)
        if n == 'batch':
            return x / math.sqrt(1 + 1e-5)
        return x

    def act(self, x):
        a = self.case['activation']
        if a == 'gelu':
            return F.gelu(x, approximate='tanh' if self.case['gelu'] == 'tanh' else 'none')
        return {'relu': F.relu, 'silu': F.silu, 'swish': F.silu, 'tanh': torch.tanh}.get(a, lambda t: t)(x)

    def block(self, x, cout, k, stride=1):
        return self.act(self.norm(self.conv(x, cout, k, self.case['norm'] == 'none', stride)))

    def unit(self, x, cout, k):
        y = self.block(self.block(x, cout, k), cout, k)
        return y + (x if x.shape[1] == cout else self.conv(x, cout, 1, False))

    def mlp(self, x, width):
        return self.conv(self.act(self.conv(x, width, 1, True)), x.shape[1], 1, True)

    def spectral(self, x):
        b, c, h, w = x.shape
        m = self.case['u']['modes']
        rows, columns = min(m, h), min(m, w // 2 + 1)
        re = self.weight((c, c, rows, columns), c)
        im = self.weight((c, c, rows, columns), c)
        z = torch.fft.rfft2(x, norm='ortho')
        out = torch.zeros_like(z)
        out[:, :, :rows, :columns] = torch.einsum('bihw,iohw->bohw', z[:, :, :rows, :columns], torch.complex(re, im))
        return torch.fft.irfft2(out, s=(h, w), norm='ortho')

    def forward(self, x):
        self.at = 0
        c = self.case
        b, k = c['base'], c['kernel']
        if c['type'] == 'u_afno':
            return self.u_afno(x)
        h = self.block(x, b, k)
        for i in range(c['layers']):
            cout = b * 2 ** min(i, 2)
            h = self.block(h, cout, k) if c['layers'] <= 3 else self.unit(h, cout, k)
        return self.conv(h, c['channels'], 1, True)

    def u_afno(self, x):
        c, u = self.case, self.case['u']
        b = c['base']
        h, skips = self.block(x, b, 3), []
        for _ in range(u['levels']):
            cout = min(2 * h.shape[1], 8 * b)
            for _ in range(u['per']):
                h = self.unit(h, cout, 3)
            skips.append(h)
            h = self.block(h, cout, 3, stride=2)
        width = h.shape[1]
        for _ in range(u['blocks']):
            h = h + self.mlp(self.spectral(F.group_norm(h, 1, eps=1e-5)), 2 * width)
            h = h + self.mlp(F.group_norm(h, 1, eps=1e-5), u['hidden'] or 2 * width)
        for skip in reversed(skips):
            h = F.interpolate(h, scale_factor=2, mode='bilinear', align_corners=False)
            h = self.block(torch.cat([h, skip], dim=1), skip.shape[1], 3)
            for _ in range(u['per']):
                h = self.unit(h, skip.shape[1], 3)
        return self.conv(h, c['channels'], 1, True)


def post(c, x):
    flat = x.reshape(x.shape[0], -1)
    if c['normalize'] == 'minmax':
        low, high = flat.min(1, keepdim=True).values, flat.max(1, keepdim=True).values
        flat = torch.where(high - low > 1e-8, (flat - low) / (high - low), flat)
    elif c['normalize'] == 'zscore':
        flat = (flat - flat.mean(1, keepdim=True)) / (flat.std(1, keepdim=True) + 1e-8)
    x = flat.reshape(x.shape)
    return x.clamp(*c['clamp']) if c['clamp'] else x


def rollout(c, apply, x, steps):
    """States X_0 .. X_steps [steps + 1, B, C, G, G]."""
    x = post(c, x)
    out = [x]
    with torch.no_grad():
        for _ in range(steps):
            o = apply(x)
            if c['policy'] == 'residual':
                o = x + c['dt'] * o
            elif c['policy'] == 'convex':
                o = c['alpha'] * x + (1 - c['alpha']) * o
            x = post(c, o)
            out.append(x)
    return torch.stack(out)


# ---------------------------------------------------------------- features of states


def gradients(x):
    return (x.roll(-1, 2) - x.roll(1, 2)) / 2, (x.roll(-1, 1) - x.roll(1, 1)) / 2


def spatial(x):
    """x [R, G, G] -> [R, 24]"""
    f = x.flatten(1)
    mean, var = f.mean(1), f.var(1)
    std = var.sqrt()
    z = (f - mean[:, None]) / std[:, None]
    still = std < 1e-4
    skew = torch.where(still, torch.zeros_like(std), (z**3).mean(1))
    kurt = torch.where(still, torch.zeros_like(std), (z**4).mean(1) - 3)
    low, high = f.min(1).values, f.max(1).values
    q = torch.quantile(f, torch.tensor([0.05, 0.25, 0.5, 0.75, 0.95], dtype=f.dtype), dim=1)
    mad = (f - f.median(1).values[:, None]).abs().median(1).values
    gx, gy = gradients(x)
    size = (gx**2 + gy**2).sqrt().flatten(1)
    lap = (x.roll(1, 1) + x.roll(-1, 1) + x.roll(1, 2) + x.roll(-1, 2) - 4 * x).flatten(1)
    gx, gy = gx.flatten(1), gy.flatten(1)
    return torch.stack(
        [mean, var, std, skew, kurt, low, high, high - low, q[3] - q[1], mad, *q, size.mean(1), size.std(1),
         size.max(1).values, gx.mean(1), gy.mean(1), gx.abs().mean(1) / (gy.abs().mean(1) + 1e-8), lap.mean(1),
         lap.std(1), (lap**2).mean(1)], 1)  # fmt: skip


def spectral(x):
    """x [R, G, G] -> [R, 27]"""
    g, d = x.shape[1], x.dtype
    power = torch.fft.rfft2(x, norm='ortho').abs() ** 2
    ky, kx = torch.fft.fftfreq(g, dtype=d)[:, None], torch.fft.rfftfreq(g, dtype=d)[None, :]
    size = (kx**2 + ky**2).sqrt()
    edges = torch.linspace(math.sqrt(0.5), math.sqrt(g / math.sqrt(2)), 6, dtype=torch.float64) ** 2
    out = []
    for k in range(5):
        upper = size * g < edges[k + 1] if k < 4 else torch.ones_like(size, dtype=torch.bool)
        mask = (size * g >= edges[k]) & upper
        n = max(int(mask.sum()), 1)
        inside = torch.where(mask, power, torch.zeros_like(power)).flatten(1)
        out += [inside.sum(1) / n, (inside.max(1).values / n).clamp(max=1e6), inside.std(1) / math.sqrt(n)]
    flat = power.flatten(1)
    at = torch.argmax(flat, 1)
    row, column = at // power.shape[2], at % power.shape[2]
    tied = (column == 0) | (2 * column == g)
    row = torch.where(tied & (row > g / 2), g - row, row)
    total = flat.sum(1)
    safe = total + 1e-8
    cx, cy = (power * kx).sum((1, 2)) / safe, (power * ky).sum((1, 2)) / safe
    spread = (power * ((kx - cx[:, None, None]) ** 2 + (ky - cy[:, None, None]) ** 2)).sum((1, 2)) / safe
    low = (power * (size < 1 / 16)).sum((1, 2))
    mid = (power * ((size >= 1 / 16) & (size < 1 / 8))).sum((1, 2))
    falling = flat.sort(1, descending=True).values.cumsum(1)
    rolloff = (falling < 0.85 * total[:, None]).sum(1).to(d) / flat.shape[1]
    out += [column.to(d) / g, row.to(d) / g, flat.max(1).values, cx, cy, (spread + 1e-8).sqrt(), low / safe, mid / safe,
            (total - low - mid) / safe, (flat + 1e-10).log().mean(1).exp() / (flat.mean(1) + 1e-10), rolloff,
            (power * kx**2).sum((1, 2)) / ((power * ky**2).sum((1, 2)) + 1e-8)]  # fmt: skip
    return torch.stack(out, 1)


def binned(f, n):
    low, high = f.min(1, keepdim=True).values, f.max(1, keepdim=True).values
    return ((f - low) / (high - low).clamp(min=1e-8) * (n - 1)).floor().clamp(max=n - 1).long()


def shares(b, n, dtype):
    return torch.zeros(b.shape[0], n, dtype=dtype).scatter_add_(1, b, torch.ones_like(b, dtype=dtype)) / b.shape[1]


def cross(x):
    """x [S, C, G, G] -> [S, 12]"""
    s, c = x.shape[:2]
    f = x.flatten(2)
    z = (f - f.mean(2, keepdim=True)) / (f.std(2, keepdim=True) + 1e-8)
    r = z @ z.transpose(1, 2) / f.shape[2]
    lam = torch.linalg.eigvalsh(r.double()).flip(1).to(x.dtype)
    first = torch.zeros(s, 3, dtype=x.dtype)
    first[:, : min(c, 3)] = lam[:, :3]
    i, j = torch.triu_indices(c, c, 1)
    p = r[:, i, j]
    bins = [binned(f[:, k], 16) for k in range(c)]
    mi = []
    for a, b in zip(i.tolist(), j.tolist()):
        joint = shares(bins[a] * 16 + bins[b], 256, x.dtype).reshape(s, 16, 16)
        alone = joint.sum(2, keepdim=True) * joint.sum(1, keepdim=True)
        mi.append(torch.where(joint > 0, joint * (joint / alone).log(), torch.zeros_like(joint)).sum((1, 2)))
    mi = torch.stack(mi, 1)
    trace = r.diagonal(dim1=1, dim2=2).sum(1)
    spread = p.std(1) if p.shape[1] > 1 else torch.full((s,), math.nan, dtype=x.dtype)
    rest = [trace, lam[:, 0] / (lam[:, -1] + 1e-8), lam.sum(1) ** 2 / ((lam**2).sum(1) + 1e-8), p.mean(1), p.max(1).values,
            p.min(1).values, spread, mi.mean(1), mi.max(1).values]  # fmt: skip
    return torch.cat([first, torch.stack(rest, 1)], 1)


# ---------------------------------------------------------------- features of trajectories


def slope(y):
    t = torch.arange(y.shape[1], dtype=y.dtype) - (y.shape[1] - 1) / 2
    return (y * t).sum(1) / (t * t).sum()


def flips(s):
    return (s[:, 1:] != s[:, :-1]).to(torch.float64).sum(1)


def first_time(holds):
    n = holds.shape[1]
    at = torch.where(holds, torch.arange(n), torch.full((1,), n))
    return at.min(1).values / n


def series(m, e, v):
    """means, energies, variances [R, T] -> [R, 36]"""
    t = m.shape[1]
    p = torch.fft.rfft(e - e.mean(1, keepdim=True)).abs() ** 2
    peak = (p[:, 1:].argmax(1) + 1).to(m.dtype) / t
    c = m - m.mean(1, keepdim=True)
    ac = torch.fft.irfft(torch.fft.rfft(c, n=2 * t).abs() ** 2, n=2 * t)
    lags = min(20, 2 * t)
    below = ac[:, :lags] / ac[:, :1] < math.exp(-1)
    lag = torch.where(below, torch.arange(lags), torch.full((1,), 20)).min(1).values
    dm = m.diff(dim=1)
    line = m.mean(1, keepdim=True) + slope(m)[:, None] * (torch.arange(t, dtype=m.dtype) - (t - 1) / 2)
    rest = m - line
    over = m > m.mean(1, keepdim=True) + 2 * m.std(1, keepdim=True)
    runs = over[:, :-2] & over[:, 1:-1] & over[:, 2:]
    starts = torch.cat([runs[:, :1], runs[:, 1:] & ~runs[:, :-1]], 1)
    negative = m[:, 0] < 0
    zero = torch.zeros_like(m[:, 0])
    out = [slope((e + 1e-8).log()), e.diff(n=2, dim=1).abs().mean(1), slope((v + 1e-8).log()), peak, e.max(1).values - e.min(1).values,
           1 / (peak + 1e-8), lag, (dm.abs() + 1e-8).log().mean(1), dm.diff(dim=1).abs().mean(1), flips(dm.sign()) / (t - 2),
           (m[:, -1].abs() + 1e-8) / (m[:, 0].abs() + 1e-8), (1 - (rest**2).sum(1) / ((c**2).sum(1) + 1e-8)).clamp(0, 1), rest.var(1),
           (over[:, 1:] & ~over[:, :-1]).sum(1), starts.sum(1), flips(c.sign()),
           torch.where(negative, zero, first_time(m < 0.5 * m[:, :1]).to(m.dtype)),
           torch.where(negative, zero, first_time(m > 2 * m[:, :1]).to(m.dtype))]  # fmt: skip
    for share in (0.05, 0.1, 0.2):
        w = m.unfold(1, min(t, max(2, int(share * t))), 1)
        mean, std = w.mean(2), w.std(2)
        out += [mean.mean(1), std.mean(1), w.max(2).values.mean(1), w.min(2).values.mean(1), mean.std(1).nan_to_num(0), std.std(1).nan_to_num(0)]
    return torch.stack([o.to(m.dtype) for o in out], 1)


def causality(m, x):
    """means [M, C, T], states [T, M, C, G, G] -> [M, C, 14]"""
    b, c, t = m.shape
    out = []
    i, j = torch.triu_indices(c, c, 1)
    for lag in (1, 2, 3):
        p, q = m[:, :, : t - lag], m[:, :, lag:]
        p, q = p - p.mean(2, keepdim=True), q - q.mean(2, keepdim=True)
        r = (p @ q.transpose(1, 2) / (t - lag)) / (p.std(2)[:, :, None] * q.std(2)[:, None, :] + 1e-8)
        a = (r - r.transpose(1, 2))[:, i, j]
        out += [a.mean(1)[:, None].expand(b, c), a.abs().max(1).values[:, None].expand(b, c)]
    for lag in (1, 2):
        e = (m[:, :, lag:] - m[:, :, : t - lag]).abs().mean(2)
        out += [e / (e + 1e-8), torch.zeros_like(e)]
    cubes = 2 * (m.diff(dim=2) ** 3).mean(2)
    gx, gy = gradients(x[:-1].reshape(-1, *x.shape[3:]))
    nxt = x[1:].reshape(gx.shape)

    def corr(u, v):
        u, v = u.flatten(1), v.flatten(1)
        u, v = u - u.mean(1, keepdim=True), v - v.mean(1, keepdim=True)
        return (u * v).mean(1) / (u.std(1) * v.std(1) + 1e-8)

    fx, fy = corr(gx, nxt), corr(gy, nxt)
    shape = (t - 1, b, c)
    out += [cubes, cubes / (m.var(2) + 1e-8), (fx**2 + fy**2 + 1e-8).sqrt().reshape(shape).mean(0),
            (fx.abs() / (fy.abs() + 1e-8)).reshape(shape).mean(0)]  # fmt: skip
    return torch.stack(out, 2)


def norms(x):
    f = x.flatten(1)
    p = shares(binned(f, 32), 32, x.dtype)
    entropy = -(p * (p + 1e-10).log()).sum(1)
    tv = (x[:, :, 1:] - x[:, :, :-1]).abs().sum((1, 2)) + (x[:, 1:] - x[:, :-1]).abs().sum((1, 2))
    return torch.stack([f.abs().sum(1), ((f**2).sum(1) + 1e-8).sqrt(), f.abs().max(1).values, entropy, tv], 1)


def scales(x):
    """x [R, G, G] -> [R, 15]: raw, low-pass, high-pass"""
    k = torch.exp(-torch.arange(-4, 5, dtype=x.dtype) ** 2 / 8)
    k = (k[:, None] * k[None, :]) / k.sum() ** 2
    low = F.conv2d(x[:, None], k[None, None], padding=4)[:, 0]
    return torch.cat([norms(x), norms(low), norms(x - low)], 1)


def drift(s):
    """s [R, T, 15] -> [R, 60]"""
    d = s.diff(dim=1)
    return torch.stack([d.mean(1), d.var(1), s[:, -1] / (s[:, 0] + 1e-8), d.sign().mean(1)], 2).flatten(1)


def entropy_of(p):
    return -(p * (p + 1e-8).log()).sum(-1)


def spectral_entropy(z):
    p = (z.abs() ** 2).flatten(1)
    return entropy_of(p / (p.sum(1, keepdim=True) + 1e-8)).clamp(0, 10)


def distributional(x):
    """x [R, G, G] -> [R, 8]: the opt-in family"""
    g = x.shape[1]
    f = x.flatten(1)
    n = f.shape[1]
    pick = f if n <= 256 else f[:, torch.arange(256) * (n - 1) // 255]
    c = pick - pick.mean(1, keepdim=True)
    k = pick.shape[1]
    r = [((c[:, : k - lag] * c[:, lag:]).mean(1) / (pick.var(1) + 1e-8)).abs() for lag in (2, 3)]
    sample = torch.where((r[0] > 1e-6) & (r[1] > 1e-6), -(r[1] / (r[0] + 1e-8)).log(), torch.zeros_like(r[0])).clamp(0, 10)
    s = torch.linalg.svdvals(x)
    lam = s**2
    square = (lam**2).sum(1)
    ratio = torch.where(square > 1e-8, lam.sum(1) ** 2 / square / g, torch.zeros_like(square))
    part = lam.cumsum(1) / (lam.sum(1, keepdim=True) + 1e-8)
    out = [sample, spectral_entropy(torch.fft.rfft(f)), entropy_of(s / (s.sum(1, keepdim=True) + 1e-8)).clamp(0, 10), ratio,
           ((part < 0.9).sum(1) + 1).to(x.dtype) / g]  # fmt: skip
    for k in (2, 4, 8):
        out.append(spectral_entropy(torch.fft.rfft2(F.avg_pool2d(x[:, None], k)[:, 0])) if g >= k else torch.zeros_like(sample))
    return torch.stack(out, 1)


def wavelet(x):
    """x [R, G, G] -> [R, 20]: Haar details of four levels, then differences of a Gaussian pyramid of four"""
    out, a, zero = [], x, x.new_zeros(x.shape[0])
    for _ in range(4):
        if a.shape[1] < 2 or a.shape[2] < 2:
            out += [zero] * 3
            continue
        n = a.shape[1] // 2 * 2
        p, q, r, s = a[:, :n:2, :n:2], a[:, :n:2, 1:n:2], a[:, 1:n:2, :n:2], a[:, 1:n:2, 1:n:2]
        d = torch.stack([p - q + r - s, p + q - r - s, p - q - r + s], 1) / 2
        out += [(d**2).sum((1, 2, 3)) / (d.shape[2] * d.shape[3] + 1e-8), d.mean((1, 2, 3)), d.std((1, 2, 3))]
        a = (p + q + r + s) / 2
    k = torch.exp(-torch.arange(-2, 3, dtype=x.dtype) ** 2 / 2)
    k = (k[:, None] * k[None, :]) / k.sum() ** 2
    now = x[:, None]
    for _ in range(4):
        if now is None or now.shape[2] < 2:
            out += [zero] * 2
            now = None
            continue
        small = F.avg_pool2d(F.conv2d(now, k[None, None], padding=2), 2)
        d = now - F.interpolate(small, size=now.shape[2:], mode='bilinear', align_corners=False)
        out += [(d**2).sum((1, 2, 3)) / (d.shape[2] * d.shape[3] + 1e-8), d.std((1, 2, 3))]
        now = small
    return torch.stack(out, 1)


def features(x):
    """states [T, M, C, G, G] -> per step [T, 63], per trajectory [M, 110]"""
    t, b, c, g, _ = x.shape
    one = x.reshape(-1, g, g)
    per = torch.cat([spatial(one), spectral(one)], 1).reshape(t, b, c, 51).mean(2)
    steps = torch.cat([per, cross(x.reshape(t * b, c, g, g)).reshape(t, b, 12)], 2).mean(1)
    f = one.flatten(1)

    def over(v):
        return v.reshape(t, b * c).T.contiguous()

    m, e, v = over(f.mean(1)), over((f**2).sum(1)), over(f.var(1))
    d = scales(one).reshape(t, b * c, 15).transpose(0, 1)
    parts = [series(m, e, v).reshape(b, c, -1).mean(1), causality(m.reshape(b, c, t), x).mean(1), drift(d).reshape(b, c, -1).mean(1)]
    return steps, torch.cat(parts, 1)
