//! The list of all tests whose body is the same for every kind of machine.

/// Defines a test for each body. `$machines` is called with the test's name and returns the machines, or reports why
/// there are none.
macro_rules! on {
    ($machines:expr) => {
        on! { $machines;
            engines::every_setting_of_a_plane
            engines::every_setting_of_a_volume
            engines::every_setting_of_a_plane_in_float64
            engines::every_setting_of_a_volume_in_float64
            engines::models_of_a_few_cells
            engines::points_anywhere
            engines::windows_of_snapshots
            cuts::slabs_of_a_plane_give_the_same_bits
            cuts::slabs_of_a_volume_give_the_same_bits
            cuts::slabs_in_float64_give_the_same_bits
            cuts::repeats_give_the_same_bits
            cuts::slabs_share_a_device
            classes::a_class_equals_orthorhombic
            classes::a_class_equals_orthorhombic_in_float64
            classes::triclinic_media_agree_with_the_processor
            classes::orthorhombic_media_are_triclinic_media
            tiles::every_tile_gives_the_same_numbers
            graphs::replayed_steps_equal_steps
            graphs::replayed_steps_begin_again
            records::a_ring_of_records_goes_round
            records::a_ring_of_records_of_elements_goes_round
            records::slabs_without_receivers
            records::a_simulation_runs_again
            failures::an_unstable_run_is_noticed
            failures::the_first_cell_that_overflows_is_named
            failures::the_density_of_the_cell_is_named
            failures::a_recorder_that_fails_ends_the_run
            failures::elements_that_grow_are_noticed
            ranks::ranks_give_the_same_bits
            ranks::ranks_run_again
            ranks::ways_that_cannot_be_had_are_refused_by_all
            staggered::staggered_planes_agree
            staggered::staggered_volumes_agree
            staggered::staggered_grids_agree_in_float64
            staggered::staggered_slabs_give_the_same_bits
            staggered::a_staggered_run_that_grows_is_noticed
            staggered::the_density_of_a_staggered_cell_is_named
            staggered::every_kernel_of_staggered_grids
            side_by_side::shots_side_by_side_have_their_own_bits
            side_by_side::maps_of_the_next_shot_are_its_own
            side_by_side::shots_that_cannot_run_side_by_side_are_refused
            staggered_small::staggered_models_of_a_few_cells
            staggered_ranks::staggered_ranks_give_the_same_bits
            staggered_ranks::staggered_ranks_run_again
            staggered_ranks::staggered_ways_that_cannot_be_had_are_refused_by_all
            staggered_ranks::a_staggered_rank_that_grows_ends_all
            states::saved_runs_go_on_on_other_devices
            states::saved_staggered_runs_go_on_on_other_devices
            states::replayed_steps_go_on_behind_a_state
            states::states_move_between_processors_and_devices
            states::records_go_round_between_states
            elements::elements_agree_with_the_processor
            elements::strain_and_rotation_agree_with_the_processor
            elements::constants_of_points_agree_with_the_processor
            elements::coarse_grained_attenuation_agrees_with_the_processor
            elements::a_sponge_agrees_with_the_processor
            element_layers::matched_layers_agree_with_the_processor
            elements::elements_of_every_degree
            elements::elements_in_parts_give_the_same_bits
            elements::elements_on_ranks_give_the_same_bits
            elements::saved_runs_of_elements_go_on_anywhere
            elements::every_kernel_of_elements
            element_gradients::gradients_of_elements_agree_with_the_processor
            element_gradients::adjoints_of_elements_are_transposes
            element_gradients::adjoints_of_elements_have_the_same_bits_in_any_memory
            element_gradients::the_next_shot_of_elements_has_its_own_gradient
            element_gradients::every_kernel_of_element_gradients
            watched::every_kernel
        }
    };
    ($machines:expr; $($room:ident::$body:ident)*) => {
        $(#[test]
        fn $body() {
            if let Some(machines) = $machines(stringify!($body)) {
                crate::$room::$body(&machines);
            }
        })*
    };
}
