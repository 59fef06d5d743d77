//! Images of plane waves compared with their closed forms: illumination, separation of P and S waves, the amplitude and
//! the place of a reflector at normal incidence, and the lag at which images are focused if the model is too slow.
//!
//! A sheet of forces `F(t)` for each area `A` of its nodes emits the stress `F / 2A` (Aki and Richards 2002, problem
//! 4.2), and the particle velocity `F / (2 A rho c)`. Models are so wide that no wave from their sides reaches the
//! middle column before the run ends: it has the plane wave of an infinite sheet.

use crate::desk::{layer, shot};
use crate::shots::{Ricker, kept, largest, magnitude, medium, relative_difference};
use kernels::device::cpu::Cpu;
use kernels::grid::Grid;
use kernels::medium::{Speeds, Stiffness, Symmetry};
use kernels::methods::velocity_stress::born::{
    Born, CheckpointSchedule, ImageRequest, Kind, Parameters, Picture,
};
use kernels::methods::velocity_stress::{Frame, Shot};
use kernels::source::{Action, Source};

/// Spacing along all axes.
const D: f64 = 2.0;
/// Time step.
const DT: f64 = 0.2;
/// Depth of sources and receivers in cells.
const TOP: f64 = 4.0;
/// Depth of the reflector in cells: the value at a node fills the cell around it, so that the reflector lies between
/// two nodes.
const DEPTH: f64 = 30.5;
/// Rock above the reflector, with a lambda different from its shear modulus.
const ROCK: Speeds = Speeds {
    vp: 4.0,
    vs: 2.4,
    rho: 2.0,
};
/// Rock below the reflector.
const BELOW: Speeds = Speeds {
    vp: 4.4,
    vs: 2.6,
    rho: 2.1,
};
const ALONG_Z: Action = Action::Force([0.0, 0.0, 1.0]);
const ALONG_X: Action = Action::Force([1.0, 0.0, 0.0]);
const ALL: [Kind; 5] = [Kind::Pp, Kind::Ps, Kind::Sp, Kind::Ss, Kind::Energy];

/// A model in which a sheet of sources emits plane waves.
struct Model {
    /// Cells along z, x, y.
    n: Vec<usize>,
    nt: usize,
    /// Thickness in cells of the absorbing layers on the sides.
    sides: usize,
    /// The time function of the sources.
    wavelet: Ricker,
}

impl Model {
    /// A plane so wide that the middle is not affected by its ends.
    fn wide(nx: usize, nt: usize) -> Self {
        Self {
            n: vec![60, nx],
            nt,
            sides: 0,
            wavelet: Ricker { f: 0.1, t0: 14.0 },
        }
    }

    fn grid(&self) -> Grid {
        let d = D as f32;
        match self.n[..] {
            [z, x, y] => Grid::new_3d([z, x, y], [0.0; 3], [d; 3]),
            [z, x] => Grid::new_2d([z, x], [0.0; 2], [d; 2]),
            _ => panic!("two axes or three"),
        }
    }

    /// A sheet of sources and receivers at all nodes of its depth; each source begins `delay(x)` later.
    fn sheet(&self, action: Action, delay: impl Fn(f64) -> f64) -> Shot {
        let sides = [self.sides; 2];
        let frame = Frame {
            cells: [[12; 2], sides, sides],
            absorber: layer(1.15 * ROCK.vp, self.wavelet.f),
        };
        let mut shot = shot(DT, self.nt, frame);
        shot.order = 8;
        for y in 0..self.n.get(2).copied().unwrap_or(1) {
            for x in 0..self.n[1] {
                let point = [TOP, x as f64, y as f64].map(|cells| (cells * D) as f32);
                let late = delay(x as f64 * D);
                let sample = |it: usize| self.wavelet.value(action.time(it) * DT - late) as f32;
                shot.sources.push(Source {
                    point,
                    action,
                    series: shot.series.len(),
                });
                shot.series.push((0..self.nt).map(sample).collect());
                shot.receivers.push(point);
            }
        }
        shot
    }

    /// The operator of the rock, with the reflector or without it.
    fn born(&self, shot: &Shot, above: Speeds, reflector: bool) -> Born<f64> {
        let raw = medium::<f64>(&shot.frame.around(&self.grid()), |at| {
            let below = reflector && at[0] > DEPTH * D;
            let speeds = if below { BELOW } else { above };
            (Stiffness::isotropic(speeds), speeds.rho)
        });
        let cpu = Cpu::new(1).expect("threads start");
        Born::new(shot, raw, (Symmetry::Isotropic, Parameters::Speeds), cpu).expect("a valid shot")
    }

