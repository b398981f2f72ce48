from tirax.frontend.importing.names import Names, sanitized


def test_names_become_identifiers():
    assert sanitized("/layer.0/Add:0") == "_layer_0_Add_0"
    assert sanitized("0weight") == "v_0weight"
    assert sanitized("class") == "v_class"
    assert sanitized("class", keywords=True) == "class"
    assert sanitized("", prefix="input") == "input"
    assert sanitized("été") == "_t_"


def test_a_value_has_one_name_and_no_two_values_the_same():
    names = Names()
    assert names["a.b"] == "a_b"
    assert names["a/b"] == "a_b_1"
    assert names["a_b_1"] == "a_b_1_1"
    assert names["a.b"] == "a_b"


def test_names_stay_on_request():
    names = Names(sanitize=False)
    assert names["a.b"] == "a.b"
