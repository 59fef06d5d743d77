"""Headers of SAC files."""
import sys
import unittest
import warnings

from seismology_test import data, event, inventory
from support import PACKAGES, Scratch, needs_packages

sys.path.insert(1, PACKAGES)
try:
    import numpy as np
    import obspy

    from sifaka import seismology
except ImportError:
    seismology = None


@needs_packages(seismology)
class Sac(Scratch):
    def test_sac_keeps_times_relative_to_the_origin(self):
        # The reference time is cut to whole milliseconds; B and O hold the rest.
        for text, rest in (("2016-10-30T06:40:17.999900", 0.0009), ("2016-10-30T06:40:17.000600", 0.0006), ("2016-10-30T06:40:17.500000", 0)):
            late = data().assign_coords(t=data().t - 0.843887)
            late.attrs["origin_time"] = text
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                stream = seismology.to_stream(late)
                path = seismology.write_sac(self.path("late"), stream)[0]
            head = obspy.read(path)[0].stats.sac
            # Single precision holds these times to 1e-7 s, and ObsPy truncates nanoseconds.
            np.testing.assert_allclose([head.o, head.b - head.o], [rest, late.t[0]], atol=2e-6)
            self.assertEqual(stream[0].stats.sac["o"], 0, "the stream of the user is unchanged")

    def test_names_without_a_location_are_stations_with_one_place(self):
        """A STATIONS file has no locations, so its IV.BBB is the inventory's IV.BBB.00."""
        named = data().assign_coords(station=("r", ["IV.AAA", "IV.BBB"]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            stream = seismology.to_stream(named, inventory(), event())
        self.assertEqual([trace.id for trace in stream[::3]], ["IV.AAA..HXZ", "IV.BBB..HXZ"])
        np.testing.assert_allclose([[trace.stats.sac[key] for key in ("stla", "stlo")] for trace in stream[::3]], [[42.71, 13.2], [42.7, 13.19]])


if __name__ == "__main__":
    unittest.main()
