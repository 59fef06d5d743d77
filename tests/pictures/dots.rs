//! Tests of `sfbasics dots`.

use crate::desk::{Desk, Pixels, Rgb};

/// A black line of one pixel that falls between two pixels darkens each of them by half.
const DARK: u8 = 140;
/// The colours of zero lines, strings and dots.
const PALE: Rgb = [205; 3];
const ORANGE: Rgb = [230, 159, 0];
const PINK: Rgb = [204, 121, 167];

#[test]
fn dots_stand_on_strings() {
    let desk = Desk::new();
    // Two traces of four samples: the lower one is 0 0 1 0, the upper one -1 0 0 -1.
    let values = [0.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0, -1.0];
    desk.floats("traces", "n1=4 o1=0 d1=1 n2=2", &values);
    let page = "wantaxis=n width=624 height=624 overlap=1 radius=0.3";
    // Lines are one pixel wide, so neighbouring pixels count, too.
    let near = |pixels: &Pixels, x: f64, y: f64, is: &dyn Fn(Rgb) -> bool| {
        let steps = || (-2..3).map(|step| f64::from(step) / 600.0);
        steps().any(|dx| steps().any(|dy| is(pixels.inside(x + dx, y + dy))))
    };
    let pixels = desk.pixels(&format!("dots {page} connect=0"), "traces");
    // Samples are in the middle of quarters. Strips are half as high as the page, and dots leave a fifth of them free.
    let (low, high) = (0.5 + 0.5 * 0.1, 1.0 - 0.5 * 0.1);
    assert_eq!(
        pixels.inside(0.625, low),
        PINK,
        "the spike at the top of its strip"
    );
    assert_eq!(
        pixels.inside(0.125, high),
        PINK,
        "zeros at the bottom of the strip"
    );
    let orange = |x: f64, y: f64| near(&pixels, x, y, &|colour| colour == ORANGE);
    assert!(orange(0.625, 0.75), "a string between the two traces");
    assert!(orange(0.125, 0.25), "a string that hangs down");
    assert!(
        !orange(0.375, 0.25) && !orange(0.875, 0.75),
        "zeros have no strings"
    );
    assert!(
        near(&pixels, 0.25, high, &|colour| colour == PALE),
        "the zero line"
    );
    let turned = desk.pixels(&format!("dots {page} connect=0 transp=y"), "traces");
    assert_eq!(turned.inside(1.0 - low, 0.625), PINK, "axis 1 points down");
    let upside = desk.pixels(&format!("dots {page} connect=0 yreverse=y"), "traces");
    assert_eq!(
        upside.inside(0.625, low - 0.5),
        PINK,
        "the first trace at the top"
    );
    let bare = desk.pixels(
        &format!("dots {page} dots=0 strings=n seemean=n connect=3"),
        "traces",
    );
    let black = |x: f64, y: f64| near(&bare, x, y, &|colour| colour[0] < DARK);
    // Bars are as wide as a sample; without dots they fill the whole strip.
    assert!(black(0.55, 0.5) && black(0.7, 0.5) && !black(0.7, 0.75));
    let svg = desk.svg("dots labels=first:second label1=Time title=Two", "traces");
    for text in ["first", "second", "Time", "Two"] {
        assert!(svg.has(text), "{text} in {:?}", svg.texts());
    }
}

#[test]
fn dots_have_symmetric_ranges_gaps_and_diamonds() {
    let desk = Desk::new();
    let page = "wantaxis=n width=624 height=624 overlap=1";
    // If the range is symmetric, the zero line is in the middle of the strip, even if all values are negative.
    let values = [0.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0, -1.0];
    desk.floats("traces", "n1=4 o1=0 d1=1 n2=2", &values);
    let dots = desk.pixels(&format!("dots {page} radius=0.3 constsep=y connect=0"), "traces");
    for (x, y) in [(0.125, 0.75), (0.625, 0.55), (0.125, 0.45), (0.375, 0.25)] {
        assert_eq!(dots.inside(x, y), PINK, "{x} {y}");
    }
    // Lines are interrupted at NaN.
    desk.floats("gap", "n1=4 n2=1", &[1.0, f32::NAN, 1.0, 1.0]);
    let line = desk.pixels(&format!("dots {page} dots=0 strings=n seemean=n"), "gap");
    let black = |x: f64| (0..600).any(|y| line.inside(x, f64::from(y) / 600.0)[0] < DARK);
    assert!(black(0.75) && !black(0.375));
    // The size of a diamond grows with the root of its value: it is 0.4 + 0.45 / 2 samples if the value is a quarter of
    // the largest; there is no diamond for a negative value.
    desk.floats("silk", "n1=4 n2=1", &[0.25, -1.0, -1.0, 1.0]);
    let silk = desk.pixels(&format!("dots {page} silk=y"), "silk");
    let black = |samples: f64| silk.inside(0.125 + 0.25 * samples, 0.5)[0] < DARK;
    assert!(black(0.6) && !black(0.65) && !black(1.0) && black(2.2) && !black(2.1));
}

#[test]
fn dots_of_strange_values() {
    let desk = Desk::new();
    let values = [
        f32::NAN,
        f32::INFINITY,
        1e30,
        -1e30,
        1e-40,
        0.0,
        f32::MAX,
        f32::MIN,
    ];
    desk.floats("traces", "n1=4 n2=2", &values);
    desk.floats("zeros", "n1=3 n2=2", &[0.0; 6]);
    for words in [
        "",
        "silk=y",
        "connect=2",
        "connect=4",
        "dots=2 gaineach=n",
        "constsep=y",
        "clip=1e-30",
        "transp=y xxscale=0.5",
    ] {
        desk.svg(&format!("dots {words}"), "traces");
        desk.svg(&format!("dots {words} seedead=y"), "zeros");
    }
    let message = desk.complaint("dots overlap=0", "zeros");
    assert!(
        message.contains("overlap=0: it must be finite and more than 0"),
        "{message}"
    );
}
