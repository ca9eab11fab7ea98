/* mck_special_fit.h - polynomials and tables behind the special functions.
 *
 * Numbers only. Made by tests/golden/special_fits.py (mpmath, 40 digits), which says how; each
 * function names what it fits, its variable u, and the rest of the cut series against the smallest
 * value on the interval (the largest where the function has a zero). */
#ifndef MCK_SPECIAL_FIT_H
#define MCK_SPECIAL_FIT_H

#include "mck_math.h"

/* Dawson's integral over x, u = x^2, u in [0.0, 4.0]; 19 terms, rest 2^-59 */
MC_INLINE double mck_fit_dawson_near_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p-1, -0x1p0);
    const double s = t * t;
    double e = 0x1.620c4f414540bp-40, o = -0x1.9baf001f0bbf9p-37;
    e = MC_MULADD(e, s, 0x1.ac399f081887fp-34);
    o = MC_MULADD(o, s, -0x1.bb3f80004ac5fp-31);
    e = MC_MULADD(e, s, 0x1.afefa7afc8f73p-28);
    o = MC_MULADD(o, s, -0x1.8969fa214ceccp-25);
    e = MC_MULADD(e, s, 0x1.4ddde81a61585p-22);
    o = MC_MULADD(o, s, -0x1.069ca1e232badp-19);
    e = MC_MULADD(e, s, 0x1.7c8ec1164141dp-17);
    o = MC_MULADD(o, s, -0x1.f8593377ff203p-15);
    e = MC_MULADD(e, s, 0x1.2f09ceb48dc8ap-12);
    o = MC_MULADD(o, s, -0x1.46d05416c2793p-10);
    e = MC_MULADD(e, s, 0x1.3854f02e3e041p-8);
    o = MC_MULADD(o, s, -0x1.045caccc142c8p-6);
    e = MC_MULADD(e, s, 0x1.730de9ed4d7bfp-5);
    o = MC_MULADD(o, s, -0x1.b83cb02211bbap-4);
    e = MC_MULADD(e, s, 0x1.a3cc7d3831a6cp-3);
    o = MC_MULADD(o, s, -0x1.332f4ad271344p-2);
    e = MC_MULADD(e, s, 0x1.47ac84542d482p-2);
    return MC_MULADD(o, t, e);
}

/* Dawson's integral times x, u = x, u in [2.0, 5.0]; 29 terms, rest 2^-58 */
MC_INLINE double mck_fit_dawson_mid_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.5555555555555p-1, -0x1.2aaaaaaaaaaabp1);
    const double s = t * t;
    double e = -0x1.066d8318d988p-28, o = 0x1.7660787128a76p-28;
    e = MC_MULADD(e, s, 0x1.43653638ea36ep-25);
    o = MC_MULADD(o, s, -0x1.9723dd88feb23p-24);
    e = MC_MULADD(e, s, -0x1.5fdf9d53a8259p-24);
    o = MC_MULADD(o, s, 0x1.4fa1d860f58f3p-21);
    e = MC_MULADD(e, s, -0x1.b7dbe71ada5d5p-21);
    o = MC_MULADD(o, s, -0x1.2b46ab0cfec6cp-20);
    e = MC_MULADD(e, s, 0x1.9a08e7466bba6p-18);
    o = MC_MULADD(o, s, -0x1.25b18f39c4028p-17);
    e = MC_MULADD(e, s, -0x1.a203acc836008p-18);
    o = MC_MULADD(o, s, 0x1.9a0ef4d1e743cp-15);
    e = MC_MULADD(e, s, -0x1.618bc85790b6dp-14);
    o = MC_MULADD(o, s, 0x1.7979d0b6201ecp-17);
    e = MC_MULADD(e, s, 0x1.0cdccde3f0c5ap-12);
    o = MC_MULADD(o, s, -0x1.371973fc85b7fp-11);
    e = MC_MULADD(e, s, 0x1.1daf5e7461c26p-11);
    o = MC_MULADD(o, s, 0x1.ac8c2b2d12903p-12);
    e = MC_MULADD(e, s, -0x1.212971cf97636p-9);
    o = MC_MULADD(o, s, 0x1.ee5536fdc8893p-9);
    e = MC_MULADD(e, s, -0x1.cbc6796fdb7bp-9);
    o = MC_MULADD(o, s, 0x1.2b2d0ed60fe18p-11);
    e = MC_MULADD(e, s, 0x1.194034225eb8bp-8);
    o = MC_MULADD(o, s, -0x1.322ea004e15ecp-7);
    e = MC_MULADD(e, s, 0x1.b71a8bf590d71p-7);
    o = MC_MULADD(o, s, -0x1.11bfc9bb48a47p-6);
    e = MC_MULADD(e, s, 0x1.4cb172609111cp-6);
    o = MC_MULADD(o, s, -0x1.8bdb3bd132e85p-6);
    e = MC_MULADD(e, s, 0x1.0c1f347f66a04p-1);
    return MC_MULADD(o, t, e);
}

/* 2 x Dawson's integral, u = 1 / x^2, u in [0.0, 0.04]; 19 terms, rest 2^-57 */
MC_INLINE double mck_fit_dawson_far_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.9p5, -0x1p0);
    const double s = t * t;
    double e = 0x1.6d1e774270163p-40, o = 0x1.79e426298061bp-38;
    e = MC_MULADD(e, s, -0x1.a261fc370b657p-41);
    o = MC_MULADD(o, s, -0x1.e52d9873af32ep-36);
    e = MC_MULADD(e, s, -0x1.1a3f7fa4b310fp-35);
    o = MC_MULADD(o, s, 0x1.7a9ad346ed73ap-36);
    e = MC_MULADD(e, s, 0x1.58df27b06dcffp-34);
    o = MC_MULADD(o, s, 0x1.c5bc02b2b10dp-34);
    e = MC_MULADD(e, s, 0x1.7d377ffa12abcp-33);
    o = MC_MULADD(o, s, 0x1.ee37d4223c54bp-32);
    e = MC_MULADD(e, s, 0x1.9389701c97b7ep-30);
    o = MC_MULADD(o, s, 0x1.9cb37f70ccc4p-28);
    e = MC_MULADD(e, s, 0x1.0a3433e30761bp-25);
    o = MC_MULADD(o, s, 0x1.b5594dc8e3df3p-23);
    e = MC_MULADD(e, s, 0x1.d4c6f75775ae1p-20);
    o = MC_MULADD(o, s, 0x1.568429f991bcep-16);
    e = MC_MULADD(e, s, 0x1.718e7c18a3594p-12);
    o = MC_MULADD(o, s, 0x1.5cf88c22bb28ep-7);
    e = MC_MULADD(e, s, 0x1.02a41462c0c1cp0);
    return MC_MULADD(o, t, e);
}

/* Gamma(2 + row + (1 + t) / 2) for t in [-1, 1]: powers of t */
enum { MCK_GAMMA_ROWS = 8, MCK_GAMMA_TERMS = 18 };
MC_TABLE double mck_gamma_rows_f64[MCK_GAMMA_ROWS][MCK_GAMMA_TERMS] = {
    { 0x1.544fa6d47b39p0, 0x1.de9585f1a7093p-2, 0x1.4f224d4b7e016p-3, 0x1.03f6d2fa4f509p-5,
      0x1.c138b89493f18p-8, 0x1.d0a9bc4930c69p-11, 0x1.5489cc6a2a52fp-13, 0x1.a55ed217389fcp-17,
      0x1.8b8fcf9634138p-19, 0x1.0886c54a255fep-27, 0x1.013bdf3ed25b2p-24, -0x1.ad8a6403b13c5p-28,
      0x1.e716b899c0986p-30, -0x1.57e9db306423bp-32, 0x1.1e00287f05fcbp-34, -0x1.c091af402a4b9p-37,
      0x1.ba4ea8bb96e0cp-39, -0x1.650dbab79cb61p-41 },
    { 0x1.a96390899a074p1, 0x1.d545472146024p0, 0x1.491ad1cb98836p-1, 0x1.4a0b6a8230929p-3,
      0x1.0e5d232b95859p-5, 0x1.71d167212a004p-8, 0x1.bd2afde7e47abp-11, 0x1.d8376e102f72dp-14,
      0x1.c9e94992cf29ep-17, 0x1.90ba727875d99p-20, 0x1.49cfed99d8d3p-23, 0x1.ec01868b5b74bp-27,
      0x1.65e5a3a6f01d4p-30, 0x1.ca1982642e50cp-34, 0x1.378a95a19f54bp-37, 0x1.42e77647c2b72p-41,
      0x1.f26393571d119p-45, 0x1.025ac73cb7815p-49 },
    { 0x1.74371e7866c65p3, 0x1.027ac12fc1e1ep3, 0x1.9548c95a76f39p1, 0x1.c5576617b6c1fp-1,
      0x1.919734073b1e4p-3, 0x1.28fa2eb44d23p-5, 0x1.7bab82a608dffp-8, 0x1.ad2dbf1b06e03p-11,
      0x1.b471c7386e754p-14, 0x1.944636de3544fp-17, 0x1.58a8311b3e6fap-20, 0x1.10884c2f0e6a6p-23,
      0x1.92954c16e3aeap-27, 0x1.17286d000011p-30, 0x1.6d50decadbcd2p-34, 0x1.c4cc0c74841d8p-38,
      0x1.10becf9f38545p-41, 0x1.32281b6e10023p-45 },
    { 0x1.a2be0247739f2p5, 0x1.5150fd24c6f6fp5, 0x1.2497a18ed3617p4, 0x1.64535bc3f48ap2,
      0x1.533ae6c9fef1bp0, 0x1.0b7287473a2b5p-2, 0x1.6a0d90d78b5bbp-5, 0x1.af3f7cd238379p-8,
      0x1.cc16df9d842b3p-11, 0x1.bda0627947fb1p-14, 0x1.8c01b6de54843p-17, 0x1.45a0c35f35aedp-20,
      0x1.f2fc6fcb8724bp-24, 0x1.66516823b6f01p-27, 0x1.e491bbed4cd31p-31, 0x1.3600751b9c702p-34,
      0x1.81330f7f41063p-38, 0x1.bd47acd637a1ap-42 },
    { 0x1.1fe2a1911f7d6p8, 0x1.02138e2dc003bp8, 0x1.e6a4bd6d9463cp6, 0x1.3e1f377a6cf74p5,
      0x1.424d559bdc68ep3, 0x1.0cad76b377ba4p1, 0x1.7ea29737cc995p-2, 0x1.dd826e3c4c325p-5,
      0x1.09f7bc12e3ebp-7, 0x1.0c34d9c11fd09p-10, 0x1.ef115eaf897dcp-14, 0x1.a5df61b35b906p-17,
      0x1.4e5745cb28411p-20, 0x1.efd636a2b7e9ep-24, 0x1.59ac1f9eab912p-27, 0x1.c76724132ef59p-31,
      0x1.2353a9266e8f6p-34, 0x1.59e7a0a034b31p-38 },
    { 0x1.d3d0468bd32bdp10, 0x1.c75c1b3c7bf5bp10, 0x1.cbeabd747891fp9, 0x1.3f4df4c12b155p8,
      0x1.5566a36d3e536p6, 0x1.2ae045d8c861bp4, 0x1.bd3ad63711a4bp1, 0x1.21a5a29671fffp-1,
      0x1.4f79e45eb77a1p-4, 0x1.5ee6cef6722c8p-7, 0x1.4f397b2187e7ap-10, 0x1.272717522cf8ep-13,
      0x1.e296c7aabec66p-17, 0x1.709aaec915089p-20, 0x1.085813eec865bp-23, 0x1.65d65610c9b6fp-27,
      0x1.d67c1dcba23c7p-31, 0x1.1e60eacf7e43cp-34 },
    { 0x1.b693422315f91p13, 0x1.c8235df171691p13, 0x1.e8179504c0879p12, 0x1.64d66d23a7764p11,
      0x1.8fe3b666b5341p9, 0x1.6d8bea568b70ap7, 0x1.1b6ba5e001fcbp5, 0x1.7ed9fdfacf1b9p2,
      0x1.cb5517648199dp-1, 0x1.f0b554368cb63p-4, 0x1.e9b94a90aceb9p-7, 0x1.bc51635bdf3b8p-10,
      0x1.75ca5f6dcb365p-13, 0x1.256e38acf3377p-16, 0x1.b00d0970ebf62p-20, 0x1.2be7212a36cdp-23,
      0x1.947e0d207eap-27, 0x1.f80c02ceeb294p-31 },
    { 0x1.d1fc76454758ap16, 0x1.000763f95cefap17, 0x1.1fcebd099d5e9p16, 0x1.b826c69679fe9p14,
      0x1.010bc68b0533p13, 0x1.e85d9695a1752p10, 0x1.88855ad3a44e2p8, 0x1.123eb8653e5cep6,
      0x1.53bbb3ec8645cp3, 0x1.7ab59a963d4c9p0, 0x1.8057c45b4ee7ap-3, 0x1.66798f5cd58ecp-6,
      0x1.35a7fd2198b3bp-9, 0x1.f2aa549fb8cf8p-13, 0x1.782d6c751f44ap-16, 0x1.0b54ce1cd4799p-19,
      0x1.7144a294b03cap-23, 0x1.d65032d68e567p-27 },
};

/* log Gamma(1 + u) / u, u in [-0.5, 0.5]; 29 terms, rest 2^-57 */
MC_INLINE double mck_fit_lgamma1_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p1, 0x0p0);
    const double s = t * t;
    double e = -0x1.ee466367fb73ep-31, o = 0x1.ddb4610a0baafp-30;
    e = MC_MULADD(e, s, 0x1.92b274297c43ap-29);
    o = MC_MULADD(o, s, -0x1.6625498b426a3p-28);
    e = MC_MULADD(e, s, -0x1.6752dadb8f333p-27);
    o = MC_MULADD(o, s, 0x1.4740ce20adec5p-26);
    e = MC_MULADD(e, s, 0x1.70c8b7f42461p-30);
    o = MC_MULADD(o, s, 0x1.3549658995d5fp-29);
    e = MC_MULADD(e, s, -0x1.e8d574a975373p-25);
    o = MC_MULADD(o, s, 0x1.e70b6e7331538p-24);
    e = MC_MULADD(e, s, -0x1.9e229fa034ecdp-23);
    o = MC_MULADD(o, s, 0x1.ba9680e996288p-22);
    e = MC_MULADD(e, s, -0x1.e3fa6122ebcacp-21);
    o = MC_MULADD(o, s, 0x1.00b7ec3e43901p-19);
    e = MC_MULADD(e, s, -0x1.10fbc2f27a9d3p-18);
    o = MC_MULADD(o, s, 0x1.2488342bad0e7p-17);
    e = MC_MULADD(e, s, -0x1.3b1f084c0fd15p-16);
    o = MC_MULADD(o, s, 0x1.556ba5f9e0c9bp-15);
    e = MC_MULADD(e, s, -0x1.748c238fa0287p-14);
    o = MC_MULADD(o, s, 0x1.9a01dbdef5718p-13);
    e = MC_MULADD(e, s, -0x1.c80670d9d3632p-12);
    o = MC_MULADD(o, s, 0x1.010b36c61df98p-10);
    e = MC_MULADD(e, s, -0x1.2703a1dc0645fp-9);
    o = MC_MULADD(o, s, 0x1.5b40cb0fc0d0cp-8);
    e = MC_MULADD(e, s, -0x1.a8b9c17aa8095p-7);
    o = MC_MULADD(o, s, 0x1.151322ac7dbf2p-5);
    e = MC_MULADD(e, s, -0x1.9a4d55beab2c9p-4);
    o = MC_MULADD(o, s, 0x1.a51a6625307d2p-2);
    e = MC_MULADD(e, s, -0x1.2788cfc6fb619p-1);
    return MC_MULADD(o, t, e);
}

/* (1 / Gamma(1 + u) - 1) / u, u in [-0.5, 0.5]; 16 terms, rest 2^-59 */
MC_INLINE double mck_fit_rgamma1_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p1, 0x0p0);
    const double s = t * t;
    double e = 0x1.537297492010dp-42, o = 0x1.5f2f08e8f094bp-43;
    o = MC_MULADD(o, s, -0x1.b9b2454533d06p-36);
    e = MC_MULADD(e, s, 0x1.3045d662c7b1dp-32);
    o = MC_MULADD(o, s, -0x1.4fac828ae268fp-31);
    e = MC_MULADD(e, s, -0x1.51cef9e3bc3d5p-26);
    o = MC_MULADD(o, s, 0x1.0c8a789b1e709p-22);
    e = MC_MULADD(e, s, -0x1.c364fccf40fcep-21);
    o = MC_MULADD(o, s, -0x1.317112cdc1248p-17);
    e = MC_MULADD(e, s, 0x1.d919c52722686p-14);
    o = MC_MULADD(o, s, -0x1.3b4af284847bfp-12);
    e = MC_MULADD(e, s, -0x1.59af103c33359p-9);
    o = MC_MULADD(o, s, 0x1.5512320b43fc1p-6);
    e = MC_MULADD(e, s, -0x1.5815e8fa2707p-7);
    o = MC_MULADD(o, s, -0x1.4fcf4026afa2ep-2);
    e = MC_MULADD(e, s, 0x1.2788cfc6fb619p-1);
    return MC_MULADD(o, t, e);
}

