//! `sfget`: printing values of a header.

use anyhow::Result;
use rsf_io::{Job, Param, Program};

use super::cube::Printer;

pub static SPEC: Program = Program {
    name: "sfget",
    about: "Print values of a header.",
    usage: "< in.rsf n1 d1 label1 parform=y",
    comments: "With all=y every key is printed with its value as written in the header.",
    example: "sfget < in.rsf n1 n2 parform=n",
    params: &PARAMS,
};

static PARAMS: [Param; 3] = [
    Param::words("key ...").doc("the keys"),
    Param::bool("parform")
        .default("y")
        .doc("y: print key=value; n: print only the value"),
    Param::bool("all").default("n").doc("y: print every key"),
];

/// Prints the values of keys; warns of keys that are missing.
pub fn run(job: &mut Job) -> Result<()> {
    let input = job.stdin()?;
    let mut out = Printer::stdout();
    if job.flag("all")? {
        for (key, value) in input.header().entries() {
            let (key, value) = (String::from_utf8_lossy(key), String::from_utf8_lossy(value));
            out.line(&format!("\t{key}={value}"))?;
        }
        return out.finish();
    }
    if job.words().is_empty() {
        job.warn("no key is given: name one, for instance n1, or print all of them with all=y");
    }
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
