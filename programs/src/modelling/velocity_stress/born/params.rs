//! The parameters of the linearised programs, those of the modelling programs among them.

use super::super::params::shared;
use crate::modelling::params::{CFL, JCHECK, JDATA};
use rsf_io::{Param, Program};

/// Long text of the self-documentation.
const COMMENTS: &str = "\
A linear operator: with adj=n a small change of the model comes in and what it changes in the data of sfvsfd2d-gpu or sfvsfd3d-gpu goes out (the Born \
approximation); with adj=y data come in and go back to the model. adj=y is the exact transpose of adj=n, step by step of the discrete program, so that \
sfdottest finds both dot products equal within rounding, and sfconjgrad inverts the operator.

All words that are not listed below mean what they mean in the modelling program: model, sources, receivers, frame, free surface, attenuation, order, data=. \
The perturbation has the axes of the model and behind them one of the parameters that wrt= names, in their order and in SI units; impedances are \
ip=rho*vp and is=rho*vs, and wrt=ccc,rho has the planes of ccc= in the order of their file, then rho. With ccc= there is nothing else. A fluid stays a fluid: where \
vs is 0, a change of mu (c44, c55, c66) does nothing. The frame goes with the edge of the model. Time step, layers and quality factors do not change with the model.

Data have the axes of the modelling program: receivers, components, records. The data of adj=n are what the perturbation changes, not the waves themselves.

adj=y needs the waves of the model from the last step to the first. memory= says how much they may take: all steps are kept where they fit, else \
as many as fit at a time, and the waves are run once more between checkpoints (Griewank and Walther 2000). The result has the same bits for any memory= and any threads=. plan=y tells \
what is kept and what it costs. It runs on processors, in one process.";

/// Behind the parameters that all programs of the method have.
macro_rules! params {
    ($($more:expr),*) => {
        shared!([
            Param::bool("adj").default("n").doc("n: perturbation in, data out; y: data in, perturbation out"),
            Param::choice("wrt", &["vp,vs,rho", "lambda,mu,rho", "ip,is,rho", "ccc,rho"])
                .default("vp,vs,rho")
                .doc("parameters of the perturbation; ccc,rho: the planes of ccc= and rho"),
            Param::float("memory")
                .default_text("half of what is free")
                .range("above 0", Some(1e-9), None)
                .doc("memory of the way back, GB")
        ] [$($more),*] [
            Param::choice("device", &["auto", "cpu"]).default("auto").doc("where to run; there is nothing but processors so far")
        ])
    };
}

/// Parameters of the 2-D program.
const PARAMS_2D: &[Param] = params!();

/// Parameters of the 3-D program.
const PARAMS_3D: &[Param] = params!(
    Param::float("myy").default("0").doc("moment tensor, N m"),
    Param::float("mxy").default("0").doc("moment tensor, N m"),
    Param::float("myz").default("0").doc("moment tensor, N m"),
    Param::float("fy").default("0").doc("force, N")
);

const USAGE: &str = "< perturbation.rsf vp=vp.rsf vs=vs.rsf den=density.rsf sou=sources.rsf rec=receivers.rsf nt= dt= adj=n > data.rsf";

const EXAMPLE: &str = "\
# an anomaly of 50 m/s in vp, its data, and whether the adjoint is one
sfspike n1=81 n2=121 d1=10 d2=10 mag=3000 > vp.rsf
sfspike n1=81 n2=121 d1=10 d2=10 mag=1730 > vs.rsf
sfspike n1=81 n2=121 d1=10 d2=10 mag=2200 > den.rsf
sfspike n1=2 nsp=2 k1=1,2 mag=600,20 > sou.rsf
sfmath n1=2 n2=101 d2=10 output='(1-x1)*(x2+100)+x1*20' > rec.rsf
sfspike n1=81 n2=121 n3=3 d1=10 d2=10 k1=41 k2=61 k3=1 mag=50 > dm.rsf
sfvsborn2d-gpu < dm.rsf vp=vp.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=600 dt=0.001 free=y stf=ricker freq=15 m0=1e12 > data.rsf
sfdottest sfvsborn2d-gpu mod=dm.rsf dat=data.rsf vp=vp.rsf vs=vs.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nt=600 dt=0.001 free=y stf=ricker freq=15 m0=1e12";

/// `sfvsborn2d-gpu` as its user sees it.
pub static PROGRAM_2D: Program = Program {
    name: "sfvsborn2d-gpu",
    about: "Linearised elastic modelling in 2-D by velocity and stress, and its exact adjoint",
    usage: USAGE,
    comments: COMMENTS,
    example: EXAMPLE,
    params: PARAMS_2D,
};

/// `sfvsborn3d-gpu` as its user sees it.
pub static PROGRAM_3D: Program = Program {
    name: "sfvsborn3d-gpu",
    about: "Linearised elastic modelling in 3-D by velocity and stress, and its exact adjoint",
    usage: USAGE,
    comments: COMMENTS,
    example: "",
    params: PARAMS_3D,
};
