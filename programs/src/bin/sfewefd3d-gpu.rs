//! Elastic modelling in 3-D. Everything is in `programs::modelling`.

use programs::modelling::{COMMENTS, PARAMS_3D, run};
use rsf_io::{Job, Program};
use std::process::ExitCode;

static SPEC: Program = Program {
    name: "sfewefd3d-gpu",
    about: "Elastic finite-difference modelling in 3-D, anisotropic, on CPUs and GPUs",
    usage: "< wav.rsf ccc=stiffness.rsf den=density.rsf sou=sources.rsf rec=receivers.rsf [snap=y wfl=snapshots.rsf] > data.rsf",
    comments: COMMENTS,
    example: EXAMPLE,
    params: PARAMS_3D,
};

const EXAMPLE: &str = "\
# a 1 km cube of an orthorhombic rock, a vertical force in its middle, one receiver, snapshots every 100 steps
sfstiffness vp=3 vs=1.6 ro=2.3 eps1=0.1 eps2=0.15 del1=0.05 del2=0.03 del3=-0.02 gam1=0.1 gam2=0.05 sym=ort dim=3 \\
    n1=101 n2=101 n3=101 d1=0.01 d2=0.01 d3=0.01 > ccc.rsf
sfspike n1=101 n2=101 n3=101 d1=0.01 d2=0.01 d3=0.01 mag=2.3 > den.rsf
sfspike n1=1 n2=3 n3=500 d3=0.001 k2=1 k3=60 > wav.rsf
sfspike n1=3 nsp=3 k1=1,2,3 mag=0.5,0.5,0.5 | sfput n2=1 > sou.rsf
sfspike n1=3 nsp=3 k1=1,2,3 mag=0.8,0.5,0.1 | sfput n2=1 > rec.rsf
sfewefd3d-gpu < wav.rsf ccc=ccc.rsf den=den.rsf sou=sou.rsf rec=rec.rsf dabc=y nb=24 snap=y jsnap=100 wfl=wfl.rsf verb=y |
    sfattr
# the same on three slabs, planned but not run
sfewefd3d-gpu < wav.rsf ccc=ccc.rsf den=den.rsf sou=sou.rsf rec=rec.rsf nb=24 ngpu=3 plan=y > /dev/null";

fn main() -> ExitCode {
    rsf_io::start(&SPEC, |job: &mut Job| run(job, 3))
}
