// Contributions of several subdomains added up in a fixed order, whatever the method (parallel/halo.rs OrderedSum).

struct Sums {
    REAL *memory;         // the exchanged memory, in whose numbers all positions count
    const int *targets;   // where sums go
    const int *starts;    // where the terms of each sum begin; one more than targets
    const int *terms;     // positions of the terms
    WIDE count;           // sums
};

// A thread adds the terms of a sum from left to right.
KERNEL(ordered_sum)(const struct Sums a) {
    for (WIDE k = (WIDE)blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += (WIDE)gridDim.x * blockDim.x) {
        REAL sum = 0;
        for (int t = a.starts[k]; t < a.starts[k + 1]; t++) sum += a.memory[a.terms[t]];
        a.memory[a.targets[k]] = sum;
    }
}
