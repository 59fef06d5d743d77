// The data of a linearised run in the kernels; born/gpu/arguments.rs has the same structures. A thread has VEC cells
// along z, which it reads and writes as a vector, or one cell in kernels over the nodes of a surface.
//
// Fields are [field][plane][row][z], z fastest. Axes are 0 = z, 1 = row (3-D only), 2 = plane; `i`, `j` number the axes
// that exist, so that velocity `i` points along AXIS(i), and STRESS(i, j) the index of a stress.

#define WEIGHTS 4
#define PERIOD 16  // period of the mechanisms in cells along z
#define AXIS(i) (NDIM == 3 ? (i) : 2 * (i))
#define STRESSES (NDIM == 3 ? 6 : 3)
#define STRESS(i, j) ((i) == (j) ? (i) : NDIM == 3 ? (i) + (j) + 2 : 2)
// Stiffnesses: of normal stresses (indexed by STRESS), then of shear stresses.
#define SHEAR(k) ((k) + (NDIM == 3 ? 3 : 1))
#define PLACES (SHEAR(STRESSES - 1) + 1)
#define EACH(i) UNROLL for (int i = 0; i < NDIM; i++)
#define EACH_STRESS(k) UNROLL for (int k = 0; k < STRESSES; k++)
#define DEGREE 2
#define STRESS_DEGREE 3
#define BOXES 6

// The absorbing layers across an axis: lines (planes, rows or z) in [first, low) and [high, end).
struct Layer {
    const REAL *factors;  // [at the nodes, half a cell further on][1/kappa, a, b][line]
    WIDE component;       // memory variables per component
    int first, low, high, end, lines;
    int beyond, count;    // index of line `high` in the memory, and number of lines there
    int padding;
};

struct Grid {
    WIDE len, stride[3];
    REAL weights[3][WEIGHTS];  // of the derivative along each axis, divided by the spacing
    struct Layer layers[3];
    const REAL *sponge[3];     // weights by line along z, row, plane; null without a sponge
    const REAL *density;       // rho / (2 dt) on the nodes
    const REAL *stiffness[9];  // dt c for each place of PAIR (rows.rs); ISOTROPIC: dt lambda, and 1 / (4 dt mu) on the nodes
    const REAL *relaxing[9];   // the relaxing stiffness in the same form
    const REAL *patterns;      // [mechanism][plane is odd][row is odd][keep, take][PERIOD]
    int rows, planes;
    int begin[3], count[3];    // the first computed cell along each axis, and the number of computed cells
    int mechanisms, padding;
};

// Data of a free surface.
struct Surface {
    REAL vertical[WEIGHTS][DEGREE + 1];    // images of v_z, upwards: two nodes, then the slope times the spacing
    REAL horizontal[WEIGHTS][DEGREE + 1];  // images of the other velocities: three nodes
    REAL normal[WEIGHTS][STRESS_DEGREE];   // images of s_zz: nodes below the surface
    REAL shear[WEIGHTS][STRESS_DEGREE];    // images of the shear stresses: nodes below the surface
    const REAL *ratios;                    // c_za / c_zz, [horizontal axis][plane][row]
    REAL *slopes;                          // [plane][row]
    REAL spacing;
    int top;                               // z index of the top nodes of the model
};

// A box of cells, for kernels whose consecutive threads take consecutive vectors of cells of some boxes, and its offset
// in the boundary of a field. Rows of the boundary consist of whole vectors.
struct Box {
    int z, row, plane;        // indices of the first cell
    int width, rows, planes;  // extent: cells along z, rows, planes
    int begin, number;        // the first of its blocks; index of its first value in the boundary
};

