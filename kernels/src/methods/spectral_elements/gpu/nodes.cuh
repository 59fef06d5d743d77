// The points of a subdomain: the contributions of elements are summed in the order of the global element numbers.
// Points on absorbing faces and on contacts of fluids and solids are "dressed": they have a damping and a normal
// besides a mass.

// Dressed point of a solid: the inverse of its mass (a matrix, since it includes half a step of damping), the
// damping, and the normal out of fluids times area.
#define DRESS (2 * NDIM * NDIM + NDIM)
// Dressed point of a fluid: the inverse of its mass, the damping and that normal.
#define FLUID_DRESS (2 + NDIM)

struct Solid {
    REAL *displacement, *velocity, *acceleration;  // [point][component]
    const REAL *forces;        // contributions of elements: those of this subdomain, then the incoming ones, [place][component]
    const int *targets;        // points whose forces are summed, except points in the interior of elements
    const int *starts;         // where the places of a sum begin; one entry more than there are sums
    const int *places;
    const REAL *inverse_mass;  // 0 where there is no solid, and on dressed points
    const REAL *dress;         // [dressed point][DRESS]
    const REAL *sponge;        // damping over mass of every point except dressed points; null without a sponge
    const REAL *pressure;      // second derivative of the potential: minus the pressure; null without fluids
    REAL dt, half;             // the time step, and half of it
};

struct Fluid {
    REAL *potential, *rate, *second;
    const REAL *forces;
    const int *targets, *starts, *places;
    const REAL *inverse_mass;
    const REAL *dress;         // [dressed point][FLUID_DRESS]
    const REAL *sponge;        // damping over mass, as in `struct Solid`
    const REAL *displacement;  // displacement of the solids
    REAL dt, half;
};

// Sums the contributions of elements to a point.
INLINE void add_up(const struct Solid *s, int sum, REAL *force) {
    UNROLL for (int c = 0; c < NDIM; c++) force[c] = 0;
    // Most of these points belong to two elements, whose contributions are read at once.
    int k = s->starts[sum];
    const int end = s->starts[sum + 1];
    for (; k + 1 < end; k += 2) {
        const REAL *from = s->forces + (WIDE)s->places[k] * NDIM, *also = s->forces + (WIDE)s->places[k + 1] * NDIM;
        REAL other[NDIM];
        UNROLL for (int c = 0; c < NDIM; c++) other[c] = also[c];
        UNROLL for (int c = 0; c < NDIM; c++) force[c] = (force[c] + from[c]) + other[c];
    }
    if (k < end) {
        const REAL *from = s->forces + (WIDE)s->places[k] * NDIM;
        UNROLL for (int c = 0; c < NDIM; c++) force[c] += from[c];
    }
}

// The acceleration of a point from its force; its velocity belongs to a time half a step earlier.
INLINE void accelerate(const struct Solid *s, int p, int dressed, REAL *force, REAL *acceleration) {
    if (dressed < 0) {
        const REAL loss = s->sponge ? s->sponge[p] : 0;
        UNROLL for (int c = 0; c < NDIM; c++) {
            acceleration[c] = force[c] * s->inverse_mass[p];
            if (s->sponge) acceleration[c] = FMA(-loss, s->velocity[(WIDE)p * NDIM + c], acceleration[c]);
        }
        return;
    }
    const REAL *inverse = s->dress + dressed * DRESS, *damping = inverse + NDIM * NDIM, *normal = damping + NDIM * NDIM;
    const REAL *velocity = s->velocity + (WIDE)p * NDIM, pressure = s->pressure ? s->pressure[p] : 0;
    UNROLL for (int c = 0; c < NDIM; c++) {
        REAL loss = 0;
        UNROLL for (int d = 0; d < NDIM; d++) loss = FMA(damping[c * NDIM + d], velocity[d], loss);
        force[c] -= FMA(normal[c], pressure, loss);
    }
    UNROLL for (int c = 0; c < NDIM; c++) {
        acceleration[c] = 0;
        UNROLL for (int d = 0; d < NDIM; d++) acceleration[c] = FMA(inverse[c * NDIM + d], force[d], acceleration[c]);
    }
}
