//! A picture as PDF: the paths, texts and images of its SVG on one page of the size of the picture.
//!
//! This module does not use a crate that converts SVG to PDF: these crates depend on older versions of the
//! SVG parser than the renderer, which would add a second parser, and our drawings use only a few elements.
//! Letters are written as outlines.

use std::io::Write;

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{LineCapStyle, LineJoinStyle};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref};
use resvg::tiny_skia::{PathSegment, Transform};
use resvg::usvg::{
    ClipPath, Fill, FillRule, Group, Image, ImageKind, LineCap, LineJoin, Node, Paint, Path, Stroke, Tree,
};

/// The number of PDF points (1/72 inch) in a unit of a drawing (1/96 inch).
const POINTS: f32 = 0.75;
const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);

/// A page that is being written.
struct Page {
    pdf: Pdf,
    content: Content,
    next: Ref,
    images: Vec<Ref>,
    /// The opacities of fill and stroke used so far, in hundredths.
    opacities: Vec<(u8, u8)>,
}

/// Converts the drawing `tree` to the bytes of a PDF file.
///
/// # Errors
/// Returns an error if the drawing has masks, filters, gradients or images that are not supported.
pub fn of_tree(tree: &Tree) -> Result<Vec<u8>> {
    let (width, height) = (tree.size().width() * POINTS, tree.size().height() * POINTS);
    let mut page = Page {
        pdf: Pdf::new(),
        content: Content::new(),
        next: Ref::new(5),
        images: Vec::new(),
        opacities: Vec::new(),
    };
    // PDF coordinates increase upwards.
    let whole = Transform::from_row(POINTS, 0.0, 0.0, -POINTS, 0.0, height);
    page.group(tree.root(), whole)?;
    page.finish(width, height)
}

impl Page {
    fn group(&mut self, group: &Group, outer: Transform) -> Result<()> {
        ensure!(
            group.mask().is_none() && group.filters().is_empty(),
            "a picture with masks or filters cannot be written as PDF; write PNG or SVG (format=)"
        );
        let inner = outer.pre_concat(group.transform());
        self.content.save_state();
        if let Some(clip) = group.clip_path() {
            self.clip(clip, inner);
        }
        for node in group.children() {
            match node {
                Node::Group(group) => self.group(group, inner)?,
                Node::Path(path) if path.is_visible() => self.path(path, inner)?,
                Node::Image(image) if image.is_visible() => self.image(image, inner)?,
                Node::Text(text) => self.group(text.flattened(), inner)?,
                Node::Path(_) | Node::Image(_) => {}
            }
        }
        self.content.restore_state();
        Ok(())
    }

    /// Clips to a path until the state is restored.
    fn clip(&mut self, clip: &ClipPath, outer: Transform) {
        if let Some(wider) = clip.clip_path() {
            self.clip(wider, outer);
        }
        let inner = outer.pre_concat(clip.transform());
        for node in clip.root().children() {
            if let Node::Path(path) = node {
                self.trace(path, inner);
            }
        }
        self.content.clip_nonzero().end_path();
    }

    /// Writes the segments of a path, in points of the page.
    fn trace(&mut self, path: &Path, place: Transform) {
        let Some(path) = path.data().clone().transform(place) else {
            return;
        };
        let mut last = (0.0, 0.0);
        for segment in path.segments() {
            match segment {
                PathSegment::MoveTo(p) => _ = self.content.move_to(p.x, p.y),
                PathSegment::LineTo(p) => _ = self.content.line_to(p.x, p.y),
                PathSegment::CubicTo(a, b, p) => _ = self.content.cubic_to(a.x, a.y, b.x, b.y, p.x, p.y),
                PathSegment::QuadTo(q, p) => {
                    // The quadratic curve is written as an equivalent cubic curve.
                    let between = |from: f32, to: f32| from + (to - from) * 2.0 / 3.0;
                    let (a, b) = (
                        (between(last.0, q.x), between(last.1, q.y)),
                        (between(p.x, q.x), between(p.y, q.y)),
                    );
                    self.content.cubic_to(a.0, a.1, b.0, b.1, p.x, p.y);
                }
                PathSegment::Close => _ = self.content.close_path(),
            }
            if let PathSegment::MoveTo(p)
            | PathSegment::LineTo(p)
            | PathSegment::QuadTo(_, p)
            | PathSegment::CubicTo(_, _, p) = segment
            {
                last = (p.x, p.y);
            }
        }
    }

