"""Files of exported programs: those that torch writes are read, and nothing in one is run."""

import json
import pickle
import re
import zipfile

import pytest

from tirax.frontend.importing.errors import ModelError
from tirax.frontend.torch.archive import is_arithmetic, load_exported_program


@pytest.mark.parametrize(
    "text",
    [
        "Symbol('s77', positive=True, integer=True)",
        "Add(Mul(Integer(-1), Symbol('s0')), Integer(5))",
        "2*s0 + 1",
        "FloorDiv(Symbol('s0'), Integer(2))",
        "Pow(Symbol('s0', positive=True, integer=True), Integer(2))",
        "Max(1, s0 // 2)",
    ],
)
def test_arithmetic(text):
    assert is_arithmetic(text)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "exec('x')",
        "s0.func",
        "Symbol('a b; c')",
        "[c for c in s0]",
        "lambda: s0",
        "Symbol('__class__')",
        "9**9**9**9",
        "Pow(Integer(9), Integer(99999999))",
        "Pow(Pow(Pow(9, 99), 99), 99)",
        "PowByNatural(Integer(1), Integer(99999999999))",
        "1" * 40,
        's0 + "x"',
    ],
)
def test_what_is_no_arithmetic(text):
    assert not is_arithmetic(text)


@pytest.fixture(scope="module")
def saved(tmp_path_factory, torch):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(4, 3)
            self.register_buffer("scale", torch.ones(3))
            self.shift = torch.tensor([1.0, 2.0, 3.0])

        def forward(self, x):
            return self.linear(x) * self.scale + self.shift + x.shape[0]

    sizes = ({0: torch.export.Dim("n", min=2, max=64)},)
    program = torch.export.export(Model(), (torch.ones(4, 4),), dynamic_shapes=sizes)
    path = tmp_path_factory.mktemp("archive") / "m.pt2"
    torch.export.save(program, path)
    return path


def changed(path, tmp_path, change):
    """A copy in which `change(name, contents)` gives what stands in each file."""
    copy = tmp_path / "changed.pt2"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(copy, "w", zipfile.ZIP_STORED) as new:
        for info in old.infolist():
            new.writestr(info.filename, change(info.filename, old.read(info)))
    return copy


def test_what_torch_writes_is_read(saved):
    import torch

    x = torch.rand(7, 4)
    torch.testing.assert_close(load_exported_program(saved).module()(x), torch.export.load(saved).module()(x))


class Attack:
    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return open, (self.file, "w")


def test_pickles_that_run_code_are_refused(saved, tmp_path):
    trace = str(tmp_path / "ran")

    def attacked(name, data):
        return pickle.dumps(Attack(trace), protocol=2) if "sample_inputs" in name else data

    with pytest.raises(ModelError, match="only running its code") as caught:
        load_exported_program(changed(saved, tmp_path, attacked))
    assert "sample_inputs" in str(caught.value)
    assert not (tmp_path / "ran").exists()


def test_pickled_weights_are_refused(saved, tmp_path):
    trace = str(tmp_path / "ran")

    def attacked(name, data):
        if name.endswith("model_weights_config.json"):
            return data.replace(b'"use_pickle": false', b'"use_pickle": true')
        return pickle.dumps(Attack(trace), protocol=2) if "weights/weight_0" in name else data

    with pytest.raises(ModelError, match="only running its code") as caught:
        load_exported_program(changed(saved, tmp_path, attacked))
    assert "weight_0" in str(caught.value)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("path", ["custom_obj_0", "opaque_obj_0"])
def test_objects_are_refused(saved, tmp_path, path):
    def attacked(name, data):
        return data.replace(b"tensor_0", path.encode()) if name.endswith("constants_config.json") else data

    with pytest.raises(ModelError) as caught:
        load_exported_program(changed(saved, tmp_path, attacked))
    assert "an object of a class of its own" in str(caught.value)


def test_expressions_and_operators_that_are_none_are_refused_together(saved, tmp_path):
    trace = tmp_path / "ran"

    def attacked(name, data):
        if "/models/" not in name:
            return data
        text = data.decode().replace("torch.ops.aten.mul.Tensor", "torch.os.system")
        return re.sub(r"Symbol\('s\d+', positive=True, integer=True\)", f"open('{trace}', 'w')", text).encode()

    with pytest.raises(ModelError) as caught:
        load_exported_program(changed(saved, tmp_path, attacked))
    assert "'torch.os.system' is none of torch" in str(caught.value)
    assert "is no arithmetic" in str(caught.value)
    assert not trace.exists()


def test_damaged_files_are_reported(saved, tmp_path):
    data = saved.read_bytes()
    path = tmp_path / "damaged.pt2"
    for size in (0, 100, len(data) // 2, len(data) - 5):
        path.write_bytes(data[:size])
        with pytest.raises(ModelError, match="no exported program"):
            load_exported_program(path)
    with pytest.raises(ModelError, match="cannot read"):
        load_exported_program(tmp_path / "none.pt2")
    empty = changed(saved, tmp_path, lambda name, data: json.dumps({}).encode() if "/models/" in name else data)
    with pytest.raises(ModelError, match="torch cannot read"):
        load_exported_program(empty)


def test_names_that_come_twice_are_refused(saved, tmp_path):
    copy = changed(saved, tmp_path, lambda _name, data: data)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(copy, "a") as archive:
        archive.writestr(archive.namelist()[0], b"other")
    with pytest.raises(ModelError, match="come twice"):
        load_exported_program(copy)
