// Two blocks that share halos of stress (CLUSTER 2, float32, VEC 2; compute capability 9.0 and later). They are
// neighbours along rows, and the four rows of a block next to the other block are that block's halo. A block also
// writes the stress of these rows to the other's shared memory, so that it is computed only once; only the first
// block computes the halo before its rows, and only the second block the halo after its rows.
//
// Both blocks advance along the same planes and have the same barriers. A stress buffer has two:
//   FULL   counts the stress threads of its own block and the bytes that the other block pushes; the first thread of
//          the block announces their number before it arrives. The bytes may come early, because the phase cannot end
//          before all threads have arrived.
//   EMPTY  counts the force threads of its own block and one arrival of each force warp of the other block.
// Stress threads wait for their own EMPTY before they write a buffer and push to the other block's buffer of the same
// number, so that neither is overwritten before it has been read. A push always belongs to the phase of its plane,
// because the force threads that arrive at EMPTY have seen the end of the previous phase.

#define SHARES (CLUSTER > 1)

#if SHARES
#define PUSHED (3 * RADIUS * TZ * (int)sizeof(REAL))  // bytes of rr, rp and zr

// Maps an address in this block's shared memory to the same position in the other block's shared memory.
INLINE unsigned address_there(const void *here) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(SHARED_ADDRESS(here)), "r"(1 - RANK));
    return there;
}

// A barrier of all threads of both blocks. Threads of a warp that have diverged reconverge first.
INLINE void cluster_barrier(void) {
    __syncwarp();
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

INLINE void arrive_there(ARRIVAL *here) {
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(address_there(here)) : "memory");
}

// The target in the other block of a stress thread's pushes.
struct Push {
    int in_halo;               // whether the thread's cells are in the halo there
    unsigned stress, arrival;  // addresses of the first buffer and its barrier
    int s_at, t_at;            // indices of the thread's cells in planes of zr, and of rr and rp
};

INLINE struct Push push_of(struct Mine m, const REAL *stress, const ARRIVAL *full) {
    struct Push push;
    const int row = RANK == 0 ? m.rl - TX : m.rl + TX;
    push.in_halo = m.core && row >= -RADIUS && row < TX + RADIUS;
    push.stress = address_there(stress), push.arrival = address_there(full);
    push.s_at = (row + RADIUS) * S_PITCH + m.zl + RADIUS, push.t_at = (row + RADIUS) * TZ + m.zl;
    return push;
}

INLINE void push_pair(unsigned to, unsigned arrival, const REAL *from) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(to),
                 "f"(from[0]), "f"(from[1]), "r"(arrival)
                 : "memory");
}

// Pushes the stress of a thread's cells to buffer `b` of the other block; buffers are `size` numbers apart.
INLINE void push_stress(const struct Push *push, int b, int size, const struct Tensor *s) {
    if (!push->in_halo) return;
    const unsigned to = push->stress + b * size * (int)sizeof(REAL), arrival = push->arrival + b * (int)sizeof(ARRIVAL);
    push_pair(to + (S_RR + push->t_at) * (int)sizeof(REAL), arrival, s->rr);
    push_pair(to + (S_RP + push->t_at) * (int)sizeof(REAL), arrival, s->rp);
    push_pair(to + (S_ZR + push->s_at) * (int)sizeof(REAL), arrival, s->zr);
}
#endif
