//! No text touches another or extends beyond the picture, for any parameters.

use crate::desk::{Desk, waves};

fn cube(desk: &Desk) {
    let values: Vec<f32> = (0..8 * 9 * 7).map(|i| ((i * 37) % 101) as f32 - 50.0).collect();
    let header = "n1=8 o1=0 d1=0.1 label1=Depth unit1=km n2=9 o2=1 d2=0.1 label2=Inline unit2=km n3=7 o3=2 d3=0.1 label3=Crossline \
unit3=km label=Pressure unit=Pa title=Cube";
    desk.floats("cube", header, &values);
}

#[test]
fn of_planes() {
    let desk = Desk::new();
    waves(&desk);
    for program in ["grey", "contour allpos=n clabel=y nc=7 scalebar=y"] {
        for words in [
            "",
            "frame=2 bartype=h",
            "wherexlabel=t whereylabel=r",
            "wherexlabel=t wheretitle=b bartype=h frame=1",
            "labelsz=14 titlesz=16 frame=4",
            "labelsz=4 titlesz=5 barlabelsz=9 res=2",
            "width=420",
            "width=300 height=280 labelsz=5 titlesz=6",
            "screenratio=2.5 screenht=12",
            "screenratio=0.3 screenht=4.1",
            "min1=0.0301 max1=0.0302 min2=0.0101 max2=0.0102",
            "title=A_title_that_is_far_too_long_for_a_picture_of_this_width_and_has_to_be_written_in_smaller_letters",
            "label1=A_very_long_name_of_an_axis_that_is_higher_than_the_box barlabel=Another_very_long_name_that_does_not_fit",
            "xreverse=y yreverse=n transp=n",
            "clip=123456 bias=98765432",
        ] {
            let line = format!("{program} {words}");
            let svg = desk.svg(&line, "waves");
            svg.check_texts(&line);
            assert!(svg.words.len() > 6, "{line}: {:?}", svg.texts());
            let [x, y, width, height] = svg.frame;
            assert!(
                x > 0.0 && y > 0.0 && x + width < svg.size.0 && y + height < svg.size.1,
                "{line}"
            );
        }
    }
}

#[test]
fn of_curves() {
    let desk = Desk::new();
    waves(&desk);
    for program in [
        "graph",
        "wiggle",
        "wiggle transp=y yreverse=y poly=y wherexlabel=t",
        "graph symbol=o transp=y",
    ] {
        for words in [
            "",
            "labelsz=14 titlesz=16",
            "width=400 height=300",
            "grid=y whereylabel=r",
            "label2=Displacement unit2=m",
            "min1=0.05 max1=0.0501",
            "d1num=0.02 d2num=2e-9 n1tic=4",
        ] {
            let line = format!("{program} {words}");
            desk.svg(&line, "waves").check_texts(&line);
        }
    }
    let legend = desk.svg("graph legend=near:far:a_third_one wherelegend=bl", "waves");
    legend.check_texts("legend");
    let [left, top, right, bottom] = legend.place("a third one");
    let [x, y, width, height] = legend.frame;
    assert!(left > x && right < x + 0.5 * width && top > y + 0.5 * height && bottom < y + height);
}

#[test]
fn of_cubes() {
    let desk = Desk::new();
    cube(&desk);
    for words in [
        "",
        "flat=n",
        "frame1=4 frame2=5 frame3=3",
        "frame1=4 frame2=5 frame3=3 flat=n",
        "point1=0.7 point2=0.8 title=",
        "point1=0.8 point2=0.7 flat=n labelsz=12",
        "labelsz=12 bartype=h",
        "width=500 height=420 labelsz=5",
    ] {
        let line = format!("grey3 {words}");
        let svg = desk.svg(&line, "cube");
        svg.check_texts(&line);
        for text in ["Depth (km)", "Inline (km)", "Crossline (km)", "Pressure (Pa)"] {
            assert!(svg.has(text), "{line}: {text} in {:?}", svg.texts());
        }
    }
}

/// The first number of an axis may be narrow and the following ones wide, as in 0, 200000, ...; there must be room for
/// all.
#[test]
fn wide_numbers_behind_narrow_ones_do_not_touch() {
    let desk = Desk::new();
    desk.floats("long", "n1=2 d1=1000000", &[0.0, 1.0]);
    for width in (300..900).step_by(15) {
        let svg = desk.svg(&format!("graph width={width} format1=%.0f"), "long");
        assert!(svg.words.len() > 3, "{:?}", svg.texts());
        svg.check_texts(&format!("width={width}"));
    }
}

/// A colour bar may have neither numbers nor a label.
#[test]
fn of_bars_without_words() {
    let desk = Desk::new();
    waves(&desk);
    for clip in ["4", "4e-10"] {
        let line = format!("grey wantaxis=n wanttitle=n wantframenum=n scalebar=y clip={clip}");
        assert!(!desk.svg(&line, "waves").words.is_empty());
        let bare = desk.svg(&format!("{line} wantbaraxis=n"), "waves");
        assert!(bare.words.is_empty(), "{:?}", bare.texts());
    }
}

/// The box has the requested shape, even if the width of the whole picture is given; if its height is given, the shape
/// cannot be kept.
#[test]
fn boxes_have_the_requested_shape() {
    let desk = Desk::new();
    waves(&desk);
    for program in ["grey", "graph", "contour", "wiggle"] {
        for (words, ratio, width) in [
            ("screenratio=0.5", 0.5, None),
            ("screenht=5 screenwd=8", 0.625, None),
            ("screenratio=0.735 width=800", 0.735, Some(800.0)),
            ("screenratio=1.4 width=500", 1.4, Some(500.0)),
            ("xinch=6 yinch=3 width=700", 0.5, Some(700.0)),
            ("width=700", 0.75, Some(700.0)),
        ] {
            let line = format!("{program} {words}");
            let svg = desk.svg(&line, "waves");
            let [_, _, across, down] = svg.frame;
            // Sides are whole numbers of pixels.
            assert!(
                (down - ratio * across).abs() <= 0.5 + 0.5 * ratio,
                "{line}: {:?}",
                svg.frame
            );
            assert!(
                width.is_none_or(|width| svg.size.0 == width),
                "{line}: {:?}",
                svg.size
            );
        }
        let (_, text) = desk.picture(&format!("{program} screenratio=1 height=400"), "waves");
        assert!(
            text.contains("screenratio= has no effect: height= sets the height"),
            "{text}"
        );
        let (_, text) = desk.picture(&format!("{program} screenratio=1 width=400"), "waves");
        assert!(!text.contains("no effect"), "{text}");
    }
}
