//! Tests with the real compiler, without a GPU: one kernel for each architecture covered by CI.

use crate::fake::skip;
use kernels::device::accelerator::Source;
use kernels::device::cuda::nvrtc::{self, Compiled, Resources};

const ARCHITECTURES: [u32; 3] = [80, 90, 120];

const TEXT: &str = r#"
template <int N> float twice(const float *x) { float s = 0; for (int i = 0; i < N; i++) s += x[i]; return s; }
extern "C" __global__ void small(float *out, const float *in) {
    __shared__ float row[256];
    row[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = twice<4>(row + (threadIdx.x & 63));
}
extern "C" __global__ void __launch_bounds__(1024) crowded(float *out, const float *in, int n) {
    float kept[90];
    for (int i = 0; i < 90; i++) kept[i] = in[i * n + threadIdx.x];
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 90; i++) kept[i] = kept[i] * kept[(i + 7) % 90] + in[k];
    for (int i = 0; i < 90; i++) out[i * n + threadIdx.x] = kept[i];
}
"#;

/// Without the compiler a test is skipped with a message, and fails if `REQUIRE_NVRTC=1` requires a compiler.
pub fn compiler_is_here(test: &str) -> bool {
    match nvrtc::find() {
        Ok(_) => true,
        Err(absent) if std::env::var_os("REQUIRE_NVRTC").is_some_and(|value| value == "1") => {
            panic!("REQUIRE_NVRTC=1, but {absent}")
        }
        Err(absent) => {
            skip(test, &absent.to_string());
            false
        }
    }
}

fn source(text: &str) -> Source {
    Source {
        name: "test.cu".to_string(),
        text: text.to_string(),
    }
}

fn of<'a>(needs: &'a [Resources], kernel: &str) -> &'a Resources {
    needs
        .iter()
        .find(|one| one.kernel == kernel)
        .expect("it is in the log")
}

#[test]
fn every_architecture_gets_machine_code_and_a_report() {
    if !compiler_is_here("every_architecture_gets_machine_code_and_a_report") {
        return;
    }
    for architecture in ARCHITECTURES {
        let Compiled { cubin, .. } =
            nvrtc::compile(&source(TEXT), architecture, false).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(&cubin[..4], b"\x7fELF", "machine code is an ELF file");
        let report = nvrtc::compile(&source(TEXT), architecture, true).expect("it has just compiled");
        let needs = report.resources();
        assert_eq!(needs.len(), 2, "{}", report.log);
        let (small, crowded) = (of(&needs, "small"), of(&needs, "crowded"));
        assert!((8..=40).contains(&small.registers), "{small:?}");
        assert_eq!(
            (small.shared, small.spill_stores, small.spill_loads),
            (1024, 0, 0)
        );
        // 90 numbers per thread do not fit into the 64 registers that are available to each of 1024 threads.
        assert!(crowded.registers <= 64 && crowded.spill_stores > 0, "{crowded:?}");
        assert!(crowded.spill_loads > 0 && crowded.stack > 0, "{crowded:?}");
    }
}

#[test]
fn what_does_not_compile_is_shown_with_its_line() {
    if !compiler_is_here("what_does_not_compile_is_shown_with_its_line") {
        return;
    }
    let broken = source("extern \"C\" __global__ void k() {\n    absent = 1;\n}\n");
    let sentence = nvrtc::compile(&broken, 90, false)
        .expect_err("it has an error")
        .to_string();
    for word in [
        "test.cu does not compile for sm_90a",
        "test.cu(2)",
        "\"absent\" is undefined",
        "SIFAKA_NVRTC",
    ] {
        assert!(sentence.contains(word), "{word:?} is missing in: {sentence}");
    }
    let ancient = nvrtc::compile(&source(TEXT), 10, false)
        .expect_err("no such device")
        .to_string();
    assert!(ancient.contains("sm_10"), "{ancient}");
}

#[test]
fn a_text_gives_the_same_code_twice() {
    if !compiler_is_here("a_text_gives_the_same_code_twice") {
        return;
    }
    let once = nvrtc::compile(&source(TEXT), 90, false).expect("it compiles");
    let again = nvrtc::compile(&source(TEXT), 90, false).expect("it compiles");
    assert_eq!(once.cubin, again.cubin);
}
