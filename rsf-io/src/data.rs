//! The forms and types of the numbers of a dataset, and the conversions between them.

use std::fmt;

use byteorder::{BigEndian, ByteOrder};

use crate::number::{format_g, leading_f32, leading_f64, leading_int};

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Byte order of this machine.
    Native,
    /// Big endian.
    Xdr,
    /// Decimal numbers as text.
    Ascii,
}

/// Type of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 32-bit real.
    Float,
    /// 32-bit integer.
    Int,
    /// Two 32-bit reals: real part, imaginary part.
    Complex,
    /// Unsigned byte.
    Uchar,
    /// One byte, read as a character.
    Char,
    /// 16-bit integer.
    Short,
    /// 64-bit integer.
    Long,
    /// 64-bit real.
    Double,
}

impl Kind {
    /// The size in bytes of one element in native or xdr form.
    pub fn size(self) -> usize {
        match self {
            Self::Uchar | Self::Char => 1,
            Self::Short => 2,
            Self::Float | Self::Int => 4,
            Self::Complex | Self::Long | Self::Double => 8,
        }
    }

    /// The word used in `data_format`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Float => "float",
            Self::Int => "int",
            Self::Complex => "complex",
            Self::Uchar => "uchar",
            Self::Char => "char",
            Self::Short => "short",
            Self::Long => "long",
            Self::Double => "double",
        }
    }

    /// For messages: the program that converts data of this type to the `other` one.
    pub fn to(self, other: Self) -> String {
        match (self, other) {
            (Self::Complex, _) => "sfreal and sfimag take their parts".to_string(),
            (Self::Float, Self::Complex) => "sfrtoc converts".to_string(),
            (_, Self::Complex) => "sfdd type=float, then sfrtoc converts".to_string(),
            _ => format!("sfdd type={} converts", other.word()),
        }
    }
}

impl Form {
    /// The word used in `data_format`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Xdr => "xdr",
            Self::Ascii => "ascii",
        }
    }
}

/// `data_format` of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// How numbers are written.
    pub form: Form,
    /// Type of one element.
    pub kind: Kind,
}

impl Format {
    /// Native reals, the default of a program that reads nothing.
    pub const NATIVE_FLOAT: Self = Self {
        form: Form::Native,
        kind: Kind::Float,
    };

    /// Reads the text of `data_format`. The form is native unless the text starts with `ascii_` or `xdr_`. The type is
    /// the first of float, int, complex, uchar or byte, short, long and double that the text contains, otherwise char.
    pub fn from_text(text: &str) -> Self {
        let form = match text {
            _ if text.starts_with("ascii_") => Form::Ascii,
            _ if text.starts_with("xdr_") => Form::Xdr,
            _ => Form::Native,
        };
        let words = [
            ("float", Kind::Float),
            ("int", Kind::Int),
            ("complex", Kind::Complex),
            ("uchar", Kind::Uchar),
            ("byte", Kind::Uchar),
            ("short", Kind::Short),
            ("long", Kind::Long),
            ("double", Kind::Double),
        ];
        let kind = words
            .iter()
            .find(|(word, _)| text.contains(word))
            .map_or(Kind::Char, |(_, kind)| *kind);
        Self { form, kind }
    }

    /// `esize` as written in a header: the size of an element in bytes, 0 for text.
    pub fn esize(self) -> usize {
        if self.form == Form::Ascii {
            0
        } else {
            self.kind.size()
        }
    }

    /// True if all elements have the same size in the file, so that the position of each follows from its
    /// index.
    pub fn is_binary(self) -> bool {
        self.form != Form::Ascii || matches!(self.kind, Kind::Uchar | Kind::Char)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.form.word(), self.kind.word())
    }
}

/// A complex number: real part, imaginary part.
pub type Complex = [f32; 2];

/// A type of numbers that a dataset can hold.
pub trait Element: bytemuck::Pod + sealed::Sealed {
    /// Its type in headers.
    const KIND: Kind;
    /// True when data of that type can be read into it.
    fn accepts(kind: Kind) -> bool {
        kind == Self::KIND
    }
    /// Swaps, in place, between big endian and this machine's byte order.
    fn swap(data: &mut [Self]);
    /// Reads the number at the beginning of `text`; returns it and the number of bytes read, 0 if there is no number.
    fn scan(text: &[u8]) -> (Self, usize);
    /// Appends the number as text, with six digits.
    fn print(self, text: &mut Vec<u8>);
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for i32 {}
    impl Sealed for super::Complex {}
    impl Sealed for u8 {}
    impl Sealed for i16 {}
    impl Sealed for i64 {}
    impl Sealed for f64 {}
}

impl Element for f32 {
    const KIND: Kind = Kind::Float;
    fn swap(data: &mut [Self]) {
        BigEndian::from_slice_f32(data);
    }
    fn scan(text: &[u8]) -> (Self, usize) {
        leading_f32(text)
    }
    fn print(self, text: &mut Vec<u8>) {
        text.extend_from_slice(format_g(f64::from(self), 6).as_bytes());
    }
}

