"""Pictures of xarray's DataArrays whose axes have names instead of numbers."""
import unittest

from python_test import shot, sifaka
from support import Scratch, needs_packages

try:
    import numpy as np
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError:
    sifaka = None


@needs_packages(sifaka)
class Components(Scratch):
    def tearDown(self):
        pyplot.close("all")

    def drawn(self, array):
        """The axes of wiggles, with the labels of the traces."""
        pyplot.close("all")
        axes = array.sifaka.wiggles()
        return axes, [label.get_text() for label in axes.get_xticklabels()]

    def test_one_station_has_a_trace_for_each_component(self):
        data = shot()
        sifaka.write(self.path("data.rsf"), data)
        lone = shot(rec=sifaka.points(x=100, z=20))
        for station in (data.isel(r=0), sifaka.read(self.path("data.rsf")).isel(r=0), lone):
            axes, names = self.drawn(station)
            self.assertEqual((len(axes.lines), names, axes.get_ylabel()), (2, ["z", "x"], "t (s)"))
            values = station.squeeze(drop=True).transpose("component", "t").values
            largest = np.abs(values).max()
            for place, (line, trace) in enumerate(zip(axes.lines, values)):
                np.testing.assert_allclose(line.get_xdata(), place + trace / largest, atol=1e-6)

    def test_one_time_is_drawn_along_the_receivers(self):
        axes, names = self.drawn(shot().isel(t=100))
        self.assertEqual((len(axes.lines), names, len(axes.lines[0].get_ydata())), (2, ["z", "x"], 4))

    def test_two_axes_of_names_are_refused(self):
        array = shot().isel(t=0).assign_coords(r=list("abcd"))
        with self.assertRaisesRegex(ValueError, "wiggles need an axis of numbers, but component and r have names"):
            array.sifaka.wiggles()


if __name__ == "__main__":
    unittest.main()
