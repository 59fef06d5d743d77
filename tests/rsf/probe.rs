//! A small program that uses rsf-io, which the tests start as a separate process.

use std::thread::sleep;
use std::time::Duration;

use rsf_io::{
    Axis, Error, Form, Input, Job, Kind, NumberOrFile, Output, Param, Program, SharedData, Watch, Written,
    interrupted, start,
};

static PROBE: Program = Program {
    name: "rsf-probe",
    about: "Exercises the library as a program does",
    usage: "< in.rsf mode=copy > out.rsf",
    comments: "One paragraph\nof two lines.\n\n  kept   as it is",
    example: "rsf-probe mode=make n1=10 | rsf-probe > out.rsf",
    params: &[
        Param::choice(
            "mode",
            &[
                "copy", "make", "lines", "excess", "tags", "show", "early", "late", "panic", "short", "long",
                "slow", "watch", "part", "rest", "places", "all",
            ],
        )
        .default("copy")
        .doc("What to do."),
        Param::int("n1")
            .default("10")
            .range(">= 0", Some(0.0), None)
            .alias("count")
            .doc("Numbers to make."),
        Param::int("nqz").default_text("n1").doc("May be absent."),
        Param::float("scale").default("1").doc("Factor of reals."),
        Param::bool("verb").default("n").doc("Says what it does."),
        Param::ints("list").doc("Whole numbers."),
        Param::floats("reals").default("2*0.5,1").doc("Real numbers."),
        Param::string("label").doc("A label."),
        Param::choice("form", &["native", "xdr", "ascii"])
            .default_text("of the input")
            .doc("Form written."),
        Param::number_or_file("vp")
            .range("> 0", Some(1e-30), None)
            .doc("A speed."),
        Param::input("ccc").doc("A dataset to read."),
        Param::output("wfl").doc("A dataset to write."),
        Param::int("ompchunk").ignored().doc("For older scripts."),
    ],
};

fn main() -> std::process::ExitCode {
    start(&PROBE, run)
}

fn run(job: &mut Job) -> anyhow::Result<()> {
    if job.flag("verb")? {
        job.say(&format!("mode is {}", job.choice("mode")?));
    }
    match job.choice("mode")? {
        "copy" => copy(job),
        "tags" => tags(job),
        "show" => show(job),
        "slow" | "watch" => slow(job),
        "part" | "rest" => in_two_runs(job),
        "places" => places(job),
        "all" => {
            let bytes = job.stdin_for_all()?;
            job.set_stdin(&bytes)?;
            copy(job)
        }
        mode => make(job, mode),
    }
}

fn formed(job: &Job, mut output: Output) -> anyhow::Result<Output> {
    if job.given("form") {
        let mut format = output.format();
        format.form = match job.choice("form")? {
            "xdr" => Form::Xdr,
            "ascii" => Form::Ascii,
            _ => Form::Native,
        };
        output.set_format(format);
    }
    Ok(output)
}

/// Copies standard input to standard output, in pieces of an odd size.
fn copy(job: &mut Job) -> anyhow::Result<()> {
    let mut input = job.stdin()?;
    let output = job.output()?;
    let mut output = formed(job, output)?;
    output.put_note("rsf-probe n1=99", "device=\"none\"");
    if let Some(label) = job.text("label")? {
        output.put_text("label1", &label);
    }
    let scale = job.float("scale")?;
    match input.format().kind {
        Kind::Float => pass(&mut input, &mut output, |x: &mut f32| *x *= scale),
        Kind::Int => pass(&mut input, &mut output, |_: &mut i32| {}),
        Kind::Complex => pass(&mut input, &mut output, |_: &mut [f32; 2]| {}),
        Kind::Short => pass(&mut input, &mut output, |_: &mut i16| {}),
        Kind::Long => pass(&mut input, &mut output, |_: &mut i64| {}),
        Kind::Double => pass(&mut input, &mut output, |_: &mut f64| {}),
        Kind::Uchar | Kind::Char => pass(&mut input, &mut output, |_: &mut u8| {}),
    }?;
    Ok(output.finish()?)
}

