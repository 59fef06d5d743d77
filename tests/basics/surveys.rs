//! Programs for surveys: points by names, geometry in SEG-Y and back, formulas of headers, moveout, slices and layers,
//! each compared with its closed form.

use crate::bench::{Bench, ramp};
use crate::largest::largest_difference;

#[test]
fn points_by_lists_ranges_and_shots() {
    let bench = Bench::new();
    bench.run("sfpoints x=0:50:20 z=20 > a.rsf; sfpoints x=100,250,400 y=1 z=3,2,1 > b.rsf; sfpoints x=5 z=1 n=3 dx=2.5 > c.rsf");
    assert_eq!(bench.reals("a.rsf"), [0.0, 20.0, 20.0, 20.0, 40.0, 20.0]);
    assert_eq!(bench.lengths("b.rsf", 2), [3, 3]);
    assert_eq!(
        bench.reals("b.rsf"),
        [100.0, 1.0, 3.0, 250.0, 1.0, 2.0, 400.0, 1.0, 1.0]
    );
    assert_eq!(bench.lengths("c.rsf", 3), [2, 1, 3]);
    assert_eq!(bench.reals("c.rsf"), [5.0, 1.0, 7.5, 1.0, 10.0, 1.0]);
    // 0.1 is not exact in binary, but the last point is included all the same.
    bench.run("sfpoints x=0:0.7:0.1 z=0 > d.rsf; sfpoints x=30:0:-10 z=0 > e.rsf");
    assert_eq!(bench.lengths("d.rsf", 2), [2, 8]);
    assert_eq!(bench.reals("e.rsf"), [30.0, 0.0, 20.0, 0.0, 10.0, 0.0, 0.0, 0.0]);
    // For a map of stations, x varies fastest, then y.
    bench.run("sfpoints x=0:10:10 y=1,2,3 z=5 grid=y > f.rsf");
    assert_eq!(bench.lengths("f.rsf", 2), [3, 6]);
    let (x, y) = ([0.0, 10.0, 0.0, 10.0, 0.0, 10.0], [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
    let map: Vec<f32> = (0..6).flat_map(|k| [x[k], y[k], 5.0]).collect();
    assert_eq!(bench.reals("f.rsf"), map);
    for (line, words) in [
        (
            "sfpoints x=0:10:10 y=1,2,3 z=5",
            "grid=y combines each value with each of the others",
        ),
        (
            "sfpoints x=0:1e5:1 y=0:1e5:1 z=5 grid=y",
            "grid=y makes 1.0000200001e10 points of these lists",
        ),
        (
            "sfpoints x=0:100:0 z=1",
            "x=0:100:0: steps of 0 do not reach 100 from 0",
        ),
        ("sfpoints x=0:100:-5 z=1", "do not reach 100 from 0"),
        ("sfpoints x=0:100 z=1", "a range has three numbers"),
        ("sfpoints x=1,b z=1", "`b` is not a number"),
        (
            "sfpoints x=1,2,3 z=1,2",
            "z= has 2 values and another coordinate has 3",
        ),
        ("sfpoints x=1 z=1 dx=3", "give the number of shots as n="),
    ] {
        let err = bench.refused(&format!("{line} > o.rsf"));
        assert!(err.contains(words), "{line}: {err}");
    }
}

/// Writes three shots of four receivers, and data whose values number the samples.
fn survey(bench: &Bench, receivers: &str) {
    bench.run(&format!(
        "sfpoints x=100 z=12.5 n=3 dx=50 > sou.rsf; sfpoints {receivers} > rec.rsf"
    ));
    bench.run("sfmath n1=10 d1=0.004 n2=4 n3=3 output='x1+10*x2+100*x3' > data.rsf");
}

#[test]
fn geometry_goes_to_segy_and_comes_back() {
    for (receivers, spreads) in [
        ("x=0.5:300.5:100 z=5", 1),
        ("x=0:300:100 z=5 n=3 dx=50", 3),
        ("x=0:300:100 y=7.25,8,9,10 z=5", 1),
        // In single precision these lie on either side of their decimal values.
        ("x=0.29,-0.29,8.7,-1.13 y=0.57,0.58,-0.57,1.16 z=2.3", 1),
    ] {
        let bench = Bench::new();
        survey(&bench, receivers);
        if receivers.contains('y') {
            bench.run("sfpoints x=100 y=7.25 z=12.5 n=3 dx=50 dy=1 > sou.rsf");
        }
        bench.run("sfsegywrite < data.rsf tape=a.sgy format=5 sou=sou.rsf rec=rec.rsf");
        bench.run("sfsegyread tape=a.sgy tfile=t.rsf sou=s.rsf rec=r.rsf > d.rsf");
        assert_eq!(bench.reals("d.rsf"), bench.reals("data.rsf"));
        assert_eq!(bench.lengths("d.rsf", 3), [10, 4, 3]);
        assert_eq!(bench.reals("s.rsf"), bench.reals("sou.rsf"), "{receivers}");
        assert_eq!(bench.reals("r.rsf"), bench.reals("rec.rsf"), "{receivers}");
        assert_eq!(bench.axes("r.rsf", 3)[2].n, spreads);
        // The points have the same axis of shots as the data.
        let shots = ["d.rsf", "s.rsf", "r.rsf"].map(|name| {
            let axis = bench.axes(name, 3)[2].clone();
            (axis.o, axis.d, axis.label)
        });
        assert_eq!(shots[1..], [shots[0].clone(), shots[0].clone()]);
    }
}

#[test]
fn headers_of_points_have_names_for_formulas() {
    let bench = Bench::new();
    survey(&bench, "x=0.5:300.5:100 z=5");
    bench.run(
        "sfsegywrite < data.rsf tape=a.sgy sou=sou.rsf rec=rec.rsf; sfsegyread tape=a.sgy tfile=t.rsf read=h",
    );
    bench.run("for key in fldr tracf offset sx gx gelev sdepth scalco; do sfheadermath < t.rsf output=$key > $key.rsf; done");
    let key = |name: &str| -> Vec<i32> { bench.open(&format!("{name}.rsf")).read_all().unwrap() };
    assert_eq!(key("fldr"), [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
    assert_eq!(key("tracf")[..5], [1, 2, 3, 4, 1]);
    assert_eq!(key("scalco"), [-10; 12]);
    assert_eq!((key("sx")[4], key("gx")[..2].to_vec()), (1500, vec![5, 1005]));
    assert_eq!((key("sdepth")[0], key("gelev")[0]), (125, -50));
    // Halves are rounded away from zero: 0.5 - 100 and 100.5 - 100.
    assert_eq!(key("offset")[..2], [-100, 1]);
    // The result that replaces a key is in double precision: single precision would lose the last digits.
    bench.run("sfheadermath < t.rsf output='16777217+N' key=cdp | sfheadermath output=cdp > cdp.rsf");
    assert_eq!(key("cdp")[..3], [16777217, 16777218, 16777219]);
    bench.run("sfmath n1=4 d1=2 o1=1 output=x1 | sfheadermath segy=n output='input*10+N+T' > one.rsf");
    assert_eq!(bench.reals("one.rsf"), [11.0, 34.0, 57.0, 80.0]);
    let err = bench.refused("sfheadermath < t.rsf output=sx key=nothing > o.rsf");
    assert!(
        err.contains("key=nothing: the headers have no key of this name"),
        "{err}"
    );
}

#[test]
fn traces_go_into_the_bins_of_their_keys() {
    let bench = Bench::new();
    survey(&bench, "x=0:300:100 z=5");
    bench.run("sfsegywrite < data.rsf tape=a.sgy format=5 sou=sou.rsf rec=rec.rsf; sfsegyread tape=a.sgy tfile=t.rsf > d.rsf");
    bench.run("sfintbin < d.rsf head=t.rsf xk=tracf yk=fldr > a.rsf; sfintbin < d.rsf head=t.rsf xkey=2 ykey=3 > b.rsf; sftransp < a.rsf plane=23 > c.rsf; sfget < a.rsf CDPtype | grep -q CDPtype=1");
    assert_eq!(bench.reals("a.rsf"), bench.reals("data.rsf"));
    let axes = bench.axes("a.rsf", 3);
    assert_eq!(
        (axes[1].n, axes[1].o, axes[1].label.as_deref()),
        (4, 1.0, Some("tracf"))
    );
    assert_eq!(bench.reals("b.rsf"), bench.reals("c.rsf"));
    // A larger map has a row and a column of empty bins.
    bench.run("sfintbin < d.rsf head=t.rsf xk=tracf yk=fldr xmin=0 ymax=4 mask=m.rsf map=n.rsf > e.rsf");
    assert_eq!(bench.lengths("e.rsf", 3), [10, 5, 4]);
    let mask: Vec<i32> = bench.open("m.rsf").read_all().unwrap();
    let map: Vec<i32> = bench.open("n.rsf").read_all().unwrap();
    assert_eq!(
        mask,
        [[0, 1, 1, 1, 1], [0, 1, 1, 1, 1], [0, 1, 1, 1, 1], [0; 5]].concat()
    );
    assert_eq!(map[5..10], [-1, 4, 5, 6, 7]);
    let (binned, expected) = (bench.reals("e.rsf"), bench.reals("data.rsf"));
    assert_eq!(
        (&binned[..10], &binned[60..100]),
        (&[0.0; 10][..], &expected[40..80])
    );
    for (line, words) in [
        (
            "sfintbin < d.rsf head=t.rsf xk=nothing",
            "xk= or xkey= does not name a key",
        ),
        (
            "sfintbin < d.rsf head=t.rsf xmin=5 xmax=1",
            "xmin=5 is above xmax=1",
        ),
        ("sfintbin < d.rsf head=t.rsf inv=y", "inv=y is not supported"),
        (
            "sfwindow n2=3 < d.rsf > w.rsf; sfintbin < w.rsf head=t.rsf",
            "12 headers and standard input has 3 traces",
        ),
    ] {
        let err = bench.refused(&format!("{line} > o.rsf"));
        assert!(err.contains(words), "{line}: {err}");
    }
}

#[test]
fn geometry_that_does_not_fit_is_refused() {
    let bench = Bench::new();
    survey(&bench, "x=0:300:100 z=5");
    bench.run("sfpoints x=0:200:100 z=5 > three.rsf; sfpoints x=0:300:100 z=5 n=2 > two.rsf; sfmath n1=1 n2=4 output=1 > flat.rsf");
    bench.run("sfsegywrite < data.rsf tape=a.sgy sou=sou.rsf rec=rec.rsf");
    bench.run("sfmath n1=12 output='1-(x1-5)^2' | sfdd type=int | sfmask min=-99 max=0 > mask.rsf");
    for (line, words) in [
        (
            "sfsegywrite < data.rsf tape=b.sgy sou=sou.rsf",
            "sou= and rec= must be given together",
        ),
        (
            "sfsegywrite < data.rsf tape=b.sgy sou=sou.rsf rec=three.rsf",
            "the data have 12 traces, but 3 receivers",
        ),
        (
            "sfsegywrite < data.rsf tape=b.sgy sou=sou.rsf rec=two.rsf",
            "receivers of 2 shots (n3), but sou= has 3",
        ),
        (
            "sfsegywrite < data.rsf tape=b.sgy sou=sou.rsf rec=flat.rsf",
            "n1=1, but points have the coordinates",
        ),
        ("cat a.sgy | sfsegyread n2=12 sou=s.rsf rec=r.rsf", "is a pipe"),
        ("sfsegyread tape=a.sgy sou=s.rsf", "only one of sou="),
        (
            "sfsegyread tape=a.sgy sou=s.rsf rec=r.rsf mask=mask.rsf",
            "shot 1 has 4 traces, but shot 2 has 3",
        ),
    ] {
        let err = bench.refused(&format!("{line} > o.rsf"));
        assert!(err.contains(words), "{line}: {err}");
    }
}

#[test]
fn moveout_makes_a_hyperbola_flat() {
    let bench = Bench::new();
    // A bell of 20 ms on t^2 = 0.8^2 + (x/2)^2, x up to 1 km, sampled at 4 ms.
    let bell = |t: &str| format!("exp(-(({t})/0.02)^2)");
    bench.run(&format!(
        "sfmath n1=501 d1=0.004 n2=11 d2=0.1 output='{}' > cmp.rsf",
        bell("x1-sqrt(0.64+x2*x2/4)")
    ));
    bench.run("sfmath n1=501 d1=0.004 output=2 > v.rsf; sfmath n1=501 d1=0.004 output=0.25 > s2.rsf");
    bench.run("sfnmo < cmp.rsf velocity=v.rsf half=n > a.rsf; sfnmo < cmp.rsf velocity=s2.rsf half=n slowness=y squared=y > b.rsf");
    bench.run("sfput < cmp.rsf d2=0.05 | sfnmo velocity=v.rsf > c.rsf; sfmath n1=11 d1=0.1 output=x1 > off.rsf; sfput < cmp.rsf d2=9 | sfnmo velocity=v.rsf half=n offset=off.rsf > d.rsf");
    // The bell is stretched: the expected value is the one at the time from which the sample at t comes.
    let expected: Vec<f64> = (0..11 * 501)
        .map(|i| {
            let (x, t) = (0.1 * (i / 501) as f64, 0.004 * (i % 501) as f64);
            let from = (t * t + x * x / 4.0).sqrt() - (0.64 + x * x / 4.0).sqrt();
            (-(from / 0.02f64).powi(2)).exp()
        })
        .collect();
    for name in ["a", "b", "c", "d"] {
        let times: Vec<f64> = bench
            .reals(&format!("{name}.rsf"))
            .into_iter()
            .map(f64::from)
            .collect();
        let error = largest_difference(&times, &expected);
        // Only zeros are muted. The remaining error is due to the cubic spline with 5 samples per 20 ms; 5.5e-5 was
        // measured.
        assert!(error < 3e-4, "{name}: {error}");
    }
}

#[test]
fn moveout_mutes_what_it_stretches() {
    let bench = Bench::new();
    bench.run(
        "sfmath n1=101 d1=0.01 n2=2 o2=0 d2=1 output=1 > ones.rsf; sfmath n1=101 d1=0.01 output=2 > v.rsf",
    );
    bench.run("sfnmo < ones.rsf velocity=v.rsf half=n str=0.5 mute=3 > a.rsf");
    let gather = bench.reals("a.rsf");
    assert_eq!(gather[..101], [1.0; 101], "nothing is stretched at offset 0");
    // dT/dt = t/sqrt(t^2+1/4) is 1/2 at t = 0.289: from 0.28 on, each step advances by more, measured between its two
    // ends.
    let first = gather[101..].iter().position(|x| *x != 0.0).unwrap();
    assert_eq!(first, 30, "{:?}", &gather[101..140]);
    let taper: Vec<f32> = (1..4)
        .map(|i| (std::f32::consts::FRAC_PI_8 * i as f32).sin().powi(2))
        .collect();
    assert!(largest_difference(&gather[101 + first..][..3], &taper) < 1e-6);
    // Times beyond the end of the trace are muted: sqrt(t^2 + 1/4) <= 1 up to t = 0.866.
    assert!(gather[101 + 86] == 1.0 && gather[101 + 87] == 0.0);
    let err = bench.refused("sfmath n1=50 output=2 > w.rsf; sfnmo < ones.rsf velocity=w.rsf > o.rsf");
    assert!(
        err.contains("has 50 values, but 1 gathers of 101 samples need 101"),
        "{err}"
    );
}

#[test]
fn a_mask_keeps_traces_or_zeroes_the_others() {
    let bench = Bench::new();
    bench.run("sfmath n1=3 n2=2 n3=2 o2=5 o3=7 output='x1+10*x2+100*x3' > d.rsf");
    bench.run("sfmath n1=4 output='x1*(3-x1)' | sfdd type=int > m.rsf; sfmath n1=4 output=0 | sfdd type=int > none.rsf");
    let all = bench.reals("d.rsf");
    bench.run("sfheaderwindow < d.rsf mask=m.rsf > w.rsf; sfheadercut < d.rsf mask=m.rsf > c.rsf");
    assert_eq!(bench.lengths("w.rsf", 3), [3, 2, 1]);
    assert_eq!(bench.reals("w.rsf"), all[3..9]);
    assert_eq!(bench.axes("w.rsf", 2)[1].o, 0.0);
    assert_eq!(bench.axes("c.rsf", 3), bench.axes("d.rsf", 3));
    let zero = [0.0; 3];
    assert_eq!(bench.reals("c.rsf"), [&zero, &all[3..9], &zero].concat());
    // Headers, which are integers, are treated alike.
    bench.run("sfdd type=int < d.rsf > i.rsf; sfheaderwindow < i.rsf mask=m.rsf | sfdd type=float > f.rsf");
    assert_eq!(bench.reals("f.rsf"), all[3..9]);
    for (line, words) in [
        ("sfheaderwindow < d.rsf mask=none.rsf", "mask= keeps no trace"),
        (
            "sfheaderwindow < d.rsf mask=m.rsf inv=y",
            "inv=y is not supported",
        ),
        (
            "sfheadercut < d.rsf mask=i.rsf",
            "holds 12 integers, but one is needed for each of the 4 traces",
        ),
        ("sfheadercut < d.rsf", "mask="),
    ] {
        let err = bench.refused(&format!("{line} > o.rsf"));
        assert!(err.contains(words), "{line}: {err}");
    }
}

#[test]
fn slices_layers_and_gains() {
    let bench = Bench::new();
    bench.run("sfmath n1=3 n2=5 o2=10 d2=2 n3=2 output='x1+100*x2+1000*x3' > panels.rsf");
    bench.dataset("pick.rsf", &[3, 1, 2], &[10.0, 13.0, 18.0, 9.0, 18.5, 11.0]);
    bench.run("sfslice < panels.rsf pick=pick.rsf > s.rsf");
    assert_eq!(bench.lengths("s.rsf", 3), [3, 1, 2]);
    assert_eq!(bench.reals("s.rsf"), [1000.0, 1301.0, 1802.0, 0.0, 0.0, 2102.0]);
    let err = bench.refused("sfslice < panels.rsf pick=panels.rsf > o.rsf");
    assert!(err.contains("has 30 picks"), "{err}");
    // The interfaces are at depths 2 and 3+x.
    bench.run("sfmath n1=3 n2=2 output='2+x2*(1+x1)' > i.rsf; sfunif2 < i.rsf n1=7 d1=1 v00=1,2,3 dvdz=0,0.1,0 z0=0,2,0 > m.rsf");
    assert_eq!(bench.reals("m.rsf")[..7], [1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0]);
    assert_eq!(bench.reals("m.rsf")[14..], [1.0, 1.0, 2.0, 2.1, 2.2, 3.0, 3.0]);
    let err = bench.refused("sfunif2 < i.rsf n1=7 d1=1 v00=1,2 > o.rsf");
    assert!(err.contains("2 interfaces make 3 layers"), "{err}");
    bench.dataset("ramp.rsf", &[4, 2], &ramp(8));
    bench.run("sftpow < ramp.rsf tpow=2 > a.rsf; sfpow < ramp.rsf pow1=2 > b.rsf");
    assert_eq!(bench.reals("a.rsf"), bench.reals("b.rsf"));
}

/// Coordinates far from their origin lose digits in four bytes; the programs that make points warn of it.
#[test]
fn coordinates_that_four_bytes_round_are_warned_of() {
    let bench = Bench::new();
    let becomes = "becomes 4728900.5, because a coordinate has four bytes: subtract a nearby origin from all coordinates";
    let text = bench.messages("sfpoints x=300000.3 y=4728900.3 z=3 > p.rsf");
    assert!(
        text.contains(&format!("sfpoints: warning: y=4728900.3 {becomes}")),
        "{text}"
    );
    let text = bench.messages("printf '6,4728900.3,0\\n6,4728800,0\\n' | sfcsv2rsf > p.rsf");
    assert!(text.contains(&format!("line 1: y=4728900.3 {becomes}")), "{text}");
    // The points are in kilometres and 10 m apart.
    let text = bench.messages("sfpoints x=4728.9003:4729.9:0.01 z=0 > p.rsf");
    assert!(text.contains("warning: x=4729."), "{text}");
    // The source moves far with each shot.
    let text = bench.messages("sfpoints x=0.1 z=0 n=2 dx=4728900.2 > p.rsf");
    assert!(text.contains("x=4728900.3"), "{text}");
    for fine in [
        "sfpoints x=0:2000:12.5 y=0.1 z=3.3 n=30 dx=12.7",
        "sfpoints x=4728900.5 z=0",
        "printf '4e15,-1.3e15,1\\n' | sfcsv2rsf",
        // The table has three columns and many rows that are not points.
        "for i in 1 2 3 4 5 6 7 8 9; do for j in 1 2 3 4 5; do echo $i,$j,208$j.$i$j; done; done | sfcsv2rsf",
        "printf '3.14159265358979,2.71828182845904\\n3.141592653589,2.7\\n' | sfcsv2rsf",
    ] {
        assert_eq!(bench.messages(&format!("{fine} > p.rsf")), "", "{fine}");
    }
    // Headers of SEG-Y have nine digits.
    bench.run("sfpoints x=0.01 y=0 z=0 > s.rsf; sfpoints x=0:30:10 y=0:60:20 z=0.03 > r.rsf; sfmath n1=5 n2=4 output=1 > d.rsf; sfsegywrite < d.rsf tape=a.sgy sou=s.rsf rec=r.rsf");
    let mut bytes = bench.bytes("a.sgy");
    for trace in 0..4 {
        let at = 3600 + trace * (240 + 20) + 84;
        bytes[at..at + 4].copy_from_slice(&(472_890_031_i32 + 2000 * trace as i32).to_be_bytes());
    }
    bench.put("b.sgy", bytes);
    let text = bench.messages("sfsegyread tape=b.sgy tfile=t.rsf sou=s2.rsf rec=r2.rsf > o.rsf");
    assert!(
        text.contains("receiver 1: y=4728900.31 becomes 4728900.5, because a coordinate has four bytes: the points lie up to 4729 km apart"),
        "{text}"
    );
    // Coordinates that are near each other but far from the origin of the map: the origin= that the warning suggests
    // keeps their digits, and writing restores them.
    for trace in 0..4 {
        let at = 3600 + trace * (240 + 20) + 76;
        let mut bytes = bench.bytes("b.sgy");
        bytes[at..at + 4].copy_from_slice(&472_880_050_i32.to_be_bytes());
        bench.put("b.sgy", bytes);
    }
    let text = bench.messages("sfsegyread tape=b.sgy tfile=t.rsf sou=s2.rsf rec=r2.rsf > o.rsf");
    let advice = "origin=0,4728000";
    assert!(
        text.contains(&format!(
            "because a coordinate has four bytes: {advice} subtracts"
        )),
        "{text}"
    );
    let text = bench.messages(&format!(
        "sfsegyread tape=b.sgy tfile=t.rsf sou=s2.rsf rec=r2.rsf {advice} > o.rsf"
    ));
    assert_eq!(text, "");
    assert_eq!(bench.reals("s2.rsf"), [0.01, 800.5, 0.0]);
    assert_eq!(
        bench.reals("r2.rsf")[..6],
        [0.0, 900.31, 0.03, 10.0, 920.31, 0.03]
    );
    bench.run("sfsegywrite < o.rsf tape=c.sgy sou=s2.rsf rec=r2.rsf; sfsegyread tape=c.sgy tfile=t2.rsf > o2.rsf; sfheadermath < t.rsf output=gy | sfdd type=float > a.rsf; sfheadermath < t2.rsf output=gy | sfdd type=float > c.rsf");
    assert_eq!(bench.reals("a.rsf"), bench.reals("c.rsf"));
    assert!(
        bench
            .refused("sfsegyread tape=b.sgy tfile=t.rsf sou=s2.rsf rec=r2.rsf origin=5 > o.rsf")
            .contains("as in origin=465000,4728000")
    );
}
