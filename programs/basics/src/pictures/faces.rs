//! The faces of a cube: three planes, and their places in the picture.

use anyhow::Result;
use rsf_io::Input;

use super::drawing::{Drawing, Place, Rect};
use super::gain::Scale;
use super::grey::colours_of;
use super::pixels::raster_png;
use super::plane::{Gathering, Plane, Side, read_line};
use super::samples::Samples;

/// Indices, counted from 0, of the planes that are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Cuts {
    /// Index on axis 1: the top.
    pub one: usize,
    /// Index on axis 2: the side.
    pub two: usize,
    /// Index on axis 3: the front.
    pub three: usize,
}

/// Three planes of a cube.
#[derive(Debug)]
pub struct Faces {
    /// Axes 1 and 2.
    front: Plane,
    /// Axes 1 and 3.
    side: Plane,
    /// Axes 3 and 2.
    top: Plane,
}

impl Faces {
    /// Reads the planes in one pass and passes all lines to `samples`, which selects those that it needs.
    pub fn read(input: &mut Input, cuts: Cuts, samples: &mut Samples) -> Result<Self> {
        let axes = [1, 2, 3].map(|number| input.axis(number));
        let [one, two, three] = axes.each_ref().map(|axis| Side::new(axis, &(0..axis.n)));
        let mut front = Gathering::new(one.clone(), two.clone());
        let mut side = Gathering::new(one.clone(), three.clone());
        let mut top = Gathering::new(three, two);
        let n1 = axes[0].n;
        let mut line = vec![0.0; n1];
        for i3 in 0..axes[2].n {
            for i2 in 0..axes[1].n {
                read_line(input, &mut line)?;
                let (in_front, in_side) = (i3 == cuts.three, i2 == cuts.two);
                let drawn = if in_front || in_side {
                    0..n1
                } else {
                    cuts.one..cuts.one + 1
                };
                samples.see(((i3 * axes[1].n + i2) * n1) as u64, &line, Some(drawn));
                if in_front {
                    front.add_run(true, i2, &line);
                }
                if in_side {
                    side.add_run(true, i3, &line);
                }
                top.add(i3, i2, line[cuts.one]);
            }
        }
        Ok(Self {
            front: front.plane(),
            side: side.plane(),
            top: top.plane(),
        })
    }

    /// Draws the planes at the places of `views`.
    pub fn draw(&self, drawing: &mut Drawing, views: &Views, scale: &Scale, fineness: f64) -> Result<()> {
        let corners = views.corners();
        let planes = [(&self.front, false), (&self.side, false), (&self.top, true)];
        for ((plane, upwards), [at, right, down]) in planes.into_iter().zip(corners) {
            let pixels = |to: Place| (((to.0 - at.0).hypot(to.1 - at.1) * fineness).round() as usize).max(1);
            let thin = plane.shown((pixels(down), pixels(right)), scale.smooth);
            let (width, colours) = colours_of(&thin, scale, true, (false, upwards));
            drawing.slanted_image(&raster_png(width, &colours)?, [at, right, down]);
        }
        Ok(())
    }
}

/// The places of the faces.
#[derive(Clone, Copy, Debug)]
pub struct Views {
    /// The front face.
    pub front: Rect,
    /// The whole cube.
    rect: Rect,
    flat: bool,
}

impl Views {
    /// Faces in `rect`; the front takes the fractions `point` of its height and of its width.
    pub fn new(rect: Rect, point: (f64, f64), flat: bool) -> Self {
        let (height, width) = ((rect.height * point.0).round(), (rect.width * point.1).round());
        Self {
            front: Rect {
                x: rect.x,
                y: rect.bottom() - height,
                width,
                height,
            },
            rect,
            flat,
        }
    }

    /// The point at the fraction `share` of the way from a point of the front face to the one behind it.
    fn behind(&self, (x, y): Place, share: f64) -> Place {
        (
            x + share * (self.rect.width - self.front.width),
            y - share * (self.rect.height - self.front.height),
        )
    }

    /// The upper left, upper right and lower left corners of front, side and top.
    fn corners(&self) -> [[Place; 3]; 3] {
        let (front, rect) = (self.front, self.rect);
        let upper_right = (front.right(), front.y);
        let lower_right = (front.right(), front.bottom());
        let upper_left = (front.x, front.y);
        let first = [upper_left, upper_right, (front.x, front.bottom())];
        if self.flat {
            return [
                first,
                [upper_right, (rect.right(), front.y), lower_right],
                [(front.x, rect.y), (front.right(), rect.y), upper_left],
            ];
        }
        [
            first,
            [upper_right, self.behind(upper_right, 1.0), lower_right],
            [
                self.behind(upper_left, 1.0),
                self.behind(upper_right, 1.0),
                upper_left,
            ],
        ]
    }

