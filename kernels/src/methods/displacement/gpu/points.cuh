// The pointwise functions of a step in 2-D and 3-D: strain (eq. 1), stress by Hooke's law (eq. 2), and the part of the
// divergence of stress (eq. 3) with derivatives inside a plane. All forms of the sweep call them.
//
// Each form defines, before this file is included, the derivatives of displacement at VEC cells that `struct Cells`
// describes: along_z, along_rows (3-D) and along_planes of a component.
//
// Macros that the host defines: SYM, the number of the symmetry class (stiffness.cuh); SURFACE, which is 0 for none, 1
// for vacuum and 2 for traction; FORCE_CELLS, the number of cells for which a thread computes the force at a time;
// S_ROW and T_ROW, the distance between rows of the stress zr, and of rr and rp (3-D).

// The stresses that are needed: the ones that are differentiated along z, rows or planes.
struct StressAxes {
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

INLINE void normal_strains(const struct Cells *u, struct Tensor *e) {
    along_z(u, C_Z, e->zz);
#if NDIM == 3
    along_rows(u, C_R, e->rr);
#endif
    along_planes(u, C_P, e->pp);
}

// The engineering shear strains, D_a u_b + D_b u_a.
INLINE void strain_zp(const struct Cells *u, REAL *out) {
    REAL other[VEC];
    along_planes(u, C_Z, out);
    along_z(u, C_P, other);
    EACH_VEC out[v] += other[v];
}

#if NDIM == 3
INLINE void strain_zr(const struct Cells *u, REAL *out) {
    REAL other[VEC];
    along_rows(u, C_Z, out);
    along_z(u, C_R, other);
    EACH_VEC out[v] += other[v];
}

INLINE void strain_rp(const struct Cells *u, REAL *out) {
    REAL other[VEC];
    along_planes(u, C_R, out);
    along_rows(u, C_P, other);
    EACH_VEC out[v] += other[v];
}
#endif

// Hooke's law between normal strains and stresses.
INLINE void hooke_normal(const struct Stiffness *c, const struct Tensor *e, struct StressAxes axes, struct Tensor *s) {
#if NDIM == 3
    if (axes.z) EACH_VEC {
        s->zz[v] = FMA(c->z_r[v], e->rr[v], FMA(c->z_p[v], e->pp[v], c->zz[v] * e->zz[v]));
    }
    if (axes.rows) EACH_VEC {
        s->rr[v] = FMA(c->rr[v], e->rr[v], FMA(c->z_r[v], e->zz[v], c->r_p[v] * e->pp[v]));
    }
    if (axes.planes) EACH_VEC {
        s->pp[v] = FMA(c->r_p[v], e->rr[v], FMA(c->z_p[v], e->zz[v], c->pp[v] * e->pp[v]));
    }
#else
    EACH_VEC {
        s->zz[v] = FMA(c->z_p[v], e->pp[v], c->zz[v] * e->zz[v]);
        s->pp[v] = FMA(c->z_p[v], e->zz[v], c->pp[v] * e->pp[v]);
    }
#endif
}

// A shear stress from the strain of the same axes.
INLINE void hooke_shear(const REAL *c, const REAL *e, REAL *s) { EACH_VEC s[v] = c[v] * e[v]; }

#if SYM == 4
// Adds three products to a number of each cell.
#define ADD(s, a, x, b, y, c, z) (s) = FMA(a, x, FMA(b, y, FMA(c, z, s)))

// Adds the remaining terms of Hooke's law, which couple shear strains with other components and vanish if the
// coordinate planes are symmetry planes.
INLINE void hooke_others(const struct Stiffness *c, const struct Tensor *e, struct StressAxes axes, struct Tensor *s) {
#if NDIM == 3
    EACH_VEC {
        const REAL zz = e->zz[v], pp = e->pp[v], rr = e->rr[v], zp = e->zp[v], zr = e->zr[v], rp = e->rp[v];
        ADD(s->zr[v], c->zz_zr[v], zz, c->pp_zr[v], pp, c->rr_zr[v], rr);
        s->zr[v] = FMA(c->zp_zr[v], zp, FMA(c->zr_rp[v], rp, s->zr[v]));
        if (axes.z) {
            ADD(s->zz[v], c->zz_zp[v], zp, c->zz_zr[v], zr, c->zz_rp[v], rp);
            ADD(s->zp[v], c->zz_zp[v], zz, c->pp_zp[v], pp, c->rr_zp[v], rr);
            s->zp[v] = FMA(c->zp_zr[v], zr, FMA(c->zp_rp[v], rp, s->zp[v]));
        }
        if (axes.rows) {
            ADD(s->rr[v], c->rr_zp[v], zp, c->rr_zr[v], zr, c->rr_rp[v], rp);
            ADD(s->rp[v], c->zz_rp[v], zz, c->pp_rp[v], pp, c->rr_rp[v], rr);
            s->rp[v] = FMA(c->zp_rp[v], zp, FMA(c->zr_rp[v], zr, s->rp[v]));
        }
        if (axes.planes) ADD(s->pp[v], c->pp_zp[v], zp, c->pp_zr[v], zr, c->pp_rp[v], rp);
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

// At a traction-free surface (SURFACE 2), sets the stress to zero in cells above nb; `z` is the first of VEC cells.
INLINE void free_of_traction(int z, int nb, REAL *stress) {
#if SURFACE == 2
    EACH_VEC stress[v] *= z + v >= nb;
#endif
}

#if SYM == 4
// All stresses of VEC cells from the displacement around them; each depends on every strain.
INLINE void stress_of(const struct Cells *u, const struct Stiffness *c, struct StressAxes axes, int z, int nb, struct Tensor *s) {
    struct Tensor e;
    normal_strains(u, &e);
    hooke_normal(c, &e, axes, s);
    strain_zp(u, e.zp);
    if (axes.z) hooke_shear(c->zp, e.zp, s->zp);
#if NDIM == 3
    strain_zr(u, e.zr);
    hooke_shear(c->zr, e.zr, s->zr);
    strain_rp(u, e.rp);
    if (axes.rows) hooke_shear(c->rp, e.rp, s->rp);
#endif
    hooke_others(c, &e, axes, s);
    free_of_traction(z, nb, s->zz);
    free_of_traction(z, nb, s->zp);
#if NDIM == 3
    free_of_traction(z, nb, s->zr);
#endif
}
#else
// The normal stresses of VEC cells from the displacement around them; the shear stresses follow in separate functions.
INLINE void normal_stress(const struct Cells *u, const struct Stiffness *c, struct StressAxes axes, int z, int nb, struct Tensor *s) {
    struct Tensor e;
    normal_strains(u, &e);
    hooke_normal(c, &e, axes, s);
    free_of_traction(z, nb, s->zz);
}

INLINE void stress_zp(const struct Cells *u, const struct Stiffness *c, int z, int nb, REAL *s) {
    strain_zp(u, s);
    hooke_shear(c->zp, s, s);
    free_of_traction(z, nb, s);
}

#if NDIM == 3
INLINE void stress_zr(const struct Cells *u, const struct Stiffness *c, int z, int nb, REAL *s) {
    strain_zr(u, s);
    hooke_shear(c->zr, s, s);
    free_of_traction(z, nb, s);
}

INLINE void stress_rp(const struct Cells *u, const struct Stiffness *c, REAL *s) {
    strain_rp(u, s);
    hooke_shear(c->rp, s, s);
}
#endif

// All stresses of VEC cells.
INLINE void stress_of(const struct Cells *u, const struct Stiffness *c, struct StressAxes axes, int z, int nb, struct Tensor *s) {
    normal_stress(u, c, axes, z, nb, s);
#if NDIM == 3
    stress_zr(u, c, z, nb, s->zr);
    if (axes.rows) stress_rp(u, c, s->rp);
#endif
    if (axes.z) stress_zp(u, c, z, nb, s->zp);
}
#endif

// Pointers to the stresses of FORCE_CELLS cells.
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

// The force on FORCE_CELLS cells, without the derivatives along planes.
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
