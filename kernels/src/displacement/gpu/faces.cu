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

// Cells 4 to 1 of a line that starts on the face and leads inwards.
INLINE void leave(REAL *next, const REAL *curr, WIDE inwards, REAL b) {
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

// The z faces of a line.
INLINE void leave_along_z(const struct Slab *s, REAL *next, const REAL *curr, int plane, int row, int top, int bottom) {
#if SURFACE == 0
    if (top) leave(next, curr, 1, face_factor(s, plane, row, s->nb, s->spacing[0]));
#endif
    if (bottom) leave(next + s->nz - 1, curr + s->nz - 1, -1, face_factor(s, plane, row, s->nz - 1, s->spacing[0]));
}

// Faces of z everywhere, faces of rows (2-D: of planes), and the sponge where the faces of planes do not follow.
// Blocks (0 .. across-1, plane, component) have the lines next to row faces, each a range of z (the last one takes the
// rest, so that no face of z is cut); the others have the lines between.
KERNEL(faces)(const struct Faces a) {
    const struct Slab *s = &a.s;
    const int component = blockIdx.z, thread = threadIdx.x;
    REAL *level = s->level[1 - a.now] + component * s->component;
    const REAL *curr = s->level[a.now] + component * s->component;
#if NDIM == 3
    const int plane = a.begin + blockIdx.y, n = s->rows, first = 0, last = n;
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
    const int low = first == 0, high = last == n;
    if (blockIdx.x >= a.across) {
        int q = MAX(first, FACE) + (blockIdx.x - a.across) * blockDim.x + thread;
        if (q >= MIN(last, n - FACE)) return;
        WIDE at = row_at(s, LINE_PLANE(q), LINE_ROW(q));
        leave_along_z(s, level + at, curr + at, LINE_PLANE(q), LINE_ROW(q), 1, 1);
        if (damped) {
            for (int i = 0; i < FACE; i++) {
                int mirror = s->nz - 1 - i;
                level[at + i] *= sponge_at(s, LINE_PLANE(q), LINE_ROW(q), i);
                if (mirror >= FACE) level[at + mirror] *= sponge_at(s, LINE_PLANE(q), LINE_ROW(q), mirror);
            }
        }
        return;
    }
    // Lines of the row faces: first each along z, then across them.
    const int begin = blockIdx.x * blockDim.x, end = blockIdx.x + 1 == a.across ? s->nz : begin + blockDim.x;
    for (int k = thread; k < 2 * FACE; k += blockDim.x) {
        int q = k < FACE ? k : n - 1 - (k - FACE);
        if (k < FACE ? low : high && q >= FACE) {
            WIDE at = row_at(s, LINE_PLANE(q), LINE_ROW(q));
            leave_along_z(s, level + at, curr + at, LINE_PLANE(q), LINE_ROW(q), begin == 0, end == s->nz);
        }
    }
    __syncthreads();
    for (int z = begin + thread; z < end; z += blockDim.x) {
        for (int side = 0; side < 2; side++) {
            if (!(side ? high : low)) continue;
            int q = side ? n - 1 : 0;
            WIDE at = row_at(s, LINE_PLANE(q), LINE_ROW(q)) + z, inwards = side ? -step : step;
            leave(level + at, curr + at, inwards, face_factor(s, LINE_PLANE(q), LINE_ROW(q), z, s->spacing[1]));
        }
        for (int k = 0; damped && k < 2 * FACE; k++) {
            int q = k < FACE ? k : n - 1 - (k - FACE);
            if (k < FACE ? low : high && q >= FACE) {
                level[row_at(s, LINE_PLANE(q), LINE_ROW(q)) + z] *= sponge_at(s, LINE_PLANE(q), LINE_ROW(q), z);
            }
        }
    }
}

#if NDIM == 3
// Faces of planes, if this part has them, and the sponge there. A thread has a line across the planes.
KERNEL(plane_faces)(const struct Faces a) {
    const struct Slab *s = &a.s;
    const int z = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y, n = s->planes;
    if (z >= s->nz) return;
    REAL *level = s->level[1 - a.now] + blockIdx.z * s->component;
    const REAL *curr = s->level[a.now] + blockIdx.z * s->component;
    const WIDE step = (WIDE)s->rows * s->pitch;
    const int low = a.begin == 0, high = a.end == n;
    for (int side = 0; side < 2; side++) {
        if (!(side ? high : low)) continue;
        int q = side ? n - 1 : 0;
        WIDE at = row_at(s, q, row) + z, inwards = side ? -step : step;
        leave(level + at, curr + at, inwards, face_factor(s, q, row, z, s->spacing[2]));
    }
    for (int k = 0; k < 2 * FACE; k++) {
        int q = k < FACE ? k : n - 1 - (k - FACE);
        if (k < FACE ? low : high && q >= FACE) level[row_at(s, q, row) + z] *= sponge_at(s, q, row, z);
    }
}
#endif
