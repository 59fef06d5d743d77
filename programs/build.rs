//! With the feature `mpi`: programs, tests and benchmarks find the MPI library that they were built with, wherever it lies.
//! `ranks` (`kernels/mpi`) is built by this file, too.

fn main() {
    // Without any such line every file of the crate would be a reason to run this again.
    println!("cargo:rerun-if-changed=Cargo.toml");
    #[cfg(feature = "mpi")]
    match build_probe_mpi::probe() {
        Ok(mpi) => {
            for folder in mpi.lib_paths {
                println!("cargo:rustc-link-arg=-Wl,-rpath,{}", folder.display());
            }
        }
        Err(errors) => println!("cargo:warning=no MPI was found by mpicc: {errors:?}"),
    }
    // Without the feature another MPI is no reason to build everything again.
    #[cfg(feature = "mpi")]
    println!("cargo:rerun-if-env-changed=MPICC");
}
