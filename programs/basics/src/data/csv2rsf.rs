//! `sfcsv2rsf`: conversion of a table of numbers in text form to a dataset.

use anyhow::{Context, Result, bail, ensure};
use rsf_io::{Axis, Job, Kind, Param, Program};

use super::rounding::Rounding;

pub static SPEC: Program = Program {
    name: "sfcsv2rsf",
    about: "Read a table of numbers from text: each line becomes a column (axis 1).",
    usage: "< points.txt label2=receiver > rec.rsf",
    comments: "Numbers are separated by commas, semicolons, tabs or blanks; the separator is detected in the table, or \
given by delimiter=. Empty lines and everything after # are ignored. A table with two columns (x and z) or three \
(x, y and z) gives the points that sou= and rec= of the modelling programs read. Lines of different lengths are an \
error unless trunc= is given. The output holds numbers of four bytes: a warning reports where this rounds a \
coordinate (columns x, z or x, y, z) by more than 0.01 or by more than a thousandth of the distance between \
points, as happens with UTM coordinates.\n\n\
Differs from Madagascar: the delimiter is found automatically, # begins a comment, lines of different lengths are not \
filled with zeros unless trunc=n is given, and a line that holds no number is reported with its line number.",
    example: "sfcsv2rsf < receivers.txt > rec.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 13] = [
    Param::string("delimiter")
        .default_text("found out")
        .doc("character between the numbers, as in delimiter=,"),
    Param::choice("dtype", &["float", "int"])
        .default("float")
        .doc("type of the output"),
    Param::bool("header")
        .default("n")
        .doc("y: the first line holds names of columns and is skipped"),
    Param::bool("trunc").default_text("an error").doc(
        "lines of different lengths: y cuts them to the shortest, n fills them with zeros up to the longest",
    ),
    Param::bool("verb").default("n").doc("y: print what was found"),
    Param::float("o1").default("0").doc("origin of axis 1"),
    Param::float("d1").default("1").doc("sampling of axis 1"),
    Param::float("o2").default("0").doc("origin of axis 2"),
    Param::float("d2").default("1").doc("sampling of axis 2"),
    Param::string("label1")
        .default_text("none")
        .doc("label of axis 1"),
    Param::string("unit1").default_text("none").doc("unit of axis 1"),
    Param::string("label2")
        .default_text("none")
        .doc("label of axis 2"),
    Param::string("unit2").default_text("none").doc("unit of axis 2"),
];

pub fn run(job: &mut Job) -> Result<()> {
    let text = job.stdin_bytes()?;
    let text = std::str::from_utf8(&text)
        .context("standard input is not UTF-8 text: a table of numbers was expected")?;
    let delimiter = job.text("delimiter")?.filter(|text| !text.is_empty());
    let mut rows = rows(text, delimiter.as_deref(), job.flag("header")?)?;
    let columns = level(&mut rows, job.flag_opt("trunc")?)?;
    if job.flag("verb")? {
        job.say(&format!("{} lines of {columns} numbers", rows.len()));
    }
    let integers = job.choice("dtype")? == "int";
    let mut output = job.output()?;
    if integers {
        output.set_kind(Kind::Int);
    }
    let axis = |number: usize, n: usize| -> Result<Axis> {
        let (o, d) = (
            job.float(&format!("o{number}"))?,
            job.float(&format!("d{number}"))?,
        );
        Ok(Axis {
            label: job.text(&format!("label{number}"))?,
            unit: job.text(&format!("unit{number}"))?,
            ..Axis::new(n, o, d)
        })
    };
    output.set_axis(1, &axis(1, columns)?);
    output.set_axis(2, &axis(2, rows.len())?);
    if !integers && (2..=3).contains(&columns) {
        warn_of_rounding(job, &rows, columns);
    }
    for (number, row) in rows.iter() {
        if integers {
            output.write_i32(&whole(row, *number)?)?;
        } else {
            let row: Vec<f32> = row.iter().map(|value| *value as f32).collect();
            output.write_f32(&row)?;
        }
    }
    Ok(output.finish()?)
}

/// Warns if single precision rounds the coordinates of a table of points (two or three columns) too much.
fn warn_of_rounding(job: &Job, rows: &[Row], columns: usize) {
    let mut rounding = Rounding::default();
    let keys = if columns == 2 { "xz" } else { "xyz" };
    for (column, key) in keys.chars().enumerate() {
        rounding.see(
            |i| format!("line {}: {key}", rows[i].0),
            rows.iter().map(|(_, row)| row[column]),
        );
    }
    rounding.warn(job);
}

/// The number of a line in the text, counted from 1, and the numbers in it.
type Row = (usize, Vec<f64>);

