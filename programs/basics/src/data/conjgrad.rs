//! `sfconjgrad`: least-squares inversion of a linear operator by conjugate gradients.

use anyhow::{Context, Result, ensure};
use rsf_io::{Input, Job, Kind, Output, Param, Program, format_g};

use super::cube;
use super::operator::{self, Operator};

pub static SPEC: Program = Program {
    name: "sfconjgrad",
    about: "Least-squares inversion of a linear operator by conjugate gradients.",
    usage: "PROGRAM < data.rsf mod=model.rsf niter=10 key=value ... > model.rsf",
    comments: "Finds the model m that minimises the sum of the squares of L m - d, where d is standard input and L is \
the operator PROGRAM. Each of the niter= iterations runs PROGRAM and its adjoint once. mwt= is a weight of the \
model: m = mod0 + mwt p, and the iterations determine p. Where known= is not 0, the model keeps the value of mod0=, \
or zero. Each iteration prints the squared length of the gradient.\n\n\
PROGRAM is the name or path of the operator, and the parameters after it are passed on. It is started with adj=n (model \
in, data out) and with adj=y (data in, model out), and must read standard input and write standard output. The axes of \
standard input must be those that PROGRAM writes with adj=n, times included; a warning names axes that differ. Four datasets of \
the size of the model and three of the size of the data are held in memory.\n\n\
Differs from Madagascar: mod=, mwt=, known=, mod0= (or x0=) and niter= are not passed on to PROGRAM; a program that \
fails is an error; dot products are computed in double precision; with mwt= and mod0= the model is mod0 + mwt p, and \
not mwt (mod0 + p), whose data would differ from the fitted data; a gradient of zero ends the iterations.",
    example: "sfspike n1=100 k1=40 > m.rsf\nsfcausint < m.rsf > d.rsf\nsfconjgrad sfcausint < d.rsf mod=m.rsf niter=20 > found.rsf",
    params: &PARAMS,
};

static PARAMS: [Param; 7] = [
    Param::words("PROGRAM").doc("the operator, and its arguments without ="),
    Param::keys("key").doc("parameters of the operator"),
    Param::input("mod")
        .default_text("mod0")
        .doc("a dataset with the axes of the model; its elements are not used"),
    Param::input("mwt").doc("weight of the model"),
    Param::input("known")
        .doc("integers with the axes of the model: where they are not 0, the model is known"),
    Param::input("mod0")
        .alias("x0")
        .doc("initial model; zero if it is not given"),
    Param::int("niter")
        .default("1")
        .range(">= 0", Some(0.0), None)
        .doc("iterations"),
];

/// The operator on vectors, with the weight of the model and the mask of its known values.
struct Problem<'a> {
    job: &'a mut Job,
    operator: Operator,
    model: &'a Input,
    data: &'a Input,
    weight: Option<Vec<f32>>,
    known: Option<Vec<i32>>,
}

impl Problem<'_> {
    /// Multiplies by the weight of the model, if there is one.
    fn weigh(&self, values: &mut [f32]) {
        if let Some(weight) = &self.weight {
            values.iter_mut().zip(weight).for_each(|(x, w)| *x *= w);
        }
    }

    /// Applies the operator: L m.
    fn forward(&mut self, model: &[f32]) -> Result<Vec<f32>> {
        self.apply(false, model)
    }

    /// The gradient of half of the squared residual with respect to `p`: the weight times L' r, and 0 where
    /// the model is known.
    fn gradient(&mut self, residual: &[f32]) -> Result<Vec<f32>> {
        let mut gradient = self.apply(true, residual)?;
        self.weigh(&mut gradient);
        if let Some(known) = &self.known {
            let known = known.iter().zip(&mut gradient).filter(|(known, _)| **known != 0);
            known.for_each(|(_, x)| *x = 0.0);
        }
        Ok(gradient)
    }

    fn apply(&mut self, adjoint: bool, values: &[f32]) -> Result<Vec<f32>> {
        let (from, to) = match adjoint {
            false => (self.model, self.data),
            true => (self.data, self.model),
        };
        let give = |output: &mut Output| Ok(output.write(values)?);
        let take = |mut result: Input| Ok(result.read_all_f32()?);
        self.operator.apply(self.job, adjoint, (from, give), (to, take))
    }
}

