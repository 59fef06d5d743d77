//! Reads the sections of an MSH file.

use std::collections::HashMap;

use anyhow::{Result, bail};
use kernels::mesh::Near;

use super::version2;
use crate::meshing::scanner::Scanner;

/// The elements of one entity.
pub(super) struct Block {
    pub(super) dimension: usize,
    pub(super) entity: i32,
    /// Tags of the physical groups that contain the elements; a tag is negative if the orientation is
    /// reversed.
    pub(super) groups: Vec<i32>,
    /// Gmsh's number of the type.
    pub(super) kind: i32,
    pub(super) per_element: usize,
    /// Tags of the elements.
    pub(super) tags: Vec<u64>,
    /// Tags of the nodes, element after element.
    pub(super) nodes: Vec<u64>,
}

/// The contents of a file.
#[derive(Default)]
pub(super) struct Sections {
    /// Coordinates by tag.
    pub(super) nodes: HashMap<u64, [f64; 3]>,
    pub(super) blocks: Vec<Block>,
    /// Names by dimension and tag of the physical group.
    pub(super) names: HashMap<(usize, i32), String>,
    /// Physical tags by dimension and tag of the entity, in files of version 4.1.
    physical: HashMap<(usize, i32), Vec<i32>>,
}

impl Sections {
    /// The name of an element in messages: its tag, and the coordinates of its first node that has coordinates.
    pub(super) fn shown(&self, block: &Block, number: usize) -> String {
        let nodes = block.nodes.chunks_exact(block.per_element).nth(number);
        let known = nodes.into_iter().flatten().find_map(|tag| self.nodes.get(tag));
        let tag = block.tags.get(number).copied().unwrap_or_default();
        format!("element {tag}{}", Near::from(known.copied()))
    }
}

/// Gmsh's number, the number of nodes and the name of each type of element of first or second order.
pub(super) const KINDS: [(i32, usize, &str); 19] = [
    (1, 2, "line"),
    (2, 3, "triangle"),
    (3, 4, "quad4"),
    (4, 4, "tetrahedron"),
    (5, 8, "hex8"),
    (6, 6, "prism"),
    (7, 5, "pyramid"),
    (8, 3, "line of 3 nodes"),
    (9, 6, "triangle of 6 nodes"),
    (10, 9, "quad9"),
    (11, 10, "tetrahedron of 10 nodes"),
    (12, 27, "hex27"),
    (13, 18, "prism of 18 nodes"),
    (14, 14, "pyramid of 14 nodes"),
    (15, 1, "point"),
    (16, 8, "quad8; set Mesh.SecondOrderIncomplete=0"),
    (17, 20, "hex20; set Mesh.SecondOrderIncomplete=0"),
    (18, 15, "prism of 15 nodes"),
    (19, 13, "pyramid of 13 nodes"),
];

/// The name of a type of elements.
pub(super) fn kind_name(kind: i32) -> &'static str {
    KINDS.iter().find(|k| k.0 == kind).map_or("unknown", |k| k.2)
}

/// How numbers are written.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Form {
    Text,
    Little,
    Big,
}

/// Reads numbers in either form.
pub(super) struct Numbers<'a, 'b> {
    pub(super) scanner: &'b mut Scanner<'a>,
    pub(super) form: Form,
}

impl Numbers<'_, '_> {
    pub(super) fn int(&mut self, what: &str) -> Result<i32> {
        match self.form {
            Form::Text => self.scanner.number(what),
            Form::Little => Ok(i32::from_le_bytes(self.scanner.bytes(what)?)),
            Form::Big => Ok(i32::from_be_bytes(self.scanner.bytes(what)?)),
        }
    }

    fn size(&mut self, what: &str) -> Result<u64> {
        match self.form {
            Form::Text => self.scanner.number(what),
            Form::Little => Ok(u64::from_le_bytes(self.scanner.bytes(what)?)),
            Form::Big => Ok(u64::from_be_bytes(self.scanner.bytes(what)?)),
        }
    }

    pub(super) fn real(&mut self, what: &str) -> Result<f64> {
        let value = match self.form {
            Form::Text => return self.scanner.real(what),
            Form::Little => f64::from_le_bytes(self.scanner.bytes(what)?),
            Form::Big => f64::from_be_bytes(self.scanner.bytes(what)?),
        };
        if !value.is_finite() {
            return Err(self.scanner.wrong(format!("{what} is {value}")));
        }
        Ok(value)
    }

