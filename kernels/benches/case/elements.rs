//! A box of elements with its medium, and the bytes that a step moves.

use super::Words;
use kernels::mesh::step::{Law, Medium, steps};
use kernels::mesh::{Basis, Mesh, Order, Parts, cell};
use kernels::methods::spectral_elements::{
    Attenuation, Grain, Lumping, Pml, PointMedium, Relaxation, Setup, Source, Strength,
};

/// A box of `counts` elements of 100 m; all sides but the top absorb. Without `straight` the elements are curved.
fn mesh(counts: [usize; 3], order: Order, straight: bool) -> Mesh<3> {
    let fine = if order == Order::Linear { 1 } else { 2 };
    let sizes = counts.map(|n| fine * n + 1);
    let split = |k: usize, n: [usize; 3]| [k % n[0], k / n[0] % n[1], k / n[0] / n[1]];
    let node = |k: usize| {
        let u = split(k, sizes).map(|i| i as f64 / fine as f64);
        let bend = |c: usize| {
            if straight {
                0.7 * u[c]
            } else {
                u[(c + 1) % 3] + 0.7 * u[c]
            }
        };
        std::array::from_fn(|c| 100.0 * u[c] + 8.0 * bend(c).sin())
    };
    let mut parts = Parts {
        nodes: (0..sizes.iter().product()).map(node).collect(),
        per_element: order.nodes::<3>(),
        regions: vec![0; counts.iter().product()],
        ..Parts::default()
    };
    for element in 0..parts.regions.len() {
        let first = split(element, counts);
        for corner in 0..parts.per_element {
            let place = cell::place::<3>(corner);
            let k: [usize; 3] = std::array::from_fn(|c| fine * first[c] + fine * usize::from(place[c]) / 2);
            parts
                .elements
                .push((k[0] + sizes[0] * (k[1] + sizes[1] * k[2])) as i32);
        }
        for face in 1..cell::faces::<3>() {
            let side = cell::face::<3>(face);
            if first[side.axis] == if side.high { counts[side.axis] - 1 } else { 0 } {
                parts.absorbing.push([element as i32, face as i32]);
            }
        }
    }
    Mesh::new(parts).expect("the box is sound")
}

/// The medium with this name on the command line.
fn medium(word: &str) -> Option<Medium> {
    let mut medium = Medium::isotropic(2300.0, 2800.0, if word == "fluid" { 0.0 } else { 1500.0 });
    match word {
        "iso" | "loss" | "coarse" | "fluid" => {}
        "full" => {
            let modulus = |speed: f64| 2300.0 * speed * speed;
            let (p, s) = (modulus(2800.0), modulus(1500.0));
            let mut table = [[p * 0.01; 6]; 6];
            for i in 0..6 {
                (0..3)
                    .filter(|j| i < 3 && *j != i)
                    .for_each(|j| table[i][j] = p - 2.0 * s);
                table[i][i] = if i < 3 { p } else { s };
            }
            medium.law = Law::Anisotropic(Box::new(table));
        }
        _ => return None,
    }
    Some(medium)
}

pub const LOSS: Relaxation = Relaxation {
    tau_stress: [0.477, 0.095, 0.019],
    tau_shear: [0.563, 0.106, 0.0229],
    tau_bulk: [0.513, 0.0998, 0.0206],
    factors: [1.063, 1.026],
};

/// The case that is measured.
pub struct Case {
    pub mesh: Mesh<3>,
    pub basis: Basis,
    pub law: String,
    medium: Medium,
    points: bool,
    pml: Option<Pml<3>>,
    /// The element in the middle of the box.
    middle: usize,
    dt: f64,
    pub count: usize,
}

