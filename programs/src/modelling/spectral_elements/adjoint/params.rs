//! The parameters of the programs for derivatives on meshes.

use super::super::params::{EARTH, MESH, SIDES, THREADS, counted, joined};
use crate::modelling::exact_time::TDC;
use crate::modelling::linearised::params::{CHECKPOINT, EVERY, RESUME};
use crate::modelling::params::{CFL, FLAT, GROUPS, JCHECK, JDATA};
use rsf_io::{Param, Program};

const COMMENTS: &str = "\
Models the shots of a survey on a mesh, compares them with the data on standard input, and writes the gradient of the \
misfit with respect to the model. It is the derivative of the discretised equations, summed over the shots, in the unit of \
the misfit divided by the unit of the parameter. The misfit is printed, and misfit= receives its value for every shot. \
The mesh, the model, sources, receivers, sides and the time step are given as for sfsem2d-gpu and sfsem3d-gpu, whose \
help explains them. The medium consists of solids, with or without attenuation (qp=, qs=), and fluids, with free, \
absorbing, sponge= and cpml= sides; the rock in these layers, or in those of the mesh, is held fixed. Records are \
displacement, velocity or acceleration in solids, or pressure in fluids. Quality factors, of materials= or of qp= and \
qs=, are held fixed, except that wrt=vp,vs,rho,qp,qs takes derivatives with respect to those of qp= and qs=; where \
they are 0 they have no derivative, and the fit of the mechanisms to the lowest of them is held fixed. The moment of \
explosions in fluids is held fixed.

on= gives the places of the parameters of the gradient. model: at the nodes of the grid of vp=, vs= and den=, by the \
transpose of their interpolation; the output has the axes of that grid (and then of the regions, if each has a grid). A \
parameter that has no grid has its gradient at the same nodes, as if it were interpolated from them, and so do the \
parameters of a wrt= other than vp,vs,rho. regions: one value for each region, with n1 counting regions. grid: at the \
nodes of a separate grid (nqz=, oqz=, dqz= and so on), as if the model were given there, for figures and for inversions \
that begin with constant regions. On a grid for all regions, nodes on interfaces or outside the mesh have the gradient \
zero: their share goes to neighbouring nodes of the same region. The last axis counts the parameters that wrt= names, in \
SI units: speeds, Lame's constants or impedances (ip=rho*vp, is=rho*vs), followed by the density at constant values of \
the other two. wrt=ccc,rho: the planes of ccc= in the order of their file, then the density; if the model is not on a \
grid of constants, c11 c12 ... c66 (in 2-D on a grid c11 c13 c15 c33 c35 c55). It is the only choice for rock that ccc= \
describes; if that rock attenuates, its constants are unrelaxed. Absorbing sides and the sponge follow the speeds; for \
wrt=ccc,rho they follow the Voigt means of a grid of constants, and are held fixed if there is none.

The data have the axes of the modelling program: receivers, components, times and, with several shots, a last axis of \
shots. Their times are given by their header (n3, o3, d3): if they differ from the times of the steps, the records are \
resampled to them. They must end within the nt= steps of the run, and data with the interval of the steps have as many \
records as the run. With stations= their components are Z, N, E. With shots= the data may contain the picked shots or \
all shots. weight= multiplies observed and modelled data before they are compared; zeros are a mute. kind= chooses the \
misfit. squares: half the sum of the squared differences. correlation: for each trace one minus the normalised \
correlation, so that amplitudes have no effect (Choi and Alkhalifah 2012). envelope: half the sum of the squared \
differences of the envelopes (Bozdag and others 2011). With tdc=y the misfit is computed for data in exact time.

sougrad= receives the derivatives with respect to the sources, shot by shot: to the components of the force or moment \
tensor along the axes of the mesh (fz fx [fy] in N or mzz mxx [myy] mxz [myz mxy] in N m; the time function is \
multiplied by them), to the position (z x [y], m) and to a delay t (s) of the time function; label1 of the file names \
them in this order. stfgrad= receives the derivatives with respect to the samples of each time function, of a force or \
a moment, as the modelling program applies it at the times of its steps. With rate=n these are the samples of series=; \
with rate=y (the default) a moment is the integral of series= up to its time. If a source lies on a side between \
elements, its derivative with respect to the position is computed in the element that contains it; for a moment it is \
the mean over all elements that share the position. In a fluid only the trace of a moment counts, and each diagonal \
component gets an equal share of it.