impl Element for f64 {
    const KIND: Kind = Kind::Double;
    fn swap(data: &mut [Self]) {
        BigEndian::from_slice_f64(data);
    }
    fn scan(text: &[u8]) -> (Self, usize) {
        leading_f64(text)
    }
    fn print(self, text: &mut Vec<u8>) {
        text.extend_from_slice(format_g(self, 6).as_bytes());
    }
}

impl Element for Complex {
    const KIND: Kind = Kind::Complex;
    fn swap(data: &mut [Self]) {
        BigEndian::from_slice_f32(bytemuck::cast_slice_mut(data));
    }
    /// Reads a complex number such as `1.5 -2i`: blanks may precede either part, but not the `i`.
    fn scan(text: &[u8]) -> (Self, usize) {
        let (re, first) = leading_f32(text);
        let (im, second) = leading_f32(&text[first..]);
        let end = first + second;
        if first == 0 || second == 0 || text.get(end) != Some(&b'i') {
            return ([0.0; 2], 0);
        }
        ([re, im], end + 1)
    }
    fn print(self, text: &mut Vec<u8>) {
        self[0].print(text);
        text.push(b' ');
        self[1].print(text);
        text.push(b'i');
    }
}

/// Implements [`Element`] for a type of integers.
macro_rules! integer {
    ($type:ty, $kind:expr, $swap:path) => {
        impl Element for $type {
            const KIND: Kind = $kind;
            fn swap(data: &mut [Self]) {
                $swap(data);
            }
            fn scan(text: &[u8]) -> (Self, usize) {
                match leading_int(text) {
                    (Some(value), used) => match Self::try_from(value) {
                        Ok(value) => (value, used),
                        Err(_) => (0, 0),
                    },
                    (None, _) => (0, 0),
                }
            }
            fn print(self, text: &mut Vec<u8>) {
                text.extend_from_slice(self.to_string().as_bytes());
            }
        }
    };
}

integer!(i32, Kind::Int, BigEndian::from_slice_i32);
integer!(i16, Kind::Short, BigEndian::from_slice_i16);
integer!(i64, Kind::Long, BigEndian::from_slice_i64);

impl Element for u8 {
    const KIND: Kind = Kind::Uchar;
    fn accepts(kind: Kind) -> bool {
        matches!(kind, Kind::Uchar | Kind::Char)
    }
    fn swap(_: &mut [Self]) {}
    /// Bytes are the same in every form, text included.
    fn scan(text: &[u8]) -> (Self, usize) {
        text.first().map_or((0, 0), |byte| (*byte, 1))
    }
    fn print(self, text: &mut Vec<u8>) {
        text.push(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats() {
        for (text, form, kind) in [
            ("native_float", Form::Native, Kind::Float),
            ("float", Form::Native, Kind::Float),
            ("xdr_int", Form::Xdr, Kind::Int),
            ("ascii_complex", Form::Ascii, Kind::Complex),
            ("ascii", Form::Native, Kind::Char),
            ("native_byte", Form::Native, Kind::Uchar),
            ("native_char", Form::Native, Kind::Char),
            ("XDR_FLOAT", Form::Native, Kind::Char),
        ] {
            assert_eq!(Format::from_text(text), Format { form, kind }, "{text}");
        }
        assert_eq!(Format::from_text("xdr_short").to_string(), "xdr_short");
    }

    #[test]
    fn complex_text() {
        assert_eq!(Complex::scan(b"1 2i "), ([1.0, 2.0], 4));
        assert_eq!(Complex::scan(b"3 -4i"), ([3.0, -4.0], 5));
        assert_eq!(Complex::scan(b"3 -4 i").1, 0);
        let mut text = Vec::new();
        [-0.5f32, 1e-7].print(&mut text);
        assert_eq!(text, b"-0.5 1e-07i");
    }

    #[test]
    fn integers_out_of_range_are_no_numbers() {
        assert_eq!(i16::scan(b"40000").1, 0);
        assert_eq!(i32::scan(b"-7x"), (-7, 2));
    }

    #[test]
    fn numbers_in_other_orders_and_as_text() {
        let mut doubles = [1.0f64, -2.5];
        f64::swap(&mut doubles);
        assert_eq!(
            doubles.map(f64::to_ne_bytes),
            [1.0f64, -2.5].map(f64::to_be_bytes)
        );
        let mut bytes = [7u8, 9];
        u8::swap(&mut bytes);
        assert_eq!(bytes, [7, 9]);
        fn text<T: Element>(value: T) -> String {
            let mut text = Vec::new();
            value.print(&mut text);
            String::from_utf8(text).unwrap()
        }
        assert_eq!(text(0.1f64), "0.1");
        assert_eq!(text(1.0f64 / 3.0), "0.333333");
        assert_eq!(text([1.5f32, -2.0]), "1.5 -2i");
        assert_eq!(
            (text(b'A'), text(-7i16), text(1i64 << 40)),
            ("A".into(), "-7".into(), "1099511627776".into())
        );
        assert_eq!(u8::scan(b"Ab"), (b'A', 1));
        assert_eq!(u8::scan(b""), (0, 0));
        assert_eq!(<[f32; 2]>::scan(b" 1 2i "), ([1.0, 2.0], 5));
        assert_eq!(<[f32; 2]>::scan(b"1 2"), ([0.0; 2], 0));
        assert_eq!(i16::scan(b"32768"), (0, 0));
    }
}
