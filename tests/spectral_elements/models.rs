//! Models that vary from point to point: a closed form, constants of regions at every point, cuts, grids.

use std::f64::consts::PI;
use std::sync::Arc;

use kernels::device::cpu::Cpu;
use kernels::mesh::step::{Law, Medium};
use kernels::mesh::{Basis, Material, Mesh};
use kernels::methods::spectral_elements::{
    Engine, GridModel, Grids, Lattice, Lumping, Planes, PointMedia, PointMedium, Setup, Source, Strength,
    subdomains,
};

use crate::blocks::block;
use crate::cases::ricker;
use crate::element_worlds::{Recipe, Rock, World};
use crate::laws::bent;
use crate::shots::{Tape, largest_difference, relative_difference};

/// The speed increases along the rod from 1 to 2.
const GROWTH: f64 = 1.0;

/// Largest error of the second overtone of a free rod in which the P speed increases linearly, after 1.3 of its
/// periods. Since lambda is zero, the sides are free of traction, and (rho c^2 u')' = -rho w^2 u with c = 1 + z has the
/// solutions (1 + z)^(-1/2) cos(b ln(1 + z) + phase), w^2 = b^2 + 1/4, whose ends are free for b = n pi / ln 2.
fn rod(degree: usize, elements: usize, of_points: bool) -> f64 {
    let mesh = block::<2>(
        [1, elements],
        |u| [0.3 * u[0], u[1] / elements as f64],
        |k| k[1] as i32,
        |_, _| false,
    );
    let basis = Basis::new(degree).unwrap();
    let medium = |z: f64| Medium {
        density: 1.0,
        law: Law::Isotropic {
            lambda: 0.0,
            mu: 0.5 * (1.0 + GROWTH * z).powi(2),
        },
    };
    let media: Vec<Medium> = (0..elements)
        .map(|k| medium((k as f64 + 0.5) / elements as f64))
        .collect();
    let model = |_: usize, _: usize, positions: &[[f64; 2]]| {
        let point = |x: &[f64; 2]| PointMedium {
            medium: medium(x[1]),
            speeds: [1.0, 0.7],
            loss: None,
        };
        Some(positions.iter().map(point).collect())
    };
    let b = 2.0 * PI / (1.0 + GROWTH).ln();
    let w = GROWTH * (b * b + 0.25).sqrt();
    let mut setup = Setup {
        mesh: &mesh,
        basis: &basis,
        media: &media,
        speeds: &vec![[1.0, 0.7]; elements],
        points: of_points.then_some(&model as &dyn PointMedia<2>),
        dt: 0.0,
        relaxations: None,
        lumping: Lumping::Matrix,
        sponge: None,
        pml: None,
        sources: &[],
    };
    let end = 1.3 * 2.0 * PI / w;
    let count = (end / (0.04 * setup.bound().limit)).ceil();
    setup.dt = end / count;
    let mut engine = Engine::new(Cpu::new(1).unwrap(), &setup).unwrap();
    let mode = |x: [f64; 2]| {
        let s = (1.0 + GROWTH * x[1]).ln();
        [
            0.0,
            (-0.5 * s).exp() * ((b * s).cos() + (b * s).sin() / (2.0 * b)),
        ]
    };
    engine.displace(&setup, mode);
    let start = engine.displacement().to_vec();
    (0..count as usize).for_each(|_| engine.step());
    let factor = (w * end).cos() as f32;
    let displacement = engine.displacement().iter().map(|u| u[1]);
    largest_difference(displacement, start.iter().map(|s| factor * s[1]))
}

#[test]
fn a_rod_whose_speed_grows_swings_as_in_closed_form() {
    let errors: Vec<f64> = [3, 4, 5, 6].map(|degree| rod(degree, 3, true)).to_vec();
    println!("degrees 3 to 6: {errors:?}");
    for pair in errors.windows(2) {
        assert!(pair[1] < 0.35 * pair[0] || pair[1] < 4e-5, "{errors:?}");
    }
    // The bound is seven times the measured error of 6.1e-6, which is due to steps in single precision.
    assert!(errors[3] < 4e-5, "{errors:?}");
    // With one constant per element, the same mesh has a far larger error.
    let steps = rod(6, 3, false);
    println!("one constant per element: {steps}");
    assert!(steps > 30.0 * errors[3], "{steps}");
}

/// The constants of the regions, at every point.
struct Same<'a>(&'a [Medium], &'a [[f64; 2]]);