    /// A count of entries, each of which takes at least two bytes.
    pub(super) fn count(&mut self, what: &str) -> Result<usize> {
        let count = self.size(what)?;
        match usize::try_from(count) {
            Ok(count) if count <= self.scanner.left() / 2 + 1 => Ok(count),
            _ => Err(self.scanner.wrong(format!(
                "the {what} is {count}, more than the file can hold; is the file cut short?"
            ))),
        }
    }
}

/// Reads all sections.
pub(super) fn read(name: &str, bytes: &[u8]) -> Result<Sections> {
    let mut scanner = Scanner::new(name, bytes);
    let (version, form) = header(&mut scanner)?;
    let mut file = Sections::default();
    let mut seen = Vec::new();
    while scanner.peek().is_some() {
        let section = scanner.word("section")?;
        if !section.starts_with('$') || seen.contains(&section) {
            return Err(scanner.wrong(format!(
                "`{}` is not the name of a section such as `$Nodes`, or the section is given twice",
                section.chars().take(40).collect::<String>()
            )));
        }
        seen.push(section);
        scanner.line();
        let mut numbers = Numbers {
            scanner: &mut scanner,
            form,
        };
        match section {
            "$PhysicalNames" => names(&mut scanner, &mut file)?,
            "$Nodes" if version == Version::Two => version2::nodes(&mut numbers, &mut file)?,
            "$Elements" if version == Version::Two => version2::elements(&mut numbers, &mut file)?,
            "$Entities" => entities(&mut numbers, &mut file)?,
            "$Nodes" => nodes(&mut numbers, &mut file)?,
            "$Elements" => elements(&mut numbers, &mut file)?,
            "$PartitionedEntities" => {
                bail!("{name} is partitioned; save it in one piece (Mesh.PartitionCreateTopology=0)")
            }
            _ => {}
        }
        let end = format!("$End{}", &section[1..]);
        if !scanner.skip_past(&end) {
            bail!("{name}: {section} has no {end}; the file is cut short or damaged");
        }
    }
    for needed in ["$Nodes", "$Elements"] {
        if !seen.contains(&needed) {
            bail!("{name} has no {needed}; it holds no mesh");
        }
    }
    for block in &mut file.blocks {
        let groups = file.physical.get(&(block.dimension, block.entity));
        block.groups.extend(groups.into_iter().flatten());
    }
    Ok(file)
}

/// The version of a file.
#[derive(Clone, Copy, PartialEq)]
enum Version {
    /// 2.0 to 2.2.
    Two,
    /// 4.1.
    Four,
}

fn header(scanner: &mut Scanner) -> Result<(Version, Form)> {
    if scanner.word("$MeshFormat")? != "$MeshFormat" {
        return Err(scanner.wrong("an MSH file begins with $MeshFormat"));
    }
    let version = match scanner.word("version")? {
        "2" | "2.0" | "2.1" | "2.2" => Version::Two,
        "4.1" => Version::Four,
        other => {
            return Err(scanner.wrong(format!(
                "version {} is not read; save the mesh as version 4.1 or 2.2 (Mesh.MshFileVersion=4.1)",
                other.chars().take(40).collect::<String>()
            )));
        }
    };
    let (binary, size): (i32, i32) = (
        scanner.number("kind of file")?,
        scanner.number("size of numbers")?,
    );
    let form = match (binary, size) {
        (0, _) => Form::Text,
        (1, 8) => {
            scanner.line();
            let one: [u8; 4] = scanner.bytes("the number one")?;
            match one {
                [1, 0, 0, 0] => Form::Little,
                [0, 0, 0, 1] => Form::Big,
                _ => return Err(scanner.wrong(format!("the byte order is not recognisable: the four bytes {one:?} must be the integer 1; save the mesh again"))),
            }
        }
        _ => {
            return Err(scanner.wrong(format!(
                "file type {binary} with numbers of {size} bytes is not read; it must be 0 (text) or 1 (binary) with 8 bytes"
            )));
        }
    };
    if !scanner.skip_past("$EndMeshFormat") {
        return Err(scanner.wrong("$MeshFormat has no $EndMeshFormat"));
    }
    Ok((version, form))
}

