// A step at the points that elements share. Memory traffic in bytes of an element of degree 4 in 3-D, for its 37.75
// shared points, or 98 including its neighbours' copies: 1176 of forces, 392 of their places, 302 of targets and
// starts, 151 of masses, 1812 of displacements and velocities: 3833. Attenuation adds 453 of accelerations.
//
// The adjoint wavefield completes its steps with kernels that also add its products with the forward wavefield, which
// moves 453 bytes of the forward field and 302 of sums, and store its field for the products of slopes (products.cu),
// which moves another 453 bytes.

struct Advance {
    struct Solid s;
    const int *list;  // sums of the dressed points; null: all other sums
    int count;
    int goes_on;      // whether to begin the next step; otherwise only complete this one
    int keeps;        // whether to store the acceleration: with the end of a step, and for memory variables
};

// A point's displacement and velocity, read before its forces are summed.
struct Motion {
    REAL displacement[NDIM], velocity[NDIM];
};

INLINE struct Motion motion_of(const struct Solid *s, int p) {
    struct Motion m;
    UNROLL for (int c = 0; c < NDIM; c++) {
        m.displacement[c] = s->displacement[(WIDE)p * NDIM + c];
        m.velocity[c] = s->velocity[(WIDE)p * NDIM + c];
    }
    return m;
}

// v += dt/2 a, and for the next step v += dt/2 a; u += dt v.
INLINE void advance_point(const struct Advance *a, int p, const struct Motion *m, const REAL *acceleration) {
    UNROLL for (int c = 0; c < NDIM; c++) {
        const WIDE at = (WIDE)p * NDIM + c;
        const REAL velocity = FMA(a->s.half, acceleration[c], m->velocity[c]);
        if (a->goes_on) {
            const REAL next = FMA(a->s.half, acceleration[c], velocity);
            a->s.velocity[at] = next;
            a->s.displacement[at] = FMA(a->s.dt, next, m->displacement[c]);
        } else {
            a->s.velocity[at] = velocity;
        }
        if (a->keeps) a->s.acceleration[at] = acceleration[c];
    }
}

// The products that are added at every point when a step of the adjoint wavefield is completed.
struct Paired {
    const REAL *forward;  // displacement, in fluids second derivative of the potential, of the forward wavefield, [point][component]
    REAL *sums;           // [product][point]: with the second derivative of the adjoint field and, in a sponge, with the first
    REAL *kept;           // receives the adjoint field of the step, [point][component]; null if not needed
    WIDE points;
    int soaked;           // 1 if there is a sponge
};

// Adds the products of a point of a solid, whose velocity belongs to a time half a step earlier.
INLINE void pair_point(const struct Paired *b, int p, const struct Motion *m, REAL half, const REAL *acceleration) {
    REAL mass = 0, damping = 0;
    UNROLL for (int c = 0; c < NDIM; c++) {
        const WIDE at = (WIDE)p * NDIM + c;
        const REAL forward = b->forward[at];
        mass = FMA(forward, acceleration[c], mass);
        damping = FMA(forward, FMA(half, acceleration[c], m->velocity[c]), damping);
        if (b->kept) b->kept[at] = m->displacement[c];
    }
    b->sums[p] += mass;
    if (b->soaked) b->sums[b->points + p] += damping;
}

// Completes a step at a point that elements share. `b` is null except for the adjoint wavefield.
INLINE void advance_sum(const struct Advance *a, int k, const struct Paired *b) {
    const int sum = a->list ? a->list[k] : k, p = a->s.targets[sum];
    const struct Motion motion = motion_of(&a->s, p);
    if (!a->list && a->s.inverse_mass[p] == 0) return;
    REAL force[NDIM], acceleration[NDIM];
    add_up(&a->s, sum, force);
    accelerate(&a->s, p, a->list ? k : -1, force, acceleration);
    if (b) pair_point(b, p, &motion, a->s.half, acceleration);
    advance_point(a, p, &motion, acceleration);
}

KERNEL(advance)(const struct Advance a) {
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += gridDim.x * blockDim.x) advance_sum(&a, k, 0);
}

struct AdvancePaired {
    struct Advance a;
    struct Paired b;
};

KERNEL(advance_paired)(const struct AdvancePaired a) {
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < a.a.count; k += gridDim.x * blockDim.x) advance_sum(&a.a, k, &a.b);
}

struct Inside {
    struct Advance a;
    const int *points;  // [element][point]
    WIDE count;         // number of interior points of all elements
    int along;          // number of points of an element along an axis
};

