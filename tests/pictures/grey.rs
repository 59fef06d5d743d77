//! Tests of `sfbasics grey`.

use std::fs;
use std::process::Command;

use crate::built;
use crate::desk::{Desk, Pixels, Rgb, quarters, waves};

/// The colours at the middles of the quarters: upper left, upper right, lower left, lower right.
fn quarter_colours(pixels: &Pixels) -> [Rgb; 4] {
    [(0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)].map(|(x, y)| pixels.inside(x, y))
}

fn is_blue([r, _, b]: Rgb) -> bool {
    b > r.saturating_add(30)
}

fn is_red([r, _, b]: Rgb) -> bool {
    r > b.saturating_add(30)
}

#[test]
fn axis_1_runs_down_and_axis_2_to_the_right() {
    let desk = Desk::new();
    quarters(&desk);
    let draw =
        |words: &str| quarter_colours(&desk.pixels(&format!("grey color=bluered {words}"), "quarters"));
    let [a, b, c, d] = draw("title=Quarters");
    assert!(is_blue(a) && is_red(d), "{a:?} {d:?}");
    assert!(!is_blue(b) && !is_red(b) && b == c, "{b:?} {c:?}");
    let [a, b, c, d] = draw("yreverse=n");
    assert!(
        is_blue(c) && is_red(b) && a == d,
        "yreverse=n turns it upside down"
    );
    let [a, b, c, d] = draw("xreverse=y");
    assert!(
        is_blue(b) && is_red(c) && a == d,
        "xreverse=y exchanges left and right"
    );
    let [a, .., d] = draw("polarity=y");
    assert!(is_red(a) && is_blue(d), "polarity=y exchanges the colours");
    let [a, b, c, d] = draw("transp=n yreverse=n min1=1 min2=0");
    assert!(
        is_red(b),
        "transp=n yreverse=n: axis 1 to the right, axis 2 up: {b:?}"
    );
    assert!(is_blue(c) && a == d && !is_red(a), "{a:?} {c:?} {d:?}");
}

#[test]
fn min_and_max_are_the_ends_of_the_box() {
    let desk = Desk::new();
    quarters(&desk);
    let draw = |words: &str| desk.pixels(&format!("grey color=bluered {words}"), "quarters");
    // The data are from 0 to 4 and 0 to 6, and the box from -4 to 4 and 0 to 12.
    let wide = draw("min1=-4 max1=4 min2=0 max2=12");
    assert!(is_blue(wide.inside(0.1, 0.6)) && is_red(wide.inside(0.4, 0.9)));
    for (x, y) in [(0.1, 0.2), (0.4, 0.4), (0.6, 0.9), (0.9, 0.6)] {
        assert_eq!(wide.inside(x, y), [255; 3], "no data at {x}, {y}");
    }
    let near = draw("min1=1.95 max1=2.15 min2=2.9 max2=3.1");
    assert!(is_blue(near.inside(0.2, 0.1)) && is_red(near.inside(0.8, 0.9)));
    assert!(is_red(near.inside(0.6, 0.3)), "z=2 is at a quarter of the height");
}

#[test]
fn equal_units_give_equal_scales_and_sizes_are_kept() {
    let desk = Desk::new();
    quarters(&desk);
    let draw = |words: &str| desk.pixels(&format!("grey {words}"), "quarters");
    let own = draw("");
    assert_eq!(own.width, 900);
    let [_, _, width, height] = own.frame;
    assert!(
        (width / height - 1.5).abs() < 0.01,
        "60 x 40 samples: {width} x {height}"
    );
    let sized = draw("width=500 height=640");
    assert_eq!((sized.width, sized.height), (500, 640));
    let fine = draw("width=500 height=640 res=2");
    assert_eq!((fine.width, fine.height), (1000, 1280));
    assert!(
        own.colours() > 10,
        "axes, numbers and bar are drawn: {} colours",
        own.colours()
    );
    let bare = draw("scalebar=n unit2=s");
    assert!(bare.height != own.height, "km against s have no common scale");
    // Madagascar's page: three quarters of 10 inches and of 5 inches, with 66 pixels each.
    let page = draw("screenratio=0.5 screenht=5");
    assert_eq!([page.frame[2], page.frame[3]], [495.0, 248.0]);
    let inches = draw("xinch=4 yinch=2");
    assert_eq!([inches.frame[2], inches.frame[3]], [264.0, 132.0]);
}

