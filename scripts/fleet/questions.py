"""The questions across runs, the files of questions/, and the file of their answers, fleet.db. Nothing here
knows which engine answers."""
import os
import pathlib
import re
import sqlite3

from fleet import tables

FOLDER = pathlib.Path(__file__).resolve().parent / "questions"
APPLICATION, SCHEMA = 0x67707366, 3  # "gpsf": PRAGMA application_id of a fleet's answers


def texts():
    """{name: SELECT}"""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.sql"))}


def asked_of():
    """Tables that the questions name: {table: columns}."""
    words = set(re.findall(r"\w+", " ".join(texts().values())))
    return {table: columns for table, columns in tables.of_a_fleet().items() if table in words}


def write_answers(out, answer):
    """answer: what gives ([(column, type)], rows) of a SELECT. The file is there when it is whole."""
    place = pathlib.Path(out, "fleet.db")
    made = place.with_name(f".fleet.db.{os.getpid()}")
    made.unlink(missing_ok=True)
    base = sqlite3.connect(made)
    base.execute(f"PRAGMA application_id = {APPLICATION}")
    base.execute(f"PRAGMA user_version = {SCHEMA}")
    for name, text in texts().items():
        columns, rows = answer(text)
        base.execute(f'CREATE TABLE "{name}" ({", ".join(f"{column} {kind}" for column, kind in columns)})')
        base.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(columns))})', rows)
    base.commit()
    base.close()
    os.replace(made, place)
