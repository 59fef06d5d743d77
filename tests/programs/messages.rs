//! Messages of refusals and warnings, and the numbers in them.

use crate::desk::Desk;
use crate::survey::with;
use crate::velocity_stress::line;

/// Runs the commands of a table. One line has a command, and the next one its exit code and the texts, separated by
/// dots, that one line of its standard error must contain in this order. Words in braces are replaced as in `lines`.
fn check_messages(desk: &Desk, lines: &[(&str, &str)], table: &str) {
    let mut rows = table.lines().map(str::trim).filter(|row| !row.is_empty());
    let mut cases = 0;
    while let Some(command) = rows.next() {
        let full = |command: String, (word, line): &(&str, &str)| command.replace(word, line);
        let command = lines.iter().fold(command.to_string(), full);
        let (code, words) = rows
            .next()
            .and_then(|row| row.split_once(' '))
            .expect("what it says");
        let run = desk.sh(&command);
        assert_eq!(run.code.to_string(), code, "{command}: {run:?}");
        let in_order = |line: &str| {
            let mut words = words.split(" ... ");
            words
                .try_fold(line, |rest, word| Some(rest.split_once(word)?.1))
                .is_some()
        };
        assert!(run.err.lines().any(in_order), "`{words}` of {command}: {run:?}");
        cases += 1;
    }
    assert!(cases > 0, "a table without rows");
}

const POINTS: &str = "
{shot} rec=three.rsf > out.rsf
1 rec=three.rsf has n1=3 coordinates per point; a 2-D run needs n1=2: x, z (sfvsfd3d-gpu takes points of n1=3)
{plain} stf=ricker freq=20 onset=early.rsf > out.rsf
0 with onset= a time function begins at -0.01 s, but the run at 0: the earlier part is left out; increase onset=
{shot} n1=50 d1=3 > out.rsf
0 n1=, d1= have no effect without layers=: the grid is that of the model's files
{shot} rec=inf.rsf > out.rsf
1 rec=inf.rsf: point 3 has the coordinate inf
{shot} src=moment mech=mech.rsf > out.rsf
1 mech=mech.rsf has n1=5 n2=2; src=moment with 1 source needs n1=6 (xx yy zz xy xz yz) n2=1
{shot} src=dc mech=mech.rsf > out.rsf
1 src=dc with 1 source needs n1=4 (strike dip rake M0) n2=1
{shot} src=force mech=mech.rsf > out.rsf
1 src=force with 1 source needs n1=2 (x z) n2=1
{shot} mech=mech.rsf > out.rsf
1 src=explosion with 1 source needs n1=1 (M0) n2=1
{plain} stf=brune freq=5 > out.rsf
1 stf=brune needs tau=, ... ; freq= goes with stf=ricker
{plain} stf=ricker > out.rsf
1 stf=ricker needs freq=,
{shot} qp=40 qs=40 qband=1,2,3 > out.rsf
1 qband= has 3 numbers; it takes two, the lowest and the highest frequency
{shot} qp=40 qs=40 qband=5 > out.rsf
1 qband= has 1 number; it takes two
{shot} nb=1000001 > out.rsf
1 nb= got `1000001`, but must be a whole number from 0 to 1000000
{shot} shots=2 > out.rsf
1 shots=2: there is no shot 2: there is 1 shot (n3= of sou= and rec=)
";

#[test]
fn points_and_sources_that_do_not_fit_are_named_with_their_numbers() {
    let desk = crate::velocity_stress::desk(2);
    desk.dataset("three.rsf", "n1=3 n2=2", &[100.0; 6]);
    desk.dataset(
        "inf.rsf",
        "n1=2 n2=3",
        &[90.0, 90.0, 95.0, 95.0, 90.0, f32::INFINITY],
    );
    desk.dataset("mech.rsf", "n1=5 n2=2", &[1.0; 10]);
    desk.dataset("early.rsf", "n1=1", &[-0.01]);
    let shot = format!("{} device=cpu", line(2));
    let plain = shot.replace(" tau=0.008", "");
    check_messages(&desk, &[("{shot}", &shot), ("{plain}", &plain)], POINTS);
}

