//! The parameters of the displacement programs, each declared once.

use crate::modelling::exact_time::TDC;
use crate::modelling::params::{
    CFL, CHECKPOINT, COORDINATES, EVERY, EXCHANGE, FINISHED, GROUPS, JCHECK, JDATA, JSNAP, RESUME, SHOTS,
    SNAP, TILE, WAVELETS, WFL,
};
use rsf_io::{Param, Program};

/// The text of the COMMENTS section of the documentation.
const COMMENTS: &str = "\
Solves the elastic wave equation for the displacement on a regular grid, by finite differences of order 8 in space and 2 in \
time (Weiss and Shragge, Geophysics, 2013). The medium may be isotropic, VTI, HTI, orthorhombic or triclinic (a tilted \
medium, for example).

The wavelet comes from standard input or from wav=: n1 sources, n2 components in the order z, x[, y], n3 time samples; d3 is \
the time step. ccc= holds the stiffness planes, on the axis after the grid axes z, x[, y]. In 2-D these are c11 c33 c55 c13, \
in 3-D c11 c22 c33 c44 c55 c66 c12 c13 c23, in Voigt notation: 1=x, 2=y, 3=z, 4=yz, 5=zx, 6=xy. A file with all coefficients \
has them in the order of the rows of the upper triangle: in 2-D the six c11 c13 c15 c33 c35 c55, in 3-D the 21 c11 c12 c13 \
c14 c15 c16 c22 ... c66. den= is the density on the same grid. sou= and rec= are lists of points: n1 holds the coordinates \
x, z (in 3-D x, y, z), n2 is the number of points. Points may lie anywhere between the nodes.

A third axis of sou= counts shots, and so does a third axis of rec= if the receivers move with the shot. The shots run \
one after another in the same model, which is read once (on GPUs once per shot), with the same wavelet, and the data \
have a last axis of shots. shots= picks some of them, counted from 1 as in all messages: the data contain only these, \
in the order of the survey. Their last axis counts from 0, like the axis of the whole survey, if the shots are evenly \
spaced, and shots in the header lists their numbers. A shot that fails is reported and its traces are zero; the other \
shots still run, and the exit code is 1. With several shots finished= takes the data of an earlier run of the survey, \
which may have been stopped or killed: its shots are copied, and only shots that are missing or zero are modelled. \
Parameters, model, points and time functions must be the same as in that run: its header has their checksums, for \
which a survey reads its model once more. Snapshots, checkpoint= and resume= are available for one shot only. Several \
shots can run at the same time: gpu=0,1,2,3 ngpu=1 models four shots at a time, each on one GPU, and so does groups=4; \
on the CPU groups= divides the threads, and each group has its own copy of the model. Several ranks model whole shots \
in turn. The data have the same bits for any number of groups and ranks.

All fields are defined on the nodes of the grid. Any consistent set of units can be used: km, s, km/s and g/cm3 give \
stiffness in GPa; m, s, m/s and kg/m3 give Pa. The wavelet is subtracted: from the normal stresses zz, xx[, yy] with ssou=y, \
where its unit is that of the stiffness, or from the force density with ssou=n, where its unit is density times displacement \
over time squared. The source is spread over the bell exp(-r^2/(0.5 nbell)) with r in nodes, which is not normalised. With \
nbell=0 the whole wavelet acts on the node of the source, or is shared among its neighbours where the source lies between \
nodes. Small bells also excite slow waves with a wavelength of two cells, which the grid cannot propagate. In a tested case (nodes \
5 m apart, 12 Hz, vs 1100 m/s) those that precede P are 62 % of the largest wave with nbell=0, 36 % with 1, 11 % with 2, 3 % \
with 3, 0.9 % with 4 and 0.3 % with 5; below 4 there is a warning.

Output: n1 receivers, n2 components z, x[, y] (positive along the axes, so z is positive downwards), n3 records. Each \
record holds the displacement one step after the wavelet sample of the same number. With opot=y the output is divergence \
and curl instead of displacement: div, curl in 2-D; in 3-D div, x, y, z in the data and div, z, x, y in the \
snapshots.\n\n\
Long time steps make waves arrive early. tdc=y changes the wavelet before the run and the records after it so that the \
records have exact time at any stable step, except for the effect of the absorbing frame, which acts once per step. The \
wavelet must begin at rest and have no frequencies above 1/(pi dt). Records stay in memory until the end of the run, \
which takes a few steps more; snapshots keep the time of the steps, as their header says. plan=y and the last line of \
verb=y give the error of the time step.

