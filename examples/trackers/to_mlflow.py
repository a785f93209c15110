"""A run's figures, findings and page in MLflow: to_mlflow.py RUN. MLFLOW_TRACKING_URI says where they are
put."""
import sys

import figures
import mlflow

report = figures.read(sys.argv[1], "gpushim.html")
mlflow.set_experiment("gpushim")
with mlflow.start_run():
    mlflow.log_metrics({f"gpushim/{name}": value for name, value in figures.figures(report).items()})
    mlflow.set_tag("gpushim.verdict", (report["verdict"] or {}).get("text"))
    mlflow.log_dict({"columns": figures.COLUMNS, "rows": figures.findings(report)}, "gpushim/findings.json")
    mlflow.log_artifact("gpushim.html", "gpushim")
