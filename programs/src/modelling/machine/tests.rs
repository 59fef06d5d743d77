use super::*;
use crate::modelling::plan::ranks;
use crate::modelling::world::members::answers;

#[test]
fn every_subdomain_has_an_element() {
    assert_eq!(shared_out(3, &[1.0, 50.0, 1.0]).unwrap(), [0..1, 1..2, 2..3]);
    assert_eq!(shared_out(8, &[3.0, 1.0]).unwrap(), [0..6, 6..8]);
    // Each share is 10/3: the remainder is carried over to the next share, and none remains after the last.
    assert_eq!(shared_out(10, &[1.0; 3]).unwrap(), [0..3, 3..7, 7..10]);
    assert_eq!(shared_out(1, &[0.1]).unwrap().first(), Some(&(0..1)));
    let message = shared_out(2, &[1.0; 3]).unwrap_err().to_string();
    assert!(
        message.contains("3 subdomains") && message.contains("2 elements"),
        "{message}"
    );
}

fn gpu(number: usize, name: &str) -> Properties {
    Properties {
        name: name.into(),
        number,
        architecture: 90,
        clusters: true,
        signals: true,
        multiprocessors: 132,
        shared_bytes: 1 << 16,
        memory_bytes: 1 << 30,
    }
}

fn processors_of(parts: usize, threads: usize) -> Offer {
    Offer {
        gpus: Vec::new(),
        parts,
        cpu: Cpu::new(threads).unwrap(),
        requested_shots: None,
    }
}

fn on_gpus(gpus: Vec<Properties>) -> Offer {
    Offer {
        parts: gpus.len(),
        gpus,
        ..processors_of(1, 1)
    }
}

fn place(place: usize, ranks: usize) -> Places {
    Places {
        place,
        ranks,
        sharing: ranks,
    }
}

/// Subdomains are counted over all ranks, in order of rank, on any hosts.
#[test]
fn parts_of_ranks_lie_behind_each_other() {
    let parts = [2, 1, 3];
    let results = answers(&["b", "a", "b"], |world| {
        let offer = processors_of(parts[world.ranks().rank()], 1);
        let machine = Machine::of(offer, Pieces::Elements(2, 60), world).unwrap();
        let (ranges, own) = machine.subdomains();
        // Each rank has one processor, which its parts share.
        (ranges.to_vec(), own, machine.describe(None))
    });
    let ends = [0, 10, 20, 40, 47, 53, 60];
    let ranges: Vec<_> = ends.windows(2).map(|pair| pair[0]..pair[1]).collect();
    let cpu = Cpu::new(1).unwrap().describe();
    for (rank, (own, words)) in [
        (0..2, format!("{cpu}, 2 subdomains")),
        (2..3, cpu.clone()),
        (3..6, format!("{cpu}, 3 subdomains")),
    ]
    .into_iter()
    .enumerate()
    {
        let words = format!("3 ranks on 2 hosts; rank {rank}: {words}");
        assert_eq!(results[rank], (ranges.clone(), own, words));
    }
}

/// Slabs are also counted over all ranks, and their planes are printed with those numbers.
#[test]
fn slabs_of_ranks_lie_behind_each_other() {
    let padded = Padded::new(&Grid::new_2d([30, 80], [0.0; 2], [1.0; 2]), 10);
    let cutting = displacement::SLABS;
    let slabs = answers(&["a", "b"], |world| {
        let offer = processors_of(1 + world.ranks().rank(), 1);
        let pieces = Pieces::Planes(&padded, 0, cutting);
        let machine = Machine::of(offer, pieces, world).unwrap();
        let words: Vec<_> = (0..machine.slabs.len()).map(|k| machine.slab_words(k)).collect();
        let outer: Vec<_> = (0..machine.slabs.len())
            .map(|k| outer(&machine.slabs, padded.planes(), k))
            .collect();
        (machine.own(), words, outer)
    });
    // A rank with one slab uses its processor only for that slab; the two slabs of the other share theirs.
    let first = (0..50, vec!["  slab 1: planes 0 to 49 (50)".to_string()], vec![1]);
    let second = ["  slab 2: planes 50 to 74 (25)", "  slab 3: planes 75 to 99 (25)"];
    let second = (50..100, second.map(String::from).to_vec(), vec![1, 0]);
    assert_eq!(slabs, [first, second]);
}

