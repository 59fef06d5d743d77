//! `sfcp`, `sfmv`, `sfrm`: copying, moving and removing header and data of a dataset together.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufReader, ErrorKind, stdin};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use rsf_io::{DataFile, Header, Job, Param, Program, data_file};

use super::cube;
use super::info::check_header;

pub static CP: Program = Program {
    name: "sfcp",
    about: "Copy a dataset.",
    usage: "in.rsf out.rsf    or    < in.rsf > out.rsf",
    comments: "The new data file is written to the data path. Without names, the dataset on standard input is copied to \
standard output, for example as the last program of a pipe.",
    example: "sfcp vp.rsf backup.rsf\nsfspike n1=100 | sfcp > spikes.rsf",
    params: &[Param::words("in.rsf out.rsf").doc("the dataset and its copy")],
};

pub static MV: Program = Program {
    name: "sfmv",
    about: "Move a dataset.",
    usage: "in.rsf out.rsf",
    comments: "The new data file is written to the data path; the old files are removed when the new ones are complete.",
    example: "sfmv vp.rsf old.rsf",
    ..CP
};

pub static RM: Program = Program {
    name: "sfrm",
    about: "Remove datasets: headers and their data.",
    usage: "[-i] [-f] [-v] file.rsf ...",
    comments: "-i asks before each dataset is removed, -f ignores datasets that do not exist, -v prints what is removed.",
    example: "sfrm -v old.rsf older.rsf",
    params: &[Param::words("file.rsf ...").doc("the datasets, and -i, -f, -v")],
};

pub fn cp(job: &mut Job) -> Result<()> {
    if job.words().is_empty()
        && let Some(mut input) = job.stdin_if_any()?
    {
        let mut output = job.output()?;
        cube::copy_all(&mut input, &mut output)?;
        return Ok(output.finish()?);
    }
    copy(job).map(|_| ())
}

pub fn mv(job: &mut Job) -> Result<()> {
    let old = copy(job)?;
    remove(job, &old, false)
}

/// Copies the dataset that the first argument names to the second; returns the first.
fn copy(job: &mut Job) -> Result<OsString> {
    let words = job.words().to_vec();
    let [old, new] = &words[..] else {
        bail!(
            "{} names are given, but two are needed: the old and the new one",
            words.len()
        );
    };
    let mut input = job.open_as(old.to_string_lossy().into_owned(), old)?;
    job.follow(&input);
    let mut output = job.output_to(new.to_string_lossy().into_owned(), PathBuf::from(new))?;
    cube::copy_all(&mut input, &mut output)?;
    output.finish()?;
    Ok(old.clone())
}

pub fn rm(job: &mut Job) -> Result<()> {
    let (mut force, mut verbose, mut ask) = (false, false, false);
    let mut files = Vec::new();
    for word in job.words() {
        match word.to_str() {
            Some(text) if text.len() > 1 && text.starts_with('-') => {
                for letter in text[1..].chars() {
                    match letter {
                        'f' => force = true,
                        'v' => verbose = true,
                        'i' => ask = true,
                        _ => bail!("there is no option {text}; options are -i, -f and -v"),
                    }
                }
            }
            _ => files.push(word.clone()),
        }
    }
    ensure!(
        !files.is_empty() || force,
        "no dataset is named: give the headers of the datasets to remove"
    );
    for file in files {
        let name = file.to_string_lossy();
        if force && !Path::new(&file).exists() {
            continue;
        }
        if ask {
            job.say(&format!("remove {name}? (y or n)"));
            let mut answer = String::new();
            stdin().read_line(&mut answer)?;
            if !answer.trim_start().starts_with(['y', 'Y']) {
                continue;
            }
        }
        remove(job, &file, force)?;
        if verbose {
            job.say(&format!("{name} is removed"));
        }
    }
    Ok(())
}

/// Removes the data of a header, then the header.
fn remove(job: &Job, file: &OsString, force: bool) -> Result<()> {
    let (name, path) = (file.to_string_lossy(), Path::new(file));
    let open = File::open(path).with_context(|| format!("cannot read {name}"))?;
    let header = Header::read(&mut BufReader::new(open)).with_context(|| name.to_string())?;
    check_header(&name, path, &header)?;
    let named = header.path("in").unwrap_or_default();
    if named.as_os_str() != "stdin" {
        remove_named(job, (&name, path, force), &header, &named)?;
    }
    fs::remove_file(path).with_context(|| format!("cannot remove {name}"))
}

/// Removes the data that a header names. Pipes and other special files stay and are not opened, because opening a pipe
/// may block forever.
fn remove_named(
    job: &Job,
    (name, path, force): (&str, &Path, bool),
    header: &Header,
    named: &Path,
) -> Result<()> {
    let beside = path.parent().map(|folder| folder.join(named));
    let is_special = |path: &&Path| fs::metadata(path).is_ok_and(|meta| !meta.is_file());
    if let Some(special) = [Some(named), beside.as_deref()]
        .into_iter()
        .flatten()
        .find(is_special)
    {
        job.warn(&format!(
            "{} is not removed: it is not a regular file",
            special.display()
        ));
        return Ok(());
    }
    match data_file(path, header) {
        Ok(data) => data.map_or(Ok(()), |data| remove_data(job, name, data)),
        // This is a symbolic link to a file that no longer exists.
        Err(_) if fs::symlink_metadata(named).is_ok_and(|meta| meta.is_symlink()) && !named.exists() => {
            fs::remove_file(named).with_context(|| format!("cannot remove {}", named.display()))
        }
        Err(rsf_io::Error::Os { cause, .. }) if force && cause.kind() == ErrorKind::NotFound => Ok(()),
        Err(error @ rsf_io::Error::Os { .. }) if !named.exists() => {
            job.warn(&format!("{name}: {error}"));
            Ok(())
        }
        Err(error) => Err(error)
            .with_context(|| format!("{name}: nothing is removed, because its data cannot be examined")),
    }
}

/// Removes the data file of a dataset, if it certainly belongs to that dataset.
fn remove_data(job: &Job, name: &str, data: DataFile) -> Result<()> {
    let shown = data.path.display();
    if let Some(doubt) = data.doubt {
        bail!("{name}: nothing is removed, because it is not certain which data belong to it: {doubt}");
    }
    ensure!(
        !data.guessed,
        "{name}: nothing is removed, because only its length suggests that {shown} of the current folder belongs to it: remove that file, or move it to the folder of the header"
    );
    if let Some(other) = data.of_other {
        job.warn(&format!(
            "{shown} is not removed: it holds the data of {}, and the header {name} names it as well",
            other.display()
        ));
        return Ok(());
    }
    match fs::symlink_metadata(&data.path) {
        Ok(meta) if meta.is_file() || meta.is_symlink() => fs::remove_file(&data.path)
            .with_context(|| format!("cannot remove data file {shown} of {name}"))?,
        Ok(_) => job.warn(&format!("{shown} is not removed: it is not a regular file")),
        Err(error) => job.warn(&format!("data file {shown} of {name}: {error}")),
    }
    Ok(())
}