/// The lines that contain numbers.
fn rows(text: &str, delimiter: Option<&str>, has_header: bool) -> Result<Vec<Row>> {
    let lines = text
        .trim_start_matches('\u{feff}')
        .lines()
        .enumerate()
        .map(|(i, line)| {
            let line = line.split_once('#').map_or(line, |(numbers, _)| numbers);
            (i + 1, line.trim())
        });
    let filled = lines.filter(|(_, line)| !line.is_empty());
    let rows: Vec<Row> = filled
        .skip(usize::from(has_header))
        .map(|(number, line)| {
            Ok((
                number,
                numbers(line, delimiter).with_context(|| format!("line {number} of the table"))?,
            ))
        })
        .collect::<Result<_>>()?;
    ensure!(
        !rows.is_empty(),
        "standard input contains no numbers: text with one line per point was expected"
    );
    Ok(rows)
}

/// The numbers of a line.
fn numbers(line: &str, delimiter: Option<&str>) -> Result<Vec<f64>> {
    let separator = [",", ";", "\t"].into_iter().find(|mark| line.contains(mark));
    let words: Vec<&str> = match delimiter.or(separator) {
        // A delimiter at the end of a line does not begin another number.
        Some(mark) if !mark.trim().is_empty() => line.trim_end_matches(mark).split(mark).collect(),
        _ => line.split_whitespace().collect(),
    };
    let number = |word: &str| {
        let word = word.trim().trim_matches('"');
        word.parse::<f64>()
            .ok()
            .with_context(|| match word.contains(';') {
                true => format!(
                    "`{word}` is not a number: in this table commas separate numbers; write decimal \
                    fractions with a point"
                ),
                false => {
                    format!("`{word}` is not a number; header=y skips the first line, and # begins a comment")
                }
            })
    };
    words.into_iter().map(number).collect()
}

/// Cuts or fills all lines to the same length, which is returned.
fn level(rows: &mut [Row], cut: Option<bool>) -> Result<usize> {
    let lengths = || rows.iter().map(|(_, row)| row.len());
    let (shortest, longest) = (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0));
    let columns = match cut {
        Some(true) => shortest,
        Some(false) => longest,
        None => {
            let first = rows[0].1.len();
            if let Some((number, row)) = rows.iter().find(|(_, row)| row.len() != first) {
                bail!(
                    "line {number} of the table holds {} numbers, but the first line holds {first}; trunc=y cuts all \
                    lines to the length of the shortest, and trunc=n fills them with zeros",
                    row.len()
                );
            }
            first
        }
    };
    rows.iter_mut().for_each(|(_, row)| row.resize(columns, 0.0));
    Ok(columns)
}

/// Converts a line to integers.
fn whole(row: &[f64], number: usize) -> Result<Vec<i32>> {
    let convert = |value: &f64| {
        let fits = value.fract() == 0.0 && value.abs() <= f64::from(i32::MAX);
        ensure!(
            fits,
            "line {number} of the table: {value} is not an integer of 32 bits; leave out dtype=int"
        );
        Ok(*value as i32)
    };
    row.iter().map(convert).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_as_people_write_them() {
        let expected: Vec<Vec<f64>> = vec![vec![1.0, 2.5, -3e2], vec![4.0, 5.0, 6.0]];
        for (text, delimiter, header) in [
            ("1 2.5 -3e2\n4\t5 6\n", Some(" "), false),
            ("1\t2.5\t-3e2\r\n4\t5\t6\r\n", None, false),
            ("x,y,z\n1, 2.5, -3e2\n\n4,5,6,\n", None, true),
            ("# x y z\n  1   2.5 -3e2 # first\n4 5 6", None, false),
            ("1:2.5:-3e2\n4:5:6", Some(":"), false),
            ("\u{feff}\"1\";\"2.5\";-300\n4;5;6", None, false),
        ] {
            let rows = rows(text, delimiter, header).unwrap();
            let values: Vec<Vec<f64>> = rows.into_iter().map(|(_, row)| row).collect();
            assert_eq!(values, expected, "{text:?}");
        }
    }

    #[test]
    fn faults_name_their_line() {
        let message = |text: &str| format!("{:#}", rows(text, None, false).unwrap_err());
        assert!(message("x z\n1 2\n").contains("line 1 of the table: `x` is not a number; header=y"));
        assert!(message("1 2\n\n3,,4\n").contains("line 3"));
        assert!(message(" \n# nothing\n").contains("no numbers"));
        let uneven = || vec![(1, vec![1.0, 2.0]), (4, vec![3.0])];
        assert!(
            level(&mut uneven(), None)
                .unwrap_err()
                .to_string()
                .contains("line 4")
        );
        let (mut cut, mut filled) = (uneven(), uneven());
        assert_eq!(level(&mut cut, Some(true)).unwrap(), 1);
        assert_eq!(level(&mut filled, Some(false)).unwrap(), 2);
        assert_eq!(filled[1].1, [3.0, 0.0]);
        assert!(whole(&[1.5], 7).unwrap_err().to_string().contains("line 7"));
    }
}
