"""Slips that the Python package reports: stations that were moved, two instruments of one station, folders and coordinates that cannot be meant."""
import os
import sys
import unittest
import warnings
from unittest import mock

from support import FLOWS, PACKAGES, Scratch, needs_packages

sys.path.insert(1, PACKAGES)
sys.path.append(os.path.join(FLOWS, "python"))
try:
    with warnings.catch_warnings():
        # ObsPy uses features that newer versions of its dependencies will drop.
        warnings.simplefilter("ignore")
        import numpy as np
        import obspy
        import xarray
        from obspy.core.event import Event, Origin
        from obspy.core.inventory import Channel, Inventory, Network, Station

        import rsfdata
        import sifaka
        from sifaka import seismology
except ImportError:
    sifaka = None
ORIGIN = (42.7, 13.2)


def moved():
    """A station that was 0.01 degrees further south until 2015; its own coordinates are those of today."""
    begin, change = obspy.UTCDateTime(2010, 1, 1), obspy.UTCDateTime(2015, 1, 1)
    channel = lambda latitude, start, end: Channel("HHZ", "", latitude, 13.2, 500.0, 0.0, start_date=start, end_date=end)
    station = Station("A", 42.71, 13.2, 500.0, channels=[channel(42.70, begin, change), channel(42.71, change, None)])
    return Inventory([Network("XX", [station])], source="test")


def at(year):
    return Event(origins=[Origin(time=obspy.UTCDateTime(year, 6, 1), latitude=42.7, longitude=13.2, depth=8000.0)])


def stream(channels, station="S1"):
    """A trace of ten equal samples for each channel: 0, 1, 2 and so on."""
    header = lambda channel: dict(network="XX", station=station, channel=channel, delta=0.01)
    return obspy.Stream([obspy.Trace(np.full(10, k, "f4"), header(channel)) for k, channel in enumerate(channels)])


