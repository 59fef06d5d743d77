"""What a run of tests came to: passed, failed, and skipped with the reasons."""
import re

UNITTEST = re.compile(r"Ran (\d+) tests? in")
COUNTS = re.compile(r"(failures|errors|skipped)=(\d+)")
RESULT = re.compile(r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored")
# Said by a test itself, past the capture of its output: cargo counts it as passed.
SKIPPED = re.compile(r"skipped ([\w:]+)(?: on a GPU)?: (.+)")
# Left out by cargo's own attribute, with its reason: it counts these itself.
IGNORED = re.compile(r"test ([\w:]+) \.\.\. ignored, (.+)")
# Python's unittest with -v: "test_name (place) ... skipped 'why'", the first part on a line of its own where there is a description.
PYTHON = re.compile(r"(?:(\w+) \(([\w.]+)\))?.* \.\.\. skipped ['\"](.+)['\"]$")


class Tally:
    """Counts, fed with lines of output."""

    def __init__(self):
        self.passed = self.failed = self.ignored = self.targets = 0
        self.reasons = {}

    def hear(self, line):
        """One line of what cargo or unittest says."""
        line = line.rstrip()
        if found := RESULT.search(line):
            passed, failed, ignored = (int(number) for number in found.groups())
            self.passed += passed
            self.failed += failed
            self.ignored += ignored
            self.targets += 1
        elif found := UNITTEST.match(line):
            self.passed += int(found.group(1))
            self.targets += 1
        elif line.startswith(("OK (", "FAILED (")):
            count = {word: int(number) for word, number in COUNTS.findall(line)}
            failed, skipped = count.get("failures", 0) + count.get("errors", 0), count.get("skipped", 0)
            self.passed -= failed + skipped
            self.failed += failed
            self.ignored += skipped
        elif found := SKIPPED.search(line):
            self.skip(*found.groups())
        elif found := IGNORED.match(line):
            self.reasons.setdefault(found.group(1), (found.group(2), 0))
        elif found := PYTHON.match(line):
            # unittest counts its own.
            self.reasons.setdefault(found.group(1) or line.split(" ... ")[0], (found.group(3), 0))

    def skip(self, test, reason):
        """A test that did not run, though cargo has counted it as passed."""
        self.reasons.setdefault(test, (reason, 1))

    def missed(self, tests, reason):
        """Tests that were not started."""
        self.reasons.setdefault(tests, (reason, 0))
        self.ignored += 1

    def count(self):
        """Tests that ran and passed, those that said that they were skipped left out."""
        # What a test said of itself stands among the passed ones.
        return self.passed - min(sum(counted for _, counted in self.reasons.values()), self.passed)

    def too_few(self, floor):
        """What is to be said where fewer tests passed than `floor`, the number that a caller gives as text; else nothing."""
        if not floor:
            return None
        if not floor.isdigit():
            return f"REQUIRE_TESTS={floor} must be the number of tests that pass at least"
        if self.count() < int(floor):
            return (
                f"{self.count()} tests passed and REQUIRE_TESTS={floor} asks for as many at least: tests are missing or were skipped; "
                "where they were removed on purpose, lower the number in .ci/run"
            )
        return None

    def summary(self):
        """The reasons of what was skipped, then one line with the counts."""
        told = {}
        for test, (reason, _) in self.reasons.items():
            told.setdefault(reason, []).append(test)
        lines = []
        for reason, tests in sorted(told.items()):
            few = ", ".join(sorted(tests)[:4]) + (", ..." if len(tests) > 4 else "")
            lines.append(f"skipped {len(tests)}, {reason} ({few})")
        silent = self.passed - self.count()
        lines.append(f"tests: {self.count()} passed, {self.failed} failed, {self.ignored + silent} skipped")
        return "\n".join(lines)
