//! Tests of `sfbasics graph`, `wiggle` and `contour`.

use crate::desk::{Desk, Rgb};

const WHITE: Rgb = [255; 3];
const BLACK: Rgb = [0; 3];
/// Pens 1 and 2: a blue and a red that colour-blind people can distinguish.
const BLUE: Rgb = [0, 114, 178];
const RED: Rgb = [213, 94, 0];
/// A black line of one pixel that falls between two pixels darkens each of them by half.
const DARK: u8 = 140;

/// Writes two curves over 0 to 1: constant 1, and constant 3 with a gap in its middle.
fn curves(desk: &Desk) {
    let upper = |i: usize| if (45..56).contains(&i) { f32::NAN } else { 3.0 };
    let values: Vec<f32> = vec![1.0; 101].into_iter().chain((0..101).map(upper)).collect();
    desk.floats("curves", "n1=101 o1=0 d1=0.01 label1=Time unit1=s n2=2", &values);
}

#[test]
fn curves_run_over_axis_1_and_break_at_gaps() {
    let desk = Desk::new();
    curves(&desk);
    let pixels = desk.pixels("graph min1=0 max1=1 min2=0 max2=4 plotfat=10", "curves");
    for x in [0.1, 0.5, 0.9] {
        assert_eq!(pixels.inside(x, 0.75), BLUE, "the first curve at {x}");
        assert_eq!(pixels.inside(x, 0.5), WHITE);
    }
    assert_eq!([0.1, 0.5, 0.9].map(|x| pixels.inside(x, 0.25)), [RED, WHITE, RED]);
    let turned = desk.pixels(
        "graph min1=0 max1=1 min2=0 max2=4 plotfat=10 transp=y xreverse=y plotcol=7",
        "curves",
    );
    assert_eq!(
        turned.inside(0.75, 0.1),
        BLACK,
        "values along the horizontal axis, which grows leftwards"
    );
    assert_eq!([0.1, 0.5].map(|y| turned.inside(0.25, y)), [BLACK, WHITE]);
    let down = desk.pixels(
        "graph min1=0 max1=1 min2=0 max2=4 plotfat=10 yreverse=y",
        "curves",
    );
    assert_eq!(down.inside(0.1, 0.25), BLUE);
    let part = desk.pixels("graph max1=0.1 min2=0 max2=4 plotfat=10", "curves");
    assert_eq!(
        [0.01, 0.05].map(|x| part.inside(x, 0.75)),
        [WHITE, BLUE],
        "the margin is 2 % of what is shown, not of the data"
    );
    let dashed = desk.pixels("graph min1=0 max1=1 min2=0 max2=4 plotfat=10 dash=3", "curves");
    let share = dashed.ink() / pixels.ink();
    // The dashes of type 3 cover 4 of 6 parts.
    assert!((share - 2.0 / 3.0).abs() < 0.05, "{share}");
}

#[test]
fn names_of_axes() {
    let desk = Desk::new();
    curves(&desk);
    let svg = desk.svg(
        "graph label2=Amplitude unit2=mm title=Two_curves legend=one:two",
        "curves",
    );
    for text in ["Time (s)", "Amplitude (mm)", "Two curves", "one", "two"] {
        assert!(svg.has(text), "{text} in {:?}", svg.texts());
    }
    // The vertical axis has the label of the data, and axis 2 numbers the curves.
    let header = "n1=101 d1=0.01 label1=Time unit1=s n2=2 label2=r label=Velocity unit=m/s";
    desk.floats("records", header, &[0.5; 202]);
    let svg = desk.svg("graph", "records");
    assert!(svg.has("Velocity (m/s)") && !svg.has("r"), "{:?}", svg.texts());
    let svg = desk.svg("graph label2=speed unit2=km/s", "records");
    assert!(svg.has("speed (km/s)"), "{:?}", svg.texts());
    desk.floats(
        "plain",
        "n1=101 d1=0.01 label1=Time unit1=s label2=Amplitude unit2=mm",
        &[0.5; 101],
    );
    assert!(desk.svg("graph", "plain").has("Amplitude (mm)"));
    desk.floats("gather", "n1=3 n2=2 label2=Offset unit2=m", &[0.5; 6]);
    assert!(
        !desk.svg("graph", "gather").has("Offset (m)"),
        "traces are numbered by it"
    );
    let bare = desk.svg("graph wantaxis=n wanttitle=n title=no", "curves");
    assert!(bare.words.is_empty(), "{:?}", bare.texts());
}

