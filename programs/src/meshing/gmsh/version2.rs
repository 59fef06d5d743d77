//! The sections in which MSH 2.0 to 2.2 differ from MSH 4.1: nodes and elements are listed one by one, each element
//! with its physical group and its entity.

use std::collections::HashMap;

use anyhow::Result;

use super::sections::{Block, Form, KINDS, Numbers, Sections};

/// The dimension of a type of elements.
fn dimension(kind: i32) -> usize {
    match kind {
        15 => 0,
        1 | 8 => 1,
        2 | 3 | 9 | 10 | 16 => 2,
        _ => 3,
    }
}

/// The number of entries of a section, which is text in files of either form.
fn count(numbers: &mut Numbers, what: &str) -> Result<usize> {
    let form = std::mem::replace(&mut numbers.form, Form::Text);
    let count = numbers.count(what);
    numbers.form = form;
    if form != Form::Text {
        numbers.scanner.line();
    }
    count
}

/// A tag of a node or an element, which is positive.
fn tag(numbers: &mut Numbers, what: &str) -> Result<u64> {
    let tag = numbers.int(what)?;
    u64::try_from(tag).map_err(|_| numbers.scanner.wrong(format!("{tag} is not a valid {what}")))
}

pub(super) fn nodes(numbers: &mut Numbers, file: &mut Sections) -> Result<()> {
    for _ in 0..count(numbers, "number of nodes")? {
        let tag = tag(numbers, "tag of a node")?;
        let x = [
            numbers.real("coordinate")?,
            numbers.real("coordinate")?,
            numbers.real("coordinate")?,
        ];
        if file.nodes.insert(tag, x).is_some() {
            return Err(numbers.scanner.wrong(format!("node {tag} is given twice")));
        }
    }
    Ok(())
}

/// The type of the elements that follow, their number, and the number of tags of each. In text, every element
/// has them in its own line.
struct Head {
    kind: i32,
    follow: usize,
    tags: usize,
}

impl Head {
    fn read(numbers: &mut Numbers) -> Result<Self> {
        let kind = numbers.int("type of elements")?;
        let follow = match numbers.form {
            Form::Text => 1,
            _ => tag(numbers, "number of elements")? as usize,
        };
        let tags = tag(numbers, "number of tags")? as usize;
        Ok(Self { kind, follow, tags })
    }
}

pub(super) fn elements(numbers: &mut Numbers, file: &mut Sections) -> Result<()> {
    let total = count(numbers, "number of elements")?;
    let mut blocks: HashMap<(i32, i32, i32), usize> = HashMap::new();
    let mut read = 0;
    while read < total {
        let in_text = numbers.form == Form::Text;
        let first = if in_text {
            Some(tag(numbers, "tag of an element")?)
        } else {
            None
        };
        let head = Head::read(numbers)?;
        let Some((_, per_element, _)) = KINDS.iter().find(|known| known.0 == head.kind) else {
            return Err(numbers.scanner.wrong(format!(
                "elements of type {} are not supported: use hexahedra or quadrilaterals of order 1 or 2",
                head.kind
            )));
        };
        if head.follow == 0 || head.follow > total - read {
            return Err(numbers.scanner.wrong(format!(
                "{} elements of type {} follow, but $Elements has {} more",
                head.follow,
                head.kind,
                total - read
            )));
        }
        for _ in 0..head.follow {
            let number = match first {
                Some(first) => first,
                None => tag(numbers, "tag of an element")?,
            };
            let mut groups = [0; 2];
            for k in 0..head.tags {
                let tag = numbers.int("tag of a group or an entity")?;
                if let Some(group) = groups.get_mut(k) {
                    *group = tag;
                }
            }
            let [group, entity] = groups;
            let at = *blocks.entry((head.kind, group, entity)).or_insert_with(|| {
                file.blocks.push(Block {
                    dimension: dimension(head.kind),
                    entity,
                    groups: if group == 0 { Vec::new() } else { vec![group] },
                    kind: head.kind,
                    per_element: *per_element,
                    tags: Vec::new(),
                    nodes: Vec::new(),
                });
                file.blocks.len() - 1
            });
            let block = &mut file.blocks[at];
            block.tags.push(number);
            for _ in 0..*per_element {
                block.nodes.push(tag(numbers, "tag of a node")?);
            }
        }
        read += head.follow;
    }
    Ok(())
}