struct Args {
    struct Grid g;
    struct Surface surface;
    REAL *velocity, *stress, *memory[2][3], *relaxing;  // fields that a step updates, or their adjoints
    const REAL *before, *after;                         // velocities of the run: before a step, and in the reverse sweep those after it
    const REAL *psi[3];                                 // memory variables of stage 1 before a step; in the reverse sweep those after it
    REAL *force, *strain, *upon;                        // background data of the step; null where nothing is recorded
    REAL *buoyancy, *stiffness, *weaker, *ratios;       // perturbations, or their gradient; may be null
    REAL *derivatives[2], *behind[2][3];                // adjoint derivatives of each stage; `behind`: those in the layers of each axis
                                                        // (derivatives[0] is velocity without a surface, times b)
    REAL *later, *middle, *rate;                        // fields of PP images; `rate` also holds the largest velocity
    int top, reach;                                     // the first cell along z, and the number of cells from there
    int deep;                                           // number of blocks along the planes; in inside.cu the number of tiles of a strip
    int start, across;                                  // z index of the first cell of the first thread; log2 of the number of threads of a block along z
    int grouped;                                        // 1 if all normal stiffnesses share one sum, and all couplings another
    int boxes;                                          // number of boxes below, in kernels that are launched over boxes of cells
    int along;                                          // number of blocks of a shot along y
    WIDE shot;                                          // offset of a part of a shot from the previous shot's
    REAL *run_velocity, *run_stress;                    // the reconstructed wavefield of the run
    REAL *boundary;                                     // saved velocities of a step outside the reconstructed part
    WIDE boundary_len;
    struct Box box[BOXES];
};

// Several shots may run side by side in a launch; their blocks follow each other along y. The distance between a part
// of one shot and the same part of the next is the same for all parts: OF_SHOT is the offset of a block's shot from
// the first one, and SHOT the address of a member of `struct Args` for that shot. A single shot runs the same code,
// so it gives the same bits.
#define SHOT_OF(a) ((int)blockIdx.y / (a)->along)
#define BLOCK_ALONG(a) ((int)blockIdx.y - SHOT_OF(a) * (a)->along)
#define OF_SHOT(a) (SHOT_OF(a) * (a)->shot)
#define SHOT(a, part) ((a)->part + OF_SHOT(a))

// Fields have fewer than 2^31 numbers, so an index into a field needs 32 bits.
// The first of the cells of a thread, and how many of them are computed.
struct Cell {
    int at;
    int line[3];
    int count;
#if FRAMED
    int number;  // index of the first cell in the boundary
#endif
};

// Values that no thread of a kernel changes, so they may be read before others are written.
#ifdef CUDA_ON_CPU
#define READ(p) (*(p))
#else
#define READ(p) __ldg(p)
#endif

// A block has threads along z, rows and planes: the neighbours of a tile are read from the second-level cache once.
// Tiles of a strip of rows follow each other along the planes, so that they are still in that cache.
#define THREADS 128
#define ALONG (NDIM == 3 ? 4 : 1)

#if FRAMED
// Consecutive threads take consecutive cells of the boxes.
INLINE int cell_of(const struct Args *a, struct Cell *c) {
    int k = 0;
    while (k + 1 < a->boxes && (int)blockIdx.x >= a->box[k + 1].begin) k++;
    const struct Box *b = &a->box[k];
    int number = ((int)blockIdx.x - b->begin) * (int)blockDim.x + (int)threadIdx.x, across = (b->width + VEC - 1) / VEC;
    int line = number / across, z = (number - line * across) * VEC, plane = line / b->rows;
    c->number = b->number + number * VEC;
    c->line[0] = b->z + z;
    c->line[1] = b->row + line - plane * b->rows;
    c->line[2] = b->plane + plane;
    c->at = c->line[2] * (int)a->g.stride[2] + c->line[1] * (int)a->g.stride[1] + c->line[0];
    c->count = MIN(VEC, b->width - z);
    return plane < b->planes;
}
#elif VEC < 4
INLINE int cell_of(const struct Args *a, struct Cell *c) {
    const struct Grid *g = &a->g;
    int z = a->start + ((int)(blockIdx.x << a->across) + ((int)threadIdx.x & ((1 << a->across) - 1))) * VEC, line = (int)threadIdx.x >> a->across;
    int strip = blockIdx.z / a->deep, row = (strip * a->along + BLOCK_ALONG(a)) * ALONG + line % ALONG;
    int plane = (blockIdx.z - strip * a->deep) * ((THREADS >> a->across) / ALONG) + line / ALONG;
    c->line[0] = z;
    c->line[1] = g->begin[1] + row;
    c->line[2] = g->begin[2] + plane;
    c->at = c->line[2] * (int)g->stride[2] + c->line[1] * (int)g->stride[1] + z;
    c->count = MIN(VEC, a->top + a->reach - z);
    return z >= a->top && c->count > 0 && row < g->count[1] && plane < g->count[2];
}
#endif

