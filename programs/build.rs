//! With the feature `mpi`, lets programs, tests and benchmarks find at run time the MPI library that they
//! were built with. The crate `ranks` (`kernels/mpi`) uses this build script, too.

fn main() {
    // Without such a line Cargo would run this script whenever any file of the crate changes.
    println!("cargo:rerun-if-changed=Cargo.toml");
    #[cfg(feature = "mpi")]
    match build_probe_mpi::probe() {
        Ok(mpi) => {
            for folder in mpi.lib_paths {
                println!("cargo:rustc-link-arg=-Wl,-rpath,{}", folder.display());
            }
        }
        Err(errors) => {
            println!("cargo:warning=mpicc finds no MPI library; load an MPI module or set MPICC: {errors:?}")
        }
    }
    // Without the feature, a different MPI does not require a new build.
    #[cfg(feature = "mpi")]
    println!("cargo:rerun-if-env-changed=MPICC");
}
