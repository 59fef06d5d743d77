//! The parameters of the velocity-stress programs, each declared once.

use crate::modelling::params::{CFL, CHECKPOINT, EVERY, EXCHANGE, JCHECK, JDATA, JSNAP, RESUME, SNAP, WFL};
use rsf_io::{Param, Program};

/// Long text of the self-documentation.
const COMMENTS: &str = "\
Solves the elastic wave equation in velocity and stress on the standard staggered grid, order 2, 4 or 8 in space and 2 in \
time, for isotropic, VTI and orthorhombic media and fluids (vs=0). Time steps near the stability limit make waves early, most \
visibly with order=8: verb=y tells the limit, half of it is a good step.

The medium is vp=, vs= and den=, or ccc= (stiffness planes behind the grid axes, as sfstiffness writes them) and den=. Axes \
are z (down), x[, y]. Units are SI throughout: m, s, m/s, kg/m3, Pa, N, N m; a model in km or g/cm3 gets a warning and \
wrong amplitudes. A model from a pipe is vp=/dev/stdin. sou= and rec= are points, n1 = x, z (3-D: x, y, z), n2 = how many; they may lie anywhere between the nodes.

A third axis of sou=, or of rec= where the spread moves, is that of shots: all are run one after the other over a model that is read once (on GPUs once a shot), with the same mechanisms and \
histories, and the data have a last axis of shots. A shot that fails is told and leaves zeros, the others go on, and the exit code is 1. Snapshots, pgv=, checkpoint= and \
several ranks go with one shot.

Normal stresses sit on the nodes of the model, a velocity half a cell beyond its node along its own axis, a shear stress \
along both of its axes. Receivers are interpolated from there, snapshots are raw: as they are on the staggered nodes. Densities \
are averaged arithmetically, shear stiffnesses harmonically. free=y puts a free surface through the first row of the model.

A number of the model fills the cell around its node, so that an interface lies half way between two planes of different rock. A \
cell that an interface cuts is the mean of its rocks, which is VTI under a flat one (Backus): den=<rho>, c33=1/<1/M>, \
c55=1/<1/mu>, c66=<mu>, c13=<1-2mu/M> c33, c11=<4mu(1-mu/M)>+<1-2mu/M>^2 c33, M=rho vp^2, mu=rho vs^2.

Sources (src=): a moment tensor by mxx= ... in N m, grid axes, z down; a double couple by strike=, dip=, rake= in degrees \
and m0= (Aki and Richards: x north, y east, z down; xaz= turns x; a grid with x east and \
y north is left-handed and takes strike 270-s and rake 180-r); an explosion of moment m0=; a force by fx= ... in N, \
positive along the axes. In 2-D strengths are per metre across the plane and only the components in it act. mech= gives a \
strength to every source, n2 = sources and n1 = 6 (xx yy zz xy xz yz), 4 (strike dip rake M0), 1 (M0) or 3 (force x, y, z; \
2-D: 2, x z).

stf= is the history: gauss, a moment rate exp(-(t-4 tau)^2/(2 tau^2))/sqrt(2 pi tau^2); brune, a moment rate t/tau^2 \
exp(-t/tau); cosine, a moment rate (1-cos(2 pi t/tau))/tau up to tau; ricker, a moment (not its rate) that follows a Ricker \
wavelet of freq= with its peak at 1.2/freq. A force follows the same curves, scaled to a largest value of one. series= \
gives samples instead, n1 times with d1, o1 and n2 = 1 or one series a source: moment rate over moment in 1/s, or force \
over strength. onset= delays every source, n1 = sources, in seconds.

Output: n1 receivers, n2 components z, x[, y] (positive along the axes, z downwards; pressure has one; strain zz, xx, yy, zx, zy, xy, 2-D zz, xx, zx, of the tensor, extension positive), n3 records; o3 says \
when the first is taken: velocities half a step after the stresses. snap=y nqz=1 oqz=0 with free=y writes maps of the surface in \
time.

absorb=cpml stretches every derivative in nb= cells around the model (Komatitsch and Martin 2007); faces= gives every face \
its own number. absorb=sponge damps there (Cerjan 1985); take twice the cells. Faces without cells are rigid. In some \
anisotropic media CPML grows: where the criterion of Becache et al. (2003) says so, the run takes the sponge and tells it.

