//! Elastic modelling in 2-D. Everything is in `programs::modelling`.

use programs::modelling::{COMMENTS, PARAMS_2D, run};
use rsf_io::{Job, Program};
use std::process::ExitCode;

static SPEC: Program = Program {
    name: "sfewefd2d-gpu",
    about: "Elastic finite-difference modelling in 2-D, anisotropic, on CPUs and GPUs",
    usage: "< wav.rsf ccc=stiffness.rsf den=density.rsf sou=sources.rsf rec=receivers.rsf [snap=y wfl=snapshots.rsf] > data.rsf",
    comments: COMMENTS,
    example: EXAMPLE,
    params: PARAMS_2D,
};

const EXAMPLE: &str = "\
# a 2 km x 2 km VTI block, an explosion in its middle, receivers at the top; see it through a pipe
sfstiffness vp=2.5 vs=1.3 ro=2.2 epsilon=0.2 delta=0.1 sym=vti dim=2 n1=201 n2=201 d1=0.01 d2=0.01 > ccc.rsf
sfspike n1=201 n2=201 d1=0.01 d2=0.01 mag=2.2 > den.rsf
sfspike n1=1000 d1=0.001 k1=100 | sfricker1 frequency=15 | sfspray axis=1 n=2 | sfspray axis=1 n=1 > wav.rsf
sfspike n1=2 nsp=2 k1=1,2 mag=1,1 | sfput n2=1 > sou.rsf
sfmath n1=201 d1=0.01 output=x1 > x.rsf
sfmath < x.rsf output=0.1 | sfcat axis=2 x.rsf - | sftransp > rec.rsf
sfewefd2d-gpu < wav.rsf ccc=ccc.rsf den=den.rsf sou=sou.rsf rec=rec.rsf ssou=y dabc=y nb=48 jdata=4 verb=y |
    sfwindow n2=1 | sftransp | sfgrey | xtpen";

fn main() -> ExitCode {
    rsf_io::start(&SPEC, |job: &mut Job| run(job, 2))
}
