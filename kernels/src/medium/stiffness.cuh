// The nine coefficients of VEC cells from the arrays that a symmetry class keeps (medium/stiffness.rs is the twin).
// Axes by their part in memory: z, row (3-D: x), plane (3-D: y, 2-D: x). SYM 0 isotropic, 1 VTI, 2 HTI, 3 orthorhombic.
//
// class          arrays kept, in this order                                 the others
// isotropic      lambda, mu                                                 c_ii = lambda + 2 mu
// VTI 3-D        c33 c11 c55 c66 c13                                        c22 = c11, c44 = c55, c23 = c13, c12 = c11 - 2 c66
// HTI 3-D        c11 c33 c44 c55 c13                                        c22 = c33, c66 = c55, c12 = c13, c23 = c33 - 2 c44
// orthorhombic   c33 c22 c44 c23 c11 c55 c66 c13 c12
// 2-D otherwise  c33 c11 c55 c13

struct Stiffness {
    REAL zz[VEC], pp[VEC], zp[VEC], z_p[VEC];  // normal along z and plane, shear, coupling
#if NDIM == 3
    REAL rr[VEC], zr[VEC], rp[VEC], z_r[VEC], r_p[VEC];
#endif
};

// Slot of the array that holds c55, the shear of z and x.
#if SYM == 0
#define SHEAR_SLOT 1
#elif NDIM == 2 || SYM == 1
#define SHEAR_SLOT 2
#elif SYM == 2
#define SHEAR_SLOT 3
#else
#define SHEAR_SLOT 5
#endif

#define TAKE(slot, to) fetch(c[slot] + at, to)

INLINE void take_stiffness(const REAL *const *c, WIDE at, struct Stiffness *s) {
#if SYM == 0
    REAL lambda[VEC], mu[VEC];
    TAKE(0, lambda);
    TAKE(1, mu);
    EACH_VEC {
        s->zz[v] = s->pp[v] = FMA((REAL)2, mu[v], lambda[v]);
        s->zp[v] = mu[v], s->z_p[v] = lambda[v];
#if NDIM == 3
        s->rr[v] = s->zz[v], s->zr[v] = s->rp[v] = mu[v], s->z_r[v] = s->r_p[v] = lambda[v];
#endif
    }
#elif NDIM == 2
    TAKE(0, s->zz);
    TAKE(1, s->pp);
    TAKE(2, s->zp);
    TAKE(3, s->z_p);
#elif SYM == 1
    TAKE(0, s->zz);
    TAKE(1, s->rr);
    TAKE(2, s->zr);
    TAKE(3, s->rp);
    TAKE(4, s->z_r);
    EACH_VEC {
        s->pp[v] = s->rr[v], s->zp[v] = s->zr[v], s->z_p[v] = s->z_r[v];
        s->r_p[v] = FMA((REAL)-2, s->rp[v], s->rr[v]);
    }
#elif SYM == 2
    TAKE(0, s->rr);
    TAKE(1, s->zz);
    TAKE(2, s->zp);
    TAKE(3, s->zr);
    TAKE(4, s->z_r);
    EACH_VEC {
        s->pp[v] = s->zz[v], s->rp[v] = s->zr[v], s->r_p[v] = s->z_r[v];
        s->z_p[v] = FMA((REAL)-2, s->zp[v], s->zz[v]);
    }
#else
    TAKE(0, s->zz);
    TAKE(1, s->pp);
    TAKE(2, s->zp);
    TAKE(3, s->z_p);
    TAKE(4, s->rr);
    TAKE(5, s->zr);
    TAKE(6, s->rp);
    TAKE(7, s->z_r);
    TAKE(8, s->r_p);
#endif
}
