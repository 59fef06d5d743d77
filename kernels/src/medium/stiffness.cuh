// Loads the coefficients of VEC cells from the arrays that a symmetry class keeps. SYM is 0 for isotropic, 1 for VTI,
// 2 for HTI, 3 for orthorhombic and 4 for triclinic media; in 2-D the classes 1 and 2 are treated as 3. C11, C33, ...
// are defined as the indices of the coefficients among the arrays that are kept (displacement/gpu/arguments.rs).
//
// Axes are named by their role in memory: z, r = row (3-D: x), p = plane (3-D: y, 2-D: x). Coefficients that a class
// does not keep follow from the others:
//   isotropic   c_ii = lambda + 2 mu, c13 = lambda, c55 = mu
//   VTI         c22 = c11, c44 = c55, c23 = c13, c12 = c11 - 2 c66
//   HTI         c22 = c33, c66 = c55, c12 = c13, c23 = c33 - 2 c44

struct Stiffness {
    // normal stiffnesses along z and along planes; shear stiffness; coupling of the two normal stresses
    REAL zz[VEC], pp[VEC], zp[VEC], z_p[VEC];
#if NDIM == 3
    REAL rr[VEC], zr[VEC], rp[VEC], z_r[VEC], r_p[VEC];
#endif
#if SYM == 4
    REAL zz_zp[VEC], pp_zp[VEC];  // couplings of shear strains with normal stresses, and among themselves
#if NDIM == 3
    REAL zz_zr[VEC], zz_rp[VEC], pp_zr[VEC], pp_rp[VEC], rr_zp[VEC], rr_zr[VEC], rr_rp[VEC];
    REAL zp_zr[VEC], zp_rp[VEC], zr_rp[VEC];
#endif
#endif
};

#define TAKE(place, to) fetch(c[place] + at, to)

#if NDIM == 2
INLINE void take_stiffness(const REAL *const *c, WIDE at, struct Stiffness *s) {
#if SYM == 0
    TAKE(C13, s->z_p);
    TAKE(C55, s->zp);
    EACH_VEC s->zz[v] = s->pp[v] = FMA((REAL)2, s->zp[v], s->z_p[v]);
#else
    TAKE(C33, s->zz);
    TAKE(C11, s->pp);
    TAKE(C55, s->zp);
    TAKE(C13, s->z_p);
#endif
#if SYM == 4
    TAKE(C35, s->zz_zp);
    TAKE(C15, s->pp_zp);
#endif
}
#else
#if SYM == 4
// Loads the coefficients that vanish if the coordinate planes are symmetry planes.
INLINE void take_couplings(const REAL *const *c, WIDE at, struct Stiffness *s) {
    TAKE(C34, s->zz_zp);
    TAKE(C35, s->zz_zr);
    TAKE(C36, s->zz_rp);
    TAKE(C24, s->pp_zp);
    TAKE(C25, s->pp_zr);
    TAKE(C26, s->pp_rp);
    TAKE(C14, s->rr_zp);
    TAKE(C15, s->rr_zr);
    TAKE(C16, s->rr_rp);
    TAKE(C45, s->zp_zr);
    TAKE(C46, s->zp_rp);
    TAKE(C56, s->zr_rp);
}
#endif

INLINE void take_stiffness(const REAL *const *c, WIDE at, struct Stiffness *s) {
#if SYM == 0
    REAL lambda[VEC], mu[VEC];
    TAKE(C13, lambda);
    TAKE(C55, mu);
    EACH_VEC {
        s->zz[v] = s->pp[v] = FMA((REAL)2, mu[v], lambda[v]);
        s->zp[v] = mu[v], s->z_p[v] = lambda[v];
        s->rr[v] = s->zz[v], s->zr[v] = s->rp[v] = mu[v], s->z_r[v] = s->r_p[v] = lambda[v];
    }
#elif SYM == 1
    TAKE(C33, s->zz);
    TAKE(C11, s->rr);
    TAKE(C55, s->zr);
    TAKE(C66, s->rp);
    TAKE(C13, s->z_r);
    EACH_VEC {
        s->pp[v] = s->rr[v], s->zp[v] = s->zr[v], s->z_p[v] = s->z_r[v];
        s->r_p[v] = FMA((REAL)-2, s->rp[v], s->rr[v]);
    }
#elif SYM == 2
    TAKE(C11, s->rr);
    TAKE(C33, s->zz);
    TAKE(C44, s->zp);
    TAKE(C55, s->zr);
    TAKE(C13, s->z_r);
    EACH_VEC {
        s->pp[v] = s->zz[v], s->rp[v] = s->zr[v], s->r_p[v] = s->z_r[v];
        s->z_p[v] = FMA((REAL)-2, s->zp[v], s->zz[v]);
    }
#else
    TAKE(C33, s->zz);
    TAKE(C22, s->pp);
    TAKE(C44, s->zp);
    TAKE(C23, s->z_p);
    TAKE(C11, s->rr);
    TAKE(C55, s->zr);
    TAKE(C66, s->rp);
    TAKE(C13, s->z_r);
    TAKE(C12, s->r_p);
#endif
#if SYM == 4
    take_couplings(c, at, s);
#endif
}
#endif
