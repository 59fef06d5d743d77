//! The parameters and documentation of the program.

use rsf_io::{Param, Program};

const PARAMS: &[Param] = &[
    Param::string("horizons").doc(
        "depths of the interfaces from the top down, each a number or an RSF map (n1 x, n2 y), separated by commas; n of them separate n + 1 layers",
    ),
    Param::floats("rho").alias("ro").doc("density of the layers from the top down; like all lists below up \
    to alpha=, one number for all layers or one for each"),
    Param::floats("vp").doc("P velocity, along the axis of symmetry if the rock has one"),
    Param::floats("vs").doc("S velocity along that axis; 0 in a fluid"),
    Param::floats("drho").default("0").doc("increase of density per unit of depth"),
    Param::floats("dvp").default("0").doc("increase of vp per unit of depth"),
    Param::floats("dvs").default("0").doc("increase of vs per unit of depth"),
    Param::floats("zref").default("0").doc("depth at which rho=, vp= and vs= hold"),
    Param::floats("epsilon").alias("eps").default("0").doc("Thomsen epsilon"),
    Param::floats("delta").alias("del").default("0").doc("Thomsen delta, exact"),
    Param::floats("gamma").alias("gam").default("0").doc("Thomsen gamma"),
    Param::floats("nu").alias("tilt").default("0").doc("tilt of the axis of symmetry about y, degrees"),
    Param::floats("alpha").alias("alp").alias("azimuth").default("0").doc("rotation about z after the tilt, degrees"),
    Param::output("den").required().doc("the density on the same grid"),
    Param::choice("scheme", &["collocated", "staggered"])
        .default("collocated")
        .doc("the programs that will read the model: sfewefd2d-gpu and sfewefd3d-gpu, or the velocity-stress programs (sfvsfd2d-gpu ...)"),
    Param::bool("average")
        .default("y")
        .doc("effective media where interfaces cut cells; n: every node has the rock of its layer, so that interfaces are staircases"),
    Param::int("planes")
        .default_text("as many as the model needs")
        .range("4 or 6 in 2-D, 9 or 21 in 3-D", Some(4.0), Some(21.0))
        .doc("number of coefficients to write; 6 and 21 are all of them"),
    Param::int("dim").default_text("the number of axes of the grid").range("2 or 3", Some(2.0), Some(3.0)).doc("2: four or six planes, 3: nine or 21 planes"),
    Param::int("n1").range(">= 1", Some(1.0), None).doc("samples in z; without it the grid is taken from a dataset on standard input"),
    Param::int("n2").range(">= 1", Some(1.0), None).default_text("1").doc("samples in x"),
    Param::int("n3").range(">= 1", Some(1.0), None).default_text("none (2-D)").doc("samples in y"),
    Param::float("d1").default("1").doc("spacing in z"),
    Param::float("d2").default("1").doc("spacing in x"),
    Param::float("d3").default("1").doc("spacing in y"),
    Param::float("o1").default("0").doc("first z"),
    Param::float("o2").default("0").doc("first x"),
    Param::float("o3").default("0").doc("first y"),
];

/// The declaration of `sflayers`.
pub static PROGRAM: Program = Program {
    name: "sflayers",
    about: "Stiffness and density of rock between horizons, without staircases",
    usage: "horizons=500,map.rsf rho=1900,2200,2500 vp=1800,2600,3800 vs=700,1400,2200 n1=201 n2=401 d1=10 d2=10 den=den.rsf > ccc.rsf",
    comments: COMMENTS,
    example: EXAMPLE,
    params: PARAMS,
};

const COMMENTS: &str = "\
Axes are z (down), x and, in 3-D, y. The planes are on the next axis, in the order of sfstiffness, and their unit is \
density times velocity squared. Maps are interpolated linearly; the same maps, from the bottom up and together \
with a bottom and a top, can be given as surfaces= to sfhexmesh, which makes elements that follow them. Horizons may \
touch but not cross, and may lie above or below the grid.

Each layer has constant rock, or rock whose density and velocities grow linearly with depth: vp at depth z is vp + dvp (z - zref). With \
epsilon=, delta= and gamma= it is transversely isotropic about the vertical, or about an axis that nu= and alpha= turn as in sfstiffness.

A node near an interface has the effective medium of the rocks around it: the stiffness of fine layers of these rocks in \
the same shares, parallel to the interface (Backus 1962; Schoenberg and Muir 1989), and the mean of their densities. \
Horizontal interfaces make VTI cells, dipping ones tilted cells, for which all 6 or 21 coefficients are written. The \
shares come from a smooth window that extends four spacings to each side and differs for the two kinds of programs \
(scheme=): reflections at normal incidence keep their amplitude within 4 % for wavelengths of at least ten points \
(collocated) or six points (staggered), as far as they come from stiffness. The staggered programs average density \
over two nodes, so that a contrast of density alone keeps less: 0.93 of its reflection at 12 points, 0.86 at 8 and \
0.72 at 6. Windows are negative in places, so that the shares and with them the density \
overshoot by up to 8 % of the contrast. Stiffnesses are harmonic means and overshoot more: c33 by up to 13 % if the \
stiffer rock has 2.4 times the c33 of the other, and by up to 32 % if it has 4 times, so that the stable time step is \
shorter than in the rocks; above 4 times a warning says so. If the result is not an elastic medium, a node averages \
only its own cell.

scheme=staggered writes four or nine planes. For a tilted cell these are the coefficients of the orthorhombic medium \
that has the compliances of the effective one, except those that couple normal and shear stresses or different shears \
(s15, s35, ...); these are of second order in the contrast and are left out. The shear \
stiffnesses are those of the effective medium at the shear stresses, half a cell beyond the nodes; shears=staggered in \
the header makes the modelling programs (sfvsfd2d-gpu, sfvsfd3d-gpu) use them without averaging, and sfewefd2d-gpu and \
sfewefd3d-gpu refuse such a file. The velocity-stress programs take files of the other scheme (shears=collocated) with a \
warning. The outermost nodes, which the frame of a run repeats, have the rock of their layer, because CPML may be \
unstable in cut cells.

Where fluid meets solid, a node averages only its own cell. With scheme=staggered the node slips along the interface \
with the material that fills the larger part of its cell, and shear stresses act only between solid nodes: waves across \
the interface meet it at its true position between nodes, and waves along it meet a staircase. A flat sea floor should \
lie half way between two rows of nodes; for a dipping one a mesh (sfhexmesh) is better.";

const EXAMPLE: &str = "\
# a layer that thins over a slope of 8 degrees, for sfvsfd2d-gpu
sfmath n1=401 d1=10 output='600+0.14*(x1-2000)' > slope.rsf
sflayers horizons=300,slope.rsf rho=1900,2200,2500 vp=1800,2600,3800 vs=700,1400,2200 dvp=0,0.5,0 zref=0,300,0 \\
  n1=201 n2=401 d1=10 d2=10 scheme=staggered den=den.rsf > ccc.rsf
# the same interfaces as a mesh
sfhexmesh surfaces=2000,slope.rsf,300,0 layers=6,4,3 nx=60 rho=2500,2200,1900 vp=3800,2600,1800 vs=2200,1400,700 > mesh.rsf";
