"""Runs the command of one flow: all of its targets appear, or none.

Targets are written in place, because the commands see the names of the SConstruct, and renaming a header would not rename its
data. A flow that fails or is interrupted leaves neither a header nor numbers. If SCons itself is killed, its files are
removed at the next start: before a flow runs, their names are noted in `.flows/`.
"""
import difflib
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import rsf.command
import rsf.prog
from SCons.Subst import SUBST_CMD, escape_list

# A program that writes to a pipe ends with this status if the reader closes the pipe early, which is not an error.
CLOSED_PIPE = 128 + signal.SIGPIPE
HEADER_LIMIT = 1 << 20


def header_key(path, key):
    """The last value of `key` in the header of the RSF file `path`; None if there is none."""
    try:
        with open(path, "rb") as header:
            text = header.read(HEADER_LIMIT).split(b"\x0c\x0c\x04")[0].decode("utf-8", "replace")
    except OSError:
        return None
    value = None
    for word in text.split():
        if word.startswith(key + "="):
            value = word[len(key) + 1:].strip('"')
    return value


def numbers_of(target, path):
    """The data files of the RSF header `target`: the default name, and the one that its header names.

    A header may also point to data of another header, so only `NAME...@` counts as its own.
    """
    name = os.path.basename(target)
    usual = {path + name + "@", path + target + "@"}
    data = header_key(target, "in")
    if data and os.path.basename(data).endswith("@"):
        stem = os.path.basename(data)[:-1]
        if stem == name or stem.startswith(name + "."):
            usual.add(data)
    return sorted(usual)


def remove(files):
    """Removes those files that exist."""
    for name in files:
        try:
            os.remove(name)
        except OSError:
            pass


