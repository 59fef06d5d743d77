// Step 8 on the outer faces: the one-way condition (boundary/one_way.rs) on the faces of z, rows and planes, in this
// order, then the sponge on the cells for which `is_near_face` holds. With SURFACE 0 the condition applies on top, too.

struct Faces {
    struct Slab s;
    int now;
    int begin, end;  // planes of this part; faces of planes are never divided between two parts
    int across;      // blocks along z
};

// Weights of the sponge on the six cells of a line across rows or planes; all are 1 if the sponge is applied later.
struct Damping {
    REAL cell[FACE];
};

// The one-way condition on cells 4 to 1 of a line that leads inwards from the face, then the sponge on cells 0 to 5,
// for all components. All cells are read before any is written.
INLINE void leave(const struct Slab *s, int now, WIDE at, WIDE inwards, REAL b, const struct Damping *damping) {
    REAL next[NDIM][FACE], curr[NDIM][FACE];
    UNROLL for (int c = 0; c < NDIM; c++) {
        const WIDE from = c * s->component + at;
        UNROLL for (int i = 1; i < FACE; i++) curr[c][i] = s->level[now][from + i * inwards];
        next[c][FACE - 1] = s->level[1 - now][from + (FACE - 1) * inwards];
        next[c][0] = damping ? s->level[1 - now][from] : 0;
    }
    UNROLL for (int c = 0; c < NDIM; c++) {
        REAL *to = s->level[1 - now] + c * s->component + at;
        UNROLL for (int i = RADIUS; i > 0; i--) {
            next[c][i] = one_way(curr[c][i], curr[c][i + 1], next[c][i + 1], b);
        }
        UNROLL for (int i = 0; i < FACE; i++) {
            if (damping) to[i * inwards] = next[c][i] * damping->cell[i];
            else if (i > 0 && i < FACE - 1) to[i * inwards] = next[c][i];
        }
    }
}

// The one-way condition at the top (side 0) or the bottom of a line.
INLINE void leave_along_z(const struct Faces *a, int plane, int row, int side) {
    const struct Slab *s = &a->s;
    const int z = side ? s->nz - 1 : 0;
    if (SURFACE && !side) return;
    leave(s, a->now, row_at(s, plane, row) + z, side ? -1 : 1, face_factor(s, plane, row, z, s->spacing[0]), 0);
}

// The sponge on a cell, for all components.
INLINE void dampen(const struct Faces *a, int plane, int row, int z) {
    const struct Slab *s = &a->s;
    const REAL w = sponge_at(s, plane, row, z);
    REAL *next = s->level[1 - a->now] + row_at(s, plane, row) + z;
    UNROLL for (int c = 0; c < NDIM; c++) next[c * s->component] *= w;
}

#define LINES 32  // most lines along z, between the row faces, of a block
#define CHUNK 8   // number of cells of a line that are read, from the face inwards

// Applies the one-way condition and the sponge at one z face to at most LINES lines along z: rows of a plane in 3-D,
// planes in 2-D. Lines that belong to a face of rows (2-D: of planes) are left out. Consecutive threads read and write
// eight consecutive cells of a line.
INLINE void lines_between(const struct Faces *a, int first, int last, int n, int start, int part, int side) {
    const struct Slab *s = &a->s;
    __shared__ REAL next[NDIM][LINES][CHUNK + 1], curr[NDIM][LINES][CHUNK + 1];
    const int thread = threadIdx.x, plane = a->begin + part, begin = MAX(first, FACE) + start;
    const int count = MIN(MIN(last, n - FACE) - begin, LINES);
    const int damped = NDIM == 2 || (plane >= FACE && plane < s->planes - FACE);
    if (count <= 0) return;
#define BETWEEN_AT(q) (NDIM == 3 ? row_at(s, plane, q) : row_at(s, q, 0))
    for (int k = thread; k < count * CHUNK; k += blockDim.x) {
        int i = k % CHUNK, line = k / CHUNK;
        WIDE at = BETWEEN_AT(begin + line) + (side ? s->nz - 1 - i : i);
        UNROLL for (int c = 0; c < NDIM; c++) {
            next[c][line][i] = s->level[1 - a->now][c * s->component + at];
            curr[c][line][i] = s->level[a->now][c * s->component + at];
        }
    }
    BLOCK_BARRIER;
    for (int k = thread; k < count * NDIM && !(SURFACE && !side); k += blockDim.x) {
        int line = k / NDIM, c = k % NDIM, q = begin + line;
        REAL b = face_factor(s, NDIM == 3 ? plane : q, NDIM == 3 ? q : 0, side ? s->nz - 1 : 0, s->spacing[0]);
        REAL inner = next[c][line][RADIUS + 1];
        UNROLL for (int i = RADIUS; i > 0; i--) {
            next[c][line][i] = inner = one_way(curr[c][line][i], curr[c][line][i + 1], inner, b);
        }
    }
    BLOCK_BARRIER;
    for (int k = thread; k < count * CHUNK; k += blockDim.x) {
        int i = k % CHUNK, line = k / CHUNK, z = side ? s->nz - 1 - i : i, q = begin + line;
        if (i >= FACE) continue;
        REAL w = damped ? sponge_at(s, NDIM == 3 ? plane : q, NDIM == 3 ? q : 0, z) : 1;
        UNROLL for (int c = 0; c < NDIM; c++) {
            s->level[1 - a->now][c * s->component + BETWEEN_AT(q) + z] = next[c][line][i] * w;
        }
    }
}

