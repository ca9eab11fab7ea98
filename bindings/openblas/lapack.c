/* lapack.c - LAPACK as OpenBLAS carries it, behind mc_lapack_api.
 *
 * Holds: the choice of the routine by type letter, the declarations of the Fortran routines
 * (every argument by address, the lengths of the character arguments behind), the meaning of the
 * work areas that differ between real and complex routines. Bad arguments go to the handler in
 * openblas.c. */
#include "../../kernels/mck.h"
#include "../../runtime/device/mc_backend.h"
#include "parts.h"

#include <limits.h>

/* One routine of the four types, all with the same arguments. */
#define FOUR(name, ...)           \
    void s##name##_(__VA_ARGS__); \
    void d##name##_(__VA_ARGS__); \
    void c##name##_(__VA_ARGS__); \
    void z##name##_(__VA_ARGS__);
#define REALS(name, ...)          \
    void s##name##_(__VA_ARGS__); \
    void d##name##_(__VA_ARGS__);
#define COMPLEXES(name, ...)      \
    void c##name##_(__VA_ARGS__); \
    void z##name##_(__VA_ARGS__);
#define CALL(real, complex, ...)                         \
    switch (type) {                                      \
    case 's': s##real##_(__VA_ARGS__); break;            \
    case 'd': d##real##_(__VA_ARGS__); break;            \
    case 'c': c##complex##_(__VA_ARGS__); break;         \
    default: z##complex##_(__VA_ARGS__); break;          \
    }
#define CALL_REAL(name, ...)     \
    if (type == 's')             \
        s##name##_(__VA_ARGS__); \
    else                         \
        d##name##_(__VA_ARGS__)
#define CALL_COMPLEX(name, ...)  \
    if (type == 'c')             \
        c##name##_(__VA_ARGS__); \
    else                         \
        z##name##_(__VA_ARGS__)

typedef const int *I;   /* a size or a leading dimension */
typedef const void *IN; /* an array that is read, or a character */

FOUR(getrf, I m, I n, void *a, I lda, int *ipiv, int *info)
FOUR(getrs, IN trans, I n, I nrhs, IN a, I lda, I ipiv, void *b, I ldb, int *info, size_t l1)
FOUR(getri, I n, void *a, I lda, I ipiv, void *work, I lwork, int *info)
FOUR(potrf, IN uplo, I n, void *a, I lda, int *info, size_t l1)
FOUR(sytrf, IN uplo, I n, void *a, I lda, int *ipiv, void *work, I lwork, int *info, size_t l1)
COMPLEXES(hetrf, IN uplo, I n, void *a, I lda, int *ipiv, void *work, I lwork, int *info, size_t l1)
FOUR(gbsv, I n, I kl, I ku, I nrhs, void *ab, I ldab, int *ipiv, void *b, I ldb, int *info)
FOUR(gtsv, I n, I nrhs, void *dl, void *d, void *du, void *b, I ldb, int *info)
FOUR(pbsv, IN uplo, I n, I kd, I nrhs, void *ab, I ldab, void *b, I ldb, int *info, size_t l1)
FOUR(trtrs, IN uplo, IN trans, IN diag, I n, I nrhs, IN a, I lda, void *b, I ldb, int *info,
     size_t l1, size_t l2, size_t l3)
FOUR(geqrf, I m, I n, void *a, I lda, void *tau, void *work, I lwork, int *info)
REALS(geqp3, I m, I n, void *a, I lda, int *jpvt, void *tau, void *work, I lwork, int *info)
COMPLEXES(geqp3, I m, I n, void *a, I lda, int *jpvt, void *tau, void *work, I lwork, void *rwork,
          int *info)
REALS(orgqr, I m, I n, I k, void *a, I lda, IN tau, void *work, I lwork, int *info)
COMPLEXES(ungqr, I m, I n, I k, void *a, I lda, IN tau, void *work, I lwork, int *info)
REALS(gelsd, I m, I n, I nrhs, void *a, I lda, void *b, I ldb, void *s, IN rcond, int *rank,
      void *work, I lwork, int *iwork, int *info)
COMPLEXES(gelsd, I m, I n, I nrhs, void *a, I lda, void *b, I ldb, void *s, IN rcond, int *rank,
          void *work, I lwork, void *rwork, int *iwork, int *info)