qp= and qs= attenuate: Q is constant within 2 % over a band of a ratio of 4 with two mechanisms, 12 with three, 40 with four; qmech=coarse spends the memory of one and wants Q of 20 in 3-D and 50 in 2-D or more. With ccc= the normal stiffnesses relax by qp=, the shears by qs=, of a \
coupling c13 the part c13 + 2 c55 by qp= and -2 c55 by qs=. Speeds grow with frequency, and with them the stability limit falls.

It runs on GPUs where there are any, else on the CPU: device=. ngpu= GPUs share the grid; on the CPU it cuts the grid into \
slabs. Any number gives the same bits. \
A build with MPI also runs as several ranks (mpirun -n 4 sfvsfd3d-gpu ... ngpu=2): each takes ngpu= GPUs of its host, or its \
share of the cores, reads its own part of the model (qp= and qs= whole) and writes its own part of the snapshots; rank 0 writes the data and pgv=.";

/// What all programs of this method have, with what a program adds: outputs, what follows them, and the machine.
macro_rules! shared {
    ([$($outputs:expr),*] [$($more:expr),*] [$($machine:expr),*]) => {
        &[
            Param::input("vp").doc("P speed, m/s"),
            Param::input("vs").doc("S speed, m/s; 0 is a fluid"),
            Param::input("ccc").doc("stiffness planes behind the grid axes, Pa, instead of vp= and vs="),
            Param::input("den").required().doc("density, kg/m3"),
            Param::number_or_file("qp").doc("quality factor of P waves, a number or a file on the grid; 0 is no loss"),
            Param::number_or_file("qs").doc("quality factor of S waves"),
            Param::choice("qmech", &["1", "2", "3", "4", "coarse"])
                .default("3")
                .doc("relaxation mechanisms: so many in every cell, or one a cell, 4 (2-D) or 8 (3-D) in turn"),
            Param::floats("qband").default_text("a twelfth of the sources' highest frequency to that").doc("frequencies between which Q is constant, Hz"),
            Param::float("qref").default_text("the middle of qband").doc("frequency at which vp= and vs= hold, Hz"),
            Param::input("sou").required().doc("source points, x[, y], z; n3 shots"),
            Param::input("rec").required().doc("receiver points, x[, y], z; n3 shots, or 1 for all"),
            Param::int("nt").required().range(">= 1", Some(1.0), None).doc("steps"),
            Param::float("dt").required().doc("time step, s"),
            Param::choice("order", &["2", "4", "8"]).default("4").doc("order in space"),
            Param::choice("fd", &["taylor", "holberg"])
                .default("taylor")
                .doc("weights of the derivative; holberg: group velocity within 0.1 % down to 8.4 points a wavelength in order 4, 3.7 in order 8"),
            Param::choice("src", &["explosion", "moment", "dc", "force"]).default("explosion").doc("what the sources are"),
            Param::float("m0").default("1").doc("moment of an explosion or double couple, N m"),
            Param::float("mxx").default("0").doc("moment tensor, N m"),
            Param::float("mzz").default("0").doc("moment tensor, N m"),
            Param::float("mxz").default("0").doc("moment tensor, N m"),
            Param::float("fx").default("0").doc("force, N"),
            Param::float("fz").default("0").doc("force, N, downwards"),
            Param::float("strike").default("0").doc("of a double couple, degrees"),
            Param::float("dip").default("90").range("0 to 90", Some(0.0), Some(90.0)).doc("of a double couple, degrees"),
            Param::float("rake").default("0").doc("of a double couple, degrees"),
            Param::float("xaz").default("0").doc("azimuth of the x axis, degrees clockwise from north; y is 90 degrees further"),
            Param::input("mech").doc("strengths of every source, instead of the parameters above"),
            Param::choice("stf", &["gauss", "ricker", "brune", "cosine"]).default("gauss").doc("history of the sources"),
            Param::float("tau").doc("time of gauss, brune and cosine, s"),
            Param::float("freq").doc("peak frequency of ricker, Hz"),
            Param::input("series").doc("history of the sources as samples, instead of stf="),
            Param::input("onset").doc("when every source begins, s"),
            $($outputs,)*
            Param::choice("data", &["velocity", "displacement", "acceleration", "pressure", "strain"])
                .default("velocity")
                .doc("what receivers record; snapshots are velocities, with data=pressure pressure"),
            Param::bool("free").default("n").doc("free surface at the first row of the model"),
            Param::choice("absorb", &["cpml", "sponge", "none"]).default("cpml").doc("what the frame does"),
            Param::int("nb").default("10").range(">= 0", Some(0.0), Some(1e6)).doc("cells of frame on every face, but not on a free surface"),
            Param::ints("faces").default_text("nb").range(">= 0", Some(0.0), Some(1e6)).doc("cells of frame on top, bottom, low and high x[, low and high y]"),
            Param::float("cpmlr").default("1e-5").range("above 0, below 1", Some(1e-30), Some(0.999)).doc("reflection of the layers in theory"),
            Param::float("kappa").default("1").range(">= 1", Some(1.0), None).doc("largest kappa of the layers"),
            Param::float("fcpml").default_text("the sources' dominant one").doc("frequency of the layers' alpha, Hz"),
            Param::float("edge").default("0.92").range("above 0, at most 1", Some(1e-6), Some(1.0)).doc("weight of the sponge at the outermost cells"),
            Param::bool("verb").default("n").doc("tell grid, stability, speed and progress"),
            JDATA,
            $($more,)*
            CFL,
            JCHECK,
            Param::bool("plan").default("n").doc("tell grid, memory, stability and dispersion; run nothing"),
            $($machine,)*
            Param::int("threads")
                .alias("ompnth")
                .default_text("OMP_NUM_THREADS, else one a core")
                .range("from 0, which is one a core, to 65536", Some(0.0), Some(65536.0))
                .doc("CPU threads"),
        ]
    };
}

