//! The modelling programs as users run them.

mod accuracy;
mod advice;
mod born;
mod classes;
mod couples;
mod displacement_survey;
mod earthquakes;
mod element_gpus;
mod element_survey;
mod exact_gradients;
mod exact_time;
mod examples;
mod faces;
mod fault;
mod finished;
mod fitting_gpus;
mod gpus;
mod grouped_gpus;
mod histories;
mod image_norm;
mod kill;
mod layers;
mod manners;
mod mistakes;
mod other_data;
mod outputs;
mod picked;
mod plans;
mod refusals;
mod resume;
mod several;
mod shot;
mod signals;
mod slanted;
mod slips;
mod slopes;
mod stacked;
mod staggered_gpus;
mod survey;
mod taken_over;

mod messages;
mod times_of_data;
mod upscaled;
#[cfg(target_arch = "x86_64")]
mod vectors;
mod velocity_stress;

#[path = "../support/desk.rs"]
mod desk;
#[path = "../support/fakes.rs"]
mod fakes;
#[path = "../support/full_space.rs"]
mod full_space;
#[path = "../support/real.rs"]
mod real;
#[path = "../support/shots.rs"]
mod shots;

use desk::built;
