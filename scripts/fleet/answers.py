"""The questions across runs, asked of the Parquet by Spark. An answer has rows of hosts, days, causes or
runs, never of calls, and comes to the driver row by row."""
from fleet import engine, questions, tables

KINDS = {"bigint": "INTEGER", "int": "INTEGER", "double": "REAL", "string": "TEXT"}


def with_tables(spark, out):
    """A session whose views are the fleet's tables."""
    own = spark.newSession()
    for table, columns in questions.asked_of().items():
        found = engine.read(own, out, table)
        if found is None:
            found = own.createDataFrame([], engine.struct(columns + tables.PARTS))
        found.createOrReplaceTempView(table)
    return own


def write(spark, out):
    own = with_tables(spark, out)

    def answer(text):
        frame = own.sql(text)
        return [(name, KINDS.get(kind, "TEXT")) for name, kind in frame.dtypes], \
            (tuple(row) for row in frame.toLocalIterator())

    questions.write_answers(out, answer)
