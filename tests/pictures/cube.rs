//! Tests of `sfbasics grey3` and `movie`.

use std::io::Cursor;

use crate::desk::{Desk, Rgb, waves};

/// Writes a cube of bytes whose values identify the axes: 10 + 20 i1 (+ 2 i2, + i3 on the other axes), of 6 x 5 x 4
/// samples.
fn steps(desk: &Desk) {
    let at = |i1: u8, i2: u8, i3: u8| 10 + 20 * i1 + 2 * i2 + i3;
    let values: Vec<u8> = (0..4)
        .flat_map(|i3| (0..5).flat_map(move |i2| (0..6).map(move |i1| at(i1, i2, i3))))
        .collect();
    desk.bytes(
        "steps",
        "n1=6 o1=0 d1=1 label1=z n2=5 o2=10 d2=2 label2=x n3=4 o3=-1 d3=0.5 label3=y",
        &values,
    );
}

fn near(colour: Rgb, expected: u8) -> bool {
    colour.iter().all(|part| part.abs_diff(expected) <= 1)
}

#[test]
fn faces_show_their_planes() {
    let desk = Desk::new();
    steps(&desk);
    let pixels = desk.pixels("grey3 frame1=3 frame2=1 frame3=2 point1=0.5 point2=0.5", "steps");
    // These are the middles of samples on each face; the box is divided in the middle in both directions.
    let front = |i1: f64, i2: f64| pixels.inside(0.5 * (i2 + 0.3) / 5.0, 0.5 + 0.5 * (i1 + 0.3) / 6.0);
    let side = |i1: f64, i3: f64| pixels.inside(0.5 + 0.5 * (i3 + 0.3) / 4.0, 0.5 + 0.5 * (i1 + 0.3) / 6.0);
    let top = |i2: f64, i3: f64| pixels.inside(0.5 * (i2 + 0.3) / 5.0, 0.5 - 0.5 * (i3 + 0.3) / 4.0);
    assert!(near(front(4.0, 2.0), 10 + 80 + 4 + 2), "{:?}", front(4.0, 2.0));
    assert!(near(front(0.0, 0.0), 10 + 2), "{:?}", front(0.0, 0.0));
    assert!(near(side(5.0, 3.0), 10 + 100 + 2 + 3), "{:?}", side(5.0, 3.0));
    assert!(near(side(0.0, 0.0), 10 + 2), "{:?}", side(0.0, 0.0));
    assert!(near(top(4.0, 3.0), 10 + 60 + 8 + 3), "{:?}", top(4.0, 3.0));
    assert!(near(top(0.0, 0.0), 10 + 60), "{:?}", top(0.0, 0.0));
    assert_eq!(pixels.inside(0.75, 0.25), [255; 3], "the corner stays empty");
    // Lines show where the planes cut the front: frame1 horizontally, frame2 vertically.
    let across = (-2..=2).any(|step| {
        let [red, _, blue] = pixels.inside(0.33, 0.5 + 0.5 * 3.5 / 6.0 + f64::from(step) / pixels.frame[3]);
        red > blue.saturating_add(60)
    });
    assert!(across, "the line of frame1=3");
}

#[test]
fn numbers_give_the_places_of_the_planes() {
    let desk = Desk::new();
    steps(&desk);
    for flat in ["y", "n"] {
        let svg = desk.svg(
            &format!("grey3 frame1=3 frame2=1 frame3=1 flat={flat} n1tic=2 n2tic=2 n3tic=2"),
            "steps",
        );
        for text in ["z", "x", "y", "3", "12", "\u{2212}0.5"] {
            assert!(svg.has(text), "flat={flat}: {text} in {:?}", svg.texts());
        }
        let silent = desk.svg(
            &format!("grey3 frame1=3 flat={flat} framelabel=n wantaxis=n"),
            "steps",
        );
        assert!(silent.words.is_empty(), "{:?}", silent.texts());
    }
}

#[test]
fn a_cube_from_its_upper_right() {
    let desk = Desk::new();
    steps(&desk);
    let pixels = desk.pixels(
        "grey3 frame1=0 frame2=4 frame3=0 point1=0.5 point2=0.5 flat=n",
        "steps",
    );
    // The top is above the front, and the side to its right; two corners stay empty.
    assert!(
        near(pixels.inside(0.05, 0.95), 10 + 100),
        "{:?}",
        pixels.inside(0.05, 0.95)
    );
    assert!(
        near(pixels.inside(0.55, 0.03), 10 + 3),
        "{:?}",
        pixels.inside(0.55, 0.03)
    );
    assert!(
        near(pixels.inside(0.97, 0.3), 10 + 60 + 8 + 3),
        "{:?}",
        pixels.inside(0.97, 0.3)
    );
    assert_eq!(
        [(0.05, 0.05), (0.95, 0.95)].map(|(x, y)| pixels.inside(x, y)),
        [[255; 3]; 2]
    );
}

#[test]
fn reals_are_coloured_by_the_drawn_planes() {
    let desk = Desk::new();
    waves(&desk);
    let svg = desk.svg("grey3 frame3=1 color=bluered", "waves");
    assert!(
        svg.has("Displacement (10⁻⁹ m)") && svg.has("Time (s)"),
        "{:?}",
        svg.texts()
    );
    let ends = |words: &str| {
        desk.picture(&format!("grey3 verb=y pclip=100 {words}"), "waves")
            .1
    };
    assert!(ends("frame3=0 frame2=0 frame1=0") != ends("frame3=4 frame2=0 frame1=0"));
}

