//! The parameters of the linearised programs, including the parameters that they share with the modelling programs.

use super::super::accuracy::{ERROR, PATH};
use super::super::params::{DEN, REC, SOU, shared};
use crate::modelling::exact_time::TDC;
use crate::modelling::linearised::params::{CHECKPOINT, EVERY, RESUME};
use crate::modelling::params::{
    CFL, FLAT, GROUPS, JCHECK, JDATA, OF_MESHES, PEAK_ELSEWHERE, POINTS, SHOTS, STEPS_ELSEWHERE,
};
use rsf_io::{Param, Program};

/// The text of the COMMENTS section of the documentation.
const COMMENTS: &str = "\
This is a linear operator. With adj=n its input is a small change of the model and its output is the change in the data of \
sfvsfd2d-gpu or sfvsfd3d-gpu that this causes, to first order (the Born approximation). With adj=y its input is data and its \
output has the axes of the model. adj=y is the exact transpose of adj=n for every step of the discretised equations, so sfdottest \
finds the two dot products equal within rounding, and sfconjgrad can invert the operator.

All parameters that are not explained here have the same meaning as in the modelling program: model, sources, receivers, \
frame, free surface, attenuation, order, data=. The perturbation has the axes of the model and then an axis for the \
parameters that wrt= names, in that order and in SI units. Impedances are ip=rho*vp and is=rho*vs. With wrt=ccc,rho the \
planes of ccc= come first, in the order of their file, then rho; this is the only choice if the model is given by ccc=. \
A fluid stays a fluid: where vs is 0, a change of mu (c44, c55, c66) has no effect. The medium in the frame changes with \
the edge of the model. Time step, absorbing layers and quality factors do not change with the model.

The data have the axes of the modelling program: receivers, components, times. With adj=n they are only the change of \
the data, without the unperturbed waves. dtout= resamples them as in the modelling program. Data for adj=y may have \
any sampling and begin at any time: their times are given by their header (n3, o3, d3), and if these differ from the \
steps, the transpose of the resampling, with its filter, transfers the data to the steps. They must end within the nt= \
steps of the run.

tdc=y gives the data exact time as in the modelling program, at any stable step: the time functions of the sources are \
changed before the run and the records after it. adj=y is still the exact transpose, and takes data in exact time, \
like all field data. For the same accuracy, fewer steps must be run and kept than without tdc=y.

adj=y needs the waves in the model from the last step back to the first. memory= limits the memory for them: if all \
steps fit they are kept, otherwise as many as fit at a time, and the waves are computed again from checkpoints \
(Griewank and Walther 2000). With keep=steps the result has the same bits for any memory=, and in any case for any \
threads=. plan=y prints what is kept and how many steps are computed again. On a GPU memory= refers to the GPU's \
memory, and checkpoints that it cannot hold go to half of the free memory of the host. On the CPU disk= stores \
checkpoints in files in the folder scratch=, if that saves time; this does not change any bit either.

keep=boundary stores for each step only the waves in the frame and next to it (and below a free surface). Inside, the \
waves run backwards in time, from the last step to the first. This needs a fraction of the memory of keep=steps and one \
more run, and is not possible with attenuation. The result differs by rounding errors, for which the program reports a \
measure: how far the waves are from rest when they are back at the first step. With keep=auto the program takes the \
method that is faster with the available memory.

A shot runs on one GPU if there is any, otherwise on the CPU (device=). On a GPU adj=y is the transpose of adj=n on that \
GPU, and with keep=steps the result has the same bits for any memory=. CPU and GPU differ by the rounding of single \
precision. Use the same device for adj=n and adj=y of one inversion.