const SURVEYS: &str = "
{back} < first.rsf > out.rsf
1 n1=3 n2=2 n3=30 n4=1 and 180 values; ... n1=3 receivers, n2=2 components, n3 times, n4=3 shots. shots= names the shots that the data hold, as in shots=1
{back} < two.rsf > out.rsf
1 n4=2 and 360 values ... n4=3 shots. ... as in shots=1-2
{back} shots=2-3 < first.rsf > out.rsf
1 n4=1 and 180 values ... n4=2 shots (or all 3)
{back} < vertical.rsf > out.rsf
1 n1=3 n2=1 n3=30 n4=3 ... as sfpad n2=2 does after the vertical one
{back} < turned.rsf > out.rsf
1 n1=2 n2=3 n3=30 n4=3 ... with their axes in another order: sftransp plane=12 transposes them
{back} < behind.rsf > out.rsf
1 n1=30 n2=2 n3=3 n4=3 ... with their axes in another order: sftransp plane=13 transposes them
{back} < across.rsf > out.rsf
1 n1=3 n2=30 n3=2 n4=3 ... with their axes in another order: sftransp plane=23 transposes them
{back} < plain.rsf > out.rsf
1 ends at 29 s (n3=30 o3=0 d3=1) but this run at 0.06 s: give nt=29000 or more ... . Their header seems to have no times (o3=0 d3=1): sfput o3= d3= sets them
{back} nt=50 < data.rsf > out.rsf
1 ends at 0.0585 s (n3=30 o3=0.0005 d3=0.002) but this run at 0.05 s: give nt=59 or more, or cut the data with sfwindow n3=
{back} weight=two.rsf < data.rsf > out.rsf
1 two.rsf has 360 values, but the data have 540: weights need one value for each
{back} shots=1 weight=two.rsf < first.rsf > out.rsf
1 two.rsf has 360 values, but the data have 180: weights need one value for each
{back} jdata=3 < data.rsf > out.rsf
1 has o3=0.0005 d3=0.002, and with jdata=3 the records of this run begin at 0.0005 s and are 0.003 s apart: leave out jdata=
{image} image=pp,ss,pp < data.rsf > out.rsf
1 image= has pp twice: give each image once
{back} verb=y checkpoint=state < data.rsf > out.rsf
0 a state takes 0.0000 GB in each of state and state.1
{back} verb=y < data.rsf > out.rsf
0 set-up ... s; 3 shots in ... s
{back} verb=y shots=2 < data.rsf > out.rsf
0 set-up ... s; 1 shot in ... s
";

/// Data of another survey are refused; the message gives their axes, the axes of the run, and the commands that convert
/// them.
#[test]
fn data_of_other_surveys_are_refused_with_their_axes() {
    let desk = crate::survey::desk(2);
    let line = with(2, "sous.rsf", "recs.rsf", "");
    desk.ran(&format!("{line} jdata=2 > data.rsf"));
    for (name, words) in [
        ("first", "window n4=1 squeeze=n"),
        ("two", "window n4=2 squeeze=n"),
        ("vertical", "window n2=1 squeeze=n"),
        ("plain", "put o3=0 d3=1"),
        ("turned", "transp plane=12"),
        ("behind", "transp plane=13"),
        ("across", "transp plane=23"),
    ] {
        desk.ran(&format!("sfbasics {words} < data.rsf > {name}.rsf"));
    }
    let of = |program: &str| line.replace("sfvsfd2d-gpu", program);
    let (back, image) = (of("sfvsgrad2d-gpu"), of("sfvsrtm2d-gpu"));
    check_messages(&desk, &[("{back}", &back), ("{image}", &image)], SURVEYS);
    // Other shots would not help data of two receivers.
    desk.ran("sfbasics window n1=2 n4=1 squeeze=n < data.rsf > narrow.rsf");
    let run = desk.sh(&format!("{back} < narrow.rsf > out.rsf"));
    let ends = |line: &str| line.contains("n1=2 n2=2 n3=30 n4=1") && line.ends_with("n3 times, n4=3 shots");
    assert!(run.code == 1 && run.err.lines().any(ends), "{run:?}");
}

