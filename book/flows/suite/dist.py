"""`scons dist`: one archive and one Python wheel, for Linux machines without Rust.

Both contain the same relocatable tree: bin/ with the programs and all their names, share/sifaka with the flows'
package, the modules rsfdata and sifaka, and the book. Other names of programs are scripts of one line in a wheel, because wheels
cannot contain links. The wheel is made by Python's standard library, because it is a zip with checksums, and a build backend would
require a Python project. Programs are linked by cargo-zigbuild for an old C library.
"""
import base64
import glob
import hashlib
import io
import json
import os
import platform
import re
import tarfile
import time
import zipfile

from . import chapters, handouts, install, names

# Binaries are linked for this version of the C library, which RHEL 8, Debian 10, Ubuntu 20.04 and newer have.
OLDEST = (2, 28)
# The README of archive and wheel, which a package index shows as the description of the wheel.
README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "handed-out.md")
PYTHON = ">=3.8"
# This script runs sfbasics under one of its names, or a program under an old one; links to the script are followed.
SCRIPT = """#!/bin/sh
here=${{0%/*}}
[ -x "$here/{program}" ] || here=$(dirname -- "$(readlink -f -- "$0")")
exec "$here/{program}"{words} "$@"
"""
METADATA = """Metadata-Version: 2.1
Name: sifaka
Version: {version}
Summary: Elastic seismic wave modelling in anisotropic media, with RSF files
License: MIT OR Apache-2.0
Requires-Python: {python}
Requires-Dist: SCons>=4.0
Provides-Extra: arrays
Requires-Dist: numpy; extra == "arrays"
Requires-Dist: xarray; extra == "arrays"
Requires-Dist: scipy; extra == "arrays"
Requires-Dist: matplotlib; extra == "arrays"
Description-Content-Type: text/markdown

{description}"""


def version(top):
    """The version of the workspace."""
    with open(os.path.join(top, "Cargo.toml"), encoding="utf-8") as text:
        return re.search(r'^version = "([^"]+)"', text.read(), re.MULTILINE).group(1)


def described(top, wheel_name, glibc):
    """The README of archive and wheel. `top` is the checkout, and `glibc` the oldest supported version of the C library, as (2, 28)."""
    users = [chapter for chapter in chapters.find(os.path.join(top, "book")) if chapter.name.startswith("user")]
    words = {
        "version": version(top),
        "wheel": wheel_name,
        "glibc": "{}.{}".format(*glibc),
        "chapters": "\n".join(f"- `{chapter.name}`: {chapter.title()}" for chapter in users),
    }
    with open(README, encoding="utf-8") as text:
        return re.sub(r"\{(\w+)\}", lambda match: words[match.group(1)], text.read())


def needed(programs):
    """The newest version of the C library, as (2, 28), that a program requires by a versioned symbol."""
    newest = (2, 0)
    for program in programs:
        with open(program, "rb") as binary:
            versions = re.findall(rb"\0GLIBC_(\d+)\.(\d+)(?:\.\d+)?(?=\0)", binary.read())
        newest = max([newest] + [(int(major), int(minor)) for major, minor in versions])
    return newest


def linker(folder, zigbuild, zig):
    """A linker for programs that start on OLDEST: a script in `folder` that calls zig through cargo-zigbuild."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "cc")
    target = "{}-linux-gnu.{}.{}".format(platform.machine(), *OLDEST)
    with open(path, "w", encoding="utf-8") as script:
        script.write(f"#!/bin/sh\nCARGO_ZIGBUILD_ZIG_PATH='{zig}' exec '{zigbuild}' zig cc -- -target {target} \"$@\"\n")
    os.chmod(path, 0o755)
    return path


def book_files(top):
    """The chapters' own files, and the pages next to them, relative to `top`."""
    book = os.path.join(top, "book")
    names = [os.path.join("book", "README.md")]
    for chapter in chapters.find(book):
        names += [os.path.relpath(os.path.join(chapter.source, name), top) for name in chapter.files()]
    # The files of a folder that contains chapters include the files of these chapters.
    return sorted(set(names))


class Tree:
    """The content of archive and wheel: files (name: (bytes, executable)) and other names of programs (name: program)."""

    def __init__(self, top, programs, readme):
        self.files, self.links = {os.path.join("share", "sifaka", "README.md"): (readme.encode(), False)}, {}
        for program in programs:
            self._read(program, os.path.join("bin", os.path.basename(program)), True)
        flows = os.path.join(top, "book", "flows")
        for name in install.package_files(flows):
            self._read(os.path.join(flows, name), os.path.join(install.FLOWS, name))
        self.modules = install.python_files(flows)
        for name in self.modules:
            self._read(os.path.join(flows, "python", name), os.path.join(install.PYTHON, name))
        for name in book_files(top):
            self._read(os.path.join(top, name), os.path.join("share", "sifaka", name))
            if name.endswith("table.py"):
                self._read(handouts.PAGE_TABLE, os.path.join("share", "sifaka", os.path.dirname(name), os.path.basename(handouts.PAGE_TABLE)))
        for chapter in chapters.find(os.path.join(top, "book")):
            if chapter.name.startswith("user") and chapter.text():
                name = os.path.join("share", "sifaka", "book", chapter.name, os.path.basename(chapter.name) + ".ipynb")
                self.files[name] = (json.dumps(handouts.notebook(chapter), indent=1, ensure_ascii=False).encode(), False)
        for name in ("CHANGELOG.md", "CITATION.cff", "LICENSE-MIT", "LICENSE-APACHE"):
            self._read(os.path.join(top, name), os.path.join("share", "sifaka", name))
        self.files[os.path.join("bin", "sifaka-scons")] = (install.RUNNER.encode(), True)
        built = {os.path.basename(program): program for program in programs}
        for old, new in {**names.OLD, **names.OMP}.items():
            if new in built:
                self.links[old] = new
        for name in names.everyday(built["sfbasics"]) if "sfbasics" in built else []:
            if name not in built:
                self.links[name] = "sfbasics"

    def _read(self, path, name, executable=False):
        with open(path, "rb") as content:
            self.files[name] = (content.read(), executable)


