//! The parameters of the velocity-stress programs, each declared once.

use super::accuracy::{ERROR, PATH};
use crate::modelling::exact_time::TDC;
use crate::modelling::params::{
    CFL, CHECKPOINT, COORDINATES, EVERY, EXCHANGE, FINISHED, FLAT, GROUPS, JCHECK, JDATA, JSNAP, OF_MESHES,
    PEAK_ELSEWHERE, RESUME, SHOTS, SNAP, STEPS_ELSEWHERE, TILE, WFL,
};
use rsf_io::{Param, Program};

/// The text of the COMMENTS section of the documentation.
const COMMENTS: &str = "\
Solves the elastic wave equation for velocity and stress on the standard staggered grid, by finite differences of order \
2, 4 or 8 in space and 2 in time. The medium may be isotropic, VTI or orthorhombic, and may contain fluids (vs=0). With \
time steps near the stability limit waves arrive too early, most visibly with order=8. tdc=y removes this error from the \
records; without tdc=y half of the limit, which verb=y prints, is a good step.

error= and path= choose the finite-difference weights instead of order= and fd=: error=0.01 path=100 allows phases to \
be wrong by a hundredth of a period after 100 of the shortest wavelengths (at the highest frequency of the sources in \
the slowest rock). The program takes the cheapest order that achieves this, with the best weights for these waves \
(minimax), and tdc=y. If order=, fd= or tdc= is given, it is kept; a run that cannot be this accurate is refused, with \
advice on settings. verb=y and plan=y print the largest errors from space and time steps in smooth rock, and a \
spacing and a step that would suffice. Interfaces and free surfaces cause additional errors.

The medium is given by vp=, vs= and den=, or by ccc= (stiffness planes on the axis after the grid axes, as sfstiffness \
writes them) and den=. The axes are z (downwards), x[, y]. All units are SI: m, s, m/s, kg/m3, Pa, N, N m; a model in km or \
g/cm3 causes a warning, because amplitudes would be wrong. Use vp=/dev/stdin for a model from a pipe. sou= and rec= \
are lists of points: n1 holds the coordinates x, z (in 3-D x, y, z), n2 is the number of points. Points may lie anywhere \
between the nodes.

layers= is a text file with a model of flat layers instead: each row has the depth of the top of a layer (z, in m), vp, \
vs, density and, optionally, Qp and Qs (0 means no attenuation), from the top down; lines that begin with # are \
comments, and the first other line may be a heading. n1=, d1= and so on define the grid. The first layer also fills the \
nodes above it. Every node has the rock of its layer, so an interface should lie half way between two nodes (sflayers \
averages cells that are cut).

cmt=, force=, quakeml= and stations= (3-D) take the sources from a CMTSOLUTION, FORCESOLUTION or QuakeML file and the \
receivers from a STATIONS or StationXML file. Latitude is y, to the north, and longitude is x, to the east, in metres; \
with utm= or epsg= they are degrees of WGS84, which that projection maps to x and y (QuakeML and StationXML always \
have degrees). Depth and burial are measured from the top nodes of the model, and elevations have no effect; with \
depth=z they are measured from z=0, and the z of a station is burial minus elevation. Moments grow as 1 + erf(1.628 t \
/ half duration) about their centroid times; the earliest centroid time is the time zero of the records, and the run \
begins before it, so that o3 is negative. A half duration is at least 5 steps; if QuakeML has none, it follows the \
Global CMT catalogue, 1.05e-8 times the cube root of the moment in dyne cm. stf=, freq= and tau= replace this time \
function by another one about the same centroid times, and series= by samples that keep their own times. Records of \
motion at stations have the components Z (up), N, E (records of rotation and strain keep the axes of the grid), and \
the header has their names and the origin time. See also the help of sfsem3d-gpu.

A third axis of sou= counts shots, and so does a third axis of rec= if the receivers move with the shot. The shots run \
one after another in the same model, which is read once (on GPUs once per shot), with the same mechanisms and time \
functions, and the data have a last axis of shots. shots= picks some of them, counted from 1 as in all messages: the \
data hold only these, in the order of the survey. Their last axis counts from 0, like the axis of the whole survey, if \
the shots are evenly spaced, and shots in the header lists their numbers. A shot that fails is reported and its traces \
are zero; the other shots still run, and the exit code is 1. With several shots finished= takes the data of an earlier \
run of the survey, which may have been stopped or killed: its shots are copied, and only shots that are missing or \
zero are modelled. Parameters, model, points and time functions must be the same as in that run: its header has their \
checksums, for which a survey reads its model once more. If further quantities have separate files, \
finished=data.rsf,p.rsf names the data and then these files of the earlier run, whose names must differ from those of \
this run. Snapshots, pgv=, checkpoint= and resume= are available for one shot only.

