//! Computes the planes of one cell from its parameters.

use anyhow::{Result, bail};
use kernels::medium::{
    Coefficients, Fault, Lost, Speeds, Stiffness, Thomsen, Tsvankin, Unreal, Voigt, rotate, triclinic,
};

/// Names of all parameters of a cell; their indices are the constants below.
pub(super) const NAMES: [&str; 15] = [
    "vp", "vs", "ro", "epsilon", "delta", "gamma", "eps1", "eps2", "del1", "del2", "del3", "gam1", "gam2",
    "nu", "alpha",
];
pub(super) const VP: usize = 0;
const VS: usize = 1;
const RO: usize = 2;
pub(super) const EPSILON: usize = 3;
const GAMMA: usize = 5;
const EPS1: usize = 6;
const GAM2: usize = 12;
pub(super) const NU: usize = 13;
pub(super) const ALPHA: usize = 14;

/// Values of all parameters in one cell, zero if a parameter is not used.
pub(super) type Values = [f64; NAMES.len()];

/// The symmetry class of the medium, each with a constructor in `kernels::medium::thomsen`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Law {
    Isotropic,
    Vti,
    HtiPermuted,
    HtiTsvankin,
    Orthorhombic,
}

impl Law {
    /// The law of `sym=` and `hti=`; without `sym=`, the narrowest class that has all given parameters.
    pub(super) fn chosen(given: impl Fn(&str) -> bool, sym: Option<&str>, hti: &str) -> Result<Self> {
        let any = |slots: std::ops::RangeInclusive<usize>| slots.into_iter().any(|s| given(NAMES[s]));
        let hti_law = if hti == "tsvankin" {
            Self::HtiTsvankin
        } else {
            Self::HtiPermuted
        };
        Ok(match sym {
            Some("iso") => Self::Isotropic,
            Some("vti") => Self::Vti,
            Some("hti") => hti_law,
            Some("ort") => Self::Orthorhombic,
            Some(other) => bail!("sym={other} is not a symmetry class; use sym=iso, vti, hti or ort"),
            None if any(EPS1..=GAM2) && any(EPSILON..=GAMMA) => bail!(
                "epsilon=, delta=, gamma= belong to sym=vti or hti, eps1= ... gam2= to sym=ort: give one kind, or sym="
            ),
            None if any(EPS1..=GAM2) => Self::Orthorhombic,
            None if given("hti") => hti_law,
            None if any(EPSILON..=GAMMA) => Self::Vti,
            None => Self::Isotropic,
        })
    }

    /// Whether the parameter with that index is used.
    pub(super) fn uses(self, slot: usize) -> bool {
        match slot {
            VP..=RO | NU | ALPHA => true,
            EPSILON..=GAMMA => matches!(self, Self::Vti | Self::HtiPermuted | Self::HtiTsvankin),
            _ => self == Self::Orthorhombic,
        }
    }

    /// The value of `sym=` for this law.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Isotropic => "iso",
            Self::Vti => "vti",
            Self::HtiPermuted | Self::HtiTsvankin => "hti",
            Self::Orthorhombic => "ort",
        }
    }

    fn build(self, v: &Values) -> Result<Stiffness, Unreal> {
        let speeds = Speeds {
            vp: v[VP],
            vs: v[VS],
            rho: v[RO],
        };
        let [epsilon, delta, gamma] = [v[EPSILON], v[EPSILON + 1], v[GAMMA]];
        let three = Thomsen {
            epsilon,
            delta,
            gamma,
        };
        match self {
            Self::Isotropic => Ok(Stiffness::isotropic(speeds)),
            Self::Vti => Stiffness::vti(speeds, three),
            Self::HtiPermuted => Stiffness::hti_permuted(speeds, three),
            Self::HtiTsvankin => Stiffness::hti_tsvankin(speeds, three),
            Self::Orthorhombic => {
                let [eps1, eps2, del1, del2, del3, gam1, gam2] = std::array::from_fn(|i| v[EPS1 + i]);
                Stiffness::orthorhombic(
                    speeds,
                    Tsvankin {
                        eps1,
                        eps2,
                        del1,
                        del2,
                        del3,
                        gam1,
                        gam2,
                    },
                )
            }
        }
    }
}

