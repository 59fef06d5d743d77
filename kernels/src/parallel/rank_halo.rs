//! The exchange of halos between ranks by messages, together with the exchange inside each rank.

use super::halo::{End, Linked, Network, Peer};
use crate::Error;
use crate::communicator::{Channel, Communicator, Span};
use crate::time_loop::Halo;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::time::Instant;

/// Overlap of messages between ranks with computation. All variants but [`Overlap::Overlapped`] are for measurements
/// (`benches/ranks.rs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    /// Messages are transferred while the interior is computed.
    #[default]
    Overlapped,
    /// Messages arrive before the computation of the interior begins.
    Blocking,
    /// Buffers are packed and unpacked, but nothing is sent: the difference in time is the cost of the messages.
    /// Results are wrong.
    WithoutSends,
    /// Nothing is packed, sent or unpacked: the difference in time is the cost of the exchange. Results are wrong.
    WithoutBuffers,
}

/// The ends, in this process, of links to subdomains of other ranks, in the order of subdomains and links.
/// Collective: all ranks must call this.
///
/// # Errors
/// Returns an error if a subdomain has a neighbour that no rank has.
pub fn outer_ends<S: Linked>(subdomains: &[S], ranks: &dyn Communicator) -> Result<Vec<(End, Peer)>, Error> {
    let mine: Vec<u64> = subdomains.iter().map(|s| s.number() as u64).collect();
    let all = ranks.all_gather(bytemuck::cast_slice(&mine))?;
    let mut owner = BTreeMap::new();
    for (rank, numbers) in all.iter().enumerate() {
        for &bytes in numbers.as_chunks::<8>().0 {
            owner.insert(u64::from_ne_bytes(bytes) as usize, rank);
        }
    }
    let mut ends = Vec::new();
    for (subdomain, s) in subdomains.iter().enumerate() {
        for (link, way) in s.links().iter().enumerate() {
            let &rank = owner.get(&way.neighbour).ok_or_else(|| {
                Error::setup(format!(
                    "subdomain {} has the neighbour {}, which no rank has",
                    s.number(),
                    way.neighbour
                ))
            })?;
            if rank != ranks.rank() {
                let numbers = [s.number(), way.neighbour];
                ends.push((End { subdomain, link }, Peer { rank, numbers }));
            }
        }
    }
    Ok(ends)
}

/// The first tag of every end. Both ends of a link have the same tag, and all pieces of the links between a pair of
/// ranks have different tags.
fn tags<S: Linked>(subdomains: &[S], outer: &[(End, Peer)]) -> Vec<usize> {
    let pieces = |end: &End| {
        let stages = &subdomains[end.subdomain].links()[end.link].stages;
        let most = |t: &super::halo::Traffic| t.send.len().max(t.receive.len());
        stages.iter().map(most).max().unwrap_or(0)
    };
    let key = |peer: &Peer| {
        let [a, b] = peer.numbers;
        (a.min(b), a.max(b))
    };
    let before = |this: &Peer| {
        let same = outer.iter().filter(|(_, other)| other.rank == this.rank);
        let earlier = same.filter(|(_, other)| key(other) < key(this));
        earlier.map(|(end, _)| pieces(end)).sum()
    };
    outer.iter().map(|(_, peer)| before(peer)).collect()
}

/// One end of a link to another rank.
struct Way<'a> {
    end: End,
    /// Channels by stage.
    channels: Vec<Box<dyn Channel + 'a>>,
    /// Number of pieces that leave, by stage.
    pieces: Vec<usize>,
    /// Number of pieces that arrive, by stage.
    arriving: Vec<usize>,
    /// Whether the numbers that leave are already in the memory of their messages.
    is_packed: bool,
}

/// The halo of a run on several ranks: the network inside this process, and messages to other ranks.
pub struct MessagePassing<'a, N, S> {
    network: &'a mut N,
    ranks: &'a dyn Communicator,
    overlap: Overlap,
    ways: Vec<Way<'a>>,
    subdomains: PhantomData<fn(&S)>,
}

impl<'a, S: Linked, N: Network<S>> MessagePassing<'a, N, S> {
    /// Creates the halo of the subdomains of this rank, which are linked to subdomains of other ranks at the ends
    /// `outer`.
    ///
    /// # Safety
    /// The memory that [`Network::spans`] returns must outlive the exchange.
    pub unsafe fn new(
        network: &'a mut N,
        ranks: &'a dyn Communicator,
        subdomains: &mut [S],
        outer: &[(End, Peer)],
        overlap: Overlap,
    ) -> Result<Self, Error> {
        let mut ways = Vec::new();
        for (&(end, peer), tag) in outer.iter().zip(tags(subdomains, outer)) {
            let mut way = Way {
                end,
                channels: Vec::new(),
                pieces: Vec::new(),
                arriving: Vec::new(),
                is_packed: false,
            };
            for stage in 0..subdomains[end.subdomain].stages() {
                let (leaving, arriving) = network.spans(subdomains, end, stage);
                way.pieces.push(leaving.len());
                way.arriving.push(arriving.len());
                // SAFETY: guaranteed by the caller; memory of outgoing messages is not written between `start_send` and
                // `wait_all`, and memory of incoming ones is not read between `start_receive` and `wait_any`.
                way.channels
                    .push(unsafe { ranks.channel((peer.rank, tag), &leaving, &arriving)? });
            }
            ways.push(way);
        }
        Ok(Self {
            network,
            ranks,
            overlap,
            ways,
            subdomains: PhantomData,
        })
    }

