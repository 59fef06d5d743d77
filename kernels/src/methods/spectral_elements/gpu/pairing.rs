//! Which kernel text sums the products of a gradient.

use super::variant::{ATTENUATION, COMMON, ELEMENTS, Kind, Variant, numbers, source};
use crate::device::accelerator::Source;
use crate::mesh::Basis;
use crate::methods::spectral_elements::Grain;

const PRODUCTS: &str = include_str!("products.cu");

/// The products that a gradient sums at the points of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pairing {
    /// The elements.
    pub elements: Variant,
    /// There is a sponge.
    pub soaked: bool,
    /// Derivatives are by the constants of solids.
    pub constants: bool,
}

impl Pairing {
    /// For the elements of a launch outside of perfectly matched layers.
    pub fn new(elements: Variant, soaked: bool, constants: bool) -> Self {
        // Elements that differ in nothing that the sums need have one kernel.
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
            soaked,
            constants: constants && elements.kind != Kind::Fluid,
        }
    }

    /// Sums of a point.
    pub fn width(&self) -> usize {
        let strains = self.elements.dimension * (self.elements.dimension + 1) / 2;
        let of_slopes = match (self.elements.kind, self.constants, self.elements.loss) {
            (Kind::Fluid, ..) => 1,
            (_, true, None) => strains * (strains + 1) / 2,
            (_, true, Some(_)) => strains * (strains + 1) / 2 + 2,
            (_, _, Some(_)) => 4,
            _ => 2,
        };
        1 + usize::from(self.soaked) + of_slopes
    }

    /// Bytes of shared memory of a block.
    pub fn shared(&self) -> usize {
        let e = &self.elements;
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
            ("LINES", 0),
            ("AT_ONCE", 0),
            ("DAMPED", 0),
            ("SOAKED", usize::from(self.soaked)),
            ("CONSTANTS", usize::from(self.constants)),
            ("ADVANCED", 1),
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
