"""Compares the element-steps per second of SPECFEM3D Cartesian and of the benchmark `elements` on one machine.

python peer_specfem.py SPECFEM3D [law=iso] [n=20,20,16] [steps=80] [repeat=3]: SPECFEM3D is the folder of an installation (4.1.1,
built for one process). The script runs its `bin/xmeshfem3D`, `bin/xgenerate_databases` and `bin/xspecfem3D` with copies of its
`DATA/Par_file` and `DATA/meshfem3D_files/Mesh_Par_file`, changed to a box of n elements of 8 nodes and 100 m, degree 4, with five
absorbing sides, one source and one station. law= is iso (isotropic), loss (attenuation by three mechanisms) or fluid. Both codes are
bound to one processor and run in turns, `repeat` times; each turn prints a row with both speeds, and the last row the ratio of the
medians. The meshes differ in one respect: the elements of `elements` are slightly deformed. The top of the SPECFEM3D mesh dips, so
that SPECFEM3D uses its general kernel as well and not the one for cubes.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIZE = 100.0
# The medium of the benchmark: density, vp, vs, and Q of the bulk and the shear modulus.
ROCK = {"iso": "2300 2800 1500 9999 9999", "loss": "2300 2800 1500 80 40", "fluid": "2300 2800 0 9999 9999"}


def settings(text, values):
    """Returns the text of a parameter file of SPECFEM3D with the given values; each key must occur exactly once."""
    for key, value in values.items():
        text, count = re.subn(rf"(?m)^(\s*{key}\s*=\s*)[^#\n]*", rf"\g<1>{value}  ", text)
        if count != 1:
            sys.exit(f"peer_specfem.py: the file has {count} lines of {key}; SPECFEM3D 4.1.1 has one")
    return text


def prepare(home, folder, words):
    """Writes the input files of the case into a folder and runs the mesher and the database generator."""
    n, law = words["n"], words["law"]
    mesh = os.path.join(folder, "DATA", "meshfem3D_files")
    for name in (mesh, os.path.join(folder, "OUTPUT_FILES", "DATABASES_MPI")):
        os.makedirs(name)

    def write(name, text):
        with open(os.path.join(folder, "DATA", name), "w", encoding="ascii") as file:
            file.write(text)

    def own(name):
        with open(os.path.join(home, "DATA", name), encoding="utf-8") as file:
            return file.read()

    step = 0.3 * SIZE / 5 / float(ROCK[law].split()[1])
    write("Par_file", settings(own("Par_file"), {
        "NPROC": 1, "NSTEP": words["steps"], "DT": f"{step:.6g}", "SIMULATION_TYPE": 1, "SUPPRESS_UTM_PROJECTION": ".true.",
        "MODEL": "default", "ATTENUATION": ".true." if law == "loss" else ".false.", "ANISOTROPY": ".false.",
        "APPROXIMATE_OCEAN_LOAD": ".false.", "TOPOGRAPHY": ".false.", "STACEY_ABSORBING_CONDITIONS": ".true.",
        "STACEY_INSTEAD_OF_FREE_SURFACE": ".false.", "PML_CONDITIONS": ".false.", "MOVIE_SURFACE": ".false.",
        "MOVIE_VOLUME": ".false.", "SAVE_MESH_FILES": ".false.", "USE_FORCE_POINT_SOURCE": ".false.", "GPU_MODE": ".false.",
        "NTSTEP_BETWEEN_OUTPUT_INFO": words["steps"], "LOCAL_PATH": "./OUTPUT_FILES/DATABASES_MPI",
    }))
    ends = [SIZE * count for count in n]
    box = settings(own("meshfem3D_files/Mesh_Par_file").split("NMATERIALS")[0], {
        "LATITUDE_MIN": 0.0, "LATITUDE_MAX": ends[1], "LONGITUDE_MIN": 0.0, "LONGITUDE_MAX": ends[0],
        "DEPTH_BLOCK_KM": ends[2] / 1000, "SUPPRESS_UTM_PROJECTION": ".true.", "INTERFACES_FILE": "interfaces.dat",
        "NEX_XI": n[0], "NEX_ETA": n[1], "NPROC_XI": 1, "NPROC_ETA": 1, "USE_REGULAR_MESH": ".true.", "NDOUBLINGS": 0,
    })
    box = re.sub(r"(?m)^\s*(NZ_DOUBLING_\d|NREGIONS)\s*=.*\n?", "", box)
    domain = 1 if law == "fluid" else 2
    box += f"NMATERIALS = 1\n1 {ROCK[law]} 0 {domain}\nNREGIONS = 1\n1 {n[0]} 1 {n[1]} 1 {n[2]} 1\n"
    write("meshfem3D_files/Mesh_Par_file", box)
    # The top is a plane that dips by 1 % (see above).
    write("meshfem3D_files/interfaces.dat", f"1\n.true. 2 2 0.0 0.0 {ends[0]} {ends[1]}\ntop.dat\n{n[2]}\n")
    write("meshfem3D_files/top.dat", f"0.0\n{0.01 * ends[0]}\n0.0\n{0.01 * ends[0]}\n")
    middle = [end / 2 for end in ends]
    moments = "".join(f"{key}:  {value}\n" for key, value in zip(
        ("Mrr", "Mtt", "Mpp", "Mrt", "Mrp", "Mtp"), ("1e23", "1e23", "1e23", "0", "0", "0")))
    write("CMTSOLUTION", "PDE 1999 01 01 00 00 00.00 0 0 0 0 0 peer\nevent name: peer\ntime shift: 0.0\nhalf duration: 0.05\n"
          f"latorUTM: {middle[1]}\nlongorUTM: {middle[0]}\ndepth: {middle[2] / 1000}\n{moments}")
    write("STATIONS", f"A PEER {middle[1]} {middle[0]} 0.0 0.0\n")
    for program in ("xmeshfem3D", "xgenerate_databases"):
        run(home, folder, program)


def run(home, folder, program):
    done = subprocess.run([os.path.join(home, "bin", program)], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"peer_specfem.py: {program} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}")


def theirs(home, folder, words):
    """Runs SPECFEM3D once and returns millions of element-steps per second, from the time that it reports for its time loop."""
    run(home, folder, "xspecfem3D")
    with open(os.path.join(folder, "OUTPUT_FILES", "output_solver.txt"), encoding="utf-8", errors="replace") as file:
        times = re.findall(r"Total elapsed time in seconds =\s*(\S+)", file.read())
    if not times:
        sys.exit("peer_specfem.py: output_solver.txt of SPECFEM3D has no line 'Total elapsed time in seconds'")
    n = words["n"]
    return n[0] * n[1] * n[2] * words["steps"] / float(times[-1]) / 1e6


def ours(words):
    """Runs the benchmark `elements` once and returns millions of element-steps per second."""
    text = ",".join(str(count) for count in words["n"])
    parameters = [f"law={words['law']}", f"n={text}", f"steps={words['steps']}", "threads=1", "repeat=1"]
    line = ["cargo", "bench", "-q", "-p", "kernels", "--bench", "elements", "--", *parameters]
    done = subprocess.run(line, cwd=TOP, capture_output=True, text=True)
    rates = re.findall(r"([0-9.]+) M element-steps/s", done.stdout)
    if not rates:
        sys.exit(f"peer_specfem.py: the benchmark says no rate:\n{(done.stdout + done.stderr)[-2000:]}")
    return float(rates[-1])


def main(arguments):
    if not arguments or not os.path.exists(os.path.join(arguments[0], "bin", "xspecfem3D")):
        sys.exit(__doc__)
    home, words = os.path.abspath(arguments[0]), {"law": "iso", "n": "20,20,16", "steps": "80", "repeat": "3"}
    for word in arguments[1:]:
        key, _, value = word.partition("=")
        if key not in words or not value:
            sys.exit(f"peer_specfem.py: {word} is not known; give {', '.join(f'{key}=' for key in words)}")
        words[key] = value
    if words["law"] not in ROCK:
        sys.exit(f"peer_specfem.py: law={words['law']} must be {', '.join(ROCK)}")
    words.update(n=[int(count) for count in words["n"].split(",")], steps=int(words["steps"]), repeat=int(words["repeat"]))
    # Binds this process, and those that it starts, to one processor.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    folder = tempfile.mkdtemp()
    try:
        prepare(home, folder, words)
        ours(words)
        pairs = []
        for _ in range(words["repeat"]):
            pairs.append((theirs(home, folder, words), ours(words)))
            print(f"law={words['law']}: SPECFEM3D {pairs[-1][0]:.4f}, here {pairs[-1][1]:.4f} million element-steps a second", flush=True)
        there, here = (statistics.median(column) for column in zip(*pairs))
        print(f"law={words['law']}: medians {there:.4f} and {here:.4f}, here {here / there:.2f} times SPECFEM3D")
    finally:
        shutil.rmtree(folder)


main(sys.argv[1:])