/* digamma(u) / (u - root), u in [1.0, 2.0]; 23 terms, rest 2^-58 */
MC_INLINE double mck_fit_digamma_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p1, -0x1.8p1);
    const double s = t * t;
    double e = 0x1.00b98a8f0aa02p-35, o = -0x1.761380b8f00cep-34;
    e = MC_MULADD(e, s, 0x1.80260c257a455p-34);
    o = MC_MULADD(o, s, -0x1.2f41994664278p-32);
    e = MC_MULADD(e, s, 0x1.56c5b73aaffa5p-30);
    o = MC_MULADD(o, s, -0x1.fdacdb7508852p-29);
    e = MC_MULADD(e, s, 0x1.69ba8fdd1d52cp-27);
    o = MC_MULADD(o, s, -0x1.0fb126d4c2892p-25);
    e = MC_MULADD(e, s, 0x1.99e1aca26565cp-24);
    o = MC_MULADD(o, s, -0x1.336df991b5f25p-22);
    e = MC_MULADD(e, s, 0x1.cd1f26d55994ep-21);
    o = MC_MULADD(o, s, -0x1.5a06a23d62223p-19);
    e = MC_MULADD(e, s, 0x1.03c0b2b60f6f7p-17);
    o = MC_MULADD(o, s, -0x1.8635641765f08p-16);
    e = MC_MULADD(e, s, 0x1.25647156391a7p-14);
    o = MC_MULADD(o, s, -0x1.b9f8b11b2f98ep-13);
    e = MC_MULADD(e, s, 0x1.4de9aa1802de8p-11);
    o = MC_MULADD(o, s, -0x1.fb44202a259cep-10);
    e = MC_MULADD(e, s, 0x1.8512e59037ebbp-8);
    o = MC_MULADD(o, s, -0x1.2feeeb98a78cbp-6);
    e = MC_MULADD(e, s, 0x1.eca189b8e6f7bp-5);
    o = MC_MULADD(o, s, -0x1.b1cb63005ee98p-3);
    e = MC_MULADD(e, s, 0x1.e6f0cbb873616p-1);
    return MC_MULADD(o, t, e);
}

#define MCK_PSI_ROOT_F64 0x1.762d86356be3fp0
#define MCK_PSI_ROOT_LO_F64 0x1.b86a722197829p-54

/* zeta(u) - 1 / (u - 1), u in [0.0, 2.0]; 13 terms, rest 2^-59 */
MC_INLINE double mck_fit_zeta_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p0, -0x1p0);
    const double s = t * t;
    double e = 0x1.7fa403b1de7fp-42, o = -0x1.db320c7f3f9f6p-38;
    e = MC_MULADD(e, s, 0x1.f1d2a20fb1acdp-35);
    o = MC_MULADD(o, s, 0x1.a0c51475c91d6p-34);
    e = MC_MULADD(e, s, -0x1.2c1244d8c4764p-27);
    o = MC_MULADD(o, s, 0x1.c157f5c56f2b8p-24);
    e = MC_MULADD(e, s, -0x1.6414229e0def1p-22);
    o = MC_MULADD(o, s, -0x1.bba8a9680d22ap-18);
    e = MC_MULADD(e, s, 0x1.96634baf9a72fp-14);
    o = MC_MULADD(o, s, -0x1.66eeff1c646afp-12);
    e = MC_MULADD(e, s, -0x1.3d88a87ff7c24p-8);
    o = MC_MULADD(o, s, 0x1.2a40f2afba4a1p-4);
    e = MC_MULADD(e, s, 0x1.2788cfc6fb619p-1);
    return MC_MULADD(o, t, e);
}

/* (zeta(u) - 1) 2^u, u in [2.0, 5.0]; 37 terms, rest 2^-58 */
MC_INLINE double mck_fit_zeta_0_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.5555555555555p-1, -0x1.2aaaaaaaaaaabp1);
    const double s = t * t;
    double e = 0x1.eb9a5fa5fe812p-22, o = -0x1.70b3c7bc7ee0dp-21;
    e = MC_MULADD(e, s, -0x1.9eca40b40ebcfp-19);
    o = MC_MULADD(o, s, 0x1.2b9212492716bp-18);
    e = MC_MULADD(e, s, 0x1.624cc1ef21ec1p-17);
    o = MC_MULADD(o, s, -0x1.ef7194654a7e2p-17);
    e = MC_MULADD(e, s, -0x1.70b3c7bc7ee0dp-16);
    o = MC_MULADD(o, s, 0x1.ef7194654a7e2p-16);
    e = MC_MULADD(e, s, 0x1.13724ef791c97p-15);
    o = MC_MULADD(o, s, -0x1.65ec4631981b4p-15);
    e = MC_MULADD(e, s, -0x1.14c3534c24157p-15);
    o = MC_MULADD(o, s, 0x1.51eda656b141dp-15);
    e = MC_MULADD(e, s, 0x1.04c9c13634d42p-15);
    o = MC_MULADD(o, s, -0x1.434b93be571cbp-15);
    e = MC_MULADD(e, s, -0x1.8dface54c2a4p-18);
    o = MC_MULADD(o, s, 0x1.cdc72a0874685p-21);
    e = MC_MULADD(e, s, 0x1.34e621359c9e1p-15);
    o = MC_MULADD(o, s, -0x1.dbccdba09b8efp-15);
    e = MC_MULADD(e, s, 0x1.49a414604a982p-14);
    o = MC_MULADD(o, s, -0x1.1683fc88d6f4fp-13);
    e = MC_MULADD(e, s, 0x1.dac756d23067bp-13);
    o = MC_MULADD(o, s, -0x1.8b1671ec3f16ap-12);
    e = MC_MULADD(e, s, 0x1.489c49057bc26p-11);
    o = MC_MULADD(o, s, -0x1.11df685a6e296p-10);
    e = MC_MULADD(e, s, 0x1.c88270e807c11p-10);
    o = MC_MULADD(o, s, -0x1.7c6c14f4d6904p-9);
    e = MC_MULADD(e, s, 0x1.3d044b6c67e07p-8);
    o = MC_MULADD(o, s, -0x1.082e4348e5799p-7);
    e = MC_MULADD(e, s, 0x1.b84d1c59e958ep-7);
    o = MC_MULADD(o, s, -0x1.6eead3cc75b01p-6);
    e = MC_MULADD(e, s, 0x1.31c38b65e2827p-5);
    o = MC_MULADD(o, s, -0x1.fd9feb2d43ebep-5);
    e = MC_MULADD(e, s, 0x1.a8d136907eac2p-4);
    o = MC_MULADD(o, s, -0x1.621e141cd02adp-3);
    e = MC_MULADD(e, s, 0x1.23aef8bb899abp-2);
    o = MC_MULADD(o, s, -0x1.b734fee54ee18p-2);
    e = MC_MULADD(e, s, 0x1.6f0f7c267e278p0);
    return MC_MULADD(o, t, e);
}

/* (zeta(u) - 1) 2^u, u in [5.0, 14.0]; 31 terms, rest 2^-57 */
MC_INLINE double mck_fit_zeta_1_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.c71c71c71c71cp-3, -0x1.0e38e38e38e39p1);
    const double s = t * t;
    double e = 0x1.067f1c3b6348bp-26, o = -0x1.ca3c03368a8b2p-26;
    e = MC_MULADD(e, s, -0x1.2432d36787d3cp-24);
    o = MC_MULADD(o, s, 0x1.e171e6b0613dp-24);
    e = MC_MULADD(e, s, 0x1.b3544c848e866p-23);
    o = MC_MULADD(o, s, -0x1.5fac0ca6c8aa8p-22);
    e = MC_MULADD(e, s, -0x1.097dbdcb6df2bp-22);
    o = MC_MULADD(o, s, 0x1.7e2bf42b54344p-22);
    e = MC_MULADD(e, s, 0x1.1cba2843eaae1p-21);
    o = MC_MULADD(o, s, -0x1.caa8c8f8b4a24p-21);
    e = MC_MULADD(e, s, 0x1.dc253bd171e8ap-22);
    o = MC_MULADD(o, s, -0x1.056af2e31fe89p-20);
    e = MC_MULADD(e, s, 0x1.64d81d9291779p-19);
    o = MC_MULADD(o, s, -0x1.4afcdd78aa2f4p-18);
    e = MC_MULADD(e, s, 0x1.2a9c42499c389p-17);
    o = MC_MULADD(o, s, -0x1.1abcd676b639ap-16);
    e = MC_MULADD(e, s, 0x1.0c52d46a7f5c7p-15);
    o = MC_MULADD(o, s, -0x1.fab74725994d2p-15);
    e = MC_MULADD(e, s, 0x1.de6531b17845ep-14);
    o = MC_MULADD(o, s, -0x1.c3cc901d52325p-13);
    e = MC_MULADD(e, s, 0x1.aa9bdba19db0dp-12);
    o = MC_MULADD(o, s, -0x1.92bf3e85fb0bap-11);
    e = MC_MULADD(e, s, 0x1.7c70037eb0e7ap-10);
    o = MC_MULADD(o, s, -0x1.68650a9e6cc27p-9);
    e = MC_MULADD(e, s, 0x1.574143ac40a2bp-8);
    o = MC_MULADD(o, s, -0x1.47027246f07aap-7);
    e = MC_MULADD(e, s, 0x1.2f16d470822e4p-6);
    o = MC_MULADD(o, s, -0x1.00df489f55b0ep-5);
    e = MC_MULADD(e, s, 0x1.6888f3e2c6888p-5);
    o = MC_MULADD(o, s, -0x1.6801f17fa843fp-5);
    e = MC_MULADD(e, s, 0x1.05d7d994ec5bdp0);
    return MC_MULADD(o, t, e);
}

/* (zeta(u) - 1) 2^u, u in [14.0, 64.0]; 39 terms, rest 2^-58 */
MC_INLINE double mck_fit_zeta_2_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.47ae147ae147bp-5, -0x1.8f5c28f5c28f6p0);
    const double s = t * t;
    double e = 0x1.58ce2534b7e54p-20, o = -0x1.cb6693af621f1p-20;
    e = MC_MULADD(e, s, -0x1.4cf29fa0ca52fp-17);
    o = MC_MULADD(o, s, 0x1.ad405dc26f15p-17);
    e = MC_MULADD(e, s, 0x1.35a5d04d63544p-15);
    o = MC_MULADD(o, s, -0x1.82a2c26c4bbacp-15);
    e = MC_MULADD(e, s, -0x1.654c35cfcd0e1p-14);
    o = MC_MULADD(o, s, 0x1.aed97bb5ba206p-14);
    e = MC_MULADD(e, s, 0x1.1e7d70ede4ea1p-13);
    o = MC_MULADD(o, s, -0x1.4d20eb3d2dce3p-13);
    e = MC_MULADD(e, s, -0x1.4d4b3f15c3b89p-13);
    o = MC_MULADD(o, s, 0x1.73b9ecc520fd8p-13);
    e = MC_MULADD(e, s, 0x1.27c7a0ad97ea4p-13);
    o = MC_MULADD(o, s, -0x1.3cb5e1cb8caffp-13);
    e = MC_MULADD(e, s, -0x1.825fddb656e59p-14);
    o = MC_MULADD(o, s, 0x1.84af35b567cd5p-14);
    e = MC_MULADD(e, s, 0x1.c218467a2645bp-15);
    o = MC_MULADD(o, s, -0x1.c91c2766fed23p-15);
    e = MC_MULADD(e, s, -0x1.000363234d00dp-17);
    o = MC_MULADD(o, s, -0x1.0f05b7c684a7p-19);
    e = MC_MULADD(e, s, 0x1.462720ebc5af8p-15);
    o = MC_MULADD(o, s, -0x1.efc6b5012ceafp-15);
    e = MC_MULADD(e, s, 0x1.64671a6580463p-14);
    o = MC_MULADD(o, s, -0x1.139cc72e2cc2dp-13);
    e = MC_MULADD(e, s, 0x1.94d93b536f4f4p-13);
    o = MC_MULADD(o, s, -0x1.149b19a97606p-12);
    e = MC_MULADD(e, s, 0x1.6061f36d028fp-12);
    o = MC_MULADD(o, s, -0x1.9fbc0e7354b2cp-12);
    e = MC_MULADD(e, s, 0x1.c24149d6350a2p-12);
    o = MC_MULADD(o, s, -0x1.bba854b369f4p-12);
    e = MC_MULADD(e, s, 0x1.89a275bda7644p-12);
    o = MC_MULADD(o, s, -0x1.36897782d4a97p-12);
    e = MC_MULADD(e, s, 0x1.acca440aed201p-13);
    o = MC_MULADD(o, s, -0x1.fb8aca5344a2bp-14);
    e = MC_MULADD(e, s, 0x1.f4a9140f5b932p-15);
    o = MC_MULADD(o, s, -0x1.8b1c6b3e4b0cap-16);
    e = MC_MULADD(e, s, 0x1.d3bac371df97ep-18);
    o = MC_MULADD(o, s, -0x1.712257d8006ecp-20);
    e = MC_MULADD(e, s, 0x1.00000246a5ffbp0);
    return MC_MULADD(o, t, e);
}

/* E1(u) + log u, u in [0.0, 1.0]; 13 terms, rest 2^-62 */
MC_INLINE double mck_fit_e1_near_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p1, -0x1p0);
    const double s = t * t;
    double e = -0x1.e492889011261p-46, o = 0x1.8de4d53ca1592p-41;
    e = MC_MULADD(e, s, -0x1.2cc402e3eb991p-36);
    o = MC_MULADD(o, s, 0x1.a3b3dc6feca0ep-32);
    e = MC_MULADD(e, s, -0x1.0b2239a48513ap-27);
    o = MC_MULADD(o, s, 0x1.33836e914d1e4p-23);
    e = MC_MULADD(e, s, -0x1.3cdd41b9233acp-19);
    o = MC_MULADD(o, s, 0x1.20c319a53da5ap-15);
    e = MC_MULADD(e, s, -0x1.cb2d6660774dfp-12);
    o = MC_MULADD(o, s, 0x1.3a4dba1c75dadp-8);
    e = MC_MULADD(e, s, -0x1.7179c2ac4f788p-5);
    o = MC_MULADD(o, s, 0x1.92e9a0720d3ecp-2);
    e = MC_MULADD(e, s, -0x1.11262ba8bb9b6p-3);
    return MC_MULADD(o, t, e);
}

/* x exp(x) E1(x), u = 1 / x, u in [0.5, 1.0]; 18 terms, rest 2^-58 */
MC_INLINE double mck_fit_e1_0_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p2, -0x1.8p1);
    const double s = t * t;
    double e = 0x1.7436b626a1cep-38, o = -0x1.7a1a9d7909fd6p-40;
    o = MC_MULADD(o, s, -0x1.0d82f12a999acp-36);
    e = MC_MULADD(e, s, 0x1.168956245b0aap-34);
    o = MC_MULADD(o, s, -0x1.2de7ca16589f6p-32);
    e = MC_MULADD(e, s, 0x1.3cf531bcc0ce7p-30);
    o = MC_MULADD(o, s, -0x1.50fb3f55447fcp-28);
    e = MC_MULADD(e, s, 0x1.6d15c82a72659p-26);
    o = MC_MULADD(o, s, -0x1.9308ccdc2dec8p-24);
    e = MC_MULADD(e, s, 0x1.c6b8f611ce751p-22);
    o = MC_MULADD(o, s, -0x1.07411b7eb864fp-19);
    e = MC_MULADD(e, s, 0x1.3a88d32c5d8b9p-17);
    o = MC_MULADD(o, s, -0x1.86c7c07408ff8p-15);
    e = MC_MULADD(e, s, 0x1.fea1fbb94ef8ap-13);
    o = MC_MULADD(o, s, -0x1.654ab232ac374p-10);
    e = MC_MULADD(e, s, 0x1.146f6fc21cfa8p-7);
    o = MC_MULADD(o, s, -0x1.f9cd263fa4216p-5);
    e = MC_MULADD(e, s, 0x1.4d3757a51d306p-1);
    return MC_MULADD(o, t, e);
}

/* x exp(x) E1(x), u = 1 / x, u in [0.25, 0.5]; 17 terms, rest 2^-60 */
MC_INLINE double mck_fit_e1_1_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p3, -0x1.8p1);
    const double s = t * t;
    double e = 0x1.63e5670310a4bp-42, o = -0x1.8f055a0ead2c3p-40;
    e = MC_MULADD(e, s, 0x1.6cd9a150ef205p-38);
    o = MC_MULADD(o, s, -0x1.aede828a23975p-36);
    e = MC_MULADD(e, s, 0x1.073b15dc59dc3p-33);
    o = MC_MULADD(o, s, -0x1.40ff49b8a6b11p-31);
    e = MC_MULADD(e, s, 0x1.8feee43d57654p-29);
    o = MC_MULADD(o, s, -0x1.ff6f34c6319b4p-27);
    e = MC_MULADD(e, s, 0x1.50bcad5e13bbap-24);
    o = MC_MULADD(o, s, -0x1.cb08f415103dp-22);
    e = MC_MULADD(e, s, 0x1.4634f5ce068a8p-19);
    o = MC_MULADD(o, s, -0x1.e833731955726p-17);
    e = MC_MULADD(e, s, 0x1.864fa96dcc1b2p-14);
    o = MC_MULADD(o, s, -0x1.55161613669dep-11);
    e = MC_MULADD(e, s, 0x1.52f66ae82fcaap-8);
    o = MC_MULADD(o, s, -0x1.9f4f9105ad7a1p-5);
    e = MC_MULADD(e, s, 0x1.8999e30d61993p-1);
    return MC_MULADD(o, t, e);
}

