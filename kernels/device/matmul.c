/* matmul.c - matrix products: a group makes a tile of 64 x 64 results, a lane 4 x 4 of them.
 *
 * out[b][m][n] = a[b][m][k] b[b][k][n], with any strides. T: dtype; ZERO, MULADD(c, a, b) of it.
 * The sum over k runs in its order. SUBTRACT(a, b) = a - b: from what is there. */
#include "jobs.h"
#include "index.h"

#if defined(MCD_CUDA) && !defined(MCD_HOST) /* two groups at once: 128 registers of a lane */
#undef KERNEL
#define KERNEL extern "C" __global__ void __launch_bounds__(256, 2)
#endif
#define TILE 64
#define DEEP 16
#define OWN 4
#if defined(SUBTRACT)
#define STORE(to, v) to = SUBTRACT(to, v)
#else
#define STORE(to, v) to = v
#endif

KERNEL matmul(GLOBAL char *out, GLOBAL const char *a, GLOBAL const char *b, const mcd_matmul j)
{
    MCD_GROUP_MEMORY T ta[DEEP][TILE + 1];
    MCD_GROUP_MEMORY T tb[DEEP][TILE + 1];
    T sum[OWN][OWN];
    int64_t off[3];
    const int64_t tiles = (j.n + TILE - 1) / TILE, down = (j.m + TILE - 1) / TILE;
    const int64_t g = GROUP_AT(0), batch = g / (tiles * down), rest = g - batch * tiles * down,
                  r0 = rest / tiles * TILE, c0 = rest % tiles * TILE;
    const int lr = LANE / 16, lc = LANE % 16;
    mcd_place3(batch, batch + 1, j.nd, j.shape, j.batch[0], off);
    GLOBAL const T *pa = AT(const T, a, j.at[1]) + off[1];
    GLOBAL const T *pb = AT(const T, b, j.at[2]) + off[2];
    GLOBAL T *po = AT(T, out, j.at[0]) + off[0];
    for (int r = 0; r < OWN; r++)
        for (int c = 0; c < OWN; c++) sum[r][c] = ZERO;
    for (int64_t k0 = 0; k0 < j.k; k0 += DEEP) {
        for (int e = LANE; e < TILE * DEEP; e += 256) {
            const int ka = j.col[1] == 1 ? e % DEEP : e / TILE,
                      ra = j.col[1] == 1 ? e / DEEP : e % TILE; /* neighbours read neighbours */
            const int kb = j.col[2] == 1 ? e / TILE : e % DEEP,
                      cb = j.col[2] == 1 ? e % TILE : e / DEEP;
            T va = ZERO, vb = ZERO;
            if (r0 + ra < j.m && k0 + ka < j.k)
                va = pa[(r0 + ra) * j.row[1] + (k0 + ka) * j.col[1]];
            if (c0 + cb < j.n && k0 + kb < j.k)
                vb = pb[(k0 + kb) * j.row[2] + (c0 + cb) * j.col[2]];
            ta[ka][ra] = va;
            tb[kb][cb] = vb;
        }
        BARRIER;
        const int deep = j.k - k0 < DEEP ? (int)(j.k - k0) : DEEP;
        for (int k = 0; k < deep; k++)
            for (int r = 0; r < OWN; r++)
                for (int c = 0; c < OWN; c++)
                    sum[r][c] = MULADD(sum[r][c], ta[k][lr + 16 * r], tb[k][lc + 16 * c]);
        BARRIER;
    }
    for (int r = 0; r < OWN; r++)
        for (int c = 0; c < OWN; c++)
            if (r0 + lr + 16 * r < j.m && c0 + lc + 16 * c < j.n)
                STORE(po[(r0 + lr + 16 * r) * j.row[0] + (c0 + lc + 16 * c) * j.col[0]], sum[r][c]);
}