    fn path(&mut self, path: &Path, place: Transform) -> Result<()> {
        let (fill, stroke) = (path.fill(), path.stroke());
        self.content.save_state();
        self.opacity(fill, stroke);
        if let Some(fill) = fill {
            let [r, g, b] = colour(fill.paint())?;
            self.content.set_fill_rgb(r, g, b);
        }
        if let Some(stroke) = stroke {
            self.line(stroke, place)?;
        }
        self.trace(path, place);
        let even_odd = fill.is_some_and(|fill| fill.rule() == FillRule::EvenOdd);
        match (fill.is_some(), stroke.is_some(), even_odd) {
            (true, true, false) => self.content.fill_nonzero_and_stroke(),
            (true, true, true) => self.content.fill_even_odd_and_stroke(),
            (true, false, false) => self.content.fill_nonzero(),
            (true, false, true) => self.content.fill_even_odd(),
            (false, true, _) => self.content.stroke(),
            (false, false, _) => self.content.end_path(),
        };
        self.content.restore_state();
        Ok(())
    }

    /// Sets the appearance of lines. The scale is taken to be the same in all directions, as in our drawings.
    fn line(&mut self, stroke: &Stroke, place: Transform) -> Result<()> {
        let scale = (place.sx * place.sy - place.kx * place.ky).abs().sqrt();
        let [r, g, b] = colour(stroke.paint())?;
        let content = &mut self.content;
        content
            .set_stroke_rgb(r, g, b)
            .set_line_width(stroke.width().get() * scale);
        content.set_line_cap(match stroke.linecap() {
            LineCap::Butt => LineCapStyle::ButtCap,
            LineCap::Round => LineCapStyle::RoundCap,
            LineCap::Square => LineCapStyle::ProjectingSquareCap,
        });
        content.set_line_join(match stroke.linejoin() {
            LineJoin::Round => LineJoinStyle::RoundJoin,
            LineJoin::Bevel => LineJoinStyle::BevelJoin,
            LineJoin::Miter | LineJoin::MiterClip => LineJoinStyle::MiterJoin,
        });
        content.set_miter_limit(stroke.miterlimit().get());
        if let Some(dashes) = stroke.dasharray() {
            content.set_dash_pattern(
                dashes.iter().map(|dash| dash * scale),
                stroke.dashoffset() * scale,
            );
        }
        Ok(())
    }

    fn opacity(&mut self, fill: Option<&Fill>, stroke: Option<&Stroke>) {
        let hundredths = |part: f32| (100.0 * part).round() as u8;
        let pair = (
            fill.map_or(100, |fill| hundredths(fill.opacity().get())),
            stroke.map_or(100, |stroke| hundredths(stroke.opacity().get())),
        );
        if pair == (100, 100) {
            return;
        }
        let known = self.opacities.iter().position(|known| *known == pair);
        let number = known.unwrap_or_else(|| {
            self.opacities.push(pair);
            self.opacities.len() - 1
        });
        self.content.set_parameters(Name(format!("O{number}").as_bytes()));
    }

