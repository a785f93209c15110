"""The dataclasses of `gpushim report --json`, from analysis/report/report.schema.json: an object of the
schema is a class, named by the keys that lead to it; a key is a field."""
import json
import keyword
import textwrap

WIDTH = 110
HEAD = '''"""{title}, as dataclasses. Made from its JSON Schema: do not edit.

{description}
A field is also None where the program did not say it.
A word that Python keeps for itself has a _ behind it: `finding.try_`.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional, Union

from ._page import Shown

Figure = Optional[float]
Share = Optional[float]  # 0 to 1
Text = Optional[str]
Flag = Optional[bool]
Counts = Optional[Dict[str, Optional[float]]]
'''
SIMPLE = {"integer": "int", "number": "float", "string": "str", "boolean": "bool"}
ALIASES = {"figure": "Figure", "share": "Share", "text": "Text", "flag": "Flag", "counts": "Counts"}


def camel(*words):
    return "".join(part.capitalize() for word in words for part in word.split("_"))


def one_of(plural):
    """What an element of a list is called."""
    for end, instead in (("ies", "y"), ("sses", "ss"), ("ss", "ss"), ("s", "")):
        if plural.endswith(end):
            return plural[:-len(end)] + instead
    return plural


def field_name(key):
    return f"{key}_" if keyword.iskeyword(key) else key


class Classes:
    """Of one schema, in the order in which they need each other."""

    def __init__(self, schema):
        self.shared = schema["$defs"]
        self.texts = []
        self.made = {}  # of what is shared: its class

    def type_of(self, path, value):
        """The type of what the keys of this path lead to; the classes that it needs are made."""
        if "$ref" in value:
            return self.shared_type(value["$ref"].rpartition("/")[2])
        kinds = value.get("type", "integer" if "const" in value else None)
        kinds = kinds if isinstance(kinds, list) else [kinds]
        plain = [self.plain_type(path, kind, value) for kind in kinds if kind != "null"]
        text = plain[0] if len(plain) == 1 else f"Union[{', '.join(plain)}]"
        return f"Optional[{text}]" if "null" in kinds else text

    def plain_type(self, path, kind, value):
        if kind == "array":
            words = value.get("description", f"One of `{'.'.join(path)}`.")
            one = self.type_of((*path[:-1], one_of(path[-1])), {"description": words, **value["items"]})
            return f"List[{one}]"
        return self.make(path, value) if kind == "object" else SIMPLE[kind]

    def shared_type(self, name):
        if name not in ALIASES and name not in self.made:
            self.made[name] = self.make((name,), self.shared[name])
        return ALIASES.get(name) or self.made[name]

    def make(self, path, schema, name="", base=""):
        """The class of an object. Its name."""
        name = name or camel(*path)
        fields = [field_lines(key, self.type_of((*path, key), value), value, key in schema["required"])
                  for key, value in schema["properties"].items()]
        words = schema.get("description", f"What is in `{'.'.join(path)}`.")
        self.texts.append("\n".join(["@dataclass(frozen=True)", f"class {name}{base}:", f'    """{words}"""',
                                     *fields]))
        return name


def field_lines(key, kind, schema, is_required):
    """Its comment, and the field. What an older program may not say is None, or an empty list."""
    is_maybe = kind in ALIASES.values() or kind.startswith("Optional[")
    default = "None"
    if "const" in schema:
        default = str(schema["const"])
    elif kind.startswith("List[") and is_required:
        default = "field(default_factory=list)"
    elif not is_maybe:
        kind = f"Optional[{kind}]"
    comment = [f"    # {line}" for line in textwrap.wrap(schema.get("description", ""), WIDTH - 6)]
    return "\n".join([*comment, f"    {field_name(key)}: {kind} = {default}"])


def module(schema_text):
    schema = json.loads(schema_text)
    classes = Classes(schema)
    classes.make((), schema, "Report", "(Shown)")
    head = HEAD.format(title=schema["title"], description=schema["description"])
    return "\n\n\n".join([head.rstrip(), *classes.texts]) + "\n"
