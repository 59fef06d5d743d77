//! `sfbasics grey`: what its pictures show, and what it says when it cannot draw.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

#[path = "../support/built.rs"]
mod built;

/// A dataset file with `header` (without in= and data_format) and `values`.
fn dataset(folder: &TempDir, header: &str, values: &[f32]) {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    fs::write(folder.path().join("a.rsf@"), bytes).unwrap();
    let form = "data_format=\"native_float\" esize=4 in=\"./a.rsf@\"";
    fs::write(folder.path().join("a.rsf"), format!("{header}\n{form}\n")).unwrap();
}

fn grey(folder: &Path, words: &[&str]) -> Output {
    Command::new(built::program(env!("CARGO_BIN_EXE_sfbasics")))
        .arg("grey")
        .args(words)
        .current_dir(folder)
        .stdin(fs::File::open(folder.join("a.rsf")).map_or_else(|_| Stdio::null(), Stdio::from))
        .output()
        .unwrap()
}

struct Pixels {
    width: usize,
    height: usize,
    rgb: Vec<u8>,
}

impl Pixels {
    fn at(&self, x: usize, y: usize) -> [u8; 3] {
        let place = 3 * (y * self.width + x);
        [self.rgb[place], self.rgb[place + 1], self.rgb[place + 2]]
    }

    fn colours(&self) -> usize {
        self.rgb
            .chunks(3)
            .collect::<std::collections::BTreeSet<_>>()
            .len()
    }
}

fn picture(folder: &TempDir, words: &[&str]) -> Pixels {
    let output = grey(folder.path(), words);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {messages}");
    let mut reader = png::Decoder::new(std::io::Cursor::new(output.stdout))
        .read_info()
        .unwrap();
    let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut rgb).unwrap();
    Pixels {
        width: info.width as usize,
        height: info.height as usize,
        rgb,
    }
}

fn complaint(folder: &TempDir, words: &[&str]) -> String {
    let output = grey(folder.path(), words);
    assert_eq!(output.status.code(), Some(1), "{words:?} must fail");
    assert!(
        output.stdout.is_empty(),
        "{words:?}: a failure leaves no half picture"
    );
    String::from_utf8(output.stderr).unwrap()
}

/// n1=40 n2=60: -1 in the upper left quarter, +1 in the lower right one, 0 elsewhere.
fn quarters() -> (String, Vec<f32>) {
    let value = |z: usize, x: usize| match (z < 20, x < 30) {
        (true, true) => -1.0,
        (false, false) => 1.0,
        _ => 0.0,
    };
    let values = (0..60).flat_map(|x| (0..40).map(move |z| value(z, x))).collect();
    let header = "n1=40 o1=0 d1=0.1 label1=z unit1=km n2=60 o2=0 d2=0.1 label2=x unit2=km label=uz unit=m";
    (header.to_string(), values)
}

/// Middles of the quarters of the raster: upper left, upper right, lower left, lower right.
fn quarter_colours(pixels: &Pixels) -> [[u8; 3]; 4] {
    let (left, right) = (pixels.width / 4, pixels.width * 2 / 3);
    let (top, bottom) = (pixels.height / 4, pixels.height * 2 / 3);
    [(left, top), (right, top), (left, bottom), (right, bottom)].map(|(x, y)| pixels.at(x, y))
}

fn is_blue([r, _, b]: [u8; 3]) -> bool {
    b > r.saturating_add(30)
}

fn is_red([r, _, b]: [u8; 3]) -> bool {
    r > b.saturating_add(30)
}

#[test]
fn axis_1_runs_down_and_axis_2_to_the_right() {
    let folder = TempDir::new().unwrap();
    let (header, values) = quarters();
    dataset(&folder, &header, &values);
    let pixels = picture(&folder, &["color=bluered", "title=Quarters"]);
    let [a, b, c, d] = quarter_colours(&pixels);
    assert!(is_blue(a) && is_red(d), "{a:?} {d:?}");
    assert!(!is_blue(b) && !is_red(b) && b == c, "{b:?} {c:?}");

    let [a, b, c, d] = quarter_colours(&picture(&folder, &["color=bluered", "yreverse=n"]));
    assert!(
        is_blue(c) && is_red(b) && a == d,
        "yreverse=n turns it upside down"
    );
    let [a, b, c, d] = quarter_colours(&picture(&folder, &["color=bluered", "xreverse=y"]));
    assert!(
        is_blue(b) && is_red(c) && a == d,
        "xreverse=y swaps left and right"
    );
    let [a, .., d] = quarter_colours(&picture(&folder, &["color=bluered", "polarity=y"]));
    assert!(is_red(a) && is_blue(d), "polarity=y swaps the colours");
    let [_, b, c, d] = quarter_colours(&picture(
        &folder,
        &["color=bluered", "transp=n", "min1=2.0", "min2=0"],
    ));
    assert!(
        is_red(d) && !is_red(c) && !is_blue(b),
        "transp=n puts axis 1 across; min1= is of what runs down"
    );
}

