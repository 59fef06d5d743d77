// A stage of a step (STAGE 0: velocity, 1: stress) on boxes of cells. With FRAMED 0 there is one box, whose rows lie in
// no layers except at their ends. Its blocks have ACROSS threads along z, on ROWS rows and DEEP planes; rows are cut
// into chunks of 128 bytes, and at the end of a tile of ROWS rows a block continues with the next tile. Blocks of a
// strip of tiles follow each other along the planes, so that the data shared by neighbours stay in the second-level
// cache. With FRAMED 1 the boxes are the parts of the layers, and consecutive threads take consecutive cells.

#define MOST_BOXES 4

struct Box {
    int z, row, plane;              // indices of the first cell
    int vectors, rows, planes;      // extent; vectors of VEC cells along z
    int chunks, along, across, deep;   // FRAMED 0: chunks of a row; tiles of rows and blocks of a strip; blocks along the planes
    int begin, padding;             // first block
};

struct Loss {
    struct Stiff weak;              // the relaxing stiffness, with the layout of the slab's stiffness
    REAL *memory;                   // [mechanism][stress][own plane][row][z]
    const REAL *pattern;            // [mechanism][plane odd][row odd][keep of two cells, take of two cells]
    WIDE stress, mechanism;         // distance from one stress to the next, and from one mechanism to the next
};

struct Stage {
    struct Slab s;
    struct Frame f;
    struct Loss loss;
    struct Box box[MOST_BOXES];
    int boxes, z_end;               // number of boxes; z index at which the rim begins
};

struct Cell {
    int plane, row, z;              // the first of VEC cells; z < 0: none
};

INLINE struct Cell cell_of(const struct Stage *a) {
    struct Cell c;
    int thread = threadIdx.x, block = blockIdx.x;
#if FRAMED
    int k = 0;
    while (k + 1 < a->boxes && block >= a->box[k + 1].begin) k++;
    const struct Box *b = &a->box[k];
    WIDE i = (WIDE)(block - b->begin) * blockDim.x + thread;
    c.z = b->z + (int)(i % b->vectors) * VEC;
    i /= b->vectors;
    c.row = b->row + (int)(i % b->rows);
    i /= b->rows;
    if (i >= b->planes) c.z = -1;
    c.plane = b->plane + (int)i;
#else
    const struct Box *b = &a->box[0];
    int line = thread / ACROSS, across = thread % ACROSS;
    int chunk = block % b->across * (ACROSS / CHUNK) + across / CHUNK, tile = chunk / b->chunks;
    int z = (chunk - tile * b->chunks) * CHUNK + across % CHUNK;
    block /= b->across;
    int row = (block / b->deep * b->along + tile) * ROWS + line % ROWS;
    int plane = block % b->deep * DEEP + line / ROWS;
    c.z = z < b->vectors && tile < b->along && row < b->rows && plane < b->planes ? b->z + z * VEC : -1;
    c.row = b->row + row;
    c.plane = b->plane + plane;
#endif
    if (c.z >= a->z_end) c.z = -1;
    return c;
}

// Stores computed cells; the rim is left unchanged.
INLINE void put(const struct Stage *a, int z, REAL *to, const REAL *from) {
    if (z + VEC > a->z_end) {
        for (int v = 0; v < VEC && z + v < a->z_end; v++) to[v] = from[v];
        return;
    }
    store(to, from);
}

#if STAGE == 0
// ---- v(t+dt/2) = v(t-dt/2) + dt/rho D_j s_ij ----

// dt/rho at a velocity, from the densities of two nodes.
INLINE void buoyancy(const struct Slab *s, const struct Cell *c, int axis, REAL *out) {
    const REAL *here = s->density + medium_at(s, c->plane, c->row) + c->z;
    REAL one[VEC], other[VEC];
    fetch(here, one);
    if (axis == 0) {
        EACH_VEC other[v] = v + 1 < VEC ? one[v + 1 < VEC ? v + 1 : 0] : here[VEC];
    } else {
        fetch(s->density + medium_at(s, c->plane + (axis == 2), c->row + (axis == 1)) + c->z, other);
    }
    EACH_VEC out[v] = inverse(one[v] + other[v]);
}