/* x exp(x) E1(x), u = 1 / x, u in [0.1, 0.25]; 16 terms, rest 2^-57 */
MC_INLINE double mck_fit_e1_2_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.aaaaaaaaaaaabp3, -0x1.2aaaaaaaaaaabp1);
    const double s = t * t;
    double e = 0x1.44568f10d414ep-38, o = -0x1.3141d8067c41dp-40;
    o = MC_MULADD(o, s, -0x1.18d2242eeeef3p-36);
    e = MC_MULADD(e, s, 0x1.416fcde85d719p-34);
    o = MC_MULADD(o, s, -0x1.80520a5e8b905p-32);
    e = MC_MULADD(e, s, 0x1.cf0454bbad62dp-30);
    o = MC_MULADD(o, s, -0x1.20a0b7ee5612bp-27);
    e = MC_MULADD(e, s, 0x1.76e2ce550ce4dp-25);
    o = MC_MULADD(o, s, -0x1.fe6bc2455b29fp-23);
    e = MC_MULADD(e, s, 0x1.6fa56f2233645p-20);
    o = MC_MULADD(o, s, -0x1.1bcc3df019094p-17);
    e = MC_MULADD(e, s, 0x1.de583b40992b1p-15);
    o = MC_MULADD(o, s, -0x1.c4de1df68f2c9p-12);
    e = MC_MULADD(e, s, 0x1.f989bd216575bp-9);
    o = MC_MULADD(o, s, -0x1.6e0ec52e0694bp-5);
    e = MC_MULADD(e, s, 0x1.bbb205df12127p-1);
    return MC_MULADD(o, t, e);
}

/* x exp(x) E1(x), u = 1 / x, u in [0.0, 0.1]; 19 terms, rest 2^-59 */
MC_INLINE double mck_fit_e1_3_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.4p4, -0x1p0);
    const double s = t * t;
    double e = 0x1.789416aeed7d3p-40, o = -0x1.e437887feeab9p-39;
    e = MC_MULADD(e, s, 0x1.b4e886b0f078cp-39);
    o = MC_MULADD(o, s, -0x1.6dc8a4272c46bp-37);
    e = MC_MULADD(e, s, 0x1.93c490c7d1fcfp-35);
    o = MC_MULADD(o, s, -0x1.3846fd1f5e0ap-33);
    e = MC_MULADD(e, s, 0x1.ec742d667ff2fp-32);
    o = MC_MULADD(o, s, -0x1.a5a4935a33dc2p-30);
    e = MC_MULADD(e, s, 0x1.7b4244d08e715p-28);
    o = MC_MULADD(o, s, -0x1.67a927516bffep-26);
    e = MC_MULADD(e, s, 0x1.6b4627027f649p-24);
    o = MC_MULADD(o, s, -0x1.8abfcc80f54cep-22);
    e = MC_MULADD(e, s, 0x1.d37d1cd5ce5fap-20);
    o = MC_MULADD(o, s, -0x1.3301af4882becp-17);
    e = MC_MULADD(e, s, 0x1.ca5451b294b74p-15);
    o = MC_MULADD(o, s, -0x1.935e593223d65p-12);
    e = MC_MULADD(e, s, 0x1.bc3db7fa0e75cp-9);
    o = MC_MULADD(o, s, -0x1.56561cafc4ba2p-5);
    e = MC_MULADD(e, s, 0x1.e8a34dccb6ae4p-1);
    return MC_MULADD(o, t, e);
}

/* (Ei(u) - gamma - log u) / u, u in [0.0, 6.0]; 21 terms, rest 2^-57 */
MC_INLINE double mck_fit_ei_near_f64(double u)
{
    const double t = u;
    const double s = t * t;
    double e = 0x1.2d04314ba49e9p-66, o = -0x1.667cfda5536fap-61;
    e = MC_MULADD(e, s, 0x1.010db551827a1p-56);
    o = MC_MULADD(o, s, -0x1.9b63ba3e5aa99p-53);
    e = MC_MULADD(e, s, 0x1.1ffcbe0d923bcp-49);
    o = MC_MULADD(o, s, -0x1.74ab6acca0f36p-47);
    e = MC_MULADD(e, s, 0x1.197b68c0b806ap-43);
    o = MC_MULADD(o, s, 0x1.19b1d3bfd2dfdp-41);
    e = MC_MULADD(e, s, 0x1.d87a3c1decd9bp-37);
    o = MC_MULADD(o, s, 0x1.785032a656d24p-33);
    e = MC_MULADD(e, s, 0x1.39d27a7255dd7p-29);
    o = MC_MULADD(o, s, 0x1.d944ac7c517bp-26);
    e = MC_MULADD(e, s, 0x1.48c8c0da81428p-22);
    o = MC_MULADD(o, s, 0x1.a019a1e9c9d1bp-19);
    e = MC_MULADD(e, s, 0x1.db8b77b93f4d9p-16);
    o = MC_MULADD(o, s, 0x1.e573ac12c5179p-13);
    e = MC_MULADD(e, s, 0x1.b4e81b5386c64p-10);
    o = MC_MULADD(o, s, 0x1.5555555535dbap-7);
    e = MC_MULADD(e, s, 0x1.c71c71c71d42bp-5);
    o = MC_MULADD(o, s, 0x1.fffffffffffdep-3);
    e = MC_MULADD(e, s, 0x1p0);
    return MC_MULADD(o, t, e);
}

/* x exp(-x) Ei(x), u = 1 / x, u in [0.0833333, 0.166667]; 20 terms, rest 2^-57 */
MC_INLINE double mck_fit_ei_0_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.8p4, -0x1.8p1);
    const double s = t * t;
    double e = -0x1.ebdad3348960dp-33, o = 0x1.e1cefd0b22678p-35;
    o = MC_MULADD(o, s, 0x1.32d420eb6a5c1p-32);
    e = MC_MULADD(e, s, 0x1.3e0f9a1646a5dp-31);
    o = MC_MULADD(o, s, -0x1.4731fe426bc83p-28);
    e = MC_MULADD(e, s, 0x1.210e813a194ap-26);
    o = MC_MULADD(o, s, -0x1.0683eaf4fd924p-25);
    e = MC_MULADD(e, s, -0x1.fd4b875c98ea9p-26);
    o = MC_MULADD(o, s, 0x1.c7d56a1a55c02p-22);
    e = MC_MULADD(e, s, -0x1.83f428fe720b7p-20);
    o = MC_MULADD(o, s, 0x1.80c258fe13206p-20);
    e = MC_MULADD(e, s, 0x1.34968f648347p-17);
    o = MC_MULADD(o, s, -0x1.7e1c5b870b3ep-15);
    e = MC_MULADD(e, s, 0x1.60d2068525866p-15);
    o = MC_MULADD(o, s, 0x1.8743951fde2c3p-12);
    e = MC_MULADD(e, s, -0x1.27254bd859a1cp-10);
    o = MC_MULADD(o, s, -0x1.b7890d409e384p-9);
    e = MC_MULADD(e, s, 0x1.4cd5ae74c121fp-7);
    o = MC_MULADD(o, s, 0x1.74a603b8ee2c8p-4);
    e = MC_MULADD(e, s, 0x1.2e8d96f4f4181p0);
    return MC_MULADD(o, t, e);
}

/* x exp(-x) Ei(x), u = 1 / x, u in [0.0416667, 0.0833333]; 19 terms, rest 2^-58 */
MC_INLINE double mck_fit_ei_1_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.8p5, -0x1.8p1);
    const double s = t * t;
    double e = 0x1.69d022a8ae3e7p-38, o = -0x1.b937b6d6a696dp-38;
    e = MC_MULADD(e, s, -0x1.c2061de7125dfp-35);
    o = MC_MULADD(o, s, 0x1.6f59f08587351p-33);
    e = MC_MULADD(e, s, 0x1.246af7222e12ep-35);
    o = MC_MULADD(o, s, -0x1.b542699c0ae32p-30);
    e = MC_MULADD(e, s, 0x1.f8d00c1e34552p-29);
    o = MC_MULADD(o, s, 0x1.e95ab3a70a356p-28);
    e = MC_MULADD(e, s, -0x1.aa58174f779b8p-25);
    o = MC_MULADD(o, s, 0x1.152758f84add1p-28);
    e = MC_MULADD(e, s, 0x1.084bc51ee544dp-21);
    o = MC_MULADD(o, s, -0x1.e43529fe77841p-23);
    e = MC_MULADD(e, s, -0x1.5a4b425c249d2p-18);
    o = MC_MULADD(o, s, -0x1.688f4f488e8b8p-18);
    e = MC_MULADD(e, s, 0x1.4c49757fa8778p-15);
    o = MC_MULADD(o, s, 0x1.197165f91f279p-12);
    e = MC_MULADD(e, s, 0x1.fca3996086626p-10);
    o = MC_MULADD(o, s, 0x1.d12acaa903032p-6);
    e = MC_MULADD(e, s, 0x1.1285334ccb79ep0);
    return MC_MULADD(o, t, e);
}

/* x exp(-x) Ei(x), u = 1 / x, u in [0.0208333, 0.0416667]; 14 terms, rest 2^-57 */
MC_INLINE double mck_fit_ei_2_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.8p6, -0x1.8p1);
    const double s = t * t;
    double e = 0x1.8e12e0a0bf514p-41, o = 0x1.b141d05278d12p-41;
    o = MC_MULADD(o, s, -0x1.4869e7d34e26ap-37);
    e = MC_MULADD(e, s, -0x1.00faf9a5bb01ep-35);
    o = MC_MULADD(o, s, 0x1.073d1171dc258p-40);
    e = MC_MULADD(e, s, 0x1.44b441f6a3ba6p-32);
    o = MC_MULADD(o, s, 0x1.c4e2684cc53bp-30);
    e = MC_MULADD(e, s, 0x1.3419b26c9ecd3p-27);
    o = MC_MULADD(o, s, 0x1.23936bf40443bp-24);
    e = MC_MULADD(e, s, 0x1.973d6bfb6777ep-21);
    o = MC_MULADD(o, s, 0x1.9d6dc26e6b4f1p-17);
    e = MC_MULADD(e, s, 0x1.39724f5f197afp-12);
    o = MC_MULADD(o, s, 0x1.87415a042f5b8p-7);
    e = MC_MULADD(e, s, 0x1.088dca958d327p0);
    return MC_MULADD(o, t, e);
}

/* x exp(-x) Ei(x), u = 1 / x, u in [0.0, 0.0208333]; 12 terms, rest 2^-58 */
MC_INLINE double mck_fit_ei_3_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.8p6, -0x1p0);
    const double s = t * t;
    double e = 0x1.1e6d72d70cac3p-42, o = 0x1.6fe2cb622cc35p-45;
    o = MC_MULADD(o, s, 0x1.e02654e55d559p-40);
    e = MC_MULADD(e, s, 0x1.f9517cde5bf49p-37);
    o = MC_MULADD(o, s, 0x1.342c7e6f350fcp-33);
    e = MC_MULADD(e, s, 0x1.b9394ddbcd2b9p-30);
    o = MC_MULADD(o, s, 0x1.7aa9b6696fc18p-26);
    e = MC_MULADD(e, s, 0x1.9042dc021d957p-22);
    o = MC_MULADD(o, s, 0x1.0f20c79b91049p-17);
    e = MC_MULADD(e, s, 0x1.f5ac9add7fc97p-13);
    o = MC_MULADD(o, s, 0x1.644309ce9ce0dp-7);
    e = MC_MULADD(e, s, 0x1.02b95a567023ap0);
    return MC_MULADD(o, t, e);
}

/* Si(x) / x, u = x^2, u in [0.0, 16.0]; 12 terms, rest 2^-63 */
MC_INLINE double mck_fit_si_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p-3, -0x1p0);
    const double s = t * t;
    double e = 0x1.e07ad009b004fp-41, o = -0x1.c11baafa285b3p-47;
    o = MC_MULADD(o, s, -0x1.ad6dd992e00dcp-35);
    e = MC_MULADD(e, s, 0x1.3b61d77be5c02p-29);
    o = MC_MULADD(o, s, -0x1.74584995dabc3p-24);
    e = MC_MULADD(e, s, 0x1.57fcad05cffe5p-19);
    o = MC_MULADD(o, s, -0x1.e0a04a92f4e06p-15);
    e = MC_MULADD(e, s, 0x1.e583838411af9p-11);
    o = MC_MULADD(o, s, -0x1.4d9bbee8c8688p-7);
    e = MC_MULADD(e, s, 0x1.1e887724d658ep-4);
    o = MC_MULADD(o, s, -0x1.14774a496bda5p-2);
    e = MC_MULADD(e, s, 0x1.4c3ba09d01a0dp-1);
    return MC_MULADD(o, t, e);
}

/* Ci(u), u in [2.0, 4.0]; 22 terms, rest 2^-58 */
MC_INLINE double mck_fit_ci_mid_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p0, -0x1.8p1);
    const double s = t * t;
    double e = -0x1.c2ac7e55d676bp-36, o = 0x1.2690b9b430138p-37;
    o = MC_MULADD(o, s, 0x1.309ffcd77e54fp-35);
    e = MC_MULADD(e, s, -0x1.f3d3ccaa9fd18p-34);
    o = MC_MULADD(o, s, 0x1.03399fe87bd79p-31);
    e = MC_MULADD(e, s, -0x1.9aa9bcf77caf1p-30);
    o = MC_MULADD(o, s, 0x1.3e42ebe66b22ap-28);
    e = MC_MULADD(e, s, -0x1.ffdb632288847p-27);
    o = MC_MULADD(o, s, 0x1.9e7ced8034e88p-25);
    e = MC_MULADD(e, s, -0x1.511f46e5a706ep-23);
    o = MC_MULADD(o, s, 0x1.13f692f832f1ep-21);
    e = MC_MULADD(e, s, -0x1.c00460cc16931p-20);
    o = MC_MULADD(o, s, 0x1.72730d413cf43p-18);
    e = MC_MULADD(e, s, -0x1.6c0f113f8f608p-16);
    o = MC_MULADD(o, s, 0x1.48d3e0750be4ap-14);
    e = MC_MULADD(e, s, -0x1.7b6b32dd9e111p-15);
    o = MC_MULADD(o, s, -0x1.2f8beedb8e13p-14);
    e = MC_MULADD(e, s, -0x1.490643c621927p-7);
    o = MC_MULADD(o, s, 0x1.893feff6e2ce1p-5);
    e = MC_MULADD(e, s, 0x1.01e177ca7cc71p-5);
    o = MC_MULADD(o, s, -0x1.51eadd45943e1p-2);
    e = MC_MULADD(e, s, 0x1.ea00ec28826a7p-4);
    return MC_MULADD(o, t, e);
}

/* (Ci(x) - gamma - log x) / x^2, u = x^2, u in [0.0, 4.0]; 9 terms, rest 2^-63 */
MC_INLINE double mck_fit_ci_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p-1, -0x1p0);
    const double s = t * t;
    double e = -0x1.32c4dbb61135dp-49, o = 0x1.9aef5f76803f5p-42;
    e = MC_MULADD(e, s, -0x1.b63e51fba8bf7p-35);
    o = MC_MULADD(o, s, 0x1.697e3513d7bb4p-28);
    e = MC_MULADD(e, s, -0x1.bc5f8857a1087p-22);
    o = MC_MULADD(o, s, 0x1.836dc4705ab14p-16);
    e = MC_MULADD(e, s, -0x1.bfccf116b2587p-11);
    o = MC_MULADD(o, s, 0x1.382ee5e1b7bcdp-6);
    e = MC_MULADD(e, s, -0x1.d72e02a22534cp-3);
    return MC_MULADD(o, t, e);
}

/* Shi(x) / x, u = x^2, u in [0.0, 9.0]; 10 terms, rest 2^-58 */
MC_INLINE double mck_fit_shi_f64(double u)
{
    const double t = u;
    const double s = t * t;
    double e = 0x1.7b5ee3b9dabc9p-53, o = 0x1.195afb567f9cap-61;
    o = MC_MULADD(o, s, 0x1.cb476809d54d8p-45);
    e = MC_MULADD(e, s, 0x1.b2a266bf019e9p-37);
    o = MC_MULADD(o, s, 0x1.390329baf7e87p-29);
    e = MC_MULADD(e, s, 0x1.48c589255c33ep-22);
    o = MC_MULADD(o, s, 0x1.db8b6f929f0c6p-16);
    e = MC_MULADD(e, s, 0x1.b4e81b4e8116bp-10);
    o = MC_MULADD(o, s, 0x1.c71c71c71c732p-5);
    e = MC_MULADD(e, s, 0x1p0);
    return MC_MULADD(o, t, e);
}

