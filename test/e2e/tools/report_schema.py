"""The JSON Schemas of `gpushim report --json`, also of a fleet, and of `gpushim top --json`: every such
answer that a test asks for is held to its own."""
import functools
import json
import pathlib

ANALYSIS = pathlib.Path(__file__).resolve().parents[3] / "analysis"
FILES = {"fleet": ANALYSIS / "report" / "fleet.schema.json",
         "report": ANALYSIS / "report" / "report.schema.json",
         "top": ANALYSIS / "screen" / "top.schema.json"}


def draft():
    import jsonschema  # only where an answer is asked for
    # Debian 11's knows the older draft alone, in which the schemas say the same.
    return getattr(jsonschema, "Draft202012Validator", jsonschema.Draft7Validator)


def schema_of(command):
    return json.loads(FILES[command].read_text(encoding="utf-8"))


@functools.lru_cache(maxsize=None)
def validator(command):
    """Of a schema that is itself held to its draft once, by test_report, not in every process."""
    return draft()(schema_of(command))


def complaints(answer, command="report"):
    return [f"/{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"
            for error in validator(command).iter_errors(answer)]


def wrong_by(schema, value):
    """The same for a schema that stands somewhere else."""
    draft().check_schema(schema)
    return [error.message for error in draft()(schema).iter_errors(value)]


def hold(command, answer):
    """Raises where the answer in JSON is not as the schema says."""
    words = [str(word) for word in command]
    if "--json" not in words or not answer.startswith("{"):
        return
    name = next((name for name in ("report", "top") if name in words), None)
    if "--fleet" in words:
        name = "fleet"
    wrong = complaints(json.loads(answer), name) if name else []
    assert not wrong, "\n".join(wrong)
