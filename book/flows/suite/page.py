"""The book as one HTML page: every chapter's text and pictures, with the commands behind them, time and device."""
import html
import os
import shutil
import subprocess
import sys
import tempfile
import time

from . import handouts, markdown
from .record import brief

STYLE = """
body { font: 16px/1.5 sans-serif; color: #222; max-width: 60em; margin: 2em auto; padding: 0 1em; }
h1, h2, h3 { line-height: 1.2; } h2 { border-top: 1px solid #ccc; padding-top: 1em; margin-top: 3em; }
pre { background: #f4f4f2; padding: .7em; overflow-x: auto; font-size: 13px; white-space: pre-wrap; }
code { background: #f4f4f2; } table { border-collapse: collapse; } td, th { border: 1px solid #ccc; padding: .2em .6em; text-align: left; }
figure { margin: 1.5em 0; } figure img { max-width: 100%; border: 1px solid #ddd; }
figcaption { font-size: 14px; } .facts { color: #666; } summary { cursor: pointer; font-size: 14px; }
summary h3 { display: inline; font-size: 1.17rem; } p, li, figcaption, summary, h1, h2, h3, code { overflow-wrap: anywhere; }
table, math[display=block] { display: block; max-width: 100%; overflow-x: auto; } math[display=block] { display: block math; }
@media print { body { max-width: none; font-size: 10pt; } h2 { break-before: page; } figure { break-inside: avoid; } pre, code { font-size: 8pt; } }
@media print { details:has(> summary > h3)::details-content { content-visibility: visible; } }
"""
# Debian's chromium-headless-shell is enough.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def duration(seconds):
    """A time in a suitable unit."""
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.1f} min"


class Pictures:
    """The pictures of one chapter. Each is shown once: at its line in the text, or at the end if the text does not mention it."""

    def __init__(self, record, folder, root):
        self.record, self.folder, self.root = record, folder, root
        self.left = list(record.results)

    def shown(self, address, caption):
        """HTML of one picture. A name without suffix, or without Fig/, is also recognised."""
        stem = os.path.splitext(os.path.basename(address))[0]
        result = next((r for r in self.record.results if os.path.splitext(os.path.basename(r))[0] == stem), None)
        if result is None:
            return f"<p><strong>There is no Result named {html.escape(stem)}.</strong></p>"
        if result in self.left:
            self.left.remove(result)
        return self._figure(result, caption)

    def rest(self):
        """HTML of the pictures that the text does not mention."""
        figures = [self._figure(result, "") for result in self.left]
        self.left = []
        return "\n".join(figures)

    def _figure(self, result, caption):
        name = html.escape(os.path.join(self.folder, result))
        exists = os.path.exists(os.path.join(self.record.folder, result))
        flows = self.record.behind(result)
        picture = f'<a href="{name}"><img src="{name}" alt="{html.escape(caption or result)}"></a>' if exists else "<p><strong>not made</strong></p>"
        facts = html.escape(self._facts(flows))
        text = markdown.inline(caption) + " " if caption else ""
        own = html.escape(brief(flows[-1].command, self.root)) if flows else ""
        return (
            f'<figure id="{name}">{picture}<figcaption>{text}<span class="facts">{html.escape(result)}: {facts}</span>'
            f"</figcaption><pre>{own}</pre>{self._before(flows[:-1])}</figure>"
        )

    def _facts(self, flows):
        if not flows:
            return "time and device were not recorded"
        devices = self.record.devices(flows)
        where = f" on {'; '.join(devices)}" if devices else ""
        return f"made in {duration(flows[-1].seconds)}; with everything that it depends on, in {duration(sum(f.seconds for f in flows))}{where}"

    def _before(self, flows):
        if not flows:
            return ""
        lines = "\n".join(f"{html.escape(brief(f.command, self.root))}   <span class=\"facts\"># {duration(f.seconds)}</span>" for f in flows)
        return f"<details><summary>the {len(flows)} commands before it</summary><pre>{lines}</pre></details>"


def chapter(entry, record, folder, root, answers=True):
    """HTML of one chapter, with its answers or without."""
    pictures = Pictures(record, folder, root)
    text = entry.text() if answers else handouts.without_answers(entry.text())[0]
    lines = text.strip().splitlines()
    body = markdown.page("\n".join(lines[1:]), pictures.shown)
    anchor = html.escape(entry.name)
    return f'<h2 id="{anchor}">{markdown.inline(entry.title())}</h2>\n{body}\n{pictures.rest()}'


def write(path, version, chapters, answers=True):
    """Writes the page; `chapters` are (Chapter, Record, folder relative to the page)."""
    root = chapters[0][3] if chapters else ""
    links = "".join(f'<li><a href="#{html.escape(c.name)}">{markdown.inline(c.title())}</a></li>' for c, *_ in chapters)
    body = "\n".join(chapter(*entry, answers) for entry in chapters)
    date = time.strftime("%Y-%m-%d %H:%M")
    text = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Sifaka: the book</title>'
        f"<style>{STYLE}</style></head>\n<body><h1>Sifaka: the book</h1>\n"
        f'<p class="facts">{html.escape(version)}, made {date}</p>\n<ol>{links}</ol>\n{body}\n</body></html>\n'
    )
    draft = path + ".new"
    with open(draft, "w", encoding="utf-8") as out:
        out.write(text)
    os.replace(draft, path)


def browser():
    """The first Chromium on PATH, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def pdf(index):
    """Prints the page to book.pdf next to it, with its answers unfolded; returns 0, or 1 if there is no browser or the browser fails."""
    out = os.path.join(os.path.dirname(index), "book.pdf")
    program = browser()
    if not program:
        sys.stderr.write(f"sifaka: pdf=y needs a Chromium on PATH ({', '.join(BROWSERS)}; Debian: apt install chromium-headless-shell), or print {index} in any browser.\n")
        return 1
    with tempfile.TemporaryDirectory() as profile:
        words = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", f"--user-data-dir={profile}", f"--print-to-pdf={out}"]
        done = subprocess.run([program, *words, "file://" + os.path.abspath(index)], capture_output=True, text=True)
    if done.returncode or not os.path.exists(out):
        sys.stderr.write(f"sifaka: {program} did not print {index}: {done.stderr.strip()[-500:]}\n")
        return 1
    print(f"the book as PDF: {out}", flush=True)
    return 0
