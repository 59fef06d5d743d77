//! Images divided by their illumination, which is the default.

use crate::shots::{largest, largest_difference, magnitude};
use crate::survey::{desk, with};

/// An image is the sum over the shots of what `norm=n` writes, divided by the illumination of all shots plus `eps=`
/// times its largest value; this is true of every lag and every kind.
#[test]
fn images_are_divided_by_illumination_and_a_share_of_its_largest_value() {
    let desk = desk(2);
    desk.ran(&format!("{} > data.rsf", with(2, "sous.rsf", "recs.rsf", "")));
    let line = with(2, "sous.rsf", "recs.rsf", "image=pp,ss nhx=1");
    let (_, words) = line.split_once(' ').unwrap();
    let image = |extra: &str| {
        desk.ran(&format!(
            "sfvsrtm2d-gpu {words} {extra} illum=light.rsf < data.rsf > image.rsf"
        ));
        (desk.read("image.rsf"), desk.read("light.rsf"))
    };
    let (plain, light) = image("norm=n");
    let cells = light.len() / 2;
    assert_eq!(plain.len(), 2 * 3 * cells);
    for (extra, eps) in [("", 0.001), ("eps=0.5", 0.5), ("norm=y eps=0.05", 0.05)] {
        let (images, same) = image(extra);
        assert!(same == light, "the illumination is not divided: {extra}");
        let mut expected = Vec::new();
        for (plain, light) in plain.chunks(3 * cells).zip(light.chunks(cells)) {
            let least = eps * f64::from(magnitude(light));
            for lag in plain.chunks(cells) {
                let divided = lag.iter().zip(light);
                expected
                    .extend(divided.map(|(&image, &light)| f64::from(image) / (f64::from(light) + least)));
            }
        }
        // Numbers in files have 24 bits: each is rounded twice, and the illumination once. The measured error is 9e-8.
        for (kind, (images, expected)) in images
            .chunks(3 * cells)
            .zip(expected.chunks(3 * cells))
            .enumerate()
        {
            let apart = largest_difference(images, expected) / magnitude(expected);
            println!("{extra} kind {kind}: {apart:.1e}");
            assert!(apart <= 5e-7, "{extra} kind {kind}: {apart:e}");
        }
        assert!(largest(&images) > 0.0);
    }
}
