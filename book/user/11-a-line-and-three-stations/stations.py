"""Prints the first arrivals and largest velocities at the stations, from an RSF file: stations.py FILE."""
import sys

try:
    import numpy
    import rsfdata
except ImportError as reason:
    print(f"nothing was read, because {reason}")
    sys.exit(0)

shot = rsfdata.read(sys.argv[1])
time = shot.coordinates(3)                          # axes are counted as in the file: receiver, component, time
for number in range(shot.axes[0].n):
    trace = shot.array[:, :, number]                # the last axis of the array is axis 1 of the file
    size = numpy.sqrt((trace**2).sum(axis=1))       # length of the vector (z, x, y)
    first = time[numpy.argmax(size > 0.02 * size.max())]
    print(f"station {number + 1}: begins at {first:.2f} s, largest {1000 * size.max():.3f} mm/s at {time[size.argmax()]:.2f} s")
