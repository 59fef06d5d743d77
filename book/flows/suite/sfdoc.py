"""The programs' documentation as a module for Madagascar's sfdoc, and its line in Madagascar's list of modules."""
import json
import os
import re
import subprocess
import textwrap

MODULE = "sfsifaka"
LINE = f"import rsf.{MODULE}"

HEAD = '''"""Documentation of the programs of Sifaka for sfdoc, Flow() and CHECKPAR=y; written by `scons install`."""
import rsf.doc

'''


def description(binary):
    """The description of a program: name, about, usage, comments, example, version, params."""
    answer = subprocess.run([binary, "--sfdoc"], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=True)
    return json.loads(answer.stdout)


def entry(number, name, source, doc):
    """Python text that registers one program under one name in rsf.doc.progs."""
    var = f"prog{number}"
    comments = _filled(doc["comments"])
    if doc["example"].strip():
        comments += "\n\nExample:\n" + doc["example"].strip("\n")
    lines = [f"{var} = rsf.doc.rsfprog({name!r}, {source!r}, {doc['about']!r})"]
    for par in doc["params"]:
        marks = [par["range"]] if par["range"] and par["type"] != "bool" else []
        marks += ["required"] if par["required"] else []
        for key in [par["name"]] + par["aliases"]:
            text = par["doc"] if key == par["name"] else f"the same as {par['name']}="
            # Madagascar's lists of ports search for these words in the descriptions of files.
            text = f"auxiliary {par['file']} file: {text}" if par["file"] else text
            kind = par["type"].split("/")[0]
            call = f"rsf.doc.rsfpar({kind!r}, {par['default']!r}, {_bracketed(marks)!r}, {text!r})"
            lines.append(f"{var}.par({key!r}, {call})")
    lines.append(f"{var}.version({doc['version']!r})")
    lines.append(f"{var}.synopsis({(name + ' ' + doc['usage'])!r}, {comments!r})")
    lines.append(f"rsf.doc.progs[{name!r}] = {var}")
    return "\n".join(lines) + "\n\n"


def _filled(text):
    """Fills paragraphs to the width of a page; lines that begin with a blank are kept."""
    lines = [line if line.startswith(" ") else textwrap.fill(line, 90) for line in text.split("\n")]
    return "\n".join(lines)


def _bracketed(marks):
    return f"[{', '.join(marks)}]" if marks else ""


def module(programs):
    """The module's text; `programs` are (name, binary) pairs."""
    docs = {}
    text = HEAD
    for number, (name, binary) in enumerate(sorted(programs), start=1):
        if binary not in docs:
            docs[binary] = description(binary)
        doc = docs[binary]
        inside = "basics/src/main.rs" if os.path.basename(binary) == "sfbasics" else f"src/bin/{doc['name']}.rs"
        text += entry(number, name, f"sifaka/programs/{inside}", doc)
    return text


def register(listing):
    """Adds the module to Madagascar's rsf/prog.py, once and after its other modules; returns whether the file was changed."""
    with open(listing, encoding="utf-8") as file:
        text = file.read()
    if re.search(rf"^{re.escape(LINE)}$", text, re.MULTILINE):
        return False
    # The last import that begins a line, and not the one of rsf.use inside a try.
    imports = list(re.finditer(r"^import rsf\.\w+[^\S\n]*$\n?", text, re.MULTILINE))
    at = imports[-1].end() if imports else len(text)
    before = text[:at] if text[:at].endswith("\n") or not text[:at] else text[:at] + "\n"
    _rewrite(listing, before + LINE + "\n" + text[at:])
    return True


def unregister(listing):
    """Removes the line; returns whether the file was changed."""
    try:
        with open(listing, encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return False
    new = re.sub(rf"^{re.escape(LINE)}\n", "", text, flags=re.MULTILINE)
    if new == text:
        return False
    _rewrite(listing, new)
    return True


def _rewrite(path, text):
    draft = path + ".sifaka"
    with open(draft, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(draft, os.stat(path).st_mode)
    os.replace(draft, path)
