"""Maps written by other programs are read as those programs mean them: ESRI ASCII grids, GeoTIFF, and NetCDF of CF and GMT."""
import os
import struct
import subprocess
import sys
import types
import unittest
import warnings
from unittest import mock

from support import FLOWS, NAMES, PACKAGES, Scratch, needs_packages

sys.path.insert(1, PACKAGES)
sys.path.append(os.path.join(FLOWS, "python"))
try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import netCDF4
        import numpy as np
        import xarray
        from obspy.geodetics import gps2dist_azimuth
        from PIL import Image, TiffImagePlugin

        import rsfdata
        import sifaka
        from sifaka import grids
except ImportError:
    sifaka = None


def heights():
    """Rows from south to north, each with other values."""
    return np.arange(12, dtype="f4").reshape(3, 4)


@needs_packages(sifaka)
class Grids(Scratch):
    def test_maps_of_xarray_go_through_netcdf_and_rsf(self):
        ground = xarray.DataArray(np.arange(12.0).reshape(3, 4), {"y": [0, 10, 20], "x": [5, 7, 9, 11]}, ["y", "x"], attrs={"units": "m"})
        ground.to_netcdf(self.path("ground.nc"), engine="netcdf4")
        sifaka.write(self.path("ground.rsf"), xarray.load_dataarray(self.path("ground.nc")))
        back = sifaka.read(self.path("ground.rsf"))
        self.assertEqual((back.dims, back.attrs["units"]), (("y", "x"), "m"))
        np.testing.assert_array_equal(back, ground)
        back.to_netcdf(self.path("again.nc"))
        xarray.testing.assert_equal(xarray.load_dataarray(self.path("again.nc")), ground)

    def same(self, found, x, y, unit="m"):
        self.assertEqual(found.dims, ("y", "x"))
        np.testing.assert_allclose(found.x, x, rtol=1e-12)
        np.testing.assert_allclose(found.y, y, rtol=1e-12)
        np.testing.assert_array_equal(found.values, heights())
        self.assertEqual(found.x.attrs["units"], {"m": "m", "degrees": "degrees_east"}[unit])

    def esri(self, head, values=None):
        rows = heights()[::-1] if values is None else values
        return self.write("dem.asc", head + "\n".join(" ".join(f"{x:g}" for x in row) for row in rows) + "\n")

    def test_esri_grids_do_not_say_their_units(self):
        """Values of y beyond the poles and large cells mean metres; where degrees and metres are possible, there is a warning."""
        size = "ncols 4\nnrows 3\n"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for head, unit in (("xllcorner 0\nyllcorner 0\ncellsize 100\n", "m"), ("xllcorner 10\nyllcorner 100\ncellsize 2\n", "m"), ("xllcorner 13\nyllcorner 42\ncellsize 0.1\n", "degrees_east")):
                self.assertEqual(grids.read(self.esri(size + head)).x.attrs["units"], unit, head)
        site = self.esri(size + "xllcorner 0\nyllcorner 0\ncellsize 2\n")
        with self.assertWarnsRegex(UserWarning, r'dem.asc does not say .* taken to be in degrees: give units="m" or'):
            self.assertEqual(grids.read(site).x.attrs["units"], "degrees_east")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            local = grids.local(grids.read(site, units="m"), (1, 1), x=(0, 2, 4), y=(0, 2, 3))
        np.testing.assert_allclose(local.values, heights(), rtol=1e-6)
        with self.assertRaisesRegex(ValueError, 'units=.km.: the axes of a map are in "degrees" or "m"'):
            grids.read(site, units="km")

    def test_esri(self):
        size = "ncols 4\nnrows 3\n"
        found = grids.read(self.esri(size + "xllcorner 500000\nyllcorner 4.7e6\ncellsize 20\nNODATA_value -9999\n"))
        self.same(found, 500010 + 20 * np.arange(4), 4700010 + 20 * np.arange(3))
        found = grids.read(self.esri("NCOLS 4\nNROWS 3\nXLLCENTER 13\nYLLCENTER 42\nDX 0.5\nDY 0.25\n"))
        self.same(found, [13, 13.5, 14, 14.5], [42, 42.25, 42.5], "degrees")
        holes = heights()[::-1].copy()
        holes[0, 1] = -9999
        found = grids.read(self.esri(size + "xllcorner 0\nyllcorner 0\ncellsize 400\nnodata_value -9999\n", holes))
        self.assertTrue(np.isnan(found.values[2, 1]) and np.isfinite(found.values[0]).all())
        # Without a NODATA_value line, the default value of the format marks gaps.
        found = grids.read(self.esri(size + "xllcorner 0\nyllcorner 0\ncellsize 400\n", holes))
        self.assertTrue(np.isnan(found.values[2, 1]))
        for head, words in (
            ("ncols 4\nxllcorner 0\ncellsize 1\n", "lacks nrows, yllcorner"),
            ("ncols 4\nnrows 4\nxllcorner 0\nyllcorner 0\ncellsize 1\n", "has 12 values, but its header says 4 rows of 4"),
            ("ncols four\n", "ncols is `four`"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                grids.read(self.esri(head))
        with self.assertRaisesRegex(ValueError, "is not a grid that can be read; it must be GeoTIFF"):
            grids.read(self.write("dem.txt", "1 2 3\n"))

    def tiff(self, tags, values=None):
        told = TiffImagePlugin.ImageFileDirectory_v2()
        for number, (kind, value) in tags.items():
            told.tagtype[number] = kind
            told[number] = value
        path = self.path("dem.tif")
        Image.fromarray(heights()[::-1] if values is None else values).save(path, tiffinfo=told)
        return path

    def test_geotiff(self):
        # The tags with their TIFF types: 12 is double, 3 short, 2 text.
        place = {33550: (12, (20.0, 10.0, 0.0)), 33922: (12, (0.0, 0.0, 0.0, 3e5, 5e6, 0.0))}
        keys = lambda model, raster: {34735: (3, (1, 1, 0, 2, 1024, 0, 1, model, 1025, 0, 1, raster))}
        self.same(grids.read(self.tiff({**place, **keys(1, 1)})), 3e5 + 10 + 20 * np.arange(4), 5e6 - 5 + 10 * np.arange(-2, 1))
        self.same(grids.read(self.tiff({**place, **keys(1, 2)})), 3e5 + 20 * np.arange(4), 5e6 + 10 * np.arange(-2, 1))
        matrix = (0.5, 0.0, 0.0, 10.0, 0.0, -0.5, 0.0, 40.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
        whole = heights()[::-1].astype("i4")
        self.same(grids.read(self.tiff({34264: (12, matrix), **keys(2, 2)}, whole)), [10, 10.5, 11, 11.5], [39, 39.5, 40], "degrees")
        found = grids.read(self.tiff({**place, **keys(1, 1), 42113: (2, "7")}))
        self.assertEqual(int(np.isnan(found.values).sum()), 1)
        with self.assertRaisesRegex(ValueError, "does not give the positions of its pixels"):
            grids.read(self.tiff({}))
        # Axes and heights in feet, given by the keys of the file and by the unit that GDAL writes.
        feet = {34735: (3, (1, 1, 0, 4, 1024, 0, 1, 1, 1025, 0, 1, 1, 3076, 0, 1, 9002, 4099, 0, 1, 9002))}
        with self.assertWarnsRegex(UserWarning, "heights are in feet and are converted to metres"):
            found = grids.read(self.tiff({**place, **feet}))
        np.testing.assert_allclose(found, 0.3048 * heights(), rtol=1e-6)
        np.testing.assert_allclose(found.x, 0.3048 * (3e5 + 10 + 20 * np.arange(4)))
        with self.assertWarnsRegex(UserWarning, "heights are in kilometres"):
            found = grids.read(self.tiff({**place, **keys(1, 1), 42112: (2, '<GDALMetadata><Item name="UNITTYPE" sample="0" role="unittype">km</Item></GDALMetadata>')}))
        np.testing.assert_allclose(found, 1000 * heights(), rtol=1e-6)

    def test_geotiff_in_feet_by_the_code_of_its_projection(self):
        # The key of the unit is for projections without a code; here the code determines the unit: 2225 is California in US survey feet.
        place = {33550: (12, (50.0, 50.0, 0.0)), 33922: (12, (0.0, 0.0, 0.0, 6e6, 2e6, 0.0))}
        coded = lambda code: {**place, 34735: (3, (1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, code))}
        units = {2225: ("US survey foot", 1200 / 3937), 2193: ("metre", 1.0), 2314: ("Clarke's foot", 0.3047972654)}
        crs = types.SimpleNamespace(from_epsg=lambda code: types.SimpleNamespace(axis_info=[types.SimpleNamespace(unit_name=units[code][0], unit_conversion_factor=units[code][1])]))
        made = {"pyproj": types.SimpleNamespace(CRS=crs), "pyproj.exceptions": types.SimpleNamespace(CRSError=KeyError)}
        with mock.patch.dict(sys.modules, made):
            with self.assertWarnsRegex(UserWarning, "x of the map are in feet and are converted to metres"):
                found = grids.read(self.tiff(coded(2225)))
            np.testing.assert_allclose(found.x, 1200 / 3937 * (6e6 + 25 + 50 * np.arange(4)), rtol=1e-12)
            np.testing.assert_allclose(found.y[-1], 1200 / 3937 * (2e6 - 25), rtol=1e-12)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.assertEqual(float(grids.read(self.tiff(coded(2193))).x[0]), 6e6 + 25)
            with self.assertRaisesRegex(ValueError, "EPSG:2314, in the unit Clarke's foot: convert the map to metres with gdalwarp"):
                grids.read(self.tiff(coded(2314)))
            with self.assertWarnsRegex(UserWarning, "pyproj does not know EPSG:2999"):
                grids.read(self.tiff(coded(2999)))
        with mock.patch.dict(sys.modules, {"pyproj": None}):
            with self.assertWarnsRegex(UserWarning, "x and y are those of EPSG:2225, and because the file does not give their unit"):
                grids.read(self.tiff(coded(2225)))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.assertEqual(float(grids.read(self.tiff(coded(32633))).x[0]), 6e6 + 25)

    def test_geotiff_that_cannot_be_read(self):
        whole = self.tiff({})
        with open(whole, "rb") as file:
            bytes_ = file.read()
        # A file whose header says that it has 64-bit reals, and one that is truncated.
        entry = bytes_.find(struct.pack("<HHI", 258, 3, 1))
        doubles = bytes_[: entry + 8] + struct.pack("<H", 64) + bytes_[entry + 10 :]
        for name, content, words in (
            ("f64.tif", doubles, "reals of 64 bits, which Pillow does not support; gdal_translate -ot Float32"),
            ("cut.tif", bytes_[:100], "damaged or cut short"),
            ("short.tif", bytes_[:-20], "damaged or cut short"),
        ):
            with open(self.path(name), "wb") as file:
                file.write(content)
            with self.assertRaisesRegex(ValueError, f"{name} cannot be read: .*{words}"):
                grids.read(self.path(name))

    def test_lengths_in_other_units_and_endings_of_other_files(self):
        ground = xarray.DataArray(heights(), {"y": [0.0, 10.0, 20.0], "x": [0.0, 10.0, 20.0, 30.0]}, ["y", "x"], "moho", {"units": "km"})
        ground.to_netcdf(self.path("moho.nc"))
        with self.assertWarnsRegex(UserWarning, "values are in kilometres"):
            found = grids.read(self.path("moho.nc"), units="m")
        self.assertEqual(found.attrs["units"], "m")
        np.testing.assert_allclose(found, 1000 * heights())
        with self.assertRaisesRegex(ValueError, "write.. makes NetCDF, but .tif is the suffix of another format: choose .nc"):
            grids.write(self.path("o.tif"), found)

    def netcdf(self, kind="NETCDF4"):
        return netCDF4.Dataset(self.path("map.nc"), "w", format=kind)

    def test_netcdf_of_gmt(self):
        # Grids as `gmt grdcut` writes them since version 4, and as it wrote them before.
        for kind in ("NETCDF4", "NETCDF3_CLASSIC"):
            with self.netcdf(kind) as file:
                file.Conventions, file.node_offset = "CF-1.7", np.int32(0)
                for name, axis, words in (("lon", [13.0, 13.5, 14.0, 14.5], "degrees_east"), ("lat", [42.0, 42.25, 42.5], "degrees_north")):
                    file.createDimension(name, len(axis))
                    own = file.createVariable(name, "f8", (name,))
                    own[:], own.units, own.actual_range = axis, words, [axis[0], axis[-1]]
                z = file.createVariable("z", "i2", ("lat", "lon"), fill_value=-999)
                z.scale_factor, z.add_offset = 0.5, 1.0
                z[:] = heights()
            self.same(grids.read(self.path("map.nc")), [13, 13.5, 14, 14.5], [42, 42.25, 42.5], "degrees")
        for pixels, x, y in ((0, [0, 100, 200, 300], [0, 50, 100]), (1, [37.5, 112.5, 187.5, 262.5], [50 / 3, 50, 250 / 3])):
            with self.netcdf("NETCDF3_CLASSIC") as file:
                file.createDimension("side", 2)
                file.createDimension("xysize", 12)
                for name, values in (("x_range", [0.0, 300.0]), ("y_range", [0.0, 100.0]), ("z_range", [0.0, 11.0])):
                    file.createVariable(name, "f8", ("side",))[:] = values
                file.createVariable("spacing", "f8", ("side",))[:] = [100.0, 50.0]
                file.createVariable("dimension", "i4", ("side",))[:] = [4, 3]
                z = file.createVariable("z", "f4", ("xysize",))
                z.node_offset = np.int32(pixels)
                z[:] = heights()[::-1].ravel()
            found = grids.read(self.path("map.nc"))
            # Such an old file does not give units, and 100 degrees is not a latitude.
            self.same(found, x, y)

    def test_models_and_what_is_refused(self):
        axes = {"depth": [0.0, 5.0, 10.0], "latitude": [43.0, 42.0], "longitude": [13.0, 14.0]}
        values = np.arange(12.0).reshape(3, 2, 2)
        made = xarray.Dataset({"vs": (tuple(axes), values), "vp": (tuple(axes), 2 * values)}, axes)
        made.depth.attrs.update(units="km", positive="down")
        made.vp.attrs["units"] = "km s-1"
        made.to_netcdf(self.path("model.nc"))
        with self.assertRaisesRegex(ValueError, "has the grids v[sp], v[sp]: name= chooses"):
            grids.read(self.path("model.nc"))
        found = grids.read(self.path("model.nc"), "vs")
        self.assertEqual((found.dims, list(found.z.values), list(found.y.values)), (("y", "x", "z"), [0, 5000, 10000], [42, 43]))
        np.testing.assert_array_equal(found.values, values[:, ::-1].transpose(1, 2, 0))
        fast = grids.read(self.path("model.nc"), "vp")
        np.testing.assert_array_equal(fast.values, 2000 * found.values)
        self.assertEqual(fast.attrs["units"], "m/s")
        for unit, factor, si in (("GPa", 1e9, "Pa"), ("g/cm3", 1000, "kg/m3"), ("km.s-1", 1000, "m/s"), ("m/s", 1, "m/s")):
            made.vp.attrs["units"] = unit
            made.to_netcdf(self.path("other.nc"))
            other = grids.read(self.path("other.nc"), "vp")
            np.testing.assert_allclose(other.values, 2 * factor * found.values)
            self.assertEqual(other.attrs["units"], si)
        middle = grids.local(found, (42.5, 13.5), x=(0, 1, 1), y=(0, 1, 1))
        np.testing.assert_allclose(middle.values[0, 0], values.mean((1, 2)), atol=1e-3)
        xarray.Dataset({"a": (("lat", "lon"), np.zeros((3, 3)))}, {"lat": [0, 1, 3], "lon": [0, 1, 2]}).to_netcdf(self.path("odd.nc"))
        with self.assertRaisesRegex(ValueError, "the axis y is not regular: its steps are 1 to 2"):
            grids.read(self.path("odd.nc"))
        xarray.Dataset({"a": (("time", "lon"), np.zeros((3, 3)))}).to_netcdf(self.path("time.nc"))
        with self.assertRaisesRegex(ValueError, "the dimensions of a are time, lon"):
            grids.read(self.path("time.nc"))

    def test_degrees_become_metres_of_utm(self):
        """Points of the zone: the arc of the meridian, a landmark, and the result of the programs for the same degrees by utm=."""
        place = lambda latitude, longitude, middle, foot=0: [float(x) for x in grids._to_utm(np.array(latitude), np.array(longitude), middle, foot)]
        np.testing.assert_allclose(place(45.0, 9.0, 9), [500000, 0.9996 * 4984944.378], rtol=0, atol=2e-3)
        # The CN Tower in zone 17, as on maps.
        np.testing.assert_allclose(place(43.642566, -79.387139, -81), [630084, 4833438], rtol=0, atol=1.0)
        for latitude, longitude, middle, foot in ((43.6, -79.4, -81, 0), (-33.9, 151.2, 153, 1e7), (0.0, 6.0, 3, 0), (79.0, 18.0, 15, 0)):
            back = grids._from_utm(*map(np.array, place(latitude, longitude, middle, foot)), middle, foot)
            np.testing.assert_allclose([float(x) for x in back], [latitude, longitude], rtol=0, atol=1e-10)
        lon, lat = np.linspace(13, 13.2, 201), np.linspace(42, 42.1, 101)
        for key in ("lon", "lat"):
            plane = np.broadcast_to(lon if key == "lon" else lat[:, None], (101, 201))
            degrees = xarray.DataArray(plane.astype("f4"), {"y": ("y", lat, {"units": "degrees_north"}), "x": ("x", lon, {"units": "degrees_east"})}, ("y", "x"))
            found = grids.utm(degrees, 33)
            self.assertEqual((found.dims, found.x.attrs["units"], float(found.x[1] - found.x[0]), float(found.y[1] - found.y[0])), (("y", "x"), "m", 50, 100))
            # The grid covers the map except for the outermost part, which is no wider than the turn of the meridians
            # and a step.
            self.assertGreater(found.size * 5000, 0.95 * 0.1 * 111.1e3 * 0.2 * 82.6e3)
            for j, i in ((0, 0), (-1, -1), (20, 100)):
                latitude, longitude = grids._from_utm(found.y.values[[j]] * 0 + found.x.values[[i]], found.y.values[[j]], 15, 0)
                # Latitudes in single precision have errors of 2e-6, before and after the interpolation.
                self.assertLess(abs(float(found[j, i]) - float((longitude if key == "lon" else latitude)[0])), 4e-6)
        whole = xarray.DataArray(degrees.values, {"y": degrees.y, "x": ("x", lon + 360, {"units": "degrees_east"})}, ("y", "x"))
        np.testing.assert_array_equal(grids.utm(whole, "33N").values, found.values)
        part = grids.utm(degrees, 33, x=(335000, 1000, 5), y=(4640000, 500, 60), fill=-1)
        self.assertEqual((part.shape, float(part[0, 0])), ((60, 5), -1))
        self.assertTrue((part.values != -1).any())
        for words, call in (
            ("y of the grid is from .* but that of the map from 42 to 42.1", lambda: grids.utm(degrees, 33, y=(4640000, 500, 60))),
            ("zone=61: zones are 1 to 60", lambda: grids.utm(degrees, 61)),
            ("zone=11 is around longitude -117, but the map is around 13.1: its zone is 33", lambda: grids.utm(degrees, 11)),
            ("x of the map is in m, and utm.. takes longitude in degrees", lambda: grids.utm(found, 33)),
        ):
            with self.assertRaisesRegex(ValueError, words):
                call()
        # With utm= the programs find a station given in degrees in a mesh in these metres.
        self.write("STATIONS", "A XX 42.05 13.1 0 0\n")
        self.write("CMTSOLUTION", "PDE 2026 3 4 5 6 7.5 42.05 13.1 1 4 4 A\nevent name: A\ntime shift: 0\nhalf duration: 1\nlatitude: 42.05\nlongitude: 13.1\ndepth: 1\nMrr: 1e21\nMtt: 0\nMpp: 0\nMrt: 0\nMrp: 0\nMtp: 0\n")
        east, north = place(42.05, 13.1, 15)
        # A mesh that includes the point by two metres on two sides, and a mesh that misses it by as much.
        for shift, status in ((-2, 0), (2, 1)):
            box = f"xmin={east + shift} xmax={east + 4000} ymin={north + shift} ymax={north + 4000}"
            subprocess.run(["bash", "-c", f"PATH={NAMES}:$PATH DATAPATH=./; sfhexmesh surfaces=4000,0 layers=2 nx=2 ny=2 {box} rho=2300 vp=3000 vs=1700 > m.rsf"], cwd=self.folder, check=True, capture_output=True)
            run = subprocess.run(["bash", "-c", f"PATH={NAMES}:$PATH DATAPATH=./; sfsem3d-gpu mesh=m.rsf cmt=CMTSOLUTION stations=STATIONS utm=33 outside=error nt=2 dt=0.001 plan=y device=cpu"], cwd=self.folder, capture_output=True, text=True)
            self.assertEqual(run.returncode, status, run.stderr)

    def test_degrees_become_metres(self):
        # A plane over longitude and latitude, whose value gives the coordinate of a point.
        lon, lat = np.linspace(12, 15, 301), np.linspace(41, 44, 301)
        axes = {"lat": ("lat", lat, {"units": "degrees_north"}), "lon": ("lon", lon, {"units": "degrees_east"})}
        for key, wanted in (("lon", 1), ("lat", 0)):
            plane = np.broadcast_to(lon if key == "lon" else lat[:, None], (301, 301))
            xarray.Dataset({"h": (("lat", "lon"), plane)}, axes).to_netcdf(self.path("plane.nc"))
            found = grids.local(grids.read(self.path("plane.nc")), (42.7, 13.2), x=(-5e4, 1e4, 11), y=(-6e4, 3e4, 5))
            self.assertEqual((found.dims, found.x.attrs["units"]), (("y", "x"), "m"))
            for i, j in ((0, 0), (10, 4), (7, 1)):
                place = [float(found[j, i])]
                place = [42.7, 13.2][:wanted] + place + [42.7, 13.2][wanted + 1 :]
                # The other coordinate belongs to the same geodesic.
                both = grids._places((42.7, 13.2), np.array([found.x.values[i]]), np.array([found.y.values[j]]))
                place[1 - wanted] = float(both[1 - wanted][0])
                distance, azimuth, _ = gps2dist_azimuth(42.7, 13.2, *place)
                # Degrees in single precision have errors of 1e-6, a tenth of a metre.
                self.assertLess(abs(distance * np.sin(np.radians(azimuth)) - float(found.x[i])), 0.5)
                self.assertLess(abs(distance * np.cos(np.radians(azimuth)) - float(found.y[j])), 0.5)
        with self.assertRaisesRegex(ValueError, r"x of the grid is from .* but that of the map from 12 to 15.*origin is \(latitude, longitude\)"):
            grids.local(grids.read(self.path("plane.nc")), (42.7, 12.1), x=(-5e4, 1e4, 11), y=(0, 1, 1))
        with self.assertRaisesRegex(ValueError, "x=None: give an origin, a spacing and a number of samples"):
            grids.local(grids.read(self.path("plane.nc")), (42.7, 13.2))
        with self.assertRaisesRegex(ValueError, r"x=\(0, 10\): give an origin, a spacing and a number of samples, .*, as in x=\(-1000, 10, 201\)"):
            grids.local(grids.read(self.path("plane.nc")), (42.7, 13.2), x=(0, 10), y=(0, 1, 1))
        # A map made by a user that does not give the units of its axes.
        named = grids.read(self.path("plane.nc"))
        bare = xarray.DataArray(named.values, {name: named[name].values for name in named.dims}, named.dims)
        with self.assertRaisesRegex(ValueError, r"x of the map has no units and is taken to be in metres: .* set map.x.attrs\['units'\] = 'degrees_east'"):
            grids.local(bare, (42.7, 13.2), x=(-5e4, 1e4, 11), y=(-6e4, 3e4, 5))
        bare.x.attrs["units"] = "degrees_east"
        again = grids.local(bare, (42.7, 13.2), x=(-5e4, 1e4, 11), y=(-6e4, 3e4, 5))
        np.testing.assert_array_equal(again.values, found.values)

    def test_a_map_becomes_the_ground_of_a_mesh(self):
        rows = np.outer(np.ones(9), 100 + 20 * np.arange(9.0))
        heights = grids.read(self.esri("ncols 9\nnrows 9\nxllcenter 500000\nyllcenter 4700000\ncellsize 500\n", rows))
        ground = grids.local(heights, (4.7e6, 5e5), x=(0, 250, 17), y=(0, 250, 17))
        np.testing.assert_allclose(ground.values, np.outer(np.ones(17), 100 + 10 * np.arange(17)), rtol=1e-6)
        shifted = grids.local(heights, (4.7e6, 5e5))
        np.testing.assert_array_equal(shifted.values, heights.values)
        np.testing.assert_array_equal(shifted.x.values, 500 * np.arange(9))
        self.assertEqual((float(shifted.y[0]), shifted.x.attrs["units"]), (0, "m"))
        sifaka.write(self.path("topo.rsf"), 300 - ground)
        place = dict(cwd=self.folder, env=dict(os.environ, DATAPATH=self.folder + os.sep), capture_output=True, text=True)
        box = "surfaces=3000,topo.rsf layers=3 nx=4 ny=4 vp=3000 vs=1700 rho=2200 judge=n verb=y"
        with open(self.path("mesh.rsf"), "wb") as mesh:
            done = subprocess.run([os.path.join(NAMES, "sfhexmesh"), *box.split()], **{**place, "capture_output": False}, stdout=mesh, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        nodes = next(name for name in os.listdir(self.folder) if "nodes" in name and name.endswith(".rsf"))
        points = rsfdata.read(self.path(nodes)).array
        top = points[np.abs(points[:, 2] - (200 - points[:, 0] / 25)) < 1e-2]
        self.assertEqual(len(top), 25)
        holes = rows.copy()
        holes[4, 4] = -1
        holed = grids.read(self.esri("ncols 9\nnrows 9\nxllcenter 0\nyllcenter 0\ncellsize 500\nnodata_value -1\n", holes))
        with self.assertRaisesRegex(ValueError, "the map has no value around x=1600, y=1600"):
            grids.local(holed, (0, 0), x=(0, 800, 3), y=(0, 800, 3))

    def test_netcdf_out(self):
        axes = [rsfdata.Axis(5, 10.0, 2.5, "z", "m"), rsfdata.Axis(4, -30.0, 10.0, "x", "m"), rsfdata.Axis(2, 0.5, 0.1, "t", "s")]
        values = np.arange(40, dtype="f4").reshape(2, 4, 5)
        data = rsfdata.Dataset(values, axes, rsfdata.Header(b"label=Velocity unit=m/s\n")).to_xarray()
        grids.write(self.path("out.nc"), data)
        with xarray.open_dataset(self.path("out.nc")) as file:
            self.assertEqual((file.attrs["Conventions"], int(file.attrs["node_offset"])), ("CF-1.8", 0))
            (name,) = file.data_vars
            np.testing.assert_array_equal(file[name].transpose("t", "x", "z"), values)
            self.assertEqual((file[name].attrs["units"], file.z.attrs["positive"], file.x.attrs["axis"]), ("m/s", "down", "X"))
            np.testing.assert_allclose(file.z, 10 + 2.5 * np.arange(5))
        grids.write(self.path("map.nc"), data.isel(t=1))
        back = grids.read(self.path("map.nc"))
        np.testing.assert_array_equal(back.transpose("x", "z"), values[1])


if __name__ == "__main__":
    unittest.main()
