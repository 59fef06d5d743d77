//! Recognises files that are given in place of an RSF header.

use std::path::Path;

use crate::file_id::{FileId, file_id};
use crate::header::TERMINATOR;
use crate::pipe;

/// The first bytes of files that are not datasets, with the kind of the file and, for some, a program that reads it.
const KNOWN: [(&[u8], &str); 20] = [
    (b"\x89PNG", "a picture (PNG)"),
    (b"GIF8", "a picture (GIF)"),
    (b"\xff\xd8\xff", "a picture (JPEG)"),
    (b"%PDF", "a PDF"),
    (b"<svg", "a picture (SVG)"),
    (b"<?xml", "XML"),
    (b"CDF", "NetCDF (sifaka.grids in Python reads it)"),
    (b"\x89HDF", "HDF5 (sifaka.grids in Python reads NetCDF)"),
    (b"\x1f\x8b", "compressed (gunzip)"),
    (b"PK\x03\x04", "an archive (unzip)"),
    (b"\xc3\xf0\xf1", "SEG-Y (sfsegyread reads it)"),
    (b"\xc3\x40\xf1", "SEG-Y (sfsegyread reads it)"),
    (b"\xc3\xf1\x40", "SEG-Y (sfsegyread reads it)"),
    (b"C01 ", "SEG-Y (sfsegyread reads it)"),
    (b"C 1 ", "SEG-Y (sfsegyread reads it)"),
    (b"C1 ", "SEG-Y (sfsegyread reads it)"),
    (
        b"ncols ",
        "an ASCII grid of ESRI (sifaka.grids in Python reads it)",
    ),
    (
        b"NCOLS ",
        "an ASCII grid of ESRI (sifaka.grids in Python reads it)",
    ),
    (
        b"II*\0",
        "a picture or map (TIFF; sifaka.grids in Python reads GeoTIFF)",
    ),
    (
        b"MM\0*",
        "a picture or map (TIFF; sifaka.grids in Python reads GeoTIFF)",
    ),
];
/// The number of bytes that are examined.
const LOOK: usize = 4096;

/// An error message with advice if the first bytes are not an RSF header; `None` if they may be one.
pub(super) fn message(first: &[u8], path: Option<&Path>) -> Option<String> {
    let first = &first[..first.len().min(LOOK)];
    if let Some((_, what)) = KNOWN.iter().find(|(bytes, _)| first.starts_with(bytes)) {
        return Some(format!("is not an RSF file but {what}"));
    }
    let end = first
        .windows(TERMINATOR.len())
        .position(|bytes| bytes == TERMINATOR);
    let text = &first[..end.unwrap_or(first.len())];
    let odd = |byte: &&u8| **byte < 32 && !b"\t\n\r\x0b\x0c".contains(byte);
    if !text.contains(&0) && 50 * text.iter().filter(odd).count() <= text.len() {
        return table(text);
    }
    let what = match reals(first) {
        Some(list) => format!("numbers (as native_float they begin with {list})"),
        None => "binary data".into(),
    };
    let name = path.map(|path| path.file_name().unwrap_or_default().to_string_lossy());
    let header = match name.as_ref().and_then(|name| name.strip_suffix('@')) {
        Some(header) => format!("give the header ({header}), which names these numbers,"),
        None => "give the header, not the file with the numbers,".into(),
    };
    Some(format!(
        "contains {what} without an RSF header: {header} or write one, as in echo 'n1=100 n2=50 d1=10 d2=10 \
        data_format=native_float in=numbers.bin' > x.rsf"
    ))
}

/// An error message for text without `=` whose first or second line holds only numbers, as in a list of
/// points.
fn table(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text)
        .ok()
        .filter(|text| !text.contains('='))?;
    let lines = text.lines().map(str::trim);
    let mut lines = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .take(2);
    let numbers = |line: &&str| {
        let words = line.split([' ', '\t', ',', ';']);
        words
            .filter(|word| !word.is_empty())
            .all(|word| word.parse::<f64>().is_ok())
    };
    let line: String = lines.find(numbers)?.chars().take(40).collect();
    Some(format!(
        "is not an RSF file but a table of numbers ({line}): make a dataset of it first, as in sfcsv2rsf < points.txt > points.rsf"
    ))
}

/// The error message for an empty header file. If the file is also standard output, the shell has emptied it.
pub(super) fn emptied(ids: &[FileId]) -> &'static str {
    let output = pipe::stdout_file().ok().and_then(|file| file_id(&file));
    if output.is_some_and(|output| ids.contains(&output)) {
        pipe::EMPTIED
    } else {
        "is empty, an RSF header was expected"
    }
}

/// The first three native f32 numbers in `bytes`, as text, if nearly all of the numbers have plausible magnitudes.
fn reals(bytes: &[u8]) -> Option<String> {
    let values: Vec<f32> = bytes
        .chunks_exact(4)
        .map(|b| f32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let usual = |x: &&f32| **x == 0.0 || (1e-20..1e20).contains(&x.abs());
    let all_zero = values.iter().all(|x| *x == 0.0);
    if values.is_empty() || all_zero || 10 * values.iter().filter(usual).count() < 9 * values.len() {
        return None;
    }
    let shown: Vec<String> = values.iter().take(3).map(f32::to_string).collect();
    Some(shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_left_alone_and_others_are_named() {
        let numbers: Vec<u8> = [3000.0f32, 1.5, -2e4]
            .iter()
            .flat_map(|x| x.to_ne_bytes())
            .collect();
        for header in ["", "n1=5\n\tin=\"x@\"\n", "sf\u{e4}\tuser\nlabel=\"\u{f6}\"\n"] {
            assert_eq!(message(header.as_bytes(), None), None);
            let inline = [header.as_bytes(), &TERMINATOR, &numbers].concat();
            assert_eq!(message(&inline, None), None, "numbers after a header");
        }
        let text = message(&numbers, Some(Path::new("a/vp.rsf@"))).unwrap();
        assert!(
            text.contains("begin with 3000, 1.5, -20000") && text.contains("give the header (vp.rsf)"),
            "{text}"
        );
        assert!(
            message(&[1, 0, 0, 0, 2, 0, 0, 0], None)
                .unwrap()
                .contains("contains binary data without an RSF header")
        );
        for points in ["1000 500\n1200 500\n", "# x, z\n1e3,500\n", "x z\n1000\t500"] {
            let text = message(points.as_bytes(), None).unwrap();
            assert!(
                text.contains("a table of numbers (1") && text.contains("sfcsv2rsf <"),
                "{text}"
            );
        }
        assert_eq!(message(b"only words\nand no numbers\n", None), None);
        assert!(
            message(b"\x89PNG\r\n", None)
                .unwrap()
                .contains("is not an RSF file but a picture (PNG)")
        );
    }
}