pub(super) use shared;

/// Those of the programs that model.
macro_rules! params {
    ($($more:expr),*) => {
        shared!([
            WFL,
            Param::output("pgv").doc("map of the largest horizontal speed on the first row of the model, axes x[, y]")
        ] [
            SNAP,
            JSNAP,
            Param::int("nqz").default_text("the model").range(">= 1", Some(1.0), None).doc("snapshot window: nodes along z"),
            Param::int("nqx").default_text("the model").range(">= 1", Some(1.0), None).doc("snapshot window: nodes along x"),
            Param::float("oqz").default_text("the model").doc("snapshot window: first z, rounded to the nearest node"),
            Param::float("oqx").default_text("the model").doc("snapshot window: first x, rounded to the nearest node")
            $(, $more)*
        ] [
            CHECKPOINT,
            EVERY,
            RESUME,
            Param::choice("device", &["auto", "gpu", "cpu"]).default("auto").doc("where to run; auto: a GPU if there is one"),
            Param::ints("gpu").default_text("the first ngpu").range(">= 0", Some(0.0), None).doc("numbers of the GPUs to use, as in gpu=0,2"),
            Param::int("ngpu").default("1").range(">= 1", Some(1.0), None).doc("GPUs; on the CPU slabs that the grid (of several ranks each one's part) is cut into"),
            EXCHANGE
        ])
    };
}

/// Parameters of the 2-D program.
const PARAMS_2D: &[Param] = params!();

/// Parameters of the 3-D program.
const PARAMS_3D: &[Param] = params!(
    Param::float("myy").default("0").doc("moment tensor, N m"),
    Param::float("mxy").default("0").doc("moment tensor, N m"),
    Param::float("myz").default("0").doc("moment tensor, N m"),
    Param::float("fy").default("0").doc("force, N"),
    Param::int("nqy")
        .default_text("the model")
        .range(">= 1", Some(1.0), None)
        .doc("snapshot window: nodes along y"),
    Param::float("oqy")
        .default_text("the model")
        .doc("snapshot window: first y, rounded to the nearest node")
);

const USAGE: &str = "vp=vp.rsf vs=vs.rsf den=density.rsf sou=sources.rsf rec=receivers.rsf nt= dt= [snap=y wfl=snapshots.rsf] > data.rsf";

/// `sfvsfd2d-gpu` as its user sees it.
pub static PROGRAM_2D: Program = Program {
    name: "sfvsfd2d-gpu",
    about: "Elastic modelling in 2-D (P-SV) by velocity and stress on a staggered grid",
    usage: USAGE,
    comments: COMMENTS,
    example: EXAMPLE_2D,
    params: PARAMS_2D,
};

/// `sfvsfd3d-gpu` as its user sees it.
pub static PROGRAM_3D: Program = Program {
    name: "sfvsfd3d-gpu",
    about: "Elastic modelling in 3-D by velocity and stress on a staggered grid",
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
# a strike slip of magnitude 5.3 under a free surface, as Michea and Komatitsch (2010) have it, on a small grid
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
