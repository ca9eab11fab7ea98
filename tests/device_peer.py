"""The rows of `mascon bench ops` through PyTorch or CuPy on the card: device_peer.py torch|cupy.

One row a line: name, least and median microseconds, rate. Called by tests/device.sh."""
import sys
import time

N, K, L = 2**22, 768, 4096


def torch_cases():
    import torch

    a = torch.randn(N, device="cuda")
    b, m = torch.randn(N, device="cuda"), a.reshape(4096, 1024)
    s, d = torch.randn(K, K, device="cuda"), torch.randn(K, K, device="cuda", dtype=torch.float64)
    r = torch.randn(512, 2048, device="cuda")
    whole = torch.randn(L, L, device="cuda")
    half = whole.to(torch.bfloat16)

    def large(kind):
        torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
        out = whole @ whole
        torch.backends.cuda.matmul.allow_tf32 = False
        return out

    cases = [
        ("copy", 8 * N, "GB/s", lambda: b.copy_(a)),
        ("chain", 12 * N, "GB/s", lambda: a * b * 0.5 + a - 1),
        ("exp", 8 * N, "GB/s", lambda: torch.exp(a, out=b)),
        ("sum", 4 * N, "GB/s", lambda: a.sum()),
        ("softmax", 8 * N, "GB/s", lambda: m.softmax(1)),
        ("product f32", 2 * K**3, "GFLOP/s", lambda: s @ s),
        ("product f64", 2 * K**3, "GFLOP/s", lambda: d @ d),
        ("product large f32", 2 * L**3, "GFLOP/s", lambda: large("f32")),
        ("product large tf32", 2 * L**3, "GFLOP/s", lambda: large("tf32")),
        ("product large bf16", 2 * L**3, "GFLOP/s", lambda: half @ half),
        ("rfft", 8 * 2**20, "GB/s", lambda: torch.fft.rfft(r)),
        ("sort", 8 * 2**20, "GB/s", lambda: r.sort(1)),
    ]
    return torch.__version__, cases, torch.cuda.synchronize


def cupy_cases():
    import cupy

    a = cupy.random.randn(N, dtype=cupy.float32)
    b = cupy.random.randn(N, dtype=cupy.float32)
    s = cupy.random.randn(K, K, dtype=cupy.float32)
    d = cupy.random.randn(K, K)
    r = cupy.random.randn(512, 2048, dtype=cupy.float32)
    cases = [
        ("copy", 8 * N, "GB/s", lambda: cupy.copyto(b, a)),
        ("chain", 12 * N, "GB/s", lambda: a * b * 0.5 + a - 1),
        ("exp", 8 * N, "GB/s", lambda: cupy.exp(a, out=b)),
        ("sum", 4 * N, "GB/s", lambda: a.sum()),
        ("product f32", 2 * K**3, "GFLOP/s", lambda: s @ s),
        ("product f64", 2 * K**3, "GFLOP/s", lambda: d @ d),
        ("rfft", 8 * 2**20, "GB/s", lambda: cupy.fft.rfft(r)),
        ("sort", 8 * 2**20, "GB/s", lambda: cupy.sort(r, 1)),
    ]
    return cupy.__version__, cases, cupy.cuda.Device().synchronize


def main():
    version, cases, wait = {"torch": torch_cases, "cupy": cupy_cases}[sys.argv[1]]()
    print(sys.argv[1], version)
    for name, amount, unit, call in cases:
        for _ in range(5):
            call()
        wait()
        times, began = [], time.perf_counter()
        while len(times) < 5 or time.perf_counter() - began < 0.5:
            start = time.perf_counter()
            call()
            wait()
            times.append(time.perf_counter() - start)
        times.sort()
        middle = times[len(times) // 2]
        print(f"{name:<16} {times[0] * 1e6:10.1f} {middle * 1e6:10.1f} us {amount / middle / 1e9:12.2f} {unit}", flush=True)


main()
