//! Echoes of waves that run along matched layers, of which chapter 9 of the book gives the amplitudes.

use crate::desk::Desk;
use crate::shots::{largest, magnitude, records_of};

/// Receivers, at 0.5, 1, 1.5 and 2 km from the source.
const RECEIVERS: usize = 4;
/// Components and steps of the records.
const VALUES: usize = 2 * 1000;

/// The records of a source and receivers at a depth, `[time, component][receiver]`, in a model with these axes.
fn records(desk: &Desk, depth: usize, axes: &str) -> Vec<f64> {
    desk.ran(&format!(
        "sfbasics points x=500 z={depth} > s.rsf; sfbasics points x=1000:2500:500 z={depth} > r.rsf; \
         sfvsfd2d-gpu layers=L.txt d1=10 d2=10 sou=s.rsf rec=r.rsf nt=1000 dt=0.001 m0=1e12 stf=ricker freq=6 {axes} > d.rsf"
    ));
    records_of(VALUES * RECEIVERS, desk.read("d.rsf"))
}

/// Echoes of the layers at the four receivers, relative to the largest amplitude at each: the difference from a model
/// whose layers are too far away.
fn echoes(desk: &Desk, depth: usize, words: &str) -> [f64; RECEIVERS] {
    let wide = records(desk, depth, "n1=551 o1=-2000 n2=601 o2=-1000");
    let near = records(desk, depth, &format!("n1=151 n2=401 {words}"));
    std::array::from_fn(|receiver| {
        let at = |k: usize| k * RECEIVERS + receiver;
        let echo = largest((0..VALUES).map(|k| near[at(k)] - wide[at(k)]));
        echo / magnitude((0..VALUES).map(|k| wide[at(k)]))
    })
}

#[test]
fn waves_along_a_face_have_larger_echoes() {
    let desk = Desk::new();
    desk.ran("printf '0 3000 1732 2200\\n' > L.txt");
    // Echoes at 1, 1.5 and 2 km, as on the page, where they are rounded by up to a sixth.
    for (depth, expected) in [(100, [0.0003, 0.004, 0.016]), (20, [0.002, 0.019, 0.053])] {
        let measured = echoes(&desk, depth, "");
        println!("{depth} m: {measured:?}");
        // The angle at half a kilometre is 68 degrees for the deeper source.
        assert!(largest([measured[0]]) < 1e-3, "{depth} m: {measured:?}");
        for (one, page) in measured[1..].iter().zip(expected) {
            assert!(largest([one - page]) < 0.2 * page, "{depth} m: {measured:?}");
        }
    }
    let [plain, stretched] = ["", "kappa=5"].map(|words| echoes(&desk, 100, words));
    println!("kappa=5: {stretched:?}");
    for (plain, stretched) in plain[1..].iter().zip(&stretched[1..]) {
        let ratio = largest([stretched / plain]);
        assert!((0.25..0.4).contains(&ratio), "{ratio}");
    }
}