// Stores the computed cells of a thread.
INLINE void put(const struct Cell *c, REAL *to, const REAL *from) {
    if (c->count == VEC) {
        store(to, from);
        return;
    }
    EACH_VEC if (v < c->count) to[v] = from[v];
}

// A node of the surface: its cell, and its index among the rows of the grid; -1 if the thread has none.
INLINE WIDE node_of(const struct Args *a, struct Cell *c) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= a->g.count[1] * a->g.count[2]) return -1;
    c->line[0] = a->surface.top;
    c->line[1] = a->g.begin[1] + k % a->g.count[1];
    c->line[2] = a->g.begin[2] + k / a->g.count[1];
    c->at = c->line[2] * (int)a->g.stride[2] + c->line[1] * (int)a->g.stride[1] + c->line[0];
    return (WIDE)c->line[2] * a->g.rows + c->line[1];
}

// Stride from row to row in data of the surface.
INLINE WIDE rows_of(const struct Grid *g, int axis) { return axis == 1 ? 1 : g->rows; }

// Stride from cell to cell along an axis.
INLINE int stride_of(const struct Grid *g, int axis) { return axis == 0 ? 1 : (int)g->stride[axis]; }

// Along z a thread reads as many cells on either side as its derivatives need, in whole vectors, or in half vectors
// of two cells.
#if VEC == 4 && HALF <= 2
#define AROUND 2
INLINE void fetch_pair(const REAL *from, REAL *to) {
#ifdef CUDA_ON_CPU
    float2 t = *(const float2 *)from;
#else
    float2 t = __ldg((const float2 *)from);
#endif
    to[0] = t.x, to[1] = t.y;
}

INLINE void fetch_around(const REAL *at, REAL *line) {
    fetch_pair(at - 2, line);
    fetch(at, line + 2);
    fetch_pair(at + 4, line + 6);
}
#else
#define AROUND ((HALF + VEC - 1) / VEC * VEC)
INLINE void fetch_around(const REAL *at, REAL *line) {
    UNROLL for (int k = 0; k < VEC + 2 * AROUND; k += VEC) fetch(at + k - AROUND, line + k);
}
#endif

// The derivative half a cell ahead of cells, or behind them; the far neighbours are summed first.
INLINE void derivative(const struct Grid *g, const REAL *f, int at, int axis, int ahead, REAL *d) {
    EACH_VEC d[v] = 0;
    if (axis == 0) {
        REAL line[VEC + 2 * AROUND];
        fetch_around(f + at, line);
        UNROLL for (int m = HALF - 1; m >= 0; m--) {
            EACH_VEC d[v] = FMA(g->weights[0][m], line[AROUND + v + m + ahead] - line[AROUND + v + ahead - 1 - m], d[v]);
        }
        return;
    }
    int stride = stride_of(g, axis);
    UNROLL for (int m = HALF - 1; m >= 0; m--) {
        REAL plus[VEC], minus[VEC];
        fetch(f + (at + (m + ahead) * stride), plus);
        fetch(f + (at + (ahead - 1 - m) * stride), minus);
        EACH_VEC d[v] = FMA(g->weights[axis][m], plus[v] - minus[v], d[v]);
    }
}

// Whether a line lies in the layers across its axis.
INLINE int is_framed(const struct Layer *l, int line) {
    return line >= l->first && line < l->end && (line < l->low || line >= l->high);
}

// Index of the memory variable of the first component at a cell, if its line had index 0 in the layers across an
// axis. The stride from line to line is that from cell to cell.
INLINE int start_in_layer(const struct Grid *g, int axis, const struct Cell *c) {
    const struct Layer *l = &g->layers[axis];
    if (axis == 0) return (c->line[2] * g->rows + c->line[1]) * l->count;
    if (axis == 1) return c->line[2] * l->count * (int)g->stride[1] + c->line[0];
    return c->line[1] * (int)g->stride[1] + c->line[0];
}

