//! The parameters that all modelling programs have, each declared once.

use rsf_io::Param;

/// Advice on how to make the points of `sou=` and `rec=`.
pub const COORDINATES: &str = "sfpoints x= z= makes one from coordinates (with y= in three dimensions)";

/// How ghost cells are exchanged between ranks.
pub const EXCHANGE: Param = Param::choice("exchange", &["auto", "peer", "device", "host"])
    .default("auto")
    .doc(
        "way in which GPUs of different ranks exchange data: peer copies into the memory of the other GPU \
        (on one host), device sends messages from GPU to GPU (if MPI supports it), host sends them from host to \
        host; auto: the first of these that works",
    );

/// Names of the number of steps in other programs.
pub const STEPS_ELSEWHERE: [&str; 4] = ["nstep", "nsteps", "steps", "ntime"];
/// Names of the peak frequency of a wavelet in other programs.
pub const PEAK_ELSEWHERE: [&str; 6] = ["frequency", "frq", "f0", "fm", "fpeak", "peak"];

/// The file in which states are saved.
pub const CHECKPOINT: Param = Param::string("checkpoint")
    .default_text("none")
    .doc("file in which the state of the run is saved from time to time; FILE.1 is the state before that");

/// The interval between states.
pub const EVERY: Param = Param::string("every")
    .default_text("10min")
    .doc("interval between saved states: a number of steps, or a time such as every=30s, 10min, 2h");

/// The state from which a run resumes.
pub const RESUME: Param = Param::string("resume")
    .default_text("none")
    .doc("saved state from which this run continues; all parameters of the model and the shot must be the same, but slabs, threads, GPUs and ranks may differ; the outputs of the first run are continued");

/// The data of an earlier run of a survey.
pub const FINISHED: Param = Param::string("finished").default_text("none").doc(
    "with several shots: data of an earlier run of this survey or of some of its shots, which may have \
    been stopped; its shots are copied and only the others are modelled, with the same parameters; files of \
    further quantities follow after commas",
);

/// Steps from record to record.
pub const JDATA: Param = Param::int("jdata")
    .default("1")
    .range(">= 1", Some(1.0), None)
    .doc("number of steps between records");

/// Steps from snapshot to snapshot.
pub const JSNAP: Param = Param::int("jsnap")
    .default_text("nt, which is one snapshot of the first step")
    .range(">= 1", Some(1.0), None)
    .doc("number of steps between snapshots");

/// Whether there are snapshots.
pub const SNAP: Param = Param::bool("snap").default("n").doc("write snapshots into wfl=");

/// The file of the snapshots.
pub const WFL: Param = Param::output("wfl").doc("snapshots, written with snap=y");

/// Whether an unstable time step is an error or a warning.
pub const CFL: Param = Param::choice("cfl", &["error", "warn"])
    .default("error")
    .doc("what to do if the time step is unstable: stop, or warn and run");

/// The number of steps between two checks of the whole field.
pub const JCHECK: Param = Param::int("jcheck")
    .default("100")
    .range(">= 1", Some(1.0), None)
    .doc("number of steps between checks that all values are finite");

/// The tiles of the threads.
pub const TILE: Param = Param::ints("tile")
    .default_text("chosen by the caches")
    .range(">= 0", Some(0.0), None)
    .doc(
        "size of the tiles that CPU threads compute: cells along z and, in 3-D, rows along x; 0: all; \
        results do not depend on it",
    );

/// The shots of a survey that are modelled.
pub const SHOTS: Param = Param::string("shots").default_text("all").doc(
    "shots of the survey that are modelled, counted from 1: numbers and ranges, as in shots=1-4,7,10-20:2",
);

/// The number of shots that run at the same time.
pub const GROUPS: Param = Param::int("groups")
    .default_text("1; with gpu= and ngpu=, the number of GPUs over ngpu")
    .range("from 1 to 65536", Some(1.0), Some(65536.0))
    .doc("with several shots: number of shots that each process computes at the same time, each on ngpu= GPUs or on its share of the threads; in sfvsfd2d-gpu and sfvsfd3d-gpu shots of a small grid share a GPU, by default as many as fill it; linearised shots of a small grid run on one thread of the CPU each, by default as many as there are threads; results do not depend on it");

/// Parameters for earthquake and station files that 2-D programs do not read, and the parameters that they accept
/// instead.
pub const FLAT: [Param; 4] = [
    Param::elsewhere("cmt").doc(FLAT_TENSOR),
    Param::elsewhere("quakeml").doc(FLAT_TENSOR),
    Param::elsewhere("force").doc(
        "files of forces have three dimensions, and sfvsfd3d-gpu and sfsem3d-gpu take them. In 2-D sou= names the points (x, z), and src=force \
with fx= and fz= gives the force",
    ),
    Param::elsewhere("stations").doc(
        "files of stations have three dimensions, and sfvsfd3d-gpu and sfsem3d-gpu take them. In 2-D rec= names the points (x, z)",
    ),
];
const FLAT_TENSOR: &str = "a moment tensor needs three dimensions, and sfvsfd3d-gpu and sfsem3d-gpu take such files. In 2-D sou= names the \
points (x, z), and src=moment with mxx=, mzz= and mxz= (or mech=) gives the components in the plane";