/// Writes three panels of 8 x 8 values: all 1, all 10, all 100.
fn panels(desk: &Desk) {
    let values: Vec<f32> = [1.0, 10.0, 100.0].iter().flat_map(|&value| [value; 64]).collect();
    desk.floats("panels", "n1=8 n2=8 n3=3 d3=0.5 label3=time unit3=s", &values);
}

fn brightness(colour: Rgb) -> u32 {
    colour.iter().map(|&part| u32::from(part)).sum()
}

#[test]
fn frames_and_their_gain() {
    let desk = Desk::new();
    panels(&desk);
    let draw = |words: &str| {
        let line = format!("grey color=viridis allpos=y pclip=100 {words}");
        desk.pixels(&line, "panels").inside(0.5, 0.5)
    };
    assert_eq!(draw("frame=0"), draw("frame=2"), "each plane has its own gain");
    assert_eq!(draw("frame=0 gainpanel=e"), draw("frame=2"));
    let all = [0, 1, 2].map(|frame| brightness(draw(&format!("frame={frame} gainpanel=all"))));
    assert!(
        all[0] < all[1] && all[1] < all[2],
        "with one gain for all, the planes differ: {all:?}"
    );
    assert_eq!(draw("frame=1 clip=10"), draw("frame=2 clip=100"));
    assert_eq!(
        draw("frame=0 gainpanel=2"),
        draw("frame=0 clip=10"),
        "the gain of the second plane"
    );
    assert_eq!(
        draw("frame=2 gainpanel=2"),
        draw("frame=2"),
        "values beyond the gain have the last colour"
    );
    // Axis 3 points down and axis 1 to the right, so there are three rows that become darker upwards.
    let pixels = desk.pixels(
        "grey color=viridis allpos=y pclip=100 vertical=3 horizontal=1",
        "panels",
    );
    let rows = [0.1, 0.5, 0.9].map(|part| brightness(pixels.inside(0.5, part)));
    assert!(rows[0] < rows[2] && rows[1] < rows[2], "{rows:?}");
}

#[test]
fn pclip_bias_and_power() {
    let desk = Desk::new();
    // The values are 0 to 98, and 1000.
    let values: Vec<f32> = (0..99).map(|i| i as f32).chain([1000.0]).collect();
    desk.floats("ramp", "n1=10 n2=10", &values);
    let ends = |words: &str| desk.picture(&format!("grey verb=y {words}"), "ramp").1;
    assert_eq!(ends("pclip=100"), "sfgrey: colours from -1000 to 1000\n");
    assert_eq!(ends("pclip=50"), "sfgrey: colours from -50 to 50\n");
    assert_eq!(ends("pclip=50 allpos=y"), "sfgrey: colours from 0 to 50\n");
    assert_eq!(ends("clip=3 bias=2"), "sfgrey: colours from -1 to 5\n");
    assert_eq!(ends("clip=3 mean=y"), "sfgrey: colours from 55.51 to 61.51\n");
    let bright = |words: &str| {
        let pixels = desk.pixels(&format!("grey pclip=50 {words}"), "ramp");
        // The pixel is in the fourth value of the first column, which is 3 and has the grey level 128 + 127 * 3/50.
        pixels.inside(0.05, 0.35)[0]
    };
    assert!((134..=137).contains(&bright("")), "{}", bright(""));
    assert!(bright("gpow=0.5") > 150 && bright("gpow=2") < 131);
    assert!(
        bright("gpow=0 phalf=5") > bright(""),
        "phalf= raises small values"
    );
    assert!(
        bright("gpow=0 phalf=45") < 130,
        "phalf= above half of the clip lowers them"
    );
    // If nearly all values are near clip=, the power is at most ten: a value of 49 of 50 has its own colour.
    let mut high = vec![49.9; 100];
    high[3] = 49.0;
    desk.floats("high", "n1=10 n2=10", &high);
    let pixels = desk.pixels("grey clip=50 gpow=0 phalf=50", "high");
    // 128 + 127 (49/50)^10 = 231.8.
    let kept = pixels.inside(0.05, 0.35)[0];
    assert!((229..=234).contains(&kept), "{kept}");
    // If half of the values equal clip=, no power is suitable, and the other values keep their colours.
    let equal: Vec<f32> = (0..100).map(|i| if i == 3 { 25.0 } else { 50.0 }).collect();
    desk.floats("equal", "n1=10 n2=10", &equal);
    let kept = desk.pixels("grey clip=50 gpow=0", "equal").inside(0.05, 0.35)[0];
    assert!((190..=193).contains(&kept), "{kept}");
    // The power acts on values below bias= in the same way as on values above it: 3 is as far below 50 as 97 above it.
    let below = |words: &str| {
        let pixels = desk.pixels(&format!("grey bias=50 clip=50 {words}"), "ramp");
        i32::from(pixels.inside(0.05, 0.35)[0])
    };
    assert!(
        below("") < 20 && below("gpow=0.2") < below("") && below("gpow=9") > 30,
        "{}",
        below("")
    );
    // The clip is not smaller than the float32 resolution at bias=.
    assert_eq!(
        ends("clip=1e-9 bias=1000"),
        "sfgrey: colours from 999.999 to 1000.001\n"
    );
}

