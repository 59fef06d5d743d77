// What follows a sweep of a small grid, in one launch instead of three: the faces, the sources, and the receivers of the
// level from which the sweep started (it does not change any more). Sources must keep clear of the cells next to faces.

struct Finish {
    struct Faces faces;
    struct Inject inject;
    struct Extract extract;
    int face_blocks, lines, receiver_blocks;
};

KERNEL(finish)(const struct Finish a) {
    const int block = blockIdx.x;
    if (block < a.face_blocks) {
        do_faces(&a.faces, block / 2, 0, block % 2);
    } else if (block < a.face_blocks + a.lines) {
        do_inject(&a.inject, block - a.face_blocks);
    } else {
        do_extract(&a.extract, block - a.face_blocks - a.lines);
    }
}
