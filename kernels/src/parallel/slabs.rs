//! The division of the slowest axis into slabs. This is arithmetic only.

use super::halo::{Link, Traffic};
use crate::time_loop::Part;
use crate::{Error, Hint, message};
use std::ops::Range;

/// What a method requires of slabs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cutting {
    /// Smallest number of planes of a slab, and smallest number of planes of an edge, which is computed before halos
    /// are exchanged.
    pub least: usize,
    /// Number of planes at either end of the grid that must be updated together.
    pub face: usize,
    /// Ratio of the cost of a plane of the frame to the cost of a plane of the model.
    pub frame_cost: f64,
}

/// One slab of the grid, and the parts in which it is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slab {
    /// Its number among all slabs of the run, the lowest planes first.
    pub number: usize,
    /// The planes that the slab owns, in padded indices.
    pub own: Range<usize>,
    /// Planes next to the lower neighbour, which waits for their new values (and the whole face if they touch it);
    /// empty without a lower neighbour.
    pub low_edge: Range<usize>,
    /// Planes next to the upper neighbour, which likewise waits for them; empty without an upper neighbour.
    pub high_edge: Range<usize>,
    /// The remaining planes.
    pub interior: Range<usize>,
}

impl Cutting {
    /// Divides `planes` planes into `slabs` slabs of nearly equal thickness (the first slabs receive one plane more).
    ///
    /// # Errors
    /// Returns an error if there are too few planes, or no slabs.
    pub fn partition(&self, planes: usize, slabs: usize) -> Result<Vec<Slab>, Error> {
        self.fits(planes, slabs)?;
        let (thin, rest) = (planes / slabs, planes % slabs);
        let sizes: Vec<usize> = (0..slabs).map(|k| thin + usize::from(k < rest)).collect();
        self.cut(planes, &sizes)
    }

    /// Divides `planes` planes, `frame` of which on either side belong to the frame, into one slab for each of
    /// `speeds`, so that all take the same time: a fast device receives more planes, and so does a device that has part
    /// of the frame.
    ///
    /// # Errors
    /// Returns an error if there are too few planes, or no speeds.
    pub fn balance(&self, planes: usize, frame: usize, speeds: &[f64]) -> Result<Vec<Slab>, Error> {
        self.fits(planes, speeds.len())?;
        let inside = frame.min(planes)..planes.saturating_sub(frame);
        let cost = |plane: usize| {
            if inside.contains(&plane) {
                1.0
            } else {
                self.frame_cost
            }
        };
        let whole: f64 = (0..planes).map(cost).sum();
        let all: f64 = speeds.iter().sum();
        let (mut sizes, mut start, mut passed, mut target) = (Vec::new(), 0, 0.0, 0.0);
        for (k, speed) in speeds.iter().enumerate() {
            target += whole * speed / all;
            // Enough planes must be left for the following slabs.
            let last = planes - self.least * (speeds.len() - 1 - k);
            let mut end = start;
            while end < last && (end < start + self.least || passed + cost(end) / 2.0 <= target) {
                passed += cost(end);
                end += 1;
            }
            sizes.push(end - start);
            start = end;
        }
        if let Some(size) = sizes.last_mut() {
            *size += planes - start;
        }
        self.cut(planes, &sizes)
    }

    /// Checks that there are enough planes for this number of slabs.
    fn fits(&self, planes: usize, slabs: usize) -> Result<(), Error> {
        let (least, most) = (self.least, (planes / self.least).max(1));
        if slabs == 0 || slabs > most {
            return Err(Error::setup(message![
                format!(
                    "{slabs} slabs do not fit {planes} planes (frame included): a slab needs at least {least} planes, so 1 to {most} "
                ),
                Hint::Slabs,
            ]));
        }
        Ok(())
    }

    /// Divides `planes` planes into slabs of the given thicknesses.
    ///
    /// # Errors
    /// Returns an error if the thicknesses do not add up to `planes`, or a slab is too thin.
    pub fn cut(&self, planes: usize, sizes: &[usize]) -> Result<Vec<Slab>, Error> {
        let least = self.least;
        if sizes.iter().sum::<usize>() != planes || (sizes.len() > 1 && sizes.iter().any(|&s| s < least)) {
            return Err(Error::setup(format!(
                "slabs of {sizes:?} planes do not make up {planes} planes of at least {least} each"
            )));
        }
        let mut start = 0;
        let mut slabs = Vec::with_capacity(sizes.len());
        for (k, size) in sizes.iter().enumerate() {
            let own = start..start + size;
            slabs.push(self.walk((k, own), planes, (k > 0, k + 1 < sizes.len()), least));
            start += size;
        }
        Ok(slabs)
    }