REALS(gesdd, IN jobz, I m, I n, void *a, I lda, void *s, void *u, I ldu, void *vt, I ldvt,
      void *work, I lwork, int *iwork, int *info, size_t l1)
COMPLEXES(gesdd, IN jobz, I m, I n, void *a, I lda, void *s, void *u, I ldu, void *vt, I ldvt,
          void *work, I lwork, void *rwork, int *iwork, int *info, size_t l1)
REALS(syevd, IN jobz, IN uplo, I n, void *a, I lda, void *w, void *work, I lwork, int *iwork,
      I liwork, int *info, size_t l1, size_t l2)
COMPLEXES(heevd, IN jobz, IN uplo, I n, void *a, I lda, void *w, void *work, I lwork, void *rwork,
          I lrwork, int *iwork, I liwork, int *info, size_t l1, size_t l2)
REALS(sygvd, I itype, IN jobz, IN uplo, I n, void *a, I lda, void *b, I ldb, void *w, void *work,
      I lwork, int *iwork, I liwork, int *info, size_t l1, size_t l2)
COMPLEXES(hegvd, I itype, IN jobz, IN uplo, I n, void *a, I lda, void *b, I ldb, void *w,
          void *work, I lwork, void *rwork, I lrwork, int *iwork, I liwork, int *info, size_t l1,
          size_t l2)
REALS(geev, IN jobvl, IN jobvr, I n, void *a, I lda, void *wr, void *wi, void *vl, I ldvl, void *vr,
      I ldvr, void *work, I lwork, int *info, size_t l1, size_t l2)
COMPLEXES(geev, IN jobvl, IN jobvr, I n, void *a, I lda, void *w, void *vl, I ldvl, void *vr,
          I ldvr, void *work, I lwork, void *rwork, int *info, size_t l1, size_t l2)
REALS(gees, IN jobvs, IN sort, IN select, I n, void *a, I lda, int *sdim, void *wr, void *wi,
      void *vs, I ldvs, void *work, I lwork, int *bwork, int *info, size_t l1, size_t l2)
COMPLEXES(gees, IN jobvs, IN sort, IN select, I n, void *a, I lda, int *sdim, void *w, void *vs,
          I ldvs, void *work, I lwork, void *rwork, int *bwork, int *info, size_t l1, size_t l2)
REALS(trsen, IN job, IN compq, const int *select, I n, void *t, I ldt, void *q, I ldq, void *wr,
      void *wi, int *m, void *s, void *sep, void *work, I lwork, int *iwork, I liwork, int *info,
      size_t l1, size_t l2)
COMPLEXES(trsen, IN job, IN compq, const int *select, I n, void *t, I ldt, void *q, I ldq, void *w,
          int *m, void *s, void *sep, void *work, I lwork, int *info, size_t l1, size_t l2)
FOUR(gehrd, I n, I ilo, I ihi, void *a, I lda, void *tau, void *work, I lwork, int *info)
REALS(orghr, I n, I ilo, I ihi, void *a, I lda, IN tau, void *work, I lwork, int *info)
COMPLEXES(unghr, I n, I ilo, I ihi, void *a, I lda, IN tau, void *work, I lwork, int *info)

static int is_real(int type)
{
    return type == 's' || type == 'd';
}

/* What a query left in a work area: a size, as a number of the type. Single precision may have
 * rounded it down. INT_MAX stands for all that does not fit. */
static int size_in(int type, const void *work)
{
    double x = type == 's' || type == 'c' ? (double)*(const float *)work : *(const double *)work;
    if ((type == 's' || type == 'c') && x > 16777216.0) x *= 1.0 + 0x1p-23;
    return x >= (double)INT_MAX ? INT_MAX : x < 1 ? 1 : (int)x;
}

/* A query: scratch takes the answers, and the areas that a routine does not report get the sizes
 * of its documentation. */
typedef struct scratch {
    double work[2], rwork[2];
    int iwork[2];
    mc_lapack_work asked;
} scratch;