/// Names are text in files of either form.
fn names(scanner: &mut Scanner, file: &mut Sections) -> Result<()> {
    let count: u32 = scanner.number("number of names")?;
    for _ in 0..count {
        let (dimension, tag): (usize, i32) = (scanner.number("dimension")?, scanner.number("tag")?);
        let line = scanner
            .line()
            .ok_or_else(|| scanner.wrong("the file ends where a name should be"))?;
        let name = String::from_utf8_lossy(line).trim().trim_matches('"').to_string();
        file.names.insert((dimension, tag), name);
    }
    Ok(())
}

fn entities(numbers: &mut Numbers, file: &mut Sections) -> Result<()> {
    let mut counts = [0; 4];
    for count in &mut counts {
        *count = numbers.count("number of entities")?;
    }
    for (dimension, count) in counts.into_iter().enumerate() {
        for _ in 0..count {
            let entity = numbers.int("tag of an entity")?;
            for _ in 0..if dimension == 0 { 3 } else { 6 } {
                numbers.real("coordinate of an entity")?;
            }
            let mut physical = Vec::new();
            for _ in 0..numbers.count("number of physical tags")? {
                physical.push(numbers.int("physical tag")?);
            }
            if !physical.is_empty() {
                file.physical.insert((dimension, entity), physical);
            }
            if dimension > 0 {
                for _ in 0..numbers.count("number of bounding entities")? {
                    numbers.int("bounding entity")?;
                }
            }
        }
    }
    Ok(())
}

fn nodes(numbers: &mut Numbers, file: &mut Sections) -> Result<()> {
    let blocks = numbers.count("number of blocks")?;
    let total = numbers.count("number of nodes")?;
    let _range = (numbers.size("smallest tag")?, numbers.size("largest tag")?);
    for _ in 0..blocks {
        let dimension = numbers.int("dimension")?;
        let _entity = numbers.int("tag of an entity")?;
        let parametric = numbers.int("flag")?;
        let count = numbers.count("number of nodes")?;
        let mut tags = Vec::new();
        for _ in 0..count {
            tags.push(numbers.size("tag of a node")?);
        }
        let more = if parametric == 1 { dimension.clamp(0, 3) } else { 0 };
        for tag in tags {
            let x = [
                numbers.real("coordinate")?,
                numbers.real("coordinate")?,
                numbers.real("coordinate")?,
            ];
            for _ in 0..more {
                numbers.real("parameter of a node")?;
            }
            if file.nodes.insert(tag, x).is_some() {
                return Err(numbers.scanner.wrong(format!("node {tag} is given twice")));
            }
        }
    }
    if file.nodes.len() != total {
        return Err(numbers.scanner.wrong(format!(
            "$Nodes holds {} nodes, but its first line says {total}",
            file.nodes.len()
        )));
    }
    Ok(())
}

fn elements(numbers: &mut Numbers, file: &mut Sections) -> Result<()> {
    let blocks = numbers.count("number of blocks")?;
    let total = numbers.count("number of elements")?;
    let _range = (numbers.size("smallest tag")?, numbers.size("largest tag")?);
    let mut read = 0;
    for _ in 0..blocks {
        let dimension = numbers.int("dimension")?;
        let entity = numbers.int("tag of an entity")?;
        let kind = numbers.int("type of elements")?;
        let count = numbers.count("number of elements")?;
        let Some((_, per_element, _)) = KINDS.iter().find(|k| k.0 == kind) else {
            return Err(numbers.scanner.wrong(format!(
                "elements of type {kind} are not supported: use hexahedra or quadrilaterals of order 1 or 2"
            )));
        };
        let (mut tags, mut nodes) = (Vec::new(), Vec::new());
        for _ in 0..count {
            tags.push(numbers.size("tag of an element")?);
            for _ in 0..*per_element {
                nodes.push(numbers.size("tag of a node")?);
            }
        }
        read += count;
        file.blocks.push(Block {
            dimension: usize::try_from(dimension).unwrap_or(0),
            entity,
            groups: Vec::new(),
            kind,
            per_element: *per_element,
            tags,
            nodes,
        });
    }
    if read != total {
        return Err(numbers.scanner.wrong(format!(
            "$Elements holds {read} elements, but its first line says {total}"
        )));
    }
    Ok(())
}
