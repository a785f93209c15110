"""Texts that do something where they are shown as they are."""
NAMES = {
    "html": "<img src=x onerror=alert(1)><script>alert(2)</script>&lt;\"'",
    "sql": "'); DROP TABLE launch; --\" OR 1=1",
    "terminal": "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b31m\b\b\b\r",
    "direction": "gnp.\u202excod\u2066x",
    "formula": "=HYPERLINK(\"http://x.example\";\"y\")",
    "formulas": "@SUM(1)\n+1\t-1|=2",
    "markdown": "[a](javascript:alert(1)) ![b](http://x.example) | `c` **d** # e\n| f |\n```",
    "percent": "%s%n%x%p {0} ${HOME} $(id) `id` \\u0000 \\",
    "separators": "a,b;c\td\u2028e\u0085f",
    "long": "x" * 65_536,
}
NO_UTF8 = b"\xff\xfe\xc0\xaf\xed\xa0\x80 half \xe2\x82"
