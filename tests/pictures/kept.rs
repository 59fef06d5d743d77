//! Pictures as they were when last inspected: every number of the drawing is in `tests/data/pictures`. After an
//! intended change, draw them again with `KEEP_PICTURES=1 cargo test -p programs --test pictures kept`, check them in a
//! browser, and commit them.

use std::fmt::Write;
use std::fs;

use base64::Engine;

use crate::built::checkout;
use crate::desk::Desk;
use crate::pdf::Page;

/// Name of the file, arguments, dataset.
#[rustfmt::skip]
const CASES: [(&str, &str, &str); 21] = [
    ("grey", "grey scalebar=y title=Section pclip=90", "panels"),
    ("grey-turned", "grey transp=n yreverse=n xreverse=y allpos=y bias=10 color=viridis frame=1 grid=y min1=2 max1=7 wherexlabel=top whereylabel=right wheretitle=bottom", "panels"),
    ("grey-bar", "grey scalebar=y bartype=h barreverse=y barlabel=Speed barunit=m/s minval=-40 maxval=30 nbartic=4 formatbar=%5.1f barwidth=0.5 barlabelsz=6 gpow=0 phalf=70 mean=y pad=y polarity=y", "panels"),
    ("grey-axes", "grey format1=%4.2f n2tic=3 d1num=2 o1num=1 axisor1=t grid1=y g1num=1 gridcol=2 gridfat=2 axiscol=3 labelfat=2 titlefat=3 labelsz=6 titlesz=14 screenratio=1.5 crowd1=0.6 crowd2=0.8 bgcolor=1", "panels"),
    ("grey-true", "grey vertical=2 horizontal=1 smooth=y fade=0.3 xinch=5 yinch=4 res=2", "panels"),
    ("grey3", "grey3 frame1=3 frame2=1 frame3=1 title=Cube", "panels"),
    ("grey3-flat", "grey3 flat=n frame1=2 frame2=4 point1=0.6 point2=0.7 scalebar=y grid3=y n3tic=2 framelabel1=n label3=Shot unit3=no", "panels"),
    ("graph", "graph title=Curves legend=one:two:three wherelegend=bl grid=y plotfat=3,1 dash=1,4 plotcol=6,5", "curves"),
    ("graph-turned", "graph transp=y yreverse=y xreverse=y pad=n pclip=80 min2=-30 max2=25", "curves"),
    ("graph-symbols", "graph symbol=o*x+ symbolsz=6 plotfat=2", "curves"),
    ("graph-points", "graph symbol=A. symbolsz=8 scalebar=y barlabel=room", "points"),
    ("wiggle", "wiggle poly=y zplot=0.6 pclip=90 title=Traces", "curves"),
    ("wiggle-turned", "wiggle transp=y yreverse=y xreverse=y poly=y seemean=y fatp=3 xmask=2 plotcol=4 plotfat=2 dash=2 xmin=1 xmax=3 frame=0 verb=n clip=20", "curves"),
    ("contour", "contour nc=6 allpos=n clabel=y scalebar=y title=Lines", "panels"),
    ("contour-levels", "contour c=-20,0,15 color=jet allpos=n transp=n yreverse=n plotfat=2 dash=3 frame=1 bartype=h scalebar=y", "panels"),
    ("contour-steps", "contour allpos=n c0=-30 dc=12.5 nc=5 plotcol=5 polarity=y xreverse=y min1=1.5", "panels"),
    ("dots", "dots title=Dots labels=one:two:three yreverse=y", "curves"),
    ("dots-connect", "dots connect=2 corners=3 constsep=y gaineach=n overlap=1.2 radius=0.2 xxscale=0.8 yyscale=0.7 seemean=n", "curves"),
    ("dots-turned", "dots transp=y connect=4 clip=20 silk=y seedead=y strings=n xreverse=y", "zeros"),
    ("dots-complex", "graph plotcol=3 dash=5 frame=0", "points"),
    ("grey-small", "grey width=300 height=260 title=A_title_that_is_too_long_for_its_picture label1=A_long_label_beside_it", "panels"),
];

/// A desk with panels, curves with a gap, a trace of zeros among others, and points.
fn desk() -> Desk {
    let desk = Desk::new();
    // Values are multiples of an eighth, which are the same on every machine.
    let value = |i: usize| ((i * 7919) % 641) as f32 / 8.0 - 37.5;
    let panels: Vec<f32> = (0..9 * 7 * 2).map(value).collect();
    let header = "n1=9 o1=1 d1=0.75 label1=Time unit1=s n2=7 o2=-3 d2=2 label2=Distance unit2=km n3=2 o3=5 d3=5 label3=Shot label=Speed unit=m/s";
    desk.floats("panels", header, &panels);
    let mut curves: Vec<f32> = (0..11 * 3).map(value).collect();
    let header = "n1=11 o1=0.5 d1=0.25 label1=Time unit1=s n2=3 o2=1 d2=1 label2=Trace";
    curves[15] = f32::NAN;
    desk.floats("curves", header, &curves);
    curves[15] = 2.0;
    curves[22..].fill(0.0);
    desk.floats("zeros", header, &curves);
    desk.complex(
        "points",
        "n1=5 n2=2 label1=East unit1=km",
        &(0..10)
            .map(|i| [value(3 * i), value(5 * i + 1)])
            .collect::<Vec<_>>(),
    );
    desk
}

