//! `sfbasics pictures`: pictures next to, below or on top of each other, or as a movie.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use resvg::usvg;
use rsf_io::{Job, Param, Program};

use super::animation::Animation;
use super::colours::BLACK;
use super::delivery::{Delivery, Kind, PICTURES};
use super::drawing::{Anchor, Drawing, Rect, Svg, Text, frame_from_text};
use super::standard;
use super::words::{real, word};

/// Size of the letters of `letters=y`, and their position in a picture.
const LETTER: f64 = 20.0;
const LETTER_AT: (f64, f64) = (10.0, 24.0);

/// Parameters and documentation of `sfpictures`.
pub static SPEC: Program = Program {
    name: "sfpictures",
    about: "Put pictures next to, below or over each other, or make a movie of them.",
    usage: "mode=side a.svg b.svg > both.png",
    comments: "The files are SVG or PNG, and the result is SVG, PNG or PDF. The other programs record the box of the \
axes in their pictures: side by side, the boxes are aligned, and in an overlay they coincide, even if the pictures \
have different margins. The white background of an SVG that lies over another picture is left out; a PNG \
must have been drawn with transparent=y instead.",
    example: "sfbasics pictures mode=overlay section.svg receivers.svg source.svg > section.png",
    params: &PARAMS,
};

static PARAMS: [Param; 12] = [
    Param::words("files").doc("pictures, in the order in which they are placed"),
    Param::choice("mode", &["side", "over", "overlay", "movie"])
        .default("side")
        .known_as(&["vertical", "stack"])
        .doc(
            "side: in a row; over: in a column; overlay: each on top of the previous ones; movie: one after \
            another",
        ),
    Param::int("columns")
        .default_text("all")
        .range("1 or more", Some(1.0), None)
        .doc(
            "with mode=side: number of \
            pictures in a row",
        ),
    real("gap", "0", "space between the pictures, in units of the layout").range(
        "0 to 1000",
        Some(0.0),
        Some(1000.0),
    ),
    Param::bool("letters")
        .default("n")
        .doc("write (a), (b), ... in the upper left corners"),
    real(
        "delay",
        "0.5",
        "mode=movie: time for which a picture is shown, in seconds",
    )
    .range("0.01 to 60", Some(0.01), Some(60.0)),
    Param::bool("transparent")
        .default("n")
        .doc("leave the background transparent"),
    Param::int("bgcolor").default("0").doc(
        "background colour: 0 white, 1 blue, 2 red, 3 purple, 4 green, 5 sky, 6 \
        orange, 7 black",
    ),
    real(
        "res",
        "1",
        "resolution of a PNG, in pixels for every unit of the layout",
    )
    .range("0.1 to 20", Some(0.1), Some(20.0)),
    word(
        "format",
        "from the file's name",
        "png, svg or pdf (mode=movie: png or gif)",
    ),
    word(
        "out",
        "standard output",
        "file for the picture; its extension determines the format",
    ),
    Param::bool("verb")
        .default("n")
        .doc("y: print size and box of every picture"),
];

/// A picture that was read from a file.
struct Piece {
    name: String,
    bytes: Vec<u8>,
    is_svg: bool,
    is_opaque: bool,
    size: (f64, f64),
    frame: Option<Rect>,
}

/// A picture and its place.
type Placed<'a> = (&'a Piece, Rect);

/// Runs `sfpictures`.
pub fn run(job: &mut Job) -> Result<()> {
    let mode = job.choice("mode")?;
    let kinds: &[Kind] = if mode == "movie" {
        &[Kind::Png, Kind::Gif]
    } else {
        &PICTURES
    };
    ensure!(
        !job.words().is_empty(),
        "no pictures are given; name their files, as in mode={mode} a.svg b.svg"
    );
    let pieces: Vec<Piece> = job
        .words()
        .iter()
        .map(|word| Piece::read(word.as_ref()))
        .collect::<Result<_>>()?;
    let delivery = Delivery::of(job, kinds)?;
    if job.flag("verb")? {
        for piece in &pieces {
            job.say(&format!(
                "{}: {} x {}, box {:?}",
                piece.name, piece.size.0, piece.size.1, piece.frame
            ));
        }
    }
    let gap = job.double_opt("gap")?.unwrap_or(0.0);
    let placed = match mode {
        "movie" => return movie(job, &pieces, &delivery),
        "overlay" => overlay(job, &pieces),
        "over" => table(&pieces, 1, gap),
        _ => table(
            &pieces,
            job.int_opt("columns")?
                .map_or(pieces.len(), |columns| columns as usize),
            gap,
        ),
    };
    delivery.picture(&composed(job, &placed, mode == "overlay")?)
}

impl Piece {
    fn read(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
        let known = if bytes.starts_with(b"\x89PNG") {
            Self::png(name.clone(), bytes)
        } else {
            Self::svg(name.clone(), bytes)
        };
        known.with_context(|| format!("{name} is not a picture that can be used here; it must be SVG or PNG"))
    }

