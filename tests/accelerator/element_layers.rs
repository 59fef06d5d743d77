//! Perfectly matched layers of spectral elements on accelerators.

use crate::element_worlds::{Recipe, Rock, World};
use crate::elements::{DRY, WET, close, goes_on, same_bits};
use crate::runs::Machines;
use kernels::device::accelerator::Accelerator;
use kernels::mesh::Order;
use kernels::methods::spectral_elements::{Followed, Grain, Profile};

pub fn matched_layers_agree_with_the_processor<A: Accelerator>(machines: &Machines<A>) {
    let specfem = Profile::Specfem { frequency: 8.0 };
    for (rocks, loses, varies, (order, profile)) in [
        (DRY, false, false, (Order::Linear, Profile::Strong)),
        (WET, true, false, (Order::Quadratic, Profile::Strong)),
        (
            [Rock::Fluid, Rock::Fluid],
            false,
            true,
            (Order::Linear, Profile::Strong),
        ),
        (DRY, true, true, (Order::Linear, Profile::Strong)),
        (WET, true, false, (Order::Linear, specfem)),
        (DRY, true, true, (Order::Linear, specfem)),
    ] {
        let plane = Recipe {
            rocks,
            loses,
            varies,
            order,
            followed: Followed::OfNow,
            matched: Some(profile),
            steps: 90,
            ..Recipe::plain([8, 6])
        };
        close(machines, plane);
        same_bits(machines, &World::new(plane));
        goes_on(machines, &World::new(plane));
        let volume = Recipe {
            rocks,
            loses,
            varies,
            order,
            matched: Some(profile),
            ..Recipe::plain([5, 4, 4])
        };
        close(machines, volume);
    }
    let volume = Recipe {
        rocks: WET,
        loses: true,
        grain: Grain::Coarse,
        matched: Some(Profile::Strong),
        ..Recipe::plain([5, 4, 4])
    };
    goes_on(machines, &World::new(volume));
    same_bits(machines, &World::new(volume));
    for degree in [2, 3, 5, 8] {
        let (matched, steps) = (Some(Profile::Strong), 24);
        close(
            machines,
            Recipe {
                degree,
                matched,
                steps,
                ..Recipe::plain([4, 4])
            },
        );
        close(
            machines,
            Recipe {
                degree,
                matched,
                steps,
                ..Recipe::plain([3, 3, 4])
            },
        );
    }
}
