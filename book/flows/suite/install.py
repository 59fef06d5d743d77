"""`scons install` and `scons uninstall`: programs, old names and documentation, into a Madagascar or another prefix.

Existing files of others are not changed. PREFIX/share/sifaka/installed.json lists the installed files,
and only these are removed again.
"""
import glob
import hashlib
import json
import os
import shutil
import sys

from . import names, sfdoc

LISTING = os.path.join("share", "sifaka", "installed.json")
FLOWS = os.path.join("share", "sifaka", "flows")
# This folder contains only rsfdata and sifaka, so that it hides no other module on PYTHONPATH.
PYTHON = os.path.join("share", "sifaka", "python")
# The script finds its files relative to itself, so that an installation can be moved.
RUNNER = """#!/bin/sh
# scons for flows: finds rsf.proj of Sifaka where no Madagascar can be imported.
here=$(dirname -- "$(readlink -f -- "$0")")
start=$here/../share/sifaka/flows/start
book=$here/../share/sifaka/book/user/01-first-shot
if [ -d "$book" ]; then copy="cp -r '$(readlink -f -- "$book")' ."; else copy="cp -r book/user/01-first-shot .      # of Sifaka's sources"; fi
case ${1-} in -h | --help) cat <<HELP
sifaka-scons runs the flow of a folder: the commands of its file SConstruct, as far as their results are missing or out of
date. It is SCons, which finds the package rsf.proj of Sifaka where no Madagascar can be imported.

The chapters of the book are flows, each in a folder of its own:
  $copy
  cd 01-first-shot && sifaka-scons
A flow of your own is a file SConstruct with lines such as these:
  from rsf.proj import *
  Flow('vp', None, 'spike n1=100 n2=200 mag=2')      # sfspike > vp.rsf
  Flow('slow', 'vp', 'math output="1/input"')        # sfmath < vp.rsf > slow.rsf
  Result('slow', 'grey title=Slowness allpos=y')     # Fig/slow.png
  End()

  sifaka-scons                   makes all files, and the pictures in the folder Fig
  sifaka-scons slow.rsf          makes one file, and the files that it needs
  sifaka-scons view, results     shows the pictures, lists them
  sifaka-scons -n, -c            prints what would run, removes what was made
  sifaka-scons -j 4              runs up to four commands at a time
  sifaka-scons TIMER=y           prints the seconds of each command
  sifaka-scons CHECKPAR=y        makes an unknown parameter of a program an error
  sifaka-scons full=y            runs the large versions of chapters that have them
  DATAPATH=FOLDER/ sifaka-scons  writes the data of RSF files to that folder

The help of SCons:

HELP
  asked=yes;;
*) asked=no;;
esac
found=no
for file in SConstruct Sconstruct sconstruct SConstruct.py Sconstruct.py sconstruct.py; do [ -f "$file" ] && found=yes; done
if [ $# -eq 0 ] && [ -z "${SCONSFLAGS-}" ] && [ $found = no ]; then
  echo "sifaka-scons: this folder has no SConstruct, the file with a flow: take a chapter ($copy), or write one (sifaka-scons --help)." >&2
  exit 2
fi
scons=$here/scons
if [ ! -x "$scons" ]; then scons=$(command -v scons); fi
# It is not an error of SCons if a reader such as head closes the pipe.
if [ -n "$scons" ] && [ $asked = yes ]; then said=$("$scons" --site-dir="$start" "$@"); code=$?; printf '%s\\n' "$said"; exit $code; fi
if [ -n "$scons" ]; then exec "$scons" --site-dir="$start" "$@"; fi
echo "sifaka-scons: no scons was found; install it (pip install scons, or your package manager) and run this again." >&2
exit 1
"""


class Refused(Exception):
    """The reason why nothing was done, as a message."""


def place(arguments, environment):
    """The prefix, which is printed: prefix= of the command line, otherwise RSFROOT (there or in the environment), otherwise ~/.local."""
    if arguments.get("prefix"):
        prefix, why = arguments["prefix"], "as prefix= says"
    elif root := arguments.get("RSFROOT") or environment.get("RSFROOT"):
        prefix, why = root, "the Madagascar that RSFROOT names"
    else:
        prefix, why = os.path.join("~", ".local"), "because neither prefix= nor RSFROOT is set"
    prefix = os.path.abspath(os.path.expanduser(prefix))
    print(f"sifaka: {prefix}, {why}", flush=True)
    return prefix


