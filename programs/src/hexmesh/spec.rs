//! The program as its user sees it.

use rsf_io::{Param, Program};

const PARAMS: &[Param] = &[
    Param::string("surfaces").doc(
        "a box: z of its bottom, interfaces and top from the bottom up, each a number or an RSF map (n1 x, n2 y), separated by commas",
    ),
    Param::ints("layers").range(">= 1", Some(1.0), None).doc("rows of elements in each layer of the box or chunk, from the bottom up"),
    Param::int("nx").range(">= 1", Some(1.0), None).doc("elements along x at the top of the box or chunk"),
    Param::int("ny").range(">= 1", Some(1.0), None).default_text("none (2-D); of a chunk as nx").doc("elements along y at the top of the box or chunk"),
    Param::ints("doubling").default_text("none").range(">= 1", Some(1.0), None).doc("layers (1 is the lowest) in whose lowest rows the lateral counts double upwards; of a chunk rows"),
    Param::float("xmin").default_text("the maps").doc("first x of the box"),
    Param::float("xmax").default_text("the maps").doc("last x of the box"),
    Param::float("ymin").default_text("the maps").doc("first y of the box"),
    Param::float("ymax").default_text("the maps").doc("last y of the box"),
    Param::bool("curved").default("n").doc("elements of 27 nodes (2-D: 9), bent with the maps, instead of 8 (4)"),
    Param::string("absorb").default("xmin,xmax,ymin,ymax,bottom").doc("absorbing sides of the box or chunk: some of xmin, xmax, ymin, ymax, bottom, top, or none"),
    Param::bool("sphere").default("n").doc("a chunk of the Earth instead of a box"),
    Param::string("model").default("prem").doc("what fills the chunk: prem, prem-ti (transversely isotropic) or a file of rows radius rho vp vs [qkappa qmu [vph vsh eta]]"),
    Param::float("lat").default("0").range("-90 to 90", Some(-90.0), Some(90.0)).doc("geocentric latitude of the chunk's centre, degrees"),
    Param::float("lon").default("0").doc("its longitude"),
    Param::float("turn").default("0").doc("angle from the east to the chunk's x axis, counter-clockwise from above, degrees"),
    Param::floats("width").default("90").doc("degrees along x, y of the chunk"),
    Param::float("bottom").default("3480000").doc("radius of the chunk's bottom, m; the default is PREM's core-mantle boundary"),
    Param::floats("skip").default_text("none").doc("depths (m) of discontinuities of the model that get no faces"),
    Param::bool("q").default("n").doc("put the quality factors of the model into the materials of the chunk"),
    Param::string("gmsh").doc("a mesh of Gmsh, MSH 4.1 as text or binary"),
    Param::bool("up").default("y").doc("the last axis of a gmsh= mesh points upwards"),
    Param::string("specfem").doc("a folder with mesh_file, nodes_coords_file and so on, as SPECFEM3D reads them"),
    Param::input("mesh").doc("a mesh to judge: its elements, whose header names the other files"),
    Param::input("elements").doc("elements of a mesh to judge, int, n1=8 or 27 (2-D: 4 or 9) nodes in Gmsh's order from 0"),
    Param::input("nodes").doc("its nodes, n1=3 (x, y, z) or 2 (x, z)"),
    Param::input("regions").default_text("all 0").doc("its regions, int, one an element"),
    Param::input("materials").doc("its materials, n1=6 (rho, vp, vs, Qkappa, Qmu, 1 where a table of constants holds), one a region"),
    Param::input("absorbing").doc("its absorbing faces, int, n1=2 (element, local face)"),
    Param::input("free").doc("its faces on the free surface"),
    Param::floats("rho").doc("density of the regions, kg/m3: one number, or one a region"),
    Param::floats("vp").doc("P speed of the regions, m/s"),
    Param::floats("vs").doc("S speed of the regions, m/s; 0 is a fluid"),
    Param::floats("qkappa").default_text("9999, no loss").doc("quality factor of compression"),
    Param::floats("qmu").default_text("9999, no loss").doc("quality factor of shear"),
    Param::int("degree").default("4").range("2 to 8", Some(2.0), Some(8.0)).doc("degree of the elements for which points, step and frequency are told"),
    Param::bool("judge").default("y").doc("tell elements, Jacobian, angles, ratio of sides, largest stable step and resolved frequency"),
    Param::output("hist").doc("histograms of the figures"),
    Param::string("base").default("mesh").doc("the mesh's other files are base-nodes.rsf, base-regions.rsf, ..."),
];

