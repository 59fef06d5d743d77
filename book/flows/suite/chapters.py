"""The chapters of the book: finding them, mirroring them into the build folder, and running them."""
import hashlib
import os
import subprocess
import sys

PARTS = ("user", "paper", "developer")
# The files that a chapter creates when it is run in its own folder.
LEFT_BEHIND = (".rsf", "@", ".out", ".png", ".svg", ".gif", ".sconsign.dblite", ".pyc")


class Chapter:
    """A folder of the book with a page (README.md, whose first line is the title), an SConstruct, or both."""

    def __init__(self, book, name):
        self.name = name
        self.source = os.path.join(book, name)

    def runs(self):
        """Whether the chapter has an SConstruct."""
        return os.path.exists(os.path.join(self.source, "SConstruct"))

    def text(self):
        """The text of the page, empty if there is none."""
        try:
            with open(os.path.join(self.source, "README.md"), encoding="utf-8") as page:
                return page.read()
        except OSError:
            return ""

    def title(self):
        """The first line of the page without its heading mark; without such a line the folder's name."""
        lines = self.text().strip().splitlines()
        return lines[0].lstrip("# ").strip() if lines else self.name

    def files(self):
        """The chapter's own files, relative to its folder."""
        paths = []
        for folder, folders, names in os.walk(self.source):
            folders[:] = [name for name in folders if name != "Fig" and not name.startswith((".", "__"))]
            for name in names:
                if not name.endswith(LEFT_BEHIND):
                    paths.append(os.path.relpath(os.path.join(folder, name), self.source))
        return sorted(paths)


def find(book):
    """All chapters in reading order: by part, then by folder name, and the page of a folder before the folders in it."""
    names = []
    for folder, folders, files in os.walk(book):
        folders[:] = [name for name in folders if not name.startswith((".", "__"))]
        name = os.path.relpath(folder, book)
        if {"SConstruct", "README.md"} & set(files) and name.split(os.sep)[0] not in (".", "flows"):
            names.append(name)
    part = {name: number for number, name in enumerate(PARTS)}
    return [Chapter(book, name) for name in sorted(names, key=lambda n: (part.get(n.split(os.sep)[0], len(PARTS)), n))]


def mirror(chapter, folder):
    """Creates links to the chapter's files in `folder`, so that runs create no files among the sources."""
    os.makedirs(folder, exist_ok=True)
    names = chapter.files()
    for name in names:
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        target = os.path.relpath(os.path.join(chapter.source, name), os.path.dirname(path))
        if not os.path.islink(path) or os.readlink(path) != target:
            if os.path.lexists(path):
                os.remove(path)
            os.symlink(target, path)
    # Links to files that the chapter no longer has.
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if os.path.islink(path) and not os.path.exists(path):
            os.remove(path)


def fingerprint(chapter, programs, words):
    """A checksum that changes if the chapter, the package of flows, a program or the command line changes."""
    mark = hashlib.sha256(repr(words).encode())
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    files = [os.path.join(chapter.source, name) for name in chapter.files()]
    for folder, _, names in sorted(os.walk(os.path.join(package, "rsf"))):
        files += [os.path.join(folder, name) for name in sorted(names) if name.endswith(".py")]
    for path in files:
        with open(path, "rb") as content:
            mark.update(path.encode() + content.read())
    for path in programs:
        status = os.stat(path)
        mark.update(f"{path} {status.st_size} {status.st_mtime_ns}".encode())
    return mark.hexdigest()


def run(folder, words, environment):
    """Runs SCons in `folder` with the flows of this project; returns its exit status."""
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    sys.stdout.flush()
    command = [os.path.join(top, "sconsw"), "-Q", *words]
    return subprocess.run(command, cwd=folder, env=dict(environment, SIFAKA_RSF="own")).returncode


def check_table(chapter, folder):
    """Compares the chapter's page with the table that its table.py makes from the run in `folder`; returns the exit status, 0 without a table.py."""
    if "table.py" not in chapter.files():
        return 0
    return subprocess.run([sys.executable, "table.py", "check"], cwd=folder, stdout=subprocess.DEVNULL).returncode
