"""What examples/monitoring/grafana-dashboard.json must be for Grafana to import it: what is used there."""
TEXT = {"type": "string", "minLength": 1}


def record(required, **optional):
    return {"type": "object", "additionalProperties": False, "required": list(required),
            "properties": {**required, **optional}}


def listed(item):
    return {"type": "array", "minItems": 1, "items": item}


def size(most):
    return {"type": "integer", "minimum": 0, "maximum": most}


SOURCE = record({"type": {"const": "prometheus"}, "uid": {"const": "${datasource}"}})
TARGET = record({"refId": {"type": "string", "pattern": "^[A-Z]$"}, "expr": TEXT, "legendFormat": TEXT})
PANEL = record(
    {"id": {"type": "integer", "minimum": 1}, "title": TEXT, "type": {"enum": ["stat", "timeseries"]},
     "datasource": SOURCE, "targets": listed(TARGET),
     "gridPos": record({"h": size(40), "w": size(24), "x": size(23), "y": size(1000)}),
     "fieldConfig": record({
         "defaults": record({"unit": {"enum": ["short", "s", "percentunit", "Bps", "ops", "bytes", "watt"]}},
                            custom={"type": "object"}),
         "overrides": {"type": "array"}})},
    description=TEXT)
VARIABLE = record(
    {"name": TEXT, "label": TEXT, "type": {"enum": ["datasource", "query"]}, "query": TEXT},
    datasource=SOURCE, includeAll={"type": "boolean"}, multi={"type": "boolean"}, allValue={"const": ".*"},
    current=record({"text": TEXT, "value": TEXT}), refresh={"enum": [1, 2]})
DASHBOARD = record(
    {"uid": TEXT, "title": TEXT, "schemaVersion": {"type": "integer", "minimum": 36},
     "time": record({"from": TEXT, "to": TEXT}), "templating": record({"list": listed(VARIABLE)}),
     "panels": listed(PANEL)},
    tags=listed(TEXT), editable={"type": "boolean"}, refresh=TEXT)