#[test]
fn bytes_are_colours() {
    let desk = Desk::new();
    let values: Vec<u8> = (0..4).flat_map(|column| [column * 85; 5]).collect();
    desk.bytes("bytes", "n1=5 n2=4 o2=0 d2=1", &values);
    let pixels = desk.pixels("grey", "bytes");
    let greys = [0.125, 0.375, 0.625, 0.875].map(|x| pixels.inside(x, 0.5));
    assert_eq!(greys, [[0; 3], [85; 3], [170; 3], [255; 3]]);
    assert!(!desk.svg("grey", "bytes").has("255"), "no bar without values");
    let bar = desk.svg(
        "grey scalebar=y minval=-2 maxval=2 barlabel=u barunit=mm",
        "bytes",
    );
    assert!(
        bar.has("u (mm)") && bar.has("\u{2212}2.0") && bar.has("2.0"),
        "{:?}",
        bar.texts()
    );
    let message = desk.complaint("grey scalebar=y", "bytes");
    assert!(
        message.contains("give bar= (a file of sfbyte) or minval= and maxval="),
        "{message}"
    );
    // The file is as sfbyte writes it: the smallest and the largest value, then the colours.
    let ends = [(-3.0f32).to_ne_bytes(), 5.0f32.to_ne_bytes()].concat();
    let table: Vec<u8> = (0..=255).collect();
    desk.bytes("bar", "n1=264 n2=1", &[ends, table].concat());
    let bar = desk.svg("grey scalebar=y bar=bar.rsf", "bytes");
    assert!(bar.has("\u{2212}3") && bar.has("5"), "{:?}", bar.texts());
    // For a panel of a single value, the bar extends by 4 % of it to either side.
    let ends = [50.0f32.to_ne_bytes(), 50.0f32.to_ne_bytes()].concat();
    let table: Vec<u8> = (0..=255).collect();
    desk.bytes("bar", "n1=264 n2=1", &[ends, table].concat());
    let bar = desk.svg("grey scalebar=y bar=bar.rsf", "bytes");
    assert!(bar.has("48.0") && bar.has("52.0"), "{:?}", bar.texts());
}

