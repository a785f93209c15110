"""Where end-to-end tests lie: in folders by what they are about. They import each other, and what lies in
tools, by name alone."""
import pathlib

TOOLS = pathlib.Path(__file__).resolve().parent


def of_tests():
    return sorted({str(path.parent) for path in TOOLS.parent.glob("**/test_*.py")})
