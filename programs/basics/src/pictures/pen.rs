//! `sfpen`: display of pictures on the screen.

use std::env;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rsf_io::{Job, Param, Program};

use super::delivery::Kind;

/// Parameters and documentation of `sfpen`.
pub static SPEC: Program = Program {
    name: "sfpen",
    about: "Show a picture on the screen.",
    usage: "< picture    or    picture.png ...",
    comments: "Shows a picture that sfgrey, sfgraph or another program of this suite has made: PNG, SVG, PDF or GIF. The \
command viewer= is used if it is given. Otherwise the picture appears in the terminal if the terminal can draw \
(kitty, Ghostty, WezTerm, iTerm2), or else in the viewer of the desktop (xdg-open, or open on a Mac). If there is \
none, as on a machine without a screen, the picture is saved in a file, whose name is printed.",
    example: "sfgrey < in.rsf | sfpen",
    params: &PARAMS,
};

static PARAMS: [Param; 3] = [
    Param::words("picture.png ...").doc("the pictures; without names, the picture on standard input"),
    Param::string("viewer")
        .default_text("the first that is available")
        .doc("command that shows a file, such as viewer=feh"),
    Param::string("keep")
        .default_text("a new file in the folder for temporary files")
        .doc("file in which the picture from standard input is saved"),
];

/// Runs `sfpen`.
pub fn run(job: &mut Job) -> Result<()> {
    let files: Vec<PathBuf> = job.words().iter().map(PathBuf::from).collect();
    let viewer = job.text("viewer")?;
    for file in &files {
        let name = file.display().to_string();
        let bytes = fs::read(file).with_context(|| format!("cannot read {name}"))?;
        let kind = kind_of(&bytes, &name)?;
        let shown = show(viewer.as_deref(), file, kind, &bytes)?;
        if !shown {
            job.say(&format!("no viewer is available for {name} (viewer= names one)"));
        }
    }
    if !files.is_empty() {
        return Ok(());
    }
    let bytes = job.stdin_bytes()?;
    let kind = kind_of(&bytes, "standard input")?;
    let file = keep(job.text("keep")?, kind, &bytes)?;
    if !show(viewer.as_deref(), &file, kind, &bytes)? {
        job.say(&format!(
            "no viewer is available (viewer= names one); the picture is saved in {}",
            file.display()
        ));
    }
    Ok(())
}

/// The format, from the first bytes.
///
/// # Errors
/// Returns an error if the bytes are not a picture.
fn kind_of(bytes: &[u8], name: &str) -> Result<Kind> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(1024)]);
    let kind = match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some(Kind::Png),
        [b'G', b'I', b'F', b'8', ..] => Some(Kind::Gif),
        [b'%', b'P', b'D', b'F', ..] => Some(Kind::Pdf),
        _ if start.trim_start().starts_with('<') && start.contains("<svg") => Some(Kind::Svg),
        _ => None,
    };
    ensure!(
        kind.is_some(),
        "{name} is not a picture (PNG, SVG, PDF or GIF); sfgrey, sfgraph, sfwiggle and sfcontour draw data"
    );
    kind.context("a picture has a kind")
}

/// Writes the picture to the file `keep` or, without it, to a new file in the folder for temporary files.
fn keep(keep: Option<String>, kind: Kind, bytes: &[u8]) -> Result<PathBuf> {
    if let Some(file) = keep {
        fs::write(&file, bytes).with_context(|| format!("cannot write keep={file}"))?;
        return Ok(file.into());
    }
    let folder = env::temp_dir();
    for number in 0..10_000 {
        let path = folder.join(format!("picture-{number}.{}", kind.ending()));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(bytes)
                    .with_context(|| format!("cannot write {}", path.display()))?;
                return Ok(path);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| format!("cannot write {}", path.display())),
        }
    }
    anyhow::bail!(
        "{} has ten thousand pictures already: remove some, or give keep=",
        folder.display()
    )
}