impl<const D: usize> PointMedia<D> for Same<'_> {
    fn of_element(&self, _: usize, region: usize, positions: &[[f64; D]]) -> Option<Vec<PointMedium>> {
        let point = PointMedium {
            medium: self.0[region].clone(),
            speeds: self.1[region],
            loss: None,
        };
        Some(vec![point; positions.len()])
    }
}

pub fn tape<const D: usize>(world: &World<D>, setup: &Setup<D>, cuts: &[usize]) -> Tape<f32> {
    let ends = cuts.iter().copied().chain([world.mesh.len()]);
    let starts = [0].into_iter().chain(cuts.iter().copied());
    let parts: Vec<_> = starts.zip(ends).map(|(a, b)| a..b).collect();
    let cpu = Arc::new(Cpu::new(1).unwrap());
    let mut group = subdomains(cpu, setup, &world.shot, (&parts, 0..parts.len())).unwrap();
    let mut tape = Tape::default();
    group.run(&mut tape).unwrap();
    tape
}

#[test]
fn constants_of_regions_at_every_point_are_the_same_run() {
    for rocks in [
        [Rock::Isotropic, Rock::Table],
        [Rock::Fluid, Rock::Isotropic],
        [Rock::Fluid, Rock::Table],
    ] {
        let world = World::new(Recipe::<3> {
            rocks,
            loses: true,
            ..Recipe::plain([4, 3, 4])
        });
        let plain = tape(&world, &world.setup(), &[]);
        let same = Same(&world.media, &world.speeds);
        let setup = Setup {
            points: Some(&same),
            ..world.setup()
        };
        let points = tape(&world, &setup, &[]);
        let far = relative_difference(points.traces.iter().flatten(), plain.traces.iter().flatten());
        println!("{rocks:?}: {far:.1e}");
        // The measured difference is 3.8e-7: the constants of points are rounded one by one.
        assert!(far < 2e-6, "{rocks:?}: {far}");
        let (one, other) = (world.setup().bound(), setup.bound());
        assert!((one.limit - other.limit).abs() < 1e-9 * one.limit);
    }
}

#[test]
fn a_model_of_points_gives_the_same_bits_in_parts() {
    let world = World::new(Recipe::<3> {
        rocks: [Rock::Fluid, Rock::Isotropic],
        loses: true,
        varies: true,
        ..Recipe::plain([5, 4, 4])
    });
    let whole = tape(&world, &world.setup(), &[]);
    assert!(whole.peak() > 0.0);
    for cuts in [&[31][..], &[7, 30, 52], &[5, 11, 18, 24, 60, 71]] {
        assert!(tape(&world, &world.setup(), cuts) == whole, "{cuts:?}");
    }
}

#[test]
fn the_step_of_a_model_of_points_is_stable_and_not_far_from_the_limit() {
    // The P speed increases from 2000 to 4000 m/s within each element, so the stiffest points determine the step.
    let (mesh, basis) = (bent([3, 3, 2], false), Basis::new(4).unwrap());
    let model = |_: usize, _: usize, positions: &[[f64; 3]]| {
        let point = |x: &[f64; 3]| {
            let vp = 3000.0 + 1000.0 * (x[0] / 25.0 + x[2] / 31.0).sin();
            PointMedium {
                medium: Medium::isotropic(2000.0, vp, 0.55 * vp),
                speeds: [vp, 0.55 * vp],
                loss: None,
            }
        };
        Some(positions.iter().map(point).collect())
    };
    let media = vec![Medium::isotropic(2000.0, 3000.0, 1600.0); 2];
    let mut setup = Setup {
        mesh: &mesh,
        basis: &basis,
        media: &media,
        speeds: &[[3000.0, 1600.0]; 2],
        points: Some(&model),
        dt: 0.0,
        relaxations: None,
        lumping: Lumping::Matrix,
        sponge: None,
        pml: None,
        sources: &[],
    };
    let bound = setup.bound().limit;
    let after = |setup: &mut Setup<3>, dt: f64, count: usize| {
        setup.dt = dt;
        let sources = [Source {
            at: mesh.centre(4),
            strength: Strength::Force([1e9, 0.7e9, -0.4e9]),
            history: ricker(30.0, dt, 3),
        }];
        let run = Setup {
            sources: &sources,
            points: setup.points,
            ..*setup
        };
        let mut engine = Engine::new(Cpu::new(1).unwrap(), &run).unwrap();
        (0..count).for_each(|_| engine.step());
        engine
            .velocity()
            .iter()
            .flatten()
            .map(|v| f64::from(*v).powi(2))
            .sum::<f64>()
    };
    let early = after(&mut setup, bound, 30);
    let late = after(&mut setup, bound, 800);
    assert!(late < 100.0 * early, "{early} grows to {late}");
    let beyond = after(&mut setup, bound / 0.7, 400);
    assert!(
        beyond.is_nan() || beyond >= 1e9 * early,
        "far above the bound it is still stable: {early} {beyond}"
    );
}