#[test]
fn equal_units_give_equal_scales_and_sizes_are_kept() {
    let folder = TempDir::new().unwrap();
    let (header, values) = quarters();
    dataset(&folder, &header, &values);
    let own = picture(&folder, &[]);
    assert_eq!((own.width, own.height < own.width), (900, true));
    let asked = picture(&folder, &["width=500", "height=640"]);
    assert_eq!((asked.width, asked.height), (500, 640));
    assert!(
        own.colours() > 10,
        "axes, numbers and bar are drawn: {} colours",
        own.colours()
    );
    let bare = picture(&folder, &["scalebar=n", "unit2=s"]);
    assert!(bare.height != own.height, "km against s have no common scale");
    assert!(
        bare.colours() < own.colours(),
        "without a bar there are fewer colours"
    );
}

/// Three panels of 8 x 8, all 1, all 10, all 100.
fn panels(folder: &TempDir) {
    let values: Vec<f32> = [1.0, 10.0, 100.0].iter().flat_map(|&value| [value; 64]).collect();
    dataset(folder, "n1=8 n2=8 n3=3", &values);
}

#[test]
fn frames_and_their_gain() {
    let folder = TempDir::new().unwrap();
    panels(&folder);
    let middle = |words: &[&str]| {
        let pixels = picture(
            &folder,
            &[&["color=viridis", "allpos=y", "pclip=100"], words].concat(),
        );
        pixels.at(pixels.width / 2, pixels.height / 2)
    };
    let brightness = |[r, g, b]: [u8; 3]| u32::from(r) + u32::from(g) + u32::from(b);
    assert_eq!(
        middle(&["frame=0"]),
        middle(&["frame=2"]),
        "each plane has its own gain"
    );
    let all = ["frame=0", "frame=1", "frame=2"].map(|frame| brightness(middle(&[frame, "gainpanel=all"])));
    assert!(
        all[0] < all[1] && all[1] < all[2],
        "one gain for all shows the planes apart: {all:?}"
    );
    assert_eq!(middle(&["frame=1", "clip=10"]), middle(&["frame=2", "clip=100"]));
    // Axis 3 down, axis 1 across: three rows that darken upwards.
    let pixels = picture(
        &folder,
        &[
            "color=viridis",
            "allpos=y",
            "pclip=100",
            "vertical=3",
            "horizontal=1",
        ],
    );
    let rows = [1, 4, 6].map(|part| brightness(pixels.at(pixels.width / 2, pixels.height * part / 8)));
    assert!(rows[0] < rows[2] && rows[1] < rows[2], "{rows:?}");
}

#[test]
fn what_is_not_a_number_stands_out() {
    let folder = TempDir::new().unwrap();
    dataset(&folder, "n1=2 n2=2", &[f32::NAN; 4]);
    let pixels = picture(&folder, &[]);
    assert_eq!(pixels.at(pixels.width / 2, pixels.height / 2), [255, 0, 255]);
}

#[test]
fn refusals_say_what_is_allowed() {
    let folder = TempDir::new().unwrap();
    panels(&folder);
    let cases: [(&[&str], &str); 6] = [
        (&["frame=3"], "frame=3: axis 3 has 3 planes, counted from 0 to 2"),
        (&["frame=0,1"], "frame= holds 2 indices, but 1 axes are not shown"),
        (&["vertical=4"], "axes 1 to 3"),
        (&["vertical=2"], "name the same axis"),
        (&["color=rainbow"], "take one of grey, bluered"),
        (&["min1=100"], "no sample of axis 1"),
    ];
    for (words, expected) in cases {
        let said = complaint(&folder, words);
        assert!(
            said.starts_with("sfgrey: ") && said.contains(expected),
            "{words:?}: {said}"
        );
    }
    fs::write(folder.path().join("a.rsf@"), [0; 100]).unwrap();
    complaint(&folder, &["frame=0"]);
}

#[test]
fn the_binary_lists_its_programs() {
    let output = Command::new(built::program(env!("CARGO_BIN_EXE_sfbasics")))
        .arg("purple")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("sfbasics grey")
    );
}