@needs_packages(sifaka)
class Epochs(Scratch):
    def north(self, **words):
        return float(seismology.receivers(moved(), ORIGIN, **words)[0][0, 1])

    def test_axes_with_a_last_coordinate_in_place_of_a_spacing_are_warned_of(self):
        with self.assertWarnsRegex(UserWarning, r"x=\(0, 3000, 10\) has 10 samples that are 3000 m apart: .* not \(first, last, spacing\)"):
            sifaka.grid(1, x=(0, 3000, 10), z=(0, 10, 41))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for axis in [(0, 500, 19), (0, 250, 19), (-8000, 500, 33), (0, 1000, 30), (0, 500, 20), (0, 2000, 101)]:
                self.assertEqual(sifaka.grid(1, x=axis, z=(0, 10, 41)).sizes["x"], axis[2])

    def test_the_epoch_of_the_event_counts(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertAlmostEqual(self.north(event=at(2012)), 0.0, delta=0.5)
            self.assertAlmostEqual(self.north(event=obspy.Catalog([at(2026)])), 1110.8, delta=0.5)
            seismology.stations_file(moved(), self.path("STATIONS"), event=at(2012))
            self.assertEqual(self.read("STATIONS").split()[2], "42.700000")
        with self.assertWarnsRegex(UserWarning, "XX.A had different positions in several epochs: the latest epoch is taken"):
            self.assertAlmostEqual(self.north(), 1110.8, delta=0.5)
        with self.assertWarnsRegex(UserWarning, "XX.A had no epoch at the time of the event, 2001"):
            self.assertAlmostEqual(self.north(event=at(2001)), 1110.8, delta=0.5)

    def test_epochs_of_a_station_are_no_second_station(self):
        change = obspy.UTCDateTime(2015, 1, 1)
        old, new = Station("A", 42.70, 13.2, 0.0, end_date=change), Station("A", 42.71, 13.2, 0.0, start_date=change)
        both = Inventory([Network("XX", [old]), Network("XX", [new])], source="test")
        for year, north in ((2012, 0.0), (2020, 1110.8)):
            points, names = seismology.receivers(both, ORIGIN, event=at(year))
            self.assertEqual(names, ["XX.A"])
            self.assertAlmostEqual(float(points[0, 1]), north, delta=0.5)

    def test_coordinates_of_traces_are_those_of_their_time(self):
        data = seismology.from_stream(stream(["HHZ"], "A"), obspy.UTCDateTime(2012, 6, 1))
        self.assertEqual(seismology.to_stream(data, moved())[0].stats.sac["stla"], 42.70)
        self.assertEqual(seismology.to_stream(data, moved(), at(2020))[0].stats.sac["stla"], 42.71)

    def test_programs_take_the_epoch_of_the_event(self):
        text = self.path("moved.xml")
        moved().write(text, "STATIONXML")
        with open(self.path("layers.txt"), "w") as table:
            table.write("depth vp vs rho\n0 5000 2900 2600\n")
        tensor = "".join(f"M{key}: {moment}e22\n" for key, moment in (("rr", 3), ("tt", -1), ("pp", -2), ("rt", 0.4), ("rp", 0.5), ("tp", 0.6)))

        def record(year, stations):
            with open(self.path("CMT"), "w") as solution:
                solution.write(f" PDE {year} 6 1 5 6 7.5 42.7 13.2 1 3 3 TEST\nevent name: t\ntime shift: 0\nhalf duration: 0.2\nlatitude: 42.705\nlongitude: 13.2\ndepth: 1\n{tensor}")
            grid = dict(n1=15, n2=21, n3=31, d1=150, d2=150, d3=150, o2=350900, o3=4727000)
            events = {"cmt": self.path("CMT")} if year else dict(sou=np.array([[352600, 4729000, 1000]], "f4"), tau=0.1)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                found = sifaka.run("sfvsfd3d-gpu", layers=self.path("layers.txt"), stations=stations, utm=33, nt=40, dt=0.01, nb=3, order=2, device="cpu", **grid, **events)
            return found.values, [str(one.message) for one in said if "epoch" in str(one.message)]

        places = {}
        for latitude in (42.70, 42.71):
            places[latitude] = self.path(f"STATIONS{latitude}")
            with open(places[latitude], "w") as table:
                table.write(f"A XX {latitude} 13.2 500 0\n")
        for year, latitude, words in ((2012, 42.70, ""), (2026, 42.71, ""), (2001, 42.71, "XX.A had no epoch at the time of the source"), (None, 42.71, "XX.A had different positions in several epochs")):
            found, said = record(year, text)
            wanted, _ = record(year, places[latitude])
            self.assertGreater(np.abs(found).max(), 0)
            np.testing.assert_array_equal(found, wanted)
            self.assertTrue(said[0].find(words) > 0 if words else not said, said)


@needs_packages(sifaka)
class Slips(Scratch):
    def test_two_instruments_of_a_station_are_refused(self):
        both = stream(["HHZ", "HHN", "HHE", "HNZ", "HNN", "HNE"])
        with self.assertRaisesRegex(ValueError, r"XX.S1 has HHZ and HNZ, .* as in stream.select\(channel='HH\?'\)"):
            seismology.from_stream(both)
        self.assertEqual(seismology.from_stream(both.select(channel="HN?")).values.max(), 5.0)

    def test_channels_without_directions_are_told(self):
        with self.assertWarnsRegex(UserWarning, "the channels end in Z, 1, 2, and EAST_NORTH makes x and y only of E and N, so the components are z, 1, 2"):
            seismology.from_stream(stream(["HHZ", "HH1", "HH2"]), orient=seismology.EAST_NORTH)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = seismology.from_stream(stream(["HHZ", "HH1", "HH2"]), orient=seismology.GRID)
        self.assertEqual(list(found.component.values), ["z", "x", "y"])

    def test_a_folder_of_programs_that_is_none_is_refused(self):
        with mock.patch.dict(os.environ, {"SIFAKA_BIN": self.path("typo")}):
            with self.assertRaisesRegex(FileNotFoundError, "SIFAKA_BIN=.*typo: there is no such folder"):
                sifaka.run("sfmath", n1=3, output="x1")

    def test_receivers_that_are_selected_are_numbered_anew(self):
        data = xarray.DataArray(np.zeros((4, 6), "f4"), {"t": 0.1 * np.arange(4), "r": np.arange(6)}, ("t", "r"))
        chosen = data.isel(r=[0, 1, 5])
        with self.assertRaisesRegex(rsfdata.RsfError, r"coordinates of r are not regular.*assign_coords\(r=range\(3\)\)"):
            sifaka.write(self.path("a.rsf"), chosen)
        sifaka.write(self.path("a.rsf"), chosen.assign_coords(r=range(3)))


if __name__ == "__main__":
    unittest.main()
