#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Checks that the documents name things that exist, that they and the headers use plain words, and that the pages a
user needs to start stay short.

  scripts/check_docs.py              the tree this script is in; prints each fault, exits 1 if any
  scripts/check_docs.py --all        also checks the words of the other documents and of all comments in include and src
  scripts/check_docs.py --self-test  plants faults of every kind and expects each to be found

The documents are all .md files but CHANGELOG.md, which may speak of what is gone. The rules, each a
function below:
  - a relative link leads to a file or folder, and its #anchor to a heading there
  - a title in quotes in the comments of a public header, as in "Debug mode", is a heading of docs/semantics.md
  - a link whose text is the name of a function, as in [`tn_fail`](../src/base/error.c), leads to the
    file that the function stands in; any other `name` must occur in the file that it links to
  - a `path` in code type is there: from the root, from the document's folder, from include/ or from
    a folder of bindings/; or it is the bare name of some file; a * in it must match something
  - every tarn_, tn_, TARN_ and TN_ name, in text and in code, is one of the code, outside comments
Text in angle brackets, or with a part like NAME in capitals, stands for something else.

Plain words are checked in README.md, docs/*.md, docs/using/*.md, and comments of the public headers and the bindings:
see HABITS and WORDS_MAX. A sentence that must stay as it is goes to ALLOWED, with the reason. PAGE_SIZES has the short pages.
"""

import re
import sys
import tempfile
from pathlib import Path

SKIPPED_FOLDERS = {".git", "build"}
SKIPPED_DOCUMENTS = {"CHANGELOG.md"}
C_SUFFIXES = {".c", ".h", ".cpp", ".cu", ".cuh", ".hpp"}

# What counts as code that a name can be of, besides files without a suffix, such as scripts.
CODE_SUFFIXES = C_SUFFIXES | {".f90", ".cmake", ".in", ".json", ".map", ".py", ".sh", ".txt", ""}

FENCE = re.compile(r"^\s*(```|~~~)")
SPAN = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
PATH = re.compile(r"[\w.*/-]+")
FILE_NAME = re.compile(r"\.(c|h|cpp|cu|cuh|f90|hpp|cmake|gz|in|json|map|md|py|sh|txt)$")
PLACEHOLDER = re.compile(r"<|\.\.\.|(^|[/_.])[A-Z]{3,}([/_.]|$)")
KNOWN_CAPITALS = re.compile(r"(README|CHANGELOG|CONTRIBUTING|LICENSE|CMakeLists|CMakePresets)")
NAME = re.compile(r"(?<![\w/.-])(?:tarn|tn|TARN|TN)_\w+")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
FORTRAN_COMMENT = re.compile(r"(?m)![^\n]*")
HASH_COMMENT = re.compile(r"(?m)(^|\s)#[^\n]*")

# Habits of language that make a tired reader look twice, each with what to do about it.
HABITS = [
    # Not a question, nor a title before a colon.
    (re.compile(r"(Who|What|Whose|Nobody)\b(?!.*\?$|[^.;,]{,60}:)"),
     "a sentence begins with it: name the thing"),
    (re.compile(r".*?\b([Ll]ikewise)\b"), "say it"),
    (re.compile(r".*?\b(as the next)\b"), "say it"),
    (re.compile(r".*?\b(the same of)\b"), "say it"),
    (re.compile(r".*?\b([Ss]ee above)\b"), "name the place, or say it"),
    (re.compile(r".*?\b((?:no|some|every)body's)\b", re.IGNORECASE), "name the owner"),
]
WORDS_MAX = 45  # of a sentence; a span of code is one word

# Sentences that are right as they are: the file, how the sentence begins, and why.
ALLOWED = [
]

# The pages that a user needs to start, and how long each may be. All words count, those of code and tables too.
PAGE_SIZES = {
    "README.md": (1000, "words"),
    "docs/README.md": (1000, "words"),
    "docs/building.md": (1000, "words"),
    "docs/cookbook.md": (1000, "words"),
    "docs/migrating.md": (1000, "words"),
    "docs/recording.md": (1000, "words"),
    "docs/streams.md": (1000, "words"),
    "docs/tools.md": (1000, "words"),
    "docs/troubleshooting.md": (1000, "words"),
    "bench/README.md": (250, "lines"),
}

# Whose headings the public headers name.
DOCUMENT_OF_TITLES = Path("docs/semantics.md")