Several shots can run at the same time. gpu=0,1,2,3 ngpu=1 models four shots at a time, each on one GPU, and so does \
groups=4 on the first four GPUs; with gpu=0,1,2,3 alone the four GPUs share every shot. On the CPU groups= divides the \
threads; each group has its own copy of the model. Several ranks take the shots in turn, and each models whole shots by \
itself; rank 0 writes the data. The data have the same bits for any number of groups and ranks.

Normal stresses lie on the nodes of the model, a velocity half a cell beyond its node along its own axis, and a shear \
stress half a cell beyond its node along both of its axes. Values at receivers are interpolated from these points, \
which at a sea floor lie in water and in rock: put hydrophones on the last row of water, and use a mesh for the \
horizontal motion of the floor, which is wrong on the first row of rock, by half close to the source. Snapshots are the \
values on the staggered nodes. Densities are averaged arithmetically and shear stiffnesses harmonically. With free=y \
there is a free surface at the top nodes of the model.

Each value of the model fills the cell around its node, so an interface lies half way between two planes of different rock. \
A cell that is cut by an interface needs the averages of its rocks. For a horizontal interface these are VTI (Backus): \
den=<rho>, c33=1/<1/M>, c55=1/<1/mu>, c66=<mu>, c13=<1-2mu/M> c33, c11=<4mu(1-mu/M)>+<1-2mu/M>^2 c33, with M=rho vp^2 and \
mu=rho vs^2. sflayers and sfupscale make models with such cells, for interfaces of any dip.

Sources (src=): moment is a moment tensor mxx= ... in N m along the axes of the grid, with z downwards; dc is a double \
couple with strike=, dip= and rake= in degrees and the moment m0= (Aki and Richards: x north, y east, z down; xaz= turns x; \
a grid with x east and y north is left-handed and needs strike 270-s and rake 180-r); explosion has the moment m0=; force is \
fx= ... in N, positive along the axes. In 2-D strengths are per metre across the plane, and only the components in the plane \
act. mech= gives every source its own strength: n2 sources with n1 = 6 (xx yy zz xy xz yz), 4 (strike dip rake M0), 1 (M0) \
or 3 (force x, y, z; in 2-D n1 = 2, x z).

stf= is the time function of the sources: gauss, a moment rate exp(-(t-4 tau)^2/(2 tau^2))/sqrt(2 pi tau^2); brune, a moment \
rate t/tau^2 exp(-t/tau); cosine, a moment rate (1-cos(2 pi t/tau))/tau up to tau; ricker, a moment (not a moment rate) that \
is a Ricker wavelet of freq= with its peak at 1.2/freq. A force has the same time functions, scaled to a maximum of one. \
series= gives samples instead: n1 times with d1 and o1 (a cubic spline goes through samples that are further apart than the steps), and n2 = 1 or one series for every source. They are the moment rate \
divided by the moment, in 1/s, or the force divided by its strength. onset= delays every source by a time in seconds; n1 is \
the number of sources.