const ROCKS: [Material; 2] = [
    Material {
        density: 1900.0,
        vp: 2000.0,
        vs: 1100.0,
        q_kappa: 9999.0,
        q_mu: 9999.0,
        anisotropic: false,
    },
    Material {
        density: 2500.0,
        vp: 3200.0,
        vs: 1900.0,
        q_kappa: 9999.0,
        q_mu: 9999.0,
        anisotropic: false,
    },
];

/// Two rocks with a wavy interface at a depth of about 300 m below a hill.
fn hill() -> Mesh<2> {
    let place = |u: [f64; 2]| {
        let x = 100.0 * u[0];
        let (top, interface) = (60.0 * (x / 170.0).sin() - 20.0, 300.0 + 40.0 * (x / 120.0).cos());
        let z = match u[1] <= 3.0 {
            true => top + (interface - top) * u[1] / 3.0,
            false => interface + 100.0 * (u[1] - 3.0),
        };
        [x, z]
    };
    block([10, 6], place, |k| i32::from(k[1] >= 3), |_, _| false)
}

/// Nodes every 20 m that cover the model.
const LATTICE: Lattice<2> = Lattice {
    n: [53, 41],
    o: [-20.0, -100.0],
    d: [20.0, 20.0],
};

/// A plane of a grid in the order of files.
fn plane(of: impl Fn([f64; 2]) -> f64) -> Vec<f32> {
    let [nx, nz] = LATTICE.n;
    let at = |k: usize| [-20.0 + 20.0 * (k / nz) as f64, -100.0 + 20.0 * (k % nz) as f64];
    (0..nx * nz).map(|k| of(at(k)) as f32).collect()
}

#[test]
fn a_point_takes_nothing_from_beyond_an_interface_or_from_the_air() {
    let (mesh, basis) = (hill(), Basis::new(4).unwrap());
    let top = |x: f64| 60.0 * (x / 170.0).sin() - 20.0;
    let interface = |x: f64| 300.0 + 40.0 * (x / 120.0).cos();
    // Elements have straight sides, so the interface of the grid is a few metres from the interface of the mesh, which
    // takes precedence; the values of the grid within 8 m of it are meaningless.
    let vp = plane(|[x, z]| match () {
        () if z < top(x) - 8.0 => 340.0,
        () if (z - interface(x)).abs() < 0.5 => 2600.0,
        () if z < interface(x) => 2000.0,
        () => 3200.0,
    });
    let planes = Planes {
        vp: Some(vp),
        ..Planes::default()
    };
    let model = GridModel::new(
        &mesh,
        &basis,
        Grids {
            lattice: LATTICE,
            count: 1,
            planes,
        },
        (&ROCKS, None),
        None,
    )
    .unwrap();
    let mut odd = 0;
    for element in 0..mesh.len() {
        let region = mesh.regions()[element] as usize;
        let nodes = mesh.coordinates(element);
        let points = model.of_element(element, region, &nodes).unwrap();
        odd += points
            .iter()
            .filter(|p| (p.speeds[0] - ROCKS[region].vp).abs() > 1.0)
            .count();
    }
    // At these corners the polygon of the mesh differs from the curve of the grid.
    assert!(odd <= 6, "{odd} of 240 corners have speeds of both sides");
}

#[test]
fn a_linear_model_is_met_exactly_on_a_grid_for_each_region() {
    let (mesh, basis) = (hill(), Basis::new(4).unwrap());
    let law = |region: usize, [x, z]: [f64; 2]| 2000.0 + 900.0 * region as f64 + 0.5 * x + 0.8 * z;
    let mut vp = plane(|x| law(0, x));
    vp.extend(plane(|x| law(1, x)));
    let planes = Planes {
        vp: Some(vp),
        density: Some(vec![2100.0]),
        ..Planes::default()
    };
    let model = GridModel::new(
        &mesh,
        &basis,
        Grids {
            lattice: LATTICE,
            count: 2,
            planes,
        },
        (&ROCKS, None),
        None,
    )
    .unwrap();
    for (region, x) in [(0, [333.3, 87.1]), (1, [333.3, 87.1]), (1, [911.0, 555.5])] {
        let point = &model.of_element(0, region, &[x]).unwrap()[0];
        assert!((point.speeds[0] - law(region, x)).abs() < 1e-3);
        assert!((point.speeds[1] - ROCKS[region].vs).abs() < 1e-9 && point.medium.density == 2100.0);
    }
}

