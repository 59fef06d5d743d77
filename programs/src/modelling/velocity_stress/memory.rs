//! Checks that a run fits into memory, before any is allocated.

use super::Run;
use crate::modelling::machine::{free, outer};
use crate::modelling::plan::{check_host, smaller_grid};
use crate::modelling::survey::Sharing;
use crate::modelling::survey::shot::Resources;
use anyhow::ensure;
use kernels::medium::Symmetry;
use kernels::methods::velocity_stress::{SLABS, bytes, gpu};
use kernels::parallel::options::Transport;
use rsf_io::Job;

/// Refuses a run that does not fit into the memory of a host; all ranks call it.
pub fn check(job: &Job, run: &Run, on: Resources<'_>) -> anyhow::Result<()> {
    let losses = run.shot.attenuation.as_ref();
    let factors = losses.map_or(0, |losses| losses.qp.len() + losses.qs.len());
    // The symmetry class of the model is not yet known.
    let needed = [Symmetry::Isotropic, Symmetry::Orthorhombic].map(|class| {
        let needed = match on.gpus.is_empty() {
            true => bytes(&run.padded, &run.shot, &on.machine.slabs, class),
            false => gpu::host_bytes(&run.padded, class, losses.is_some()),
        };
        let all = (needed + factors * size_of::<f32>()) as u64 * on.machine.groups as u64 + on.held;
        all as f64
    });
    check_host(job, on.world, needed, |share| smaller_grid(&run.padded, share))
}

/// The number of bytes that one of this rank's slabs needs on its GPU, with kernels of this class and the
/// messages to other ranks.
pub fn bytes_of_gpu(run: &Run, class: Symmetry, number: usize, on: Resources<'_>) -> usize {
    let slabs = &on.machine.slabs;
    let messages = match (run.transport, on.world.ranks().reaches_devices()) {
        (Transport::HostStaged, _) => 0,
        (Transport::Auto | Transport::CudaAware, true) => 2,
        // There is one buffer, to which a neighbour on the same host writes, if there is one.
        _ => 1,
    };
    let messages = messages * outer(slabs, run.padded.planes(), number);
    let shots = 1 + run.beside.len();
    gpu::bytes((&run.shot, shots), &run.padded, &slabs[number], (class, messages))
}

/// The approximate number of cells of all shots on a GPU that fill it: with more cells it is not faster
/// (kernels/benches/RESULTS-STAGGERED.md).
pub(super) const FILLED: usize = 8_000_000;

/// The largest number of shots that one GPU runs side by side.
const MOST_SIDE_BY_SIDE: usize = 64;

/// The way in which shots share the GPU of this group: as many run side by side as `groups=` requests, otherwise as
/// many as fill it, but no more than fit into its memory with kernels of this class. Two workers share them if their
/// number is even and the medium fits into memory twice.
pub fn side_by_side(run: &Run, class: Symmetry, on: Resources<'_>) -> anyhow::Result<Sharing> {
    let ([gpu], [slab]) = (on.gpus, on.machine.slabs.as_slice()) else {
        return Ok(Sharing::ONE_BY_ONE);
    };
    let (free, name) = free(gpu)?;
    let bytes = |shots: usize| gpu::bytes((&run.shot, shots), &run.padded, slab, (class, 0));
    let fit = |most: usize| {
        (2..=most)
            .take_while(|&shots| bytes(shots) <= free)
            .last()
            .unwrap_or(1)
    };
    let most = match on.machine.requested_shots {
        Some(requested) => {
            let most = fit(requested);
            ensure!(
                most == requested,
                "groups= requests {requested} shots at a time on {name}, which need {:.2} GB of memory, but \
                {:.2} GB are free: at most {most} of them fit, so give fewer groups",
                bytes(requested) as f64 / 1e9,
                free as f64 / 1e9
            );
            requested
        }
        None => fit((FILLED / run.padded.cells()).clamp(1, MOST_SIDE_BY_SIDE)),
    };
    let half = most.div_ceil(2);
    let even = on
        .machine
        .requested_shots
        .is_none_or(|requested| requested.is_multiple_of(2));
    Ok(match most > 1 && even && 2 * bytes(half) <= free {
        true => Sharing {
            workers: 2,
            shots: half,
        },
        false => Sharing {
            workers: 1,
            shots: most,
        },
    })
}

/// An error message if a run of this class does not fit into the memory of the GPUs of this rank, before any of it is
/// allocated: the memory that the run needs, the free memory, and a remedy.
pub fn shortage(run: &Run, class: Symmetry, on: Resources<'_>) -> anyhow::Result<Option<String>> {
    let gpus = on.gpus;
    for (number, gpu) in gpus.iter().enumerate() {
        let (free, name) = free(gpu)?;
        let needed = bytes_of_gpu(run, class, number, on);
        if needed <= free {
            continue;
        }
        let more = match enough(run, class, (gpus.len(), free)) {
            Some(count) => format!("{count} such GPUs hold it (ngpu={count}); "),
            None => String::new(),
        };
        return Ok(Some(format!(
            "{name} has too little memory for {}: {:.2} GB are needed, but {:.2} GB are free; {more}device=cpu uses \
            the memory of the host",
            if gpus.len() > 1 {
                "its part of this run"
            } else {
                "this run"
            },
            needed as f64 / 1e9,
            free as f64 / 1e9,
        )));
    }
    Ok(None)
}

/// The number of GPUs, more than `gpus`, on which the run fits if each has `free` free bytes.
fn enough(run: &Run, class: Symmetry, (gpus, free): (usize, usize)) -> Option<usize> {
    let planes = run.padded.planes();
    (gpus + 1..=planes / SLABS.least).find(|&count| {
        let slabs = SLABS.balance(planes, 0, &vec![1.0; count]).unwrap_or_default();
        let fits = |slab| gpu::bytes((&run.shot, 1), &run.padded, slab, (class, 0)) <= free;
        !slabs.is_empty() && slabs.iter().all(fits)
    })
}
