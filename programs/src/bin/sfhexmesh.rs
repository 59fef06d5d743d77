//! Makes, reads and checks meshes of hexahedra and quadrilaterals.

fn main() -> std::process::ExitCode {
    rsf_io::start(&programs::hexmesh::PROGRAM, programs::hexmesh::run)
}