const SILENT: &str = "
{back} < hole.rsf > out.rsf
0 the data of shot 2 are zero everywhere: their misfit is due to the modelled records alone
{back} < from1.rsf > out.rsf
0 the data of 2 shots (the first is 2) are zero everywhere
{back} < from0.rsf > out.rsf
0 warning: the data are zero everywhere: their misfit is
{back} weight=hole.rsf < data.rsf > out.rsf
0 warning: all weights of the data of shot 2 are zero: they add nothing to misfit and gradient
{back} weight=from0.rsf < data.rsf > out.rsf
0 warning: all weights of the data are zero: they add nothing to misfit and gradient
{back} weight=hole.rsf < from1.rsf > out.rsf
0 warning: the data of shot 3 are zero wherever they have a weight: their misfit is due to the modelled
{back} kind=correlation < from1.rsf > out.rsf
0 the data of 2 shots (the first is 2) are zero everywhere: kind=correlation ignores traces that are zero
{back} shots=2-3 < hole.rsf > out.rsf
0 the data of shot 2 are zero everywhere
";

/// Shots whose data are zero, or have zero weights, are counted.
#[test]
fn shots_without_data_are_counted() {
    let desk = crate::survey::desk(2);
    let line = with(2, "sous.rsf", "recs.rsf", "");
    desk.ran(&format!("{line} > data.rsf"));
    desk.ran("for k in 1 0; do sfbasics cut f4=$k < data.rsf > from$k.rsf; done; sfbasics cut f4=1 n4=1 < data.rsf > hole.rsf");
    let back = line.replace("sfvsfd2d-gpu", "sfvsgrad2d-gpu");
    check_messages(&desk, &[("{back}", &back)], SILENT);
    let run = desk.ran(&format!("{back} < data.rsf > out.rsf"));
    assert!(!run.err.contains("zero everywhere"), "{run:?}");
}

const MODELS: &str = "
sfstiffness vp=3000 vs=vs.rsf ro=2000 planes=5 > c.rsf
1 planes=5: a 2-D model has 4 planes or, with all coefficients, 6
sfstiffness vp=3000 vs=cube.rsf ro=2000 planes=4 > c.rsf
1 planes=4: a 3-D model has 9 planes or, with all coefficients, 21
sfstiffness vp=3000 vs=vs.rsf ro=wide.rsf > c.rsf
1 d2=12 in ... wide.rsf, but d2=10 in ... vs.rsf: all parameters must have the same grid
sfstiffness vp=3000 vs=vs.rsf ro=next.rsf > c.rsf
1 o2=5010 in ... next.rsf, but o2=5000 in ... vs.rsf: all parameters must have the same grid
sfstiffness vp=3000 vs=vs.rsf ro=near.rsf > c.rsf; sfbasics get o1 o2 < c.rsf >&2
0 o1=0
sfstiffness vp=3000 vs=vs.rsf ro=more.rsf > c.rsf
1 n2=6 in ... more.rsf, but n2=5 in ... vs.rsf: all parameters must have the same grid
sfstiffness vp=3000 vs=cube.rsf ro=2000 dim=2 > c.rsf
1 dim=2, but n3=2 in ... cube.rsf: use dim=3, or extract one plane with sfwindow
sfstiffness vp=3000 vs=1000 ro=2000 n1=3 n2=3 n3=1 dim=2 > c.rsf
1 dim=2, but n3=1 in n1=, n2=, n3=: use dim=3, or leave out n3=
sfstiffness vp=3000 vs=vs.rsf ro=2000 dim=3 > c.rsf
0 warning: dim=3, but ... vs.rsf has two axes: the result is a 3-D model with n3=1
sfstiffness vp=3000 vs=vs.rsf ro=2000 epsilon=0.1 eps1=0.1 > c.rsf
1 epsilon=, delta=, gamma= belong to sym=vti or hti, eps1=
sfstiffness vp=3000 vs=vs.rsf ro=2000 n2=6 > c.rsf
1 n2=6 is given, but ... vs.rsf gives the grid and has n2=5: leave out n2=
sfstiffness vp=3000 vs=1000 ro=2000 n1=2000000 n2=2000000 > c.rsf
1 4e12 cells in n1=, n2=, n3=: at most 1e12 are possible
{layers} n1=9 n2=9 planes=5 > c.rsf
1 planes=5: a 2-D model has 4 planes or, with all coefficients, 6
{layers} n1=9 n2=9 n3=9 d3=10 planes=6 > c.rsf
1 planes=6: a 3-D model has 9 planes or, with all coefficients, 21
{layers} n1=9 n2=9 planes=6 scheme=staggered > c.rsf
1 planes=6: a model of scheme=staggered has 4 planes, because sfvsfd2d-gpu reads no others
{layers} n1=9 n2=9 rho=1,2,3 > c.rsf
1 rho= has 3 numbers, but there are 2 layers, one more than horizons= has entries
{layers} n1=9 n2=9 d1=-10 > c.rsf
1 d1=-10: the spacing must be positive; begin the axis at its smallest coordinate (o1=)
sflayers horizons='30 , nowhere.rsf' rho=1,2,3 vp=1,2,3 vs=0,0,0 n1=9 n2=9 d1=10 d2=10 den=den.rsf > c.rsf
1 cannot read the map nowhere.rsf of horizons=
{layers} n1=900000 n2=900000 > c.rsf
1 the model needs ... GB of memory, but ... GB are free: use fewer nodes
{layers} n1=9 n2=9 drho=-90 > c.rsf
1 at z= ... with rho= ... : density and vp must be positive, and vs positive or zero (a fluid)
";

