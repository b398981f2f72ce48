#define PUBLIC __attribute__((visibility("default")))

/* Sizes: division rounds down, and by 0 gives 0, which fits no extent that is divided by it. */

static int64_t floor_div(int64_t a, int64_t b) { return b == 0 ? 0 : a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }
static int64_t floor_mod(int64_t a, int64_t b) { return b == 0 ? 0 : a - b * floor_div(a, b); }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t greatest(int64_t a, int64_t b) { return a > b ? a : b; }

/* Arguments and results. */

static Array array_over(const Descr *descr, void *data, int32_t nd, int64_t *dims) {
  return (Array){{FOREVER, &array_kind}, data, nd, dims, NULL, NULL, descr, CONTIGUOUS | ALIGNED | WRITEABLE, false,
                 true};
}

static bool is_dense(const DLTensor *tensor) {
  int64_t step = 1;
  if (tensor->strides == NULL) return true;
  for (int32_t i = tensor->ndim - 1; i >= 0; i--) {
    if (tensor->shape[i] == 0) return true;
    if (tensor->shape[i] != 1 && tensor->strides[i] != step) return false;
    step *= tensor->shape[i];
  }
  return true;
}

/* An array over a tensor of the caller's; false, with an error, for one that no function takes. */
static bool take_tensor(Array *array, const char *name, const DLTensor *tensor, const Descr *descr) {
  const char *problem = NULL;
  if (tensor == NULL) {
    fail("argument %s is null", name);
    return false;
  }
  void *data = (char *)tensor->data + tensor->byte_offset;
  if (tensor->device.device_type != kDLCPU) problem = "is not in the processor's memory";
  else if (memcmp(&tensor->dtype, &descr->type, sizeof tensor->dtype) != 0) problem = "has another data type";
  else if (!is_dense(tensor)) problem = "is not dense: its strides are not those of its shape";
  else if ((uintptr_t)data % (uintptr_t)descr->size != 0) problem = "is not aligned to its elements";
  if (problem != NULL) {
    fail("argument %s %s, expected %s", name, problem, descr->name);
    return false;
  }
  *array = array_over(descr, data, tensor->ndim, tensor->shape);
  return true;
}

/* The same over plain memory. */
static bool take_memory(Array *array, const char *name, void *data, const Descr *descr, int32_t nd, int64_t *dims) {
  if ((uintptr_t)data % (uintptr_t)descr->size != 0) {
    fail("argument %s is not aligned to its elements, which are %s", name, descr->name);
    return false;
  }
  *array = array_over(descr, data, nd, dims);
  return true;
}

static bool lies_with_caller(const Array *array) {
  for (; array != NULL; array = (const Array *)array->base)
    if (array->borrowed) return true;
  return false;
}

static void drop_managed(DLManagedTensor *tensor) {
  Py_DecRef(tensor->manager_ctx);
  free(tensor);
}

/* A result as a tensor that the caller owns; a copy where it is an argument, or lies in one. NULL: it is not asked for. */
static bool give_tensor(Object *object, DLManagedTensor **result) {
  if (result == NULL) return true;
  Array *array = (Array *)object;
  if (lies_with_caller(array)) {
    Array *copy = new_from_descr(NULL, (Descr *)array->descr, array->nd, array->dims, NULL, NULL, 0, NULL);
    if (copy == NULL) return false;
    memcpy(copy->data, array->data, (size_t)bytes_of(array->descr, array->nd, array->dims));
    array = copy;
  } else {
    Py_IncRef(object);
  }
  DLManagedTensor *tensor = malloc(sizeof(DLManagedTensor));
  if (tensor == NULL) {
    Py_DecRef((Object *)array);
    PyErr_NoMemory();
    return false;
  }
  *tensor = (DLManagedTensor){
      {array->data, {kDLCPU, 0}, array->nd, array->descr->type, array->dims, NULL, 0}, array, drop_managed};
  *result = tensor;
  return true;
}

static void drop_given(DLManagedTensor **tensor) {
  if (tensor == NULL) return;
  if (*tensor != NULL) (*tensor)->deleter(*tensor);
  *tensor = NULL;
}

static bool give_memory(const Object *object, void *memory) {
  const Array *array = (const Array *)object;
  if (memory == NULL || memory == array->data) return true;
  memmove(memory, array->data, (size_t)bytes_of(array->descr, array->nd, array->dims));
  return true;
}

static bool give_double(const Object *object, double *number) {
  *number = ((const Number *)object)->value.real;
  return true;
}

static bool give_int64(const Object *object, int64_t *number) {
  *number = ((const Number *)object)->value.integer;
  return true;
}

static bool give_uint64(const Object *object, uint64_t *number) {
  *number = (uint64_t)((const Number *)object)->value.integer;
  return true;
}

static bool give_bool(const Object *object, bool *truth) {
  *truth = object == (const Object *)&true_object;
  return true;
}

static bool give_shape(const Object *object, int64_t *values) {
  const Tuple *tuple = (const Tuple *)object;
  for (int64_t i = 0; i < tuple->size; i++) give_int64(tuple->items[i], values + i);
  return true;
}