/// The reason why a cell has no planes.
#[derive(Debug, thiserror::Error)]
pub(super) enum CellError {
    #[error("{name} is {value}, not a finite number")]
    NotFinite { name: &'static str, value: f64 },
    #[error("{name} = {value}; it must be {need}")]
    Sign {
        name: &'static str,
        value: f64,
        need: &'static str,
    },
    #[error(
        "vs = {vs} must be below vp = {vp}, as in every rock: check whether they are exchanged or in \
        different units"
    )]
    Exchanged { vp: f64, vs: f64 },
    #[error(transparent)]
    Unreal(#[from] Unreal),
    #[error(transparent)]
    Lost(#[from] Lost),
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl CellError {
    /// The remedy, as the end of an error message.
    pub(super) fn advice(&self) -> &'static str {
        match self {
            Self::NotFinite { .. } | Self::Sign { .. } | Self::Exchanged { .. } | Self::Unreal(_) => "",
            Self::Lost(lost) if lost.planes == 6 => {
                ". Six planes can describe a medium only if x-z is a symmetry plane: leave out alpha=, model in 3-D, \
                 or write only the coefficients that have a plane (which is another medium) with drop=y"
            }
            Self::Lost(_) => {
                ". Four or nine planes can describe a medium only if its symmetry planes are the coordinate planes: \
                 leave out planes=, so that all coefficients are written, or write only the coefficients that have a \
                 plane (which is another medium) with drop=y"
            }
            Self::Fault(_) => {
                ". An isotropic medium needs vs below 0.866 vp (2-D: vp); lower vs or the magnitude of the \
                 anisotropy parameters there"
            }
        }
    }
}

/// The coefficients of a cell in memory order; coefficients that are not written are zero.
pub(super) type Cell = [f32; Coefficients::All.count(3)];

/// Coefficients below this fraction of the largest are rounding errors of float64 and are treated as zero.
const NOTHING: f64 = 1e-13;

/// The way in which the cells of a run are computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recipe {
    pub(super) law: Law,
    pub(super) ndim: usize,
    /// The coefficients that are written.
    pub(super) kind: Coefficients,
    /// Whether `nu=` or `alpha=` is not zero everywhere.
    pub(super) tilted: bool,
    /// Whether a tilted medium is written even if coefficients without a plane are lost.
    pub(super) drop: bool,
}

impl Recipe {
    /// Whether a cell may be stable in 2-D but not in 3-D; this is checked only for isotropic media, because
    /// in other media this does not depend only on vs.
    pub(super) fn can_be_too_stiff(&self) -> bool {
        self.ndim == 2 && self.law == Law::Isotropic
    }

    /// P and S velocity of a cell whose bulk modulus is not positive.
    pub(super) fn too_stiff(&self, v: &Values) -> Option<[f64; 2]> {
        (4.0 * v[VS] * v[VS] >= 3.0 * v[VP] * v[VP]).then_some([v[VP], v[VS]])
    }

    /// One cell, checked in the form in which it will be written, and the largest coefficient that was left
    /// out.
    ///
    /// # Errors
    /// Returns an error for parameters that do not describe an elastic medium, or coefficients without a
    /// plane.
    pub(super) fn cell(&self, v: &Values) -> Result<(Cell, Option<Lost>), CellError> {
        check(v)?;
        if self.law != Law::Isotropic && v[VS] >= v[VP] {
            return Err(CellError::Exchanged { vp: v[VP], vs: v[VS] });
        }
        let s = self.law.build(v)?;
        let mut loss = None;
        let mut c = s.voigt();
        if self.tilted && (v[NU] != 0.0 || v[ALPHA] != 0.0) {
            c = rotate::rotated(&c, &rotate::rotation(v[NU], v[ALPHA]));
            let lost = rotate::lost(&c, self.ndim, self.kind);
            loss = lost.filter(|lost| lost.share >= rotate::LOSS_ALLOWED);
            if let Some(lost) = loss.take_if(|_| !self.drop) {
                return Err(lost.into());
            }
        }
        let cell = self.planes(&c);
        let wide = cell.map(f64::from);
        let fault = match self.kind {
            // In 3-D all nine coefficients are checked, in 2-D only the coefficients of the plane.
            Coefficients::Orthorhombic if self.ndim == 3 => {
                Stiffness::from_planes(std::array::from_fn(|k| wide[k])).fault(3)
            }
            Coefficients::Orthorhombic => {
                Stiffness::from_planes_2d(std::array::from_fn(|k| wide[k])).fault(2)
            }
            kind => triclinic::fault(self.ndim, &wide[..kind.count(self.ndim)]),
        };
        match fault {
            Some(fault) => Err(fault.into()),
            None => Ok((cell, loss)),
        }
    }

    fn planes(&self, c: &Voigt) -> Cell {
        let largest = c.iter().flatten().fold(0.0f64, |m, v| m.max(v.abs()));
        let mut cell = [0.0; Coefficients::All.count(3)];
        for (to, &pair) in cell.iter_mut().zip(self.kind.table(self.ndim).pairs) {
            let value = rotate::entry(c, pair);
            *to = if value.abs() < NOTHING * largest {
                0.0
            } else {
                value as f32
            };
        }
        cell
    }
}

/// Whether a cell with all coefficients has a coefficient for which four or nine planes have no place.
pub(super) fn needs_all(ndim: usize, cell: &Cell) -> bool {
    let largest = cell.iter().fold(0.0f32, |m, v| m.max(v.abs()));
    let others = &cell[Coefficients::Orthorhombic.count(ndim)..];
    others
        .iter()
        .any(|v| f64::from(v.abs()) >= rotate::LOSS_ALLOWED * f64::from(largest))
}

fn check(v: &Values) -> Result<(), CellError> {
    if let Some(bad) = v.iter().position(|x| !x.is_finite()) {
        return Err(CellError::NotFinite {
            name: NAMES[bad],
            value: v[bad],
        });
    }
    for (slot, zero, need) in [
        (RO, false, "positive"),
        (VP, false, "positive"),
        (VS, true, "positive or zero (fluid)"),
    ] {
        if v[slot] < 0.0 || (v[slot] == 0.0 && !zero) {
            return Err(CellError::Sign {
                name: NAMES[slot],
                value: v[slot],
                need,
            });
        }
    }
    Ok(())
}
