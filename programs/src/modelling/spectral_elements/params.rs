//! The parameters of the programs on meshes, each declared once.

use super::help::{COMMENTS, EXAMPLE_2D, EXAMPLE_3D, USAGE};
use crate::modelling::exact_time::TDC;
use crate::modelling::params::{
    CFL, CHECKPOINT, COORDINATES, EVERY, EXCHANGE, FINISHED, FLAT, GROUPS, JCHECK, JDATA, JSNAP, OF_GRIDS,
    PEAK_ELSEWHERE, RESUME, SHOTS, SNAP, STEPS_ELSEWHERE, WFL,
};
use rsf_io::{Param, Program};

/// Mesh, model, points and sources.
pub(super) const MESH: &[Param] = &[
    Param::input("mesh").recipe("sfhexmesh writes meshes (its --help has examples)").doc("elements of the mesh; the header names the other files"),
    Param::input("elements").doc("elements, instead of mesh=: int, n1 nodes in the order of Gmsh, numbered from 0"),
    Param::input("nodes").doc("coordinates of the nodes, x[, y], z"),
    Param::input("regions").default_text("all 0").doc("regions of the elements, int"),
    Param::input("materials").doc("n1=6 for every region: rho, vp, vs, Qkappa, Qmu, 1 if its constants are in ccc="),
    Param::input("absorbing").doc("absorbing sides, int, n1=2: element and local face; none: no side \
    absorbs, not even those of mesh= and specfem="),
    Param::input("free").doc("free surface, int, n1=2: element and local face"),
    Param::input("pml").default_text("the mesh's").doc("elements in perfectly matched layers, int, n1=2: element and axes, as sfhexmesh writes them; cpml=0 leaves them out"),
    Param::string("specfem").doc("folder with mesh_file, nodes_coords_file and the other files of SPECFEM3D, instead of mesh="),
    Param::input("ccc").doc("21 constants for every region, or planes of constants on a grid, Pa"),
    Param::input("vp").default_text("from materials=").doc("P velocity on a grid, m/s"),
    Param::input("vs").default_text("from materials=").doc("S velocity of solids on a grid, m/s"),
    Param::input("den").known_as(&["rho", "ro"]).default_text("from materials=").doc("density on a grid, kg/m3"),
    Param::number_or_file("qp").default_text("from materials=").doc("quality factor of P waves, a number or a grid; 0 means no attenuation"),
    Param::number_or_file("qs").default_text("from materials=").doc("quality factor of S waves in solids"),
    Param::input("sls").doc("relaxation times of every region, instead of quality factors, n1=11"),
    Param::bool("attenuation").default("y").doc("n: the quality factors of materials= or specfem= have no effect"),
    Param::choice("qmech", &["3", "coarse"])
        .default("3")
        .doc("number of mechanisms of attenuation at every point; coarse: one at each point, all three in \
        every element"),
    Param::floats("qband").default_text("qfit=even: from a twelfth of the highest frequency of the sources \
    to that frequency; otherwise the band that the mesh resolves").doc("lowest and highest frequency of the \
    band in which Q is constant, Hz"),
    Param::choice("qfit", &["even", "specfem", "lddrk"])
        .default_text("specfem with specfem= and without qband=, otherwise even")
        .doc("fit of the relaxation times; even: Q as constant as possible; specfem: as in SPECFEM3D; lddrk: \
        as in its scheme LDDRK, whose memory variables are a step ahead"),
    Param::float("qref").default_text("the middle of qband").doc("frequency for which the velocities are given, Hz"),
    Param::choice("lumping", &["matrix", "specfem"]).default("matrix").doc("way in which the damping of \
    absorbing sides enters the mass: matrix is exact, specfem adds its row sums"),
    Param::int("degree").default("4").range("2 to 8", Some(2.0), Some(8.0)).doc("polynomial degree of the elements"),
    Param::choice("outside", &["move", "leave", "error"])
        .default("move")
        .doc("treatment of points outside the mesh; move: they are moved to the nearest place in it, if that \
        is less than half an element away; leave: all points of cmt=, force=, quakeml= and stations= outside the \
        mesh are left out, even those close to it; error: the run ends"),
    Param::input("sou").recipe(COORDINATES).doc("source points x[, y], z; n3 shots"),
    Param::input("rec").recipe(COORDINATES).doc("receiver points x[, y], z; n3 shots, or 1 if all shots have the same"),
    SHOTS,
    Param::int("nt").required().range(">= 1", Some(1.0), None).known_as(&STEPS_ELSEWHERE).doc("number of time steps"),
    Param::float("dt").required().doc("time step, s"),
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
    Param::bool("rate").default("y").doc("y: series= holds moment rates; n: moments"),
    Param::input("onset").doc("delay of every source, s"),
];

