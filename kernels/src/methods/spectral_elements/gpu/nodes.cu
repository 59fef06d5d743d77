// A step at the points that elements share. Bytes of memory that an element of degree 4 in 3-D moves here, for its 37.75 such
// points and 98 of them with those of its neighbours: 1176 of forces, 392 of their places, 302 of targets and where they begin,
// 151 of masses, 1812 of displacements and velocities: 3833. With attenuation 453 of accelerations more.

struct Advance {
    struct Solid s;
    const int *list;  // sums of the dressed points; null: of all others
    int count;
    int goes_on;      // into the next step; else the end of this one stays
    int keeps;        // the acceleration of the step that ends: with its end, and for memory variables
};

// A point's displacement and velocity, read before the sum of its forces is waited for.
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

KERNEL(advance)(const struct Advance a) {
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += gridDim.x * blockDim.x) {
        const int sum = a.list ? a.list[k] : k, p = a.s.targets[sum];
        const struct Motion motion = motion_of(&a.s, p);
        if (!a.list && a.s.inverse_mass[p] == 0) continue;
        REAL force[NDIM], acceleration[NDIM];
        add_up(&a.s, sum, force);
        accelerate(&a.s, p, a.list ? k : -1, force, acceleration);
        advance_point(&a, p, &motion, acceleration);
    }
}

struct Inside {
    struct Advance a;
    const int *points;  // [element][point of it]
    WIDE count;         // points of all elements
    int along;          // points along an axis
};

// The same for the points inside of elements, where somebody looks at the step.
KERNEL(advance_inside)(const struct Inside a) {
    for (WIDE k = (WIDE)blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += (WIDE)gridDim.x * blockDim.x) {
        int inside = 1, stride = 1;
        for (int c = 0; c < NDIM; c++) stride *= a.along;
        int place = k % stride;
        for (int c = 0; c < NDIM; c++) {
            const int at = place % a.along;
            inside = inside && at > 0 && at < a.along - 1;
            place /= a.along;
        }
        if (!inside) continue;
        const int p = a.points[k];
        REAL force[NDIM], acceleration[NDIM];
        UNROLL for (int c = 0; c < NDIM; c++) force[c] = a.a.s.forces[k * NDIM + c];
        const struct Motion motion = motion_of(&a.a.s, p);
        accelerate(&a.a.s, p, -1, force, acceleration);
        advance_point(&a.a, p, &motion, acceleration);
    }
}

struct Predict {
    REAL *field, *rate;
    const REAL *second;
    REAL dt, half;
    WIDE count;  // numbers
};

// The half of `advance` that begins the next step; for potentials, too.
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

// The second derivative of the potential, and half a step of it in its rate.
KERNEL(correct_fluid)(const struct Correct a) {
    const struct Fluid *f = &a.f;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += gridDim.x * blockDim.x) {
        const int target = a.list ? a.list[k] : k, p = f->targets[target];
        if (f->inverse_mass[p] == 0 && !a.list) continue;
        REAL sum = 0, inverse = f->inverse_mass[p];
        for (int j = f->starts[target]; j < f->starts[target + 1]; j++) sum += f->forces[f->places[j]];
        if (a.list) {
            const REAL *dress = f->dress + k * FLUID_DRESS;
            inverse = dress[0];
            sum = FMA(-dress[1], f->rate[p], sum);
            UNROLL for (int c = 0; c < NDIM; c++) sum = FMA(dress[2 + c], f->displacement[(WIDE)p * NDIM + c], sum);
        }
        REAL second = sum * inverse;
        if (f->sponge && !a.list) second = FMA(-f->sponge[p], f->rate[p], second);
        f->second[p] = second;
        f->rate[p] = FMA(f->half, f->second[p], f->rate[p]);
    }
}

struct Pack {
    const REAL *forces;
    const int *places;
    REAL *out;
    int count, components;
};

// Contributions that leave for neighbours.
KERNEL(pack)(const struct Pack a) {
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < a.count * a.components; k += gridDim.x * blockDim.x) {
        const int place = k / a.components, c = k % a.components;
        a.out[k] = a.forces[(WIDE)a.places[place] * a.components + c];
    }
}
