"""Converts the part of Markdown that the book's pages use to HTML: headings, paragraphs, lists, tables, code, formulas, links, pictures."""
import html
import re

from . import formula


def inline(text):
    """Converts `code`, $formulas$, **strong**, *emphasis* and [links](address) to HTML, and escapes all other text."""
    return "".join(map(_part, re.split(r"(`[^`]+`|\$[^$\s](?:[^$]*[^$\s])?\$)", text)))


def _part(text):
    if text.startswith("`") and len(text) > 1:
        return f"<code>{html.escape(text[1:-1])}</code>"
    if text.startswith("$") and text.endswith("$") and len(text) > 2:
        return formula.inline(text[1:-1])
    return _words(text)


def _words(text):
    text = html.escape(text, quote=False)
    text = re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", r'<a href="\2">\1</a>', text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])", r"<em>\1</em>", text)


def page(text, picture):
    """The HTML of a page. `picture(address, caption)` returns the HTML of a line that consists of a picture."""
    lines, out = text.splitlines(), []
    while lines:
        line = lines[0]
        if not line.strip():
            lines.pop(0)
        elif line.startswith("```"):
            out.append(_code(lines))
        elif re.match(r"#+ ", line):
            marks, words = lines.pop(0).split(" ", 1)
            level = min(len(marks) + 1, 6)
            heading = f"<h{level}>{inline(words)}</h{level}>"
            out.append(_folded(heading, len(marks), lines, picture) if words.strip() == "Answers" else heading)
        elif match := re.fullmatch(r"!\[([^\]]*)\]\(([^)\s]+)\)", line.strip()):
            lines.pop(0)
            out.append(picture(match.group(2), match.group(1)))
        elif line.lstrip().startswith("|"):
            out.append(_table(lines))
        elif re.match(r"\s*([-*]|\d+\.) ", line):
            out.append(_items(lines))
        else:
            out.append(f"<p>{inline(' '.join(_until(lines, _opens_block)))}</p>")
    return "\n".join(out)


def _folded(heading, level, lines, picture):
    """The section below `heading`, folded until a reader opens it. It ends at a heading of the same or a higher level."""
    section = []
    while lines and not re.match(r"#{1,%d} " % level, lines[0]):
        section.append(lines.pop(0))
    return f"<details><summary>{heading}</summary>\n{page(chr(10).join(section), picture)}\n</details>"


def _until(lines, stops):
    """Takes lines up to an empty one, or one at which another block opens."""
    taken = [lines.pop(0).strip()]
    while lines and lines[0].strip() and not stops(lines[0]):
        taken.append(lines.pop(0).strip())
    return taken


def _opens_block(line):
    return re.match(r"#+ |```|\s*\||\s*([-*]|\d+\.) |!\[", line)


def _code(lines):
    kind, taken = lines.pop(0)[3:].strip(), []
    while lines and not lines[0].startswith("```"):
        taken.append(lines.pop(0))
    del lines[:1]
    if kind == "math":
        return formula.block(" ".join(taken))
    return f"<pre>{html.escape(chr(10).join(taken))}</pre>"


def _table(lines):
    rows = []
    while lines and lines[0].lstrip().startswith("|"):
        cells = re.split(r"(?<!\\)\|", lines.pop(0).strip().strip("|"))
        if not all(re.fullmatch(r"\s*:?-+:?\s*", cell) for cell in cells):
            rows.append([inline(cell.strip().replace("\\|", "|")) for cell in cells])
    body = ["".join(f"<{'th' if i == 0 else 'td'}>{cell}</{'th' if i == 0 else 'td'}>" for cell in row) for i, row in enumerate(rows)]
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in body) + "</table>"


def _items(lines):
    tag = "ol" if re.match(r"\s*\d", lines[0]) else "ul"
    items = []
    while lines and re.match(r"\s*([-*]|\d+\.) ", lines[0]):
        words = _until(lines, _opens_block)
        words[0] = re.sub(r"^([-*]|\d+\.) ", "", words[0])
        items.append(f"<li>{inline(' '.join(words))}</li>")
        while len(lines) > 1 and not lines[0].strip() and re.match(r"\s*([-*]|\d+\.) ", lines[1]):
            lines.pop(0)
    return f"<{tag}>" + "".join(items) + f"</{tag}>"
