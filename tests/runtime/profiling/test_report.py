"""What a report says of a recording that is written by hand."""

import csv
import io
import json

import numpy as np
import pytest

from tirax.runtime.errors import ArgumentError
from tirax.runtime.profiling.limits import Limits
from tirax.runtime.profiling.recorder import FIELDS, Recording
from tirax.runtime.profiling.report import Report
from tirax.runtime.profiling.sites import Site

SITES = (
    Site("host", "main", "main", "", "m.py:3:1"),
    Site("kernel", "matmul", "main", "lv", "m.py:4:9"),
    Site("kernel", "matmul", "main", "lv2", "m.py:6:9"),
    Site("packed", "say", "main", "lv1", "m.py:5:9"),
    Site("kernel", "never", "main"),
)
LIMITS = Limits(2, 1e9, ((1 << 10, 1e9), (1 << 20, 1e8)))


def events(*rows):
    return np.array([row + (0,) * (len(FIELDS) - len(row)) for row in rows], np.int64).reshape(-1, len(FIELDS))


def recorded(rows, end=10, lost=0, result=None):
    """A recording of one call, in which everything was measured."""
    sites = rows[:, FIELDS.index("site")]
    rows[:1, FIELDS.index("calls")] = 1
    return Recording(rows, lost, 0, end, np.bincount(sites[sites >= 0], minlength=len(SITES)), 1, result)


@pytest.fixture
def report():
    rows = events(
        (1_000, 0, -1, -1, -1),
        (2_000, 1, 500, 100, 64, 900, 1000, 2),
        (3_000, 0, -1, -1, -1),
        (4_000, 3, -1, -1, 64),
        (6_000, 2, 500, 100, 128),
        (8_000, 0, -1, -1, -1),
        (9_000, -1, -1, -1, -1),
    )
    return Report("main", SITES, recorded(rows, 10_000, result="result"), LIMITS)


def test_rows_add_up_to_the_call(report):
    rows = {row.name: row for row in report.rows}
    assert {name: round(row.seconds * 1e6, 6) for name, row in rows.items()} == {
        "matmul": 3, "host code of main": 3, "say": 2, "call from Python": 2
    }  # fmt: skip
    assert sum(row.share for row in report.rows) == pytest.approx(1.0)
    assert report.attributed == pytest.approx(0.8)
    assert report.seconds == 1e-5 and report.result == "result"


def test_a_kernel_is_one_row_with_all_its_calls(report):
    row = next(row for row in report.rows if row.name == "matmul")
    assert (row.count, row.operations, row.bytes, row.threads) == (2, 1000, 200, 2)
    assert row.limit == pytest.approx(1000 / 3000)
    assert row.balance == pytest.approx(0.9)
    assert row.place == "m.py:4:9, 1 more"


def test_rows_by_call(report):
    assert [(row.name, row.result, row.count) for row in report.by_call if row.kind == "kernel"] == [
        ("matmul", "lv2", 1), ("matmul", "lv", 1)
    ]  # fmt: skip
    assert [call["Result"] for call in report.calls] == ["", "lv", "lv2", "lv1", ""]
    assert sum(call["Percent"] for call in report.calls) == pytest.approx(100)


def test_unknown_costs_are_left_out():
    rows = events((0, 1, -1, 100, -1), (10, -1))
    report = Report("main", SITES, recorded(rows), LIMITS)
    row = report.rows[0]
    assert (row.operations, row.bytes, row.limit) == (None, 100, None)
    assert "matmul" in str(report)


def test_a_call_that_recorded_nothing():
    report = Report("main", SITES, recorded(events()), LIMITS)
    assert [row.name for row in report.rows] == ["call from Python"]
    assert json.loads(report.chrome_trace())["traceEvents"] and "</svg>" in report.roofline()


def test_the_table(report):
    lines = [line.split() for line in report.table().split("\n")]
    (total,) = [line for line in lines if line[:1] == ["sum"]]
    assert total[1:] == ["7", "10.0", "us", "100.0%"]
    (matmul,) = [line for line in lines if line[:1] == ["matmul"]]
    assert matmul[1:6] == ["2", "3.0", "us", "30.0%", "1"]
    assert sum(line[:1] == ["matmul"] for line in map(str.split, report.table(aggregate=False).split("\n"))) == 2
    unsorted = [line[0] for line in map(str.split, report.table(sort=False, col_sums=False).split("\n")) if line]
    assert unsorted.index("matmul") < unsorted.index("say") and "sum" not in unsorted