    /// The waves that the reflector reflects.
    fn reflections(&self, shot: &Shot) -> Vec<f64> {
        let [with, without] = [true, false].map(|reflector| {
            let mut all = Vec::new();
            let mut take = |_: usize, record: &[f64], _: &[f64]| {
                all.extend_from_slice(record);
                Ok(())
            };
            let born = self.born(shot, ROCK, reflector);
            born.forward(None, &mut take).expect("it runs");
            let all = kept(&all);
            assert_eq!(all.len(), born.records() * born.values());
            magnitude(&all);
            all
        });
        with.iter().zip(&without).map(|(a, b)| a - b).collect()
    }

    fn images(&self, born: &Born<f64>, data: &[f64], request: &ImageRequest) -> Vec<Picture<f64>> {
        let sizes = born.sizes_of_images(request);
        let schedule = CheckpointSchedule::choose(self.nt, sizes, 1_000_000_000).expect("it fits");
        born.images(data, &schedule, request).expect("images")
    }

    /// The column in the middle of a field `[y][x][z]`.
    fn middle<'a>(&self, field: &'a [f64]) -> &'a [f64] {
        let y = self.n.get(2).map_or(0, |ny| ny / 2);
        &field[(y * self.n[1] + self.n[1] / 2) * self.n[0]..][..self.n[0]]
    }

    /// The sum over the steps of a wave multiplied by the same wave delayed by `later`.
    fn correlation(&self, wave: fn(&Ricker, f64) -> f64, later: f64) -> f64 {
        let times = (0..self.nt).map(|it| it as f64 * DT);
        times
            .map(|t| wave(&self.wavelet, t) * wave(&self.wavelet, t - later))
            .sum()
    }

    /// Twice the area of a node of the sheet, because half of a force goes to each side.
    fn area(&self) -> f64 {
        2.0 * D.powi(self.n.len() as i32 - 1)
    }
}

fn without_lags(kinds: &[Kind]) -> ImageRequest {
    ImageRequest {
        kinds: kinds.to_vec(),
        lags: vec![[0; 3]],
    }
}

/// P modulus and lambda of a rock.
fn moduli(rock: Speeds) -> [f64; 2] {
    let [m, mu] = [rock.vp, rock.vs].map(|v| rock.rho * v * v);
    [m, m - 2.0 * mu]
}

/// The illumination of every kind is the sum of squares that its help text gives; a P wave contributes only to the
/// illumination of P, and an S wave only to the illumination of S.
fn illumination(model: &Model, action: Action, depths: &[usize]) {
    let shot = model.sheet(action, |_| 0.0);
    let born = model.born(&shot, ROCK, false);
    let nothing = vec![0.0; born.records() * born.values()];
    let pictures = model.images(&born, &nothing, &without_lags(&ALL));
    let (ndim, is_p) = (model.n.len() as f64, action == ALONG_Z);
    let c = if is_p { ROCK.vp } else { ROCK.vs };
    let [m, lambda] = moduli(ROCK);
    let squares = |wave: fn(&Ricker, f64) -> f64| model.correlation(wave, 0.0) / model.area().powi(2);
    let (stress, slope) = (squares(Ricker::value), squares(Ricker::slope));
    let mean = (1.0 + (ndim - 1.0) * lambda / m) / ndim;
    let force = slope / c.powi(2);
    let velocity = stress / (ROCK.rho * c).powi(2);
    let rotation = slope / (ROCK.rho * c * c).powi(2);
    let expected = match is_p {
        true => [mean.powi(2) * stress, force, 0.0, 0.0, velocity],
        false => [0.0, 0.0, force, rotation, velocity],
    };
    for (k, kind) in ALL.iter().enumerate() {
        let light = model.middle(&pictures[k].light);
        let values = depths.iter().map(|&z| light[z]);
        // If the expected value is zero, the scale is the illumination that the other wave type would have.
        let scale = [mean.powi(2) * stress, force, force, rotation, velocity][k];
        let apart = largest(values.map(|x| x / scale - expected[k] / scale));
        println!("{ndim}-D {action:?} {kind:?}: {apart:.1e}");
        // The measured error is 0.6 % in 3-D, which has the shortest waves, 0.2 % in 2-D, and 1e-17 where the expected
        // value is zero.
        let tolerance = if expected[k] > 0.0 { 0.02 } else { 1e-16 };
        assert!(apart <= tolerance, "{ndim}-D {action:?} {kind:?}: {apart:e}");
    }
}

