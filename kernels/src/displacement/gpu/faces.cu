// Step 8 on the outer faces: the one-way condition (boundary/one_way.rs), z before rows before planes, then the sponge
// on the cells that `in_shell` names. ONE_WAY 0 box, 1 upwind; SURFACE 0: the condition holds on top, too.

struct Faces {
    struct Slab s;
    int now;
    int begin, end;  // planes of this part; faces of planes are never split over two parts
    int across;      // blocks along z
};

// b = (1-q)/(1+q), q = sqrt(c55/rho) dt/d, of the model cell that the frame repeats at a padded cell.
INLINE REAL face_factor(const struct Slab *s, int plane, int row, int z, REAL d) {
    WIDE at = medium_at(s, plane, row) + CLAMP(z, s->nb, s->nb + s->model_nz - 1);
    REAL q = SQRT(s->stiffness[SHEAR_SLOT][at] * s->buoyancy[at]) / d;
    return (1 - q) / (1 + q);
}

// Cells 4 to 1 of a line that starts on the face and leads inwards, all components.
INLINE void leave(const struct Slab *s, int now, WIDE at, WIDE inwards, REAL b) {
    UNROLL for (int c = 0; c < NDIM; c++) {
        REAL *next = s->level[1 - now] + c * s->component + at;
        const REAL *curr = s->level[now] + c * s->component + at;
        REAL inner = next[RADIUS * inwards + inwards];
        UNROLL for (int i = RADIUS; i > 0; i--) {
            REAL u = curr[i * inwards];
#if ONE_WAY == 0
            inner = FMA(u - inner, b, curr[(i + 1) * inwards]);
#else
            inner = (REAL)0.5 * FMA(u - inner, b, u + inner);
#endif
            next[i * inwards] = inner;
        }
    }
}

// The top (side 0) or the bottom face of a line.
INLINE void leave_along_z(const struct Faces *a, int plane, int row, int side) {
    const struct Slab *s = &a->s;
    const int z = side ? s->nz - 1 : 0;
    if (SURFACE && !side) return;
    leave(s, a->now, row_at(s, plane, row) + z, side ? -1 : 1, face_factor(s, plane, row, z, s->spacing[0]));
}

// The sponge on a cell, all components.
INLINE void dampen(const struct Faces *a, int plane, int row, int z) {
    const struct Slab *s = &a->s;
    const REAL w = sponge_at(s, plane, row, z);
    REAL *next = s->level[1 - a->now] + row_at(s, plane, row) + z;
    UNROLL for (int c = 0; c < NDIM; c++) next[c * s->component] *= w;
}

// Faces of z everywhere, faces of rows (2-D: of planes), and the sponge where the faces of planes do not follow.
// Blocks (0 .. across-1, plane, side) have the lines next to a row face, each a range of z (the last one takes the
// rest, so that no face of z is cut); the others have one z face of the lines between. Where two faces share cells, side
// 0 does both, one after the other.
INLINE void do_faces(const struct Faces *f, int block, int part, int side) {
    const struct Faces a = *f;
    const struct Slab *s = &a.s;
    const int thread = threadIdx.x;
#if NDIM == 3
    const int plane = a.begin + part, n = s->rows, first = 0, last = n;
    const int damped = plane >= FACE && plane < s->planes - FACE;
#define LINE_PLANE(q) plane
#define LINE_ROW(q) (q)
    const WIDE step = s->pitch;
#else
    const int n = s->planes, first = a.begin, last = a.end, damped = 1;
#define LINE_PLANE(q) (q)
#define LINE_ROW(q) 0
    const WIDE step = (WIDE)s->rows * s->pitch;
#endif
    if (block >= a.across) {
        const int both = s->nz < 2 * FACE, q = MAX(first, FACE) + (block - a.across) * blockDim.x + thread;
        if (q >= MIN(last, n - FACE) || (both && side)) return;
        for (int k = side; k <= (both ? 1 : side); k++) leave_along_z(&a, LINE_PLANE(q), LINE_ROW(q), k);
        for (int i = 0; damped && i < (both ? s->nz : FACE); i++) {
            dampen(&a, LINE_PLANE(q), LINE_ROW(q), side ? s->nz - 1 - i : i);
        }
        return;
    }
    // Lines next to row faces: first each along z, then across them.
    const int both = n < 2 * FACE, begin = block * blockDim.x;
    const int end = block + 1 == a.across ? s->nz : begin + blockDim.x;
    if ((both && side) || (side ? last != n : first != 0)) return;
    const int start = side ? n - FACE : 0, count = both ? n : FACE;
    for (int k = thread; k < 2 * count; k += blockDim.x) {
        int bottom = k >= count, q = start + k % count;
        // Both faces of a short line are one thread's.
        if (s->nz < 2 * FACE ? bottom : (bottom ? end != s->nz : begin != 0)) continue;
        leave_along_z(&a, LINE_PLANE(q), LINE_ROW(q), bottom);
        if (s->nz < 2 * FACE) leave_along_z(&a, LINE_PLANE(q), LINE_ROW(q), 1);
    }
    __syncthreads();
    for (int z = begin + thread; z < end; z += blockDim.x) {
        for (int k = side; k <= (both ? 1 : side); k++) {
            int q = k ? n - 1 : 0;
            leave(s, a.now, row_at(s, LINE_PLANE(q), LINE_ROW(q)) + z, k ? -step : step,
                  face_factor(s, LINE_PLANE(q), LINE_ROW(q), z, s->spacing[1]));
        }
        for (int k = 0; damped && k < count; k++) dampen(&a, LINE_PLANE(start + k), LINE_ROW(start + k), z);
    }
}

KERNEL(faces)(const struct Faces a) { do_faces(&a, blockIdx.x, blockIdx.y, blockIdx.z); }

#if NDIM == 3
// Faces of planes, if this part has them, and the sponge there. A thread has a line across the planes.
KERNEL(plane_faces)(const struct Faces a) {
    const struct Slab *s = &a.s;
    const int z = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y, n = s->planes;
    if (z >= s->nz) return;
    const WIDE step = (WIDE)s->rows * s->pitch;
    const int low = a.begin == 0, high = a.end == n, both = n < 2 * FACE, side = blockIdx.z;
    if (!(side ? high : low) || (both && side)) return;
    for (int k = side; k <= (both ? 1 : side); k++) {
        int q = k ? n - 1 : 0;
        leave(s, a.now, row_at(s, q, row) + z, k ? -step : step, face_factor(s, q, row, z, s->spacing[2]));
    }
    for (int k = 0; k < (both ? n : FACE); k++) dampen(&a, side ? n - 1 - k : k, row, z);
}
#endif
