"""Run as a program by a Python that has Apache TVM: reads rows as JSON, writes what TVM's passes give for each.

Of a row with "each", the programs after each pass, up to the first one that fails.
"""

import json
import re
import sys

_TIRX = ("tir.UnrollLoop",)
"""The options of passes that are in `tirx`; those of others are in `s_tir`."""


def _find(room: str, name: str):  # noqa: ANN202 - TVM's objects have no types here
    from tvm import relax, s_tir, tirx

    rooms = (relax.transform,) if room == "relax" else (s_tir.transform, tirx.transform)
    newer = {"Simplify": "StmtSimplify"}.get(name, name)
    for each in rooms:
        if hasattr(each, newer):
            return getattr(each, newer)
    raise LookupError(f"no pass {name}")


def _run(row: dict, texts: list[str]) -> None:
    """Append the program, and the program after each pass."""
    import tvm
    from tvm.script import from_source

    module = from_source(row["source"], check_well_formed=False)
    config = {re.sub(r"^tir\.", "tirx." if k in _TIRX else "s_tir.", k): v for k, v in row["config"].items()}
    texts.append(module.script(show_meta=row.get("each", False)))
    with tvm.transform.PassContext(opt_level=3, config=config):
        for call in row["passes"]:
            module = _find(call["room"], call["name"])(*call["args"], **call["kwargs"])(module)
            texts.append(module.script(show_meta=row.get("each", False)))


def main() -> None:
    for line in sys.stdin:
        row, texts = json.loads(line), []
        answer = {}
        try:
            _run(row, texts)
        except Exception as error:  # noqa: BLE001 - whatever TVM raises is its answer
            answer = {"error": f"{type(error).__name__}: {error}"}
        if row.get("each"):
            answer["texts"] = texts
        elif not answer:
            answer = {"text": texts[-1]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