def script(name, program):
    """The script that runs `program` under `name`."""
    words = " " + name[2:] if program == "sfbasics" else ""
    # Under Madagascar's names of CPU programs the programs must run on the CPU. They do not see that name here, so
    # device=cpu is added, unless they are called without parameters and print their documentation.
    if name in names.OMP:
        words = " ${1:+device=cpu}"
    return SCRIPT.format(program=program, words=words).encode()


def archive(tree, path):
    """Writes the tar archive, with all files in one folder of the same name."""
    top = os.path.basename(path)[: -len(".tar.gz")]
    when = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    with tarfile.open(path + ".new", "w:gz", compresslevel=6) as tar:

        def entry(name):
            info = tarfile.TarInfo(f"{top}/{name}")
            info.mtime = when
            return info

        for name, (content, executable) in sorted(tree.files.items()):
            info = entry(name)
            info.size, info.mode = len(content), 0o755 if executable else 0o644
            tar.addfile(info, io.BytesIO(content))
        for name, program in sorted(tree.links.items()):
            info = entry(f"bin/{name}")
            info.type, info.linkname = tarfile.SYMTYPE, program
            tar.addfile(info)
    os.replace(path + ".new", path)


def wheel(tree, path, description):
    """Writes the wheel (PEP 427); its name contains version and platform."""
    name, number, *tags = os.path.basename(path)[: -len(".whl")].split("-")
    data, info = f"{name}-{number}.data", f"{name}-{number}.dist-info"
    members = {}
    for file, (content, executable) in tree.files.items():
        folder, rest = ("scripts", file[len("bin/"):]) if file.startswith("bin/") else ("data", file)
        members[f"{data}/{folder}/{rest}"] = (content, executable)
    for link, program in tree.links.items():
        members[f"{data}/scripts/{link}"] = (script(link, program), True)
    # Where Python imports modules from.
    for module in tree.modules:
        members[module] = tree.files[os.path.join(install.PYTHON, module)]
    metadata = METADATA.format(version=number, python=PYTHON, description=description)
    members[f"{info}/METADATA"] = (metadata.encode(), False)
    about = f"Wheel-Version: 1.0\nGenerator: sifaka\nRoot-Is-Purelib: false\nTag: {'-'.join(tags)}\n"
    members[f"{info}/WHEEL"] = (about.encode(), False)
    for text in ("LICENSE-MIT", "LICENSE-APACHE"):
        members[f"{info}/licenses/{text}"] = tree.files[os.path.join("share", "sifaka", text)]
    record = f"{info}/RECORD"
    lines = [f"{member},sha256={checksum(content)},{len(content)}\n" for member, (content, _) in sorted(members.items())]
    members[record] = ("".join(lines + [f"{record},,\n"]).encode(), False)
    when = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))[:6]
    with zipfile.ZipFile(path + ".new", "w", zipfile.ZIP_DEFLATED) as file:
        for member, (content, executable) in members.items():
            entry = zipfile.ZipInfo(member, max(when, (1980, 1, 1, 0, 0, 0)))
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(entry, content)
    os.replace(path + ".new", path)


def checksum(content):
    """The checksum in the form of RECORD."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def make(top, programs, folder):
    """Writes archive and wheel into `folder`; returns their paths. `programs` are paths of binaries."""
    os.makedirs(folder, exist_ok=True)
    number, machine, newest = version(top), platform.machine(), needed(programs)
    tag = "manylinux_{}_{}_{}".format(*max(newest, (2, 17)), machine)
    packed = os.path.join(folder, f"sifaka-{number}-linux-{machine}.tar.gz")
    wheeled = os.path.join(folder, f"sifaka-{number}-py3-none-{tag}.whl")
    # Files of an earlier version or of another linker.
    for old in glob.glob(os.path.join(glob.escape(folder), "sifaka-*")):
        os.remove(old)
    readme = described(top, os.path.basename(wheeled), max(newest, (2, 17)))
    tree = Tree(top, programs, readme)
    archive(tree, packed)
    wheel(tree, wheeled, readme)
    for path in (packed, wheeled):
        print(f"sifaka: {os.path.getsize(path) / 1e6:.1f} MB  {path}")
    print("sifaka: for Linux on {} with glibc {}.{} or newer".format(machine, *newest), flush=True)
    return packed, wheeled
