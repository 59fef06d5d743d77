//! Conversion of data to bytes for pictures.

use crate::bench::Bench;

/// Writes three panels of 4 x 2 values, each ten times the previous panel.
fn panels(bench: &Bench) {
    let first = [-4.0f32, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0];
    let values: Vec<f32> = [1.0, 10.0, 100.0]
        .iter()
        .flat_map(|scale| first.map(|x| x * scale))
        .collect();
    bench.dataset("a.rsf", &[4, 2, 3], &values);
}

fn bytes(bench: &Bench, words: &str) -> Vec<u8> {
    bench.run(&format!("cat a.rsf | sfbyte {words} > b.rsf"));
    assert_eq!(bench.lengths("b.rsf", 3), [4, 2, 3]);
    bench.open("b.rsf").read_all::<u8>().unwrap()
}

#[test]
fn gains_of_panels() {
    let bench = Bench::new();
    panels(&bench);
    // 252*(x/clip+1)/2+3, truncated to an integer and mirrored below 0.
    let fine = [3, 34, 66, 97, 128, 160, 191, 223];
    let near = |got: &[u8], expected: &[u8]| got.iter().zip(expected).all(|(a, b)| a.abs_diff(*b) <= 1);
    let each = bytes(&bench, "gainpanel=each pclip=100");
    assert!((0..3).all(|i| near(&each[8 * i..8 * i + 8], &fine)), "{each:?}");
    let second = bytes(&bench, "gainpanel=2 pclip=100");
    assert!(near(&second[8..16], &fine), "{second:?}");
    assert!(
        second[16] == 3 && second[23] == 254 && second[..8].iter().all(|b| b.abs_diff(128) < 14),
        "{second:?}"
    );
    let all = bytes(&bench, "gainpanel=all pclip=100");
    assert!(
        near(&all[16..], &fine) && all[..8].iter().all(|b| b.abs_diff(128) <= 2),
        "{all:?}"
    );
    assert_eq!(bench.run("sfget < b.rsf clip parform=n").trim(), "400");
    assert_eq!(bytes(&bench, "clip=400"), all);
    assert!(
        bench.sh("sfget < b.rsf clip").err.contains("no key clip"),
        "only a clip that was computed goes into the header"
    );
    // The clips of the panels are 2, 20 and 200; the second panel's clip is used for all.
    bytes(&bench, "gainpanel=all pclip=40");
    assert_eq!(bench.run("sfget < b.rsf clip parform=n").trim(), "20");
    let even = bytes(&bench, "clip=4 symcp=y gainpanel=1");
    assert_eq!(even[..8], [2, 33, 65, 97, 128, 159, 191, 223]);
    assert_eq!(bytes(&bench, "pclip=100"), bytes(&bench, "pclip=100 gainpanel=1"));
}

/// The number of the ten values below the clip is as near as possible to the percentage, and distances are counted from
/// `bias=`.
#[test]
fn clips_have_their_share_of_values_below() {
    let bench = Bench::new();
    let values: Vec<f32> = (1..=10).map(|k| k as f32).collect();
    bench.dataset("a.rsf", &[10], &values);
    for bias in [0.0f32, 3.0, -2.5] {
        for percent in [4.0f32, 12.0, 37.0, 54.0, 77.0, 88.0] {
            let clip: f32 = {
                bench.run(&format!("sfbyte < a.rsf pclip={percent} bias={bias} > b.rsf"));
                bench.run("sfget < b.rsf clip parform=n").trim().parse().unwrap()
            };
            // Two values at the same distance on both sides of the bias may be treated as one.
            let below = values.iter().filter(|x| (*x - bias).abs() < clip).count() as f32;
            let most = below + values.iter().filter(|x| (*x - bias).abs() == clip).count() as f32;
            let share = percent / 10.0;
            assert!(
                most > below && below - 0.5 <= share && share < most - 0.5,
                "bias={bias} pclip={percent}: {below} of 10 values lie below {clip}"
            );
        }
    }
}