def madagascar(prefix, environment):
    """The list of modules, rsf/prog.py, of the Madagascar in `prefix`; None if there is none."""
    patterns = [("lib*", "python*", "*-packages"), ("lib*", "python*"), ("lib*",), ("python",)]
    modules = [path for parts in patterns for path in glob.glob(os.path.join(glob.escape(prefix), *parts, "rsf", "prog.py"))]
    for folder in environment.get("PYTHONPATH", "").split(os.pathsep):
        path = os.path.join(folder, "rsf", "prog.py")
        if folder and os.path.exists(path):
            modules.append(os.path.abspath(path))
    for path in modules:
        with open(path, encoding="utf-8") as text:
            listing = text.read()
        inside = os.path.realpath(path).startswith(os.path.realpath(prefix) + os.sep)
        if "import rsf.doc" in listing and (inside or f'"{prefix}"' in listing):
            return path
    return None


class Installation:
    """A prefix and the list of the installed files in it: files with their checksums, links, folders, and a list that was changed."""

    def __init__(self, prefix):
        self.prefix, self.path = prefix, os.path.join(prefix, LISTING)
        self.ours, self.left = {"files": {}, "folders": [], "registered": None}, []
        try:
            with open(self.path, encoding="utf-8") as text:
                self.ours.update(json.load(text))
        except FileNotFoundError:
            pass
        except ValueError as fault:
            raise Refused(f"{self.path} cannot be read ({fault}); remove it, and the files that it should list, yourself") from fault

    def _mine(self, name):
        """Whether the name is free, or belongs to a file that we installed and that has not changed since."""
        path = os.path.join(self.prefix, name)
        return not os.path.lexists(path) or self.ours["files"].get(name) == mark(path)

    def _make(self, name, write):
        """Writes a file to the prefix by `write(draft)`, in one step; returns False if a file of others has its name."""
        path = os.path.join(self.prefix, name)
        if not self._mine(name):
            self.left.append(path)
            return False
        self._folder(os.path.dirname(path))
        draft = path + ".sifaka"
        if os.path.lexists(draft):
            os.remove(draft)
        write(draft)
        os.replace(draft, path)
        self.ours["files"][name] = mark(path)
        return True

    def _folder(self, path):
        """Makes a folder and records the folders that did not exist."""
        if os.path.isdir(path):
            return
        self._folder(os.path.dirname(path))
        os.mkdir(path)
        self.ours["folders"].append(os.path.relpath(path, self.prefix))

    def copy(self, source, name):
        return self._make(name, lambda draft: shutil.copy2(source, draft))

    def link(self, target, name):
        return self._make(name, lambda draft: os.symlink(target, draft))

    def text(self, text, name, mode=0o644):
        def write(draft):
            with open(draft, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(draft, mode)

        return self._make(name, write)

    def save(self):
        """Writes the list, at the end and after every step that may fail."""
        self._folder(os.path.dirname(self.path))
        with open(self.path + ".new", "w", encoding="utf-8") as text:
            json.dump(self.ours, text, indent=1, sort_keys=True)
        os.replace(self.path + ".new", self.path)

    def drop(self, name):
        """Removes a file that we installed, unless it was changed."""
        path = os.path.join(self.prefix, name)
        if os.path.lexists(path):
            if self._mine(name):
                os.remove(path)
            else:
                self.left.append(path)
        del self.ours["files"][name]


def mark(path):
    """The target of a link, or the checksum of a file."""
    if os.path.islink(path):
        return "-> " + os.readlink(path)
    with open(path, "rb") as content:
        return hashlib.sha256(content.read()).hexdigest()


def install(prefix, binaries, flows, environment):
    """Installs `binaries` (paths) into prefix/bin, and the files that flows need; `flows` is the folder book/flows."""
    listing = madagascar(prefix, environment)
    if listing is None and os.path.exists(os.path.join(prefix, "bin", "sfdoc")):
        raise Refused(
            f"{prefix}: a Madagascar is there (bin/sfdoc), but its list of programs, rsf/prog.py, was found neither there nor "
            "on PYTHONPATH; source its etc/env.sh and run this again, or choose another prefix="
        )
    try:
        there = Installation(prefix)
        stale = set(there.ours["files"])
        programs = _programs(there, binaries, listing is None)
        if listing:
            module = os.path.relpath(os.path.join(os.path.dirname(listing), sfdoc.MODULE + ".py"), prefix)
            if there.text(sfdoc.module(programs), module):
                there.ours["registered"] = listing
                there.save()
                sfdoc.register(listing)
                stale.discard(module)
        else:
            _package(there, flows)
        for name in python_files(flows):
            there.copy(os.path.join(flows, "python", name), os.path.join(PYTHON, name))
        _report(there, listing, programs)
        for name in stale - _kept(there, programs, listing, flows):
            there.drop(name)
        there.save()
    except (OSError, Refused) as fault:
        raise Refused(f"{prefix}: {fault}") from fault
    return there


def _programs(there, binaries, alone):
    """Installs binaries and names; returns the (name, binary) pairs that are installed. `alone`: there is no Madagascar."""
    placed = {}
    for binary in binaries:
        name = os.path.basename(binary)
        # With Madagascar, flows use its own everyday programs.
        if (name != "sfbasics" or alone) and there.copy(binary, os.path.join("bin", name)):
            placed[name] = binary
    links = dict(names.OLD)
    if alone:
        links.update(names.OMP)
        basics = next((binary for binary in binaries if os.path.basename(binary) == "sfbasics"), None)
        links.update({name: "sfbasics" for name in names.everyday(basics) if name not in placed} if basics else {})
    pairs = list(placed.items())
    for old, new in links.items():
        if new in placed and there.link(new, os.path.join("bin", old)):
            pairs.append((old, placed[new]))
    return pairs


def python_files(flows):
    """The modules rsfdata and sifaka, relative to their folder."""
    top = os.path.join(flows, "python")
    names = [os.path.relpath(os.path.join(folder, name), top) for folder, _, files in os.walk(top) for name in files]
    return sorted(name for name in names if name.endswith((".py", "py.typed")))


def package_files(flows):
    """The package of flows and the modules that chapters import, relative to their folder."""
    names = []
    for part in ("rsf", "start", "pages"):
        for folder, _, files in os.walk(os.path.join(flows, part)):
            names += [os.path.relpath(os.path.join(folder, name), flows) for name in files if name.endswith(".py")]
    return sorted(names)


def _package(there, flows):
    for name in package_files(flows):
        there.copy(os.path.join(flows, name), os.path.join(FLOWS, name))
    there.text(RUNNER, os.path.join("bin", "sifaka-scons"), 0o755)


def _kept(there, programs, listing, flows):
    """The names that belong to this installation; other names are from an older one."""
    kept = {os.path.join("bin", name) for name, _ in programs} | {os.path.join(PYTHON, name) for name in python_files(flows)}
    if listing:
        return kept | {name for name in there.ours["files"] if name.endswith(sfdoc.MODULE + ".py")}
    return kept | {os.path.join(FLOWS, name) for name in package_files(flows)} | {os.path.join("bin", "sifaka-scons")}


def _report(there, listing, programs):
    print(f"sifaka: {len(programs)} programs and names in {os.path.join(there.prefix, 'bin')}")
    if listing:
        print(f"sifaka: sfdoc and Flow know them: {sfdoc.LINE} in {listing}")
        print("sifaka: install again after Madagascar itself, which rewrites that file")
    else:
        print(f"sifaka: there is no Madagascar here, so the everyday programs and rsf.proj were installed, too; run flows with {os.path.join(there.prefix, 'bin', 'sifaka-scons')}")
    print(f"sifaka: Python reads and writes RSF files with `import rsfdata` and runs programs with `import sifaka`, if PYTHONPATH has {os.path.join(there.prefix, PYTHON)}")
    for path in there.left:
        print(f"sifaka: not replaced, because it existed before and is not ours: {path}")
    sys.stdout.flush()


def uninstall(prefix):
    """Removes the files that install wrote into `prefix`, and no other files."""
    there = Installation(prefix)
    if not there.ours["files"]:
        raise Refused(f"{prefix}: nothing of Sifaka is installed there ({there.path} is missing)")
    if there.ours["registered"]:
        sfdoc.unregister(there.ours["registered"])
    count = len(there.ours["files"])
    for name in list(there.ours["files"]):
        there.drop(name)
    os.remove(there.path)
    # The deepest folders come first; a folder that contains other files remains.
    for folder in sorted((os.path.normpath(os.path.join(prefix, f)) for f in there.ours["folders"]), key=len, reverse=True):
        _forget(folder)
    print(f"sifaka: {count - len(there.left)} files removed from {prefix}")
    for path in there.left:
        print(f"sifaka: not removed, because it was changed since: {path}")
    sys.stdout.flush()


def _forget(folder):
    shutil.rmtree(os.path.join(folder, "__pycache__"), ignore_errors=True)
    try:
        os.rmdir(folder)
    except OSError:
        pass
