//! Exact time: runs with long steps and `tdc=y` compared with runs with steps 25 times shorter.

use crate::desk::{Desk, Outcome};
use crate::full_space::{Rock, of_moment};
use crate::shots::{Ricker, rms_difference};
use crate::{shot, survey, velocity_stress};

/// The factor between the steps; it is odd, so that the other run has records in the middles of the long steps.
const SHORTER: usize = 25;

/// The records of `fine` at the times of the records with long steps, which are `halves` half steps after the
/// beginnings of the steps.
fn at_long_steps(fine: &[f32], numbers: usize, halves: usize) -> Vec<f32> {
    let first = (SHORTER - 1) * halves / 2;
    let records = fine.chunks(numbers).skip(first).step_by(SHORTER);
    records.flatten().copied().collect()
}

/// The misfits of a run of `steps` steps, without and with exact time; in `line`, NT and DT are replaced by their
/// number and length, and `per` is the number of values per record.
fn misfits(desk: &Desk, line: &str, (steps, dt): (usize, f64), (per, halves): (usize, usize)) -> [f64; 2] {
    let of = |shorter: usize, words: &str| {
        let nt = (steps * shorter).to_string();
        let line = line
            .replace("NT", &nt)
            .replace("DT", &format!("{:e}", dt / shorter as f64));
        desk.ran(&format!("{line} {words} > d.rsf"));
        desk.read("d.rsf")
    };
    let fine = at_long_steps(&of(SHORTER, ""), per, halves);
    [
        rms_difference(of(1, ""), &fine),
        rms_difference(of(1, "tdc=y"), &fine),
    ]
}

/// A desk with a rock of 60 by 80 cells of 10 m, with a fast layer and soft lumps.
pub fn rock(desk: &Desk) {
    let (nz, nx) = (60, 80);
    let cell = |i: usize| {
        let (z, x) = ((i % nz) as f32, (i / nz) as f32);
        let lumps = 1.0 + 0.08 * (0.31 * z + 0.2 * x).sin() * (0.17 * x - 0.23 * z).cos();
        3000.0 * lumps * if z > 35.0 { 1.2 } else { 1.0 }
    };
    let vp: Vec<f32> = (0..nz * nx).map(cell).collect();
    let header = format!("n1={nz} n2={nx} d1=10 d2=10");
    let scaled = |share: f32| -> Vec<f32> { vp.iter().map(|v| v * share).collect() };
    desk.dataset("vp.rsf", &header, &vp);
    desk.dataset("vs.rsf", &header, &scaled(0.57));
    desk.dataset("den.rsf", &header, &vec![2200.0; nz * nx]);
    desk.dataset("sou.rsf", "n1=2 n2=1", &[283.0, 183.0]);
    desk.dataset("rec.rsf", "n1=2 n2=2", &[153.0, 105.0, 602.0, 455.0]);
}

pub const ROCK: &str =
    "sfvsfd2d-gpu vp=vp.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=NT dt=DT device=cpu nb=10";

/// With a time step of 0.95 of the stability limit, velocity-stress runs with exact time have no noticeable error of
/// the step, for any recorded quantity.
#[test]
fn staggered_runs_with_long_steps_are_those_with_short_ones() {
    let desk = Desk::new();
    rock(&desk);
    // The limits are 1.34e-3 s (order 8) and 1.48e-3 s (order 4).
    for (words, dt, per, halves) in [
        ("order=8 stf=ricker freq=16 free=y", 1.275e-3, 4, 1),
        (
            "order=4 src=force fz=1e6 stf=gauss tau=0.013 data=displacement",
            1.4e-3,
            4,
            2,
        ),
        ("order=8 stf=ricker freq=16 data=pressure", 1.275e-3, 2, 2),
        (
            "order=8 stf=ricker freq=14 src=moment mxz=1e9 data=acceleration",
            1.275e-3,
            4,
            0,
        ),
        (
            "order=4 stf=ricker freq=14 data=strain free=y absorb=sponge nb=0",
            1.4e-3,
            6,
            2,
        ),
    ] {
        let [raw, exact] = misfits(&desk, &format!("{ROCK} {words}"), (380, dt), (per, halves));
        println!("{words}: {:.3} % becomes {:.4} %", 100.0 * raw, 100.0 * exact);
        // The measured error is 0.003 to 0.02 %, mostly due to the short steps.
        assert!(exact < 3e-4 && raw > 20.0 * exact, "{words}: {raw} {exact}");
    }
}

