//! The map of the trace headers that a file of revision 2.1 may contain (stanza `SEG:Layout`; SEG-Y revision 2.1,
//! appendix D-8). It is XML with the bytes and types of the keys.

use anyhow::{Context, Result, bail, ensure};
use roxmltree::{Document, Node};
use rsf_io::Job;

use super::keys::TRACE_HEADER;
use super::samples::{Coding, Order};

/// The names (from that appendix) and the lengths in bytes of the keys of the standard trace header, in order
/// and without gaps.
#[rustfmt::skip]
const STANDARD: [(&str, usize); 89] = [
    ("linetrc", 4), ("reeltrc", 4), ("ffid", 4), ("chan", 4), ("espnum", 4), ("cdp", 4), ("cdptrc", 4), ("trctype", 2),
    ("vstack", 2), ("fold", 2), ("rectype", 2), ("offset", 4), ("relev", 4), ("selev", 4), ("sdepth", 4), ("rdatum", 4),
    ("sdatum", 4), ("wdepthso", 4), ("wdepthrc", 4), ("ed_scal", 2), ("co_scal", 2), ("sht_x", 4), ("sht_y", 4), ("rec_x", 4),
    ("rec_y", 4), ("coorunit", 2), ("wvel", 2), ("subwvel", 2), ("shuphole", 2), ("rcuphole", 2), ("shstat", 2), ("rcstat", 2),
    ("stapply", 2), ("lagtimea", 2), ("lagtimeb", 2), ("delay", 2), ("mutestrt", 2), ("muteend", 2), ("nsamps", 2), ("dt", 2),
    ("gaintype", 2), ("ingconst", 2), ("initgain", 2), ("corrflag", 2), ("sweepsrt", 2), ("sweepend", 2), ("sweeplng", 2),
    ("sweeptyp", 2), ("sweepstp", 2), ("sweepetp", 2), ("tapertyp", 2), ("aliasfil", 2), ("aliaslop", 2), ("notchfil", 2),
    ("notchslp", 2), ("lowcut", 2), ("highcut", 2), ("lowcslop", 2), ("hicslop", 2), ("year", 2), ("day", 2), ("hour", 2),
    ("minute", 2), ("second", 2), ("timebase", 2), ("trweight", 2), ("rstaswp1", 2), ("rstatrc1", 2), ("rstatrcn", 2),
    ("gapsize", 2), ("overtrvl", 2), ("cdp_x", 4), ("cdp_y", 4), ("iline", 4), ("xline", 4), ("sp", 4), ("sp_scal", 2),
    ("samp_unit", 2), ("trans_const", 6), ("trans_unit", 2), ("dev_id", 2), ("tm_scal", 2), ("src_type", 2), ("src_dir1", 2),
    ("src_dir2", 2), ("src_dir3", 2), ("smeasure", 6), ("sm_unit", 2), ("header_name", 8),
];

/// The type of a value.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// A signed integer of this number of bytes.
    Whole(usize),
    /// An unsigned integer of this number of bytes.
    Unsigned(usize),
    /// A real number.
    Real(Coding),
    /// A mantissa of four bytes and a power of ten of two bytes.
    Scale,
    /// Eight characters.
    Letters,
}

impl Kind {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "int2" | "time2" => Self::Whole(2),
            "int4" | "linetrc" | "reeltrc" | "coor4" | "elev4" | "spnum4" => Self::Whole(4),
            "int8" | "linetrc8" | "reeltrc8" => Self::Whole(8),
            "uint2" => Self::Unsigned(2),
            "uint4" => Self::Unsigned(4),
            "uint8" => Self::Unsigned(8),
            "ibmfp" => Self::Real(Coding::Ibm),
            "ieee32" => Self::Real(Coding::Ieee),
            "ieee64" => Self::Real(Coding::Ieee8),
            "scale6" => Self::Scale,
            "string8" => Self::Letters,
            _ => return None,
        })
    }

    fn size(self) -> usize {
        match self {
            Self::Whole(size) | Self::Unsigned(size) => size,
            Self::Real(coding) => coding.size(),
            Self::Scale => 6,
            Self::Letters => 8,
        }
    }
}

/// A key: its place and type in the file, and its place (`to`) in the standard trace header.
struct Entry {
    name: String,
    at: usize,
    kind: Kind,
    to: usize,
    /// The length of the key in bytes in the standard trace header.
    size: usize,
}

/// The places of the keys in the trace headers of a file. Keys that the map does not list are 0.
pub struct Map {
    entries: Vec<Entry>,
}

impl Map {
    /// Reads the map from the text of the stanza.
    ///
    /// # Errors
    /// Returns an error if the text is not a map of this kind.
    pub fn of(job: &Job, text: &str) -> Result<Self> {
        let map = Self::parsed(job, text);
        map.context(
            "the file has a map of its trace headers (stanza SEG:Layout of revision 2.1) that cannot be used; \
layout=n reads the keys at the bytes of the standard, and name=byte reads a key at another byte",
        )
    }

