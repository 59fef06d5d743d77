"""The last line of `./sconsw test`: a test that did not run does not count as passed."""
import sys
import os
import unittest

from support import TOP

sys.path.insert(0, os.path.join(TOP, "book", "flows"))
from suite.tally import Tally

CARGO = """
running 4 tests
test other ... ok
skipped gpus::one: no GPU was found: no driver
test gpus::two ... skipped gpus::two: no GPU was found: no driver
skipped gpus::two: no GPU was found: no driver
skipped real_gpus_agree on a GPU: no driver
test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
test many::long_one ... ignored, long: ./sconsw test full=y
test result: FAILED. 3 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
"""
PYTHON = """
test_one (flow_test.Flows.test_one) ... ok
test_two (data_test.Arrays.test_two)
Arrays of numbers. ... skipped 'numpy is not there'
test_three (data_test.Arrays.test_three) ... skipped 'numpy is not there'
----------------------------------------------------------------------
Ran 8 tests in 0.001s

FAILED (failures=1, errors=1, skipped=2)
"""


class Counts(unittest.TestCase):
    def tally(self, text):
        tally = Tally()
        for line in text.splitlines(keepends=True):
            tally.read(line)
        return tally

    def test_a_test_that_says_that_it_is_skipped_is_not_passed(self):
        lines = self.tally(CARGO).summary().splitlines()
        self.assertEqual(lines[-1], "tests: 4 passed, 2 failed, 4 skipped")
        self.assertIn("skipped 2, no GPU was found: no driver (gpus::one, gpus::two)", lines)
        self.assertIn("skipped 1, no driver (real_gpus_agree)", lines)
        self.assertIn("skipped 1, long: ./sconsw test full=y (many::long_one)", lines)

    def test_those_of_python_are_counted_with_their_reasons(self):
        lines = self.tally(PYTHON).summary().splitlines()
        self.assertEqual(lines[-1], "tests: 4 passed, 2 failed, 2 skipped")
        self.assertEqual([line[:9] for line in lines[:-1]], ["skipped 2"])
        self.assertIn("numpy is not there", lines[0])

    def test_what_was_not_started_is_told(self):
        tally = self.tally("Ran 3 tests in 1s\n\nOK\n")
        tally.missed("tests of several ranks", "there is no MPI")
        lines = tally.summary().splitlines()
        self.assertEqual(lines, ["skipped 1, there is no MPI (tests of several ranks)", "tests: 3 passed, 0 failed, 1 skipped"])

    def test_fewer_tests_than_the_floor_are_told(self):
        tally = self.tally(CARGO)
        self.assertIsNone(tally.too_few(None))
        self.assertIsNone(tally.too_few("4"))
        self.assertIn("4 tests passed, but at least REQUIRE_TESTS=5 must pass", tally.too_few("5"))
        self.assertIn("this must be a whole number", tally.too_few("many"))


if __name__ == "__main__":
    unittest.main()