/* (Chi(x) - gamma - log x) / x^2, u = x^2, u in [0.0, 9.0]; 10 terms, rest 2^-60 */
MC_INLINE double mck_fit_chi_f64(double u)
{
    const double t = u;
    const double s = t * t;
    double e = 0x1.3ec6e600dec7bp-57, o = 0x1.a81c0222016dp-66;
    o = MC_MULADD(o, s, 0x1.ae8dbff78d8f8p-49);
    e = MC_MULADD(e, s, 0x1.cd3ed369aea26p-41);
    o = MC_MULADD(o, s, 0x1.7e92157193b7p-33);
    e = MC_MULADD(e, s, 0x1.d96e5f1ead233p-26);
    o = MC_MULADD(o, s, 0x1.a01a01a02d61bp-19);
    e = MC_MULADD(e, s, 0x1.e573ac901e20bp-13);
    o = MC_MULADD(o, s, 0x1.5555555555559p-7);
    e = MC_MULADD(e, s, 0x1p-2);
    return MC_MULADD(o, t, e);
}

/* x f(x) of Si and Ci, u = 1 / x^2, u in [0.015625, 0.0625]; 22 terms, rest 2^-57 */
MC_INLINE double mck_fit_sici_f0_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.5555555555555p5, -0x1.aaaaaaaaaaaabp0);
    const double s = t * t;
    double e = 0x1.436ab9e644a2ep-34, o = -0x1.3ee827f4909c4p-35;
    o = MC_MULADD(o, s, 0x1.5befac4c5db9fp-35);
    e = MC_MULADD(e, s, -0x1.e2059b52c64d5p-35);
    o = MC_MULADD(o, s, -0x1.969a2512d30a7p-32);
    e = MC_MULADD(e, s, 0x1.aaba4fdab5bcdp-31);
    o = MC_MULADD(o, s, -0x1.38c3a7547c70fp-30);
    e = MC_MULADD(e, s, 0x1.831621ea80e2p-29);
    o = MC_MULADD(o, s, -0x1.ff2d2d759a763p-28);
    e = MC_MULADD(e, s, 0x1.3c0cc437e952dp-26);
    o = MC_MULADD(o, s, -0x1.8f720f102778ep-25);
    e = MC_MULADD(e, s, 0x1.05ac711c5e56ap-23);
    o = MC_MULADD(o, s, -0x1.6296c2eaf0236p-22);
    e = MC_MULADD(e, s, 0x1.f41a015995d24p-21);
    o = MC_MULADD(o, s, -0x1.728ae09d986e1p-19);
    e = MC_MULADD(e, s, 0x1.242a25d97ee0fp-17);
    o = MC_MULADD(o, s, -0x1.f38e214dbb97cp-16);
    e = MC_MULADD(e, s, 0x1.dcd2c5e31da92p-14);
    o = MC_MULADD(o, s, -0x1.0b094b68c83fp-11);
    e = MC_MULADD(e, s, 0x1.823fa51f3a50cp-9);
    o = MC_MULADD(o, s, -0x1.c3b3f8f754c55p-6);
    e = MC_MULADD(e, s, 0x1.e2352e10ee08p-1);
    return MC_MULADD(o, t, e);
}

/* x^2 g(x) of Si and Ci, u = 1 / x^2, u in [0.015625, 0.0625]; 24 terms, rest 2^-57 */
MC_INLINE double mck_fit_sici_g0_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.5555555555555p5, -0x1.aaaaaaaaaaaabp0);
    const double s = t * t;
    double e = 0x1.921cfbca72d6ep-33, o = -0x1.9b6a4714f49e1p-34;
    o = MC_MULADD(o, s, 0x1.8632462ca4fbcp-33);
    e = MC_MULADD(e, s, -0x1.3d8e4385196e4p-32);
    o = MC_MULADD(o, s, -0x1.ea8f37c0c8369p-31);
    e = MC_MULADD(e, s, 0x1.dac1a0b7dfbf5p-30);
    o = MC_MULADD(o, s, -0x1.9dcdad12a75fcp-30);
    e = MC_MULADD(e, s, 0x1.017caded9e214p-28);
    o = MC_MULADD(o, s, -0x1.7583028ca3936p-27);
    e = MC_MULADD(e, s, 0x1.abec3134b0243p-26);
    o = MC_MULADD(o, s, -0x1.ebe986f49c98ep-25);
    e = MC_MULADD(e, s, 0x1.280724a846451p-23);
    o = MC_MULADD(o, s, -0x1.6c2e70e8fc721p-22);
    e = MC_MULADD(e, s, 0x1.ca46d75a147cap-21);
    o = MC_MULADD(o, s, -0x1.28c941ea4ea3p-19);
    e = MC_MULADD(e, s, 0x1.8dddcb5beb82ep-18);
    o = MC_MULADD(o, s, -0x1.1605323a32c22p-16);
    e = MC_MULADD(e, s, 0x1.9929178b5728ap-15);
    o = MC_MULADD(o, s, -0x1.41aebb1594b02p-13);
    e = MC_MULADD(e, s, 0x1.143dc2a4dc52ap-11);
    o = MC_MULADD(o, s, -0x1.0ca31c3061bb6p-9);
    e = MC_MULADD(e, s, 0x1.3be9bf4587a12p-7);
    o = MC_MULADD(o, s, -0x1.024f0da85332fp-4);
    e = MC_MULADD(e, s, 0x1.b327c421d5338p-1);
    return MC_MULADD(o, t, e);
}

/* x f(x) of Si and Ci, u = 1 / x^2, u in [0.0, 0.015625]; 28 terms, rest 2^-57 */
MC_INLINE double mck_fit_sici_f1_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p7, -0x1p0);
    const double s = t * t;
    double e = 0x1.6c5a172cd11e5p-31, o = -0x1.48e4ac6f243d4p-31;
    o = MC_MULADD(o, s, 0x1.c485b6ccb46cep-29);
    e = MC_MULADD(e, s, -0x1.daceda829c527p-29);
    o = MC_MULADD(o, s, -0x1.224665e443112p-27);
    e = MC_MULADD(e, s, 0x1.223700d9af2c8p-27);
    o = MC_MULADD(o, s, 0x1.b62dcd91e9ef5p-27);
    e = MC_MULADD(e, s, -0x1.9cbe39b377f3fp-27);
    o = MC_MULADD(o, s, -0x1.bc4092fff9594p-27);
    e = MC_MULADD(e, s, 0x1.8e9871aa7aca3p-27);
    o = MC_MULADD(o, s, 0x1.1eebd37e10293p-27);
    e = MC_MULADD(e, s, -0x1.c1ff669df00b8p-28);
    o = MC_MULADD(o, s, -0x1.76af18be177d8p-28);
    e = MC_MULADD(e, s, 0x1.7b5336050551ap-28);
    o = MC_MULADD(o, s, -0x1.9c34be4ff95c9p-29);
    e = MC_MULADD(e, s, 0x1.076cf250af409p-27);
    o = MC_MULADD(o, s, -0x1.355594a5773e2p-26);
    e = MC_MULADD(e, s, 0x1.4840f0aac1297p-25);
    o = MC_MULADD(o, s, -0x1.735446c352ddap-24);
    e = MC_MULADD(e, s, 0x1.c474a749fcf44p-23);
    o = MC_MULADD(o, s, -0x1.2b76b641f8a23p-21);
    e = MC_MULADD(e, s, 0x1.b7cc4bde951p-20);
    o = MC_MULADD(o, s, -0x1.715220d287675p-18);
    e = MC_MULADD(e, s, 0x1.735cf84d2bf1bp-16);
    o = MC_MULADD(o, s, -0x1.e213c01455a29p-14);
    e = MC_MULADD(e, s, 0x1.cec8a70cb307ep-11);
    o = MC_MULADD(o, s, -0x1.b67e284ef2171p-7);
    e = MC_MULADD(e, s, 0x1.f89f4f0dc5636p-1);
    return MC_MULADD(o, t, e);
}

/* x^2 g(x) of Si and Ci, u = 1 / x^2, u in [0.0, 0.015625]; 32 terms, rest 2^-57 */
MC_INLINE double mck_fit_sici_g1_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p7, -0x1p0);
    const double s = t * t;
    double e = 0x1.62c82eb6ce916p-27, o = -0x1.589a5089be494p-27;
    o = MC_MULADD(o, s, 0x1.1f9df62b429fcp-24);
    e = MC_MULADD(e, s, -0x1.1bd27ef025c5bp-24);
    o = MC_MULADD(o, s, -0x1.bac59fa47a275p-23);
    e = MC_MULADD(e, s, 0x1.a2d9dc3fcd86cp-23);
    o = MC_MULADD(o, s, 0x1.9a85cf1def6afp-22);
    e = MC_MULADD(e, s, -0x1.72cc0d40bc5bep-22);
    o = MC_MULADD(o, s, -0x1.feb1604e88056p-22);
    e = MC_MULADD(e, s, 0x1.b712e2107a61p-22);
    o = MC_MULADD(o, s, 0x1.bdb4412200329p-22);
    e = MC_MULADD(e, s, -0x1.697e388acaf3ep-22);
    o = MC_MULADD(o, s, -0x1.1c7dadd63220bp-22);
    e = MC_MULADD(e, s, 0x1.b5f260c9153b6p-23);
    o = MC_MULADD(o, s, 0x1.f0082ed0ccafdp-24);
    e = MC_MULADD(e, s, -0x1.483adfbbc51a3p-24);
    o = MC_MULADD(o, s, -0x1.eab91b8a28934p-25);
    e = MC_MULADD(e, s, 0x1.dfb4f7ce0c33ep-25);
    o = MC_MULADD(o, s, -0x1.79664fc1f7b9fp-25);
    e = MC_MULADD(e, s, 0x1.9b912f691d87fp-24);
    o = MC_MULADD(o, s, -0x1.b00693d213e4bp-23);
    e = MC_MULADD(e, s, 0x1.b85c95c02c0b3p-22);
    o = MC_MULADD(o, s, -0x1.da194f6610d22p-21);
    e = MC_MULADD(e, s, 0x1.0fcabd5ede3f8p-19);
    o = MC_MULADD(o, s, -0x1.4f3c3ad18ce3ep-18);
    e = MC_MULADD(e, s, 0x1.c4a47a6e60eb1p-17);
    o = MC_MULADD(o, s, -0x1.56e45f1258049p-15);
    e = MC_MULADD(e, s, 0x1.2e5eecd36eaf2p-13);
    o = MC_MULADD(o, s, -0x1.48fa09f88652dp-11);
    e = MC_MULADD(e, s, 0x1.e8171ccc2196cp-9);
    o = MC_MULADD(o, s, -0x1.2bf213ca6a8fbp-5);
    e = MC_MULADD(e, s, 0x1.eaeb5dcb4dd29p-1);
    return MC_MULADD(o, t, e);
}

/* S(x) / x^3, u = x^4, u in [0.0, 6.5536]; 12 terms, rest 2^-62 */
MC_INLINE double mck_fit_fresnel_s_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.388p-2, -0x1p0);
    const double s = t * t;
    double e = 0x1.98f1065a43355p-41, o = -0x1.832b94c19aa1p-47;
    o = MC_MULADD(o, s, -0x1.68a9374e11dd3p-35);
    e = MC_MULADD(e, s, 0x1.05361ffd19f6cp-29);
    o = MC_MULADD(o, s, -0x1.2fd84dcf5e11ap-24);
    e = MC_MULADD(e, s, 0x1.1431e0876e1a6p-19);
    o = MC_MULADD(o, s, -0x1.7ae7955b5f3dbp-15);
    e = MC_MULADD(e, s, 0x1.767699ba43b72p-11);
    o = MC_MULADD(o, s, -0x1.f3fe0eb39055fp-8);
    e = MC_MULADD(e, s, 0x1.9ab06bfabf56ap-5);
    o = MC_MULADD(o, s, -0x1.68b9cec81284dp-3);
    e = MC_MULADD(e, s, 0x1.27dfb864472fcp-2);
    return MC_MULADD(o, t, e);
}

/* C(x) / x, u = x^4, u in [0.0, 6.5536]; 12 terms, rest 2^-58 */
MC_INLINE double mck_fit_fresnel_c_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.388p-2, -0x1p0);
    const double s = t * t;
    double e = 0x1.611c6c6ab4e7bp-37, o = -0x1.6d748a54386bfp-43;
    o = MC_MULADD(o, s, -0x1.1a514dafc9d5ep-31);
    e = MC_MULADD(e, s, 0x1.6ebaa67a2d67fp-26);
    o = MC_MULADD(o, s, -0x1.79547f2607c62p-21);
    e = MC_MULADD(e, s, 0x1.2a08fd82dc581p-16);
    o = MC_MULADD(o, s, -0x1.5ad806f8ef33ep-12);
    e = MC_MULADD(e, s, 0x1.1901a7bc51ce6p-8);
    o = MC_MULADD(o, s, -0x1.23da7e47495fdp-5);
    e = MC_MULADD(e, s, 0x1.54e01957bae74p-3);
    o = MC_MULADD(o, s, -0x1.663b2c010fafdp-2);
    e = MC_MULADD(e, s, 0x1.c619e2233a323p-2);
    return MC_MULADD(o, t, e);
}

/* pi x f(x) of S and C, u = 1 / x^4, u in [0.0123457, 0.152588]; 30 terms, rest 2^-57 */
MC_INLINE double mck_fit_fresnel_f0_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.c85a73b4b61d5p3, -0x1.2d126a3e184ecp0);
    const double s = t * t;
    double e = 0x1.8bcae095674aep-28, o = -0x1.47be39d78569ap-28;
    o = MC_MULADD(o, s, 0x1.d9a0897b1f3abp-26);
    e = MC_MULADD(e, s, -0x1.10762021477dep-25);
    o = MC_MULADD(o, s, -0x1.4529bc343fe33p-24);
    e = MC_MULADD(e, s, 0x1.6629669eaa8eep-24);
    o = MC_MULADD(o, s, 0x1.0a1d6a3d8a69fp-23);
    e = MC_MULADD(e, s, -0x1.161bdc5d06f5ep-23);
    o = MC_MULADD(o, s, -0x1.288294abebe7fp-23);
    e = MC_MULADD(e, s, 0x1.27b565fd775ddp-23);
    o = MC_MULADD(o, s, 0x1.b48d3a6d1f68ap-24);
    e = MC_MULADD(e, s, -0x1.8d0f7fbd3e2cdp-24);
    o = MC_MULADD(o, s, -0x1.1d57de3c6db47p-24);
    e = MC_MULADD(e, s, 0x1.174aa2a2d16c1p-24);
    o = MC_MULADD(o, s, -0x1.c5b150433f52p-29);
    e = MC_MULADD(e, s, 0x1.ce1b99cf2cda3p-26);
    o = MC_MULADD(o, s, -0x1.71b9d79fdf9c7p-24);
    e = MC_MULADD(e, s, 0x1.41bba7713eb13p-23);
    o = MC_MULADD(o, s, -0x1.2289ba31bac93p-22);
    e = MC_MULADD(e, s, 0x1.1984c677459c6p-21);
    o = MC_MULADD(o, s, -0x1.1afa52c54dcap-20);
    e = MC_MULADD(e, s, 0x1.2943524bbda89p-19);
    o = MC_MULADD(o, s, -0x1.4a69b51eb9413p-18);
    e = MC_MULADD(e, s, 0x1.8a731dcd99bc7p-17);
    o = MC_MULADD(o, s, -0x1.028db9b9dea8p-15);
    e = MC_MULADD(e, s, 0x1.8190052364d7dp-14);
    o = MC_MULADD(o, s, -0x1.5b9a7699e7dd1p-12);
    e = MC_MULADD(e, s, 0x1.aba245d9f667dp-10);
    o = MC_MULADD(o, s, -0x1.e4bb6183c4f73p-7);
    e = MC_MULADD(e, s, 0x1.f5806f1dac1c1p-1);
    return MC_MULADD(o, t, e);
}

