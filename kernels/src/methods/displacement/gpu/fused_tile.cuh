// The layout of shared memory in fused_2d.cu, and derivatives there.

#define U_Z (TZ + 16)
#define U_P (TX + 16)
#define S_Z (TZ + 8)
#define S_P (TX + 8)
#define U_CELLS (U_Z * U_P)
#define S_CELLS (S_Z * S_P)
#define V_CELLS (TZ * TX)
#define THREADS (((S_CELLS + AHEAD - 1) / AHEAD + 31) / 32 * 32)
#define CELLS ((V_CELLS + THREADS - 1) / THREADS)
#define S_ROW 0
#define T_ROW 0

// Pointer to the displacement of a cell, and the weights of the derivatives.
struct Cells {
    const REAL *u;
    const REAL (*weights)[RADIUS];
};

INLINE void along_z(const struct Cells *c, int component, REAL *out) {
    *out = slope(c->u + component * U_CELLS, 1, c->weights[0]);
}

INLINE void along_planes(const struct Cells *c, int component, REAL *out) {
    *out = slope(c->u + component * U_CELLS, U_Z, c->weights[2]);
}
