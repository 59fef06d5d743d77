"""`scons book`: chapters are found, run outside the source tree, and shown on one page."""
import contextlib
import functools
import io
import os
import re
import shutil
import subprocess
import tempfile
import unicodedata
import unittest
from unittest import mock

from support import FLOWS, MODEL, NAMES, TOP, Scratch, clean

from suite import book, chapters, markdown, page, record

CHAPTER = f"""
from rsf.proj import *
n = 41 if ARGUMENTS.get('full', 'n') == 'y' else 21
Flow('model', None, '{MODEL.replace("n1=31", "n1=%d")}' % n)
Flow('copy', 'model helper.py', 'python3 ${{SOURCES[1]}} | /bin/cat')
Result('first', 'copy', 'grey frame=0 title="a | b"')
Result('second', 'model', 'grey frame=1 format=svg')
End()
"""
TEXT = """# Waves & stones

Text with `code <x>`, **strong** words and a [link](https://example.org).

![The **first** picture](Fig/first.png)

- one
- two
  more

| a | b |
| --- | --- |
| `1` | 2 |

```
x < y
```
"""


def quietly(function, *words, **more):
    """Calls a function of the book; returns its result and its messages. The output of SCons is dropped."""
    out, err = io.StringIO(), io.StringIO()
    silent = functools.partial(subprocess.run, capture_output=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), mock.patch.object(subprocess, "run", silent):
        status = function(*words, **more)
    return status, out.getvalue() + err.getvalue()


class Book(Scratch):
    """A book of two chapters in a folder that looks like a checkout."""

    def setUp(self):
        super().setUp()
        self.write("book/paper/one/fig1/SConstruct", CHAPTER)
        self.write("book/paper/one/fig1/helper.py", "import sys\nsys.stdout.write(sys.stdin.read())\n")
        self.write("book/paper/one/fig1/README.md", TEXT)
        self.write("book/user/2-second/SConstruct", "from rsf.proj import *\nEnd()\n")
        self.write("book/flows/rsf/SConstruct", "not a chapter")
        self.environment = clean(os.environ)

    def make(self, **more):
        return quietly(book.make, self.folder, self.environment, [__file__], **more)

    def test_from_sources_to_page_and_nothing_the_second_time(self):
        self.assertEqual([c.name for c in chapters.find(self.path("book"))], ["user/2-second", "paper/one/fig1"])
        sources = self.names("book/paper/one/fig1")
        status, text = self.make(version="sifaka-1")
        self.assertEqual(status, 0, text)
        self.assertIn(f"2 chapters and 2 pictures: {self.path('build/book/index.html')}", text)
        self.assertEqual(self.names("book/paper/one/fig1"), sources, "nothing is made among the sources")
        html = self.read("build/book/index.html")
        for words in (
            "<h2 id=\"paper/one/fig1\">Waves &amp; stones</h2>",
            "<code>code &lt;x&gt;</code>",
            '<img src="paper/one/fig1/Fig/first.png" alt="The **first** picture">',
            "sfgrey frame=0 title=&quot;a | b&quot; &gt; Fig/first.png",
            "sfstiffness vp=2.5",
            "the 2 commands before it",
            "sifaka-1, made",
        ):
            self.assertIn(words, html)
        self.assertEqual(html.count("<img "), 2, "every picture once")
        self.assertLess(html.index("first.png"), html.index("<table>"), "where the text has it")
        self.assertGreater(html.index("second.svg"), html.index("<table>"), "else at the end")
        self.assertRegex(html, r"made in \d+ ms; with everything that it depends on, in ")
        self.assertNotIn(FLOWS, html)
        for address in re.findall(r'<img src="([^"]+)"', html):
            self.assertGreater(os.path.getsize(self.path("build/book", address)), 1000)
        with mock.patch.object(chapters, "run", side_effect=AssertionError("nothing is to be run")):
            self.assertEqual(self.make()[0], 0)

    def test_changes_are_run_again_and_full_is_apart(self):
        self.assertEqual(self.make()[0], 0)
        os.remove(self.path("build/book/paper/one/fig1/Fig/first.png"))
        self.assertIn("Waves & stones (paper/one/fig1)", self.make()[1])
        self.assertTrue(os.path.exists(self.path("build/book/paper/one/fig1/Fig/first.png")))
        os.remove(self.path("book/paper/one/fig1/helper.py"))
        self.write("book/paper/one/fig1/SConstruct", CHAPTER.replace(" helper.py", "").replace("python3 ${SOURCES[1]}", "/bin/cat"))
        self.assertEqual(self.make(what=(True, (), True))[0], 0)
        self.assertIn("n1=41", self.read("build/book-full/paper/one/fig1/model.rsf"))
        self.assertIn("n1=21", self.read("build/book/paper/one/fig1/model.rsf"))
        self.assertNotIn("helper.py", self.names("build/book-full/paper/one/fig1"))

    def test_chapters_by_name(self):
        status, text = self.make(what=(False, ["paper/one/fig1"], True))
        self.assertEqual(status, 0, text)
        self.assertFalse(os.path.exists(self.path("build/book/user/2-second")), "not asked for")
        status, text = self.make(what=(False, ["paper/two"], True))
        self.assertEqual(status, 1)
        self.assertIn("no chapter is called paper/two; there are user/2-second, paper/one/fig1", text)

    def test_a_page_alone_is_a_chapter_before_the_folders_in_it(self):
        self.write("book/README.md", "# not a chapter\n")
        self.write("book/paper/one/README.md", "# A paper\n\nIts figures follow.\n")
        found = chapters.find(self.path("book"))
        self.assertEqual([c.name for c in found], ["user/2-second", "paper/one", "paper/one/fig1"])
        status, text = self.make()
        self.assertEqual(status, 0, text)
        self.assertIn("3 chapters and 2 pictures", text)
        self.assertIn("Its figures follow.", self.read("build/book/index.html"))
        self.assertNotIn("README.md", self.names("build/book/paper/one"), "only what runs is linked into the build folder")

    def test_chapters_that_fail_are_named_and_the_rest_is_made(self):
        self.write("book/user/1-bad/SConstruct", "from rsf.proj import *\nResult('never', None, 'stiffness vp=1')\nEnd()\n")
        status, text = self.make()
        self.assertEqual(status, 1)
        self.assertIn("1 of 3 chapters failed: user/1-bad", text)
        html = self.read("build/book/index.html")
        self.assertIn("not made", html)
        self.assertIn("first.png", html)
        shutil.rmtree(self.path("book/user/1-bad"))
        self.assertEqual(self.make()[0], 0)


    def test_the_demo_ends_with_where_its_pictures_are(self):
        self.write("book/user/demo/SConstruct", CHAPTER.replace(" helper.py", "").replace("python3 ${SOURCES[1]}", "/bin/cat"))
        self.write("book/user/demo/README.md", TEXT)
        for _ in range(2):
            status, text = quietly(book.demo, self.folder, self.environment, [__file__])
            self.assertEqual(status, 0, text)
            first, second = self.path("build/demo/Fig/first.png"), self.path("build/demo/Fig/second.svg")
            self.assertIn(f"\npictures\n  {first}\n      The **first** picture\n  {second}\n", text)
            self.assertGreater(os.path.getsize(first), 1000)
        self.assertNotIn("== ", text, "the second time nothing is run")