/* pi^2 x^3 g(x) of S and C, u = 1 / x^4, u in [0.0123457, 0.152588]; 34 terms, rest 2^-57 */
MC_INLINE double mck_fit_fresnel_g0_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.c85a73b4b61d5p3, -0x1.2d126a3e184ecp0);
    const double s = t * t;
    double e = 0x1.411b9cce03b24p-24, o = -0x1.14913c4afba85p-24;
    o = MC_MULADD(o, s, 0x1.dcb0dba6b266bp-22);
    e = MC_MULADD(e, s, -0x1.0a10c3f003d16p-21);
    o = MC_MULADD(o, s, -0x1.81b1cd7b5bebap-20);
    e = MC_MULADD(e, s, 0x1.9e4ba24f6e6a6p-20);
    o = MC_MULADD(o, s, 0x1.7c06bba04506p-19);
    e = MC_MULADD(e, s, -0x1.8752c681f21c9p-19);
    o = MC_MULADD(o, s, -0x1.fd3ea3bf09e6fp-19);
    e = MC_MULADD(e, s, 0x1.f596f7c153d68p-19);
    o = MC_MULADD(o, s, 0x1.e3fd865db7684p-19);
    e = MC_MULADD(e, s, -0x1.c439d8e11c0a6p-19);
    o = MC_MULADD(o, s, -0x1.56ee18c063ba1p-19);
    e = MC_MULADD(e, s, 0x1.31c5a068c06c8p-19);
    o = MC_MULADD(o, s, 0x1.4fd59e028beb5p-20);
    e = MC_MULADD(e, s, -0x1.0a10bccdf98f8p-20);
    o = MC_MULADD(o, s, -0x1.663b48dadfeddp-21);
    e = MC_MULADD(e, s, 0x1.5f193d7bf5018p-21);
    o = MC_MULADD(o, s, -0x1.3a30ea4c2122ep-22);
    e = MC_MULADD(e, s, 0x1.55a81dab7833ap-21);
    o = MC_MULADD(o, s, -0x1.5d7cf76009b56p-20);
    e = MC_MULADD(e, s, 0x1.2ed344ece97e8p-19);
    o = MC_MULADD(o, s, -0x1.0e2c377735f0ep-18);
    e = MC_MULADD(e, s, 0x1.f4e77fbb34759p-18);
    o = MC_MULADD(o, s, -0x1.dfa66fe46aaa8p-17);
    e = MC_MULADD(e, s, 0x1.dd7a4d1fc2793p-16);
    o = MC_MULADD(o, s, -0x1.f293e2ac41d72p-15);
    e = MC_MULADD(e, s, 0x1.14506a78a9d56p-13);
    o = MC_MULADD(o, s, -0x1.4ac7b018613d9p-12);
    e = MC_MULADD(e, s, 0x1.b739ff7c7a1b9p-11);
    o = MC_MULADD(o, s, -0x1.5221f7abbc885p-9);
    e = MC_MULADD(e, s, 0x1.47c9731e885a5p-7);
    o = MC_MULADD(o, s, -0x1.e02f1623ee8f1p-5);
    e = MC_MULADD(e, s, 0x1.d1df3c1dace21p-1);
    return MC_MULADD(o, t, e);
}

/* pi x f(x) of S and C, u = 1 / x^4, u in [0.0, 0.0123457]; 15 terms, rest 2^-57 */
MC_INLINE double mck_fit_fresnel_f1_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.44p7, -0x1p0);
    const double s = t * t;
    double e = 0x1.4f393f36cc8ffp-42, o = -0x1.858b5e09a017ap-41;
    e = MC_MULADD(e, s, 0x1.7b81b67009a1cp-41);
    o = MC_MULADD(o, s, -0x1.485b342bbc4e3p-39);
    e = MC_MULADD(e, s, 0x1.5191d4fa6f6c2p-37);
    o = MC_MULADD(o, s, -0x1.20efe8e08b8bcp-35);
    e = MC_MULADD(e, s, 0x1.126a97a2e30e1p-33);
    o = MC_MULADD(o, s, -0x1.2cd6d1c74e78cp-31);
    e = MC_MULADD(e, s, 0x1.81e81c604b523p-29);
    o = MC_MULADD(o, s, -0x1.2e82f67a41438p-26);
    e = MC_MULADD(e, s, 0x1.355cfed6993ap-23);
    o = MC_MULADD(o, s, -0x1.c95e49c23e0ccp-20);
    e = MC_MULADD(e, s, 0x1.24727a4f33643p-15);
    o = MC_MULADD(o, s, -0x1.d81157069f857p-10);
    e = MC_MULADD(e, s, 0x1.ff0f26d3ca5dcp-1);
    return MC_MULADD(o, t, e);
}

/* pi^2 x^3 g(x) of S and C, u = 1 / x^4, u in [0.0, 0.0123457]; 18 terms, rest 2^-57 */
MC_INLINE double mck_fit_fresnel_g1_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.44p7, -0x1p0);
    const double s = t * t;
    double e = 0x1.5e3cf1c60e345p-39, o = -0x1.6dabaf24b6302p-40;
    o = MC_MULADD(o, s, 0x1.2f333ba83cb66p-41);
    e = MC_MULADD(e, s, 0x1.253cd06fd75c7p-41);
    o = MC_MULADD(o, s, -0x1.f489adaab1552p-37);
    e = MC_MULADD(e, s, 0x1.2e099474a0a6p-35);
    o = MC_MULADD(o, s, -0x1.6863bc43bdc8fp-34);
    e = MC_MULADD(e, s, 0x1.1320ac1af4c3fp-32);
    o = MC_MULADD(o, s, -0x1.c6298847d300fp-31);
    e = MC_MULADD(e, s, 0x1.96a3df227dda9p-29);
    o = MC_MULADD(o, s, -0x1.981b04a1e99b4p-27);
    e = MC_MULADD(e, s, 0x1.d74d6171b216cp-25);
    o = MC_MULADD(o, s, -0x1.44b05d2d5c5dp-22);
    e = MC_MULADD(e, s, 0x1.196e611470bf9p-19);
    o = MC_MULADD(o, s, -0x1.4cf0fc0c62abap-16);
    e = MC_MULADD(e, s, 0x1.33905e230b24ep-12);
    o = MC_MULADD(o, s, -0x1.1de74291aa48p-7);
    e = MC_MULADD(e, s, 0x1.fb5f0425bd1efp-1);
    return MC_MULADD(o, t, e);
}

/* J0(x), u = x^2, u in [0.0, 16.0]; 12 terms, rest 2^-57 */
MC_INLINE double mck_fit_j0_0_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p-3, -0x1p0);
    const double s = t * t;
    double e = 0x1.1cf3484174073p-34, o = -0x1.3215c22af8872p-40;
    o = MC_MULADD(o, s, -0x1.b4b4301eead01p-29);
    e = MC_MULADD(e, s, 0x1.0e184d980abfap-23);
    o = MC_MULADD(o, s, -0x1.066b29e60d188p-18);
    e = MC_MULADD(e, s, 0x1.830ec385561a6p-14);
    o = MC_MULADD(o, s, -0x1.9de9d1840d9e3p-10);
    e = MC_MULADD(e, s, 0x1.2cb0ce3a7686bp-6);
    o = MC_MULADD(o, s, -0x1.0c5a89dc25e48p-3);
    e = MC_MULADD(e, s, 0x1.eb0968d968a5bp-2);
    o = MC_MULADD(o, s, -0x1.21c581744c39cp-1);
    e = MC_MULADD(e, s, -0x1.9287ceca38d6bp-3);
    return MC_MULADD(o, t, e);
}

/* Y0(x) - 2/pi log x J0(x), u = x^2, u in [0.0, 16.0]; 13 terms, rest 2^-63 */
MC_INLINE double mck_fit_y0_0_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p-3, -0x1p0);
    const double s = t * t;
    double e = -0x1.195f082be4c53p-45, o = 0x1.3026a7e86c819p-39;
    e = MC_MULADD(e, s, -0x1.1273bb3bad8b7p-33);
    o = MC_MULADD(o, s, 0x1.9681749c063b5p-28);
    e = MC_MULADD(e, s, -0x1.e2e0081ac1c8bp-23);
    o = MC_MULADD(o, s, 0x1.bf172601b35aap-18);
    e = MC_MULADD(e, s, -0x1.36d3e4868d88dp-13);
    o = MC_MULADD(o, s, 0x1.343e1fcd27e77p-9);
    e = MC_MULADD(e, s, -0x1.9408055c44088p-6);
    o = MC_MULADD(o, s, 0x1.3403132dcde11p-3);
    e = MC_MULADD(e, s, -0x1.9d62c655f0441p-2);
    o = MC_MULADD(o, s, 0x1.a1331a69b9ad2p-5);
    e = MC_MULADD(e, s, 0x1.1de47f3d61dbbp-1);
    return MC_MULADD(o, t, e);
}

/* J0(x), u = x^2, u in [16.0, 64.0]; 16 terms, rest 2^-62 */
MC_INLINE double mck_fit_j0_1_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.5555555555555p-5, -0x1.aaaaaaaaaaaabp0);
    const double s = t * t;
    double e = 0x1.701817eb94febp-38, o = -0x1.482ac73af48c5p-43;
    o = MC_MULADD(o, s, -0x1.6416f074363dfp-33);
    e = MC_MULADD(e, s, 0x1.274f0c80d64e1p-28);
    o = MC_MULADD(o, s, -0x1.9cd3e1693a13fp-24);
    e = MC_MULADD(e, s, 0x1.de09ad9a80ea5p-20);
    o = MC_MULADD(o, s, -0x1.c0ae917b2be86p-16);
    e = MC_MULADD(e, s, 0x1.4be458d45352ap-12);
    o = MC_MULADD(o, s, -0x1.746a850ab96a9p-9);
    e = MC_MULADD(e, s, 0x1.2b81aeaadb92dp-6);
    o = MC_MULADD(o, s, -0x1.397bb029b5881p-4);
    e = MC_MULADD(e, s, 0x1.551a990f95a31p-3);
    o = MC_MULADD(o, s, -0x1.36973dad99d3dp-6);
    e = MC_MULADD(e, s, -0x1.0db1bdfe2ed28p-1);
    o = MC_MULADD(o, s, 0x1.87f213bfa91ecp-2);
    e = MC_MULADD(e, s, 0x1.d4ac1166bde6p-3);
    return MC_MULADD(o, t, e);
}

/* Y0(x) - 2/pi log x J0(x), u = x^2, u in [16.0, 64.0]; 16 terms, rest 2^-61 */
MC_INLINE double mck_fit_y0_1_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.5555555555555p-5, -0x1.aaaaaaaaaaaabp0);
    const double s = t * t;
    double e = -0x1.850cf62078ff6p-37, o = 0x1.62707497d8f15p-42;
    o = MC_MULADD(o, s, 0x1.6f5e0415f9e13p-32);
    e = MC_MULADD(e, s, -0x1.2887ff9b723dep-27);
    o = MC_MULADD(o, s, 0x1.91f502017685ap-23);
    e = MC_MULADD(e, s, -0x1.c11aa9235e63ap-19);
    o = MC_MULADD(o, s, 0x1.93fd5f086e8cbp-15);
    e = MC_MULADD(e, s, -0x1.1b9e805178ec8p-11);
    o = MC_MULADD(o, s, 0x1.296d9499b9a11p-8);
    e = MC_MULADD(e, s, -0x1.b2cda29410a87p-6);
    o = MC_MULADD(o, s, 0x1.83a98dfcd09ecp-4);
    e = MC_MULADD(e, s, -0x1.0f8e47e6eb7cdp-3);
    o = MC_MULADD(o, s, -0x1.f175c3af23396p-3);
    e = MC_MULADD(e, s, 0x1.9feef9add1baep-1);
    o = MC_MULADD(o, s, -0x1.990f01e9b031dp-6);
    e = MC_MULADD(e, s, -0x1.f37959a74bb53p-2);
    return MC_MULADD(o, t, e);
}

/* P of order 0, u = (8 / x)^2, u in [0.0, 1.0]; 13 terms, rest 2^-58 */
MC_INLINE double mck_fit_p0_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p1, -0x1p0);
    const double s = t * t;
    double e = 0x1.2cca86c6338d9p-45, o = -0x1.cdb3179595bbdp-44;
    e = MC_MULADD(e, s, 0x1.143405810de71p-42);
    o = MC_MULADD(o, s, -0x1.1de864a95f83ap-40);
    e = MC_MULADD(e, s, 0x1.50dad9b31dc98p-38);
    o = MC_MULADD(o, s, -0x1.b63f441e64847p-36);
    e = MC_MULADD(e, s, 0x1.54dc6d1e48781p-33);
    o = MC_MULADD(o, s, -0x1.4d2ea54bfc4e9p-30);
    e = MC_MULADD(e, s, 0x1.b7ef13a07a483p-27);
    o = MC_MULADD(o, s, -0x1.b8d2d71b30a5ep-23);
    e = MC_MULADD(e, s, 0x1.9be00160d9865p-18);
    o = MC_MULADD(o, s, -0x1.193600c1de9d9p-11);
    e = MC_MULADD(e, s, 0x1.ffb8dd328503dp-1);
    return MC_MULADD(o, t, e);
}

/* x Q of order 0, u = (8 / x)^2, u in [0.0, 1.0]; 15 terms, rest 2^-57 */
MC_INLINE double mck_fit_q0_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p1, -0x1p0);
    const double s = t * t;
    double e = -0x1.6d757f20d1676p-45, o = 0x1.cab223df72976p-44;
    e = MC_MULADD(e, s, -0x1.27d49ee4c9805p-43);
    o = MC_MULADD(o, s, 0x1.033dea6365dep-41);
    e = MC_MULADD(e, s, -0x1.07b105a41fb8ap-39);
    o = MC_MULADD(o, s, 0x1.e9303de9288dfp-38);
    e = MC_MULADD(e, s, -0x1.f905c8fb2d9f2p-36);
    o = MC_MULADD(o, s, 0x1.2b957936e62f7p-33);
    e = MC_MULADD(e, s, -0x1.a0835f5e8cc28p-31);
    o = MC_MULADD(o, s, 0x1.61a576ba7257dp-28);
    e = MC_MULADD(e, s, -0x1.858d1b79c15abp-25);
    o = MC_MULADD(o, s, 0x1.3135a899a7d66p-21);
    e = MC_MULADD(e, s, -0x1.8c8435284c2e2p-17);
    o = MC_MULADD(o, s, 0x1.1e9a6138feec1p-11);
    e = MC_MULADD(e, s, -0x1.fdb5c0b2f3d5bp-4);
    return MC_MULADD(o, t, e);
}

/* I0(x), u = x^2 / 4, u in [0.0, 16.0]; 17 terms, rest 2^-62 */
MC_INLINE double mck_fit_i0_near_f64(double u)
{
    const double t = u;
    const double s = t * t;
    double e = 0x1.20de50ee937a2p-88, o = 0x1.31c4039a69bf6p-81;
    e = MC_MULADD(e, s, 0x1.46a6fe00cd6ffp-73);
    o = MC_MULADD(o, s, 0x1.e56ec2a042a81p-66);
    e = MC_MULADD(e, s, 0x1.41b6d2a3ef29ep-58);
    o = MC_MULADD(o, s, 0x1.69c761327b691p-51);
    e = MC_MULADD(e, s, 0x1.5601c817fb294p-44);
    o = MC_MULADD(o, s, 0x1.0b312ee0b62c8p-37);
    e = MC_MULADD(e, s, 0x1.522a44465db87p-31);
    o = MC_MULADD(o, s, 0x1.522a43f14ed5bp-25);
    e = MC_MULADD(e, s, 0x1.02e85c08d2b69p-19);
    o = MC_MULADD(o, s, 0x1.23456789a82b6p-14);
    e = MC_MULADD(e, s, 0x1.c71c71c71cbebp-10);
    o = MC_MULADD(o, s, 0x1.c71c71c71c6dfp-6);
    e = MC_MULADD(e, s, 0x1.0000000000002p-2);
    o = MC_MULADD(o, s, 0x1p0);
    e = MC_MULADD(e, s, 0x1p0);
    return MC_MULADD(o, t, e);
}

/* sqrt(x) exp(-x) I0(x), u = 8 / x, u in [0.0, 1.0]; 25 terms, rest 2^-58 */
MC_INLINE double mck_fit_i0_far_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p1, -0x1p0);
    const double s = t * t;
    double e = -0x1.0adb9d75d9c38p-34, o = -0x1.646d9eb6b8efcp-36;
    e = MC_MULADD(e, s, 0x1.f741ccfbf086ap-32);
    o = MC_MULADD(o, s, 0x1.4ffe3dfe04e04p-33);
    e = MC_MULADD(e, s, -0x1.bd05cb6fe4895p-30);
    o = MC_MULADD(o, s, -0x1.3a3b56212928p-31);
    e = MC_MULADD(e, s, 0x1.f3ff44ea6ec07p-29);
    o = MC_MULADD(o, s, 0x1.a1d63aabefe4fp-30);
    e = MC_MULADD(e, s, -0x1.99205be93d8efp-28);
    o = MC_MULADD(o, s, -0x1.e1db39d50f53fp-29);
    e = MC_MULADD(e, s, 0x1.fe9e274c31881p-28);
    o = MC_MULADD(o, s, 0x1.038138ef0b583p-27);
    e = MC_MULADD(e, s, -0x1.7369c342df416p-28);
    o = MC_MULADD(o, s, -0x1.ccba15f02b586p-27);
    e = MC_MULADD(e, s, -0x1.cfb20cb7d4d4cp-28);
    o = MC_MULADD(o, s, 0x1.0393c5bfe631dp-27);
    e = MC_MULADD(e, s, 0x1.7232c4b4195cap-26);
    o = MC_MULADD(o, s, 0x1.51ce71ae332cep-25);
    e = MC_MULADD(e, s, 0x1.7d0f16713c8a4p-24);
    o = MC_MULADD(o, s, 0x1.3f49a7d62a894p-22);
    e = MC_MULADD(e, s, 0x1.8e513a70893c8p-20);
    o = MC_MULADD(o, s, 0x1.75e5ee7193c9fp-17);
    e = MC_MULADD(e, s, 0x1.1daa72b5e2bd7p-13);
    o = MC_MULADD(o, s, 0x1.b87969bb93b86p-9);
    e = MC_MULADD(e, s, 0x1.9bd428ad249a5p-2);
    return MC_MULADD(o, t, e);
}

