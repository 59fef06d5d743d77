// One slab of the staggered grid in the kernels; velocity_stress/gpu/arguments.rs has the same structures.
//
// Fields are [field][ghost + own + ghost planes][row][z], z fastest; velocity_stress/layout.rs gives their order and
// positions. Axes are 0 = z, 1 = row (3-D only), 2 = plane. The medium is [model plane from medium_first on][model
// row][padded z]; its means are computed where they are needed, which moves less data than arrays of means would.

#define RIM 4
#define GHOST 4
#define WEIGHTS 4
#define EACH_AXIS(a) UNROLL for (int a = 0; a < 3; a += NDIM == 3 ? 1 : 2)
#define VELOCITY(axis) (NDIM == 3 ? (axis) : (axis) / 2)
#define PAIR(a, b) ((a) == (b) ? (a) : (a) + (b) + 2)
#define STRESS(pair) (NDIM == 3 ? 3 + (pair) : 2 + (pair) / 2)
#define FIELDS (NDIM == 3 ? 9 : 5)

struct Stiff {
    const REAL *normal[6];  // dt c: diagonal of axes 0, 1, 2, couplings 01, 02, 12; isotropic: dt lambda alone
    const REAL *shear[3];   // 1 / (4 dt c): 01, 02, 12; isotropic: one for all
};

struct Slab {
    REAL *fields;              // the fields of the first shot
    const REAL *density;       // rho / (2 dt)
    struct Stiff stiff;
    WIDE field, shot;          // distance in numbers to the next field, and to the fields of the next shot
    REAL weights[3][WEIGHTS];  // weights of the derivative divided by the spacing, along the axes
    int nz, pitch, rows, planes;
    int low_row, low_plane, model_rows, model_planes;
    int first, own, medium_first, padding;
};

// With SHOTS 1 several shots run side by side, one for each blockIdx.y: the offset of a block's shot in an array that
// has `numbers` numbers per shot.
#if SHOTS
#define OF_SHOT(numbers) ((WIDE)blockIdx.y * (numbers))
#else
#define OF_SHOT(numbers) 0
#endif

// Index at which a row of a plane (own or ghost) starts in a field.
INLINE WIDE row_at(const struct Slab *s, int plane, int row) {
    return ((WIDE)(plane + GHOST - s->first) * s->rows + row) * s->pitch + OF_SHOT(s->shot);
}

// Index at which the medium of a padded row starts; rows and planes of the frame repeat the edge of the model.
INLINE WIDE medium_at(const struct Slab *s, int plane, int row) {
    int p = CLAMP(MIN(plane, s->planes - 1) - s->low_plane, 0, s->model_planes - 1) - s->medium_first;
    int r = NDIM == 3 ? CLAMP(MIN(row, s->rows - 1) - s->low_row, 0, s->model_rows - 1) : 0;
    return ((WIDE)p * s->model_rows + r) * s->pitch;
}

INLINE WIDE stride_of(const struct Slab *s, int axis) {
    return axis == 0 ? 1 : axis == 1 ? s->pitch : (WIDE)s->rows * s->pitch;
}

#if VEC == 4
INLINE void fetch_pair(const REAL *from, REAL *to) {
#ifdef CUDA_ON_CPU
    float2 t = *(const float2 *)from;
#else
    float2 t = __ldg((const float2 *)from);
#endif
    to[0] = t.x, to[1] = t.y;
}
#endif

// The derivative across z of VEC cells, half a cell beyond them (`ahead` 1) or before them, eq. 5; the far neighbours
// are summed first.
INLINE void derive_across(const REAL *p, WIDE stride, const REAL *w, int ahead, REAL *out) {
    EACH_VEC out[v] = 0;
    UNROLL for (int m = HALF - 1; m >= 0; m--) {
        REAL far[VEC], near[VEC];
        fetch(p + (m + ahead) * stride, far);
        fetch(p + (ahead - 1 - m) * stride, near);
        EACH_VEC out[v] = FMA(w[m], far[v] - near[v], out[v]);
    }
}

// The derivative along z, from whole vectors around the cells, or half vectors where these reach far enough.
#if VEC == 4 && HALF <= 2
#define AROUND 2
#else
#define AROUND ((HALF + VEC - 1) / VEC * VEC)
#endif
INLINE void derive_along(const REAL *p, const REAL *w, int ahead, REAL *out) {
    REAL line[VEC + 2 * AROUND];
#if VEC == 4 && HALF <= 2
    fetch_pair(p - 2, line);
    fetch(p, line + 2);
    fetch_pair(p + 4, line + 6);
#else
    UNROLL for (int k = 0; k < VEC + 2 * AROUND; k += VEC) fetch(p + k - AROUND, line + k);
#endif
    EACH_VEC {
        REAL sum = 0;
        UNROLL for (int m = HALF - 1; m >= 0; m--) {
            sum = FMA(w[m], line[AROUND + v + m + ahead] - line[AROUND + v + ahead - 1 - m], sum);
        }
        out[v] = sum;
    }
}

INLINE void derive(const struct Slab *s, const REAL *p, int axis, int ahead, REAL *out) {
    if (axis == 0) {
        derive_along(p, s->weights[0], ahead, out);
    } else {
        derive_across(p, stride_of(s, axis), s->weights[axis], ahead, out);
    }
}
