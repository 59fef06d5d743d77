"""Tables of measured numbers on the book's pages. A chapter has a table.py that makes the lines and calls `main`:

    python3 table.py          prints the table, and reports a difference from the page next to it (README.md), if there is one
    python3 table.py check    fails if the page differs
    python3 table.py write    writes the table to the page

A flow runs table.py without an argument, so that it also works with changed parameters; `./sconsw book` runs the check after the flows of each
chapter, so that pages contain measured numbers. Only Python's standard library is needed.
"""
import math
import os
import sys

PAGE = "README.md"


def lines_of(head, rows):
    """The lines of a table in Markdown: `head` is the first line, `rows` are lists of strings."""
    columns = head.count("|") - 1
    return [head, "|" + " --- |" * columns, *("| " + " | ".join(row) + " |" for row in rows)]


def main(lines):
    """Prints the table, and compares the page with it or writes it to the page, depending on the command line."""
    if not os.path.exists(PAGE) and not sys.argv[1:]:
        print("\n".join(lines))
        return
    with open(PAGE, encoding="utf-8") as text:
        page = text.read().splitlines()
    if lines[0] not in page:
        sys.exit(f"table.py: {PAGE} has no line {lines[0]!r}, where the table should begin")
    start = page.index(lines[0])
    end = next(i for i in range(start, len(page) + 1) if i == len(page) or not page[i].startswith("|"))
    if sys.argv[1:] == ["write"]:
        page[start:end] = lines
        with open(os.path.realpath(PAGE), "w", encoding="utf-8") as text:
            text.write("\n".join(page) + "\n")
    elif page[start:end] != lines:
        old, new = next(((old, new) for old, new in zip(page[start:end], lines) if old != new), ("", "a table of another length"))
        words = f"table.py: the page ({PAGE}) has\n  {old}\nbut the measured line is\n  {new}\n"
        if sys.argv[1:] == ["check"]:
            sys.exit(words + "If that is right, run python3 table.py write in this folder")
        sys.stderr.write(words)
    print("\n".join(lines))


def digits(number, count=3):
    """A number with `count` significant digits, including trailing zeros."""
    return f"{number:.{max(0, count - 1 - math.floor(math.log10(abs(number))))}f}"


def numbers(path):
    """The numbers of a text file, separated by blanks or line breaks, as `disfil number=n` writes them."""
    with open(path, encoding="utf-8") as text:
        return [float(word) for word in text.read().split()]


def results(path):
    """The rows of a table of `book/paper/measure.py`, as lists of words; none if there is no such file."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as table:
        return [line.split() for line in table if line.strip() and not line.startswith("#")]
