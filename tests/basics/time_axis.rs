//! Programs for traces notice data whose time is not on axis 1.

use crate::bench::{Bench, ramp};

#[test]
fn data_of_receivers_first_are_no_traces() {
    let bench = Bench::new();
    let header = "n1=3 label1=r n2=2 n3=50 d3=0.01 label3=t unit3=s d1=0.001";
    bench.raw("a.rsf", header, "native_float", &[1.0f32; 300]);
    let way = "axis 1 of the data is `r`, and time is axis 3, but traces must run along axis 1. This transposes the data: sftransp plane=13 | sfwindow n2=1 f2=0";
    let run = bench.sh("sfsegywrite < a.rsf tape=a.sgy");
    assert!(
        run.code == 1 && run.err.contains(way) && !bench.path("a.sgy").exists(),
        "{run:?}"
    );
    let run = bench.sh("sfbandpass < a.rsf fhi=20 > b.rsf");
    assert!(run.code == 0 && run.err.contains(way), "{run:?}");
    // The order of the axes hides one value among zeros. If all values are zeros, there is nothing to detect in any
    // order.
    let one: Vec<f32> = (0..300).map(|k| f32::from(u8::from(k == 150))).collect();
    bench.raw(
        "one.rsf",
        "n1=3 label1=r n2=100 d2=0.01 label2=t unit2=s",
        "native_float",
        &one,
    );
    let run = bench.sh("sfgrey < one.rsf > a.png");
    assert!(
        run.err
            .contains("nothing to see: axis 1 of the data is `r`, and time is axis 2"),
        "{run:?}"
    );
    let run = bench.sh("sfmath < a.rsf output=0 | sfgrey > a.png");
    assert!(
        run.err.contains("nothing to see: all values are 0") && !run.err.contains("axis 1"),
        "{run:?}"
    );
    for turned in [
        "sfwindow < a.rsf n2=1 f2=0 | sftransp",
        "sftransp < a.rsf plane=13",
    ] {
        let run = bench.sh(&format!(
            "{turned} > t.rsf; sfbandpass < t.rsf fhi=20 > b.rsf; sfsegywrite < t.rsf tape=a.sgy"
        ));
        assert!(run.code == 0 && !run.err.contains("axis"), "{run:?}");
    }
    // Data of a single receiver are treated in the same way, although they have axes of one sample.
    bench.raw(
        "one.rsf",
        &header.replace("n1=3", "n1=1"),
        "native_float",
        &ramp(100),
    );
    let run = bench.sh("sfsegywrite < one.rsf tape=b.sgy");
    assert!(run.code == 1 && run.err.contains(way), "{run:?}");
    bench.run("sftransp < one.rsf plane=13 | sfwindow n2=1 f2=0 > t.rsf; sfsegywrite < t.rsf tape=b.sgy");
    assert_eq!(bench.bytes("b.sgy").len(), 3600 + 240 + 4 * 50);
    // Snapshots with depth as the first axis are taken as traces in depth.
    bench.raw(
        "s.rsf",
        "n1=3 label1=z n2=2 label2=x n3=50 label3=t unit3=s",
        "native_float",
        &[1.0f32; 300],
    );
    let run = bench.sh("sfbandpass < s.rsf fhi=0.2 > b.rsf");
    assert!(!run.err.contains("axis"), "{run:?}");
}
