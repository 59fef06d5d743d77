//! Checks of the compiled programs.

use crate::built;
use std::fs;
use std::path::Path;

/// Vector instructions are functions that must be inlined into the formulas that use them. A closure that is not
/// inlined into code for the processor calls them instead and passes all numbers through memory, so that spectral
/// elements with attenuation took 2.3 times as long (`kernels/benches/RESULTS-ELEMENTS.md`). In that case the program
/// has a symbol for the instruction.
#[test]
fn vector_instructions_stand_in_their_formulas() {
    for name in [
        "sfewefd2d-gpu",
        "sfewefd3d-gpu",
        "sfvsfd2d-gpu",
        "sfvsfd3d-gpu",
        "sfvsgrad3d-gpu",
        "sfvsborn2d-gpu",
        "sfsem2d-gpu",
        "sfsem3d-gpu",
        "sfsemgrad3d-gpu",
        "sfsemborn2d-gpu",
    ] {
        let place = Path::new(env!("CARGO_BIN_EXE_sfewefd2d-gpu")).with_file_name(name);
        let bytes = fs::read(built::program(&place.to_string_lossy())).expect("a program that was built");
        let holds = |symbol: &str| bytes.windows(symbol.len()).any(|at| at == symbol.as_bytes());
        assert!(holds("vectorize"), "{name} has no table of symbols");
        for register in ["_mm256", "_mm512"] {
            for instruction in ["fmadd", "mul", "add", "sub", "div"] {
                let symbol = format!("{register}_{instruction}_ps");
                assert!(!holds(&symbol), "{name} calls {symbol} as a function");
            }
        }
    }
}
