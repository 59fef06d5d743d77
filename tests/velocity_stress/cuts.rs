//! Any number of slabs and threads gives the same bits, with the ghosts of both stages exchanged. The cuts pass through
//! the frame, the source and the nodes of the receivers.

use crate::desk::{frame, isotropic, layer, run_on, run_with, shot, source};
use crate::shots::{Tape, magnitude, medium};
use kernels::device::caches::Caches;
use kernels::device::cpu::{Cpu, Tile};
use kernels::device::simd::Real;
use kernels::grid::Grid;
use kernels::grid::points::Snapshots;
use kernels::medium::attenuation::Mechanisms;
use kernels::medium::{Stiffness, Symmetry};
use kernels::methods::velocity_stress::{Absorber, Attenuation, Frame, Quantity, SLABS, Shot, Simulation};
use kernels::source::Action;

pub fn layers(at: [f64; 3]) -> (Stiffness, f64) {
    let step = f64::from(u8::from(at[0] + 0.3 * at[1] > 12.0)) + 0.5 * f64::from(u8::from(at[2] > 9.0));
    isotropic(2.0 + step, 1.1 + 0.4 * step, 2.0 + 0.1 * step)
}

/// A shot with sources, receivers and snapshots that are affected by every cut.
pub fn ready(mut s: Shot, ndim: usize) -> Shot {
    let history = |t: f64| (-((t - 1.5) / 0.5).powi(2)).exp();
    let y = if ndim == 3 { 11.3 } else { 0.0 };
    source(
        &mut s,
        [4.3, 9.6, y],
        Action::Moment([1.0, 0.4, 0.7, 0.3, -0.2, 0.5]),
        history,
    );
    source(
        &mut s,
        [1.0, 13.0, y + 2.0],
        Action::Force([1.0, 0.4, 0.7]),
        history,
    );
    s.receivers = (0..9)
        .map(|k| {
            [
                0.2 * k as f32,
                4.1 + 1.7 * k as f32,
                if ndim == 3 { 2.3 + 1.6 * k as f32 } else { 0.0 },
            ]
        })
        .collect();
    let n = s.frame.around(&grid(ndim)).n;
    s.snapshots = Some(Snapshots {
        every: 20,
        window: [4..n[0], 3..n[1], 0..n[2]],
    });
    s
}

pub fn grid(ndim: usize) -> Grid {
    match ndim {
        3 => Grid::new_3d([17, 21, 22], [0.0; 3], [1.0; 3]),
        _ => Grid::new_2d([17, 33], [0.0; 2], [1.0; 2]),
    }
}

fn go(s: &Shot, ndim: usize, threads: usize, slabs: &[usize]) -> Tape<f32> {
    run_on(s, &grid(ndim), layers, Symmetry::Isotropic, (threads, slabs)).expect("the shot runs")
}

#[test]
fn any_number_of_slabs_and_threads_gives_the_same_bits() {
    let mut faces = frame(9, layer(3.5, 0.5));
    faces.cells[0] = [0, 5];
    faces.cells[1] = [7, 9];
    let sponge = Frame {
        absorber: Absorber::Sponge(0.9),
        ..faces
    };
    for (ndim, order, f, quantity) in [
        (3, 4, faces, Quantity::Velocity),
        (3, 8, faces, Quantity::Pressure),
        (3, 2, sponge, Quantity::Displacement),
        (3, 4, faces, Quantity::Strain),
        (2, 4, faces, Quantity::Rotation),
        (2, 4, sponge, Quantity::Pressure),
        (2, 8, faces, Quantity::Acceleration),
    ] {
        let mut s = ready(shot(0.12, 41, f), ndim);
        (s.order, s.quantity, s.surface) = (order, quantity, true);
        let one = go(&s, ndim, 1, &[]);
        assert!(one.peak() > 0.0 && one.snapshots.len() == 3);
        for (threads, slabs) in [(2, &[][..]), (1, &[2]), (2, &[3]), (1, &[5])] {
            let other = go(&s, ndim, threads, slabs);
            assert!(
                one == other,
                "{ndim}-D order {order} {quantity:?}: {threads} threads, slabs {slabs:?}"
            );
        }
    }
}