/// Letters for which the font has no small form are drawn smaller, above or below the line, and the following letters
/// are on the line again.
#[test]
fn letters_are_raised_and_lowered() {
    let desk = Desk::new();
    desk.floats(
        "x",
        "n1=3 title=\"N\\_N\\^N\\^N\\_N\" label1=\"x\\_1\\^ in km\\^2\\_\"",
        &[1.0, 3.0, 2.0],
    );
    let svg = desk.svg("graph", "x");
    assert!(svg.texts().contains(&"x₁ in km²"), "{:?}", svg.texts());
    let title = svg
        .words
        .iter()
        .find(|words| words.text == "NNNNN")
        .expect("a title");
    let [line, lowered, again, raised, last] = title.outlines[..] else {
        panic!("{title:?}");
    };
    let height = |[_, top, _, bottom]: [f64; 4]| bottom - top;
    let capital = height(line);
    for (one, share, up) in [
        (lowered, 0.7, -0.18),
        (again, 1.0, 0.0),
        (raised, 0.7, 0.38),
        (last, 1.0, 0.0),
    ] {
        let size = capital / 0.73;
        assert!((height(one) / capital - share).abs() < 0.02, "{title:?}");
        assert!(((line[3] - one[3]) / size - up).abs() < 0.02, "{title:?}");
    }
    // Each letter begins after the end of the previous letter.
    assert!(
        [line, lowered, again, raised, last]
            .windows(2)
            .all(|pair| pair[1][0] > pair[0][2]),
        "{title:?}"
    );
    svg.check_texts("marks");
}

#[test]
fn complex_numbers_are_points() {
    let desk = Desk::new();
    desk.complex("points", "n1=3", &[[1.0, 1.0], [2.0, 3.0], [f32::NAN, 1.0]]);
    let page = "min1=0 max1=4 min2=0 max2=4 plotcol=7 width=600 height=600";
    let pixels = desk.pixels(&format!("graph symbol=. plotfat=40 {page}"), "points");
    assert_eq!(
        [(0.25, 0.75), (0.5, 0.25)].map(|(x, y)| pixels.inside(x, y)),
        [BLACK; 2]
    );
    assert_eq!(pixels.inside(0.25, 0.25), WHITE);
    for symbol in ["o", "+", "x", "*", "A"] {
        let pixels = desk.pixels(
            &format!("graph symbol={symbol} symbolsz=20 plotfat=5 {page}"),
            "points",
        );
        let dark = pixels.count(|[r, ..]| r < 100);
        assert!((60..3000).contains(&dark), "{symbol}: {dark}");
    }
    let down = desk.pixels(&format!("graph symbol=. plotfat=40 yreverse=y {page}"), "points");
    assert_eq!(
        down.inside(0.5, 0.75),
        BLACK,
        "depth increases downwards with yreverse=y"
    );
}

#[test]
fn long_curves_make_small_files() {
    let desk = Desk::new();
    let mut values: Vec<f32> = (0..400_000).map(|i| ((i as f32) * 0.37).sin()).collect();
    values[200_000] = 9.0;
    desk.floats("long", "n1=400000", &values);
    let svg = desk.svg("graph min2=-10 max2=10 plotfat=3", "long");
    assert!(svg.text.len() < 400_000, "{} bytes", svg.text.len());
    let pixels = desk.pixels("graph min2=-10 max2=10 plotfat=3", "long");
    let spike = pixels.count(|colour| colour == BLUE && colour != WHITE);
    let column = (0..100)
        .filter(|part| pixels.inside(0.5, 0.05 + 0.004 * f64::from(*part)) != WHITE)
        .count();
    assert!(
        spike > 1000 && column > 50,
        "one sample out of 400000 is visible: {column}"
    );
}

