//! Reports the quality of a mesh, as lines of text and as histograms.

use anyhow::Result;
use kernels::earth::Radial;
use kernels::mesh::quality::{self, POINTS_A_WAVELENGTH, Quality};
use kernels::mesh::step::{Bound, Media, Medium, bound};
use kernels::mesh::{Basis, Fault, Material, Mesh, Numbering, Place};
use kernels::methods::spectral_elements::{Lumping, Pml, Setup};
use rsf_io::{Axis, Kind, Output};

/// The number of bins of a histogram.
const BINS: usize = 20;

/// Measures of all elements.
pub(super) struct Report {
    degree: usize,
    points: usize,
    figures: Vec<Quality>,
    /// The largest stable steps, and the element with the smallest of them; `None` without materials.
    steps: Option<Bound>,
    /// Resolved frequencies, Hz; empty without materials.
    frequencies: Vec<f64>,
    /// The number of elements in perfectly matched layers.
    in_layers: usize,
}

/// The first element whose value is the smallest up to rounding errors, and that value.
fn least(values: impl Iterator<Item = f64> + Clone) -> (usize, f64) {
    let smallest = values.clone().fold(f64::INFINITY, f64::min);
    let close = |value: &f64| *value <= smallest + 1e-9 * smallest.abs();
    let mut all = values.enumerate();
    all.find(|(_, value)| close(value)).unwrap_or((0, f64::NAN))
}

/// The stable steps of a mesh with these materials and perfectly matched layers.
fn stable<const D: usize>(
    mesh: &Mesh<D>,
    basis: &Basis,
    (materials, media): (&[Material], &[Medium]),
    pml: Option<&Pml<D>>,
) -> Bound {
    let speeds: Vec<[f64; 2]> = materials.iter().map(|m| [m.vp, m.vs]).collect();
    let run = Setup {
        mesh,
        basis,
        media,
        speeds: &speeds,
        points: None,
        dt: 1.0,
        relaxations: None,
        lumping: Lumping::default(),
        sponge: None,
        pml,
        sources: &[],
    };
    run.bound()
}

/// The step to print: a thousandth below the limit, because the programs that run on the mesh compute the
/// eigenvalues again with that accuracy, and rounded down to the printed digits.
fn safe(limit: f64) -> f64 {
    let step = 0.999 * limit;
    let digit = 10f64.powi(step.log10().floor() as i32 - 4);
    (step / digit).floor() * digit
}

/// The highest frequency of sources in the field, Hz; only laboratory sources have higher frequencies.
const SEISMIC: f64 = 5e3;

impl Report {
    /// Measures every element. Stable steps are computed for a `model` of the Earth, if there is one, otherwise for the
    /// materials; they are a little smaller in perfectly matched layers.
    pub(super) fn of<const D: usize>(
        mesh: &Mesh<D>,
        materials: &[Material],
        degree: usize,
        (model, pml): (Option<&Radial>, Option<&Pml<D>>),
    ) -> Result<Self, Fault> {
        let basis = Basis::new(degree)?;
        let figures = quality::all(mesh, &basis);
        // The program that reads the table of constants computes the step of an anisotropic medium.
        let plain = !materials.is_empty() && materials.iter().all(|m| !m.anisotropic);
        let media: Vec<Medium> = materials
            .iter()
            .map(|m| Medium::isotropic(m.density, m.vp, m.vs))
            .collect();
        let slowest = |region: u32| {
            let m = &materials[region as usize];
            if m.vs > 0.0 { m.vs } else { m.vp }
        };
        let frequencies = figures
            .iter()
            .zip(mesh.regions())
            .map(|(f, r)| f.frequency(slowest(*r), degree));
        Ok(Self {
            degree,
            points: Numbering::new(mesh, &basis)?.points(),
            steps: match model {
                Some(model) => {
                    let at =
                        |_: usize, x: &[[f64; D]]| model.media(x, false).into_iter().map(|m| m.0).collect();
                    Some(bound(mesh, &basis, Media::Points(&at)))
                }
                None if plain => Some(stable(mesh, &basis, (materials, &media), pml)),
                None => None,
            },
            frequencies: if plain { frequencies.collect() } else { Vec::new() },
            figures,
            in_layers: pml.map_or(0, |pml| pml.elements(mesh)),
        })
    }