/// Recorded quantities.
const RECORDED: &[Param] = &[
    Param::string("data")
        .default("velocity")
        .doc("quantity that the receivers record: velocity, displacement, acceleration, pressure, strain, rotation or das; snapshots hold velocities, or pressure with data=pressure"),
    Param::output("velocity").doc("file for the velocity, in addition to data=displacement or data=acceleration; not with pgv=, pgd= or pga="),
    Param::output("displacement").doc("file for the displacement, in addition to data=velocity; not with pgv=, pgd= or pga="),
    Param::output("acceleration").doc("file for the acceleration, in addition to data=velocity"),
    Param::input("along").doc("with data=das: direction x[, y], z of the fibre, one for all receivers or one for each"),
    Param::float("gauge").default("0").range(">= 0", Some(0.0), None).doc("with data=das: length of the \
    fibre over which the strain is averaged, m; 0: the strain at the receiver"),
];

/// Absorbing sides and layers.
pub(super) const SIDES: &[Param] = &[
    Param::float("sponge")
        .default("0")
        .range(">= 0", Some(0.0), None)
        .doc("thickness of the damping layer along absorbing sides, m; 0: no layer. Sources and receivers belong outside it"),
    Param::float("cpml")
        .default_text("the layers of the mesh (pml=, absorbing_cpml_file), otherwise none")
        .range(">= 0", Some(0.0), None)
        .doc("thickness of perfectly matched layers (CPML) along absorbing sides, m; 0: no layers"),
    Param::float("fcpml")
        .default_text("quadratic damping, stronger than in SPECFEM3D")
        .range("> 0", Some(1e-30), None)
        .doc(
            "f0_FOR_PML of SPECFEM3D, Hz: makes perfectly matched layers as in that program, with \
            its damping profile and without attenuation",
        ),
    Param::float("left")
        .default("0.03")
        .range("above 0, below 1", Some(1e-6), Some(0.999_999))
        .doc("amplitude that remains of a P wave after crossing the sponge twice"),
    OF_GRIDS[0],
    OF_GRIDS[1],
    OF_GRIDS[2],
    OF_GRIDS[3],
    OF_GRIDS[4],
    OF_GRIDS[5],
];

/// Maps of peak ground motion.
const MAPS: &[Param] = &[
    Param::output("pgv")
        .doc("map of the largest horizontal velocity on the ground, axes x[, y]; with data=velocity"),
    Param::output("pgd").doc("map of the largest horizontal displacement; with data=displacement"),
    Param::output("pga").doc("map of the largest horizontal acceleration; with data=acceleration"),
    Param::bool("ground")
        .default("n")
        .doc("y: snapshots of the ground, axes x[, y]"),
];

/// Lines on standard error.
const VERB: &[Param] = &[Param::bool("verb")
    .default("n")
    .doc("print mesh, stability, speed and progress")];

/// Snapshots and exact time.
const SNAPSHOTS: &[Param] = &[
    SNAP,
    WFL,
    TDC,
    JDATA,
    JSNAP,
    Param::int("nqz")
        .default("101")
        .range(">= 1", Some(1.0), None)
        .doc("snapshots: number of points along z"),
    Param::int("nqx")
        .default("101")
        .range(">= 1", Some(1.0), None)
        .doc("snapshots and maps: number of points along x"),
    Param::float("oqz")
        .default_text("the mesh")
        .doc("snapshots: first z"),
    Param::float("oqx")
        .default_text("the mesh")
        .doc("snapshots and maps: first x"),
    Param::float("dqz")
        .default_text("to the end of the mesh")
        .doc("snapshots: distance of the points along z"),
    Param::float("dqx")
        .default_text("to the end of the mesh")
        .doc("snapshots and maps: distance of the points along x"),
];

/// Parameters of checks and of plans.
const CHECKS: &[Param] = &[
    CFL,
    JCHECK,
    Param::bool("plan")
        .default("n")
        .doc("print mesh, memory, stability and time, and do not run"),
];

/// Parameters for saved states and for devices.
const MACHINES: &[Param] = &[
    CHECKPOINT,
    EVERY,
    RESUME,
    FINISHED,
    Param::choice("device", &["auto", "gpu", "cpu"])
        .default("auto")
        .doc("where to run; auto: on a GPU if there is one"),
    Param::ints("gpu")
        .default_text("the first ngpu")
        .range(">= 0", Some(0.0), None)
        .doc("numbers of the GPUs to use, as in gpu=0,2"),
    Param::int("ngpu")
        .default("1")
        .range(">= 1", Some(1.0), None)
        .doc(
            "number of GPUs; on the CPU, number \
            of subdomains into which the mesh (or the part of each rank) is divided",
        ),
    GROUPS,
    EXCHANGE,
];

/// The number of threads.
pub(super) const THREADS: &[Param] = &[Param::int("threads")
    .alias("ompnth")
    .default_text("OMP_NUM_THREADS, otherwise one for each core")
    .range("from 0 (one for each core) to 65536", Some(0.0), Some(65536.0))
    .doc("number of CPU threads")];

