"""A page as a parser without scripts reads it: its elements, and what a strict page may not have."""
import base64
import hashlib
import html.parser
import re

# What our pages are made of. A name that became a tag or an attribute would be none of these, or bring one of
# those that are checked by value.
TAGS = set("""a body caption circle code dd desc details div dl dt figcaption figure h1 h2 h3 head header html
li line main meta nav ol p path pre rect script section span style summary svg table tbody td text th
thead title tr ul""".split())
ATTRIBUTES = set("""aria-hidden aria-label aria-labelledby charset class content cx cy d data-by
data-find data-more data-ns data-zoom height href
http-equiv id lang name r role rx scope stroke-width tabindex text-anchor transform viewbox width
x x1 x2 y y1 y2""".split())


class Reader(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.faults, self.texts = [], [], [], {}
        self.feed(text)
        self.close()
        if self.open:
            self.faults.append(f"never closed: {self.open}")

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)
        if tag not in TAGS:
            self.faults.append(f"<{tag}>")
        for name, value in attrs:
            if name not in ATTRIBUTES:
                self.faults.append(f"<{tag} {name}>")
            if name == "href" and not value.startswith("#"):
                self.faults.append(f"href {value}")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes another")

    def handle_comment(self, data):
        self.faults.append(f"comment {data}")

    def handle_data(self, data):
        inside = self.open[-1] if self.open else ""
        self.texts.setdefault(inside, []).append(data)

    def text(self):
        """What people read."""
        return "\n".join("".join(texts) for tag, texts in self.texts.items()
                         if tag not in ("script", "style"))

    def of(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def faults(text):
    """What a page is not allowed to have; empty: it is as it should be."""
    reader = Reader(text)
    found = list(reader.faults)
    policy = next((meta["content"] for meta in reader.of("meta")
                   if meta.get("http-equiv") == "Content-Security-Policy"), "")
    for tag in ("style", "script"):
        inside = "".join(reader.texts.get(tag, []))
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        if f"{tag}-src 'sha256-{digest}'" not in policy or len(reader.of(tag)) != 1:
            found.append(f"{tag}: not what the policy allows, or several")
        if re.search(r"url\(|@import|https?:|//[a-z]+\.", inside):
            found.append(f"{tag}: refers to something")
    if not policy.startswith("default-src 'none'") or "unsafe" in policy:
        found.append(f"policy: {policy}")
    ids = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    found += [f"id {one} twice" for one in set(ids) if ids.count(one) > 1]
    named = [one for _, attributes in reader.elements
             for one in attributes.get("aria-labelledby", "").split()]
    links = [attributes["href"][1:] for attributes in reader.of("a")]
    found += [f"no id {one}" for one in named + links if one not in ids]
    return found