    fn parsed(job: &Job, text: &str) -> Result<Self> {
        let document = Document::parse(text).context("it is not XML")?;
        let root = document.root_element();
        ensure!(
            root.has_tag_name("segy-layout"),
            "it begins with <{}>, but must begin with <segy-layout>",
            root.tag_name().name()
        );
        let (mut entries, mut others): (Vec<Entry>, Vec<String>) = Default::default();
        for node in root.children().filter(|node| node.has_tag_name("entry")) {
            let (name, at, kind) = entry(node)?;
            if name == "header_name" {
                continue;
            }
            let Some((to, size)) = standard(name) else {
                others.push(format!("{name} (key1={name} {name}={at} reads it)"));
                continue;
            };
            ensure!(
                (kind == Kind::Scale) == (size == 6) && kind != Kind::Letters,
                "its entry {name} has a type that this key cannot have"
            );
            ensure!(
                entries.iter().all(|entry| entry.name != name),
                "it has two entries {name}"
            );
            let name = name.into();
            entries.push(Entry {
                name,
                at,
                kind,
                to,
                size,
            });
        }
        ensure!(!entries.is_empty(), "it has no entry with the name of a key");
        if !others.is_empty() {
            job.warn(&format!(
                "the map of the trace headers (SEG:Layout) has entries that are not among the 91 keys: {}",
                others.join(", ")
            ));
        }
        Ok(Self { entries })
    }

    /// Converts a trace header to the standard layout; also returns the number of values that the two or four bytes of
    /// a key cannot represent exactly.
    pub fn to_standard(&self, order: Order, header: &[u8]) -> (Vec<u8>, u64) {
        let (mut standard, mut changed) = (vec![0; TRACE_HEADER], 0);
        for Entry {
            at, kind, to, size, ..
        } in &self.entries
        {
            let bytes = &header[*at..at + kind.size()];
            if *kind == Kind::Scale {
                standard[*to..to + 6].copy_from_slice(bytes);
                continue;
            }
            let value = match kind {
                Kind::Real(Coding::Ieee8) => order.real(bytes, 0),
                Kind::Real(coding) => {
                    let mut value = [0.0];
                    coding.decode(order, bytes, &mut value);
                    value[0].into()
                }
                Kind::Whole(8) => order.long(bytes, 0) as i64 as f64,
                Kind::Whole(size) => order.int(bytes, 0, *size).into(),
                Kind::Unsigned(8) => order.long(bytes, 0) as f64,
                Kind::Unsigned(4) => f64::from(order.int(bytes, 0, 4) as u32),
                _ => order.count(bytes, 0) as f64,
            };
            // Two bytes may also contain unsigned numbers.
            let (low, high) = match size {
                2 => (-32_768.0, 65_535.0),
                _ => (f64::from(i32::MIN), f64::from(i32::MAX)),
            };
            let held = value.round().clamp(low, high);
            changed += u64::from(held != value);
            order.put_int(&mut standard, *to, *size, held as i32);
        }
        (standard, changed)
    }

    /// Warns if values were changed; `changed` is their number.
    pub fn warn(&self, job: &Job, changed: u64) {
        if changed > 0 {
            let wide = |entry: &&Entry| matches!(entry.kind, Kind::Real(_)) || entry.kind.size() > entry.size;
            let names: Vec<&str> = self
                .entries
                .iter()
                .filter(wide)
                .map(|entry| entry.name.as_str())
                .collect();
            job.warn(&format!(
                "{changed} values of trace headers (of {} in the map SEG:Layout) are fractions or too large for keys, which are integers of two or four \
bytes: they were rounded or clipped",
                names.join(", ")
            ));
        }
    }
}

/// First byte (from 0) and length of a key in the standard trace header.
fn standard(name: &str) -> Option<(usize, usize)> {
    let mut at = 0;
    for (own, size) in STANDARD {
        if own == name {
            return Some((at, size));
        }
        at += size;
    }
    None
}

/// Name, first byte (from 0) and type of an entry.
fn entry<'a>(node: Node<'a, '_>) -> Result<(&'a str, usize, Kind)> {
    let get = |key: &str| {
        node.attribute(key)
            .map(str::trim)
            .filter(|value| !value.is_empty())
    };
    let name = get("name").context("an entry has no name=")?;
    let (byte, kind) = (get("byte"), get("type"));
    let (Some(byte), Some(kind)) = (byte, kind) else {
        bail!("its entry {name} lacks byte= or type=");
    };
    let kind = Kind::of(kind).with_context(|| {
        format!("its entry {name} has type={kind}, which is not one of int2, int4, int8, uint2, uint4, uint8, ibmfp, ieee32, ieee64, linetrc, \
reeltrc, linetrc8, reeltrc8, coor4, elev4, time2, spnum4 and scale6")
    })?;
    let last = TRACE_HEADER + 1 - kind.size();
    let at: usize = byte
        .parse()
        .ok()
        .filter(|at| (1..=last).contains(at))
        .with_context(|| {
            format!(
                "its entry {name} has byte={byte}, but its {} bytes must begin at one of the bytes 1 to {last}",
                kind.size()
            )
        })?;
    Ok((name, at - 1, kind))
}
