//! The kernel source that sums the products of a gradient.

use super::arguments::STEPS;
use super::variant::{ATTENUATION, BANKS, COMMON, ELEMENTS, Kind, MOST_SHARED, Variant, numbers, source};
use crate::device::accelerator::Source;
use crate::mesh::Basis;
use crate::methods::spectral_elements::Grain;

const PRODUCTS: &str = include_str!("products.cu");

/// The products that a gradient sums at the points of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pairing {
    /// The variant of their elements, without the options that do not matter to the sums.
    pub elements: Variant,
    /// Whether derivatives are with respect to the constants of solids.
    pub constants: bool,
}

impl Pairing {
    /// The products for the elements of a launch outside perfectly matched layers.
    pub fn new(elements: Variant, constants: bool) -> Self {
        // Variants that differ only in options on which the sums do not depend share one kernel.
        let elements = Variant {
            kind: match elements.kind {
                Kind::Fluid => Kind::Fluid,
                _ => Kind::Isotropic,
            },
            varies: elements.varies && elements.loss.is_some(),
            ..elements
        };
        Self {
            elements,
            constants: constants && elements.kind != Kind::Fluid,
        }
    }

    /// The number of sums at a point of an element.
    pub fn width(&self) -> usize {
        let strains = self.elements.dimension * (self.elements.dimension + 1) / 2;
        match (self.elements.kind, self.constants, self.elements.loss) {
            (Kind::Fluid, ..) => 1,
            (_, true, None) => strains * (strains + 1) / 2,
            (_, true, Some(_)) => strains * (strains + 1) / 2 + 2,
            (_, _, Some(_)) => 4,
            _ => 2,
        }
    }

    /// The floats that an element keeps in shared memory for one field and the slopes of both (`PAIR` of products.cu).
    fn seat(&self) -> usize {
        let e = &self.elements;
        let filled = (2 * e.dimension - 1) * e.components() * e.sheet() * (e.degree + 1);
        filled + (2 * BANKS + e.sheet() % BANKS - filled % BANKS) % BANKS
    }

    /// Whether a launch takes one step after the other (`IN_TURN` of products.cu): if whole fields fit into shared
    /// memory and the geometry is computed.
    fn in_turn(&self) -> bool {
        let e = &self.elements;
        let fits = e.block().elements * self.seat() * size_of::<f32>() <= MOST_SHARED;
        e.loss.is_none() && !e.stored && e.degree >= 4 && fits
    }

    /// The number of groups into which the products of an element are divided among blocks (`GROUPS` of products.cu):
    /// the sums of all constants need too many registers.
    pub fn groups(&self) -> usize {
        if self.constants && self.in_turn() { 2 } else { 1 }
    }

    /// The largest number of steps whose products one launch adds: 1 with memory variables, which exist for one step
    /// only, and 2 where the columns of more steps need too many registers.
    pub fn batch(&self) -> usize {
        match (self.elements.loss, self.in_turn()) {
            (Some(_), _) => 1,
            (None, true) => STEPS,
            (None, false) => 2,
        }
    }

    /// Bytes of shared memory of a block.
    pub fn shared(&self) -> usize {
        let e = &self.elements;
        if self.in_turn() {
            return e.block().elements * self.seat() * size_of::<f32>();
        }
        let fields = 2 + usize::from(e.loss == Some(Grain::Fine));
        let slopes = if e.loss.is_some() {
            (e.degree + 1).pow(2)
        } else {
            0
        };
        (e.block().elements * fields * e.components() * e.sheet() + slopes) * size_of::<f32>()
    }

    /// Kernel `products`.
    pub fn source(&self, basis: &Basis) -> Source {
        let e = &self.elements;
        let mut defines = e.defines(e.block());
        defines.extend([
            ("LINES", usize::from(self.in_turn())),
            ("AT_ONCE", 0),
            ("DAMPED", 0),
            ("BATCH", self.batch()),
            ("CONSTANTS", usize::from(self.constants)),
            ("ADVANCED", 1),
            ("OWN_LOSS", usize::from(e.varies)),
        ]);
        let bounds = "#ifndef CUDA_ON_CPU\n#undef BOUNDS\n#define BOUNDS __launch_bounds__(THREADS)\n#endif";
        let (loss, vector) = if e.loss.is_some() {
            (ATTENUATION, 2)
        } else {
            ("", 1)
        };
        let texts = [
            bounds,
            &numbers(basis),
            &e.shares(basis),
            COMMON,
            loss,
            ELEMENTS,
            PRODUCTS,
        ];
        source(
            ("products.cu", vector),
            (e.dimension, basis.len()),
            &defines,
            &texts,
        )
    }
}
