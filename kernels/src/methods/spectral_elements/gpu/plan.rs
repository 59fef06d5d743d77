//! Measures the speed of a device on meshes similar to the mesh of a run.

use std::sync::Arc;

use super::{bytes, subdomains};
use crate::Error;
use crate::device::accelerator::Accelerator;
use crate::methods::spectral_elements::plan::{side, with_box};
use crate::methods::spectral_elements::{Setup, Shot};
use crate::timing::{Nothing, speed};

/// Approximate number of points of the box, if they fit into memory.
const POINTS: f64 = 1e6;

/// Measures the elements per second of one device within a few seconds on a small box with the medium of most
/// elements of the mesh.
pub fn calibrate<const D: usize, A: Accelerator>(setup: &Setup<D>, device: &Arc<A>) -> Result<f64, Error> {
    let shot = Shot {
        nt: 40,
        ..Shot::default()
    };
    // Bytes per element of the whole mesh; a box needs as many for each of its elements.
    let own = bytes(setup, setup.mesh.len() * setup.basis.degree().pow(D as u32)) / setup.mesh.len().max(1);
    let of_point = own.div_ceil(setup.basis.degree().pow(D as u32));
    let most = device.free_bytes()? / 4 / of_point.max(1);
    with_box(setup, side::<D>(setup, POINTS.min(most as f64)), |setup| {
        let elements = setup.mesh.len();
        let whole = 0..elements;
        let parts = (std::slice::from_ref(&whole), 0..1);
        let mut group = subdomains(std::slice::from_ref(device), setup, &shot, parts)?;
        speed(elements * shot.nt, || group.run(&mut Nothing))
    })
}
