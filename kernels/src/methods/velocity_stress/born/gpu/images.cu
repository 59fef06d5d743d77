// The factors of images, and their products; born/imaging.rs has the formulas. A thread has one cell.

struct Waves {
    struct Args a;
    const REAL *from;       // the fields that are read, one after the other; may be null
    const REAL *share;      // factor from the sum of normal stresses to the potential of P waves; null: 1
    const REAL *potential;
    REAL *next;             // fields of the following time step
    REAL *to;
    int fields, padding;
};

// A member of `struct Waves` for a block's shot.
#define OF(w, part) ((w)->part + OF_SHOT(&(w)->a))

#define EACH_NUMBER(k, count) \
    for (WIDE k = (WIDE)blockIdx.x * blockDim.x + threadIdx.x; k < (count); k += (WIDE)gridDim.x * blockDim.x)

// The factor from the sum of the normal stresses to the potential of P waves; zero outside the computed cells.
KERNEL(shares)(const struct Waves w) {
    struct Cell c;
    if (!cell_of(&w.a, &c)) return;
    const struct Grid *g = &w.a.g;
#if ISOTROPIC
    REAL along = READ(g->stiffness[0] + c.at) + (REAL)0.5 * inverse(READ(g->stiffness[1] + c.at));
#else
    REAL along = READ(g->stiffness[0] + c.at);
#endif
    REAL sum = stiffness_of_all(g, 0, c.at);
    OF(&w, to)[c.at] = sum > 0 ? along / sum : 0;
}

// The sum of some fields, times a factor if given, at all nodes.
KERNEL(sums)(const struct Waves w) {
    EACH_NUMBER(k, w.a.g.len) {
        REAL sum = 0;
        for (int i = 0; i < w.fields; i++) sum += OF(&w, from)[i * w.a.g.len + k];
        OF(&w, to)[k] = w.share ? OF(&w, share)[k] * sum : sum;
    }
}

// Converts the adjoint fields to velocities and stresses, in the memory of the adjoint derivatives, which have been
// read.
KERNEL(adjoint_waves)(const struct Waves w) {
    struct Cell c;
    if (!cell_of(&w.a, &c)) return;
    REAL k[MODULI][VEC], b[NDIM][VEC], s[STRESSES][VEC], sum[STRESSES][VEC];
    stiffness_at(&w.a.g, w.a.g.stiffness, c.at, k);
    EACH_STRESS(n) {
        load(SHOT(&w.a, stress) + n * w.a.g.len + c.at, s[n]);
        EACH_VEC sum[n][v] = 0;
    }
    add_products(k, s, sum);
    EACH_STRESS(n) put(&c, SHOT(&w.a, derivatives[1]) + n * w.a.g.len + c.at, sum[n]);
    // Without a surface the adjoint velocities are stored times buoyancy anyway.
    if (w.a.derivatives[0] == w.a.velocity) return;
    buoyancy_at(&w.a.g, c.at, b);
    EACH(i) {
        REAL u[VEC];
        load(SHOT(&w.a, velocity) + i * w.a.g.len + c.at, u);
        EACH_VEC u[v] *= b[i][v];
        put(&c, SHOT(&w.a, derivatives[0]) + i * w.a.g.len + c.at, u);
    }
}

// The adjoint velocities, where they are stored times buoyancy.
KERNEL(adjoint_velocities)(const struct Waves w) {
    struct Cell c;
    if (!cell_of(&w.a, &c)) return;
    REAL inverses[NDIM][VEC];
    sums_between(&w.a.g, w.a.g.density, c.at, inverses);
    EACH(i) {
        REAL u[VEC];
        load(SHOT(&w.a, velocity) + i * w.a.g.len + c.at, u);
        EACH_VEC u[v] *= inverses[i][v];
        put(&c, OF(&w, to) + i * w.a.g.len + c.at, u);
    }
}

// Computes the mean of the fields of this step and of the following step, and replaces the fields of the following step
// by it.
KERNEL(mean)(const struct Waves w) {
    EACH_NUMBER(k, w.fields * w.a.g.len) {
        REAL here = OF(&w, from)[k], next = OF(&w, next)[k];
        OF(&w, next)[k] = here;
        OF(&w, to)[k] = (REAL)0.5 * (here + next);
    }
}

// The force of P waves, the gradient of their potential; with stresses, the force of S waves, which is the remainder.
KERNEL(forces)(const struct Waves w) {
    struct Cell c;
    if (!cell_of(&w.a, &c)) return;
    const struct Grid *g = &w.a.g;
    EACH(i) {
        REAL p[VEC], d[VEC], sum[VEC];
        derivative(g, OF(&w, potential), c.at, AXIS(i), 1, p);
        EACH_VEC sum[v] = p[v];
        if (w.from) {
            EACH_VEC sum[v] = 0;
            EACH(j) {
                derivative(g, OF(&w, from) + STRESS(i, j) * g->len, c.at, AXIS(j), i == j, d);
                EACH_VEC sum[v] += d[v];
            }
            EACH_VEC sum[v] -= p[v];
        }
        put(&c, OF(&w, to) + i * g->len + c.at, sum);
    }
}

