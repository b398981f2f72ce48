"""tirax beside what users would take instead, on the same programs, in turns, results compared first.

    python benchmarks/beside_peers.py [--all] [--only matmul,softmax] [--models bert,resnet] [--threads 2] [--plot]

Peers that are installed take part (`pip install -r benchmarks/peers/requirements.txt`). A program's limit is the
machine's, measured in the same run: multiply-adds in registers (times the threads), or copying as many bytes.
The table is printed, and written as Markdown and JSON to build/benchmarks/.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any

import measure

measure.quiet()

import models  # noqa: E402
import numpy as np  # noqa: E402
import peaks  # noqa: E402
from peers import programs, runtimes  # noqa: E402


def pin(threads: int) -> None:
    """As many cores as threads, and no more."""
    cores = sorted(measure.CORES)[-threads:]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)
    os.environ.update(dict.fromkeys(measure.THREADS, str(threads)))
    runtimes.one_thread(threads)


def chosen(options: argparse.Namespace) -> Iterator[programs.Program]:
    """The programs that are asked for; all small ones where nothing is."""
    selected = [part for part in options.only.split(",") if part]
    names = list(models.WORKLOADS) if options.all else [name for name in options.models.split(",") if name]
    if selected or options.all or not names:
        yield from (p for p in programs.small_programs() if not selected or any(part in p.name for part in selected))
    for name in names:
        yield programs.model(name, small=options.small)


def first_result(peer: runtimes.Peer, program: programs.Program, threads: int) -> tuple[runtimes.Call, Any] | None:
    """The call and what it returns; None, and a line that says why, where a peer refuses the program or fails on it."""
    try:
        call = peer.compile(program, threads)
        return None if call is None else (call, np.asarray(call()))
    except Exception as error:  # of other people's compilers: any
        if peer.name == "tirax":
            raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        print(f"{peer.name} cannot run {program.name}: {reason[:100]}", flush=True)
        return None


def compiled(program: programs.Program, threads: int) -> dict[str, runtimes.Call]:
    """The calls by peer; raises where a result is wrong."""
    expected = program.reference()
    scale = max(float(np.max(np.abs(expected))), 1e-30)
    calls: dict[str, runtimes.Call] = {}
    for peer in runtimes.PEERS:
        ready = first_result(peer, program, threads) if peer.installed else None
        if ready is None:
            continue
        call, result = ready
        difference = float(np.max(np.abs(result - expected))) / scale
        if not difference <= program.tolerance:
            raise ValueError(f"{peer.name} computes {program.name} wrong: {difference:.1e} of the greatest value")
        calls[peer.name] = call
    return calls


def measured(program: programs.Program, options: argparse.Namespace) -> dict[str, object]:
    """The row of a program: microseconds by peer, median and minimum, and the limit."""
    calls = compiled(program, options.threads)
    limit = peaks.Peak() if program.flop else peaks.Copy(program.traffic // 2) if program.traffic else None
    extra = {} if limit is None else {"limit": limit.call}
    times = measure.interleaved({**calls, **extra}, options.rounds, sample=options.sample, longest=options.longest)
    row: dict[str, object] = {"program": program.name}
    if limit is not None:
        spent = times.pop("limit").minimum
        scale = program.flop / limit.flop / options.threads if program.flop else 1.0
        row["limit_us"] = spent * scale
    row["peers"] = {name: {"median_us": t.median, "minimum_us": t.minimum} for name, t in times.items()}
    return row


def summary(row: dict[str, object]) -> tuple[float, float, str]:
    """(our time, the best peer's ÷ ours, its name), by minima: medians tell of a shared machine's other users."""
    peers = {name: t["minimum_us"] for name, t in row["peers"].items()}
    ours = peers.pop("tirax")
    best = min(peers, key=peers.__getitem__)
    return ours, peers[best] / ours, best


def print_row(row: dict[str, object], names: list[str]) -> None:
    """One line: each peer's minimum in µs, our ratio to the best of them and to the limit."""
    ours, ratio, best = summary(row)
    cells = [f"{row['peers'][n]['minimum_us']:14.1f}" if n in row["peers"] else f"{'':14}" for n in names]
    of_limit = f"{row['limit_us'] / ours:8.2f}" if "limit_us" in row else f"{'':8}"
    print(f"{row['program']:24}" + "".join(cells) + of_limit + f"{ratio:8.2f}  {best}", flush=True)


def markdown(rows: list[dict[str, object]]) -> str:
    """The table as it stands in the docs: our minimum, and how the best peer and the limit compare with it."""
    lines = ["| program | µs | best peer ÷ tirax | limit |", "|---|---|---|---|"]
    for row in rows:
        ours, ratio, best = summary(row)
        limit = f"{row['limit_us'] / ours:.2f}" if "limit_us" in row else ""
        lines.append(f"| {row['program']} | {ours:.1f} | {ratio:.2f} ({best}) | {limit} |")
    return "\n".join(lines) + "\n"


def plot(rows: list[dict[str, object]], path: str) -> None:
    """Bars of the best peer's time ÷ ours, and of our part of the limit. Needs matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = [row["program"] for row in rows]
    figure, axes = pyplot.subplots(1, 2, figsize=(12, 0.35 * len(rows) + 1.5), sharey=True)
    axes[0].barh(names, [summary(row)[1] for row in rows])
    axes[0].set_title("best peer's time ÷ tirax's")
    axes[0].axvline(1, color="black")
    axes[1].barh(names, [row.get("limit_us", 0) / summary(row)[0] for row in rows])
    axes[1].set_title("part of the machine's limit")
    axes[0].invert_yaxis()
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    """Print the table and write it to build/benchmarks/beside_peers.json."""
    parser = argparse.ArgumentParser(description="tirax beside its peers")
    parser.add_argument("--only", default="", help="parts of the names of programs, with commas")
    parser.add_argument("--models", default="", help="whole models, with commas: bert, resnet, vit, gpt2, llama")
    parser.add_argument("--all", action="store_true", help="the operators, the MLP and all five models")
    parser.add_argument("--small", action="store_true", help="narrow models")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--sample", type=float, default=2e-3, help="seconds of a sample")
    parser.add_argument("--longest", type=float, default=10.0, help="seconds, after which a peer sits out a program")
    parser.add_argument("--plot", action="store_true", help="build/benchmarks/beside_peers.svg, too")
    options = parser.parse_args()
    pin(options.threads)
    names = [peer.name for peer in runtimes.PEERS if peer.installed]
    print(f"{measure.processor()}, {options.threads} thread(s); µs a call, minimum\n")
    print(f"{'':24}" + "".join(f"{name:>14}" for name in names) + f"{'limit':>8}{'ratio':>8}  best peer")
    rows = []
    for program in chosen(options):
        rows.append(measured(program, options))
        print_row(rows[-1], names)
    name = "beside_peers" if options.threads == 1 else f"beside_peers_{options.threads}"
    path = measure.write(name, rows)
    path.with_suffix(".md").write_text(markdown(rows))
    if options.plot:
        plot(rows, str(path.with_suffix(".svg")))


if __name__ == "__main__":
    main()
