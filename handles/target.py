"""TVM's targets: of any kind, with a host or a tag; code is generated for kind `llvm`.

    Target("cuda -arch=sm_80", host="llvm").host.kind.name      # "llvm"

Targets without code generation can be created, passed on and queried, but not built for.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from .. import target as _cpu
from ..diagnostics import UnsupportedError, unknown_name
from ..dialects.tir.targets import KINDS, TargetAttr, TargetKind, keys_of, kind_of, option, parsed
from ..runtime import Device
from ..target import TargetError
from . import arm_targets

_UNDERSTOOD = frozenset(
    (
        "mcpu", "mtriple", "mattr", "num-cores", "vector-width", "math", "l1d-size", "l2-size", "l3-size", "keys",
        "device",
    )
)  # fmt: skip
"""Options of `llvm` that are supported here, or have no effect anywhere."""
_LLVM_OPTIONS = _UNDERSTOOD | frozenset(
    (
        "model", "tag", "libs", "host", "mabi", "mfloat-abi", "fast-math", "fast-math-nnan", "fast-math-ninf",
        "fast-math-nsz", "fast-math-arcp", "fast-math-contract", "fast-math-reassoc", "opt-level", "cl-opt", "jit",
        "from_device", "feature", "system-lib", "runtime",
    )
)  # fmt: skip


class Features(frozenset[str]):
    """The enabled features by LLVM's names, and those of TVM as attributes: None if a target has no such feature."""

    known: Mapping[str, Any]

    def __new__(cls, known: Mapping[str, Any], enabled: Iterable[str] = ()) -> Features:
        out = super().__new__(cls, enabled)
        out.known = known
        return out

    def __bool__(self) -> bool:
        return True  # also without any, as a node of TVM

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.known.get(name)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and bool(self.known.get(name)))


