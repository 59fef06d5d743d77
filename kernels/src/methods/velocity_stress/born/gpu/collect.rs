//! Collects the results of ranks that share a shot on rank 0.

use super::super::Picture;
use super::super::program::Changes;
use super::ranks::Shares;
use crate::Error;
use crate::communicator::{Communicator, PIECE, Topic};
use bytemuck::{cast_slice, pod_collect_to_vec};

fn send(ranks: &dyn Communicator, numbers: &[f32]) -> Result<(), Error> {
    let mut pieces = cast_slice::<f32, u8>(numbers).chunks(PIECE);
    pieces.try_for_each(|piece| ranks.send_to_root(Topic::Maps, piece.to_vec()))
}

/// On rank 0: receives numbers from another rank.
fn receive(ranks: &dyn Communicator, from: usize, numbers: &mut [f32]) -> Result<(), Error> {
    for piece in numbers.chunks_mut(PIECE / size_of::<f32>()) {
        let bytes = ranks.receive_from(Topic::Maps, from)?;
        let received: Vec<f32> = pod_collect_to_vec(&bytes);
        if received.len() != piece.len() {
            return Err(Error::setup(format!(
                "rank {from} has sent {} numbers of a gradient or an image in place of {}, which is a fault of this program",
                received.len(),
                piece.len()
            )));
        }
        piece.copy_from_slice(&received);
    }
    Ok(())
}

/// Collects on rank 0 the sums by coefficient of all planes of a grid, of which every rank has computed its own; the
/// other ranks keep their sums. Collective: all ranks must call this. `a_plane` contains the number of values and the
/// number of rows of a plane; stiffnesses whose index is not `summed` have no sums.
///
/// # Errors
/// Returns an error if a connection fails.
pub fn collect_sums(
    sums: &mut Changes<f32>,
    (shares, planes, a_plane): (&Shares, usize, [usize; 2]),
    summed: impl Fn(usize) -> bool,
    ranks: &dyn Communicator,
) -> Result<(), Error> {
    for (all, a_plane, of_stress) in [
        (&mut sums.buoyancy, a_plane[0], false),
        (&mut sums.stiffness, a_plane[0], true),
        (&mut sums.relaxing, a_plane[0], true),
        (&mut sums.ratios, a_plane[1], false),
    ] {
        for (k, field) in all.chunks_exact_mut(planes * a_plane).enumerate() {
            if of_stress && !summed(k) {
                continue;
            }
            let own = |rank: usize| {
                let own = shares.own(rank);
                own.start * a_plane..own.end * a_plane
            };
            match ranks.rank() {
                0 => (1..ranks.size()).try_for_each(|rank| receive(ranks, rank, &mut field[own(rank)]))?,
                rank => send(ranks, &field[own(rank)])?,
            }
        }
    }
    Ok(())
}

/// Images of every rank, by shot and kind, whose planes are consecutive: rank 0 receives the images of all ranks in
/// order, every other rank only its own. Collective: all ranks must call this.
///
/// # Errors
/// Returns an error if a connection fails.
pub fn collect_pictures(
    own: Vec<Vec<Picture<f32>>>,
    ranks: &dyn Communicator,
) -> Result<Vec<Vec<Vec<Picture<f32>>>>, Error> {
    let sizes: Vec<u64> = own
        .iter()
        .flatten()
        .flat_map(|picture| [picture.image.len() as u64, picture.light.len() as u64])
        .collect();
    let sizes = ranks.all_gather(cast_slice(&sizes))?;
    if ranks.rank() > 0 {
        for picture in own.iter().flatten() {
            send(ranks, &picture.image)?;
            send(ranks, &picture.light)?;
        }
        return Ok(vec![own]);
    }
    let mut all = vec![own];
    for (rank, sizes) in sizes.iter().enumerate().skip(1) {
        let sizes: Vec<u64> = pod_collect_to_vec(sizes);
        let mut sizes = sizes.into_iter().map(|size| size as usize);
        let mut of_rank = Vec::new();
        for of_shot in &all[0] {
            let mut kinds = Vec::new();
            for _ in of_shot {
                let mut next = || {
                    let mut numbers = vec![0.0; sizes.next().unwrap_or(0)];
                    receive(ranks, rank, &mut numbers).map(|()| numbers)
                };
                let (image, light) = (next()?, next()?);
                kinds.push(Picture { image, light });
            }
            of_rank.push(kinds);
        }
        all.push(of_rank);
    }
    Ok(all)
}
