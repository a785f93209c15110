"""The JSON Schema of `gpushim report --json`: every such answer that a test asks for is held to it."""
import functools
import json
import pathlib

FILE = pathlib.Path(__file__).resolve().parents[3] / "analysis" / "report" / "report.schema.json"


@functools.cache
def validator():
    import jsonschema  # only where a report is asked for
    schema = json.loads(FILE.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def complaints(report):
    return [f"/{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"
            for error in validator().iter_errors(report)]


def hold(command, answer):
    """Raises where the answer of a report in JSON, of one run, is not as the schema says."""
    words = [str(word) for word in command]
    if {"report", "--json"} <= set(words) and "--fleet" not in words and answer.startswith("{"):
        wrong = complaints(json.loads(answer))
        assert not wrong, "\n".join(wrong)