class Target(_cpu.Target):
    """A target of any kind, from a text, a tag, a dictionary (also as JSON) or another target, and a host.

    Raises `TargetError` for an invalid description, `NameLookupError` for an unknown kind.
    """

    kind: TargetKind
    attrs: dict[str, Any]
    keys: list[str]
    host: Any = None  # on the class: the constructor for this machine
    _wrong: Exception | None = None

    def __init__(self, target: Any = "llvm", host: Any = None):
        config = _config(target)
        host_config = config.pop("host", None) if host is None else host
        config.pop("host", None)
        kind = kind_of(config)
        attrs = {key: option(key, value) for key, value in config.items() if key != "kind"}
        if kind.name == "llvm":
            _refuse_unknown(attrs)
        self._set("kind", kind)
        self._set("attrs", attrs)
        keys = keys_of({"kind": kind.name, **attrs})
        if kind.name in ("llvm", "c"):
            keys = [*attrs.get("keys", ()), *(arm_targets.keys_of_arm(attrs) or keys)]
        self._set("keys", list(dict.fromkeys(keys)))
        self._set("host", None if host_config is None else Target(host_config))
        if kind.name == "composite":
            attrs["devices"] = [Target(d) for d in attrs.get("devices", ())]
        self._resolve()

    def _resolve(self) -> None:
        """Resolve the target for code generation; an error is stored and raised when code is generated."""
        described = self._text(_UNDERSTOOD if self.kind.name == "llvm" else None)
        self._set("text", described)
        if self.kind.name != "llvm":
            hint = "tirax generates code for CPUs only"
            self._set("_wrong", UnsupportedError(f"target kind '{self.kind}'", expected="llvm", hint=hint))
            return
        if arm_targets.is_microcontroller(self.attrs):
            self._set("_wrong", UnsupportedError(f"code for '{self.attrs['mcpu']}'", expected="a cpu of LLVM's hosts"))
            return
        try:
            self.__post_init__()
            self._set("features", Features(arm_targets.features(self.attrs), self.features))
        except TargetError as error:
            self._set("_wrong", error)

    def _text(self, only: frozenset[str] | None = None) -> str:
        options = {k: v for k, v in self.attrs.items() if only is None or k in only}
        listed = {k: ",".join(map(str, v)) if isinstance(v, list) else str(v) for k, v in options.items()}
        return " ".join([self.kind.name, *(f"-{k}={shlex.quote(v)}" for k, v in listed.items())])

    def __tirax_script_value__(self) -> TargetAttr:
        """Return the target as an attribute, also for scripts."""
        return TargetAttr.of(_config(self), None if self.host is None else self.host.__tirax_script_value__().config)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "attrs" not in vars(self):
            raise AttributeError(name)
        if name in self.attrs:
            return self.attrs[name]
        if self._wrong is not None and name in ("triple", "cpu", "feature_string", "vector_bits", "caches", "cores"):
            raise self._wrong
        if name == "features":
            known = arm_targets.features(self.attrs) if self.kind.name in ("llvm", "c") else {}
            return Features({"is_test": True} if self.kind.name == "test" else known)
        if name in (limits := _LIMITS.get(self.kind.name, {})):
            return limits[name]
        if name in _UNKNOWN:
            return _UNKNOWN[name]
        raise AttributeError(f"a target of kind {self.kind} has no '{name}'")

    def __eq__(self, other: object) -> bool:
        host = other.host if isinstance(other, Target) else None
        return isinstance(other, _cpu.Target) and str(other) == str(self) and host == self.host

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def device_name(self) -> str:
        """The device within its kind: the option `device`."""
        return str(self.attrs.get("device", ""))

    def get_attr(self, name: str) -> Any:
        """Return an option, or the default of its kind; None if there is neither."""
        return self.attrs.get(name, _LIMITS.get(self.kind.name, {}).get(name))

    def with_host(self, host: Any = None) -> Target:
        """Return the target with another host."""
        return Target(self, host)

    def get_target_device_type(self) -> int:
        """Return TVM's number of the device kind."""
        return self.kind.default_device_type

    def export(self) -> dict[str, Any]:
        """Return the target as a dictionary, from which `Target` creates an equal one."""
        if self.kind.name == "llvm" and self._wrong is None:
            return super().export()
        return {"kind": self.kind.name, **self.attrs}

    @staticmethod
    def list_kinds() -> list[str]:
        """Return the names of the kinds."""
        return list(KINDS)

    @staticmethod
    def from_device(device: Device | str) -> Target:
        """Return the target of a device. Raises `UnsupportedError` for devices other than the CPU."""
        name = str(device).split("(")[0].split(":")[0]
        if name not in ("cpu", "llvm"):
            raise UnsupportedError(f"a target of the device '{name}'", expected="cpu")
        return Target("llvm")

    @staticmethod
    def canon_target(target: Any) -> Target | None:
        """Return a target for anything that describes one; None stays None."""
        return target if target is None or isinstance(target, Target) else Target(target)

    @staticmethod
    def canon_target_and_host(target: Any, target_host: Any = None) -> tuple[Target | None, Target | None]:
        """Return the target with its host, and the host. Raises `AssertionError` for a host without a target, as
        in TVM.
        """
        if target is None:
            if target_host is not None:
                raise AssertionError("Target host is not empty when target is empty.")
            return None, None
        canonical = Target(target, target_host)
        return canonical, canonical.host

    @staticmethod
    def canon_multi_target(multi_targets: Any) -> list[Target] | None:
        """Return the targets for a single description, a list, or a dictionary by device; None stays None."""
        targets = multi_targets
        if targets is None:
            return None
        if isinstance(targets, Mapping) and "kind" not in targets:
            targets = list(cast("Mapping[Any, Any]", targets).values())
        return [Target(t) for t in targets] if isinstance(targets, list | tuple) else [Target(targets)]

    @staticmethod
    def canon_multi_target_and_host(target: Any, target_host: Any = None) -> list[Target]:
        """Return the result of `canon_multi_target`, each with the host. Raises `AssertionError` without a
        target, as in TVM.
        """
        canonical = Target.canon_multi_target(target)
        if canonical is None:
            raise AssertionError("Target is not given.")
        return [Target(t, target_host) for t in canonical]

    @staticmethod
    def canon_target_map_and_host(
        target_map: Mapping[Any, Any], target_host: Any = None
    ) -> tuple[dict[Target, Any], Any]:
        """Return the dictionary keyed by targets, each with the host, and the host."""
        chosen = None if target_host is None else Target(target_host)
        return {Target(t, chosen): value for t, value in target_map.items()}, chosen


def _limits(threads: int, warp: int | None = None, memory: int | None = None, **more: int) -> dict[str, int]:
    known = {"max_num_threads": threads, "thread_warp_size": warp, "max_shared_memory_per_block": memory, **more}
    return {name: value for name, value in known.items() if value is not None}


_LIMITS = {
    "cuda": _limits(1024, 32),
    "nvptx": _limits(1024, 32),
    "rocm": _limits(256, 64, 65536, max_threads_per_block=256),
    "opencl": _limits(256, 1, 16384, max_threads_per_block=256),
    "metal": _limits(256, 16, 32768, max_threads_per_block=256),
    "vulkan": _limits(256, 1, max_threads_per_block=256),
    "webgpu": _limits(256),
}
"""The limits of devices of a kind, where a target has none of its own."""
_UNKNOWN: dict[str, Any] = {
    "libs": [], "model": "unknown", "tag": "", "mcpu": "", "mattr": [], "max_num_threads": -1, "thread_warp_size": -1,
    "max_block_size_x": -1, "max_block_size_y": -1, "max_shared_memory_per_block": -1, "arch": "", "mabi": "",
    "l2_cache_size_bytes": 0, "supports_integer_dot_product": False,
}  # fmt: skip
"""Default values of options."""


