//! A small 2-D and a small 3-D shot that any test can damage.

use crate::desk::{Desk, Outcome};

/// Nodes along z, x, y.
pub const N: [usize; 3] = [20, 24, 22];
/// Samples of the wavelet.
pub const NT: usize = 23;
/// P and S velocity, density, spacing, time step.
const VP: f32 = 2.0;
const VS: f32 = 1.1;
const RO: f32 = 2.2;
pub const DT: f32 = 0.001;

/// Number of cells of the model.
pub fn cells(ndim: usize) -> usize {
    N[..ndim].iter().product()
}

/// Header keys of the grid.
pub fn grid(ndim: usize) -> String {
    (0..ndim)
        .map(|a| {
            format!(
                "n{i}={} o{i}=0 d{i}=0.01 label{i}={} unit{i}=km ",
                N[a],
                ["z", "x", "y"][a],
                i = a + 1
            )
        })
        .collect()
}

/// Stiffness planes of a homogeneous isotropic block.
pub fn stiffness(ndim: usize) -> Vec<f32> {
    let (p, s) = (RO * VP * VP, RO * VS * VS);
    let l = p - 2.0 * s;
    let planes: &[f32] = if ndim == 3 {
        &[p, p, p, s, s, s, l, l, l]
    } else {
        &[p, p, s, l]
    };
    planes
        .iter()
        .flat_map(|&c| std::iter::repeat_n(c, cells(ndim)))
        .collect()
}

/// Header keys of a stiffness file.
pub fn stiffness_header(ndim: usize) -> String {
    format!("{} n{}={}", grid(ndim), ndim + 1, if ndim == 3 { 9 } else { 4 })
}

/// A Ricker wavelet on component z, and zeros on the others.
pub fn wavelet(ndim: usize) -> Vec<f32> {
    let mut values = vec![0.0; ndim * NT];
    for it in 0..NT {
        let a = (std::f32::consts::PI * 15.0 * (it as f32 * DT - 0.01)).powi(2);
        values[ndim * it] = (1.0 - 2.0 * a) * (-a).exp();
    }
    values
}

/// Header keys of the wavelet.
pub fn wavelet_header(ndim: usize) -> String {
    format!("n1=1 n2={ndim} n3={NT} d3={DT} o3=0 label3=Time unit3=s")
}

/// A point `x[, y], z` in the middle of the model.
pub fn middle(ndim: usize) -> Vec<f32> {
    if ndim == 3 {
        vec![0.11, 0.1, 0.09]
    } else {
        vec![0.11, 0.09]
    }
}

/// A desk with ccc.rsf, den.rsf, wav.rsf, sou.rsf and rec.rsf (three receivers).
pub fn desk(ndim: usize) -> Desk {
    let desk = Desk::new();
    desk.dataset("ccc.rsf", &stiffness_header(ndim), &stiffness(ndim));
    desk.dataset("den.rsf", &grid(ndim), &vec![RO; cells(ndim)]);
    desk.dataset("wav.rsf", &wavelet_header(ndim), &wavelet(ndim));
    desk.dataset("sou.rsf", &format!("n1={ndim} n2=1"), &middle(ndim));
    let receivers: Vec<f32> = (1..4)
        .flat_map(|k| middle(ndim).into_iter().map(move |x| x + 0.01 * k as f32))
        .collect();
    desk.dataset(
        "rec.rsf",
        &format!("n1={ndim} n2=3 o2=5 d2=2 unit2=km"),
        &receivers,
    );
    desk
}

/// The command line of the small shot on the CPU, without redirections.
pub fn line(ndim: usize) -> String {
    line_on(ndim, "device=cpu")
}

/// The command line of the small shot on a device.
pub fn line_on(ndim: usize, device: &str) -> String {
    format!("sfewefd{ndim}d-gpu ccc=ccc.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nb=8 nbell=3 dabc=y {device}")
}

/// Runs the shot with further parameters, `< wav.rsf > data.rsf`.
pub fn shoot(desk: &Desk, ndim: usize, extra: &str) -> Outcome {
    desk.sh(&format!("{} {extra} < wav.rsf > data.rsf", line(ndim)))
}

/// Names of the files on the desk, sorted.
pub fn names(desk: &Desk) -> Vec<String> {
    let entries = std::fs::read_dir(desk.path(".")).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A shell line that runs `line` while each feeder, a `(command, name)`, writes to the named pipe `name`. Feeders that
/// have no reader are stopped at the end.
pub fn fed(feeders: &[(&str, &str)], line: &str) -> String {
    let pipes: Vec<&str> = feeders.iter().map(|f| f.1).collect();
    let mut script = format!("mkfifo {}; feeders=; ", pipes.join(" "));
    for (command, pipe) in feeders {
        script += &format!("{command} > {pipe} 2> /dev/null & feeders=\"$feeders $!\"; ");
    }
    script + &format!("{line}; code=$?; kill $feeders 2> /dev/null; exit $code")
}