// The rotation of velocities, at the shear stresses.
KERNEL(rotations)(const struct Waves w) {
    struct Cell c;
    if (!cell_of(&w.a, &c)) return;
    const struct Grid *g = &w.a.g;
    EACH(i) EACH(j) {
        if (j <= i) continue;
        REAL turn[VEC], d[VEC];
        derivative(g, OF(&w, from) + j * g->len, c.at, AXIS(i), 1, turn);
        derivative(g, OF(&w, from) + i * g->len, c.at, AXIS(j), 1, d);
        EACH_VEC turn[v] -= d[v];
        put(&c, OF(&w, to) + (STRESS(i, j) - NDIM) * g->len + c.at, turn);
    }
}

// Fields of the shot and fields of the data that are multiplied, in two groups, and fields of the shot for the
// illumination. Axes are z, row, plane; `halves` has a bit for every axis along which a field lies half a cell beyond
// the nodes.
struct Products {
    const REAL *own[2], *other[2], *shining;
    const int *lags;    // [lag][axis]
    REAL *image;        // [lag][cell of the model]
    REAL *light;        // [cell of the model]
    WIDE len;
    REAL signs[2], bright;
    int fields[2], shines, all_lags;
    int halves[9];
    int stride[3], begin[3], end[3];    // strides, and bounds of the computed cells, along each axis
    int first[3], n[3];                 // the first cell of the model, and its number of cells, along each axis
    int along;                          // as in `struct Args`
    WIDE shot;
};

// The mean of the products around a node, with `own` displaced by minus the lag and `other` by the lag. The bits of
// `there` and `behind` say along which axes both lie in the grid from the node and from the cell before it.
INLINE REAL around(const struct Products *p, const REAL *own, const REAL *other, int half, int there, int behind) {
    REAL sum = 0, share = 1;
    UNROLL for (int corner = 0; corner < 8; corner++) {
        if (corner & ~half) continue;
        if (((there & ~corner) | (behind & corner)) != 7) continue;
        int back = 0;
        UNROLL for (int axis = 0; axis < 3; axis++) back += (corner >> axis & 1) * p->stride[axis];
        sum = FMA(own[-back], other[-back], sum);
    }
    UNROLL for (int axis = 0; axis < 3; axis++) if (half >> axis & 1) share *= (REAL)0.5;
    return share * sum;
}

#define CELLS_OF_A_BLOCK 32
#define LINES_OF_A_BLOCK 4

// Adds the contribution of one time step to all images of one kind (one for each lag) and to their illumination.
KERNEL(multiply)(const struct Products p) {
    int z = blockIdx.x * CELLS_OF_A_BLOCK + threadIdx.x % CELLS_OF_A_BLOCK;
    int line = (blockIdx.z * p.along + BLOCK_ALONG(&p)) * LINES_OF_A_BLOCK + threadIdx.x / CELLS_OF_A_BLOCK;
    if (z >= p.n[0] || line >= p.n[1] * p.n[2]) return;
    const int node[3] = {p.first[0] + z, p.first[1] + line % p.n[1], p.first[2] + line / p.n[1]};
    const int at = node[0] + node[1] * p.stride[1] + node[2] * p.stride[2], cell = line * p.n[0] + z;
    const WIDE cells = (WIDE)p.n[0] * p.n[1] * p.n[2];
    // The illumination is computed after the lags, with lag zero.
    for (int k = 0; k <= p.all_lags; k++) {
        int off = 0, there = 0, behind = 0;
        UNROLL for (int axis = 0; axis < 3; axis++) {
            int lag = k < p.all_lags ? p.lags[3 * k + axis] : 0, reach = lag < 0 ? -lag : lag;
            int low = p.begin[axis] + reach, high = p.end[axis] - reach;
            off += lag * p.stride[axis];
            there |= (node[axis] >= low && node[axis] < high) << axis;
            behind |= (node[axis] - 1 >= low && node[axis] - 1 < high) << axis;
        }
        REAL sum = 0;
        if (k == p.all_lags) {
            for (int i = 0; i < p.shines; i++) {
                const REAL *own = SHOT(&p, shining) + i * p.len + at;
                sum += around(&p, own, own, p.halves[i], there, behind);
            }
            SHOT(&p, light)[cell] = FMA(p.bright, sum, SHOT(&p, light)[cell]);
            continue;
        }
        UNROLL for (int group = 0; group < 2; group++) {
            REAL part = 0;
            for (int i = 0; i < p.fields[group]; i++) {
                const int half = p.halves[group * p.fields[0] + i];
                const REAL *own = SHOT(&p, own[group]) + i * p.len + (at - off);
                const REAL *other = SHOT(&p, other[group]) + i * p.len + (at + off);
                part += around(&p, own, other, half, there, behind);
            }
            sum = FMA(p.signs[group], part, sum);
        }
        SHOT(&p, image)[k * cells + cell] += sum;
    }
}