PLAIN_DOCUMENTS = ["README.md", "docs/*.md", "docs/using/*.md"]
PLAIN_CODE = ["include/tarn/*.h", "include/tarn/*.cuh", "bindings/*/tarn/*"]
PLAIN_BY_REQUEST = ["**/*.md", "include/tarn/**/*.h", "include/tarn/**/*.cuh", "src/**/*.h", "src/**/*.c"]

HEADING = re.compile(r"#+\s+(.*?)\s*#*$")
TITLE = re.compile(r'"([A-Z][a-z][^"\n]*)"')
COMMENT = re.compile(r"/\*(.*?)\*/|((?:^[ \t]*//[^\n]*\n)+)|//([^\n]*)", re.DOTALL | re.MULTILINE)
NEW_UNIT = re.compile(r"\s*(?:[-*+]|\d+\.)\s|\s*\||#")
TESTS = re.compile(r"\*Tests?:[^*]*\*")
SENTENCE_END = re.compile(r"[.!?][\"'*)]*\s+(?=[\"'*(\[]*[A-Z])|(?<=\|)")


def without_comments(path, text):
    """The code of a file; what a string says counts, since names are in some of them."""
    if path.suffix in C_SUFFIXES or path.suffix == ".map":
        return COMMENT_OR_STRING.sub(lambda m: m[0] if m[0][0] == '"' else " ", text)
    if path.suffix == ".f90" or path.name.endswith(".f90.in"):
        return FORTRAN_COMMENT.sub(" ", text)
    if path.suffix in {".in", ".json"}:
        return text
    return HASH_COMMENT.sub(" ", text)


def functions_of(code):
    """The functions that stand in a C file, bodies and all."""
    code = COMMENT_OR_STRING.sub('""', code)
    code = re.sub(r"(?m)^\s*#(?:[^\n]*\\\n)*[^\n]*", "", code)
    code = re.sub(r'extern\s+""\s*\{', "", code)
    top_level, depth = [], 0
    for piece in re.split(r"([{}])", code):
        if piece == "{":
            if depth == 0:
                top_level.append("{")
            depth += 1
        elif piece == "}":
            depth = max(depth - 1, 0)
            if depth == 0:
                top_level.append("\n;")
        elif depth == 0:
            top_level.append(piece)
    return set(re.findall(r"(\w+)\s*\([^;{}]*\)\s*\{", "".join(top_level)))


class Tree:
    """The files below a root: which there are, what their code says, and which are documents."""

    def __init__(self, root):
        self.root = root
        self.files = sorted(
            path.relative_to(root) for path in root.rglob("*")
            if path.is_file() and not SKIPPED_FOLDERS & set(path.relative_to(root).parts))
        self.folders = {parent for file in self.files for parent in file.parents}
        self.file_set = set(self.files)
        self.base_names = {file.name for file in self.files}
        self.documents = [file for file in self.files
                          if file.suffix == ".md" and file.name not in SKIPPED_DOCUMENTS]
        self.code = {}
        self.functions = {}
        for file in self.files:
            if file.suffix in CODE_SUFFIXES and file.name != Path(__file__).name:
                text = (root / file).read_text(errors="replace")
                self.code[file] = without_comments(file, text)
            if file.suffix in C_SUFFIXES:
                self.functions[file] = functions_of(self.code[file])
        self.names = {name for code in self.code.values() for name in IDENTIFIER.findall(code)}
        # vendor_compat.h puts the names of its functions together.
        self.names |= {f"tarn_{vendor}{name}" for code in self.code.values()
                       for name in re.findall(r"TARN_OWN_CALL\((\w+)\)", code) for vendor in ("cuda", "hip")}
        self.all_functions = set().union(*self.functions.values())
        self.all_headings = {}
        self.faults = []
        self.used_exceptions = set()

    def report(self, file, number, text):
        self.faults.append(f"{file}:{number}: {text}")

    def lines(self, document):
        """Yields (line number, line, whether it is in a block of code)."""
        is_code = False
        for number, line in enumerate((self.root / document).read_text().splitlines(), 1):
            if FENCE.match(line):
                is_code = not is_code
            else:
                yield number, line, is_code

    def headings(self, document):
        """The headings of a document, in order."""
        if document not in self.all_headings:
            self.all_headings[document] = [match[1] for _, line, is_code in self.lines(document)
                                           if not is_code and (match := HEADING.match(line))]
        return self.all_headings[document]

    def find(self, document, name):
        """The file or folder that a path in a document means, or None."""
        bindings = [folder for folder in self.folders if folder.parent == Path("bindings")]
        for base in (document.parent, Path("."), Path("include"), Path("src"), *sorted(bindings)):
            path = (self.root / base / name).resolve()
            if path.is_relative_to(self.root):
                path = path.relative_to(self.root)
                if path in self.folders or path in self.file_set:
                    return path
        return None


