// The interior points of an element, which belong to no other element: the second half of a step and the first half of
// the next step. Both are normally done when the next step is launched. With AT_ONCE they follow as soon as the forces
// are known, which then need not be stored, except where sources add to these forces or receivers read them (held
// elements), and where the end of the step is read.

// Whether the previous step is completed and this one begun at the interior points of an element.
INLINE int goes_on(const struct Elements *a, WIDE element) {
#if AT_ONCE
    return a->goes_on & (a->held[element] ? IN_HELD : IN_OTHERS);
#else
    return a->goes_on;
#endif
}

// Whether the next step begins at the end of this one at the interior points of an element.
INLINE int ends_at_once(const struct Elements *a, WIDE element) { return AT_ONCE && a->goes_on & ENDS_AT_ONCE && !a->held[element]; }

// Stores an integer in an array of floats by its bits.
#ifdef CUDA_ON_CPU
INLINE REAL AS_REAL(int number) {
    REAL bits;
    memcpy(&bits, &number, sizeof(int));
    return bits;
}
INLINE int AS_INT(REAL bits) {
    int number;
    memcpy(&number, &bits, sizeof(int));
    return number;
}
#else
#define AS_REAL(number) __int_as_float(number)
#define AS_INT(bits) __float_as_int(bits)
#endif

// Address of a value kept for the point of level k of a column: the components of the velocity, the inverse mass, the
// point number.
INLINE REAL *kept_at(REAL *column, int k, int what) { return column + ((k - 1) * KEPT_INSIDE + what) * (ELEMENTS * INNER); }

#if LAW < 2
// The data that advance the interior points of a thread's column.
struct Inside {
    REAL force[N][COMPONENTS], rate[N][COMPONENTS], mass[N];
};

// Completes a step and begins the next one. `second` receives the acceleration of the completed step.
INLINE void advance_points(const struct Elements *a, const int number[N], struct Inside *s, REAL value[N][COMPONENTS],
                           REAL second[N][COMPONENTS]) {
    UNROLL for (int k = 1; k < N - 1; k++) UNROLL for (int i = 0; i < COMPONENTS; i++) {
        const REAL acceleration = s->force[k][i] * s->mass[k];
        const REAL velocity = FMA(a->half, acceleration, s->rate[k][i]);
        second[k][i] = acceleration;
        s->rate[k][i] = FMA(a->half, acceleration, velocity);
        value[k][i] = FMA(a->dt, s->rate[k][i], value[k][i]);
        a->velocity[(WIDE)number[k] * COMPONENTS + i] = s->rate[k][i];
        a->field[(WIDE)number[k] * COMPONENTS + i] = value[k][i];
    }
}

// Like advance_points, but with the forces in device memory. Everything is read before anything is written, so that the reads
// are independent of each other.
INLINE void advance_inside(const struct Elements *a, WIDE element, int at, const int number[N],
                           REAL value[N][COMPONENTS], REAL second[N][COMPONENTS]) {
    struct Inside s;
    UNROLL for (int k = 1; k < N - 1; k++) {
        s.mass[k] = a->inverse_mass[number[k]];
        UNROLL for (int i = 0; i < COMPONENTS; i++) {
            s.force[k][i] = a->forces[(element * POINTS + k * SHEET + at) * COMPONENTS + i];
            s.rate[k][i] = a->velocity[(WIDE)number[k] * COMPONENTS + i];
        }
    }
    advance_points(a, number, &s, value, second);
}

// Prefetches the data for the interior points of a thread's column. Velocities that the thread itself has `changed`
// are read directly.
INLINE REAL *prefetch_inside(const struct Elements *a, const int number[N], REAL *column, int changed) {
    UNROLL for (int k = 1; k < N - 1; k++) {
        UNROLL for (int i = 0; i < COMPONENTS; i++) {
            const REAL *velocity = a->velocity + (WIDE)number[k] * COMPONENTS + i;
            if (changed) *kept_at(column, k, i) = *velocity;
            else copy_number(kept_at(column, k, i), velocity);
        }
        copy_number(kept_at(column, k, COMPONENTS), a->inverse_mass + number[k]);
        *kept_at(column, k, COMPONENTS + 1) = AS_REAL(number[k]);
    }
    copies_commit();
    return column;
}
#endif

// Stores the forces of a thread's column. If the next step begins at once at the interior points, `column` holds the
// prefetched data, otherwise it is null. SCATTERED adds them to the forces of the linearised wavefield.
INLINE void leave_forces(const struct Elements *a, WIDE element, int at, REAL force[N][COMPONENTS], REAL value[N][COMPONENTS],
                         REAL *column) {
    REAL *to = a->forces + (element * POINTS + at) * COMPONENTS;
    UNROLL for (int k = 0; k < N; k++) UNROLL for (int i = 0; i < COMPONENTS; i++)
#if SCATTERED
        to[k * SHEET * COMPONENTS + i] += force[k][i];
#else
        if (!column || k == 0 || k == N - 1) to[k * SHEET * COMPONENTS + i] = force[k][i];
#endif
#if AT_ONCE
    if (!column) return;
    struct Inside s;
    REAL second[N][COMPONENTS];
    int number[N];
    COPIES_WAIT(0);
    UNROLL for (int k = 1; k < N - 1; k++) {
        number[k] = AS_INT(*kept_at(column, k, COMPONENTS + 1));
        s.mass[k] = *kept_at(column, k, COMPONENTS);
        UNROLL for (int i = 0; i < COMPONENTS; i++) {
            s.force[k][i] = force[k][i];
            s.rate[k][i] = *kept_at(column, k, i);
        }
    }
    advance_points(a, number, &s, value, second);
#endif
}
