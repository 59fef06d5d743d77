"""Messages of programs for users of Python: commands become calls, and warnings refer to the line of the caller."""
from __future__ import annotations

import os
import re
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
# Libraries that call products of linop for their user.
BETWEEN = tuple(os.sep + name + os.sep for name in ("scipy", "pylops"))
# Programs that make a dataset without an input.
SOURCES = ("sfhexmesh", "sfmath", "sfpoints", "sfspike")

PROGRAM, INPUT, OUTPUT = r"\bsf[a-z]\w*", r"(?: < \S+)?", r"(?: > [^\s;]+)?"
WORD = r""" [a-z]\w*=(?:"[^"]*"|'[^']*'|(?:[^\s`;|),.]|[,.](?=\S))*)"""
FILES = r"(?: [\w-]+\.rsf)*"
# A word of a command: blanks may occur within quotes.
WHOLE = re.compile(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""")
# A program with parameters, or several in a pipe.
FIRST, NEXT = rf"{PROGRAM}{INPUT}{FILES}(?:{WORD})", rf" \| {PROGRAM}(?:{WORD})*"
COMMAND = re.compile(rf"(?:{FIRST}+(?:{NEXT})*|{PROGRAM}{INPUT}(?:{NEXT})+){OUTPUT}")
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?")


class ProgramWarning(UserWarning):
    """A warning of a program."""


def warn(text: str) -> None:
    """Warns at the line that called this package, even if the call went through scipy or PyLops."""
    level, frame = 1, sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename.startswith(HERE + os.sep) or any(part in frame.f_code.co_filename for part in BETWEEN)):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, ProgramWarning, stacklevel=level + 1)


def in_python(text: str) -> str:
    """Converts the shell commands in a message to calls: `sftransp plane=13` becomes `sifaka.run("sftransp", array, plane=13)`."""
    return COMMAND.sub(lambda match: _call(match.group(), text), text)


def _call(command: str, text: str) -> str:
    result, output = "", re.search(r" > ([^\s;]+)$", command)
    # If another command of the text reads the output, it is written to a file; otherwise the call returns an array.
    out = f"out={_quoted(output[1])}" if output and text.count(output[1]) > 1 else ""
    stages = re.sub(r" > \S+$", "", command).split(" | ")
    for stage in stages:
        program, *words = WHOLE.findall(stage)
        if "<" in words:
            at = words.index("<")
            result = f'"{words[at + 1]}"'
            del words[at : at + 2]
        files = [_quoted(word) for word in words if "=" not in word]
        array = files or ([result] if result else [] if program in SOURCES else ["array"])
        pairs = [f"{key}={_value(value)}" for key, value in (word.split("=", 1) for word in words if "=" in word)]
        pairs += [out] if out and stage == stages[-1] else []
        result = f"sifaka.run({', '.join([_quoted(program), *array, *pairs])})"
    return result


def _value(word: str) -> str:
    if word in ("y", "n"):
        return str(word == "y")
    return word if NUMBER.fullmatch(word) else _quoted(word) if word else "..."


def _quoted(word: str) -> str:
    return '"' + word.strip("'\"") + '"'
