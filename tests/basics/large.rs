//! Data larger than the memory that a program may use, and streams that cannot seek.

use crate::bench::{Bench, element, place};

const LENGTHS: [usize; 3] = [120, 70, 90];

fn big(bench: &Bench) -> Vec<f32> {
    let values: Vec<f32> = (0..LENGTHS.iter().product::<usize>()).map(|i| i as f32).collect();
    bench.dataset("a.rsf", &LENGTHS, &values);
    values
}

/// Data of 3 MB need several passes over the file, or over a temporary file, if 1 MB of memory is allowed.
#[test]
fn turns_in_several_passes() {
    let bench = Bench::new();
    let values = big(&bench);
    for (plane, order) in [(13, [2, 1, 0]), (23, [0, 2, 1]), (12, [1, 0, 2])] {
        bench.run(&format!(
            "sftransp < a.rsf plane={plane} > m.rsf; sftransp < a.rsf plane={plane} memsize=1 > f.rsf
             cat a.rsf | sftransp plane={plane} memsize=1 > p.rsf"
        ));
        assert_eq!(bench.bytes("f.rsf@"), bench.bytes("m.rsf@"), "{plane}");
        assert_eq!(bench.bytes("p.rsf@"), bench.bytes("m.rsf@"), "{plane}");
        let lengths = order.map(|i| LENGTHS[i]);
        let turned = bench.reals("m.rsf");
        for at in (0..turned.len()).step_by(997) {
            let here = place(at, &lengths);
            let mut from = [0; 3];
            order.iter().zip(&here).for_each(|(axis, i)| from[*axis] = *i);
            assert_eq!(turned[at], values[element(&from, &LENGTHS)]);
        }
    }
    let left: Vec<_> = std::fs::read_dir(bench.path("."))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert!(
        !left
            .iter()
            .any(|name| name.to_string_lossy().starts_with("sftransp")),
        "{left:?}"
    );
}

/// Lines of 2.8 kB are exchanged one by one, and the axis between them may be long.
#[test]
fn lines_that_lie_together_are_fetched_one_by_one() {
    let bench = Bench::new();
    let lengths = [700, 9, 11, 7];
    let values: Vec<f32> = (0..lengths.iter().product::<usize>()).map(|i| i as f32).collect();
    bench.dataset("a.rsf", &lengths, &values);
    for (plane, order) in [(23, [0, 2, 1, 3]), (34, [0, 1, 3, 2]), (24, [0, 3, 2, 1])] {
        bench.run(&format!(
            "sftransp < a.rsf plane={plane} memsize=1 > f.rsf; cat a.rsf | sftransp plane={plane} > m.rsf"
        ));
        assert_eq!(bench.bytes("f.rsf@"), bench.bytes("m.rsf@"), "{plane}");
        let (turned, new) = (bench.reals("f.rsf"), order.map(|i| lengths[i]));
        for at in (0..turned.len()).step_by(331) {
            let here = place(at, &new);
            let mut from = [0; 4];
            order.iter().zip(&here).for_each(|(axis, i)| from[*axis] = *i);
            assert_eq!(turned[at], values[element(&from, &lengths)], "{plane}");
        }
    }
}

#[test]
fn orders_by_position_and_in_memory() {
    let bench = Bench::new();
    big(&bench);
    for line in [
        "sfreverse which=7",
        "sfreverse which=4",
        "sfrotate rot3=11 rot1=5",
    ] {
        bench.run(&format!(
            "{line} < a.rsf > m.rsf; cat a.rsf | {line} memsize=1 > p.rsf"
        ));
        assert_eq!(bench.bytes("p.rsf@"), bench.bytes("m.rsf@"), "{line}");
    }
}

/// Groups that are larger than the memory for them are read twice, from a pipe through a temporary file.
#[test]
fn a_large_group_is_scaled() {
    let bench = Bench::new();
    bench.run("sfmath n1=1000 n2=5000 output='x2-2000+x1/1e3' nostdin=y | sfscale axis=2 > a.rsf; sfattr < a.rsf want=max > max; sfattr < a.rsf want=min > min");
    let read = |name: &str| String::from_utf8(bench.bytes(name)).unwrap();
    assert_eq!(read("max"), "     max =             1 at 1000 5000 \n");
    assert_eq!(read("min"), "     min =     -0.666667 at 1 1 \n");
}

/// Programs that stream use far less memory than their data: 200 MB go through an address space of 120 MB.
#[test]
fn streams_do_not_grow() {
    let bench = Bench::new();
    let big = "sfspike n1=1000 n2=50000 nostdin=y";
    for line in [
        "sfwindow j1=2 f2=3",
        "sfmath output=input*2",
        "sfscale dscale=2",
        "sfpad beg1=1",
        "sfput label1=x",
        "sfdd form=xdr",
        "sfadd scale=2",
        "sfcat axis=2",
        "sfnoise seed=1",
        "sfattr",
    ] {
        // There is only one thread, because each reserves address space for its stack and heap.
        let run = bench.sh(&format!(
            "export RAYON_NUM_THREADS=1; {big} | (ulimit -v 120000; {line}) > /dev/null"
        ));
        assert_eq!(run.code, 0, "{line}: {}", run.err);
    }
}

/// If data that are read as a whole from a pipe do not fit into memory, the message gives their total size.
#[test]
fn what_does_not_fit_into_memory_is_refused_with_its_size() {
    let bench = Bench::new();
    let message = bench.refused(
        "export RAYON_NUM_THREADS=1; sfspike n1=100000000 nostdin=y | (ulimit -v 150000; sfunif2 n1=2 d1=1) > d.rsf",
    );
    let words = "standard input: no memory for 100000000 elements of 4 bytes";
    assert!(message.contains(words), "{message}");
}

/// A long line is made piece by piece: if it cannot be written, the error comes before the whole line is made, and
/// there are no gaps between pieces.
#[test]
fn long_lines_of_spikes_are_computed_in_pieces() {
    let bench = Bench::new();
    let full = bench.sh("ulimit -v 5500000; sfspike n1=1000000000 > /dev/full");
    assert!(
        full.code == 1 && full.err.contains("No space left on device"),
        "{full:?}"
    );
    // Samples are made in pieces of 2^18; half of the last spike of a piece falls on the first sample of the next
    // piece.
    bench.run("sfspike n1=600000 n2=2 k1=262143 l1=262144 p2=0.5 | sfwindow f1=262141 n1=6 > a.rsf");
    let traces = bench.reals("a.rsf");
    assert_eq!(traces[..6], [0.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    assert_eq!(traces[6..], [0.0, 0.5, 1.0, 0.5, 0.0, 0.0]);
    assert_eq!(
        bench
            .run("sfspike n1=600000 | sfstack axis=1 norm=n | sfmath output=input-600000 | sfdisfil number=n")
            .trim(),
        "0"
    );
}
