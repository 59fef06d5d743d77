"""Words NAME=VALUE of the command line: one that neither this package nor the flow reads is a misspelling, and is refused."""
import difflib
import os
import re
import sys

# The words that the package reads, and `full`, by which chapters of the book choose large runs, although not every chapter reads it.
OWN = ("TIMER", "CHECKPAR", "full")
# A word that a source file reads by its name.
READ = re.compile(r"\bARGUMENTS\s*(?:\.\s*(?:get|pop)\s*\(|\[)\s*['\"]([^'\"]+)['\"]")
# Code that may read words without naming them: loops over all of them, variables of SCons, SConscripts of other folders.
OPEN = re.compile(r"\bARGLIST\b|\bVariables\s*\(|\bSConscript\s*\(|\bARGUMENTS\b(?!\s*(?:\.\s*(?:get|pop)\s*\(|\[)\s*['\"])")
IMPORT = re.compile(r"^\s*(?:from|import)\b.*$", re.MULTILINE)
SCONSTRUCTS = ("SConstruct", "Sconstruct", "sconstruct", "SConstruct.py", "Sconstruct.py", "sconstruct.py")


def refusal(arguments, files):
    """Returns a message about the first of `arguments` that no source file reads, or None. `files` are the files that `-f` names, if any."""
    strange = [word for word in arguments if word not in OWN]
    if not strange:
        return None
    texts = [text for text in map(_text, list(files) or SCONSTRUCTS) if text] + _modules()
    if not texts or any(OPEN.search(IMPORT.sub("", text)) for text in texts):
        return None
    known = sorted({word for text in texts for word in READ.findall(text)} | set(OWN), key=str.lower)
    strange = [word for word in strange if word not in known]
    if not strange:
        return None
    near = difflib.get_close_matches(strange[0], known, 1)
    return (
        f"{strange[0]}={arguments[strange[0]]}: neither the flow of this folder nor rsf.proj reads this word"
        + (f"; is {near[0]}= meant? Known are " if near else "; known are ")
        + ", ".join(f"{word}=" for word in known)
        + ". Correct it or leave it out, then run this again."
    )


def _text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _modules():
    """Returns the texts of the modules that a flow has imported and that may read the command line, without the modules of Python, SCons and this package."""
    scons = sys.modules.get("SCons")
    apart = [os.path.dirname(module.__file__) for module in (os, scons) if getattr(module, "__file__", None)]
    apart.append(os.path.dirname(os.path.abspath(__file__)))
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    own = [file for file in files if file and file.endswith(".py") and not any(os.path.abspath(file).startswith(folder + os.sep) for folder in apart)]
    return [text for text in map(_text, sorted(own)) if "ARGUMENTS" in text or "ARGLIST" in text]
