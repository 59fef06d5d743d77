//! A finite fault: two thousand small faults, each with its own position, mechanism, moment and time function, compared
//! with the sum of their fields in a full space.

use crate::desk::Desk;
use crate::full_space::{Rock, of_moment};
use crate::shots::{Ricker, largest_difference, magnitude};
use kernels::source::Action;

const ROCK: Rock = Rock {
    a: 6000.0,
    b: 3464.0,
    rho: 2700.0,
};
/// Nodes along z, x, y, and their spacing.
const N: [usize; 3] = [40, 50, 36];
const D: f64 = 100.0;
const DT: f64 = 0.007;
const STEPS: usize = 430;
/// Steps between records: a quarter of the shortest period.
const EVERY: usize = 10;
/// Small faults along x and down, and their spacing.
const FAULT: [usize; 2] = [50, 40];
const PIECE: [f64; 2] = [40.3, 30.7];
/// Receivers x, y, z in m.
const RECEIVERS: [[f32; 3]; 3] = [
    [2540.0, 2710.0, 1450.0],
    [4420.0, 1830.0, 2090.0],
    [730.0, 640.0, 860.0],
];

/// A small fault: position (x, y, z), strike, dip, rake and moment, and its moment rate.
struct Piece {
    at: [f64; 3],
    slip: [f64; 4],
    rate: Ricker,
}

/// A nearly vertical bent plane that ruptures from a point at 80 % of the S speed. The moment rate has no net slip, so
/// that no permanent displacement hides the waves.
fn fault() -> Vec<Piece> {
    let piece = |k: usize| {
        let (i, j) = ((k % FAULT[0]) as f64, (k / FAULT[0]) as f64);
        let (along, down) = (i * PIECE[0], j * PIECE[1]);
        let at = [
            1480.0 + along,
            1210.0 + 60.0 * (along / 500.0).sin() + 0.1 * down,
            1020.0 + down,
        ];
        let late = (along - 600.0).hypot(down - 700.0) / (0.8 * ROCK.b);
        let f = 1.2 + 0.2 * (0.37 * k as f64).sin();
        Piece {
            at,
            slip: [
                4.0 * (along / 700.0).cos(),
                84.0,
                10.0 + 40.0 * (0.11 * k as f64).sin(),
                1e15 * (1.0 + 0.6 * (0.7 * i).cos() * (0.5 * j).sin()),
            ],
            rate: Ricker {
                f,
                t0: 1.2 / f + late,
            },
        }
    };
    (0..FAULT[0] * FAULT[1]).map(piece).collect()
}

/// Writes the model, the fault and the receivers.
fn write(desk: &Desk, fault: &[Piece]) {
    let cells = N.iter().product();
    let grid: String = (0..3)
        .map(|a| format!("n{}={} o{}=0 d{}={D} ", a + 1, N[a], a + 1, a + 1))
        .collect();
    for (name, value) in [("vp", ROCK.a), ("vs", ROCK.b), ("den", ROCK.rho)] {
        desk.dataset(&format!("{name}.rsf"), &grid, &vec![value as f32; cells]);
    }
    let count = fault.len();
    let points: Vec<f32> = fault.iter().flat_map(|p| p.at).map(|x| x as f32).collect();
    desk.dataset("sou.rsf", &format!("n1=3 n2={count}"), &points);
    let slips: Vec<f32> = fault.iter().flat_map(|p| p.slip).map(|x| x as f32).collect();
    desk.dataset("mech.rsf", &format!("n1=4 n2={count}"), &slips);
    // Samples at half steps, because moments act half way between the time levels of velocity.
    let n = 2 * STEPS + 1;
    let sample = |p: &Piece, k: usize| p.rate.value(0.5 * DT * k as f64) as f32;
    let series: Vec<f32> = fault
        .iter()
        .flat_map(|p| (0..n).map(move |k| sample(p, k)))
        .collect();
    desk.dataset(
        "series.rsf",
        &format!("n1={n} d1={} o1=0 n2={count}", 0.5 * DT),
        &series,
    );
    desk.dataset("rec.rsf", "n1=3 n2=3", RECEIVERS.as_flattened());
}

/// The sum of all fields: velocity z, x, y at a receiver and a step.
fn exact(fault: &[Piece], receiver: [f32; 3], it: usize) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for piece in fault {
        let [strike, dip, rake, m0] = piece.slip;
        let Action::Moment(m) = Action::double_couple(strike, dip, rake, m0, 0.0) else {
            panic!("a moment");
        };
        let x = [0, 1, 2].map(|a| f64::from(receiver[a]) - f64::from(piece.at[a] as f32));
        let [vx, vy, vz] = of_moment(ROCK, &piece.rate, m, x, (it as f64 + 0.5) * DT);
        sum = [sum[0] + vz, sum[1] + vx, sum[2] + vy];
    }
    sum
}

#[test]
fn two_thousand_small_faults_are_the_sum_of_their_fields() {
    let (desk, fault) = (Desk::new(), fault());
    write(&desk, &fault);
    let run = desk.sh(&format!(
        "sfvsfd3d-gpu vp=vp.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf src=dc mech=mech.rsf \
         series=series.rsf nt={STEPS} dt={DT} jdata={EVERY} > data.rsf"
    ));
    assert_eq!(run.code, 0, "{run:?}");
    let data = desk.read("data.rsf");
    for (k, &receiver) in RECEIVERS.iter().enumerate() {
        let exact: Vec<[f64; 3]> = (0..STEPS)
            .step_by(EVERY)
            .map(|it| exact(&fault, receiver, it))
            .collect();
        let scale = magnitude(exact.iter().flatten().copied());
        for c in 0..3 {
            let modelled = (0..data.len() / 9).map(|record| data[(record * 3 + c) * 3 + k]);
            let apart = largest_difference(modelled, exact.iter().map(|e| e[c])) / scale;
            println!(
                "receiver {receiver:?} component {c}: {:.2} % of {scale:.1e} m/s",
                100.0 * apart
            );
            assert!(apart < 0.01, "{receiver:?} {c}: {apart}");
        }
    }
}
