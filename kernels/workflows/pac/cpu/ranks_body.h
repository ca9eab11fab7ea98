/* ranks_body.h - body of ranks.c, once per dtype. Letters as in pac.h. */

#undef PAC_KEY
#if PAC_BITS == 32
#define PAC_KEY uint32_t
#else
#define PAC_KEY uint64_t
#endif

void FN(scores)(void *out, int64_t L)
{
    T *score = out;
    /* from both ends, so that the scores are exactly odd about the middle */
    for (int64_t k = 0; 2 * k < L; k++) {
        const double x = pac_probit((double)(k + 1) / (double)(L + 1));
        score[k] = (T)x;
        score[L - 1 - k] = 2 * k + 1 == L ? (T)0 : (T)-x;
    }
}

typedef struct SN(ranks_work) {
    PAC_KEY *key[2];
    int64_t *place[2];
    int64_t bytes;
} SN(ranks_work);

static SN(ranks_work) SN(ranks_layout)(const mck_pac_ranks *a, void *base)
{
    SN(ranks_work) w;
    pac_work p = { base, 0 };
    for (int i = 0; i < 2; i++) {
        w.key[i] = pac_take(&p, a->L, sizeof(PAC_KEY));
        w.place[i] = pac_take(&p, a->L, sizeof(int64_t));
    }
    w.bytes = p.used;
    return w;
}

int64_t FN(ranks_work)(const mck_pac_ranks *a) { return SN(ranks_layout)(a, NULL).bytes; }

static void SN(ranks_row)(const SN(ranks_work) *w, const T *x, T *out, int64_t L, int64_t step,
                          const T *score)
{
    const PAC_KEY top = (PAC_KEY)1 << (PAC_BITS - 1);
    int bad = 0, side = 0;
    for (int64_t t = 0; t < L; t++) {
        const T v = x[t * step] + (T)0; /* -0 ties with 0 */
        PAC_KEY key;
        memcpy(&key, &v, sizeof key);
        bad |= v != v;
        w->key[0][t] = key & top ? ~key : key | top;
        w->place[0][t] = t;
    }
    if (bad) {
        for (int64_t t = 0; t < L; t++)
            out[t * step] = (T)NAN;
        return;
    }
    for (int digit = 0; digit < PAC_BITS; digit += 8, side ^= 1) {
        int64_t at[256] = { 0 }, sum = 0;
        const PAC_KEY *key = w->key[side];
        for (int64_t t = 0; t < L; t++)
            at[key[t] >> digit & 255]++;
        for (int i = 0; i < 256; i++) {
            const int64_t n = at[i];
            at[i] = sum;
            sum += n;
        }
        for (int64_t t = 0; t < L; t++) {
            const int64_t to = at[key[t] >> digit & 255]++;
            w->key[side ^ 1][to] = key[t];
            w->place[side ^ 1][to] = w->place[side][t];
        }
    }
    for (int64_t r = 0; r < L; r++)
        out[w->place[side][r] * step] = score[r];
}

void FN(ranks)(const mck_pac_ranks *a, int64_t begin, int64_t end, void *work)
{
    const SN(ranks_work) w = SN(ranks_layout)(a, work);
    for (int64_t i = begin; i < end; i++)
        SN(ranks_row)(&w, (const T *)a->in + (a->in_at ? a->in_at[i] : i * a->L),
         (T *)a->out + (a->out_at ? a->out_at[i] : i * a->L), a->L, a->step, a->score);
}