/// Memory variables are integrated by a scheme that differs from that of the waves; most of the resulting error is
/// removed.
#[test]
fn exact_time_holds_with_attenuation() {
    let desk = Desk::new();
    rock(&desk);
    for words in ["qp=50 qs=30", "qp=80 qs=60 qmech=coarse"] {
        let line = format!("{ROCK} order=8 stf=ricker freq=16 {words}");
        let [raw, exact] = misfits(&desk, &line, (380, 1.25e-3), (4, 1));
        println!("{words}: {:.3} % becomes {:.4} %", 100.0 * raw, 100.0 * exact);
        // The measured error is 0.02 to 0.05 %.
        assert!(exact < 1.5e-3 && raw > 10.0 * exact, "{words}: {raw} {exact}");
    }
}

/// Makes a mesh of rock below a hill, with these parameters of `sfhexmesh`, a source and receivers.
fn hill(desk: &Desk, words: &str) {
    let height = |k: usize| 100.0 - 60.0 * (-((k as f32 - 20.0) / 6.0).powi(2)).exp();
    let heights: Vec<f32> = (0..41).map(height).collect();
    desk.dataset("topo.rsf", "n1=41 o1=0 d1=20", &heights);
    desk.ran(&format!(
        "sfhexmesh surfaces=600,topo.rsf layers=12 nx=16 curved=y rho=2300 vp=3000 vs=1700 judge=n {words} > hill.rsf"
    ));
    desk.dataset("sou.rsf", "n1=2 n2=1", &[400.0, 300.0]);
    desk.dataset("rec.rsf", "n1=2 n2=2", &[250.0, 200.0, 620.0, 350.0]);
}

/// The sides of a mesh below a hill absorb waves by means of velocities that are averages of two times.
#[test]
fn elements_with_long_steps_are_those_with_short_ones() {
    let desk = Desk::new();
    hill(&desk, "");
    let line = "sfsem2d-gpu mesh=hill.rsf sou=sou.rsf rec=rec.rsf device=cpu nt=NT dt=DT";
    // The limit is 1.54e-3 s.
    for (words, per) in [
        ("src=force fz=1e9 stf=ricker freq=12", 4),
        ("src=explosion m0=1e9 stf=gauss tau=0.015 data=displacement", 4),
        (
            "src=force fz=1e9 stf=ricker freq=12 data=acceleration sponge=150",
            4,
        ),
        ("src=force fz=1e9 stf=ricker freq=12 data=strain", 6),
    ] {
        let [raw, exact] = misfits(&desk, &format!("{line} {words}"), (500, 1.466e-3), (per, 0));
        println!("{words}: {:.3} % becomes {:.4} %", 100.0 * raw, 100.0 * exact);
        // The measured error is 0.04 to 0.12 %, due to the reflections of the absorbing sides for long steps.
        assert!(exact < 1.5e-3 && raw > 4.0 * exact, "{words}: {raw} {exact}");
    }
}

/// With exact time, three mechanisms at every point use the strain of the step; one mechanism per point always does.
#[test]
fn elements_that_lose_have_exact_time() {
    let desk = Desk::new();
    hill(&desk, "qkappa=70 qmu=50");
    let line = "sfsem2d-gpu mesh=hill.rsf sou=sou.rsf rec=rec.rsf device=cpu nt=NT dt=DT src=force fz=1e9 stf=ricker freq=12";
    for words in ["qmech=3", "qmech=coarse"] {
        let [raw, exact] = misfits(&desk, &format!("{line} {words}"), (500, 1.44e-3), (4, 0));
        println!("{words}: {:.3} % becomes {:.4} %", 100.0 * raw, 100.0 * exact);
        assert!(exact < 1.5e-3 && raw > 10.0 * exact, "{words}: {raw} {exact}");
    }
}