/// Parameters for files of sources and stations, which 3-D programs that read only points do not take, with advice on
/// what they take instead.
pub const POINTS: [Param; 4] = [
    Param::elsewhere("cmt").doc(POINTS_TENSOR),
    Param::elsewhere("quakeml").doc(POINTS_TENSOR),
    Param::elsewhere("force").doc(
        "sfvsfd3d-gpu and sfsem3d-gpu take files of forces. Here sou= names the points of sources, and src=force with fx=, fy= and fz= gives the force",
    ),
    Param::elsewhere("stations").doc(
        "sfvsfd3d-gpu and sfsem3d-gpu take files of stations. Here rec= names the points of receivers, which \
        record z x y; data along Z N E, as stations= gives them, are refused with advice on how to convert \
        them",
    ),
];
const POINTS_TENSOR: &str = "sfvsfd3d-gpu and sfsem3d-gpu take such files. Here sou= names the points of sources, and src=moment with mxx=, \
myy=, mzz=, mxy=, mxz= and myz= (or mech=) gives the moment tensor";
const STATIONS: Param = Param::elsewhere("stations")
    .doc("sfvsfd3d-gpu and sfsem3d-gpu take files of stations. Here rec= names the points of receivers");

/// Parameters that the displacement programs do not take, with advice on what they take instead.
pub const WAVELETS: [Param; 9] = [
    Param::elsewhere("vp")
        .known_as(&["vs", "vel", "velocity"])
        .doc(PLANES),
    Param::elsewhere("cmt").doc(WAVELETS_ONLY),
    Param::elsewhere("quakeml").doc(WAVELETS_ONLY),
    Param::elsewhere("force").doc(WAVELETS_ONLY),
    STATIONS,
    Param::elsewhere("src").doc(HISTORIES),
    Param::elsewhere("stf").doc(HISTORIES),
    Param::elsewhere("freq").known_as(&PEAK_ELSEWHERE).doc(HISTORIES),
    Param::elsewhere("m0").doc(HISTORIES),
];
const PLANES: &str = "sfvsfd2d-gpu and sfvsfd3d-gpu take vp= and vs=. Here ccc= has the planes of the stiffness: sfstiffness < vp.rsf vs=vs.rsf \
ro=den.rsf sym=iso > ccc.rsf makes them";
const HISTORIES: &str = "sfvsfd2d-gpu and sfvsfd3d-gpu have sources in absolute units. Here standard input has the wavelets of forces (or, with \
ssou=y, of stresses), as sfricker1 makes them";
const WAVELETS_ONLY: &str = "sfvsfd3d-gpu and sfsem3d-gpu read earthquake files. Here sou= names the points of sources, and standard input \
has the wavelets of their forces (or, with ssou=y, stresses)";

/// Parameters of programs on meshes that programs on grids do not take, and the parameters that they take instead.
pub const OF_MESHES: [Param; 4] = [
    Param::elsewhere("sponge")
        .doc("sfsem2d-gpu and sfsem3d-gpu take it. Here absorb=sponge damps waves in a frame of nb= cells"),
    Param::elsewhere("cpml")
        .doc("sfsem2d-gpu, sfsem3d-gpu and sfhexmesh take it. Here absorb=cpml, the default, has nb= cells"),
    Param::elsewhere("degree")
        .doc("sfsem2d-gpu and sfsem3d-gpu take it. Here order= is the order of the differences"),
    Param::elsewhere("mesh")
        .doc("sfsem2d-gpu and sfsem3d-gpu run meshes. Here vp=, vs= and den= are the model on a grid"),
];

/// Parameters of programs on grids that programs on meshes do not take.
pub const OF_GRIDS: [Param; 6] = [
    Param::elsewhere("nb").doc(LAYERS_OF_MESHES),
    Param::elsewhere("absorb").doc(LAYERS_OF_MESHES),
    Param::elsewhere("order").doc("sfvsfd2d-gpu and sfvsfd3d-gpu take it. Here degree= is the degree of the elements"),
    Param::elsewhere("dtout").doc(
        "sfvsfd2d-gpu and sfvsfd3d-gpu take it. Here jdata= is the number of steps between records: dt=0.001 jdata=4 records every 4 ms",
    ),
    Param::elsewhere("layers").doc("sfvsfd2d-gpu and sfvsfd3d-gpu take tables of layers. Here sfhexmesh surfaces= makes meshes with layers"),
    Param::elsewhere("freesurface").known_as(&["fs", "surface"]).doc(
        "sides of a mesh that do not absorb are free already; absorb= of sfhexmesh says which sides absorb, by default all but the top",
    ),
];
const LAYERS_OF_MESHES: &str = "sfvsfd2d-gpu and sfvsfd3d-gpu take it. Here sides that the mesh calls absorbing (absorb= of sfhexmesh) absorb, and \
sponge= or cpml= give them a layer with a thickness in m";