In a fluid the gradient with respect to the S speed is zero, and so are the gradients with respect to mu and to the S impedance.

The adjoint run needs the displacement of the forward wavefield from the last step to the first, and in fluids the \
pressure. memory= limits the memory for it: if all steps fit they are kept, otherwise as many as fit at a time, and \
steps are computed again from checkpoints (Griewank and Walther 2000). The gradient has the same bits for any memory= \
and threads=. plan=y prints what is kept and how many steps are computed again. If all steps are kept, a gradient takes \
three to three and a half times as long as the modelling of its shots; with checkpoints in a fifth of that memory it \
takes about four times as long.

The shots run one after another, on a GPU if there is one, otherwise on processors (device=). gpu=0,1,2,3 runs shots on \
four GPUs at the same time, and so does groups=4 on the first four GPUs or, on processors, with a quarter of the threads \
for each. GPUs and processors differ by the rounding of single precision. A build with MPI also runs as several ranks \
(mpirun -n 4 sfsemgrad2d-gpu ...), which take the shots in turn. Their sum has the same bits for any number of GPUs, \
groups and ranks. checkpoint= saves the sums after every shot (or at the interval every=), and resume= continues a \
survey that was stopped or killed, with the same bits.";

const USAGE: &str =
    "< data.rsf mesh=mesh.rsf sou=sources.rsf rec=receivers.rsf nt= dt= [misfit=misfit.rsf] > gradient.rsf";

const EXAMPLE: &str = "\
# data of a hill whose lower region is faster than in the starting model, and the gradient at the starting model
sfmath n1=201 o1=0 d1=20 output='200-150*exp(-((x1-2000)/400)^2)' > topo.rsf
sfhexmesh surfaces=2000,1000,topo.rsf layers=9,9 nx=40 curved=y rho=2300,2300 vp=3200,3000 vs=1800,1700 > true.rsf
sfhexmesh surfaces=2000,1000,topo.rsf layers=9,9 nx=40 curved=y rho=2300,2300 vp=3000,3000 vs=1700,1700 > start.rsf
sfspike n1=2 nsp=2 k1=1,2 mag=1200,300 > sou.rsf
sfmath n1=2 n2=61 d2=50 output='(1-x1)*(x2+500)+x1*300' > rec.rsf
sfsem2d-gpu mesh=true.rsf sou=sou.rsf rec=rec.rsf nt=1500 dt=0.001 m0=1e12 stf=ricker freq=6 > data.rsf
sfsemgrad2d-gpu < data.rsf mesh=start.rsf sou=sou.rsf rec=rec.rsf nt=1500 dt=0.001 m0=1e12 stf=ricker freq=6 on=grid nqz=101 nqx=201 > gradient.rsf";

const EXAMPLE_3D: &str = "\
# data of a box whose lower half is faster than in the starting model, and the gradient in its two regions at the starting model
sfhexmesh surfaces=1000,500,0 layers=3,3 nx=6 ny=6 xmin=0 xmax=1200 ymin=0 ymax=1200 rho=2300,2300 vp=3200,3000 vs=1800,1700 > truth.rsf
sfhexmesh surfaces=1000,500,0 layers=3,3 nx=6 ny=6 xmin=0 xmax=1200 ymin=0 ymax=1200 rho=2300,2300 vp=3000,3000 vs=1700,1700 > start.rsf
sfpoints x=300 y=600 z=300 > sou.rsf
sfpoints x=200:1000:50 y=500 z=0 > rec.rsf
sfsem3d-gpu mesh=truth.rsf sou=sou.rsf rec=rec.rsf nt=500 dt=0.003 m0=1e12 stf=ricker freq=2 > data.rsf
sfsemgrad3d-gpu < data.rsf mesh=start.rsf sou=sou.rsf rec=rec.rsf nt=500 dt=0.003 m0=1e12 stf=ricker freq=2 on=regions misfit=misfit.rsf > gradient.rsf
sfdisfil < gradient.rsf";

