//! The linearised velocity-stress programs, run as processes.

use crate::desk::Desk;
use crate::shots::{largest_difference, magnitude};
use crate::velocity_stress::{desk as model, line};
use programs::modelling::velocity_stress::born::{PROGRAM_2D, PROGRAM_3D, gradient, image};

/// A desk with a model and a perturbation of it.
fn desk(ndim: usize) -> Desk {
    let desk = model(ndim);
    let vp = desk.axes("vp.rsf", ndim);
    let cells: usize = vp.iter().map(|axis| axis.n).product();
    let header: String = (1..=ndim)
        .map(|i| format!("n{i}={} o{i}=0 d{i}=10 ", vp[i - 1].n))
        .collect();
    let scale = [30.0f32, 20.0, 25.0];
    let values: Vec<f32> = (0..3 * cells)
        .map(|k| scale[k / cells] * ((k * 7919 % 1000) as f32 / 1000.0 - 0.2))
        .collect();
    desk.dataset("dm.rsf", &format!("{header} n{}=3", ndim + 1), &values);
    desk
}

fn words(ndim: usize, extra: &str) -> String {
    let line = line(ndim);
    let (_, words) = line.split_once(' ').unwrap();
    format!("{words} {extra}")
}

fn linearised(ndim: usize, extra: &str) -> String {
    format!("sfvsborn{ndim}d-gpu {}", words(ndim, extra))
}

#[test]
fn declarations_are_sound() {
    let all = [
        &PROGRAM_2D,
        &PROGRAM_3D,
        &gradient::PROGRAM_2D,
        &gradient::PROGRAM_3D,
        &image::PROGRAM_2D,
        &image::PROGRAM_3D,
    ];
    for program in all {
        program.verify().unwrap();
    }
}

/// `sfdottest` runs the real programs with options of every kind.
#[test]
fn products_are_equal() {
    let all = [
        (2, ""),
        (2, "free=y order=8 data=pressure adj=n jdata=2"),
        (2, "free=y order=2 qp=60 qs=40 data=displacement wrt=ip,is,rho"),
        (
            2,
            "absorb=sponge src=force fx=1e6 fz=2e6 data=strain wrt=lambda,mu,rho",
        ),
        (
            2,
            "absorb=none qp=60 qs=50 qmech=coarse data=acceleration src=dc strike=20 dip=70 rake=30 memory=0.002",
        ),
        (3, "free=y"),
        (3, "order=8 qp=80 qs=50 qmech=1 data=pressure faces=3,4,5,6,4,3"),
    ];
    for (ndim, extra) in all {
        let desk = desk(ndim);
        desk.ran(&format!("{} < dm.rsf > data.rsf", linearised(ndim, extra)));
        let test = format!(
            "sfbasics dottest sfvsborn{ndim}d-gpu mod=dm.rsf dat=data.rsf seed=3 tol=1e-5 {}",
            words(ndim, extra)
        );
        let run = desk.ran(&test);
        println!("{ndim}-D {extra}: {}", run.err);
    }
}

/// The data of a small perturbation agree with the modelling program to second order.
#[test]
fn data_are_those_of_the_difference() {
    for (ndim, extra) in [(2, "free=y"), (3, "")] {
        let desk = desk(ndim);
        let cells = desk.read("vp.rsf").len();
        let header: String = desk
            .axes("vp.rsf", ndim)
            .iter()
            .enumerate()
            .map(|(i, axis)| format!("n{0}={1} o{0}=0 d{0}=10 ", i + 1, axis.n))
            .collect();
        let change = desk.read("dm.rsf");
        for (k, name) in ["vp", "vs", "den"].iter().enumerate() {
            let plus = |sign: f32| {
                let old = desk.read(&format!("{name}.rsf"));
                let own = change[k * cells..].iter();
                old.iter().zip(own).map(|(a, b)| a + sign * b).collect::<Vec<_>>()
            };
            desk.dataset(&format!("{name}-plus.rsf"), &header, &plus(1.0));
            desk.dataset(&format!("{name}-minus.rsf"), &header, &plus(-1.0));
        }
        let of = |sign: &str| {
            let mut line = format!("{} {extra}", line(ndim));
            for name in ["vp", "vs", "den"] {
                line = line.replace(
                    &format!("{name}={name}.rsf"),
                    &format!("{name}={name}-{sign}.rsf"),
                );
            }
            desk.ran(&format!("{line} > {sign}.rsf fcpml=20 device=cpu"));
            desk.read(&format!("{sign}.rsf"))
        };
        let (plus, minus) = (of("plus"), of("minus"));
        desk.ran(&format!(
            "{} fcpml=20 < dm.rsf > data.rsf",
            linearised(ndim, extra)
        ));
        let records = desk.read("data.rsf");
        let expected: Vec<f64> = plus
            .iter()
            .zip(&minus)
            .map(|(a, b)| 0.5 * f64::from(a - b))
            .collect();
        let most = magnitude(&expected);
        let off = largest_difference(&records, &expected) / most;
        println!("{ndim}-D: {off:.1e}");
        assert!(off < 0.01, "{ndim}-D: {off}");
        let axes = desk.axes("data.rsf", 3);
        assert_eq!(axes, desk.axes("plus.rsf", 3));
        assert!(desk.open("data.rsf").header().text("quantity").is_some());
    }
}