/// Shows a file with the first viewer that is available; returns false if there is none.
///
/// # Errors
/// Returns an error if the `viewer` cannot be started, or fails.
fn show(viewer: Option<&str>, file: &Path, kind: Kind, bytes: &[u8]) -> Result<bool> {
    if let Some(command) = viewer {
        let mut words = command.split_whitespace();
        let program = words.next().context("viewer= is empty; it names a command")?;
        let ended = Command::new(program).args(words).arg(file).status();
        let ended = ended.with_context(|| format!("viewer={command} cannot be started"))?;
        ensure!(ended.success(), "viewer={command} failed ({ended})");
        return Ok(true);
    }
    if let Some(letters) =
        in_terminal(kind, bytes, |name| env::var_os(name)).filter(|_| stdout().is_terminal())
    {
        stdout()
            .write_all(letters.as_bytes())
            .context("the picture could not be written")?;
        return Ok(true);
    }
    Ok(by_desktop(file))
}

/// The picture as control sequences of the terminal, if the environment shows that it can draw.
fn in_terminal(kind: Kind, bytes: &[u8], variable: impl Fn(&str) -> Option<OsString>) -> Option<String> {
    let is = |name: &str, values: &[&str]| {
        variable(name).is_some_and(|value| values.iter().any(|known| value == *known))
    };
    let text = STANDARD.encode(bytes);
    let kitty = is("TERM", &["xterm-kitty", "xterm-ghostty"]) || is("TERM_PROGRAM", &["ghostty"]);
    if kitty && kind == Kind::Png {
        return Some(kitty_commands(&text));
    }
    // Both terminals support PNG and GIF.
    let inline = is("TERM_PROGRAM", &["iTerm.app", "WezTerm"]) && matches!(kind, Kind::Png | Kind::Gif);
    inline.then(|| format!("\x1b]1337;File=inline=1;size={}:{text}\x07\n", bytes.len()))
}

/// The control sequences of Kitty's graphics protocol: a PNG, encoded in base64, in pieces of 4096 characters.
fn kitty_commands(text: &str) -> String {
    let mut commands = String::new();
    let mut first = "f=100,a=T,";
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, left) = rest.split_at(rest.len().min(4096));
        let more = u8::from(!left.is_empty());
        commands += &format!("\x1b_G{first}m={more};{piece}\x1b\\");
        (first, rest) = ("", left);
    }
    commands + "\n"
}

/// Opens the file in the viewer of the desktop; returns false if there is no desktop.
fn by_desktop(file: &Path) -> bool {
    let mac = cfg!(target_os = "macos");
    let screen = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
    if !mac && !screen {
        return false;
    }
    let ended = Command::new(if mac { "open" } else { "xdg-open" })
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    ended.is_ok_and(|ended| ended.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_that_draw() {
        let png = [0x89u8, b'P', b'N', b'G', 1, 2, 3];
        let with = |key: &'static str, value: &'static str| {
            move |name: &str| (name == key).then(|| OsString::from(value))
        };
        assert_eq!(in_terminal(Kind::Png, &png, |_| None), None);
        assert_eq!(in_terminal(Kind::Png, &png, with("TERM", "xterm-256color")), None);
        let kitty = in_terminal(Kind::Png, &png, with("TERM", "xterm-kitty")).unwrap();
        assert_eq!(kitty, "\x1b_Gf=100,a=T,m=0;iVBORwECAw==\x1b\\\n");
        assert_eq!(in_terminal(Kind::Svg, &png, with("TERM", "xterm-kitty")), None);
        let inline = in_terminal(Kind::Png, &png, with("TERM_PROGRAM", "WezTerm")).unwrap();
        assert_eq!(inline, "\x1b]1337;File=inline=1;size=7:iVBORwECAw==\x07\n");
        // A long picture is sent in pieces, and only the last piece is marked as the end.
        let long = kitty_commands(&"A".repeat(9000));
        let pieces: Vec<&str> = long.split("\x1b\\").collect();
        assert_eq!(pieces.len(), 4);
        assert!(pieces[0].starts_with("\x1b_Gf=100,a=T,m=1;") && pieces[1].starts_with("\x1b_Gm=1;"));
        assert!(pieces[2].starts_with("\x1b_Gm=0;"));
    }
}