With device=auto the program runs on an NVIDIA GPU of compute capability 8.0 or newer if there is one that it can use, \
otherwise on the CPU; verb=y prints why no GPU is used. A GPU needs its driver and NVRTC, the run-time compiler of the \
CUDA toolkit (pip install nvidia-cuda-nvrtc==13.0.88 also provides it), and nothing else. Kernels are compiled for the \
class of the medium on the first run and kept for later runs. With ngpu= several GPUs share the grid, and the result \
has the same bits as on one GPU. A build with MPI also runs as several ranks (mpirun -n 4 sfewefd3d-gpu ... ngpu=2). \
Each rank uses ngpu= GPUs of its host, or its share of the cores, reads its own part of the model and writes its own \
part of the snapshots; rank 0 reads standard input and writes the data. The memory that a run needs is checked before it \
starts; plan=y prints that memory and the expected time.

Environment variables: CUDA_VISIBLE_DEVICES selects and numbers the GPUs; SIFAKA_NVRTC is the folder of NVRTC's library; \
SIFAKA_CACHE is the folder of the compiled kernels; CUDA_SYNC=1 waits for every kernel, which is slow, so that an error of \
the GPU is reported with the kernel that caused it.";

macro_rules! params {
    ($($window:expr),*) => {
        &[
            Param::input("ccc").required().doc("stiffness planes on the axis after the grid axes"),
            Param::input("den").known_as(&["rho", "ro"]).required().doc("density on the grid of ccc="),
            Param::input("sou").recipe(COORDINATES).required().doc("source points x[, y], z; n3 shots"),
            Param::input("rec").recipe(COORDINATES).required().doc("receiver points x[, y], z; n3 shots, or 1 if all shots have the same"),
            SHOTS,
            Param::input("wav").doc("wavelet, instead of standard input"),
            WFL,
            Param::bool("verb").default("n").doc("print grid, stability, speed and progress"),
            SNAP,
            Param::bool("free").default("n").known_as(&["fs", "freesurf"]).doc("free surface at the top nodes of the model"),
            Param::choice("surface", &["vacuum", "traction"])
                .default("vacuum")
                .doc("with free=y: all stresses are zero above the surface (vacuum), or only those with a z \
                index (traction)"),
            Param::bool("ssou").default("n").doc("y: stress source; n: force source"),
            Param::bool("dabc").default("n").doc("absorbing frame (one-way condition and sponge); n: rigid boundaries"),
            Param::choice("oneway", &["box", "upwind"])
                .default("box")
                .doc("with dabc=y, the one-way condition: box as published, upwind for long runs, thin frames and large time steps"),
            Param::bool("opot").default("n").doc("divergence and curl instead of displacement"),
            Param::bool("interp").default("y").doc("interpolate receivers between nodes; n: the nearest node"),
            Param::int("nbell").default("5").range("from 0 to 10000", Some(0.0), Some(1e4)).doc("half width \
            of the source bell in nodes, 4 or more: smaller ones also excite slow waves with a wavelength of two \
            cells, which the grid cannot propagate (see above); 0 is a point, for tests"),
            TDC,
            JDATA,
            JSNAP,
            Param::int("nb").known_as(&["npml", "pml", "nabs", "nbound"]).default("4").range("from 0 to 1000000; below 4 becomes 4", Some(0.0), Some(1e6)).doc("width of the frame on every side, in nodes"),
            Param::int("nqz").default_text("the padded grid").range(">= 1", Some(1.0), None).doc("snapshot window: number of nodes along z"),
            Param::int("nqx").default_text("the padded grid").range(">= 1", Some(1.0), None).doc("snapshot window: number of nodes along x"),
            Param::float("oqz").default_text("the padded grid").doc("snapshot window: first z, moved to the nearest node"),
            Param::float("oqx").default_text("the padded grid").doc("snapshot window: first x, moved to the nearest node"),
            $($window,)*
            Param::choice("sym", &["auto", "iso", "vti", "hti", "ort", "tri"])
                .default("auto")
                .doc("symmetry class of the kernels; auto: the narrowest class that holds for all cells, and \
                a narrower one is an error; in 2-D vti, hti and ort are the same; tri has all \
                coefficients"),
            CFL,
            JCHECK,
            CHECKPOINT,
            EVERY,
            RESUME,
            FINISHED,
            Param::bool("plan").default("n").doc("print grid, memory, stability, dispersion and time, and do not run"),
            Param::choice("device", &["auto", "gpu", "cpu"]).default("auto").doc("where to run; auto: on a GPU if one can be used, otherwise on the CPU"),
            Param::int("ngpu").default("1").range(">= 1", Some(1.0), None).doc("number of GPUs; on the CPU, number of slabs that the grid is divided into"),
            GROUPS,
            EXCHANGE,
            Param::ints("gpu").default_text("the first ones").range(">= 0", Some(0.0), None).doc("numbers of the GPUs to use, instead of ngpu=; each receives one slab"),
            Param::int("threads")
                .alias("ompnth")
                .default_text("OMP_NUM_THREADS, at most one for each core")
                .range("from 0 (one for each core) to 65536", Some(0.0), Some(65536.0))
                .doc("number of CPU threads; if GPUs run the shot, the threads read the model"),
            TILE,
            WAVELETS[0],
            WAVELETS[1],
            WAVELETS[2],
            WAVELETS[3],
            WAVELETS[4],
            WAVELETS[5],
            WAVELETS[6],
            WAVELETS[7],
            WAVELETS[8],
            Param::int("ompchunk").ignored().doc("accepted for older flows"),
            Param::float("dt").ignored().doc("the time step is d3 of the wavelet; sfput d3= changes it"),
            Param::int("nt").ignored().doc("accepted for older flows: the number of steps is taken from the wavelet"),
            Param::input("in1").ignored().doc("accepted for older flows: the wavelet is read from standard input or wav="),
        ]
    };
}

