"""The book's page in a real browser: links, pictures, folded answers, formulas, the width of a telephone."""
import contextlib
import io
import json
import os
import re
import struct
import subprocess
import types
import unittest
import zlib
from unittest import mock

from support import TOP, Scratch

from suite import chapters, page

BROWSER = page.browser()
PHONE = 360

# What the browser reports about the page after a click on every folded part that `OPEN` selects.
MEASURE = """
const all = (what) => [...document.querySelectorAll(what)];
const shown = (element) => element.checkVisibility() && element.getBoundingClientRect().height > 0;
const folded = all('details').filter((d) => d.querySelector('summary h3'));
const before = folded.map((d) => shown(d.lastElementChild));
folded.forEach((d) => d.querySelector('summary').click());
// Tables, commands and formulas scroll by themselves; nothing else may be wider than the page.
const wide = all('body *').filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('table, pre, math'));
const result = {
  width: innerWidth, beyond: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  dead: all('a[href^="#"]').map((a) => a.getAttribute('href')).filter((h) => !document.getElementById(decodeURIComponent(h.slice(1)))),
  phone: !!document.querySelector('meta[name=viewport]'), links: all('a[href^="#"]').length,
  pictures: all('img').length, broken: all('img').filter((i) => !i.complete || i.naturalWidth === 0).map((i) => i.src),
  folded: before.length, open: before.filter(Boolean).length, opened: folded.filter((d) => shown(d.lastElementChild)).length,
  formulas: all('math').length, flat: all('math').filter((m) => m.getBoundingClientRect().height === 0).length,
  high: all('math mfrac').filter((m) => m.getBoundingClientRect().height > 20).length,
  wide: wide.slice(0, 5).map((e) => e.tagName + ': ' + e.textContent.slice(0, 60)),
};
const out = document.createElement('script');
out.type = 'application/json'; out.id = 'measured'; out.textContent = JSON.stringify(result);
document.body.append(out);
"""


def png(path, width, height):
    """A grey picture."""

    def part(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = (b"\0" + b"\x80" * width) * height
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        out.write(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b""))


@unittest.skipUnless(BROWSER or os.environ.get("REQUIRE_BROWSER"), "skipped: no Chromium here (Debian: chromium-headless-shell)")
class Browser(Scratch):
    def page(self, most=None):
        """Writes the page of all chapters (or of the first), with a grey picture in place of each of theirs, so that no flow runs."""
        entries = []
        for chapter in chapters.find(os.path.join(TOP, "book"))[:most]:
            results = re.findall(r"^!\[.*\]\((Fig/[^)\s]+)\)", chapter.text(), re.MULTILINE)
            results = [os.path.splitext(result)[0] + ".png" for result in results]
            folder = self.path(chapter.name)
            for result in results:
                png(os.path.join(folder, result), 900, 500)
            record = types.SimpleNamespace(results=results, folder=folder, behind=lambda result: [], devices=lambda flows: [])
            entries.append((chapter, record, chapter.name, TOP))
        page.write(self.path("index.html"), "test", entries)
        return len(entries)

    def measured(self, width):
        """What the browser finds in a window of this width."""
        text = self.read("index.html").replace("</body>", f"<script>onload = () => {{{MEASURE}}};</script></body>")
        self.write("measured.html", text)
        words = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", f"--window-size={width},800", "--dump-dom"]
        done = subprocess.run([BROWSER, *words, f"--user-data-dir={self.path('profile')}", "file://" + self.path("measured.html")], capture_output=True, text=True, timeout=600)
        found = re.search(r'<script type="application/json" id="measured">(.*?)</script>', done.stdout, re.DOTALL)
        self.assertTrue(found, done.stderr[-2000:])
        return json.loads(found.group(1))

    def test_the_page_of_all_chapters(self):
        count = self.page()
        for width in (1200, PHONE):
            found = self.measured(width)
            self.assertEqual(found["width"], width)
            self.assertGreaterEqual(found["links"], count)
            self.assertEqual((found["phone"], found["dead"], found["broken"]), (True, [], []))
            self.assertGreater(found["pictures"], 40)
            # Answers are folded until a reader opens them.
            self.assertGreater(found["folded"], 10)
            self.assertEqual((found["open"], found["opened"]), (0, found["folded"]))
            # MathML is rendered: fractions are higher than a line.
            self.assertGreater(found["formulas"], 15)
            self.assertEqual(found["flat"], 0)
            self.assertGreater(found["high"], 0)
            self.assertEqual((found["beyond"], found["wide"]), (0, []), f"at {width}")


    def test_the_page_as_pdf(self):
        count = self.page(3)
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(page.pdf(self.path("index.html")), 0)
        with open(self.path("book.pdf"), "rb") as file:
            data = file.read()
        self.assertEqual(data[:5], b"%PDF-")
        # Every chapter begins on a new page.
        self.assertGreater(len(re.findall(rb"/Type\s*/Page\b", data)), count)

    def test_without_a_browser_a_sentence_says_what_to_do(self):
        said = io.StringIO()
        with mock.patch.object(page, "browser", lambda: None), contextlib.redirect_stderr(said):
            self.assertEqual(page.pdf(self.path("index.html")), 1)
        self.assertIn("apt install chromium-headless-shell), or print", said.getvalue())


if __name__ == "__main__":
    unittest.main()
