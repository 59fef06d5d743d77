//! The effective medium of layers that are thin compared with the wavelength: Backus (1962) for isotropic layers, Schoenberg &
//! Muir (1989) for any. Tractions on the planes of the layers and strains within these planes are the same in all
//! layers; all other stresses and strains of the medium are averages over the layers.
//!
//! The third axis of a stack's own frame is normal to its layers. The volume fractions (`share`) may come from a
//! window function with negative values, in which case the result need not be a stable elastic medium; callers check
//! that.

use super::{Voigt, rotate};

/// Voigt indices, counted from zero, of the stresses (zz, yz, zx) that are continuous across layers.
const ACROSS: [usize; 3] = [2, 3, 4];
/// Voigt indices, counted from zero, of the strains (xx, yy, xy) that are continuous across layers.
const WITHIN: [usize; 3] = [0, 1, 5];
/// A medium is a fluid if `c44` and `c55` are below this fraction of `c33`; rotations of a fluid leave rounding
/// errors there.
const FLUID: f64 = 1e-9;

type Block = [[f64; 3]; 3];

/// Sums over the layers of a stack, in its frame.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// Compliance for the stresses across the layers; fluids contribute only that for the normal stress.
    compliance: Block,
    /// The stiffnesses that couple strains within the layers to stresses across them, times the compliance.
    coupling: Block,
    /// Stiffness for the strains within the layers while no stress acts across them.
    within: Block,
    /// Whether a layer is fluid, so that no shear stress acts across the layers.
    slips: bool,
}

/// Sums over isotropic layers, weighted with their fractions of the thickness, from which Backus (1962, eq. 13) gives the
/// effective medium. The sums do not depend on the normal of the layers.
#[derive(Clone, Copy, Debug, Default)]
pub struct IsotropicLayers {
    /// The sum of 1/M, where M is the P modulus.
    compliance: f64,
    /// The sum of 1/mu, where mu is the shear modulus; zero for fluids.
    shear_compliance: f64,
    /// The sum of lambda/M, with lambda = M - 2 mu.
    ratio: f64,
    /// The sums of M - lambda^2/M and of lambda - lambda^2/M.
    plate: [f64; 2],
    /// The sum of mu.
    shear: f64,
}

impl IsotropicLayers {
    /// A single layer with the P modulus rho vp^2 and the shear modulus rho vs^2, which is zero in a fluid.
    pub fn of(press: f64, shear: f64) -> Self {
        let lambda = press - 2.0 * shear;
        let ratio = lambda / press;
        Self {
            compliance: 1.0 / press,
            shear_compliance: if shear == 0.0 { 0.0 } else { 1.0 / shear },
            ratio,
            plate: [press - lambda * ratio, lambda - lambda * ratio],
            shear,
        }
    }

    /// Adds the fraction `share` of other layers. Layers must be all solid or all fluid.
    pub fn add(&mut self, share: f64, other: &Self) {
        self.compliance += share * other.compliance;
        self.shear_compliance += share * other.shear_compliance;
        self.ratio += share * other.ratio;
        (0..2).for_each(|k| self.plate[k] += share * other.plate[k]);
        self.shear += share * other.shear;
    }
}

impl From<IsotropicLayers> for Layers {
    /// The same sums in the frame of the stack.
    fn from(sums: IsotropicLayers) -> Self {
        let mut layers = Self {
            slips: sums.shear_compliance == 0.0,
            ..Self::default()
        };
        layers.compliance[0][0] = sums.compliance;
        (1..3).for_each(|k| layers.compliance[k][k] = sums.shear_compliance);
        let [plate, across] = sums.plate;
        for i in 0..2 {
            layers.coupling[i][0] = sums.ratio;
            (0..2).for_each(|j| layers.within[i][j] = if i == j { plate } else { across });
        }
        layers.within[2][2] = sums.shear;
        layers
    }
}

