//! The resources of a multiprocessor that a kernel needs, read from the assembler's report.

/// Resources of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// The kernel's name.
    pub kernel: String,
    /// Registers per thread.
    pub registers: usize,
    /// Bytes per thread that are spilled to memory because the registers do not suffice.
    pub spill_stores: usize,
    /// Bytes per thread that are read back from local memory.
    pub spill_loads: usize,
    /// Bytes of stack per thread.
    pub stack: usize,
    /// Bytes of shared memory that the kernel declares.
    pub shared: usize,
}

/// Reads the output of `ptxas -v`: a line that names a kernel, then lines with its numbers.
pub(super) fn read(log: &str) -> Vec<Resources> {
    let mut all: Vec<Resources> = Vec::new();
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            all.push(Resources {
                kernel: rest.split('\'').next().unwrap_or(rest).to_string(),
                ..Resources::default()
            });
        } else if line.contains("Function properties for ") && !names_last(line, &all) {
            // This is a function that was not inlined: its numbers belong to no kernel.
            all.push(Resources::default());
        } else if let Some(last) = all.last_mut() {
            numbers(line, last);
        }
    }
    all.retain(|one| !one.kernel.is_empty());
    all
}

fn names_last(line: &str, all: &[Resources]) -> bool {
    all.last()
        .is_some_and(|last| line.split_whitespace().next_back() == Some(last.kernel.as_str()))
}

/// Parts such as `Used 64 registers` or, after NVRTC's prefix, `ptxas  .  568 bytes stack frame`.
fn numbers(line: &str, into: &mut Resources) {
    for part in line.split(',') {
        let Some(digit) = part.find(|c: char| c.is_ascii_digit()) else {
            continue;
        };
        let Some((number, what)) = part[digit..].split_once(' ') else {
            continue;
        };
        let Ok(number) = number.parse() else { continue };
        match what.trim() {
            "registers" => into.registers = number,
            "bytes stack frame" => into.stack = number,
            "bytes spill stores" => into.spill_stores = number,
            "bytes spill loads" => into.spill_loads = number,
            "bytes smem" => into.shared = number,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "ptxas info    : 0 bytes gmem, 64 bytes cmem[3]
ptxas info    : Compiling entry function 'first' for 'sm_90'
ptxas info    : Function properties for first
ptxas         .     16 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 16 bytes cumulative stack size, 4096 bytes smem, 400 bytes cmem[0]
ptxas info    : Function properties for helper
    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compile time = 12.345 ms
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
";

    #[test]
    fn each_kernel_has_its_numbers() {
        let first = Resources {
            kernel: "first".to_string(),
            registers: 255,
            spill_stores: 24,
            spill_loads: 32,
            stack: 16,
            shared: 4096,
        };
        let second = Resources {
            kernel: "second".to_string(),
            registers: 8,
            ..Resources::default()
        };
        assert_eq!(read(LOG), [first, second]);
        assert_eq!(read("nothing of the kind"), []);
    }
}
