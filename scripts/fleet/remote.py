"""Files behind URIs that Spark reads (hdfs://, s3a://, file://): listed by it, and brought by executors to
the folder of summaries, where they are reduced like others. To the driver comes a row for each file."""
import re

from pyspark.sql.functions import expr
from pyspark.sql.utils import AnalysisException

from fleet import files, reduce

MOST_BYTES = 64 << 20  # an executor holds a file in memory, some three times, and has 512 MB
LOOK = ("path", "length", "unix_micros(modificationTime) * 1000 AS mtime_ns")


def frame(spark, places, *columns):
    return spark.read.format("binaryFile").option("recursiveFileLookup", "true") \
        .option("ignoreMissingFiles", "true").load(places).select(*map(expr, columns))


def literal(path):
    """This file alone: Spark takes places for patterns."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)


def below(spark, uri):
    """{path: File} of a folder, or of the file that it is; a file that is not there is in it, too."""
    try:
        rows = frame(spark, [uri], *LOOK).collect()
    except AnalysisException:
        return {uri: files.File(uri, None, None)}
    return {row.path: files.File(row.path, row.length, row.mtime_ns) for row in rows}


def why_not(file, found):
    """(state, why) of a file that is not fetched; None: it is."""
    log = found.get(f"{file.path}-wal")
    if file.bytes is None:
        return "missing", "in the list, and not there"
    if log is not None and log.bytes:
        return "still_written", "its log is not in it yet: read it when its program has ended"
    if file.bytes > MOST_BYTES:
        return "too_large", (f"has {file.bytes >> 20} MiB, and what is fetched has at most"
                             f" {MOST_BYTES >> 20}: reduce it where it is")
    return None


def listed(spark, uris):
    """(files that can be fetched, by path; rows for the manifest of others; of summaries the trace beside)"""
    can, cannot, beside = {}, {}, {}
    for uri in uris:
        found = below(spark, uri)
        ours = {path: file for path, file in found.items() if files.is_of_fleet(path)}
        is_file = {path.rpartition("/")[2] for path in found} == {uri.rpartition("/")[2]}
        beside.update((files.summary_of(path), file) for path, file in ours.items())
        for file in files.chosen(found if is_file else ours, lambda summary: True):
            why = why_not(file, found)
            if why is None:
                can[file.path] = file
            else:
                cannot[file.path] = reduce.row(file, *why)
    return [can[path] for path in sorted(can)], list(cannot.values()), beside


def reduced(spark, some, tools, beside):
    """The manifest's rows: one for each file, and one for the trace of a summary that says nothing."""
    rows = fetched(spark, some, tools)
    untold = [beside[row["path"]] for row in rows if row["state"] != "reduced" and row["path"] in beside]
    return rows + fetched(spark, untold, tools)


def fetched(spark, some, tools):
    if not some:
        return []
    rows = {file.path: reduce.row(file, "missing", "gone since it was listed") for file in some}
    found = frame(spark, list(map(literal, rows)), *LOOK, "content").rdd.map(
        lambda one: reduce.fetched(files.File(one.path, one.length, one.mtime_ns), one.content, tools))
    rows.update((row["path"], row) for row in found.collect())
    return list(rows.values())
