//! Pictures as pixels, and their encoding as PNG.

use anyhow::{Context, Result, ensure};

use super::drawing::{Rect, Rgb, frame_text};
use rsf_io::memory;

/// A picture as pixels.
#[derive(Clone, Debug)]
pub struct Pixels {
    /// Width and height.
    pub size: (u32, u32),
    /// Red, green, blue and opacity of every pixel, row after row.
    pub rgba: Vec<u8>,
    /// The box of the axes, in pixels.
    pub frame: Rect,
}

impl Pixels {
    /// Encodes the picture as PNG, without an alpha channel if all pixels are opaque. The text chunk `frame` contains
    /// the box of the axes.
    pub fn png(&self) -> Result<Vec<u8>> {
        let (width, height) = self.size;
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.add_text_chunk("frame".into(), frame_text(self.frame))?;
        let opaque = self.rgba.chunks_exact(4).all(|pixel| pixel[3] == 255);
        encoder.set_color(if opaque {
            png::ColorType::Rgb
        } else {
            png::ColorType::Rgba
        });
        let mut writer = encoder.write_header()?;
        if opaque {
            writer.write_image_data(&self.rgb())?;
        } else {
            writer.write_image_data(&self.rgba)?;
        }
        writer.finish()?;
        Ok(bytes)
    }

    /// The pixels without their opacity.
    pub fn rgb(&self) -> Vec<u8> {
        self.rgba
            .chunks_exact(4)
            .flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])
            .collect()
    }
}

/// Checks that there is enough memory to draw and write `count` pictures of `pixels` pixels.
///
/// # Errors
/// Returns an error if there is not enough memory.
pub fn room_for(pixels: f64, count: usize) -> Result<()> {
    // Each picture needs four bytes per pixel, and the picture that is being written needs seven more, for its colours
    // and the bytes of the file.
    let needed = pixels * (4 * count + 7) as f64;
    let free = memory::free().unwrap_or(f64::INFINITY);
    ensure!(
        needed <= free,
        "drawing {count} pictures of {:.0} million pixels needs {:.2} GB of memory, but {:.2} GB are free: make them smaller with \
        res=, width= or height=, or write one picture as SVG or PDF",
        pixels / 1e6,
        needed / 1e9,
        free / 1e9
    );
    Ok(())
}

/// A colour and its opacity, from 0 (transparent) to 255 (opaque).
pub type Rgba = [u8; 4];

/// Encodes colours, given row after row of `width` columns, as PNG, without opacity if all are opaque.
pub fn raster_png(width: usize, colours: &[Rgba]) -> Result<Vec<u8>> {
    let height = colours.len() / width.max(1);
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    let opaque = colours.iter().all(|colour| colour[3] == 255);
    encoder.set_color(if opaque {
        png::ColorType::Rgb
    } else {
        png::ColorType::Rgba
    });
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder
        .write_header()
        .context("the raster could not be encoded")?;
    let written = if opaque {
        let rgb: Vec<Rgb> = colours.iter().map(|[r, g, b, _]| [*r, *g, *b]).collect();
        writer.write_image_data(rgb.as_flattened())
    } else {
        writer.write_image_data(colours.as_flattened())
    };
    written.context("the raster could not be encoded")?;
    writer.finish().context("the raster could not be encoded")?;
    Ok(bytes)
}
