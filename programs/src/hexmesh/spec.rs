//! The parameters and documentation of the program.

use rsf_io::{Param, Program};

const PARAMS: &[Param] = &[
    Param::string("surfaces").doc(
        "a box: z of its bottom, interfaces and top from the bottom up, each a number or an RSF map (n1 x, n2 y), separated by commas",
    ),
    Param::ints("layers").range(">= 1", Some(1.0), None).doc("number of rows of elements in each layer of \
    the box or chunk, from the bottom up"),
    Param::int("nx").range(">= 1", Some(1.0), None).doc("number of elements along x at the top of the box or \
    chunk"),
    Param::int("ny").range(">= 1", Some(1.0), None).default_text("none (2-D); for a chunk nx").doc("number \
    of elements along y at the top of the box or chunk"),
    Param::ints("doubling").default_text("none").range(">= 1", Some(1.0), None).doc("box: layers (1 is the lowest) in whose lowest rows the number of elements along x and y doubles upwards; chunk: rows (1 is the lowest) in which it doubles"),
    Param::float("xmin").default_text("the maps").doc("first x of the box"),
    Param::float("xmax").default_text("the maps").doc("last x of the box"),
    Param::float("ymin").default_text("the maps").doc("first y of the box"),
    Param::float("ymax").default_text("the maps").doc("last y of the box"),
    Param::bool("curved").default("n").doc("elements of 27 nodes (9 in 2-D) that follow the curvature of the \
    maps, instead of 8 (4)"),
    Param::string("absorb").default("xmin,xmax,ymin,ymax,bottom").doc("absorbing sides of the box or chunk: any of xmin, xmax, ymin, ymax, bottom, top, or none"),
    Param::float("cpml").default("0").range(">= 0", Some(0.0), None).doc("thickness of perfectly matched \
    layers (CPML) that are added outside the absorbing sides of the box, m, rounded up to whole elements; 0: \
    none"),
    Param::bool("sphere").default("n").doc("a chunk of the Earth instead of a box"),
    Param::string("model").default("prem").doc("model of the Earth: prem, prem-ti (transversely isotropic) or a text file with rows radius rho vp vs [qkappa qmu [vph vsh eta]]"),
    Param::float("lat").default("0").range("-90 to 90", Some(-90.0), Some(90.0)).doc("geocentric latitude of \
    the centre of the chunk, degrees"),
    Param::float("lon").default("0").doc("longitude of the chunk's centre, degrees"),
    Param::float("turn").default("0").doc("angle from east to the chunk's x axis, counter-clockwise seen from above, degrees"),
    Param::floats("width").default("90").doc("width of the chunk along x and y, degrees"),
    Param::float("bottom").default("3480000").doc("radius of the chunk's bottom, m; the default is PREM's core-mantle boundary"),
    Param::floats("skip").default_text("none").doc("depths (m) of discontinuities of the model that the mesh does not follow"),
    Param::bool("q").default("n").doc("write the quality factors of the model into the materials"),
    Param::string("gmsh").doc("mesh of Gmsh in the format MSH 4.1 or 2.2, text or binary"),
    Param::bool("up").default("y").doc("y: the last axis of the mesh in gmsh= points upwards"),
    Param::string("specfem").doc("folder with mesh_file, nodes_coords_file and the other files that SPECFEM3D reads"),
    Param::input("mesh").doc("elements of a mesh to check; the header names the other files"),
    Param::input("elements").doc("elements of a mesh to check: int, n1=8 or 27 (in 2-D 4 or 9) nodes in the order of Gmsh, numbered from 0"),
    Param::input("nodes").doc("nodes of that mesh, n1=3 (x, y, z) or 2 (x, z)"),
    Param::input("regions").default_text("all 0").doc("regions of that mesh, int, one for every element"),
    Param::input("materials").doc("materials of that mesh, one for every region, n1=6: rho, vp, vs, Qkappa, Qmu, and 1 if the constants are in a table"),
    Param::input("absorbing").doc("absorbing faces of that mesh, int, n1=2: element and local face; none: no \
    face of that mesh or of specfem= absorbs"),
    Param::input("free").doc("faces of that mesh on the free surface"),
    Param::input("pml").doc("elements of that mesh in perfectly matched layers, int, n1=2: element and axes"),
    Param::floats("rho").doc("density, kg/m3: one number, or one for every region"),
    Param::floats("vp").doc("P velocity of the regions, m/s"),
    Param::floats("vs").doc("S velocity of the regions, m/s; 0 in a fluid"),
    Param::floats("qkappa").default_text("9999, which means no attenuation").doc("quality factor of compression"),
    Param::floats("qmu").default_text("9999, which means no attenuation").doc("quality factor of shear"),
    Param::int("degree").default("4").range("2 to 8", Some(2.0), Some(8.0)).doc("polynomial degree for which \
    the points, the stable step and the resolved frequency are printed"),
    Param::bool("judge").default("y").doc("print the number of elements, Jacobians, angles, ratios of sides, \
    the largest stable step and the resolved frequency"),
    Param::bool("verb").default("n").doc("y: print each stage of the work with the seconds elapsed; on a \
    terminal there is a progress bar in any case"),
    Param::output("hist").doc("histograms of these measures"),
    Param::string("base").default_text("the name of the output without .rsf; mesh for a pipe").doc("the \
    other files of the mesh are base-nodes.rsf, base-regions.rsf, ..."),
];