Output: n1 receivers, n2 components z, x[, y] (positive along the axes, so z is positive downwards), n3 records. \
Pressure has one component, which is minus the mean of the normal stresses in fluids and rock: -(lambda+2mu/3) div u \
in 3-D and, because 2-D has only two of them, -(lambda+mu) div u in 2-D; strain has zz, xx, yy, zx, zy, xy (in 2-D zz, \
xx, zx), the components of the tensor, positive for extension. Rotation is half the curl, in rad, about z, x, y (in \
2-D about y). data=das is the strain along the fibre direction along=, positive for extension, averaged over gauge= \
metres around the receiver: the difference of the displacements of the two ends of the gauge along the fibre, divided \
by its length. o3 is the time of the first record: velocities are known half a step before the stresses of the same \
record. Further quantities of the same run are written to separate files, as in data=velocity pressure=p.rsf \
displacement=u.rsf, with the same bits as in separate runs. dtout= resamples all of them to the same times, from 0 \
(the beginning of the run) on; before that, frequencies above the new Nyquist frequency are removed (with a warning if \
the sources have them), and those above 0.68 of it are weakened. Where waves still arrive at the end of the run, the \
last three or four samples are inexact, because the filter needs later records. tdc=y changes the time \
functions of the sources before the run and all records after it so that the records have exact time at any stable \
step. Time functions must begin at rest and have no frequencies above 1/(pi dt). Records stay in memory until the end \
of the run, which takes a few steps more, and the last lines of plan=y and verb=y give the error of the time step. \
Snapshots and pgv= keep the time of the steps, as their headers say. With free=y, snap=y nqz=1 oqz=0 writes the motion \
of the whole surface.

absorb=cpml surrounds the model with nb= cells in which waves are damped by convolutional perfectly matched layers \
(Komatitsch and Martin 2007); faces= sets the number of cells for each face. absorb=sponge damps the fields directly \
(Cerjan 1985) and needs about twice as many cells. A face without cells is rigid. In some anisotropic media CPML is \
unstable by the criterion of Becache et al. (2003); then the run uses the sponge and prints a warning. In layered \
rock guided waves can grow in long runs, the sooner the wider the frame is: a warning names shots that end with growing \
records, which need absorb=sponge.

qp= and qs= add attenuation. Q is constant within 2 % over a band whose ends have a ratio of 4 with two mechanisms, 12 \
with three and 40 with four; with low and different qp and qs it varies more, by 3 % for qp=10 qs=5 and by 6 % for \
qp=20 qs=5 (three mechanisms). qmech=coarse needs only the memory of one mechanism, but Q of at least 20 in 3-D and 50 in \
2-D. With ccc= the normal stiffnesses relax with qp= and the shear stiffnesses with qs=; of a coupling c13, the part c13 \
+ 2 c55 relaxes with qp= and the part -2 c55 with qs=. Velocities increase with frequency, and the largest stable step \
becomes smaller.

The program runs on GPUs if there are any, otherwise on the CPU (device=). With ngpu= several GPUs share the grid; on the \
CPU ngpu= divides the grid into slabs. The result has the same bits for any number. A build with MPI also runs as several \
ranks (mpirun -n 4 sfvsfd3d-gpu ... ngpu=2). Each rank uses ngpu= GPUs of its host, or its share of the cores. One shot is \
divided among them: each rank reads its own part of the model (but all of qp= and qs=) and writes its own part of the \
snapshots; rank 0 writes the data and pgv=.";

