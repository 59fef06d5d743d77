//! The table of stiffness coefficients: their Voigt indices, their names, and their order in memory and in files.
//!
//! All code that depends on the order looks coefficients up here by Voigt indices: the CPU formulas, the macros of the
//! kernel sources, the checks of a model, and the programs that read and write planes.
//!
//! The arrays of a medium are in *memory order*. It begins with the coefficients of a medium whose symmetry planes are
//! the coordinate planes, so that the index of a coefficient does not depend on whether the others are present. Files
//! of four or nine planes have that order, too; files of all coefficients contain the upper triangle row by row.

/// Row and column of a coefficient in the upper triangle of the 6x6 matrix, counted from 1.
/// 1 = xx, 2 = yy, 3 = zz, 4 = yz, 5 = zx, 6 = xy.
pub type Pair = (usize, usize);

/// The set of coefficients that a cell of a model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coefficients {
    /// Nine in 3-D, four in 2-D (x-z): the coordinate planes are symmetry planes.
    Orthorhombic,
    /// 21 in 3-D; six in 2-D, where x-z is the only symmetry plane.
    All,
}

/// The coefficients of a kind of model in memory order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Voigt indices.
    pub pairs: &'static [Pair],
    /// Names, such as `c11`.
    pub names: &'static [&'static str],
    ndim: usize,
}

macro_rules! table {
    ($ndim:literal: $($i:literal $j:literal),*) => {
        Table { pairs: &[$(($i, $j)),*], names: &[$(concat!("c", $i, $j)),*], ndim: $ndim }
    };
}

const ALL_2D: Table = table!(2: 1 1, 3 3, 5 5, 1 3, 1 5, 3 5);
#[rustfmt::skip]
const ALL_3D: Table = table!(3:
    1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 1 2, 1 3, 2 3,
    1 4, 1 5, 1 6, 2 4, 2 5, 2 6, 3 4, 3 5, 3 6, 4 5, 4 6, 5 6);

impl Coefficients {
    /// Number of coefficients of a cell in 2 or 3 dimensions.
    pub const fn count(self, ndim: usize) -> usize {
        match (self, ndim) {
            (Self::Orthorhombic, 3) => 9,
            (Self::Orthorhombic, _) => 4,
            (Self::All, 3) => 21,
            (Self::All, _) => 6,
        }
    }

    /// The set with this number of coefficients, if there is one.
    pub fn of_count(ndim: usize, count: usize) -> Option<Self> {
        [Self::Orthorhombic, Self::All]
            .into_iter()
            .find(|kind| kind.count(ndim) == count)
    }

    /// The coefficients of a cell in 2 or 3 dimensions.
    pub fn table(self, ndim: usize) -> Table {
        let all = if ndim == 3 { ALL_3D } else { ALL_2D };
        let count = self.count(ndim);
        Table {
            pairs: &all.pairs[..count],
            names: &all.names[..count],
            ..all
        }
    }
}

impl Table {
    /// Number of coefficients.
    #[allow(clippy::len_without_is_empty)] // no table is empty
    pub const fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Index in memory order of each plane of a file.
    pub fn file_order(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.len()).collect();
        if self.len() == Coefficients::All.count(self.ndim) {
            places.sort_by_key(|&k| self.pairs[k]);
        }
        places
    }

    /// Names of the planes of a file, in order.
    pub fn file_names(&self) -> Vec<&'static str> {
        self.file_order().into_iter().map(|k| self.names[k]).collect()
    }
}

/// Index of a coefficient in memory order, which is the same for all models.
///
/// # Panics
/// Panics if a model of this dimension has no such coefficient; in a constant this is a compile-time error.
pub const fn slot(ndim: usize, (i, j): Pair) -> usize {
    let pairs = if ndim == 3 { ALL_3D.pairs } else { ALL_2D.pairs };
    let mut k = 0;
    while k < pairs.len() {
        if pairs[k].0 == i && pairs[k].1 == j {
            return k;
        }
        k += 1;
    }
    panic!("no coefficient with these Voigt numbers in this dimension");
}

/// Indices in memory order as a symmetric matrix over Voigt indices minus one: a table of [`slot`] for inner loops.
/// Coefficients that a model of this dimension does not have are [`usize::MAX`].
pub const fn slots(ndim: usize) -> [[usize; 6]; 6] {
    let pairs = if ndim == 3 { ALL_3D.pairs } else { ALL_2D.pairs };
    let mut places = [[usize::MAX; 6]; 6];
    let mut k = 0;
    while k < pairs.len() {
        let (i, j) = pairs[k];
        places[i - 1][j - 1] = k;
        places[j - 1][i - 1] = k;
        k += 1;
    }
    places
}

/// Voigt index of the stress or strain component of two axes (0 = x, 1 = y, 2 = z).
pub const fn number(a: usize, b: usize) -> usize {
    if a == b { a + 1 } else { 7 - a - b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_numbers_and_no_coefficient_is_missing() {
        for (ndim, numbers) in [(2, &[1, 3, 5][..]), (3, &[1, 2, 3, 4, 5, 6])] {
            let all = Coefficients::All.table(ndim);
            let mut sorted = all.pairs.to_vec();
            sorted.sort_unstable();
            let upper = numbers
                .iter()
                .flat_map(|&i| numbers.iter().filter(move |&&j| j >= i).map(move |&j| (i, j)));
            assert_eq!(sorted, upper.collect::<Vec<_>>());
            for (k, (&(i, j), name)) in all.pairs.iter().zip(all.names).enumerate() {
                assert_eq!(*name, format!("c{i}{j}"));
                assert_eq!(slot(ndim, (i, j)), k);
                assert_eq!([slots(ndim)[i - 1][j - 1], slots(ndim)[j - 1][i - 1]], [k; 2]);
            }
        }
    }

    #[test]
    fn orders_of_files() {
        let names = |ndim, kind: Coefficients| kind.table(ndim).file_names().join(" ");
        assert_eq!(names(2, Coefficients::Orthorhombic), "c11 c33 c55 c13");
        assert_eq!(names(2, Coefficients::All), "c11 c13 c15 c33 c35 c55");
        assert_eq!(
            names(3, Coefficients::Orthorhombic),
            "c11 c22 c33 c44 c55 c66 c12 c13 c23"
        );
        assert_eq!(
            names(3, Coefficients::All),
            "c11 c12 c13 c14 c15 c16 c22 c23 c24 c25 c26 c33 c34 c35 c36 c44 c45 c46 c55 c56 c66"
        );
    }

    #[test]
    fn numbers_of_axes() {
        assert_eq!([number(0, 0), number(2, 2), number(1, 2)], [1, 3, 4]);
        assert_eq!([number(2, 0), number(0, 1)], [5, 6]);
    }
}
