"""The rock of an assessment, generated from a secret word of the lecturer and the number of a student, and the marking of answers.

    python3 rock.py WORD NUMBER                          prints the layers as lines of KEY=VALUE
    python3 rock.py WORD NUMBER v1=2150 h1=480 ...       prints which of these answers are right
"""
import hashlib
import random
import sys

# The smallest and the largest value, and the allowed relative error of an answer.
RANGES = {"v1": (1900, 2300, 0.01), "h1": (400, 600, 0.03), "v2": (2600, 3200, 0.2), "h2": (400, 600, 0.2)}
UNITS = {"v": "m/s", "h": "m"}


def rock(word, number):
    """The P velocities and thicknesses of the two layers over the half space."""
    draw = random.Random(hashlib.sha256(f"{word}/{number}".encode()).digest())
    drawn = {key: 10 * round((low + (high - low) * draw.random()) / 10) for key, (low, high, _) in RANGES.items()}
    # Interfaces lie half-way between nodes, which are 10 m apart.
    return {**drawn, "h1": drawn["h1"] + 5}


def named(word, number):
    """Reads word and number, either as MINE 7 or, as for the flow, as word=MINE number=7."""
    def value(text, name):
        return text[len(name) :] if text.startswith(name) else text

    word, number = value(word, "word="), value(number, "number=")
    if "=" in word + number or not number.isdecimal():
        sys.exit(f"{word} {number}: give the word and then the number of a student, a whole number, as in MINE 7")
    return word, int(number)


def marks(true, answers):
    """A line for each answer, and the number of correct ones."""
    lines, right = [], 0
    for key, value in true.items():
        if key not in answers:
            lines.append(f"{key}: no answer")
            continue
        off = answers[key] / value - 1
        good = abs(off) <= RANGES[key][2]
        right += good
        lines.append(f"{key}: {answers[key]:g} {UNITS[key[0]]} is {100 * off:+.2f} % off, {100 * RANGES[key][2]:.0f} % are allowed: {'right' if good else 'wrong'}")
    return lines + [f"{right} of {len(true)} are right"]


def main(words):
    if len(words) < 2:
        sys.exit(__doc__)
    true = rock(*named(*words[:2]))
    answers = {}
    for word in words[2:]:
        key, _, value = word.partition("=")
        if key not in true:
            sys.exit(f"{key} is not asked for: the answers are {', '.join(true)}")
        try:
            answers[key] = float(value)
        except ValueError:
            sys.exit(f"{word}: the answer is a number of {UNITS[key[0]]}, as in {key}=2150")
    print("\n".join(marks(true, answers) if answers else [f"{key}={value}" for key, value in true.items()]))


if __name__ == "__main__":
    main(sys.argv[1:])