def _config(target: Any) -> dict[str, Any]:
    """Return the dictionary that describes a target."""
    if isinstance(target, Target):
        devices = {"devices": [str(d) for d in target.attrs["devices"]]} if "devices" in target.attrs else {}
        return {"kind": target.kind.name, **target.attrs, **devices, "host": target.host}
    if isinstance(target, TargetAttr):
        return target.config
    if isinstance(target, _cpu.Target):
        return dict(target.export())
    if isinstance(target, Mapping):
        return dict(cast("Mapping[str, Any]", target))
    if not isinstance(target, str):
        raise TargetError("a target", expected="a text, a dictionary or a target", found=type(target).__name__)
    if target.lstrip().startswith("{"):
        return _config(json.loads(target))
    return parsed(target)


def _refuse_unknown(attrs: Mapping[str, Any]) -> None:
    for name in attrs:
        if name not in _LLVM_OPTIONS:
            raise unknown_name("target option", f"-{name}", [f"-{o}" for o in sorted(_LLVM_OPTIONS)])


def cuda(model: str = "unknown", arch: str | None = None, options: Any = None) -> Target:
    """The target `cuda` of a model, of an architecture such as `sm_80`; `options` is more of its text."""
    extra = " ".join(options) if isinstance(options, list | tuple) else (options or "")
    return Target(" ".join(filter(None, ["cuda", f"-model={model}", f"-arch={arch}" if arch else "", extra])))


def _named(kind: str, fixed: str = "") -> Callable[..., Target]:
    def make(model: str = "unknown", options: Any = None) -> Target:
        extra = " ".join(options) if isinstance(options, list | tuple) else (options or "")
        return Target(" ".join(filter(None, [kind, fixed, f"-model={model}", extra])))

    make.__doc__ = f"The target `{' '.join(filter(None, [kind, fixed]))}` of a model; `options` is more of its text."
    return make


rocm = _named("rocm")
mali, intel_graphics, bifrost = (_named("opencl", f"-device={d}") for d in ("mali", "intel_graphics", "bifrost"))
arm_cpu = _named("llvm", "-keys=arm_cpu,cpu -device=arm_cpu")


_HEXAGON = ("v65", "v66", "v67", "v67t", "v68", "v69", "v71", "v73", "v75")
_MIB = 2**20
_CLOSE_MEMORY = {
    "v65": _MIB // 4, "v66": _MIB // 4, "v68": 4 * _MIB, "v69": 8 * _MIB, "v73": 8 * _MIB, "v75": 8 * _MIB
}  # fmt: skip
"""The bytes of tightly coupled memory, by version."""


def hexagon(cpu_ver: str = "v68", **kwargs: Any) -> Target:
    """The target `hexagon` of a version; options are `hvx` (bytes of a vector), `llvm_options`, `use_qfloat`,
    `use_ieee_fp`, `num_cores` and `vtcm_capacity`. Raises `TargetError` for other versions and vectors.
    """
    version = cpu_ver[max(cpu_ver.find("v"), 0) :].lower()
    if version not in _HEXAGON:
        raise TargetError(f"{cpu_ver} is not a valid Hexagon version", expected=", ".join(_HEXAGON))
    number = int(version[1:3])
    lanes = int(kwargs.get("hvx", 128))
    if lanes not in (0, 64, 128):
        raise TargetError("Invalid hvx value", expected="0, 64 or 128", found=str(lanes))
    features = [f"+hvx{version}", f"+hvx-length{lanes}b"] if lanes else ["-hvx"]
    if number >= 68:
        signs = {"hvx-qfloat": kwargs.get("use_qfloat", True), "hvx-ieee-fp": kwargs.get("use_ieee_fp", False)}
        features += ["-+"[bool(on)] + name for name, on in signs.items()]
    options = (kwargs.get("llvm_options") or "") + (" -force-hvx-float" if number == 68 else "")
    listed = ",".join(option.replace("=", "@") for option in options.split())
    return Target(
        {
            "kind": "hexagon",
            "mtriple": "hexagon",
            "mcpu": f"hexagon{version}",
            "mattr": features,
            **({"llvm-options": listed.split(",")} if listed else {}),
            "num-cores": int(kwargs.get("num_cores", 4)),
            "vtcm-capacity": int(kwargs.get("vtcm_capacity", _CLOSE_MEMORY.get(version, 0))),
        }
    )


def create(target: Any) -> Target:
    """Return a target for anything that describes one."""
    return Target(target)
