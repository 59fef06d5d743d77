//! The part of a grid on one of several devices: whole planes.

use super::super::Number;
use super::super::program::Discrete;
use crate::Error;
use crate::methods::velocity_stress::GHOST;
use crate::methods::velocity_stress::rows::NONE;
use std::ops::Range;

/// The planes of a device, numbered as in the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planes {
    /// Planes that the device computes.
    pub own: Range<usize>,
    /// Planes in its memory: the planes that it computes and, at a cut, some of its neighbour's.
    pub memory: Range<usize>,
}

impl Planes {
    /// Cuts a grid for `devices` devices. Cuts lie at least as far from the absorbing layers across planes as a
    /// derivative reaches, so that no memory variables are exchanged, and at even planes, so that mechanisms which
    /// alternate from plane to plane do so on every device.
    ///
    /// # Errors
    /// Returns an error if the grid has too few planes for this number of devices.
    pub fn cut<T: Number>(program: &Discrete<T>, devices: usize) -> Result<Vec<Self>, Error> {
        let all = program.rows.padded.planes();
        Self::cut_between(
            (all, &program.rows.planes),
            (&without_layers(program), program.setup.half),
            devices,
        )
    }

    /// Cuts a grid of `all` planes, of which `live` are computed and `inside` lie in no layer, with derivatives that
    /// reach `half` planes.
    ///
    /// # Errors
    /// Returns the errors of [`Planes::cut`].
    pub fn cut_between(
        (all, live): (usize, &Range<usize>),
        (inside, half): (&Range<usize>, usize),
        devices: usize,
    ) -> Result<Vec<Self>, Error> {
        let (first, last) = (inside.start + half, inside.end.saturating_sub(half) / 2 * 2);
        let mut cuts = vec![0];
        for k in 1..devices {
            let even_cut = (live.start + live.len() * k / devices).next_multiple_of(2);
            let least = first.max(cuts[k - 1] + 2 * GHOST).next_multiple_of(2);
            cuts.push(even_cut.min(last).max(least));
        }
        cuts.push(all);
        let fits = |two: &[usize]| two[1] >= two[0] + 2 * GHOST;
        if devices == 0 || (devices > 1 && !(cuts.windows(2).all(fits) && cuts[devices - 1] <= last)) {
            return Err(Error::setup(format!(
                "{devices} devices cannot share the {all} planes of the grid (frame included): each takes {} at least, and cuts lie {half} planes or more from the absorbing layers across them; use fewer devices for a shot",
                2 * GHOST
            )));
        }
        let planes = cuts.windows(2).map(|two| Self {
            own: two[0]..two[1],
            memory: two[0].saturating_sub(GHOST)..(two[1] + GHOST).min(all),
        });
        Ok(planes.collect())
    }

    /// The planes that the device computes, numbered as in its memory.
    pub fn local(&self) -> Range<usize> {
        self.own.start - self.memory.start..self.own.end - self.memory.start
    }

    /// Splits a range of planes, numbered as in memory: those within `reach` of the cut below, those beyond `reach`
    /// of any cut, and those within `reach` of the cut above.
    pub fn apart(&self, planes: Range<usize>, reach: usize) -> [Range<usize>; 3] {
        let local = self.local();
        let mut inside = planes.clone();
        if self.memory.start < self.own.start {
            inside.start = (local.start + reach).clamp(planes.start, planes.end);
        }
        if self.own.end < self.memory.end {
            inside.end = local.end.saturating_sub(reach).clamp(inside.start, planes.end);
        }
        [planes.start..inside.start, inside.clone(), inside.end..planes.end]
    }

    /// The part of a program on these planes.
    pub fn of<'a, T: Number>(&'a self, program: &'a Discrete<T>) -> LocalProgram<'a, T> {
        LocalProgram {
            program,
            planes: self,
        }
    }

    /// The planes of a range that the device computes, numbered as in its memory.
    pub fn within(&self, range: &Range<usize>) -> Range<usize> {
        let start = range.start.clamp(self.own.start, self.own.end);
        let end = range.end.clamp(start, self.own.end);
        start - self.memory.start..end - self.memory.start
    }
}