    /// The outlines of the faces.
    pub fn outlines(&self) -> Vec<Vec<Place>> {
        let rim = |[at, right, down]: [Place; 3]| {
            let across = (right.0 + down.0 - at.0, right.1 + down.1 - at.1);
            vec![at, right, across, down, at]
        };
        self.corners().map(rim).to_vec()
    }

    /// For each of the three planes, the lines along which it cuts the other faces; its coordinate is written at the
    /// last point. `one`, `two` and `three` are the positions of the planes as fractions of the axes, from 0 to 1.
    pub fn cuts(&self, one: f64, two: f64, three: f64) -> [Vec<Vec<Place>>; 3] {
        let (front, rect) = (self.front, self.rect);
        let y = front.y + one * front.height;
        let x = front.x + two * front.width;
        let corner = (front.right(), front.y);
        if self.flat {
            let (side, top) = (self.behind(corner, three).0, self.behind(corner, three).1);
            return [
                vec![vec![(front.x, y), (rect.right(), y)]],
                vec![vec![(x, front.bottom()), (x, rect.y)]],
                vec![
                    vec![(side, front.bottom()), (side, front.y)],
                    vec![(front.right(), top), (front.x, top)],
                ],
            ];
        }
        let (right, up) = ((front.right(), y), (x, front.y));
        let low = (front.right(), front.bottom());
        [
            vec![vec![(front.x, y), right, self.behind(right, 1.0)]],
            vec![vec![(x, front.bottom()), up, self.behind(up, 1.0)]],
            vec![vec![
                self.behind(low, three),
                self.behind(corner, three),
                self.behind((front.x, front.y), three),
            ]],
        ]
    }

    /// The line of axis 3.
    pub fn third_axis(&self) -> [Place; 2] {
        let begin = (self.front.right(), self.front.bottom());
        if self.flat {
            [begin, (self.rect.right(), begin.1)]
        } else {
            [begin, self.behind(begin, 1.0)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The front face is the 100 x 75 rectangle in the lower left of a picture of 200 x 100; the other faces occupy 100
    /// to the right of it and 25 above it.
    fn views(flat: bool) -> Views {
        let rect = Rect {
            x: 10.0,
            y: 20.0,
            width: 200.0,
            height: 100.0,
        };
        Views::new(rect, (0.75, 0.5), flat)
    }

    #[test]
    fn faces_lie_around_the_front() {
        let front = [(10.0, 45.0), (110.0, 45.0), (10.0, 120.0)];
        let flat = [
            front,
            [(110.0, 45.0), (210.0, 45.0), (110.0, 120.0)],
            [(10.0, 20.0), (110.0, 20.0), (10.0, 45.0)],
        ];
        let slanted = [
            front,
            [(110.0, 45.0), (210.0, 20.0), (110.0, 120.0)],
            [(110.0, 20.0), (210.0, 20.0), (10.0, 45.0)],
        ];
        assert_eq!(views(true).corners(), flat);
        assert_eq!(views(false).corners(), slanted);
        let [first, side, top] = views(false).outlines().try_into().expect("three faces");
        let rim = [
            (10.0, 45.0),
            (110.0, 45.0),
            (110.0, 120.0),
            (10.0, 120.0),
            (10.0, 45.0),
        ];
        assert_eq!(first, rim);
        assert_eq!((side[2], top[2]), ((210.0, 95.0), (110.0, 45.0)));
        assert_eq!(views(true).third_axis(), [(110.0, 120.0), (210.0, 120.0)]);
        assert_eq!(views(false).third_axis(), [(110.0, 120.0), (210.0, 95.0)]);
    }

    /// The planes lie at a fifth of axis 1, in the middle of axis 2, and at two fifths of axis 3.
    #[test]
    fn planes_cut_the_other_faces_where_they_lie() {
        let [one, two, three] = views(true).cuts(0.2, 0.5, 0.4);
        assert_eq!(one, [[(10.0, 60.0), (210.0, 60.0)]]);
        assert_eq!(two, [[(60.0, 120.0), (60.0, 20.0)]]);
        let [side, top] = [[(150.0, 120.0), (150.0, 45.0)], [(110.0, 35.0), (10.0, 35.0)]];
        assert_eq!(three, [side, top]);
        let [one, two, three] = views(false).cuts(0.2, 0.5, 0.4);
        assert_eq!(one, [[(10.0, 60.0), (110.0, 60.0), (210.0, 35.0)]]);
        assert_eq!(two, [[(60.0, 120.0), (60.0, 45.0), (160.0, 20.0)]]);
        assert_eq!(three, [[(150.0, 110.0), (150.0, 35.0), (50.0, 35.0)]]);
    }
}
