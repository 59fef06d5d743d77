//! The documentation that a program prints, made from its declaration.

use std::fmt::Write;

use crate::banner::version;
use crate::params::{COMMON, OPTIONS, Param, ParamKind, Program};

/// The number of columns of the text.
const WIDTH: usize = 100;

/// The whole documentation; `name` is the name by which the program was called.
pub(crate) fn text(program: &Program, name: &str) -> String {
    let mut out = String::new();
    section(&mut out, "NAME", &[format!("    {name}")]);
    section(&mut out, "DESCRIPTION", &wrapped(program.about, 4));
    section(
        &mut out,
        "SYNOPSIS",
        &wrapped(&format!("{name} {}", program.usage), 4),
    );
    if !program.comments.trim().is_empty() {
        section(&mut out, "COMMENTS", &paragraphs(program.comments));
    }
    let shown: Vec<Param> = shown(program).copied().collect();
    let parameters: Vec<String> = shown.chunk_by(alike).flat_map(parameters).collect();
    section(&mut out, "PARAMETERS", &parameters);
    let common = COMMON.iter().map(|(key, doc)| (format!("{key}="), *doc));
    let options = OPTIONS.iter().map(|(key, doc)| (key.to_string(), *doc));
    let every: Vec<String> = common
        .chain(options)
        .flat_map(|(key, doc)| entry(&format!("    {key:<27} "), doc))
        .collect();
    section(&mut out, "IN EVERY PROGRAM", &every);
    if !program.example.trim().is_empty() {
        let lines: Vec<String> = program
            .example
            .trim_matches('\n')
            .lines()
            .map(|line| format!("    {line}"))
            .collect();
        section(&mut out, "EXAMPLE", &lines);
    }
    section(&mut out, "VERSION", &[format!("    {}", version())]);
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// The parameters that the documentation lists.
fn shown(program: &Program) -> impl Iterator<Item = &Param> {
    program.params.iter().filter(|param| param.is_shown())
}

fn section(out: &mut String, heading: &str, lines: &[String]) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{heading}\n{}\n", lines.join("\n"));
}

/// Whether two parameters differ only in their names, so that the documentation has one entry for both.
fn alike(one: &Param, other: &Param) -> bool {
    let row = |param: &Param| {
        let default = default_of(param);
        (
            param.kind,
            default,
            param.range_text(),
            param.doc,
            param.required,
            param.ignored,
        )
    };
    let other_names = one.aliases.iter().chain(&other.aliases).flatten().count();
    other_names == 0 && row(one) == row(other)
}

fn default_of(param: &Param) -> &'static str {
    param.default.or(param.default_text).unwrap_or_default()
}

/// The documentation of parameters that differ only in their names: their type, each name=default and the
/// range on the first line, and the description below.
fn parameters(params: &[Param]) -> Vec<String> {
    let param = &params[0];
    let sign = if param.kind == ParamKind::Words { "" } else { "=" };
    let names: Vec<String> = params
        .iter()
        .map(|one| format!("{}{sign}{}", one.name, default_of(one)))
        .collect();
    let mut head = names.join(" ");
    let mut marks: Vec<String> = Vec::new();
    let range = param.range_text();
    if !range.is_empty() {
        marks.push(range);
    }
    if param.required {
        marks.push("required".into());
    }
    if param.ignored {
        marks.push("no effect".into());
    }
    if !marks.is_empty() {
        let _ = write!(head, "  [{}]", marks.join(", "));
    }
    let mut doc = param.doc.to_string();
    for alias in param.aliases.iter().flatten() {
        let _ = write!(doc, " (also {alias}=)");
    }
    let kind = format!("    {:<10}  ", param.kind.word());
    let fits = kind.chars().count() + head.chars().count() <= WIDTH;
    let mut lines = if fits {
        vec![kind + &head]
    } else {
        entry(&kind, &head)
    };
    lines.extend(wrapped(&doc, 16));
    lines
}

/// An entry of two columns: `head`, then wrapped text.
fn entry(head: &str, doc: &str) -> Vec<String> {
    let mut lines = wrapped(doc, head.chars().count());
    if let Some(first) = lines.first_mut() {
        *first = format!("{head}{}", first.trim_start());
    }
    lines
}

/// Text filled to the width and indented by `indent` blanks.
fn wrapped(text: &str, indent: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(format!("{:indent$}{line}", ""));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(format!("{:indent$}{line}", ""));
    lines
}

/// Fills paragraphs; lines that begin with a blank are kept unchanged.
fn paragraphs(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open = String::new();
    let close = |open: &mut String, lines: &mut Vec<String>| {
        if !open.is_empty() {
            lines.extend(wrapped(open, 4));
            open.clear();
        }
    };
    for line in text.trim_matches('\n').lines() {
        if line.trim().is_empty() {
            close(&mut open, &mut lines);
            lines.push(String::new());
        } else if line.starts_with([' ', '\t']) {
            close(&mut open, &mut lines);
            lines.push(format!("    {line}"));
        } else {
            open.push_str(line);
            open.push(' ');
        }
    }
    close(&mut open, &mut lines);
    lines
}

/// The declaration as JSON, for a generator of sfdoc's modules.
pub(crate) fn json(program: &Program, name: &str) -> String {
    let params: Vec<String> = shown(program)
        .map(|param| {
            let default = default_of(param);
            let aliases: Vec<String> = param.aliases.iter().flatten().map(|a| quoted(a)).collect();
            format!(
                "    {{\"name\": {}, \"type\": {}, \"file\": {}, \"default\": {}, \"range\": {}, \"required\": {}, \
                 \"aliases\": [{}], \"doc\": {}}}",
                quoted(param.name),
                quoted(param.kind.word()),
                quoted(match param.kind {
                    ParamKind::Input => "input",
                    ParamKind::Output => "output",
                    _ => "",
                }),
                quoted(default),
                quoted(&param.range_text()),
                param.required,
                aliases.join(", "),
                quoted(param.doc)
            )
        })
        .collect();
    format!(
        "{{\n  \"name\": {},\n  \"about\": {},\n  \"usage\": {},\n  \"comments\": {},\n  \"example\": {},\n  \
         \"version\": {},\n  \"params\": [\n{}\n  ]\n}}\n",
        quoted(name),
        quoted(program.about),
        quoted(program.usage),
        quoted(program.comments),
        quoted(program.example),
        quoted(&version()),
        params.join(",\n")
    )
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_filled_and_indented_lines_are_kept() {
        let lines = paragraphs("one\ntwo\n\n  a   b\nthree");
        assert_eq!(lines, ["    one two", "", "      a   b", "    three"]);
        assert!(
            wrapped(&"word ".repeat(60), 16)
                .iter()
                .all(|line| line.len() <= WIDTH)
        );
    }

    #[test]
    fn neighbours_alike_but_for_their_names_are_one_entry() {
        let force = |name| Param::float(name).default("0").doc("force, N");
        assert_eq!(
            parameters(&[force("fx"), force("fz")]),
            ["    float       fx=0 fz=0", "                force, N"]
        );
        assert!(alike(&force("fx"), &force("fz")));
        assert!(!alike(&force("fx"), &force("fz").required()));
        assert!(!alike(&force("fx"), &force("fz").ignored()));
        assert!(!alike(&force("fx"), &force("fz").alias("down")));
    }

    #[test]
    fn json_escapes() {
        assert_eq!(quoted("a\"b\\c\n\u{1}"), "\"a\\\"b\\\\c\\n\\u0001\"");
    }
}