#[test]
fn models_that_do_not_fit_are_sentences() {
    let (mesh, basis) = (hill(), Basis::new(4).unwrap());
    let refused = |lattice: Lattice<2>, planes: Planes, words: &[&str]| {
        let band = kernels::methods::spectral_elements::Band {
            band: [1.0, 12.0],
            reference: 3.0,
        };
        let text = GridModel::new(
            &mesh,
            &basis,
            Grids {
                lattice,
                count: 1,
                planes,
            },
            (&ROCKS, None),
            Some(band),
        )
        .expect_err("a fault")
        .to_string();
        for word in words {
            assert!(text.contains(word), "{word} is missing in {text}");
        }
    };
    let vp = |vp: f32| Planes {
        vp: Some(vec![vp]),
        ..Planes::default()
    };
    let short = Lattice {
        n: [20, 41],
        ..LATTICE
    };
    refused(short, vp(2500.0), &["beyond the grid", "x from -20 to 360"]);
    refused(
        LATTICE,
        vp(1000.0),
        &["element 0 of region 0", "the P speed 1000 and the S speed 1100"],
    );
    let wet = Planes {
        vs: Some(plane(|[_, z]| if z < 200.0 { 0.0 } else { 900.0 })),
        ..Planes::default()
    };
    refused(LATTICE, wet, &["has the S speed 0", "its region is a solid"]);
    let odd = Planes {
        quality: Some([vec![400.0], vec![50.0]]),
        ..Planes::default()
    };
    refused(LATTICE, odd, &["1/Qkappa", "3/4 (vp/vs)^2"]);
    let coarse = Lattice {
        n: [2, 2],
        o: [-500.0, -1500.0],
        d: [2100.0, 2400.0],
    };
    let four = Planes {
        vp: Some(vec![2500.0; 4]),
        ..Planes::default()
    };
    refused(
        coarse,
        four,
        &[
            "no node of the model's grid lies in region 0",
            "one for each region",
        ],
    );
}

#[test]
fn quality_factors_of_a_grid_damp_as_those_of_regions() {
    let world = World::new(Recipe::<2> {
        rocks: [Rock::Isotropic, Rock::Isotropic],
        steps: 160,
        ..Recipe::plain([8, 6])
    });
    let (band, reference) = ([2.0, 24.0], 7.0);
    let materials: Vec<Material> = (0..2)
        .map(|k| Material {
            density: world.media[k].density,
            vp: world.speeds[k][0],
            vs: world.speeds[k][1],
            q_kappa: 9999.0,
            q_mu: 9999.0,
            anisotropic: false,
        })
        .collect();
    let lattice = Lattice {
        n: [1, 1],
        o: [0.0; 2],
        d: [1.0; 2],
    };
    let planes = Planes {
        quality: Some([vec![40.0], vec![25.0]]),
        ..Planes::default()
    };
    let band = kernels::methods::spectral_elements::Band { band, reference };
    let model = GridModel::new(
        &world.mesh,
        &world.basis,
        Grids {
            lattice,
            count: 2,
            planes,
        },
        (&materials, None),
        Some(band),
    )
    .unwrap();
    let relaxations = model.relaxations().unwrap();
    let points = Setup {
        points: Some(&model),
        relaxations: Some((&relaxations[..]).into()),
        ..world.setup()
    };
    // Q of the moduli follows from the Q of the waves.
    let laws: Vec<_> = world
        .speeds
        .iter()
        .map(|[vp, vs]| {
            let shear = 4.0 / 3.0 * (vs / vp).powi(2);
            let q_kappa = (1.0 - shear) / (1.0 / 40.0 - shear / 25.0);
            kernels::methods::spectral_elements::Relaxation::constant(
                [25.0, q_kappa],
                band.band,
                band.reference,
            )
        })
        .collect();
    let regions = Setup {
        relaxations: Some((&laws[..]).into()),
        ..world.setup()
    };
    let [elastic, a, b] = [&world.setup(), &points, &regions].map(|setup| tape(&world, setup, &[]));
    let far = |a: &Tape<f32>, b: &Tape<f32>| {
        largest_difference(a.traces.iter().flatten(), b.traces.iter().flatten()) / elastic.peak()
    };
    println!(
        "{:.1e} apart, {:.1e} from no attenuation",
        far(&a, &b),
        far(&a, &elastic)
    );
    // The measured difference is 3.0e-7: the constants of points are rounded one by one.
    assert!(far(&a, &elastic) > 0.05 && far(&a, &b) < 2e-6);
    assert!(points.bound().limit < world.setup().bound().limit);
}
