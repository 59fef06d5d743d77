"""Files of seismology and of survey contractors: round trips through ObsPy, segyio and netCDF4."""
import io
import os
import re
import subprocess
import sys
import unittest
import warnings

from support import FLOWS, NAMES, PACKAGES, Scratch, needs_packages

sys.path.insert(1, PACKAGES)
sys.path.append(os.path.join(FLOWS, "python"))
try:
    with warnings.catch_warnings():
        # ObsPy uses features that newer versions of its dependencies will drop.
        warnings.simplefilter("ignore")
        import numpy as np
        import obspy
        import segyio
        import xarray
        from obspy.core.event import Event, FocalMechanism, Magnitude, MomentTensor, Origin, SourceTimeFunction, Tensor
        from obspy.core.inventory import Channel, Inventory, Network, Station

        import rsfdata
        import sifaka
        from sifaka import seismology
except ImportError:
    sifaka = None
ORIGIN = (42.7, 13.2)


def inventory():
    """Two stations, one with a buried sensor, through StationXML."""

    def station(code, latitude, longitude, height, depth, location):
        channel = Channel("HHZ", location, latitude, longitude, height, depth)
        return Station(code, latitude, longitude, height, channels=[channel])

    made = Inventory([Network("IV", [station("AAA", 42.71, 13.2, 900.0, 0.0, ""), station("BBB", 42.7, 13.19, 400.0, 50.0, "00")])], source="test")
    text = io.BytesIO()
    made.write(text, format="STATIONXML")
    text.seek(0)
    return obspy.read_inventory(text)


def event():
    """A thrust earthquake, through QuakeML."""
    tensor = Tensor(m_rr=3e15, m_tt=-1e15, m_pp=-2e15, m_rt=4e14, m_rp=5e14, m_tp=6e14)
    origin = Origin(time=obspy.UTCDateTime("2026-03-04T05:06:07.5"), latitude=42.7, longitude=13.22, depth=8000.0)
    mechanism = FocalMechanism(moment_tensor=MomentTensor(tensor=tensor, derived_origin_id=origin.resource_id))
    made, text = obspy.Catalog([Event(origins=[origin], focal_mechanisms=[mechanism])]), io.BytesIO()
    made.write(text, format="QUAKEML")
    text.seek(0)
    return obspy.read_events(text)[0]


def data():
    """Two receivers of three components, as a program writes them."""
    axes = [rsfdata.Axis(2, label="r"), rsfdata.Axis(3, label="z x y"), rsfdata.Axis(50, 0.005, 0.01, "t", "s")]
    values = np.arange(300, dtype="f4").reshape(50, 3, 2) - 77
    return rsfdata.Dataset(values, axes, rsfdata.Header(b"label=Velocity unit=m/s\n")).to_xarray()


