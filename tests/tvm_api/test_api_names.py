"""A sweep over TVM's public names: what is not there is in the table of what is left out, with the reason."""

import importlib
import inspect

import pytest

import tirax.tvm_api as tvm
from tirax.tvm_api._refused_names import REFUSED_NAMES

NAMES: dict[str, str] = {
    "relax": """
        Binding BindingBlock BlockBuilder Call Constant DataTypeImm DataflowBlock DataflowBlockRewrite DataflowVar
        DummyGlobalInfo ExecBuilder Executable Expr ExprFunctor ExternFunc FuncStructInfo FuncType Function GlobalVar Id
        If MatchCast ObjectStructInfo ObjectType PackedFuncType PrimStructInfo PrimValue PyExprMutator PyExprVisitor
        SeqExpr ShapeExpr ShapeStructInfo ShapeType Span StringImm StructInfo TensorStructInfo TensorType Tuple
        TupleGetItem TupleStructInfo TupleType Type VDevice VMExecutable VMInstrumentReturnKind Var VarBinding
        VirtualMachine analysis backend binding_rewrite block_builder build call_dps_packed call_inplace_packed
        call_packed call_pure_packed call_tir call_tir_inplace call_tir_with_grad const convert_to_expr dpl
        expr expr_functor extern frontend get_default_pipeline get_pipeline get_shape_of global_info op
        pipeline prim_value register_pipeline struct_info testing training transform ty utils vm_build
    """,
    "relax.analysis": """
        BaseCheckResult all_global_vars all_vars bound_vars check_well_formed collect_non_negative_expressions
        computable_at_compile_time contains_impure_call definable_tir_vars_in_struct_info defined_symbolic_vars
        derive_call_ret_struct_info detect_recursion erase_to_well_defined estimate_memory_usage free_symbolic_vars
        free_vars get_static_type get_var2val has_reshape_pattern name_to_binding post_order_visit remove_all_unused
        struct_info_base_check struct_info_lca suggest_layout_transforms tir_vars_in_struct_info udchain used_vars
        well_formed
    """,
    "relax.expr": """
        BaseFunc Binding BindingBlock Call Constant DataTypeImm DataflowBlock DataflowVar Expr ExternFunc Function
        GlobalVar Id If MatchCast PrimValue SeqExpr ShapeExpr Span StringImm TEPlaceholderOp Tuple TupleGetItem Var
        VarBinding const extern get_shape_of make_shape prim_value te_tensor
    """,
    "relax.expr_functor": "ExprFunctor PyExprMutator PyExprVisitor mutator visitor",
    "relax.struct_info": """
        FuncStructInfo ObjectStructInfo PrimStructInfo ShapeStructInfo StructInfo TensorStructInfo TupleStructInfo
    """,
    "relax.testing": """
        nn transform vm dump_ast Linear LogSoftmax Module Parameter Placeholder ReLU Sequential emit emit_te init_params
        checkpoint emit_checkpoint emit_checkpoint_sequential start_checkpoint end_checkpoint LibCompareVMInstrument
        get_relax_attention_module get_relax_matmul_module lib_comparator
    """,
    "relax.testing.nn": """
        Linear LogSoftmax Module Parameter Placeholder ReLU Sequential emit emit_te init_params checkpoint
        emit_checkpoint emit_checkpoint_sequential start_checkpoint end_checkpoint
    """,
    "relax.testing.vm": """
        add add_scalar check_if_defined check_saved_func equal_zero get_device_id identity_packed move mul subtract_one
        tile_packed
    """,
    "ir": """
        Array Attrs BaseExpr BaseFunc CallingConv DictAttrs EnvFunc GlobalInfo DummyGlobalInfo GlobalVar IRModule Map
        Node Op PointerType PrimExpr PrimType Range RelaxExpr SequentialSpan SourceName Span TupleType Type
        TypeConstraint VDevice assert_structural_equal get_first_structural_mismatch instrument load_json make_node
        register_intrin_lowering register_op_attr save_json structural_equal structural_hash transform
    """,
    "arith": """
        Analyzer ConstIntBound Extension IntConstraints IntConstraintsTransform IntSet IntervalSet IterMapExpr IterMark
        IterSplitExpr IterSumExpr ModularSet PresburgerSet ProofStrength deduce_bound detect_clip_bound
        detect_common_subexpr detect_iter_map detect_linear_equation estimate_region_lower_bound
        estimate_region_strict_bound estimate_region_upper_bound inverse_affine_iter_map iter_map_simplify
        normalize_iter_map_to_expr normalize_to_iter_sum solve_linear_equations solve_linear_inequalities
        subspace_divide
    """,
    "tir": """
        Add Allocate AllocateConst And AssertStmt AttrStmt BijectiveLayout Block BlockDependenceInfo BlockRealize
        BlockScope Broadcast Buffer BufferLoad BufferRealize BufferRegion BufferStore Call CallEffectKind Cast
        CommReducer DataProducer DeclBuffer Div EQ Evaluate FloatImm FloorDiv FloorMod For ForKind GE GT IfThenElse
        IndexMap IntImm IterVar LE LT Layout Let LetStmt MatchBufferRegion Max Min Mod Mul NE Not Or PrimFunc
        ProducerLoad Ramp Reduce Schedule ScheduleError ScheduleState Select SeqStmt Shuffle SizeVar Stmt StmtSRef
        StringImm Sub TVMBackendAllocWorkspace TVMBackendFreeWorkspace TensorIntrin Var While abs acos acosh add
        address_of all analysis any asin asinh assume atan atan2 atanh bijective_layout bitwise_and bitwise_not
        bitwise_or bitwise_xor build call_cpacked call_cpacked_lowered call_extern call_intrin call_llvm_intrin
        call_llvm_pure_intrin call_packed call_packed_lowered call_pure_extern call_tir ceil ceildiv clz comm_reducer
        convert copysign cos cosh decl_buffer div dp4a end_profile_intrinsic erf exp exp10 exp2 floor floordiv floormod
        fmod get_active_lane_mask get_default_tir_pipeline get_tir_pipeline get_vscale_expr handle_add_byte_offset hypot
        if_then_else ignore_loop_partition indexdiv indexmod infinity ir_builder isfinite isinf isnan isnullptr layout
        ldexp likely log log10 log1p log2 logaddexp lookup_param max max_value min min_value mma_fill mma_store multiply
        nearbyint nextafter popcount pow power ptx_commit_group ptx_cp_async ptx_ldmatrix ptx_mma ptx_mma_sp
        ptx_wait_group q_multiply_shift q_multiply_shift_per_axis reinterpret ret round rsqrt schedule shift_left
        shift_right sigmoid sin sinh sqrt start_profile_intrinsic stmt_functor stmt_list stmt_seq subtract sum tan tanh
        trace transform trunc truncdiv truncmod tvm_access_ptr tvm_bmma_sync tvm_fill_fragment tvm_load_matrix_sync
        tvm_mma_sync tvm_stack_alloca tvm_stack_make_array tvm_stack_make_shape tvm_store_matrix_sync tvm_struct_get
        tvm_struct_set tvm_thread_allreduce tvm_throw_last_error tvm_tuple type_annotation undef vectorcombine
        vectorhigh vectorlow vscale
    """,
    "script.ir_builder": "IRBuilder tir",
    "tir.ir_builder": "BufferVar IRBuilder create",
    "tir.stmt_functor": "ir_transform post_order_visit pre_order_visit substitute",
    "ir.instrument": """
        DumpIR PassInstrument PassPrintingInstrument PassTimingInstrument PrintAfterAll PrintBeforeAll
        WellFormedInstrument pass_instrument
    """,
    "transform": "ApplyPassToFunction ModulePass Pass PassContext PassInfo PrintIR Sequential module_pass",
    "testing": """
        CompareBeforeAfter Feature assert_allclose assert_prim_expr_equal check_bool_expr_is_true
        check_int_constraints_trans_consistency check_numerical_grads device_enabled enabled_targets exclude_targets
        fixture is_ampere_or_newer known_failing_targets main parameter parameters parametrize_targets requires_cublas
        requires_cuda requires_cudnn requires_gpu requires_hexagon requires_llvm requires_metal requires_nvcc_version
        requires_opencl requires_package requires_rocm requires_rpc requires_vulkan requires_x86 skip_if_32bit
        skip_if_wheel_test slow strtobool uses_gpu
    """,
}
"""Module -> its names."""