def test_of_calls_that_were_left_out_times_are_reported_and_counts_are_exact():
    """One call that stands for three, of 10 ns each, then one for itself, of 40; the kernel ran once more elsewhere."""
    rows = events(
        (100, 0, -1, -1, -1, 0, 0, 0, 3),
        (102, 1, 500, 100, 64),
        (110, -1, -1, -1, -1),
        (200, 0, -1, -1, -1, 0, 0, 0, 1),
        (202, 1, 500, 100, 64),
        (240, -1, -1, -1, -1),
    )
    report = Report("main", SITES, Recording(rows, 0, 0, 1000, np.array([4, 5, 0, 0, 7]), 4, single=False), LIMITS)
    reported = {row.name: (row.count, round(row.seconds * 1e9, 6)) for row in report.rows}
    kernel = (3 * 8 + 38) * 5 / 4
    assert reported == {
        "host code of main": (4, 8), "matmul": (5, kernel), "never": (7, 0),
        "outside of the calls": (4, 1000 - 8 - kernel),
    }  # fmt: skip
    assert next(row.operations for row in report.rows if row.name == "matmul") == 5 * 500
    assert "1 of 2.0 calls was measured" in " ".join(str(report).split())


def test_lost_events_are_reported():
    rows = events((0, 1, 1, 1, 1), (10, -1))
    assert "3 events were lost" in str(Report("main", SITES, recorded(rows, lost=3), LIMITS))


def test_json_and_csv_hold_the_same(report):
    data = json.loads(report.json())
    assert data["attributed"] == pytest.approx(0.8) and data["peak_memory"] == 128
    assert [row["name"] for row in data["rows"]] == [row.name for row in report.rows]
    rows = list(csv.DictReader(io.StringIO(report.csv())))
    assert [row["Name"] for row in rows] == [call["Name"] for call in data["calls"]]
    assert rows[0]["Operations"] == ""


def test_the_trace_has_every_segment_and_memory_over_time(report):
    trace = json.loads(report.chrome_trace())["traceEvents"]
    slices = [event for event in trace if event["ph"] == "X"]
    assert [(e["name"], e["ts"], e["dur"]) for e in slices[1:3]] == [
        ("host code of main", 1.0, 1.0), ("matmul", 2.0, 1.0)
    ]  # fmt: skip
    assert all(a["ts"] + a["dur"] <= b["ts"] for a, b in zip(slices[1:], slices[2:]))
    assert [(e["ts"], e["args"]["B"]) for e in trace if e["ph"] == "C"] == [(2.0, 64), (4.0, 64), (6.0, 128)]


def test_the_trace_is_of_the_trace_event_format(report):
    """What viewers require: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU"""
    trace = json.loads(report.chrome_trace())
    assert trace["displayTimeUnit"] in ("ms", "ns") and isinstance(trace["otherData"], dict)
    for event in trace["traceEvents"]:
        assert {"ph", "name", "pid", "tid"} <= event.keys() and {type(event["pid"]), type(event["tid"])} == {int}
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and isinstance(event["args"]["name"], str)
        elif event["ph"] == "X":
            assert event["ts"] >= 0 and event["dur"] >= 0 and isinstance(event.get("args", {}), dict)
        else:
            assert event["ph"] == "C" and event["ts"] >= 0 and all(v >= 0 for v in event["args"].values())
    call, *parts = ((e["ts"], e["ts"] + e["dur"]) for e in trace["traceEvents"] if e["ph"] == "X")
    assert all(call[0] <= begin and end <= call[1] for begin, end in parts), "slices of a thread nest"


def test_the_roofline_has_a_dot_for_each_kernel_and_a_line_for_each_memory(report):
    from xml.etree import ElementTree

    root = ElementTree.fromstring(report.roofline())
    kinds = [e.get("class") for e in root.iter()]
    assert kinds.count("dot") == 1 and kinds.count("roof") == 2
    (dot,) = [e for e in root.iter() if e.get("class") == "dot"]
    assert 0 < float(dot.get("cx")) < 900 and 0 < float(dot.get("cy")) < 560


@pytest.mark.parametrize(
    ("name", "begins"), [("a.json", "{"), ("a.trace.json", '{"traceEvents"'), ("a.csv", "Name,"), ("a.svg", "<svg")]
)
def test_files_by_extension(report, tmp_path, name, begins):
    report.save(tmp_path / name)
    assert (tmp_path / name).read_text().startswith(begins)


def test_other_extensions_are_refused(report, tmp_path):
    with pytest.raises(ArgumentError, match="no form of a profile"):
        report.save(tmp_path / "a.png")
    assert not list(tmp_path.iterdir())
