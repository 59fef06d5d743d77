//! Forms and types of the numbers in a dataset.

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Byte order of this machine.
    Native,
    /// Big endian.
    Xdr,
    /// Text.
    Ascii,
}

/// Type of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 32-bit real.
    Float,
    /// 32-bit integer.
    Int,
    /// Two 32-bit reals.
    Complex,
    /// Unsigned byte.
    Uchar,
    /// Signed byte.
    Char,
    /// 16-bit integer.
    Short,
    /// 64-bit integer.
    Long,
    /// 64-bit real.
    Double,
}

/// `data_format` of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// How numbers are written.
    pub form: Form,
    /// What they are.
    pub kind: Kind,
}

/// A complex number: real part, imaginary part.
pub type Complex = [f32; 2];