#[test]
fn models_of_layers_and_of_stiffnesses_are_refused_with_their_numbers() {
    let desk = Desk::new();
    desk.dataset("vs.rsf", "n1=4 n2=5 d1=10 d2=10 o1=0 o2=5000", &[1700.0; 20]);
    desk.dataset("wide.rsf", "n1=4 n2=5 d1=10 d2=12", &[2000.0; 20]);
    desk.dataset("next.rsf", "n1=4 n2=5 d1=10 d2=10 o2=5010", &[2000.0; 20]);
    // The origins differ by rounding in single precision.
    desk.dataset(
        "near.rsf",
        "n1=4 n2=5 d1=10 d2=10 o1=0.002 o2=5000.002",
        &[2000.0; 20],
    );
    desk.dataset("more.rsf", "n1=4 n2=6 d1=10 d2=10", &[2000.0; 24]);
    desk.dataset("cube.rsf", "n1=4 n2=5 n3=2 d1=10 d2=10 d3=10", &[1700.0; 40]);
    let layers = "sflayers horizons=30 rho=2000,2300 vp=2000,3000 vs=1000,1700 d1=10 d2=10 den=den.rsf";
    check_messages(&desk, &[("{layers}", layers)], MODELS);
}

const MESHES: &str = "
{mesh} surfaces=5000,0 layers=2 nx=1000 xmin=10 xmax=12 > x.rsf
1 elements would be 0.002 wide and 2.5e+03 high: if x and y are degrees, give metres
{mesh} surfaces=5000,0 layers=2 nx=1000 xmin=1000 xmax=1002 > x.rsf
1 elements would be 0.002 wide and 2.5e+03 high: x, y and z must all be in metres
{mesh} {box} cpml=50 absorb=none > x.rsf
1 cpml= adds layers outside the sides that absorb, but absorb= has none
{mesh} {box} cpml=50 doubling=1 > x.rsf
1 cpml= and doubling= are given together
{mesh} surfaces=400,map.rsf layers=4 nx=4 xmin=0 xmax=400 cpml=50 absorb=top > x.rsf
1 the top of the box absorbs and is a map that is not flat ... remove top from absorb=
{mesh} surfaces=400,200,0 layers=4,4 nx=4 xmin=0 xmax=400 doubling=3 > x.rsf
1 doubling= has layer 3; the layers 1 to 2 can each double once
{mesh} surfaces=400,200,0 layers=4,4 nx=4 xmin=0 xmax=400 doubling=1,1 > x.rsf
1 doubling= has layer 1; the layers 1 to 2 can each double once
{mesh} surfaces=400,0 layers=4 nx=4 xmin=400 xmax=400 > x.rsf
1 xmin=400 is not below xmax=400
{mesh} surfaces=400,0 layers=4,4 nx=4 > x.rsf
1 surfaces= has 2 entries but layers= 2; a box of n layers has n + 1 surfaces
{mesh} {box} cpml=150 absorb=xmin,xmax,bottom > x.rsf
0 perfectly matched layers: 2 elements (200 m) at xmin, 2 elements (200 m) at xmax, 2 elements (200 m) at bottom
{mesh} {box} cpml=200.0001 absorb=xmax > x.rsf
0 perfectly matched layers: 2 elements (200 m) at xmax
{mesh} {box} cpml=201 absorb=xmax > x.rsf
0 perfectly matched layers: 3 elements (300 m) at xmax
{run} wfl=w.rsf > out.rsf
0 warning: wfl= is given but snap=n: no snapshots are written; add snap=y
{run} left=0.5 > out.rsf
0 warning: left= has no effect without sponge=
{run} fcpml=3 > out.rsf
0 warning: fcpml= has no effect without perfectly matched layers
{run} ground=y > out.rsf
0 warning: ground= has no effect without snap=y
{run} qmech=3 > out.rsf
0 warning: qmech= has no effect: there is no attenuation
{run} snap=y wfl=w.rsf jsnap=2 nqz=4097 nqx=4096 > out.rsf
1 snapshots or maps have more than 16777216 points: give smaller nqz=, nqx= or nqy=
{run} snap=y wfl=w.rsf jsnap=2 dqz=-5 > out.rsf
1 snapshots and maps have oqz=0 and dqz=-5; the step must be a positive number (the mesh extends from 0 to 400 along z)
{run} sponge=400 > out.rsf
1 sponge=400 m is thicker than the mesh, which is 400 m wide
{run} dt=0.1 > out.rsf
1 dt=0.1 s is above ... s, up to which steps on this mesh are certainly stable: element
{back} on=model < data.rsf > out.rsf
1 on=model: the model is not on a grid
";