#undef BOUNDS
#define BOUNDS __launch_bounds__(THREADS, BLOCKS)
KERNEL(velocity)(const struct Stage a) {
    const struct Slab *s = &a.s;
    const struct Cell c = cell_of(&a);
    if (c.z < 0) return;
    REAL *at = s->fields + row_at(s, c.plane, c.row) + c.z;
    EACH_AXIS(t) prefetch_ahead(at + VELOCITY(t) * s->field);
    const REAL outer = row_weight(&a.f, c.plane, c.row);
#if LAYERS
    const struct Place place = place_of(s, &a.f, c.plane, c.row, c.z);
    prefetch_layers(&a.f, &place);
#endif
    EACH_AXIS(t) {
        REAL sum[VEC], b[VEC], now[VEC];
        load(at + VELOCITY(t) * s->field, now);
        EACH_VEC sum[v] = 0;
        EACH_AXIS(j) {
            REAL d[VEC];
            derive(s, at + STRESS(PAIR(t, j)) * s->field, j, j == t, d);
#if LAYERS
            stretch(&a.f, &place, j, j == t, t, d);
#endif
            EACH_VEC sum[v] += d[v];
        }
        buoyancy(s, &c, t, b);
        EACH_VEC now[v] = FMA(b[v], sum[v], now[v]);
#if SPONGE
        damp(&a.f, outer, c.z, now);
#endif
        put(&a, c.z, at + VELOCITY(t) * s->field, now);
    }
}

#else
// ---- s(t+dt) = s(t) + dt c_ijkl e_kl ----

// Rates of the normal stresses at the nodes.
INLINE void normal_rates(const struct Stiff *k, WIDE m, REAL e[3][VEC], REAL rate[3][VEC]) {
#if ISOTROPIC
    REAL lambda[VEC], q[VEC];
    fetch(k->normal[0] + m, lambda);
    fetch(k->shear[0] + m, q);
    EACH_VEC {
        REAL both = (REAL)0.5 * inverse(q[v]), sum = e[0][v] + e[2][v];
        if (NDIM == 3) sum += e[1][v];
        EACH_AXIS(t) rate[t][v] = FMA(both, e[t][v], lambda[v] * sum);
    }
#else
    EACH_AXIS(t) {
        REAL c[VEC];
        fetch(k->normal[t] + m, c);
        EACH_VEC rate[t][v] = c[v] * e[t][v];
    }
    EACH_AXIS(t) {
        EACH_AXIS(j) {
            if (j <= t) continue;
            REAL c[VEC];
            fetch(k->normal[PAIR(t, j)] + m, c);
            EACH_VEC {
                rate[t][v] = FMA(c[v], e[j][v], rate[t][v]);
                rate[j][v] = FMA(c[v], e[t][v], rate[j][v]);
            }
        }
    }
#endif
}

// The shear stiffness at a shear stress, where it is given there; otherwise the harmonic mean over the four nodes
// around it.
INLINE void shear_stiffness(const struct Slab *s, const struct Stiff *k, const struct Cell *c, int t, int j, REAL *out) {
    const REAL *q = k->shear[ISOTROPIC ? 0 : PAIR(t, j) - 3];
#if IN_PLACE
    REAL own[VEC];
    fetch(q + medium_at(s, c->plane, c->row) + c->z, own);
    EACH_VEC out[v] = inverse((REAL)4 * own[v]);
#else
    REAL sum[VEC];
    EACH_VEC sum[v] = 0;
    // t < j; only t can be along z.
    UNROLL for (int corner = 0; corner < (t == 0 ? 2 : 4); corner++) {
        int up_j = corner & 1, up_t = corner >> 1;
        const REAL *from = q + medium_at(s, c->plane + (j == 2 ? up_j : 0), c->row + (j == 1 ? up_j : 0) + (t == 1 ? up_t : 0)) + c->z;
        REAL x[VEC];
        fetch(from, x);
        EACH_VEC sum[v] += x[v];
        if (t == 0) {
            EACH_VEC sum[v] += v + 1 < VEC ? x[v + 1 < VEC ? v + 1 : 0] : from[VEC];
        }
    }
    EACH_VEC out[v] = inverse(sum[v]);
#endif
}

// Index of the memory variables of a stress for the cells at index `row` of a field.
INLINE WIDE relaxing_at(const struct Stage *a, WIDE row) {
    return row - (WIDE)GHOST * a->s.rows * a->s.pitch + OF_SHOT(MECHANISMS * a->loss.mechanism - a->s.shot);
}

