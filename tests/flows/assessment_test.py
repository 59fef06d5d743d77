"""The assessment: a rock that depends on the student's word and number, and marks for answers."""
import os
import subprocess
import sys
import unittest

from support import TOP

FOLDER = os.path.join(TOP, "book", "user", "20-assessment")


def told(*words):
    return subprocess.run([sys.executable, "rock.py", *words], cwd=FOLDER, capture_output=True, text=True)


class Assessment(unittest.TestCase):
    def test_every_student_has_a_rock_and_no_rock_is_told_without_the_word(self):
        rocks = [told(word, str(number)).stdout for word in ("mine", "yours") for number in range(8)]
        self.assertEqual(len(set(rocks)), 16)
        self.assertEqual(rocks[0], told("mine", "0").stdout)
        for rock in rocks:
            values = {key: int(value) for key, value in (line.split("=") for line in rock.split())}
            self.assertEqual(list(values), ["v1", "h1", "v2", "h2"])
            self.assertTrue(1900 <= values["v1"] <= 2300 and 2600 <= values["v2"] <= 3200, rock)
            # The interfaces are half way between the nodes of the grid.
            self.assertEqual((values["h1"] % 10, values["h2"] % 10), (5, 0))

    def test_marks(self):
        true = dict(line.split("=") for line in told("mine", "3").stdout.split())
        answers = [f"v1={1.009 * int(true['v1']):.1f}", f"h1={0.96 * int(true['h1']):.1f}", f"v2={true['v2']}"]
        lines = told("mine", "3", *answers).stdout.splitlines()
        self.assertRegex(lines[0], r"v1: .* m/s is \+0.\d\d % off, 1 % are allowed: right")
        self.assertRegex(lines[1], r"h1: .* m is -4.00 % off, 3 % are allowed: wrong")
        self.assertEqual(lines[3:], ["h2: no answer", "2 of 4 are right"])
        wrong = told("mine", "3", "v3=1")
        self.assertEqual((wrong.returncode, wrong.stderr), (1, "v3 is not asked for: the answers are v1, h1, v2, h2\n"))

    def test_words_of_the_flow_and_numbers_with_zeros(self):
        for words in (["word=mine", "number=3"], ["mine", "03"]):
            self.assertEqual(told(*words).stdout, told("mine", "3").stdout)
        for words in (["mine", "nummer=3"], ["mine", "three"], ["Word=mine", "3"]):
            self.assertIn("give the word and then the number of a student", told(*words).stderr)


if __name__ == "__main__":
    unittest.main()
