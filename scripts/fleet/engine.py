"""What Spark does for a fleet: files become summaries, summaries become partitioned Parquet, and the metrics'
SELECTs are asked of it. Rows of traces pass through executors only; to the driver come a row for each file
and what a question answers."""
import atexit
import contextlib
import pathlib
import re
import shutil
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import broadcast, concat, lit, when
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from fleet import metrics, reduce, run_row, tables

TYPES = {"INTEGER": LongType, "REAL": DoubleType, "TEXT": StringType}
FAILURES = (Py4JError, PySparkException)
RUNS_AT_ONCE = 16
ONE_BY_ONE = ("its ranks were reduced one by one, so what compares ranks is not known: analyse the traces "
              "that raw_file names together")
QUICK_JAVA, MEMORY = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC", "512m"
TABLES_AT_ONCE = 2
SUMMARIES_OF_A_TASK = 128
TASKS_OF_A_STAGE = 100  # of which Spark remembers how they went


def session(name="gpushim fleet", **settings):
    made = (SparkSession.builder.appName(name)
            .config("spark.sql.sources.partitionOverwriteMode", "dynamic")
            .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
            .config("spark.sql.parquet.compression.codec", "snappy")
            .config("spark.sql.shuffle.partitions", "4")
            # Many short questions: compiling them would take longer than answering them.
            .config("spark.sql.codegen.wholeStage", "false")
            .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
            .config("spark.sql.adaptive.enabled", "false")
            .config("spark.driver.extraJavaOptions", QUICK_JAVA)
            .config("spark.executor.extraJavaOptions", QUICK_JAVA)
            .config("spark.driver.memory", MEMORY)
            .config("spark.executor.memory", MEMORY)
            .config("spark.sql.session.timeZone", "UTC")
            # Where a worker cannot work, a task of it goes to another one, and not there four times.
            .config("spark.excludeOnFailure.enabled", "true")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.ui.enabled", "false")
            # What was asked is kept for a page that there is not.
            .config("spark.sql.ui.retainedExecutions", "1")
            .config("spark.ui.retainedJobs", "10")
            .config("spark.ui.retainedStages", "10")
            .config("spark.ui.retainedTasks", str(TASKS_OF_A_STAGE)))
    for key, value in settings.items():
        made = made.config(key, value)
    spark = made.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    ship(spark.sparkContext)
    return spark


@contextlib.contextmanager
def explained(spark):
    """Tells with a failure what a task said: of a task that no executor may try again Spark says "Most recent
    failure: null"."""
    try:
        yield
    except FAILURES as error:
        with contextlib.suppress(*FAILURES):
            error.task_said = last_of_tasks(spark.sparkContext)
        raise


def last_of_tasks(context):
    """What one of the last tasks that failed said; None: nothing. Of the store behind Spark's pages, which
    is there without pages, too: Python has no listeners."""
    store, java = context._jsc.sc().statusStore(), context._jvm
    stages = store.stageList(None, False, False, context._gateway.new_array(java.double, 0),
                             java.java.util.ArrayList())
    for stage in map(stages.apply, range(stages.size())):  # the last one first
        tasks = store.taskList(stage.stageId(), stage.attemptId(), TASKS_OF_A_STAGE)
        for said in (tasks.apply(nth).errorMessage() for nth in range(tasks.size())):
            if said.isDefined():
                return said.get()
    return None