/// With exact time, records at 0.95 of the limit are about twice as close to the closed form of a full space as records
/// at a fifth of the limit without it. What remains is the error in space, which a tenth of the limit has, too.
#[test]
fn long_steps_are_as_close_to_the_closed_form_as_short_ones() {
    let desk = Desk::new();
    let rock = Rock {
        a: 3000.0,
        b: 1732.0,
        rho: 2200.0,
    };
    let n = 44;
    for (name, value) in [("vp", rock.a), ("vs", rock.b), ("den", rock.rho)] {
        let header = format!("n1={n} n2={n} n3={n} d1=10 d2=10 d3=10");
        desk.dataset(&format!("{name}.rsf"), &header, &vec![value as f32; n * n * n]);
    }
    let (source, receivers) = (
        [163.0f32, 154.0, 148.0],
        [[322.0f32, 233.0, 171.0], [211.0, 318.0, 307.0]],
    );
    desk.dataset("sou.rsf", "n1=3 n2=1", &source);
    desk.dataset("rec.rsf", "n1=3 n2=2", receivers.as_flattened());
    let (pulse, moment) = (Ricker::starting_at_zero(11.0), [1.0, -0.4, 0.3, 0.6, 0.2, -0.5]);
    // The limit is 1.497e-3 s.
    let off = |share: f64, tdc: &str| {
        let dt = share * 1.497e-3;
        let nt = (0.33 / dt) as usize;
        desk.ran(&format!(
            "sfvsfd3d-gpu vp=vp.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt={nt} dt={dt:e} order=8 src=moment mxx=1e10 myy=-4e9 mzz=3e9 mxy=6e9 mxz=2e9 myz=-5e9 stf=ricker freq=11 data=displacement device=cpu nb=8 {tdc} > d.rsf"
        ));
        let expected = (1..=nt).flat_map(|it| {
            // Components z, x, y, each for both receivers.
            let at = receivers.map(|receiver| {
                let offset = [0, 1, 2].map(|a| f64::from(receiver[a]) - f64::from(source[a]));
                of_moment(rock, &pulse, moment.map(|m| 1e10 * m), offset, it as f64 * dt)
            });
            [2, 0, 1].into_iter().flat_map(move |c| at.map(|u| u[c] as f32))
        });
        rms_difference(desk.read("d.rsf"), expected.collect::<Vec<_>>())
    };
    let (exact, raw, short) = (off(0.95, "tdc=y"), off(0.95, ""), off(0.2, ""));
    println!("0.95 of the limit: {raw:.2e}, with exact time {exact:.2e}; a fifth of it: {short:.2e}");
    // The measured errors are 2.5e-4 and 5.1e-4.
    assert!(exact < 0.55 * short && raw > 2.0 * short, "{exact} {raw} {short}");
}

/// Displacements are computed in a rigid box, and with a frame that acts once per step.
#[test]
fn displacements_with_long_steps_are_those_with_short_ones() {
    let desk = Desk::new();
    let (nz, nx) = (100, 120);
    let header = format!("n1={nz} n2={nx} d1=0.01 d2=0.01");
    let stiffness: Vec<f32> = [19.8f32, 19.8, 6.4, 7.0]
        .iter()
        .flat_map(|c| vec![*c; nz * nx])
        .collect();
    desk.dataset("ccc.rsf", &format!("{header} n3=4"), &stiffness);
    desk.dataset("den.rsf", &header, &vec![2.2; nz * nx]);
    desk.dataset("sou.rsf", "n1=2 n2=1", &[0.583, 0.483]);
    desk.dataset("rec.rsf", "n1=2 n2=2", &[0.453, 0.405, 0.802, 0.655]);
    // The limit is 2.72e-3 s.
    let (dt, steps) = (2.58e-3, 140);
    let wavelet = |name: &str, shorter: usize| {
        let step = dt / shorter as f64;
        let at = |it: usize| {
            let a = (std::f64::consts::PI * 14.0 * (it as f64 * step - 0.09)).powi(2);
            ((1.0 - 2.0 * a) * (-a).exp()) as f32
        };
        let values: Vec<f32> = (0..steps * shorter)
            .flat_map(|it| [at(it), 0.5 * at(it)])
            .collect();
        let count = steps * shorter;
        desk.dataset(name, &format!("n1=1 n2=2 n3={count} d3={step:e}"), &values);
    };
    wavelet("long.rsf", 1);
    wavelet("short.rsf", SHORTER);
    // The frame damps once per step, so its reflections depend on the step. The error is 0.006 % in a box; ten steps
    // more than these make it 0.4 %, and thirty 1.9 %, when reflections of the frame have arrived.
    for (words, most) in [
        ("nb=4", 3e-4),
        ("nb=4 ssou=y opot=y", 5e-4),
        ("nb=48 dabc=y oneway=upwind", 4e-3),
    ] {
        let of = |wavelet: &str, more: &str| {
            desk.ran(&format!(
                "sfewefd2d-gpu ccc=ccc.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nbell=2 device=cpu {words} {more} < {wavelet} > d.rsf"
            ));
            desk.read("d.rsf")
        };
        let fine = at_long_steps(&of("short.rsf", ""), 4, 2);
        let (raw, exact) = (
            rms_difference(of("long.rsf", ""), &fine),
            rms_difference(of("long.rsf", "tdc=y"), &fine),
        );
        println!("{words}: {:.3} % becomes {:.4} %", 100.0 * raw, 100.0 * exact);
        assert!(exact < most && raw > 5.0 * exact, "{words}: {raw} {exact}");
    }
}