#[test]
fn illumination_of_plane_waves_is_that_of_their_formulas() {
    for action in [ALONG_Z, ALONG_X] {
        illumination(&Model::wide(160, 190), action, &[10, 14, 18, 22]);
    }
}

/// The run ends before the waves from the edges arrive.
#[test]
#[ignore = "long: ./sconsw test full=y"]
fn illumination_in_a_volume_is_that_of_its_formula() {
    let model = Model {
        n: vec![20, 84, 84],
        nt: 112,
        sides: 0,
        wavelet: Ricker { f: 0.15, t0: 8.0 },
    };
    illumination(&model, ALONG_Z, &[10, 12]);
}

/// A plane wave is reflected at normal incidence and recorded. A record `d` of velocity acts in the reverse sweep as a
/// force on its cell and emits the stress `d dz / 2 dt`, so that the image is the reflection coefficient times the
/// correlation `C` of the wavelet with itself: `I(z) = R c dz / (2 dt) s C(2 (z_r - z) / c)`, where `s` is the factor
/// that a kind of image makes of strains.
fn reflector(action: Action, kinds: &[Kind], model: &Model, tolerance: f64) {
    let shot = model.sheet(action, |_| 0.0);
    let data = model.reflections(&shot);
    let born = model.born(&shot, ROCK, false);
    let pictures = model.images(&born, &data, &without_lags(kinds));
    let is_p = action == ALONG_Z;
    let [c, below] = [ROCK, BELOW].map(|rock| if is_p { rock.vp } else { rock.vs });
    let impedances = [ROCK.rho * c, BELOW.rho * below];
    let reflected = (impedances[1] - impedances[0]) / (impedances[1] + impedances[0]);
    let [m, lambda] = moduli(ROCK);
    let modulus = ROCK.rho * c * c;
    let size = reflected * c * D / (2.0 * DT) * (modulus * model.area()).powi(-2);
    let delay = |cells: f64| 2.0 * (DEPTH - cells) * D / c;
    let waves = |cells: f64| model.correlation(Ricker::value, delay(cells));
    let turns = |cells: f64| DT * model.correlation(Ricker::slope, delay(cells));
    // Products of fields between the nodes are formed there and averaged.
    let around = |wave: &dyn Fn(f64) -> f64, cells: f64| 0.5 * (wave(cells - 0.5) + wave(cells + 0.5));
    let formula = |kind: Kind, cells: f64| match (kind, is_p) {
        (Kind::Pp, _) => size * (1.0 + lambda / m) * waves(cells),
        (Kind::Ss, _) => size / modulus * around(&turns, cells),
        (_, true) => size * (waves(cells) + around(&waves, cells)),
        (_, false) => 2.0 * size * around(&waves, cells),
    };
    let depths = DEPTH as usize - 8..=DEPTH as usize + 9;
    for (&kind, picture) in kinds.iter().zip(&pictures) {
        let image = &model.middle(&picture.image)[depths.clone()];
        let expected: Vec<f64> = depths.clone().map(|z| formula(kind, z as f64)).collect();
        let apart = relative_difference(image, &expected);
        let ratio = magnitude(image) / magnitude(&expected);
        println!("{action:?} {kind:?}: {apart:.3} apart, {ratio:.3} times as large");
        assert!(apart <= tolerance, "{action:?} {kind:?}: {apart} apart");
    }
}

/// The waves of the shot and of the data are taken at the same times, so that images converge with the square of the
/// step, as the waves do. Images grow with the number of steps, through the sums over the steps and through the waves
/// that a record emits, so they are scaled.
#[test]
fn images_change_with_the_square_of_the_step() {
    let images = [1, 2, 4].map(|finer: usize| {
        let model = Model {
            sides: 12,
            ..Model::wide(70, 220 * finer)
        };
        let (dt, nz) = (DT / finer as f64, model.n[0]);
        let mut shot = model.sheet(Action::Force([1.0, 0.0, 1.0]), |_| 0.0);
        shot.dt = dt;
        let source = shot.sources[model.n[1] / 2].clone();
        let sample = |it: usize| model.wavelet.value(source.action.time(it) * dt) as f32;
        shot.series = vec![(0..model.nt).map(sample).collect()];
        shot.sources = vec![Source { series: 0, ..source }];
        let data = model.reflections(&shot);
        let born = model.born(&shot, ROCK, false);
        let pictures = model.images(&born, &data, &without_lags(&ALL));
        ALL.into_iter().zip(pictures).map(move |(kind, picture)| {
            // The image is multiplied by the step for each factor that is a force: once if a rotation is correlated,
            // otherwise twice.
            let scale = match kind {
                Kind::Ps | Kind::Sp | Kind::Ss => dt,
                Kind::Pp | Kind::Energy => dt * dt,
            };
            let scaled = picture.image.into_iter().map(|x| scale * x);
            // Depths near the sources and receivers are left out, because the fields there are dominated by the point
            // sources.
            let below = scaled.enumerate().filter(|(at, _)| at % nz >= 12);
            below.map(|(_, x)| x).collect::<Vec<f64>>()
        })
    });
    let [coarse, fine, finest] = images.map(Iterator::collect::<Vec<_>>);
    for (k, kind) in ALL.iter().enumerate() {
        let changes = [(&coarse, &fine), (&fine, &finest)].map(|(a, b)| relative_difference(&a[k], &b[k]));
        let ratio = changes[0] / changes[1];
        println!("{kind:?}: {:.2e}, {:.2e}, {ratio:.2}", changes[0], changes[1]);
        assert!(ratio >= 3.0, "{kind:?}: {ratio}");
    }
}