const BORN_COMMENTS: &str = "\
This is a linear operator. With adj=n its input is a small change of the model and its output is the change in the data of sfsem2d-gpu \
or sfsem3d-gpu that this causes, to first order (the Born approximation). With adj=y its input is data and its output has the axes of the \
model. adj=y is the exact transpose of adj=n for every step of the discretised equations, so sfdottest finds the two dot products equal \
within rounding, and sfconjgrad can invert the operator.

The mesh, the model, sources, receivers, sides and the time step are given as for sfsem2d-gpu and sfsem3d-gpu, whose \
help explains them. The medium consists of solids, with or without attenuation, and fluids, with free, absorbing, \
sponge= and cpml= sides; the rock in these layers, or in those of the mesh, is held fixed. Quality factors, of \
materials= or of qp= and qs=, are held fixed, except that wrt=vp,vs,rho,qp,qs perturbs those of qp= and qs=; where \
they are 0 they do not change, and the fit of the mechanisms to the lowest of them is held fixed. The moment of \
explosions in fluids is held fixed.

on= gives the places of the perturbation, or with adj=y of the result, and wrt= its parameters. on=model: at the nodes \
of the grid of vp=, vs=, den= or ccc=, from which it is interpolated like the model; on=regions: one value for each \
region, with n1 counting regions; on=grid: at the nodes of a separate grid (nqz=, oqz=, dqz= and so on). The last axis \
counts the parameters, in SI units. wrt=ccc,rho: the planes of ccc= in the order of their file, then the density; if \
the model is not on a grid of constants, c11 c12 ... c66 (in 2-D on a grid c11 c13 c15 c33 c35 c55). It is the only \
choice for rock that ccc= describes; if that rock attenuates, its constants are unrelaxed. Absorbing sides and the \
sponge follow the speeds; for wrt=ccc,rho they follow the Voigt means of a grid of constants, and are held fixed if \
there is none.

The data have the axes of the modelling program: receivers, components, times and, with several shots, a last axis of \
shots. With adj=n they are only the change of the data, without the unperturbed waves. With adj=y their times are \
given by their header (n3, o3, d3): if they differ from the times of the steps, the transpose of the resampling \
transfers them to the steps. tdc=y gives them exact time, and adj=y remains the exact transpose. adj=y sums over the \
shots.

adj=n advances two wavefields together. adj=y needs the forward wavefield from the last step to the first. memory= limits the memory for it: \
if all steps fit they are kept, otherwise as many as fit at a time, and steps are computed again from checkpoints (Griewank and Walther 2000). The result has \
the same bits for any memory= and threads=.

The shots run one after another, on a GPU if there is one, otherwise on processors (device=). gpu=0,1,2,3 runs shots on \
four GPUs at the same time, and so does groups=4 on the first four GPUs or, on processors, with a quarter of the threads \
for each. GPUs and processors differ by the rounding of single precision. A build with MPI also runs as several ranks \
(mpirun -n 4 sfsemborn2d-gpu ...), which take the shots in turn. Their sum has the same bits for any number of GPUs, \
groups and ranks. checkpoint= saves the sums after every shot (or at the interval every=), and resume= continues a \
survey that was stopped or killed, with the same bits. With adj=n the state relies on the data file of the stopped run, \
which is continued.";

const BORN_USAGE: &str =
    "< perturbation.rsf mesh=mesh.rsf sou=sources.rsf rec=receivers.rsf nt= dt= [adj=n] > data.rsf";

const BORN_EXAMPLE: &str = "\
# the change of the data, to first order, if the S speed in the lower of two regions increases by 1 %, and the test \
of the transpose
sfmath n1=201 o1=0 d1=20 output='200-150*exp(-((x1-2000)/400)^2)' > topo.rsf
sfhexmesh surfaces=2000,1000,topo.rsf layers=9,9 nx=40 curved=y rho=2300,2300 vp=3200,3000 vs=1800,1700 > mesh.rsf
sfspike n1=2 nsp=2 k1=1,2 mag=1200,300 > sou.rsf
sfmath n1=2 n2=61 d2=50 output='(1-x1)*(x2+500)+x1*300' > rec.rsf
sfspike n1=2 n2=3 nsp=1 k1=1 k2=2 mag=18 > change.rsf
sfsemborn2d-gpu < change.rsf mesh=mesh.rsf sou=sou.rsf rec=rec.rsf nt=1500 dt=0.001 m0=1e12 stf=ricker freq=6 > data.rsf
sfdottest sfsemborn2d-gpu mod=change.rsf dat=data.rsf mesh=mesh.rsf sou=sou.rsf rec=rec.rsf nt=1500 dt=0.001 m0=1e12 stf=ricker freq=6";