def anchors_of(headings):
    """The anchors that the forges make of headings."""
    anchors = set()
    for heading in headings:
        plain = re.sub(r"[^\w\- ]", "", LINK.sub(r"\1", heading).lower()).replace(" ", "-")
        anchor, count = plain, 0
        while anchor in anchors:
            count += 1
            anchor = f"{plain}-{count}"
        anchors.add(anchor)
    return anchors


def check_links(tree, document, number, line):
    for text, target in LINK.findall(line):
        target, _, anchor = target.partition("#")
        if re.match(r"\w+:", target):
            continue
        path = (tree.root / document.parent / target).resolve() if target else tree.root / document
        if not path.is_relative_to(tree.root) or not path.exists():
            tree.report(document, number, f"the link to {target} leads nowhere")
            continue
        if anchor and path.suffix == ".md" and anchor not in anchors_of(tree.headings(path.relative_to(tree.root))):
            tree.report(document, number, f"{path.relative_to(tree.root)} has no section #{anchor}")
            continue
        label = SPAN.fullmatch(text)
        if label:
            check_label(tree, document, number, label[1], path.relative_to(tree.root))


def check_label(tree, document, number, label, path):
    """Whether what a link is labelled with is in the file that it leads to."""
    names = IDENTIFIER.findall(label)
    if path not in tree.code or not names or FILE_NAME.search(label) or "/" in label:
        return
    name = names[-1]
    if name in tree.all_functions:
        if name not in tree.functions.get(path, set()):
            tree.report(document, number, f"function {name} does not stand in {path}")
    elif name not in IDENTIFIER.findall(tree.code[path]):
        tree.report(document, number, f"{name} does not occur in {path}")


def looks_like_a_path(tree, text):
    if not PATH.fullmatch(text):
        return False
    if PLACEHOLDER.search(KNOWN_CAPITALS.sub("", text)):
        return False
    if FILE_NAME.search(text):
        return True
    first = text.split("/")[0]
    return "/" in text and first != "build" and Path(first) in tree.folders


def check_paths(tree, document, number, line):
    for span in SPAN.findall(line):
        if not looks_like_a_path(tree, span) or span.startswith("build/"):
            continue
        if "*" in span:
            patterns = [str(document.parent / span), span] if "/" in span else ["**/" + span]
            is_there = any(any(tree.root.glob(pattern)) for pattern in patterns)
        else:
            is_there = tree.find(document, span) is not None or span in tree.base_names
        if not is_there:
            tree.report(document, number, f"there is no {span}")


def check_names(tree, document, number, line):
    for match in NAME.finditer(line):
        name = match[0]
        if line[match.end():match.end() + 1] == "*" or name.endswith("_"):
            prefix = name
            if not any(known.startswith(prefix) for known in tree.names):
                tree.report(document, number, f"no name starts with {prefix}")
        elif name not in tree.names:
            tree.report(document, number, f"there is no {name}")


def check_titles(tree):
    """Whether the titles in quotes in the public headers are headings."""
    headings = tree.headings(DOCUMENT_OF_TITLES) if DOCUMENT_OF_TITLES in tree.file_set else []
    for header in tree.files:
        if header.parent == Path("include/tarn") and header.suffix == ".h":
            lines = lines_of_comments((tree.root / header).read_text(errors="replace"))
            text = " ".join(line.strip() for _, line in lines)
            for title in TITLE.findall(text):
                if title not in headings:
                    tree.report(header, 0, f'{DOCUMENT_OF_TITLES} has no section "{title}"')


def check_sizes(tree):
    for name, (size_max, unit) in PAGE_SIZES.items():
        if Path(name) not in tree.file_set:
            tree.report(name, 0, f"this page is not there; {Path(__file__).name} lists it in PAGE_SIZES")
            continue
        text = (tree.root / name).read_text()
        words = re.findall(r"\S*\w\S*", LINK.sub(r"\1", text))
        size = len(words) if unit == "words" else len(text.splitlines())
        if size > size_max:
            tree.report(name, 0, f"a page of {size} {unit}, and {size_max} are allowed: give a part its own page")


