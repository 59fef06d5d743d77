//! Groups of GPUs, or of threads, each of which runs whole shots.

use super::{Machine, Offer, Pieces, all_or_none, device, existing_gpus, first, named, threads};
use crate::modelling::world::{Places, World};
use anyhow::{bail, ensure};
use kernels::device::accelerator::Properties;
use kernels::device::cpu::Cpu;
use rsf_io::Job;

/// The largest number of cells of a grid, frame included, on which linearised shots run side by side on one
/// thread each. For six shots of 6,800 cells on two threads this took 0.55 s instead of 1.05 s, and 0.91 s on
/// a single thread.
const SMALL: usize = 200_000;

/// Runs `work` on all items at the same time, each on its own thread; returns the results in the order of the
/// items, or the first error in that order.
///
/// # Errors
/// Returns the errors of `work`. A panic of `work` is passed on.
pub fn at_the_same_time<T: Send, R: Send>(
    all: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> anyhow::Result<R> + Sync,
) -> anyhow::Result<Vec<R>> {
    let (work, mut all) = (&work, all.into_iter());
    let Some(first) = all.next() else {
        return Ok(Vec::new());
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = all.map(|one| scope.spawn(move || work(one))).collect();
        let first = work(first);
        let others = threads.into_iter().map(|thread| match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        // All threads are joined, even if one of the first has failed.
        let done: Vec<_> = std::iter::once(first).chain(others).collect();
        done.into_iter().collect()
    })
}

impl Machine {
    /// The groups of this rank that `groups=`, `gpu=` and `ngpu=` request; each of them computes whole shots
    /// without the others. If shots take one GPU each without `ngpu=`, `single` has the number of shots and
    /// the number of cells of their grid. All ranks call it.
    pub fn groups(
        job: &Job,
        pieces: Pieces<'_>,
        single: Option<[usize; 2]>,
        world: &World,
    ) -> anyhow::Result<Vec<Self>> {
        let places = world.of_host()?;
        // The number of shots of a small grid that threads can divide among themselves.
        let shared = match single {
            Some([shots, cells]) if cells <= SMALL => shots.div_ceil(world.ranks().size()),
            _ => 1,
        };
        let offers = device(job).map_err(Into::into).and_then(|device| {
            let count = job.given("ngpu").then(|| job.int("ngpu")).transpose()?;
            let count = count.map(usize::try_from).transpose()?;
            let each = count.or(single.map(|_| 1));
            // The threads of a group share a linearised shot without dividing it into slabs.
            let slabs = if single.is_some() { 1 } else { count.unwrap_or(1) };
            offers(job, device, (each, [slabs, shared]), places)
        });
        Self::of_groups(world.agree(offers)?, pieces, world)
    }

    fn of_groups(offers: Vec<Offer>, pieces: Pieces<'_>, world: &World) -> anyhow::Result<Vec<Self>> {
        let on_gpu = offers.iter().any(|offer| !offer.gpus.is_empty());
        let on_gpus = world.numbers(&[u64::from(on_gpu)])?.concat();
        all_or_none(&on_gpus.iter().map(|&on| on == 1).collect::<Vec<_>>(), world)?;
        let (alone, groups, options) = (World::alone(), offers.len(), world.describe()?);
        let machines = offers.into_iter().map(|offer| {
            Ok(Self {
                options: options.clone(),
                groups,
                ..Self::of(offer, pieces, &alone)?
            })
        });
        world.agree(machines.collect())
    }
}

/// The value of `groups=`.
fn requested_groups(job: &Job) -> anyhow::Result<Option<usize>> {
    Ok(job.int_opt("groups")?.map(usize::try_from).transpose()?)
}

/// The devices of each group of this rank: `each` GPUs if that is requested; without GPUs, the groups of
/// [`of_processors`].
fn offers(
    job: &Job,
    device: &str,
    (each, processors): (Option<usize>, [usize; 2]),
    places: Places,
) -> anyhow::Result<Vec<Offer>> {
    let groups = requested_groups(job)?;
    let on_each = |gpus: usize| on_each(groups, each, gpus);
    let Some(existing) = existing_gpus(job, device)? else {
        return of_processors(job, processors, places);
    };
    let (gpus, requested_shots) = match job.given("gpu") {
        true => {
            let gpus = named(&existing, &job.ints("gpu")?, places)?;
            let requested_shots = on_each(gpus.len())?;
            (gpus, requested_shots)
        }
        false => {
            let requested_shots = on_each(existing.len())?;
            let (groups, each) = (groups.unwrap_or(1), each.unwrap_or(1));
            ensure!(
                groups == 1 || requested_shots.is_some() || groups * each <= existing.len(),
                "groups={groups} of ngpu={each} GPUs each take {}, but there {} {}: give fewer groups, or \
                let them share the CPU (device=cpu)",
                groups * each,
                if existing.len() == 1 { "is" } else { "are" },
                existing.len()
            );
            (
                first(&existing, groups / requested_shots.unwrap_or(1) * each, places)?,
                requested_shots,
            )
        }
    };
    let groups = groups.map(|groups| groups / requested_shots.unwrap_or(1));
    let each = group_size(gpus.len(), groups, each)?;
    let groups = gpus.len() / each;
    let parts = gpus.chunks(each).map(|part| {
        let offer = offer_of(job, part.to_vec(), each, (groups, places))?;
        Ok(Offer {
            requested_shots,
            ..offer
        })
    });
    parts.collect()
}

