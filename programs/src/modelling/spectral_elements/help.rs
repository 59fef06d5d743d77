//! The documentation of `sfsem2d-gpu` and `sfsem3d-gpu`.

/// The text of the COMMENTS section of the documentation.
pub(super) const COMMENTS: &str = "\
Solves the elastic wave equation by spectral elements (Komatitsch and Tromp 1999) on a mesh that follows topography and \
interfaces, with order 2 in time. The medium may contain isotropic solids, solids with 21 elastic constants, fluids and \
attenuation; the sides of the mesh are free or absorbing. The program runs on GPUs if there are any, otherwise on the CPU.

Mesh: mesh= is a file that sfhexmesh wrote. It holds the elements, and its header names nodes=, regions=, materials=, \
absorbing=, free= and pml=; the same parameters on the command line take precedence. specfem= is a folder with mesh \
files of SPECFEM3D instead. The axes are x[, y], z, with z downwards. All units are SI: m, s, m/s, kg/m3, Pa, N, N m. \
Each region has a row in materials=: rho, vp, vs (0 in a fluid), Qkappa, Qmu, and 1 if its constants are in ccc=. ccc= \
has n1=21 constants for every region, c11 c12 c13 c14 c15 c16 c22 ... c66, with the axes 1=x 2=y 3=z (2-D runs use \
only the constants of x and z).

Models on grids: vp=, vs=, den=, qp= and qs= may change within regions. They are given on regular grids, n1=z n2=x[ \
n3=y], like those of the finite-difference programs, and are interpolated linearly to every point of an element. \
materials= still lists the regions, defines which of them are fluids, and gives the properties that have no grid. If one \
grid covers the whole mesh, a point uses only grid nodes in its own region: nodes on an interface, beyond it or in the \
air do not count, and towards an interface the value of the last node continues. If the grid has a further axis for the \
regions, n3 (in 3-D n4), each region has its own grid, which is used up to the sides of the region and beyond them. \
Nothing changes along an axis with n=1. ccc= may also hold planes on such a grid (9 or 21, in 2-D 4 or 6, as sfstiffness \
writes them, then the regions); they apply to the solids.

Sides: a side that is in neither list is free in a solid and rigid in a fluid. free= is needed only where a fluid has a \
surface, at which the pressure is zero. Absorbing sides (Clayton and Engquist 1977) are exact for plane waves that leave \
at right angles; waves that arrive at an angle are partly reflected. sponge= adds a damping layer of that thickness \
inside the mesh along the absorbing sides. It also absorbs surface waves; two or three of the longest wavelengths of \
interest are a good thickness. Layers of two, one and half a P wavelength at the peak frequency of a Ricker wavelet \
reflect 0.8 %, 3 % and 9 % of its largest wave; the sides alone reflect 11 %. It does not change the stable step. A \
source or receiver in this layer has much smaller waves, and a warning says so. \
cpml= turns the mesh along the absorbing sides, up to that depth, into perfectly matched layers instead (CPML; Kuzuoglu \
and Mittra 1996). Three elements reflect less than a thousandth of P and S waves from 0 to 80 degrees if the S \
wavelength at the peak frequency is 4.25 elements long. The sides must be flat and perpendicular to the axes; at the \
outer ends displacement (in fluids pressure) is zero, and the stable step is up to 10 % smaller where they are an \
element thick or more. The layers of the mesh (of cpml= of sfhexmesh, or the absorbing_cpml_file of specfem=) are used \
unless cpml= is given; cpml=0 ignores them. With fcpml=, which is f0_FOR_PML of SPECFEM3D, the layers are like those of \
that program: their damping profile is weaker, and rock does not attenuate in them. No source may lie in a layer, and \
contacts of a fluid and a solid must be perpendicular to it. An anisotropic solid in which waves would grow in the \
layers (Becache et al. 2003) is refused; use sponge= for it. In layered rock guided waves can grow in the layers in long \
runs: a warning names shots that end with growing records, for which sponge= or fcpml= can be used. lumping=specfem adds \
the row sums of the damping to the mass, as SPECFEM3D does, for comparisons; these are not exact on slanted sides.

Attenuation: solids whose Qkappa or Qmu in materials= is below 9000 attenuate. Three standard linear solids keep Q \
constant within 3 % over qband=, provided that the ratio of its ends is at most 12. Velocities are given at qref= and \
increase with frequency. With qfit=specfem, and by default with specfem= if qband= is missing, the band ends 1 % above \
the highest frequency that the whole mesh resolves and begins 1.75 decades below, and relaxation times and moduli are \
the same as in SPECFEM3D for that band: qref= is its ATTENUATION_f0_REFERENCE, and qband= corresponds to its MIN_ and \
MAX_ATTENUATION_PERIOD. qfit=lddrk also lets the memory variables lie a step ahead of the strain, as with its \
USE_LDDRK; tdc=y provides the remaining parts of that scheme. sls= gives the complete description instead: n1=11 for \
every region, with the relaxation times of stress (3), of strain for mu (3) and for kappa (3), and the factors from mu \
and kappa to the unrelaxed moduli. qmech=coarse needs a third of the memory for attenuation and less time: each point \
has one of the three mechanisms, and on average over an element all of them act together. It refuses quality factors \
that are too low for that.

