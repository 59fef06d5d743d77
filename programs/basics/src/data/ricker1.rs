//! `sfricker1`: convolution with a Ricker wavelet.

use std::f32::consts::PI;

use anyhow::{Result, ensure};
use num_complex::Complex32;
use rsf_io::{Job, Kind, Param, Program, format_g};

use super::{cube, fourier};

pub static SPEC: Program = Program {
    name: "sfricker1",
    about: "Convolve traces with a Ricker wavelet.",
    usage: "< spikes.rsf frequency=25 > out.rsf",
    comments: "The wavelet has zero phase, and its spectrum has a maximum of 1 at the peak frequency. The convolution \
uses a Fourier transform along axis 1, so a signal that leaves one end of a trace reappears at the other: use \
sfpad first if that matters.",
    example: "sfspike n1=1000 d1=0.001 k1=100 | sfpad end1=1000 | sfricker1 frequency=25 | sfwindow n1=1000 > wavelet.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 3] = [
    Param::float("frequency")
        .default_text("from freq=")
        .range("> 0", Some(1e-30), None)
        .doc("peak frequency in Hz (if the unit of d1 is s)"),
    Param::float("freq")
        .default("0.2")
        .range("> 0", Some(1e-30), None)
        .doc("peak frequency as a fraction of the Nyquist frequency"),
    Param::bool("deriv")
        .default("n")
        .doc("y: also take the half derivative along axis 1"),
];

pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    ensure!(
        input.format().kind == Kind::Float,
        "the input holds {} data, but sfricker1 needs float data ({})",
        input.format().kind.word(),
        input.format().kind.to(Kind::Float)
    );
    let axis = cube::shape(&input)?.swap_remove(0);
    // This is a fraction of the sampling frequency, half of which is the Nyquist frequency.
    let peak = match job.float_opt("frequency")? {
        Some(frequency) => frequency * axis.d.abs(),
        None => 0.5 * job.float("freq")?,
    };
    ensure!(
        peak > 0.0,
        "d1={} in the header, but frequency= needs a sampling interval other than 0 (sfput d1= sets it)",
        axis.d
    );
    if peak > 0.5 {
        let cure = match job.float_opt("frequency")? {
            Some(_) => "give a lower frequency=, in units of 1/d1".to_string(),
            None => format!(
                "freq= is a fraction of the Nyquist frequency, at most 1; for a frequency in Hz give frequency={}",
                format_g(f64::from(job.float("freq")?), 6)
            ),
        };
        job.warn(&format!(
            "the peak frequency is {} times the Nyquist frequency, above which samples {} apart cannot \
            represent anything: {cure}",
            format_g(2.0 * f64::from(peak), 3),
            axis.d
        ));
    }

    let length = fourier::fast_even_length(axis.n);
    let (forward, inverse) = (::fourier::forward(length), ::fourier::inverse(length));
    let deriv = job.flag("deriv")?;
    let weights: Vec<Complex32> = (0..=length / 2)
        .map(|i| {
            let ratio = (i as f32 / (length as f32 * peak)).powi(2);
            let weight = ratio * (1.0 - ratio).exp() / length as f32;
            // The square root of i omega, to which a real part of one frequency sample is added, as in
            // Madagascar.
            let half = || (Complex32::new(1.0, i as f32) * (2.0 * PI / length as f32)).sqrt();
            if deriv { half() * weight } else { weight.into() }
        })
        .collect();
    let (mut trace, mut spectrum) = (cube::room(length)?, forward.make_output_vec());
    let mut output = job.output()?;
    while input.remaining() > 0 {
        input.read_f32(&mut trace[..axis.n])?;
        trace[axis.n..].fill(0.0);
        forward.process(&mut trace, &mut spectrum)?;
        spectrum
            .iter_mut()
            .zip(&weights)
            .for_each(|(value, weight)| *value *= weight);
        // The spectrum is real at 0 and Nyquist, and the transform requires imaginary parts of exactly 0 there.
        spectrum[0].im = 0.0;
        spectrum[length / 2].im = 0.0;
        inverse.process(&mut spectrum, &mut trace)?;
        output.write_f32(&trace[..axis.n])?;
    }
    Ok(output.finish()?)
}