/// The number of shots that each of `gpus` GPUs runs at the same time for `groups=`; it is the same on all of
/// them.
fn on_each(groups: Option<usize>, each: Option<usize>, gpus: usize) -> anyhow::Result<Option<usize>> {
    match (groups, each.unwrap_or(1)) {
        // Each GPU runs one shot at a time, even if more would fit.
        (Some(groups), 1) if groups <= gpus => Ok(Some(1)),
        (Some(groups), 1) => {
            ensure!(
                groups.is_multiple_of(gpus),
                "groups={groups} cannot be divided evenly among {gpus} GPUs: give a multiple of {gpus}, so \
                that each runs the same number of shots at a time"
            );
            Ok(Some(groups / gpus))
        }
        _ => Ok(None),
    }
}

/// Groups that share the threads, with `slabs` slabs each: as many as are requested, otherwise one for each of `shared`
/// shots, but at most one per thread.
fn of_processors(job: &Job, [slabs, shared]: [usize; 2], places: Places) -> anyhow::Result<Vec<Offer>> {
    let groups = match requested_groups(job)? {
        Some(groups) => groups,
        None => threads(job, places.sharing)?.min(shared).max(1),
    };
    let offer = |_| offer_of(job, Vec::new(), slabs, (groups, places));
    (0..groups).map(offer).collect()
}

/// The number of GPUs of each group on a rank with `gpus` GPUs, if `groups` groups or `each` GPUs per group
/// are requested.
fn group_size(gpus: usize, groups: Option<usize>, each: Option<usize>) -> anyhow::Result<usize> {
    let words = |n: usize| match n {
        1 => "1 GPU".to_string(),
        n => format!("{n} GPUs"),
    };
    match (groups, each) {
        (Some(groups), Some(each)) if groups * each != gpus => bail!(
            "gpu= names {} for a rank, but groups={groups} of ngpu={each} take {}: name that number, or \
            leave out groups= or ngpu=",
            words(gpus),
            words(groups * each)
        ),
        (_, Some(each)) if !gpus.is_multiple_of(each) => bail!(
            "gpu= names {} for a rank, which cannot be divided into groups of ngpu={each}: name a multiple of it",
            words(gpus)
        ),
        (Some(groups), None) if !gpus.is_multiple_of(groups) => bail!(
            "gpu= names {} for a rank, which groups={groups} cannot share: name a multiple of it",
            words(gpus)
        ),
        (_, Some(each)) => Ok(each),
        (Some(groups), None) => Ok(gpus / groups),
        (None, None) => Ok(gpus),
    }
}

/// A group with its share of the threads.
fn offer_of(
    job: &Job,
    gpus: Vec<Properties>,
    parts: usize,
    (groups, places): (usize, Places),
) -> anyhow::Result<Offer> {
    let threads = threads(job, places.sharing)? / groups;
    Ok(Offer {
        gpus,
        parts,
        cpu: Cpu::new(threads.max(1))?,
        requested_shots: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_groups_than_gpus_share_them() {
        for (groups, each, expected) in [
            (None, None, None),
            (Some(2), None, Some(1)),
            (Some(8), Some(1), Some(4)),
            (Some(8), Some(2), None),
        ] {
            assert_eq!(on_each(groups, each, 2).unwrap(), expected);
        }
        let message = on_each(Some(3), None, 2).unwrap_err().to_string();
        assert!(message.contains("a multiple of 2"), "{message}");
    }

    /// Results are in the order of the items, whichever item ends first. If there are several errors, the first in that
    /// order is returned, after all threads are joined.
    #[test]
    fn things_at_the_same_time_keep_their_order() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let ended = AtomicUsize::new(0);
        let work = |number: u64| {
            std::thread::sleep(std::time::Duration::from_millis(5 * (4 - number)));
            ended.fetch_add(1, Ordering::SeqCst);
            ensure!(number.is_multiple_of(2), "fault {number}");
            Ok(10 * number)
        };
        assert_eq!(at_the_same_time([0, 2, 4], work).unwrap(), [0, 20, 40]);
        let message = at_the_same_time([0, 1, 3, 2], work).unwrap_err().to_string();
        assert_eq!((&message[..], ended.load(Ordering::SeqCst)), ("fault 1", 7));
        assert!(at_the_same_time([], work).unwrap().is_empty());
    }

    #[test]
    fn gpus_make_groups() {
        for (gpus, groups, each, expected) in [
            (4, None, None, 4),
            (4, None, Some(1), 1),
            (4, None, Some(2), 2),
            (4, Some(4), None, 1),
            (4, Some(2), Some(2), 2),
            (1, Some(1), None, 1),
        ] {
            assert_eq!(group_size(gpus, groups, each).unwrap(), expected);
        }
        for (groups, each, expected) in [
            (Some(2), Some(1), "groups=2 of ngpu=1 take 2 GPUs"),
            (None, Some(3), "cannot be divided into groups of ngpu=3"),
            (Some(3), None, "groups=3 cannot share"),
        ] {
            let message = group_size(4, groups, each).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
