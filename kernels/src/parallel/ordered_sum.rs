//! [`OrderedSum`] on devices: its tables in device memory, and the kernel that computes the sums.

use super::device_halo::DeviceHalo;
use super::halo::OrderedSum;
use crate::Error;
use crate::device::accelerator::{Accelerator, Memory, Source, Stream, argument, send, walk};

const PRELUDE: &str = include_str!("../device/prelude.cuh");
const TEXT: &str = include_str!("ordered_sum.cu");

/// `struct Sums` of ordered_sum.cu.
#[repr(C)]
struct SumArgs {
    memory: u64,
    targets: u64,
    starts: u64,
    terms: u64,
    count: i64,
}

/// The beginning of a kernel source that needs only the common types and macros: `REAL`, `WIDE`, `KERNEL`, `FMA`.
pub fn prelude(double: bool) -> String {
    let real = usize::from(double);
    format!("#define REAL_IS_DOUBLE {real}\n#define NDIM 3\n#define VEC 1\n{PRELUDE}\n")
}

/// The source of the kernel.
pub fn source(double: bool) -> Source {
    Source {
        name: format!("ordered_sum.cu REAL_IS_DOUBLE={}", usize::from(double)),
        text: prelude(double) + TEXT,
    }
}

/// The sums of one stage of a subdomain.
struct Table<M> {
    targets: M,
    starts: M,
    terms: M,
    count: usize,
}

/// The sums of all subdomains of a process.
pub(super) struct DeviceSums<A: Accelerator> {
    /// Tables `[subdomain][stage]`; `None` if there are no sums.
    tables: Vec<Vec<Option<Table<A::Memory>>>>,
    /// The kernel of each subdomain; empty if it has no sums.
    kernels: Vec<Vec<A::Kernel>>,
}

fn table<A: Accelerator>(a: &A, sums: &OrderedSum) -> Result<Table<A::Memory>, Error> {
    Ok(Table {
        targets: send(a, &sums.targets)?,
        starts: send(a, &sums.starts)?,
        terms: send(a, &sums.terms)?,
        count: sums.targets.len(),
    })
}

impl<A: Accelerator> DeviceSums<A> {
    pub fn new<S: DeviceHalo<Device = A>>(subdomains: &[S]) -> Result<Self, Error> {
        let (mut tables, mut kernels) = (Vec::new(), Vec::new());
        for subdomain in subdomains {
            let a = &**subdomain.device();
            let stage = |stage: usize| subdomain.sums(stage).map(|sums| table(a, sums)).transpose();
            let stages: Vec<_> = (0..subdomain.stages()).map(stage).collect::<Result<_, Error>>()?;
            kernels.push(match stages.iter().any(Option::is_some) {
                true => a.load(&source(size_of::<S::Number>() == 8), &["ordered_sum"])?,
                false => Vec::new(),
            });
            tables.push(stages);
        }
        Ok(Self { tables, kernels })
    }

    /// Computes the sums in the boundary stream, after everything that has arrived there.
    pub fn launch<S: DeviceHalo<Device = A>>(
        &self,
        number: usize,
        subdomain: &S,
        stage: usize,
    ) -> Result<(), Error> {
        let (Some(table), Some(kernel)) = (&self.tables[number][stage], self.kernels[number].first()) else {
            return Ok(());
        };
        let args = SumArgs {
            memory: subdomain.exchanged(stage),
            targets: table.targets.address(),
            starts: table.starts.address(),
            terms: table.terms.address(),
            count: table.count as i64,
        };
        let a = subdomain.device();
        // SAFETY: the argument is the structure of the kernel, and all positions lie in the exchanged memory.
        unsafe { a.launch(Stream::Edges, kernel, walk(table.count), &argument(&args)) }
    }
}
