//! Spectral elements on accelerators: one kernel for the elements of each kind of medium, another for the points. All
//! code here is generic over [`Accelerator`], so that tests can run it on a processor.
//!
//! The contributions of an element to its points are stored separately until a kernel over the points sums them in the
//! order of the global element numbers, so the result does not depend on the order in which threads, streams or
//! devices work. Velocities are kept half a step behind displacements, so that a step reads and writes each of them
//! once; the end of a step is computed from them only when it is read, and gives the same bits as continuing at once.
//!
//! | what | file |
//! | --- | --- |
//! | forces of elements, memory variables | `elements.cu`, `columns.cu` |
//! | the same in perfectly matched layers | `layers.cu`, `layers.rs` |
//! | sums, absorbing faces, contacts, the step | `nodes.cuh`, `nodes.cu` |
//! | sources, receivers, snapshots | `points.cu`, `record.rs` |
//! | choice of the kernel source | `variant.rs` |
//! | tables for the kernels | `tables.rs`, `dressed.rs` |
//! | their memory and launches | `field.rs`, `sources.rs`, `part.rs` |
//! | other shots over the same mesh | `next_shot.rs` |
//! | gradients: both wavefields, their products, derivatives of sums | `adjoint.rs`, `machine.rs`, `wavefield.rs`, `watched.rs`, `products.rs`, `pairing.rs`, `paired.rs`, `products.cu`, `gradient.cu` |
//! | linearised runs: the forces of a perturbation of the medium | `linearised.rs`, `gradient.cu` |

mod adjoint;
mod arguments;
mod dressed;
mod field;
mod halo;
mod layers;
mod linearised;
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
use super::{Number, Setup, Shot};
use crate::device::accelerator::Accelerator;
use crate::mesh::step::Law;
use crate::mesh::{Locator, Order};
use crate::parallel::group::Group;
use crate::{Error, Message, message};
use std::ops::Range;
use std::sync::Arc;
use variant::Kind;

/// A number of the host as devices hold it.
#[allow(clippy::unnecessary_cast)] // in unit tests processors compute in double precision
fn single(x: Number) -> f32 {
    x as f32
}

/// Numbers of the host as devices hold them.
fn singles(numbers: &[Number]) -> Vec<f32> {
    numbers.iter().copied().map(single).collect()
}

/// Approximate bytes of memory of all devices together for a run on a mesh with `points` points, without recording.
/// When a subdomain is set up, its exact need is checked against the memory of its device.
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
    // An element has point numbers, forces and places; a point has three levels, a mass, a target and the start of its
    // places.
    let of_element = all + all * D + all - inside + shape + relaxing + medium + 1;
    let of_point = 3 * D + 3;
    // Perfectly matched layers have coefficients, masses of the modal filter and memory variables for each of their
    // axes.
    let pairs: u32 = match setup.pml {
        Some(_) => (0..setup.mesh.len())
            .map(|element| setup.damped_axes(element).count_ones())
            .sum(),
        None => 0,
    };
    let of_pair = all * (4 + 2 * D);
    (setup.mesh.len() * of_element + points * of_point + pairs as usize * of_pair) * size_of::<f32>()
}

/// A run on the subdomains `own` of a mesh, one on each of these accelerators; the counterpart of
/// [`super::subdomains`] on processors.
///
/// # Errors
/// Returns the errors of [`super::subdomains`], and an error for insufficient device memory, and kernels that do not
/// compile.
pub fn subdomains<const D: usize, A: Accelerator>(
    accelerators: &[Arc<A>],
    setup: &Setup<D>,
    shot: &Shot<D>,
    (parts, own): (&[Range<usize>], Range<usize>),
) -> Result<Group<DevicePart<D, A>>, Error> {
    let (cut, locator) = (Cut::new(setup, parts)?, Locator::new(setup.mesh));
    let part =
        |(number, a): (usize, &Arc<A>)| DevicePart::new(a.clone(), setup, shot, (&cut, &locator, number));
    let group_parts: Result<Vec<_>, Error> = own.zip(accelerators).map(part).collect();
    Group::new(group_parts?, shot.schedule())
}

/// Prepares the subdomains of a run for another shot over the same mesh, starting from rest, with other sources and
/// receivers. All other fields of `setup` and `shot` must be unchanged.
///
/// # Errors
/// Returns the errors of [`subdomains`]; after an error the subdomains are unusable.
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

/// Returns an error if fewer than `needed` bytes are free on the device; `way` suggests a remedy.
fn fits<A: Accelerator>(a: &A, needed: usize, (what, way): (&str, Message)) -> Result<(), Error> {
    let free = a.free_bytes()?;
    if needed <= free {
        return Ok(());
    }
    let device = a.properties();
    Err(Error::setup(
        message![format!(
            "GPU {} {} ({}) has too little memory for {what}: {:.2} GB are needed, {:.2} GB are free; ",
            device.number,
            device.name,
            device.architecture,
            needed as f64 / 1e9,
            free as f64 / 1e9
        )]
        .and(way),
    ))
}