/// The contents of an image: its size and its bytes, independent of how they are compressed.
fn image(png: &[u8]) -> String {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    format!(
        "{}x{} {:?} {}",
        info.width,
        info.height,
        info.color_type,
        digits(&bytes)
    )
}

/// The bytes as hexadecimal digits, or, if they are many, their hash (FNV-1a).
fn digits(bytes: &[u8]) -> String {
    if bytes.len() > 1200 {
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        return format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix));
    }
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// An SVG with one element per line, and its images decompressed.
fn lines(svg: &str) -> String {
    let mut text = String::new();
    let mut parts = svg.split("data:image/png;base64,");
    text += parts.next().unwrap();
    for part in parts {
        let (packed, rest) = part.split_once('"').unwrap();
        let png = base64::engine::general_purpose::STANDARD.decode(packed).unwrap();
        text += &format!("{}\"{rest}", image(&png));
    }
    text.replace("><", ">\n<") + "\n"
}

/// Compares with the file of this name; numbers may differ by the last digit that is written.
#[track_caller]
fn same(name: &str, drawn: &str) {
    let path = checkout("tests/data/pictures").join(name);
    if std::env::var_os("KEEP_PICTURES").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, drawn).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
    for (number, (drawn, kept)) in (1..).zip(drawn.lines().zip(kept.lines())) {
        assert!(
            alike(drawn, kept),
            "{name} line {number} has changed (see the head of tests/pictures/kept.rs):\n{drawn}\nwas\n{kept}"
        );
    }
    assert_eq!(drawn.lines().count(), kept.lines().count(), "{name}");
}

/// Whether two lines have the same words, and numbers that differ by at most a hundredth.
fn alike(one: &str, other: &str) -> bool {
    let words = |line: &str| -> Vec<String> {
        let split = |c: char| !(c.is_alphanumeric() || c == '.' || c == '-');
        line.split_inclusive(split).map(String::from).collect()
    };
    let (one, other) = (words(one), words(other));
    let near = |(a, b): (&String, &String)| {
        let number = |word: &str| {
            let end = word.trim_end_matches(|c: char| !c.is_ascii_digit());
            let start = end.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            start.parse::<f64>().ok()
        };
        a == b
            || match (number(a), number(b)) {
                (Some(a), Some(b)) => (a - b).abs() < 0.011,
                _ => false,
            }
    };
    one.len() == other.len() && one.iter().zip(&other).all(near)
}

#[test]
fn pictures_are_as_they_were() {
    let desk = desk();
    for (name, words, data) in CASES {
        let (bytes, _) = desk.picture(&format!("{words} format=svg"), data);
        same(
            &format!("{name}.svg"),
            &lines(std::str::from_utf8(&bytes).unwrap()),
        );
    }
}

#[test]
fn pages_are_as_they_were() {
    let desk = desk();
    for (name, words, data) in CASES {
        if ["grey3-flat", "grey-true", "graph", "wiggle-turned"].contains(&name) {
            // In these files letters are outlines, and there are many.
            let (bytes, _) = desk.picture(
                &format!("{words} wantaxis=n wanttitle=n legend= scalebar=n format=pdf"),
                data,
            );
            same(&format!("{name}.pdf.txt"), &Page::read(&bytes).text(digits));
        }
    }
}

#[test]
fn pictures_of_pictures_are_as_they_were() {
    let desk = desk();
    for (name, words, data) in CASES {
        if ["grey", "graph", "wiggle"].contains(&name) {
            desk.picture(&format!("{words} out={name}.svg"), data);
        }
    }
    for (name, words) in [
        ("overlay", "pictures mode=overlay grey.svg graph.svg"),
        (
            "side",
            "pictures mode=side letters=y columns=2 bgcolor=4 grey.svg graph.svg wiggle.svg",
        ),
        ("over", "pictures mode=over grey.svg graph.svg"),
    ] {
        let (bytes, _) = desk.picture(&format!("{words} format=svg"), "-");
        same(
            &format!("{name}.svg"),
            &lines(std::str::from_utf8(&bytes).unwrap()),
        );
    }
}