/* K0(x) + log(x / 2) I0(x), u = x^2, u in [0.0, 1.0]; 8 terms, rest 2^-60 */
MC_INLINE double mck_fit_k0_near_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p1, -0x1p0);
    const double s = t * t;
    double e = 0x1.ee47d01637bf6p-37, o = 0x1.5a826191abaa7p-45;
    o = MC_MULADD(o, s, 0x1.fc6abc44c1a1ap-29);
    e = MC_MULADD(e, s, 0x1.608b055888728p-21);
    o = MC_MULADD(o, s, 0x1.28b31515d74aep-14);
    e = MC_MULADD(e, s, 0x1.f3c5020628812p-9);
    o = MC_MULADD(o, s, 0x1.edaf6c5cb9749p-5);
    e = MC_MULADD(e, s, -0x1.0a986e5395bcap-1);
    return MC_MULADD(o, t, e);
}

/* sqrt(x) exp(x) K0(x), u = 1 / x, u in [0.333333, 1.0]; 18 terms, rest 2^-57 */
MC_INLINE double mck_fit_k0_mid_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.8p1, -0x1p1);
    const double s = t * t;
    double e = 0x1.78aa222b3e2edp-37, o = -0x1.ebdbf55cfa65fp-39;
    o = MC_MULADD(o, s, -0x1.45512c5f716a2p-36);
    e = MC_MULADD(e, s, 0x1.14fa0a536b529p-34);
    o = MC_MULADD(o, s, -0x1.0bd5bb59c31f5p-32);
    e = MC_MULADD(e, s, 0x1.caf65bb1a48abp-31);
    o = MC_MULADD(o, s, -0x1.904a951ce9b6fp-29);
    e = MC_MULADD(e, s, 0x1.6b87f08652d1fp-27);
    o = MC_MULADD(o, s, -0x1.556507cb63fadp-25);
    e = MC_MULADD(e, s, 0x1.4d41786a68337p-23);
    o = MC_MULADD(o, s, -0x1.55042c1174f7cp-21);
    e = MC_MULADD(e, s, 0x1.71d24277ab55dp-19);
    o = MC_MULADD(o, s, -0x1.afc736068c9abp-17);
    e = MC_MULADD(e, s, 0x1.1600d28c3266fp-14);
    o = MC_MULADD(o, s, -0x1.9b273066c5eadp-12);
    e = MC_MULADD(e, s, 0x1.7953163983701p-9);
    o = MC_MULADD(o, s, -0x1.03363f07b9498p-5);
    e = MC_MULADD(e, s, 0x1.2c6e9d660f581p0);
    return MC_MULADD(o, t, e);
}

/* sqrt(x) exp(x) K0(x), u = 1 / x, u in [0.0, 0.333333]; 20 terms, rest 2^-57 */
MC_INLINE double mck_fit_k0_far_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.8p2, -0x1p0);
    const double s = t * t;
    double e = 0x1.ea74d5057b7ccp-37, o = -0x1.e23894a40ba49p-38;
    o = MC_MULADD(o, s, 0x1.e0d79a1858ea7p-39);
    e = MC_MULADD(e, s, -0x1.011b78ee893aep-45);
    o = MC_MULADD(o, s, -0x1.625f30f94f87ep-34);
    e = MC_MULADD(e, s, 0x1.9ba26bf94c682p-33);
    o = MC_MULADD(o, s, -0x1.ab3f35d5730ap-32);
    e = MC_MULADD(e, s, 0x1.276e9b42ad9efp-30);
    o = MC_MULADD(o, s, -0x1.ad23790e36649p-29);
    e = MC_MULADD(e, s, 0x1.3e23237aa2ef3p-27);
    o = MC_MULADD(o, s, -0x1.f2108e7804ef9p-26);
    e = MC_MULADD(e, s, 0x1.9fdf4e59b7c6cp-24);
    o = MC_MULADD(o, s, -0x1.76306eb1dd8acp-22);
    e = MC_MULADD(e, s, 0x1.70853caadab55p-20);
    o = MC_MULADD(o, s, -0x1.961945cc34342p-18);
    e = MC_MULADD(e, s, 0x1.02af56fef0ecfp-15);
    o = MC_MULADD(o, s, -0x1.919f978f00957p-13);
    e = MC_MULADD(e, s, 0x1.a23b7061c429cp-10);
    o = MC_MULADD(o, s, -0x1.6b6510bccf5c7p-6);
    e = MC_MULADD(e, s, 0x1.3ab3f7c471ebdp0);
    return MC_MULADD(o, t, e);
}

/* J1(x) / x, u = x^2, u in [0.0, 16.0]; 12 terms, rest 2^-61 */
MC_INLINE double mck_fit_j1_0_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p-3, -0x1p0);
    const double s = t * t;
    double e = 0x1.a4e34702848cap-39, o = -0x1.9d70d65a86bfp-45;
    o = MC_MULADD(o, s, -0x1.63ef80b052e3fp-33);
    e = MC_MULADD(e, s, 0x1.eb4ab4a0e612fp-28);
    o = MC_MULADD(o, s, -0x1.0e1854dc86843p-22);
    e = MC_MULADD(e, s, 0x1.cb3b8952e1f35p-18);
    o = MC_MULADD(o, s, -0x1.224b12a296d11p-13);
    e = MC_MULADD(e, s, 0x1.02b222f288773p-9);
    o = MC_MULADD(o, s, -0x1.2cb0ce3a76f7cp-6);
    e = MC_MULADD(e, s, 0x1.9287ceca38d6cp-4);
    o = MC_MULADD(o, s, -0x1.eb0968d968a52p-3);
    e = MC_MULADD(e, s, 0x1.21c581744c39cp-3);
    return MC_MULADD(o, t, e);
}

/* (Y1(x) - 2/pi (log x J1(x) - 1 / x)) / x, u = x^2, u in [0.0, 16.0]; 12 terms, rest 2^-59 */
MC_INLINE double mck_fit_y1_0_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p-3, -0x1p0);
    const double s = t * t;
    double e = -0x1.9c0dbf8388261p-38, o = 0x1.a085fb49f46a9p-44;
    o = MC_MULADD(o, s, 0x1.514dc247b8b97p-32);
    e = MC_MULADD(e, s, -0x1.c0736d0dc2db1p-27);
    o = MC_MULADD(o, s, 0x1.d7d9ec15026a1p-22);
    e = MC_MULADD(e, s, -0x1.7c6b170a09e28p-17);
    o = MC_MULADD(o, s, 0x1.c22abaa98d7b6p-13);
    e = MC_MULADD(e, s, -0x1.6fd45fc637c6ep-9);
    o = MC_MULADD(o, s, 0x1.79eb3dc1c8d59p-6);
    e = MC_MULADD(e, s, -0x1.9cc7b4993edeap-4);
    o = MC_MULADD(o, s, 0x1.369daf19b82a4p-3);
    e = MC_MULADD(e, s, 0x1.51dd34f6a80cp-4);
    return MC_MULADD(o, t, e);
}

/* J1(x) / x, u = x^2, u in [16.0, 64.0]; 15 terms, rest 2^-58 */
MC_INLINE double mck_fit_j1_1_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.5555555555555p-5, -0x1.aaaaaaaaaaaabp0);
    const double s = t * t;
    double e = 0x1.9a4509ffbb00fp-43, o = -0x1.ad86c225e9f89p-38;
    e = MC_MULADD(e, s, 0x1.81c377d81d863p-33);
    o = MC_MULADD(o, s, -0x1.274efc842800fp-28);
    e = MC_MULADD(e, s, 0x1.7a6ce3fdd1512p-24);
    o = MC_MULADD(o, s, -0x1.8e5d6613124bp-20);
    e = MC_MULADD(e, s, 0x1.5082ed1c5bea1p-16);
    o = MC_MULADD(o, s, -0x1.ba85cbc5b0725p-13);
    e = MC_MULADD(e, s, 0x1.b27c45e1d8581p-10);
    o = MC_MULADD(o, s, -0x1.2b81aeaadba7dp-7);
    e = MC_MULADD(e, s, 0x1.053c6822c1f16p-5);
    o = MC_MULADD(o, s, -0x1.c6ce216a1cd8ep-5);
    e = MC_MULADD(e, s, 0x1.36973dad99d3dp-8);
    o = MC_MULADD(o, s, 0x1.6797a7fd93c36p-4);
    e = MC_MULADD(e, s, -0x1.054c0d2a70bf3p-5);
    return MC_MULADD(o, t, e);
}

/* (Y1(x) - 2/pi (log x J1(x) - 1 / x)) / x, u = x^2, u in [16.0, 64.0]; 15 terms, rest 2^-58 */
MC_INLINE double mck_fit_y1_1_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.5555555555555p-5, -0x1.aaaaaaaaaaaabp0);
    const double s = t * t;
    double e = -0x1.b6950de0a02b9p-42, o = 0x1.c0dde53cf1e2dp-37;
    e = MC_MULADD(e, s, -0x1.88fe09187e734p-32);
    o = MC_MULADD(o, s, 0x1.245ac00906c4ep-27);
    e = MC_MULADD(e, s, -0x1.6a8cdfe6e1924p-23);
    o = MC_MULADD(o, s, 0x1.6f4c30c7d5fddp-19);
    e = MC_MULADD(e, s, -0x1.2851209b239eap-15);
    o = MC_MULADD(o, s, 0x1.6ff6e5e150ea9p-12);
    e = MC_MULADD(e, s, -0x1.4eff357d7c4bep-9);
    o = MC_MULADD(o, s, 0x1.9de9b490c86dbp-7);
    e = MC_MULADD(e, s, -0x1.29b781d722b76p-5);
    o = MC_MULADD(o, s, 0x1.1ba82db360b81p-5);
    e = MC_MULADD(e, s, 0x1.3c2335ae06d8ap-4);
    o = MC_MULADD(o, s, -0x1.30d8b338cb07ap-3);
    e = MC_MULADD(e, s, 0x1.d659565e15fep-7);
    return MC_MULADD(o, t, e);
}

/* P of order 1, u = (8 / x)^2, u in [0.0, 1.0]; 13 terms, rest 2^-58 */
MC_INLINE double mck_fit_p1_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p1, -0x1p0);
    const double s = t * t;
    double e = -0x1.3f5b1671b84fbp-45, o = 0x1.ebf5d803cd896p-44;
    e = MC_MULADD(e, s, -0x1.2883a97c0530ap-42);
    o = MC_MULADD(o, s, 0x1.3459d80b23acap-40);
    e = MC_MULADD(e, s, -0x1.6d4b96ca1b17cp-38);
    o = MC_MULADD(o, s, 0x1.df1d5756e9b34p-36);
    e = MC_MULADD(e, s, -0x1.78b760be6538cp-33);
    o = MC_MULADD(o, s, 0x1.75ea62e7b87dp-30);
    e = MC_MULADD(e, s, -0x1.f96172d037183p-27);
    o = MC_MULADD(o, s, 0x1.07762654afea9p-22);
    e = MC_MULADD(e, s, -0x1.0b1541bfbbd42p-17);
    o = MC_MULADD(o, s, 0x1.d73b8ea3c10dap-11);
    e = MC_MULADD(e, s, 0x1.003b716033732p0);
    return MC_MULADD(o, t, e);
}

/* x Q of order 1, u = (8 / x)^2, u in [0.0, 1.0]; 15 terms, rest 2^-58 */
MC_INLINE double mck_fit_q1_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p1, -0x1p0);
    const double s = t * t;
    double e = 0x1.811d207bb2e69p-45, o = -0x1.e48d4f144b8b2p-44;
    e = MC_MULADD(e, s, 0x1.3b2af8ab3c895p-43);
    o = MC_MULADD(o, s, -0x1.14bb49dd9cee7p-41);
    e = MC_MULADD(e, s, 0x1.19dbe8941e3f7p-39);
    o = MC_MULADD(o, s, -0x1.06a7aef91348p-37);
    e = MC_MULADD(e, s, 0x1.10b60277006bfp-35);
    o = MC_MULADD(o, s, -0x1.45d1fafbde408p-33);
    e = MC_MULADD(e, s, 0x1.c92e6248aa9afp-31);
    o = MC_MULADD(o, s, -0x1.8922fa1341065p-28);
    e = MC_MULADD(e, s, 0x1.b9302a517457ap-25);
    o = MC_MULADD(o, s, -0x1.64231273efe05p-21);
    e = MC_MULADD(e, s, 0x1.e8e009ca9282ep-17);
    o = MC_MULADD(o, s, -0x1.938da0a0a6a1fp-11);
    e = MC_MULADD(e, s, 0x1.7f323705062fbp-2);
    return MC_MULADD(o, t, e);
}

/* I1(x) / (x / 2), u = x^2 / 4, u in [0.0, 16.0]; 16 terms, rest 2^-59 */
MC_INLINE double mck_fit_i1_near_f64(double u)
{
    const double t = u;
    const double s = t * t;
    double e = 0x1.1ebc3216bf4cfp-77, o = 0x1.20ebdb99edb53p-84;
    o = MC_MULADD(o, s, 0x1.1dc64f2e4590cp-69);
    e = MC_MULADD(e, s, 0x1.8a6efe52fa2efp-62);
    o = MC_MULADD(o, s, 0x1.e29108846b664p-55);
    e = MC_MULADD(e, s, 0x1.f172556758d22p-48);
    o = MC_MULADD(o, s, 0x1.ab8235081a452p-41);
    e = MC_MULADD(e, s, 0x1.2c97551e62e0ap-34);
    o = MC_MULADD(o, s, 0x1.522a443bfc5e8p-28);
    e = MC_MULADD(e, s, 0x1.27e4fb73ec47ep-22);
    o = MC_MULADD(o, s, 0x1.845c8a0d2769ep-17);
    e = MC_MULADD(e, s, 0x1.6c16c16c13a31p-12);
    o = MC_MULADD(o, s, 0x1.c71c71c71c9f2p-8);
    e = MC_MULADD(e, s, 0x1.555555555554p-4);
    o = MC_MULADD(o, s, 0x1.0000000000001p-1);
    e = MC_MULADD(e, s, 0x1p0);
    return MC_MULADD(o, t, e);
}

/* sqrt(x) exp(-x) I1(x), u = 8 / x, u in [0.0, 1.0]; 25 terms, rest 2^-57 */
MC_INLINE double mck_fit_i1_far_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p1, -0x1p0);
    const double s = t * t;
    double e = 0x1.15570416f5d26p-34, o = 0x1.45b8a7bd7d95ap-36;
    e = MC_MULADD(e, s, -0x1.059e8ab7d1f2cp-31);
    o = MC_MULADD(o, s, -0x1.341e6acf66d27p-33);
    e = MC_MULADD(e, s, 0x1.cf24590b8af0cp-30);
    o = MC_MULADD(o, s, 0x1.23214a0a14ed8p-31);
    e = MC_MULADD(e, s, -0x1.04c49e07cc5d5p-28);
    o = MC_MULADD(o, s, -0x1.8b7943f0906c8p-30);
    e = MC_MULADD(e, s, 0x1.acff861ce154fp-28);
    o = MC_MULADD(o, s, 0x1.d6e5e47d39b18p-29);
    e = MC_MULADD(e, s, -0x1.0f0ab14721f9ep-27);
    o = MC_MULADD(o, s, -0x1.0697358153a77p-27);
    e = MC_MULADD(e, s, 0x1.9a8f6f1af410fp-28);
    o = MC_MULADD(o, s, 0x1.e2367833490c7p-27);
    e = MC_MULADD(e, s, 0x1.cec9f4127e15bp-28);
    o = MC_MULADD(o, s, -0x1.21936a199f46bp-27);
    e = MC_MULADD(e, s, -0x1.918f9f8a49afdp-26);
    o = MC_MULADD(o, s, -0x1.727a10592a5e6p-25);
    e = MC_MULADD(e, s, -0x1.ad8d53e66d946p-24);
    o = MC_MULADD(o, s, -0x1.76137f7ae5f9cp-22);
    e = MC_MULADD(e, s, -0x1.ec8e106de0541p-20);
    o = MC_MULADD(o, s, -0x1.f89c230615619p-17);
    e = MC_MULADD(e, s, -0x1.cbc54df1e92ep-13);
    o = MC_MULADD(o, s, -0x1.3f796198ee62dp-7);
    e = MC_MULADD(e, s, 0x1.8ebe783a8403p-2);
    return MC_MULADD(o, t, e);
}

