// A linearised run as kernels see it; born/gpu/arguments.rs has the same structures. A thread has a cell.
//
// Fields are [field][plane][row][z], z fastest. Axes are 0 = z, 1 = row (3-D only), 2 = plane; `i`, `j` count those there
// are, so that velocity `i` is that along AXIS(i) and stress STRESS(i, j) that of two of them.

#define WEIGHTS 4
#define PERIOD 16  // cells along z behind which the mechanisms repeat
#define AXIS(i) (NDIM == 3 ? (i) : 2 * (i))
#define STRESSES (NDIM == 3 ? 6 : 3)
#define STRESS(i, j) ((i) == (j) ? (i) : NDIM == 3 ? (i) + (j) + 2 : 2)
// Stiffnesses: those of normal stresses as STRESS has them, then shears.
#define SHEAR(k) ((k) + (NDIM == 3 ? 3 : 1))
#define EACH(i) UNROLL for (int i = 0; i < NDIM; i++)
#define EACH_STRESS(k) UNROLL for (int k = 0; k < STRESSES; k++)
#define DEGREE 2
#define STRESS_DEGREE 3

// The absorbing layers across an axis: lines (planes, rows or z) from `first` to before `low` and from `high` to before `end`.
struct Layer {
    const REAL *factors;  // [at the nodes, half a cell further on][1/kappa, a, b][line]
    WIDE component;       // numbers of a component's memory
    int first, low, high, end, lines, padding;
};

struct Grid {
    WIDE len, stride[3];
    REAL weights[3][WEIGHTS];  // over the spacing
    struct Layer layers[3];
    const REAL *sponge[3];     // by line; null without a sponge
    const REAL *buoyancy[3];
    const REAL *stiffness[9];
    const REAL *relaxing[9];
    const REAL *patterns;      // [mechanism][plane is odd][row is odd][keep, take][PERIOD]
    int rows, planes;
    int begin[3], count[3];    // cells that are computed
    int mechanisms, padding;
};

// What stands beside the fields at a free surface, by rows of the grid.
struct Surface {
    REAL vertical[WEIGHTS][DEGREE + 1];    // images of v_z, upwards: two nodes, then the slope times the spacing
    REAL horizontal[WEIGHTS][DEGREE + 1];  // images of the other velocities: three nodes
    REAL normal[WEIGHTS][STRESS_DEGREE];   // images of s_zz: nodes below the surface
    REAL shear[WEIGHTS][STRESS_DEGREE];    // images of the shears
    const REAL *ratios;                    // c_za / c_zz, [horizontal axis][plane][row]
    REAL *slopes;                          // [plane][row]
    REAL spacing;
    int top;                               // first row of the model
};

struct Args {
    struct Grid g;
    struct Surface surface;
    REAL *velocity, *stress, *memory[2][3], *relaxing;  // what a step changes, or what waits for it
    REAL *force, *strain, *upon;                        // what the step is linearised about; null where nothing is kept
    REAL *buoyancy, *stiffness, *weaker, *ratios;       // changes of coefficients, or what waits for them; may be null
    REAL *waits, *behind[3];                            // what waits for derivatives; in the layers of each axis
    REAL *later, *image, *light;                        // of an image
    int top, reach;                                     // first of the cells along z, and how many
    int across, along;                                  // blocks along z, and along the other axis of a block
    int grouped, padding;                               // normal stiffnesses wait as one, and so do their couplings
};

struct Cell {
    WIDE at;
    int line[3];
};

// A block has cells along z, from a multiple of their number on, and along rows; in 2-D along planes.
#define ACROSS 32
#define ALONG 8