    /// The same slab, of a grid of `planes` planes, with edges of another thickness. Faces stay undivided.
    pub fn with_edges(&self, slab: &Slab, planes: usize, edge: usize) -> Slab {
        let both = (slab.own.start > 0, slab.own.end < planes);
        self.walk((slab.number, slab.own.clone()), planes, both, edge)
    }

    /// Slab `number` with edges of `edge` planes (at least the planes that are exchanged). `below` and `above` indicate
    /// whether it has neighbours there.
    fn walk(
        &self,
        (number, own): (usize, Range<usize>),
        planes: usize,
        (below, above): (bool, bool),
        edge: usize,
    ) -> Slab {
        let edge = edge.max(self.least).min(own.len());
        let mut low = own.start..if below { own.start + edge } else { own.start };
        let mut high = if above { own.end - edge } else { own.end }..own.end;
        // A face is never divided, because its values must be final before they are sent.
        if low.end > planes - self.face.min(planes) && !low.is_empty() {
            low.end = own.end;
        }
        if high.start < self.face && !high.is_empty() {
            high.start = own.start;
        }
        high.start = high.start.max(low.end);
        let interior = low.end..high.start;
        Slab {
            number,
            own,
            low_edge: low,
            high_edge: high,
            interior,
        }
    }
}

impl Slab {
    /// Number of neighbours in a grid of `planes` planes: 0, 1 or 2.
    pub fn neighbours(&self, planes: usize) -> usize {
        usize::from(self.own.start > 0) + usize::from(self.own.end < planes)
    }

    /// The links to the slabs below and above in a grid of `planes` planes. The exchanged memory holds fields
    /// `[field][ghost + own + ghost planes]` with `plane` numbers per plane; `stages` lists the fields of which
    /// `ghost` planes are exchanged after each stage.
    pub fn links(&self, planes: usize, (ghost, plane): (usize, usize), stages: &[Vec<usize>]) -> Vec<Link> {
        let (own, field) = (self.own.len(), (self.own.len() + 2 * ghost) * plane);
        let at = |f: usize, first: usize| f * field + first * plane..f * field + (first + ghost) * plane;
        let link = |neighbour: usize, send: usize, receive: usize| Link {
            neighbour,
            stages: stages
                .iter()
                .map(|fields| Traffic {
                    send: fields.iter().map(|&f| at(f, send)).collect(),
                    receive: fields.iter().map(|&f| at(f, receive)).collect(),
                })
                .collect(),
        };
        let below = (self.own.start > 0).then(|| link(self.number - 1, ghost, 0));
        let above = (self.own.end < planes).then(|| link(self.number + 1, own, ghost + own));
        below.into_iter().chain(above).collect()
    }

    /// The planes of a snapshot window, in padded indices, that this slab owns.
    fn of_window(&self, window: &Range<usize>) -> Range<usize> {
        let start = self.own.start.max(window.start);
        start..self.own.end.min(window.end).max(start)
    }

    /// The ranges of one component of a snapshot that this slab owns; empty if it has no plane of the window.
    pub fn snapshot_share(&self, window: &[Range<usize>; 3], ndim: usize) -> Vec<Range<usize>> {
        let (lower, planes) = (&window[..ndim - 1], &window[ndim - 1]);
        let own = self.of_window(planes);
        if own.is_empty() {
            return Vec::new();
        }
        let plane: usize = lower.iter().map(Range::len).product();
        let share = (own.start - planes.start) * plane..(own.end - planes.start) * plane;
        [share].into()
    }

    /// Number of pieces of at most `most` planes into which this slab's share of a snapshot window is divided.
    pub fn pieces(&self, window: &Range<usize>, most: usize) -> usize {
        self.of_window(window).len().div_ceil(most.max(1))
    }

    /// The planes of a piece, in padded indices.
    pub fn piece(&self, window: &Range<usize>, most: usize, piece: usize) -> Range<usize> {
        let planes = self.of_window(window);
        let start = planes.start + piece * most.max(1);
        start..planes.end.min(start + most.max(1))
    }

    /// Whether the slab has neighbours, so that its edges are computed separately.
    pub fn is_cut(&self) -> bool {
        self.interior != self.own
    }