fn pass<T: rsf_io::Element>(
    input: &mut Input,
    output: &mut Output,
    change: impl Fn(&mut T),
) -> rsf_io::Result<()> {
    while input.remaining() > 0 {
        let mut piece = vec![T::zeroed(); input.remaining().min(300_007) as usize];
        input.read(&mut piece)?;
        piece.iter_mut().for_each(&change);
        output.write(&piece)?;
    }
    Ok(())
}

/// Writes the values 0, 1, 2 ... to standard output, with the failures that the tests request.
fn make(job: &mut Job, mode: &str) -> anyhow::Result<()> {
    let n = job.int("n1")? as usize;
    let output = job.output()?;
    let mut output = formed(job, output)?;
    let tagged = if job.given("wfl") {
        Some(job.tagged_output("wfl")?)
    } else {
        None
    };
    output.set_axis(1, &Axis::new(n, 0.5, 0.004).label("Time").unit("s"));
    match mode {
        "early" => anyhow::bail!("stopped before the first number"),
        "panic" => panic!("a fault"),
        "lines" => return lines(output, n, n),
        "excess" => return lines(output, n, n + 1),
        _ => {}
    }
    let values: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let half = n / 2;
    output.write_f32(&values[..half])?;
    match mode {
        "late" => anyhow::bail!(anyhow::anyhow!("the cause\nof it").context("stopped in the middle")),
        "short" => return Ok(output.finish()?),
        _ => output.write_f32(&values[half..])?,
    }
    if mode == "key" {
        output.put_int("late", 1);
    }
    if mode == "long" {
        output.write_f32(&[1.0])?;
    }
    if let Some(mut tagged) = tagged {
        tagged.set_axis(1, &Axis::new(2, 0.0, 1.0));
        tagged.write_f32(&[1.0, 2.0])?;
        tagged.finish()?;
    }
    Ok(output.finish()?)
}

/// Writes the first `count` values as lines of text, in two pieces, with a header that says `n`.
fn lines(mut output: Output, n: usize, count: usize) -> anyhow::Result<()> {
    for piece in [0..n / 2, n / 2..count] {
        let elements = piece.len() as u64;
        let text: String = piece.map(|i| format!("{i}\n")).collect();
        output.write_text(text.as_bytes(), elements)?;
    }
    Ok(output.finish()?)
}

/// Writes records of three values, one every ten milliseconds, until all records are written or a watched signal
/// arrives.
fn slow(job: &mut Job) -> anyhow::Result<()> {
    let watch = (job.choice("mode")? == "watch").then(Watch::begin);
    let output = job.output()?;
    let mut output = formed(job, output)?;
    output.set_axis(1, &Axis::new(3, 0.0, 1.0));
    output.set_axis(2, &Axis::new(job.int("n1")? as usize, 0.0, 1.0));
    for record in 0..job.int("n1")? {
        if let Some(signal) = interrupted() {
            // This is half a record, which must not be used.
            output.write_f32(&[record as f32])?;
            let records = output.records(2)?.0;
            output.finish_at(2, records)?;
            let left = format!("{records} records are there");
            return Err(Error::Interrupted { signal, left }.into());
        }
        output.write_f32(&[record as f32; 3])?;
        output.flush()?;
        if record == 0 {
            job.say("it runs");
        }
        sleep(Duration::from_millis(10));
    }
    drop(watch);
    Ok(output.finish()?)
}

