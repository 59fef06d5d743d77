//! On a processor that plays accelerator.

use crate::runs::{misfit, world};
use crate::shim::Shim;
use crate::worlds::{World, settings};
use std::sync::Arc;

pub fn skipped() -> bool {
    match Shim::available() {
        Ok(()) => false,
        Err(why) => {
            println!("skipped: {why}");
            true
        }
    }
}

#[test]
fn both_engines_agree_under_every_boundary_and_source() {
    if skipped() {
        return;
    }
    for small in [World::small(2), World::small(3)] {
        for setting in settings() {
            let shot = small.shot(setting);
            let cpu = small.run(&shot, 1, &[]);
            let played = world(&small, &shot, &[], |_| Arc::new(Shim::new()));
            let apart = misfit(&cpu, &played);
            println!("{}-D {setting:?}: {apart:.1e}", small.padded.ndim());
            assert!(apart < 1e-5, "{setting:?}: {apart}");
        }
    }
}