A third axis of sou= counts shots, and so does a third axis of rec= if the receivers move with the shot. The data then \
have a last axis of shots, and adj=y sums over the shots. shots= picks some of them; the data may contain the picked \
shots or all shots. Several shots can run at the same time: gpu=0,1,2,3 runs one on each of these GPUs, and groups=4 \
runs one on each of the first four GPUs or, on the CPU, on a quarter of the threads. If the model is small, one GPU \
runs as many shots side by side as fill it and as fit into its memory without running steps more often; groups= sets \
another number (adj=n runs one at a time). A build with MPI also runs as several ranks (mpirun -n 4 sfvsgrad2d-gpu \
...), which take the shots in turn; a single shot is shared by the GPUs of all ranks, by planes of the grid, and the \
result is bit-identical to the result on one GPU. memory= is for all shots that one GPU runs side by side; on the CPU \
memory= and disk= are for each running shot. Shots are added by a binary tree over their numbers, so the result has \
the same bits for any number of groups and ranks. checkpoint= saves the state after every shot (or at the interval \
every=), and resume= continues a run that was stopped or killed: with the same input, model and parameters the result \
has the same bits as in one run. With adj=n the state relies on the data file of the stopped run, which is \
continued.";

const MEMORY: Param = Param::float("memory")
    .default_text(
        "half of the free memory, divided by the number of shots that run at the same time; on a \
        GPU nine tenths of its free memory",
    )
    .range("above 0", Some(1e-9), None)
    .doc("memory for the waves that adj=y needs, GB: of each GPU, or of each shot that runs on the CPU");

const DISK: Param = Param::float("disk")
    .default("0")
    .range(">= 0", Some(0.0), None)
    .doc("disk space for checkpoints that memory= does not hold, GB (on the CPU only)");

const SCRATCH: Param = Param::string("scratch")
    .default_text("the folder of TMPDATAPATH or DATAPATH, otherwise the current one")
    .doc("folder for these checkpoints; no file is left in it");

const KEEP: Param = Param::choice("keep", &["steps", "boundary", "auto"])
    .default("steps")
    .doc(
        "waves that are kept in each step; steps: the waves in all cells; boundary: only the waves at the boundary of the \
        model, while waves inside it run backwards; auto: the faster of the two (for gradients and adj=y, \
        without qp= and qs=)",
    );

const WRT: Param = Param::choice("wrt", &["vp,vs,rho", "lambda,mu,rho", "ip,is,rho", "ccc,rho"])
    .default("vp,vs,rho")
    .doc("parameters that are perturbed; ccc,rho: the planes of ccc= and rho");

const DEVICE: Param = Param::choice("device", &["auto", "gpu", "cpu"])
    .default("auto")
    .doc("where to run; auto: on a GPU if there is one");

const GPU: Param = Param::ints("gpu")
    .default_text("the first")
    .range(">= 0", Some(0.0), None)
    .doc(
        "numbers of the GPUs to use, as in gpu=0,2; each of them, or each group of ngpu= GPUs, runs whole \
        shots",
    );

const NGPU: Param = Param::int("ngpu")
    .default("1")
    .range(">= 1", Some(1.0), None)
    .doc(
        "number of GPUs that share every shot by planes of the grid, with a bit-identical result: for grids \
        and reverse sweeps that do not fit into the memory of one GPU, or for shorter runs",
    );

const EXCHANGE: Param = Param::choice("exchange", &["auto", "host"]).default("auto").doc(
    "way in which GPUs of ranks that share a shot exchange planes; auto: by copies from GPU to GPU on \
    one host, otherwise by messages from host to host; host: always by messages",
);

const DTOUT: Param = Param::float("dtout")
    .default_text("jdata times dt")
    .range("above 0", Some(1e-30), None)
    .doc("interval of the data, s: the records are resampled to 0, dtout, 2 dtout and so on, as in sfvsfd2d-gpu");

const ADJ: Param = Param::bool("adj")
    .default("n")
    .doc("n: from a perturbation to data; y: from data to a perturbation");

