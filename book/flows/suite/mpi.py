"""Where an MPI is, or comes from, for programs of several processes."""
import glob
import os
import shutil
import subprocess
import sys


def is_inside(program):
    """Whether `program` was built with MPI; None where there is no such program."""
    try:
        with open(program, "rb") as binary:
            return b"MPI_Init" in binary.read()
    except OSError:
        return None


def choice(asked, before, at_hand):
    """Whether to build with MPI, and why, in words: as mpi= says (`asked`: y, n or auto), else as `before` (None: never
    built), else where an mpicc is `at_hand`."""
    if asked[:1] in ("y", "Y", "1", "n", "N", "0"):
        return asked[:1] in "yY1", f"as mpi={asked} says"
    if before is not None:
        return before, "as they were built before (mpi=y and mpi=n choose)"
    if at_hand:
        return True, "because mpicc is on PATH (mpi=n builds without)"
    return False, "because no mpicc is on PATH (mpi=y fetches an MPI)"


def settings(environment, where, home, packages):
    """What cargo needs in its environment to build with MPI; None, aloud, where there is no way.

    environment: names and values now; where: finds a command; home: folder for what has to be fetched; packages: an MPI
    and the library that reads its headers, as pip names them.
    """
    mpi, clang = packages
    mpicc = environment.get("MPICC") or where("mpicc")
    wanted = [] if mpicc or fetched(home, "bin/mpicc") else [mpi]
    if not environment.get("LIBCLANG_PATH") and not fetched(home, "libclang.so*"):
        wanted.append(clang)
    if wanted and not fetch(wanted, home, environment) and mpi in wanted:
        return None
    mpicc = mpicc or fetched(home, "bin/mpicc")
    found = {"MPICC": mpicc, "BINDGEN_EXTRA_CLANG_ARGS": headers(environment)}
    # Without one of ours the build looks for the system's.
    if library := environment.get("LIBCLANG_PATH") or os.path.dirname(fetched(home, "libclang.so*")):
        found["LIBCLANG_PATH"] = library
    return found


def fetched(home, name):
    """The first file of that name below `home`; empty for none."""
    found = sorted(glob.glob(os.path.join(glob.escape(home), "**", name), recursive=True))
    return found[0] if found else ""


def headers(environment):
    """Where the C compiler has its own headers, which libclang from a wheel lacks."""
    given = environment.get("BINDGEN_EXTRA_CLANG_ARGS")
    if given:
        return given
    words = [environment.get("CC", "cc"), "-print-file-name=include"]
    try:
        folder = subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"-I{folder}"


def fetch(packages, home, environment):
    """Put packages of PyPI below `home`; False, aloud, where that fails."""
    print(f"installing {' and '.join(packages)} into {os.path.relpath(home)} (once)", file=sys.stderr, flush=True)
    draft = home + ".new"
    python3 = shutil.which("python3", path=environment.get("PATH")) or sys.executable
    # The python that runs SCons may have no pip (Debian's venv); the one outside may.
    for python in dict.fromkeys([sys.executable, python3]):
        shutil.rmtree(draft, ignore_errors=True)
        words = [python, "-m", "pip", "install", "--quiet", "--retries", "1", "--no-deps", "--no-compile", "--ignore-installed"]
        calm = dict(environment, PIP_ROOT_USER_ACTION="ignore", PIP_DISABLE_PIP_VERSION_CHECK="1")
        # A prefix, for the libraries that a plain folder of packages would lose.
        done = subprocess.run([*words, "--prefix", draft, *packages], env=calm, capture_output=True, text=True)
        if done.returncode == 0:
            shutil.copytree(draft, home, symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(draft, ignore_errors=True)
            return True
    shutil.rmtree(draft, ignore_errors=True)
    reason = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
    print(
        f"sifaka: {' and '.join(packages)} could not be installed ({reason});\n"
        "sifaka: programs of several processes need an MPI (mpicc on PATH) and libclang (LIBCLANG_PATH)",
        file=sys.stderr,
        flush=True,
    )
    return False
