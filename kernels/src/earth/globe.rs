//! Positions on the globe, and chunks of the cubed sphere (Ronchi, Iacono & Paolucci 1996).

use std::f64::consts::FRAC_PI_2;

/// One minus the squared eccentricity of the ellipsoid WGS84: tan(geocentric latitude) / tan(geographic latitude).
const GEOCENTRIC: f64 = 0.993_305_620_009_858_7;

/// The geocentric latitude that corresponds to a geographic latitude, both in degrees.
pub fn geocentric(latitude: f64) -> f64 {
    // At the poles both latitudes are equal, but the tangent is too large to be exact.
    if latitude.abs() >= 90.0 {
        return latitude;
    }
    (GEOCENTRIC * latitude.to_radians().tan()).atan().to_degrees()
}

/// Geocentric x, y, z (m) of a point given by geocentric latitude and longitude (degrees) and radius (m).
pub fn position(latitude: f64, longitude: f64, radius: f64) -> [f64; 3] {
    Frame::at(latitude, longitude).up.map(|c| c * radius)
}

/// Epicentral distance of two positions (geocentric x, y, z), in degrees.
pub fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    let across = [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ];
    let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    across
        .iter()
        .map(|c| c * c)
        .sum::<f64>()
        .sqrt()
        .atan2(dot)
        .to_degrees()
}

/// The local unit vectors at a position, in geocentric x, y, z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Away from the centre of the Earth.
    pub up: [f64; 3],
    /// Northwards along the meridian.
    pub north: [f64; 3],
    /// Eastwards along the parallel.
    pub east: [f64; 3],
}

impl Frame {
    /// The unit vectors at a geocentric latitude and longitude, in degrees.
    pub fn at(latitude: f64, longitude: f64) -> Self {
        let (st, ct) = latitude.to_radians().sin_cos();
        let (sp, cp) = longitude.to_radians().sin_cos();
        Self {
            up: [ct * cp, ct * sp, st],
            north: [-st * cp, -st * sp, ct],
            east: [-sp, cp, 0.0],
        }
    }

    /// Rotates a symmetric tensor from the axes r, theta, phi (up, south, east; components rr tt pp rt rp tp, the
    /// order of the Global CMT catalogue) to the geocentric axes x, y, z.
    pub fn tensor(&self, [rr, tt, pp, rt, rp, tp]: [f64; 6]) -> [[f64; 3]; 3] {
        let axes = [self.up, self.north.map(|c| -c), self.east];
        let own = [[rr, rt, rp], [rt, tt, tp], [rp, tp, pp]];
        std::array::from_fn(|i| {
            std::array::from_fn(|k| {
                let pairs = (0..3).flat_map(|a| (0..3).map(move |b| (a, b)));
                pairs.map(|(a, b)| own[a][b] * axes[a][i] * axes[b][k]).sum()
            })
        })
    }
}

/// A chunk of the cubed sphere, parametrised by angles along two great circles through its centre.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Unit vectors at the chunk's centre: upwards, and along the two great circles.
    axes: [[f64; 3]; 3],
    /// Half of the widths, radians.
    half: [f64; 2],
}

impl Chunk {
    /// A chunk around a geocentric latitude and longitude. Its first axis points to the east and its second one to
    /// the north, both rotated by `turn` counter-clockwise as seen from above. All angles are in degrees; widths must
    /// be below 180.
    pub fn new(latitude: f64, longitude: f64, turn: f64, widths: [f64; 2]) -> Self {
        let frame = Frame::at(latitude, longitude);
        let (s, c) = turn.to_radians().sin_cos();
        let mix = |a: f64, b: f64| std::array::from_fn(|k| a * frame.east[k] + b * frame.north[k]);
        Self {
            axes: [frame.up, mix(c, s), mix(-s, c)],
            half: widths.map(|w| w.to_radians() / 2.0),
        }
    }

    /// Geocentric x, y, z (m) of the point at these fractions (-1 to 1) of the half widths and at a radius (m).
    pub fn position(&self, parts: [f64; 2], radius: f64) -> [f64; 3] {
        let [a, b] = std::array::from_fn(|k| (parts[k] * self.half[k]).tan());
        let scale = radius / (1.0 + a * a + b * b).sqrt();
        let [up, first, second] = self.axes;
        std::array::from_fn(|c| scale * (up[c] + a * first[c] + b * second[c]))
    }

