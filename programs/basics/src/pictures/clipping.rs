//! Clipping of lines and areas to a box. Curves may have values of any size, and the renderer fails on
//! coordinates far outside the page, so curves are clipped to the neighbourhood of the page.

use resvg::usvg::{Group, ImageKind, Node};

use super::drawing::{Place, Rect};

/// The largest coordinate. It is small enough that differences of coordinates are finite too.
const FARTHEST: f64 = 1e100;

/// The box enlarged by `margin` on every side.
pub fn grown(rect: Rect, margin: f64) -> Rect {
    Rect {
        x: rect.x - margin,
        y: rect.y - margin,
        width: rect.width + 2.0 * margin,
        height: rect.height + 2.0 * margin,
    }
}

/// Whether a point lies inside the box or on its boundary.
pub fn holds(rect: Rect, (x, y): Place) -> bool {
    (rect.x..=rect.right()).contains(&x) && (rect.y..=rect.bottom()).contains(&y)
}

/// The parts of the line through `points` that lie in the box. A point that is not finite interrupts the line.
pub fn lines(points: &[Place], rect: Rect) -> Vec<Vec<Place>> {
    let mut pieces: Vec<Vec<Place>> = Vec::new();
    for run in points.split(|(x, y)| !(x.is_finite() && y.is_finite())) {
        let run: Vec<Place> = run.iter().map(|&point| near(point)).collect();
        if let [only] = run[..] {
            pieces.extend(holds(rect, only).then(|| vec![only]));
        }
        // The end of the last part, if the line continues there.
        let mut open = None;
        for pair in run.windows(2) {
            let Some([from, to]) = segment(pair[0], pair[1], rect) else {
                open = None;
                continue;
            };
            match pieces.last_mut().filter(|_| open == Some(from)) {
                Some(piece) => piece.push(to),
                None => pieces.push(vec![from, to]),
            }
            open = (to == pair[1]).then_some(to);
        }
    }
    pieces
}

/// The part of the area inside the polygon `rim` that lies in the box, by the algorithm of Sutherland and Hodgman.
/// Points that are not finite are left out.
pub fn area(rim: &[Place], rect: Rect) -> Vec<Place> {
    let finite = rim.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
    let mut rim: Vec<Place> = finite.map(|&point| near(point)).collect();
    // For each side of the box, functions for the distance by which a point lies inside it, and for the projection of a
    // point onto it.
    type Side = (fn(Place, Rect) -> f64, fn(Place, Rect) -> Place);
    let sides: [Side; 4] = [
        (|p, r| p.0 - r.x, |p, r| (r.x, p.1)),
        (|p, r| r.right() - p.0, |p, r| (r.right(), p.1)),
        (|p, r| p.1 - r.y, |p, r| (p.0, r.y)),
        (|p, r| r.bottom() - p.1, |p, r| (p.0, r.bottom())),
    ];
    for (depth, onto) in sides {
        let Some(mut before) = rim.last().copied() else {
            break;
        };
        let mut kept = Vec::with_capacity(rim.len() + 4);
        for &point in &rim {
            let (a, b) = (depth(before, rect), depth(point, rect));
            if (a < 0.0) != (b < 0.0) {
                kept.push(onto(between(before, point, a / (a - b)), rect));
            }
            if b >= 0.0 {
                kept.push(point);
            }
            before = point;
        }
        rim = kept;
    }
    rim
}

/// The largest magnitude of a coordinate in the drawing and in SVG images inside it; infinite if a coordinate
/// is NaN.
pub fn farthest(group: &Group) -> f32 {
    let own = group.abs_stroke_bounding_box();
    let far = [own.left(), own.top(), own.right(), own.bottom()]
        .into_iter()
        .map(|side| if side.is_nan() { f32::INFINITY } else { side.abs() });
    let inside = group.children().iter().map(|child| match child {
        Node::Group(group) => farthest(group),
        Node::Image(image) => match image.kind() {
            ImageKind::SVG(tree) => farthest(tree.root()),
            _ => 0.0,
        },
        _ => 0.0,
    });
    far.chain(inside).fold(0.0, f32::max)
}

