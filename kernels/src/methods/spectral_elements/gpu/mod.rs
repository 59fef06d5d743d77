//! Spectral elements on accelerators: a kernel for the elements of each kind of medium, another for the points. Everything
//! here speaks to [`Accelerator`], so that the tests can run it on a processor.
//!
//! What an element adds to its points stands in memory of its own until a kernel over the points adds it up, in the order of
//! the global element numbers: no part of a step depends on the order in which threads, streams or devices work. Velocities
//! are kept half a step behind displacements, so that a step reads and writes either once; the end of a step is
//! found from them only where somebody looks at it, and gives the same bits as going on at once.
//!
//! | what | file |
//! | --- | --- |
//! | forces of elements, memory variables | `elements.cu`, `columns.cu` |
//! | the same in perfectly matched layers | `layers.cu`, `layers.rs` |
//! | sums, absorbing faces, contacts, the step | `nodes.cuh`, `nodes.cu` |
//! | sources, receivers, snapshots | `points.cu`, `record.rs` |
//! | which text is compiled | `variant.rs` |
//! | tables for the kernels | `tables.rs`, `dressed.rs` |
//! | their memory and launches | `field.rs`, `sources.rs`, `part.rs` |
//! | other shots over the same mesh | `next_shot.rs` |
//! | gradients: both wavefields, their products, derivatives of sums | `adjoint.rs`, `machine.rs`, `wavefield.rs`, `watched.rs`, `products.rs`, `pairing.rs`, `paired.rs`, `products.cu`, `gradient.cu` |

mod adjoint;
mod arguments;
mod dressed;
mod field;
mod halo;
mod layers;
mod machine;
mod next_shot;
mod paired;
mod pairing;
mod part;
mod plan;
mod products;
mod record;
mod sources;
mod state;
mod tables;
pub mod variant;
mod watched;
mod wavefield;

pub use adjoint::{OnDevice, adjoint};
pub use part::DevicePart;
pub use plan::calibrate;

use super::cut::Cut;
use super::{Setup, Shot};
use crate::Error;
use crate::device::accelerator::Accelerator;
use crate::mesh::step::Law;
use crate::mesh::{Locator, Order};
use crate::parallel::group::Group;
use std::ops::Range;
use std::sync::Arc;
use variant::Kind;

/// Bytes of memory of all devices together that a run takes on a mesh of so many points, about, without what is recorded:
/// what one of them has not is refused, to the byte, when it is set up.
pub fn bytes<const D: usize>(setup: &Setup<D>, points: usize) -> usize {
    let along = setup.basis.len();
    let (all, inside) = (along.pow(D as u32), (along - 2).pow(D as u32));
    let shape = match setup.mesh.order() {
        Order::Linear => D * ((1 << D) - 1),
        Order::Quadratic => all * (D * D + 1),
    };
    let relaxing = match setup.relaxations {
        Some(own) => tables::relaxing(D, all, own.grain.mechanisms()),
        None => 0,
    };
    let medium = match setup.points {
        Some(_) => {
            let table = setup.media.iter().any(|m| matches!(m.law, Law::Anisotropic(_)));
            let kind = if table { Kind::Table } else { Kind::Isotropic };
            let strengths = if relaxing > 0 { 2 } else { 0 };
            all * (tables::numbers_of_law::<D>(kind) + strengths)
        }
        None => 0,
    };
    // Numbers of points, forces, places; then three levels, masses, targets and where their places begin.
    let of_element = all + all * D + all - inside + shape + relaxing + medium + 1;
    let of_point = 3 * D + 3;
    // In perfectly matched layers coefficients, masses of the modal filter and memory variables, for every axis of the layers.
    let pairs: u32 = match setup.pml {
        Some(_) => (0..setup.mesh.len())
            .map(|element| setup.damped_axes(element).count_ones())
            .sum(),
        None => 0,
    };
    let of_pair = all * (4 + 2 * D);
    (setup.mesh.len() * of_element + points * of_point + pairs as usize * of_pair) * size_of::<f32>()
}

/// A run on the subdomains `own` of a mesh, one on each of these accelerators; as [`super::subdomains`], which runs them on
/// processors.
///
/// # Errors
/// As there, and what an accelerator refuses: memory that does not hold its subdomain, kernels that do not compile.
pub fn subdomains<const D: usize, A: Accelerator>(
    accelerators: &[Arc<A>],
    setup: &Setup<D>,
    shot: &Shot<D>,
    (parts, own): (&[Range<usize>], Range<usize>),
) -> Result<Group<DevicePart<D, A>>, Error> {
    let (cut, locator) = (Cut::new(setup, parts)?, Locator::new(setup.mesh));
    let part =
        |(number, a): (usize, &Arc<A>)| DevicePart::new(a.clone(), setup, shot, (&cut, &locator, number));
    let made: Result<Vec<_>, Error> = own.zip(accelerators).map(part).collect();
    Group::new(made?, shot.schedule())
}

/// Makes the subdomains of a run ready for another shot over the same mesh, from rest: other sources and receivers. Everything else of
/// `setup` and `shot` is as it was.
///
/// # Errors
/// As of new ones; the subdomains are of no use then.
pub fn next_shot<const D: usize, A: Accelerator>(
    group: &mut Group<DevicePart<D, A>>,
    setup: &Setup<D>,
    shot: &Shot<D>,
) -> Result<(), Error> {
    let locator = Locator::new(setup.mesh);
    let mut parts = group.subdomains.iter_mut();
    parts.try_for_each(|part| part.next_shot(setup, shot, &locator))?;
    *group.schedule() = shot.schedule();
    Ok(())
}
