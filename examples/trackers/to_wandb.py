"""A run's figures, findings and page in Weights & Biases: to_wandb.py RUN. With WANDB_MODE=offline nothing is
sent."""
import sys

import figures
import wandb

report = figures.read(sys.argv[1], "gpushim.html")
with wandb.init(project="gpushim", job_type="profile") as run:
    run.summary.update({f"gpushim/{name}": value for name, value in figures.figures(report).items()})
    run.summary["gpushim/verdict"] = (report["verdict"] or {}).get("text")
    run.log({"gpushim/findings": wandb.Table(columns=figures.COLUMNS, data=figures.findings(report)),
             "gpushim/report": wandb.Html("gpushim.html")})