#[test]
fn scales_of_bytes() {
    let bench = Bench::new();
    panels(&bench);
    let positive = bytes(&bench, "allpos=y clip=4");
    assert_eq!(positive[..5], [0; 5]);
    assert!(
        positive[5].abs_diff(64) <= 1 && positive[7].abs_diff(192) <= 1 && positive[23] == 255,
        "{positive:?}"
    );
    let (plain, turned) = (bytes(&bench, "clip=4"), bytes(&bench, "clip=4 polarity=y"));
    assert!(plain.iter().zip(&turned).all(|(a, b)| *a == 255 - *b));
    let shifted = bytes(&bench, "clip=4 bias=1");
    assert!(shifted[5].abs_diff(plain[4]) <= 1 && shifted[4].abs_diff(plain[3]) <= 1);
    let mean = bytes(&bench, "clip=4 mean=y gainpanel=1");
    assert!(
        mean.iter()
            .zip(&bytes(&bench, "clip=4 bias=-0.5"))
            .all(|(a, b)| a == b)
    );
    // With the power 2 small values are nearer to the middle.
    let squared = bytes(&bench, "clip=4 gpow=2");
    assert!(
        squared[5] < plain[5] && squared[5] >= 128,
        "{squared:?} {plain:?}"
    );
    bench.run("sfbyte < a.rsf bar=bar.rsf gainpanel=each pclip=100 > c.rsf");
    let bar = bench.open("bar.rsf").read_all::<u8>().unwrap();
    assert_eq!(bench.lengths("bar.rsf", 3), [264, 1, 3]);
    assert_eq!(bar[264..268], (-40.0f32).to_ne_bytes());
    assert_eq!(bar[268..272], 30.0f32.to_ne_bytes());
    assert!(bar[272..528].is_sorted() && bar[272] == 3 && bar[527].abs_diff(223) <= 1);
}

#[test]
fn flat_and_broken_data_have_bytes_too() {
    let bench = Bench::new();
    bench.dataset("a.rsf", &[4, 2, 3], &[0.0; 24]);
    assert_eq!(bytes(&bench, "gainpanel=all"), [128; 24]);
    let mut values = [1.0f32; 24];
    (values[0], values[1]) = (f32::NAN, f32::INFINITY);
    bench.dataset("a.rsf", &[4, 2, 3], &values);
    let got = bytes(&bench, "pclip=100");
    assert_eq!(
        (got[1], got[2]),
        (254, 254),
        "infinite values do not set the clip"
    );
}

#[test]
fn a_panel_of_zeros_has_a_bar() {
    let bench = Bench::new();
    bench.run("sfspike n1=4 n2=3 n3=2 mag=0 | sfbyte bar=bar.rsf gainpanel=each > b.rsf");
    for program in ["sfgrey", "sfgrey3"] {
        let svg = bench.run(&format!("{program} scalebar=y format=svg < b.rsf"));
        for number in ["\u{2212}1", "0", "1"] {
            assert!(
                svg.contains(&format!(">{number}")),
                "{program}: {number} in {svg}"
            );
        }
    }
    // The scale of a panel with a single value extends to 4 % of it on both sides.
    bench.run("sfspike n1=4 n2=3 mag=50 | sfbyte bar=bar1.rsf > d.rsf");
    let svg = bench.run("sfgrey scalebar=y dbarnum=2 format=svg < d.rsf");
    for (number, drawn) in [
        ("46", false),
        ("48", true),
        ("50", true),
        ("52", true),
        ("54", false),
    ] {
        assert_eq!(svg.contains(&format!(">{number}<")), drawn, "{number} in {svg}");
    }
    // The clips of several planes, some of which are zero everywhere.
    bench.run("sfspike n1=4 n2=3 n3=3 k3=2 | sfbyte bar=bar2.rsf gainpanel=all > c.rsf; sfgrey scalebar=y < c.rsf > c.png");
}

#[test]
fn pictures_of_bytes_find_their_scale() {
    let bench = Bench::new();
    panels(&bench);
    // The scale is written before the first byte, so that the picture of the first panel need not wait for the other
    // panels.
    let svg = bench.run("sfbyte < a.rsf bar=bar.rsf gainpanel=all | sfgrey scalebar=y format=svg");
    for number in ["\u{2212}4", "2"] {
        assert!(svg.contains(&format!(">{number}</text>")), "{number} in {svg}");
    }
    let cube = "sfgrey3 scalebar=y format=svg minval=-7 maxval=7 dbarnum=7";
    let svg = bench.run(&format!(
        "sfbyte < a.rsf bar=bar.rsf > b.rsf; rm bar.rsf; {cube} < b.rsf"
    ));
    assert!(svg.contains(">7</text>"), "{svg}");
    let gone = bench.sh("sfgrey scalebar=y < b.rsf");
    assert!(
        gone.code == 1 && gone.err.contains("bar.rsf of the header"),
        "{gone:?}"
    );
    assert_eq!(bench.run("sfget bar parform=n < b.rsf").trim(), "bar.rsf");
}
