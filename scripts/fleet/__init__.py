"""Traces of a fleet as partitioned tables, by Spark: README.md."""