/* (K1(x) - 1 / x - log(x / 2) I1(x)) / x, u = x^2, u in [0.0, 1.0]; 8 terms, rest 2^-60 */
MC_INLINE double mck_fit_k1_near_f64(double u)
{
    const double t = MC_MULADD(u, 0x1p1, -0x1p0);
    const double s = t * t;
    double e = -0x1.247b9d2a723f7p-40, o = -0x1.64922cab292b4p-49;
    o = MC_MULADD(o, s, -0x1.62466b8478dfep-32);
    e = MC_MULADD(e, s, -0x1.2b3cd7583206ap-24);
    o = MC_MULADD(o, s, -0x1.4386563e9cb88p-17);
    e = MC_MULADD(e, s, -0x1.82d04d2ed20bcp-11);
    o = MC_MULADD(o, s, -0x1.702c0c2f4f17bp-6);
    e = MC_MULADD(e, s, 0x1.144f4c5602eb9p-6);
    return MC_MULADD(o, t, e);
}

/* sqrt(x) exp(x) K1(x), u = 1 / x, u in [0.333333, 1.0]; 18 terms, rest 2^-57 */
MC_INLINE double mck_fit_k1_mid_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.8p1, -0x1p1);
    const double s = t * t;
    double e = -0x1.bdd265d5ee641p-37, o = 0x1.214fc1e7c7235p-38;
    o = MC_MULADD(o, s, 0x1.87a8c32b01d33p-36);
    e = MC_MULADD(e, s, -0x1.4fd0f431d8fdp-34);
    o = MC_MULADD(o, s, 0x1.4610f448bc602p-32);
    e = MC_MULADD(e, s, -0x1.1a2fb09ea761fp-30);
    o = MC_MULADD(o, s, 0x1.f226d25ecd104p-29);
    e = MC_MULADD(e, s, -0x1.ca790965fd706p-27);
    o = MC_MULADD(o, s, 0x1.b56cf98b71a3ep-25);
    e = MC_MULADD(e, s, -0x1.b34ecbd944d2ap-23);
    o = MC_MULADD(o, s, 0x1.c847fb7789bp-21);
    e = MC_MULADD(e, s, -0x1.fe69764ef36fp-19);
    o = MC_MULADD(o, s, 0x1.36ba5d258a04cp-16);
    e = MC_MULADD(e, s, -0x1.a92cbdf00ff3ap-14);
    o = MC_MULADD(o, s, 0x1.5aad000950b62p-11);
    e = MC_MULADD(e, s, -0x1.80fc9bc58f91cp-8);
    o = MC_MULADD(o, s, 0x1.e6fae6dffce35p-4);
    e = MC_MULADD(e, s, 0x1.85c68f3d1767bp0);
    return MC_MULADD(o, t, e);
}

/* sqrt(x) exp(x) K1(x), u = 1 / x, u in [0.0, 0.333333]; 20 terms, rest 2^-57 */
MC_INLINE double mck_fit_k1_far_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.8p2, -0x1p0);
    const double s = t * t;
    double e = -0x1.0ce5fffc42a88p-36, o = 0x1.0769abb2b5292p-37;
    o = MC_MULADD(o, s, -0x1.ea7a633b1701bp-39);
    e = MC_MULADD(e, s, -0x1.3cc5f9eaf0365p-41);
    o = MC_MULADD(o, s, 0x1.8a3efdd1fd874p-34);
    e = MC_MULADD(e, s, -0x1.cd4d17587071fp-33);
    o = MC_MULADD(o, s, 0x1.e57d255de945fp-32);
    e = MC_MULADD(e, s, -0x1.51fede8f7ba0cp-30);
    o = MC_MULADD(o, s, 0x1.eeabcbd187ff1p-29);
    e = MC_MULADD(e, s, -0x1.728f95005ff29p-27);
    o = MC_MULADD(o, s, 0x1.25bd45389a5bcp-25);
    e = MC_MULADD(e, s, -0x1.f225db9a1de39p-24);
    o = MC_MULADD(o, s, 0x1.c91299e83d43ap-22);
    e = MC_MULADD(e, s, -0x1.cde56af62bf4p-20);
    o = MC_MULADD(o, s, 0x1.07bbeb24c27b7p-17);
    e = MC_MULADD(e, s, -0x1.62449bf26b27bp-15);
    o = MC_MULADD(o, s, 0x1.2c40c4ae7bc27p-12);
    e = MC_MULADD(e, s, -0x1.75631be08c5ffp-9);
    o = MC_MULADD(o, s, 0x1.2514790390cdp-4);
    e = MC_MULADD(e, s, 0x1.53fb5e5efd8a9p0);
    return MC_MULADD(o, t, e);
}

/* W(x) on both branches, u = +-sqrt(2 (e x + 1)), u in [-0.6, 0.6]; 25 terms, rest 2^-57 */
MC_INLINE double mck_fit_lambertw_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.aaaaaaaaaaaabp0, 0x0p0);
    const double s = t * t;
    double e = -0x1.8f969a74a4e56p-33, o = 0x1.d4c29bfefcf0fp-32;
    e = MC_MULADD(e, s, 0x1.83279403cf712p-34);
    o = MC_MULADD(o, s, -0x1.8cf1adbc78e7p-34);
    e = MC_MULADD(e, s, -0x1.9211c55ad5db4p-29);
    o = MC_MULADD(o, s, 0x1.dc7cd50d9dd13p-28);
    e = MC_MULADD(e, s, -0x1.a4adef237b144p-27);
    o = MC_MULADD(o, s, 0x1.0b5746f29810fp-25);
    e = MC_MULADD(e, s, -0x1.659b4986963f6p-24);
    o = MC_MULADD(o, s, 0x1.c1790ae5a35f1p-23);
    e = MC_MULADD(e, s, -0x1.1a8de23a52aa5p-21);
    o = MC_MULADD(o, s, 0x1.67a4adb8e9eep-20);
    e = MC_MULADD(e, s, -0x1.ccbcb37f491b9p-19);
    o = MC_MULADD(o, s, 0x1.2925361d5b5c2p-17);
    e = MC_MULADD(e, s, -0x1.82a3612ecd879p-16);
    o = MC_MULADD(o, s, 0x1.fc74c81a8bec3p-15);
    e = MC_MULADD(e, s, -0x1.52bf12ccc5363p-13);
    o = MC_MULADD(o, s, 0x1.caf5915293889p-12);
    e = MC_MULADD(e, s, -0x1.3dcef3af6df73p-10);
    o = MC_MULADD(o, s, 0x1.c5931ca713286p-9);
    e = MC_MULADD(e, s, -0x1.522a6f3f55774p-7);
    o = MC_MULADD(o, s, 0x1.0e56041893db2p-5);
    e = MC_MULADD(e, s, -0x1.eb851eb851ea1p-4);
    o = MC_MULADD(o, s, 0x1.3333333333332p-1);
    e = MC_MULADD(e, s, -0x1p0);
    return MC_MULADD(o, t, e);
}

/* d[k][n] of DLMF 8.12.9, with d[k][n] = (n + 2) d[k-1][n+2] - d[k-1][1] d[0][n] */
enum { MCK_TEMME_ROWS = 12, MCK_TEMME_COLS = 16 };
MC_TABLE double mck_temme_f64[MCK_TEMME_ROWS][MCK_TEMME_COLS] = {
    { -0x1.5555555555555p-2, 0x1.5555555555555p-4, -0x1.e573ac901e574p-7, 0x1.2f684bda12f68p-10,
      0x1.71de3a556c734p-12, -0x1.76e06fec7273bp-13, 0x1.48c5892f7cd83p-15, -0x1.255370652afc1p-19,
      -0x1.f1b22f594c6b5p-20, 0x1.bd6d21e4b4109p-21, -0x1.7b5f9a2d0465cp-23, 0x1.ccf5ceb7f0d9fp-28,
      0x1.6097d55c37c1cp-27, -0x1.2d2197c7a2faap-28, 0x1.f6e66d24d5c8ap-31,
      -0x1.c0d9b6edf2b0bp-36 },
    { -0x1.e573ac901e574p-10, -0x1.c71c71c71c71cp-9, 0x1.5ac056b015acp-9, -0x1.0394f6f09e723p-10,
      0x1.af83440e53dbcp-13, -0x1.af83440e53dbcp-22, -0x1.2fa4ae89e5afp-16, 0x1.00a9cabd6b83ep-17,
      -0x1.b0bdfcc629cbap-20, 0x1.3f59230a8357cp-28, 0x1.280f2cde3f847p-23, -0x1.ee23d0cba8aeep-25,
      0x1.9aa7a30de114cp-27, -0x1.349fbca3a377bp-36, -0x1.1564ecff73d58p-30,
      0x1.c9b434bf3c34ep-32 },
    { 0x1.0ee643b990ee6p-8, -0x1.5f7268edab4c8p-9, 0x1.948b0fcd6e9ep-11, 0x1.0db20a88f4696p-19,
      -0x1.c253efaa1a932p-14, 0x1.bbf43daf4fe53p-15, -0x1.ac2d05890f2c3p-17, 0x1.26154ae39151dp-25,
      0x1.7058929663937p-20, -0x1.522cb05171911p-21, 0x1.32ac81c15d3d7p-23, -0x1.c24bd0e740a6cp-33,
      -0x1.e437343a46f5dp-27, 0x1.ac0d455e2536p-28, -0x1.77c5829460139p-30, 0x1.0962774f638bbp-40 },
    { 0x1.547d93b34e2b6p-11, 0x1.e13ce465fa859p-13, -0x1.ebfb188b7cap-12, 0x1.18b9b5bf2d984p-12,
      -0x1.3d2a3a29b5d9dp-14, -0x1.0152a1871f27ap-22, 0x1.73df462204ef4p-17, -0x1.7cd6f27b3f02p-18,
      0x1.7e0201539310ep-20, -0x1.ea23269c140a7p-36, -0x1.6c2dcffbefeefp-23, 0x1.5bde8ef4c4dc7p-24,
      -0x1.4853ced169327p-26, 0x1.50c3f0dd501ebp-39, 0x1.1b66a39794ba9p-29, -0x1.040c53b2491fp-30 },
    { -0x1.c3e0b02da7bf9p-11, 0x1.9b0ff6874f2c4p-11, -0x1.3999a85a4237ap-12, -0x1.88f2ae1def9dp-20,
      0x1.16908b48ce058p-14, -0x1.4ce3fd902bcadp-15, 0x1.7db4c02846e81p-17, 0x1.13b3c5b7cb45ep-32,
      -0x1.c71c074985d3fp-20, 0x1.de37d9f09164cp-21, -0x1.ec676cf33153cp-23, 0x1.041515bab6adap-35,
      0x1.efe94304ac16bp-26, -0x1.e78e449f4e3bep-27, 0x1.d9a9f1a8b7696p-29,
      -0x1.033ba70791e5ep-42 },
    { -0x1.6128ac5a4fa71p-12, -0x1.247604839c038p-14, 0x1.22be87360ef1fp-12, -0x1.a2042c5148e27p-13,
      0x1.1d1e9cb24760bp-14, 0x1.30bdcf208080ep-23, -0x1.c823fc1b3cc36p-17, 0x1.0d0e229150428p-17,
      -0x1.338eb19652fd9p-19, -0x1.659cfde0bb2ebp-32, 0x1.741504e5c87c2p-22, -0x1.8c267becd0c0fp-23,
      0x1.9e630225a095bp-25, -0x1.4411c5ac40e35p-46, -0x1.b15bbf334c8c3p-28,
      0x1.b2a3adb58623dp-29 },
    { 0x1.168ef1b0931c8p-11, -0x1.36773bdb97b48p-11, 0x1.1c0950d3ecb9dp-12, 0x1.a8411da6cab49p-21,
      -0x1.5600945495b37p-14, 0x1.d6bdf83130dc1p-15, -0x1.3382f4cf48618p-16, -0x1.a74243fa27729p-29,
      0x1.d115d4f5dcc68p-19, -0x1.10587854fcb37p-19, 0x1.36c8903447d35p-21, 0x1.074e709bf4b8bp-42,
      -0x1.7b2f7de505322p-24, 0x1.9778c6d79bcc1p-25, -0x1.af0ea334cc20ep-27,
      0x1.858ba968e7d04p-44 },
    { 0x1.691879c01efb4p-12, 0x1.b1d75d3346711p-15, -0x1.5f3385098cebfp-12, 0x1.26eeb5ece1d9fp-12,
      -0x1.cc642787368cep-14, -0x1.119c70312e0a2p-23, 0x1.d179830b113abp-16, -0x1.3269164e3e304p-16,
      0x1.8467d794bd7f2p-18, 0x1.0f82da50cdaeep-31, -0x1.1c6acec59f442p-20, 0x1.4b12ad51452d5p-21,
      -0x1.7929779607d63p-23, -0x1.6d32eed259534p-40, 0x1.cf11fbdf49e99p-26,
      -0x1.f4e88c5d1cae1p-27 },
    { -0x1.5629b3187b744p-11, 0x1.b8239c670e69p-11, -0x1.cb967b4446107p-12, -0x1.762676b30cfd6p-21,
      0x1.5d1157082916dp-13, -0x1.0c16fcea7ddb2p-13, 0x1.84637d3f583cdp-15, 0x1.3937992ec9b02p-28,
      -0x1.6384af9ac219dp-17, 0x1.c738f198ab55p-18, -0x1.1adec9530a7adp-19, -0x1.2ed3c124b7492p-36,
      0x1.952f970ac9b03p-22, -0x1.d599e3b2187a2p-23, 0x1.0b282393d4893p-24, 0x1.7c54ec550bd4bp-51 },
    { -0x1.38dff1cc96982p-11, -0x1.2e31f9b7913eap-14, 0x1.63969bb825829p-11, -0x1.4f9f2582dd0a5p-11,
      0x1.22fb20c28e8ap-12, 0x1.86c71c8cebf16p-23, -0x1.63a803aebc9b7p-14, 0x1.00120036172bp-14,
      -0x1.618fcc48d37bcp-16, -0x1.e7018e8be333p-31, 0x1.2fe63d892e1a9p-18, -0x1.7d8d3a891d8bap-19,
      0x1.d3850f27b27e8p-21, 0x1.03901807110d2p-38, -0x1.49865a9b6fd04p-23, 0x1.7ca3da4d350cep-24 },
    { 0x1.5d4ae684527bfp-10, -0x1.f5dbcaf756cdep-10, 0x1.22b37f1b46951p-10, 0x1.0a9ef61e90004p-20,
      -0x1.0aba998a532bfp-11, 0x1.c01c0b52c3345p-12, -0x1.618e482f9d229p-13, -0x1.1759e6f571329p-27,
      0x1.7bdf837b4e13p-15, -0x1.0650f761692a2p-15, 0x1.5ea3af60786b1p-17, 0x1.aa0a6ef89a12ap-35,
      -0x1.205588c7220b7p-19, 0x1.64d9971a80133p-20, -0x1.b0abf52fc4d58p-22,
      -0x1.8b97eb7553f43p-43 },
    { 0x1.9e1dba8ec5904p-10, 0x1.54d241144693fp-13, -0x1.0e7245b5e024p-9, 0x1.185be08721041p-9,
      -0x1.08fd64cc4d9d6p-10, -0x1.ac8f35a61360fp-22, 0x1.7bf3a7a227118p-12, -0x1.271c35d1a742ap-12,
      0x1.b648cb8b91d61p-14, 0x1.23870b487d429p-29, -0x1.b081c1069b36ap-16, 0x1.21f0d8e42b54dp-16,
      -0x1.7a962022d07b2p-18, -0x1.83e23f727e2fep-37, 0x1.2d456933154bp-20,
      -0x1.70cb7c2ec0c52p-21 },
};

