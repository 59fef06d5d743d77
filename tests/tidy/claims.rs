//! The claims of the README and of chapters 9 and 13 of the book, each with the test that checks it: words of the page,
//! the file, and a test in it. If a statement changes, so must its row; every claim must have a test, and the numbers
//! in its words must occur in the test.

use super::{read, report};

/// Words of README.md, the file of tests, the test.
const CLAIMS: [(&str, &str, &str); 34] = [
    (
        "result has the same bits",
        "tests/parity/cuts.rs",
        "slabs_of_a_volume_give_the_same_displacement",
    ),
    (
        "result has the same bits",
        "tests/parity/threads.rs",
        "any_number_of_threads_gives_the_same_bits",
    ),
    (
        "result has the same bits",
        "tests/velocity_stress/cuts.rs",
        "any_number_of_slabs_and_threads_gives_the_same_bits",
    ),
    (
        "agree with the CPU within 1e-5",
        "tests/programs/gpus.rs",
        "real_gpus_agree_with_the_processors",
    ),
    (
        "agree with the CPU within 1e-5",
        "tests/programs/velocity_stress.rs",
        "real_gpus_agree_with_the_processors",
    ),
    (
        "agree with the CPU within 1e-5",
        "tests/accelerator/engines.rs",
        "every_setting_of_a_volume",
    ),
    (
        "elastic modelling for velocity and stress",
        "tests/velocity_stress/green.rs",
        "a_double_couple_has_the_amplitude_of_aki_and_richards_within_one_percent",
    ),
    (
        "elastic modelling for velocity and stress",
        "tests/velocity_stress/lamb.rs",
        "vertical_and_radial_motion_are_lambs_for_stiff_and_soft_rock",
    ),
    (
        "elastic modelling for velocity and stress",
        "tests/velocity_stress/layer.rs",
        "a_lossy_layer_over_a_half_space_within_three_percent",
    ),
    (
        "CPML",
        "tests/velocity_stress/stretched.rs",
        "layers_hold_the_field_of_stretched_coordinates",
    ),
    (
        "attenuation",
        "tests/velocity_stress/constant_q.rs",
        "waves_in_the_volume_lose_what_constant_q_takes",
    ),
    (
        "order 8 in space",
        "tests/physics/order.rs",
        "the_order_in_space_is_at_least_seven_and_a_half_in_an_orthorhombic_volume",
    ),
    (
        "and 2 in time",
        "tests/physics/order.rs",
        "the_order_in_time_is_at_least_one_point_nine",
    ),
    (
        "`plan=y` the modelling programs print grid",
        "tests/programs/manners.rs",
        "a_plan_prints_everything_and_writes_nothing",
    ),
    (
        "with or without tilt",
        "tests/physics/turned.rs",
        "a_tilted_plane_carries_the_same_waves",
    ),
    (
        "A run that does not fit into the memory of its GPUs",
        "tests/programs/gpus.rs",
        "memory_is_looked_at_before_it_is_taken",
    ),
    (
        "or of the host on CPUs, is refused",
        "tests/programs/manners.rs",
        "a_run_beyond_the_memory_is_refused_before_it_begins",
    ),
    (
        "If a GPU fails during a run",
        "tests/programs/gpus.rs",
        "a_gpu_lost_in_the_middle_ends_the_run_and_what_was_written_stays",
    ),
    (
        "use the complete records of a truncated file",
        "tests/basics/cut.rs",
        "whole_records_are_read_with_a_warning",
    ),
    (
        "ends a run between two steps",
        "tests/programs/signals.rs",
        "displacement_runs_end_in_order",
    ),
    (
        "The result is bit-identical to that of a single process",
        "tests/mpi/same.rs",
        "any_number_of_ranks_gives_the_same_bits",
    ),
    (
        "an error ends all ranks",
        "tests/mpi/ends.rs",
        "a_rank_that_is_killed_ends_the_others",
    ),
    (
        "outside the model are an error",
        "tests/programs/slips.rs",
        "points_in_the_frame_are_refused",
    ),
    (
        "refused with the largest stable step",
        "tests/programs/refusals.rs",
        "an_unstable_time_step",
    ),
    (
        "an error that gives both names and both numbers",
        "tests/programs/refusals.rs",
        "grids_that_disagree",
    ),
    (
        "`oneway=upwind` grows much later",
        "tests/physics/energy.rs",
        "the_upwind_condition_is_stable_where_the_published_one_grows",
    ),
    (
        "`oneway=upwind` grows much later",
        "tests/physics/one_way.rs",
        "the_upwind_condition_sends_back_what_the_published_one_does_on_every_face",
    ),
    (
        "stable for 200,000 steps with a frame of 24 nodes, where the published condition grows within 60,000; with 8 nodes both grow",
        "tests/physics/energy.rs",
        "the_upwind_condition_is_stable_for_two_hundred_thousand_steps",
    ),
    (
        "the header has the number written",
        "tests/programs/outputs.rs",
        "headers_count_the_records_that_are_written",
    ),
    (
        "a warning with the nearest name",
        "tests/programs/refusals.rs",
        "unknown_parameters",
    ),
    (
        "each header keeps its own",
        "tests/rsf/manners.rs",
        "two_folders_with_one_data_path_keep_their_own_numbers",
    ),
    (
        "files in the folder, with a warning",
        "tests/rsf/manners.rs",
        "a_data_path_without_a_slash_is_warned_of",
    ),
    (
        "as Madagascar's `sfewefd*_omp` do",
        "tests/madagascar/main.rs",
        "every_run_in_3d_is_reproduced",
    ),
    (
        "reads and writes RSF files with only numpy",
        "tests/flows/data_test.py",
        "test_",
    ),
];