@needs_packages(sifaka)
class Seismology(Scratch):
    def setUp(self):
        super().setUp()
        warnings.simplefilter("ignore")

    def named(self):
        return seismology.named(data(), ["IV.AAA", "IV.BBB.00"], event())

    def test_stations_that_cannot_be_meant(self):
        with self.assertRaisesRegex(TypeError, "obspy.Inventory"):
            seismology.receivers(["AAA"], ORIGIN)
        with self.assertRaisesRegex(TypeError, "origin= is missing"):
            seismology.receivers(inventory())
        with self.assertRaisesRegex(ValueError, "latitude comes first"):
            seismology.receivers(inventory(), (142.0, 13.0))
        with self.assertWarnsRegex(UserWarning, r"km from origin=.*; origin is \(latitude, longitude\)"):
            seismology.receivers(inventory(), (-42.0, 13.0))

    def test_stations_and_earthquakes(self):
        points, names = seismology.receivers(inventory(), ORIGIN, ground=1000.0)
        self.assertEqual(names, ["IV.AAA", "IV.BBB.00"])
        # A hundredth of a degree: 1110.8 m to the north on the ellipsoid there, 819.6 m to the west.
        np.testing.assert_allclose(points, [[0, 1110.8, 100], [-819.6, 0, 650]], atol=0.5)
        quake = seismology.source(event(), ORIGIN)
        # A catalogue with one event is treated as the event.
        np.testing.assert_array_equal(seismology.source(obspy.Catalog([event()]), ORIGIN)["sou"], quake["sou"])
        with self.assertRaisesRegex(ValueError, "the catalogue has 2 events"):
            seismology.source(obspy.Catalog([event(), event()]), ORIGIN)
        np.testing.assert_allclose(quake["sou"], [[1639.2, 0, 8000]], atol=0.5)
        moments = [quake[name] for name in ("mxx", "myy", "mzz", "mxy", "mxz", "myz")]
        self.assertEqual(moments, [-2e15, -1e15, 3e15, -6e14, -5e14, 4e14])
        bare = event()
        bare.focal_mechanisms = []
        with self.assertRaisesRegex(ValueError, "no moment tensor"):
            seismology.source(bare, ORIGIN)

    def test_files_that_meshes_read(self):
        seismology.stations_file(inventory(), self.path("STATIONS"))
        self.assertEqual(self.read("STATIONS").split()[:6], ["AAA", "IV", "42.710000", "13.200000", "900.00", "0.00"])
        # The default half duration follows the catalogue: 1.05e-8 times the cube root of 2.787e22 dyne cm; if the event
        # has a duration, it is half of that.
        own = event()
        seismology.cmt_file(own, self.path("CMT"))
        self.assertAlmostEqual(float(self.read("CMT").split("half duration:")[1].split()[0]), 0.3184, 3)
        own.focal_mechanisms[0].moment_tensor.source_time_function = SourceTimeFunction(type="triangle", duration=0.7)
        own.magnitudes = [Magnitude(mag=4.3, magnitude_type="Mw")]
        seismology.cmt_file(own, self.path("CMT"))
        self.assertIn("half duration: 0.35\n", self.read("CMT"))
        self.assertIn(" 42.7 13.22 8.0 4.3 4.3 ", self.read("CMT").splitlines()[0])
        second = inventory()
        second[0][1].channels.append(second[0][1].channels[0].copy())
        second[0][1].channels[1].location_code = "10"
        with self.assertWarnsRegex(UserWarning, "has no locations, so these are left out: IV.BBB.10"):
            seismology.stations_file(second, self.path("STATIONS"))
        seismology.cmt_file(event(), self.path("CMT"), 1.5)
        # sfsem3d-gpu reads both, and passes names and time on.
        self.write("STATIONS", "AAA IV 900 500 0 10\nBBB IV 1500 1200 0 20\n")
        text = self.read("CMT").replace("latitude: 42.7", "latitude: 1000").replace("longitude: 13.22", "longitude: 1000").replace("depth: 8.0", "depth: 1")
        self.write("CMT", text)
        box = "surfaces=2000,0 layers=2 nx=2 ny=2 xmin=0 xmax=2000 ymin=0 ymax=2000 vp=3000 vs=1700 rho=2200 judge=n"
        with open(self.path("mesh.rsf"), "wb") as mesh:
            place = dict(cwd=self.folder, env=dict(os.environ, DATAPATH=self.folder + os.sep))
            subprocess.run([os.path.join(NAMES, "sfhexmesh"), *box.split()], stdout=mesh, check=True, **place)
        files = dict(mesh=self.path("mesh.rsf"), cmt=self.path("CMT"), stations=self.path("STATIONS"))
        found = sifaka.run("sfsem3d-gpu", **files, nt=10, dt=0.005, device="cpu")
        self.assertEqual((list(found.station.values), list(found.component.values)), (["IV.AAA", "IV.BBB"], ["Z", "N", "E"]))
        stream = seismology.to_stream(found)
        # The time function of an earthquake begins before its origin time.
        self.assertLess(float(found.t[0]), 0)
        self.assertLess(abs(stream[0].stats.starttime - obspy.UTCDateTime("2026-03-04T05:06:07.5") - float(found.t[0])), 1e-6)
        self.assertEqual(stream[0].id, "IV.AAA..HXZ")

    def test_the_origin_of_the_tensor_is_the_source(self):
        """An event whose preferred origin is a hypocentre, and a centroid 4 s later and 2 km deeper, from which the tensor was derived."""
        quake = event()
        centroid = quake.origins[0]
        hypocentre = Origin(time=centroid.time - 4, latitude=42.69, longitude=13.2, depth=6000.0)
        quake.origins.append(hypocentre)
        quake.preferred_origin_id = hypocentre.resource_id
        self.assertEqual(seismology.source(quake, origin=ORIGIN)["sou"][0, 2], 8000)
        seismology.cmt_file(quake, self.path("CMT"))
        text = self.read("CMT")
        self.assertIn("5 6 3.500000 42.69 13.2 6.0 ", text.splitlines()[0])
        for line in ("time shift: 4.0\n", "longitude: 13.22\n", "depth: 8.0\n"):
            self.assertIn(line, text)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            named = seismology.named(data(), ["IV.AAA", "IV.BBB.00"], quake, centre=0)
        self.check(seismology.to_stream(named, inventory(), quake), True)

    def test_time_zero_is_behind_the_origin_time(self):
        """Time zero is read as programs write it: as a number or in quotes, and with seconds that a catalogue has rounded to 60."""
        for origin, shift, zero in (("05:06:07.500000", "12", "05:06:19.5"), ("05:06:07.500000", '"12.5"', "05:06:20"), ("05:06:60.000000", "0", "05:07:00")):
            found = data()
            found.attrs["history"] = f'origin_time="2026-03-04T{origin}" time_shift={shift}\n'
            stream = seismology.to_stream(found)
            self.assertLess(abs(stream[0].stats.starttime - 0.005 - obspy.UTCDateTime(f"2026-03-04T{zero}")), 1e-6)
            # An array with the time of its time zero writes it to a file, too.
            found.attrs["origin_time"] = "2026-03-04T05:06:30"
            rsfdata.write(self.path("a.rsf"), sifaka._arrays.dataset(found))
            back = seismology.begin(rsfdata.read(self.path("a.rsf")).to_xarray())
            self.assertEqual(str(back), "2026-03-04T05:06:30.000000Z")

    def test_names_stay_with_the_traces(self):
        found = self.named()
        rsfdata.write(self.path("a.rsf"), sifaka._arrays.dataset(found))
        quiet = dict(stdout=subprocess.PIPE, check=True, cwd=self.folder)
        for line in ("sfscale dscale=2", "sfwindow n3=20", "sfreverse which=4"):
            with open(self.path("a.rsf"), "rb") as source:
                program, *words = line.split()
                done = subprocess.run([os.path.join(NAMES, program), *words, "out=stdout"], stdin=source, **quiet)
            back = rsfdata.read(io.BytesIO(done.stdout)).to_xarray()
            self.assertEqual(list(back.station.values), ["IV.AAA", "IV.BBB.00"], line)
            self.assertEqual(str(seismology.begin(back)), "2026-03-04T05:06:07.500000Z")
        # Names are selected with their receivers; those whose number no longer fits are left out.
        self.assertEqual(sifaka.run("window", found, f1=1, squeeze=False).station.values.tolist(), ["IV.BBB.00"])
        self.assertNotIn("station", sifaka.run("pad", found, n1=3).coords)
        rsfdata.write(self.path("b.rsf"), sifaka._arrays.dataset(found.isel(r=[1])))
        self.assertEqual(list(sifaka.read(self.path("b.rsf")).station.values), ["IV.BBB.00"])

    def test_times_count_from_the_centre_of_the_source(self):
        names = ["IV.AAA", "IV.BBB.00"]
        with self.assertWarnsRegex(UserWarning, r"4 tau with stf=gauss\): give named\(\) centre="):
            seismology.named(data(), names, event())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            late = seismology.named(data(), names, event(), centre=0.8)
            kept = seismology.named(data(), names, event(), centre=0)
        np.testing.assert_allclose(late.t, kept.t - 0.8)
        first = seismology.to_stream(late, inventory(), event())[0]
        self.assertLess(abs(first.stats.starttime - obspy.UTCDateTime("2026-03-04T05:06:07.5") + 0.795), 1e-6)
        self.assertAlmostEqual(first.stats.sac["b"], -0.795, 6)

    def check(self, stream, up):
        """Checks the traces that `named` must give; `up` is whether coordinates are in the headers."""
        self.assertEqual([trace.id for trace in stream][:3], ["IV.AAA..HXZ", "IV.AAA..HX1", "IV.AAA..HX2"])
        self.assertEqual(stream[5].id, "IV.BBB.00.HX2")
        # 5 ms after the origin time; formats keep microseconds or milliseconds.
        self.assertLess(abs(stream[0].stats.starttime - obspy.UTCDateTime("2026-03-04T05:06:07.505")), 1e-6)
        self.assertAlmostEqual(stream[0].stats.delta, 0.01, 9)
        values = data().values
        np.testing.assert_array_equal(stream[0].data, -values[:, 0, 0])
        np.testing.assert_array_equal(stream[4].data, values[:, 1, 1])
        if up:
            head = stream[0].stats.sac
            np.testing.assert_allclose([head.stla, head.stlo, head.stel, head.evla, head.evdp, head.b, head.o], [42.71, 13.2, 900, 42.7, 8, 0.005, 0], atol=1e-6)

    def test_miniseed_and_sac(self):
        stream = seismology.to_stream(self.named(), inventory(), event())
        self.check(stream, True)
        stream.write(self.path("a.mseed"), "MSEED")
        self.check(obspy.read(self.path("a.mseed")), False)
        paths = seismology.write_sac(self.path("sac"), stream)
        self.assertEqual(os.path.basename(paths[3]), "IV.BBB.00.HXZ.SAC")
        back = obspy.Stream(trace for path in paths for trace in obspy.read(path))
        self.check(back, True)
        again = seismology.from_stream(back, "2026-03-04T05:06:07.5")
        self.assertEqual((again.dims, list(again.component.values)), (("t", "component", "r"), ["Z", "1", "2"]))
        self.assertEqual(list(again.station.values), ["IV.AAA", "IV.BBB.00"])
        np.testing.assert_allclose(again.t, data().t, atol=1e-6)
        np.testing.assert_array_equal(again.values[:, 1:], data().values[:, 1:])
        # Stations are in the order of the points with which they are compared, for any order of the files.
        turned = obspy.Stream(sorted(back, key=lambda trace: trace.id, reverse=True))
        self.assertEqual(list(seismology.from_stream(turned).station.values), ["IV.BBB.00", "IV.AAA"])
        xarray.testing.assert_identical(seismology.from_stream(turned, "2026-03-04T05:06:07.5", stations=["IV.AAA", "IV.BBB.00"]), again)
        self.assertEqual(list(seismology.from_stream(turned, stations=["IV.AAA"]).station.values), ["IV.AAA"])
        with self.assertRaisesRegex(ValueError, "the stream has no traces of IV.CCC, but of IV.BBB.00, IV.AAA: leave these"):
            seismology.from_stream(turned, stations=["IV.AAA", "IV.CCC"])
        # The data can be passed on to a program.
        self.assertEqual(sifaka.run("scale", again, dscale=2).shape, (50, 3, 2))
        with self.assertWarnsRegex(UserWarning, "6 of 6 traces have no coordinates"):
            seismology.write_sac(self.path("bare"), seismology.to_stream(self.named()))
        with self.assertWarnsRegex(UserWarning, r"the inventory has no XX.R0001, XX.R0002: .* it has IV.AAA"):
            seismology.to_stream(data(), inventory())
        east = seismology.to_stream(data(), orient=seismology.EAST_NORTH)
        self.assertEqual([trace.id for trace in east][:3], ["XX.R0001..HXZ", "XX.R0001..HXE", "XX.R0001..HXN"])
        # The receivers of a selection keep their names, and a single receiver needs no dimension.
        for one in (data().isel(r=[1]), data().isel(r=1)):
            self.assertEqual([trace.id for trace in seismology.to_stream(one)], ["XX.R0002..HXZ", "XX.R0002..HX1", "XX.R0002..HX2"])
        self.assertEqual(seismology.to_stream(self.named().isel(r=1))[0].id, "IV.BBB.00.HXZ")

    def test_an_origin_without_a_depth_is_told(self):
        shallow = event()
        shallow.origins[0].depth = None
        with self.assertRaisesRegex(ValueError, r"the origin of the event has no depth: set .* event.origins\[0\].depth = 8000.0 \(m\)"):
            seismology.source(shallow, origin=ORIGIN)
        shallow.origins[0].depth = 8000.0
        self.assertEqual(seismology.source(shallow, origin=ORIGIN)["sou"][0, 2], 8000)

    def test_streams_go_back_to_the_axes_of_a_grid(self):
        for orient in (seismology.GRID, seismology.EAST_NORTH):
            stream = seismology.to_stream(self.named(), orient=orient)
            stream.sort(["station", "channel"])
            again = seismology.from_stream(stream, orient=orient)
            self.assertEqual(list(again.component.values), ["z", "x", "y"])
            np.testing.assert_array_equal(again.values, data().values)
            self.assertIn("origin_time", again.attrs)
            # As recorded, they are written again under the same channels.
            back = seismology.to_stream(seismology.from_stream(stream), orient=orient)
            for trace in stream:
                np.testing.assert_array_equal(back.select(id=trace.id)[0].data, trace.data)
        # Times that begin half a step late are restored if no origin time is known.
        late = self.named().assign_coords(t=data().t.values + 0.0015)
        late.attrs.clear()
        np.testing.assert_allclose(seismology.from_stream(seismology.to_stream(late)).t, late.t, atol=1e-6)
        with self.assertRaisesRegex(ValueError, "the channels end in Z, N, E, but .* orient=seismology.EAST_NORTH makes x and y of E and N"):
            seismology.from_stream(stream, orient=seismology.GRID)
        with self.assertRaisesRegex(TypeError, "orient='ZNE': give EAST_NORTH"):
            seismology.from_stream(stream, orient="ZNE")
        radial = seismology.from_stream(stream).assign_coords(component=["Z", "R", "T"])
        with self.assertRaisesRegex(ValueError, "a component is called R, .*: give its channel and sign") as refused:
            seismology.to_stream(radial)
        cure = eval(str(refused.exception).rsplit("orient=", 1)[1], {"seismology": seismology})
        self.assertEqual(seismology.to_stream(radial.isel(component=[0, 1]), orient=cure)[1].id, "IV.AAA..HXR")

    def test_streams_turn_to_radial_and_transverse(self):
        stream = seismology.to_stream(self.named(), inventory(), event(), orient=seismology.EAST_NORTH)
        # The second station is 0.03 degrees west of the source; at 42.7 degrees, the parallel has 82.0 km per degree on
        # the ellipsoid.
        west = stream.select(station="BBB")
        for trace in west:
            self.assertAlmostEqual(trace.stats.distance, 2459, delta=2)
            self.assertAlmostEqual(trace.stats.back_azimuth, 90, delta=0.02)
        before = {trace.stats.channel[-1]: trace.data.copy() for trace in west}
        turned = {trace.stats.channel[-1]: trace.data for trace in west.copy().rotate("NE->RT")}
        # Radial is away from the source, here west, and transverse is to the right of radial, here north.
        np.testing.assert_allclose(turned["R"], -before["E"], atol=0.1)
        np.testing.assert_allclose(turned["T"], before["N"], atol=0.1)
        heads = {}
        for path in seismology.write_sac(self.path("turned"), stream):
            trace = obspy.read(path)[0]
            heads[trace.id] = trace.stats.sac
        angles = {name[-1]: (head.cmpaz, head.cmpinc) for name, head in heads.items()}
        self.assertEqual(angles, {"Z": (0, 0), "N": (0, 90), "E": (90, 90)})
        head = heads["IV.BBB.00.HXE"]
        np.testing.assert_allclose([head.dist, head.az, head.baz], [2.459, 270, 90], atol=0.02)
        # Along the axes of a model, x and y have no azimuth, so none is written.
        self.assertNotIn("cmpaz", seismology.to_stream(self.named(), inventory(), event())[1].stats.sac)

    def test_what_does_not_fit_gets_a_sentence(self):
        stream = seismology.to_stream(self.named())
        with self.assertRaisesRegex(ValueError, "different lengths, samplings or starts"):
            seismology.from_stream(stream + obspy.Stream([stream[0].copy().trim(endtime=stream[0].stats.endtime - 0.1)]))
        with self.assertRaisesRegex(ValueError, f"2 of the {len(stream) + 1} traces are {re.escape(stream[0].id)}, .*merge"):
            seismology.from_stream(stream + obspy.Stream([stream[0]]))
        with self.assertRaisesRegex(ValueError, "the stream has no traces"):
            seismology.from_stream(obspy.Stream())
        with self.assertRaisesRegex(ValueError, "has no component"):
            seismology.from_stream(stream[:-1])
        # Recorded data are integers, and their gaps are masked.
        gaps = stream.copy()
        for trace in gaps:
            trace.data = np.ma.masked_array(np.arange(trace.stats.npts, dtype="i4"), mask=np.arange(trace.stats.npts) == 3)
        with self.assertRaisesRegex(ValueError, "samples of it are missing"):
            seismology.from_stream(gaps)
        with self.assertRaisesRegex(ValueError, "2 receivers .* 1 names"):
            seismology.named(data(), ["IV.AAA"])
        with self.assertRaisesRegex(ValueError, "a component is called x"):
            seismology.to_stream(data(), orient={"z": ("Z", -1.0)})
        with self.assertRaisesRegex(ValueError, r"dimensions t, component and r, but these are Time, component, r: rename them if they are traces, as in data.rename\(\{'Time': 't'\}\)"):
            seismology.to_stream(data().rename(t="Time"))
        shots = data().expand_dims(shot=3)
        with self.assertRaisesRegex(ValueError, r"these also have shot: select one sample with isel\(\), as in data.isel\(\{'shot': 0\}\)"):
            seismology.to_stream(shots)
        self.assertEqual(len(seismology.to_stream(shots.isel(shot=0))), 6)

    def test_pressure_is_a_channel_of_hydrophones(self):
        pressure = data().isel(component=[0]).assign_coords(component=["pressure"])
        traces = seismology.to_stream(pressure)
        self.assertEqual([trace.id for trace in traces], ["XX.R0001..HXH", "XX.R0002..HXH"])
        np.testing.assert_array_equal(traces[0].data, pressure.values[:, 0, 0])

    def test_rotation_and_strain_are_no_ground_motion(self):
        model = {name: sifaka.grid(value, z=(0, 10, 21), x=(0, 10, 21)) for name, value in (("vp", 2000), ("vs", 1000), ("den", 2000))}
        points = dict(sou=np.array([[100.0, 100.0]]), rec=np.array([[60.0, 50.0], [90.0, 50.0]]), along=np.array([[1.0, 0.0]]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sifaka.ProgramWarning)
            found = {kind: sifaka.run("sfvsfd2d-gpu", **model, **points, nt=40, dt=0.001, tau=0.01, device="cpu", data=kind) for kind in ("rotation", "das")}
        for kind, component, channel, factor in (("rotation", "y", "FJ2", -1), ("das", "along the fibre", "FS1", 1)):
            self.assertEqual((found[kind].dims, list(found[kind].component.values)), (("t", "component", "r"), [component]))
            for data_of, selected in ((found[kind], "whole"), (found[kind].isel(component=0), "a component by isel()")):
                stream = seismology.to_stream(data_of)
                self.assertEqual([trace.stats.channel for trace in stream], [channel] * 2, selected)
                np.testing.assert_array_equal(stream[1].data, factor * found[kind].values[:, 0, 1])
            self.assertEqual(rsfdata.from_xarray(found[kind]).axes[1].label, component)
            with self.assertRaisesRegex(ValueError, f"XX.R0001..{channel} is not ground motion"):
                seismology.from_stream(stream, orient=seismology.GRID)
        self.assertEqual(seismology.to_stream(data().isel(component=1))[0].stats.channel, "HX1")
        with self.assertRaisesRegex(ValueError, r"no component, .*data.expand_dims\(component=\['z'\]\)"):
            seismology.to_stream(data().isel(component=0, drop=True))
        with self.assertRaisesRegex(ValueError, r"isel\(\{'along the fibre': 0\}\)"):
            seismology.to_stream(data().expand_dims({"along the fibre": 2}))


@needs_packages(sifaka)
class Segy(Scratch):
    """Points made from geometry, as segyio and ObsPy read it, and their geometry as we read it."""

    def run_line(self, line):
        done = subprocess.run(line, shell=True, cwd=self.folder, capture_output=True, text=True, env=dict(os.environ, PATH=f"{NAMES}:{os.environ['PATH']}", DATAPATH=self.folder + os.sep))
        self.assertEqual(done.returncode, 0, done.stderr)

    def survey(self):
        self.run_line("sfpoints x=100 z=12.5 n=3 dx=50 > sou.rsf; sfpoints x=0.5:300.5:100 z=5 > rec.rsf")
        self.run_line("sfmath n1=10 d1=0.004 n2=4 n3=3 output='x1+10*x2+100*x3' > d.rsf")

    def test_what_is_written(self):
        self.survey()
        self.run_line("sfsegywrite < d.rsf tape=a.sgy format=5 sou=sou.rsf rec=rec.rsf")
        with segyio.open(self.path("a.sgy"), ignore_geometry=True) as file:
            self.assertEqual((file.tracecount, len(file.samples)), (12, 10))
            head, field = file.header[6], segyio.TraceField
            scale = -1 / head[field.SourceGroupScalar]
            self.assertEqual([head[key] * scale for key in (field.SourceX, field.GroupX, field.SourceDepth, field.ReceiverGroupElevation)], [150, 200.5, 12.5, -5])
            self.assertEqual([head[key] for key in (field.FieldRecord, field.TraceNumber, field.offset)], [2, 3, 51])
            np.testing.assert_array_equal(file.trace.raw[:].reshape(3, 4, 10), rsfdata.read(self.path("d.rsf")).array)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stream = obspy.read(self.path("a.sgy"), format="SEGY", unpack_trace_headers=True)
        self.assertEqual((len(stream), stream[0].stats.delta), (12, 0.004))
        self.assertEqual(stream[6].stats.segy.trace_header.group_coordinate_x, 2005)

    def test_what_is_read(self):
        spec = segyio.spec()
        spec.samples, spec.tracecount, spec.format = np.arange(10) * 4.0, 6, 5
        field = segyio.TraceField
        with segyio.create(self.path("b.sgy"), spec) as file:
            for i in range(6):
                file.header[i] = {field.SourceX: 1000 * (i // 3), field.GroupX: 25 * i, field.SourceY: 7, field.GroupY: 7, field.SourceGroupScalar: -10}
                file.header[i].update({field.SourceDepth: 3, field.ElevationScalar: 1, field.TRACE_SAMPLE_INTERVAL: 4000, field.TRACE_SAMPLE_COUNT: 10})
                file.trace[i] = np.full(10, i, "f4")
        self.run_line("sfsegyread tape=b.sgy tfile=t.rsf sou=s.rsf rec=r.rsf > d.rsf")
        self.assertEqual(rsfdata.read(self.path("d.rsf")).array.shape, (2, 3, 10))
        np.testing.assert_array_equal(rsfdata.read(self.path("s.rsf")).array, [[[0, 3]], [[100, 3]]])
        np.testing.assert_array_equal(rsfdata.read(self.path("r.rsf")).array, [[[0, 0], [2.5, 0], [5, 0]], [[7.5, 0], [10, 0], [12.5, 0]]])


if __name__ == "__main__":
    unittest.main()
