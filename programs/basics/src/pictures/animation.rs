//! Animations, as animated PNG or as GIF with one palette for all pictures.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};

use super::delivery::Kind;
use super::pixels::Pixels;

/// The largest number of colours of a GIF.
const PALETTE: usize = 256;

/// Pictures of the same size, and the seconds for which each is shown. The animation repeats forever.
#[derive(Debug)]
pub struct Animation {
    frames: Vec<Pixels>,
    delay: f64,
}

/// The part of a picture that differs from the previous picture: left, top, width, height.
type Part = (u32, u32, u32, u32);

impl Animation {
    /// An animation of `frames`.
    ///
    /// # Errors
    /// Returns an error if there are no pictures, or their sizes differ.
    pub fn new(frames: Vec<Pixels>, delay: f64) -> Result<Self> {
        ensure!(!frames.is_empty(), "a movie needs at least one picture");
        let size = frames[0].size;
        for (number, frame) in frames.iter().enumerate() {
            ensure!(
                frame.size == size,
                "picture {} of the movie has {} x {} pixels, but the first has {} x {}: give all pictures \
                the same size with width= and height=",
                number + 1,
                frame.size.0,
                frame.size.1,
                size.0,
                size.1
            );
        }
        Ok(Self { frames, delay })
    }

    /// Encodes the file, as GIF or, for every other kind, as animated PNG.
    pub fn encode(&self, kind: Kind) -> Result<Vec<u8>> {
        match kind {
            Kind::Gif => self.gif().context("the GIF could not be encoded"),
            _ => self.png().context("the animated PNG could not be encoded"),
        }
    }

    fn png(&self) -> Result<Vec<u8>> {
        let (width, height) = self.frames[0].size;
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_animated(self.frames.len() as u32, 0)?;
        encoder.set_frame_delay((1000.0 * self.delay).round().clamp(1.0, 65535.0) as u16, 1000)?;
        let mut writer = encoder.write_header()?;
        for number in 0..self.frames.len() {
            let (left, top, width, height) = self.part(number);
            if number > 0 {
                // The new size may not fit at the old position, so the position is reset to the corner first.
                writer.reset_frame_position()?;
                writer.set_frame_dimension(width, height)?;
                writer.set_frame_position(left, top)?;
            }
            writer.write_image_data(&self.rgb(number).concat())?;
        }
        writer.finish()?;
        Ok(bytes)
    }

    fn gif(&self) -> Result<Vec<u8>> {
        let (width, height) = self.frames[0].size;
        let size = |length: u32| {
            u16::try_from(length)
                .context("a GIF has at most 65535 pixels on a side; write a PNG, or a smaller picture")
        };
        let palette = self.palette();
        let mut known: HashMap<[u8; 3], u8> = HashMap::new();
        let mut bytes = Vec::new();
        let mut encoder = gif::Encoder::new(&mut bytes, size(width)?, size(height)?, palette.as_flattened())?;
        encoder.set_repeat(gif::Repeat::Infinite)?;
        for number in 0..self.frames.len() {
            let (left, top, width, height) = self.part(number);
            let indices: Vec<u8> = self
                .rgb(number)
                .into_iter()
                .map(|colour| *known.entry(colour).or_insert_with(|| nearest(&palette, colour)))
                .collect();
            encoder.write_frame(&gif::Frame {
                delay: (100.0 * self.delay).round().clamp(1.0, 65535.0) as u16,
                left: left as u16,
                top: top as u16,
                width: width as u16,
                height: height as u16,
                buffer: indices.into(),
                ..gif::Frame::default()
            })?;
        }
        drop(encoder);
        Ok(bytes)
    }

    /// The rectangle of picture `number` that differs from the picture before it; for the first picture, the whole
    /// picture.
    fn part(&self, number: usize) -> Part {
        let (width, height) = self.frames[number].size;
        if number == 0 {
            return (0, 0, width, height);
        }
        let (before, here) = (&self.frames[number - 1].rgba, &self.frames[number].rgba);
        let line = 4 * width as usize;
        let rows = before.chunks(line).zip(here.chunks(line)).enumerate();
        let (mut left, mut right, mut top, mut bottom) = (width, 0, height, 0);
        for (row, (before, here)) in rows.filter(|(_, (before, here))| before != here) {
            let differs = |x: &usize| before[4 * x..4 * x + 4] != here[4 * x..4 * x + 4];
            let first = (0..width as usize).find(differs).unwrap_or(0) as u32;
            let last = (0..width as usize).rev().find(differs).unwrap_or(0) as u32;
            (left, right) = (left.min(first), right.max(last + 1));
            (top, bottom) = (top.min(row as u32), bottom.max(row as u32 + 1));
        }
        if top < bottom {
            (left, top, right - left, bottom - top)
        } else {
            // Nothing changed, but a frame must not be empty.
            (0, 0, 1, 1)
        }
    }

    /// The colours of the changed part of picture `number`.
    fn rgb(&self, number: usize) -> Vec<[u8; 3]> {
        let (left, top, width, height) = self.part(number);
        let frame = &self.frames[number];
        let line = 4 * frame.size.0 as usize;
        let rows = frame.rgba.chunks(line).skip(top as usize).take(height as usize);
        let pixels = rows.flat_map(|row| row[4 * left as usize..4 * (left + width) as usize].chunks(4));
        pixels.map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
    }

    /// The most frequent colours; similar colours are represented by the most frequent among them.
    fn palette(&self) -> Vec<[u8; 3]> {
        let mut counts: HashMap<[u8; 3], u64> = HashMap::new();
        for number in 0..self.frames.len() {
            for colour in self.rgb(number) {
                *counts.entry(colour).or_default() += 1;
            }
        }
        let mut all: Vec<([u8; 3], u64)> = counts.into_iter().collect();
        all.sort_by_key(|(colour, count)| (std::cmp::Reverse(*count), *colour));
        for bits in [0, 2, 3, 4] {
            let mut seen = std::collections::HashSet::new();
            let distinct: Vec<[u8; 3]> = all
                .iter()
                .map(|(colour, _)| *colour)
                .filter(|colour| seen.insert(colour.map(|part| part >> bits)))
                .collect();
            if distinct.len() <= PALETTE || bits == 4 {
                return distinct.into_iter().take(PALETTE).collect();
            }
        }
        Vec::new()
    }
}

fn nearest(palette: &[[u8; 3]], colour: [u8; 3]) -> u8 {
    let distance = |other: &[u8; 3]| {
        let parts = other
            .iter()
            .zip(colour)
            .map(|(a, b)| i32::from(*a) - i32::from(b));
        parts.map(|part| part * part).sum::<i32>()
    };
    (0..palette.len())
        .min_by_key(|&index| distance(&palette[index]))
        .unwrap_or(0) as u8
}