Sources (src=): moment is a moment tensor mxx= ... in N m along the axes of the mesh; dc is a double couple with \
strike=, dip= and rake= in degrees and the moment m0= (Aki and Richards: x north, y east, z down; xaz= turns x); \
explosion has the moment m0=; force is fx= ... in N. Only explosions can act in a fluid. A moment on a side shared by \
several elements of the same region acts in all of them in equal parts (in SPECFEM3D in one of them). In 2-D strengths \
are per metre across the plane. mech= gives every source its own strength: n2 sources with n1 = 6 (xx yy zz xy xz yz), 4 \
(strike dip rake M0), 1 (M0) or 3 (force x, y, z; in 2-D n1 = 2, x z).

stf= is the time function of the sources: gauss, a moment rate exp(-(t-4 tau)^2/(2 tau^2))/sqrt(2 pi tau^2); brune, a moment \
rate t/tau^2 exp(-t/tau); cosine, a moment rate (1-cos(2 pi t/tau))/tau up to tau; ricker, a moment that is a Ricker wavelet \
of freq= with its peak at 1.2/freq. A force has the same time functions, scaled to a maximum of one. series= gives samples \
instead: n1 times with d1 and o1 (a cubic spline goes through samples that are further apart than the steps), and n2 = 1 or one series for every source. They are the moment rate divided by the moment, \
in 1/s (with rate=n the moment itself divided by its strength), or the force divided by its strength. If a series begins \
before time zero, so does the run. onset= delays every source by a time in seconds; n1 is the number of sources.

The Earth (3-D): model= gives every point of a mesh of the Earth its properties. prem is PREM without its ocean, \
prem-ti its transversely isotropic version, and any other name is a text file with radii in m from the centre upwards, \
kg/m3 and m/s, as sfhexmesh reads it. An element belongs to the layer that contains its middle, so points on its faces \
never take values from beyond a discontinuity. Fluids and quality factors are taken from materials= (sfhexmesh q=y \
writes the quality factors of the model). Gravity, rotation and ellipticity are not modelled.

cmt= (3-D) reads the sources from a CMTSOLUTION file: one moment tensor or several, in dyne cm with r up, t south, p \
east. quakeml= reads them from a QuakeML file: N m, places in degrees; the half duration is half of the duration of \
its source time function, otherwise 1.05e-8 times the cube root of the moment in dyne cm, as in the Global CMT \
catalogue. stations= reads the receivers from a STATIONS file: name, network, latitude, longitude, and elevation and \
burial in m, or from a StationXML file: every location code of a station is a receiver. On a mesh of the Earth \
(sfhexmesh sphere=y, or radius=) latitudes are geographic and are converted to geocentric ones, unless \
latitude=geocentric; depth and burial are measured from the surface of the sphere, and elevations have no effect. On \
other meshes latitude (latorUTM: in a CMTSOLUTION of SPECFEM3D Cartesian) is y, to the north, and longitude \
(longorUTM:) is x, to the east, in metres; with utm= or epsg= they are degrees of WGS84, which that projection maps to \
x and y (as in SPECFEM3D, north and east are y and x then). Depth and burial are measured from the top of the mesh \
above the point, and elevations have no effect; with depth=z they are measured from z=0, so that z is the depth of a \
source, and burial minus elevation for a station. Moments grow as 1 + erf(1.628 t / half duration) about their \
centroid times, and the earliest centroid time is the time zero of the records. A half duration is at least 5 steps. \
stf=, freq= and tau= replace this time function by another one about the same centroid times, and series= by samples \
that keep their own times. In a fluid the moment itself is the Gaussian in SPECFEM3D; fluid=specfem does the same. \
force= reads forces from a FORCESOLUTION file of SPECFEM3D in the same way, by east, north and up: source time \
function 0 is a Gaussian exp(-(1.628 t / half duration)^2) of area one, so that the factor is an impulse in N s, 1 a \
Ricker wavelet of the peak frequency f0, whose peak is at the time shift, 2 a step, the integral of 0, 3 a sine of the \
period hdurorf0 from the time shift on, which grows for 200 s, and 4 a Gaussian sqrt(pi)/T exp(-(pi t/T)^2) with T = \
hdurorf0. A last line of a source in either file may name a text file with a sample of the moment (or of the force) \
for every step, as with USE_EXTERNAL_SOURCE_FILE: it is looked up in the folder of the run and then in the folder of \
that file. Records of motion at stations have the components Z (up), N, E; records of rotation and strain keep the axes of \
the mesh.

