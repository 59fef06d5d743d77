//! The parameters of the programs on meshes, each declared once.

use crate::modelling::params::{CFL, CHECKPOINT, EVERY, EXCHANGE, JCHECK, JDATA, JSNAP, RESUME, SNAP, WFL};
use rsf_io::{Param, Program};

/// Long text of the self-documentation.
const COMMENTS: &str = "\
Solves the elastic wave equation by spectral elements (Komatitsch and Tromp 1999) on a mesh whose elements follow topography and \
interfaces: isotropic solids and solids with 21 constants, fluids, attenuation, free and absorbing sides. Order 2 in time. It runs on \
GPUs where there are any, else on processors.

A mesh is what sfhexmesh writes: mesh= is its elements, whose header names nodes=, regions=, materials=, absorbing= and free=; words \
on the command line go before the header. specfem= is a folder of SPECFEM3D's mesh files. Axes are x[, y], z, z downwards; units are \
SI: m, s, m/s, kg/m3, Pa, N, N m. materials= has rho, vp, vs (0 is a fluid), Qkappa, Qmu and 1 where ccc= holds for every region; \
ccc= has n1=21 constants a region, c11 c12 c13 c14 c15 c16 c22 ... c66, axes 1=x 2=y 3=z (2-D runs take those of x and z).

vp=, vs=, den=, qp= and qs= are a model that changes inside of regions: regular grids, n1=z n2=x[ n3=y] as finite-difference programs take them, linear between their nodes, one number at every point of an element. What they do not say is as materials= has it, which always says what regions there are and which of them are fluids. On one grid for the whole mesh a point takes the nodes in its own region alone: what stands on an interface, beyond it or in the air does not count, and towards an interface the last node goes on. With a further axis, n3 (in 3-D n4) the regions, each has a grid of its own, which is linear up to its sides and beyond them. Along an axis with n=1 nothing changes. ccc= may be planes behind such a grid, too (9 or 21, in 2-D 4 or 6, as sfstiffness writes them; the regions behind them): they fill the solids.

Sides in neither list are free in solids and rigid in fluids; free= matters where a fluid has a surface, whose pressure is zero there. \
Absorbing sides take plane waves that leave at right angles (Clayton and Engquist 1977). lumping=specfem puts the row sums of their damping \
into the mass, as SPECFEM3D does, for comparison; on slanted sides they are not exact. What meets them at a slant comes back in part: sponge= damps in a layer of that thickness along them, inside of the mesh, and takes surface waves, too. It only loses energy, and the stable step stays. Make it two or three of the longest wavelengths that matter thick: of one wavelength of P at the peak of a Ricker wavelet it leaves 3 %, of two 0.8 %, of half a one 9 % of the largest wave, no less than sides alone that are so much further away.

Qkappa and Qmu of materials= attenuate solids, where any is below 9000: three standard linear solids keep them constant within 3 % over \
qband=, whose ends are at most a ratio of 12 apart for that; speeds hold at qref= and grow with frequency. sls= says it all instead: n1=11 for every region, relaxation times of stress (3), of strain for mu (3) and for \
kappa (3), and factors from mu and kappa to the unrelaxed moduli.

Sources (src=): a moment tensor by mxx= ... in N m, axes of the mesh; a double couple by strike=, dip=, rake= in degrees and m0= \
(Aki and Richards: x north, y east, z down; xaz= turns x); an explosion of moment m0=; a force by fx= ... in N. In fluids only \
explosions act. A moment on a side that elements share acts in one of them, as in SPECFEM3D: keep moments off the sides of elements. In 2-D strengths are per metre across the plane. mech= gives a strength to every source, n2 = sources and n1 = 6 (xx \
yy zz xy xz yz), 4 (strike dip rake M0), 1 (M0) or 3 (force x, y, z; 2-D: 2, x z).

