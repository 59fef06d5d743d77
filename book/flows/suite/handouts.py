"""Handouts for a class: notebooks made from the pages of chapters, and pages without answers."""
import ast
import json
import os
import re
import shutil

from . import chapters

# Chapters in which only this number of blocks can run, because the others need files of the reader.
MOST = {"user/18-python": 5}
# The first words of commands. Any other block that is not Python is output of a program.
SHELL = re.compile(r"(sf[\w-]+|for|printf|cut|python3) |\w+=[\"']")
# The names of pictures that commands write.
PNG = re.compile(r"(?:> *|out=)([\w./-]+\.(?:png|gif))")
# Commands that set up another machine, or that read a folder of the reader.
ELSEWHERE = re.compile(r"pip install|specfem=MESH\b.*\bnt=4000")
# Commands of a chapter with a flow run in a separate folder.
TYPED = "mkdir -p typed && cd typed"
# Words on pages whose commands read files of the flow.
FLOW_FIRST = "made by the flow of this chapter"
# Finds the programs of a checkout from a notebook in build/notebooks/NAME, otherwise the programs of the Python that runs the notebook.
START = """import os, shutil, subprocess, sys, sysconfig
folders = [os.path.abspath("../../rsf/bin"), sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
os.environ["PATH"] = os.pathsep.join(folders + [os.environ["PATH"]])
sys.path.append(os.path.abspath("../../../book/flows/python"))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [sys.path[-1], os.environ.get("PYTHONPATH")]))"""
FLOW = """
near = os.path.abspath("../../../sconsw")
scons = shutil.which("sifaka-scons") or shutil.which("sconsw") or (near if os.path.exists(near) else None)
if scons is None:
    raise SystemExit("Neither sifaka-scons nor sconsw is on PATH: install the wheel, or put the checkout (with sconsw) on PATH and start the notebook again.")
flow = subprocess.run([scons, "-Q"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
print(flow.stdout[-1000:])
flow.check_returncode()"""
PICTURE = """from IPython.display import Image
Image("{}")"""


# The module that makes the tables of chapters; it is copied to the chapter, where Python finds it without a checkout.
PAGE_TABLE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "pages", "page_table.py")


# The section of a page that a class may receive later.
ANSWERS = r"^## Answers\n.*?(?=^## |\Z)"


def without_answers(text):
    """A page without its section of answers, and that section, which is empty if there is none."""
    match = re.search(ANSWERS, text, re.MULTILINE | re.DOTALL)
    return (text, "") if match is None else (text[: match.start()].rstrip() + "\n" + text[match.end() :], match.group())


def notebook(chapter, answers=True):
    """A chapter as a notebook (nbformat 4.5): its text, its blocks of commands as cells, and its pictures.

    Cells with answers have the tag `answers`.
    """
    text = chapter.text() if answers else without_answers(chapter.text())[0]
    before, cells = [], [_code(START + (FLOW if chapter.runs() else ""))]
    for section in re.split(f"({ANSWERS})", text, flags=re.MULTILINE | re.DOTALL):
        own = _cells(chapter, section, before)
        if section.startswith("## Answers\n"):
            for cell in own:
                cell["metadata"]["tags"] = ["answers"]
        cells += own
    # The title comes before the cell that runs the flow.
    cells[0], cells[1] = cells[1], cells[0]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _cells(chapter, text, before):
    """The cells of a part of a chapter; `before` are the blocks that run before it, to which its own are added."""
    cells = []
    for part in re.split(r"(^```\w*\n.*?^```\n|^!\[[^\]]*\]\([^)\s]+\)\n)", text, flags=re.MULTILINE | re.DOTALL):
        picture = re.fullmatch(r"!\[([^\]]*)\]\((Fig/[^)\s]+)\)\n", part)
        if picture and chapter.runs():
            cells += [_code(PICTURE.format(picture.group(2))), _cell("markdown", f"*{picture.group(1)}*")]
        elif part.startswith("```math\n"):
            cells.append(_cell("markdown", "$$\\begin{aligned}\n" + part[8:].rsplit("```", 1)[0] + "\\end{aligned}$$"))
        elif part.startswith("```\n") and (command := _command(chapter, part[4:].rsplit("```", 1)[0].strip(), before)):
            cells.append(_code(command))
            if command.startswith("%%bash"):
                # Pictures that commands draw are shown below them.
                cells += [_code(PICTURE.format(("typed/" if TYPED in command else "") + name)) for name in PNG.findall(command)]
        elif part.strip():
            cells.append(_cell("markdown", part.strip()))
    return cells


def _command(chapter, block, before):
    """The cell of a block of code; empty if it is not to be run."""
    if len(before) >= MOST.get(chapter.name, len(before) + 1) or ELSEWHERE.search(block):
        return ""
    if SHELL.match(block):
        command = _shell(chapter, block)
    elif _is_python(block):
        command = block
    else:
        return ""
    before.append(block)
    return command


def _is_python(block):
    try:
        ast.parse(block)
    except SyntaxError:
        return False
    return True


def _shell(chapter, block):
    """A cell of commands. Their standard input is /dev/null, because a notebook passes the cell to bash on standard input, from which programs would read."""
    # Commands that do not need the files of the flow run in another folder, so that they do not overwrite these.
    apart = chapter.runs() and FLOW_FIRST not in chapter.text()
    return "\n".join(["%%bash", "{", "set -e", *([TYPED] if apart else []), block, "} < /dev/null"])


def _cell(kind, source):
    return {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}


def _code(source):
    return {**_cell("code", source), "execution_count": None, "outputs": []}


def make(top, folder, answers=True):
    """Writes a folder for every chapter for users, with its files and its notebook; with answers=n the answers go to a separate folder. Returns the notebooks."""
    notebooks = []
    for chapter in chapters.find(os.path.join(top, "book")):
        part, name = chapter.name.split(os.sep)[0], os.path.basename(chapter.name)
        if part != "user" or not chapter.text():
            continue
        _copy(chapter, os.path.join(folder, name))
        page, apart = without_answers(chapter.text())
        if not answers:
            # The page of the chapter contains the answers as well.
            os.remove(os.path.join(folder, name, "README.md"))
            _write(os.path.join(folder, name, "README.md"), page)
        if apart and not answers:
            _write(os.path.join(folder, "answers", f"{name}.md"), f"# {chapter.title()}\n\n{apart}")
        notebooks.append(os.path.join(folder, name, f"{name}.ipynb"))
        _write(notebooks[-1], json.dumps(notebook(chapter, answers), indent=1, ensure_ascii=False) + "\n")
    return notebooks


def _copy(chapter, folder):
    """Copies the chapter's files, with the module that makes its table, so that the folder is complete."""
    for name in chapter.files():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(os.path.join(chapter.source, name), path)
    if any(name.endswith("table.py") for name in chapter.files()):
        shutil.copy(PAGE_TABLE, folder)


def _write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