#[test]
fn memory_and_threads_change_no_bit() {
    let desk = desk(2);
    desk.ran(&format!("{} < dm.rsf > data.rsf", linearised(2, "free=y")));
    let back = |extra: &str| {
        let run = desk.ran(&format!(
            "{} adj=y verb=y {extra} < data.rsf > back.rsf",
            linearised(2, "free=y")
        ));
        (desk.read("back.rsf"), run.err)
    };
    let (all, messages) = back("memory=1");
    assert!(messages.contains("all steps are kept"), "{messages}");
    let axes = desk.axes("back.rsf", 3);
    assert_eq!(axes[2].n, 3);
    assert_eq!(axes[2].label.as_deref(), Some("vp vs rho"));
    assert!(all.iter().any(|&x| x != 0.0));
    let (few, messages) = back("memory=0.001 threads=1");
    assert!(messages.contains("checkpoints"), "{messages}");
    assert_eq!(all, few);
    // On the processor, whose rounding differs from a GPU's, slabs do not change any bit either.
    let [one, two] = [1, 2].map(|slabs| back(&format!("memory=1 device=cpu ngpu={slabs}")).0);
    assert_eq!(one, two);
    let run = desk.ran(&format!("{} adj=y plan=y memory=0.001", linearised(2, "")));
    assert!(
        run.err.contains("reverse sweep: ") && run.err.contains("nothing was run"),
        "{run:?}"
    );
}