static mc_lapack_work *query(mc_lapack_work *w, scratch *s)
{
    if (w->lwork != -1) return w;
    *s = (scratch){ .asked = { .lwork = -1, .lrwork = -1, .liwork = -1 } };
    s->asked.work = s->work;
    s->asked.rwork = s->rwork;
    s->asked.iwork = s->iwork;
    return &s->asked;
}

static void answer(int type, mc_lapack_work *w, const mc_lapack_work *used, int64_t lrwork,
                   int64_t liwork)
{
    if (used == w) return;
    const int real = type == 's' || type == 'c' ? 's' : 'd';
    w->lwork = size_in(type, used->work);
    w->lrwork = lrwork < 0 ? size_in(real, used->rwork) : lrwork > INT_MAX ? INT_MAX : (int)lrwork;
    w->liwork = liwork < 0 ? used->iwork[0] : liwork > INT_MAX ? INT_MAX : (int)liwork;
}

static int getrf(int type, int m, int n, void *a, int lda, int *ipiv)
{
    int info = 0;
    CALL(getrf, getrf, &m, &n, a, &lda, ipiv, &info)
    return info;
}

static int getrs(int type, char trans, int n, int nrhs, const void *a, int lda, const int *ipiv,
                 void *b, int ldb)
{
    int info = 0;
    CALL(getrs, getrs, &trans, &n, &nrhs, a, &lda, ipiv, b, &ldb, &info, 1)
    return info;
}

static int getri(int type, int n, void *a, int lda, const int *ipiv, mc_lapack_work *w)
{
    int info = 0;
    scratch s;
    mc_lapack_work *u = query(w, &s);
    CALL(getri, getri, &n, a, &lda, ipiv, u->work, &u->lwork, &info)
    answer(type, w, u, 0, 0);
    return info;
}

static int potrf(int type, char uplo, int n, void *a, int lda)
{
    int info = 0;
    CALL(potrf, potrf, &uplo, &n, a, &lda, &info, 1)
    return info;
}

static int hetrf(int type, int hermitian, char uplo, int n, void *a, int lda, int *ipiv,
                 mc_lapack_work *w)
{
    int info = 0;
    scratch s;
    mc_lapack_work *u = query(w, &s);
    if (hermitian) {
        CALL(sytrf, hetrf, &uplo, &n, a, &lda, ipiv, u->work, &u->lwork, &info, 1)
    } else {
        CALL(sytrf, sytrf, &uplo, &n, a, &lda, ipiv, u->work, &u->lwork, &info, 1)
    }
    answer(type, w, u, 0, 0);
    return info;
}

static int trtrs(int type, char uplo, char trans, char diag, int n, int nrhs, const void *a,
                 int lda, void *b, int ldb)
{
    int info = 0;
    CALL(trtrs, trtrs, &uplo, &trans, &diag, &n, &nrhs, a, &lda, b, &ldb, &info, 1, 1, 1)
    return info;
}

static int geqrf(int type, int m, int n, void *a, int lda, void *tau, mc_lapack_work *w)
{
    int info = 0;
    scratch s;
    mc_lapack_work *u = query(w, &s);
    CALL(geqrf, geqrf, &m, &n, a, &lda, tau, u->work, &u->lwork, &info)
    answer(type, w, u, 0, 0);
    return info;
}

static int geqp3(int type, int m, int n, void *a, int lda, int *jpvt, void *tau, mc_lapack_work *w)
{
    int info = 0;
    scratch s;
    mc_lapack_work *u = query(w, &s);
    if (is_real(type)) {
        CALL_REAL(geqp3, &m, &n, a, &lda, jpvt, tau, u->work, &u->lwork, &info);
    } else {
        CALL_COMPLEX(geqp3, &m, &n, a, &lda, jpvt, tau, u->work, &u->lwork, u->rwork, &info);
    }
    answer(type, w, u, 2 * (int64_t)n, 0);
    return info;
}

static int ungqr(int type, int m, int n, int k, void *a, int lda, const void *tau,
                 mc_lapack_work *w)
{
    int info = 0;
    scratch s;
    mc_lapack_work *u = query(w, &s);
    CALL(orgqr, ungqr, &m, &n, &k, a, &lda, tau, u->work, &u->lwork, &info)
    answer(type, w, u, 0, 0);
    return info;
}

