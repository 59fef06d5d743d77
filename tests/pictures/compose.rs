//! Tests of `sfbasics pictures` and `sfbasics box`.

use std::fs;

use crate::desk::{Desk, Pixels, Rgb, Svg, quarters};

const BLACK: Rgb = [0; 3];

/// Writes a section with a colour bar, and a point in its exact centre without axes, as files.
fn section_and_point(desk: &Desk, kind: &str) {
    quarters(desk);
    desk.complex("point", "n1=1", &[[3.0, 2.0]]);
    let section = format!("grey color=bluered title=Section min1=0 max1=4 min2=0 max2=6 out=section.{kind}");
    desk.picture(&section, "quarters");
    let point = "graph symbol=. plotfat=60 plotcol=7 min2=0 max2=4 min1=0 max1=6 yreverse=y wantaxis=n wanttitle=n transparent=y";
    desk.picture(&format!("{point} out=point.{kind}"), "point");
}

#[test]
fn overlays_put_box_on_box() {
    for kind in ["svg", "png"] {
        let desk = Desk::new();
        section_and_point(&desk, kind);
        let (bytes, text) = desk.picture(&format!("pictures mode=overlay section.{kind} point.{kind}"), "-");
        assert_eq!(text, "", "{kind}");
        let pixels = Pixels::read(&bytes);
        let section = Pixels::read(
            &desk
                .picture(
                    "grey color=bluered title=Section min1=0 max1=4 min2=0 max2=6",
                    "quarters",
                )
                .0,
        );
        assert_eq!(
            (pixels.width, pixels.height, pixels.frame),
            (section.width, section.height, section.frame)
        );
        assert_eq!(pixels.inside(0.5, 0.5), BLACK, "{kind}: the point");
        for at in [(0.25, 0.25), (0.75, 0.75), (0.4, 0.5)] {
            assert_eq!(
                pixels.inside(at.0, at.1),
                section.inside(at.0, at.1),
                "{kind}: the section is visible"
            );
        }
    }
}

#[test]
fn weak_values_leave_the_picture_below_visible() {
    let desk = Desk::new();
    quarters(&desk);
    let model = "grey color=viridis scalebar=n wantaxis=n wanttitle=n width=500 screenratio=0.6";
    desk.picture(&format!("{model} out=model.svg"), "quarters");
    // The values are minus one in the upper left, one in the lower right, and zero elsewhere. With fade=0.5, the
    // colours of 0.5 would be half opaque.
    let wave = |words: &str| format!("grey color=bluered clip=1 screenratio=0.6 width=500 {words}");
    desk.picture(&wave("fade=0.5 out=wave.svg"), "quarters");
    let seen = Pixels::read(&desk.picture("pictures mode=overlay model.svg wave.svg", "-").0);
    let opaque = desk.pixels(&wave("clip=1"), "quarters");
    let below = Pixels::read(&desk.picture("pictures mode=overlay model.svg", "-").0);
    for at in [(0.25, 0.25), (0.75, 0.75)] {
        assert_eq!(
            seen.inside(at.0, at.1),
            opaque.inside(at.0, at.1),
            "strong values hide the model"
        );
    }
    for at in [(0.75, 0.25), (0.25, 0.75)] {
        assert_eq!(
            seen.inside(at.0, at.1),
            below.inside(at.0, at.1),
            "the model is visible where the values are zero"
        );
    }
    let message = desk.complaint("grey fade=2", "quarters");
    assert!(
        message.contains("fade= got `2`, but must be a number 0 to 1"),
        "{message}"
    );
}