    fn image(&mut self, image: &Image, place: Transform) -> Result<()> {
        let png = match image.kind() {
            ImageKind::SVG(tree) => return self.group(tree.root(), place),
            ImageKind::PNG(bytes) => bytes,
            _ => anyhow::bail!(
                "an image inside the picture is neither PNG nor SVG and cannot be written as PDF; write PNG or SVG (format=)"
            ),
        };
        let number = self.images.len();
        let image_ref = self.raster(png)?;
        self.images.push(image_ref);
        // In PDF an image fills the unit square, with its first row at the top.
        let (width, height) = (image.size().width(), image.size().height());
        let t = place.pre_concat(Transform::from_row(width, 0.0, 0.0, -height, 0.0, height));
        self.content
            .save_state()
            .transform([t.sx, t.ky, t.kx, t.sy, t.tx, t.ty])
            .x_object(Name(format!("I{number}").as_bytes()))
            .restore_state();
        Ok(())
    }

    /// Writes a PNG as an image object of the file.
    fn raster(&mut self, bytes: &[u8]) -> Result<Ref> {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder
            .read_info()
            .context("an image of the picture cannot be read")?;
        let size = reader
            .output_buffer_size()
            .context("an image of the picture is too large")?;
        let mut pixels = vec![0; size];
        let info = reader
            .next_frame(&mut pixels)
            .context("an image of the picture cannot be read")?;
        let channels = info.color_type.samples();
        let (grey, opaque) = (channels < 3, channels % 2 == 1);
        let colours = channels - usize::from(!opaque);
        let part = |range: std::ops::Range<usize>| -> Vec<u8> {
            pixels
                .chunks_exact(channels)
                .flat_map(|pixel| pixel[range.clone()].to_vec())
                .collect()
        };
        let (colour_bytes, image_ref) = (deflated(&part(0..colours))?, self.next.bump());
        let mask = (!opaque).then(|| self.next.bump());
        let (width, height) = (info.width as i32, info.height as i32);
        let mut object = self.pdf.image_xobject(image_ref, &colour_bytes);
        object
            .width(width)
            .height(height)
            .bits_per_component(8)
            .filter(Filter::FlateDecode);
        match grey {
            true => object.color_space().device_gray(),
            false => object.color_space().device_rgb(),
        }
        if let Some(mask) = mask {
            object.s_mask(mask);
        }
        object.finish();
        if let Some(mask) = mask {
            let bytes = deflated(&part(colours..channels))?;
            let mut object = self.pdf.image_xobject(mask, &bytes);
            object
                .width(width)
                .height(height)
                .bits_per_component(8)
                .filter(Filter::FlateDecode);
            object.color_space().device_gray();
        }
        Ok(image_ref)
    }

    fn finish(mut self, width: f32, height: f32) -> Result<Vec<u8>> {
        let content = deflated(&self.content.finish())?;
        self.pdf.stream(CONTENT, &content).filter(Filter::FlateDecode);
        self.pdf.catalog(CATALOG).pages(PAGES);
        self.pdf.pages(PAGES).kids([PAGE]).count(1);
        let mut page = self.pdf.page(PAGE);
        page.media_box(Rect::new(0.0, 0.0, width, height));
        page.parent(PAGES).contents(CONTENT);
        let mut resources = page.resources();
        let mut objects = resources.x_objects();
        for (number, image) in self.images.iter().enumerate() {
            objects.pair(Name(format!("I{number}").as_bytes()), *image);
        }
        objects.finish();
        let mut states = resources.ext_g_states();
        for (number, (fill, stroke)) in self.opacities.iter().enumerate() {
            let mut state = states
                .insert(Name(format!("O{number}").as_bytes()))
                .start::<pdf_writer::writers::ExtGraphicsState>();
            state.non_stroking_alpha(f32::from(*fill) / 100.0);
            state.stroking_alpha(f32::from(*stroke) / 100.0);
        }
        states.finish();
        resources.finish();
        page.finish();
        Ok(self.pdf.finish())
    }
}

fn deflated(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

fn colour(paint: &Paint) -> Result<[f32; 3]> {
    match paint {
        Paint::Color(colour) => {
            Ok([colour.red, colour.green, colour.blue].map(|part| f32::from(part) / 255.0))
        }
        _ => anyhow::bail!(
            "a picture with colour gradients or patterns cannot be written as PDF; write PNG or SVG (format=)"
        ),
    }
}
