# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page_reader: a page of tarn-report as its tests read it: what it would fetch, its links, its text by heading."""

import html
import html.parser
import re

from support import InFolder, run

# Elements and attributes by which a page would fetch something.
FETCHING = {"src", "srcset", "data", "poster", "action", "background", "xlink:href"}


class Reader(html.parser.HTMLParser):
    """Collects elements, what they would fetch, and the text; notes elements that are not closed in order."""

    VOID = {"meta", "br", "hr", "img", "link", "input", "wbr"}

    def __init__(self):
        super().__init__()
        self.tags, self.fetched, self.links, self.text, self.open, self.faults = set(), [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.fetched += [(tag, key, value) for key, value in attributes
                         if key in FETCHING and not (value or "").startswith("#")]
        self.links += [value for key, value in attributes if tag == "a" and key == "href"]
        self.fetched += [(tag, key, value) for key, value in attributes if key == "href" and tag != "a"
                         and not value.startswith("#")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes what is not open")

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text.append(data)


class WithPage(InFolder):
    def page_of(self, *contents):
        paths = [self.write(f"in-{number}.json", content) for number, content in enumerate(contents)]
        run("tarn-report", *paths, "-o", self.folder / "page.html", "--force")
        self.source = (self.folder / "page.html").read_text()
        reader = Reader()
        reader.feed(self.source)
        reader.close()
        self.assertEqual(reader.faults, [])
        self.assertEqual(reader.open, [])
        self.text = re.sub(r"\s+", " ", "".join(reader.text).replace("\u202f", " "))
        return reader

    def section(self, name):
        """The text from a heading to the next one."""
        part = re.search(rf'<h[23] id="{name}">.*?</h[23]>(.*?)(<h[23]|</body>)', self.source, re.DOTALL)[1]
        part = re.sub(r"<[^>]*>", " ", part.replace("<wbr>", ""))
        return re.sub(r"\s+", " ", html.unescape(part).replace("\u202f", " "))