#[test]
fn texts_are_those_of_header_and_user() {
    let desk = Desk::new();
    waves(&desk);
    let own = desk.svg("grey frame=3", "waves");
    for text in [
        "Waves & <things>",
        "Depth (km)",
        "Distance (km)",
        "Displacement (10⁻⁹ m)",
        "Time = 0.12 s",
        "\u{2212}0.08",
    ] {
        assert!(own.has(text), "{text} in {:?}", own.texts());
    }
    let words = "grey title=A_title label1=z unit1=m label2=x unit2= barlabel=u barunit=nm wantframenum=n formatbar=%5.2e";
    let svg = desk.svg(words, "waves");
    for text in ["A title", "z (m)", "x", "u (nm)", "0.00e0"] {
        assert!(svg.has(text), "{text} in {:?}", svg.texts());
    }
    assert!(
        !svg.texts().iter().any(|text| text.contains("Time")),
        "{:?}",
        svg.texts()
    );
    let bare = desk.svg("grey wantaxis=n wanttitle=n wantframenum=n scalebar=n", "waves");
    assert!(bare.words.is_empty(), "{:?}", bare.texts());
    desk.floats("nameless", "n1=2 n2=2 n3=2 o3=5", &[1.0; 8]);
    let note = |words: &str| {
        desk.svg(&format!("grey frame=1 {words}"), "nameless")
            .has("axis 3 = 6")
    };
    assert!(!note("") && note("wantframenum=y"));
    assert!(desk.svg("grey frame=1 label3=shot", "nameless").has("shot = 6"));
    let ticks = desk.svg("grey d2num=0.05 o2num=0.01 format2=%4.2f d1num=0.04", "waves");
    for text in ["0.01", "0.06", "0.11", "\u{2212}0.04"] {
        assert!(ticks.has(text), "{text} in {:?}", ticks.texts());
    }
}

#[test]
fn places_of_axes_and_title() {
    let desk = Desk::new();
    waves(&desk);
    let usual = desk.svg("grey frame=3", "waves");
    let [left, top, width, height] = usual.frame;
    assert!(usual.place("Waves & <things>")[3] < top && usual.place("Distance (km)")[1] > top + height);
    assert!(usual.place("Depth (km)")[2] < left && usual.place("Displacement (10⁻⁹ m)")[0] > left + width);
    let other = desk.svg(
        "grey frame=3 wherexlabel=top whereylabel=right wheretitle=b bartype=h",
        "waves",
    );
    let [left, top, width, height] = other.frame;
    assert!(other.place("Distance (km)")[3] < top && other.place("Depth (km)")[0] > left + width);
    assert!(other.place("Displacement (10⁻⁹ m)")[1] > top + height);
    assert!(other.place("Waves & <things>")[1] > other.place("Displacement (10⁻⁹ m)")[3]);
}

#[test]
fn the_bar_shows_the_colours_of_its_values() {
    let desk = Desk::new();
    quarters(&desk);
    let pixels = desk.pixels("grey color=bluered clip=1", "quarters");
    let [left, top, width, height] = pixels.frame;
    let bar = |part: f64| pixels.at((left + width + 30.0) as usize, (top + part * height) as usize);
    assert!(
        is_red(bar(0.02)) && is_blue(bar(0.98)) && !is_red(bar(0.5)),
        "{:?} {:?}",
        bar(0.02),
        bar(0.98)
    );
    let turned = desk.pixels("grey color=bluered clip=1 barreverse=y", "quarters");
    assert!(is_blue(
        turned.at((left + width + 30.0) as usize, (top + 0.02 * height) as usize)
    ));
    let marked = desk.pixels("grey color=iC clip=0.5 title=", "quarters");
    assert_eq!(
        marked.inside(0.75, 0.75),
        [213, 94, 0],
        "clipped values stand out"
    );
}

#[test]
fn what_is_not_a_number_stands_out() {
    let desk = Desk::new();
    desk.floats("nan", "n1=2 n2=2", &[f32::NAN; 4]);
    let (bytes, text) = desk.picture("grey", "nan");
    assert!(Pixels::read(&bytes).inside(0.5, 0.5) == [255, 0, 255] && text.contains("nothing to see"));
    desk.floats("nan", "n1=2 n2=1", &[1.0, f32::NAN]);
    assert!(desk.picture("grey", "nan").1.contains("1 of 2 values"));
}