// The index of a line among the lines of the layers.
INLINE int number_in_layer(const struct Layer *l, int line) {
    return line < l->low ? line - l->first : line - l->high + l->beyond;
}

// Indices of the memory variables of the first component for the cells of a thread, by axis; -1 outside the layers.
// Across z each cell has its own index, which place_along computes; at[0] belongs to line index 0.
struct Places {
    int at[NDIM], any;
};

INLINE struct Places places_of(const struct Grid *g, const struct Cell *c) {
    struct Places p;
    p.any = 0;
    EACH(j) {
        const struct Layer *l = &g->layers[AXIS(j)];
        int line = c->line[AXIS(j)], framed = is_framed(l, line);
        if (j == 0) EACH_VEC framed |= v < c->count && is_framed(l, line + v);
        p.any |= framed;
        p.at[j] = framed ? start_in_layer(g, AXIS(j), c) + (j ? number_in_layer(l, line) * stride_of(g, AXIS(j)) : 0) : -1;
    }
    return p;
}

// Index of the memory variable across z of one of the cells; -1 if it has none.
INLINE int place_along(const struct Grid *g, const struct Places *p, const struct Cell *c, int v) {
    const struct Layer *l = &g->layers[0];
    int line = c->line[0] + v;
    return v < c->count && is_framed(l, line) ? p->at[0] + number_in_layer(l, line) : -1;
}

// Prefetches the memory variables of the layers.
INLINE void prefetch_layers(const struct Args *a, const REAL *const *memory, const struct Places *p, const struct Cell *c) {
    const struct Grid *g = &a->g;
    if (!p->any) return;
    EACH(j) {
        int at = p->at[j];
        if (j == 0 && at >= 0) at += number_in_layer(&g->layers[0], c->line[0]);
        if (at < 0) continue;
        EACH(i) prefetch(memory[AXIS(j)] + OF_SHOT(a) + i * g->layers[AXIS(j)].component + at);
    }
}

// Prefetches `count` consecutive fields at cells.
INLINE void prefetch_fields(const struct Grid *g, const REAL *field, int count, const struct Cell *c) {
    UNROLL for (int k = 0; k < count; k++) prefetch(field + k * g->len + c->at);
}

// The factors of a line at its node or half a cell further on; 1/kappa, a and b are `lines` apart.
INLINE const REAL *factors_of(const struct Layer *l, int line, int half) { return l->factors + 3 * half * l->lines + line; }

// The factor of the sponge.
INLINE void left_of(const struct Grid *g, const struct Cell *c, REAL *left) {
    EACH_VEC left[v] = 1;
    if (!g->sponge[0]) return;
    REAL outer = READ(g->sponge[1] + c->line[1]) * READ(g->sponge[2] + c->line[2]);
    EACH_VEC if (v < c->count) left[v] = READ(g->sponge[0] + c->line[0] + v) * outer;
}

// Address of the `keep` coefficients of a mechanism at a cell, followed by the `take` coefficients.
INLINE const REAL *pattern_of(const struct Grid *g, int mechanism, const struct Cell *c) {
    int number = (2 * mechanism + (c->line[2] & 1)) * 2 + (c->line[1] & 1);
    return g->patterns + number * 2 * PERIOD + c->line[0] % PERIOD;
}

// ---- the medium; its means are computed where they are needed, which moves less data than arrays of means would
// ----

// Values on the nodes of cells, and on the next node along z.
INLINE void fetch_beyond(const REAL *from, REAL *to) {
    fetch(from, to);
    to[VEC] = READ(from + VEC);
}

// The sum of a quantity over both nodes around each velocity.
INLINE void sums_between(const struct Grid *g, const REAL *from, int at, REAL (*sum)[VEC]) {
    REAL here[VEC + 1], next[VEC];
    fetch_beyond(from + at, here);
    EACH(i) {
        if (i > 0) fetch(from + (at + stride_of(g, AXIS(i))), next);
        EACH_VEC sum[i][v] = here[v] + (i > 0 ? next[v] : here[v + 1]);
    }
}

