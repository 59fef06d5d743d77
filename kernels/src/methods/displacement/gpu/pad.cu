// Padding of the medium in device memory.

struct Pad {
    const REAL *from;  // [line][z of the model]
    REAL *to;          // [line][padded z]
    WIDE lines;
    int model_nz, nb, nz, pitch;
    int top;           // cells above it are zero
    int divide;        // 1 to store scale / value, 0 to store the value
    REAL scale;
};

// Copies lines of the model and extends their end values into the frame; zero in the rim, where no stress acts.
KERNEL(pad)(const struct Pad a) {
    const WIDE count = a.lines * a.pitch;
    for (WIDE k = (WIDE)blockIdx.x * blockDim.x + threadIdx.x; k < count; k += (WIDE)gridDim.x * blockDim.x) {
        int z = k % a.pitch;
        WIDE line = k / a.pitch;
        REAL x = a.from[line * a.model_nz + CLAMP(z - a.nb, 0, a.model_nz - 1)];
        a.to[k] = z < a.top || z >= a.nz - RADIUS ? 0 : a.divide ? a.scale / x : x;
    }
}