/// Writes the values 0, 1, 2 ... in two runs. The first run writes half of them, and their position into the file
/// `label=`; the second run, whose values are `scale=` times as large, continues after them.
fn in_two_runs(job: &mut Job) -> anyhow::Result<()> {
    let n = job.int("n1")? as usize;
    let note = job.text("label")?.unwrap_or_default();
    let first = job.choice("mode")? == "part";
    let written = if first {
        None
    } else {
        Some(Written::from_text(&std::fs::read_to_string(&note)?).ok_or(Error::Panic)?)
    };
    job.continue_outputs(written.clone());
    let output = job.output()?;
    let mut output = formed(job, output)?;
    output.set_axis(1, &Axis::new(n, 0.0, 1.0));
    let scale = job.float("scale")?;
    let values = |from: usize, to: usize| (from..to).map(|i| scale * i as f32).collect::<Vec<f32>>();
    let Some(written) = written else {
        output.write_f32(&values(0, n / 2))?;
        let there = output.so_far()?;
        std::fs::write(&note, there.to_text())?;
        job.say(&format!(
            "{} are there, piped {}, a file {}",
            there.elements(),
            output.is_piped(),
            output.data_file().is_some()
        ));
        return Ok(output.finish_at(1, (n / 2) as u64)?);
    };
    anyhow::ensure!(output.so_far()? == written, "the previous contents are lost");
    output.write_f32(&values(written.elements() as usize, n))?;
    Ok(output.finish()?)
}

/// Writes the values 0, 1, 2 ... at their positions, the last values first.
fn places(job: &mut Job) -> anyhow::Result<()> {
    let n = job.int("n1")? as usize;
    let output = job.output()?;
    let mut output = formed(job, output)?;
    output.set_axis(1, &Axis::new(n, 0.0, 1.0));
    let Some(shared) = output.share()? else {
        anyhow::bail!("this output has an order");
    };
    let again = SharedData::from_words(&shared.to_words());
    anyhow::ensure!(again.as_ref() == Some(&shared), "other words: {again:?}");
    anyhow::ensure!(SharedData::from_words(&[]).is_none(), "no words");
    let places = shared.open()?;
    anyhow::ensure!(places.data_file().is_some(), "no file");
    let values = |from: usize, to: usize| (from..to).map(|i| i as f32).collect::<Vec<f32>>();
    places.write_f32((n / 3) as u64, &values(n / 3, n))?;
    places.write_f32(0, &values(0, n / 3))?;
    places.finish()?;
    Ok(output.finish()?)
}

/// Copies `ccc=` to `wfl=`, reading by position from the end, and writes its sum to standard output.
fn tags(job: &mut Job) -> anyhow::Result<()> {
    let wavelet = job.stdin()?;
    let ccc = job.input("ccc")?;
    let mut wfl = job.tagged_output("wfl")?;
    let mut out = job.output()?;
    let mut values = vec![0.0f32; ccc.len() as usize];
    for i in (0..values.len()).rev() {
        ccc.read_f32_at(i as u64, &mut values[i..=i])?;
    }
    for i in 1..=ccc.rank() {
        wfl.set_axis(i, &ccc.axis(i));
    }
    wfl.set_rank(ccc.rank());
    wfl.write_f32(&values)?;
    wfl.finish()?;
    out.set_axis(1, &Axis::new(1, 0.0, 1.0));
    out.set_rank(1);
    out.put_int("from", wavelet.len() as i64);
    out.write_f32(&[values.iter().sum()])?;
    Ok(out.finish()?)
}

/// Prints every parameter on standard error.
fn show(job: &mut Job) -> anyhow::Result<()> {
    let speed = match job.number_or_file("vp")? {
        None => "none".to_string(),
        Some(NumberOrFile::Number(v)) => v.to_string(),
        Some(NumberOrFile::File(file)) => format!("{} with {}", file.name(), file.len()),
    };
    job.say(&format!(
        "n1={} nqz={:?} scale={} verb={} list={:?} reals={:?} label={:?} vp={speed} given={}",
        job.int("n1")?,
        job.int_opt("nqz")?,
        job.float("scale")?,
        job.flag("verb")?,
        job.ints("list")?,
        job.floats("reals")?,
        job.text("label")?,
        job.given("n1"),
    ));
    Ok(())
}
