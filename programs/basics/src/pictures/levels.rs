//! Contour lines of a plane, by marching squares.

use std::collections::HashMap;

use super::drawing::Place;
use super::plane::Plane;

/// The crossing of a line with an edge of the grid: the edge from node (row, column) to the next row or column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Crossing {
    row: usize,
    column: usize,
    to_next_column: bool,
}

/// The lines along which `plane` has the value `level`, as coordinates on axes 1 and 2. Cells with NaN at a
/// corner are left out.
pub fn lines(plane: &Plane, level: f32) -> Vec<Vec<Place>> {
    let (rows, columns) = (plane.one.samples, plane.two.samples);
    let value = |row: usize, column: usize| plane.values[column * rows + row];
    let mut joints: HashMap<Crossing, Vec<Crossing>> = HashMap::new();
    for column in 0..columns.saturating_sub(1) {
        for row in 0..rows.saturating_sub(1) {
            let corners = [
                value(row, column),
                value(row + 1, column),
                value(row + 1, column + 1),
                value(row, column + 1),
            ];
            if corners.iter().any(|corner| corner.is_nan()) {
                continue;
            }
            for (from, to) in in_cell(row, column, corners, level) {
                joints.entry(from).or_default().push(to);
                joints.entry(to).or_default().push(from);
            }
        }
    }
    let at = |crossing: &Crossing| {
        let Crossing {
            row,
            column,
            to_next_column,
        } = *crossing;
        let here = value(row, column);
        let (next, along) = if to_next_column {
            (value(row, column + 1), (0.0, 1.0))
        } else {
            (value(row + 1, column), (1.0, 0.0))
        };
        let share = f64::from((level - here) / (next - here)).clamp(0.0, 1.0);
        (
            plane.one.coordinate(row as f64 + share * along.0),
            plane.two.coordinate(column as f64 + share * along.1),
        )
    };
    let chains = chains(&joints);
    chains
        .iter()
        .map(|chain| chain.iter().map(at).collect())
        .collect()
}

/// The segments inside one cell, whose corner values are given in order around it from (row, column).
fn in_cell(row: usize, column: usize, corners: [f32; 4], level: f32) -> Vec<(Crossing, Crossing)> {
    let edge = |row, column, to_next_column| Crossing {
        row,
        column,
        to_next_column,
    };
    // Edge i lies between corners i and i + 1.
    let edges = [
        edge(row, column, false),
        edge(row + 1, column, true),
        edge(row, column + 1, false),
        edge(row, column, true),
    ];
    let above = corners.map(|corner| corner > level);
    let crossed: Vec<usize> = (0..4).filter(|&i| above[i] != above[(i + 1) % 4]).collect();
    match crossed.as_slice() {
        [a, b] => vec![(edges[*a], edges[*b])],
        [_, _, _, _] => {
            // At a saddle the mean of the corners decides which pairs of edges are connected.
            let middle = corners.iter().sum::<f32>() / 4.0 > level;
            if middle == above[0] {
                vec![(edges[0], edges[1]), (edges[2], edges[3])]
            } else {
                vec![(edges[3], edges[0]), (edges[1], edges[2])]
            }
        }
        _ => Vec::new(),
    }
}

/// Joins crossings to lines: first open lines from end to end, then closed lines, in which the last crossing
/// repeats the first.
fn chains(joints: &HashMap<Crossing, Vec<Crossing>>) -> Vec<Vec<Crossing>> {
    let mut starts: Vec<Crossing> = joints.keys().copied().collect();
    // The order is fixed, so that the same data give the same file.
    starts.sort_by_key(|crossing| (joints[crossing].len(), *crossing));
    let mut seen = std::collections::HashSet::new();
    let mut chains = Vec::new();
    for start in starts {
        if !seen.insert(start) {
            continue;
        }
        let mut chain = vec![start];
        let mut last = start;
        while let Some(&next) = joints[&last].iter().find(|next| !seen.contains(next)) {
            seen.insert(next);
            chain.push(next);
            last = next;
        }
        if chain.len() > 2 && joints[&last].contains(&start) {
            chain.push(start);
        }
        chains.push(chain);
    }
    chains
}

#[cfg(test)]
mod tests {
    use super::super::plane::Side;
    use super::*;

    fn plane(rows: usize, columns: usize, value: impl Fn(f64, f64) -> f64) -> Plane {
        let side = |samples: usize| Side {
            samples,
            block: 1,
            first: -0.5,
            last: samples as f64 - 0.5,
        };
        let values = (0..columns).flat_map(|c| (0..rows).map(move |r| (r, c)));
        Plane {
            values: values.map(|(r, c)| value(r as f64, c as f64) as f32).collect(),
            one: side(rows),
            two: side(columns),
        }
    }

    #[test]
    fn a_circle_is_one_closed_line() {
        let plane = plane(41, 41, |r, c| (r - 20.0).hypot(c - 20.0));
        let contours = lines(&plane, 10.0);
        assert_eq!(contours.len(), 1);
        assert_eq!(contours[0].first(), contours[0].last());
        for (r, c) in &contours[0] {
            let radius = (r - 20.0).hypot(c - 20.0);
            // Linear interpolation of a cone has an error of at most d^2 / (8 r), where d = sqrt(2) is the
            // diagonal of a cell.
            assert!((radius - 10.0).abs() < 2.0 / 80.0, "{radius}");
        }
    }

    #[test]
    fn the_smallest_line_is_closed() {
        let peak = plane(3, 3, |r, c| if r == 1.0 && c == 1.0 { 1.0 } else { 0.0 });
        let contours = lines(&peak, 0.5);
        assert_eq!(contours.len(), 1);
        assert_eq!((contours[0].len(), contours[0].first()), (5, contours[0].last()));
    }

    #[test]
    fn an_open_line_runs_from_rim_to_rim() {
        let plane = plane(5, 7, |r, _| r);
        let contours = lines(&plane, 1.25);
        assert_eq!(contours.len(), 1);
        assert!(contours[0].iter().all(|(r, _)| *r == 1.25));
        let mut columns: Vec<f64> = contours[0].iter().map(|(_, c)| *c).collect();
        columns.sort_by(f64::total_cmp);
        assert_eq!(columns, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert!(lines(&plane, 7.0).is_empty());
    }

    #[test]
    fn saddles_and_gaps() {
        let saddle = plane(2, 2, |r, c| if r == c { 1.0 } else { -1.0 });
        // The mean of the corners is below the level, so each line runs around one of the two corners above it.
        let around = lines(&saddle, 0.25);
        assert_eq!(around.len(), 2);
        // Both ends of a line lie next to one corner.
        let high = |line: &Vec<Place>| {
            let beside = |end: &Place| end.0 + end.1 < 1.0;
            line.len() == 2 && beside(&line[0]) == beside(&line[1])
        };
        assert!(around.iter().all(high), "{around:?}");
        // With a level below the mean, lines run around the corners below it.
        let low = |line: &Vec<Place>| {
            let beside = |end: &Place| end.0 < end.1;
            line.len() == 2 && beside(&line[0]) == beside(&line[1])
        };
        let around = lines(&saddle, -0.25);
        assert!(around.len() == 2 && around.iter().all(low), "{around:?}");
        let gap = plane(2, 2, |r, c| if r == c { 1.0 } else { f64::NAN });
        assert!(lines(&gap, 0.5).is_empty());
    }
}
