//! The numbers of a plan are consistent: cells, steps, speed and seconds, and memory and memory per point.

use crate::desk::Desk;
use crate::survey::with;

/// The number between these texts, on the line that contains both.
fn number(text: &str, before: &str, behind: &str) -> f64 {
    let value = text.lines().find_map(|line| {
        let (_, rest) = line.split_once(before)?;
        let (words, _) = rest.split_once(behind)?;
        words.split(' ').next()?.parse().ok()
    });
    value.unwrap_or_else(|| panic!("no number between `{before}` and `{behind}` in {text}"))
}

/// Asserts that the seconds of a plan are `work`, cells times steps, divided by the speed, which is in millions and
/// rounded to `unit`.
fn assert_seconds(text: &str, work: f64, (speed, unit): (f64, f64)) -> f64 {
    let seconds = number(text, "time about ", " s");
    assert!(seconds > 10.0 && speed > 2.0 * unit, "{text}");
    let off = (seconds * speed * 1e6 / work - 1.0).abs();
    assert!(off < 0.5 * unit / speed + 0.5 / seconds + 1e-3, "{off}: {text}");
    seconds
}

const POINTS: &str = " million points per second";

/// There are frames of 8 cells and 4 outermost cells on all sides of 24 x 26 nodes, and frames of 60 around 20 x 24.
#[test]
fn seconds_are_cells_and_steps_over_speed() {
    let desk = crate::survey::desk(2);
    let (steps, cells) = (9_000_000, 48 * 50);
    let line = with(2, "sou.rsf", "rec.rsf", "plan=y jdata=1000000").replace("nt=60", &format!("nt={steps}"));
    let text = desk.ran(&line).err;
    let speed = (number(&text, " at ", POINTS), 1.0);
    let seconds = assert_seconds(&text, f64::from(cells) * f64::from(steps), speed);
    // Longer times are given in minutes, hours or days, too.
    let (unit, length) = [("minutes", 60.0), ("hours", 3600.0), ("days", 86_400.0)][match seconds {
        ..7200.0 => 0,
        ..172_800.0 => 1,
        _ => 2,
    }];
    if seconds >= 301.0 {
        let predicted = number(&text, " s (", &format!(" {unit})"));
        assert!(
            (predicted * length - seconds).abs() <= 0.05 * length + 0.5,
            "{text}"
        );
    }
    // Each shot of a survey takes the same time, and they run one after the other.
    let line = line
        .replace("sou=sou.rsf", "sou=sous.rsf")
        .replace("rec=rec.rsf", "rec=recs.rsf");
    let text = desk.ran(&line).err;
    let (one, all) = (
        number(&text, "time about ", " s"),
        number(&text, "there are 3, which takes about ", " s"),
    );
    assert!((all - 3.0 * one).abs() <= 1.6, "{text}");
    let desk = crate::shot::desk(2);
    let steps = 250_000;
    desk.dataset(
        "wav.rsf",
        &format!("n1=1 n2=2 n3={steps} d3=0.001"),
        &vec![0.5; 2 * steps],
    );
    let line = format!(
        "{} jdata=1000 plan=y < wav.rsf",
        crate::shot::line(2).replace("nb=8", "nb=60")
    );
    let text = desk.ran(&line).err;
    let speed = (number(&text, " at ", POINTS), 1.0);
    assert_seconds(&text, 140.0 * 144.0 * steps as f64, speed);
}

#[test]
fn seconds_on_meshes_are_elements_and_steps_over_speed() {
    let desk = Desk::new();
    let mesh = "sfhexmesh surfaces=400,0 layers=20 nx=30 xmin=0 xmax=600 rho=2300 vp=3000 vs=1700 judge=n";
    desk.ran(&format!("{mesh} > box.rsf"));
    desk.dataset("sou.rsf", "n1=2 n2=1", &[201.0, 103.0]);
    desk.dataset("rec.rsf", "n1=2 n2=1", &[151.0, 100.0]);
    let steps = 200_000;
    let line = format!(
        "sfsem2d-gpu mesh=box.rsf sou=sou.rsf rec=rec.rsf m0=1e12 stf=ricker freq=5 nt={steps} dt=0.0005 begin=0 jdata=1000 plan=y device=cpu"
    );
    let line = line.replace(" begin=0", "");
    let text = desk.ran(&line).err;
    let speed = number(&text, " at ", " million elements per second");
    assert_seconds(&text, 600.0 * f64::from(steps), (speed, 0.001));
    let begin = number(&text, "steps, from ", " s to");
    let end = number(&text, " s to ", " s");
    assert!((end - begin - 100.0).abs() < 1e-3, "{text}");
}