impl Layers {
    /// Adds a layer with stiffness `c` (6 by 6, in the stack's frame) that makes up the fraction `share` of the
    /// thickness.
    pub fn add(&mut self, share: f64, c: &Voigt) {
        let part = |rows: [usize; 3], columns: [usize; 3]| -> Block {
            std::array::from_fn(|i| std::array::from_fn(|j| c[rows[i]][columns[j]]))
        };
        let compliance = if is_fluid(c) {
            self.slips |= share != 0.0;
            let mut only = Block::default();
            only[0][0] = 1.0 / c[2][2];
            only
        } else {
            inverse(&part(ACROSS, ACROSS))
        };
        let (coupled, plane) = (part(WITHIN, ACROSS), part(WITHIN, WITHIN));
        let coupling = product(&coupled, &compliance);
        let relieved = product(&coupling, &transposed(&coupled));
        for (i, j) in (0..9).map(|k| (k / 3, k % 3)) {
            self.compliance[i][j] += share * compliance[i][j];
            self.coupling[i][j] += share * coupling[i][j];
            self.within[i][j] += share * (plane[i][j] - relieved[i][j]);
        }
    }

    /// The stiffness of the stack in its frame, in the units of its layers, whose fractions must add up to one. If a
    /// layer is fluid, the shear stiffnesses across the layers are zero.
    pub fn medium(&self) -> Voigt {
        let across = if self.slips {
            let mut only = Block::default();
            only[0][0] = 1.0 / self.compliance[0][0];
            only
        } else {
            inverse(&self.compliance)
        };
        let coupled = product(&self.coupling, &across);
        let stiffened = product(&coupled, &transposed(&self.coupling));
        let mut c = Voigt::default();
        for (i, j) in (0..9).map(|k| (k / 3, k % 3)) {
            c[ACROSS[i]][ACROSS[j]] = 0.5 * (across[i][j] + across[j][i]);
            c[WITHIN[i]][WITHIN[j]] =
                0.5 * (self.within[i][j] + self.within[j][i] + stiffened[i][j] + stiffened[j][i]);
            c[WITHIN[i]][ACROSS[j]] = coupled[i][j];
            c[ACROSS[j]][WITHIN[i]] = coupled[i][j];
        }
        c
    }
}

/// The stiffness of layers given as fractions (which must add up to one) and stiffnesses; their planes are
/// perpendicular to `normal` (x, y, z; of any length).
pub fn effective(parts: &[(f64, Voigt)], normal: [f64; 3]) -> Voigt {
    let frame = frame(normal);
    let layers = stack(parts.iter().map(|(share, c)| (*share, c)), &frame);
    rotate::rotated(&layers.medium(), &frame)
}

/// Whether a medium is a fluid.
pub fn is_fluid(c: &Voigt) -> bool {
    c[3][3].max(c[4][4]) <= FLUID * c[2][2]
}

/// The medium of a node of a staggered grid whose cell contains fluid and rock, with fractions and normal as in
/// [`effective`]. Under compression normal to the contact, fluid and rock act in series; along the contact, the medium
/// is the one that fills the larger part of the cell.
///
/// The effective medium of both would slip freely on its two sides, and a single row of nodes with this medium would
/// guide a spurious wave near the speed of sound in water. But fluid and rock slip at one interface only. A node
/// therefore moves along the contact either with the fluid or with the rock, and the interface at which they slip lies
/// half way between nodes.
pub fn contact(parts: &[(f64, Voigt)], normal: [f64; 3]) -> Voigt {
    let (fluids, rocks): (Vec<&(f64, Voigt)>, Vec<_>) = parts.iter().partition(|(_, c)| is_fluid(c));
    if fluids.is_empty() || rocks.is_empty() {
        return effective(parts, normal);
    }
    let share: f64 = fluids.iter().map(|(share, _)| share).sum();
    let frame = frame(normal);
    let mut layers = stack(rocks.iter().map(|(own, c)| (own / (1.0 - share), c)), &frame);
    let of_fluids: f64 = fluids.iter().map(|(share, c)| share / c[2][2]).sum();
    let compliance = of_fluids + (1.0 - share) * layers.compliance[0][0];
    if share >= 0.5 {
        let mut fluid = Voigt::default();
        for (i, j) in (0..9).map(|k| (k / 3, k % 3)) {
            fluid[i][j] = 1.0 / compliance;
        }
        return fluid;
    }
    layers.compliance[0][0] = compliance;
    layers.slips = true;
    rotate::rotated(&layers.medium(), &frame)
}