/// The declaration of `sfhexmesh`.
pub static PROGRAM: Program = Program {
    name: "sfhexmesh",
    about: "Make, convert and check meshes of hexahedra (3-D) and quadrilaterals (2-D)",
    usage: "surfaces=2000,topo.rsf layers=8 nx=20 ny=20 rho=2500 vp=3000 vs=1700 | sphere=y nx=64 | gmsh=file.msh | specfem=folder > mesh.rsf",
    comments: COMMENTS,
    example: EXAMPLE,
    params: PARAMS,
};

const COMMENTS: &str = "\
The axes are x, y, z in metres, with z downwards. Elements, nodes, regions and faces are numbered from 0.

Output: the elements as integers, n1 nodes of an element in the order of Gmsh, n2 elements. The header names the other \
files, which are written next to it: nodes= (float, n1=3), regions= (int), materials= (float, n1=6: rho, vp, vs, Qkappa, \
Qmu, and 1 if the constants are in a table), absorbing= and free= (int, n1=2: element and local face), and, if elements \
lie in perfectly matched layers, pml= (int, n1=2: element and the axes that the layer absorbs across: 1 x, 2 y, 3 z, 4 x \
and y, 5 x and z, 6 y and z, 7 all). Their names begin with base= or, without it, with the name of the output, so that \
basin.rsf has basin-nodes.rsf and so on; files of another mesh are not overwritten. The local faces are w-, v-, u-, u+, \
v+, w+, and in 2-D v-, u+, v+, u-. Jacobians are positive in these axes.

A box: surfaces= lists the bottom, the interfaces and the top, so that it has one entry more than layers=. Maps are \
interpolated linearly, and surfaces may not cross. Region k is layer k, counted from the bottom. doubling=2 turns the \
lowest row of layer 2 (in 3-D the two lowest rows, one for each axis) into a transition with twice as many elements \
above as below, without hanging nodes. nx= and ny= must be divisible by 2 to the power of one more than the number of \
doublings. The top is free.

cpml= adds perfectly matched layers outside the absorbing sides of a box, which the modelling programs then use \
automatically. The box from xmin= to xmax= stays as it is; elements as large as its own are added outside it until every \
layer is at least as thick as cpml=. Maps continue with the values at their edges, as do models on grids in the \
modelling programs. Three elements are enough (see cpml= of sfsem3d-gpu). Regions keep their numbers. A bottom or a top \
that absorbs must be flat, and cpml= cannot be combined with doubling=, whose elements are slanted.