/// A plan has the lines of all ranks in order, each after its processors, and the time of the slowest.
#[test]
fn plans_of_ranks_have_the_lines_of_all() {
    let of = |world: &World| {
        let rank = world.ranks().rank();
        let machine = Machine::of(processors_of(1 + rank, 1), Pieces::Elements(2, 60), world).unwrap();
        let lines: Vec<_> = (0..=rank).map(|k| format!("  part {k} of {rank}")).collect();
        let all = ranks::lines(world, &machine, &lines, [2.5, 0.5][rank]).unwrap();
        (all.lines, all.step)
    };
    let cpu = Cpu::new(1).unwrap().describe();
    let first = ["rank 0 on b: ", &cpu].concat();
    let second = ["rank 1 on a: ", &cpu, ", 2 subdomains"].concat();
    let words = [&first, "  part 0 of 0", &second, "  part 0 of 1", "  part 1 of 1"];
    for (lines, step) in answers(&["b", "a"], of) {
        assert_eq!((lines, step), (words.map(String::from).to_vec(), 2.5));
    }
    assert_eq!(of(&World::alone()), (vec!["  part 0 of 0".to_string()], 2.5));
}

#[test]
fn neighbours_on_other_ranks_are_those_of_the_outermost_slabs() {
    let all = displacement::SLABS.cut(64, &[16; 4]).unwrap();
    for (own, expected) in [
        (0..4, vec![0, 0, 0, 0]),
        (0..2, vec![0, 1]),
        (1..3, vec![1, 1]),
        (2..3, vec![2]),
        (3..4, vec![1]),
    ] {
        let slabs = &all[own.clone()];
        let neighbours: Vec<_> = (0..slabs.len()).map(|k| outer(slabs, 64, k)).collect();
        assert_eq!(neighbours, expected, "{own:?}");
    }
}

/// GPUs of one kind are alike, one for each slab; if some ranks have GPUs and others none, the error names one rank of
/// each kind.
#[test]
fn ranks_with_gpus_have_a_speed_for_each() {
    let speeds_of = |names: [&str; 2]| {
        answers(&["a", "b"], |world| {
            let rank = world.ranks().rank();
            let offer = match names[rank] {
                "" => processors_of(3, 1),
                name => on_gpus((0..=rank).map(|number| gpu(number, name)).collect()),
            };
            speeds(&offer, 2, world).map_err(|error| error.to_string())
        })
    };
    let results = speeds_of(["H200"; 2]);
    let alike = Ok(vec![vec![1.0], vec![1.0; 2]]);
    assert_eq!(results, [alike.clone(), alike]);
    let results = speeds_of([""; 2]);
    let shares = vec![vec![1.0 / 3.0; 3]; 2];
    assert_eq!(results, [Ok(shares.clone()), Ok(shares)]);
    let reported = "another process has reported the error".to_string();
    for (names, expected) in [
        (["H200", ""], "rank 0 has a GPU but rank 1 has none: "),
        (["", "H200"], "rank 1 has a GPU but rank 0 has none: "),
    ] {
        let results: Vec<_> = speeds_of(names).into_iter().map(Result::unwrap_err).collect();
        assert!(results[0].starts_with(expected), "{results:?}");
        assert_eq!(results[1], reported);
    }
}

/// Ranks whose processors differ are timed: all of them know all speeds, and the slabs of a rank share its
/// speed.
#[test]
fn ranks_that_differ_are_timed() {
    let speeds = answers(&["a", "b"], |world| {
        let rank = world.ranks().rank();
        speeds(&processors_of(1 + rank, 1 + rank), 2, world).unwrap()
    });
    assert_eq!(speeds[0], speeds[1]);
    let [first, second] = &speeds[0][..] else {
        panic!("two ranks: {speeds:?}")
    };
    assert_eq!((first.len(), second.len(), second[0]), (1, 2, second[1]));
    // This range contains the points per second of present machines.
    for speed in [first[0], second[0]] {
        assert!((1e5..1e12).contains(&speed), "{speed}");
    }
}