/// Samples that fall on the same pixel are thinned out, whether axis 1 points to the right or down.
#[test]
fn long_strings_of_dots_make_small_files() {
    let desk = Desk::new();
    let values: Vec<f32> = (0..400_000).map(|i| ((i as f32) * 0.37).sin()).collect();
    desk.floats("long", "n1=400000 n2=1", &values);
    for turned in ["", " transp=y"] {
        let svg = desk.svg(&format!("dots dots=0 strings=n connect=1{turned}"), "long");
        assert!(svg.text.len() < 400_000, "{turned}: {} bytes", svg.text.len());
    }
}

/// Writes three traces: zero, one positive bump, one negative bump.
fn traces(desk: &Desk) {
    let bump = |i: usize| if (40..60).contains(&i) { 1.0 } else { 0.0 };
    let values: Vec<f32> = [0.0, 1.0, -1.0]
        .iter()
        .flat_map(|sign| (0..100).map(move |i| sign * bump(i)))
        .collect();
    let header = "n1=100 d1=0.01 label1=Time unit1=s n2=3 o2=1 d2=1 label2=Trace";
    desk.floats("traces", header, &values);
    desk.floats("planes", &format!("{header} n3=2"), &values.repeat(2));
}

#[test]
fn wiggles_stand_at_their_traces_and_fill_what_is_above_zero() {
    let desk = Desk::new();
    traces(&desk);
    // The traces are at 1, 2, 3, and the axis is from 1 - zplot to 3 + zplot; a value of clip=1 is drawn with half the
    // distance between traces.
    let page = "wiggle clip=1 zplot=0.5 transp=y yreverse=y grid=n";
    let at = |trace: f64| (trace - 0.5) / 3.0;
    let pixels = desk.pixels(&format!("{page} poly=y"), "traces");
    assert_eq!(pixels.inside(at(2.25), 0.5), BLACK, "the positive bump is filled");
    assert_eq!(pixels.inside(at(2.75), 0.5), WHITE, "the negative one is not");
    let row = |pixels: &crate::desk::Pixels, trace: f64, y: f64| {
        let near = (-3..=3).map(|step| at(trace) + f64::from(step) / pixels.frame[2]);
        near.map(|x| pixels.inside(x, y)[0]).min().unwrap()
    };
    assert!(row(&pixels, 1.0, 0.5) < DARK && row(&pixels, 2.5, 0.5) < DARK && row(&pixels, 2.5, 0.45) < DARK);
    assert!(row(&pixels, 1.3, 0.5) > 200);
    let empty = desk.pixels(page, "traces");
    assert_eq!(empty.inside(at(2.25), 0.5), WHITE, "poly=n fills nothing");
    // Time points to the right, and traces are numbered upwards.
    let level = desk.pixels("wiggle clip=1 zplot=0.5 grid=n poly=y", "traces");
    assert_eq!(level.inside(0.5, 1.0 - at(2.25)), BLACK);
    let lines = desk.pixels("wiggle clip=1 zplot=0.5 transp=y yreverse=y", "traces");
    let pale = lines.count(|colour| colour == [205; 3]);
    assert!(pale > 2000, "timing lines: {pale}");
}

/// Flows of Madagascar call scalebar= wantscalebar=, also in programs that draw no bar.
#[test]
fn the_scale_bar_has_two_names() {
    let desk = Desk::new();
    traces(&desk);
    for program in ["contour", "dots", "graph", "grey", "wiggle"] {
        let [bar, alias] = ["scalebar", "wantscalebar"]
            .map(|name| desk.picture(&format!("{program} {name}=y format=svg"), "traces"));
        assert_eq!((&*alias.1, alias.0 == bar.0), ("", true), "{program}");
    }
}

#[test]
fn wiggles_at_given_positions() {
    let desk = Desk::new();
    traces(&desk);
    desk.floats("xpos", "n1=3", &[1.0, 1.5, 5.0]);
    let pixels = desk.pixels(
        "wiggle clip=1 zplot=0.1 transp=y yreverse=y grid=n xpos=xpos.rsf",
        "traces",
    );
    // The axis is from 1 - 0.2 to 5 + 0.2.
    let column = |at: f64| {
        (-3..=3)
            .any(|step| pixels.inside((at - 0.8) / 4.4 + f64::from(step) / pixels.frame[2], 0.1)[0] < DARK)
    };
    assert!(column(1.0) && column(1.5) && column(5.0) && !column(3.0));
    // The traces of the second plane have other positions.
    let lone = desk.svg("wiggle xpos=xpos.rsf", "traces").text;
    desk.floats("xpos", "n1=3 n2=2", &[7.0, 8.0, 9.0, 1.0, 1.5, 5.0]);
    assert_eq!(desk.svg("wiggle xpos=xpos.rsf frame=1", "planes").text, lone);
    desk.floats("xpos", "n1=2", &[1.0, 1.5]);
    let message = desk.complaint("wiggle xpos=xpos.rsf", "traces");
    assert!(message.contains("holds 2 positions"), "{message}");
}