# --- plain words ----------------------------------------------------------------------------------

def units_of(lines):
    """Paragraphs, items of lists and rows of tables, from (number, line): yields (first number, text)."""
    unit, first = [], 0
    for number, line in [*lines, (0, "")]:
        starts_new = not line.strip() or NEW_UNIT.match(line)
        if starts_new and unit:
            if not unit[0].startswith("    "):  # a drawing, or code
                yield first, "\n".join(unit)
            unit = []
        is_heading = line.startswith("#")
        if line.strip() and not is_heading:
            first = first if unit else number
            unit.append(line)


def lines_of_comments(text):
    """Yields (number, line) of the comments of a C file, with an empty line after each. Drawings and examples, which
    are indented, are left out."""
    for match in COMMENT.finditer(text):
        number = text[:match.start()].count("\n") + 1
        for line in match[0].split("\n"):
            line = re.sub(r"^\s*(?:/\*+|//|\*/|\*(?= |$))|\*/$", "", line.rstrip())
            yield number, "" if line.startswith("     ") or line.startswith(" ---") else line
            number += 1
        yield number, ""


def sentences_of(unit):
    """Yields (lines before it, sentence) of a unit, where a span of code is one word."""
    plain = SPAN.sub(lambda match: "X" + "\n" * match[0].count("\n"), unit)
    plain = LINK.sub(lambda match: match[1], plain)
    plain = TESTS.sub(lambda match: "\n" * match[0].count("\n"), plain)
    start = 0
    for end in [match.end() for match in SENTENCE_END.finditer(plain)] + [len(plain)]:
        sentence = plain[start:end]
        if sentence.strip(" \n|"):
            yield plain[:start].count("\n"), " ".join(re.sub(r"^[\s|*\"'(-]+", "", sentence).split())
        start = end


def is_allowed(tree, file, sentence):
    for allowed in ALLOWED:
        if str(file) == allowed[0] and sentence.startswith(allowed[1]):
            tree.used_exceptions.add(allowed)
            return True
    return False


def check_words(tree, file, lines):
    for number, unit in units_of(lines):
        for before, sentence in sentences_of(unit):
            word_count = len(re.findall(r"[\w']*\w", sentence))
            faults = [f"'{match[1]}': {advice}" for habit, advice in HABITS if (match := habit.match(sentence))]
            if word_count > WORDS_MAX:
                faults.append(f"a sentence of {word_count} words")
            if faults and not is_allowed(tree, file, sentence):
                start = " ".join(sentence.split()[:7])
                for fault in faults:
                    tree.report(file, number + before, f"{fault} (\"{start} ...\")")


def check_plain_words(tree, checks_all):
    documents = PLAIN_DOCUMENTS + PLAIN_CODE + (PLAIN_BY_REQUEST if checks_all else [])
    known = set(tree.files)
    files = {path.relative_to(tree.root) for pattern in documents for path in tree.root.glob(pattern)} & known
    for file in sorted(files):
        if file.name in SKIPPED_DOCUMENTS:
            continue
        if file.suffix == ".md":
            lines = [(number, "" if is_code else line) for number, line, is_code in tree.lines(file)]
        else:
            lines = lines_of_comments((tree.root / file).read_text(errors="replace"))
        check_words(tree, file, lines)
    for allowed in ALLOWED:
        if Path(allowed[0]) in known and allowed not in tree.used_exceptions:
            tree.report(Path(__file__).name, 0, f"this exception is not needed any more: {allowed[:2]}")


def check(root, checks_all=False):
    """The documents of the tree at root, and all faults in them as lines of text."""
    tree = Tree(root.resolve())
    check_plain_words(tree, checks_all)
    check_titles(tree)
    check_sizes(tree)
    for document in tree.documents:
        for number, line, is_code in tree.lines(document):
            check_names(tree, document, number, line)
            if not is_code:
                check_links(tree, document, number, line)
                check_paths(tree, document, number, line)
    return tree.documents, tree.faults


# --- self-test ------------------------------------------------------------------------------------

