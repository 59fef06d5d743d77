//! The largest stable step: eigenvalues of elements compared with the power method, and the bounds of whole meshes.

use super::eigen::RESIDUAL;
use super::fixtures::{bend, bricks};
use super::geometry::{Tabulated, lattice};
use super::step::{Law, Medium, Rule, bound, bound_with, eigenvalues, largest_eigenvalue, steps};
use super::tests::tangled;
use super::*;
use crate::largest::relative_difference;

#[test]
fn a_cube_has_the_known_largest_step() {
    // Published values of vp dt / (smallest spacing) for cubes of degree 4 are 0.516, 0.571 and 0.533.
    let basis = Basis::new(4).unwrap();
    let table = Tabulated::<3>::new(Order::Linear, &basis);
    let cube = Mesh::new(bricks([1, 1, 1], Order::Linear))
        .unwrap()
        .coordinates(0);
    for (poisson, expected) in [(0.0, 0.516), (0.25, 0.571), (0.4, 0.533)] {
        let ratio: f64 = (0.5 - poisson) / (1.0 - poisson);
        let medium = Medium::isotropic(1.0, 1.0, ratio.sqrt());
        let dt = 2.0 / largest_eigenvalue(&table, &basis, &cube, std::slice::from_ref(&medium)).sqrt();
        assert!(
            (dt / 0.172_673_16 - expected).abs() < 1.5e-3,
            "{poisson}: {}",
            dt / 0.172_673_16
        );
    }
}

#[test]
fn the_same_medium_as_constants_and_as_a_table_has_the_same_step() {
    let mesh = tangled([2, 2, 2], Order::Quadratic);
    let basis = Basis::new(3).unwrap();
    let (lambda, mu) = (3.0, 2.0);
    let mut table = [[0.0; 6]; 6];
    for i in 0..6 {
        (0..3).filter(|_| i < 3).for_each(|j| table[i][j] = lambda);
        table[i][i] += if i < 3 { 2.0 * mu } else { mu };
    }
    let plain = Medium {
        density: 1.5,
        law: Law::Isotropic { lambda, mu },
    };
    let full = Medium {
        density: 1.5,
        law: Law::Anisotropic(Box::new(table)),
    };
    let (a, b) = (steps(&mesh, &basis, &[plain]), steps(&mesh, &basis, &[full]));
    // Both are bounds that include the residual of an iteration, whose last digits depend on rounding.
    let accuracy = RESIDUAL / 10.0;
    assert!(
        a.iter().zip(&b).all(|(x, y)| (x - y).abs() < accuracy * x),
        "{a:?} {b:?}"
    );
}

#[test]
fn equal_elements_have_equal_steps_and_large_ones_longer_ones() {
    let basis = Basis::new(4).unwrap();
    let stretched = bend(bricks([3, 3], Order::Linear), |x| {
        [x[0] * x[0] + x[0], 2.0 * x[1]]
    });
    let mesh = Mesh::new(stretched).unwrap();
    let media = [Medium::isotropic(2.0, 3.0, 1.0)];
    let steps_of_elements: Vec<f64> = eigenvalues(&mesh, &basis, &media)
        .iter()
        .map(|v| 2.0 / v.sqrt())
        .collect();
    let alone: Vec<f64> = (0..mesh.len())
        .map(|e| {
            let table = Tabulated::new(mesh.order(), &basis);
            let value = largest_eigenvalue(&table, &basis, &mesh.coordinates(e), &media);
            2.0 / value.sqrt()
        })
        .collect();
    for (a, b) in steps_of_elements.iter().zip(&alone) {
        assert!((a - b).abs() < 1e-5 * b);
    }
    assert!(steps_of_elements[0] < steps_of_elements[1] && steps_of_elements[1] < steps_of_elements[2]);
    // Redistributing masses raises the bound of the step on the mesh.
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(least(&steps(&mesh, &basis, &media)) > least(&alone));
}

#[test]
fn the_bound_names_the_stiff_element_and_no_neighbour_of_it() {
    // A column of thin elements between wide ones: after masses are redistributed, all elements require about the same
    // step.
    let basis = Basis::new(4).unwrap();
    let thin = bend(bricks([5, 3], Order::Linear), |x| {
        let u = x[0];
        [
            u + 0.25 * (u - 3.0).max(0.0) - 0.75 * (u.clamp(2.0, 3.0) - 2.0),
            x[1],
        ]
    });
    let mesh = Mesh::new(thin).unwrap();
    let bound = bound(&mesh, &basis, &[Medium::isotropic(2.0, 3.0, 1.0)]);
    let width = |element: usize| {
        let mut xs: Vec<f64> = mesh.coordinates(element).into_iter().map(|x| x[0]).collect();
        xs.sort_by(f64::total_cmp);
        xs[xs.len() - 1] - xs[0]
    };
    let least = (0..mesh.len()).map(width).fold(f64::MAX, f64::min);
    assert!((width(bound.element) - least).abs() < 1e-9, "{}", bound.element);
    assert!(bound.each.iter().all(|step| *step >= bound.limit));
}