/// The parameters that all programs of this method share, with those that a program adds for points, outputs, snapshots
/// and devices.
macro_rules! shared {
    ([$($where:expr),*] [$($outputs:expr),*] [$($more:expr),*] [$($machine:expr),*]) => {
        &[
            Param::input("vp").doc("P velocity, m/s"),
            Param::input("vs").doc("S velocity, m/s; 0 in a fluid"),
            Param::input("ccc").doc("stiffness planes on the axis after the grid axes, Pa, instead of vp= and vs="),
            $($where,)*
            Param::number_or_file("qp").doc("quality factor of P waves, a number or a file on the grid (with the axes of vp=); 0 means no attenuation"),
            Param::number_or_file("qs").doc("quality factor of S waves"),
            Param::choice("qmech", &["1", "2", "3", "4", "coarse"])
                .default("3")
                .doc("number of relaxation mechanisms in every cell; coarse: one in each cell, different in neighbouring cells (4 in 2-D, 8 in 3-D)"),
            Param::floats("qband").default_text("from a twelfth of the highest frequency of the sources to \
            that frequency").doc("lowest and highest frequency of the band in which Q is constant, Hz"),
            Param::float("qref").default_text("the middle of qband").doc("frequency for which vp= and vs= are given, Hz"),
            SHOTS,
            Param::int("nt").required().range(">= 1", Some(1.0), None).known_as(&STEPS_ELSEWHERE).doc("number of time steps"),
            Param::float("dt").required().doc("time step, s"),
            Param::choice("order", &["2", "4", "8"]).default("4").doc("order in space"),
            Param::choice("fd", &["taylor", "holberg"])
                .default("taylor")
                .doc("coefficients of the derivative; with holberg the group velocity is accurate to 0.1 % \
                down to 8.4 points per wavelength for order 4 and 3.7 for order 8"),
            ERROR,
            PATH,
            Param::choice("src", &["explosion", "moment", "dc", "force"]).default("explosion").doc("type of the sources"),
            Param::float("m0").default("1").doc("moment of an explosion or double couple, N m"),
            Param::float("mxx").default("0").doc("moment tensor, N m"),
            Param::float("mzz").default("0").doc("moment tensor, N m"),
            Param::float("mxz").default("0").doc("moment tensor, N m"),
            Param::float("fx").default("0").doc("force, N"),
            Param::float("fz").default("0").doc("force, N, downwards"),
            Param::float("strike").default("0").doc("strike of a double couple, degrees clockwise from north"),
            Param::float("dip").default("90").range("0 to 90", Some(0.0), Some(90.0)).doc("dip of the fault plane, degrees from the horizontal"),
            Param::float("rake").default("0").doc("angle from strike to slip in the fault plane, degrees"),
            Param::float("xaz").default("0").doc("azimuth of the x axis, degrees clockwise from north; y is 90 degrees further"),
            Param::input("mech").doc("strength of every source, instead of the parameters above"),
            Param::choice("stf", &["gauss", "ricker", "brune", "cosine"]).default("gauss").doc("time function of the sources"),
            Param::float("tau").doc("tau of gauss, brune and cosine, s"),
            Param::float("freq").known_as(&PEAK_ELSEWHERE).doc("peak frequency of ricker, Hz"),
            Param::input("series").doc("samples of the time function, instead of stf="),
            Param::input("onset").doc("delay of every source, s"),
            $($outputs,)*
            Param::string("data")
                .default("velocity")
                .doc("quantity that the receivers record: velocity, displacement, acceleration, pressure, \
                strain or rotation, and in the modelling programs das; snapshots hold velocities, or \
                pressure with data=pressure"),
            Param::bool("free").default("n").known_as(&["surface", "fs", "freesurf"]).doc("free surface at the top nodes of the model"),
            Param::choice("absorb", &["cpml", "sponge", "none"]).default("cpml").known_as(&["dabc", "abc"]).doc("method that absorbs waves in the frame"),
            Param::int("nb").known_as(&["npml", "pml", "nabs", "nbound"]).default("10").range("from 0 to 1000000", Some(0.0), Some(1e6)).doc("width of the frame on every face except a free surface, in cells"),
            Param::ints("faces").default_text("nb").range("from 0 to 1000000", Some(0.0), Some(1e6)).doc("width of the frame on top, bottom, low and high x[, low and high y], in cells"),
            Param::float("cpmlr").default("1e-5").range("above 0, below 1", Some(1e-30), Some(0.999)).doc("theoretical reflection coefficient of CPML"),
            Param::float("kappa").default("1").range(">= 1", Some(1.0), None).doc("largest kappa of CPML"),
            Param::float("fcpml").default_text("the dominant frequency of the sources").doc("frequency that sets alpha of CPML, Hz"),
            Param::float("edge").default("0.92").range("above 0, at most 1", Some(1e-6), Some(1.0)).doc("factor of the sponge in the outermost cells"),
            Param::bool("verb").default("n").doc("print grid, stability, speed and progress"),
            JDATA,
            TDC,
            $($more,)*
            CFL,
            JCHECK,
            Param::bool("plan").default("n").doc("print grid, memory, stability, dispersion and time, and do not run"),
            $($machine,)*
            Param::int("threads")
                .alias("ompnth")
                .default_text("OMP_NUM_THREADS, otherwise one for each core")
                .range("from 0 (one for each core) to 65536", Some(0.0), Some(65536.0))
                .doc("number of CPU threads"),
            OF_MESHES[0],
            OF_MESHES[1],
            OF_MESHES[2],
            OF_MESHES[3],
        ]
    };
}

pub(super) use shared;

pub(super) const DEN: Param = Param::input("den").known_as(&["rho", "ro"]).doc("density, kg/m3");
pub(super) const SOU: Param = Param::input("sou")
    .recipe(COORDINATES)
    .doc("source points x[, y], z; n3 shots");