const BORN_EXAMPLE_3D: &str = "\
# the change of the data, to first order, if the S speed in the lower of two regions increases by 1 %, and the test \
of the transpose
sfhexmesh surfaces=1000,500,0 layers=3,3 nx=6 ny=6 xmin=0 xmax=1200 ymin=0 ymax=1200 rho=2300,2300 vp=3200,3000 vs=1800,1700 > box.rsf
sfpoints x=300 y=600 z=300 > sou.rsf
sfpoints x=200:1000:50 y=500 z=0 > rec.rsf
sfspike n1=2 n2=3 nsp=1 k1=1 k2=2 mag=18 > change.rsf
sfsemborn3d-gpu < change.rsf mesh=box.rsf sou=sou.rsf rec=rec.rsf nt=500 dt=0.003 m0=1e12 stf=ricker freq=2 > data.rsf
sfdottest sfsemborn3d-gpu mod=change.rsf dat=data.rsf mesh=box.rsf sou=sou.rsf rec=rec.rsf nt=500 dt=0.003 m0=1e12 stf=ricker freq=2";

/// The parameters of derivatives, and the memory for the stored wavefield.
const OWN: &[Param] = &[
    Param::string("data")
        .default("velocity")
        .doc("quantity of the data: velocity, displacement, acceleration, or pressure in fluids"),
    Param::choice(
        "wrt",
        &[
            "vp,vs,rho",
            "lambda,mu,rho",
            "ip,is,rho",
            "ccc,rho",
            "vp,vs,rho,qp,qs",
        ],
    )
    .default("vp,vs,rho")
    .doc(
        "parameters of the derivatives; ccc,rho: constants of the Voigt matrix and density; qp,qs: also \
        the quality factors of these names",
    ),
    Param::choice("on", &["auto", "model", "regions", "grid"])
        .default("auto")
        .doc(
            "places of these parameters; model: at the nodes of the grid of vp=, vs=, den=; regions: one \
            set for each region; grid: at the nodes of nqz=, nqx= ...; auto: model if there is a grid, otherwise \
            regions",
        ),
    Param::float("memory")
        .default_text(
            "half of the free memory, divided by the number of shots that run at the same time; on \
            a GPU nine tenths of its free memory",
        )
        .range("above 0", Some(1e-9), None)
        .doc(
            "memory for the stored forward wavefield and its checkpoints, GB: of each GPU, or of each shot \
            that runs on processors; the mesh and its fields need additional memory",
        ),
    Param::int("nqz")
        .default("101")
        .range(">= 1", Some(1.0), None)
        .doc("on=grid: number of nodes along z"),
    Param::int("nqx")
        .default("101")
        .range(">= 1", Some(1.0), None)
        .doc("on=grid: number of nodes along x"),
    Param::float("oqz")
        .default_text("the mesh")
        .doc("on=grid: first z"),
    Param::float("oqx")
        .default_text("the mesh")
        .doc("on=grid: first x"),
    Param::float("dqz")
        .default_text("to the end of the mesh")
        .doc("on=grid: distance of the nodes along z"),
    Param::float("dqx")
        .default_text("to the end of the mesh")
        .doc("on=grid: distance of the nodes along x"),
    TDC,
    JDATA,
];

/// Where shots run.
const MACHINES: &[Param] = &[
    Param::choice("device", &["auto", "gpu", "cpu"])
        .default("auto")
        .doc("where to run; auto: on a GPU if there is one"),
    Param::ints("gpu")
        .default_text("the first")
        .range(">= 0", Some(0.0), None)
        .doc("numbers of the GPUs to use, as in gpu=0,2; each runs whole shots"),
    GROUPS,
];

/// The comparison of records with data.
const COMPARED: &[Param] = &[
    Param::choice("kind", &["squares", "correlation", "envelope"])
        .default("squares")
        .doc("what is compared: squared differences, normalised correlations of traces, or squared differences of envelopes"),
    Param::input("weight").doc("weights of the data, on the same axes in the same order (receivers, components, time[, shots]), for mutes and the like"),
];

