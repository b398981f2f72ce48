#define PUBLIC __attribute__((visibility("default")))

/* Sizes: division by 0 gives 0, which fits no extent that is divided by it; by -1 it is not the processor's, which traps
for the least number. */

static int64_t trunc_div(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b; }
static int64_t trunc_mod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
static int64_t floor_div(int64_t a, int64_t b) {
  int64_t rest = trunc_mod(a, b);
  return trunc_div(a, b) - (rest != 0 && (rest < 0) != (b < 0));
}
static int64_t floor_mod(int64_t a, int64_t b) {
  int64_t rest = trunc_mod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t greatest(int64_t a, int64_t b) { return a > b ? a : b; }

/* Arguments and results. */

static Array array_over(const Descr *descr, void *data, int32_t nd, int64_t *dims) {
  return (Array){{FOREVER, &array_kind}, data, nd, dims, NULL, NULL, descr, CONTIGUOUS | ALIGNED | WRITEABLE, false,
                 true};
}

enum { MOST_DIMENSIONS = 64 };

/* What is wrong with memory of these extents, NULL where nothing is. Of no elements any place will do, NULL, too. */
static const char *memory_problem(const void *data, const Descr *descr, int32_t nd, const int64_t *dims) {
  int64_t size = descr->size;
  bool empty = false, negative = false, large = false;
  for (int32_t i = 0; i < nd; i++) {
    negative |= dims[i] < 0;
    empty |= dims[i] == 0;
    large |= __builtin_mul_overflow(size, dims[i], &size);
  }
  if (negative) return "has a negative extent";
  if (empty) return NULL;
  if (large || size > INT64_MAX / 4) return "is larger than any memory";
  if (data == NULL) return "is null, and has elements";
  if ((uintptr_t)data % (uintptr_t)descr->size != 0) return "is not aligned to its elements";
  return NULL;
}

static bool is_dense(const DLTensor *tensor) {
  int64_t step = 1;
  if (tensor->strides == NULL) return true;
  for (int32_t i = 0; i < tensor->ndim; i++)
    if (tensor->shape[i] == 0) return true;
  for (int32_t i = tensor->ndim - 1; i >= 0; i--) {
    if (tensor->shape[i] != 1 && tensor->strides[i] != step) return false;
    if (__builtin_mul_overflow(step, tensor->shape[i], &step)) return true; /* too large, which is asked for then */
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
  if (tensor->ndim < 0 || tensor->ndim > MOST_DIMENSIONS) problem = "has no possible number of dimensions";
  else if (tensor->ndim > 0 && tensor->shape == NULL) problem = "has no shape";
  else if (tensor->device.device_type != kDLCPU) problem = "is not in the processor's memory";
  else if (memcmp(&tensor->dtype, &descr->type, sizeof tensor->dtype) != 0) problem = "has another data type";
  else if (!is_dense(tensor)) problem = "is not dense: its strides are not those of its shape";
  void *data = tensor->data == NULL ? NULL : (char *)tensor->data + tensor->byte_offset;
  if (problem == NULL) problem = memory_problem(data, descr, tensor->ndim, tensor->shape);
  if (problem != NULL) {
    fail("argument %s %s, expected %s", name, problem, descr->name);
    return false;
  }
  *array = array_over(descr, data, tensor->ndim, tensor->shape);
  return true;
}

/* The same over plain memory. */
static bool take_memory(Array *array, const char *name, void *data, const Descr *descr, int32_t nd, int64_t *dims) {
  const char *problem = memory_problem(data, descr, nd, dims);
  if (problem != NULL) {
    fail("argument %s %s, expected %s", name, problem, descr->name);
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

/* Numbers that are not asked for have nowhere to go. */
static bool give_double(const Object *object, double *number) {
  if (number != NULL) *number = ((const Number *)object)->value.real;
  return true;
}

static bool give_int64(const Object *object, int64_t *number) {
  if (number != NULL) *number = ((const Number *)object)->value.integer;
  return true;
}

static bool give_uint64(const Object *object, uint64_t *number) {
  if (number != NULL) *number = (uint64_t)((const Number *)object)->value.integer;
  return true;
}

static bool give_bool(const Object *object, bool *truth) {
  if (truth != NULL) *truth = object == (const Object *)&true_object;
  return true;
}

static bool give_shape(const Object *object, int64_t *values) {
  const Tuple *tuple = (const Tuple *)object;
  for (int64_t i = 0; values != NULL && i < tuple->size; i++) give_int64(tuple->items[i], values + i);
  return true;
}
