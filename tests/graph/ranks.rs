//! The graph on ranks of MPI: this test starts itself under the launcher, and is a rank there.

mod graph;
#[path = "../support/launcher.rs"]
mod launcher;
#[path = "../support/shots.rs"]
mod shots;
mod waves;
mod wheel;

use kernels::communicator::Communicator;
use kernels::parallel::gather::SnapshotWriter;
use kernels::parallel::options::ParallelOptions;
use launcher::command;
use ranks::World;
use shots::Tape;
use std::process::Command;
use wheel::{assert_same, on_host, run, sectors};

const NAME: &str = "ranks_of_mpi_give_the_same_bits";
/// This variable is set for the ranks that the test starts.
const IS_RANK: &str = "SIFAKA_TEST_RANK";

#[test]
fn ranks_of_mpi_give_the_same_bits() {
    if std::env::var_os(IS_RANK).is_some() {
        return rank();
    }
    let Some(launcher) = command(NAME) else {
        return;
    };
    let this = std::env::current_exe().expect("a test has a file");
    for ranks in [1, 2, 3, 5] {
        let line = format!(
            "exec timeout -k 2 60 {launcher} -n {ranks} '{}' --exact {NAME} --test-threads=1 --nocapture",
            this.display()
        );
        let ended = Command::new("sh")
            .args(["-c", &line])
            .env(IS_RANK, "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .env("TMPDIR", "/tmp")
            .output()
            .expect("a shell starts");
        let output = [ended.stdout, ended.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(ended.status.success(), "{ranks} ranks: {output:?}");
        let passed = output[0].matches("1 passed").count();
        assert_eq!(passed, ranks, "{ranks} ranks: {output:?}");
    }
}

/// Distributes five sectors over the ranks; rank 0 compares the result with the result of one process.
fn rank() {
    let world = World::start().expect("MPI starts");
    let (rank, ranks) = (world.rank(), world.size());
    let parts = sectors(5, 2)[rank * 5 / ranks..(rank + 1) * 5 / ranks].to_vec();
    let mut tape = Tape::default();
    let options = ParallelOptions {
        snapshots: SnapshotWriter::Root,
        ..ParallelOptions::default()
    };
    on_host(parts)
        .run_among(&world, &mut tape, options)
        .expect("the waves run");
    if rank == 0 {
        assert_same(&run(on_host(sectors(1, 0))), &tape);
    }
    world.end();
}