#[test]
fn white_paper_of_an_svg_is_left_out_and_a_png_is_warned_of() {
    let desk = Desk::new();
    section_and_point(&desk, "svg");
    let point = "graph symbol=. plotfat=60 plotcol=7 min2=0 max2=4 min1=0 max1=6 yreverse=y";
    desk.picture(&format!("{point} out=paper.svg"), "point");
    desk.picture(&format!("{point} out=paper.png"), "point");
    let shows = |words: &str| {
        Pixels::read(&desk.picture(&format!("pictures mode=overlay {words}"), "-").0).inside(0.75, 0.75)
    };
    assert!(shows("section.svg paper.svg") != [255; 3]);
    assert_eq!(shows("section.svg paper.png"), [255; 3]);
    let text = desk.picture("pictures mode=overlay section.svg paper.png", "-").1;
    assert!(
        text.contains("warning: paper.png hides the pictures below it"),
        "{text}"
    );
}

#[test]
fn rows_columns_and_tables() {
    let desk = Desk::new();
    quarters(&desk);
    desk.picture("grey width=400 out=a.svg", "quarters");
    desk.picture("grey width=500 title=B scalebar=n out=b.png", "quarters");
    let size = |name: &str| match name {
        "a.svg" => Svg::read(&fs::read(desk.path(name)).unwrap()).size,
        _ => {
            let pixels = Pixels::read(&fs::read(desk.path(name)).unwrap());
            (pixels.width as f64, pixels.height as f64)
        }
    };
    let (a, b) = (size("a.svg"), size("b.png"));
    let size = |words: &str| Svg::read(&desk.picture(&format!("pictures format=svg {words}"), "-").0).size;
    let (side, over) = (size("a.svg b.png"), size("mode=over a.svg b.png"));
    assert_eq!(side.0, a.0 + b.0);
    assert!(
        side.1 >= a.1.max(b.1) && side.1 < a.1.max(b.1) + 60.0,
        "the boxes are at the same height: {side:?}"
    );
    assert_eq!(over.1, a.1 + b.1);
    assert_eq!(size("gap=30 a.svg b.png").0, side.0 + 30.0);
    let table = size("columns=2 a.svg b.png a.svg");
    assert!(table.0 >= side.0 && table.1 > side.1 + 0.9 * a.1, "{table:?}");
    let letters = Svg::read(&desk.picture("pictures format=svg letters=y a.svg b.png", "-").0);
    assert_eq!(
        letters
            .texts()
            .iter()
            .filter(|text| ["(a)", "(b)"].contains(text))
            .count(),
        2
    );
    let pixels = Pixels::read(&desk.picture("pictures res=2 a.svg b.png", "-").0);
    assert_eq!(pixels.width as f64, 2.0 * side.0);
}

#[test]
fn a_movie_of_files() {
    let desk = Desk::new();
    quarters(&desk);
    desk.picture("grey width=400 out=a.svg", "quarters");
    desk.picture("grey width=400 polarity=y out=b.png", "quarters");
    let (bytes, _) = desk.picture("pictures mode=movie delay=1 a.svg b.png", "-");
    let reader = png::Decoder::new(std::io::Cursor::new(bytes))
        .read_info()
        .unwrap();
    assert_eq!(reader.info().animation_control().unwrap().num_frames, 2);
    // The boxes of pictures of several sizes lie on top of each other, on a page that has room for all pictures.
    desk.picture("grey width=300 out=c.svg", "quarters");
    let both = ["a.svg", "c.svg"].map(|name| Svg::read(&fs::read(desk.path(name)).unwrap()));
    let bytes = desk.picture("pictures mode=movie a.svg c.svg", "-").0;
    let pixels = Pixels::read(&bytes);
    let largest = |of: &dyn Fn(&Svg) -> f64| both.iter().map(of).max_by(f64::total_cmp).unwrap();
    let length = |axis: usize| {
        let before = largest(&|svg| svg.frame[axis]);
        largest(&|svg| before - svg.frame[axis] + [svg.size.0, svg.size.1][axis])
    };
    for (measured, axis) in [(pixels.width, 0), (pixels.height, 1)] {
        assert!(
            (measured as f64 - length(axis)).abs() <= 1.0,
            "{measured} {}",
            length(axis)
        );
    }
    desk.floats("numbers", "n1=2 n2=2", &[-1e5, 2.0, 3.0, 1e5]);
    desk.picture("grey scalebar=y out=n.svg", "numbers");
    desk.picture("grey scalebar=y out=q.svg title=One", "quarters");
    desk.picture("pictures mode=movie n.svg q.svg out=m.gif", "-");
}