// dt over the arithmetic mean of the density at the velocities.
INLINE void buoyancy_at(const struct Grid *g, int at, REAL (*b)[VEC]) {
    sums_between(g, g->density, at, b);
    EACH(i) EACH_VEC b[i][v] = inverse(b[i][v]);
}

INLINE void prefetch_density(const struct Grid *g, const struct Cell *c) {
    EACH(i) prefetch(g->density + (c->at + (i > 0 ? stride_of(g, AXIS(i)) : 0)));
}

// Adds to stresses the products of the stiffness by place and the strains.
INLINE void add_products_by_place(REAL (*c)[VEC], REAL (*e)[VEC], REAL (*sum)[VEC]) {
    EACH(i) EACH(j) EACH_VEC sum[i][v] = FMA(c[STRESS(i, j)][v], e[j][v], sum[i][v]);
    UNROLL for (int k = NDIM; k < STRESSES; k++) EACH_VEC sum[k][v] = FMA(c[SHEAR(k)][v], e[k][v], sum[k][v]);
}

#if ISOTROPIC
// Lambda and twice mu on the nodes, then the harmonic mean of mu over the four nodes around each shear stress, in the
// order of stresses.
#define MODULI (2 + STRESSES - NDIM)

INLINE void stiffness_at(const struct Grid *g, const REAL *const *from, int at, REAL (*c)[VEC]) {
    const REAL *q = from[1] + at;
    REAL here[VEC + 1], next[NDIM][VEC + 1];
    fetch(from[0] + at, c[0]);
    fetch_beyond(q, here);
    EACH(i) if (i > 0) fetch_beyond(q + stride_of(g, AXIS(i)), next[i]);
    EACH_VEC c[1][v] = (REAL)0.5 * inverse(here[v]);
    EACH(i) if (i > 0) EACH_VEC c[1 + i][v] = inverse(here[v] + here[v + 1] + (next[i][v] + next[i][v + 1]));
#if NDIM == 3
    REAL both[VEC];
    fetch(q + (stride_of(g, 1) + stride_of(g, 2)), both);
    EACH_VEC c[4][v] = inverse(here[v] + next[1][v] + (next[2][v] + both[v]));
#endif
}

INLINE void prefetch_stiffness(const struct Grid *g, const struct Cell *c) {
    prefetch(g->stiffness[0] + c->at);
    EACH(i) prefetch(g->stiffness[1] + (c->at + (i > 0 ? stride_of(g, AXIS(i)) : 0)));
}

// Adds to stresses the products of these moduli and the strains.
INLINE void add_products(REAL (*c)[VEC], REAL (*e)[VEC], REAL (*sum)[VEC]) {
    EACH_VEC {
        REAL all = 0;
        EACH(i) all += e[i][v];
        EACH(i) sum[i][v] = FMA(c[1][v], e[i][v], FMA(c[0][v], all, sum[i][v]));
    }
    UNROLL for (int k = NDIM; k < STRESSES; k++) EACH_VEC sum[k][v] = FMA(c[2 + k - NDIM][v], e[k][v], sum[k][v]);
}

// The normal stress along an axis per unit of a strain with equal normal components, at one cell.
INLINE REAL stiffness_of_all(const struct Grid *g, int j, int at) {
    return FMA((REAL)NDIM, READ(g->stiffness[0] + at), (REAL)0.5 * inverse(READ(g->stiffness[1] + at)));
}
#else
// An array for each place, means included.
#define MODULI PLACES

INLINE void stiffness_at(const struct Grid *g, const REAL *const *from, int at, REAL (*c)[VEC]) {
    UNROLL for (int k = 0; k < PLACES; k++) fetch(from[k] + at, c[k]);
}

INLINE void prefetch_stiffness(const struct Grid *g, const struct Cell *c) {
    UNROLL for (int k = 0; k < PLACES; k++) prefetch(g->stiffness[k] + c->at);
}

INLINE void add_products(REAL (*c)[VEC], REAL (*e)[VEC], REAL (*sum)[VEC]) { add_products_by_place(c, e, sum); }

INLINE REAL stiffness_of_all(const struct Grid *g, int j, int at) {
    REAL sum = 0;
    EACH(i) sum += READ(g->stiffness[STRESS(i, j)] + at);
    return sum;
}
#endif