MEMBERS: dict[str, str] = {
    "arith.Analyzer": """
        bind can_prove can_prove_equal canonical_simplify const_int_bound const_int_bound_is_bound constraint_scope
        int_set modular_set rewrite_simplify simplify update
    """,
    "relax.BlockBuilder": """
        add_func begin_scope call_te call_te_with_grad current current_block_is_dataflow dataflow emit emit_func_output
        emit_normalized emit_output emit_te end_scope finalize function get get_unique_name lookup_binding match_cast
        normalize testing_scope update_func
    """,
    "relax.PyExprVisitor": """
        visit_binding visit_binding_block visit_binding_block_ visit_call_ visit_constant_ visit_data_type_imm_
        visit_dataflow_block_ visit_dataflow_var_ visit_dataflow_var_def_ visit_expr visit_extern_func_ visit_function_
        visit_global_var_ visit_if_ visit_match_cast_ visit_op_ visit_prim_value_ visit_seq_expr_ visit_shape_expr_
        visit_span visit_string_imm_ visit_tuple_ visit_tuple_getitem_ visit_var_ visit_var_binding_ visit_var_def
        visit_var_def_
    """,
    "relax.PyExprMutator": """
        builder_ get_var_remap lookup_binding set_var_remap visit_binding visit_binding_block visit_binding_block_
        visit_call_ visit_constant_ visit_data_type_imm_ visit_dataflow_block_ visit_dataflow_var_
        visit_dataflow_var_def_ visit_expr visit_expr_post_order visit_extern_func_ visit_function_ visit_global_var_
        visit_if_ visit_match_cast_ visit_op_ visit_prim_value_ visit_seq_expr_ visit_shape_expr_ visit_span
        visit_string_imm_ visit_tuple_ visit_tuple_getitem_ visit_var_ visit_var_binding_ visit_var_def visit_var_def_
        visit_with_new_scope with_struct_info
    """,
    "relax.DataflowBlockRewrite": """
        add add_binding mutate_irmodule mutated_dfb mutated_root_fn remove_all_unused remove_unused replace_all_uses
    """,
    "relax.Expr": """
        __add__ __call__ __floordiv__ __ge__ __getitem__ __gt__ __le__ __lt__ __mod__ __mul__ __neg__ __pow__ __radd__
        __rfloordiv__ __rmod__ __rmul__ __rpow__ __rsub__ __rtruediv__ __sub__ __truediv__ astype same_as struct_info
        struct_info_
    """,
    "relax.Var": "name_hint vid",
    "relax.Call": "args attrs op sinfo_args",
    "relax.Function": """
        attrs bind_params bind_symbolic_vars body is_pure params ret_struct_info script show with_attr with_attrs
        without_attr
    """,
    "relax.DataflowBlock": "bindings",
    "relax.SeqExpr": "blocks body",
    "tir.PrimFunc": """
        attrs body buffer_map params ret_type script show specialize with_attr with_attrs with_body without_attr
    """,
    "tir.Buffer": """
        access_ptr axis_separators data data_alignment dtype elem_offset get_flattened_buffer name offset_factor
        offset_of same_as scope shape strides vload vstore
    """,
    "IRModule": """
        attrs clone from_expr functions functions_items get_attr get_global_var get_global_vars remove script show
        update update_func with_attr with_attrs without_attr
    """,
    "transform.PassContext": "current override_instruments",
    "ir.instrument.PassTimingInstrument": "render",
}
"""Class -> its members."""