CLEAN = {
    **{name: "" for name in PAGE_SIZES},
    "docs/semantics.md": "## Debug mode\n# What it `does`, and a [link](tour.md)\n",
    "include/tarn/tarn.h": "typedef struct tarn_pool tarn_pool;\nint tarn_pool_alloc(tarn_pool *);\n"
                           "/* \"Debug\n * mode\" has the rest. */\nextern char text[sizeof \"Quoted text\"];\n",
    "src/base/error.c": '/* tn_ghost */\nint tn_fail(int status)\n{\n    return status;\n}\n',
    "src/core/pool/pool.h": "static inline int tn_pool_is_open(void)\n{\n    return 1;\n}\n",
    "src/core/pool/pool.c": '#define TN_PAIR(a) \\\n    do { (a); } while (0)\n'
                       'struct request {\n    int x;\n};\n'
                       'static int serve(int a,\n                 int b)\n{\n    return tn_fail(a) + b;\n}\n'
                       'const char *seed(void)\n{\n    return getenv("TARN_SEED");\n}\n',
    "src/CMakeLists.txt": "# tarn_gone\nfunction(tarn_add_test)\n",
    "scripts/test": "#!/bin/sh\n",
    "docs/tour.md": "[`tn_fail`](../src/base/error.c), [`serve`](../src/core/pool/pool.c), "
                    "[`struct request`](../src/core/pool/pool.c), [`tn_pool_is_open`](../src/core/pool/pool.h),\n"
                    "`src/core`, `tarn/tarn.h`, `pool.c`, `src/core/*/pool.h`, `po*.c`, `tests/unit/test_NAME.c`, "
                    "`scripts/test -L unit`, `TARN_SEED`, tarn_pool_alloc, `tarn_pool_*`, TN_PAIR,\n"
                    "`core/pool/pool.c`, `build/release/bin`, [web](https://example.org/tn_no.c), tarn_add_test.\n"
                    "# Twice\n# Twice\n[here](#twice-1), [there](semantics.md#debug-mode),\n"
                    "[also](semantics.md#what-it-does-and-a-link), [file](../scripts/test#l1).\n"
                    "```\nwhatever.c tn_fail()\n# No heading\n```\n",
    "CHANGELOG.md": "tarn_removed\n",
}

# Each adds one line to the document, and says what must be reported.
PLANTED = [
    ("[gone](gone.md)", "the link to gone.md leads nowhere"),
    ("[out](../../../etc/passwd)", "leads nowhere"),
    ("[gone](#gone)", "docs/tour.md has no section #gone"),
    ("[code](#no-heading)", "docs/tour.md has no section #no-heading"),
    ("[gone](semantics.md#gone)", "docs/semantics.md has no section #gone"),
    ("[`tn_fail`](../src/core/pool/pool.c)", "function tn_fail does not stand in src/core/pool/pool.c"),
    ("[`serve`](../src/base/error.c)", "function serve does not stand in src/base/error.c"),
    ("[`struct gone`](../src/core/pool/pool.c)", "gone does not occur in src/core/pool/pool.c"),
    ("`src/core/gone.c`", "there is no src/core/gone.c"),
    ("`gone.h`", "there is no gone.h"),
    ("`src/gone`", "there is no src/gone"),
    ("`tests/*/test_*.c`", "there is no tests/*/test_*.c"),
    ("`gone_*.c`", "there is no gone_*.c"),
    ("tn_gone does it", "there is no tn_gone"),
    ("`tarn_pool_gone()`", "there is no tarn_pool_gone"),
    ("`TARN_GONE`", "there is no TARN_GONE"),
    ("`tarn_gone_*`", "no name starts with tarn_gone_"),
    ("tn_ghost is in a comment alone", "there is no tn_ghost"),
    ("```\ntn_gone();\n```", "there is no tn_gone"),
    ("Who finds nothing waits.", "'Who'"),
    ("It waits. What was freed is free.", "'What'"),
    ("- What was freed is free.", "'What'"),
    ("| a | What was freed is free |", "'What'"),
    ("Whose turn it is goes on.", "'Whose'"),
    ("(Nobody waits.)", "'Nobody'"),
    ("Frees do likewise.", "'likewise'"),
    ("This works as the next one.", "'as the next'"),
    ("It says the same of frees.", "'the same of'"),
    ("For more see above.", "'see above'"),
    ("It is nobody's.", "'nobody's'"),
    (" ".join(["word"] * 46) + ".", "a sentence of 46 words"),
    ("\n".join(["word"] * 46), "a sentence of 46 words"),
]