static int gelsd(int type, int m, int n, int nrhs, void *a, int lda, void *b, int ldb, void *sv,
                 double rcond, int *rank, mc_lapack_work *w)
{
    int info = 0;
    const float single = (float)rcond;
    const void *rc = type == 's' || type == 'c' ? (const void *)&single : (const void *)&rcond;
    scratch s;
    mc_lapack_work *u = query(w, &s);
    if (is_real(type)) {
        CALL_REAL(gelsd, &m, &n, &nrhs, a, &lda, b, &ldb, sv, rc, rank, u->work, &u->lwork,
                  u->iwork, &info);
    } else {
        CALL_COMPLEX(gelsd, &m, &n, &nrhs, a, &lda, b, &ldb, sv, rc, rank, u->work, &u->lwork,
                     u->rwork, u->iwork, &info);
    }
    answer(type, w, u, is_real(type) ? 0 : -1, -1);
    return info;
}

static int gesdd(int type, char jobz, int m, int n, void *a, int lda, void *sv, void *u, int ldu,
                 void *vt, int ldvt, mc_lapack_work *w)
{
    int info = 0;
    scratch s;
    mc_lapack_work *q = query(w, &s);
    const int64_t least = m < n ? m : n, most = m < n ? n : m;
    const int64_t full = 5 * least * least + 5 * least,
                  wide = 2 * most * least + 2 * least * least + least;
    if (is_real(type)) {
        CALL_REAL(gesdd, &jobz, &m, &n, a, &lda, sv, u, &ldu, vt, &ldvt, q->work, &q->lwork,
                  q->iwork, &info, 1);
    } else {
        CALL_COMPLEX(gesdd, &jobz, &m, &n, a, &lda, sv, u, &ldu, vt, &ldvt, q->work, &q->lwork,
                     q->rwork, q->iwork, &info, 1);
    }
    answer(type, w, q, is_real(type) ? 0 : jobz == 'N' ? 7 * least : full > wide ? full : wide,
           8 * least);
    return info;
}

static int heevd(int type, char jobz, char uplo, int n, void *a, int lda, void *ev,
                 mc_lapack_work *w)
{
    int info = 0;
    scratch s;
    mc_lapack_work *u = query(w, &s);
    if (is_real(type)) {
        CALL_REAL(syevd, &jobz, &uplo, &n, a, &lda, ev, u->work, &u->lwork, u->iwork, &u->liwork,
                  &info, 1, 1);
    } else {
        CALL_COMPLEX(heevd, &jobz, &uplo, &n, a, &lda, ev, u->work, &u->lwork, u->rwork, &u->lrwork,
                     u->iwork, &u->liwork, &info, 1, 1);
    }
    answer(type, w, u, is_real(type) ? 0 : -1, -1);
    return info;
}

static int hegvd(int type, int itype, char jobz, char uplo, int n, void *a, int lda, void *b,
                 int ldb, void *ev, mc_lapack_work *w)
{
    int info = 0;
    scratch s;
    mc_lapack_work *u = query(w, &s);
    if (is_real(type)) {
        CALL_REAL(sygvd, &itype, &jobz, &uplo, &n, a, &lda, b, &ldb, ev, u->work, &u->lwork,
                  u->iwork, &u->liwork, &info, 1, 1);
    } else {
        CALL_COMPLEX(hegvd, &itype, &jobz, &uplo, &n, a, &lda, b, &ldb, ev, u->work, &u->lwork,
                     u->rwork, &u->lrwork, u->iwork, &u->liwork, &info, 1, 1);
    }
    answer(type, w, u, is_real(type) ? 0 : -1, -1);
    return info;
}

static int geev(int type, char jobvl, char jobvr, int n, void *a, int lda, void *wr, void *wi,
                void *vl, int ldvl, void *vr, int ldvr, mc_lapack_work *w)
{
    int info = 0;
    scratch s;
    mc_lapack_work *u = query(w, &s);
    if (is_real(type)) {
        CALL_REAL(geev, &jobvl, &jobvr, &n, a, &lda, wr, wi, vl, &ldvl, vr, &ldvr, u->work,
                  &u->lwork, &info, 1, 1);
    } else {
        CALL_COMPLEX(geev, &jobvl, &jobvr, &n, a, &lda, wr, vl, &ldvl, vr, &ldvr, u->work,
                     &u->lwork, u->rwork, &info, 1, 1);
    }
    answer(type, w, u, 2 * (int64_t)n, 0);
    return info;
}