pub(super) const REC: Param = Param::input("rec")
    .recipe(COORDINATES)
    .doc("receiver points x[, y], z; n3 shots, or 1 if all shots have the same");

/// A parameter of the grid of layers=.
const fn count(name: &'static str, doc: &'static str) -> Param {
    Param::int(name).range(">= 1", Some(1.0), None).doc(doc)
}

/// The parameters of the modelling programs.
macro_rules! params {
    ([$($where:expr),*] $($more:expr),*) => {
        shared!([
            DEN,
            Param::string("layers").doc("text file of flat layers instead of vp=, vs= and den=: rows of \
            depth of the top (m), vp, vs, density and, optionally, Qp and Qs"),
            count("n1", "with layers=: number of nodes along z"),
            count("n2", "with layers=: number of nodes along x"),
            Param::float("d1").doc("with layers=: spacing along z, m"),
            Param::float("d2").doc("with layers=: spacing along x, m"),
            Param::float("o1").default("0").doc("with layers=: first z, m"),
            Param::float("o2").default("0").doc("with layers=: first x, m"),
            $($where),*
        ] [
            WFL,
            Param::output("velocity").doc("file for the velocity, if data= is another quantity"),
            Param::output("displacement").doc("file for the displacement, in addition to data="),
            Param::output("acceleration").doc("file for the acceleration, in addition to data="),
            Param::output("pressure").doc("file for the pressure, in addition to data="),
            Param::output("strain").doc("file for the strain, in addition to data="),
            Param::output("rotation").doc("file for the rotation, in addition to data="),
            Param::output("das").doc("file for the strain along the fibre, in addition to data="),
            Param::input("along").doc("with data=das or das=: direction x[, y], z of the fibre, one for all receivers or one for each"),
            Param::float("gauge").default("0").range(">= 0", Some(0.0), None).doc("with data=das or das=: \
            length of the fibre over which the strain is averaged, m; 0: the strain at the receiver"),
            Param::float("dtout").default_text("jdata times dt").range("above 0", Some(1e-30), None).doc("interval between records, s: they are resampled to 0, dtout, 2 dtout and so on, after a filter against aliasing"),
            Param::output("pgv").doc("peak ground velocity: the largest horizontal speed at the top nodes of the model, axes x[, y]")
        ] [
            SNAP,
            JSNAP,
            Param::int("nqz").default_text("the model").range(">= 1", Some(1.0), None).doc("snapshot window: number of nodes along z"),
            Param::int("nqx").default_text("the model").range(">= 1", Some(1.0), None).doc("snapshot window: number of nodes along x"),
            Param::float("oqz").default_text("the model").doc("snapshot window: first z, moved to the nearest node"),
            Param::float("oqx").default_text("the model").doc("snapshot window: first x, moved to the nearest node")
            $(, $more)*
        ] [
            CHECKPOINT,
            EVERY,
            RESUME,
            FINISHED,
            Param::choice("device", &["auto", "gpu", "cpu"]).default("auto").doc("where to run; auto: on a GPU if there is one"),
            Param::ints("gpu").default_text("the first ngpu").range(">= 0", Some(0.0), None).doc("numbers of the GPUs to use, as in gpu=0,2"),
            Param::int("ngpu").default("1").range(">= 1", Some(1.0), None).doc("number of GPUs; on the CPU, \
            number of slabs into which the grid (or the part of each rank) is divided"),
            GROUPS,
            EXCHANGE,
            TILE
        ])
    };
}

/// Parameters of the 2-D program.
const PARAMS_2D: &[Param] = params!([SOU.required(), REC.required(), FLAT[0], FLAT[1], FLAT[2], FLAT[3]]);