    /// The solid angle in steradians. The volume between two radii is a third of it times the difference of their
    /// cubes.
    pub fn solid_angle(&self) -> f64 {
        // This is the solid angle of a pyramid whose base is a rectangle in the tangent plane.
        let [a, b] = self.half.map(f64::tan);
        let top = a * b / (1.0 + a * a + b * b).sqrt();
        4.0 * top.atan()
    }

    /// The angle (radians) that the chunk spans along its first axis.
    pub fn arc(&self) -> f64 {
        2.0 * self.half[0].min(FRAC_PI_2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: [f64; 3], b: [f64; 3], size: f64) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-14 * size)
    }

    #[test]
    fn places_and_their_frames_are_those_of_an_atlas() {
        assert!(close(position(0.0, 90.0, 2.0), [0.0, 2.0, 0.0], 2.0));
        assert!(close(position(90.0, 17.0, 2.0), [0.0, 0.0, 2.0], 2.0));
        let frame = Frame::at(30.0, 40.0);
        let h = 1e-4;
        let step =
            |a: [f64; 3], b: [f64; 3], by: f64| -> [f64; 3] { std::array::from_fn(|c| (a[c] - b[c]) / by) };
        let north = step(
            position(30.0 + h, 40.0, 1.0),
            position(30.0 - h, 40.0, 1.0),
            2.0 * h.to_radians(),
        );
        let east = step(
            position(30.0, 40.0 + h, 1.0),
            position(30.0, 40.0 - h, 1.0),
            2.0 * h.to_radians(),
        );
        let close = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(close(frame.north, north));
        assert!(close(frame.east, east.map(|c| c / 30.0_f64.to_radians().cos())));
        // Geographic and geocentric latitudes differ most, by 11.5 minutes of arc, at 45 degrees.
        assert!((45.0 - geocentric(45.0) - 0.19242).abs() < 1e-5);
        assert_eq!(geocentric(-90.0), -90.0);
        assert!((distance(position(10.0, 20.0, 1.0), position(10.0, 21.0, 5.0)) - 0.984_8).abs() < 1e-4);
    }

    #[test]
    fn a_tensor_keeps_its_trace_and_what_it_does_along_its_axes() {
        let frame = Frame::at(-13.82, -67.25);
        let m = [1.0, -2.0, 0.5, 3.0, -0.7, 0.2];
        let whole = frame.tensor(m);
        assert!((whole[0][0] + whole[1][1] + whole[2][2] + 0.5).abs() < 1e-14);
        let along = |a: [f64; 3], b: [f64; 3]| -> f64 {
            (0..3)
                .flat_map(|i| (0..3).map(move |k| (i, k)))
                .map(|(i, k)| a[i] * whole[i][k] * b[k])
                .sum()
        };
        let south = frame.north.map(|c| -c);
        let products = [
            along(frame.up, frame.up),
            along(south, south),
            along(frame.east, frame.east),
            along(frame.up, south),
            along(frame.up, frame.east),
            along(south, frame.east),
        ];
        products
            .iter()
            .zip(m)
            .for_each(|(a, b)| assert!((a - b).abs() < 1e-14));
    }

    #[test]
    fn six_chunks_of_a_right_angle_are_the_sphere() {
        let chunk = Chunk::new(20.0, -60.0, 15.0, [90.0; 2]);
        assert!((6.0 * chunk.solid_angle() - 4.0 * std::f64::consts::PI).abs() < 1e-13);
        assert!((chunk.arc() - FRAC_PI_2).abs() < 1e-15);
        let (middle, side) = (chunk.position([0.0; 2], 5.0), chunk.position([1.0, 0.0], 5.0));
        assert!(close(middle, position(20.0, -60.0, 5.0), 5.0));
        assert!((distance(middle, side) - 45.0).abs() < 1e-12);
        // After a rotation by a right angle, the first axis points to the north.
        let turned = Chunk::new(20.0, -60.0, 90.0, [30.0; 2]);
        assert!(close(
            turned.position([1.0, 0.0], 5.0),
            position(35.0, -60.0, 5.0),
            5.0
        ));
    }
}