def ship(context):
    """This package, to executors."""
    folder = tempfile.mkdtemp(prefix="gpushim-fleet-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    archive = pathlib.Path(folder, "fleet.zip")
    with zipfile.ZipFile(archive, "w") as package:
        for module in sorted(pathlib.Path(__file__).parent.glob("*.py")):
            package.write(module, f"fleet/{module.name}")
    context.addPyFile(str(archive))


def struct(columns):
    return StructType([StructField(name, TYPES[kind]()) for name, kind in columns])


def slices(context, count, of_each):
    """How many tasks for so many files: small files share one, so ten thousand are not ten thousand tasks."""
    return max(1, min(count, max(context.defaultParallelism, count // of_each)))


def reduced(spark, files, tools):
    """The manifest's rows of these files: one for each."""
    if not files:
        return []
    context = spark.sparkContext
    groups = reduce.groups(files, context.defaultParallelism)
    return context.parallelize(groups, len(groups)).flatMap(
        lambda group: [reduce.reduced(file, tools) for file in group]).collect()


def folder_of(out, table):
    return pathlib.Path(out, f"table={table}")


def write_table(spark, out, table, columns, runs):
    """The rows of that table of all summaries of these runs. No shuffle: a task has whole summaries."""
    context, wide = spark.sparkContext, tables.columns_of(columns)
    sources = [(run.day, run.name, entry["summary"]) for run in runs for entry in run.entries
               if table in entry["tables"]]
    if not sources:
        return

    def rows(source):
        day, run, place = source
        for row in tables.rows(place, table, columns):
            yield row + (day, run)

    told = context.parallelize(sources, slices(context, len(sources), SUMMARIES_OF_A_TASK)).flatMap(rows)
    frame = spark.createDataFrame(told, struct(wide + tables.PARTS), verifySchema=False)
    frame.write.mode("overwrite").partitionBy("day", "run").parquet(str(folder_of(out, table)))


def write_small(spark, out, table, columns, rows):
    """Rows of the driver's own: what is known of runs and files."""
    frame = spark.createDataFrame(rows, struct(columns), verifySchema=False)
    frame.coalesce(1).write.mode("overwrite").partitionBy("day", "run").parquet(str(folder_of(out, table)))


def write_tables(spark, out, runs):
    with ThreadPoolExecutor(TABLES_AT_ONCE) as pool:
        for done in [pool.submit(write_table, spark, out, table, columns, runs)
                     for table, columns in tables.schema().items()]:
            done.result()


def read(spark, out, table):
    """The whole table; None where nothing was ever written."""
    folder = folder_of(out, table)
    return spark.read.option("basePath", str(folder)).parquet(str(folder)) \
        if any(folder.glob("day=*/run=*/*.parquet")) else None


def empty(spark, table, schema):
    """A table without rows, as Spark knows before it asks: what needs its rows is then left out of a plan."""
    kinds = {"INTEGER": "BIGINT", "REAL": "DOUBLE", "TEXT": "STRING"}
    cells = ", ".join(f"CAST(NULL AS {kinds[kind]}) AS {name}"
                      for name, kind in tables.columns_of(schema[table]) + tables.PARTS)
    return spark.sql(f"SELECT {cells} WHERE 1 = 0")


def definitions(spark, files):
    rows = [(metric.name, int(metric.head["version"]), metric.head["unit"], metric.head["kind"],
             metric.subject, metric.head["words"]) for metric in files]
    values = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
    return spark.sql(f"SELECT * FROM VALUES {values} AS d(name, version, unit, kind, subject, words)")


def literal(value):
    """Of Spark: its strings have no doubled quotes."""
    if isinstance(value, int):
        return f"{value}L"
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def frames(spark, out, runs, names):
    """{table: its rows of these runs}, read once."""
    chosen, schema, found = [run.name for run in runs], tables.schema(), {}
    for table in names:
        whole = read(spark, out, table)
        found[table] = empty(spark, table, schema) if whole is None \
            else whole.where(whole.run.isin(chosen)).persist()
    return found


def views(spark, of, runs):
    """From now on the tables and views that metrics read are those of these runs. What was asked before stays
    what it was: Spark looks names up when it is asked."""
    names = [run.name for run in runs]
    one_by_one = [run.name for run in runs if len(run.entries) > 1]
    for table, frame in of.items():
        frame = frame.where(frame.run.isin(names))
        if table in ("across", "skew", "allreduce_check"):  # of a part of the run's ranks they are of no run
            frame = frame.where(~frame.run.isin(one_by_one))
        frame.createOrReplaceTempView(table)
    for name, text in metrics.view_texts().items():
        spark.sql(f"CREATE OR REPLACE TEMP VIEW {name} AS {text}")


def union(selects, columns):
    return "\nUNION ALL\n".join(f"SELECT * FROM (\n{metrics.named(select, columns)}\n)" for select in selects)


def texts_of(files, subjects):
    return [metric.rows for metric in files if metric.subject in subjects], \
           [text for metric in files if metric.subject in subjects for text in metric.ranges]


def needed(files):
    """Tables that the metrics and their views name."""
    words = set(re.findall(r"\w+", " ".join([metric.rows for metric in files]
                                            + [text for metric in files for text in metric.ranges]
                                            + list(metrics.view_texts().values()))))
    return sorted(table for table in tables.schema() if table in words)


def cast(frame, columns):
    """The columns of the table, each of its type."""
    return frame.select(*[frame[name].cast(TYPES[kind]()).alias(name) for name, kind in columns])


def of_run(frame, run):
    """With the run that it is of. What compares ranks is not known where they were reduced one by one."""
    frame = frame.withColumn("day", lit(run.day)).withColumn("run", lit(run.name))
    if len(run.entries) == 1 or "why" not in frame.columns:
        return frame
    return frame.withColumn("why", when(frame.value.isNull() & (frame.level.isNull()),
                                        concat(frame.why, lit(f"; {ONE_BY_ONE}"))).otherwise(frame.why))


def of_gpus(spark, select, columns):
    """Rows of GPUs, of whatever run: each with the run of its GPU."""
    frame = spark.sql(union(select, columns))
    gpu = spark.table("gpu").select("gpu_id", *[name for name, _ in tables.PARTS])
    return frame.join(gpu, frame.id == gpu.gpu_id).drop("gpu_id")


def gpu_frames(spark, of, runs, files):
    """(rows of metric, rows of metric_interval) of all GPUs of these runs."""
    views(spark, of, runs)
    rows, ranges = texts_of(files, ("gpu",))
    columns, parts = tables.kinds(metrics.METRIC_COLUMNS), tables.kinds(metrics.INTERVAL_COLUMNS)
    return (cast(of_gpus(spark, rows, metrics.METRIC_COLUMNS), columns + tables.PARTS),
            cast(of_gpus(spark, ranges, metrics.INTERVAL_COLUMNS), parts + tables.PARTS))


def run_frame(spark, of, run, files):
    """Rows of metric of this run's ranks, and of all of them together."""
    views(spark, of, [run])
    rows, _ = texts_of(files, ("steps", "ranks"))
    asked = spark.sql(union(rows, metrics.METRIC_COLUMNS))
    return cast(of_run(asked, run), tables.kinds(metrics.METRIC_COLUMNS) + tables.PARTS)


def with_seen(spark, frame, runs):
    """Every figure says of how many ranks it is."""
    seen = spark.createDataFrame([(run.day, run.name, run.ranks_seen, run.ranks_expected) for run in runs],
                                 struct(tables.PARTS + tables.SEEN))
    return frame.join(broadcast(seen), ["day", "run"])


def write_metrics(spark, out, runs):
    """The partitions of these runs have been removed. The metrics of steps are asked of one run after
    another: their plans for eight runs at once did not fit into the driver's memory."""
    files = metrics.all_metrics()
    definitions(spark, files).createOrReplaceTempView("metric_definition")

    def add(table, frame, some):
        with_seen(spark, frame, some).coalesce(1).write.mode("append").partitionBy("day", "run") \
            .parquet(str(folder_of(out, table)))

    for start in range(0, len(runs), RUNS_AT_ONCE):
        some = runs[start:start + RUNS_AT_ONCE]
        of = frames(spark, out, some, needed(files))
        for table, frame in zip(("metric", "metric_interval"), gpu_frames(spark, of, some, files)):
            add(table, frame, some)
        for run in some:
            add("metric", run_frame(spark, of, run, files), [run])
        for frame in of.values():
            frame.unpersist()
    write_definitions(spark, out, files)


def write_definitions(spark, out, files):
    place = str(folder_of(out, "metric_definition"))
    definitions(spark, files).coalesce(1).write.mode("overwrite").parquet(place)


def write_runs(spark, out, runs, price):
    write_small(spark, out, "fleet_run", tables.RUN_TABLE + tables.PARTS,
                [run_row.of(run, price) for run in runs])


def write_coverage(spark, out, runs, other):
    rows = [tuple(row[2:]) + (row.day, row.run) for run in runs for row in run.coverage]
    rows += [tuple(row[2:]) + (row.day, row.run) for row in other]
    if rows:
        write_small(spark, out, "coverage", tables.COVERAGE + tables.PARTS, rows)
