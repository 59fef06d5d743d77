// Sources, receivers, snapshots and the search for non-finite values.

struct Inject {
    REAL *forces;
    const WIDE *place;     // indices in `forces` of the values on which sources act
    const int *first;      // index of the first source of each of these values; one entry more than values
    const int *series;
    const REAL *weight;
    const REAL *strength;  // [step][series]
    int begin, end;        // the values of this launch
    int all_series, step, steps;
};

KERNEL(inject)(const struct Inject a) {
    int k = a.begin + blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= a.end || a.step >= a.steps) return;
    const REAL *strength = a.strength + (WIDE)a.step * a.all_series;
    REAL *to = a.forces + a.place[k], sum = *to;
    for (int i = a.first[k]; i < a.first[k + 1]; i++) sum = FMA(a.weight[i], strength[a.series[i]], sum);
    *to = sum;
}

#define READERS 32
// Largest number of values at a place: the components of a strain.
#define OUTPUTS (NDIM == 3 ? 6 : 3)
#define PLACES (NDIM == 3 ? N * N * N : N * N)

// Places at which fields are interpolated.
struct Sample {
    struct Solid s;
    struct Fluid f;
    const int *points;        // [solid element][point]
    const int *fluid_points;
    const int *element;       // the element of each place; -1 outside the mesh
    const int *in_fluid;
    const WIDE *first;        // index of a place's first weight: one per point, in fluids also for grad(chi)/rho,
                              // [point][component]; for derivatives of the displacement only [point][output][component]
    const REAL *weights;
    const int *dressed;       // for receivers, [place][point]: the number of the point among the dressed points, or -1
    const int *sums;          // for receivers, [place][point]: the index of the sum of its forces; -1 inside the element
    REAL *out;                // [output][place]
    int count, quantity;      // quantity: 0 displacement, 1 velocity, 2 acceleration, 3 pressure, 4 displacement gradient
    int outputs;
    int pending;              // velocities belong to a time half a step earlier; accelerations must be computed
    int component;            // the component of a snapshot
};

// The contributions of every `readers`-th point to the values at a place.
INLINE void read_place(const struct Sample *a, int k, int reader, int readers, REAL *sum) {
    UNROLL for (int c = 0; c < OUTPUTS; c++) sum[c] = 0;
    const int element = a->element[k];
    if (element < 0) return;
    const REAL *weights = a->weights + a->first[k];
    const int *points = (a->in_fluid[k] ? a->fluid_points : a->points) + (WIDE)element * PLACES;
    for (int l = reader; l < PLACES; l += readers) {
        const int p = points[l];
        if (a->in_fluid[k]) {
            const REAL *field = a->quantity == 0 ? a->f.potential : a->quantity == 1 ? a->f.rate : a->f.second;
            const REAL *slope = weights + PLACES + l * NDIM;
            if (a->quantity == 3) sum[0] = FMA(-weights[l], field[p], sum[0]);
            else UNROLL for (int c = 0; c < NDIM; c++) sum[c] = FMA(slope[c], field[p], sum[c]);
            continue;
        }
        if (a->quantity == 3) continue;
        if (a->quantity == 4) {
            const REAL *slope = weights + l * a->outputs * NDIM;
            UNROLL for (int c = 0; c < OUTPUTS; c++) if (c < a->outputs)
                UNROLL for (int i = 0; i < NDIM; i++) sum[c] = FMA(slope[c * NDIM + i], a->s.displacement[(WIDE)p * NDIM + i], sum[c]);
            continue;
        }
        REAL force[NDIM], acceleration[NDIM];
        if (a->pending && a->quantity > 0) {
            const int sum = a->sums[k * PLACES + l];
            const REAL *own = a->s.forces + ((WIDE)element * PLACES + l) * NDIM;
            if (sum >= 0) add_up(&a->s, sum, force);
            else UNROLL for (int c = 0; c < NDIM; c++) force[c] = own[c];
            accelerate(&a->s, p, a->dressed[k * PLACES + l], force, acceleration);
        }
        UNROLL for (int c = 0; c < NDIM; c++) {
            const WIDE at = (WIDE)p * NDIM + c;
            REAL value = a->quantity == 0 ? a->s.displacement[at] : a->quantity == 1 ? a->s.velocity[at] : a->s.acceleration[at];
            if (a->pending && a->quantity == 1) value = FMA(a->s.half, acceleration[c], value);
            if (a->pending && a->quantity == 2) value = acceleration[c];
            sum[c] = FMA(weights[l], value, sum[c]);
        }
    }
}

// A block computes a receiver.
KERNEL(extract)(const struct Sample a) {
    DYNAMIC_SHARED(REAL, part);
    REAL sum[OUTPUTS];
    read_place(&a, blockIdx.x, threadIdx.x, READERS, sum);
    UNROLL for (int c = 0; c < OUTPUTS; c++) part[c * READERS + threadIdx.x] = sum[c];
    BLOCK_BARRIER;
    const int c = threadIdx.x;
    if (c >= a.outputs) return;
    REAL total = 0;
    for (int i = 0; i < READERS; i++) total += part[c * READERS + i];
    a.out[c * a.count + blockIdx.x] = total;
}

// A thread computes a component at a point of a snapshot.
KERNEL(snapshot)(const struct Sample a) {
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += gridDim.x * blockDim.x) {
        REAL sum[OUTPUTS];
        read_place(&a, k, 0, 1, sum);
        REAL value = sum[0];
        UNROLL for (int c = 1; c < NDIM; c++) if (a.component == c) value = sum[c];
        a.out[k] = value;
    }
}

struct Look {
    const REAL *displacement;
    const REAL *second;  // null without fluids
    int points;
    unsigned long long *first_non_finite;  // the smallest number of a point
};

KERNEL(look)(const struct Look a) {
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < a.points; p += gridDim.x * blockDim.x) {
        REAL sum = a.second ? a.second[p] * 0 : 0;
        UNROLL for (int c = 0; c < NDIM; c++) sum += a.displacement[(WIDE)p * NDIM + c] * 0;
        if (sum != 0 || sum != sum) atomicMin(a.first_non_finite, (unsigned long long)p);
    }
}