/// The computed planes that lie in no layer.
fn without_layers<T: Number>(program: &Discrete<T>) -> Range<usize> {
    let live = program.rows.planes.clone();
    let Some((_, number)) = program.layers.lines(2) else {
        return live;
    };
    let framed = |line: &usize| number[*line] != NONE;
    let low = live.start + live.clone().take_while(framed).count();
    low..low + (low..live.end).take_while(|line| !framed(line)).count()
}

/// A program with the planes of a device.
#[derive(Clone, Copy)]
pub struct LocalProgram<'a, T: Number> {
    pub program: &'a Discrete<T>,
    pub planes: &'a Planes,
}

impl<'a, T: Number> LocalProgram<'a, T> {
    /// Number of dimensions, 2 or 3.
    pub fn ndim(&self) -> usize {
        self.program.ndim()
    }

    /// Number of planes in the memory of the device.
    pub fn count(&self) -> usize {
        self.planes.memory.len()
    }

    /// Length of a field on the device.
    pub fn len(&self) -> usize {
        self.count() * self.program.rows.padded.plane_len()
    }

    /// Number of rows on the device.
    pub fn rows(&self) -> usize {
        self.count() * self.program.rows.padded.rows()
    }

    /// The cells that the device computes, numbered as in its memory: along z, rows, planes.
    pub fn live(&self) -> [Range<usize>; 3] {
        let rows = &self.program.rows;
        [
            rows.z.clone(),
            rows.rows.clone(),
            self.planes.within(&rows.planes),
        ]
    }

    /// Index at which a row of a plane of the grid begins in a field on the device.
    pub fn at(&self, plane: usize, row: usize) -> usize {
        self.program.rows.at(plane - self.planes.memory.start, row)
    }

    /// The part on the device of an array with `a_plane` numbers for each plane of the grid.
    pub fn part<'b, N>(&self, all: &'b [N], a_plane: usize) -> &'b [N] {
        &all[self.planes.memory.start * a_plane..self.planes.memory.end * a_plane]
    }

    /// The part of a field on the device.
    pub fn field<'b>(&self, all: &'b [T]) -> &'b [T] {
        self.part(all, self.program.rows.padded.plane_len())
    }
}

#[cfg(test)]
mod tests {
    use super::Planes;

    /// A device stores four planes of each neighbour; a derivative extends over two.
    #[test]
    fn planes_that_need_a_neighbour_lie_beside_cuts() {
        let between = |own: [usize; 2], memory: [usize; 2], planes: [usize; 2]| {
            let [own, memory, planes] = [own, memory, planes].map(|[start, end]| start..end);
            Planes { own, memory }
                .apart(planes, 2)
                .map(|range| [range.start, range.end])
        };
        assert_eq!(between([10, 20], [6, 24], [4, 14]), [[4, 6], [6, 12], [12, 14]]);
        // At an end of the grid there is no neighbour; the first three planes are a rim.
        assert_eq!(between([0, 10], [0, 14], [3, 10]), [[3, 3], [3, 8], [8, 10]]);
        assert_eq!(between([10, 20], [6, 20], [4, 11]), [[4, 6], [6, 11], [11, 11]]);
        // These planes are too few to have cells that need no neighbour.
        assert_eq!(between([10, 13], [6, 17], [4, 7]), [[4, 6], [6, 6], [6, 7]]);
    }

    /// Layers that leave a single place for a cut let two devices share the grid.
    #[test]
    fn the_only_place_between_layers_is_cut() {
        let cut = |inside: std::ops::Range<usize>, devices: usize| {
            Planes::cut_between((16, &(0..16)), (&inside, 2), devices)
        };
        let two = cut(6..10, 2).unwrap();
        assert_eq!([two[0].own.clone(), two[1].own.clone()], [0..8, 8..16]);
        assert!(cut(6..9, 2).is_err() && cut(6..10, 3).is_err());
    }
}