#[test]
fn refusals_say_what_is_allowed() {
    let desk = Desk::new();
    fs::write(desk.path("text.svg"), "no picture").unwrap();
    for (words, expected) in [
        ("mode=side", "no pictures are given"),
        ("missing.png", "cannot read missing.png"),
        ("text.svg", "text.svg is not a picture that can be used here"),
        ("mode=up a.svg", "side"),
    ] {
        let message = desk.complaint(&format!("pictures {words}"), "-");
        assert!(message.contains(expected), "{words}: {message}");
    }
}

#[test]
fn a_label_points_at_a_place_of_the_standard_page() {
    let desk = Desk::new();
    // The tip is at 5, 5 inches and the text at 7, 6; an inch is 66 units, and the height of the page 10.24 inches.
    let svg = desk.svg("box x0=5 y0=5 xt=2 yt=1 label=Salt lab_color=2", "-");
    assert_eq!(svg.size, (902.0, 676.0));
    let [left, top, right, bottom] = svg.place("Salt");
    let middle = (0.5 * (left + right), 0.5 * (top + bottom));
    assert!(
        (middle.0 - 462.0).abs() < 1.0 && (middle.1 - 279.84).abs() < 1.5,
        "{middle:?}"
    );
    // Letters are a quarter of an inch high; their capitals are 0.73 of that.
    assert!((bottom - top - 0.73 * 16.5).abs() < 1.5, "{top} {bottom}");
    let frame = [150.2, 84.5, 675.8, 506.9];
    assert!(
        svg.frame.iter().zip(frame).all(|(a, b)| (a - b).abs() < 0.1),
        "{:?}",
        svg.frame
    );
    // There is ink at the tip in the colour of the label, but none without a pointer.
    let red = |x: Rgb| x[0] > 180 && x[1] < 160 && x[2] < 120;
    let around = |pixels: &Pixels, (x, y): (usize, usize)| {
        (x - 3..x + 4).any(|x| (y - 3..y + 4).any(|y| red(pixels.at(x, y))))
    };
    let tip = (330, 345);
    let pixels = desk.pixels("box x0=5 y0=5 xt=2 yt=1 label=Salt lab_color=2", "-");
    assert!(around(&pixels, tip));
    let bare = desk.pixels(
        "box x0=5 y0=5 xt=2 yt=1 label=Salt lab_color=2 pointer=n boxit=n",
        "-",
    );
    assert!(!around(&bare, tip));
    // Half an inch from the tip there is the outline of an oval; the position is set by other parameters.
    let oval = desk.pixels(
        "box x0=2.5 y0=2.5 scale0=2 xt=4 yt=2 scalet=0.5 x_oval=0.5 y_oval=1 pointer=n lab_color=2 lab_fat=10",
        "-",
    );
    assert!(around(&oval, (363, 345)) && around(&oval, (330, 279)) && !around(&oval, tip));
    let long = desk.svg("box xt=3 yt=4 length=10 label=far", "-").place("far");
    assert!((0.5 * (long[0] + long[2]) - 396.0).abs() < 1.0, "{long:?}");
    assert!(
        desk.complaint("box x0=1e9", "-")
            .contains("lies far outside the page")
    );
}

#[test]
fn a_label_lies_over_a_picture_of_another_size() {
    let desk = Desk::new();
    section_and_point(&desk, "svg");
    // The middle of the standard box is at 7.395, 5.12 inches.
    desk.picture(
        "box x0=7.395 y0=5.12 xt=-3 yt=2 label=here x_oval=0.1 y_oval=0.1 lab_fat=50 out=label.svg",
        "-",
    );
    let (bytes, text) = desk.picture("pictures mode=overlay section.svg label.svg", "-");
    assert_eq!(text, "");
    assert_eq!(Pixels::read(&bytes).inside(0.5, 0.5), BLACK);
}
