//! Dipping interfaces between the nodes of a staggered grid, compared with a flat interface on a grid of half the spacing:
//! a rotation of the source, the receivers and the interface rotates the wavefield.

use crate::desk::Desk;
use crate::shots::{largest, relative_difference};

/// Width and depth of the model in metres; the interface passes through its centre, moved down by [`OFF`].
const SIZE: f64 = 2600.0;
const OFF: f64 = 3.3;
/// Samples of a millisecond that are compared.
const SAMPLES: usize = 700;

/// The angle from the horizontal, whose tangent is the slope of the interface, and the spacing in metres.
struct Case {
    dip: f64,
    spacing: f64,
}

impl Case {
    /// A point at a distance along the interface, and one below it, from its centre; x and z.
    fn point(&self, along: f64, below: f64) -> [f64; 2] {
        let (sin, cos) = self.dip.to_radians().sin_cos();
        [
            SIZE / 2.0 + along * cos - below * sin,
            SIZE / 2.0 + OFF + along * sin + below * cos,
        ]
    }

    /// Displacements along the interface and across it, `[sample][receiver]` one after the other.
    fn displacements(&self, words: &str) -> Vec<f64> {
        let desk = Desk::new();
        let n = (SIZE / self.spacing) as usize + 1;
        let (sin, cos) = self.dip.to_radians().sin_cos();
        let horizon: Vec<f32> = (0..n)
            .map(|i| SIZE / 2.0 + OFF + (i as f64 * self.spacing - SIZE / 2.0) * sin / cos)
            .map(|z| z as f32)
            .collect();
        let list = |points: &[[f64; 2]]| points.iter().flatten().map(|v| *v as f32).collect::<Vec<_>>();
        let receivers: Vec<_> = (0..5)
            .flat_map(|k| [-150.0, 150.0].map(|below| self.point(-150.0 + 125.0 * f64::from(k), below)))
            .collect();
        desk.dataset("horizon.rsf", &format!("n1={n} d1={}", self.spacing), &horizon);
        desk.dataset("sou.rsf", "n1=2 n2=1", &list(&[self.point(-200.0, -200.0)]));
        desk.dataset(
            "rec.rsf",
            &format!("n1=2 n2={}", receivers.len()),
            &list(&receivers),
        );
        let d = self.spacing;
        desk.ran(&format!(
            "sflayers horizons=horizon.rsf rho=2000,2400 vp=1732,3464 vs=1000,2000 n1={n} n2={n} d1={d} d2={d} scheme=staggered {words} den=den.rsf > ccc.rsf"
        ));
        let (every, dt) = ((10.0 / d) as usize, d * 1e-4);
        let [fx, fz] = [0.8 * cos - 0.6 * sin, 0.8 * sin + 0.6 * cos];
        desk.ran(&format!(
            "sfvsfd2d-gpu ccc=ccc.rsf den=den.rsf sou=sou.rsf rec=rec.rsf src=force fx={fx} fz={fz} stf=ricker freq=8 dt={dt} nt={} order=8 tdc=y data=displacement nb=20 device=cpu > data.rsf",
            SAMPLES * every
        ));
        let data = desk.read("data.rsf");
        let samples = data.chunks(2 * receivers.len()).skip(every - 1).step_by(every);
        samples
            .flat_map(|sample| {
                let (z, x) = sample.split_at(receivers.len());
                let turned = z.iter().zip(x).map(|(z, x)| [f64::from(*z), f64::from(*x)]);
                turned.flat_map(|[z, x]| [x * cos + z * sin, z * cos - x * sin])
            })
            .collect()
    }
}

/// The velocities below are twice those above, and the grid has 12.5 points per S wavelength at the peak frequency and
/// five at the highest. The misfit is 0.11 to 0.85 % with effective media, for which the bound of 1 % is the target, and
/// 1.35 to 4.8 % with staircases.
#[test]
fn dipping_interfaces_are_within_a_percent() {
    let case = |dip, spacing| Case { dip, spacing };
    let flat = case(0.0, 5.0).displacements("");
    let misfits = |words: &str| {
        [0.0, 15.0, 30.0, 45.0, 60.0]
            .map(|dip| relative_difference(case(dip, 10.0).displacements(words), &flat))
    };
    let (effective, stairs) = (misfits(""), misfits("average=n"));
    eprintln!("misfit at 0, 15, 30, 45, 60 degrees: effective media {effective:?}, staircases {stairs:?}");
    assert!(largest(effective) < 0.01, "{effective:?}");
    assert!(stairs.iter().all(|misfit| *misfit > 0.012), "{stairs:?}");
}