/// Parameters of the 3-D program.
const PARAMS_3D: &[Param] = params!(
    [
        count("n3", "with layers=: number of nodes along y"),
        Param::float("d3").doc("with layers=: spacing along y, m"),
        Param::float("o3")
            .default("0")
            .doc("with layers=: first y, m"),
        SOU,
        REC,
        Param::string("cmt").doc("CMTSOLUTION file with moment tensors, instead of sou=; stf=, freq= and tau= replace its half durations"),
        Param::string("force").doc("FORCESOLUTION file with forces, instead of sou="),
        Param::string("quakeml").doc("QuakeML file with moment tensors, instead of sou=; needs utm= or epsg=; stf=, freq= and tau= replace its half durations"),
        Param::string("stations")
            .doc("STATIONS or StationXML file, instead of rec=; records of motion then have the components Z \
            (up), N, E, and rotation (z, x, y) and strain keep the axes of the grid; in StationXML the epoch of the \
            earthquake is used, otherwise the latest"),
        Param::choice("depth", &["ground", "z"])
            .default("ground")
            .doc("level from which depth and burial of cmt=, force=, quakeml= and stations= are measured; \
            ground: the top nodes of the model; z: z=0"),
        Param::string("utm").doc("UTM zone of the model, such as 11 or 11S: cmt=, force= and stations= then \
        have latitudes and longitudes"),
        Param::int("epsg").doc("EPSG code of the projection of the model, instead of utm=")
    ]
    Param::float("myy").default("0").doc("moment tensor, N m"),
    Param::float("mxy").default("0").doc("moment tensor, N m"),
    Param::float("myz").default("0").doc("moment tensor, N m"),
    Param::float("fy").default("0").doc("force, N"),
    Param::int("nqy")
        .default_text("the model")
        .range(">= 1", Some(1.0), None)
        .doc("snapshot window: number of nodes along y"),
    Param::float("oqy")
        .default_text("the model")
        .doc("snapshot window: first y, moved to the nearest node")
);

const USAGE: &str = "vp=vp.rsf vs=vs.rsf den=density.rsf sou=sources.rsf rec=receivers.rsf nt= dt= [snap=y wfl=snapshots.rsf] > data.rsf";

/// The declaration of `sfvsfd2d-gpu`.
pub static PROGRAM_2D: Program = Program {
    name: "sfvsfd2d-gpu",
    about: "Elastic modelling in 2-D (P-SV) for velocity and stress on a staggered grid",
    usage: USAGE,
    comments: COMMENTS,
    example: EXAMPLE_2D,
    params: PARAMS_2D,
};

/// The declaration of `sfvsfd3d-gpu`.
pub static PROGRAM_3D: Program = Program {
    name: "sfvsfd3d-gpu",
    about: "Elastic modelling in 3-D for velocity and stress on a staggered grid",
    usage: USAGE,
    comments: COMMENTS,
    example: EXAMPLE_3D,
    params: PARAMS_3D,
};

const EXAMPLE_2D: &str = "\
# 4 km x 2 km of rock under a free surface, an explosion at 200 m, receivers along the surface
sfspike n1=201 n2=401 d1=10 d2=10 mag=3000 > vp.rsf
sfspike n1=201 n2=401 d1=10 d2=10 mag=1730 > vs.rsf
sfspike n1=201 n2=401 d1=10 d2=10 mag=2200 > den.rsf
sfspike n1=2 nsp=2 k1=1,2 mag=1000,200 > sou.rsf
sfmath n1=2 n2=301 d2=10 output='(1-x1)*(x2+500)' > rec.rsf
sfvsfd2d-gpu vp=vp.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=2000 dt=0.001 free=y m0=1e12 stf=ricker freq=8 verb=y |
    sfwindow n2=1 | sftransp | sfgrey | sfpen";

const EXAMPLE_3D: &str = "\
# a strike slip of magnitude 5.3 under a free surface, as in Michea and Komatitsch (2010), on a small grid
sfspike n1=61 n2=121 n3=121 d1=100 d2=100 d3=100 mag=6000 > vp.rsf
sfspike n1=61 n2=121 n3=121 d1=100 d2=100 d3=100 mag=3460 > vs.rsf
sfspike n1=61 n2=121 n3=121 d1=100 d2=100 d3=100 mag=2700 > den.rsf
sfspike n1=3 nsp=3 k1=1,2,3 mag=2000,4000,2500 > sou.rsf
sfspike n1=3 nsp=3 k1=1,2,3 mag=10000,10000,0 > rec.rsf
sfvsfd3d-gpu vp=vp.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=1000 dt=0.008 free=y \\
    src=dc strike=0 dip=90 rake=0 m0=1e18 tau=0.15 verb=y | sfattr
# the same on three slabs, planned but not run
sfvsfd3d-gpu vp=vp.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=1000 dt=0.008 free=y \\
    src=dc m0=1e18 tau=0.15 ngpu=3 plan=y";