/// Tiles along `z` cut the frame, the sources and the surface; a register of 8 numbers gives the same results as one of
/// 16.
#[test]
fn any_tile_and_any_register_gives_the_same_bits() {
    let mut faces = frame(9, layer(3.5, 0.5));
    faces.cells[0] = [0, 9];
    for (ndim, order, attenuated) in [(3, 4, false), (3, 8, true), (2, 2, true), (2, 4, false)] {
        let mut s = ready(shot(0.1, 41, faces), ndim);
        (s.order, s.surface) = (order, true);
        s.attenuation = attenuated.then(|| Attenuation {
            qp: [40.0].into(),
            qs: [20.0].into(),
            mechanisms: Mechanisms::Coarse,
            band: [0.02, 0.5],
            reference: 0.1,
        });
        let of = |cpu: Cpu| {
            let on = (cpu, &[][..]);
            run_with(&s, &grid(ndim), layers, Symmetry::Isotropic, on).expect("the shot runs")
        };
        let threads = |n: usize| Cpu::new(n).expect("threads start");
        let one: Tape<f32> = of(threads(1));
        assert!(one.peak() > 0.0 && one.snapshots.len() == 3);
        for (cells, rows) in [(16, 0), (0, 1), (16, 5), (1, 8)] {
            let other = of(threads(2).with_tile(Some(Tile { cells, rows })));
            assert!(
                one == other,
                "{ndim}-D order {order}: tiles of {cells} cells, {rows} rows"
            );
        }
        assert!(
            one == of(threads(1).with_registers(256)),
            "{ndim}-D order {order}"
        );
        assert!(one == of(threads(1).with_caches(Caches::given(64 << 10))));
    }
}

#[test]
fn displacement_and_acceleration_are_those_of_the_velocity() {
    let mut s = ready(shot(0.1, 60, frame(8, layer(3.5, 0.5))), 2);
    let of = |quantity: Quantity| {
        let s = Shot {
            quantity,
            ..s.clone()
        };
        go(&s, 2, 1, &[])
    };
    let (v, u, a) = (
        of(Quantity::Velocity),
        of(Quantity::Displacement),
        of(Quantity::Acceleration),
    );
    for (c, k) in (0..2).flat_map(|c| (0..9).map(move |k| (c, k))) {
        let (v, u, a) = (v.trace(c, k, 9), u.trace(c, k, 9), a.trace(c, k, 9));
        let (mut sum, mut before) = (0.0, 0.0);
        let scale = magnitude(v.iter().copied());
        for it in 0..60 {
            sum += 0.1 * v[it];
            assert!((u[it] - sum).abs() < 1e-5 * scale, "{c} {k} {it}");
            assert!((a[it] - (v[it] - before) / 0.1).abs() < 1e-5 * scale);
            before = v[it];
        }
    }
    // With jdata=3 every third record is kept.
    s.quantity = Quantity::Displacement;
    let all = go(&s, 2, 1, &[]);
    s.jdata = 3;
    let some = go(&s, 2, 1, &[]);
    assert_eq!(some.traces[5], all.traces[15]);
}

/// A tile has the requested number of cells, rounded up to whole lines of the cache.
#[test]
fn tiles_have_the_cells_that_are_requested() {
    let s = ready(shot(0.1, 4, frame(9, layer(3.5, 0.5))), 2);
    let padded = s.frame.around(&grid(2));
    for (cells, whole_lines) in [(17, 32), (16, 16), (1, 16)] {
        let cpu = Cpu::new(1).unwrap().with_tile(Some(Tile { cells, rows: 0 }));
        let slabs = SLABS.partition(padded.planes(), 1).unwrap();
        let raw = medium::<f32>(&padded, layers);
        let run = Simulation::new(&s, raw, Symmetry::Isotropic, cpu, slabs).expect("a valid shot");
        let words = run.tiles();
        assert!(
            words.starts_with(&format!("tiles of {whole_lines} cells along z")),
            "{cells}: {words}"
        );
    }
}

/// A tile of numbers of eight bytes is as large as one of numbers of four bytes if the cache is twice as large.
#[test]
fn tiles_follow_the_bytes_of_a_number() {
    fn tile<T: Real + Default + bytemuck::Pod>(kilobytes: usize) -> String {
        let s = ready(shot(0.1, 4, frame(9, layer(3.5, 0.5))), 3);
        let padded = s.frame.around(&grid(3));
        let cpu = Cpu::new(1).unwrap().with_caches(Caches::given(kilobytes << 10));
        let slabs = SLABS.partition(padded.planes(), 1).unwrap();
        let raw = medium::<T>(&padded, layers);
        let run = Simulation::new(&s, raw, Symmetry::Isotropic, cpu, slabs).expect("a valid shot");
        run.tiles().split(';').next().unwrap_or_default().to_string()
    }
    for kilobytes in [96, 128] {
        let [single, double, wide] = [
            tile::<f32>(kilobytes),
            tile::<f64>(kilobytes),
            tile::<f64>(2 * kilobytes),
        ];
        assert!(single != double && single == wide, "{single}; {double}; {wide}");
    }
}
