//! Tiles, caches and registers: the bits do not depend on how a sweep is divided.

use crate::cases::{World, difference, settings};
use crate::shots::{Tape, run_with};
use kernels::device::caches::Caches;
use kernels::device::cpu::{Cpu, Tile};
use kernels::methods::displacement::Shot;

fn run(world: &World, shot: &Shot, cpu: Cpu, oblique: bool) -> Tape<f32> {
    let medium = match oblique {
        true => world.oblique(),
        false => world.medium(),
    };
    run_with(shot, medium, cpu, &[]).expect("the shot runs")
}

#[test]
fn any_tile_gives_the_same_displacement() {
    for (world, tiles) in [
        (World::plane(), [(16, 0), (32, 0), (48, 7), (0, 1)]),
        (World::volume(), [(0, 1), (16, 9), (32, 13), (0, 0)]),
    ] {
        for (k, setting) in settings().into_iter().enumerate() {
            let shot = world.shot(setting);
            let oblique = k % 2 == 1;
            let threads = |n: usize| Cpu::new(n).expect("threads start");
            let whole = run(&world, &shot, threads(1), oblique);
            assert!(whole.peak() > 0.0);
            for (n, (cells, rows)) in tiles.into_iter().enumerate() {
                let cpu = threads(1 + n % 2).with_tile(Some(Tile { cells, rows }));
                let first_difference = difference(&whole, &run(&world, &shot, cpu, oblique));
                assert_eq!(
                    first_difference, None,
                    "{setting:?}, tiles of {cells} cells and {rows} rows"
                );
            }
        }
    }
}

#[test]
fn any_second_level_gives_the_same_displacement() {
    for (world, second) in [(World::wide(2, 20), [16, 64]), (World::wide(3, 12), [64, 512])] {
        let shot = world.shot(settings()[0]);
        let of = |kib: usize| {
            let cpu = Cpu::new(2).expect("threads start");
            run(&world, &shot, cpu.with_caches(Caches::given(kib << 10)), false)
        };
        let large = of(2048);
        assert!(large.peak() > 0.0);
        for kib in second {
            assert_eq!(difference(&large, &of(kib)), None, "{kib} KiB");
        }
    }
}

/// A register of 8 numbers gives the same result for each number as a register of 16.
#[test]
fn narrower_registers_give_the_same_displacement() {
    for world in [World::plane(), World::volume()] {
        let shot = world.shot(settings()[0]);
        let of = |bits: usize| {
            let cpu = Cpu::new(1).expect("threads start").with_registers(bits);
            (cpu.describe(), run(&world, &shot, cpu, false))
        };
        let ((widest, wide), (narrower, narrow)) = (of(512), of(256));
        if widest == narrower {
            println!("skipped: this machine has no registers of more than 256 bits");
        }
        assert!(wide.peak() > 0.0);
        assert_eq!(difference(&wide, &narrow), None);
    }
}