/// The effective medium of the solid layers alone, with fractions and normal as in [`effective`]; `None` if all are
/// fluids.
pub fn of_rocks(parts: &[(f64, Voigt)], normal: [f64; 3]) -> Option<Voigt> {
    let rocks: Vec<_> = parts.iter().filter(|(_, c)| !is_fluid(c)).collect();
    let share: f64 = rocks.iter().map(|(share, _)| share).sum();
    let frame = frame(normal);
    let layers = stack(rocks.iter().map(|(own, c)| (own / share, c)), &frame);
    (!rocks.is_empty()).then(|| rotate::rotated(&layers.medium(), &frame))
}

/// The orthorhombic medium, with the coordinate planes as planes of symmetry, that a grid of nine stiffness
/// coefficients holds in place of `c`. Its compliances are those of `c` that such a medium has: normal stresses alone
/// cause the same normal strains as in `c`, and each shear stress alone causes the same shear strain.
///
/// Leaving the other stiffnesses of `c` out would keep its stresses under strains that a grid without these
/// coefficients cannot relax, and would be too stiff. Media whose shear stiffnesses vanish are returned unchanged, as
/// are orthorhombic ones.
pub fn orthorhombic(c: &Voigt) -> Voigt {
    let block = |rows: usize, columns: usize| -> Block {
        std::array::from_fn(|i| std::array::from_fn(|j| c[rows + i][columns + j]))
    };
    let [normal, coupling, shear] = [block(0, 0), block(0, 3), block(3, 3)];
    let relieved = |of: &Block, coupling: &Block, by: &Block| -> Block {
        let less = product(&product(coupling, &inverse(by)), &transposed(coupling));
        std::array::from_fn(|i| std::array::from_fn(|j| of[i][j] - less[i][j]))
    };
    let normals = relieved(&normal, &coupling, &shear);
    let compliance = inverse(&relieved(&shear, &transposed(&coupling), &normal));
    let mut held = Voigt::default();
    for i in 0..3 {
        held[i][..3].copy_from_slice(&normals[i]);
        held[3 + i][3 + i] = 1.0 / compliance[i][i];
    }
    let is_real = |row: &[f64; 6]| row.iter().all(|value| value.is_finite());
    if held.iter().all(is_real) { held } else { *c }
}

/// The sums over layers, in the frame of their stack.
fn stack<'a>(parts: impl Iterator<Item = (f64, &'a Voigt)>, frame: &Block) -> Layers {
    let upright = transposed(frame);
    let mut layers = Layers::default();
    parts.for_each(|(share, c)| layers.add(share, &rotate::rotated(c, &upright)));
    layers
}

/// The rotation that turns the z axis into `normal`. The second axis stays horizontal, which in 2-D is along y.
pub fn frame(normal: [f64; 3]) -> Block {
    let [x, y, z] = normal;
    let flat = x.hypot(y);
    if flat <= f64::EPSILON * z.abs() {
        return [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    }
    let length = flat.hypot(z);
    let (cos_tilt, sin_tilt) = (z / length, flat / length);
    let (cos_turn, sin_turn) = (x / flat, y / flat);
    [
        [cos_turn * cos_tilt, -sin_turn, cos_turn * sin_tilt],
        [sin_turn * cos_tilt, cos_turn, sin_turn * sin_tilt],
        [-sin_tilt, 0.0, cos_tilt],
    ]
}

fn product(a: &Block, b: &Block) -> Block {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..3).map(|k| a[i][k] * b[k][j]).sum()))
}