/// Outputs in addition to the gradient.
const BESIDE: &[Param] = &[
    Param::output("misfit").doc("misfit of every shot, n1 = shots"),
    Param::output("sougrad").doc(
        "derivatives with respect to the strength, place and time of every source; n2 = sources, n3 = shots",
    ),
    Param::output("stfgrad").doc(
        "derivatives with respect to every sample of the time functions of the sources; n2 = sources, n3 = \
        shots",
    ),
];

/// The direction of the linear operator.
const DIRECTION: &[Param] = &[Param::bool("adj")
    .default("n")
    .doc("n: from a perturbation to data; y: from data to a perturbation")];

/// The third axis of that grid.
const GRID_3D: &[Param] = &[
    Param::int("nqy")
        .default("101")
        .range(">= 1", Some(1.0), None)
        .doc("on=grid: number of nodes along y"),
    Param::float("oqy")
        .default_text("the mesh")
        .doc("on=grid: first y"),
    Param::float("dqy")
        .default_text("to the end of the mesh")
        .doc("on=grid: distance of the nodes along y"),
];

/// States, messages and checks.
const CHECKS: &[Param] = &[
    CHECKPOINT,
    EVERY,
    RESUME,
    Param::bool("verb")
        .default("n")
        .doc("print mesh, stability, memory and, for several shots, progress"),
    CFL,
    JCHECK,
    Param::bool("plan")
        .default("n")
        .doc("print mesh, stability and memory, and do not run"),
];

const OF_GRADIENT_2D: &[&[Param]] = &[
    MESH, OWN, COMPARED, BESIDE, SIDES, &FLAT, CHECKS, MACHINES, THREADS,
];
const OF_GRADIENT_3D: &[&[Param]] = &[
    MESH, OWN, COMPARED, BESIDE, GRID_3D, SIDES, EARTH, CHECKS, MACHINES, THREADS,
];
const OF_BORN_2D: &[&[Param]] = &[MESH, DIRECTION, OWN, SIDES, &FLAT, CHECKS, MACHINES, THREADS];
const OF_BORN_3D: &[&[Param]] = &[
    MESH, DIRECTION, OWN, GRID_3D, SIDES, EARTH, CHECKS, MACHINES, THREADS,
];

/// The parameters and documentation of `sfsemgrad2d-gpu`.
pub static GRADIENT_2D: Program = Program {
    name: "sfsemgrad2d-gpu",
    about: "Misfit of a survey on a mesh in 2-D and its gradient with respect to the elastic model",
    usage: USAGE,
    comments: COMMENTS,
    example: EXAMPLE,
    params: &joined::<{ counted(OF_GRADIENT_2D) }>(OF_GRADIENT_2D),
};

/// The parameters and documentation of `sfsemgrad3d-gpu`.
pub static GRADIENT_3D: Program = Program {
    name: "sfsemgrad3d-gpu",
    about: "Misfit of a survey on a mesh in 3-D and its gradient with respect to the elastic model",
    usage: USAGE,
    comments: COMMENTS,
    example: EXAMPLE_3D,
    params: &joined::<{ counted(OF_GRADIENT_3D) }>(OF_GRADIENT_3D),
};

/// The parameters and documentation of `sfsemborn2d-gpu`.
pub static BORN_2D: Program = Program {
    name: "sfsemborn2d-gpu",
    about: "Linearised elastic modelling on a mesh in 2-D, and its exact transpose",
    usage: BORN_USAGE,
    comments: BORN_COMMENTS,
    example: BORN_EXAMPLE,
    params: &joined::<{ counted(OF_BORN_2D) }>(OF_BORN_2D),
};

/// The parameters and documentation of `sfsemborn3d-gpu`.
pub static BORN_3D: Program = Program {
    name: "sfsemborn3d-gpu",
    about: "Linearised elastic modelling on a mesh in 3-D, and its exact transpose",
    usage: BORN_USAGE,
    comments: BORN_COMMENTS,
    example: BORN_EXAMPLE_3D,
    params: &joined::<{ counted(OF_BORN_3D) }>(OF_BORN_3D),
};
