r"""Converts the part of LaTeX that the pages use to MathML, which browsers display without a network.

Letters are variables, and `\alpha` and so on Greek letters; `^`, `_`, `\frac{}{}`, `\sqrt{}`, `\text{}`, `\langle`, `\rangle`, brackets, `\quad`; `\\` begins
a line, and lines are aligned at `&`. GitHub (blocks of ```math, and $...$) and Jupyter read the same text.
"""
import html
import re

GREEK = dict(zip("alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi chi psi omega Delta Sigma Omega".split(), "αβγδεζηθκλμνξπρστφχψωΔΣΩ"))
SIGNS = {"cdot": "·", "pm": "±", "le": "≤", "ge": "≥", "ne": "≠", "approx": "≈", "langle": "⟨", "rangle": "⟩", "nabla": "∇", "partial": "∂", "int": "∫", "sum": "∑", "times": "×", "to": "→"}
NAMES = ("sin", "cos", "tan", "exp", "log", "ln", "min", "max")
SPACES = {"quad": "1em", "qquad": "2em", ",": "0.17em", ";": "0.28em", " ": "0.28em"}
TOKEN = re.compile(r"\\text\{[^{}]*\}|\\[a-zA-Z]+|\\.|\d+(?:\.\d+)?|\S")


class Formula(ValueError):
    """A formula that cannot be typeset."""


def block(text):
    """A displayed formula, or several aligned lines."""
    lines = [re.split(r"(?<!\\)&", line) for line in re.split(r"\\\\", text)]
    if len(lines) == 1 and len(lines[0]) == 1:
        return f'<math display="block">{row(text)}</math>'
    cells = ["".join(f"<mtd>{row(cell)}</mtd>" for cell in line) for line in lines]
    table = "".join(f"<mtr>{line}</mtr>" for line in cells)
    side = "left" if all(len(line) == 1 for line in lines) else "right left"
    return f'<math display="block"><mtable displaystyle="true" columnalign="{side}">{table}</mtable></math>'


def inline(text):
    """A formula inside a sentence."""
    return f"<math>{row(text)}</math>"


def row(text):
    tokens = TOKEN.findall(text.replace("\\ ", "\\; "))
    element = _row(tokens, text)
    if tokens:
        raise Formula(f"there is a closing bracket }} too many in the formula {text}")
    return element


def _row(tokens, text):
    """Converts the tokens up to a closing bracket, with superscripts and subscripts."""
    parts = []
    while tokens and tokens[0] != "}":
        if tokens[0] not in "^_":
            parts.append(_atom(tokens, text))
            continue
        marks = {}
        while tokens and tokens[0] in ("^", "_") and tokens[0] not in marks:
            place = tokens.pop(0)
            marks[place] = _atom(tokens, text)
        base = parts.pop() if parts else "<mrow></mrow>"
        name = {"^": "msup", "_": "msub"}[next(iter(marks))] if len(marks) == 1 else "msubsup"
        parts.append(f"<{name}>{base}{marks.get('_', '')}{marks.get('^', '')}</{name}>")
    return f"<mrow>{''.join(parts)}</mrow>"


def _group(tokens, text):
    if not tokens or tokens.pop(0) != "{":
        raise Formula(f"an opening bracket {{ is missing in the formula {text}")
    element = _row(tokens, text)
    if not tokens:
        raise Formula(f"a closing bracket }} is missing in the formula {text}")
    tokens.pop(0)
    return element


def _atom(tokens, text):
    if not tokens:
        raise Formula(f"something is missing at the end of the formula {text}")
    if tokens[0] == "{":
        return _group(tokens, text)
    token = tokens.pop(0)
    name = token[1:]
    if token[0] != "\\":
        if token.isalpha():
            return f"<mi>{token}</mi>"
        return f"<mn>{token}</mn>" if token[0].isdigit() else f"<mo>{html.escape('−' if token == '-' else token)}</mo>"
    if name == "frac":
        above = _group(tokens, text)
        return f"<mfrac>{above}{_group(tokens, text)}</mfrac>"
    if name == "sqrt":
        return f"<msqrt>{_group(tokens, text)}</msqrt>"
    if name.startswith("text{"):
        return f"<mtext>{html.escape(name[5:-1])}</mtext>"
    if name in GREEK:
        return f"<mi>{GREEK[name]}</mi>"
    if name in SIGNS:
        return f"<mo>{SIGNS[name]}</mo>"
    if name in NAMES:
        return f"<mi>{name}</mi>"
    if name in SPACES:
        return f'<mspace width="{SPACES[name]}"/>'
    raise Formula(f"{token} is not known in the formula {text}; known are \\frac, \\sqrt, \\text, \\quad, {', '.join(chr(92) + n for n in (*GREEK, *SIGNS, *NAMES))}")