/// The declaration of `sfhexmesh`.
pub static PROGRAM: Program = Program {
    name: "sfhexmesh",
    about: "Makes, reads and judges meshes of hexahedra (3-D) and quadrilaterals (2-D)",
    usage: "surfaces=2000,topo.rsf layers=8 nx=20 ny=20 rho=2500 vp=3000 vs=1700 | sphere=y nx=64 | gmsh=file.msh | specfem=folder > mesh.rsf",
    comments: COMMENTS,
    example: EXAMPLE,
    params: PARAMS,
};

const COMMENTS: &str = "\
Axes are x, y, z in metres, z downwards; elements, nodes, regions and faces are counted from 0.

The output is the elements: int, n1 nodes of an element in Gmsh's order, n2 elements. Its header names the other files, which lie beside it: nodes= (float, n1=3), regions= (int), materials= (float, n1=6: rho, vp, vs, Qkappa, Qmu, 1 where a table of constants holds), absorbing= and free= (int, n1=2: element, local face). The local faces are w-, v-, u-, u+, v+, w+, in 2-D v-, u+, v+, u-. Jacobians are above zero in these axes.

A box: surfaces= has one entry more than layers=. Nodes lie on the maps, which are interpolated linearly and may not cross. Region k is layer k, from the bottom. doubling=2 makes the lowest row of layer 2 (in 3-D the two lowest, one for each axis) a row in which every element has two above it along an axis; all faces stay shared. nx= and ny= must be divisible by 2 to the power of one more than the doublings. The top is free.

sphere=y: a chunk of the cubed sphere (equal angles along two great circles; 90 degrees are a sixth of the globe), elements of 27 nodes. Its axes are geocentric: x through 0 N 0 E, y through 0 N 90 E, z through the north pole. Rows of elements lie between the discontinuities of model=, PREM's ocean being filled with crust; region k is the layer k between them, from the bottom up, and materials= has what is in its middle: runs take model= again for what is at every point. The rows are those of Komatitsch et al. (2010) for nx=256 width=90, 655360 elements with doublings below the crust and in the lower mantle, or in proportion; elements wider than 100 km and other models get rows as high as elements are wide. layers= and doubling= say it instead: doubling= names single rows here, in which every element has two times two above it. skip= leaves out discontinuities, such as the crust's, which make thin elements and small steps. bottom= below the core-mantle boundary adds the fluid outer core and the solid inner core. Sides absorb, and the bottom, but for a mantle's bottom on a fluid, which is free unless absorb= says more. nx= and ny= must be divisible as for boxes.

gmsh=: physical volumes (2-D: surfaces) are regions, in the order of their tags; physical surfaces (curves) named top or free are free, those named bottom, xmin, xmax, ymin, ymax or absorbing absorb. Physical groups without a name choose nothing.

specfem=: mesh_file, nodes_coords_file, materials_file, nummaterial_velocity_file, free_or_absorbing_surface_file_zmax and absorbing_surface_file_xmin, _xmax, _ymin, _ymax, _bottom; z is turned downwards.

A mesh of RSF files (mesh=, or elements= and nodes=) is judged only; the output is then the histograms: n1 bins, n2 figures, of which label2 says the ranges. What lies outside counts in the last bin.

The largest stable step is 2 over the largest eigenvalue of a single element, which no mesh exceeds: on regular meshes it is some 15 % below the true limit. The resolved frequency has five points on the shortest wavelength. Both need the materials.

A mesh with a fault (Jacobian, hanging or duplicate nodes, faces of three elements, faces in lists that are inside, regions without material or element, fluids that touch solids by edges alone) is refused with the element and its place.";

const EXAMPLE: &str = "\
# a valley in 2-D: 4 km of rock, coarse below
sfmath n1=201 o1=0 d1=20 output='100-100*cos(x1*0.00157)' > topo.rsf
sfhexmesh surfaces=2000,800,topo.rsf layers=6,8 nx=80 doubling=2 rho=2600,2300 vp=4000,2800 vs=2300,1500 curved=y > valley.rsf
sfhexmesh mesh=valley.rsf | sfdisfil
# the mantle below 40 degrees around Bolivia, with elements of 280 km and without the crust's discontinuities
sfhexmesh sphere=y nx=16 width=40 lat=-13.7 lon=-67.25 skip=15000,24400 base=andes > andes.rsf
# the mesh of Komatitsch et al. (2010)
sfhexmesh sphere=y nx=256 judge=n base=earth > earth.rsf
# a mesh of Gmsh with two physical volumes
sfhexmesh gmsh=basin.msh rho=2500,2000 vp=3500,1800 vs=2000,800 base=basin > basin.rsf";
