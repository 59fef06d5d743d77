//! Receivers, common to all methods: the quantity that they record.

/// The quantity that receivers record. A method refuses a quantity that it cannot record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quantity {
    /// Displacement z, x, y in m.
    #[default]
    Displacement,
    /// Velocity z, x, y in m/s.
    Velocity,
    /// Acceleration z, x, y in m/s2.
    Acceleration,
    /// Pressure in Pa: on grids it is minus the mean of the normal stresses; on meshes it is the pressure of fluids,
    /// and zero in solids.
    Pressure,
    /// Strain zz, xx, yy, zx, zy, xy (2-D: zz, xx, zx) as components of the tensor, with extension positive: a shear
    /// strain is half the change of an angle.
    Strain,
    /// Rotation about z, x, y (2-D: about y) in rad: half the curl of the displacement; x, y, z form a right-handed
    /// system.
    Rotation,
    /// Divergence and curl of the displacement.
    Potentials,
    /// The readings from which several of these quantities are computed.
    Readings(Readings),
}

/// The readings taken in a step, in this order: velocities, pressure, rates of strain and of rotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// Velocities, from which displacements and accelerations are computed.
    pub velocity: bool,
    /// Pressure, from the normal stresses.
    pub pressure: bool,
    /// Rates of strain.
    pub strain: bool,
    /// Rates of rotation.
    pub rotation: bool,
    /// Whether snapshots hold the pressure.
    pub pressure_snapshots: bool,
}

impl Readings {
    /// The quantities that are read; for a strain or a rotation, their rates.
    pub fn all(self) -> impl Iterator<Item = Quantity> {
        let all = [
            (self.velocity, Quantity::Velocity),
            (self.pressure, Quantity::Pressure),
            (self.strain, Quantity::Strain),
            (self.rotation, Quantity::Rotation),
        ];
        all.into_iter()
            .filter(|(is_read, _)| *is_read)
            .map(|(_, quantity)| quantity)
    }
}

impl Quantity {
    /// The displacement, or its divergence and curl.
    pub fn of_displacement(potentials: bool) -> Self {
        match potentials {
            true => Self::Potentials,
            false => Self::Displacement,
        }
    }

    /// Number of components of a trace in a model of this dimension.
    pub fn components(self, ndim: usize) -> usize {
        match self {
            Self::Pressure => 1,
            Self::Strain => ndim * (ndim + 1) / 2,
            Self::Rotation => 2 * ndim - 3,
            Self::Potentials => 2 * ndim - 2,
            Self::Readings(readings) => readings.all().map(|q| q.components(ndim)).sum(),
            Self::Displacement | Self::Velocity | Self::Acceleration => ndim,
        }
    }
}