/// The volume of the test below: nodes along each axis, ten metres apart, and samples of a millisecond.
const NODES: usize = 101;
const STEPS: usize = 440;

/// Displacements along three axes of the frame of an interface through the centre of a 3-D model, which dips by `dip`
/// degrees towards an azimuth of `azimuth` degrees from x to y.
fn in_a_volume([dip, azimuth]: [f64; 2], words: &str) -> Vec<f64> {
    let desk = Desk::new();
    let centre = 10.0 * (NODES - 1) as f64 / 2.0;
    let ([sin, cos], [sin_to, cos_to]) = (
        <[f64; 2]>::from(dip.to_radians().sin_cos()),
        <[f64; 2]>::from(azimuth.to_radians().sin_cos()),
    );
    // Down the slope, level along the interface, and normal to it; x, y, z.
    let frame = [
        [cos * cos_to, cos * sin_to, sin],
        [-sin_to, cos_to, 0.0],
        [-sin * cos_to, -sin * sin_to, cos],
    ];
    let depth = |x: f64, y: f64| centre + OFF + sin / cos * ((x - centre) * cos_to + (y - centre) * sin_to);
    let horizon: Vec<f32> = (0..NODES * NODES)
        .map(|k| depth(10.0 * (k % NODES) as f64, 10.0 * (k / NODES) as f64) as f32)
        .collect();
    let turned = |own: [f64; 3]| [0, 1, 2].map(|axis| (0..3).map(|k| own[k] * frame[k][axis]).sum::<f64>());
    let point = |own: [f64; 3]| {
        let [x, y, z] = turned(own);
        [x + centre, y + centre, z + centre + OFF].map(|v| v as f32)
    };
    let receivers: Vec<[f32; 3]> = [-60.0, 60.0, 180.0]
        .iter()
        .flat_map(|along| {
            [
                [*along, 0.0, -80.0],
                [*along, 60.0, -80.0],
                [*along, 0.0, 80.0],
                [*along, 60.0, 80.0],
            ]
        })
        .map(point)
        .collect();
    desk.dataset(
        "horizon.rsf",
        &format!("n1={NODES} n2={NODES} d1=10 d2=10"),
        &horizon,
    );
    desk.dataset("sou.rsf", "n1=3 n2=1", &point([-80.0, 0.0, -120.0]));
    desk.dataset(
        "rec.rsf",
        &format!("n1=3 n2={}", receivers.len()),
        receivers.as_flattened(),
    );
    desk.ran(&format!(
        "sflayers horizons=horizon.rsf rho=2000,2400 vp=1732,3464 vs=1000,2000 n1={NODES} n2={NODES} n3={NODES} d1=10 d2=10 d3=10 scheme=staggered {words} den=den.rsf > ccc.rsf"
    ));
    let [fx, fy, fz] = turned([0.7, 0.5, 0.5]);
    desk.ran(&format!(
        "sfvsfd3d-gpu ccc=ccc.rsf den=den.rsf sou=sou.rsf rec=rec.rsf src=force fx={fx} fy={fy} fz={fz} stf=ricker freq=8 dt=0.001 nt={STEPS} order=8 tdc=y data=displacement nb=12 device=cpu > data.rsf"
    ));
    let data = desk.read("data.rsf");
    let count = receivers.len();
    let of = |sample: &[f32], r: usize| {
        let [z, x, y] = [0, 1, 2].map(|component| f64::from(sample[component * count + r]));
        frame.map(|axis| axis[0] * x + axis[1] * y + axis[2] * z)
    };
    let samples = data.chunks(3 * count);
    samples
        .flat_map(|sample| (0..count).flat_map(move |r| of(sample, r)))
        .collect()
}

/// The medium is that of the 2-D test. The misfit is compared with a flat interface on the same grid, whose own error is
/// 0.14 %.
#[test]
#[ignore = "long: ./sconsw test full=y"]
fn a_dipping_interface_in_a_volume_is_within_a_percent() {
    let flat = in_a_volume([0.0, 0.0], "");
    let dipping = [30.0, 35.0];
    let misfit = |words: &str| relative_difference(in_a_volume(dipping, words), &flat);
    let (effective, stairs) = (misfit(""), misfit("average=n"));
    eprintln!("misfit: effective media {effective}, staircases {stairs}");
    assert!(effective < 0.01, "{effective}");
    assert!(stairs > effective, "{stairs}");
}