/// The number of frames of an animated PNG and the delay in seconds; all frames are decoded.
fn frames(bytes: &[u8]) -> (usize, f64) {
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
    let animation = *reader.info().animation_control().unwrap();
    let control = *reader.info().frame_control().unwrap();
    let mut buffer = vec![0; reader.output_buffer_size().unwrap()];
    for _ in 0..animation.num_frames {
        reader.next_frame(&mut buffer).unwrap();
    }
    assert_eq!(animation.num_plays, 0, "the animation repeats");
    (
        animation.num_frames as usize,
        f64::from(control.delay_num) / f64::from(control.delay_den),
    )
}

/// Planes with the values 1, 10 and 100: by default one clip is chosen from their three clips, and with `gainpanel=`
/// the clip of the requested plane is used.
#[test]
fn movies_have_the_gain_of_their_planes_or_of_the_requested_one() {
    let desk = Desk::new();
    let values: Vec<f32> = [1.0, 10.0, 100.0].iter().flat_map(|&value| [value; 64]).collect();
    desk.floats("panels", "n1=8 n2=8 n3=3", &values);
    let movie = |words: &str| {
        let line = format!("movie color=viridis allpos=y width=200 {words}");
        desk.picture(&line, "panels").0
    };
    assert!(
        movie("pclip=50") == movie("clip=100"),
        "one of three clips, not a clip of all values"
    );
    assert!(movie("pclip=100 gainpanel=2") == movie("clip=10"));
    assert!(movie("clip=10") != movie("clip=100"));
}

#[test]
fn movies_show_every_plane_with_one_clip() {
    let desk = Desk::new();
    waves(&desk);
    let (bytes, text) = desk.picture("movie color=bluered verb=y pclip=100 width=400", "waves");
    assert_eq!(frames(&bytes), (5, 0.1));
    // The largest plane has waves of 5e-9.
    assert!(
        text.starts_with("sfmovie: colours from -0.00000000") && text.contains("5"),
        "{text}"
    );
    let (bytes, _) = desk.picture("movie width=400 delay=0.25 jframe=2 nframe=2 fframe=1", "waves");
    assert_eq!(frames(&bytes), (2, 0.25));
    let (bytes, _) = desk.picture("movie width=400 axis=1 vertical=2 horizontal=3", "waves");
    assert_eq!(frames(&bytes).0, 12);
    // Snapshots of pressure have one component, and time is the axis after it.
    let header = "n1=3 n2=4 n3=1 n4=6 label3=pressure label4=t";
    let values: Vec<f32> = (0..72).map(|i| i as f32).collect();
    desk.floats("pressure", header, &values);
    let (bytes, _) = desk.picture("movie width=400", "pressure");
    assert_eq!(frames(&bytes).0, 6);
}

#[test]
fn gifs_have_the_same_frames() {
    let desk = Desk::new();
    waves(&desk);
    let (bytes, _) = desk.picture(
        "movie width=400 color=viridis format=gif delay=0.2 clip=5e-9",
        "waves",
    );
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut reader = options.read_info(Cursor::new(bytes)).unwrap();
    let width = reader.width() as usize;
    let mut screen = vec![0u8; 4 * width * reader.height() as usize];
    let mut shown = Vec::new();
    while let Some(frame) = reader.read_next_frame().unwrap() {
        assert_eq!(frame.delay, 20);
        for (row, line) in frame.buffer.chunks(4 * frame.width as usize).enumerate() {
            let at = 4 * ((frame.top as usize + row) * width + frame.left as usize);
            screen[at..at + line.len()].copy_from_slice(line);
        }
        shown.push(screen.clone());
    }
    assert_eq!(shown.len(), 5);
    // The last frame is the same as grey's picture of that plane, except for the palette.
    let still = desk.pixels("grey width=400 color=viridis frame=4 clip=5e-9", "waves");
    let pairs = still.bytes.chunks(3).zip(shown[4].chunks(4));
    let worst = pairs
        .map(|(a, b)| (0..3).map(|i| a[i].abs_diff(b[i])).max().unwrap())
        .max()
        .unwrap();
    assert!(worst <= 24, "a colour is off by {worst}");
    assert_ne!(shown[0], shown[4]);
}

#[test]
fn refusals_say_what_is_allowed() {
    let desk = Desk::new();
    waves(&desk);
    desk.floats("flat", "n1=2 n2=2", &[0.0; 4]);
    desk.floats("four", "n1=2 n2=2 n3=2 n4=2", &[0.0; 16]);
    let cases = [
        ("grey3", "four", "more than three axes"),
        ("grey3 min1=3", "waves", "extract a part with sfwindow"),
        ("grey3 point1=2", "waves", "0.01 to 0.99"),
        ("movie", "flat", "has only one plane"),
        ("movie axis=2", "waves", "can run along axes [3]"),
        ("movie frame=1", "waves", "0 axes other than axis=3"),
        ("movie fframe=9", "waves", "counted from 0 to 4"),
        ("movie format=svg", "waves", "the format must be png or gif"),
    ];
    let mut missing = Vec::new();
    for (line, input, expected) in cases {
        let message = desk.complaint(line, input);
        if !message.contains(expected) {
            missing.push(format!("{line}: `{expected}` in {message}"));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    let (_, message) = desk.picture("grey3 movie=3", "waves");
    assert!(message.contains("warning: movie="), "{message}");
}
