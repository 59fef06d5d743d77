//! The result is bit-identical for any number of ranks.

use crate::shot::desk;
use crate::{Desk, launch, launcher, words};

/// The values of a dataset as bits.
fn bits(desk: &Desk, name: &str) -> Vec<u32> {
    desk.read(name).into_iter().map(f32::to_bits).collect()
}

/// A desk on which one process has made data.rsf and wfl.rsf.
fn alone(ndim: usize, more: &str) -> Desk {
    let desk = desk(ndim);
    let words = words(ndim);
    let done = desk.sh(&format!(
        "{words} {more} threads=1 snap=y jsnap=5 wfl=wfl.rsf <wav.rsf >data.rsf"
    ));
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(desk.read("data.rsf").iter().any(|&x| x != 0.0));
    desk
}

fn same(desk: &Desk, data: &str, wfl: &str, what: &str) {
    assert_eq!(bits(desk, data), bits(desk, "data.rsf"), "data of {what}");
    assert_eq!(bits(desk, wfl), bits(desk, "wfl.rsf"), "snapshots of {what}");
    assert_eq!(desk.axes(data, 3), desk.axes("data.rsf", 3));
}

#[test]
fn any_number_of_ranks_gives_the_same_bits() {
    let Some(mpirun) = launcher("any_number_of_ranks_gives_the_same_bits") else {
        return;
    };
    for ndim in [2, 3] {
        for more in ["ssou=y", "free=y opot=y nqz=30 nqx=25 oqx=-0.05"] {
            let (desk, words) = (alone(ndim, more), words(ndim));
            // The source is in the middle of the planes, so that even numbers of ranks cut its bell.
            for (ranks, slabs) in [(1, 1), (2, 1), (3, 1), (4, 1), (7, 1), (2, 3)] {
                let line = format!(
                    "-n {ranks} {words} {more} threads=1 ngpu={slabs} wav=wav.rsf snap=y jsnap=5 wfl=w.rsf >d.rsf"
                );
                let done = launch(&desk, mpirun, &line);
                assert_eq!(done.code, 0, "{ranks} ranks: {}", done.err);
                same(
                    &desk,
                    "d.rsf",
                    "w.rsf",
                    &format!("{ndim}-D {more}: {ranks} ranks x {slabs} slabs"),
                );
            }
        }
    }
}

#[test]
fn rank_0_reads_standard_input_for_all() {
    let Some(mpirun) = launcher("rank_0_reads_standard_input_for_all") else {
        return;
    };
    let (desk, words) = (alone(2, ""), words(2));
    // The output is one stream, or a header whose data are in a separate file.
    desk.sh("sfbasics cp wav.rsf two.rsf out=two.bin 2>/dev/null || sfbasics window <wav.rsf >two.rsf out=two.bin");
    for wavelet in ["wav.rsf", "two.rsf"] {
        let line = format!("-n 3 {words} threads=1 snap=y jsnap=5 wfl=w.rsf <{wavelet} >d.rsf");
        let done = launch(&desk, mpirun, &line);
        assert_eq!(done.code, 0, "{wavelet}: {}", done.err);
        same(&desk, "d.rsf", "w.rsf", wavelet);
    }
}

#[test]
fn snapshots_into_a_pipe_come_in_order() {
    let Some(mpirun) = launcher("snapshots_into_a_pipe_come_in_order") else {
        return;
    };
    let (desk, words) = (alone(2, ""), words(2));
    let line = format!(
        "-n 4 {words} threads=1 wav=wav.rsf snap=y jsnap=5 wfl=pipe.rsf >d.rsf & cat pipe.rsf >w.rsf; wait $!"
    );
    assert_eq!(desk.sh("mkfifo pipe.rsf").code, 0);
    let done = launch(&desk, mpirun, &line);
    assert_eq!(done.code, 0, "{}", done.err);
    same(&desk, "d.rsf", "w.rsf", "a pipe");
}

#[test]
fn unequal_machines_take_unequal_parts() {
    let Some(mpirun) = launcher("unequal_machines_take_unequal_parts") else {
        return;
    };
    let (desk, words) = (alone(3, ""), words(3));
    let rank =
        |threads: usize| format!("-n 1 {words} threads={threads} wav=wav.rsf snap=y jsnap=5 wfl=w.rsf");
    let done = launch(&desk, mpirun, &format!("{} : {} >d.rsf", rank(1), rank(2)));
    assert_eq!(done.code, 0, "{}", done.err);
    same(&desk, "d.rsf", "w.rsf", "ranks of one and of two threads");
}

#[test]
fn a_plan_names_ranks_slabs_and_exchange() {
    let Some(mpirun) = launcher("a_plan_names_ranks_slabs_and_exchange") else {
        return;
    };
    let desk = desk(3);
    let line = format!("-n 3 {} threads=1 ngpu=2 wav=wav.rsf plan=y", words(3));
    let done = launch(&desk, mpirun, &line);
    assert_eq!(done.code, 0, "{}", done.err);
    for expected in [
        "rank 0 on ",
        "rank 2 on ",
        "slab 6: planes",
        "exchange ",
        "MB per step",
        "% of a step",
        "time about",
    ] {
        assert!(done.err.contains(expected), "{expected}: {}", done.err);
    }
    assert_eq!(
        done.err.matches("slab 1:").count(),
        1,
        "only one rank prints: {}",
        done.err
    );
}
