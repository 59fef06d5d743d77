// The transpose of a step and the step undone in the same pass, for cells that are in no layer, not near a surface and
// not fluid, in an isotropic medium without losses: most of a large grid. A thread has four cells along z and reads
// everything that they need before it writes: a few warps with many loads in flight access long pieces of the open rows
// of DRAM, and these accesses limit the speed of such kernels (benches/RESULTS-STAGGERED.md).
//
// Only the adjoint strains are stored here, c times the adjoint stresses, because they propagate backwards by the
// same rule as the wavefield of the run: s <- s - c e(v), then v <- v - b S_j s_ij, with velocities and stresses of
// the run, or with adjoint forces and strains.

#undef THREADS
#define THREADS 256
#define CHUNK 8                           // threads whose cells fill 128 bytes
#define GROUPS 4                          // chunks of a block along z
#define TALL (NDIM == 3 ? 4 : 1)          // rows of a block
#define DEEP (THREADS / (CHUNK * GROUPS * TALL))

// Rows are cut into chunks; at the end of a tile of rows a block continues with the next tile. Blocks of a strip of
// `deep` tiles follow each other along the planes.
INLINE int cell_of(const struct Args *a, struct Cell *c) {
    const struct Grid *g = &a->g;
    const int start = a->top / (VEC * 2) * (VEC * 2), chunks = (a->top + a->reach - start + CHUNK * VEC - 1) / (CHUNK * VEC);
    int across = threadIdx.x % (CHUNK * GROUPS), line = threadIdx.x / (CHUNK * GROUPS);
    int chunk = blockIdx.x * GROUPS + across / CHUNK, tile = chunk / chunks;
    int z = start + ((chunk - tile * chunks) * CHUNK + across % CHUNK) * VEC;
    int row = (blockIdx.z * a->deep + tile) * TALL + line % TALL, plane = BLOCK_ALONG(a) * DEEP + line / TALL;
    c->line[0] = z;
    c->line[1] = g->begin[1] + row;
    c->line[2] = g->begin[2] + plane;
    c->at = c->line[2] * stride_of(g, 2) + c->line[1] * stride_of(g, 1) + z;
    c->count = VEC;
    return z >= a->top && z < a->top + a->reach && tile < a->deep && row < g->count[1] && plane < g->count[2];
}

// Strain rates; a shear strain is the sum of both derivatives.
INLINE void strains_inside(const struct Grid *g, const REAL *velocity, int at, REAL (*e)[VEC]) {
    REAL d[VEC];
    EACH(i) derivative(g, velocity + i * g->len, at, AXIS(i), 0, e[i]);
    EACH(i) EACH(j) {
        if (j <= i) continue;
        derivative(g, velocity + i * g->len, at, AXIS(j), 1, e[STRESS(i, j)]);
        derivative(g, velocity + j * g->len, at, AXIS(i), 1, d);
        EACH_VEC e[STRESS(i, j)][v] += d[v];
    }
}

// Subtracts stiffness times strains from stresses.
INLINE void take_products(REAL (*k)[VEC], REAL (*e)[VEC], REAL (*s)[VEC]) {
    EACH_VEC {
        REAL all = 0;
        EACH(i) all += e[i][v];
        EACH(i) s[i][v] -= FMA(k[1][v], e[i][v], k[0][v] * all);
    }
    UNROLL for (int n = NDIM; n < STRESSES; n++) EACH_VEC s[n][v] = FMA(-k[2 + n - NDIM][v], e[n][v], s[n][v]);
}

INLINE void load_all(const struct Grid *g, const REAL *from, int count, int at, REAL (*to)[VEC]) {
    UNROLL for (int n = 0; n < count; n++) load(from + n * g->len + at, to[n]);
}

INLINE void store_all(const struct Grid *g, REAL *to, int count, int at, REAL (*from)[VEC]) {
    UNROLL for (int n = 0; n < count; n++) store(to + n * g->len + at, from[n]);
}

// Index of a sum among stiffnesses: normal strains times their adjoints, the product of both traces, shears.
#define SUMS (2 + STRESSES - NDIM)
#define SUM(n) ((n) == 0 ? 0 : (n) == 1 ? STRESS(0, 1) : SHEAR(NDIM + (n) - 2))

#undef BOUNDS
#define BOUNDS __launch_bounds__(THREADS, HALF > 2 ? 1 : 2)