/// The part of a segment inside the box.
fn segment(from: Place, to: Place, rect: Rect) -> Option<[Place; 2]> {
    let (mut begin, mut end) = (0.0f64, 1.0f64);
    for (at, to, low, high) in [
        (from.0, to.0, rect.x, rect.right()),
        (from.1, to.1, rect.y, rect.bottom()),
    ] {
        if at == to {
            if !(low..=high).contains(&at) {
                return None;
            }
            continue;
        }
        let (one, other) = ((low - at) / (to - at), (high - at) / (to - at));
        begin = begin.max(one.min(other));
        end = end.min(one.max(other));
    }
    // Keeps rounding from moving a point out of the box.
    let inside = |(x, y): Place| (x.clamp(rect.x, rect.right()), y.clamp(rect.y, rect.bottom()));
    let place = |share: f64| match share {
        0.0 => inside(from),
        1.0 => inside(to),
        share => inside(between(from, to, share)),
    };
    (begin <= end).then(|| [place(begin), place(end)])
}

fn between(from: Place, to: Place, share: f64) -> Place {
    (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))
}

fn near((x, y): Place) -> Place {
    (x.clamp(-FARTHEST, FARTHEST), y.clamp(-FARTHEST, FARTHEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOX: Rect = Rect {
        x: 0.0,
        y: 0.0,
        width: 10.0,
        height: 20.0,
    };

    #[test]
    fn what_lies_inside_stays_as_it_is() {
        let points = [(1.0, 1.0), (9.0, 19.0), (5.0, 0.0), (10.0, 20.0)];
        assert_eq!(lines(&points, BOX), [points.to_vec()]);
        assert_eq!(area(&points, BOX), points);
        assert_eq!(lines(&[(3.0, 4.0)], BOX), [[(3.0, 4.0)]]);
    }

    #[test]
    fn lines_are_cut_where_they_leave() {
        let cut = lines(&[(5.0, 10.0), (15.0, 10.0), (15.0, 12.0), (5.0, 12.0)], BOX);
        assert_eq!(cut, [[(5.0, 10.0), (10.0, 10.0)], [(10.0, 12.0), (5.0, 12.0)]]);
        assert!(lines(&[(-5.0, -1.0), (5.0, -1.0)], BOX).is_empty());
        // The line passes a corner without touching the box.
        assert!(lines(&[(-5.0, 6.0), (6.0, -5.0)], BOX).len() == 1);
        assert!(lines(&[(-5.0, 4.0), (4.0, -5.0)], BOX).is_empty());
        let broken = lines(&[(1.0, 1.0), (f64::NAN, 1.0), (2.0, 2.0), (3.0, 3.0)], BOX);
        assert_eq!(broken, [vec![(1.0, 1.0)], vec![(2.0, 2.0), (3.0, 3.0)]]);
    }

    #[test]
    fn nothing_lies_outside_whatever_the_numbers() {
        let numbers = [
            0.0,
            5.0,
            -1e-320,
            1e30,
            -1e30,
            1e308,
            -1e308,
            f64::INFINITY,
            f64::NAN,
        ];
        let points: Vec<Place> = (0..729)
            .map(|i| (numbers[i % 9], numbers[i / 9 % 9 * 7 % 9]))
            .chain((0..81).map(|i| (numbers[i / 9], numbers[i % 9])))
            .collect();
        for piece in lines(&points, BOX) {
            assert!(piece.iter().all(|point| holds(BOX, *point)), "{piece:?}");
        }
        let inside = area(&points, BOX);
        assert!(inside.iter().all(|point| holds(BOX, *point)), "{inside:?}");
    }

    #[test]
    fn an_area_keeps_its_cut_shape() {
        let triangle = [(5.0, 10.0), (25.0, 10.0), (5.0, 30.0)];
        let cut = area(&triangle, BOX);
        let twice: f64 = (0..cut.len())
            .map(|i| (cut[i], cut[(i + 1) % cut.len()]))
            .map(|(a, b)| a.0 * b.1 - b.0 * a.1)
            .sum();
        // The part measures 5 x 10, all of it under the slanted side.
        assert_eq!(twice.abs(), 100.0);
    }
}