#[test]
fn contours_lie_at_their_values() {
    let desk = Desk::new();
    // The value is 10 * axis 1, negative above 2.
    let values: Vec<f32> = (0..30).flat_map(|_| (0..41).map(|z| z as f32 - 20.0)).collect();
    desk.floats("slope", "n1=41 d1=0.1 n2=30 d2=0.1 label=v unit=km/s", &values);
    let rows = |words: &str| {
        let pixels = desk.pixels(&format!("contour plotfat=4 {words}"), "slope");
        let dark: Vec<f64> = (0..400)
            .map(|step| 0.02 + 0.96 * (f64::from(step) + 0.5) / 400.0)
            .filter(|y| pixels.inside(0.37, *y)[0] < 128)
            .collect();
        let mut rows: Vec<f64> = Vec::new();
        for y in dark {
            if rows.last().is_none_or(|last| y - last > 0.02) {
                rows.push(y);
            }
        }
        rows
    };
    let close = |places: Vec<f64>, expected: &[f64]| {
        assert_eq!(places.len(), expected.len(), "{places:?} {expected:?}");
        for (place, expected) in places.iter().zip(expected) {
            assert!((place - expected).abs() < 0.01, "{place:?} {expected:?}");
        }
    };
    close(rows("c=5,15"), &[0.625, 0.875]);
    close(rows("c0=4 dc=8 nc=2"), &[0.6, 0.8]);
    close(rows("dc=10 allpos=n"), &[0.25, 0.5, 0.75]);
    close(rows("c=10"), &[0.75]);
    desk.floats("step", "n1=2 n2=2", &[-1.0, -1.0, 2.0, 2.0]);
    let drawn = |words: &str| desk.picture(&format!("contour {words}"), "step");
    assert_eq!(drawn("c=0.5").0, drawn("c=0.5 allpos=n").0);
    assert_eq!(drawn("c=-0.5,0.5").0, drawn("c=0.5").0);
    assert!(drawn("c=-0.5").1.contains("allpos=n draws them"));
    // Levels that the user requested and that are left out are counted; levels that the program chooses are not.
    for (words, warning) in [
        (
            "c=-10,10",
            "1 of 2 contour levels are left out, because they are negative and allpos=y",
        ),
        ("c0=-15 dc=10 nc=4", "2 of 4 contour levels are left out"),
        ("c=5,15", ""),
        ("dc=10", ""),
        ("c=-10,10 allpos=n", ""),
    ] {
        let text = desk.picture(&format!("contour {words}"), "slope").1;
        assert!(
            text.contains(warning) && text.is_empty() == warning.is_empty(),
            "{words}: {text}"
        );
    }
    // Levels begin at c0= and increase in steps of a round number.
    close(rows("c0=-15 nc=4 allpos=n"), &[0.125, 0.375, 0.625, 0.875]);
    close(rows("c0=5 nc=4 allpos=n"), &[0.625, 0.875]);
    desk.floats("levels", "n1=2", &[-10.0, 10.0]);
    close(rows("cfile=levels.rsf allpos=n"), &[0.25, 0.75]);
    let svg = desk.svg("contour dc=5 clabel=y scalebar=y", "slope");
    assert!(
        svg.has("v (km/s)") && svg.has("15") && svg.has("5"),
        "{:?}",
        svg.texts()
    );
    // A single value is in the middle of the bar.
    desk.floats("flat", "n1=3 n2=3", &[50.0; 9]);
    let bar = desk.svg("contour c=50 scalebar=y", "flat");
    assert!(bar.has("48.0") && bar.has("52.0"), "{:?}", bar.texts());
}