/// The largest eigenvalue of an element by the power method, with the stiffness computed directly from the law.
fn by_powers<const D: usize>(
    table: &Tabulated<D>,
    basis: &Basis,
    nodes: &[[f64; D]],
    medium: &Medium,
) -> f64 {
    let element = table.element(nodes);
    let fluid = matches!(medium.law, Law::Fluid(_));
    let points = table.points();
    let scale = |p: usize| {
        let inertia = match medium.law {
            Law::Fluid(modulus) => 1.0 / modulus,
            _ => medium.density,
        };
        (table.weights()[p] * element.determinant[p] * inertia).sqrt()
    };
    // The derivative, at q along axis a of the cell, of the polynomial that is one at p.
    let slopes: Vec<f64> = (0..points * points * D)
        .map(|k| {
            let (q, p, a) = (k / D / points, k / D % points, k % D);
            let (at, of) = (lattice::<D>(q, basis.len()), lattice::<D>(p, basis.len()));
            let others = (0..D).filter(|b| *b != a).all(|b| at[b] == of[b]);
            if others {
                basis.derivative(at[a], of[a])
            } else {
                0.0
            }
        })
        .collect();
    let slope = |q: usize, p: usize, a: usize| slopes[(q * points + p) * D + a];
    let components = if fluid { 1 } else { D };
    let apply = |x: &[[f64; D]]| -> Vec<[f64; D]> {
        let mut force = vec![[0.0; D]; points];
        for q in 0..points {
            let mut gradient = [[0.0; D]; D];
            for p in 0..points {
                for (a, i, c) in (0..D * D * D).map(|k| (k / D / D, k / D % D, k % D)) {
                    gradient[i][c] += x[p][i] / scale(p) * slope(q, p, a) * element.inverse[q][a][c];
                }
            }
            let flux = match fluid {
                true => gradient.map(|row| row.map(|g| g / medium.density)),
                false => medium.law.stress(&gradient),
            };
            let weight = table.weights()[q] * element.determinant[q];
            for p in 0..points {
                for (a, i, c) in
                    (0..D * components * D).map(|k| (k / D / components, k / D % components, k % D))
                {
                    force[p][i] += weight * slope(q, p, a) * element.inverse[q][a][c] * flux[i][c] / scale(p);
                }
            }
        }
        force
    };
    let norm = |x: &[[f64; D]]| x.iter().flatten().map(|c| c * c).sum::<f64>().sqrt();
    let mut x: Vec<[f64; D]> = (0..points)
        .map(|p| {
            std::array::from_fn(|i| {
                if i < components {
                    (1.7 * (p * D + i) as f64).sin()
                } else {
                    0.0
                }
            })
        })
        .collect();
    let mut value = 0.0;
    for _ in 0..400 {
        let size = norm(&x);
        x.iter_mut().flatten().for_each(|c| *c /= size);
        x = apply(&x);
        value = norm(&x);
    }
    value
}

/// An isotropic solid, an anisotropic solid and a fluid.
fn media() -> [Medium; 3] {
    let mut table = [[0.0; 6]; 6];
    for (i, row) in table.iter_mut().enumerate() {
        (0..6).for_each(|j| row[j] = 0.3 / (1.0 + (i as f64 - j as f64).abs()));
        row[i] += 4.0 - 0.5 * i as f64;
    }
    let full = Medium {
        density: 1.3,
        law: Law::Anisotropic(Box::new(table)),
    };
    [
        Medium::isotropic(2.0, 3.0, 1.2),
        full,
        Medium::isotropic(1.1, 1.5, 0.0),
    ]
}

fn check_eigenvalues<const D: usize>(order: Order, degree: usize) {
    let mesh = tangled([3; D], order);
    let basis = Basis::new(degree).unwrap();
    let table = Tabulated::new(order, &basis);
    for medium in media() {
        let all = eigenvalues(&mesh, &basis, std::slice::from_ref(&medium));
        for element in [0, mesh.len() / 2] {
            let nodes = mesh.coordinates(element);
            let exact = by_powers(&table, &basis, &nodes, &medium);
            let single = largest_eigenvalue(&table, &basis, &nodes, std::slice::from_ref(&medium));
            // The result is the same to the last bit whether an element is computed alone or with others in the lanes
            // of a register.
            assert_eq!(all[element], single);
            assert!(
                all[element] > exact * (1.0 - 1e-6) && all[element] < exact * 1.003,
                "{D} {degree} {medium:?}: {} {exact}",
                all[element]
            );
        }
    }
}

