"""The target of code generation: `Target("llvm")` is this machine, `Target("llvm -mcpu=znver4 -num-cores=8")` another.

The options are those of TVM's target strings that apply to CPUs: `-mcpu`, `-mtriple`, `-mattr`,
`-num-cores`, `-vector-width` (bits), `-l1d-size`, `-l2-size`, `-l3-size` (bytes of a core's data caches and
of the shared last-level cache; by default those of this machine, or of the processor), and `-math`, the
implementation of elementary functions: `polynomial` (the default; see docs/vector_math.md) or `libm`, the C
library's. `-keys`, `-device`, `-model` and `-tag` are accepted and ignored.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from .diagnostics import (
    DTypeError,
    SourceLocation,
    TiraxError,
    UnsupportedError,
    register_source,
    suggestion,
    unknown_name,
)
from .hardware import Caches, host_caches, usable_cores
from .runtime.host import host


class TargetError(TiraxError, ValueError):
    """Raised for an invalid target string."""


_WITHOUT_EFFECT = frozenset(("keys", "device", "model", "tag"))
_LISTS = frozenset(("keys", "mattr"))
"""Options whose values are comma-separated lists."""
_CACHES = {"l1d-size": "l1d", "l2-size": "l2", "l3-size": "l3"}
_OPTIONS = frozenset(("mcpu", "mtriple", "mattr", "num-cores", "vector-width", "math", *_CACHES)) | _WITHOUT_EFFECT
_MATH = ("polynomial", "libm")
_FOREIGN_KINDS = ("cuda", "rocm", "opencl", "vulkan", "metal", "webgpu", "hexagon", "c", "ext_dev", "nvptx")


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_V1 = _names("sse sse2 fxsr cmov cx8 64bit")
_V2 = _V1 | _names("sse3 ssse3 sse4.1 sse4.2 popcnt cx16 sahf")
_V3 = _V2 | _names("avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave")
_V4 = _V3 | _names("avx512f avx512bw avx512cd avx512dq avx512vl")
_VNNI = _V4 | {"avx512vnni"}
_BF16 = _VNNI | {"avx512bf16"}
_FP16 = _BF16 | {"avx512fp16"}
_AMX = _FP16 | _names("amx-tile amx-int8 amx-bf16")
_X86_CPUS: dict[str, frozenset[str]] = {
    **dict.fromkeys(_names("x86-64 generic k8 athlon64 opteron core2 penryn bonnell btver1 amdfam10 barcelona"), _V1),
    **dict.fromkeys(_names("x86-64-v2 nehalem westmere silvermont goldmont goldmont-plus tremont"), _V2),
    **dict.fromkeys(_names("sandybridge ivybridge bdver1 bdver2 bdver3 btver2"), _V2 | {"avx", "xsave"}),
    **dict.fromkeys(_names("x86-64-v3 haswell broadwell skylake znver1 znver2 znver3 bdver4"), _V3),
    **dict.fromkeys(
        _names(
            "alderlake raptorlake meteorlake arrowlake arrowlake-s lunarlake gracemont sierraforest grandridge "
            "clearwaterforest pantherlake"
        ),
        _V3 | {"avxvnni"},
    ),
    **dict.fromkeys(_names("x86-64-v4 skylake-avx512 skx cannonlake knl knm"), _V4),
    **dict.fromkeys(_names("cascadelake icelake-client icelake-server tigerlake rocketlake"), _VNNI),
    **dict.fromkeys(_names("cooperlake znver4 znver5"), _BF16),
    **dict.fromkeys(_names("sapphirerapids emeraldrapids graniterapids graniterapids-d diamondrapids"), _AMX),
}
_KIB, _MIB = 1 << 10, 1 << 20
_CPU_CACHES: dict[str, Caches] = {
    **dict.fromkeys(_names("nehalem westmere sandybridge ivybridge haswell broadwell skylake"), Caches(l2=256 * _KIB)),
    **dict.fromkeys(_names("x86-64-v4 skylake-avx512 skx cascadelake cooperlake"), Caches(l2=1 * _MIB, l3=16 * _MIB)),
    **dict.fromkeys(_names("alderlake raptorlake meteorlake rocketlake"), Caches(48 * _KIB, 1280 * _KIB, 24 * _MIB)),
    **dict.fromkeys(_names("icelake-client"), Caches(48 * _KIB, 512 * _KIB, 8 * _MIB)),
    **dict.fromkeys(_names("tigerlake icelake-server"), Caches(48 * _KIB, 1280 * _KIB, 24 * _MIB)),
    **dict.fromkeys(
        _names("sapphirerapids emeraldrapids graniterapids graniterapids-d diamondrapids"),
        Caches(48 * _KIB, 2 * _MIB, 32 * _MIB),
    ),
    **dict.fromkeys(_names("znver2 znver3"), Caches(l3=16 * _MIB)),
    "znver4": Caches(l2=1 * _MIB, l3=32 * _MIB),
    "znver5": Caches(48 * _KIB, 1 * _MIB, 32 * _MIB),
    **dict.fromkeys(_names("neoverse-n1 neoverse-n2 neoverse-v1 neoverse-v2"), Caches(64 * _KIB, 1 * _MIB, 32 * _MIB)),
    **dict.fromkeys(_names("apple-m1 apple-m2 apple-m3"), Caches(128 * _KIB, 4 * _MIB, 8 * _MIB)),
}
"""The caches of known processors, with a core's share of a shared second-level cache; others have `Caches()`."""
_DTYPE = re.compile(r"(?:float|int|uint|bfloat)(\d+)|float8_\w+|bool")

