//! The media of the stored runs: fields are unpacked, and stiffness planes computed from them in double precision.

use std::collections::BTreeMap;

const FIELDS_2D: [&str; 6] = ["ro", "vp", "vs", "epsilon", "delta", "nu"];
const FIELDS_3D: [&str; 10] = [
    "ro", "vp", "vs", "eps1", "eps2", "del1", "del2", "del3", "gam1", "gam2",
];

/// The bits of a Rice code, most significant first.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn next(&mut self) -> u32 {
        let bit = self.bytes[self.at / 8] >> (7 - self.at % 8) & 1;
        self.at += 1;
        u32::from(bit)
    }

    fn number(&mut self, k: u32) -> i64 {
        let mut folded = 0;
        while self.next() == 1 {
            folded += 1;
        }
        for _ in 0..k {
            folded = folded << 1 | self.next();
        }
        i64::from(folded >> 1) ^ -i64::from(folded & 1)
    }
}

/// Inverts one differencing along the axis with `n` values `stride` apart.
fn cumulate(values: &mut [i64], n: usize, stride: usize) {
    for i in 0..values.len() {
        if !(i / stride).is_multiple_of(n) {
            values[i] += values[i - stride];
        }
    }
}

/// Unpacks fields of `n` cells, z fastest; `names` are in the order of the file.
fn unpack<'a>(mut bytes: &[u8], names: &[&'a str], n: &[usize]) -> BTreeMap<&'a str, Vec<f64>> {
    let cells = n.iter().product();
    let orders: &[usize] = if n.len() == 2 { &[1, 2] } else { &[1, 2, 1] };
    let mut fields = BTreeMap::new();
    for name in names {
        let (low, step) = (double(&bytes[0..8]), double(&bytes[8..16]));
        let (k, size) = (word(&bytes[16..20]), word(&bytes[20..24]) as usize);
        let mut bits = Bits {
            bytes: &bytes[24..24 + size],
            at: 0,
        };
        let mut values: Vec<i64> = (0..cells).map(|_| bits.number(k)).collect();
        let mut stride = 1;
        for (axis, order) in orders.iter().enumerate() {
            (0..*order).for_each(|_| cumulate(&mut values, n[axis], stride));
            stride *= n[axis];
        }
        fields.insert(*name, values.iter().map(|q| low + step * *q as f64).collect());
        bytes = &bytes[24 + size..];
    }
    assert!(bytes.is_empty(), "{} bytes after the last field", bytes.len());
    fields
}

fn double(bytes: &[u8]) -> f64 {
    f64::from_le_bytes(bytes.try_into().unwrap())
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().unwrap())
}

/// Thomsen's exact c13 from c33, c55, delta (also c23 and c12 with their indices).
fn coupling(c33: f64, c55: f64, delta: f64) -> f64 {
    (2.0 * c33 * (c33 - c55) * delta + (c33 - c55).powi(2)).sqrt() - c55
}

/// Rotates c11 c33 c55 c13 by `nu` degrees about y as Madagascar's recipe does: with its value of pi, and without c15
/// and c35.
fn tilted([c11, c33, c55, c13]: [f64; 4], nu: f64) -> [f64; 4] {
    #[allow(clippy::approx_constant)] // the recipe's value
    let angle = nu * 3.1415 / 180.0;
    let (c, s) = (angle.cos(), angle.sin());
    let mixed = 2.0 * (c13 + 2.0 * c55) * c * c * s * s;
    let wave = (c11 - 2.0 * c13 + c33 - 4.0 * c55) * (4.0 * angle).cos();
    [
        c11 * c.powi(4) + mixed + c33 * s.powi(4),
        c11 * s.powi(4) + mixed + c33 * c.powi(4),
        (c11 - 2.0 * c13 + c33 + 4.0 * c55 - wave) / 8.0,
        (c11 + 6.0 * c13 + c33 - 4.0 * c55 - wave) / 8.0,
    ]
}

fn orthorhombic(f: &dyn Fn(&str) -> f64) -> [f64; 9] {
    let (c33, c55) = (f("ro") * f("vp").powi(2), f("ro") * f("vs").powi(2));
    let (c11, c22) = (c33 * (1.0 + 2.0 * f("eps2")), c33 * (1.0 + 2.0 * f("eps1")));
    let c66 = c55 * (1.0 + 2.0 * f("gam1"));
    let c44 = c66 / (1.0 + 2.0 * f("gam2"));
    let c12 = coupling(c11, c66, f("del3"));
    let (c13, c23) = (coupling(c33, c55, f("del2")), coupling(c33, c44, f("del1")));
    [c11, c22, c33, c44, c55, c66, c12, c13, c23]
}

/// Density and the stiffness files of one dimension: a name, and planes one after the other.
pub fn files(bytes: &[u8], n: &[usize]) -> Vec<(&'static str, Vec<f32>)> {
    let cells: usize = n.iter().product();
    let names: &[&str] = if n.len() == 2 { &FIELDS_2D } else { &FIELDS_3D };
    let fields = unpack(bytes, names, n);
    let at = |i: usize, name: &str| fields[name][i];
    if n.len() == 2 {
        let iso = |i: usize| {
            let (p, s) = (
                at(i, "ro") * at(i, "vp").powi(2),
                at(i, "ro") * at(i, "vs").powi(2),
            );
            [p, p, s, p - 2.0 * s]
        };
        let vti = |i: usize| {
            let [c33, _, c55, _] = iso(i);
            let c11 = c33 * (1.0 + 2.0 * at(i, "epsilon"));
            [c11, c33, c55, coupling(c33, c55, at(i, "delta"))]
        };
        vec![
            ("ro2", planes(cells, |i| [at(i, "ro")])),
            ("iso2", planes(cells, iso)),
            ("vti2", planes(cells, vti)),
            ("tti2", planes(cells, |i| tilted(vti(i), at(i, "nu")))),
        ]
    } else {
        let iso = |i: usize| {
            let only = ["ro", "vp", "vs"];
            orthorhombic(&|name| if only.contains(&name) { at(i, name) } else { 0.0 })
        };
        let vti = |i: usize| {
            orthorhombic(&|name| match name {
                "eps2" => at(i, "eps1"),
                "del2" => at(i, "del1"),
                "gam2" => at(i, "gam1"),
                "del3" => 0.0,
                name => at(i, name),
            })
        };
        // With the axes x and z exchanged, the symmetry axis is along x.
        let hti = |i: usize| {
            let c = vti(i);
            [2, 1, 0, 5, 4, 3, 8, 7, 6].map(|k| c[k])
        };
        vec![
            ("ro3", planes(cells, |i| [at(i, "ro")])),
            ("iso3", planes(cells, iso)),
            ("vti3", planes(cells, vti)),
            ("hti3", planes(cells, hti)),
            ("ort3", planes(cells, |i| orthorhombic(&|name| at(i, name)))),
        ]
    }
}

/// Rearranges cells into planes.
fn planes<const P: usize>(cells: usize, cell: impl Fn(usize) -> [f64; P]) -> Vec<f32> {
    let mut out = vec![0.0; P * cells];
    for i in 0..cells {
        for (plane, value) in cell(i).into_iter().enumerate() {
            out[plane * cells + i] = value as f32;
        }
    }
    out
}