#[test]
fn large_planes_fade_instead_of_turning_into_others() {
    let desk = Desk::new();
    // Signs alternate on top of a slow trend along axis 1, and must not be visible in any pixel.
    let sign = |z: usize, x: usize| if (z + x).is_multiple_of(2) { 1.0 } else { -1.0 };
    let column = |x: usize| (0..9000).map(move |z| sign(z, x) + z as f32 / 4500.0);
    let values: Vec<f32> = (0..400).flat_map(column).collect();
    desk.floats("large", "n1=9000 n2=400", &values);
    let pixels = desk.pixels("grey clip=3", "large");
    let column = [0.1, 0.5, 0.9].map(|y| pixels.inside(0.5, y)[0]);
    for (level, part) in column.into_iter().zip([0.1, 0.5, 0.9]) {
        let expected = 127.5 * (1.0 + 2.0 * part / 3.0);
        // A pixel covers 15 samples or more. If their number is odd, one sign remains: a fifteenth of a third of half
        // of the colours, plus one for rounding.
        let left_over = 127.5 / 3.0 / 15.0 + 1.0;
        assert!(
            (f64::from(level) - expected).abs() < left_over,
            "{level} at {part}, not {expected}"
        );
    }
    let spread = pixels.count(|[r, g, b]| r == g && g == b && (120..=220).contains(&r));
    let inside = (pixels.frame[2] - 1.0) * (pixels.frame[3] - 1.0);
    assert_eq!(spread as f64, inside, "every pixel is a mean");
}

#[test]
fn words_of_madagascar_are_accepted_in_silence() {
    let desk = Desk::new();
    waves(&desk);
    let words = "grey parallel2=n labelrot=n wantaxis=y title= pclip=100 min1=0 max1=0.1 label1=z unit1=km min2=-0.05 max2=0.05 \
label2=x unit2=km screenratio=0.5 screenht=6.8 wantscalebar=y labelsz=6 labelfat=3 titlesz=12 titlefat=3 font=2 nreserve=8 xll=1.5 yll=1.5 \
gainstep=2 color=j format1=%3.1f format2=%3.1f wheretics=a --out=fig.rsf@";
    let svg = desk.picture(&format!("{words} format=svg"), "waves");
    assert_eq!(svg.1, "");
    assert!(String::from_utf8(svg.0).unwrap().contains("z (km)"));
}

#[test]
fn the_ending_of_the_file_chooses_the_format() {
    let desk = Desk::new();
    waves(&desk);
    let start = |words: &[&str], target: &str| {
        let status = Command::new(built::program(env!("CARGO_BIN_EXE_sfbasics")))
            .arg("grey")
            .args(words)
            .current_dir(desk.path(""))
            .stdin(fs::File::open(desk.path("waves.rsf")).unwrap())
            .stdout(fs::File::create(desk.path(target)).unwrap())
            .status()
            .unwrap();
        assert!(status.success());
    };
    let begins = |name: &str| fs::read(desk.path(name)).unwrap()[..4].to_vec();
    start(&[], "a.svg");
    start(&[], "a.svg.part");
    start(&["format=svg"], "b.png");
    start(&[], "c.png");
    start(&["out=d.svg"], "nothing");
    for name in ["a.svg", "a.svg.part", "b.png", "d.svg"] {
        assert_eq!(begins(name), b"<svg", "{name}");
    }
    assert_eq!(begins("c.png"), b"\x89PNG");
    assert!(fs::read(desk.path("nothing")).unwrap().is_empty());
}

#[test]
fn paper_may_be_left_out() {
    let desk = Desk::new();
    waves(&desk);
    let pixels = desk.pixels("grey transparent=y", "waves");
    assert_eq!((pixels.depth, pixels.bytes[3]), (4, 0));
    let white = desk.pixels("grey", "waves");
    assert_eq!((white.depth, white.at(0, 0)), (3, [255; 3]));
}

