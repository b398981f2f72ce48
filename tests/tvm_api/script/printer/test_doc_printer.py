"""Documents of Python code: the text of each kind, comments, and underlined parts."""

import pytest

from tirax.diagnostics import DTypeError, TiraxError
from tirax.tvm_api.runtime import ObjectPath
from tirax.tvm_api.script.printer.doc import (
    AssertDoc,
    AssignDoc,
    ClassDoc,
    CommentDoc,
    DictDoc,
    DocStringDoc,
    ExprStmtDoc,
    ForDoc,
    FunctionDoc,
    IdDoc,
    IfDoc,
    LambdaDoc,
    ListDoc,
    LiteralDoc,
    OperationDoc,
    OperationKind,
    ReturnDoc,
    ScopeDoc,
    SliceDoc,
    StmtBlockDoc,
    StmtDoc,
    TupleDoc,
    WhileDoc,
)  # fmt: skip
from tirax.tvm_api.script.printer.doc_printer import CommentError, to_python_script

A, B, C = map(IdDoc, "abc")


def op(kind, *operands):
    return OperationDoc(OperationKind[kind], list(operands))


def noted(doc, comment):
    doc.comment = comment
    return doc


EXPRESSIONS = [
    (LiteralDoc(None), "None"), (LiteralDoc(True), "True"), (LiteralDoc(3), "3"), (LiteralDoc(2.0), "2.0"),
    (LiteralDoc(0.5), "0.5"), (LiteralDoc(float("inf")), '"inf"'), (LiteralDoc("x\n"), '"x\\n"'),
    (A.attr("b"), "a.b"), (A[B], "a[b]"), (A[()], "a[()]"), (A[B, SliceDoc(C, None, B)], "a[b, c::b]"),
    (A[SliceDoc()], "a[:]"), (A.call(B, key=C), "a(b, key=c)"), (A.call(key=C), "a(key=c)"),
    (LambdaDoc([A, B], C), "lambda a, b: c"), (TupleDoc([]), "()"), (TupleDoc([A]), "(a,)"),
    (ListDoc([A, B]), "[a, b]"),
    (DictDoc({A: B, C: A}), "{a: b, c: a}"), (op("Sub", A, op("Sub", B, C)), "a - (b - c)"),
    (op("Sub", op("Sub", A, B), C), "a - b - c"), (op("Pow", op("Pow", A, B), op("USub", C)), "(a ** b) ** -c"),
    (op("Not", op("Or", A, B)), "not (a or b)"), (op("Mult", op("Add", A, B), C), "(a + b) * c"),
    (op("IfThenElse", A, B, op("IfThenElse", A, B, C)), "b if a else (b if a else c)"),
    (op("Add", A, B).attr("x"), "(a + b).x"), (op("Add", LambdaDoc([A], B), C), "(lambda a: b) + c"),
]  # fmt: skip
STATEMENTS = [
    (AssignDoc(A, B), "a = b"), (AssignDoc(A, B, C), "a: c = b"), (AssignDoc(A, None, C), "a: c"),
    (AssignDoc(TupleDoc([A, B]), TupleDoc([B, A])), "a, b = b, a"), (AssignDoc(A, TupleDoc([B])), "a = (b,)"),
    (noted(ExprStmtDoc(A), "why"), "a  # why"), (AssertDoc(A, B), "assert a, b"), (ReturnDoc(A), "return a"),
    (IfDoc(A, [ExprStmtDoc(B)], []), "if a:\n    b"),
    (IfDoc(A, [], [ExprStmtDoc(B)]), "if a:\n    pass\nelse:\n    b"),
    (noted(WhileDoc(A, []), "one\ntwo"), "# one\n# two\nwhile a:\n    pass"),
    (ForDoc(A, B, []), "for a in b:\n    pass"),
    (ForDoc(TupleDoc([A]), B, []), "for a, in b:\n    pass"), (ScopeDoc(A, B, []), "with b as a:\n    pass"),
    (ScopeDoc(None, B, []), "with b:\n    pass"), (CommentDoc("one\ntwo"), "# one\n# two"),
    (DocStringDoc("text"), '"""\ntext\n"""'),
    (FunctionDoc(A, [AssignDoc(B, None, C)], [C], B, [ReturnDoc(B)]), "@c\ndef a(b: c) -> b:\n    return b"),
    (noted(ClassDoc(A, [], [ExprStmtDoc(B)]), "text"), 'class a:\n    """\n    text\n    """\n    b'),
]  # fmt: skip


@pytest.mark.parametrize(("doc", "text"), EXPRESSIONS, ids=[text for _, text in EXPRESSIONS])
def test_an_expression(doc, text):
    assert to_python_script(doc) == text


@pytest.mark.parametrize(("doc", "text"), STATEMENTS, ids=[text for _, text in STATEMENTS])
def test_a_statement(doc, text):
    assert to_python_script(doc) == text


def line(name):
    doc = IdDoc(name)
    doc.source_paths.append(ObjectPath.root().attr(name))
    return ExprStmtDoc(doc)


def test_underlines():
    doc = StmtBlockDoc([line(f"x{i}") for i in range(9)])
    wanted = [ObjectPath.root().attr("x4").attr("deeper")]
    text = to_python_script(doc, path_to_underline=wanted, num_context_lines=1, print_line_numbers=True)
    assert text == "(... 3 lines skipped ...)\n4 x3\n5 x4\n  ^^\n6 x5\n(... 3 lines skipped ...)"
    assert to_python_script(StmtBlockDoc([line("x0"), line("x1")]), path_to_underline=wanted) == "x0\nx1"


def test_what_has_no_text_is_refused():
    with pytest.raises(CommentError, match="cannot have newline"):
        to_python_script(noted(ReturnDoc(A), "one\ntwo"))
    with pytest.raises(CommentError, match="Function arg"):
        to_python_script(FunctionDoc(A, [noted(AssignDoc(A, B), "no")], [], None, []))
    with pytest.raises(TiraxError, match="requires 2 operands"):
        to_python_script(op("Add", A))
    with pytest.raises(TiraxError, match="no document"):
        to_python_script(StmtDoc())
    with pytest.raises(DTypeError, match="no literal"):
        LiteralDoc([])
    with pytest.raises(RuntimeError, match="iterable"):
        list(A)