/// The bits do not depend on slabs, on further quantities, or on whether the run was saved; shots are the same as in
/// separate runs.
#[test]
fn cuts_quantities_states_and_shots_change_no_bit() {
    let desk = velocity_stress::desk(2);
    let line = format!("{} device=cpu tdc=y", velocity_stress::line(2));
    let bits = |line: &str, file: &str| -> Vec<u32> {
        desk.ran(line);
        desk.read(file).iter().map(|x| x.to_bits()).collect()
    };
    let one = bits(&format!("{line} > d.rsf"), "d.rsf");
    assert_eq!(bits(&format!("{line} ngpu=2 > d.rsf"), "d.rsf"), one);
    let several = format!("{line} data=strain velocity=v.rsf das=das.rsf along=rec1.rsf > d.rsf");
    desk.dataset("rec1.rsf", "n1=2 n2=1", &[1.0, 0.0]);
    assert_eq!(bits(&several, "v.rsf"), one);
    for words in ["", "data=strain velocity=v.rsf"] {
        let whole = bits(&format!("{line} {words} > d.rsf"), "d.rsf");
        desk.ran(&format!("{line} {words} checkpoint=state every=30 > d.rsf"));
        let again = bits(&format!("{line} {words} resume=state.1 > d.rsf"), "d.rsf");
        assert_eq!(again, whole, "{words}");
    }
    let desk = survey::desk(2);
    let all = |words: &str| survey::with(2, "sous.rsf", "recs.rsf", words);
    desk.ran(&format!("{} > d.rsf", all("tdc=y jdata=2 groups=2")));
    let shots = desk.read("d.rsf");
    for number in 0..3 {
        let (sou, rec) = (format!("sou{number}.rsf"), format!("rec{number}.rsf"));
        desk.ran(&format!(
            "{} > one.rsf",
            survey::with(2, &sou, &rec, "tdc=y jdata=2")
        ));
        let own = desk.read("one.rsf");
        assert_eq!(&shots[number * own.len()..][..own.len()], own, "{number}");
    }
    let run = desk.sh(&format!("{} > e.rsf", all("jdata=2 finished=d.rsf")));
    assert_refused(&run, "comes from a run with tdc=y, but this one has tdc=n");
}

/// Records of every sixth step and resampled records agree with the records of every step.
#[test]
fn records_of_few_steps_are_those_of_all() {
    let desk = velocity_stress::desk(2);
    let line = format!("{} device=cpu tdc=y data=pressure", velocity_stress::line(2));
    let line = line.replace("nt=60", "nt=300");
    let of = |words: &str| {
        desk.ran(&format!("{line} {words} > d.rsf"));
        (desk.read("d.rsf"), desk.axes("d.rsf", 3))
    };
    let (all, _) = of("");
    let (few, axes) = of("jdata=6");
    assert_eq!((axes[2].n, axes[2].o, axes[2].d), (50, 0.001, 0.006));
    let thinned: Vec<f32> = all.chunks(3).step_by(6).flatten().copied().collect();
    let off = rms_difference(&few, &thinned);
    println!("jdata=6: {off:.1e}");
    // The measured error is 1e-5: there are several steps between the records.
    assert!(off < 1e-4, "{off}");
    let (other, axes) = of("dtout=0.002");
    assert_eq!((axes[2].n, axes[2].o, axes[2].d), (151, 0.0, 0.002));
    let expected: Vec<f32> = all
        .chunks(3)
        .skip(1)
        .step_by(2)
        .take(130)
        .flatten()
        .copied()
        .collect();
    let off = rms_difference(&other[3..3 + expected.len()], &expected);
    println!("dtout=0.002: {off:.1e}");
    // The measured error is 3e-4, due to the anti-aliasing filter.
    assert!(off < 2e-3, "{off}");
}

