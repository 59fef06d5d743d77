//! Remedies in the messages of errors. The engine knows no command line: a program names the parameter of each remedy.

use std::fmt::{self, Display};

/// What a user can change to avoid an error. Its text is a part of a sentence, such as `a narrower frame`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Run on the processors instead of GPUs.
    Processors,
    /// Cut a shot into parts for more GPUs.
    MoreGpus,
    /// Another number of slabs of a grid.
    Slabs,
    /// Cut a mesh into fewer subdomains.
    FewerSubdomains,
    /// Cut a mesh into more subdomains.
    MoreSubdomains,
    /// Use fewer threads.
    FewerThreads,
    /// Let the program choose how halos are exchanged.
    Transport,
    /// An explosion, the only source that acts in a fluid.
    Explosion,
    /// Pressure, the quantity that a fluid has.
    Pressure,
    /// A narrower frame around the model.
    NarrowerFrame,
    /// A wider frame around the model.
    WiderFrame,
    /// A source that covers fewer cells.
    SmallerBell,
    /// Run in spite of a time step above the stability limit.
    RunAnyway,
    /// One mechanism of attenuation in each cell, which differs from cell to cell.
    CoarseMechanisms,
    /// Three mechanisms of attenuation in each cell.
    ThreeMechanisms,
    /// The quality factor of P waves.
    QualityOfP,
    /// The quality factor of S waves.
    QualityOfS,
    /// A state that a run has saved.
    SavedState,
}

const ALL: [Hint; 18] = [
    Hint::Processors,
    Hint::MoreGpus,
    Hint::Slabs,
    Hint::FewerSubdomains,
    Hint::MoreSubdomains,
    Hint::FewerThreads,
    Hint::Transport,
    Hint::Explosion,
    Hint::Pressure,
    Hint::NarrowerFrame,
    Hint::WiderFrame,
    Hint::SmallerBell,
    Hint::RunAnyway,
    Hint::CoarseMechanisms,
    Hint::ThreeMechanisms,
    Hint::QualityOfP,
    Hint::QualityOfS,
    Hint::SavedState,
];

impl Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Processors => "run on the processors",
            Self::MoreGpus => "more GPUs",
            Self::Slabs => "slabs are possible",
            Self::FewerSubdomains => "ask for fewer subdomains",
            Self::MoreSubdomains => "ask for more subdomains",
            Self::FewerThreads => "ask for fewer threads",
            Self::Transport => "leave the transport to the program",
            Self::Explosion => "make it an explosion",
            Self::Pressure => "record pressure there",
            Self::NarrowerFrame => "a narrower frame",
            Self::WiderFrame => "a wider frame",
            Self::SmallerBell => "a smaller bell",
            Self::RunAnyway => "run anyway",
            Self::CoarseMechanisms => "coarse-grained mechanisms",
            Self::ThreeMechanisms => "three mechanisms a cell",
            Self::QualityOfP => "the Q of P waves",
            Self::QualityOfS => "the Q of S waves",
            Self::SavedState => "one that a run has saved",
        })
    }
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text that is inserted into the message without changes.
    Text(String),
    /// A remedy.
    Hint(Hint),
}

impl From<&str> for Part {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Part {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Hint> for Part {
    fn from(hint: Hint) -> Self {
        Self::Hint(hint)
    }
}

/// The message of an error: texts and the remedies among them.
///
/// ```
/// use kernels::{Hint, Message, message};
///
/// let message = message!["2 subdomains do not fit 1 element; ", Hint::FewerSubdomains];
/// assert_eq!(message.to_string(), "2 subdomains do not fit 1 element; ask for fewer subdomains");
/// let with = message.with(|_| "ngpu=");
/// assert_eq!(with, "2 subdomains do not fit 1 element; ask for fewer subdomains (ngpu=)");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message(Vec<Part>);

/// A [`Message`] of texts ([`String`] or `&str`) and [`Hint`]s.
#[macro_export]
macro_rules! message {
    ($($part:expr),+ $(,)?) => { $crate::Message::from(vec![$($crate::Part::from($part)),+]) };
}

impl Message {
    /// The text of the message with the parameter of each remedy in brackets after it.
    pub fn with(&self, parameter: impl Fn(Hint) -> &'static str) -> String {
        let text = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Hint(hint) => format!("{hint} ({})", parameter(*hint)),
        };
        self.0.iter().map(text).collect()
    }

    /// The message followed by another message.
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The remedies that the message names, in order.
    pub fn hints(&self) -> impl Iterator<Item = Hint> {
        self.0.iter().filter_map(|part| match part {
            Part::Hint(hint) => Some(*hint),
            Part::Text(_) => None,
        })
    }

    /// The message as bytes, which another rank reads by [`Message::from_bytes`].
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in &self.0 {
            match part {
                Part::Hint(hint) => bytes.push(*hint as u8),
                Part::Text(text) => {
                    bytes.push(ALL.len() as u8);
                    bytes.extend((text.len() as u64).to_le_bytes());
                    bytes.extend(text.as_bytes());
                }
            }
        }
        bytes
    }

    /// The message that these bytes encode, as far as they can be decoded.
    pub(crate) fn from_bytes(mut bytes: &[u8]) -> Self {
        let mut parts = Vec::new();
        while let Some((&kind, rest)) = bytes.split_first() {
            bytes = rest;
            if let Some(hint) = ALL.get(usize::from(kind)) {
                parts.push(Part::Hint(*hint));
            } else if let Some((len, rest)) = bytes.split_first_chunk() {
                let (text, rest) = rest.split_at(rest.len().min(u64::from_le_bytes(*len) as usize));
                parts.push(String::from_utf8_lossy(text).into_owned().into());
                bytes = rest;
            }
        }
        Self(parts)
    }
}

impl Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Hint(hint) => hint.fmt(f),
        })
    }
}

impl From<Vec<Part>> for Message {
    fn from(parts: Vec<Part>) -> Self {
        Self(parts)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self(vec![text.into()])
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self(vec![text.into()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_read_each_others_messages() {
        for (number, hint) in ALL.into_iter().enumerate() {
            assert_eq!(hint as usize, number, "{hint}");
            let message = message!["ten µm; ", hint, String::from(" or "), hint];
            assert_eq!(Message::from_bytes(&message.to_bytes()), message);
        }
        assert_eq!(Message::from_bytes(&[]), Message::default());
        assert_eq!(
            Message::from_bytes(&[255, 9, 0, 0, 0, 0, 0, 0, 0, b'a']).to_string(),
            "a"
        );
    }
}
