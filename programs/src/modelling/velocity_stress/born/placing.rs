//! Places the operator of a shot on processors, on GPUs, or on the GPUs of several ranks.

use super::stations::{Station, Ways};
use crate::modelling::machine::{Machine, free};
use crate::modelling::plan::{free_memory, gigabytes};
use crate::modelling::transport;
use crate::modelling::world::World;
use anyhow::{Context, bail};
use kernels::device::gpu::Gpu;
use rsf_io::Job;
use std::sync::Arc;

/// Chooses the reverse sweep of a station, if it needs one, and moves it to its GPU, if there is one and the run is not
/// only planned. If a GPU runs several shots side by side, two stations take one half each: while the processors work
/// on the records of one of them, the GPU runs the shots of the other. Also returns a line about the memory of the GPU.
pub(super) fn place(
    job: &Job,
    (mut station, machine): (Station, &Machine),
    (ways, sharing): (Ways<'_>, usize),
) -> anyhow::Result<(Vec<Station>, Option<String>)> {
    let (gpus, sharing) = (machine.open()?, (sharing, of_host()));
    if gpus.is_empty() {
        if let Ways::Back(images) = ways {
            station.choose_way(job, images, (sharing, 1, None))?;
        }
        return Ok((vec![station], None));
    }
    let (free, name) = least(&gpus)?;
    let several = gpus.len();
    let advice = || format!("{name} (device=cpu runs in the memory of the host)");
    station.born.plan_on(several, free).with_context(advice)?;
    let mut devices = vec![gpus];
    match (ways, machine.requested_shots) {
        (Ways::Back(images), requested) => {
            station.choose_way(job, images, (sharing, 1, requested))?;
            let half = match (requested, station.side_by_side()) {
                (_, 1) => None,
                (None, _) => Some(None),
                (Some(requested), _) => (requested % 2 == 0).then_some(Some(requested / 2)),
            };
            // Two batches are used, unless steps would run more often with half of the memory.
            if let Some(half) = half {
                let whole = station.clone_way();
                let halved = station.born.plan_on(several, free / 2).is_ok()
                    && station.choose_way(job, images, (sharing, 2, half)).is_ok()
                    && station.is_as_quick_as(whole.as_ref());
                if halved {
                    devices.push(machine.open()?);
                } else {
                    station.born.plan_on(several, free).with_context(advice)?;
                    station.choose_way(job, images, (sharing, 1, requested))?;
                }
            }
        }
        (Ways::Forward, Some(requested)) if requested > 1 => bail!(
            "groups= requests {requested} shots at a time on a GPU, but adj=n runs one at a time on each GPU: \
            give as many groups as there are GPUs, or leave out groups="
        ),
        (Ways::Forward, _) => {}
    }
    let words = words_of_memory((&station, ways), (&name, several, free));
    let mut all = vec![station];
    while all.len() < devices.len() {
        all.push(all[0].another(&machine.cpu)?);
    }
    let planning = job.flag("plan")?;
    for (station, gpus) in all.iter_mut().zip(devices) {
        if !planning {
            station.born.run_on(gpus).with_context(advice)?;
        }
    }
    Ok((all, Some(words)))
}

/// Places a station on the GPUs of all ranks, which share the shot. All ranks call it.
pub(super) fn place_among(
    job: &Job,
    (mut station, machine): (Station, &Machine),
    (ways, sharing): (Ways<'_>, usize),
    world: &World,
) -> anyhow::Result<(Station, String)> {
    let opened = machine.open().and_then(|gpus| least(&gpus).map(|of| (gpus, of)));
    let (gpus, (free, name)) = world.agree(opened)?;
    // The schedule must be the same on all ranks, so the rank with the least memory determines it.
    let all = world.numbers(&[gpus.len(), free, of_host() as usize].map(|number| number as u64))?;
    let least = |k: usize| all.iter().filter_map(|numbers| numbers.get(k)).min().copied();
    let several = all.iter().filter_map(|numbers| numbers.first()).sum::<u64>() as usize;
    let (free, of_host) = (least(1).unwrap_or(0) as usize, least(2).unwrap_or(0) as f64);
    let most = world.numbers(&[sharing as u64])?.concat().into_iter().max();
    let sharing = (most.unwrap_or(1) as usize, of_host);
    let advice = || format!("{name} (device=cpu runs in the memory of the host)");
    let planned = station.born.plan_on(several, free).with_context(advice);
    let planned = planned.and_then(|()| match ways {
        Ways::Back(images) => station.choose_way(job, images, (sharing, 1, Some(1))),
        Ways::Forward => Ok(()),
    });
    world.agree(planned)?;
    station.shared = true;
    let words = words_of_memory((&station, ways), (&name, several, free));
    if !job.flag("plan")? {
        let transport = transport(job)?;
        let placed = station.born.run_on_ranks(gpus, world.ranks(), transport);
        world.agree(placed.with_context(advice))?;
    }
    Ok((station, words))
}

/// The number of free bytes of the memory of the host.
fn of_host() -> f64 {
    free_memory().unwrap_or(4e9)
}

/// The least free memory among GPUs that share a shot, and the name of the GPU that has it.
fn least(gpus: &[Arc<Gpu>]) -> anyhow::Result<(usize, String)> {
    let all = gpus
        .iter()
        .map(|gpu| free(gpu))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let least = all.into_iter().min_by_key(|(free, _)| *free);
    Ok(least.unwrap_or_default())
}

/// A line about the memory of a GPU with `free` free bytes, which is one of `several` that share a shot.
fn words_of_memory(
    (station, ways): (&Station, Ways<'_>),
    (name, several, free): (&str, usize, usize),
) -> String {
    let (shots, born) = (station.at_a_time(), &station.born);
    let taken = match ways.images() {
        Some(request) => born.device_bytes_of_images(request, shots),
        None => born.device_bytes(shots),
    };
    format!(
        "{name}{}: {} of its memory are needed in addition to the reverse sweep, {} are free",
        match several {
            1 => String::new(),
            _ => format!(", one of {several} GPUs that share a shot"),
        },
        gigabytes(taken as f64),
        gigabytes(free as f64)
    )
}