def born(pid):
    """The start time of a running process in clock ticks; None if it has ended, 0 if the system does not provide it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as text:
            # After the name in parentheses comes the state, and 19 fields later the start time.
            words = text.read().rpartition(")")[2].split()
    except OSError:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return None
        except PermissionError:
            pass
        return 0
    return None if words[0] in "ZX" else int(words[19])


class Notes:
    """The folder of notes of a project, with the flows that are running and a log of finished ones."""

    def __init__(self, path):
        self.path = path
        self.folder = os.path.abspath(".flows")

    def sweep(self):
        """Removes the unfinished targets of a SCons that was killed."""
        try:
            notes = [name for name in os.listdir(self.folder) if name.endswith(".unfinished")]
        except OSError:
            return
        for name in notes:
            note = os.path.join(self.folder, name)
            try:
                with open(note, encoding="utf-8") as text:
                    run = json.load(text)
            except (OSError, ValueError):
                continue
            # Another process may have the same number by now, so the start time is compared as well.
            if born(run["pid"]) != run["born"]:
                remove(own_files(run["targets"], self.path))
                remove([note])

    def begin(self, targets):
        """Notes that the targets are being made; returns the name of the note."""
        os.makedirs(self.folder, exist_ok=True)
        mark = hashlib.sha1("\n".join(targets).encode()).hexdigest()[:16]
        note = os.path.join(self.folder, mark + ".unfinished")
        with open(note + ".new", "w", encoding="utf-8") as text:
            json.dump({"pid": os.getpid(), "born": born(os.getpid()), "targets": targets}, text)
        os.replace(note + ".new", note)
        return note

    def results(self, names):
        """Writes the list of pictures of the SConstruct, one on each line, for the book."""
        path, text = os.path.join(self.folder, "results"), "".join(name + "\n" for name in names)
        try:
            with open(path, encoding="utf-8") as listing:
                if listing.read() == text:
                    return
        except OSError:
            os.makedirs(self.folder, exist_ok=True)
        with open(path + ".new", "w", encoding="utf-8") as listing:
            listing.write(text)
        os.replace(path + ".new", path)

    def done(self, **what):
        """Appends a line to the log: targets, sources, command, seconds, and time."""
        line = json.dumps(what) + "\n"
        # The line is written at once, so that lines of concurrent flows do not mix.
        with open(os.path.join(self.folder, "log"), "a", encoding="utf-8") as log:
            log.write(line)


def own_files(targets, path):
    """The targets and their data files."""
    numbers = [name for target in targets if target.endswith(".rsf") for name in numbers_of(target, path)]
    return targets + numbers


def text_of(env, variable, target, source):
    """The text of a construction variable for the shell, with sources and targets inserted."""
    lines = env.subst_list("$" + variable, SUBST_CMD, target, source)
    return " ".join(" ".join(escape_list(line, shlex.quote)) for line in lines)


def show(target, source, env):
    """What SCons prints."""
    return text_of(env, "FLOW_SHOWN", target, source)


def nearest(text, path):
    """The first word of a stage that is not a command, and the program whose name is nearest to it; "" if there is none."""
    names = sorted(rsf.prog.names())
    names = [name[2:] for name in names] + names
    try:
        stages = rsf.command.stages(text)
    except ValueError:
        return ""
    for stage, _ in stages:
        words = re.sub(r"^(\s*([<>]+\s*\S+|[A-Za-z_]\w*=\S*)\s+)*", "", stage).split()
        if words and not shutil.which(words[0], path=path):
            near = difflib.get_close_matches(words[0], names, 1)
            return f" ({words[0]}: is {near[0]} meant?)" if near else f" ({words[0]})"
    return ""


def failure(statuses, text, path=None):
    """A message about exit statuses that are not 0; `path` is the PATH of flows."""
    worst = next(status for status in statuses if status)
    if worst == 127:
        return f"a command was not found{nearest(text, path)}; it is neither a program of the suite nor on the PATH of flows: {text}"
    if worst < 0 or worst > 128:
        number = -worst if worst < 0 else worst - 128
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = str(number)
        return f"the command was ended by {name}: {text}"
    return f"the command ended with exit status {worst} (see its own message above): {text}"


def run(target, source, env):
    """The action of a flow."""
    notes = env["FLOW_NOTES"]
    targets, sources = [str(node) for node in target], [str(node) for node in source]
    for name in targets:
        # The data files of targets in subfolders may be there because of --out=.
        if os.path.dirname(name) and name.endswith(".rsf"):
            os.makedirs(os.path.dirname(notes.path + name) or ".", exist_ok=True)
    note = notes.begin(targets)
    began = time.time()
    statuses = shell(text_of(env, "FLOW_RUN", target, source), env)
    if any(statuses):
        say(f"{targets[0]}: {failure(statuses, show(target, source, env), env['ENV'].get('PATH'))}")
        remove(own_files(targets, notes.path))
        remove([note])
        return next(status for status in statuses if status)
    for name in targets:
        if not os.path.exists(name):
            say(f"{name} was not written by its command, which will run again next time; leave it out of the targets if the command never writes it")
    seconds = round(time.time() - began, 3)
    if env["FLOW_TIMED"]:
        say(f"{targets[0]}: {seconds} s")
    notes.done(
        targets=targets,
        sources=sources,
        command=show(target, source, env),
        seconds=seconds,
        finished=int(time.time()),
    )
    remove([note])
    return 0


def say(text):
    """Prints a line on standard error."""
    sys.stdout.flush()
    sys.stderr.write(f"flow: {text}\n")
    sys.stderr.flush()


def shell(text, env):
    """Runs the line; returns the exit statuses of all commands that failed, the status of the line first."""
    environment = {key: str(value) for key, value in env["ENV"].items()}
    with tempfile.NamedTemporaryFile(prefix="flow", suffix=".failed") as failed:
        environment["FLOW_FAILED"] = failed.name
        # A flow without a source must not read the standard input of SCons.
        nothing = subprocess.DEVNULL
        status = subprocess.run(["/bin/sh", "-c", text], env=environment, stdin=nothing).returncode
        stages = [int(word) for word in failed.read().split() if word.isdigit()]
    return [status] + [stage for stage in stages if stage != CLOSED_PIPE]