Output: n1 receivers, n2 components z, x[, y] (positive along the axes, so z is positive downwards), n3 records; o3 is \
the time at which the run begins. Pressure has one component and is zero in solids; on their contact with a fluid it \
is the pressure of the fluid. Beside a contact that is not flat a receiver may lie on either side: put hydrophones a \
tenth of an element above the sea floor, and geophones as far below it. Strain has zz, xx, yy, zx, zy, xy (in 2-D zz, \
xx, zx), the components of the tensor, positive for extension. Rotation is half the curl, in rad, about z, x, y (in \
2-D about y). In an element that holds a source, records are wrong by 5 to 40 %, with any degree, because its \
polynomials cannot represent the field of a point source. displacement=, velocity= and acceleration= name files for \
further quantities of the same run, as in data=displacement velocity=velocity.rsf. data=das is the strain along the \
fibre direction along=, positive for extension, averaged over gauge= metres around the receiver. Snapshots are \
interpolated onto a regular grid (nqz=, oqz=, dqz= and so on) and are zero outside the mesh. With ground=y they have \
the axes x[, y] and follow the ground, which is the first side that a vertical line from above meets and that does not \
absorb. pgv= writes a map of the largest horizontal velocity of all steps on the ground, with the axes nqx=, oqx=, \
dqx= and so on; pgd= does the same with data=displacement, and pga= with data=acceleration.

Long time steps make waves arrive early. tdc=y changes the time functions of the sources before the run and the \
records after it so that the records have exact time at any stable step. Time functions must begin at rest and have no \
frequencies above 1/(pi dt). With a step near the largest stable one, absorbing sides reflect a little more. With \
three mechanisms at every point tdc=y also uses the strain of the step itself, whereas tdc=n uses the strain that \
SPECFEM3D predicts. Records stay in memory until the end of the run, which takes a few steps more; snapshots and maps \
keep the time of the steps, as their headers say. plan=y and the last line of verb=y give the error of the time step.

A third axis of sou= counts shots, and so does a third axis of rec= if the receivers move with the shot. The shots run \
one after another on the same mesh, which is read once and, on the CPU, also set up once, with the same mechanisms and \
time functions, and the data have a last axis of shots. shots= picks some of them, counted from 1 as in all messages: \
the data contain only these, in the order of the survey. Their last axis counts from 0, like the axis of the whole \
survey, if the shots are evenly spaced, and shots in the header lists their numbers. A shot that fails is reported and \
its traces are zero; the other shots still run, and the exit code is 1. With several shots finished= takes the data of \
an earlier run of the survey, which may have been stopped or killed: its shots are copied, and only shots that are \
missing or zero are modelled. Parameters, model, points and time functions must be the same as in that run: its header \
has their checksums. Snapshots, maps, checkpoint= and resume= are available for one shot only, and the sources of cmt= \
are one shot. Several shots can run at the same time: gpu=0,1,2,3 ngpu=1 models four shots at a time, each on one GPU, \
and so does groups=4; on the CPU groups= divides the threads, and each group has its own fields. Several ranks model \
whole shots in turn. The data have the same bits for any number of groups and ranks.

With ngpu= the mesh is divided among several GPUs; on the CPU it is divided into that number of subdomains. A build with \
MPI runs as several ranks (mpirun -n 4 sfsem3d-gpu ...), each with its share of the elements and of the GPUs or cores. \
The result has the same bits for any number. GPUs and CPUs agree within rounding, and each can continue a state that the \
other has saved.";

/// The usage of both programs.
pub(super) const USAGE: &str =
    "mesh=mesh.rsf sou=sources.rsf rec=receivers.rsf nt= dt= [snap=y wfl=snapshots.rsf] > data.rsf";

/// Examples of the 2-D program.
pub(super) const EXAMPLE_2D: &str = "\
# a hill over rock, an explosion below it, receivers along a line under the surface
sfmath n1=201 o1=0 d1=20 output='200-150*exp(-((x1-2000)/400)^2)' > topo.rsf
sfhexmesh surfaces=2000,topo.rsf layers=18 nx=40 curved=y rho=2300 vp=3000 vs=1700 > hill.rsf
sfspike n1=2 nsp=2 k1=1,2 mag=1200,900 > sou.rsf
sfmath n1=2 n2=61 d2=50 output='(1-x1)*(x2+500)+x1*300' > rec.rsf
sfsem2d-gpu mesh=hill.rsf sou=sou.rsf rec=rec.rsf nt=1500 dt=0.001 m0=1e12 stf=ricker freq=6 verb=y |
    sfwindow n2=1 | sftransp | sfgrey | sfpen";

/// Examples of the 3-D program.
pub(super) const EXAMPLE_3D: &str = "\
# a box of rock with a free top, a double couple in it
sfhexmesh surfaces=2000,0 layers=8 nx=10 ny=10 xmin=0 xmax=2500 ymin=0 ymax=2500 rho=2500 vp=3500 vs=2000 > box.rsf
sfspike n1=3 nsp=3 k1=1,2,3 mag=1230,1210,1040 > sou.rsf
sfspike n1=3 nsp=3 k1=1,2,3 mag=1900,1800,30 > rec.rsf
sfsem3d-gpu mesh=box.rsf sou=sou.rsf rec=rec.rsf nt=600 dt=0.003 src=dc m0=1e15 tau=0.06 verb=y > data.rsf
# memory and time of this run, divided into three subdomains
sfsem3d-gpu mesh=box.rsf sou=sou.rsf rec=rec.rsf nt=600 dt=0.003 src=dc m0=1e15 tau=0.06 device=cpu ngpu=3 plan=y";
