//! The declaration of the program and its parameters.

use rsf_io::{Param, Program};

const PARAMS: &[Param] = &[
    Param::number_or_file("vp")
        .default_text("standard input")
        .doc("P velocity along z (with hti=permuted along x); like all parameters below up to alpha=, a \
        number or an RSF file"),
    Param::number_or_file("vs").doc("S velocity along z, polarised along x (hti=permuted: along x); 0 in a fluid"),
    Param::number_or_file("ro").alias("den").alias("rho").doc("density"),
    Param::number_or_file("epsilon").alias("eps").default("0").doc("Thomsen epsilon (sym=vti, hti)"),
    Param::number_or_file("delta").alias("del").default("0").doc("Thomsen delta, exact (sym=vti, hti)"),
    Param::number_or_file("gamma").alias("gam").default("0").doc("Thomsen gamma (sym=vti, hti)"),
    Param::number_or_file("eps1").default("0").doc("Tsvankin epsilon of the plane y-z (sym=ort)"),
    Param::number_or_file("eps2").default("0").doc("Tsvankin epsilon of the plane x-z (sym=ort)"),
    Param::number_or_file("del1").default("0").doc("Tsvankin delta of the plane y-z (sym=ort)"),
    Param::number_or_file("del2").default("0").doc("Tsvankin delta of the plane x-z (sym=ort)"),
    Param::number_or_file("del3").default("0").doc("Tsvankin delta of the plane x-y (sym=ort)"),
    Param::number_or_file("gam1").default("0").doc("Tsvankin gamma of the plane y-z (sym=ort)"),
    Param::number_or_file("gam2").default("0").doc("Tsvankin gamma of the plane x-z (sym=ort)"),
    Param::number_or_file("nu").default("0").doc("tilt about y, degrees"),
    Param::number_or_file("alpha").alias("alp").default("0").doc("rotation about z after the tilt, degrees"),
    Param::choice("sym", &["iso", "vti", "hti", "ort"])
        .default_text("the class that the given parameters need")
        .doc("symmetry class before tilting: isotropic, TI about z, TI about x, orthorhombic"),
    Param::choice("hti", &["permuted", "tsvankin"])
        .default("permuted")
        .doc("meaning of the parameters with sym=hti: the parameters of VTI with x and z exchanged, or epsilon(V), delta(V), gamma(V)"),
    Param::bool("drop")
        .default("n")
        .doc("write four or nine planes of a tilted medium, although coefficients (c15, ...) are lost; the \
        loss is printed"),
    Param::int("planes")
        .default_text("as many as the medium needs")
        .range("4 or 6 in 2-D, 9 or 21 in 3-D", Some(4.0), Some(21.0))
        .doc("number of coefficients to write; 6 and 21 are all of them, for tilted media in sfewefd2d-gpu and \
sfewefd3d-gpu"),
    Param::int("dim")
        .default_text("the number of axes of the grid")
        .range("2 or 3", Some(2.0), Some(3.0))
        .doc("2: four or six planes, 3: nine or 21 planes"),
    Param::int("memory")
        .default("512")
        .range("from 0 to 1000000", Some(0.0), Some(1e6))
        .doc("memory for the planes, in MiB; if they do not fit, they are computed in groups and the inputs are read \
again for each group"),
    Param::int("n1").range(">= 1", Some(1.0), None).doc("samples in z, if every parameter is a number"),
    Param::int("n2").range(">= 1", Some(1.0), None).default_text("1").doc("samples in x"),
    Param::int("n3").range(">= 1", Some(1.0), None).default_text("none (2-D)").doc("samples in y"),
    Param::float("d1").default("1").doc("spacing in z"),
    Param::float("d2").default("1").doc("spacing in x"),
    Param::float("d3").default("1").doc("spacing in y"),
    Param::float("o1").default("0").doc("first z"),
    Param::float("o2").default("0").doc("first x"),
    Param::float("o3").default("0").doc("first y"),
];

/// The declaration of `sfstiffness`.
pub static PROGRAM: Program = Program {
    name: "sfstiffness",
    about: "Stiffness planes from velocities, density and anisotropy parameters",
    usage: "[< vp.rsf] vs=vs.rsf ro=ro.rsf [sym=vti epsilon=eps.rsf delta=0.1] > stiffness.rsf",
    comments: COMMENTS,
    example: EXAMPLE,
    params: PARAMS,
};

const COMMENTS: &str = "\
Axes are z, x and, in 3-D, y. The planes are on the next axis, in the order that the modelling programs read:
  2-D: c11 c33 c55 c13
  3-D: c11 c22 c33 c44 c55 c66 c12 c13 c23      (1 = x, 2 = y, 3 = z, 4 = yz, 5 = zx, 6 = xy)
or, if these cannot describe the medium, all coefficients in the order of the rows of the upper triangle:
  2-D: c11 c13 c15 c33 c35 c55
  3-D: c11 c12 c13 c14 c15 c16 c22 c23 c24 c25 c26 c33 c34 c35 c36 c44 c45 c46 c55 c56 c66
Units are density times velocity squared: km/s and g/cm3 give GPa, m/s and kg/m3 give Pa.

All files must have the same grid, which is also the grid of the output. If all parameters are numbers, the grid is given by n1=, n2=, n3= or by the axes of a dataset on standard input.

Symmetry classes (exact formulas, nothing is linearised):
  sym=iso                c33 = ro vp^2, c55 = ro vs^2, c13 = c33 - 2 c55
  sym=vti                epsilon = (c11-c33)/2c33, gamma = (c66-c44)/2c44,
                         delta = ((c13+c55)^2-(c33-c55)^2)/2c33(c33-c55); vp, vs vertical
  sym=hti hti=permuted   VTI with x and z exchanged: vp, vs and the three refer to the axis x
  sym=hti hti=tsvankin   epsilon(V), delta(V) by the formulas of VTI, gamma(V) = (c66-c44)/2c44;
                         vp, vs vertical, vs polarised along x. The splitting parameter
                         g = (c44-c55)/2c55 gives gamma(V) = -g/(1+2g)
  sym=ort                eps2, del2, gam2 of the plane x-z, eps1, del1, gam1 of y-z, del3 of x-y:
                         c11 = c33(1+2eps2), c22 = c33(1+2eps1), c66 = c55(1+2gam1),
                         c44 = c66/(1+2gam2). In 2-D only eps2 and del2 matter

nu= and alpha= rotate the medium exactly; its z axis is then along (-sin nu cos alpha, -sin nu sin alpha, cos nu) in (x, y, z). Four or nine planes can describe the result only if its symmetry planes are the coordinate planes, within 1e-6 of the largest coefficient. Otherwise all coefficients are written; sfewefd2d-gpu and sfewefd3d-gpu accept them. In 2-D six planes describe any medium with x-z as a symmetry plane; for other media the program stops and names the coefficient that would be lost. planes= fixes the number of planes. drop=y writes four or nine planes and ignores the other coefficients, as older recipes did, which is a different medium.

Every cell is checked before anything is written: its values must be finite, density and vp positive, and the stiffness positive definite (fluids, with vs=0, are allowed). The first cell that fails is reported with its position and values.";

const EXAMPLE: &str = "\
sfmath n1=200 n2=300 d1=0.005 d2=0.005 output='1.8+0.9*x1' |
sfstiffness vs=0.9 ro=2.1 epsilon=0.2 delta=0.1 > c.rsf";
