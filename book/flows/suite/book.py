"""`scons book` and `scons demo`: chapters run in the build folder, and the page that shows them."""
import os
import re
import sys

from . import chapters, page
from .record import Record


def up_to_date(stamp, mark, record):
    """Whether the chapter was run to its end with the same files, programs and words, and its pictures exist."""
    try:
        with open(stamp, encoding="utf-8") as text:
            same = text.read() == mark
    except OSError:
        return False
    return same and all(os.path.exists(os.path.join(record.folder, result)) for result in record.results)


def run(chapter, folder, words, env, programs):
    """Brings one chapter up to date in `folder`; returns the exit status of SCons, 0 if there is nothing to do."""
    if not chapter.runs():
        return 0
    chapters.mirror(chapter, folder)
    stamp = os.path.join(folder, ".finished")
    mark = chapters.fingerprint(chapter, programs, [w for w in words if not w.startswith("-j")])
    if up_to_date(stamp, mark, Record(folder)):
        return 0
    if os.path.exists(stamp):
        os.remove(stamp)
    print(f"\n== {chapter.title()} ({chapter.name})", flush=True)
    status = chapters.run(folder, words, env) or chapters.check_table(chapter, folder)
    if status == 0:
        with open(stamp, "w", encoding="utf-8") as text:
            text.write(mark)
    return status


def make(top, env, programs, what=(False, (), True), jobs=1, version=""):
    """Runs every chapter and writes the page; returns 0, or 1 if chapters failed, whose names are printed. `what` says whether to use
    the sizes of the papers, which chapters to run if not all (the other chapters are shown unchanged), and whether to include answers."""
    full, only, answers = what
    out = os.path.join(top, "build", "book-full" if full else "book")
    root = os.path.join(top, "build", "rsf")
    words = [f"-j{jobs}"] + (["full=y"] if full else [])
    failed, entries = [], []
    chapters_of_book = chapters.find(os.path.join(top, "book"))
    if unknown := set(only) - {chapter.name for chapter in chapters_of_book}:
        sys.stderr.write(f"sifaka: no chapter is called {', '.join(sorted(unknown))}; there are {', '.join(c.name for c in chapters_of_book)}.\n")
        return 1
    for chapter in chapters_of_book:
        folder = os.path.join(out, chapter.name)
        if (not only or chapter.name in only) and run(chapter, folder, words, env, programs):
            failed.append(chapter.name)
        entries.append((chapter, Record(folder), chapter.name, root))
    index = os.path.join(out, "index.html")
    page.write(index, version, entries, answers)
    pictures = sum(len(record.results) for _, record, *_ in entries)
    if failed:
        sys.stderr.write(f"sifaka: {len(failed)} of {len(entries)} chapters failed: {', '.join(failed)}; see their messages above.\n")
    print(f"\nthe book, {len(entries)} chapters and {pictures} pictures: {index}", flush=True)
    return 1 if failed else 0


def demo(top, env, programs, jobs=1):
    """Runs the chapter book/user/demo in build/demo and prints the paths of the pictures."""
    chapter = chapters.Chapter(os.path.join(top, "book"), os.path.join("user", "demo"))
    folder = os.path.join(top, "build", "demo")
    status = run(chapter, folder, [f"-j{jobs}"], env, programs)
    if status:
        return status
    record = Record(folder)
    captions = dict(re.findall(r"!\[([^\]]*)\]\(Fig/([\w.-]+)\)", chapter.text()))
    captions = {name: caption for caption, name in captions.items()}
    print("\npictures")
    for result in record.results:
        print(f"  {os.path.join(folder, result)}")
        caption = captions.get(os.path.basename(result))
        if caption:
            print(f"      {caption}")
    return 0
