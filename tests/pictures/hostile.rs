//! No input makes a picture program panic: for curves, planes and parameters of any size there is a picture or a single
//! message.

use crate::desk::{Desk, quarters};

/// Values that are difficult to draw.
const VALUES: [f32; 16] = [
    0.0,
    1.0,
    -1.0,
    2500.0,
    1e9,
    -1e20,
    1e38,
    f32::MAX,
    f32::MIN,
    1e-9,
    1e-45,
    -1e-38,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    0.5,
];
/// Numbers that users may type.
const WISHES: [&str; 10] = [
    "0", "1", "-1", "0.5", "2500", "1e9", "-1e-9", "1e38", "1e300", "-1e300",
];

/// A stream of uniform random numbers (xorshift of 64 bits).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }

    fn of<'a, T: ?Sized>(&mut self, choice: &[&'a T]) -> &'a T {
        choice[self.below(choice.len())]
    }

    /// Values of one kind: difficult values, a single difficult value, a steep curve, or noise with a few difficult
    /// values.
    fn values(&mut self, count: usize) -> Vec<f32> {
        let kind = self.below(5);
        let one = VALUES[self.below(VALUES.len())];
        (0..count)
            .map(|i| match kind {
                0 => VALUES[self.below(VALUES.len())],
                1 => one,
                2 => 4e9 / (i as f32 + 1.0).powi(10),
                3 => 10f32.powi(self.below(76) as i32 - 38),
                _ if self.below(9) == 0 => VALUES[self.below(VALUES.len())],
                _ => self.below(2000) as f32 / 1000.0 - 1.0,
            })
            .collect()
    }

    fn header(&mut self, lengths: [usize; 3]) -> String {
        let mut header = String::new();
        for (i, n) in (1..).zip(lengths) {
            let (o, d) = match self.below(3) {
                0 => (
                    self.of(&["0", "1e30", "-1e38", "1e-45", "123456"]),
                    self.of(&["1", "-1", "0", "1e-30", "1e38", "-1e-9", "1e-45"]),
                ),
                _ => ("0", "1"),
            };
            header += &format!("n{i}={n} o{i}={o} d{i}={d} ");
        }
        header
    }

    /// Some of the parameters that a program knows, with values of any size.
    fn words(&mut self, program: &str) -> String {
        const ALL: [&str; 8] = [
            "min1=",
            "max1=",
            "min2=",
            "max2=",
            "d1num=",
            "o2num=",
            "g1num=",
            "screenratio=",
        ];
        let own: &[&str] = match program {
            "graph" => &[
                "symbol=+o.A symbolsz=",
                "dash=",
                "transp=y pclip=50 dash=",
                "legend=a:b plotfat=3 symbolsz=",
            ],
            "wiggle" => &[
                "poly=y clip=",
                "poly=y zplot=",
                "seemean=y xmin=",
                "poly=y transp=y xmax=",
            ],
            "contour" => &["c0=", "dc=", "clabel=y allpos=n c0=", "scalebar=y maxval="],
            _ => &[
                "clip=",
                "bias=",
                "gpow=",
                "allpos=y minval=",
                "color=iC maxval=",
                "mean=y dbarnum=",
            ],
        };
        let mut words = String::from(" width=150");
        for known in ALL.iter().chain(own) {
            if self.below(6) == 0 {
                words += &format!(" {known}{}", self.of(&WISHES));
            }
        }
        words
    }
}

/// Checks that a run gives a picture or a single message.
#[track_caller]
fn harmless(desk: &Desk, line: &str, input: &str) {
    let output = desk.run(line, input);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(0) => assert!(!output.stdout.is_empty(), "{line}: {text}"),
        Some(1) => assert!(
            !text.contains("internal error") && text.ends_with('\n'),
            "{line}: {text}"
        ),
        code => panic!("{line} ends with {code:?}: {text}"),
    }
}

