//! Points outside a mesh: a point that lies only a little outside is moved into it.

use anyhow::bail;
use kernels::mesh::{Locator, Mesh};
use rsf_io::Job;

/// The treatment of a point outside the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// It is moved to the nearest place of the mesh if that is less than half an element away; otherwise the
    /// run ends.
    Move,
    /// It is left out.
    Leave,
    /// The run ends.
    Error,
}

/// Checks points, and counts those outside.
pub struct Outside<'a, const D: usize> {
    locator: Locator<'a, D>,
    rule: Rule,
    moved: usize,
    /// The number of these points that have a fixed place on an axis, so that they cannot be left out.
    fixed: usize,
    /// The largest distance (m), and the name of its point.
    farthest: (f64, String),
    left: Vec<String>,
}

impl<'a, const D: usize> Outside<'a, D> {
    /// Reads outside=.
    pub fn new(job: &Job, mesh: &'a Mesh<D>) -> anyhow::Result<Self> {
        Ok(Self {
            locator: Locator::new(mesh),
            rule: match job.choice("outside")? {
                "leave" => Rule::Leave,
                "error" => Rule::Error,
                _ => Rule::Move,
            },
            moved: 0,
            fixed: 0,
            farthest: (0.0, String::new()),
            left: Vec::new(),
        })
    }

    /// True if a place without ground above it may still be moved or left out.
    pub fn is_lenient(&self) -> bool {
        self.rule != Rule::Error
    }

    /// The place of the point `name`; `None` if it is left out.
    ///
    /// # Errors
    /// Returns an error for a point that is too far away or, with outside=error, any point outside.
    pub fn place(&mut self, name: &str, x: [f64; D]) -> anyhow::Result<Option<[f64; D]>> {
        let Err(fault) = self.locator.locate(name, x) else {
            return Ok(Some(x));
        };
        match self.rule {
            Rule::Error => Err(fault.into()),
            Rule::Leave => {
                self.left.push(name.to_string());
                Ok(None)
            }
            Rule::Move => {
                let Some((nearest, distance)) = self.locator.within_reach(x) else {
                    bail!(
                        "{fault}; points less than half an element away are moved{}: move the point, remove \
                        it from its file, or enlarge the mesh",
                        match D {
                            3 => {
                                ", and outside=leave leaves out all points of cmt=, force=, quakeml= and stations= \
                                that are outside"
                            }
                            _ => "",
                        }
                    );
                };
                self.moved += 1;
                if distance > self.farthest.0 {
                    self.farthest = (distance, name.to_string());
                }
                Ok(Some(nearest))
            }
        }
    }

    /// The places of points of sou= or rec=, none of which can be left out, because their axis has a fixed place for
    /// each.
    ///
    /// # Errors
    /// Returns the errors of [`Self::place`], and an error for a point outside with outside=leave.
    pub fn places(&mut self, name: &str, points: Vec<[f64; D]>) -> anyhow::Result<Vec<[f64; D]>> {
        let mut settled = Vec::with_capacity(points.len());
        let before = self.moved;
        for (k, x) in points.into_iter().enumerate() {
            match self.place(&format!("{name} {}", k + 1), x)? {
                Some(x) => settled.push(x),
                None => bail!(
                    "{name} {} is outside the mesh, and outside=leave leaves out {}, because the points of sou= and \
                    rec= have fixed places on an axis: remove the point from its file, or enlarge the \
                    mesh (outside=move moves points that are less than half an element away)",
                    k + 1,
                    match D {
                        3 => "only points of cmt=, force=, quakeml= and stations=",
                        _ => "no points in 2-D",
                    }
                ),
            }
        }
        self.fixed += self.moved - before;
        Ok(settled)
    }

    /// Warns of points that were moved and of points that were left out.
    pub fn warn(&self, job: &Job) {
        let points = |count: usize| if count == 1 { "point" } else { "points" };
        if self.moved > 0 {
            let (distance, name) = &self.farthest;
            let leave = match self.fixed {
                0 => ", outside=leave leaves them out",
                _ => "",
            };
            job.warn(&format!(
                "{} {} outside the mesh moved to the nearest place in it, by at most {distance:.4e} m \
                ({name}); outside=error ends such a run{leave}",
                self.moved,
                points(self.moved)
            ));
        }
        if let Some(first) = self.left.first() {
            job.warn(&format!(
                "{} {} outside the mesh left out, the first of which is {first}",
                self.left.len(),
                points(self.left.len())
            ));
        }
    }
}