    /// The report as lines of text.
    pub(super) fn lines<const D: usize>(&self, mesh: &Mesh<D>) -> Vec<String> {
        let at = |element: usize| format!("element {element} at {}", Place::from(mesh.centre(element)));
        let mut lines = vec![format!(
            "{} elements of {} nodes, {} nodes, {} points at degree {}; {} absorbing and {} free faces of {} outer ones{}",
            mesh.len(),
            mesh.order().nodes::<D>(),
            mesh.nodes().len(),
            self.points,
            self.degree,
            mesh.absorbing().len(),
            mesh.free().len(),
            mesh.outer().count(),
            match self.in_layers {
                0 => String::new(),
                count => format!("; {count} elements in perfectly matched layers"),
            }
        )];
        let (element, value) = least(self.figures.iter().map(|f| f.jacobian));
        lines.push(format!("smallest Jacobian {value:.4e} in {}", at(element)));
        let (element, value) = least(self.figures.iter().map(|f| f.evenness));
        lines.push(format!(
            "smallest over largest Jacobian of an element {value:.3} in {}",
            at(element)
        ));
        let (sharp, low) = least(self.figures.iter().map(|f| f.angles[0]));
        let (blunt, high) = least(self.figures.iter().map(|f| -f.angles[1]));
        lines.push(format!(
            "angles from {low:.1} degrees in {} to {:.1} in {}",
            at(sharp),
            -high,
            at(blunt)
        ));
        let (element, value) = least(self.figures.iter().map(|f| -f.ratio()));
        lines.push(format!(
            "longest over shortest edge {:.2} in {}",
            -value,
            at(element)
        ));
        let Some(steps) = &self.steps else {
            lines.push(
                "largest stable step and resolved frequency: not known without rho=, vp= and vs=".to_string(),
            );
            return lines;
        };
        lines.push(format!(
            "largest stable step {:.4e} s, set by {}",
            safe(steps.limit),
            at(steps.element)
        ));
        let (element, value) = least(self.frequencies.iter().copied());
        lines.push(format!(
            "resolved up to {value:.4e} Hz ({POINTS_A_WAVELENGTH} points per shortest wavelength), set by {}{}",
            at(element),
            match value > SEISMIC {
                true => "; check that coordinates are in m and speeds in m/s",
                false => "",
            }
        ));
        lines
    }

    /// Writes the histograms: n1 bins, n2 measures.
    pub(super) fn write(&self, mut output: Output) -> Result<()> {
        let over_least = |values: &[f64]| -> Vec<f64> {
            let smallest = least(values.iter().copied()).1;
            values.iter().map(|v| v / smallest).collect()
        };
        let columns: Vec<(&str, [f64; 2], Vec<f64>)> = vec![
            (
                "smallest angle 0 to 90",
                [0.0, 90.0],
                self.figures.iter().map(|f| f.angles[0]).collect(),
            ),
            (
                "longest over shortest edge 1 to 10",
                [1.0, 10.0],
                self.figures.iter().map(Quality::ratio).collect(),
            ),
            (
                "smallest over largest Jacobian 0 to 1",
                [0.0, 1.0],
                self.figures.iter().map(|f| f.evenness).collect(),
            ),
            (
                "stable step over smallest stable step 1 to 10",
                [1.0, 10.0],
                over_least(self.steps.as_ref().map_or(&[][..], |bound| &bound.each)),
            ),
            (
                "frequency over lowest frequency 1 to 10",
                [1.0, 10.0],
                over_least(&self.frequencies),
            ),
        ];
        let used: Vec<_> = columns.into_iter().filter(|c| !c.2.is_empty()).collect();
        let label: Vec<&str> = used.iter().map(|c| c.0).collect();
        output.set_kind(Kind::Int);
        output.set_axis(1, &Axis::new(BINS, 0.0, 1.0).label("bin"));
        output.set_axis(2, &Axis::new(used.len(), 0.0, 1.0).label(&label.join(", ")));
        output.set_rank(2);
        for (_, [low, high], values) in used {
            let mut bins = [0; BINS];
            for value in values {
                let bin = (value - low) / (high - low) * BINS as f64;
                bins[(bin as usize).min(BINS - 1)] += 1;
            }
            output.write_i32(&bins)?;
        }
        Ok(output.finish()?)
    }
}
