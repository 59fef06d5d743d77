//! Source time functions in separate files, in the format of SPECFEM3D: each line contains the number for one time
//! step, and lines that begin with # or ! are comments.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::read_text;

/// Reads the file `named` in `list`, a file of sources. It is searched for in the folder of the run, and then in the
/// folder of that file.
///
/// # Errors
/// Returns an error for a file that exists in neither place, or a line without a number.
pub fn read(list: &str, named: &str) -> Result<Vec<f32>> {
    let own = Path::new(list).parent().unwrap_or(Path::new(""));
    let last = Path::new(named).file_name().unwrap_or_default();
    let places = [Path::new(named).to_path_buf(), own.join(named), own.join(last)];
    let Some(place) = places.iter().find(|place| place.is_file()) else {
        bail!(
            "{list} names {named} as the file of a time function, which exists neither under that path nor \
            next to {list}: put it there, or give the time function by stf= or series="
        );
    };
    let text = read_text(place).with_context(|| format!("cannot read {}", place.display()))?;
    samples(&text).with_context(|| place.display().to_string())
}

fn samples(text: &str) -> Result<Vec<f32>> {
    let lines = text.lines().enumerate().map(|(k, line)| (k + 1, line.trim()));
    let rows = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with(['#', '!']));
    let sample = |(number, line): (usize, &str)| {
        let word = line.split_whitespace().next().unwrap_or_default();
        let value = word.replace(['d', 'D'], "e").parse().ok();
        value.filter(|v: &f32| v.is_finite()).with_context(|| {
            format!("line {number} is `{line}`; each line must have one number, the value of one step")
        })
    };
    rows.map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_one_a_line() {
        let text = "# Source time function\n#   simulation DT       :  0.0025\n2.0E-06\n\n 1.5d0\n! end\n";
        assert_eq!(samples(text).unwrap(), [2e-6, 1.5]);
        assert!(format!("{:#}", samples("1\nx\n").unwrap_err()).contains("line 2 is `x`"));
    }
}
