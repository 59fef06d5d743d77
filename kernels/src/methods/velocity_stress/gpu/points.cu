// Sources, receivers, snapshots, the largest speeds at the surface, and the search for non-finite values.

// The cells on which sources act, each with its sources in order.
struct Inject {
    struct Slab s;
    const WIDE *cell;      // index of each cell in the fields
    const int *first;      // index of the first source of each cell; one entry more than cells
    const int *series;
    const REAL *weight;
    const REAL *strength;  // [step][series]
    WIDE all_series;
    int begin, end;        // the cells of this launch
    int step, steps;
};

KERNEL(inject)(const struct Inject a) {
    int k = a.begin + blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= a.end || a.step >= a.steps) return;
    const REAL *strength = a.strength + a.step * a.all_series;
    REAL *to = a.s.fields + a.cell[k], sum = *to;
    for (int i = a.first[k]; i < a.first[k + 1]; i++) sum = FMA(a.weight[i], strength[a.series[i]], sum);
    *to = sum;
}

// Threads that compute one value of a record together.
#define READERS 8

// The values of a record.
struct Extract {
    struct Slab s;
    const int *first;      // index of the first node of each value of a record; one entry more than values
    const WIDE *cell;
    const REAL *weight;
    REAL *kept[2];         // the running and the previous value of each entry; null where readings are recorded directly
    REAL *record;          // null: nothing is recorded
    REAL dt;
    int integral;          // 1 if the record holds the integral of the readings, 0 if it holds their rate of change
    int count;             // number of values of a record
};

KERNEL(extract)(const struct Extract a) {
    DYNAMIC_SHARED(REAL, part);
    const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x) / READERS, reader = threadIdx.x % READERS;
    const int begin = k < a.count ? a.first[k] : 0, end = k < a.count ? a.first[k + 1] : 0;
    REAL sum = 0;
    for (int i = begin + reader; i < end; i += READERS) sum = FMA(a.weight[i], a.s.fields[a.cell[i]], sum);
    part[threadIdx.x] = sum;
    BLOCK_BARRIER;
    if (reader > 0 || k >= a.count) return;
    UNROLL for (int i = 1; i < READERS; i++) sum += part[threadIdx.x + i];
    if (a.kept[0]) {
        if (a.integral) {
            sum = a.kept[0][k] = FMA(a.dt, sum, a.kept[0][k]);
        } else {
            REAL before = a.kept[1][k];
            a.kept[1][k] = sum;
            sum = a.kept[0][k] = (sum - before) / a.dt;
        }
    }
    if (a.record) a.record[k] = sum;
}

struct Pack {
    struct Slab s;
    int field[3], fields;  // the fields whose sum is packed, and their number
    REAL share;
    int begin, end;        // the planes to pack
    int z_begin, z_count, row_begin, row_count;
    REAL *out;             // [plane][row][z] of the window
};

KERNEL(pack)(const struct Pack a) {
    const WIDE count = (WIDE)(a.end - a.begin) * a.row_count * a.z_count;
    for (WIDE k = (WIDE)blockIdx.x * blockDim.x + threadIdx.x; k < count; k += (WIDE)gridDim.x * blockDim.x) {
        int z = k % a.z_count, row = k / a.z_count % a.row_count, plane = k / a.z_count / a.row_count;
        const REAL *from = a.s.fields + row_at(&a.s, a.begin + plane, a.row_begin + row) + a.z_begin + z;
        REAL sum = 0;
        for (int i = 0; i < a.fields; i++) sum += from[a.field[i] * a.s.field];
        a.out[k] = a.share * sum;
    }
}

struct Peaks {
    struct Slab s;
    REAL *peaks;           // [own plane][row]
    int top, begin, end, row_begin, row_count;
};

// Interpolates midway between the second and the third of four values.
INLINE REAL on_node(const REAL *v, WIDE stride) {
    return ((REAL)9 * (v[0] + v[-stride]) - v[stride] - v[-2 * stride]) / 16;
}

KERNEL(peaks)(const struct Peaks a) {
    const struct Slab *s = &a.s;
    int k = blockIdx.x * blockDim.x + threadIdx.x, row = a.row_begin + k % a.row_count, plane = a.begin + k / a.row_count;
    if (plane >= a.end) return;
    const REAL *at = s->fields + row_at(s, plane, row) + a.top;
    REAL square = 0;
    EACH_AXIS(axis) {
        if (axis == 0) continue;
        REAL v = on_node(at + VELOCITY(axis) * s->field, stride_of(s, axis));
        square = FMA(v, v, square);
    }
    REAL *peak = a.peaks + (WIDE)(plane - s->first) * s->rows + row, speed = SQRT(square);
    if (speed > *peak) *peak = speed;
}

struct Look {
    struct Slab s;
    unsigned long long *first_non_finite;  // the smallest number of a cell, [plane][row][z] of the padded grid
};

KERNEL(look)(const struct Look a) {
    const struct Slab *s = &a.s;
    const WIDE plane_len = (WIDE)s->rows * s->pitch, count = s->own * plane_len;
    const REAL *from = s->fields + GHOST * plane_len;
    for (WIDE k = (WIDE)blockIdx.x * blockDim.x + threadIdx.x; k < count; k += (WIDE)gridDim.x * blockDim.x) {
        REAL sum = 0;
        UNROLL for (int c = 0; c < NDIM; c++) sum += from[c * s->field + k] * 0;
        if (sum != 0 || sum != sum) atomicMin(a.first_non_finite, (unsigned long long)(s->first * plane_len + k));
    }
}