    /// The planes of a part of the slab in a stage, lowest first.
    pub fn part(&self, part: Part) -> impl Iterator<Item = Range<usize>> + use<> {
        let ranges = match part {
            Part::Boundary => [self.low_edge.clone(), self.high_edge.clone()],
            Part::Interior => [self.interior.clone(), 0..0],
        };
        ranges.into_iter().filter(|planes| !planes.is_empty())
    }

    /// The edges that are not empty.
    pub fn edges(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        self.part(Part::Boundary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: usize = 8;
    const FACE: usize = 5;
    const COST: f64 = 0.87;
    const SLABS: Cutting = Cutting {
        least: LEAST,
        face: FACE,
        frame_cost: COST,
    };

    #[test]
    fn slabs_are_done_together() {
        let sizes = |planes, frame, speeds: &[f64]| -> Vec<usize> {
            let slabs = SLABS.balance(planes, frame, speeds).unwrap();
            slabs.iter().map(|s| s.own.len()).collect()
        };
        assert_eq!(sizes(600, 0, &[1.0; 3]), [200, 200, 200]);
        assert_eq!(sizes(600, 0, &[1.0, 2.0, 3.0]), [100, 200, 300]);
        // The frame has 2 x 96 planes, so the outer slabs receive more planes.
        let four = sizes(2432, 96, &[1.0; 4]);
        assert_eq!((four[0], four[1]), (four[3], four[2]));
        let cost = |k: usize| four[k] as f64 - if k == 0 { 96.0 * (1.0 - COST) } else { 0.0 };
        assert!(four[0] > four[1] && (cost(0) - cost(1)).abs() < 2.0, "{four:?}");
        // Slabs have at least the smallest thickness for any speeds.
        assert_eq!(sizes(24, 4, &[1.0, 1e-9, 1.0]), [8, 8, 8]);
        assert_eq!(sizes(30, 4, &[1e-9, 1.0, 1e-9]), [8, 14, 8]);
        for planes in 9..120 {
            for count in 1..=planes / LEAST {
                let sizes = sizes(planes, 20, &vec![1.0; count]);
                assert_eq!(sizes.iter().sum::<usize>(), planes);
                assert!(count == 1 || sizes.iter().all(|&s| s >= LEAST), "{sizes:?}");
            }
            assert!(SLABS.balance(planes, 4, &vec![1.0; planes / LEAST + 1]).is_err() || planes / LEAST == 0);
        }
    }

    #[test]
    fn parts_tile_every_slab_and_faces_stay_whole() {
        for planes in 9..120 {
            for count in 1..=planes / LEAST {
                let slabs = SLABS.partition(planes, count).unwrap();
                let mut next = 0;
                for s in &slabs {
                    assert_eq!(s.own.start, next);
                    next = s.own.end;
                    assert_eq!((s.low_edge.start, s.high_edge.end), (s.own.start, s.own.end));
                    assert_eq!(
                        (s.low_edge.end, s.high_edge.start),
                        (s.interior.start, s.interior.end)
                    );
                    let wide = SLABS.with_edges(s, planes, planes / 3);
                    assert_eq!(s.neighbours(planes), s.links(planes, (LEAST, 1), &[]).len());
                    // Edges have at least as many planes as are exchanged.
                    for edge in [0, LEAST - 1, LEAST] {
                        assert_eq!(SLABS.with_edges(s, planes, edge), *s);
                    }
                    assert_eq!(
                        (wide.own.clone(), wide.low_edge.start),
                        (s.own.clone(), s.own.start)
                    );
                    assert_eq!(
                        (wide.low_edge.end, wide.high_edge.start, wide.high_edge.end),
                        (wide.interior.start, wide.interior.end, s.own.end)
                    );
                    let parts = s.edges().chain([s.interior.clone()]);
                    let parts = parts.chain(wide.edges()).chain([wide.interior.clone()]);
                    for part in parts.filter(|r| !r.is_empty()) {
                        for face in [0..FACE, planes - FACE..planes] {
                            let inside = face.clone().filter(|p| part.contains(p)).count();
                            assert!(
                                inside == 0 || inside == face.len().min(planes),
                                "{planes} {count} {part:?}"
                            );
                        }
                    }
                }
                assert_eq!(next, planes);
            }
            assert!(SLABS.partition(planes, planes / LEAST + 1).is_err() || planes / LEAST == 0);
        }
    }
}
