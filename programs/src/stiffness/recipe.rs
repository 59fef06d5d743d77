//! One cell: parameters in, planes out.

use anyhow::{Result, bail};
use kernels::medium::{Fault, Lost, Speeds, Stiffness, Thomsen, Tsvankin, Unreal, rotate};

/// Names of all parameters of a cell; their places are the constants below.
pub(super) const NAMES: [&str; 15] = [
    "vp", "vs", "ro", "epsilon", "delta", "gamma", "eps1", "eps2", "del1", "del2", "del3", "gam1", "gam2",
    "nu", "alpha",
];
pub(super) const VP: usize = 0;
const VS: usize = 1;
const RO: usize = 2;
const EPSILON: usize = 3;
const GAMMA: usize = 5;
const EPS1: usize = 6;
const GAM2: usize = 12;
pub(super) const NU: usize = 13;
pub(super) const ALPHA: usize = 14;

/// Values of all parameters in one cell, zero where a parameter has no part.
pub(super) type Values = [f64; NAMES.len()];

/// Which builder of `kernels::medium::thomsen` makes the medium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Law {
    Isotropic,
    Vti,
    HtiPermuted,
    HtiTsvankin,
    Orthorhombic,
}

impl Law {
    /// From `sym=` and `hti=`; without `sym=` the narrowest class that knows all the parameters given.
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

    /// Whether the parameter of that place has a part.
    pub(super) fn uses(self, slot: usize) -> bool {
        match slot {
            VP..=RO | NU | ALPHA => true,
            EPSILON..=GAMMA => matches!(self, Self::Vti | Self::HtiPermuted | Self::HtiTsvankin),
            _ => self == Self::Orthorhombic,
        }
    }

    /// The word of `sym=`.
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

/// Why a cell has no planes.
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
    #[error(transparent)]
    Unreal(#[from] Unreal),
    #[error(transparent)]
    Lost(#[from] Lost),
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl CellError {
    /// What to do, as the end of a sentence.
    pub(super) fn advice(&self) -> &'static str {
        match self {
            Self::NotFinite { .. } | Self::Sign { .. } | Self::Unreal(_) => "",
            Self::Lost(_) => {
                ". The planes hold a medium only if its symmetry planes are the coordinate planes: \
                 tilt by quarter turns, or write what the planes hold (another medium) with drop=y"
            }
            Self::Fault(_) => {
                ". An isotropic medium needs vs below 0.866 vp (2-D: vp); lower vs or the magnitude of the \
                 anisotropy parameters there"
            }
        }
    }
}

/// How every cell of a run is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recipe {
    pub(super) law: Law,
    pub(super) ndim: usize,
    /// `nu=` or `alpha=` are not zero everywhere.
    pub(super) tilted: bool,
    /// Write a tilted medium even if coefficients without a plane are lost.
    pub(super) drop: bool,
}

impl Recipe {
    /// The planes (four in 2-D, the rest zero) of one cell, checked as they will be written, and what was left out.
    ///
    /// # Errors
    /// Why there is no such medium.
    pub(super) fn cell(&self, v: &Values) -> Result<([f32; 9], Option<Lost>), CellError> {
        check(v)?;
        let mut s = self.law.build(v)?;
        let mut loss = None;
        if self.tilted && (v[NU] != 0.0 || v[ALPHA] != 0.0) {
            let c = rotate::rotated(&s.voigt(), &rotate::rotation(v[NU], v[ALPHA]));
            s = match rotate::fitted(&c, self.ndim) {
                Ok(fitted) => fitted,
                Err(lost) if self.drop => {
                    loss = Some(lost);
                    Stiffness::kept(&c)
                }
                Err(lost) => return Err(lost.into()),
            };
        }
        let mut planes = s.planes().map(|c| c as f32);
        let written = Stiffness::from_planes(planes.map(f64::from));
        if let Some(fault) = written.fault(self.ndim) {
            return Err(fault.into());
        }
        if self.ndim == 2 {
            let four = s.planes_2d().map(|c| c as f32);
            planes = [four[0], four[1], four[2], four[3], 0.0, 0.0, 0.0, 0.0, 0.0];
        }
        Ok((planes, loss))
    }
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