CONSTRUCTORS: dict[str, str] = {
    "Call": "op args attrs sinfo_args span",
    "Constant": "data struct_info span",
    "DataTypeImm": "value span",
    "DataflowBlock": "bindings span",
    "BindingBlock": "bindings span",
    "DataflowVar": "name_hint struct_info span",
    "ExternFunc": "global_symbol struct_info span",
    "FuncStructInfo": "params ret purity span",
    "Function": "params body ret_struct_info is_pure attrs span",
    "If": "cond true_branch false_branch span",
    "MatchCast": "var value struct_info span",
    "ObjectStructInfo": "span",
    "PrimStructInfo": "dtype value span",
    "PrimValue": "value span",
    "SeqExpr": "blocks body span",
    "ShapeExpr": "values span",
    "ShapeStructInfo": "values ndim span",
    "StringImm": "value span",
    "TensorStructInfo": "shape dtype vdevice ndim span",
    "Tuple": "fields span",
    "TupleGetItem": "tuple_value index span",
    "TupleStructInfo": "fields span",
    "Var": "name_hint struct_info span",
    "VarBinding": "var value span",
}
"""Class of `tvm.relax` -> the parameters of its constructor, in order."""


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_constructors_take_what_those_of_tvm_take(name):
    parameters = list(inspect.signature(getattr(tvm.relax, name).__init__).parameters)
    assert parameters[1:] == CONSTRUCTORS[name].split()


@pytest.mark.parametrize("path", NAMES)
def test_every_name_is_there_or_left_out(path):
    module = importlib.import_module(f"tirax.tvm_api.{path}")
    names = NAMES[path].split()
    assert len(set(names)) == len(names)
    left_out = REFUSED_NAMES.get(path, {})
    missing = {n for n in names if not hasattr(module, n)}
    assert missing == set(left_out)


@pytest.mark.parametrize("path", REFUSED_NAMES)
def test_what_is_left_out_says_why(path):
    module = importlib.import_module(f"tirax.tvm_api.{path}" if path else "tirax.tvm_api")
    for name, reason in REFUSED_NAMES[path].items():
        with pytest.raises(AttributeError) as raised:
            getattr(module, name)
        assert str(raised.value) == f"tvm.{path + '.' if path else ''}{name} is not provided: {reason}"


@pytest.mark.parametrize("path", MEMBERS)
def test_every_member_is_there(path):
    actual = tvm
    for part in path.split("."):
        actual = getattr(actual, part)
    instance = actual() if path in ("relax.PyExprMutator", "relax.BlockBuilder") else actual
    assert [n for n in MEMBERS[path].split() if not hasattr(instance, n)] == []


def test_what_is_public_says_what_it_is():
    for path in (
        "relax.analysis",
        "relax.testing.nn",
        "relax.testing.vm",
        "ir.instrument",
        "transform",
        "testing",
    ):
        module = importlib.import_module(f"tirax.tvm_api.{path}")
        for name in module.__all__:
            assert getattr(module, name).__doc__, f"{path}.{name}"
