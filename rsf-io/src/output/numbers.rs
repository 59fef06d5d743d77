//! Writes numbers in the forms that need a conversion.

use std::io::Write;

use super::PIECE;
use crate::ascii;
use crate::data::Element;

/// Writes elements as big-endian numbers.
pub(super) fn write_xdr<T: Element>(sink: &mut impl Write, data: &[T]) -> std::io::Result<()> {
    let mut turned: Vec<T> = Vec::with_capacity(data.len().min(PIECE / size_of::<T>()));
    for piece in data.chunks(PIECE / size_of::<T>()) {
        turned.clear();
        turned.extend_from_slice(piece);
        T::swap(&mut turned);
        sink.write_all(bytemuck::cast_slice(&turned))?;
    }
    Ok(())
}

/// Writes numbers as text; `written` numbers precede them in the dataset.
pub(super) fn write_ascii<T: Element>(
    sink: &mut impl Write,
    data: &[T],
    written: u64,
) -> std::io::Result<()> {
    let mut text = Vec::new();
    for (i, piece) in data.chunks(1 << 14).enumerate() {
        text.clear();
        ascii::print(piece, written + (i << 14) as u64, &mut text);
        sink.write_all(&text)?;
    }
    Ok(())
}
