"""What a class is handed: chapters as notebooks, made from their pages, and pages without answers."""
import json
import os
import re

from . import chapters

# Chapters whose blocks of code run one after the other in their folder: with what, and how many of them.
RUNS = {f"user/{name}": ("bash", None) for name in ("01-first-shot", "02-models", "03-sources-and-receivers", "04-accuracy", "05-boundaries", "06-anisotropy", "08-gathers-and-moveout", "09-velocity-and-stress", "13-faults-and-attenuation")}
RUNS["user/18-python"] = ("python", 5)
# The programs of a checkout, as seen from a notebook in build/notebooks/NAME, else those of the Python that runs it.
START = """import os, shutil, subprocess, sys, sysconfig
folders = [os.path.abspath("../../rsf/bin"), sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
os.environ["PATH"] = os.pathsep.join(folders + [os.environ["PATH"]])
sys.path.append(os.path.abspath("../../../book/flows/python"))"""
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


# The section of a page that a class may get later.
ANSWERS = r"^## Answers\n.*?(?=^## |\Z)"


def without_answers(text):
    """A page without its section of answers, and that section, empty where there is none."""
    found = re.search(ANSWERS, text, re.MULTILINE | re.DOTALL)
    return (text, "") if found is None else (text[: found.start()].rstrip() + "\n" + text[found.end() :], found.group())


def notebook(chapter, answers=True):
    """A chapter as a notebook (nbformat 4.5): its text, its blocks of commands where they run, its pictures where they are made.

    Cells of answers have the tag `answers`.
    """
    text = chapter.text() if answers else without_answers(chapter.text())[0]
    blocks, cells = 0, [_code(START + (FLOW if chapter.runs() else ""))]
    for section in re.split(f"({ANSWERS})", text, flags=re.MULTILINE | re.DOTALL):
        made, blocks = _cells(chapter, section, blocks)
        if section.startswith("## Answers\n"):
            for cell in made:
                cell["metadata"]["tags"] = ["answers"]
        cells += made
    # The text of the title comes before what is run.
    cells[0], cells[1] = cells[1], cells[0]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _cells(chapter, text, blocks):
    """The cells of a part of a chapter before which so many blocks run, and how many run before what follows it."""
    kind, most = RUNS.get(chapter.name, ("", 0))
    cells = []
    for part in re.split(r"(^```\w*\n.*?^```\n|^!\[[^\]]*\]\([^)\s]+\)\n)", text, flags=re.MULTILINE | re.DOTALL):
        picture = re.fullmatch(r"!\[([^\]]*)\]\((Fig/[^)\s]+)\)\n", part)
        if picture and chapter.runs():
            cells += [_code(PICTURE.format(picture.group(2))), _cell("markdown", f"*{picture.group(1)}*")]
        elif part.startswith("```math\n"):
            cells.append(_cell("markdown", "$$\\begin{aligned}\n" + part[8:].rsplit("```", 1)[0] + "\\end{aligned}$$"))
        elif part.startswith("```") and (most is None or blocks < most) and (command := _command(kind, part)):
            blocks += 1
            cells.append(_code(command))
        elif part.strip():
            cells.append(_cell("markdown", part.strip()))
    return cells, blocks


def _command(kind, block):
    """The cell of a block of code; empty where it is not to be run."""
    lines = block.strip().splitlines()[1:-1]
    if kind == "bash" and lines and lines[0].startswith("sf"):
        # A notebook hands its cell to bash on standard input, from which programs would read. Files of the flow stay what they are.
        return "\n".join(["%%bash", "{", "mkdir -p typed && cd typed", *lines, "} < /dev/null"])
    return "\n".join(lines) if kind == "python" else ""


def _cell(kind, source):
    return {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}


def _code(source):
    return {**_cell("code", source), "execution_count": None, "outputs": []}


def make(top, folder, answers=True):
    """Writes a folder for every chapter of users, with its files and its notebook, and (answers=n) its answers apart; returns the notebooks."""
    made = []
    for chapter in chapters.find(os.path.join(top, "book")):
        part, name = chapter.name.split(os.sep)[0], os.path.basename(chapter.name)
        if part != "user" or not chapter.text():
            continue
        chapters.mirror(chapter, os.path.join(folder, name))
        page, apart = without_answers(chapter.text())
        if not answers:
            # The page of the chapter has the answers, too.
            os.remove(os.path.join(folder, name, "README.md"))
            _write(os.path.join(folder, name, "README.md"), page)
        if apart and not answers:
            _write(os.path.join(folder, "answers", f"{name}.md"), f"# {chapter.title()}\n\n{apart}")
        made.append(os.path.join(folder, name, f"{name}.ipynb"))
        _write(made[-1], json.dumps(notebook(chapter, answers), indent=1, ensure_ascii=False) + "\n")
    return made


def _write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
