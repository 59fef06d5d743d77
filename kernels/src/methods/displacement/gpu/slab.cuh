// One slab of the grid for kernels; displacement/gpu/arguments.rs has the same structure.
//
// Levels are [component][ghost + own + ghost planes][row][z], z fastest, components z, row, plane (2-D: z, plane).
// The medium is [model plane from medium_first on][model row][padded z].

#define RADIUS 4
#define GHOST 8
#define FACE 6

#define C_Z 0
#define C_R 1
#define C_P (NDIM - 1)

struct Slab {
    REAL *level[2];
    const REAL *stiffness[21];  // the coefficients that the class stores, see stiffness.cuh
    const REAL *buoyancy;      // dt^2/rho, zero in the rim along z
    const REAL *sponge[3];     // weights along z, row, plane
    WIDE component;            // distance from one component to the next, in numbers
    REAL weights[3][RADIUS];   // W_m / d along z, row, plane
    REAL spacing[3];
    int nz, pitch, rows, planes;
    int nb, model_nz, model_rows, model_planes;
    int first, own, medium_first, padding;
};

// Offset of a row of a plane (own or ghost) in a component.
INLINE WIDE row_at(const struct Slab *s, int plane, int row) {
    return ((WIDE)(plane + GHOST - s->first) * s->rows + row) * s->pitch;
}

// Offset of the medium of a padded row; rows and planes of the frame repeat the edge of the model.
INLINE WIDE medium_at(const struct Slab *s, int plane, int row) {
    int p = CLAMP(plane - s->nb, 0, s->model_planes - 1) - s->medium_first;
    int r = NDIM == 3 ? CLAMP(row - s->nb, 0, s->model_rows - 1) : 0;
    return ((WIDE)p * s->model_rows + r) * s->pitch;
}

// Whether a cell is next to a face. In these cells the sponge is applied after the one-way condition; in all others it
// is applied with the time step.
INLINE int is_near_face(const struct Slab *s, int plane, int row, int z) {
    return z < FACE || z >= s->nz - FACE || plane < FACE || plane >= s->planes - FACE ||
           (NDIM == 3 && (row < FACE || row >= s->rows - FACE));
}

INLINE int is_live(int i, int n) { return i >= RADIUS && i < n - RADIUS; }

INLINE REAL sponge_at(const struct Slab *s, int plane, int row, int z) {
    return s->sponge[0][z] * (s->sponge[1][NDIM == 3 ? row : 0] * s->sponge[2][plane]);
}

// The arguments of all forms of the sweep.
struct Sweep {
    struct Slab s;
    int now;         // index of the level u(t); the other level becomes u(t+dt)
    int begin, end;  // the planes to compute
    int chunk;       // number of planes of one block (fused_2d.cu: TX)
    const void *box[2];  // with BULK in 3-D: tensor map of the planes around a tile, for each level
};

// W . (f(m) - f(-m)) of one cell.
INLINE REAL slope(const REAL *f, int stride, const REAL *w) {
    REAL sum = w[3] * (f[4 * stride] - f[-4 * stride]);
    sum = FMA(w[2], f[3 * stride] - f[-3 * stride], sum);
    sum = FMA(w[1], f[2 * stride] - f[-2 * stride], sum);
    return FMA(w[0], f[stride] - f[-stride], sum);
}