    fn png(name: String, bytes: Vec<u8>) -> Result<Self> {
        let info = png::Decoder::new(std::io::Cursor::new(&bytes))
            .read_info()?
            .info()
            .clone();
        let text = info
            .uncompressed_latin1_text
            .iter()
            .find(|chunk| chunk.keyword == "frame");
        let clear = matches!(
            info.color_type,
            png::ColorType::Rgba | png::ColorType::GrayscaleAlpha
        );
        Ok(Self {
            name,
            is_svg: false,
            is_opaque: !clear && info.trns.is_none(),
            size: (f64::from(info.width), f64::from(info.height)),
            frame: text.and_then(|chunk| frame_from_text(&chunk.text)),
            bytes,
        })
    }

    fn svg(name: String, bytes: Vec<u8>) -> Result<Self> {
        let text = String::from_utf8(bytes)?;
        let tree = usvg::Tree::from_str(&text, &usvg::Options::default())?;
        let frame = text
            .split_once("data-frame=\"")
            .and_then(|(_, rest)| rest.split_once('"'));
        Ok(Self {
            name,
            is_svg: true,
            is_opaque: false,
            size: (f64::from(tree.size().width()), f64::from(tree.size().height())),
            frame: frame.and_then(|(frame, _)| frame_from_text(frame)),
            bytes: text.into_bytes(),
        })
    }

    /// The box of the axes, or the whole picture if it has none.
    fn anchor(&self) -> Rect {
        self.frame.unwrap_or(Rect {
            x: 0.0,
            y: 0.0,
            width: self.size.0,
            height: self.size.1,
        })
    }

    /// The SVG without its background.
    fn without_paper(&self) -> Vec<u8> {
        let text = String::from_utf8_lossy(&self.bytes);
        if let Some(begin) = text.find("<rect class=\"background\"")
            && let Some(length) = text[begin..].find("/>")
        {
            return [&text[..begin], &text[begin + length + 2..]]
                .concat()
                .into_bytes();
        }
        self.bytes.clone()
    }
}

/// Places every picture on top of the previous ones, with the boxes of their axes coinciding.
fn overlay<'a>(job: &Job, pieces: &'a [Piece]) -> Vec<Placed<'a>> {
    let target = pieces[0].anchor();
    let place = |piece: &'a Piece| {
        let anchor = piece.anchor();
        let (wide, high) = (target.width / anchor.width, target.height / anchor.height);
        let rect = Rect {
            x: target.x - anchor.x * wide,
            y: target.y - anchor.y * high,
            width: piece.size.0 * wide,
            height: piece.size.1 * high,
        };
        (piece, rect)
    };
    for piece in pieces[1..].iter().filter(|piece| piece.is_opaque) {
        job.warn(&format!(
            "{} hides the pictures below it: draw it as SVG, or with transparent=y",
            piece.name
        ));
    }
    pieces.iter().map(place).collect()
}

/// Places pictures in rows of `columns`, with the boxes of rows and columns aligned.
fn table(pieces: &[Piece], columns: usize, gap: f64) -> Vec<Placed<'_>> {
    let columns = columns.clamp(1, pieces.len());
    let rows: Vec<&[Piece]> = pieces.chunks(columns).collect();
    let left = |column: usize| {
        largest(
            rows.iter()
                .filter_map(|row| row.get(column))
                .map(|piece| piece.anchor().x),
        )
    };
    let top = |row: &[Piece]| largest(row.iter().map(|piece| piece.anchor().y));
    let mut placed = Vec::with_capacity(pieces.len());
    let mut y = 0.0;
    for row in &rows {
        let mut x = 0.0;
        for (column, piece) in row.iter().enumerate() {
            let anchor = piece.anchor();
            let rect = Rect {
                x: x + left(column) - anchor.x,
                y: y + top(row) - anchor.y,
                width: piece.size.0,
                height: piece.size.1,
            };
            placed.push((piece, rect));
            let members = rows.iter().filter_map(|row| row.get(column));
            x += gap + left(column) + largest(members.map(|piece| piece.size.0 - piece.anchor().x));
        }
        y += gap + top(row) + largest(row.iter().map(|piece| piece.size.1 - piece.anchor().y));
    }
    placed
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

/// Draws placed pictures on the smallest page that contains them; with `stacked` only the first picture keeps its
/// background.
fn composed(job: &Job, placed: &[Placed], stacked: bool) -> Result<Svg> {
    let rects = || placed.iter().map(|(_, rect)| rect);
    let x = rects().map(|rect| rect.x).fold(f64::INFINITY, f64::min);
    let y = rects().map(|rect| rect.y).fold(f64::INFINITY, f64::min);
    let page = Rect {
        x,
        y,
        width: largest(rects().map(|rect| rect.right() - x)),
        height: largest(rects().map(|rect| rect.y + rect.height - y)),
    };
    on_page(job, placed, stacked, page)
}

