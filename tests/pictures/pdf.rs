//! PDF: one page of the size of the picture, with the contents of its SVG; and file names whose extension promises
//! another format.

use std::io::Read;

use crate::desk::{Desk, quarters};

/// A file of one page: its objects, and their uncompressed streams.
pub struct Page {
    objects: Vec<(String, Vec<u8>)>,
}

impl Page {
    pub fn read(bytes: &[u8]) -> Self {
        assert!(bytes.starts_with(b"%PDF-1.7"));
        assert!(bytes.trim_ascii_end().ends_with(b"%%EOF"));
        let find = |from: usize, word: &[u8]| {
            let at = bytes[from..].windows(word.len()).position(|part| part == word);
            at.map(|at| from + at)
        };
        let (mut objects, mut at) = (Vec::new(), 0);
        while let Some(begin) = find(at, b" 0 obj") {
            // Streams are skipped by their length, because they may contain any bytes.
            let end = find(begin, b"endobj").unwrap();
            let stream = find(begin, b"stream\n").filter(|stream| *stream < end);
            let head = String::from_utf8_lossy(&bytes[begin..stream.unwrap_or(end)]).into_owned();
            let mut content = Vec::new();
            at = end;
            if let Some(stream) = stream {
                let length: usize = number(&head, "/Length");
                let packed = &bytes[stream + 7..][..length];
                assert!(head.contains("/FlateDecode"));
                flate2::read::ZlibDecoder::new(packed)
                    .read_to_end(&mut content)
                    .unwrap();
                at = find(stream + 7 + length, b"endobj").unwrap();
            }
            objects.push((head, content));
        }
        Self { objects }
    }

    /// The dictionaries that contain a word, with their streams.
    fn with(&self, word: &str) -> Vec<&(String, Vec<u8>)> {
        self.objects
            .iter()
            .filter(|(head, _)| head.contains(word))
            .collect()
    }

    /// The whole file as text, with the bytes of images as by `digits`, independent of how streams are compressed.
    pub fn text(&self, digits: impl Fn(&[u8]) -> String) -> String {
        let object = |(head, content): &(String, Vec<u8>)| {
            let words: Vec<&str> = head.split_whitespace().collect();
            let packed = words.iter().position(|word| *word == "/Length");
            let kept = words
                .iter()
                .enumerate()
                .filter(|(i, _)| packed.is_none_or(|at| *i != at + 1));
            let head: Vec<&str> = kept.map(|(_, word)| *word).collect();
            let content = match std::str::from_utf8(content) {
                Ok(text) if text.is_ascii() && !head.contains(&"/Image") => text.to_string(),
                _ => digits(content),
            };
            format!("{}\n{content}\n", head.join(" "))
        };
        self.objects.iter().map(object).collect()
    }

    /// The operators that draw.
    fn drawn(&self) -> String {
        let content = self
            .objects
            .iter()
            .find(|(head, content)| !head.contains("/Subtype") && !content.is_empty());
        String::from_utf8(content.unwrap().1.clone()).unwrap()
    }
}