// Completes a step at interior point k of the elements, where the kernel of elements does not do it.
INLINE void advance_inside_point(const struct Inside *a, WIDE k, const struct Paired *b) {
    const int inner = a->along - 2;
    int stride = 1, all = 1, here = 0;
    for (int c = 0; c < NDIM; c++) all *= inner;
    const WIDE element = k / all;
    int place = (int)(k % all);
    for (int c = 0; c < NDIM; c++) {
        here += (place % inner + 1) * stride;
        place /= inner, stride *= a->along;
    }
    const WIDE at = element * stride + here;
    const int p = a->points[at];
    REAL force[NDIM], acceleration[NDIM];
    UNROLL for (int c = 0; c < NDIM; c++) force[c] = a->a.s.forces[at * NDIM + c];
    const struct Motion motion = motion_of(&a->a.s, p);
    accelerate(&a->a.s, p, -1, force, acceleration);
    if (b) pair_point(b, p, &motion, a->a.s.half, acceleration);
    advance_point(&a->a, p, &motion, acceleration);
}

KERNEL(advance_inside)(const struct Inside a) {
    for (WIDE k = (WIDE)blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += (WIDE)gridDim.x * blockDim.x)
        advance_inside_point(&a, k, 0);
}

struct InsidePaired {
    struct Inside a;
    struct Paired b;
};

KERNEL(advance_inside_paired)(const struct InsidePaired a) {
    for (WIDE k = (WIDE)blockIdx.x * blockDim.x + threadIdx.x; k < a.a.count; k += (WIDE)gridDim.x * blockDim.x)
        advance_inside_point(&a.a, k, &a.b);
}

struct Predict {
    REAL *field, *rate;
    const REAL *second;
    REAL dt, half;
    WIDE count;  // numbers
};

// Begins the next step of displacements or of potentials.
KERNEL(predict)(const struct Predict a) {
    for (WIDE k = (WIDE)blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += (WIDE)gridDim.x * blockDim.x) {
        const REAL next = FMA(a.half, a.second[k], a.rate[k]);
        a.rate[k] = next;
        a.field[k] = FMA(a.dt, next, a.field[k]);
    }
}

struct Correct {
    struct Fluid f;
    const int *list;
    int count;
};

// Computes the second derivative of the potential at a point, and adds half a step of it to the rate. `b` is null
// except for the adjoint wavefield.
INLINE void correct_sum(const struct Correct *a, int k, const struct Paired *b) {
    const struct Fluid *f = &a->f;
    const int target = a->list ? a->list[k] : k, p = f->targets[target];
    if (f->inverse_mass[p] == 0 && !a->list) return;
    REAL sum = 0, inverse = f->inverse_mass[p];
    for (int j = f->starts[target]; j < f->starts[target + 1]; j++) sum += f->forces[f->places[j]];
    if (a->list) {
        const REAL *dress = f->dress + k * FLUID_DRESS;
        inverse = dress[0];
        sum = FMA(-dress[1], f->rate[p], sum);
        UNROLL for (int c = 0; c < NDIM; c++) sum = FMA(dress[2 + c], f->displacement[(WIDE)p * NDIM + c], sum);
    }
    REAL second = sum * inverse;
    if (f->sponge && !a->list) second = FMA(-f->sponge[p], f->rate[p], second);
    const REAL rate = FMA(f->half, second, f->rate[p]);
    f->second[p] = second;
    f->rate[p] = rate;
    if (!b) return;
    b->sums[p] = FMA(b->forward[p], second, b->sums[p]);
    if (b->soaked) b->sums[b->points + p] = FMA(b->forward[p], rate, b->sums[b->points + p]);
    if (b->kept) b->kept[p] = f->potential[p];
}

KERNEL(correct_fluid)(const struct Correct a) {
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += gridDim.x * blockDim.x) correct_sum(&a, k, 0);
}

struct CorrectPaired {
    struct Correct a;
    struct Paired b;
};

KERNEL(correct_fluid_paired)(const struct CorrectPaired a) {
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < a.a.count; k += gridDim.x * blockDim.x) correct_sum(&a.a, k, &a.b);
}

struct Pack {
    const REAL *forces;
    const int *places;
    REAL *out;
    int count, components;
};

// Copies outgoing contributions to the exchange buffer.
KERNEL(pack)(const struct Pack a) {
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < a.count * a.components; k += gridDim.x * blockDim.x) {
        const int place = k / a.components, c = k % a.components;
        a.out[k] = a.forces[(WIDE)a.places[place] * a.components + c];
    }
}