/// Draws placed pictures on a page.
fn on_page(job: &Job, placed: &[Placed], stacked: bool, page: Rect) -> Result<Svg> {
    let (left, top) = (page.x, page.y);
    let (first, at) = (placed[0].0.anchor(), placed[0].1);
    let frame = Rect {
        x: first.x + at.x - left,
        y: first.y + at.y - top,
        ..first
    };
    let mut drawing = Drawing::new((page.width, page.height), frame, standard::background(job)?);
    let letters = job.flag("letters")?;
    for (number, (piece, rect)) in placed.iter().enumerate() {
        let rect = Rect {
            x: rect.x - left,
            y: rect.y - top,
            ..*rect
        };
        let kind = if piece.is_svg { "svg+xml" } else { "png" };
        if piece.is_svg && stacked && number > 0 {
            drawing.image(kind, &piece.without_paper(), rect);
        } else {
            drawing.image(kind, &piece.bytes, rect);
        }
        if letters {
            letter(&mut drawing, number, rect)?;
        }
    }
    Ok(drawing.finish())
}

/// Writes the letter of a picture, `(a)`, `(b)`, ..., in its upper left corner.
fn letter(drawing: &mut Drawing, number: usize, rect: Rect) -> Result<()> {
    let Some(letter) = ('a'..='z').nth(number) else {
        bail!("letters=y can mark at most 26 pictures");
    };
    drawing.text(&Text {
        at: (rect.x + LETTER_AT.0, rect.y + LETTER_AT.1),
        words: &format!("({letter})"),
        size: LETTER,
        anchor: Anchor::Start,
        turned: 0.0,
        fat: 0.3,
        colour: BLACK,
    });
    Ok(())
}

fn movie(job: &Job, pieces: &[Piece], delivery: &Delivery) -> Result<()> {
    let (places, page) = one_page(pieces);
    let frames = pieces
        .iter()
        .zip(places)
        .map(|(piece, place)| on_page(job, &[(piece, place)], false, page)?.pixels(delivery.fineness));
    let movie = Animation::new(
        frames.collect::<Result<_>>()?,
        job.double_opt("delay")?.unwrap_or(0.5),
    )?;
    delivery.write(&movie.encode(delivery.kind)?)
}

/// The rectangles of the pictures of a movie, and the page that contains each of them. If their sizes differ, their
/// boxes coincide, so that the axes do not move when the numbers next to them, or bars, get longer.
fn one_page(pieces: &[Piece]) -> (Vec<Rect>, Rect) {
    let alike = pieces.iter().all(|piece| piece.size == pieces[0].size);
    let corner = |piece: &Piece| match alike {
        true => (0.0, 0.0),
        false => (piece.anchor().x, piece.anchor().y),
    };
    let left = largest(pieces.iter().map(|piece| corner(piece).0));
    let top = largest(pieces.iter().map(|piece| corner(piece).1));
    let place = |piece: &Piece| Rect {
        x: left - corner(piece).0,
        y: top - corner(piece).1,
        width: piece.size.0,
        height: piece.size.1,
    };
    let places: Vec<Rect> = pieces.iter().map(place).collect();
    let page = Rect {
        x: 0.0,
        y: 0.0,
        width: largest(places.iter().map(|place| place.right())),
        height: largest(places.iter().map(|place| place.y + place.height)),
    };
    (places, page)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(size: (f64, f64), frame: (f64, f64)) -> Piece {
        Piece {
            name: "a".into(),
            bytes: b"<svg><rect class=\"background\" fill=\"#fff\"/><text/></svg>".to_vec(),
            is_svg: true,
            is_opaque: false,
            size,
            frame: Some(Rect {
                x: frame.0,
                y: frame.1,
                width: 50.0,
                height: 40.0,
            }),
        }
    }

    #[test]
    fn boxes_stand_in_line() {
        let pieces = [
            piece((100.0, 80.0), (30.0, 10.0)),
            piece((90.0, 90.0), (20.0, 25.0)),
            piece((120.0, 60.0), (40.0, 5.0)),
        ];
        let place = |placed: &Placed| {
            let (piece, rect) = placed;
            (piece.anchor().x + rect.x, piece.anchor().y + rect.y)
        };
        let row: Vec<_> = table(&pieces, 3, 0.0).iter().map(place).collect();
        assert_eq!(row, [(30.0, 25.0), (120.0, 25.0), (230.0, 25.0)]);
        let column: Vec<_> = table(&pieces, 1, 10.0).iter().map(place).collect();
        assert_eq!(column, [(40.0, 10.0), (40.0, 115.0), (40.0, 195.0)]);
        let two: Vec<_> = table(&pieces, 2, 0.0).iter().map(place).collect();
        assert_eq!((two[0].0, two[0].1), (two[2].0, 25.0));
    }

    #[test]
    fn paper_is_left_out() {
        let text = String::from_utf8(piece((1.0, 1.0), (0.0, 0.0)).without_paper()).unwrap();
        assert_eq!(text, "<svg><text/></svg>");
    }
}
