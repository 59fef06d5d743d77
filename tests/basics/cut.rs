//! Files that end before the end that their header gives: the part that exists can be read.

use crate::bench::{Bench, ramp};

/// A dataset of 4 x 3 x 5 values in two files, cut to `bytes` bytes.
fn cut_to(bytes: usize) -> Bench {
    let bench = Bench::new();
    bench.dataset("whole.rsf", &[4, 3, 5], &ramp(60));
    bench.run(&format!(
        "sfcp whole.rsf cut.rsf; head -c {bytes} cut.rsf@ > less; mv less cut.rsf@"
    ));
    bench
}

#[test]
fn whole_records_are_read_with_a_warning() {
    // The file contains three and a half records of 48 bytes.
    let bench = cut_to(3 * 48 + 24);
    let expected = ramp(36);
    for program in [
        "sfwindow",
        "sfput o3=7",
        "sfscale rscale=1",
        "sfmath output=input",
        "sfwindow n3=3",
        "sfput n3=3",
    ] {
        let run = bench.sh(&format!("{program} < cut.rsf > out.rsf"));
        assert_eq!(run.code, 0, "{program}: {}", run.err);
        assert!(
            run.err.contains(
                "warning: standard input: data file ./cut.rsf@ has 168 bytes of data, n1=4 n2=3 n3=5"
            ) && run
                .err
                .contains("3 of the 5 records along axis 3 are complete and are read"),
            "{program}: {}",
            run.err
        );
        assert_eq!(bench.lengths("out.rsf", 3), [4, 3, 3], "{program}");
        assert_eq!(bench.reals("out.rsf"), expected, "{program}");
    }
    let message = bench.refused("sfwindow n3=4 < cut.rsf > out.rsf");
    assert!(message.contains('3'), "{message}");
    // A parameter for a dataset accepts truncated files just as standard input does.
    bench.run("sfcat whole.rsf cut.rsf axis=3 > out.rsf");
    assert_eq!(bench.lengths("out.rsf", 3), [4, 3, 8]);
    bench.run("sfcp cut.rsf out.rsf");
    assert_eq!(bench.reals("out.rsf"), expected);
    assert!(bench.run("sfattr want=samples < cut.rsf").contains("= 36"));
    let listing = bench.sh("sfin cut.rsf");
    assert_eq!(listing.code, 0, "{}", listing.err);
    assert!(
        listing.err.contains("70% of the 240")
            && listing
                .err
                .contains("3 of the 5 records along axis 3 are complete"),
        "{}",
        listing.err
    );
    bench.run("sfgrey < cut.rsf > picture.svg");
}

#[test]
fn less_than_a_record_is_cut_at_the_axis_before() {
    let bench = cut_to(2 * 16 + 5);
    bench.run("sfwindow squeeze=n < cut.rsf > out.rsf");
    assert_eq!(bench.lengths("out.rsf", 3), [4, 2, 1]);
    assert_eq!(bench.reals("out.rsf"), ramp(8));
    let message = cut_to(3).refused("sfwindow < cut.rsf > out.rsf");
    assert!(
        message.contains("need 240: the file is cut short or the header is wrong"),
        "{message}"
    );
}