static int gees(int type, char jobvs, int n, void *a, int lda, void *wr, void *wi, void *vs,
                int ldvs, mc_lapack_work *w)
{
    int info = 0, sdim = 0;
    scratch s;
    mc_lapack_work *u = query(w, &s);
    if (is_real(type)) {
        CALL_REAL(gees, &jobvs, "N", NULL, &n, a, &lda, &sdim, wr, wi, vs, &ldvs, u->work,
                  &u->lwork, NULL, &info, 1, 1);
    } else {
        CALL_COMPLEX(gees, &jobvs, "N", NULL, &n, a, &lda, &sdim, wr, vs, &ldvs, u->work, &u->lwork,
                     u->rwork, NULL, &info, 1, 1);
    }
    answer(type, w, u, n, 0);
    return info;
}

static int trsen(int type, const int *select, int n, void *t, int ldt, void *q, int ldq, void *wr,
                 void *wi, int *selected, void *work)
{
    int info = 0, one = 1, iwork[1];
    double s[1], sep[1]; /* not made for job N */
    if (is_real(type)) {
        CALL_REAL(trsen, "N", "V", select, &n, t, &ldt, q, &ldq, wr, wi, selected, s, sep, work, &n,
                  iwork, &one, &info, 1, 1);
    } else {
        CALL_COMPLEX(trsen, "N", "V", select, &n, t, &ldt, q, &ldq, wr, selected, s, sep, work, &n,
                     &info, 1, 1);
    }
    return info;
}

static int gehrd(int type, int n, int ilo, int ihi, void *a, int lda, void *tau, mc_lapack_work *w)
{
    int info = 0;
    scratch s;
    mc_lapack_work *u = query(w, &s);
    CALL(gehrd, gehrd, &n, &ilo, &ihi, a, &lda, tau, u->work, &u->lwork, &info)
    answer(type, w, u, 0, 0);
    return info;
}

static int unghr(int type, int n, int ilo, int ihi, void *a, int lda, const void *tau,
                 mc_lapack_work *w)
{
    int info = 0;
    scratch s;
    mc_lapack_work *u = query(w, &s);
    CALL(orghr, unghr, &n, &ilo, &ihi, a, &lda, tau, u->work, &u->lwork, &info)
    answer(type, w, u, 0, 0);
    return info;
}

static int gbsv(int type, int n, int kl, int ku, int nrhs, void *ab, int ldab, int *ipiv, void *b,
                int ldb)
{
    int info = 0;
    CALL(gbsv, gbsv, &n, &kl, &ku, &nrhs, ab, &ldab, ipiv, b, &ldb, &info)
    return info;
}

static int gtsv(int type, int n, int nrhs, void *dl, void *d, void *du, void *b, int ldb)
{
    int info = 0;
    CALL(gtsv, gtsv, &n, &nrhs, dl, d, du, b, &ldb, &info)
    return info;
}

static int pbsv(int type, char uplo, int n, int kd, int nrhs, void *ab, int ldab, void *b, int ldb)
{
    int info = 0;
    CALL(pbsv, pbsv, &uplo, &n, &kd, &nrhs, ab, &ldab, b, &ldb, &info, 1)
    return info;
}

const mc_lapack_api mco_lapack = {
    .threads = mco_threads,
    .getrf = getrf,
    .getrs = getrs,
    .getri = getri,
    .potrf = potrf,
    .hetrf = hetrf,
    .trtrs = trtrs,
    .geqrf = geqrf,
    .geqp3 = geqp3,
    .ungqr = ungqr,
    .gelsd = gelsd,
    .gesdd = gesdd,
    .heevd = heevd,
    .hegvd = hegvd,
    .geev = geev,
    .gees = gees,
    .trsen = trsen,
    .gehrd = gehrd,
    .unghr = unghr,
    .gbsv = gbsv,
    .gtsv = gtsv,
    .pbsv = pbsv,
};