/// The parameters that all programs of the method share, followed by the parameters of a program, in 2-D and in 3-D.
macro_rules! params {
    ($($own:expr),*; 2) => {
        shared!([DEN.required(), SOU.required(), REC.required()] [$($own,)* MEMORY, DISK, SCRATCH, KEEP, CHECKPOINT, EVERY, RESUME] [FLAT[0], FLAT[1], FLAT[2], FLAT[3]] [DEVICE, GPU, NGPU, GROUPS, EXCHANGE])
    };
    ($($own:expr),*; 3) => {
        shared!([DEN.required(), SOU.required(), REC.required()] [$($own,)* MEMORY, DISK, SCRATCH, KEEP, CHECKPOINT, EVERY, RESUME] [
            Param::float("myy").default("0").doc("moment tensor, N m"),
            Param::float("mxy").default("0").doc("moment tensor, N m"),
            Param::float("myz").default("0").doc("moment tensor, N m"),
            Param::float("fy").default("0").doc("force, N"),
            POINTS[0], POINTS[1], POINTS[2], POINTS[3]
        ] [DEVICE, GPU, NGPU, GROUPS, EXCHANGE])
    };
}

const WEIGHT: Param = Param::input("weight").doc(
    "weights of the data, on the same axes in the same order \
    (receivers, components, time[, shots]), for mutes and the like",
);

const MISFIT: Param = Param::output("misfit").doc("misfit of every shot, n1 = shots");

const KIND: Param = Param::choice("kind", &["squares", "correlation", "envelope"])
    .default("squares")
    .doc("what is compared: squared differences, normalised correlations of traces, or squared differences of envelopes");

const WAVELET: Param = Param::choice("wavelet", &["given", "estimate"])
    .default("given")
    .doc(
        "estimate: compare the data after a Wiener filter for each shot, which brings the modelled data \
        closest to the observed data",
    );

const DAMP: Param = Param::float("damp")
    .default("0.001")
    .range(">= 0", Some(0.0), None)
    .doc(
        "with wavelet=estimate: damping of the filter, as a fraction of the mean power of the modelled data",
    );

const SOURCE: Param = Param::output("source").doc(
    "with wavelet=estimate: estimated time functions in the form of series=: n1 times, n2 series, n3 shots",
);

const IMAGE: Param = Param::string("image")
    .default("pp")
    .doc("images, separated by commas: pp, ps, sp, ss (waves of the source, then of the data), energy");

const NHZ: Param = Param::int("nhz")
    .default("0")
    .range(">= 0", Some(0.0), None)
    .doc("space-lag gathers: number of lags along z on each side of zero, in cells");

const NHX: Param = Param::int("nhx")
    .default("0")
    .range(">= 0", Some(0.0), None)
    .doc("space-lag gathers: number of lags along x on each side of zero, in cells");

const NHY: Param = Param::int("nhy")
    .default("0")
    .range(">= 0", Some(0.0), None)
    .doc("space-lag gathers: number of lags along y on each side of zero, in cells");

const ILLUM: Param = Param::output("illum")
    .doc("illumination: the squared waves of the sources (for pp, pressure), summed over time");

const NORM: Param = Param::bool("norm")
    .default("y")
    .doc("divide the image by the illumination");

const EPS: Param = Param::float("eps")
    .default("0.001")
    .range(">= 0", Some(0.0), None)
    .doc("with norm=y: smallest illumination used as a divisor, as a fraction of the largest");

const USAGE: &str = "< perturbation.rsf vp=vp.rsf vs=vs.rsf den=density.rsf sou=sources.rsf rec=receivers.rsf nt= dt= adj=n > data.rsf";

const EXAMPLE: &str = "\
# an anomaly of 50 m/s in vp, its data, and whether the adjoint passes the dot-product test
sfspike n1=81 n2=121 d1=10 d2=10 mag=3000 > vp.rsf
sfspike n1=81 n2=121 d1=10 d2=10 mag=1730 > vs.rsf
sfspike n1=81 n2=121 d1=10 d2=10 mag=2200 > den.rsf
sfspike n1=2 nsp=2 k1=1,2 mag=600,20 > sou.rsf
sfmath n1=2 n2=101 d2=10 output='(1-x1)*(x2+100)+x1*20' > rec.rsf
sfspike n1=81 n2=121 n3=3 d1=10 d2=10 k1=41 k2=61 k3=1 mag=50 > dm.rsf
sfvsborn2d-gpu < dm.rsf vp=vp.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=600 dt=0.001 free=y stf=ricker freq=15 m0=1e12 > data.rsf
sfdottest sfvsborn2d-gpu mod=dm.rsf dat=data.rsf vp=vp.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=600 dt=0.001 free=y stf=ricker freq=15 m0=1e12";