#[test]
fn bad_input_is_refused() {
    let desk = desk(2);
    desk.ran(&format!("{} < dm.rsf > data.rsf", linearised(2, "")));
    desk.dataset("zero.rsf", "n1=3 n2=2 n3=60 o3=0.0005 d3=0.001", &[0.0; 360]);
    desk.dataset("late.rsf", "n1=3 n2=2 n3=60 o3=0.1 d3=0.001", &[1.0; 360]);
    desk.dataset("nan.rsf", "n1=3 n2=2 n3=60 o3=0.0005 d3=0.001", &[f32::NAN; 360]);
    desk.dataset("turned.rsf", "n1=60 n2=2 n3=3 d1=0.001", &[1.0; 360]);
    desk.dataset("traces.rsf", "n1=60 n2=3 n3=2 d1=0.001", &[1.0; 360]);
    desk.dataset("plain.rsf", "n1=3 n2=2 n3=60", &[1.0; 360]);
    // The times are late by a third of a step.
    desk.dataset("between.rsf", "n1=3 n2=2 n3=15 o3=0.0008 d3=0.004", &[1.0; 90]);
    desk.dataset("vertical.rsf", "n1=3 n2=1 n3=60 o3=0.0005 d3=0.001", &[1.0; 180]);
    for (extra, input, text) in [
        ("adj=n", "data.rsf", "adj=n takes a perturbation of the model"),
        (
            "adj=y",
            "dm.rsf",
            "adj=y takes data of this survey: n1=3 receivers, n2=2 components, n3 times",
        ),
        (
            "adj=y nt=59",
            "data.rsf",
            "has n3=60 records, but this run has 59 at the same times: give nt=60 or more",
        ),
        ("adj=y", "late.rsf", "ends at 0.159 s"),
        ("adj=y jdata=4", "between.rsf", "0.004 s apart: leave out jdata="),
        ("adj=y", "turned.rsf", "sftransp plane=13 transposes them"),
        (
            "adj=y",
            "traces.rsf",
            "their axes in another order: sftransp plane=12 | sftransp plane=23 transposes them",
        ),
        (
            "adj=y",
            "plain.rsf",
            "sfput o3=0.0005 d3=0.001 gives them its times",
        ),
        ("adj=y", "vertical.rsf", "as sfpad n2=2 does"),
        ("adj=y", "nan.rsf", "all must be finite"),
        ("adj=y memory=0.00001", "data.rsf", "of memory at least"),
        ("wrt=vp", "dm.rsf", "wrt="),
    ] {
        let run = desk.sh(&format!("{} < {input} > out.rsf", linearised(2, extra)));
        let sentences: Vec<&str> = run.err.lines().filter(|l| !l.contains(": warning: ")).collect();
        assert!(run.code == 1 && sentences.len() == 1, "{extra}: {run:?}");
        assert!(sentences[0].contains(text), "{extra} {input}: {}", sentences[0]);
    }
    let run = desk.ran(&format!("{} adj=y < zero.rsf > out.rsf", linearised(2, "")));
    assert!(run.err.contains("is zero everywhere"), "{run:?}");
    assert!(desk.read_as_it_is("out.rsf").iter().all(|&x| x == 0.0));
    let names = |file: &str| ["label", "unit"].map(|key| desk.open(file).header().text(key));
    assert_eq!(
        names("out.rsf"),
        [Some("Transposed data".into()), Some(String::new())]
    );
    let gradient = linearised(2, "").replace("sfvsborn2d-gpu", "sfvsgrad2d-gpu");
    for (kind, expected) in [
        ("correlation", "ignores traces that are zero"),
        ("squares", "their misfit is due to the modelled records alone"),
    ] {
        let run = desk.ran(&format!("{gradient} kind={kind} misfit=m.rsf < zero.rsf > g.rsf"));
        assert!(
            run.err.contains("the data are zero everywhere") && run.err.contains(expected),
            "{run:?}"
        );
    }
    assert_eq!(
        names("g.rsf"),
        [Some("Derivative of the misfit".into()), Some(String::new())]
    );
    assert_eq!(names("m.rsf"), [Some("Misfit".into()), Some(String::new())]);
    let run = desk.sh(&format!("{gradient} misfit=y < data.rsf > g.rsf"));
    assert!(
        run.code == 1 && run.err.contains("misfit=y: misfit= names the file") && !desk.path("y").exists(),
        "{run:?}"
    );
}

/// There is a warning about traces as small as rounding noise if the misfit weights all traces equally.
#[test]
fn noise_in_a_correlation_is_warned_of() {
    let desk = desk(2);
    desk.ran(&format!("{} < dm.rsf > data.rsf", linearised(2, "")));
    let gradient = linearised(2, "").replace("sfvsborn2d-gpu", "sfvsgrad2d-gpu");
    let run = desk.ran(&format!("{gradient} kind=correlation < data.rsf > g.rsf"));
    assert!(
        !run.err.contains("zero everywhere") && !run.err.contains("rounding noise"),
        "{run:?}"
    );
    // One component is a hundred million times smaller than the other, as noise is.
    desk.ran("sfbasics math output='input*(x2+1e-8)' < data.rsf > noisy.rsf");
    for (kind, warns) in [("correlation", true), ("squares", false)] {
        let run = desk.ran(&format!("{gradient} kind={kind} < noisy.rsf > g.rsf"));
        let words = "some traces in the data stay below a millionth of the largest value of their shot";
        assert_eq!(run.err.contains(words), warns, "{kind}: {run:?}");
    }
}

