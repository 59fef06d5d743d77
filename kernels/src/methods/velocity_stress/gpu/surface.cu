// The flat free surface by images, one thread per surface node; velocity_stress/surface.rs gives the theory.

#define DEGREE 2
#define STRESS_DEGREE 3

struct Surface {
    struct Slab s;
    REAL vertical[WEIGHTS][DEGREE + 1];    // images of v_z, upwards: two nodes, then the slope times the spacing
    REAL horizontal[WEIGHTS][DEGREE + 1];  // images of the other velocities: three nodes
    REAL normal[WEIGHTS][STRESS_DEGREE];   // images of s_zz: nodes below the surface
    REAL shear[WEIGHTS][STRESS_DEGREE];    // images of the shear stresses: nodes below the surface
    REAL spacing;
    int top;                               // z index of the top nodes of the model
    int begin, end, row_begin, row_count;  // the planes, and the rows of each, that are computed
};

// Stiffness c_zz (axis 0), or the coupling of z with a horizontal axis (1, 2).
INLINE REAL stiff_at(const struct Slab *s, WIDE m, int axis) {
#if ISOTROPIC
    REAL lambda = s->stiff.normal[0][m];
    return axis == 0 ? lambda + (REAL)0.5 * inverse(s->stiff.shear[0][m]) : lambda;
#else
    return s->stiff.normal[PAIR(0, axis)][m];
#endif
}

INLINE int surface_node(const struct Surface *a, int *plane, int *row) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    *row = a->row_begin + k % a->row_count;
    *plane = a->begin + k / a->row_count;
    return *plane < a->end;
}

// Sets the velocities above the surface, before the stresses are computed.
KERNEL(above)(const struct Surface a) {
    const struct Slab *s = &a.s;
    int plane, row;
    if (!surface_node(&a, &plane, &row)) return;
    WIDE m = medium_at(s, plane, row) + a.top;
    REAL *at = s->fields + row_at(s, plane, row) + a.top, across = 0;
    EACH_AXIS(axis) {
        if (axis == 0) continue;
        REAL *v = at + VELOCITY(axis) * s->field, sum = 0;
        WIDE stride = stride_of(s, axis);
        UNROLL for (int k = HALF - 1; k >= 0; k--) sum = FMA(s->weights[axis][k], v[k * stride] - v[-(k + 1) * stride], sum);
        across = FMA(stiff_at(s, m, axis), sum, across);
        UNROLL for (int k = 0; k < HALF; k++) {
            v[-1 - k] = FMA(a.horizontal[k][0], v[0], FMA(a.horizontal[k][1], v[1], a.horizontal[k][2] * v[2]));
        }
    }
    REAL slope = -across * inverse(stiff_at(s, m, 0)) * a.spacing;
    UNROLL for (int k = 0; k < HALF; k++) {
        at[-1 - k] = FMA(a.vertical[k][0], at[0], FMA(a.vertical[k][1], at[1], a.vertical[k][2] * slope));
    }
}

// Sets the stresses on and above the surface, after they are computed.
KERNEL(upon)(const struct Surface a) {
    const struct Slab *s = &a.s;
    int plane, row;
    if (!surface_node(&a, &plane, &row)) return;
    WIDE m = medium_at(s, plane, row) + a.top;
    REAL *at = s->fields + row_at(s, plane, row) + a.top, *zz = at + STRESS(0) * s->field;
    REAL left = *zz * inverse(stiff_at(s, m, 0));
    *zz = 0;
    UNROLL for (int k = 0; k < HALF; k++) zz[-1 - k] = FMA(a.normal[k][0], zz[1], FMA(a.normal[k][1], zz[2], a.normal[k][2] * zz[3]));
    EACH_AXIS(axis) {
        if (axis == 0) continue;
        REAL *along = at + STRESS(axis) * s->field, *shear = at + STRESS(PAIR(0, axis)) * s->field;
        *along = FMA(-stiff_at(s, m, axis), left, *along);
        UNROLL for (int k = 0; k < HALF; k++) {
            shear[-1 - k] = FMA(a.shear[k][0], shear[0], FMA(a.shear[k][1], shear[1], a.shear[k][2] * shear[2]));
        }
    }
}