// Velocities of the run before a step, the adjoint forces there, and the sum for the gradient with respect to buoyancy:
// as in velocities_gather_back.
KERNEL(velocities_inside)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    const WIDE len = a.g.len;
    prefetch_fields(&a.g, SHOT(&a, run_velocity), NDIM, &c);
    prefetch_fields(&a.g, SHOT(&a, velocity), NDIM, &c);
    prefetch_fields(&a.g, SHOT(&a, buoyancy), NDIM, &c);
    REAL b[NDIM][VEC];
    buoyancy_at(&a.g, c.at, b);
    EACH(i) {
        const WIDE at = i * len + c.at;
        REAL run[VEC], force[VEC], sum[VEC], got[VEC], d[VEC];
        load(SHOT(&a, run_velocity) + at, run);
        load(SHOT(&a, velocity) + at, force);
        load(SHOT(&a, buoyancy) + at, sum);
        EACH_VEC got[v] = 0;
        EACH(j) {
            derivative(&a.g, SHOT(&a, derivatives[1]) + STRESS(i, j) * len, c.at, AXIS(j), i == j, d);
            EACH_VEC got[v] -= d[v];
        }
        EACH_VEC {
            sum[v] = FMA(run[v], got[v], sum[v]);
            force[v] = FMA(b[i][v], got[v], force[v]);
            got[v] = 0;
        }
        store(SHOT(&a, buoyancy) + at, sum);
        store(SHOT(&a, velocity) + at, force);
        EACH(j) {
            derivative(&a.g, SHOT(&a, run_stress) + STRESS(i, j) * len, c.at, AXIS(j), i == j, d);
            EACH_VEC got[v] -= d[v];
        }
        EACH_VEC run[v] = FMA(b[i][v], got[v], run[v]);
        store(SHOT(&a, run_velocity) + at, run);
    }
}

// A thread uses 254 registers, which are available with one block per multiprocessor.
#undef BOUNDS
#define BOUNDS __launch_bounds__(THREADS, 1)

// Stresses of the run before a step, the adjoint strains in it, and the sums by the moduli.
KERNEL(stresses_inside)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    const WIDE len = a.g.len;
    REAL adjoint[STRESSES][VEC], s[STRESSES][VEC], sum[SUMS][VEC], k[MODULI][VEC], gone[STRESSES][VEC], e[STRESSES][VEC];
    load_all(&a.g, SHOT(&a, derivatives[1]), STRESSES, c.at, adjoint);
    load_all(&a.g, SHOT(&a, run_stress), STRESSES, c.at, s);
    UNROLL for (int n = 0; n < SUMS; n++) load(SHOT(&a, stiffness) + SUM(n) * len + c.at, sum[n]);
    stiffness_at(&a.g, a.g.stiffness, c.at, k);
    strains_inside(&a.g, SHOT(&a, derivatives[0]), c.at, gone);
    strains_inside(&a.g, SHOT(&a, run_velocity), c.at, e);
    take_products(k, gone, adjoint);
    take_products(k, e, s);
    EACH_VEC {
        REAL both = 0, all = 0;
        EACH(i) {
            sum[0][v] = FMA(e[i][v], adjoint[i][v], sum[0][v]);
            both += e[i][v];
            all += adjoint[i][v];
        }
        sum[1][v] = FMA(both, all, sum[1][v]);
        UNROLL for (int n = NDIM; n < STRESSES; n++) sum[2 + n - NDIM][v] = FMA(e[n][v], adjoint[n][v], sum[2 + n - NDIM][v]);
    }
    store_all(&a.g, SHOT(&a, derivatives[1]), STRESSES, c.at, adjoint);
    store_all(&a.g, SHOT(&a, run_stress), STRESSES, c.at, s);
    UNROLL for (int n = 0; n < SUMS; n++) store(SHOT(&a, stiffness) + SUM(n) * len + c.at, sum[n]);
}

#undef BOUNDS
#define BOUNDS

// Converts the final sums with the adjoint strains to sums with the adjoint stresses. For w_i = lambda S s + m s_i with
// m = 2 mu in n dimensions, the normal parts are s_i = (w_i - lambda S s) / m with S s = S w / (n lambda + m).
KERNEL(stiffnesses_inside)(const struct Args a) {
    struct Cell c;
    if (!cell_of(&a, &c)) return;
    REAL sum[SUMS][VEC], k[MODULI][VEC];
    UNROLL for (int n = 0; n < SUMS; n++) load(SHOT(&a, stiffness) + SUM(n) * a.g.len + c.at, sum[n]);
    stiffness_at(&a.g, a.g.stiffness, c.at, k);
    EACH_VEC {
        REAL all = sum[1][v] / FMA((REAL)NDIM, k[0][v], k[1][v]);
        sum[0][v] = (sum[0][v] - k[0][v] * all) / k[1][v];
        sum[1][v] = all - sum[0][v];
        UNROLL for (int n = 2; n < SUMS; n++) sum[n][v] /= k[n][v];
    }
    UNROLL for (int n = 0; n < SUMS; n++) store(SHOT(&a, stiffness) + SUM(n) * a.g.len + c.at, sum[n]);
}
