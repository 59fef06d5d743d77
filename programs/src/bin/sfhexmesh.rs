//! Meshes of hexahedra and quadrilaterals: made, read and judged.

fn main() -> std::process::ExitCode {
    rsf_io::start(&programs::hexmesh::PROGRAM, programs::hexmesh::run)
}