class Records(Scratch):
    def test_devices_are_lines_of_the_history(self):
        self.write("data.rsf", "sifaka-0.1\tsfx\tplace:\tme@host\tnow\n\nsifaka-0.1\tGPU 0 (sm_90)\n\tn1=5\nsifaka-0.1\tCPU, 2 threads\n")
        self.assertEqual(record.devices_of(self.path("data.rsf")), ["GPU 0 (sm_90)", "CPU, 2 threads"])
        self.assertEqual(record.devices_of(self.path("none.rsf")), [])

    def test_modelling_programs_write_such_lines(self):
        with open(os.path.join(TOP, "rsf-io", "src", "output.rs"), encoding="utf-8") as text:
            self.assertIn('"{version}\\t{device}"', text.read())

    def test_times(self):
        self.assertEqual([page.duration(s) for s in (0.0123, 2, 99.94, 150)], ["12 ms", "2.0 s", "99.9 s", "2.5 min"])


class Markdown(unittest.TestCase):
    def test_blocks(self):
        html = markdown.page("## Head\na *b* c\nd\n1. x\n2. y\n\n3. z\n\n| h |\n| - |\n| a \\| b |\n", lambda *_: "")
        self.assertEqual(
            html,
            "<h3>Head</h3>\n<p>a <em>b</em> c d</p>\n<ol><li>x</li><li>y</li><li>z</li></ol>\n"
            "<table><tr><th>h</th></tr><tr><td>a | b</td></tr></table>",
        )

    def test_answers_are_folded_away(self):
        html = markdown.page("## Exercises\n1. why\n\n## Answers\n1. because\n\n### more\n\n## After\nx", lambda *_: "")
        self.assertEqual(
            html,
            "<h3>Exercises</h3>\n<ol><li>why</li></ol>\n<details><summary><h3>Answers</h3></summary>\n"
            "<ol><li>because</li></ol>\n<h4>more</h4>\n</details>\n<h3>After</h3>\n<p>x</p>",
        )

    def test_every_exercise_of_the_book_has_its_answer(self):
        asked = 0
        for chapter in chapters.find(os.path.join(TOP, "book")):
            parts = dict(re.findall(r"^## (Exercises|Answers)\n(.*?)(?=^## |\Z)", chapter.text(), re.MULTILINE | re.DOTALL))
            count = {name: re.findall(r"^(\d+)\. ", part, re.MULTILINE) for name, part in parts.items()}
            # The answers of an assessment do not belong to exercises.
            self.assertEqual(count.get("Exercises"), count.get("Answers") or None, chapter.name)
            asked += len(count.get("Exercises", []))
        self.assertGreater(asked, 40)

    def test_captions_name_the_colours(self):
        """Captions say what the colours mean, because not all pictures have a colour bar or a legend."""
        named = re.compile(r"\bred\b|blue|orange|green|pink|yellow|white|black|grey|colours as in")
        captions = 0
        for chapter in chapters.find(os.path.join(TOP, "book")):
            for caption in re.findall(r"^!\[(.*)\]\(Fig/", chapter.text(), re.MULTILINE):
                self.assertRegex(caption, named, chapter.name)
                captions += 1
        self.assertGreater(captions, 70)

    def test_the_commands_of_the_pages_run(self):
        """Runs all commands of a page in order, as a reader types them, except on the longest pages, whose flows the book runs."""
        for name in ("01-first-shot", "02-models", "03-sources-and-receivers", "04-accuracy", "05-boundaries", "06-anisotropy",
                     "08-gathers-and-moveout"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                chapter = chapters.Chapter(os.path.join(TOP, "book"), os.path.join("user", name))
                blocks = re.findall(r"^```\n((?:sf|G=).*?)^```", chapter.text(), re.MULTILINE | re.DOTALL)
                self.assertTrue(blocks)
                environment = dict(clean(os.environ), PATH=NAMES + os.pathsep + os.environ["PATH"], DATAPATH=folder + os.sep)
                words = ["bash", "-e", "-c", "\n".join(blocks)]
                run = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
                self.assertEqual(run.returncode, 0, run.stderr)
                if name.startswith("08"):
                    # The bell of amplitude 1 is flat in every midpoint gather, and so is the stack.
                    words = ["bash", "-c", "sfmax < stack.rsf axis=1 | sfdisfil col=1 number=n"]
                    peaks = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout.split()
                    self.assertEqual(len(peaks), 62)
                    self.assertGreater(min(map(float, peaks)), 0.998)
                    self.assertNotIn("CDPtype", run.stderr)

    def test_commands_that_need_the_flow_of_a_chapter_say_so(self):
        """If commands read files that no earlier command of the page makes, the page must say which flow makes them."""
        needing = set()
        for chapter in chapters.find(os.path.join(TOP, "book")):
            commands = "\n".join(re.findall(r"^```\n(sf.*?|G=.*?|for .*?)^```", chapter.text(), re.MULTILINE | re.DOTALL))
            made = set(re.findall(r"(?:> |=)(\w[\w-]*)\.rsf", commands))
            # In a loop, the name of the file is made of the loop's word.
            for name, words in re.findall(r"^for (\w+) in (.*?); ?do", commands, re.MULTILINE):
                ends = re.findall(rf"> \$\{{{name}(?:%=\*)?\}}(\w*)\.rsf", commands)
                made.update(word.partition("=")[0] + end for word in words.split() for end in ends)
            lacking = set(re.findall(r"< (\w[\w-]*)\.rsf", commands)) - made
            if lacking and chapter.runs() and chapter.name.startswith("user/"):
                needing.add(os.path.basename(chapter.name))
                self.assertIn("made by the flow of this chapter", chapter.text(), lacking)
        self.assertLessEqual({"14-an-image", "15-a-better-image", "16-the-rock-itself", "22-a-gradient-under-a-hill"}, needing)

    def test_cited_works_are_in_the_references(self):
        """A name with a year in a page or in the help of a program is in chapter 19 with the same year."""
        plain = lambda text: unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()  # noqa: E731
        texts = {chapter.name: chapter.text() for chapter in chapters.find(os.path.join(TOP, "book")) if chapter.name.startswith("user/")}
        references = plain(next(texts.pop(name) for name in list(texts) if "references" in name)).splitlines()
        cited = re.compile(r"\b([A-Z][a-z]+)((?:,? (?:and|et al\.?|others|[A-Z][a-z]+|[A-Z]\.))*),? \(?((?:19|20)\d\d)\)?")
        found = {(name, year) for text in texts.values() for name, _, year in cited.findall(plain(text))}
        self.assertGreaterEqual(len(found), 7)
        for name, year in found:
            self.assertTrue(any(name in line and year in line for line in references), f"{name} {year} is not in the references")

    def test_marks_that_mean_nothing_stay(self):
        self.assertEqual(markdown.inline("2 * 3 * 4 < 5 & `a*b*c`"), "2 * 3 * 4 &lt; 5 &amp; <code>a*b*c</code>")

    def test_pictures_stand_alone(self):
        self.assertEqual(markdown.page("![cap](Fig/a.png)", lambda a, c: f"<{a},{c}>"), "<Fig/a.png,cap>")


if __name__ == "__main__":
    unittest.main()