sphere=y makes a chunk of the cubed sphere, with equal angles along two great circles (90 degrees give a sixth of the \
globe) and elements of 27 nodes. The axes are geocentric: x through 0 N 0 E, y through 0 N 90 E, z through the north \
pole. Rows of elements lie between the discontinuities of model=, where the ocean of PREM is replaced by crust. Region \
k is layer k between discontinuities, counted from the bottom, and materials= holds the properties in the middle of \
the layer; give model= to the modelling program, too, for the properties at every point. For nx=256 width=90 the rows \
are the same as in Komatitsch et al. (2010): 655360 elements, with doublings below the crust and in the lower mantle; \
for other nx= the number of rows is in proportion. With elements wider than 100 km, and with other models, rows are as \
high as elements are wide. layers= and doubling= choose rows and doublings instead; here doubling= names single rows, \
above which there are twice as many elements in both directions. skip= leaves out discontinuities, for example in the \
crust, where they cause thin elements and small steps. A bottom= below the core-mantle boundary adds the fluid outer \
core and the solid inner core. The sides absorb. The bottom absorbs as well, except at the core-mantle boundary, where \
it is free unless absorb= says otherwise. nx= and ny= must be divisible as for a box.

gmsh=: physical volumes (in 2-D surfaces) become regions, in the order of their tags. Physical surfaces (in 2-D curves) \
named top or free are free; those named bottom, xmin, xmax, ymin, ymax or absorbing absorb. Physical groups without a name \
are ignored.

specfem=: the folder holds mesh_file, nodes_coords_file, materials_file, nummaterial_velocity_file, \
free_or_absorbing_surface_file_zmax and absorbing_surface_file_xmin, _xmax, _ymin, _ymax, _bottom. z is changed to point \
downwards. Rows of nummaterial_velocity_file that no element uses are left out. The layers of absorbing_cpml_file \
become the layers of the mesh (pml=). absorbing=none leaves out the absorbing faces and these layers.

A mesh that is already in RSF files (mesh=, or elements= and nodes=) is only checked; the output is then the histograms: n1 \
bins, n2 measures, with the ranges in label2. Values outside a range count in the last bin.

The largest stable step that is printed is 2 over the largest eigenfrequency of any single element, a bound that always \
holds. It is reduced by a thousandth, because the programs that run on the mesh may compute a bound that is smaller by \
that much, and by more (11 % in one mesh) if elements are almost degenerate. Attenuation (qkappa=, qmu=) is not counted: with it the programs allow a step that is up to a few percent \
smaller, which their plan=y prints. On regular meshes the bound is about 15 % below the true limit. The resolved frequency has five points per shortest \
wavelength. Both need the materials.

A faulty mesh is refused, and the message names the element and its place. Faults are Jacobians that are not positive, \
hanging or duplicate nodes, faces shared by three elements, listed faces inside the mesh, regions without material or \
elements, and fluids that touch solids only along edges.";

const EXAMPLE: &str = "\
# a valley in 2-D: 4 km of rock, coarse below
sfmath n1=201 o1=0 d1=20 output='100-100*cos(x1*0.00157)' > topo.rsf
sfhexmesh surfaces=2000,800,topo.rsf layers=6,8 nx=80 doubling=2 rho=2600,2300 vp=4000,2800 vs=2300,1500 curved=y > valley.rsf
sfhexmesh mesh=valley.rsf | sfdisfil
# the mantle below 40 degrees around Bolivia, with elements of 280 km and without the crust's discontinuities
sfhexmesh sphere=y nx=16 width=40 lat=-13.7 lon=-67.25 skip=15000,24400 > andes.rsf
# the mesh of Komatitsch et al. (2010)
sfhexmesh sphere=y nx=256 judge=n > earth.rsf
# a mesh of Gmsh with two physical volumes
sfhexmesh gmsh=basin.msh rho=2500,2000 vp=3500,1800 vs=2000,800 > basin.rsf";