const TABLES: &str = "
{layers} layers=few > out.rsf
1 layers=few: line 1 is `0 2000 1000`: it has 3 numbers; rows have 4 or 6: depth vp vs rho [qp qs]
{layers} layers=stiff > out.rsf
1 layers=stiff: line 3 is `50 3000 2800 2200`: no rock has these properties: vp and the density must be above 0, and vs must be from 0 (a fluid) to 0.866 of vp
{layers} layers=flat > out.rsf
1 layers=flat: line 3 is `0 3000 1700 2200`: its depth is not below that of the previous layer: rows must go from the top down
{layers} layers=wide > out.rsf
1 layers=wide: line 2 has 5 numbers, but the heading names 4 columns
{layers} layers=lossy > out.rsf
1 layers=lossy: line 2 is `10 2000 1000 2000`: either all rows have Qp and Qs, or none: write 0 where there is no attenuation
{stations} stations=short > out.rsf
1 stations=short: line 2 is `ST2 XX 42.0`: the longitude is missing
{stations} stations=name > out.rsf
1 stations=name: line 1 is `ST1 XX`: the latitude is missing
{stations} stations=word > out.rsf
1 stations=word: line 1 is `ST1 XX 42.0 x 0 0`: the longitude is x, but must be a number
{stations} stations=shallow > out.rsf
1 stations=shallow: line 1 is `ST1 XX 42.0 15.0 0`: the burial in m is missing
";

#[test]
fn tables_of_layers_and_of_stations_are_refused_with_their_lines() {
    let desk = crate::velocity_stress::desk(2);
    for (name, text) in [
        ("few", "0 2000 1000\n"),
        ("stiff", "depth vp vs rho\n0 2000 1000 2000\n50 3000 2800 2200\n"),
        ("flat", "# a remark\n0 2000 1000 2000\n0 3000 1700 2200\n"),
        ("wide", "depth vp vs rho\n0 2000 1000 2000 5\n"),
        ("lossy", "0 2000 1000 2000 50 30\n10 2000 1000 2000\n"),
        ("sound", "0 2000 1000 2000\n"),
        ("short", "ST1 XX 42.0 15.0 0 0\nST2 XX 42.0\n"),
        ("name", "ST1 XX\n"),
        ("word", "ST1 XX 42.0 x 0 0\n"),
        ("shallow", "ST1 XX 42.0 15.0 0\n"),
    ] {
        desk.put(name, text);
    }
    desk.dataset("volume.rsf", "n1=3 n2=1", &[40.0; 3]);
    let words = "nt=5 dt=0.001 tau=0.008 m0=1e12 nb=4 device=cpu n1=10 n2=10 d1=10 d2=10";
    let layers = format!("sfvsfd2d-gpu {words} sou=sou.rsf rec=rec.rsf");
    let stations = format!("sfvsfd3d-gpu {words} n3=10 d3=10 layers=sound utm=33 sou=volume.rsf");
    check_messages(&desk, &[("{layers}", &layers), ("{stations}", &stations)], TABLES);
}