#[test]
fn devices_are_described_in_words() {
    let machine = |offer: Offer| Machine::of(offer, Pieces::Elements(3, 9), &World::alone()).unwrap();
    for (names, class, expected) in [
        (&["H200"][..], None, "GPU 4 H200 (90)"),
        (&["H200"; 2], None, "GPUs 4, 5 H200 (90), 2 subdomains"),
        (
            &["H200", "H100"],
            Some(Symmetry::Isotropic),
            "GPU 4 H200 (90) and GPU 5 H100 (90), isotropic kernels, 2 subdomains",
        ),
    ] {
        let gpus = names.iter().enumerate().map(|(k, name)| gpu(4 + k, name));
        // GPUs of different kinds are timed only if there are several ranks.
        let machine = machine(on_gpus(gpus.collect()));
        assert_eq!(machine.describe(class), expected);
        assert_eq!((machine.gpus(), machine.has_gpus()), (names.len(), true));
        let grouped = Machine { groups: 3, ..machine };
        assert_eq!(
            grouped.describe(class),
            format!("{expected}, the first of 3 groups")
        );
    }
    let plain = machine(processors_of(1, 1));
    assert_eq!(
        plain.describe(Some(Symmetry::Isotropic)),
        Cpu::new(1).unwrap().describe()
    );
}

/// GPUs are taken in the order of the list; several ranks of a host receive the same number of GPUs.
#[test]
fn gpus_are_taken_by_their_numbers() {
    let existing: Vec<_> = (0..6).map(|number| gpu(number, "H200")).collect();
    let numbers_of = |taken: anyhow::Result<Vec<Properties>>| {
        let taken = taken.map_err(|error| error.to_string())?;
        Ok::<_, String>(taken.iter().map(|gpu| gpu.number).collect::<Vec<_>>())
    };
    let of = |list: &[i64], at: Places| numbers_of(named(&existing, list, at));
    assert_eq!(of(&[3, 1], place(0, 1)), Ok(vec![3, 1]));
    let list = [5, 4, 3, 2, 1, 0];
    assert_eq!(of(&list, place(0, 3)), Ok(vec![5, 4]));
    assert_eq!(of(&list, place(2, 3)), Ok(vec![1, 0]));
    // Ranks may share a GPU.
    assert_eq!(of(&[0, 0], place(1, 2)), Ok(vec![0]));
    for (list, at, expected) in [
        (
            &[0, 1, 2][..],
            place(0, 2),
            "gpu= names 3 GPUs for 2 ranks on this host",
        ),
        (&[6], place(0, 1), "gpu=6: there is no such GPU"),
        (&[-1], place(0, 1), "gpu=-1: there is no such GPU"),
        (
            &[2, 2],
            place(0, 1),
            "gpu= names GPU 2 twice: a GPU takes one slab; there is 0, 1, 2, 3, 4, 5",
        ),
    ] {
        let message = of(list, at).unwrap_err();
        assert!(message.starts_with(expected), "{message}");
    }
    let of = |count: usize, at: Places| numbers_of(first(&existing, count, at));
    assert_eq!(of(6, place(0, 1)), Ok(vec![0, 1, 2, 3, 4, 5]));
    assert_eq!(of(2, place(0, 1)), Ok(vec![0, 1]));
    assert_eq!(of(2, place(2, 3)), Ok(vec![4, 5]));
    assert_eq!(of(1, place(3, 6)), Ok(vec![3]));
    for (count, at, expected) in [
        (
            2,
            place(0, 4),
            "4 ranks on this host request ngpu=2 GPUs each, but there are 6 (0, 1, 2, 3, 4, 5)",
        ),
        (
            7,
            place(0, 1),
            "ngpu=7 GPUs are requested, but there are 6 (0, 1, 2, 3, 4, 5); use ngpu=6 or less",
        ),
        (7, place(0, 2), "ngpu=7 GPUs are requested, but there are 6"),
    ] {
        let message = of(count, at).unwrap_err();
        assert!(message.starts_with(expected), "{message}");
    }
    let message = first(&existing[..1], 2, place(0, 1)).unwrap_err().to_string();
    assert!(
        message.contains("there is 1 (0); use ngpu=1 or less"),
        "{message}"
    );
}