fn transposed(a: &Block) -> Block {
    std::array::from_fn(|i| std::array::from_fn(|j| a[j][i]))
}

/// The inverse by cofactors.
fn inverse(a: &Block) -> Block {
    let cofactor = |i: usize, j: usize| {
        let ([r, s], [p, q]) = ([(i + 1) % 3, (i + 2) % 3], [(j + 1) % 3, (j + 2) % 3]);
        a[r][p] * a[s][q] - a[r][q] * a[s][p]
    };
    let determinant: f64 = (0..3).map(|j| a[0][j] * cofactor(0, j)).sum();
    std::array::from_fn(|i| std::array::from_fn(|j| cofactor(j, i) / determinant))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::voigt::Coefficients;
    use crate::medium::{Speeds, Stiffness, Thomsen, triclinic};

    fn rock(vp: f64, vs: f64, rho: f64) -> Voigt {
        Stiffness::isotropic(Speeds { vp, vs, rho }).voigt()
    }

    fn tilted() -> Voigt {
        let speeds = Speeds {
            vp: 3.0,
            vs: 1.4,
            rho: 2.2,
        };
        let weak = Thomsen {
            epsilon: 0.25,
            delta: 0.1,
            gamma: 0.2,
        };
        let upright = Stiffness::vti(speeds, weak).expect("a real medium").voigt();
        rotate::rotated(&upright, &rotate::rotation(35.0, 20.0))
    }

    fn assert_same(a: &Voigt, b: &Voigt, allowed: f64) {
        for (i, j) in (0..36).map(|k| (k / 6, k % 6)) {
            assert!(
                (a[i][j] - b[i][j]).abs() < allowed,
                "c{}{}: {} and {}",
                i + 1,
                j + 1,
                a[i][j],
                b[i][j]
            );
        }
    }

    fn is_sound(c: &Voigt) -> bool {
        let table = Coefficients::All.table(3);
        let values: Vec<f64> = table.pairs.iter().map(|&pair| rotate::entry(c, pair)).collect();
        triclinic::fault(3, &values).is_none()
    }

    /// The averages follow Backus (1962), eq. 13, in terms of M = lambda + 2 mu and mu.
    #[test]
    fn isotropic_layers_are_those_of_backus() {
        let rocks = [
            (0.2, rock(2.0, 1.0, 2.0)),
            (0.5, rock(3.0, 1.8, 2.3)),
            (0.3, rock(4.5, 2.2, 2.6)),
        ];
        let mean = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
            rocks.iter().map(|(share, c)| share * f(c[2][2], c[4][4])).sum()
        };
        let c33 = 1.0 / mean(&|m, _| 1.0 / m);
        let ratio = mean(&|m, s| 1.0 - 2.0 * s / m);
        let c11 = mean(&|m, s| 4.0 * s * (1.0 - s / m)) + ratio * ratio * c33;
        let (c44, c66) = (1.0 / mean(&|_, s| 1.0 / s), mean(&|_, s| s));
        let want = Stiffness {
            c11,
            c22: c11,
            c33,
            c44,
            c55: c44,
            c66,
            c12: c11 - 2.0 * c66,
            c13: ratio * c33,
            c23: ratio * c33,
        };
        assert_same(&effective(&rocks, [0.0, 0.0, 1.0]), &want.voigt(), 1e-12);
    }

    /// The sums over isotropic layers are those of layers of any kind.
    #[test]
    fn isotropic_layers_need_no_frame() {
        for rocks in [
            [(0.3, [2.0, 1.0, 2.0]), (0.7, [4.0, 2.2, 2.6])],
            [(0.3, [1.5, 0.0, 1.0]), (0.7, [1.8, 0.0, 1.3])],
        ] {
            let (mut sums, mut layers) = (IsotropicLayers::default(), Layers::default());
            for (share, [vp, vs, rho]) in rocks {
                sums.add(share, &IsotropicLayers::of(rho * vp * vp, rho * vs * vs));
                layers.add(share, &rock(vp, vs, rho));
            }
            assert_same(&Layers::from(sums).medium(), &layers.medium(), 1e-12);
        }
    }

    #[test]
    fn one_rock_alone_is_itself_across_any_normal() {
        for c in [rock(2.0, 1.0, 2.0), tilted()] {
            for normal in [
                [0.0, 0.0, 1.0],
                [0.6, 0.0, 0.8],
                [0.3, -0.5, 0.4],
                [1.0, 0.0, 0.0],
            ] {
                assert_same(&effective(&[(0.4, c), (0.6, c)], normal), &c, 1e-12);
            }
        }
    }

    /// Rotating the layers and their normal rotates the result.
    #[test]
    fn the_medium_turns_with_its_layers() {
        let (a, b) = (tilted(), rock(2.0, 0.8, 2.0));
        let r = rotate::rotation(28.0, -50.0);
        let n = [0.2, 0.7, 0.5];
        let turned = std::array::from_fn(|i| (0..3).map(|j| r[i][j] * n[j]).sum());
        let parts = [(0.3, a), (0.7, b)];
        let parts_turned = parts.map(|(share, c)| (share, rotate::rotated(&c, &r)));
        let want = rotate::rotated(&effective(&parts, n), &r);
        assert_same(&effective(&parts_turned, turned), &want, 1e-12);
    }

    /// A layer may itself be the effective medium of a stack: the sums form Schoenberg and Muir's group.
    #[test]
    fn parts_may_be_stacks_themselves() {
        let (a, b, c) = (tilted(), rock(2.0, 0.8, 2.0), rock(5.0, 3.0, 2.7));
        let n = [0.4, 0.1, 0.8];
        let pair = effective(&[(0.25, a), (0.75, b)], n);
        let whole = effective(&[(0.1, a), (0.3, b), (0.6, c)], n);
        assert_same(&effective(&[(0.4, pair), (0.6, c)], n), &whole, 1e-11);
    }

    #[test]
    fn every_mixture_is_a_medium_between_the_bounds() {
        let (soft, hard) = (rock(1.6, 0.4, 1.8), rock(5.5, 3.2, 2.8));
        for k in 1..10 {
            let f = f64::from(k) / 10.0;
            let c = effective(&[(f, soft), (1.0 - f, hard)], [0.5, 0.3, 0.7]);
            assert!(is_sound(&c), "share {f}");
            // The Reuss and Voigt averages bound the energy of every strain, here of uniaxial strain along x.
            let voigt = f * soft[0][0] + (1.0 - f) * hard[0][0];
            assert!(c[0][0] < voigt + 1e-12 && c[0][0] > soft[0][0], "share {f}");
        }
    }

    /// Compliances by a general inverse: Gauss-Jordan elimination of the full matrix.
    fn compliance(c: &Voigt) -> Voigt {
        let mut a = *c;
        let mut inverse: Voigt =
            std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
        for pivot in 0..6 {
            let scale = a[pivot][pivot];
            for j in 0..6 {
                a[pivot][j] /= scale;
                inverse[pivot][j] /= scale;
            }
            for i in (0..6).filter(|i| *i != pivot) {
                let factor = a[i][pivot];
                for j in 0..6 {
                    a[i][j] -= factor * a[pivot][j];
                    inverse[i][j] -= factor * inverse[pivot][j];
                }
            }
        }
        inverse
    }

    /// The compliances that an orthorhombic medium has are kept, and all others vanish.
    #[test]
    fn the_orthorhombic_part_keeps_compliances() {
        let rocks = [(0.4, rock(2.0, 1.0, 2.0)), (0.6, rock(4.0, 2.2, 2.6))];
        for c in [tilted(), effective(&rocks, [0.5, 0.3, 0.7])] {
            let held = orthorhombic(&c);
            assert!(is_sound(&held));
            let [want, got] = [compliance(&c), compliance(&held)];
            for (i, j) in (0..36).map(|k| (k / 6, k % 6)) {
                let kept = i == j || (i < 3 && j < 3);
                let want = if kept { want[i][j] } else { 0.0 };
                assert!((got[i][j] - want).abs() < 1e-12, "s{}{}", i + 1, j + 1);
            }
        }
        for c in [rock(3.0, 1.6, 2.2), effective(&rocks, [0.0, 0.0, 1.0])] {
            assert_same(&orthorhombic(&c), &c, 1e-12);
        }
        let water = rock(1.5, 0.0, 1.0);
        assert_eq!(orthorhombic(&water), water);
    }

    /// A fluid layer is the limit of a vanishing shear stiffness, and no shear stress acts across it.
    #[test]
    fn fluids_slip() {
        let (water, floor) = (rock(1.5, 0.0, 1.0), rock(3.0, 1.6, 2.2));
        let nearly = rock(1.5, 1e-6, 1.0);
        for normal in [[0.0, 0.0, 1.0], [0.5, 0.0, 0.7]] {
            let c = effective(&[(0.4, water), (0.6, floor)], normal);
            assert!(is_sound(&c));
            assert_same(&c, &effective(&[(0.4, nearly), (0.6, floor)], normal), 1e-8);
        }
        let flat = effective(&[(0.4, water), (0.6, floor)], [0.0, 0.0, 1.0]);
        assert_eq!([flat[3][3], flat[4][4]], [0.0; 2]);
        assert!((flat[5][5] - 0.6 * floor[5][5]).abs() < 1e-12);
        assert_same(&effective(&[(1.0, water)], [0.3, 0.2, 0.5]), &water, 1e-12);
    }

    /// Across a contact fluid and rock act in series. Along it a node moves with one of them, so that no medium is a
    /// plate that slips on both sides. Water is a fluid for any normal.
    #[test]
    fn nodes_at_a_contact_are_fluid_or_rock() {
        let (water, floor) = (rock(1.5, 0.0, 1.0), rock(3.0, 1.6, 2.2));
        let plate = |c: &Voigt| c[0][0] - c[0][2] * c[0][2] / c[2][2];
        for share in [0.1, 0.4, 0.5, 0.9] {
            let parts = [(share, water), (1.0 - share, floor)];
            let series = 1.0 / (share / water[2][2] + (1.0 - share) / floor[2][2]);
            for normal in [[0.0, 0.0, 1.0], [0.6, 0.0, 0.8]] {
                let c = contact(&parts, normal);
                assert!(is_sound(&c), "share {share}: {c:?}");
                assert_eq!(plate(&c).abs() < 1e-12, share >= 0.5, "share {share}: {c:?}");
                if share >= 0.5 {
                    assert_same(&c, &rock(series.sqrt(), 0.0, 1.0), 1e-12);
                }
            }
            let flat = contact(&parts, [0.0, 0.0, 1.0]);
            assert!((flat[2][2] - series).abs() < 1e-12 && flat[3][3] == 0.0 && flat[4][4] == 0.0);
            if share < 0.5 {
                // The plate modulus is the modulus of the rock.
                assert!((plate(&flat) - plate(&floor)).abs() < 1e-12);
                assert!((flat[5][5] - floor[5][5]).abs() < 1e-12);
            }
            let rocks = of_rocks(&parts, [0.3, 0.2, 0.5]).expect("one is rock");
            assert_same(&rocks, &floor, 1e-12);
        }
        assert_eq!(of_rocks(&[(1.0, water)], [0.0, 0.0, 1.0]), None);
        let solids = [(0.4, rock(2.0, 1.0, 2.0)), (0.6, floor)];
        let normal = [0.1, 0.2, 0.7];
        assert_eq!(contact(&solids, normal), effective(&solids, normal));
    }
}