_TUNING = ("allow-", "branchfusion", "evex", "false-deps-", "fast-", "idiv", "macrofusion", "prefer-", "slow-")
"""Prefixes of LLVM's x86 features that describe tuning, not capabilities: processors report none of them."""
_WORD_DOTS = frozenset({"avx512vnni", "avxvnni"})
"""Features with `vpdpwssd`."""


def _check_feature(name: str, triple: str) -> None:
    """Raise `TargetError` for an unknown x86 feature; LLVM would only warn. Known names are those of the host."""
    known = {n for n, _ in host().features}
    if not (_is_x86(triple) and _is_x86(host().triple)) or name in known or name.startswith(_TUNING):
        return
    raise TargetError(f"unknown x86 feature '{name}'", hint=suggestion(name, known))


def tile_vectors(registers: int) -> tuple[int, ...]:
    """Return the widths of a register tile in vectors, the best first: 24 columns of 8 lanes are one tile of three."""
    return (4, 3, 2) if registers >= 32 else (2, 3)


def host_triple() -> str:
    """Return the triple of this machine; on x86 with the vendor `pc`, as in LLVM's own builds."""
    triple = host().triple
    return triple.replace("-unknown-linux", "-pc-linux") if _is_x86(triple) else triple


_current: ContextVar[tuple[Target, ...]] = ContextVar("tirax_targets", default=())


