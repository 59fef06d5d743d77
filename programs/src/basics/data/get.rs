//! `sfget`: values of a header.

use anyhow::{Result, ensure};
use rsf_io::{Job, Param, Program};

use super::cube::Printer;

/// What the user sees.
pub static SPEC: Program = Program {
    name: "sfget",
    about: "Print values of a header.",
    usage: "< in.rsf n1 d1 label1 parform=y",
    comments: "",
    example: "sfget < in.rsf n1 n2 parform=n",
    params: &PARAMS,
};

static PARAMS: [Param; 2] = [
    Param::words("key ...").doc("the keys"),
    Param::bool("parform")
        .default("y")
        .doc("y: print key=value; n: the value only"),
];

/// Prints. A key that is missing is told on stderr.
pub fn run(job: &mut Job) -> Result<()> {
    let input = job.stdin()?;
    ensure!(!job.words().is_empty(), "no key is given, for instance n1");
    let mut out = Printer::stdout();
    for key in job.words() {
        let key = key.to_string_lossy();
        match input.header().text(&key) {
            Some(value) if job.flag("parform")? => out.line(&format!("{key}={value}"))?,
            Some(value) => out.line(&value)?,
            None => job.warn(&format!("there is no key {key} in the header")),
        }
    }
    out.finish()
}
