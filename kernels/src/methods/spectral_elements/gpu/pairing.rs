//! The kernel source that sums the products of a gradient.

use super::arguments::STEPS;
use super::variant::{ATTENUATION, Block, COMMON, ELEMENTS, Kind, MOST_SHARED, Variant, numbers, source};
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

    /// The size of a block, in which a thread has one point.
    pub fn block(&self) -> Block {
        Block::of(self.elements.points())
    }

    /// The number of fields whose slopes are computed: those of both wavefields and, with all mechanisms at every
    /// point, the adjoint field at the end of the previous step.
    fn fields(&self) -> usize {
        2 + usize::from(self.elements.loss == Some(Grain::Fine))
    }

    /// Bytes of shared memory of a block that shares this many fields and their slopes along every axis.
    fn shared_by(&self, fields: usize) -> usize {
        let e = &self.elements;
        self.block().elements * (1 + e.dimension) * fields * e.components() * e.points() * size_of::<f32>()
    }

    /// The number of fields that are shared at the same time (`TOGETHER` of products.cu).
    fn together(&self) -> usize {
        match self.shared_by(self.fields()) <= MOST_SHARED {
            true => self.fields(),
            false => 1,
        }
    }

    /// The largest number of steps whose products one launch adds: 1 with memory variables, which exist for one step
    /// only.
    pub fn batch(&self) -> usize {
        if self.elements.loss.is_some() { 1 } else { STEPS }
    }

    /// Bytes of shared memory of a block.
    pub fn shared(&self) -> usize {
        self.shared_by(self.together())
    }

    /// Number of blocks per multiprocessor for which registers are limited: with seven, 28 warps hide the latency of
    /// memory variables, and no registers are spilled. Variants without them are not faster with such a limit.
    fn blocks(&self) -> usize {
        let e = &self.elements;
        match (e.loss.is_some(), e.dimension, e.degree) {
            (true, 3, 4) => 7,
            _ => 1,
        }
    }

    /// Kernel `products`.
    pub fn source(&self, basis: &Basis) -> Source {
        let e = &self.elements;
        let mut defines = e.defines(self.block());
        defines.extend([
            ("LINES", 0),
            ("AT_ONCE", 0),
            ("DAMPED", 0),
            ("TOGETHER", self.together()),
            ("CONSTANTS", usize::from(self.constants)),
            ("ADVANCED", 1),
            ("OWN_LOSS", usize::from(e.varies)),
        ]);
        let bounds = format!(
            "#ifndef CUDA_ON_CPU\n#undef BOUNDS\n#define BOUNDS __launch_bounds__(THREADS, {})\n#endif",
            self.blocks()
        );
        let (loss, vector) = if e.loss.is_some() {
            (ATTENUATION, 2)
        } else {
            ("", 1)
        };
        let texts = [
            &bounds,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A block fits every device: 48 KiB of shared memory, and 1024 threads.
    #[test]
    fn blocks_fit_every_device() {
        for (dimension, degree) in [2, 3].into_iter().flat_map(|d| (2..=8).map(move |n| (d, n))) {
            for kind in [Kind::Isotropic, Kind::Table, Kind::Fluid] {
                for loss in [None, Some(Grain::Fine), Some(Grain::Coarse)] {
                    let elements = Variant {
                        dimension,
                        degree,
                        kind,
                        stored: false,
                        loss: loss.filter(|_| kind != Kind::Fluid),
                        varies: false,
                        layers: 0,
                    };
                    let pairing = Pairing::new(elements, kind == Kind::Table);
                    assert!(pairing.shared() <= MOST_SHARED, "{pairing:?}");
                    assert!(pairing.block().threads <= 1024, "{pairing:?}");
                    assert_eq!(pairing.fields() % pairing.together(), 0, "{pairing:?}");
                }
            }
        }
    }
}
