// The points inside of an element, which belong to nobody else: the second half of a step and the first one of the next. Both are done
// when the next step is launched. AT_ONCE they follow as soon as the forces are known, which then move no memory, save where sources
// add to these forces or receivers read them (elements that are held), and where somebody looks at the end of the step.

// Whether the last step ends and this one begins inside of an element.
INLINE int goes_on(const struct Elements *a, WIDE element) {
#if AT_ONCE
    return a->goes_on & (a->held[element] ? IN_HELD : IN_OTHERS);
#else
    return a->goes_on;
#endif
}

// Whether the next step begins with the end of this one inside of an element.
INLINE int ends_at_once(const struct Elements *a, WIDE element) { return AT_ONCE && a->goes_on & ENDS_AT_ONCE && !a->held[element]; }

// The bits of a number of a point among numbers of another kind.
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

// Where a column keeps a number of its point of level k: the components of the velocity, the inverse of the mass, the point's number.
INLINE REAL *kept_at(REAL *column, int k, int what) { return column + ((k - 1) * KEPT + what) * (ELEMENTS * INNER); }

#if LAW < 2
// The points inside on a thread's column: what a step changes them by.
struct Inside {
    REAL force[N][COMPONENTS], rate[N][COMPONENTS], mass[N];
};

// A step ends and the next one begins for them. `second` takes the acceleration of the step that ends.
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

// The same from their forces among those of all points. Everything is read before anything is written, so that reads need not wait for
// each other.
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

// Asks for what that takes at the points on a thread's column. Velocities that the thread itself has `changed` are there.
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

// Leaves the forces of a thread's column to those who wait for them. If the next step begins at once for the points inside, `column` is
// where it has kept what that takes; else null.
INLINE void leave_forces(const struct Elements *a, WIDE element, int at, REAL force[N][COMPONENTS], REAL value[N][COMPONENTS],
                         REAL *column) {
    REAL *to = a->forces + (element * POINTS + at) * COMPONENTS;
    UNROLL for (int k = 0; k < N; k++) UNROLL for (int i = 0; i < COMPONENTS; i++)
        if (!column || k == 0 || k == N - 1) to[k * SHEET * COMPONENTS + i] = force[k][i];
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