/// Parameters of the 2-D program.
const PARAMS_2D: &[Param] = params!();

/// Parameters of the 3-D program.
const PARAMS_3D: &[Param] = params!(
    Param::int("nqy")
        .default_text("the padded grid")
        .range(">= 1", Some(1.0), None)
        .doc("snapshot window: number of nodes along y"),
    Param::float("oqy")
        .default_text("the padded grid")
        .doc("snapshot window: first y, moved to the nearest node")
);

const USAGE: &str = "< wav.rsf ccc=stiffness.rsf den=density.rsf sou=sources.rsf rec=receivers.rsf [snap=y wfl=snapshots.rsf] > data.rsf";

/// The parameters and documentation of `sfewefd2d-gpu`.
pub static PROGRAM_2D: Program = Program {
    name: "sfewefd2d-gpu",
    about: "Anisotropic elastic modelling in 2-D by finite differences, on CPUs and GPUs",
    usage: USAGE,
    comments: COMMENTS,
    example: EXAMPLE_2D,
    params: PARAMS_2D,
};

/// The parameters and documentation of `sfewefd3d-gpu`.
pub static PROGRAM_3D: Program = Program {
    name: "sfewefd3d-gpu",
    about: "Anisotropic elastic modelling in 3-D by finite differences, on CPUs and GPUs",
    usage: USAGE,
    comments: COMMENTS,
    example: EXAMPLE_3D,
    params: PARAMS_3D,
};

const EXAMPLE_2D: &str = "\
# a 2 km x 2 km VTI block, an explosion in its middle, receivers near its top; see the vertical component through a pipe
sfstiffness vp=2.5 vs=1.5 ro=2.2 epsilon=0.2 delta=0.1 sym=vti dim=2 n1=201 n2=201 d1=0.01 d2=0.01 > ccc.rsf
sfspike n1=201 n2=201 d1=0.01 d2=0.01 mag=2.2 > den.rsf
sfspike n1=1000 d1=0.001 n2=1 n3=2 k1=101 | sfricker1 frequency=10 | sftransp plane=12 | sftransp plane=23 > wav.rsf
sfspike n1=2 nsp=2 k1=1,2 mag=1,1 > sou.rsf
sfmath n1=2 n2=201 d2=0.01 output='(1-x1)*x2+x1*0.1' > rec.rsf
sfewefd2d-gpu < wav.rsf ccc=ccc.rsf den=den.rsf sou=sou.rsf rec=rec.rsf ssou=y dabc=y nb=48 jdata=4 verb=y |
    sfwindow n2=1 | sftransp | sfgrey | sfpen";

const EXAMPLE_3D: &str = "\
# a 1 km cube of an orthorhombic rock, an oblique force in its middle, one receiver, snapshots every 100 steps
sfstiffness vp=3 vs=1.6 ro=2.3 eps1=0.1 eps2=0.15 del1=0.05 del2=0.03 del3=-0.02 gam1=0.1 gam2=0.05 sym=ort dim=3 \\
    n1=101 n2=101 n3=101 d1=0.01 d2=0.01 d3=0.01 > ccc.rsf
sfspike n1=101 n2=101 n3=101 d1=0.01 d2=0.01 d3=0.01 mag=2.3 > den.rsf
sfspike n1=500 d1=0.001 n2=1 n3=3 k1=101 | sfricker1 frequency=10 | sftransp plane=12 | sftransp plane=23 > wav.rsf
sfspike n1=3 nsp=3 k1=1,2,3 mag=0.5,0.5,0.5 > sou.rsf
sfspike n1=3 nsp=3 k1=1,2,3 mag=0.8,0.5,0.1 > rec.rsf
sfewefd3d-gpu < wav.rsf ccc=ccc.rsf den=den.rsf sou=sou.rsf rec=rec.rsf dabc=y nb=24 snap=y jsnap=100 wfl=wfl.rsf verb=y |
    sfattr
# the same on three slabs of the CPU, planned but not run
sfewefd3d-gpu < wav.rsf ccc=ccc.rsf den=den.rsf sou=sou.rsf rec=rec.rsf dabc=y nb=24 device=cpu ngpu=3 plan=y";