impl Case {
    pub fn new(words: &Words, (law, degree): (&str, &str)) -> Self {
        let numbers: Vec<usize> = words
            .text("n", "20,20,16")
            .split(',')
            .map(|w| w.parse().expect("a number"))
            .collect();
        let order = match words.number("order", 1) {
            1 => Order::Linear,
            _ => Order::Quadratic,
        };
        let basis = Basis::new(degree.parse().expect("a number")).expect("degree= is 2 to 8");
        let medium = medium(law).expect("law= is iso, full, loss, coarse or fluid");
        // The step of a small box is used, because its elements are similar to the elements of a large box.
        let layers = words.number("cpml", 0);
        let small = mesh([12; 3], order, layers > 0);
        let bound = steps(&small, &basis, std::slice::from_ref(&medium));
        let mesh = mesh([numbers[0], numbers[1], numbers[2]], order, layers > 0);
        let thickness = 100.0 * layers as f64;
        let pml = (layers > 0).then(|| Pml::along_sides(&mesh, thickness).expect("flat sides"));
        Self {
            mesh,
            pml,
            middle: numbers[0] / 2 + numbers[0] * (numbers[1] / 2 + numbers[1] * (numbers[2] / 2)),
            dt: 0.45 * bound.into_iter().fold(f64::INFINITY, f64::min),
            law: law.into(),
            count: words.number("steps", 80),
            points: words.text("points", "n") == "y",
            basis,
            medium,
        }
    }

    /// The distribution of the mechanisms of attenuation.
    fn grain(&self) -> Option<Grain> {
        match self.law.as_str() {
            "loss" => Some(Grain::Fine),
            "coarse" => Some(Grain::Coarse),
            _ => None,
        }
    }

    pub fn with<R>(&self, run: impl FnOnce(&Setup<3>) -> R) -> R {
        let of_point = PointMedium {
            medium: self.medium.clone(),
            speeds: [2800.0, 1500.0],
            loss: None,
        };
        let points =
            |_: usize, _: usize, positions: &[[f64; 3]]| Some(vec![of_point.clone(); positions.len()]);
        let source = Source {
            at: self.mesh.centre(self.middle),
            strength: Strength::Moment([[1e12, 0.0, 0.0], [0.0, 1e12, 0.0], [0.0, 0.0, 1e12]]),
            history: vec![1.0; self.count],
        };
        run(&Setup {
            mesh: &self.mesh,
            basis: &self.basis,
            media: std::slice::from_ref(&self.medium),
            speeds: &[[2800.0, 1500.0]],
            points: self.points.then_some(&points),
            dt: self.dt,
            relaxations: self.grain().map(|grain| Attenuation {
                grain,
                ..Attenuation::from(std::slice::from_ref(&LOSS))
            }),
            lumping: Lumping::Matrix,
            sponge: None,
            pml: self.pml.as_ref(),
            sources: &[source],
        })
    }

    pub fn speed(&self, seconds: f64) -> f64 {
        (self.mesh.len() * self.count) as f64 / seconds / 1e6
    }

    /// Bytes that a step must move per element of a large mesh, as implemented in elements.cu and nodes.cu: fields of
    /// the points that no other element has read, numbers of all points, forces written and read (if every point has 21
    /// constants, only the forces of shared points), indices and masses, geometry, and memory variables.
    pub fn bytes(&self) -> f64 {
        let (along, degree) = (self.basis.len(), self.basis.degree());
        let [all, inside, own] = [along.pow(3), (along - 2).pow(3), degree.pow(3)].map(|n| n as f64);
        let components = if self.law == "fluid" { 1.0 } else { 3.0 };
        let geometry = match self.mesh.order() {
            Order::Linear => 21.0,
            Order::Quadratic => 10.0 * all,
        };
        let tables = all + (all - inside) + 2.0 * (own - inside) + own + 1.0;
        let at_once = self.law == "full" && self.points;
        let forces = if at_once { all - inside } else { all };
        let fields = components * (5.0 * own - inside + 2.0 * forces);
        let loss = match self.law.as_str() {
            // Accelerations of shared points and memory variables are written and read.
            "loss" => 2.0 * (own - inside) * components + 2.0 * 18.0 * all,
            "coarse" => 2.0 * 6.0 * all,
            // The time levels of a potential are read and written once more.
            "fluid" => 5.0 * own,
            _ => 0.0,
        };
        let constants = match self.law.as_str() {
            _ if !self.points => 0.0,
            "full" => 21.0,
            "fluid" => 1.0,
            // Two of these are the strengths of the mechanisms.
            "loss" | "coarse" => 4.0,
            _ => 2.0,
        };
        4.0 * (geometry + tables + fields + loss + constants * all)
    }
}
