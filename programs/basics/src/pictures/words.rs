//! Tables of parameters: the parameters that all pictures share, named as in Madagascar's plots, and functions that
//! join tables.

use rsf_io::Param;

/// A text parameter.
pub const fn word(name: &'static str, default: &'static str, doc: &'static str) -> Param {
    Param::string(name).default_text(default).doc(doc)
}

/// A real parameter.
pub const fn real(name: &'static str, default: &'static str, doc: &'static str) -> Param {
    Param::float(name).default_text(default).doc(doc)
}

const fn size(name: &'static str, default: &'static str, doc: &'static str) -> Param {
    real(name, default, doc).range("0.1 to 200", Some(0.1), Some(200.0))
}

const fn unused(name: &'static str) -> Param {
    word(
        name,
        "",
        "accepted without effect: for Madagascar's plotting devices",
    )
}

/// The parameters that all pictures share, and parameters that are accepted so that flows written for Madagascar run
/// unchanged.
pub static STANDARD: [Param; 95] = [
    word(
        "title",
        "from the header",
        "title; in all texts \\^ raises letters and \\_ lowers them again, as in km\\^2\\_",
    ),
    word("label1", "from the header", "label of axis 1"),
    word("unit1", "from the header", "unit of axis 1"),
    word("label2", "from the header", "label of axis 2"),
    word("unit2", "from the header", "unit of axis 2"),
    word("label3", "from the header", "label of axis 3"),
    word("unit3", "from the header", "unit of axis 3"),
    real("min1", "all", "smallest coordinate shown on axis 1"),
    real("max1", "all", "largest coordinate shown on axis 1"),
    real("min2", "all", "smallest coordinate shown on axis 2"),
    real("max2", "all", "largest coordinate shown on axis 2"),
    Param::bool("wanttitle").default("y").doc("write the title"),
    word("wheretitle", "top", "top or bottom: position of the title"),
    Param::bool("wantaxis").default("y").doc("write both axes"),
    Param::bool("wantaxis1").default("y").doc("write axis 1"),
    Param::bool("wantaxis2").default("y").doc("write axis 2"),
    word(
        "wherexlabel",
        "bottom",
        "top or bottom: position of the numbers and label of the horizontal axis",
    ),
    word(
        "whereylabel",
        "left",
        "left or right: position of the numbers and label of the vertical axis",
    ),
    size("labelsz", "8", "size of labels and numbers; 8 means 16 pixels"),
    size("titlesz", "10", "size of the title"),
    size("barlabelsz", "labelsz", "size of the letters on the colour bar"),
    Param::int("labelfat")
        .default("0")
        .range("0 to 50", Some(0.0), Some(50.0))
        .doc("thickness of labels and numbers"),
    Param::int("titlefat")
        .default("0")
        .range("0 to 50", Some(0.0), Some(50.0))
        .doc("thickness of the title"),
    word(
        "format1",
        "as needed",
        "format of the numbers on the horizontal axis, such as %4.1f",
    ),
    word(
        "format2",
        "as needed",
        "format of the numbers on the vertical axis",
    ),
    Param::int("n1tic")
        .default_text("as many as fit")
        .range("1 to 500", Some(1.0), Some(500.0))
        .doc("largest number of labelled ticks on the horizontal axis"),
    Param::int("n2tic")
        .default_text("as many as fit")
        .range("1 to 500", Some(1.0), Some(500.0))
        .doc("largest number of labelled ticks on the vertical axis"),
    real(
        "d1num",
        "a round number",
        "interval between the numbers on the horizontal axis",
    ),
    real(
        "d2num",
        "a round number",
        "interval between the numbers on the vertical axis",
    ),
    real("o1num", "0", "one of the numbers on the horizontal axis"),
    real("o2num", "0", "one of the numbers on the vertical axis"),
    Param::bool("grid")
        .default_text("n")
        .doc("draw grid lines at the numbers of both axes"),
    Param::bool("grid1")
        .default_text("n")
        .doc("draw grid lines at the numbers of the horizontal axis"),
    Param::bool("grid2")
        .default_text("n")
        .doc("draw grid lines at the numbers of the vertical axis"),
    real(
        "g1num",
        "d1num",
        "interval between grid lines of the horizontal axis",
    ),
    real(
        "g2num",
        "d2num",
        "interval between grid lines of the vertical axis",
    ),
    Param::int("gridcol")
        .default_text("pale")
        .doc("colour of the grid: 0 white, 1 blue, 2 red, 3 purple, 4 green, 5 sky, 6 orange, 7 black"),
    Param::int("gridfat")
        .default("0")
        .range("0 to 50", Some(0.0), Some(50.0))
        .doc("thickness of the grid"),
    Param::int("axiscol")
        .default("7")
        .doc("colour of axes and letters, numbered as in gridcol="),
    real(
        "screenratio",
        "0.75",
        "height of Madagascar's page divided by its width",
    ),
    size(
        "screenht",
        "10.24",
        "height of Madagascar's page, in units of 66 pixels",
    ),
    size("screenwd", "screenht/screenratio", "width of that page"),
    size(
        "crowd",
        "0.75",
        "fraction of the page that the box of the axes fills",
    ),
    size("crowd1", "crowd", "fraction of the width that the box fills"),
    size("crowd2", "crowd", "fraction of the height that the box fills"),
    size("xinch", "from crowd1", "width of that box, in units of 66 pixels"),
    size("yinch", "from crowd2", "height of the box of the axes"),
    Param::int("width")
        .default_text("900")
        .range("100 to 30000", Some(100.0), Some(30000.0))
        .doc("size of the whole picture, in pixels"),
    Param::int("height")
        .default_text("from the axes")
        .range("100 to 30000", Some(100.0), Some(30000.0))
        .doc("size of the whole picture, in pixels"),
    real(
        "res",
        "1",
        "resolution of a PNG: res=2 draws the same picture with twice as many pixels in each direction",
    )
    .range("0.1 to 20", Some(0.1), Some(20.0)),
    Param::bool("transparent")
        .default("n")
        .doc("leave the background transparent, so that the picture can be overlaid on another one"),
    Param::int("bgcolor")
        .default("0")
        .doc("background colour, numbered as in gridcol="),
    word(
        "format",
        "from the file's name",
        "png, svg or pdf (a movie: png or gif)",
    ),
    word(
        "out",
        "standard output",
        "file for the picture; its extension determines the format",
    ),
    unused("axisor1"),
    unused("axisor2"),
    unused("axisor3"),
    unused("axisorbar"),
    unused("axisfat"),
    unused("axiswidth"),
    unused("backcol"),
    unused("barlabelfat"),
    unused("fatmult"),
    unused("font"),
    unused("gainstep"),
    unused("labelrot"),
    unused("nreserve"),
    unused("parallel"),
    unused("parallel1"),
    unused("parallel2"),
    unused("parallel3"),
    unused("parallelbar"),
    unused("seamean"),
    unused("tickscale"),
    unused("tickscale1"),
    unused("tickscale2"),
    unused("tickscale3"),
    unused("txscale"),
    unused("wantframe"),
    unused("wherebarlabel"),
    unused("wherebartics"),
    unused("wheretics"),
    unused("xll"),
    unused("xur"),
    unused("yll"),
    unused("yur"),
    unused("xscale"),
    unused("yscale"),
    unused("xcenter"),
    unused("ycenter"),
    unused("rotate"),
    unused("style"),
    unused("size"),
    unused("cubelinecol"),
    unused("framelabelcol"),
];

/// Joins several tables of parameters into one.
pub const fn joined<const N: usize>(tables: &[&[Param]]) -> [Param; N] {
    let mut all = [Param::bool("unset"); N];
    let (mut filled, mut table) = (0, 0);
    while table < tables.len() {
        let mut row = 0;
        while row < tables[table].len() {
            all[filled] = tables[table][row];
            filled += 1;
            row += 1;
        }
        table += 1;
    }
    assert!(filled == N, "the tables do not fill the whole");
    all
}