#[test]
fn bars_and_pages_that_are_none() {
    let desk = Desk::new();
    traces(&desk);
    for (words, sentence) in [
        (
            "contour scalebar=y minval=5 maxval=5",
            "the bar would run from minval=5 to maxval=5",
        ),
        ("contour dc=0", "dc= is the interval between contour levels"),
        ("graph screenratio=0", "screenratio=0: it must be more than 0"),
        ("graph screenratio=-1", "screenratio=-1: it must be more than 0"),
    ] {
        let message = desk.complaint(words, "traces");
        assert!(message.contains(sentence), "{words}: {message}");
    }
    // In a picture of higher resolution, the box is at the same relative position.
    let (one, two) = (
        desk.pixels("graph", "traces"),
        desk.pixels("graph res=2", "traces"),
    );
    assert_eq!((two.width, two.height), (2 * one.width, 2 * one.height));
    assert_eq!(two.frame, one.frame.map(|part| 2.0 * part));
}

#[test]
fn refusals_say_what_is_allowed() {
    let desk = Desk::new();
    traces(&desk);
    desk.bytes("bytes", "n1=2 n2=2", &[1, 2, 3, 4]);
    desk.floats("nan", "n1=2 n2=2", &[f32::NAN; 4]);
    desk.floats("none", "n1=2 n2=0", &[]);
    let cases = [
        ("graph frame=1", "traces", "counted from 0 to 0"),
        (
            "graph wherelegend=q legend=a",
            "traces",
            "wherelegend= must be tr, tl, br or bl",
        ),
        ("graph", "bytes", "sfbasics graph draws float and complex"),
        ("wiggle frame=4", "traces", "has 1 planes"),
        ("wiggle clip=0", "traces", "must be more than 0"),
        ("wiggle xmin=5 xmax=1", "traces", "xmin=5 to xmax=1"),
        ("wiggle", "bytes", "float data are needed"),
        ("contour dc=-1", "traces", "more than 0"),
        ("contour color=blue", "traces", "color=blue is unknown"),
        ("contour", "nan", "all values are NaN or infinite"),
        ("contour", "none", "holds no samples"),
        ("dots", "none", "holds no samples"),
        ("graph", "none", "holds no samples"),
        ("wiggle", "none", "holds no samples"),
    ];
    for (line, input, expected) in cases {
        let message = desk.complaint(line, input);
        assert!(message.contains(expected), "{line}: {message}");
    }
}

#[test]
fn values_that_are_no_numbers_are_counted() {
    let desk = Desk::new();
    desk.floats("nan", "n1=2 n2=2", &[f32::NAN; 4]);
    desk.floats(
        "gap",
        "n1=3 n2=2",
        &[0.0, f32::NAN, 2.0, f32::NAN, f32::NEG_INFINITY, f32::NAN],
    );
    for (input, expected) in [
        ("nan", "nothing to see: all values are NaN or infinite"),
        (
            "gap",
            "nothing to see of 1 of 2 curves (counted from 1: 2): their values are all NaN or infinite",
        ),
    ] {
        let (_, text) = desk.picture("graph", input);
        assert!(text.contains(expected), "{text}");
    }
}

/// pclip= cuts off outliers, and nothing of evenly distributed values.
#[test]
fn percentages_of_curves_cut_off_outliers_alone() {
    let desk = Desk::new();
    let mut values: Vec<f32> = (0..=100).map(|i| 100.0 + i as f32).collect();
    // The fraction of the height of the box by which the curve rises from its left end to its right end.
    let rise = |name: &str, words: &str| {
        let pixels = desk.pixels(&format!("graph plotfat=10 {words}"), name);
        let height = |across: f64| {
            let places = (1..200).map(|k| f64::from(k) / 200.0);
            let of_curve: Vec<f64> = places
                .filter(|down| pixels.inside(across, *down) == BLUE)
                .collect();
            of_curve.iter().sum::<f64>() / of_curve.len() as f64
        };
        height(0.04) - height(0.96)
    };
    desk.floats("even", "n1=101", &values);
    values[50] = 1e6;
    desk.floats("odd", "n1=101", &values);
    // An eighth of the range of most values is left free on each side.
    assert!(rise("even", "") > 0.85 && rise("even", "pclip=90") > 0.65);
    assert!(rise("odd", "") < 0.01 && rise("odd", "pclip=90") > 0.3);
}