// All faces of z, faces of rows (2-D: of planes), and the sponge, except on faces of planes, which follow. Blocks
// (0 .. across-1, plane, side) compute the lines next to a row face, each a range of z (the last one includes the
// remainder, so that no face of z is divided); the other blocks compute one z face of the lines between row faces. If
// two opposite faces share cells, side 0 computes both, one after the other.
KERNEL(faces)(const struct Faces a) {
    const int block = blockIdx.x, part = blockIdx.y, side = blockIdx.z;
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
    if (block >= a.across && s->nz >= 2 * FACE) {
        lines_between(&a, first, last, n, (block - a.across) * LINES, part, side);
        return;
    }
    if (block >= a.across) {
        const int both = s->nz < 2 * FACE, q = MAX(first, FACE) + (block - a.across) * LINES + thread;
        if (thread >= LINES || q >= MIN(last, n - FACE) || (both && side)) return;
        for (int k = side; k <= (both ? 1 : side); k++) leave_along_z(&a, LINE_PLANE(q), LINE_ROW(q), k);
        for (int i = 0; damped && i < (both ? s->nz : FACE); i++) {
            dampen(&a, LINE_PLANE(q), LINE_ROW(q), side ? s->nz - 1 - i : i);
        }
        return;
    }
    // Lines next to row faces: first the faces of z, then the row face.
    const int both = n < 2 * FACE, begin = block * blockDim.x;
    const int end = block + 1 == a.across ? s->nz : begin + blockDim.x;
    if ((both && side) || (side ? last != n : first != 0)) return;
    const int start = side ? n - FACE : 0, count = both ? n : FACE;
    for (int k = thread; k < 2 * count; k += blockDim.x) {
        int bottom = k >= count, q = start + k % count;
        // One thread computes both faces of a short line.
        if (s->nz < 2 * FACE ? bottom : (bottom ? end != s->nz : begin != 0)) continue;
        leave_along_z(&a, LINE_PLANE(q), LINE_ROW(q), bottom);
        if (s->nz < 2 * FACE) leave_along_z(&a, LINE_PLANE(q), LINE_ROW(q), 1);
    }
    BLOCK_BARRIER;
    for (int z = begin + thread; z < end; z += blockDim.x) {
        struct Damping damping;
        UNROLL for (int i = 0; i < FACE; i++) {
            int q = side ? n - 1 - i : i;
            damping.cell[i] = damped ? sponge_at(s, LINE_PLANE(q), LINE_ROW(q), z) : 1;
        }
        for (int k = side; k <= (both ? 1 : side); k++) {
            int q = k ? n - 1 : 0;
            leave(s, a.now, row_at(s, LINE_PLANE(q), LINE_ROW(q)) + z, k ? -step : step,
                  face_factor(s, LINE_PLANE(q), LINE_ROW(q), z, s->spacing[1]), both ? 0 : &damping);
        }
        for (int k = 0; both && damped && k < count; k++) dampen(&a, LINE_PLANE(start + k), LINE_ROW(start + k), z);
    }
}

#if NDIM == 3
// Faces of planes, if they are in this part, and the sponge there. Each thread computes a line across the planes.
KERNEL(plane_faces)(const struct Faces a) {
    const struct Slab *s = &a.s;
    const int z = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y, n = s->planes;
    if (z >= s->nz) return;
    const WIDE step = (WIDE)s->rows * s->pitch;
    const int low = a.begin == 0, high = a.end == n, both = n < 2 * FACE, side = blockIdx.z;
    if (!(side ? high : low) || (both && side)) return;
    struct Damping damping;
    UNROLL for (int i = 0; i < FACE; i++) damping.cell[i] = sponge_at(s, side ? n - 1 - i : i, row, z);
    for (int k = side; k <= (both ? 1 : side); k++) {
        int q = k ? n - 1 : 0;
        leave(s, a.now, row_at(s, q, row) + z, k ? -step : step, face_factor(s, q, row, z, s->spacing[2]),
              both ? 0 : &damping);
    }
    for (int k = 0; both && k < n; k++) dampen(&a, k, row, z);
}
#endif
