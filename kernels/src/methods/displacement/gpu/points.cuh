// The point functions of a step, once a dimension: strain (eq. 1), stress by Hooke's law (eq. 2) and the part of the
// divergence of stress (eq. 3) that is differentiated inside a plane. All forms of the sweep call them.
//
// A form says before this text how displacement is differentiated around VEC cells that `struct Cells` describes: along_z,
// along_rows (3-D) and along_planes of a component.
//
// Defines: SYM, SURFACE 0 none, 1 vacuum, 2 traction; FORCE_CELLS of a thread whose force is one sum; S_ROW and T_ROW,
// numbers between rows of the stresses zr, and rr and rp (3-D).

// Which stresses of a cell are wanted: those differentiated along z, rows, planes.
struct Wanted {
    int z, rows, planes;
};

// Engineering strain or stress of VEC cells.
struct Tensor {
    REAL zz[VEC], pp[VEC], zp[VEC];
#if NDIM == 3
    REAL rr[VEC], zr[VEC], rp[VEC];
#endif
};

INLINE void set_zero(struct Tensor *t) {
    EACH_VEC {
        t->zz[v] = t->pp[v] = t->zp[v] = 0;
#if NDIM == 3
        t->rr[v] = t->zr[v] = t->rp[v] = 0;
#endif
    }
}

// D_a u_b + D_b u_a from its two parts.
INLINE void shear(const REAL *one, const REAL *other, REAL *out) { EACH_VEC out[v] = one[v] + other[v]; }

INLINE void normal_strains(const struct Cells *u, struct Tensor *e) {
    along_z(u, C_Z, e->zz);
#if NDIM == 3
    along_rows(u, C_R, e->rr);
#endif
    along_planes(u, C_P, e->pp);
}

// The shear strains that the wanted stresses need; with all coefficients each stress needs each strain.
INLINE void shear_strains(const struct Cells *u, struct Wanted wanted, struct Tensor *e) {
    REAL d[VEC], f[VEC];
#if NDIM == 3
    along_rows(u, C_Z, d);
    along_z(u, C_R, f);
    shear(d, f, e->zr);
#endif
    if (wanted.z || SYM == 4) {
        along_planes(u, C_Z, d);
        along_z(u, C_P, f);
        shear(d, f, e->zp);
    }
#if NDIM == 3
    if (wanted.rows || SYM == 4) {
        along_planes(u, C_R, d);
        along_rows(u, C_P, f);
        shear(d, f, e->rp);
    }
#endif
}

// Hooke's law between normal strains and stresses.
INLINE void hooke_normal(const struct Stiffness *c, const struct Tensor *e, struct Wanted wanted, struct Tensor *s) {
#if NDIM == 3
    if (wanted.z) EACH_VEC {
        s->zz[v] = FMA(c->z_r[v], e->rr[v], FMA(c->z_p[v], e->pp[v], c->zz[v] * e->zz[v]));
    }
    if (wanted.rows) EACH_VEC {
        s->rr[v] = FMA(c->rr[v], e->rr[v], FMA(c->z_r[v], e->zz[v], c->r_p[v] * e->pp[v]));
    }
    if (wanted.planes) EACH_VEC {
        s->pp[v] = FMA(c->r_p[v], e->rr[v], FMA(c->z_p[v], e->zz[v], c->pp[v] * e->pp[v]));
    }
#else
    EACH_VEC {
        s->zz[v] = FMA(c->z_p[v], e->pp[v], c->zz[v] * e->zz[v]);
        s->pp[v] = FMA(c->z_p[v], e->zz[v], c->pp[v] * e->pp[v]);
    }
#endif
}

// Between each shear strain and its stress.
INLINE void hooke_shear(const struct Stiffness *c, const struct Tensor *e, struct Wanted wanted, struct Tensor *s) {
    if (wanted.z) EACH_VEC s->zp[v] = c->zp[v] * e->zp[v];
#if NDIM == 3
    EACH_VEC s->zr[v] = c->zr[v] * e->zr[v];
    if (wanted.rows) EACH_VEC s->rp[v] = c->rp[v] * e->rp[v];
#endif
}

#if SYM == 4
// Adds three products to a number of each cell.
#define ADD(s, a, x, b, y, c, z) (s) = FMA(a, x, FMA(b, y, FMA(c, z, s)))