/// Earthquakes and stations, and components that 2-D does not have.
pub(super) const EARTH: &[Param] = &[
    Param::string("cmt")
        .doc("CMTSOLUTION file with moment tensors at latitude, longitude and depth, instead of sou=; stf=, freq= and tau= replace its half durations"),
    Param::string("force").doc("FORCESOLUTION file with forces at places in metres or degrees, instead of sou="),
    Param::string("quakeml").doc("QuakeML file with moment tensors, instead of sou=; stf=, freq= and tau= replace its half durations"),
    Param::string("stations")
        .doc("STATIONS or StationXML file, instead of rec=; records of motion then have the components Z \
        (up), N, E, and rotation and strain keep the axes of the mesh; in StationXML the epoch of the earthquake is \
        used, otherwise the latest"),
    Param::choice("depth", &["ground", "z"])
        .default("ground")
        .doc("level from which depth and burial of cmt=, force= and stations= are measured in a box; ground: \
        the top of the mesh above the point; z: z=0"),
    Param::string("utm").doc("UTM zone of the mesh, such as 11 or 11S: cmt=, force= and stations= then have \
    latitudes and longitudes"),
    Param::int("epsg").doc("EPSG code of the projection of the mesh, instead of utm="),
    Param::choice("fluid", &["moment", "specfem"])
        .default("moment")
        .doc("moment tensors of cmt= in fluids; moment: they grow as in solids; specfem: they follow the Gaussian itself"),
    Param::string("model").doc("model of the Earth: prem, prem-ti or a text file with rows radius rho vp vs [qkappa qmu [vph vsh eta]]"),
    Param::choice("latitude", &["geographic", "geocentric"])
        .default("geographic")
        .doc("kind of latitude in cmt=, force= and stations= on a mesh of the Earth"),
    Param::float("radius")
        .default_text("the mesh")
        .doc("radius of the Earth's surface, m, in a mesh with geocentric axes"),
    Param::float("myy").default("0").doc("moment tensor, N m"),
    Param::float("mxy").default("0").doc("moment tensor, N m"),
    Param::float("myz").default("0").doc("moment tensor, N m"),
    Param::float("fy").default("0").doc("force, N"),
];

/// The third axis of snapshots.
const SNAPSHOTS_3D: &[Param] = &[
    Param::int("nqy")
        .default("101")
        .range(">= 1", Some(1.0), None)
        .doc("snapshots and maps: number of points along y"),
    Param::float("oqy")
        .default_text("the mesh")
        .doc("snapshots and maps: first y"),
    Param::float("dqy")
        .default_text("to the end of the mesh")
        .doc("snapshots and maps: distance of the points along y"),
];

/// Joins lists of parameters.
pub(super) const fn joined<const N: usize>(lists: &[&[Param]]) -> [Param; N] {
    let mut all = [lists[0][0]; N];
    let (mut list, mut k) = (0, 0);
    while list < lists.len() {
        let mut own = 0;
        while own < lists[list].len() {
            all[k] = lists[list][own];
            (k, own) = (k + 1, own + 1);
        }
        list += 1;
    }
    assert!(k == N);
    all
}

/// The number of parameters in all lists.
pub(super) const fn counted(lists: &[&[Param]]) -> usize {
    let (mut list, mut all) = (0, 0);
    while list < lists.len() {
        all += lists[list].len();
        list += 1;
    }
    all
}

const LISTS_2D: &[&[Param]] = &[
    MESH, RECORDED, SIDES, MAPS, VERB, SNAPSHOTS, &FLAT, CHECKS, MACHINES, THREADS,
];
const LISTS_3D: &[&[Param]] = &[
    MESH,
    RECORDED,
    SIDES,
    MAPS,
    VERB,
    SNAPSHOTS,
    EARTH,
    SNAPSHOTS_3D,
    CHECKS,
    MACHINES,
    THREADS,
];

/// Parameters of the 2-D program.
const PARAMS_2D: &[Param] = &joined::<{ counted(LISTS_2D) }>(LISTS_2D);

/// Parameters of the 3-D program.
const PARAMS_3D: &[Param] = &joined::<{ counted(LISTS_3D) }>(LISTS_3D);

/// The parameters and documentation of `sfsem2d-gpu`.
pub static PROGRAM_2D: Program = Program {
    name: "sfsem2d-gpu",
    about: "Elastic modelling in 2-D (P-SV) by spectral elements on quadrilaterals",
    usage: USAGE,
    comments: COMMENTS,
    example: EXAMPLE_2D,
    params: PARAMS_2D,
};

/// The parameters and documentation of `sfsem3d-gpu`.
pub static PROGRAM_3D: Program = Program {
    name: "sfsem3d-gpu",
    about: "Elastic modelling in 3-D by spectral elements on hexahedra",
    usage: USAGE,
    comments: COMMENTS,
    example: EXAMPLE_3D,
    params: PARAMS_3D,
};
