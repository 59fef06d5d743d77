// The arguments of the kernel of elements (elements.cu), and its indices.
//
// The defines before this line choose the variant:
//   N points along an axis, COMPONENTS of the field, LAW 0 isotropic 1 table of constants 2 fluid, STORED geometry 0|1,
//   LOSS memory variables 0|1 (with VEC 2), COARSE 0|1 for a single mechanism per point, VARIES 0|1 for constants of
//   every point, LINES 0|1 (not with LOSS of all mechanisms), AT_ONCE 0|1 (not with LOSS nor fluids) if a step may
//   begin at the interior points of an element as soon as their forces are known, SCATTERED 0|1 (with VARIES and
//   ADVANCED) if the law is a perturbation of the medium, whose forces are added to those of the linearised wavefield,
//   OWN_LOSS 0|1 for losses of every point, DAMPED 0|1 for perfectly matched layers (layers.cu; not with LINES),
//   ELEMENTS per block, THREADS per block

#define SHEET (NDIM == 3 ? N * N : N)
#define POINTS (SHEET * N)
#define ACROSS (NDIM - 1)
#define MARCH (NDIM - 1)
#define STRAINS (NDIM * (NDIM + 1) / 2)
#define LAW_NUMBERS (LAW == 0 ? 2 : LAW == 1 ? STRAINS * (STRAINS + 1) / 2 : 1)
#define SHAPE_NUMBERS (NDIM == 3 ? 21 : 6)
// Voigt's index of two axes: xx, yy, zz, yz, zx, xy; in 2-D xx, zz, zx.
#define VOIGT(i, k) ((i) == (k) ? (i) : NDIM == 3 ? 6 - (i) - (k) : 2)
#define METRIC_NUMBERS (NDIM * NDIM + 1)
// With all mechanisms at a point, memory variables are driven by the displacement that the previous step predicted;
// with a single mechanism they are driven by the displacement of this step.
#define PREDICTED (LOSS && !COARSE)
// Constants of every point are staged in shared memory, prefetched two levels ahead.
#define STAGED (LAW == 1 && VARIES && LINES && !LOSS)
// Memory variables of all levels are read before the lines of the field are shared.
#define EARLY (COARSE && LINES)
// Memory variables are read when they are needed, to save registers.
#define LATE (LOSS && N > 6)
#if LINES
// Number of lines of a sheet along one axis.
#define ABREAST (SHEET / N)
#define FILLED ((1 + ACROSS) * COMPONENTS * POINTS)
// Padding by which the threads of the next element continue in the memory banks where the threads of this element end.
#define SEAT (FILLED + (64 + SHEET % 32 - FILLED % 32) % 32)
#else
#define SEAT ((1 + PREDICTED + ACROSS) * COMPONENTS * SHEET)
#endif
// Derivatives along axis a: ROW of all polynomials at the thread's point, COLUMN of the polynomial of that point at all
// points.
#if LOSS && !LINES
#define ROW(t, a, p) (t)->slopes[(t)->axis[a] * N + (p)]
#define COLUMN(t, a, p) (t)->slopes[(p) * N + (t)->axis[a]]
#else
#define ROW(t, a, p) (t)->row[a][p]
#define COLUMN(t, a, p) (t)->column[a][p]
#endif

// Flags of `goes_on`: the elements in which the previous step is completed and this one begun, and whether the next
// step begins at the end of this one in the interior of elements that are not held.
#define IN_HELD 1
#define IN_OTHERS 2
#define ENDS_AT_ONCE 4

// Columns through the interior points of an element, and the number of values that this column keeps in shared memory
// for each point.
#define INNER (NDIM == 3 ? (N - 2) * (N - 2) : N - 2)
#define KEPT_INSIDE (COMPONENTS + 2)

// Shared memory after the fields of all elements: staged constants, then data of the interior points.
#define TABLES_AT ((ELEMENTS * SEAT + 3) / 4 * 4)
#define LEVELS_AHEAD 2
#if STAGED
#define INSIDE_AT (TABLES_AT + LEVELS_AHEAD * (LAW_NUMBERS / 4) * THREADS * 4)
#else
#define INSIDE_AT TABLES_AT
#endif

struct Elements {
    REAL *field;           // displacement or potential, [point][component]
    REAL *velocity;        // of solids
    const REAL *acceleration;  // of the previous step; PREDICTED only
    // inverse_mass: with SCATTERED, which ends no step, relative perturbations of the losses, [element][mean,
    // deviator][point]. One more pointer would exceed the registers of the kernel of attenuation.
    const REAL *inverse_mass;
    REAL *forces;          // [element][point][component]
    const int *points;     // [element][point]
    const int *region;
    const int *held;       // whether sources or receivers use the interior of an element; AT_ONCE only
    const REAL *law;       // [region][LAW_NUMBERS], or VARIES [element of the launch][LAW_NUMBERS][point]; tables that vary:
                           // [element of the launch][four constants][point][of the four], then the rest
    const REAL *loss;      // [region][LOSS_NUMBERS]: decay factors of the memory variables; then, for shear and for bulk,
                           // the factors of the strain in the current sum and in the memory variable
    const REAL *shape;     // [element][SHAPE_NUMBERS], or STORED [element][METRIC_NUMBERS][point]
    const REAL *strength;  // OWN_LOSS: factors of `loss` at every point, [element][shear, bulk][point]
    REAL *memory;          // memory variables, [element][pair of variables][point][of the pair]; a
                           // the variable belongs to a mechanism of a component
    REAL dt, half, square; // the time step, half of it, its square (zero where variables follow the strain of the step)
    int first, end;        // elements of this launch
    int goes_on;           // a sum of the flags IN_HELD, IN_OTHERS, ENDS_AT_ONCE
};