#[test]
fn eigenvalues_are_bounded_tightly_from_above() {
    check_eigenvalues::<2>(Order::Linear, 3);
    check_eigenvalues::<2>(Order::Quadratic, 4);
    check_eigenvalues::<3>(Order::Linear, 4);
    check_eigenvalues::<3>(Order::Quadratic, 2);
}

/// Compares the bound from the elements that matter with that from all elements.
fn compare<const D: usize>(mesh: &Mesh<D>, degree: usize, media: &[Medium]) {
    let basis = Basis::new(degree).unwrap();
    let some = bound_with(mesh, &basis, media.into(), Rule::Needed);
    let all = bound_with(mesh, &basis, media.into(), Rule::All);
    let alone = steps_alone(mesh, &basis, media);
    let apart = some.limit / all.limit - 1.0;
    println!(
        "{D}-D, degree {degree}: {:.3} % apart, {:.3} of the limit of single elements",
        100.0 * apart,
        some.limit / alone
    );
    assert!(apart.abs() < 3e-3, "{} {}", some.limit, all.limit);
    assert_eq!(some.element, all.element);
    assert!(some.limit >= alone);
}

fn steps_alone<const D: usize>(mesh: &Mesh<D>, basis: &Basis, media: &[Medium]) -> f64 {
    let values = eigenvalues(mesh, basis, media);
    2.0 / values
        .into_iter()
        .max_by(f64::total_cmp)
        .expect("eigenvalues")
        .sqrt()
}

/// A box that is bent, squeezed along x and divided into regions.
fn uneven<const D: usize>(counts: [usize; D], order: Order, regions: i32, squeeze: f64) -> Mesh<D> {
    let mut parts = bend(bricks(counts, order), |x| {
        let bent = x[0] + squeeze * (0.9 * x[0]).sin();
        std::array::from_fn(|c| match c {
            0 => bent,
            _ => x[c] + 0.12 * (1.1 * x[(c + 1) % D] + 0.7 * x[0]).sin() + 0.02 * x[c] * x[c],
        })
    });
    let of = |k: usize| (k as i32 * 5 / 3 + k as i32 / 7) % regions;
    parts.regions = (0..parts.regions.len()).map(of).collect();
    Mesh::new(parts).unwrap()
}

#[test]
fn elements_that_are_left_out_change_nothing_of_the_bound() {
    let solids = |contrast: f64| -> Vec<Medium> {
        (0..4)
            .map(|k| {
                let more = 1.0 + contrast * f64::from(k) / 3.0;
                Medium::isotropic(2.0 * more, 3.0 * more, 1.5 * more.sqrt())
            })
            .collect()
    };
    for contrast in [0.05, 0.5, 2.0] {
        compare(&uneven([14, 12], Order::Linear, 4, 0.6), 4, &solids(contrast));
        compare(&uneven([9, 8], Order::Quadratic, 4, 0.3), 5, &solids(contrast));
        compare(&uneven([6, 5, 5], Order::Linear, 4, 0.6), 3, &solids(contrast));
        compare(&uneven([7, 4, 5], Order::Quadratic, 4, 0.3), 4, &solids(contrast));
    }
    compare(&uneven([6, 5, 4], Order::Linear, 3, 0.5), 4, &media());
    compare(&uneven([12, 12], Order::Linear, 1, 0.8), 4, &media()[..1]);
}

/// A mesh with a contact of a fluid and a solid has the same steps however it is turned.
#[test]
fn steps_beside_a_contact_do_not_change_as_the_mesh_turns() {
    let media = [
        Medium::isotropic(1000.0, 1500.0, 0.0),
        Medium::isotropic(2000.0, 2200.0, 1000.0),
    ];
    let basis = Basis::new(4).unwrap();
    let of = |turn: f64| {
        let (sin, cos) = turn.sin_cos();
        let mut parts = bend(bricks([2, 2, 2], Order::Linear), |x| {
            [cos * x[0] - sin * x[2], x[1], sin * x[0] + cos * x[2]]
        });
        parts.regions = (0..8).map(|element| i32::from(element < 4)).collect();
        steps(&Mesh::new(parts).unwrap(), &basis, &media)
    };
    let (upright, turned) = (of(0.0), of(0.6));
    // The bounds include the residual of an iteration.
    let apart = relative_difference(turned.iter().copied(), upright.iter().copied());
    assert!(apart < RESIDUAL, "{upright:?} {turned:?}");
}
