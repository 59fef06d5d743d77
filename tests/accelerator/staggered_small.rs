//! The velocity-stress method on accelerators for unusual sizes: models of a few cells, faces without a frame, slabs
//! that lie entirely in the frame, windows that include the outermost cells.

use crate::cases::difference;
use crate::desk::{layer, run_on, shot, source};
use crate::runs::{Machines, misfit_or_silence};
use crate::shots::largest;
use crate::staggered::{Case, record};
use kernels::device::accelerator::Accelerator;
use kernels::grid::Grid;
use kernels::grid::points::Snapshots;
use kernels::grid::stencil::Family;
use kernels::medium::Symmetry;
use kernels::medium::attenuation::Mechanisms;
use kernels::methods::velocity_stress::{Absorber, Attenuation, Frame, Quantity};
use kernels::source::Action;

/// Cells along z, x, y.
const MODELS: [[usize; 3]; 10] = [
    [1, 1, 1],
    [2, 1, 9],
    [1, 9, 1],
    [6, 1, 2],
    [13, 2, 1],
    [7, 3, 3],
    [29, 1, 4],
    [9, 5, 1],
    [24, 4, 2],
    [8, 1, 17],
];

/// Cells of the frame on both faces of z, x, y.
const FRAMES: [[[usize; 2]; 3]; 7] = [
    [[0, 0], [0, 0], [0, 0]],
    [[1, 1], [1, 1], [1, 1]],
    [[0, 3], [2, 0], [0, 5]],
    [[0, 0], [0, 1], [9, 0]],
    [[5, 0], [0, 0], [0, 0]],
    [[0, 6], [0, 0], [13, 11]],
    [[0, 0], [7, 3], [0, 0]],
];

fn small(ndim: usize, k: usize) -> Case {
    let n = MODELS[k % MODELS.len()];
    let mut cells = FRAMES[k % FRAMES.len()];
    let mut grid = Grid::new_3d(n, [0.0; 3], [1.0, 1.1, 0.9]);
    if ndim == 2 {
        // Planes are perpendicular to x.
        cells[1] = cells[2];
        grid = Grid::new_2d([n[0], n[1].max(n[2])], [0.0; 2], [1.0, 1.1]);
    }
    let absorber = if k % 3 == 1 {
        Absorber::Sponge(0.8)
    } else {
        layer(3.5, 0.5)
    };
    let mut s = shot(0.1, 24, Frame { cells, absorber });
    s.order = [2, 8, 4, 8][k % 4];
    s.family = Family::Taylor;
    s.surface = n[0] >= 6 && cells[0][0] == 0 && k % 5 != 4;
    s.quantity = [Quantity::Velocity, Quantity::Pressure, Quantity::Strain][k % 3];
    s.peaks = k.is_multiple_of(2);
    s.attenuation = (k % 4 == 3).then(|| Attenuation {
        qp: [60.0].into(),
        qs: [25.0].into(),
        mechanisms: [Mechanisms::Coarse, Mechanisms::Everywhere(2)][k / 4 % 2],
        band: [0.1, 1.2],
        reference: 0.4,
    });
    let last = [0, 1, 2].map(|a| (grid.n[a] - 1) as f32 * grid.d[a]);
    let history = |t: f64| (-((t - 0.8) / 0.4).powi(2)).exp();
    source(
        &mut s,
        last.map(|x| 0.4 * x),
        Action::Moment([1.0, 0.4, 0.7, 0.3, -0.2, 0.5]),
        history,
    );
    source(&mut s, last, Action::Force([1.0, 0.4, 0.7]), history);
    // One of the sources ends long before the other sources.
    s.series[1].truncate(9);
    s.receivers = vec![[0.0; 3], last, last.map(|x| 0.5 * x)];
    let n = s.frame.around(&grid).n;
    // The window is the whole grid, its lower end or its upper end.
    let of = |n: usize| match k % 3 {
        0 => 0..n,
        1 => 0..1,
        _ => n - 1..n,
    };
    s.snapshots = Some(Snapshots {
        every: 23,
        window: if k.is_multiple_of(2) {
            n.map(|n| 0..n)
        } else {
            n.map(of)
        },
    });
    let class = if k.is_multiple_of(2) {
        Symmetry::Isotropic
    } else {
        Symmetry::Orthorhombic
    };
    let what = format!(
        "{ndim}-D model {:?} frame {cells:?} order {} {class} {:?} {:?} surface {}",
        grid.n,
        s.order,
        s.quantity,
        s.attenuation.as_ref().map(|a| a.mechanisms),
        s.surface
    );
    Case {
        shot: s,
        grid,
        class,
        what,
    }
}

pub fn staggered_models_of_a_few_cells<A: Accelerator>(machines: &Machines<A>) {
    let count = if machines.quick { 105 } else { 20 };
    let (mut all, mut loud) = (0, 0);
    // 11 has no common factor with the lengths of the lists of options, so all options occur.
    for (ndim, k) in [2, 3]
        .into_iter()
        .flat_map(|d| (0..count).map(move |k| (d, 11 * k)))
    {
        let case = small(ndim, k);
        let cpu = run_on::<f32>(&case.shot, &case.grid, case.cell(), case.class, (1, &[]));
        let cpu = cpu.expect("the shot runs");
        let (tape, peaks) = record::<f32, A>(machines, &case, &[]).expect("the shot runs");
        let far = misfit_or_silence(&cpu, &tape);
        println!("{far:.1e} {}", case.what);
        assert!(far < 1e-5, "{}: {far}", case.what);
        (all, loud) = (
            all + 1,
            loud + usize::from(largest(cpu.traces.iter().flatten()) > 0.0),
        );
        let planes = case.shot.frame.around(&case.grid).planes();
        for slabs in 2..=(planes / 8).min(3) {
            let mut sizes = vec![8; slabs];
            sizes[k % slabs] += planes - 8 * slabs;
            let (cut, cut_peaks) = record::<f32, A>(machines, &case, &sizes).expect("the shot runs");
            assert_eq!(difference(&tape, &cut), None, "{sizes:?} {}", case.what);
            assert!(peaks == cut_peaks, "{sizes:?} peaks of {}", case.what);
        }
    }
    // Rigid walls around a few cells can suppress all motion of a source.
    println!("{loud} of {all} runs recorded something");
    assert!(2 * loud > all, "{loud} of {all} runs recorded something");
}
