//! The masses of points, and the dressed points, which also have a damping and a normal and lie on absorbing faces and
//! on contacts of fluids and solids. All values are summed over all elements of the mesh that touch a point, so that
//! every subdomain has the same values.

use super::{single, singles};
use crate::mesh::geometry::{Matrix, Tabulated};
use crate::methods::spectral_elements::boundary::FacePoint;
use crate::methods::spectral_elements::cut::Share;
use crate::methods::spectral_elements::fluid::{Contact, admittances, free_points, inverse_mass, sponge};
use crate::methods::spectral_elements::mass::{InverseMass, damping};
use crate::methods::spectral_elements::{Lumping, Number, Setup};
use std::collections::BTreeMap;

/// The points of a subdomain in the layout that the kernels read.
#[derive(Clone, Debug, Default)]
pub struct Points {
    /// Inverse mass of every point; zero for points of the other kind and for dressed points.
    pub inverse_mass: Vec<f32>,
    /// The dressed points, in ascending order.
    pub list: Vec<i32>,
    /// The data of dressed points, one after the other, as in nodes.cuh.
    pub dress: Vec<f32>,
    /// Damping of the sponge over the mass of every point; empty without a sponge.
    pub sponge: Vec<f32>,
}

/// Normals out of fluids times area, summed at every point of a contact.
fn normals<const D: usize>(contacts: &[Contact<D>]) -> BTreeMap<u32, [f64; D]> {
    let mut sums = BTreeMap::new();
    for contact in contacts {
        let sum = sums.entry(contact.point).or_insert([0.0; D]);
        (0..D).for_each(|c| sum[c] += contact.normal[c]);
    }
    sums
}

/// Damping divided by mass.
fn over_mass(damping: &[f64], inverse_mass: &[Number]) -> Vec<f32> {
    let all = damping.iter().zip(inverse_mass);
    all.map(|(damping, inverse)| (damping * f64::from(*inverse)) as f32)
        .collect()
}

pub fn of_solids<const D: usize>(
    setup: &Setup<D>,
    share: &Share<'_>,
    table: &Tabulated<D>,
    faces: &[FacePoint<D>],
    contacts: &[Contact<D>],
) -> Points {
    let mass = InverseMass::new(setup, share, table, faces);
    let normals = normals(contacts);
    let mut losses: BTreeMap<u32, Matrix<D>> = BTreeMap::new();
    for face in faces.iter().filter(|p| !setup.is_fluid(p.element as usize)) {
        let sum = losses.entry(face.point).or_insert([[0.0; D]; D]);
        let more = damping(face, Lumping::Matrix);
        (0..D * D).for_each(|k| sum[k / D][k % D] += more[k / D][k % D]);
    }
    let mut points = Points {
        inverse_mass: singles(&mass.diagonal),
        sponge: over_mass(&mass.sponge, &mass.diagonal),
        ..Points::default()
    };
    let mut all: Vec<u32> = losses.keys().chain(normals.keys()).copied().collect();
    all.sort_unstable();
    all.dedup();
    for point in all {
        let whole = mass.matrices.binary_search_by_key(&point, |m| m.0);
        let plain = &mut points.inverse_mass[point as usize];
        let inverse = match whole {
            Ok(k) => mass.matrices[k].1.map(|row| row.map(single)),
            Err(_) => std::array::from_fn(|i| std::array::from_fn(|c| if i == c { *plain } else { 0.0 })),
        };
        *plain = 0.0;
        points.list.push(point as i32);
        points.dress.extend(inverse.as_flattened());
        let mut loss = losses.get(&point).copied().unwrap_or([[0.0; D]; D]);
        if let Some(damping) = mass.sponge.get(point as usize) {
            (0..D).for_each(|c| loss[c][c] += damping);
        }
        let normal = normals.get(&point).copied().unwrap_or([0.0; D]);
        let rest = loss.as_flattened().iter().chain(&normal);
        points.dress.extend(rest.map(|x| *x as f32));
    }
    points
}

/// The points of fluids; points on the free surface have an inverse mass of zero, so their potential stays zero.
pub fn of_fluids<const D: usize>(
    setup: &Setup<D>,
    share: &Share<'_>,
    table: &Tabulated<D>,
    faces: &[FacePoint<D>],
    contacts: &[Contact<D>],
) -> Points {
    let taken = admittances(setup, faces);
    let damping = sponge(setup, share, table);
    let whole = inverse_mass(setup, share, table, (&taken, &damping));
    let mut points = Points {
        sponge: over_mass(&damping, &whole),
        inverse_mass: singles(&whole),
        ..Points::default()
    };
    for free in free_points(setup, share) {
        points.inverse_mass[free as usize] = 0.0;
        points
            .sponge
            .iter_mut()
            .skip(free as usize)
            .take(1)
            .for_each(|s| *s = 0.0);
    }
    let mut all: BTreeMap<u32, (f64, [f64; D])> = BTreeMap::new();
    for (face, admittance) in taken {
        all.entry(face.point).or_insert((0.0, [0.0; D])).0 += admittance;
    }
    for (point, normal) in normals(contacts) {
        all.entry(point).or_insert((0.0, [0.0; D])).1 = normal;
    }
    for (point, (admittance, normal)) in all {
        points.list.push(point as i32);
        let inverse = &mut points.inverse_mass[point as usize];
        let damping = damping.get(point as usize).copied().unwrap_or(0.0);
        points.dress.extend([*inverse, (admittance + damping) as f32]);
        points.dress.extend(normal.map(|n| n as f32));
        *inverse = 0.0;
    }
    points
}
