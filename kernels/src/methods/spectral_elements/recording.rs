//! The recording of a subdomain, and the description of its elements.

use super::Number;
use std::collections::VecDeque;
use std::ops::Range;

use super::cut::{Share, ranges};
use super::pml;
use super::points::Receiver;
use super::{Quantity, Setup, Shot};
use crate::mesh::step::Law;
use crate::mesh::{Location, Locator, Place};
use crate::{Error, Hint, message};

/// Receivers and snapshot points in a subdomain's own elements.
pub(super) struct Recording<const D: usize> {
    /// The quantity of the receivers.
    pub(super) quantity: Quantity,
    /// The total number of receivers.
    pub(super) count: usize,
    /// The receivers of the subdomain with their numbers, in ascending order.
    pub(super) receivers: Vec<(usize, Receiver<D>)>,
    /// The quantity of snapshots.
    pub(super) snapshot_quantity: Quantity,
    /// The ranges of the points of snapshots in this subdomain.
    pub(super) snapshot_ranges: Vec<Range<usize>>,
    /// The points of these ranges; `None` outside the mesh.
    pub(super) snapshot_points: Vec<Option<Receiver<D>>>,
    pub(super) pieces: VecDeque<Vec<Number>>,
    /// Global numbers of the points, in ascending order, and the ranges of the points that no lower subdomain has.
    pub(super) global: Vec<u32>,
    pub(super) owned: Vec<Range<usize>>,
    /// The subdomain's elements, in ascending order, with their regions and centres.
    pub(super) elements: Vec<(u32, u32, [f64; D])>,
    /// Number of points and of elements of the whole mesh.
    pub(super) whole: [usize; 2],
    /// Mechanisms per point; 0 without attenuation.
    pub(super) mechanisms: usize,
    /// The elements of the whole mesh in perfectly matched layers, of solids and of fluids, each once for every axis
    /// of its layers.
    pub(super) layers: [Vec<(u32, u32)>; 2],
    /// Descriptions of the media of the regions.
    media: Vec<String>,
}

/// The kinds of arrays of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// A field of all points.
    Points,
    /// Memory variables of attenuation, by elements.
    Relaxing,
    /// Memory variables of perfectly matched layers, by pairs of an element and an axis: 0 for solids, 1 for fluids.
    Layers(usize),
}