// Adds a rate to a stress, and the mean of its memory variables before and after the step, which `relaxing` drives;
// then applies the sponge, with the weight `outer` for the row.
INLINE void add(const struct Stage *a, const struct Cell *c, REAL outer, int pair, const REAL *rate, const REAL *relaxing) {
    const struct Slab *s = &a->s;
    WIDE row = row_at(s, c->plane, c->row) + c->z;
    REAL *to = s->fields + STRESS(pair) * s->field + row, now[VEC];
    load(to, now);
    EACH_VEC now[v] += rate[v];
#if MECHANISMS
    WIDE own = relaxing_at(a, row) + (STRESS(pair) - NDIM) * a->loss.stress;
    UNROLL for (int k = 0; k < MECHANISMS; k++) {
        const REAL *pattern = a->loss.pattern + (k * 4 + (c->plane & 1) * 2 + (NDIM == 3 ? c->row & 1 : 0)) * 4;
        REAL *r = a->loss.memory + k * a->loss.mechanism + own, old[VEC], next[VEC];
        load(r, old);
        EACH_VEC {
            next[v] = FMA(-pattern[2 + (v & 1)], relaxing[v], pattern[v & 1] * old[v]);
            now[v] = FMA((REAL)0.5, old[v] + next[v], now[v]);
        }
        put(a, c->z, r, next);
    }
#endif
#if SPONGE
    damp(&a->f, outer, c->z, now);
#endif
    put(a, c->z, to, now);
}

// Prefetches the data that a thread reads only after the strains.
INLINE void prefetch_stress(const struct Stage *a, const struct Cell *c) {
    const struct Slab *s = &a->s;
    const WIDE row = row_at(s, c->plane, c->row) + c->z, own = relaxing_at(a, row);
    UNROLL for (int k = NDIM; k < FIELDS; k++) {
        prefetch_ahead(s->fields + k * s->field + row);
        UNROLL for (int m = 0; m < MECHANISMS; m++) {
            prefetch_ahead(a->loss.memory + m * a->loss.mechanism + (k - NDIM) * a->loss.stress + own);
        }
    }
}

#undef BOUNDS
#define BOUNDS __launch_bounds__(THREADS, BLOCKS)
KERNEL(stress)(const struct Stage a) {
    const struct Slab *s = &a.s;
    const struct Cell c = cell_of(&a);
    if (c.z < 0) return;
    prefetch_stress(&a, &c);
    const REAL *at = s->fields + row_at(s, c.plane, c.row) + c.z;
    const WIDE m = medium_at(s, c.plane, c.row) + c.z;
    REAL e[3][VEC], rate[3][VEC];
#if MECHANISMS
    REAL relaxing[3][VEC];
#define RELAXING(t) relaxing[t]
#else
#define RELAXING(t) 0
#endif
    const REAL outer = row_weight(&a.f, c.plane, c.row);
#if LAYERS
    const struct Place place = place_of(s, &a.f, c.plane, c.row, c.z);
    prefetch_layers(&a.f, &place);
#endif
    EACH_AXIS(t) {
        derive(s, at + VELOCITY(t) * s->field, t, 0, e[t]);
#if LAYERS
        stretch(&a.f, &place, t, 0, t, e[t]);
#endif
    }
    normal_rates(&s->stiff, m, e, rate);
#if MECHANISMS
    normal_rates(&a.loss.weak, m, e, relaxing);
#endif
    EACH_AXIS(t) add(&a, &c, outer, t, rate[t], RELAXING(t));
    EACH_AXIS(t) {
        EACH_AXIS(j) {
            if (j <= t) continue;
            REAL one[VEC], other[VEC], k[VEC];
            derive(s, at + VELOCITY(j) * s->field, t, 1, one);
            derive(s, at + VELOCITY(t) * s->field, j, 1, other);
#if LAYERS
            stretch(&a.f, &place, t, 1, j, one);
            stretch(&a.f, &place, j, 1, t, other);
#endif
            EACH_VEC one[v] += other[v];
            shear_stiffness(s, &s->stiff, &c, t, j, k);
            EACH_VEC rate[0][v] = k[v] * one[v];
#if MECHANISMS
            shear_stiffness(s, &a.loss.weak, &c, t, j, k);
            EACH_VEC relaxing[0][v] = k[v] * one[v];
#endif
            add(&a, &c, outer, PAIR(t, j), rate[0], RELAXING(0));
        }
    }
}
#endif
#undef BOUNDS
#define BOUNDS