/// A model, a source and receivers of the examples in 3-D.
macro_rules! volume {
    () => {
        "\
sfspike n1=31 n2=41 n3=31 d1=20 d2=20 d3=20 mag=3000 > vp.rsf
sfmath < vp.rsf output='input/1.73' > vs.rsf
sfmath < vp.rsf output=2200 > den.rsf
sfpoints x=400 y=300 z=40 > sou.rsf
sfpoints x=100:700:20 y=300 z=20 > rec.rsf
"
    };
}

/// Data of a model with a faster ball in it.
macro_rules! ball {
    () => {
        "\
sfmath < vp.rsf output='input*(1+0.1*exp(-((x1-300)^2+(x2-400)^2+(x3-300)^2)/8000))' > true.rsf
sfvsfd3d-gpu vp=true.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=400 dt=0.002 stf=ricker freq=4 m0=1e12 > observed.rsf
"
    };
}

const EXAMPLE_3D: &str = concat!(
    "# an anomaly of 50 m/s in vp, its data, and whether the adjoint passes the dot-product test\n",
    volume!(),
    "\
sfspike n1=31 n2=41 n3=31 n4=3 d1=20 d2=20 d3=20 k1=16 k2=21 k3=16 k4=1 mag=50 > dm.rsf
sfvsborn3d-gpu < dm.rsf vp=vp.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=400 dt=0.002 stf=ricker freq=4 m0=1e12 > data.rsf
sfdottest sfvsborn3d-gpu mod=dm.rsf dat=data.rsf vp=vp.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=400 dt=0.002 stf=ricker freq=4 m0=1e12"
);

/// The parameters and documentation of `sfvsborn2d-gpu`.
pub static PROGRAM_2D: Program = Program {
    name: "sfvsborn2d-gpu",
    about: "Linearised elastic modelling in 2-D for velocity and stress, and its exact adjoint",
    usage: USAGE,
    comments: COMMENTS,
    example: EXAMPLE,
    params: params!(ADJ, WRT, DTOUT; 2),
};

/// The parameters and documentation of `sfvsborn3d-gpu`.
pub static PROGRAM_3D: Program = Program {
    name: "sfvsborn3d-gpu",
    about: "Linearised elastic modelling in 3-D for velocity and stress, and its exact adjoint",
    usage: USAGE,
    comments: COMMENTS,
    example: EXAMPLE_3D,
    params: params!(ADJ, WRT, DTOUT; 3),
};

/// The text of the COMMENTS section of the programs for gradients.
const OF_GRADIENT: &str = "\
Models the shots of a survey, compares them with the data on standard input, and writes the gradient of the misfit \
with respect to the model. The gradient is exact for the discretised equations and is summed over the shots; its unit is \
the unit of the misfit divided by the unit of the parameter. sfvsborn2d-gpu explains the parameters. The misfit is \
printed, and misfit= receives its value for every shot.

weight= multiplies observed and modelled data before they are compared; zeros are a mute. kind= chooses the misfit. \
squares: half the sum of the squared differences. correlation: for each trace (each component of each receiver) one \
minus the normalised correlation of both traces, so that amplitudes have no effect (Choi and Alkhalifah 2012); a trace \
that is zero in the observed data has no effect either. envelope: half the sum of the squared differences of the \
envelopes of the traces (Bozdag and others 2011), which depends less on phases and helps if a model is wrong by more \
than half a period.