fn number(head: &str, key: &str) -> usize {
    let rest = head.split(key).nth(1).unwrap().trim_start();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

#[test]
fn a_page_holds_what_the_svg_holds() {
    let desk = Desk::new();
    quarters(&desk);
    let words = "grey color=bluered title=Section scalebar=y width=400 height=300";
    let (bytes, messages) = desk.picture(&format!("{words} format=pdf"), "quarters");
    assert_eq!(messages, "");
    let page = Page::read(&bytes);
    let (text, _) = page.with("/MediaBox")[0];
    // 400 and 300 units of 1/96 inch in points of 1/72 inch.
    assert!(text.contains("/MediaBox [0 0 300 225]"), "{text}");
    let drawn = page.drawn();
    // The section and its bar are images whose first row is at the top; every saved graphics state is restored.
    let images = page.with("/Subtype /Image");
    assert_eq!((images.len(), drawn.matches(" Do").count()), (2, 2), "{drawn}");
    let count = |word: &str| drawn.lines().filter(|line| line.ends_with(word)).count();
    assert_eq!(count("q"), count("Q"));
    let section = images.iter().max_by_key(|(_, content)| content.len()).unwrap();
    let (width, height) = (number(&section.0, "/Width"), number(&section.0, "/Height"));
    assert_eq!(section.1.len(), 3 * width * height);
    let at = |column: usize, row: usize| &section.1[3 * (row * width + column)..][..3];
    let pixels = desk.pixels(words, "quarters");
    for (across, down) in [(0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)] {
        let (column, row) = ((across * width as f64) as usize, (down * height as f64) as usize);
        assert_eq!(at(column, row), pixels.inside(across, down), "{across} {down}");
    }
    // The box of the axes is where the SVG has it, but with y upwards.
    let [x, y, wide, high] = desk.svg(words, "quarters").frame.map(|unit| 0.75 * unit);
    let corner = |x: f64, y: f64| {
        drawn.lines().any(|line| {
            let numbers: Vec<f64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
            numbers.len() == 2 && (numbers[0] - x).abs() < 0.01 && (numbers[1] - y).abs() < 0.01
        })
    };
    assert!(
        corner(x, 225.0 - y) && corner(x + wide, 225.0 - y - high),
        "{drawn}"
    );
}

#[test]
fn opacity_and_pictures_in_pictures() {
    let desk = Desk::new();
    quarters(&desk);
    desk.picture("grey transparent=y out=part.svg", "quarters");
    let page = Page::read(
        &desk
            .picture("pictures mode=side part.svg part.svg format=pdf", "-")
            .0,
    );
    // A section and its bar are there twice.
    assert_eq!(page.with("/Subtype /Image").len(), 4);
    desk.floats("curve", "n1=3 n2=1", &[0.0, 2.0, 1.0]);
    // The background of a legend has an opacity of 85 %.
    let page = Page::read(&desk.picture("graph legend=one format=pdf", "curve").0);
    assert!(page.objects.iter().any(|(head, _)| head.contains("/ca 0.85")));
    assert!(page.drawn().contains("/O0 gs"));
}

#[test]
fn names_that_promise_something_else_are_refused() {
    let desk = Desk::new();
    quarters(&desk);
    desk.picture("grey out=fig.pdf", "quarters");
    assert!(std::fs::read(desk.path("fig.pdf")).unwrap().starts_with(b"%PDF-"));
    for name in ["fig.jpg", "fig.JPEG", "movie.mp4", "fig.png.tif", "fig.eps"] {
        let message = desk.complaint(&format!("grey out={name}"), "quarters");
        assert!(
            message.contains("give the file the extension png, svg or pdf"),
            "{name}: {message}"
        );
        assert!(!desk.path(name).exists());
    }
    let message = desk.complaint("movie out=fig.pdf axis=2 vertical=1 horizontal=3", "quarters");
    assert!(message.contains("pdf is not a format of"), "{message}");
    // format= takes precedence over the extension.
    desk.picture("grey format=png out=fig.jpg", "quarters");
}

#[test]
fn pictures_larger_than_memory_end_in_a_sentence() {
    let desk = Desk::new();
    quarters(&desk);
    desk.floats("cube", "n1=2 n2=2 n3=2", &[1.0; 8]);
    for (line, input) in [
        ("grey width=30000 height=30000", "quarters"),
        ("movie width=30000 height=30000", "cube"),
    ] {
        let output = desk.run_within("2000000", line, input);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), output.stdout.len(), text.lines().count()),
            (Some(1), 0, 1),
            "{text}"
        );
        assert!(
            text.contains("needs") && text.contains("GB of memory, but"),
            "{text}"
        );
        assert!(text.contains("res=, width= or height="), "{text}");
    }
}