/// Two calls of `sftimedisp`, before and after a run without tdc=y, are equivalent to exact time.
#[test]
fn programs_without_it_get_exact_time_by_sftimedisp() {
    let desk = velocity_stress::desk(2);
    let line = velocity_stress::line(2).replace("nt=60 ", "");
    // The last records need twelve more steps.
    let rate = |k: usize| (-0.5 * ((k as f32 + 0.5) / 6.0 - 4.5).powi(2)).exp();
    let series: Vec<f32> = (0..72).map(rate).collect();
    desk.dataset("series.rsf", "n1=72 o1=0.0005 d1=0.001", &series);
    desk.ran(&format!(
        "{line} nt=60 device=cpu tdc=y series=series.rsf > d.rsf"
    ));
    desk.ran("sfbasics timedisp first=0.5 < series.rsf > early.rsf");
    desk.ran(&format!(
        "{line} nt=72 device=cpu series=early.rsf | sfbasics transp plane=13 > e.rsf"
    ));
    desk.ran("sfbasics timedisp inv=y first=0.5 < e.rsf | sfbasics transp plane=13 | sfbasics window n3=60 > f.rsf");
    let off = rms_difference(desk.read("f.rsf"), desk.read("d.rsf"));
    println!("by hand: {off:.1e}");
    // The measured error is 1e-6, due to the rounding in the files between the programs.
    assert!(off < 1e-5, "{off}");
}

#[track_caller]
fn assert_refused(run: &Outcome, words: &str) {
    let last = run.err.lines().last().unwrap_or_default();
    assert!(run.code == 1 && last.contains(words), "{words}: {run:?}");
}

/// There is a message for everything that exact time cannot do.
#[test]
fn what_steps_do_not_have_is_refused() {
    let desk = velocity_stress::desk(2);
    let line = velocity_stress::line(2);
    let refused = |words: &str, expected: &str| {
        assert_refused(
            &desk.sh(&format!("{line} device=cpu tdc=y {words} > d.rsf")),
            expected,
        );
    };
    desk.dataset("late.rsf", "n1=20 d1=0.001", &[1.0; 20]);
    refused(
        "series=late.rsf",
        "begins with 100 % of its largest value, but exact time needs time functions that begin at rest",
    );
    refused(
        "tau=0.0004",
        "lies above 318.3099 Hz, 1/(pi dt), the highest frequency that time steps of 0.001 s can represent",
    );
    let many: Vec<f32> = (0..200_000).flat_map(|_| [120.0, 110.0]).collect();
    desk.dataset("rec.rsf", "n1=2 n2=200000", &many);
    refused(
        "checkpoint=state",
        "Use fewer receivers or a larger jdata=, leave out checkpoint=",
    );
    let desk = shot::desk(2);
    let run = desk.sh(&format!("{} tdc=y < wav.rsf > d.rsf", shot::line(2)));
    assert_refused(
        &run,
        "series 1 of the wavelet on standard input begins with 45 % of its largest value",
    );
}

/// Headers say whether the times of data, snapshots and maps are corrected; plan and summary give the effect of the
/// steps.
#[test]
fn clocks_and_errors_are_reported() {
    let desk = velocity_stress::desk(2);
    let line = format!(
        "{} device=cpu verb=y pgv=g.rsf snap=y jsnap=20 wfl=w.rsf",
        velocity_stress::line(2)
    );
    let clock = |file: &str| {
        desk.open(file)
            .header()
            .text("clock")
            .map(|text| text.to_string())
    };
    let run = desk.ran(&format!("{line} > d.rsf"));
    assert_eq!(
        [clock("d.rsf"), clock("w.rsf"), clock("g.rsf")],
        [None, None, None]
    );
    assert!(
        run.err.contains("time steps make waves early by ") && run.err.contains("tdc=y removes this error")
    );
    let snapshots = desk.axes("w.rsf", 4);
    let run = desk.ran(&format!("{line} tdc=y > d.rsf"));
    assert_eq!(clock("d.rsf").as_deref(), Some("exact time (tdc=y)"));
    for file in ["w.rsf", "g.rsf"] {
        let kind_of_clock = clock(file).unwrap_or_default();
        assert!(
            kind_of_clock.starts_with("that of the time steps: waves of "),
            "{file}: {kind_of_clock}"
        );
    }
    assert_eq!(desk.axes("w.rsf", 4), snapshots);
    assert_eq!(desk.axes("d.rsf", 3)[2].n, 60);
    assert!(
        run.err.contains("exact time: the error of the time steps, "),
        "{run:?}"
    );
    let plan = desk.ran(&format!("{line} plan=y"));
    assert!(plan.err.contains("time steps make waves early by "), "{plan:?}");
}
