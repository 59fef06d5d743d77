"""Flow, Plot, Result, Fetch, Get and End, which `from rsf.proj import *` provides to an SConstruct.

    Flow('model', None, 'spike n1=200 n2=100 | smooth rect1=5')
    Flow('data wfl', 'wave model', 'ewefd2d-gpu ccc=${SOURCES[1]} wfl=${TARGETS[1]} snap=y')
    Result('data', 'grey title="Data"')
    End()

A name without a dot is an RSF file. If a first word is the name of a program of this project (with or without `sf`), that
program runs, and is a dependency: a flow runs again when the program has changed. The names, parameters and meanings are
those of Madagascar's package, which is used instead if it is installed.
"""
# SConstructs written for Madagascar also use these names.
import copy
import os
import re
import string
import sys
import types

import SCons
import SCons.Errors
import SCons.Node.Alias
from SCons.Script import *

import rsf.alone
import rsf.command
import rsf.path
import rsf.pictures
import rsf.prog
import rsf.retrieve
import rsf.run
import rsf.words

sfprefix = "sf"
plprefix = "vp"
sfsuffix = ".rsf"
vpsuffix = ".vpl"
resdir = "Fig"
dataserver = os.environ.get("RSF_DATASERVER", "https://www.ahay.org")

# The environment variables that flows see. PATH is the user's PATH, so that Python, compilers and MPI are found as in the shell.
PASSED = re.compile(
    r"^(PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|TERM|LANG|LC_.*|TZ|DISPLAY|XAUTHORITY|WAYLAND_DISPLAY|XDG_.*|LD_LIBRARY_PATH"
    r"|PYTHONPATH|OMP_.*|RAYON_.*|CUDA.*|NVIDIA_.*|NVRTC.*|SIFAKA_.*|RSF_.*|MPI.*|OMPI_.*|PMI.*|PMIX_.*|I_MPI_.*|SLURM_.*"
    r"|TMPDATAPATH|.*_proxy|.*_PROXY)$"
)


def ch2uni(text):
    """Returns text unchanged: flows of Madagascar convert non-ASCII text by this function, which is unnecessary for strings of
    Python 3. Converts a number to the character with that code."""
    return chr(text) if isinstance(text, int) else text.decode("utf-8") if isinstance(text, bytes) else text


def stop(message):
    """Ends SCons with an error message."""
    sys.stderr.write(f"rsf.proj: {message}\n")
    sys.exit(1)


def is_given(word):
    """Whether `WORD=y` is given on the command line of SCons."""
    return ARGUMENTS.get(word, "n")[:1] not in ("", "n", "N", "0")


def listed(names):
    """Converts `'a b'`, ['a', 'b'], a map or a node to a list."""
    if not names:
        return []
    if isinstance(names, str):
        return names.split()
    try:
        return list(names)
    except TypeError:
        return [names]


def suffixed(name, suffix):
    """Appends the suffix to a name that has none; nodes of SCons are returned unchanged."""
    if not isinstance(name, str):
        return name
    return name if "." in os.path.basename(name) else name + suffix


def _run(target, source, env):
    """The action of a flow. It only calls another function, because SCons runs all flows again if the code of their action changes."""
    return rsf.run.run(target, source, env)


def _changed(dependency, target, before, repository=None):
    """Returns whether a file has changed since `target` was made. For headers the time of the file counts as well, because headers that are written twice within a second have the same text."""
    if dependency.changed_content(target, before, repository):
        return True
    if not str(dependency).endswith(".rsf") or not getattr(before, "timestamp", None):
        return False
    if dependency.get_timestamp() - before.timestamp not in (0, 1):
        return False
    try:
        return os.stat(dependency.abspath).st_mtime_ns > os.stat(target.abspath).st_mtime_ns
    except OSError:
        return False


def _line():
    """The current file and line of the SConstruct, or of another caller of this package."""
    frame, own = sys._getframe(), os.path.dirname(os.path.abspath(__file__))
    while frame.f_back and os.path.abspath(frame.f_code.co_filename).startswith(own + os.sep):
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)} line {frame.f_lineno}"