#[test]
fn refusals_say_what_is_allowed() {
    let desk = Desk::new();
    panels(&desk);
    let cases = [
        ("frame=3", "frame=3: axis 3 has 3 planes, counted from 0 to 2"),
        ("frame=0,1", "frame= holds 2 indices, but 1 axes are not shown"),
        ("vertical=4", "axes 1 to 3"),
        ("vertical=2", "name the same axis"),
        ("color=rainbow", "colour tables are grey, bluered"),
        ("min1=100", "no sample of axis 1"),
        ("min1=3 max1=2", "min1=3 is not below max1=2"),
        ("gainpanel=9", "a plane from 1 to 3"),
        ("clip=-1", "must be more than 0"),
        ("format=eps", "format= must be png, svg or pdf"),
        ("format=gif", "gif is not a format of sfgrey"),
        ("wherexlabel=q", "wherexlabel= must be bottom or top"),
        ("format1=%s", "write it like %g"),
        ("d1num=0", "must be finite and not 0"),
        ("width=120 labelsz=20", "leave no room for the data"),
        ("res=20 width=30000", "pixels, but at most 30000 on a side"),
        ("minval=2 maxval=1", "minval=2 to maxval=1"),
        ("out=no/such/folder.png", "cannot write out=no/such/folder.png"),
    ];
    for (words, expected) in cases {
        let message = desk.complaint(&format!("grey {words}"), "panels");
        assert!(
            message.starts_with("sfgrey: ") && message.contains(expected),
            "{words}: {message}"
        );
    }
}

#[test]
fn a_file_that_is_cut_short_is_drawn_as_far_as_it_goes() {
    let desk = Desk::new();
    panels(&desk);
    fs::write(desk.path("panels.rsf@"), [0; 100]).unwrap();
    let output = desk.run("grey format=png", "panels");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && !output.stdout.is_empty(), "{text}");
    assert!(
        text.contains("warning") && text.contains("3 of the 8 records along axis 2"),
        "{text}"
    );
    fs::write(desk.path("panels.rsf@"), [0; 3]).unwrap();
    desk.complaint("grey", "panels");
}

#[test]
fn the_binary_lists_its_programs() {
    let binary = built::program(env!("CARGO_BIN_EXE_sfbasics"));
    let output = Command::new(&binary).arg("purple").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("`purple`") && text.lines().count() == 1, "{text}");
    let output = Command::new(&binary).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    for name in ["grey", "grey3", "graph", "wiggle", "contour", "movie", "pictures"] {
        assert!(text.contains(&format!("sfbasics {name} ")), "{name}: {text}");
    }
}

/// Half of the second plane has the first colour and half the last one; so has its bar, with larger values at its top.
#[test]
fn the_bar_of_bytes_shows_the_colours_of_their_file() {
    let desk = Desk::new();
    desk.bytes("bytes", "n1=5 n2=4 n3=2", &[128; 40]);
    let ends = [(-3.0f32).to_ne_bytes(), 5.0f32.to_ne_bytes()].concat();
    let bars = [&ends[..], &[128; 256], &ends, &[0; 128], &[255; 128]].concat();
    desk.bytes("bar", "n1=264 n2=1 n3=2", &bars);
    let pixels = desk.pixels("grey scalebar=y bar=bar.rsf color=bluered frame=1", "bytes");
    let [left, top, width, height] = pixels.frame;
    let beside = (left + width) as usize + 3..pixels.width;
    let count = |is: fn(Rgb) -> bool, rows: [f64; 2]| {
        let rows = (top + rows[0] * height) as usize..(top + rows[1] * height) as usize;
        let places = rows.flat_map(|y| beside.clone().map(move |x| (x, y)));
        places.filter(|(x, y)| is(pixels.at(*x, *y))).count()
    };
    let (upper, lower) = ([0.01, 0.49], [0.51, 0.99]);
    assert!(count(is_red, upper) > 1000 && count(is_blue, lower) > 1000);
    assert_eq!((count(is_blue, upper), count(is_red, lower)), (0, 0));
}

/// A percentile of more than four million samples is that of a subset, which must not be every second of a line.
#[test]
fn percentiles_of_large_planes_are_those_of_all_samples() {
    let desk = Desk::new();
    let values: Vec<f32> = (0..2048 * 2049).map(|i| [1.0, -3.0][i % 2]).collect();
    desk.floats("comb", "n1=2048 n2=2049", &values);
    for (pclip, end) in [(25, 1), (75, 3)] {
        let line = format!("grey verb=y width=100 height=100 wantaxis=n scalebar=n pclip={pclip}");
        let text = desk.picture(&line, "comb").1;
        assert_eq!(text, format!("sfgrey: colours from -{end} to {end}\n"));
    }
}
