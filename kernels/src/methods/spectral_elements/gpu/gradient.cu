// Kernels of gradients and linearised runs at single points: sums in double precision, points of absorbing faces,
// recorded values of the adjoint wavefield, the largest magnitude of the forward wavefield, and the forces of
// perturbed masses and dampings.

struct Flush {
    REAL *sums;      // in single precision; set to zero
    double *totals;
    WIDE count;
};

KERNEL(flush)(const struct Flush a) {
    for (WIDE k = (WIDE)blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += (WIDE)gridDim.x * blockDim.x) {
        a.totals[k] += a.sums[k];
        a.sums[k] = 0;
    }
}

struct FaceProducts {
    const int *point;          // [point of a face]
    const int *in_fluid;
    const double *normal;      // [point of a face][component]
    const REAL *displacement;  // displacement of the forward wavefield, and second derivative of its potential
    const REAL *second;
    const REAL *velocity;      // velocity of the adjoint wavefield, and first derivative of its potential
    const REAL *acceleration;  // acceleration of the adjoint wavefield in this step
    const REAL *rate;
    double *sums;              // [point of a face]: along the normal and across it; in a fluid only the first
    REAL half;                 // half of a time step
    int ahead;                 // whether the velocity of the adjoint wavefield belongs to a time half a step later
    int count;
};

KERNEL(faces)(const struct FaceProducts a) {
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += gridDim.x * blockDim.x) {
        const int p = a.point[k];
        double *sums = a.sums + 2 * k;
        if (a.in_fluid[k]) {
            sums[0] += (double)a.second[p] * (double)a.rate[p];
            continue;
        }
        const double *normal = a.normal + k * NDIM;
        double forward = 0, back = 0, whole = 0;
        for (int c = 0; c < NDIM; c++) {
            const WIDE at = (WIDE)p * NDIM + c;
            // Both branches give the same bits.
            const REAL later = a.ahead ? a.velocity[at] : FMA(a.half, a.acceleration[at], a.velocity[at]);
            const double u = a.displacement[at], v = FMA(-a.half, a.acceleration[at], later);
            forward += u * normal[c], back += v * normal[c], whole += u * v;
        }
        sums[0] += forward * back;
        sums[1] += whole - forward * back;
    }
}

struct Watch {
    const REAL *displacement, *second;
    const WIDE *numbers;  // indices of the displacement; -1 - k: index k of the second derivative of the potential
    REAL *out;
    int count;
};

KERNEL(watch)(const struct Watch a) {
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += gridDim.x * blockDim.x) {
        const WIDE number = a.numbers[k];
        a.out[k] = number < 0 ? a.second[-1 - number] : a.displacement[number];
    }
}

struct Largest {
    const REAL *field;
    WIDE count;
    int *most;  // the bits of the largest magnitude
};

KERNEL(largest)(const struct Largest a) {
    REAL most = 0;
    for (WIDE k = (WIDE)blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += (WIDE)gridDim.x * blockDim.x)
        most = MAX(most, a.field[k] < 0 ? -a.field[k] : a.field[k]);
    // The bits of non-negative floats are ordered like their values.
    if (most > 0) atomicMax(a.most, __float_as_int(most));
}

struct Inertia {
    REAL *forces;         // of the linearised wavefield, [element][point][component]
    const int *points;    // [element][point]
    const REAL *changes;  // factors of the second and first derivative, [element][point][of the two]
    const REAL *second;   // derivatives of the field of the shot, [point][component]
    const REAL *first;
    WIDE count;           // number of values of the forces
    int components;
};

KERNEL(inertia)(const struct Inertia a) {
    for (WIDE k = (WIDE)blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += (WIDE)gridDim.x * blockDim.x) {
        const WIDE place = k / a.components, at = (WIDE)a.points[place] * a.components + k % a.components;
        const REAL own = FMA(a.changes[2 * place + 1], a.first[at], a.changes[2 * place] * a.second[at]);
        a.forces[k] -= own;
    }
}

// Perturbed dampings of absorbing faces. The dampings at one point of an element form one matrix, so no two threads add
// to the same force.
struct FaceForces {
    REAL *forces;
    const int *place;     // index among the points of elements
    const int *point;
    const REAL *damping;  // [place][component of the force][component of the velocity]
    const REAL *first;    // velocity or rate of the field of the shot
    int count, components;
};

KERNEL(face_forces)(const struct FaceForces a) {
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < a.count * a.components; k += gridDim.x * blockDim.x) {
        const int face = k / a.components, component = k % a.components;
        REAL sum = 0;
        for (int c = 0; c < a.components; c++)
            sum = FMA(a.damping[k * a.components + c], a.first[(WIDE)a.point[face] * a.components + c], sum);
        a.forces[(WIDE)a.place[face] * a.components + component] -= sum;
    }
}