// Between normal strains and shear stresses, shear strains and the others: zero where the coordinate planes are symmetry
// planes.
INLINE void hooke_others(const struct Stiffness *c, const struct Tensor *e, struct Wanted wanted, struct Tensor *s) {
#if NDIM == 3
    EACH_VEC {
        const REAL zz = e->zz[v], pp = e->pp[v], rr = e->rr[v], zp = e->zp[v], zr = e->zr[v], rp = e->rp[v];
        ADD(s->zr[v], c->zz_zr[v], zz, c->pp_zr[v], pp, c->rr_zr[v], rr);
        s->zr[v] = FMA(c->zp_zr[v], zp, FMA(c->zr_rp[v], rp, s->zr[v]));
        if (wanted.z) {
            ADD(s->zz[v], c->zz_zp[v], zp, c->zz_zr[v], zr, c->zz_rp[v], rp);
            ADD(s->zp[v], c->zz_zp[v], zz, c->pp_zp[v], pp, c->rr_zp[v], rr);
            s->zp[v] = FMA(c->zp_zr[v], zr, FMA(c->zp_rp[v], rp, s->zp[v]));
        }
        if (wanted.rows) {
            ADD(s->rr[v], c->rr_zp[v], zp, c->rr_zr[v], zr, c->rr_rp[v], rp);
            ADD(s->rp[v], c->zz_rp[v], zz, c->pp_rp[v], pp, c->rr_rp[v], rr);
            s->rp[v] = FMA(c->zp_rp[v], zp, FMA(c->zr_rp[v], zr, s->rp[v]));
        }
        if (wanted.planes) ADD(s->pp[v], c->pp_zp[v], zp, c->pp_zr[v], zr, c->pp_rp[v], rp);
    }
#else
    EACH_VEC {
        s->zz[v] = FMA(c->zz_zp[v], e->zp[v], s->zz[v]);
        s->pp[v] = FMA(c->pp_zp[v], e->zp[v], s->pp[v]);
        s->zp[v] = FMA(c->zz_zp[v], e->zz[v], FMA(c->pp_zp[v], e->pp[v], s->zp[v]));
    }
#endif
}
#endif

// The stress of VEC cells from the displacement around them, `z` being the first; SURFACE 2 leaves no traction above nb.
INLINE void stress_of(const struct Cells *u, const struct Stiffness *c, struct Wanted wanted, int z, int nb, struct Tensor *s) {
    struct Tensor e;
    // In this order few numbers are held at once.
    normal_strains(u, &e);
    hooke_normal(c, &e, wanted, s);
    shear_strains(u, wanted, &e);
    hooke_shear(c, &e, wanted, s);
#if SYM == 4
    hooke_others(c, &e, wanted, s);
#endif
#if SURFACE == 2
    EACH_VEC {
        const REAL below = z + v >= nb;
        s->zz[v] *= below, s->zp[v] *= below;
#if NDIM == 3
        s->zr[v] *= below;
#endif
    }
#endif
}

// Where the stresses of FORCE_CELLS cells lie.
struct Around {
    const REAL *zz, *zp;
#if NDIM == 3
    const REAL *zr, *rr, *rp;
#endif
};

#if FORCE_CELLS == 1
#define DERIVE_Z(p, w, out) *(out) = slope(p, 1, w)
#define DERIVE_ROW(p, stride, w, out) *(out) = slope(p, stride, w)
#else
#define DERIVE_Z(p, w, out) slopes_z(p, w, out)
#define DERIVE_ROW(p, stride, w, out) slopes(p, stride, w, out)
#endif
#define EACH_FORCE UNROLL for (int v = 0; v < FORCE_CELLS; v++)

// Force of FORCE_CELLS cells but for what is differentiated along planes.
INLINE void divergence(const struct Around *s, const REAL *wz, const REAL *wr, REAL (*out)[FORCE_CELLS]) {
    DERIVE_Z(s->zz, wz, out[C_Z]);
    DERIVE_Z(s->zp, wz, out[C_P]);
#if NDIM == 3
    REAL d[FORCE_CELLS];
    DERIVE_Z(s->zr, wz, out[C_R]);
    DERIVE_ROW(s->zr, S_ROW, wr, d);
    EACH_FORCE out[C_Z][v] += d[v];
    DERIVE_ROW(s->rr, T_ROW, wr, d);
    EACH_FORCE out[C_R][v] += d[v];
    DERIVE_ROW(s->rp, T_ROW, wr, d);
    EACH_FORCE out[C_P][v] += d[v];
#endif
}
