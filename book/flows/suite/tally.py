"""The result of a run of tests: the numbers of passed, failed and skipped tests, with the reasons for skipping."""
import re

UNITTEST = re.compile(r"Ran (\d+) tests? in")
COUNTS = re.compile(r"(failures|errors|skipped)=(\d+)")
RESULT = re.compile(r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored")
# A line that a test prints itself, bypassing the capture of output; cargo counts such a test as passed.
SKIPPED = re.compile(r"skipped ([\w:]+)(?: on a GPU)?: (.+)")
# A test with the attribute `ignore` and a reason; cargo counts these itself.
IGNORED = re.compile(r"test ([\w:]+) \.\.\. ignored, (.+)")
# Python's unittest with -v: "test_name (place) ... skipped 'why'", the first part on a line of its own where there is a description.
PYTHON = re.compile(r"(?:(\w+) \(([\w.]+)\))?.* \.\.\. skipped ['\"](.+)['\"]$")


class Tally:
    """Counts of tests, from lines of output."""

    def __init__(self):
        self.passed = self.failed = self.ignored = self.targets = 0
        self.reasons = {}

    def read(self, line):
        """Reads a line of the output of cargo or unittest."""
        line = line.rstrip()
        if match := RESULT.search(line):
            passed, failed, ignored = (int(number) for number in match.groups())
            self.passed += passed
            self.failed += failed
            self.ignored += ignored
            self.targets += 1
        elif match := UNITTEST.match(line):
            self.passed += int(match.group(1))
            self.targets += 1
        elif line.startswith(("OK (", "FAILED (")):
            count = {word: int(number) for word, number in COUNTS.findall(line)}
            failed, skipped = count.get("failures", 0) + count.get("errors", 0), count.get("skipped", 0)
            self.passed -= failed + skipped
            self.failed += failed
            self.ignored += skipped
        elif match := SKIPPED.search(line):
            self.skip(*match.groups())
        elif match := IGNORED.match(line):
            self.reasons.setdefault(match.group(1), (match.group(2), 0))
        elif match := PYTHON.match(line):
            # unittest counts skipped tests itself.
            self.reasons.setdefault(match.group(1) or line.split(" ... ")[0], (match.group(3), 0))

    def skip(self, test, reason):
        """Counts a test that did not run, although cargo has counted it as passed."""
        self.reasons.setdefault(test, (reason, 1))

    def missed(self, tests, reason):
        """Counts tests that were not started."""
        self.reasons.setdefault(tests, (reason, 0))
        self.ignored += 1

    def count(self):
        """The number of tests that ran and passed, without tests that reported that they were skipped, which cargo counts as passed."""
        return self.passed - min(sum(counted for _, counted in self.reasons.values()), self.passed)

    def too_few(self, floor):
        """A message if fewer tests passed than `floor`, which is a number as text; otherwise an empty string."""
        if not floor:
            return None
        if not floor.isdigit():
            return f"REQUIRE_TESTS={floor}: this must be a whole number, the least number of tests that must pass"
        if self.count() < int(floor):
            return (
                f"{self.count()} tests passed, but at least REQUIRE_TESTS={floor} must pass: tests are missing or were skipped; "
                "if they were removed on purpose, lower the number in .ci/run"
            )
        return None

    def summary(self):
        """The reasons of skipped tests, then a line with the counts."""
        reasons = {}
        for test, (reason, _) in self.reasons.items():
            reasons.setdefault(reason, []).append(test)
        lines = []
        for reason, tests in sorted(reasons.items()):
            few = ", ".join(sorted(tests)[:4]) + (", ..." if len(tests) > 4 else "")
            lines.append(f"skipped {len(tests)}, {reason} ({few})")
        silent = self.passed - self.count()
        lines.append(f"tests: {self.count()} passed, {self.failed} failed, {self.ignored + silent} skipped")
        return "\n".join(lines)
