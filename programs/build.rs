//! With the feature `mpi`: programs find the MPI library that they were built with, wherever it lies.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "mpi")]
    match build_probe_mpi::probe() {
        Ok(mpi) => {
            for folder in mpi.lib_paths {
                println!("cargo:rustc-link-arg=-Wl,-rpath,{}", folder.display());
            }
        }
        Err(errors) => println!("cargo:warning=no MPI was found by mpicc: {errors:?}"),
    }
    println!("cargo:rerun-if-env-changed=MPICC");
}
