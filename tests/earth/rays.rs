//! Travel times of rays through a radial model, computed only from its layers: T(p) and D(p) are sums over thin shells
//! in which the speed is a power of the radius (Bullen), so that both have closed forms there.

use kernels::earth::Radial;

/// The wave type of a leg, which determines its speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wave {
    P,
    S,
}

/// Thin shells of a model above a radius, from the top down: radii (m) and speeds (m/s) at top and bottom.
pub struct Shells {
    shells: Vec<[f64; 4]>,
    floor: f64,
}

impl Shells {
    /// Shells above the radius `floor`, at most `step` (m) thick.
    pub fn new(model: &Radial, wave: Wave, floor: f64, step: f64) -> Self {
        let mut shells = Vec::new();
        for layer in model.layers().iter().rev().filter(|layer| layer.top > floor) {
            let low = layer.bottom.max(floor);
            let n = ((layer.top - low) / step).ceil() as usize;
            let middle = (low + layer.top) / 2.0;
            let at = |k: usize| layer.top - (layer.top - low) * k as f64 / n as f64;
            let speed = |r: f64| {
                let m = model.seen_from(middle, r);
                if wave == Wave::P { m.vpv } else { m.vsv }
            };
            shells.extend((0..n).map(|k| [at(k), at(k + 1), speed(at(k)), speed(at(k + 1))]));
        }
        Self { shells, floor }
    }

    /// Time (s) and angle (rad) of a leg between two radii, or from the higher radius down to the turning point, for
    /// the ray parameter r sin i / v (s). `None` if the ray does not reach the other radius.
    fn leg(&self, p: f64, from: f64, down_to: Option<f64>) -> Option<[f64; 2]> {
        let (mut time, mut angle) = (0.0, 0.0);
        let foot = down_to.unwrap_or(self.floor);
        for [top, bottom, fast, slow] in &self.shells {
            let (mut r1, mut r2) = (*top, *bottom);
            let (mut v1, mut v2) = (*fast, *slow);
            if r2 >= from || r1 <= foot {
                continue;
            }
            let power = (v2 / v1).ln() / (r2 / r1).ln();
            let speed = |r: f64| fast * (r / top).powf(power);
            let clipped = (r1.min(from), r2.max(foot));
            (v1, v2) = (speed(clipped.0), speed(clipped.1));
            (r1, r2) = clipped;
            let (e1, e2) = (r1 / v1, r2 / v2);
            if p >= e1 {
                return down_to.is_none().then_some([time, angle]);
            }
            // eta = r / v is proportional to r to the power 1 - b: with cos i = sqrt(1 - p2 / eta2), T and D are
            // differences divided by 1 - b.
            let b = 1.0 - power;
            let ends = |e: f64| {
                let root = (1.0 - (p / e).powi(2)).max(0.0).sqrt();
                (e * root, (p / e).min(1.0).acos())
            };
            let turns = p >= e2;
            let (one, two) = (ends(e1), if turns { (0.0, 0.0) } else { ends(e2) });
            time += (one.0 - two.0) / b;
            angle += (one.1 - two.1) / b;
            if turns {
                return down_to.is_none().then_some([time, angle]);
            }
        }
        down_to.is_some().then_some([time, angle])
    }

    /// Time and angle of a ray that goes down from a source at radius `from`, turns (or is reflected at `floor`), and
    /// comes up to the surface.
    fn down_and_up(&self, p: f64, from: f64, reflected: bool) -> Option<[f64; 2]> {
        let foot = reflected.then_some(self.floor);
        let (own, whole) = (self.leg(p, from, foot)?, self.leg(p, self.shells[0][0], foot)?);
        Some([own[0] + whole[0], own[1] + whole[1]])
    }

    /// The first arrival (s) at a distance (degrees) from a source at a radius (m): direct upgoing rays, and downgoing
    /// rays that turn, or are reflected at the bottom of the shells.
    pub fn first(&self, from: f64, distance: f64, reflected: bool) -> Option<f64> {
        let top = self.shells[0][0];
        let expected = distance.to_radians();
        let own = self.shells.iter().find(|s| s[1] < from && from <= s[0]);
        let most = own.map_or(0.0, |s| {
            from / (s[2] + (s[3] - s[2]) * (s[0] - from) / (s[0] - s[1]))
        });
        let n = 20_000;
        let mut best: Option<f64> = None;
        let mut take = |curve: &dyn Fn(f64) -> Option<[f64; 2]>| {
            let mut before: Option<[f64; 2]> = None;
            for k in 0..=n {
                let now = curve(most * (k as f64 / n as f64 * std::f64::consts::FRAC_PI_2).sin());
                if let (Some(a), Some(b)) = (before, now)
                    && (a[1] - expected) * (b[1] - expected) <= 0.0
                    && (a[1] - b[1]).abs() < 0.05
                {
                    let part = if a[1] == b[1] {
                        0.0
                    } else {
                        (expected - a[1]) / (b[1] - a[1])
                    };
                    let time = a[0] + part * (b[0] - a[0]);
                    best = Some(best.map_or(time, |t: f64| t.min(time)));
                }
                before = now;
            }
        };
        take(&|p| self.down_and_up(p, from, reflected));
        if !reflected {
            take(&|p| self.leg(p, top, Some(from)));
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_through_prem_are_those_of_published_tables() {
        let model = Radial::prem(true);
        let (p, s) = (
            Shells::new(&model, Wave::P, 3.48e6, 5e3),
            Shells::new(&model, Wave::S, 3.48e6, 5e3),
        );
        // Vertically down and back: twice the sum of thickness over speed, in PREM 936 seconds for ScS and 511 seconds
        // for PcP.
        let vertical = |shells: &Shells| shells.first(6.371e6, 0.01, true).unwrap();
        println!("PcP {:.2} s, ScS {:.2} s", vertical(&p), vertical(&s));
        assert!((vertical(&p) - 511.3).abs() < 1.5, "{}", vertical(&p));
        assert!((vertical(&s) - 935.5).abs() < 3.0, "{}", vertical(&s));
        // In a homogeneous ball, rays are straight.
        let ball = Radial::new(vec![kernels::earth::Layer {
            bottom: 0.0,
            top: 6e6,
            profile: kernels::earth::Profile::Formula(|_| {
                kernels::earth::Matter::isotropic(3000.0, 8000.0, 4500.0, [1.0; 2])
            }),
        }])
        .unwrap();
        let straight = Shells::new(&ball, Wave::P, 1e6, 5e4);
        for (from, distance) in [(6e6, 40.0_f64), (5.5e6, 20.0), (5.5e6, 60.0)] {
            let c = distance.to_radians().cos();
            let exact = (from * from + 3.6e13 - 2.0 * from * 6e6 * c).sqrt() / 8000.0;
            let time = straight.first(from, distance, false).unwrap();
            println!("straight rays: {:.1e}", time / exact - 1.0);
            assert!((time / exact - 1.0).abs() < 1e-4, "{time} {exact}");
        }
    }
}