@dataclass(frozen=True)
class Target:
    """A parsed target; equal if its canonical text is. Raises `TargetError`, or `NameLookupError` with a suggestion.

    It is created from a text, a dictionary such as `{"kind": "llvm", "num-cores": 8}`, or another target.
    Within `with target:` it is the target that `Target.current()` returns.
    """

    text: str = "llvm"
    triple: str = field(init=False, compare=False)
    cpu: str = field(init=False, compare=False)
    features: frozenset[str] = field(init=False, compare=False)
    feature_string: str = field(init=False, compare=False, repr=False)
    vector_bits: int = field(init=False, compare=False)
    vector_registers: int = field(init=False, compare=False)
    cores: int = field(init=False, compare=False)
    core_limit: int = field(init=False, compare=False)
    """The value of `-num-cores`; 0 if unset, which means the cores of the machine that runs the code."""
    caches: Caches = field(init=False, compare=False)
    math: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        source = self.text.text if isinstance(self.text, Target) else self.text
        options = _parse(text_of(source) if isinstance(source, Mapping) else source)
        self._set("text", " ".join(["llvm", *(f"-{k}={shlex.quote(v)}" for k, v in options.items())]))
        native = options.get("mcpu", "native") == "native"
        self._set("triple", options.get("mtriple", host().triple))
        self._set("cpu", host().processor if native and "mtriple" not in options else _cpu(options, self.triple))
        self._set_features(options, native and "mtriple" not in options)
        wide, x86 = "avx512f" in self.features, _is_x86(self.triple)
        bits = 512 if wide else 256 if self.features & {"avx", "avx2"} else 128
        self._set("vector_bits", _number(self.text, "vector-width", options.get("vector-width", str(bits))))
        self._set("vector_registers", 32 if wide or not x86 else 16)
        self._set("core_limit", _number(self.text, "num-cores", options["num-cores"]) if "num-cores" in options else 0)
        self._set("cores", self.core_limit or usable_cores())
        self._set("caches", self._with_caches(options, native and "mtriple" not in options))
        self._set("math", _choice(self.text, "math", options.get("math", _MATH[0]), _MATH))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _set_features(self, options: dict[str, str], native: bool) -> None:
        """Set the enabled features and LLVM's feature string.

        The string does not discourage 512-bit vectors nor dot products of words: their dependence chains are short
        here.
        """
        requested = [f for f in options.get("mattr", "").split(",") if f]
        for item in requested:
            if item[0] not in "+-":
                raise TargetError(f"feature '{item}' in target '{self.text}'", expected=f"+{item} or -{item}")
            _check_feature(item[1:], self.triple)
        if native:
            flags, enabled = list(host().flags), {name for name, on in host().features if on}
        else:
            flags, enabled = [], set(_X86_CPUS.get(self.cpu, frozenset()) if _is_x86(self.triple) else ())
        for item in requested:
            (enabled.add if item[0] == "+" else enabled.discard)(item[1:])
        flags += requested
        if "avx512f" in enabled:
            flags.append("-prefer-256-bit")
        if enabled & _WORD_DOTS:
            flags.append("+fast-dpwssd")
        self._set("features", frozenset(enabled))
        self._set("feature_string", ",".join(flags))

    def _with_caches(self, options: dict[str, str], native: bool) -> Caches:
        """Return the caches of this machine or processor, overridden by the options."""
        explicit = {_CACHES[k]: _number(self.text, k, v) for k, v in options.items() if k in _CACHES}
        return replace(host_caches() if native else _CPU_CACHES.get(self.cpu, Caches()), **explicit)

    @property
    def has_fma(self) -> bool:
        """True if there are fused multiply-add instructions."""
        return "fma" in self.features or not _is_x86(self.triple)

    @property
    def compresses_vectors(self) -> bool:
        """True if an instruction moves the lanes selected by a mask to the front of a vector."""
        return "avx512f" in self.features

    @staticmethod
    def host() -> Target:
        """Return the target of this machine."""
        return _host_target()

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """Return the target of the innermost `with`. Without one, return None, or raise `TargetError`."""
        entered = _current.get()
        if not entered and not allow_none:
            raise TargetError("no target was entered", hint='with Target("llvm"): …')
        return entered[-1] if entered else None

    def __tirax_script_value__(self) -> str:
        """Return the text of the target, its value when a script captures it."""
        return str(self)

    def __enter__(self) -> Target:
        _current.set((*_current.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        _current.set(_current.get()[:-1])

    def export(self) -> dict[str, Any]:
        """Return the target as a dictionary, from which `Target` creates an equal one."""
        options = _parse(self.text)
        numbers = {k: int(v) for k, v in options.items() if v.isdecimal()}
        lists = {k: v.split(",") for k, v in options.items() if k in _LISTS}
        return {"kind": "llvm", **options, **numbers, **lists}

    def lanes(self, dtype: str) -> int:
        """Return how many elements of a dtype (`float32`, `bfloat16`, `int8`, `bool`, …) fit into a vector register."""
        match = _DTYPE.fullmatch(dtype)
        if match is None:
            raise DTypeError(f"dtype '{dtype}' has no vectors", expected="a number type, such as float32 or int8")
        bits = 8 if match.group(1) is None else max(8, int(match.group(1)))
        return max(1, self.vector_bits // bits)

    def __repr__(self) -> str:
        return f"Target({self.text!r})"

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=1)
def _host_target() -> Target:
    return Target("llvm")


def _is_x86(triple: str) -> bool:
    return triple.split("-", 1)[0] in ("x86_64", "i686", "i386", "amd64")


def _cpu(options: dict[str, str], triple: str) -> str:
    cpu = options.get("mcpu", "generic")
    if _is_x86(triple) and cpu not in _X86_CPUS:
        error = unknown_name("cpu", cpu, _X86_CPUS)
        error.hint = error.hint or suggestion(re.sub(r"^zen[ -]?", "znver", cpu), _X86_CPUS, cutoff=0.3)
        raise error
    if not _is_x86(triple) and cpu in _X86_CPUS.keys() - {"generic"}:
        raise TargetError(
            f"'{cpu}' is a cpu of x86", expected=f"one of {triple.split('-', 1)[0]}", found=f"-mcpu={cpu}"
        )
    return cpu


def _number(text: str, option: str, value: str) -> int:
    if not value.isdecimal() or int(value) == 0:
        raise TargetError(f"option -{option} in target '{text}'", expected="a positive integer", found=f"'{value}'")
    return int(value)


def _choice(text: str, option: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise TargetError(f"option -{option} in target '{text}'", expected=" or ".join(known), found=f"'{value}'")
    return value


def text_of(config: Mapping[str, Any]) -> str:
    """Return the target string of a dictionary; empty entries are omitted."""
    if "kind" not in config:
        raise TargetError("a target's dictionary has no kind", expected='{"kind": "llvm", …}', found=dict(config))
    options = {k: ",".join(map(str, v)) if isinstance(v, list | tuple) else str(v) for k, v in config.items()}
    arguments = [f"-{k}={shlex.quote(v)}" for k, v in options.items() if k != "kind" and v]
    return " ".join([options["kind"], *arguments])


def _place(text: str, part: str) -> SourceLocation:
    register_source("<target>", text)
    column = max(text.find(part), 0) + 1
    return SourceLocation("<target>", 1, column, column + len(part))


def _joined(parts: Sequence[str]) -> list[str]:
    """Join options with their values: `--num-cores 16` -> `--num-cores=16`."""
    out: list[str] = []
    for part in parts:
        if not part.startswith("-") and out and "=" not in out[-1]:
            out[-1] += f"={part}"
        else:
            out.append(part)
    return out


def words_of(text: str) -> list[str]:
    """Split a target string into words. Raises `TargetError` for an empty string or an unclosed quotation mark."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise TargetError(f"target string {text!r}: {error}") from None
    if not words:
        raise TargetError("empty target string", expected="llvm, then options such as -mcpu=native")
    return words


def _parse(text: str) -> dict[str, str]:
    """Return the options of a target string, in order."""
    kind, *rest = words_of(text)
    if kind in _FOREIGN_KINDS:
        raise UnsupportedError(f"target kind '{kind}'", expected="llvm", hint="tirax generates code for CPUs only")
    if kind != "llvm":
        raise unknown_name("target kind", kind, ["llvm"], _place(text, kind))
    options: dict[str, str] = {}
    for part in _joined(rest):
        name, equals, value = part.partition("=")
        key = name.lstrip("-")
        if not name.startswith("-") or key not in _OPTIONS:
            raise unknown_name("target option", name, [f"-{o}" for o in _OPTIONS], _place(text, part))
        if not equals or (not value and key not in _WITHOUT_EFFECT):
            raise TargetError(f"option {name} has no value", location=_place(text, part), expected=f"{name}=…")
        options[key] = value
    return options


def has_scalable_vectors(target: Target | str | None) -> bool:
    """Return whether a target, or its description, has scalable vectors (AArch64 SVE)."""
    return re.search(r"-mattr=\S*\+sve\b", str(target)) is not None