wavelet=estimate is for data whose source time function is not known. For each shot, the filter is computed that \
brings the modelled data, with weights, closest to the observed data (Pratt 1999); it is the same for all traces, and \
is damped by damp=. The filtered data are compared, and the gradient takes into account that the filter changes with \
the model. source= receives the time functions of stf= or series= after this filter, including onset=; for a run with \
an estimated source, extract its shot with sfwindow n3=1 and give the result as series= (without onset=). Choose stf= \
and onset= such that the initial time function has all frequencies of the data and is not too late, because sources \
cannot act before the first step. With tdc=y the misfit is computed for data in exact time, the gradient at any stable \
step equals the gradient of short steps, and source= has exact time.

The data have the axes of the modelling program and, with several shots (a third axis of sou=, and of rec= if the \
receivers move), a last axis of shots. Their times are given by their header (n3, o3, d3), so data of dtout= and field \
data that begin at 0 can be used unchanged: the modelled records are resampled to these times for the comparison. They \
must end within the nt= steps of the run. With shots= the data may contain the picked shots or all shots. The shots \
run one after another, and the model is read once. checkpoint= saves the sums after every shot (or at the interval \
every=), and resume= continues a survey that was stopped or killed, with the same bits.";

const USAGE_OF_GRADIENT: &str = "< data.rsf vp=vp.rsf vs=vs.rsf den=density.rsf sou=sources.rsf rec=receivers.rsf nt= dt= [misfit=misfit.rsf] > gradient.rsf";

const EXAMPLE_OF_GRADIENT: &str = "\
# observed.rsf contains data of the true model; the gradient at a smooth model, with respect to impedances
sfvsgrad2d-gpu < observed.rsf vp=smooth.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=600 dt=0.001 free=y stf=ricker freq=15 wrt=ip,is,rho misfit=misfit.rsf > gradient.rsf
# the same for a source that is not known, by correlation, and the estimated source
sfvsgrad2d-gpu < observed.rsf vp=smooth.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=600 dt=0.001 free=y stf=ricker freq=15 kind=correlation wavelet=estimate source=source.rsf > gradient.rsf";

const EXAMPLE_OF_GRADIENT_3D: &str = concat!(
    "# data of a model with a faster ball, and the gradient at the model without it\n",
    volume!(),
    ball!(),
    "\
sfvsgrad3d-gpu < observed.rsf vp=vp.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=400 dt=0.002 stf=ricker freq=4 m0=1e12 misfit=misfit.rsf > gradient.rsf"
);

/// The parameters and documentation of `sfvsgrad2d-gpu`.
pub static GRADIENT_2D: Program = Program {
    name: "sfvsgrad2d-gpu",
    about: "Misfit of a survey in 2-D and its gradient with respect to the elastic model",
    usage: USAGE_OF_GRADIENT,
    comments: OF_GRADIENT,
    example: EXAMPLE_OF_GRADIENT,
    params: params!(WRT, KIND, WEIGHT, WAVELET, DAMP, MISFIT, SOURCE; 2),
};

/// The parameters and documentation of `sfvsgrad3d-gpu`.
pub static GRADIENT_3D: Program = Program {
    name: "sfvsgrad3d-gpu",
    about: "Misfit of a survey in 3-D and its gradient with respect to the elastic model",
    usage: USAGE_OF_GRADIENT,
    comments: OF_GRADIENT,
    example: EXAMPLE_OF_GRADIENT_3D,
    params: params!(WRT, KIND, WEIGHT, WAVELET, DAMP, MISFIT, SOURCE; 3),
};

/// The text of the COMMENTS section of the programs for images.
const OF_IMAGE: &str = "\
Computes images by reverse-time migration. For every shot, waves are modelled forward in time in a smooth model and the \
recorded data are propagated backward in time; both are correlated, and the result is summed over the shots. The backward \
propagation is the exact transpose of the modelling program. sfvsborn2d-gpu explains the parameters.

