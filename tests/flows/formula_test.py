"""Formulas of pages: well-formed MathML, and the expected text on the pages."""
import os
import re
import unittest
import xml.etree.ElementTree as tree

from support import TOP

from suite import chapters, formula, handouts, markdown


def shape(text):
    """The nested elements of the MathML of a formula, with their text."""

    def told(element):
        inner = (element.text or "") + "".join(map(told, element))
        return f"{element.tag}({inner})" if len(element) else inner

    return told(tree.fromstring(formula.inline(text)))


class Formulas(unittest.TestCase):
    def test_parts(self):
        for text, wanted in (
            ("v_p^2", "math(mrow(msubsup(vp2)))"),
            (r"\frac{1}{2 \rho}", "math(mrow(mfrac(mrow(1)mrow(2ρ))))"),
            (r"\sqrt{1 + 2 \delta}", "math(mrow(msqrt(mrow(1+2δ))))"),
            (r"\sin^2 a - 1.5", "math(mrow(msup(sin2)a−1.5))"),
            (r"c_{33} \text{ and so on}", "math(mrow(msub(cmrow(33)) and so on))"),
            (r"\langle \mu \rangle < 3", "math(mrow(⟨μ⟩<3))"),
        ):
            self.assertEqual(shape(text), wanted, text)

    def test_lines(self):
        found = tree.fromstring(formula.block(r"a &= 1 \\ b &= \frac{a}{2}"))
        self.assertEqual(len(found.findall("./mtable/mtr/mtd")), 4)
        self.assertEqual(found.find("mtable").get("columnalign"), "right left")
        self.assertEqual(tree.fromstring(formula.block("a = 1")).get("display"), "block")

    def test_what_cannot_be_set_is_told(self):
        for text, words in ((r"\frc{1}{2}", r"\\frc is not known"), (r"\frac{1}", "opening bracket"), ("a^{2", "closing bracket"), ("a}", "too many"), ("a^", "at the end")):
            with self.assertRaisesRegex(formula.Formula, words):
                formula.inline(text)

    def test_pages(self):
        page = markdown.page("Here is $a_1 + b$, `$HOME` and 5 $ or 6 $ of it.\n\n```math\nx = 1\n```\n", None)
        self.assertEqual((page.count("<math>"), page.count('<math display="block">'), page.count("<code>$HOME</code>")), (1, 1, 1))
        self.assertIn("5 $ or 6 $ of it", page)
        blocks = 0
        for chapter in chapters.find(os.path.join(TOP, "book")):
            made = markdown.page(chapter.text(), lambda address, caption: "")
            for found in re.findall(r"<math.*?</math>", made):
                tree.fromstring(found)
            blocks += made.count('<math display="block">')
        self.assertGreaterEqual(blocks, 3)

    def test_notebooks_have_them_as_latex(self):
        chapter = next(chapter for chapter in chapters.find(os.path.join(TOP, "book")) if chapter.name == "user/02-models")
        cells = handouts.notebook(chapter)["cells"]
        found = ["".join(cell["source"]) for cell in cells if "aligned" in "".join(cell["source"])]
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("$$\\begin{aligned}\nc_{33}") and found[0].endswith("\\end{aligned}$$"), found[0])


if __name__ == "__main__":
    unittest.main()