class Project(Environment):
    """A SCons environment with flows. The import creates one; SConstructs may create more."""

    def __init__(self, **options):
        options.setdefault("tools", [])
        Environment.__init__(self, **options)
        self.Decider(_changed)
        self.cwd = os.getcwd()
        self.path = rsf.path.getpath(self.cwd)
        self.bindir = rsf.prog.BIN
        self.resdir = resdir
        self["RSFROOT"] = rsf.prog.RSFROOT
        self["PROGPREFIX"] = ""
        self["ENV"].update({name: value for name, value in os.environ.items() if PASSED.match(name)})
        self["ENV"].update(RSFROOT=rsf.prog.RSFROOT, DATAPATH=self.path)
        self["ENV"].setdefault("TMPDATAPATH", self.path)
        # The modules that chapters of the book import are found wherever a chapter was copied, after the user's own.
        pages = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "pages")
        self["ENV"]["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), pages]))
        if is_given("CHECKPAR"):
            self["ENV"]["RSF_STRICT"] = "1"
        self.SConsignFile(self.path + ".sconsign")
        self.notes = rsf.run.Notes(self.path)
        self.views, self.pictures, self.results, self.parts = [], {}, [], []
        # Every target, and the line that makes it.
        self.lines = {}
        self.names = rsf.prog.names()
        if not self.names and not (GetOption("clean") or GetOption("help")):
            stop(f"there are no programs in {self.bindir}, and none on PATH; build them with ./sconsw at the top of the project, or put an installation's bin on PATH, then run this again.")

    def Flow(self, target, source, flow, stdout=1, stdin=1, rsfflow=1, suffix=sfsuffix, prefix=sfprefix,
             src_suffix=sfsuffix, workdir=None, **ways):
        """Makes `target` from `source` by the commands of `flow`.

        stdin=0: the first source is not redirected into the first command. stdout=0: the output of the last command is
        discarded, stdout=-1: it is not redirected; both are for commands that write their targets themselves.
        rsfflow=0: only complete names of programs (`sfspike`) are looked up. Madagascar's parameters for clusters (split, np,
        local ...) have no effect here.
        """
        if not flow:
            return None
        unknown = set(ways) - {"split", "np", "reduce", "jobmult", "local", "noderotate", "wall"}
        if unknown:
            raise TypeError(f"Flow got unknown keyword arguments: {', '.join(sorted(unknown))}")
        if workdir:
            raise TypeError("Flow got workdir=, which this package does not have; make the folder in the command itself")
        targets = [suffixed(name, suffix) for name in listed(target)]
        sources = [suffixed(name, src_suffix) for name in listed(source)]
        try:
            command = rsf.command.Command(flow, self.names, self.bindir, prefix if rsfflow else "")
        except ValueError as fault:
            stop(f"{' '.join(map(str, targets))}: {fault}")
        return self._make(targets, sources, command, bool(stdin) and bool(sources), stdout)

    def _make(self, targets, sources, command, stdin, stdout):
        """Declares one flow to SCons."""
        before = "< $SOURCE " if stdin else ""
        after = {1: " > $TARGET", 0: " > /dev/null"}.get(stdout, "")
        first = str(targets[0])
        if stdout == 1 and os.path.dirname(first) and first.endswith(sfsuffix) and command.ends_in_program:
            after = f" --out={self.path}{first}@" + after
        line = _line()
        try:
            nodes = self.Command(
                targets,
                sources,
                Action(_run, rsf.run.show, varlist=["FLOW_SHOWN"]),
                FLOW_SHOWN=command.line(before, after),
                FLOW_RUN=command.line(before, after, watched=True),
                FLOW_NOTES=self.notes,
                FLOW_TIMED=is_given("TIMER"),
            )
        except SCons.Errors.UserError:
            twice = [name for name in map(str, targets) if name in self.lines]
            if not twice:
                raise
            stop(f"{twice[0]} is made in two ways, in {self.lines[twice[0]]} and in {line}: give one of them another name.")
        for name in map(str, targets):
            self.lines.setdefault(name, line)
        self.Depends(nodes, [self.File(name) for name in command.programs])
        headers = [str(name) for name in targets if str(name).endswith(sfsuffix)]
        self.Clean(nodes, [name for header in headers for name in rsf.run.numbers_of(header, self.path)])
        self.Default(nodes)
        return nodes

    def _check_names(self):
        """Refuses a name on the command line that lacks only its suffix."""
        for name in COMMAND_LINE_TARGETS:
            near = [name_of_file for name_of_file in self.lines if os.path.splitext(os.path.basename(name_of_file))[0] == name]
            node = SCons.Node.Alias.default_ans.lookup(name) or self.fs.Entry(name)
            if near and name not in self.lines and not os.path.exists(name) and not (node.has_builder() or node.children()):
                stop(f"{name}: no flow makes a file of this name; is {' or '.join(near)} meant?")

    def Plot(self, target, source, flow=None, suffix=None, vppen="", view=None, usual=rsf.pictures.PART, **ways):
        """Declares a picture in this folder: drawn by the last command of `flow`, or composed of other pictures by a word.

        vppen= is appended to the command that composes. The words: Overlay, SideBySideAniso, SideBySideIso, OverUnderAniso, OverUnderIso, TwoRows, TwoColumns, Movie.
        """
        if flow is None:
            source, flow = target, source
        if flow in rsf.pictures.COMPOSITIONS:
            self.parts += [(target, part) for part in listed(source) if isinstance(part, str)]
            source = [self._picture(part) for part in listed(source)]
            moves = flow == "Movie"
            flow = rsf.pictures.COMPOSITIONS[flow](len(source)) + " " + (vppen or "")
            ways["stdin"] = 0
            usual = rsf.pictures.RESULT if moves else usual
        name = rsf.pictures.named(target, flow, suffix, usual)
        if os.path.dirname(str(target)) != self.resdir:
            self.pictures[target] = name
        return self.Flow(name, source, flow, **ways)

    def _picture(self, part):
        """The file of a picture that is a part of another picture: the file of Plot, otherwise the name with the usual suffix."""
        if not isinstance(part, str):
            return part
        return self.pictures.get(part) or suffixed(part, rsf.pictures.PART)

    def Result(self, target, source, flow=None, suffix=None, **ways):
        """Declares a picture in Fig/, which `scons view` and the book show."""
        if flow is None:
            source, flow = target, source
        ways.setdefault("usual", rsf.pictures.RESULT)
        plot = self.Plot(os.path.join(self.resdir, target), source, flow, suffix, **ways)
        view = self.Command(target + ".view", plot, Action(rsf.pictures.show, None))
        self.AlwaysBuild(view)
        self.views.append(view)
        self.results.append(str(plot[0]))
        return plot

    def Fetch(self, files, dir, private=None, server=None, top="data", usedatapath=True):
        """Declares data files to fetch: SERVER/TOP/DIR/FILE; server='local' is a folder TOP/DIR here. Copies in $SIFAKA_DATA take precedence."""
        if private:
            stop(f"{files}: Fetch with private= needs Madagascar; put a copy into $SIFAKA_DATA/{dir} instead.")
        server = server or dataserver
        fetched = self.Command(
            listed(files),
            [],
            Action(rsf.retrieve.run, rsf.retrieve.show, varlist=["FETCH_FROM"]),
            FETCH_FROM=rsf.retrieve.place(server, top, dir),
            FETCH_DIR=dir,
        )
        # Downloads are expensive, so only `scons -c` removes them.
        self.Precious(fetched)
        return fetched

    def End(self):
        """Must be called once, after the last flow."""
        slip = rsf.words.refusal(ARGUMENTS, GetOption("file") or [])
        if slip:
            stop(slip)
        self._check_names()
        for whole, part in self.parts:
            picture = self._picture(part)
            drawn = [os.path.splitext(os.path.basename(name))[0] for name in self.results]
            if part in drawn and not self.File(picture).has_builder() and not os.path.exists(picture):
                stop(f"{os.path.basename(whole)} is made of {part}, which is a Result here: the parts of a picture are made by Plot('{part}', ...), in addition to that Result or instead of it.")
        listing = "\n".join(self.results) or "nothing: there is no Result in this SConstruct"
        names = self.Command("results", [], Action(lambda target, source, env: print(listing), None))
        self.AlwaysBuild(names)
        if self.views:
            self.Alias("view", self.views)
        if not (GetOption("clean") or GetOption("help")):
            self.notes.results(self.results)


_notes = rsf.run.Notes(rsf.path.getpath(os.getcwd()))
# A run that changes nothing (-n, -q, -h) may take place during another one.
if not (GetOption("no_exec") or GetOption("question") or GetOption("help")):
    _busy = rsf.alone.refusal(_notes.folder)
    if _busy:
        stop(_busy)
_notes.sweep()
# `import fdmod, stiffness`, as in Madagascar's book, finds the recipes of this package if there are no others.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "recipes"))
DefaultEnvironment(tools=[])
project = Project()


def Flow(target, source, flow, **ways):
    """Calls Project.Flow of the project that the import created, as do the functions below for their methods."""
    return project.Flow(target, source, flow, **ways)


def Plot(target, source, flow=None, **ways):
    return project.Plot(target, source, flow, **ways)


def Result(target, source, flow=None, **ways):
    return project.Result(target, source, flow, **ways)


def Fetch(file, dir, private=None, **ways):
    return project.Fetch(file, dir, private, **ways)


def Program(*sources, **ways):
    """Refuses Program, with which Madagascar compiles C programs against its own library."""
    stop(f"Program({str(sources)[1:-1].rstrip(',')}) needs Madagascar and its C library; build the program yourself and name it in a Flow, or run this where Madagascar is installed.")


def Get(name):
    """The value of a variable in the environment of flows."""
    return project["ENV"].get(name)


def End():
    return project.End()