/* U_k(p) = p^k sum_j c[k][j] p^(2 j), DLMF 10.41.9 */
enum { MCK_DEBYE_ROWS = 14 };
MC_TABLE double mck_debye_f64[MCK_DEBYE_ROWS][MCK_DEBYE_ROWS] = {
    { 0x1p0 },
    { 0x1p-3, -0x1.aaaaaaaaaaaabp-3 },
    { 0x1.2p-4, -0x1.9aaaaaaaaaaabp-2, 0x1.5638e38e38e39p-2 },
    { 0x1.2cp-4, -0x1.c84cccccccccdp-1, 0x1.d8b1c71c71c72p0, -0x1.069ba781948b1p0 },
    { 0x1.cb6p-4, -0x1.2e9a666666666p1, 0x1.19408p3, -0x1.669fc3f35ba78p3, 0x1.2ada78a021b64p2 },
    { 0x1.d11ep-3, -0x1.d79a53a83a83bp2, 0x1.5447ad6c16c17p5, -0x1.6f45e11c71c72p6,
      0x1.528b7ca566307p6, -0x1.c364a631dd95fp4 },
    { 0x1.251ee8p-1, -0x1.a7dce636db6dbp4, 0x1.b4618ac15dc91p7, -0x1.5dca313ad82d8p9,
      0x1.08ff6393p10, -0x1.7ea050e044d42p9, 0x1.a923e815a1cf4p7 },
    { 0x1.ba4c598p0, -0x1.b05d1a13b6db7p6, 0x1.2c39c95483d71p10, -0x1.4b9a5a063f1c7p12,
      0x1.6c3b258dcc4bep13, -0x1.a8946669c5f9bp13, 0x1.f7db8e0e6ff83p12, -0x1.dfdd4a56e48aep10 },
    { 0x1.84bd1aa98p2, -0x1.edea5169e2492p8, 0x1.bc583a953f412p12, -0x1.41d14f581555cp15,
      0x1.dd58770920853p16, -0x1.8d4416b11fe98p17, 0x1.7811802863395p17, -0x1.7ad4992fff6c7p16,
      0x1.3bb12a52aa2fbp14 },
    { 0x1.8616a64f6cp4, -0x1.387a934e97623p11, 0x1.614589b7ecd85p15, -0x1.43df4b09fcb1fp18,
      0x1.35a8d45f867fp20, -0x1.5773d9d00c99dp21, 0x1.cb623a6199ae4p21, -0x1.6df7ff592a81cp21,
      0x1.404139d5a8d89p20, -0x1.da73980d20117p17 },
    { 0x1.b8118d37ff7p6, -0x1.b1f0b7d0cbfb1p13, 0x1.2cf699e52c822p18, -0x1.540a91065230fp21,
      0x1.958a7e55353d9p23, -0x1.1e9d645493e4cp25, 0x1.fa2b20232a522p25, -0x1.1ab04f0d89c04p26,
      0x1.84bccd3f0fa29p25, -0x1.2cb3c31e51931p24, 0x1.90efaed3176ecp21 },
    { 0x1.13aafea4e5774p9, -0x1.48256f009b97ep16, 0x1.11e5c16c629afp21, -0x1.7571ceb9ca037p24,
      0x1.0ef6a77985642p27, -0x1.d8ead78466863p28, 0x1.07e453034ac45p30, -0x1.827ee7a06eeffp30,
      0x1.7268078e48462p30, -0x1.bff876bd73df6p29, 0x1.367d9d22f8e58p28, -0x1.785a32d50ea99p25 },
    { 0x1.7bc2e57729724p11, -0x1.0c7a4a7b78e16p19, 0x1.096da38dd1835p24, -0x1.ad5adfbc7617p27,
      0x1.73c2e3e3845c1p30, -0x1.8733ea609e897p32, 0x1.0b89e3d8c9f56p34, -0x1.ec227ad1733f1p34,
      0x1.338fb49d78209p35, -0x1.0207616f8514bp35, 0x1.1679daa552eedp34, -0x1.5dab67540d45ep32,
      0x1.84858f40f24dap29 },
    { 0x1.1d47059b0d98ap14, -0x1.d8a2cb8a63829p21, 0x1.110d4e9701237p27, -0x1.0258a06e72954p31,
      0x1.06c7289bb5702p34, -0x1.475491eb205f5p36, 0x1.0c20dd26c89a3p38, -0x1.2c857cd0fac0cp39,
      0x1.d575cfc9e2c3ap39, -0x1.ff7885a2e2725p39, 0x1.7d7a79bfd9279p39, -0x1.73aff169e1ddbp38,
      0x1.aa8a07524069bp36, -0x1.b579e01fd909fp33 },
};

/* A_1 of DLMF 10.20.10 over zeta, u in [-0.5, 1.4]; 19 terms, rest 2^-45 */
MC_INLINE double mck_fit_olver_a1_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.0d79435e50d79p0, -0x1.e50d79435e50dp-2);
    const double s = t * t;
    double e = 0x1.1708cf0db9f14p-31, o = 0x1.db851708ff0fap-31;
    e = MC_MULADD(e, s, -0x1.27f64a7b08ed5p-28);
    o = MC_MULADD(o, s, -0x1.d00577b29436fp-27);
    e = MC_MULADD(e, s, 0x1.28d266161a9fep-27);
    o = MC_MULADD(o, s, 0x1.c2ed8d3ccfc1p-24);
    e = MC_MULADD(e, s, 0x1.1d583ac03207cp-23);
    o = MC_MULADD(o, s, -0x1.d4f9a1be364dep-22);
    e = MC_MULADD(e, s, -0x1.bc0b068ee88ddp-20);
    o = MC_MULADD(o, s, -0x1.068e7b9e5c21dp-22);
    e = MC_MULADD(e, s, 0x1.4b6b89cf45c58p-17);
    o = MC_MULADD(o, s, 0x1.3feac152d121bp-16);
    e = MC_MULADD(e, s, -0x1.acb13980e5783p-16);
    o = MC_MULADD(o, s, -0x1.434895b0964a9p-13);
    e = MC_MULADD(e, s, -0x1.e336a5a558c44p-14);
    o = MC_MULADD(o, s, 0x1.49dcaabebdb48p-11);
    e = MC_MULADD(e, s, 0x1.95fbbd86e7acp-10);
    o = MC_MULADD(o, s, -0x1.7b5634969456bp-12);
    e = MC_MULADD(e, s, -0x1.40baae4be22fep-8);
    return MC_MULADD(o, t, e);
}

/* A_2 of DLMF 10.20.10 over zeta, u in [-0.5, 1.4]; 15 terms, rest 2^-29 */
MC_INLINE double mck_fit_olver_a2_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.0d79435e50d79p0, -0x1.e50d79435e50dp-2);
    const double s = t * t;
    double e = 0x1.a236303d82ceap-25, o = -0x1.4bd66b74c1172p-23;
    e = MC_MULADD(e, s, -0x1.6d5dfd9c04ed7p-21);
    o = MC_MULADD(o, s, 0x1.163013e9eafc8p-21);
    e = MC_MULADD(e, s, 0x1.279d845230371p-18);
    o = MC_MULADD(o, s, 0x1.b305153fd5d21p-19);
    e = MC_MULADD(e, s, -0x1.ffdd80de8d9e1p-17);
    o = MC_MULADD(o, s, -0x1.2c6bb0c073255p-15);
    e = MC_MULADD(e, s, 0x1.772bfdbb1c577p-17);
    o = MC_MULADD(o, s, 0x1.3d2fea9610805p-13);
    e = MC_MULADD(e, s, 0x1.4914f55eb0ae4p-13);
    o = MC_MULADD(o, s, -0x1.22db998ac41bp-12);
    e = MC_MULADD(e, s, -0x1.7409c305743f6p-11);
    o = MC_MULADD(o, s, -0x1.afb1f61475dap-14);
    e = MC_MULADD(e, s, 0x1.93c7a4b773d6ap-11);
    return MC_MULADD(o, t, e);
}

/* A_3 of DLMF 10.20.10 over zeta, u in [-0.5, 1.4]; 9 terms, rest 2^-13 */
MC_INLINE double mck_fit_olver_a3_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.0d79435e50d79p0, -0x1.e50d79435e50dp-2);
    const double s = t * t;
    double e = 0x1.9aa27be51b80ap-18, o = 0x1.ed0d5cb148563p-15;
    e = MC_MULADD(e, s, 0x1.3b02fff11eb19p-15);
    o = MC_MULADD(o, s, -0x1.c3600f4598e84p-13);
    e = MC_MULADD(e, s, -0x1.424e9c8aef4c4p-12);
    o = MC_MULADD(o, s, 0x1.b6515327dbd24p-13);
    e = MC_MULADD(e, s, 0x1.69a06411b0a3cp-11);
    o = MC_MULADD(o, s, 0x1.a71d3082f7c3fp-13);
    e = MC_MULADD(e, s, -0x1.8f6d026cb797p-12);
    return MC_MULADD(o, t, e);
}

/* B_0 of DLMF 10.20.11 over zeta, u in [-0.5, 1.4]; 19 terms, rest 2^-47 */
MC_INLINE double mck_fit_olver_b0_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.0d79435e50d79p0, -0x1.e50d79435e50dp-2);
    const double s = t * t;
    double e = -0x1.70f54aa0a1bb6p-34, o = 0x1.ead41faf0425cp-33;
    e = MC_MULADD(e, s, 0x1.9679d04baf4ap-30);
    o = MC_MULADD(o, s, -0x1.409f60ef9799cp-31);
    e = MC_MULADD(e, s, -0x1.c44071d3c4397p-27);
    o = MC_MULADD(o, s, -0x1.39649e1228404p-26);
    e = MC_MULADD(e, s, 0x1.13914ad37b4edp-24);
    o = MC_MULADD(o, s, 0x1.1a11469ab5091p-22);
    e = MC_MULADD(e, s, 0x1.3dae24a65b6fbp-25);
    o = MC_MULADD(o, s, -0x1.01b640df56cbdp-19);
    e = MC_MULADD(e, s, -0x1.1334e015f8ce2p-18);
    o = MC_MULADD(o, s, 0x1.b55829b9de3c7p-18);
    e = MC_MULADD(e, s, 0x1.73bd7ca3a4cd8p-15);
    o = MC_MULADD(o, s, 0x1.35e7563a6376ep-15);
    e = MC_MULADD(e, s, -0x1.1fcd2f2076609p-12);
    o = MC_MULADD(o, s, -0x1.b672c5eda00f8p-11);
    e = MC_MULADD(e, s, 0x1.5923a6d5641b5p-11);
    o = MC_MULADD(o, s, 0x1.37a5c09d3e0d7p-7);
    e = MC_MULADD(e, s, 0x1.6d0fd2e77676fp-6);
    return MC_MULADD(o, t, e);
}

/* B_1 of DLMF 10.20.11 over zeta, u in [-0.5, 1.4]; 17 terms, rest 2^-37 */
MC_INLINE double mck_fit_olver_b1_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.0d79435e50d79p0, -0x1.e50d79435e50dp-2);
    const double s = t * t;
    double e = -0x1.5e9eb0dfed745p-28, o = -0x1.9b864b7b00dcap-28;
    e = MC_MULADD(e, s, 0x1.6cb2c351d6ae5p-25);
    o = MC_MULADD(o, s, 0x1.a3d527a73f485p-24);
    e = MC_MULADD(e, s, -0x1.fd0d4e27a65dep-24);
    o = MC_MULADD(o, s, -0x1.9216efd87cc5fp-21);
    e = MC_MULADD(e, s, -0x1.34204f5e5708ap-21);
    o = MC_MULADD(o, s, 0x1.a8b1fa85fc419p-19);
    e = MC_MULADD(e, s, 0x1.182bb4e6d93d1p-17);
    o = MC_MULADD(o, s, -0x1.8bff81095f5dcp-19);
    e = MC_MULADD(e, s, -0x1.8998d5517c078p-15);
    o = MC_MULADD(o, s, -0x1.e92a1d5bfa2b6p-15);
    e = MC_MULADD(e, s, 0x1.0d564f2a87f44p-13);
    o = MC_MULADD(o, s, 0x1.c5af91625756dp-12);
    e = MC_MULADD(e, s, 0x1.19525ab008e54p-14);
    o = MC_MULADD(o, s, -0x1.8653aee7fc2fp-10);
    e = MC_MULADD(e, s, -0x1.1d061405a6a91p-9);
    return MC_MULADD(o, t, e);
}

/* B_2 of DLMF 10.20.11 over zeta, u in [-0.5, 1.4]; 12 terms, rest 2^-21 */
MC_INLINE double mck_fit_olver_b2_f64(double u)
{
    const double t = MC_MULADD(u, 0x1.0d79435e50d79p0, -0x1.e50d79435e50dp-2);
    const double s = t * t;
    double e = 0x1.85a3e2b4014d9p-19, o = 0x1.58b74c1e27e4p-20;
    o = MC_MULADD(o, s, -0x1.5afb13da608ccp-18);
    e = MC_MULADD(e, s, -0x1.70f5f1b18cfc4p-16);
    o = MC_MULADD(o, s, -0x1.854a3aefceec7p-18);
    e = MC_MULADD(e, s, 0x1.3d3736a590e38p-14);
    o = MC_MULADD(o, s, 0x1.dc2ffab3660bfp-14);
    e = MC_MULADD(e, s, -0x1.a9403e9931839p-14);
    o = MC_MULADD(o, s, -0x1.c1bba41677466p-12);
    e = MC_MULADD(e, s, -0x1.7633fb0c34715p-13);
    o = MC_MULADD(o, s, 0x1.80ce7bf9a27fp-11);
    e = MC_MULADD(e, s, 0x1.d88b11c1a45c9p-11);
    return MC_MULADD(o, t, e);
}

/* Gauss-Legendre rule with 32 nodes: the positive nodes and their weights */
enum { MCK_GAUSS_HALF = 16 };
MC_TABLE double mck_gauss_f64[MCK_GAUSS_HALF][2] = {
    {0x1.fe995e70409b6p-1, 0x1.cbf8bc743cc5cp-8},
    {0x1.f8a212714bcdcp-1, 0x1.0aa3c248696c9p-6},
    {0x1.edf5518053baap-1, 0x1.a0060a8531ffap-6},
    {0x1.deac0259f7f42p-1, 0x1.18c5800a355d9p-5},
    {0x1.caea9b4574cb9p-1, 0x1.5ee963a335495p-5},
    {0x1.b2e04fd686a13p-1, 0x1.a1c6ae961fbfap-5},
    {0x1.96c69481c4bc5p-1, 0x1.e0bd76c924981p-5},
    {0x1.76e0931d693bap-1, 0x1.0d9b9a62cac1p-4},
    {0x1.537a89c487f8ap-1, 0x1.2854103b35e0cp-4},
    {0x1.2ce9146962ca4p-1, 0x1.40483e126fd14p-4},
    {0x1.038862866b29dp-1, 0x1.553ee25ebebc6p-4},
    {0x1.af76b57c6f8f1p-2, 0x1.6705e18e13ed1p-4},
    {0x1.53d55ce57bdf6p-2, 0x1.7572bdb3f6e51p-4},
    {0x1.ea0f7e19c094bp-3, 0x1.8062fc0f6fef9p-4},
    {0x1.27e0ea717f237p-3, 0x1.87bc776f8c6d7p-4},
    {0x1.8bbc8488cc499p-5, 0x1.8b6d9eaec77adp-4},
};

/* B_2j / (2j)!, j = 1.. */
enum { MCK_BERNOULLI = 14 };
MC_TABLE double mck_bernoulli_f64[MCK_BERNOULLI] = {
    0x1.5555555555555p-4,  -0x1.6c16c16c16c17p-10, 0x1.1566abc011567p-15, -0x1.bbd779334ef0bp-21,
    0x1.66a8f2bf70ebep-26, -0x1.22805d644267fp-31, 0x1.d6db2c4e09162p-37, -0x1.7da4e1f79955cp-42,
    0x1.355871d652e9ep-47, -0x1.f57d968caacf1p-53, 0x1.967e1f09c376fp-58, -0x1.497d9033a2b5cp-63,
    0x1.0b132d7c6ad06p-68, -0x1.b0f72d59f1c16p-74
};

/* log Gamma(2 + w) = w sum_k c[k] w^k, DLMF 5.7.3 */
enum { MCK_LOGGAMMA_ROW = 50 };
MC_TABLE double mck_loggamma_f64_row[MCK_LOGGAMMA_ROW] = {
    0x1.b0ee6072093cep-2,   0x1.4a34cc4a60fa6p-2,  -0x1.13e001a557607p-4,  0x1.51322ac7d8483p-6,
    -0x1.e404fc218f5f2p-8,  0x1.7add6eadb6c3p-9,   -0x1.38ac5c2bf8e08p-10, 0x1.0b36af86396e9p-11,
    -0x1.d3fd4c76d2fc8p-13, 0x1.a127b0f17d65ap-14, -0x1.78de5bd7c81efp-15, 0x1.580dcee66eb02p-16,
    -0x1.3cbc963ce2243p-17, 0x1.2597a39f34aacp-18, -0x1.11b2eb7679541p-19, 0x1.0064cdeb22f0fp-20,
    -0x1.e2600d93cfd2fp-22, 0x1.c76bbb3f07a4dp-23, -0x1.af5a6cbbf8a97p-24, 0x1.99b93c2070b0fp-25,
    -0x1.862c734df3eacp-26, 0x1.7469daccfadcdp-27, -0x1.6434a8447aeadp-28, 0x1.555a877ffd2c3p-29,
    -0x1.47b1679258d0ep-30, 0x1.3b15d2b2fc10cp-31, -0x1.2f69a9fabe3ep-32,  0x1.24932a337434cp-33,
    -0x1.1a7c26ec2523cp-34, 0x1.11116e693ed98p-35, -0x1.08424cbc543d8p-36, 0x1.000026e3f644fp-37,
    -0x1.f07c514fc9f0ap-39, 0x1.e1e2026aafcd8p-40, -0x1.d41d56e5ee2e2p-41, 0x1.c71c7f6f10e37p-42,
    -0x1.bacf9a27bc89bp-43, 0x1.af28718a10d6ep-44, -0x1.a41a45603e5b6p-45, 0x1.99999c0716ee9p-46,
    -0x1.8f9c1a8df9d78p-47, 0x1.8618628d28905p-48, -0x1.7d05f4c31c56p-49,  0x1.745d17b56ba4ap-50,
    -0x1.6c16c1b4d6456p-51, 0x1.642c85c023d9dp-52, -0x1.5c9882d825e9dp-53, 0x1.555555698a866p-54,
    -0x1.4e5e0a8022bc9p-55, 0x1.47ae14838081fp-56
};

#endif