    fn depart(&mut self, subdomains: &mut [S], stage: usize) -> Result<(), Error> {
        for way in &mut self.ways {
            way.is_packed = self.network.pack(subdomains, way.end, stage)?;
        }
        if self.overlap == Overlap::WithoutSends {
            return Ok(());
        }
        for way in self.ways.iter_mut().filter(|way| way.is_packed) {
            let channel = &mut way.channels[stage];
            channel.start_receive()?;
            (0..way.pieces[stage]).try_for_each(|piece| channel.start_send(piece))?;
        }
        Ok(())
    }

    fn settle(&mut self, subdomains: &mut [S], stage: usize) -> Result<(), Error> {
        let is_mute = self.overlap == Overlap::WithoutSends;
        for way in self.ways.iter_mut().filter(|way| !way.is_packed) {
            let channel = &mut way.channels[stage];
            for piece in 0..way.pieces[stage] {
                // Once a piece is packed, the numbers that arrived in the previous step have been used.
                self.network.packed(subdomains, way.end, stage, piece)?;
                if !is_mute {
                    if piece == 0 {
                        channel.start_receive()?;
                    }
                    channel.start_send(piece)?;
                }
            }
        }
        for way in &mut self.ways {
            if is_mute {
                for piece in 0..way.arriving[stage] {
                    self.network.unpack(subdomains, way.end, stage, piece)?;
                }
                continue;
            }
            while let Some(piece) = way.channels[stage].wait_any()? {
                self.network.unpack(subdomains, way.end, stage, piece)?;
            }
        }
        if is_mute {
            return Ok(());
        }
        self.ways
            .iter_mut()
            .try_for_each(|way| way.channels[stage].wait_all())
    }
}

impl<S: Linked, N: Network<S>> Halo<S> for MessagePassing<'_, N, S> {
    fn start(&mut self, subdomains: &mut [S], stage: usize) -> Result<(), Error> {
        self.network.start(subdomains, stage)?;
        match self.overlap {
            Overlap::WithoutBuffers => Ok(()),
            Overlap::Blocking => {
                self.depart(subdomains, stage)?;
                self.settle(subdomains, stage)
            }
            Overlap::Overlapped | Overlap::WithoutSends => self.depart(subdomains, stage),
        }
    }

    fn finish(&mut self, subdomains: &mut [S], stage: usize) -> Result<(), Error> {
        if matches!(self.overlap, Overlap::Overlapped | Overlap::WithoutSends) {
            self.settle(subdomains, stage)?;
        }
        self.network.finish(subdomains, stage)?;
        self.network.combine(subdomains, stage)
    }

    fn agree(&mut self, place: Option<usize>) -> Result<Option<usize>, Error> {
        let words = place.map_or_else(Vec::new, |place| (place as u64).to_le_bytes().to_vec());
        let all = self.ranks.all_gather(&words)?;
        let numbers = all.iter().filter_map(|words| words.first_chunk::<8>());
        Ok(numbers.map(|&word| u64::from_le_bytes(word) as usize).min())
    }
}

/// Number of exchanges that [`trial`] measures.
const TRIALS: usize = 5;

/// Seconds that an exchange of `pieces` messages of `bytes` bytes with the previous and the next rank takes, from
/// host memory to host memory: the fastest of several. Collective: all ranks must call this.
pub fn trial(ranks: &dyn Communicator, bytes: usize, pieces: usize) -> Result<f64, Error> {
    let (rank, size) = (ranks.rank(), ranks.size());
    let below = rank.checked_sub(1);
    let peers = below.into_iter().chain((rank + 1 < size).then_some(rank + 1));
    let mut ends = Vec::new();
    for peer in peers {
        let mut buffers = [vec![1u8; bytes * pieces], vec![0u8; bytes * pieces]];
        let [leaving, arriving] = buffers.each_mut().map(|buffer| {
            let start = buffer.as_mut_ptr() as u64;
            let address = |k: usize| start + (k * bytes) as u64;
            let span = |k| Span {
                address: address(k),
                bytes,
            };
            (0..pieces).map(span).collect::<Vec<_>>()
        });
        // SAFETY: the channel is dropped before the buffers, which are not accessed until then.
        ends.push((unsafe { ranks.channel((peer, 0), &leaving, &arriving)? }, buffers));
    }
    let mut best = f64::INFINITY;
    for _ in 0..TRIALS {
        ranks.all_gather(&[])?;
        let begun = Instant::now();
        for (channel, _) in &mut ends {
            channel.start_receive()?;
            (0..pieces).try_for_each(|piece| channel.start_send(piece))?;
        }
        for (channel, _) in &mut ends {
            while channel.wait_any()?.is_some() {}
            channel.wait_all()?;
        }
        best = best.min(begun.elapsed().as_secs_f64());
    }
    Ok(best)
}
