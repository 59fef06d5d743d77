//! Sources and receivers inside the layer of sponge=, which damps their waves.

use super::advice::{Whose, number_of};
use kernels::mesh::Mesh;
use kernels::mesh::geometry::{difference, dot, length};
use rsf_io::Job;
use std::collections::HashMap;

/// An absorbing face as a disk: its centre, directions along it at right angles to each other, and the distance to its
/// farthest corner. The damping is that of such disks, too.
struct Disk<const D: usize> {
    centre: [f64; D],
    along: Vec<[f64; D]>,
    radius: f64,
}

impl<const D: usize> Disk<D> {
    fn new(centre: [f64; D], corners: &[[f64; D]]) -> Self {
        let mut along: Vec<[f64; D]> = Vec::new();
        for corner in &corners[1..D] {
            let mut side = difference(*corner, corners[0]);
            for other in &along {
                let part = dot(side, *other);
                side = difference(side, other.map(|x| part * x));
            }
            let size = length(side);
            along.push(side.map(|x| x / size));
        }
        let distances = corners.iter().map(|corner| length(difference(*corner, centre)));
        Self {
            centre,
            along,
            radius: distances.fold(0.0, f64::max),
        }
    }

    fn distance(&self, x: [f64; D]) -> f64 {
        let apart = difference(x, self.centre);
        let squares = self.along.iter().map(|side| dot(apart, *side).powi(2));
        let along = squares.sum::<f64>();
        let across = (dot(apart, apart) - along).max(0.0);
        (across + (along.sqrt() - self.radius).max(0.0).powi(2)).sqrt()
    }
}

/// The layer: the absorbing faces, sorted by their centres into boxes in which no face reaches beyond the next box.
struct Layer<const D: usize> {
    thickness: f64,
    size: f64,
    boxes: HashMap<[i64; D], Vec<Disk<D>>>,
}

impl<const D: usize> Layer<D> {
    fn new(mesh: &Mesh<D>, thickness: f64) -> Self {
        let disk = |side| {
            let corners = mesh.face_corners(side);
            let corners: Vec<_> = corners.iter().map(|node| mesh.nodes()[*node as usize]).collect();
            Disk::new(mesh.face_centre(side), &corners)
        };
        let disks: Vec<Disk<D>> = mesh.absorbing().iter().map(|side| disk(*side)).collect();
        let size = thickness + disks.iter().map(|disk| disk.radius).fold(0.0, f64::max);
        let mut layer = Self {
            thickness,
            size,
            boxes: HashMap::new(),
        };
        for disk in disks {
            let at = layer.at(disk.centre);
            layer.boxes.entry(at).or_default().push(disk);
        }
        layer
    }

    fn at(&self, x: [f64; D]) -> [i64; D] {
        x.map(|x| (x / self.size).floor() as i64)
    }

    fn holds(&self, x: [f64; D]) -> bool {
        let at = self.at(x);
        (0..3_i64.pow(D as u32)).any(|mut k| {
            let near = std::array::from_fn(|c| {
                let step = k % 3 - 1;
                k /= 3;
                at[c] + step
            });
            let disks = self.boxes.get(&near);
            disks.is_some_and(|disks| disks.iter().any(|disk| disk.distance(x) < self.thickness))
        })
    }
}

/// Warns of sources and receivers, or points of a map, in the sponge.
pub fn in_sponge<const D: usize>(
    job: &Job,
    (mesh, thickness): (&Mesh<D>, f64),
    (shots, whose): (&[[Vec<[f64; D]>; 2]], Whose),
) {
    let layer = Layer::new(mesh, thickness);
    let cure = match whose {
        Whose::Map => "give the map a smaller window (oqx=, dqx=, nqx= and so on), or make the mesh larger",
        _ => "move them out of it, make the mesh larger, or give a smaller sponge=",
    };
    let lists = match whose {
        Whose::Map => &[(1, Whose::Map)][..],
        _ => &[(0, Whose::Sources), (1, Whose::Receivers)],
    };
    for (list, whose) in lists {
        let mut held = Vec::new();
        for (shot, points) in shots.iter().enumerate() {
            let numbers = points[*list].iter().enumerate().filter(|(_, x)| layer.holds(**x));
            held.extend(numbers.map(|(number, _)| (shot, number)));
        }
        if let Some(first) = held.first() {
            job.warn(&format!(
                "{} within {thickness} m of an absorbing side (the first is {}), in the sponge, where waves are damped: {cure}",
                whose.are(held.len()),
                number_of(*first, shots.len())
            ));
        }
    }
}