/// The bytes per point of the padded grid are the total divided by the number of points.
#[test]
fn memory_is_printed_of_all_and_of_a_point() {
    let desk = crate::velocity_stress::desk(2);
    for (nb, groups) in [(200, ""), (600, "ngpu=3")] {
        let line = crate::velocity_stress::line(2).replace("nb=8", &format!("nb={nb}"));
        let text = desk.ran(&format!("{line} plan=y device=cpu {groups}")).err;
        let (all, each) = (
            number(&text, "memory ", " GB"),
            number(&text, " GB, ", " bytes per point of the padded grid"),
        );
        let points = f64::from((24 + 2 * (nb + 4)) * (26 + 2 * (nb + 4)));
        let off = (all * 1e9 - each * points).abs();
        // Both numbers are rounded: to 0.1 byte, and to hundredths or ten-thousandths of a GB.
        let unit = if all < 0.1 { 1e5 } else { 1e7 };
        assert!(off <= 0.5 * unit + 0.05 * points, "{text}");
        // There are at least two velocities, three stresses, density and two moduli; layers and threads add at most as
        // much again and some rows.
        assert!((4.0 * 8.0..120.0).contains(&each), "{text}");
    }
}

/// Warnings begin at these limits: 100 m/s for the fastest wave, 50 kg/m3 for densities, 20 m/s for S waves.
#[test]
fn numbers_that_no_rock_has_are_warned_of_from_their_limits_on() {
    let desk = crate::velocity_stress::desk(2);
    let grid = "n1=24 d1=10 n2=26 d2=10";
    // A message at any other value is a warning as well.
    let words = [
        (
            "the fastest wave of the model has a speed of ",
            "99.0000 m/s: units are SI",
        ),
        ("the density is ", "49 kg/m3 "),
        ("vs is ", "19 m/s "),
    ];
    let warned = |[vp, vs, den]: [f32; 3]| {
        for (name, value) in [("vp", vp), ("vs", vs), ("den", den)] {
            desk.dataset(&format!("{name}.rsf"), grid, &[value; 24 * 26]);
        }
        let line = crate::velocity_stress::line(2).replace("tau=0.008", "tau=0.5");
        let text = desk.ran(&format!("{line} device=cpu nt=2 > data.rsf")).err;
        words.map(|(what, value)| {
            let warns = text.contains(what);
            assert_eq!(warns, text.contains(&format!("{what}{value}")), "{text}");
            warns
        })
    };
    assert_eq!(warned([101.0, 21.0, 51.0]), [false; 3]);
    assert_eq!(warned([99.0, 21.0, 51.0]), [true, false, false]);
    assert_eq!(warned([101.0, 21.0, 49.0]), [false, true, false]);
    assert_eq!(warned([101.0, 19.0, 51.0]), [false, false, true]);
    let text = desk
        .ran(&format!(
            "{} device=cpu nt=2 tau=0.5 > data.rsf",
            crate::velocity_stress::line(2).replace(" tau=0.008", "")
        ))
        .err;
    assert!(text.contains("vs is 19 m/s at z=0"), "{text}");
}

/// Sponges of fewer than 20 nodes are reported, unless their faces are chosen.
#[test]
fn thin_sponges_are_warned_of() {
    let desk = crate::velocity_stress::desk(2);
    let line = crate::velocity_stress::line(2).replace(" nb=8", "");
    for (words, warns) in [
        ("absorb=sponge nb=19", true),
        ("absorb=sponge nb=20", false),
        ("absorb=cpml nb=8", false),
    ] {
        let text = desk.ran(&format!("{line} device=cpu {words} plan=y")).err;
        let warning = "absorb=sponge with nb=19 reflects waves, because such a thin sponge hardly damps them: give nb=20 or more";
        assert_eq!(text.contains(warning), warns, "{words}: {text}");
    }
}