/// The dot product in double precision.
fn dot(a: &[f32], b: &[f32]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

/// Replaces b with a + factor b.
fn add_to(b: &mut [f32], factor: f64, a: &[f32]) {
    for (b, a) in b.iter_mut().zip(a) {
        *b = (f64::from(*a) + factor * f64::from(*b)) as f32;
    }
}

/// Replaces b with b + factor a.
fn add(b: &mut [f32], factor: f64, a: &[f32]) {
    for (b, a) in b.iter_mut().zip(a) {
        *b = (f64::from(*b) + factor * f64::from(*a)) as f32;
    }
}

pub fn run(job: &mut Job) -> Result<()> {
    let operator = Operator::of(job)?;
    let iterations = job.int("niter")?;
    let mut data = job.stdin()?;
    let given = ["mod", "mod0"].into_iter().find(|key| job.has_input(key));
    let key =
        given.context("neither mod= nor mod0= is given: one of them must have the axes of the model")?;
    let model = job.input(key)?;
    cube::expect(&data, Kind::Float)?;
    cube::expect(&model, Kind::Float)?;
    let mut reals = |name: &str| -> Result<Option<Vec<f32>>> {
        if !job.has_input(name) {
            return Ok(None);
        }
        let mut file = job.input(name)?;
        operator::expect(&file, model.len(), &model.name())?;
        cube::in_order(&file, &model, 0)?;
        Ok(Some(file.read_all_f32()?))
    };
    let (weight, start) = (reals("mwt")?, reals("mod0")?);
    let known = match job.has_input("known") {
        false => None,
        true => {
            let mut file = job.input("known")?;
            cube::expect(&file, Kind::Int)?;
            operator::same_length(&file, model.len(), &model.name())?;
            cube::in_order(&file, &model, 0)?;
            Some(file.read_all::<i32>()?)
        }
    };
    let mut residual = data.read_all_f32()?;
    residual.iter_mut().for_each(|x| *x = -*x);
    let mut problem = Problem {
        job: &mut *job,
        operator,
        model: &model,
        data: &data,
        weight,
        known,
    };
    if let Some(start) = &start {
        let image = problem.forward(start)?;
        add(&mut residual, 1.0, &image);
    }
    let mut estimate = descend(&mut problem, residual, iterations)?;
    problem.weigh(&mut estimate);
    if let Some(start) = &start {
        add(&mut estimate, 1.0, start);
    }
    job.follow(&model);
    let mut output = job.output()?;
    output.write(&estimate)?;
    Ok(output.finish()?)
}

/// Runs the iterations (Hestenes & Stiefel 1952, for the normal equations) and returns the `p` that they
/// find.
fn descend(problem: &mut Problem<'_>, mut residual: Vec<f32>, iterations: i64) -> Result<Vec<f32>> {
    let mut model = cube::room::<f32>(usize::try_from(problem.model.len())?)?;
    let (mut direction, mut image) = (Vec::new(), Vec::new());
    let mut before = 0.0;
    for iteration in 1..=iterations {
        problem.job.say(&format!("iter {iteration} of {iterations}"));
        let gradient = problem.gradient(&residual)?;
        let length = dot(&gradient, &gradient);
        problem.job.say(&format!("grad={}", format_g(length, 6)));
        ensure!(
            length.is_finite(),
            "the gradient of iteration {iteration} is not finite: check the data and the operator"
        );
        if length == 0.0 {
            problem.job.say("the gradient is zero: nothing is left to do");
            break;
        }
        let mut step = gradient.clone();
        problem.weigh(&mut step);
        let change = problem.forward(&step)?;
        if direction.is_empty() {
            (direction, image) = (gradient, change);
        } else {
            let turn = length / before;
            add_to(&mut direction, turn, &gradient);
            add_to(&mut image, turn, &change);
        }
        let size = dot(&image, &image);
        if size == 0.0 {
            problem
                .job
                .say("the operator maps the gradient to zero: nothing is left to do");
            break;
        }
        add(&mut model, -length / size, &direction);
        add(&mut residual, -length / size, &image);
        before = length;
    }
    Ok(model)
}