# The same in comments of a header.
PLANTED_COMMENTS = [
    ("/* See \"Gone mode\". */", 'docs/semantics.md has no section "Gone mode"'),
    ("/*\n * See \"Gone\n * mode\".\n */", 'docs/semantics.md has no section "Gone mode"'),
    ("/* Who finds nothing waits. */", "'Who'"),
    ("/*\n * It waits. What was freed\n * is free. */", "'What'"),
    ("int a; /* likewise */", "'likewise'"),
    ("int a; // likewise", "'likewise'"),
    ("// It does as\n// the next.\n", "'as the next'"),
    ("/*\n" + " * word\n" * 46 + " */", "a sentence of 46 words"),
]

# Nothing is reported of these.
HARMLESS = [
    "# What it does",
    "What is it?",
    "What it cannot see:",
    "It tells who waits, and what was freed.",
    "    Who finds nothing waits.",
    "```\nWho finds nothing waits.\n```",
    "`likewise`",
    " ".join(["word"] * 45) + ". " + " ".join(["Word"] * 45) + ".",
    "`" + " ".join(["word"] * 60) + "`",
    "A word. *Tests: " + ", ".join(["`a.b`"] * 60) + "*",
    "- " + "\n- ".join(["word word"] * 40),
]


def faults_of(files, checks_all=False):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            file = Path(folder) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return check(Path(folder), checks_all)[1]


def self_test():
    failures = []
    clean = faults_of(CLEAN)
    if clean:
        failures.append(f"the clean tree has faults: {clean}")
    for line, expected in PLANTED:
        found = faults_of({**CLEAN, "docs/tour.md": CLEAN["docs/tour.md"] + line + "\n"})
        if len(found) != 1 or expected not in found[0]:
            failures.append(f"{line!r}: expected {expected!r}, found {found}")
    failures += self_test_of_words() + self_test_of_sizes()
    planted_count = len(PLANTED) + len(PLANTED_COMMENTS)
    print("\n".join(failures) or f"{planted_count} planted faults, all found")
    return 1 if failures else 0


def self_test_of_words():
    """Comments, harmless sentences, other places by request, and exceptions."""
    failures = []
    for comment, expected in PLANTED_COMMENTS:
        found = faults_of({**CLEAN, "include/tarn/tarn.h": CLEAN["include/tarn/tarn.h"] + comment + "\n"})
        if len(found) != 1 or expected not in found[0]:
            failures.append(f"{comment!r}: expected {expected!r}, found {found}")
    for text in HARMLESS:
        found = faults_of({**CLEAN, "docs/tour.md": CLEAN["docs/tour.md"] + "\n" + text + "\n"})
        if found:
            failures.append(f"{text!r}: found {found}")
    elsewhere = {**CLEAN, "src/base/error.c": CLEAN["src/base/error.c"] + "/* Who waits. */\n",
                 "bench/README.md": "Who waits.\n"}
    if faults_of(elsewhere) or len(faults_of(elsewhere, checks_all=True)) != 2:
        failures.append(f"by request: found {faults_of(elsewhere, checks_all=True)}")
    excepted = {**CLEAN, "docs/tour.md": CLEAN["docs/tour.md"] + "\nWho waits is told.\n"}
    ALLOWED.append(("docs/tour.md", "Who waits", "the self-test"))
    if faults_of(excepted) or len(faults_of(CLEAN)) != 1:
        failures.append(f"an exception: found {faults_of(excepted)}, and {faults_of(CLEAN)} without its sentence")
    ALLOWED.pop()
    return failures


def self_test_of_sizes():
    """Pages that are as long as they may be, longer by one, and missing."""
    failures = []
    for name, (size_max, unit) in PAGE_SIZES.items():
        longest = faults_of({**CLEAN, name: "Word.\n" * size_max})
        longer = faults_of({**CLEAN, name: "Word.\n" * (size_max + 1)})
        missing = faults_of({other: text for other, text in CLEAN.items() if other != name})
        if longest or len(longer) != 1 or f"a page of {size_max + 1} {unit}" not in longer[0]:
            failures.append(f"{name}, as long as it may be: found {longest}; longer: {longer}")
        if len(missing) != 1 or "this page is not there" not in missing[0]:
            failures.append(f"without {name}: found {missing}")
    return failures


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    checks_all = sys.argv[1:] == ["--all"]
    if sys.argv[1:] and not checks_all:
        print("usage: check_docs.py [--all | --self-test]", file=sys.stderr)
        return 2
    documents, faults = check(Path(__file__).parent.parent, checks_all)
    print("\n".join(faults) or f"{len(documents)} documents name what is there")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
