//! Every kernel text that a run can need compiles for every generation of GPUs, and the hot ones do not spill.

use kernels::device::cuda::nvrtc::{self, Compiled};
use kernels::displacement::gpu::variant;

/// Generation and shared memory of a block there.
const GENERATIONS: [(u32, usize); 3] = [(80, 163 << 10), (90, 227 << 10), (120, 99 << 10)];

/// Kernels in which spilled registers cost speed.
const HOT: [&str; 1] = ["sweep"];

fn complaints(generation: u32, shared: usize, double: bool) -> Vec<String> {
    let mut found = Vec::new();
    for source in variant::all(double, shared).expect("a tile fits") {
        let Compiled { log, .. } = match nvrtc::compile(&source, generation, true) {
            Ok(compiled) if compiled.cubin.is_empty() => {
                found.push(format!("sm_{generation} {}: no code", source.name));
                continue;
            }
            Ok(compiled) => compiled,
            Err(error) => {
                found.push(error.to_string());
                continue;
            }
        };
        let compiled = Compiled { cubin: vec![], log };
        for r in compiled.resources() {
            let spills = r.spill_stores + r.spill_loads;
            let hot = HOT.contains(&r.kernel.as_str());
            if hot {
                println!(
                    "sm_{generation} {} registers, {spills} bytes spilled: {}",
                    r.registers, source.name
                );
            }
            if hot && !double && spills > 0 {
                found.push(format!(
                    "sm_{generation} {}: {} spills {spills} bytes",
                    source.name, r.kernel
                ));
            }
        }
    }
    found
}

#[test]
fn every_variant_compiles_without_spills() {
    if !super::compile::compiler_is_here("every_variant_compiles_without_spills") {
        return;
    }
    let mut found = Vec::new();
    for (generation, shared) in GENERATIONS {
        found.extend(complaints(generation, shared, false));
    }
    found.extend(complaints(90, 227 << 10, true));
    assert!(found.is_empty(), "{}", found.join("\n"));
}
