//! `sfremap1`: essentially non-oscillatory interpolation along axis 1 (Harten, Engquist, Osher and Chakravarthy, Journal of
//! Computational Physics 71, 1987, 231-303).

use anyhow::{Result, ensure};
use rsf_io::{Job, Kind, Param, Program};

use super::spline::new_axis;
use super::{cube, lines};

/// What the user sees.
pub static SPEC: Program = Program {
    name: "sfremap1",
    about: "Interpolate along axis 1 without overshooting (ENO).",
    usage: "< in.rsf n1= o1= d1= [pattern=other.rsf] order=3 > out.rsf",
    comments: "Every new sample lies on the polynomial through order= samples around it that has the smallest highest \
difference; of equally good ones the mean is taken. So jumps stay jumps. Outside the samples the outermost polynomial goes \
on.\n\nDiffers from Madagascar: d1=0 in the header is an error.",
    example: "sfremap1 < coarse.rsf n1=1001 d1=0.002 > fine.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 5] = [
    Param::int("n1")
        .default_text("of pattern=, else of the input")
        .range(">= 1", Some(1.0), None)
        .doc("samples of the output"),
    Param::float("o1")
        .default_text("of pattern=, else of the input")
        .doc("origin of the output"),
    Param::float("d1")
        .default_text("of pattern=, else of the input")
        .doc("sampling of the output"),
    Param::input("pattern")
        .default_text("none")
        .doc("a dataset whose axis 1 the output gets"),
    Param::int("order")
        .default("3")
        .range("1 to 30", Some(1.0), Some(30.0))
        .doc("samples that a polynomial goes through"),
];

/// Interpolates.
pub fn run(job: &mut Job) -> Result<()> {
    let mut input = job.stdin()?;
    cube::expect(&input, Kind::Float)?;
    let old = cube::shape(&input)?.swap_remove(0);
    ensure!(
        old.d != 0.0,
        "d1=0 in the header: the samples need a distance (sfput d1= sets it)"
    );
    let new = new_axis(job, Some(&old))?;
    let order = (job.int("order")? as usize).min(old.n);
    let places: Vec<(i64, f32)> = (0..new.n)
        .map(|i| {
            let at = (new.o + i as f32 * new.d - old.o) / old.d;
            (at as i64, at - (at as i64) as f32)
        })
        .collect();
    let mut output = job.output()?;
    output.put_int("n1", new.n as i64);
    output.put_float("o1", new.o);
    output.put_float("d1", new.d);
    lines::each(
        &mut input,
        &mut output,
        (old.n, new.n),
        || vec![vec![0.0f32; old.n]; order],
        |table, _, line: &[f32], result: &mut [f32]| {
            differences(table, line);
            for (value, (i, x)) in result.iter_mut().zip(&places) {
                *value = at(table, *i, *x);
            }
            Ok(())
        },
    )?;
    Ok(output.finish()?)
}

/// `table[k][i]`: difference number k of the samples from i on.
fn differences(table: &mut [Vec<f32>], line: &[f32]) {
    table[0].copy_from_slice(line);
    for k in 1..table.len() {
        let (lower, upper) = table.split_at_mut(k);
        for (i, difference) in upper[0][..line.len() - k].iter_mut().enumerate() {
            *difference = lower[k - 1][i + 1] - lower[k - 1][i];
        }
    }
}

/// The value `x` samples behind sample `i`.
fn at(table: &[Vec<f32>], i: i64, x: f32) -> f32 {
    let (order, n) = (table.len() as i64, table[0].len() as i64);
    let last = i.min(n - order).max(0);
    let first = (i - order + 2).max(0).min(last);
    let highest = &table[table.len() - 1];
    let size = |from: i64| highest[from as usize].abs();
    let least = (first..=last).map(size).fold(f32::INFINITY, f32::min);
    let (mut sum, mut count) = (0.0f64, 0);
    for from in (first..=last).filter(|from| size(*from) <= least) {
        // Newton's polynomial: differences times y (y-1) ... (y-k+1) / k!.
        let y = f64::from(x) + (i - from) as f64;
        let mut factor = 1.0;
        for (k, row) in table.iter().enumerate() {
            sum += factor * f64::from(row[from as usize]);
            factor *= (y - k as f64) / (k + 1) as f64;
        }
        count += 1;
    }
    // Where samples are not numbers none is the smallest.
    if count == 0 {
        f32::NAN
    } else {
        (sum / f64::from(count)) as f32
    }
}