/// The number between these texts.
fn between(text: &str, before: &str, behind: &str) -> f64 {
    let rest = text
        .split_once(before)
        .and_then(|(_, rest)| rest.split_once(behind));
    let (word, _) = rest.unwrap_or_else(|| panic!("no `{before}` and `{behind}` in {text}"));
    word.parse().unwrap_or_else(|_| panic!("{word} in {text}"))
}

#[test]
fn meshes_and_runs_on_them_are_described_with_their_numbers() {
    let desk = Desk::new();
    let mesh = "sfhexmesh rho=2300 vp=3000 vs=1700 judge=n";
    let own = "surfaces=400,0 layers=4 nx=4 xmin=0 xmax=400";
    desk.ran(&format!("{mesh} {own} > box.rsf"));
    desk.dataset("map.rsf", "n1=2 d1=400", &[0.0, 10.0]);
    desk.dataset("sou.rsf", "n1=2 n2=1", &[201.0, 103.0]);
    desk.dataset("rec.rsf", "n1=2 n2=1", &[151.0, 100.0]);
    desk.dataset("data.rsf", "n1=1 n2=2 n3=4 d3=0.001", &[1.0; 8]);
    let words = "mesh=box.rsf sou=sou.rsf rec=rec.rsf m0=1e12 stf=ricker freq=5 nt=4 dt=0.001 device=cpu";
    let (run, back) = (format!("sfsem2d-gpu {words}"), format!("sfsemgrad2d-gpu {words}"));
    let lines = [
        ("{mesh}", mesh),
        ("{box}", own),
        ("{run}", &run),
        ("{back}", &back),
    ];
    check_messages(&desk, &lines, MESHES);
    // The wavelength of P waves of 3000 m/s at the printed frequency.
    let text = desk.ran(&format!("{run} sponge=150 freq=10 > out.rsf")).err;
    let frequency = between(&text, "wavelength of P at ", " Hz");
    let share = between(&text, "sponge=150 m is ", " of the wavelength");
    let enough = between(&text, "; give ", " m or more, or no sponge");
    let wavelength = 3000.0 / frequency;
    assert!((share - 150.0 / wavelength).abs() < 0.0051, "{text}");
    assert!((1.0 - 1e-4..1.01).contains(&(enough / wavelength)), "{text}");
}

/// A point far outside is refused, without a message that it lies in the frame, even if one of its coordinates does.
#[test]
fn points_far_outside_are_not_in_the_frame() {
    let desk = crate::velocity_stress::desk(2);
    desk.dataset("far.rsf", "n1=2 n2=1", &[5000.0, -20.0]);
    let line = line(2).replace("rec=rec.rsf", "rec=far.rsf");
    let run = desk.sh(&format!("{line} > data.rsf"));
    assert!(
        run.code == 1 && run.err.contains("x must lie in") && !run.err.contains("in the frame"),
        "{run:?}"
    );
}

/// A file without a key, given to a program without a standard input: the key that takes it, or the first one that takes files.
#[test]
fn files_without_a_key_get_one() {
    let desk = crate::velocity_stress::desk(2);
    for (words, expected) in [
        ("vp.rsf", "`vp.rsf` is ignored: give it by name, as in vp=vp.rsf"),
        (
            "sou = sou.rsf",
            "`sou` is ignored: parameters are written key=value, without blanks",
        ),
    ] {
        let err = desk.sh(&format!("sfvsfd2d-gpu {words}")).err;
        assert!(err.contains(expected), "{err}");
        assert!(
            !err.contains("standard input") && !err.contains("unknown parameter"),
            "{err}"
        );
        assert_eq!(err.matches("is ignored").count(), 1, "{err}");
    }
    desk.ran("sfbasics cp vp.rsf other.rsf");
    let err = desk.sh("sfsem2d-gpu other.rsf").err;
    assert!(
        err.contains("`other.rsf` is ignored: give it by name, as in mesh=other.rsf"),
        "{err}"
    );
    let err = desk.sh("sfbasics points vp.rsf").err;
    assert!(
        err.contains("`vp.rsf` is ignored: this program reads no dataset from standard input"),
        "{err}"
    );
}