image= names one or several images; several are on the last axis of the output. pp: P waves with P waves, by the \
pressure, which is the mean of the normal stresses; positive where the impedance increases. ps, sp: P waves of the \
source with S waves of the data, and S waves with P waves. P and S waves are separated by their potentials, and their \
force vectors are multiplied (Wang and McMechan 2015): the result has the same sign on both sides of a source for any \
dip, is positive where density and vs increase, and is zero at normal incidence. Recorded motion that is \
propagated backward generates waves of both kinds; waves of the wrong kind leave weaker images at other depths. ss: S \
waves with S waves, by their rotation. energy: all waves, by the energy norm (Rocha, Tanushev and Sava 2016), in which \
waves that were not reflected cancel. ps, sp and ss need an isotropic model (vp=, vs=). With norm=y each image is \
divided by its illumination: the squared waves of the sources that form it, summed over time.

nhz= and nhx= (in 3-D also nhy=) add axes of lags: the waves of the source are taken a lag h before a point and the \
waves of the data a lag h after it (Sava and Fomel 2006). If the model is right, reflectors are focused at h=0. On a \
GPU each image needs memory for one number per lag and cell of the model; plan=y prints the total.

The data must contain only reflections: mute the direct wave, or subtract data computed in the smooth model. They have \
the axes of the modelling program and, with several shots, a last axis of shots. Their times are given by their header \
(n3, o3, d3): data that are not sampled at the steps, such as field data, are transferred to the steps by \
the transpose of the resampling of dtout=. They must end within the nt= steps of the run. With tdc=y the waves of the \
sources and of the data have exact time, at any stable step. A smooth model does not create reflections; \
absorb=cpml without free=y also avoids echoes from the surface. checkpoint= saves the sums after every shot (or at the \
interval every=), and resume= continues a survey that was stopped or killed, with the same bits.";

const USAGE_OF_IMAGE: &str = "< reflections.rsf vp=smooth.rsf vs=vs.rsf den=density.rsf sou=sources.rsf rec=receivers.rsf nt= dt= [illum=light.rsf] > image.rsf";

const EXAMPLE_OF_IMAGE: &str = "\
# data of the true model minus the data of the smooth model
sfadd data.rsf smooth-data.rsf scale=1,-1 > reflections.rsf
sfvsrtm2d-gpu < reflections.rsf vp=smooth.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=600 dt=0.001 stf=ricker freq=15 > image.rsf
# P and S waves separately, and gathers of 21 lags along x
sfvsrtm2d-gpu < reflections.rsf vp=smooth.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=600 dt=0.001 stf=ricker freq=15 image=pp,ps nhx=10 > gathers.rsf";

const EXAMPLE_OF_IMAGE_3D: &str = concat!(
    "# the image of a faster ball, from its data minus the data of the model without it\n",
    volume!(),
    ball!(),
    "\
sfvsfd3d-gpu vp=vp.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=400 dt=0.002 stf=ricker freq=4 m0=1e12 > smooth-data.rsf
sfadd observed.rsf smooth-data.rsf scale=1,-1 > reflections.rsf
sfvsrtm3d-gpu < reflections.rsf vp=vp.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=400 dt=0.002 stf=ricker freq=4 m0=1e12 illum=light.rsf > image.rsf"
);

/// The parameters and documentation of `sfvsrtm2d-gpu`.
pub static IMAGE_2D: Program = Program {
    name: "sfvsrtm2d-gpu",
    about: "Elastic reverse-time migration in 2-D: images of P and S waves",
    usage: USAGE_OF_IMAGE,
    comments: OF_IMAGE,
    example: EXAMPLE_OF_IMAGE,
    params: params!(IMAGE, NHZ, NHX, ILLUM, NORM, EPS; 2),
};

/// The parameters and documentation of `sfvsrtm3d-gpu`.
pub static IMAGE_3D: Program = Program {
    name: "sfvsrtm3d-gpu",
    about: "Elastic reverse-time migration in 3-D: images of P and S waves",
    usage: USAGE_OF_IMAGE,
    comments: OF_IMAGE,
    example: EXAMPLE_OF_IMAGE_3D,
    params: params!(IMAGE, NHZ, NHX, NHY, ILLUM, NORM, EPS; 3),
};