/// Checkpoints on the disk do not change any bit; boundary saving changes the result by rounding, and is reported; both
/// appear in the plan.
#[test]
fn rungs_under_memory() {
    let desk = desk(2);
    let longer = |extra: &str| linearised(2, extra).replace("nt=60", "nt=400");
    desk.ran(&format!("{} device=cpu < dm.rsf > data.rsf", longer("free=y")));
    let back = |extra: &str| {
        let line = longer(&format!("free=y adj=y verb=y device=cpu {extra}"));
        let run = desk.ran(&format!("{line} < data.rsf > back.rsf"));
        (desk.read("back.rsf"), run.err)
    };
    let (all, _) = back("memory=1");
    std::fs::create_dir(desk.path("scratch")).unwrap();
    let (few, messages) = back("memory=0.0007 disk=0.002 scratch=scratch threads=1");
    assert!(
        messages.contains("of them on disk") && messages.contains("GB in scratch)"),
        "{messages}"
    );
    assert!(all == few, "checkpoints on the disk change bits");
    assert_eq!(std::fs::read_dir(desk.path("scratch")).unwrap().count(), 0);
    let most = f64::from(magnitude(&all));
    for memory in ["", "memory=0.002"] {
        let (gradient, messages) = back(&format!("keep=boundary {memory}"));
        assert!(
            messages.contains("are kept at the boundary of the model")
                && messages.contains("waves that ran backwards came to rest within"),
            "{messages}"
        );
        let off = largest_difference(&gradient, &all) / most;
        println!(
            "boundary saving, {memory}: {off:.1e}; {}",
            messages.lines().last().unwrap()
        );
        assert!(off > 0.0 && off < 1e-5, "{off}");
    }
    let (auto, messages) = back("keep=auto memory=1");
    assert!(auto == all && !messages.contains("backwards"), "{messages}");
    // Without a frame, the interior is a larger part of the grid.
    let (_, messages) = back("memory=0.001 absorb=none");
    assert!(messages.contains("keep=boundary would be faster: "), "{messages}");
    let (_, messages) = back("keep=auto memory=0.001 absorb=none");
    assert!(messages.contains("waves that ran backwards"), "{messages}");
    let run = desk.ran(&longer("adj=y plan=y memory=0.0007 disk=0.002 device=cpu"));
    assert!(run.err.contains("of them on disk"), "{run:?}");
    let test = longer("keep=boundary free=y device=cpu");
    let (_, rest) = test.split_once(' ').unwrap();
    desk.ran(&format!(
        "sfbasics dottest sfvsborn2d-gpu mod=dm.rsf dat=data.rsf seed=3 tol=1e-5 {rest}"
    ));
    for (extra, expected) in [
        (
            "keep=boundary qp=50 qs=40",
            "waves cannot run backwards: attenuation",
        ),
        ("keep=boundary memory=0.0001", "of memory at least"),
        (
            "memory=0.0007 disk=0.002 scratch=gone",
            "scratch=gone must be able to hold checkpoints: give a folder",
        ),
        ("disk=-1", "disk="),
    ] {
        let line = longer(&format!("adj=y device=cpu {extra}"));
        let run = desk.sh(&format!("{line} < data.rsf > out.rsf"));
        let last = run.err.lines().last().unwrap_or_default();
        assert!(run.code == 1 && last.contains(expected), "{extra}: {run:?}");
    }
    let line = words(2, "keep=boundary device=cpu");
    let run = desk.sh(&format!(
        "sfvsrtm2d-gpu {} < data.rsf > out.rsf",
        line.replace("nt=60", "nt=400")
    ));
    assert!(
        run.code == 1 && run.err.contains("keep=boundary does not keep the waves inside"),
        "{run:?}"
    );
}

/// The memory that boundary saving needs once, in addition to the boundaries, is part of `memory=`.
#[test]
fn boundaries_stay_within_memory() {
    let desk = desk(2);
    let longer = linearised(2, "free=y device=cpu").replace("nt=60", "nt=400");
    desk.ran(&format!("{longer} < dm.rsf > data.rsf"));
    for memory in [0.0015, 0.002, 0.003] {
        let run = desk.ran(&format!(
            "{longer} adj=y plan=y keep=boundary memory={memory} < data.rsf"
        ));
        let words = run.err.split(" GB of memory").next().unwrap_or_default();
        let predicted = words.split(' ').next_back().and_then(|word| word.parse().ok());
        let predicted: f64 = predicted.unwrap_or_else(|| panic!("{run:?}"));
        assert!(
            predicted <= memory + 5e-5,
            "{predicted} GB of memory={memory}: {run:?}"
        );
    }
}