impl<const D: usize> Recording<D> {
    /// Finds the receivers and the snapshot points that lie in the subdomain's elements.
    ///
    /// # Errors
    /// Returns an error for a receiver outside the mesh, and for a quantity that only other methods can record.
    pub(super) fn new(
        setup: &Setup<D>,
        shot: &Shot<D>,
        share: &Share<'_>,
        (points, locator): (usize, &Locator<'_, D>),
    ) -> Result<Self, Error> {
        if matches!(shot.quantity, Quantity::Potentials | Quantity::Readings(_)) {
            return Err(Error::setup(format!(
                "{:?} is not recorded on meshes",
                shot.quantity
            )));
        }
        let points_of = |element: usize| share.owns(element).then(|| share.element(element));
        let receivers = receivers(setup, shot, locator, points_of)?;
        let (mut numbers, mut snapshot_points) = (Vec::new(), Vec::new());
        for (number, at) in shot.snapshot_points.iter().enumerate() {
            let location = locator.find(*at);
            // Points outside the mesh belong to no subdomain: the first one writes zeros there.
            let mine = location
                .as_ref()
                .map_or(share.number == 0, |f| share.owns(f.element));
            if mine {
                let receiver = |f: &Location<D>| {
                    Receiver::new(setup, share.element(f.element), f, shot.snapshot_quantity())
                };
                numbers.push(number as u32);
                snapshot_points.push(location.as_ref().map(receiver));
            }
        }
        let element = |e: &u32| {
            let region = setup.mesh.regions()[*e as usize];
            (*e, region, setup.mesh.centre(*e as usize))
        };
        Ok(Self {
            quantity: shot.quantity,
            count: shot.receivers.len(),
            receivers,
            snapshot_quantity: shot.snapshot_quantity(),
            snapshot_ranges: ranges(numbers.into_iter()),
            snapshot_points,
            pieces: VecDeque::new(),
            owned: share.owned_points(),
            global: share.global.clone(),
            elements: share.elements.iter().map(element).collect(),
            whole: [points, setup.mesh.len()],
            mechanisms: setup.relaxations.map_or(0, |all| all.grain.mechanisms()),
            layers: [false, true].map(|is_fluid| pml::pairs(setup, is_fluid)),
            media: (0..setup.media.len())
                .map(|region| medium(setup, region))
                .collect(),
        })
    }

    /// Replaces the receivers by another shot's.
    pub(super) fn take(&mut self, shot: &Shot<D>, receivers: Vec<(usize, Receiver<D>)>) {
        (self.quantity, self.count) = (shot.quantity, shot.receivers.len());
        self.receivers = receivers;
    }

    /// The kind of an array of the state, by its index.
    pub(super) fn array(&self, array: usize, has_fluid: bool) -> Held {
        let points = if has_fluid { 6 } else { 3 };
        if array < points {
            return Held::Points;
        }
        let relaxing = usize::from(self.mechanisms > 0);
        match array - points {
            0 if relaxing == 1 => Held::Relaxing,
            k if k == relaxing && !self.layers[0].is_empty() => Held::Layers(0),
            _ => Held::Layers(1),
        }
    }

    /// The blocks of an array of elements, or of pairs of an element and an axis, that belong to elements of the
    /// subdomain.
    pub(super) fn of_elements(&self, held: Held) -> Vec<Range<usize>> {
        let own = |element: &u32| self.elements.binary_search_by_key(element, |e| e.0).is_ok();
        match held {
            Held::Layers(k) => {
                let pairs = self.layers[k].iter().zip(0u32..);
                ranges(pairs.filter(|(pair, _)| own(&pair.0)).map(|(_, number)| number))
            }
            _ => ranges(self.elements.iter().map(|e| e.0)),
        }
    }

    /// The index of a global point in the subdomain.
    pub(super) fn local(&self, point: usize) -> Option<usize> {
        self.global.binary_search(&(point as u32)).ok()
    }

    pub(super) fn describe(&self, element: u32) -> (String, String) {
        let index = self.elements.binary_search_by_key(&element, |e| e.0);
        let Some((_, region, centre)) = index.ok().map(|k| self.elements[k]) else {
            return (format!("element {element}"), String::new());
        };
        (
            format!("element {element} around {}", Place::from(centre)),
            self.media[region as usize].clone(),
        )
    }
}

/// The receivers, with their numbers, in elements whose points the subdomain has.
///
/// # Errors
/// Returns an error for a receiver outside the mesh, or in a fluid where its quantity cannot be recorded.
pub(super) fn receivers<const D: usize>(
    setup: &Setup<D>,
    shot: &Shot<D>,
    locator: &Locator<'_, D>,
    points_of: impl Fn(usize) -> Option<Vec<u32>>,
) -> Result<Vec<(usize, Receiver<D>)>, Error> {
    let mut receivers = Vec::new();
    for (number, at) in shot.receivers.iter().enumerate() {
        let location = locator.locate(&format!("receiver {}", number + 1), *at)?;
        let location = on_its_side(setup, locator, (shot.quantity, *at), location);
        if shot.quantity.is_of_slopes() && setup.is_fluid(location.element) {
            return Err(Error::setup(message![
                format!(
                    "receiver {} at {} lies in element {}, a fluid, where strain and rotation are not recorded; ",
                    number + 1,
                    Place::from(*at),
                    location.element
                ),
                Hint::Pressure,
                " or move it into a solid",
            ]));
        }
        if let Some(points) = points_of(location.element) {
            receivers.push((number, Receiver::new(setup, points, &location, shot.quantity)));
        }
    }
    Ok(receivers)
}

/// The element in which a quantity is recorded at a position: on a contact of fluid and solid, pressure is recorded
/// in the fluid, strain and rotation in the solid, and everything else in the element that was found.
pub(super) fn on_its_side<const D: usize>(
    setup: &Setup<D>,
    locator: &Locator<'_, D>,
    (quantity, at): (Quantity, [f64; D]),
    location: Location<D>,
) -> Location<D> {
    let wants_fluid = match quantity {
        Quantity::Pressure => true,
        _ if quantity.is_of_slopes() => false,
        _ => return location,
    };
    let is_right = |location: &Location<D>| setup.is_fluid(location.element) == wants_fluid;
    if is_right(&location) {
        return location;
    }
    locator.sharing(at).into_iter().find(is_right).unwrap_or(location)
}

fn medium<const D: usize>(setup: &Setup<D>, region: usize) -> String {
    let (medium, [vp, vs]) = (&setup.media[region], setup.speeds[region]);
    let density = medium.density;
    if setup.points.is_some() {
        return format!("region {region}, a model of every point");
    }
    match medium.law {
        Law::Anisotropic(_) => format!("region {region}, a table of constants, density {density}"),
        _ => format!("region {region}, density {density}, vp {vp}, vs {vs}"),
    }
}
