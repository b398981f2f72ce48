"""`tvm.testing`: what tests are written with."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import DTypeError, TiraxError
from tirax.tvm_api import relax, testing, tir
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T

size = testing.parameter(1, 16, ids=["small", "large"])
named = testing.parameter(by_dict={"zero": 0, "one": 1})
height, width = testing.parameters((2, 3), (4, 5))
pytest_plugins = ["pytester"]
seen: list[tuple[int, int, int]] = []
requested: list[int] = []


@testing.fixture
def area(height, width):
    return height * width


@testing.fixture(cache_return_value=True)
def table(size):
    requested.append(size)
    return [size]


def test_parameters(size, height, width, area, named):
    assert (height, width) in ((2, 3), (4, 5)) and area == height * width and named in (0, 1)
    seen.append((size, height, named))


def test_all_parameters_came():
    assert sorted(set(seen)) == sorted((s, h, n) for s in (1, 16) for h in (2, 4) for n in (0, 1))


@pytest.mark.parametrize("time", [1, 2])
def test_cached_values_are_copies(time, table, size):
    assert table == [size] and requested.count(size) == 1
    table.append(time)


def test_parameters_that_do_not_fit():
    with pytest.raises(TiraxError, match="a value for each parameter"):
        testing.parameters((1, 2), (3,))
    with pytest.raises(TiraxError, match="or by_dict"):
        testing.parameter(1, by_dict={"a": 1})


@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        a = R.exp(x)
        b = R.add(x, x)
        return b


@I.ir_module
class After:
    @R.function
    def main(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        b = R.add(y, y)
        return b


class TestModules(testing.CompareBeforeAfter):
    transform = relax.transform.DeadCodeElimination()
    before = Before
    expected = After


class TestMethods(testing.CompareBeforeAfter):
    def transform(self):
        return lambda mod: relax.transform.DeadCodeElimination()(mod)

    def before(self, size):
        return Before

    expected = After


class TestFunctions(testing.CompareBeforeAfter):
    transform = tvm.transform.Sequential([])

    @T.prim_func(private=True)
    def before(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                v = T.axis.spatial(4, i)
                B[v] = A[v]

    def expected(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):  # noqa: N805
        for j in range(4):
            with T.block("C"):
                u = T.axis.spatial(4, j)
                C[u] = A[u]


class TestClasses(testing.CompareBeforeAfter):
    """A class of functions without decorators is a module; the parameters of a class are its own."""

    transform = tvm.transform.Sequential([])
    size = testing.parameter(1, 8)
    small, large = testing.parameters((1, 2), (3, 4))

    class Before:
        def func(A: T.Buffer(4, "float32")):
            for i in range(4):
                A[i] = T.float32(0)

    @testing.fixture
    def expected(self, size, small, large):
        assert size in (1, 8) and large == small + 1

        @I.ir_module
        class module:  # noqa: N801
            @T.prim_func
            def func(A: T.Buffer(4, "float32")):
                for i in range(4):
                    A[i] = T.float32(0)

        return module


class TestErrors(testing.CompareBeforeAfter):
    def transform(self):
        def fail(mod):
            raise DTypeError("no")

        return fail

    before = Before
    expected = TypeError


def test_both_spellings_are_refused():
    with pytest.raises(TiraxError, match="says the same twice"):

        class Twice(testing.CompareBeforeAfter):
            before = Before = Before


def test_the_plugin_names_tests_by_their_values(pytester):
    pytester.makepyfile(
        """
        from tirax.tvm_api import testing
        pytest_plugins = ["tirax.tvm_api.testing.plugin"]
        function, number = testing.parameters((abs, 1), (len, 2))
        named, = testing.parameters((1,), (2,), ids=["one", "two"])
        def test_both(function, number): pass
        def test_one(function): pass
        def test_named(named): pass
        def test_device(target, dev): assert dev.device_type == 1
        """
    )
    expected = ["both[abs-1]", "both[len-2]", "one[abs]", "one[len]", "named[one]", "named[two]", "device[llvm]"]
    result = pytester.runpytest("--collect-only", "-q", "-p", "tirax.tvm_api.testing.plugin")
    assert [line.split("::test_")[1] for line in result.outlines if "::" in line] == expected
    pytester.runpytest("-p", "tirax.tvm_api.testing.plugin").assert_outcomes(passed=7)


def test_a_difference_is_detected():
    class Different(testing.CompareBeforeAfter):
        pass

    with pytest.raises(TiraxError):
        Different().test_compare(Before, Before, relax.transform.DeadCodeElimination())
    with pytest.raises(pytest.fail.Exception):
        Different().test_compare(Before, TypeError, lambda mod: mod)


def test_comparing_numbers():
    testing.assert_allclose(np.ones(3), np.ones(3) + 1e-9)
    with pytest.raises(AssertionError):
        testing.assert_allclose(np.ones(3), np.ones((1, 3)))
    n = tir.Var("n", "int64")
    testing.assert_prim_expr_equal(n * 2, n + n)
    with pytest.raises(ValueError, match="are not equal"):
        testing.assert_prim_expr_equal(n * 2, n + 1)


def test_numerical_gradients():
    x, y = np.array([1.0, 2.0]), np.array(3.0)
    testing.check_numerical_grads(lambda x, y: float((x * x).sum() * y), [x, y], [2 * x * y, np.array(5.0)])
    with pytest.raises(AssertionError, match="argument 1"):
        testing.check_numerical_grads(lambda x, y: float((x * x).sum() * y), [x, y], [2 * x * y, np.array(4.0)])


@testing.parametrize_targets("llvm", "cuda")
def test_targets(target, dev):
    assert testing.device_enabled(target) and dev == tvm.cpu() and (target, dev) in testing.enabled_targets()


@testing.parametrize_targets
def test_the_default_target(target, dev):
    assert target == "llvm"


@testing.requires_cuda
def test_what_needs_a_device_is_skipped():
    raise AssertionError("there is no code for CUDA")


@testing.requires_llvm
@testing.requires_package("numpy")
@testing.skip_if_32bit("for 64 bits")
@testing.slow
def test_what_is_there_runs():
    assert not testing.requires_package("numpy", "a_package_that_is_not_there").is_there


def test_truths():
    assert testing.strtobool("Yes") and not testing.strtobool("off")
    with pytest.raises(TiraxError, match="no truth value"):
        testing.strtobool("perhaps")
