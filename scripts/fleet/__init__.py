"""Traces of a fleet: what summaries of many runs are asked."""
