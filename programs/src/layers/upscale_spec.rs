//! The parameters and documentation of the program.

use rsf_io::{Param, Program};

const PARAMS: &[Param] = &[
    Param::int("n").required().range("2 to 100", Some(2.0), Some(100.0)).doc("ratio of the spacings: every \
    n-th node is kept"),
    Param::input("den").required().doc("density on the fine grid"),
    Param::output("denout").required().doc("density on the coarse grid"),
    Param::choice("scheme", &["collocated", "staggered"])
        .default("collocated")
        .doc("the programs that will read the model: sfewefd2d-gpu and sfewefd3d-gpu, or sfvsfd2d-gpu and sfvsfd3d-gpu"),
    Param::int("planes")
        .default_text("all coefficients; with scheme=staggered four or nine")
        .range("4 or 6 in 2-D, 9 or 21 in 3-D", Some(4.0), Some(21.0))
        .doc("number of coefficients to write"),
];

/// The declaration of `sfupscale`.
pub static PROGRAM: Program = Program {
    name: "sfupscale",
    about: "The effective medium of a fine grid on a coarser one",
    usage: "< ccc.rsf den=den.rsf n=4 denout=coarse-den.rsf > coarse-ccc.rsf",
    comments: COMMENTS,
    example: EXAMPLE,
    params: PARAMS,
};

const COMMENTS: &str = "\
Standard input holds stiffness planes as sfstiffness writes them, and den= the density. Along every axis every n-th \
node is kept, beginning with the first; each of them receives the medium that is equivalent to the fine nodes around \
it for long waves: fine layers (Schoenberg and Muir 1989) of their rocks, across the direction in which the fine \
medium changes most there, with the weights of the windows of sflayers, and the mean of their densities. Beyond the \
edges of the grid its outermost nodes are repeated. Interfaces need not lie on coarse nodes. In a tested case, travel \
times through layers that are thinner than a coarse cell are accurate to 0.2 % of a period (staggered) or 0.9 % \
(collocated). A model of scheme=staggered is refused as input, because its shear stiffnesses lie between the nodes.

scheme=staggered writes the planes for the velocity-stress programs as sflayers does. Where fluid meets solid, a node \
averages only its own cell. Fine models of isotropic rock take seconds to minutes. If any node is anisotropic, and where \
fluid meets solid, the (8n)^2 fine nodes of a window in 2-D, or (8n)^3 in 3-D, are compared with one another: this takes \
one processor about 30 ms for a node of a 3-D model with n=4.

Forces and receivers of displacement are right in the effective medium (0.1 % in a tested case with layers of 8 m, 6 Hz \
and n=4). Explosions and other moments, and receivers of strain, are not, because their amplitudes depend on the thin \
layer in which they lie: there an explosion is 32 % too weak, and a strain 1.6 times too large. Put them where the fine \
medium is uniform over a window (8n nodes), or scale the moment.";

const EXAMPLE: &str = "\
sfspike n1=801 n2=801 d1=2.5 d2=2.5 nsp=2 k1=1,400 l1=399,801 mag=2000,3500 > vp.rsf
sfmath < vp.rsf output='input/1.8' > vs.rsf
sfmath < vp.rsf output='1500+0.2*input' > den.rsf
sfstiffness < vp.rsf vs=vs.rsf ro=den.rsf |
sfupscale den=den.rsf n=4 scheme=staggered denout=den4.rsf > ccc4.rsf";