#[test]
fn curves_that_leave_the_page_are_cut() {
    let desk = Desk::new();
    let steep: Vec<f32> = (1..=10).map(|x| 4e9 / (x as f32).powi(10)).collect();
    desk.floats("steep", "n1=10 o1=1 d1=1", &steep);
    for line in [
        "graph min2=0 max2=2500",
        "graph min2=0 max2=1e-9 symbol=o symbolsz=1e9",
        "graph min2=1 max2=2 dash=3 plotfat=1000000",
        "wiggle poly=y clip=1e-30",
        "wiggle poly=y seemean=y zplot=1e30 transp=y",
    ] {
        harmless(&desk, line, "steep");
        let (svg, _) = desk.picture(&format!("{line} format=svg"), "steep");
        let svg = String::from_utf8(svg).unwrap();
        assert!(svg.len() < 100_000, "{line}: {svg}");
    }
    // The fifth value is the first below the upper edge, so the line enters the box before it.
    let pixels = desk.pixels("graph min1=1 max1=10 min2=0 max2=2500 plotfat=5 pad=n", "steep");
    assert!(pixels.ink() > 0.0);
    // A window of a tiny part of a sample shows the sample's colour.
    desk.floats(
        "plane",
        "n1=3 n2=3 d1=1 d2=1",
        &[0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
    );
    let deep = "grey min1=1 max1=1.000000001 min2=1 max2=1.000000001 allpos=y clip=1 scalebar=n";
    let pixels = desk.pixels(deep, "plane");
    assert_eq!([pixels.inside(0.1, 0.1), pixels.inside(0.9, 0.9)], [[255; 3]; 2]);
}

#[test]
fn hostile_curves_and_planes_end_in_a_picture_or_a_sentence() {
    let desk = Desk::new();
    let mut dice = Dice(0x5eed_cafe);
    for number in 0..120 {
        let program = dice.of(&["graph", "wiggle", "contour", "grey", "grey3", "movie"]);
        let lengths = [1 + dice.below(12), 1 + dice.below(5), 1 + dice.below(3)];
        let (header, count) = (dice.header(lengths), lengths.iter().product());
        if program == "graph" && number % 2 == 0 {
            let (one, two) = (dice.values(count), dice.values(count));
            let pairs: Vec<[f32; 2]> = one.into_iter().zip(two).map(|(a, b)| [a, b]).collect();
            desk.complex("data", &header, &pairs);
        } else {
            desk.floats("data", &header, &dice.values(count));
        }
        let line = format!("{program}{}", dice.words(program));
        harmless(&desk, &line, "data");
    }
}

#[test]
fn pictures_of_others_may_be_hostile_too() {
    let desk = Desk::new();
    let svg = |marks: &str| {
        format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"90\" height=\"60\">{marks}</svg>")
    };
    let marks = [
        "<path d=\"M0 0L4e9 2e9L5 4e9\" stroke=\"#000\" stroke-width=\"2\"/>",
        "<path d=\"M0 0L1e38 1e38\" fill=\"none\" stroke=\"#000\"/>",
        "<circle cx=\"5\" cy=\"5\" r=\"1e30\"/>",
        "<rect width=\"1e9\" height=\"1e9\" transform=\"scale(1e9)\"/>",
        "<path d=\"M0 0Lnan nan\" stroke=\"#000\"/>",
    ];
    for (number, marks) in marks.iter().enumerate() {
        let name = format!("{number}.svg");
        std::fs::write(desk.path(&name), svg(marks)).unwrap();
        for mode in ["side", "over", "overlay"] {
            harmless(&desk, &format!("pictures mode={mode} {name} {name}"), "none");
        }
        harmless(&desk, &format!("pictures mode=movie {name}"), "none");
    }
    let steep: Vec<f32> = (1..=10).map(|x| 4e9 / (x as f32).powi(10)).collect();
    desk.floats("steep", "n1=10 o1=1 d1=1", &steep);
    desk.picture("graph min2=0 max2=2500 out=a.svg", "steep");
    desk.picture("graph min2=0 max2=2500 out=b.png", "steep");
    harmless(&desk, "pictures mode=overlay a.svg b.png", "none");
    std::fs::write(
        desk.path("cut.png"),
        &std::fs::read(desk.path("b.png")).unwrap()[..300],
    )
    .unwrap();
    harmless(&desk, "pictures b.png cut.png", "none");
}

#[test]
fn noise_about_zero_draws_no_seam() {
    let desk = Desk::new();
    let noise: Vec<f32> = (0..400)
        .map(|i| if i % 3 == 0 { 1e-7 } else { -1e-7 } * (i % 7) as f32)
        .collect();
    desk.floats("noise", "n1=20 n2=20", &noise);
    for colour in ["grey", "bluered", "viridis", "purpleorange"] {
        let pixels = desk.pixels(&format!("grey clip=1 color={colour} scalebar=n"), "noise");
        let zero = pixels.inside(0.5, 0.5);
        for i in 1..20 {
            for k in 1..20 {
                assert_eq!(pixels.inside(i as f64 / 20.0, k as f64 / 20.0), zero, "{colour}");
            }
        }
    }
}

/// The box covers a fraction of a sample along one axis and all of the other; nothing may be drawn at points far
/// outside it.
#[test]
fn one_sample_alone_fills_the_box() {
    let desk = Desk::new();
    quarters(&desk);
    for (across, end) in [
        ("min2=4.05 max2=4.0500001", 0.2),
        ("min1=3.05 max1=3.0500001", 0.8),
    ] {
        let line = format!("grey color=bluered screenratio=0.7 {across}");
        let pixels = desk.pixels(&line, "quarters");
        let [red, _, blue] = pixels.inside(0.8, 0.8);
        assert!(red > blue.saturating_add(30), "{line}");
        let other = if end < 0.5 {
            pixels.inside(0.8, end)
        } else {
            pixels.inside(0.2, end)
        };
        assert!(other[0].abs_diff(other[2]) < 30, "{line}: {other:?}");
    }
}

/// A page may be wider than high: contour lines of a wide plane show all waves that its pixels can resolve.
#[test]
fn contours_keep_the_waves_of_wide_planes() {
    let desk = Desk::new();
    // Each wave has five samples, and lies between 0.2 and 0.8 of the height of the box.
    let wave = |x: u16| 0.3 * (std::f32::consts::TAU * f32::from(x) / 5.0).cos();
    let values: Vec<f32> = (0..1000).flat_map(|x| [wave(x) - 0.5, wave(x) + 0.5]).collect();
    desk.floats("wide", "n1=2 n2=1000", &values);
    let pixels = desk.pixels("contour c=0 allpos=n width=1400 height=300", "wide");
    assert!(pixels.frame[2] > 1000.0 && pixels.frame[3] < 300.0);
    let places = (0..1000).map(|x| (f64::from(x) + 0.5) / 1000.0);
    let crossed = places.filter(|&across| pixels.inside(across, 0.3)[0] < 200);
    assert!(crossed.count() > 200);
}