/// The claims of chapters 9 and 13 of the book.
const CHAPTER: &str = "book/user/09-velocity-and-stress/README.md";
const OF_CHAPTER: [(&str, &str, &str); 5] = [
    (
        "0.2 %, 1.9 % and 5.3 %",
        "tests/programs/faces.rs",
        "waves_along_a_face_have_larger_echoes",
    ),
    (
        "within 1 % after six wavelengths and 2 % after twelve",
        "tests/velocity_stress/surface.rs",
        "lambs_problem_within_two_percent_at_ten_cells_a_wavelength",
    ),
    (
        "it is accurate to within 0.2 %",
        "tests/velocity_stress/surface.rs",
        "lambs_problem_within_two_percent_at_ten_cells_a_wavelength",
    ),
    (
        "is then accurate to within 3 %",
        "tests/velocity_stress/layer.rs",
        "a_layer_over_a_half_space_within_three_percent_at_a_hundred_metres",
    ),
    (
        "is accurate to within 3.5 % with these averages",
        "tests/velocity_stress/layer.rs",
        "a_layer_that_ends_within_cells_is_nearly_as_right_with_their_mean",
    ),
];
const OTHER_CHAPTER: &str = "book/user/13-faults-and-attenuation/README.md";
const OF_OTHER_CHAPTER: [(&str, &str, &str); 3] = [
    (
        "below 1.5 % with orders 4 and 8 and above 6 % with `order=2`",
        "tests/programs/accuracy.rs",
        "reflections_from_below_water_want_order_four",
    ),
    (
        "it is below 6 %, with thirty cells below 1.5 %",
        "tests/velocity_stress/fluid.rs",
        "an_explosion_over_soft_and_hard_rock_is_right_within_two_percent",
    ),
    (
        "2 % over soft rock and 5.5 % over hard rock",
        "tests/velocity_stress/fluid.rs",
        "an_explosion_over_soft_and_hard_rock_is_right_within_two_percent",
    ),
];

/// The numbers of a text, as written on a page (200,000 and 1e-5) or in a program (200_000).
fn numbers(text: &str) -> Vec<f64> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || ".,_-".contains(c);
    let words = text
        .split(|c: char| !is_part(c))
        .map(|word| word.trim_matches(['.', ',', '-', '_']));
    let words = words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    words
        .filter_map(|word| word.replace([',', '_'], "").parse().ok())
        .collect()
}

/// The numbers that a claim names; those before a per cent sign as fractions.
fn claimed(words: &str) -> Vec<f64> {
    let words: Vec<&str> = words.split_whitespace().collect();
    let is_percent = |k: usize| words.get(k + 1).is_some_and(|next| next.starts_with('%'));
    let of_word = |k: usize| {
        let unit = if is_percent(k) { 0.01 } else { 1.0 };
        numbers(words[k]).into_iter().map(move |number| unit * number)
    };
    (0..words.len()).flat_map(of_word).collect()
}

/// A function of a file, and the file's constants, which may contain the numbers that the claim names.
fn test_with_constants(file: &str, test: &str) -> Option<String> {
    let begin = ["(", "<"]
        .iter()
        .find_map(|end| file.find(&format!("fn {test}{end}")))?;
    let end = file[begin..].find("\n}\n").map_or(file.len(), |at| begin + at);
    let constants = file.lines().filter(|line| line.contains("const "));
    Some(file[begin..end].to_string() + "\n" + &constants.collect::<Vec<_>>().join("\n"))
}

/// The claims of a page that no test checks.
fn unheld(name: &str, claims: &[(&str, &str, &str)]) -> Vec<String> {
    let page = read(name).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut offenders = Vec::new();
    for &(words, file, test) in claims {
        if !page.contains(words) {
            offenders.push(format!("{name} no longer says \"{words}\", which {file} holds"));
        }
        let text = read(file);
        if let Some(body) = test_with_constants(&text, test) {
            let held = numbers(&body);
            let holds = |number: f64| held.iter().any(|x| (x - number).abs() <= 1e-9 * number.abs());
            let missing = claimed(words).into_iter().filter(|&number| !holds(number));
            offenders.extend(missing.map(|number| {
                format!("{file}: {test} holds \"{words}\" of {name} and does not have its number {number}")
            }));
        }
        if !["(", "<", ""]
            .iter()
            .zip(["fn", "fn", "def"])
            .any(|(end, word)| text.contains(&format!("{word} {test}{end}")))
        {
            offenders.push(format!(
                "{file} has no test {test}, which holds \"{words}\" of {name}"
            ));
        }
    }
    offenders
}

#[test]
fn what_pages_claim_has_a_test() {
    let mut offenders = unheld("README.md", &CLAIMS);
    offenders.extend(unheld(CHAPTER, &OF_CHAPTER));
    offenders.extend(unheld(OTHER_CHAPTER, &OF_OTHER_CHAPTER));
    report("every claim of a page has its test:", &offenders);
}

#[test]
fn numbers_of_claims_are_read() {
    assert_eq!(
        numbers("within 1e-5, for 200,000 steps (24 nodes)."),
        [1e-5, 200_000.0, 24.0]
    );
    assert_eq!(
        numbers("const LONG: usize = 200_000; long(Form::Upwind, 24) <= 1e-5"),
        [200_000.0, 24.0, 1e-5]
    );
    let shares = claimed("at 24 nodes below 1.5 %, else 2");
    assert!(shares[0] == 24.0 && (shares[1] - 0.015).abs() < 1e-12 && shares[2] == 2.0);
    let file = "const N: usize = 7;\nfn a() {\n    8\n}\nfn b() {\n    9\n}\n";
    assert_eq!(
        test_with_constants(file, "a").map(|text| numbers(&text)),
        Some(vec![8.0, 7.0])
    );
    assert_eq!(test_with_constants(file, "c"), None);
}