INLINE int cell_of(const struct Args *a, struct Cell *c) {
    const struct Grid *g = &a->g;
    int z = blockIdx.x % a->across * ACROSS + threadIdx.x % ACROSS, rest = blockIdx.x / a->across;
    int other = rest % a->along * ALONG + threadIdx.x / ACROSS, plane = NDIM == 3 ? rest / a->along : other;
    c->line[0] = z;
    c->line[1] = g->begin[1] + (NDIM == 3 ? other : 0);
    c->line[2] = g->begin[2] + plane;
    c->at = c->line[2] * g->stride[2] + c->line[1] * g->stride[1] + z;
    return z >= a->top && z < a->top + a->reach && other < g->count[NDIM == 3 ? 1 : 2];
}

// A node of the surface: its cell, and its number among the rows of the grid; -1 if there is none for the thread.
INLINE WIDE node_of(const struct Args *a, struct Cell *c) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= a->g.count[1] * a->g.count[2]) return -1;
    c->line[0] = a->surface.top;
    c->line[1] = a->g.begin[1] + k % a->g.count[1];
    c->line[2] = a->g.begin[2] + k / a->g.count[1];
    c->at = c->line[2] * a->g.stride[2] + c->line[1] * a->g.stride[1] + c->line[0];
    return (WIDE)c->line[2] * a->g.rows + c->line[1];
}

// Numbers from row to row of what the surface has by rows.
INLINE WIDE rows_of(const struct Grid *g, int axis) { return axis == 1 ? 1 : g->rows; }

// Half a cell ahead of a cell, or behind it; the far neighbours first.
INLINE REAL derivative(const struct Grid *g, const REAL *f, int axis, int ahead) {
    WIDE stride = g->stride[axis];
    REAL sum = 0;
    UNROLL for (int m = HALF - 1; m >= 0; m--) {
        sum = FMA(g->weights[axis][m], f[(m + ahead) * stride] - f[(ahead - 1 - m) * stride], sum);
    }
    return sum;
}

// Where the layers across an axis have the memory of a component at a cell, so many lines further on; -1 outside of them.
INLINE WIDE place_in_layer(const struct Grid *g, int axis, int component, const struct Cell *c, int further) {
    const struct Layer *l = &g->layers[axis];
    int line = c->line[axis] + further;
    if (line < l->first || line >= l->end || (line >= l->low && line < l->high)) return -1;
    int count = l->low - l->first + l->end - l->high;
    int number = line < l->low ? line - l->first : line - l->high + l->low - l->first;
    WIDE start = component * l->component;
    if (axis == 0) return start + ((WIDE)c->line[2] * g->rows + c->line[1]) * count + number;
    if (axis == 1) return start + ((WIDE)c->line[2] * count + number) * g->stride[1] + c->line[0];
    return start + ((WIDE)number * g->rows + c->line[1]) * g->stride[1] + c->line[0];
}

// The factors of a line at its node or half a cell further on; 1/kappa, a and b are `lines` apart.
INLINE const REAL *factors_of(const struct Layer *l, int line, int half) { return l->factors + 3 * half * l->lines + line; }

// What the sponge leaves.
INLINE REAL left_of(const struct Grid *g, const struct Cell *c) {
    if (!g->sponge[0]) return 1;
    return g->sponge[0][c->line[0]] * (g->sponge[1][c->line[1]] * g->sponge[2][c->line[2]]);
}

// What a mechanism keeps, and behind it what it takes, at a cell.
INLINE const REAL *pattern_of(const struct Grid *g, int mechanism, const struct Cell *c) {
    int number = (2 * mechanism + (c->line[2] & 1)) * 2 + (c->line[1] & 1);
    return g->patterns + number * 2 * PERIOD + c->line[0] % PERIOD;
}

// Adds to the sums of stresses the stiffness, an array for each place, times what stands for strains.
INLINE void add_products(const REAL *const *c, WIDE at, const REAL *e, REAL *sum) {
    EACH(i) EACH(j) sum[i] = FMA(c[STRESS(i, j)][at], e[j], sum[i]);
    UNROLL for (int k = NDIM; k < STRESSES; k++) sum[k] = FMA(c[SHEAR(k)][at], e[k], sum[k]);
}
