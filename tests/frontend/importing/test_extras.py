import pytest

from tirax.frontend.importing.extras import MissingPackage, require


def test_an_installed_package_is_imported():
    assert require("json", "onnx").loads("1") == 1


def test_a_missing_package_says_what_installs_it():
    with pytest.raises(MissingPackage, match="no_such_package is not installed") as caught:
        require("no_such_package", "onnx")
    assert "pip install 'tirax[onnx]'" in str(caught.value)


def test_what_a_package_misses_is_its_own_error(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import another_one_that_is_missing\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="another_one"):
        require("broken_package", "onnx")
