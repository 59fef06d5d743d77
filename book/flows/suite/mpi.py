"""Finding or fetching an MPI for programs of several processes."""
import glob
import os
import shutil
import subprocess
import sys


def is_inside(program):
    """Whether `program` was built with MPI; None if it does not exist."""
    try:
        with open(program, "rb") as binary:
            return b"MPI_Init" in binary.read()
    except OSError:
        return None


def choice(option, before, at_hand):
    """Whether to build with MPI, and the reason as text. mpi= decides (`option`: y, n or auto), otherwise the earlier
    build (`before`; None if there is none), otherwise whether there is an mpicc (`at_hand`)."""
    if option[:1] in ("y", "Y", "1", "n", "N", "0"):
        return option[:1] in "yY1", f"as mpi={option} says"
    if before is not None:
        return before, "as they were built before (mpi=y and mpi=n choose)"
    if at_hand:
        return True, "because mpicc is on PATH (mpi=n builds without)"
    return False, "because no mpicc is on PATH (mpi=y fetches an MPI)"


def settings(environment, where, home, packages):
    """The environment variables that cargo needs to build with MPI; None, with a message, if that is not possible.

    environment: the current names and values; where: a function that finds a command; home: the folder for fetched packages; packages: an MPI
    and the library that reads its headers, by their names for pip.
    """
    mpi, clang = packages
    mpicc = environment.get("MPICC") or where("mpicc")
    packages_to_fetch = [] if mpicc or fetched(home, "bin/mpicc") else [mpi]
    if not environment.get("LIBCLANG_PATH") and not fetched(home, "libclang.so*"):
        packages_to_fetch.append(clang)
    if packages_to_fetch and not fetch(packages_to_fetch, home, environment) and mpi in packages_to_fetch:
        return None
    mpicc = mpicc or fetched(home, "bin/mpicc")
    variables = {"MPICC": mpicc, "BINDGEN_EXTRA_CLANG_ARGS": headers(environment)}
    # Without this the build searches for the libclang of the system.
    if library := environment.get("LIBCLANG_PATH") or os.path.dirname(fetched(home, "libclang.so*")):
        variables["LIBCLANG_PATH"] = library
    return variables


def fetched(home, name):
    """The first file of that name below `home`; empty if there is none."""
    paths = sorted(glob.glob(os.path.join(glob.escape(home), "**", name), recursive=True))
    return paths[0] if paths else ""


def headers(environment):
    """Options by which libclang finds the headers of the C compiler, which a wheel of libclang lacks."""
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
    """Installs packages of PyPI below `home`; returns False, with a message, if that fails."""
    print(f"installing {' and '.join(packages)} into {os.path.relpath(home)} (once)", file=sys.stderr, flush=True)
    draft = home + ".new"
    python3 = shutil.which("python3", path=environment.get("PATH")) or sys.executable
    # The python that runs SCons may have no pip (in a venv of Debian), while the one outside has.
    for python in dict.fromkeys([sys.executable, python3]):
        shutil.rmtree(draft, ignore_errors=True)
        words = [python, "-m", "pip", "install", "--quiet", "--retries", "1", "--no-deps", "--no-compile", "--ignore-installed"]
        calm = dict(environment, PIP_ROOT_USER_ACTION="ignore", PIP_DISABLE_PIP_VERSION_CHECK="1")
        # --prefix is used, because --target would omit the libraries.
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