/// P and S waves have 10 cells per wavelength of the image. The measured errors are 0.7 % for PP, 1.2 % and 0.4 % for
/// the energy norm, and 3.8 % for SS, because rotations emphasise short waves, which a reflector between two nodes
/// smears.
#[test]
fn a_reflector_has_the_image_of_its_coefficient_at_normal_incidence() {
    reflector(ALONG_Z, &[Kind::Pp, Kind::Energy], &Model::wide(240, 310), 0.03);
    let longer = Model {
        wavelet: Ricker { f: 0.06, t0: 23.0 },
        ..Model::wide(420, 560)
    };
    reflector(ALONG_X, &[Kind::Ss, Kind::Energy], &longer, 0.08);
}

/// Plane waves go down in the direction of x. In a model that is too slow, the waves of the shot are late at a depth
/// and the waves of the data early: they match if the waves of the shot are taken behind the point and the waves of the
/// data ahead of it, at a positive lag. With the slowness `p` along x and `q`, `q'` along z in the rock and in the
/// model, `h = (q' z - q z_r) / p`.
#[test]
fn the_focus_of_a_model_that_is_too_slow_lies_at_a_lag_of_its_sign() {
    let model = Model {
        sides: 12,
        ..Model::wide(160, 430)
    };
    let p = 25f64.to_radians().sin() / ROCK.vp;
    let most = 12;
    let request = ImageRequest {
        kinds: vec![Kind::Pp],
        lags: (-most..=most).map(|h| [0, h, 0]).collect(),
    };
    let cells = model.n[0] * model.n[1];
    let depth = DEPTH.ceil();
    let down = |c: f64| (c.powi(-2) - p * p).sqrt();
    for (forwards, models) in [(true, &[1.0, 0.95, 1.05][..]), (false, &[0.95])] {
        let late = |x: f64| {
            p * if forwards {
                x
            } else {
                (model.n[1] - 1) as f64 * D - x
            }
        };
        let shot = model.sheet(Action::explosion(1.0), late);
        let data = model.reflections(&shot);
        for &slower in models {
            let speeds = Speeds {
                vp: slower * ROCK.vp,
                vs: slower * ROCK.vs,
                ..ROCK
            };
            let born = model.born(&shot, speeds, false);
            let pictures = model.images(&born, &data, &request);
            let at = |lag: usize| model.middle(&pictures[0].image[lag * cells..][..cells])[depth as usize];
            let gather: Vec<f64> = (0..request.lags.len()).map(at).collect();
            let top = (1..gather.len() - 1)
                .max_by(|&a, &b| gather[a].total_cmp(&gather[b]))
                .expect("lags");
            let [before, here, behind] = [gather[top - 1], gather[top], gather[top + 1]];
            let off = 0.5 * (before - behind) / (before - 2.0 * here + behind);
            let focus = top as f64 + off - most as f64;
            let ahead = (down(speeds.vp) * (depth - TOP) - down(ROCK.vp) * (DEPTH - TOP)) / p;
            let place = if forwards { ahead } else { -ahead };
            println!(
                "{slower} of the speed, x ahead is {forwards}: a lag of {focus:.2} cells for {place:.2}"
            );
            // The measured error is 0.25 of a cell.
            assert!(
                (focus - place).abs() <= 0.8,
                "{slower} {forwards}: {focus} for {place}"
            );
            assert!(here > 0.0, "{slower} {forwards}: {here}");
        }
    }
}