stf= is the history: gauss, a moment rate exp(-(t-4 tau)^2/(2 tau^2))/sqrt(2 pi tau^2); brune, a moment rate t/tau^2 exp(-t/tau); \
cosine, a moment rate (1-cos(2 pi t/tau))/tau up to tau; ricker, a moment that follows a Ricker wavelet of freq= with its peak at \
1.2/freq. A force follows the same curves, scaled to a largest value of one. series= gives samples instead, n1 times with d1, o1 and n2 = 1 \
or one series a source: moment rate over moment in 1/s, with rate=n the moment itself over its strength, or force over strength. A series \
that begins before zero lets the run begin there. onset= delays every source, n1 = sources, in seconds.

model= (3-D) fills a mesh of the Earth at every point: prem is PREM without its ocean, prem-ti the same with transverse isotropy, else a text of radii in m from the centre up, \
kg/m3 and m/s, as sfhexmesh reads it. An element takes the layer in which its middle lies, never the next one beyond a discontinuity on its faces; fluids are those of materials=, and quality \
factors, too (sfhexmesh q=y writes the model's). Gravity, rotation and ellipticity are not in the equations.

cmt= (3-D) reads sources from a CMTSOLUTION file as it is, one moment tensor (dyne cm; r up, t south, p east) or several, and stations= \
receivers from a STATIONS file: name, network, latitude, longitude, elevation and burial in m. On a mesh of the Earth (sfhexmesh sphere=y, or radius=) \
latitudes are geographic, turned into geocentric ones, unless latitude=geocentric; depths and burials are below the surface of the sphere, heights have no effect. On other \
meshes latitude is y and points to the north, longitude x to the east, as SPECFEM3D has it without projection, and the place is z = depth, of stations burial - elevation. \
Moments grow as 1 + erf(1.628 t / half duration) about their centroid times, of which the first is the time zero of the records (at least 5 steps of half duration); stf= or series= say \
it otherwise. Records at stations are Z (up), N, E.

Output: n1 receivers, n2 components z, x[, y] (positive along the axes, z downwards; pressure has one, and is zero in solids; strain zz, xx, \
yy, zx, zy, xy, 2-D zz, xx, zx, of the tensor, extension positive; rotation about z, x, y, 2-D about y, in rad, half the curl along the axes \
x, y, z; data=das one: the strain along the fibre, along=, extension positive, the mean over gauge= metres around \
the receiver), n3 records; \
o3 is when the run begins. Receivers and sources lie anywhere in the mesh. Snapshots are interpolated onto a regular grid: nqz=, oqz=, \
dqz= and so on; outside of the mesh they are zero. With ground=y they are of the ground alone, axes x[, y]: where a line from above first meets a side \
that does not absorb. pgv= (with data=displacement pgd=, with data=acceleration pga=) is a map of the largest horizontal value there in all steps, \
on the axes nqx=, oqx=, dqx= and so on.

ngpu= takes so many GPUs, a subdomain each; on processors it cuts the mesh into so many. A build with MPI runs as several ranks (mpirun -n 4 sfsem3d-gpu ...), each with its share of \
the elements, of the GPUs or of the cores. Any number gives the same bits; GPUs and processors agree to rounding, and each goes on behind \
a state of the other.";

macro_rules! params {
    ($($more:expr),*) => {
        &[
            Param::input("mesh").doc("mesh: its elements, whose header names the other files"),
            Param::input("elements").doc("elements instead of mesh=: int, n1 nodes of an element in Gmsh's order from 0"),
            Param::input("nodes").doc("coordinates of the nodes, x[, y], z"),
            Param::input("regions").default_text("all 0").doc("regions of the elements, int"),
            Param::input("materials").doc("n1=6 a region: rho, vp, vs, Qkappa, Qmu, 1 where ccc= holds"),
            Param::input("absorbing").doc("absorbing sides, int, n1=2: element, local face"),
            Param::input("free").doc("free surface, int, n1=2: element, local face"),
            Param::string("specfem").doc("a folder with mesh_file, nodes_coords_file and so on, instead of mesh="),
            Param::input("ccc").doc("21 constants a region, or planes of constants on a grid, Pa"),
            Param::input("vp").default_text("of materials").doc("P speed on a grid, m/s"),
            Param::input("vs").default_text("of materials").doc("S speed of solids on a grid, m/s"),
            Param::input("den").default_text("of materials").doc("density on a grid, kg/m3"),
            Param::number_or_file("qp").default_text("of materials").doc("quality factor of P waves, a number or a grid; 0 is no loss"),
            Param::number_or_file("qs").default_text("of materials").doc("quality factor of S waves in solids"),
            Param::input("sls").doc("relaxation times of every region instead of quality factors, n1=11"),
            Param::floats("qband").default_text("a twelfth of the sources' highest frequency to that").doc("frequencies between which Q is constant, Hz"),
            Param::float("qref").default_text("the middle of qband").doc("frequency at which the speeds hold, Hz"),
            Param::choice("lumping", &["matrix", "specfem"]).default("matrix").doc("damping of absorbing sides in the mass: all of it, or its row sums"),
            Param::int("degree").default("4").range("2 to 8", Some(2.0), Some(8.0)).doc("degree of the elements"),
            Param::input("sou").doc("source points, x[, y], z"),
            Param::input("rec").doc("receiver points, x[, y], z"),
            Param::int("nt").required().range(">= 1", Some(1.0), None).doc("steps"),
            Param::float("dt").required().doc("time step, s"),
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
            Param::bool("rate").default("y").doc("series= of moments is their rate; n: the moment itself"),
            Param::input("onset").doc("when every source begins, s"),
            Param::choice("data", &["velocity", "displacement", "acceleration", "pressure", "strain", "rotation", "das"])
                .default("velocity")
                .doc("what receivers record; snapshots are velocities, with data=pressure pressure"),
            Param::input("along").doc("data=das: directions of the fibre, x[, y], z, one for all receivers or one each"),
            Param::float("gauge").default("0").range(">= 0", Some(0.0), None).doc("data=das: length of fibre over which a receiver takes the mean strain, m; 0: at its place"),
            Param::float("sponge").default("0").range(">= 0", Some(0.0), None).doc("thickness of a layer along absorbing sides that damps, m; 0: none"),
            Param::float("left").default("0.03").range("above 0, below 1", Some(1e-6), Some(0.999_999)).doc("what is left of a P wave that crosses the sponge twice"),
            Param::output("pgv").doc("map of the largest horizontal velocity on the ground, axes x[, y], with data=velocity"),
            Param::output("pgd").doc("the same of displacement, with data=displacement"),
            Param::output("pga").doc("the same of acceleration, with data=acceleration"),
            Param::bool("ground").default("n").doc("snapshots of the ground alone, axes x[, y]"),
            Param::bool("verb").default("n").doc("tell mesh, stability, speed and progress"),
            SNAP,
            WFL,
            JDATA,
            JSNAP,
            Param::int("nqz").default("101").range(">= 1", Some(1.0), None).doc("snapshots: points along z"),
            Param::int("nqx").default("101").range(">= 1", Some(1.0), None).doc("snapshots and maps: points along x"),
            Param::float("oqz").default_text("the mesh").doc("snapshots: first z"),
            Param::float("oqx").default_text("the mesh").doc("snapshots and maps: first x"),
            Param::float("dqz").default_text("to the end of the mesh").doc("snapshots: step along z"),
            Param::float("dqx").default_text("to the end of the mesh").doc("snapshots and maps: step along x"),
            $($more,)*
            CFL,
            JCHECK,
            CHECKPOINT,
            EVERY,
            RESUME,
            Param::bool("plan").default("n").doc("tell mesh, memory and stability; run nothing"),
            Param::choice("device", &["auto", "gpu", "cpu"]).default("auto").doc("where to run; auto: a GPU if there is one"),
            Param::ints("gpu").default_text("the first ngpu").range(">= 0", Some(0.0), None).doc("numbers of the GPUs to use, as in gpu=0,2"),
            Param::int("ngpu").default("1").range(">= 1", Some(1.0), None).doc("GPUs; on the CPU subdomains that the mesh (of several ranks each one's part) is cut into"),
            EXCHANGE,
            Param::int("threads")
                .alias("ompnth")
                .default_text("OMP_NUM_THREADS, else one a core")
                .range("from 0, which is one a core, to 65536", Some(0.0), Some(65536.0))
                .doc("CPU threads"),
        ]
    };
}

/// Parameters of the 2-D program.
const PARAMS_2D: &[Param] = params!();

/// Parameters of the 3-D program.
const PARAMS_3D: &[Param] = params!(
    Param::string("cmt")
        .doc("a CMTSOLUTION file of moment tensors by latitude, longitude and depth, instead of sou="),
    Param::string("stations").doc("a STATIONS file instead of rec=; records are then Z (up), N, E"),
    Param::string("model").doc("what fills a mesh of the Earth: prem, prem-ti or a file of rows radius rho vp vs [qkappa qmu [vph vsh eta]]"),
    Param::choice("latitude", &["geographic", "geocentric"])
        .default("geographic")
        .doc("what latitudes of cmt= and stations= are on a globe"),
    Param::float("radius")
        .default_text("the mesh")
        .doc("radius of the surface of a globe, m, whose axes are geocentric"),
    Param::float("myy").default("0").doc("moment tensor, N m"),
    Param::float("mxy").default("0").doc("moment tensor, N m"),
    Param::float("myz").default("0").doc("moment tensor, N m"),
    Param::float("fy").default("0").doc("force, N"),
    Param::int("nqy")
        .default("101")
        .range(">= 1", Some(1.0), None)
        .doc("snapshots and maps: points along y"),
    Param::float("oqy")
        .default_text("the mesh")
        .doc("snapshots and maps: first y"),
    Param::float("dqy")
        .default_text("to the end of the mesh")
        .doc("snapshots and maps: step along y")
);

const USAGE: &str =
    "mesh=mesh.rsf sou=sources.rsf rec=receivers.rsf nt= dt= [snap=y wfl=snapshots.rsf] > data.rsf";

/// `sfsem2d-gpu` as its user sees it.
pub static PROGRAM_2D: Program = Program {
    name: "sfsem2d-gpu",
    about: "Elastic modelling in 2-D (P-SV) by spectral elements on quadrilaterals",
    usage: USAGE,
    comments: COMMENTS,
    example: EXAMPLE_2D,
    params: PARAMS_2D,
};

/// `sfsem3d-gpu` as its user sees it.
pub static PROGRAM_3D: Program = Program {
    name: "sfsem3d-gpu",
    about: "Elastic modelling in 3-D by spectral elements on hexahedra",
    usage: USAGE,
    comments: COMMENTS,
    example: EXAMPLE_3D,
    params: PARAMS_3D,
};

const EXAMPLE_2D: &str = "\
# a hill over rock, an explosion below it, receivers along a line under the surface
sfmath n1=201 o1=0 d1=20 output='200-150*exp(-((x1-2000)/400)^2)' > topo.rsf
sfhexmesh surfaces=2000,topo.rsf layers=18 nx=40 curved=y rho=2300 vp=3000 vs=1700 > hill.rsf
sfspike n1=2 nsp=2 k1=1,2 mag=1200,900 > sou.rsf
sfmath n1=2 n2=61 d2=50 output='(1-x1)*(x2+500)+x1*300' > rec.rsf
sfsem2d-gpu mesh=hill.rsf sou=sou.rsf rec=rec.rsf nt=1500 dt=0.001 m0=1e12 stf=ricker freq=6 verb=y |
    sfwindow n2=1 | sftransp | sfgrey | sfpen";

const EXAMPLE_3D: &str = "\
# a box of rock with a free top, a double couple in it
sfhexmesh surfaces=2000,0 layers=8 nx=10 ny=10 xmin=0 xmax=2500 ymin=0 ymax=2500 rho=2500 vp=3500 vs=2000 > box.rsf
sfspike n1=3 nsp=3 k1=1,2,3 mag=1230,1210,1040 > sou.rsf
sfspike n1=3 nsp=3 k1=1,2,3 mag=1900,1800,30 > rec.rsf
sfsem3d-gpu mesh=box.rsf sou=sou.rsf rec=rec.rsf nt=600 dt=0.003 src=dc m0=1e15 tau=0.06 verb=y > data.rsf
# what it will take, cut into three subdomains
sfsem3d-gpu mesh=box.rsf sou=sou.rsf rec=rec.rsf nt=600 dt=0.003 src=dc m0=1e15 tau=0.06 ngpu=3 plan=y";
