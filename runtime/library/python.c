/* What compiled objects ask of Python and numpy (../abi.py), in C: for a library that stands alone.

Objects have the heads and fields that the code reads, and no more. Each call makes its own, so that calls from several
threads share none but those that live for ever (`FOREVER`). Errors are texts of the thread. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

typedef struct Kind Kind;

typedef struct {
  int64_t count;
  const Kind *kind;
} Object;

struct Kind {
  const char *name;
  void (*drop)(Object *);
  Object *(*call)(Object *self, Object *const *args, int64_t count);
};

typedef struct {
  Object head;
  const char *name;
  DLDataType type;
  int64_t size; /* bytes of an element */
} Descr;

typedef struct {
  Object head;
  void *data;
  int32_t nd;
  int64_t *dims;
  int64_t *strides;
  Object *base;
  const Descr *descr;
  int32_t flags;
  bool owns;     /* its data are freed with it */
  bool borrowed; /* it lies in the frame of a call, over the caller's memory */
  int64_t extents[];
} Array;

typedef struct {
  Object head;
  int64_t size;
  Object *items[];
} Tuple;

typedef struct {
  Object head;
  union {
    int64_t integer;
    double real;
  } value;
} Number;

typedef struct {
  Object head;
  char *bytes;
  int64_t size;
  int64_t room;
} Bytes;

enum { FOREVER = INT64_MIN / 2, CONTIGUOUS = 1, ALIGNED = 0x100, WRITEABLE = 0x400, ALIGNMENT = 64 };

/* Errors. */

static _Thread_local char error_text[1024];
static _Thread_local bool error_set;

static void fail(const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(error_text, sizeof error_text, format, values);
  va_end(values);
  error_set = true;
}

void PyErr_Clear(void) { error_set = false; }
Object *PyErr_Occurred(void);
int PyErr_CheckSignals(void) { return 0; }

Object *PyErr_NoMemory(void) {
  fail("out of memory");
  return NULL;
}

/* Lifetimes. */

void Py_IncRef(Object *object) {
  if (object != NULL && object->count >= 0) object->count++;
}

void Py_DecRef(Object *object) {
  if (object == NULL || object->count < 0 || --object->count > 0) return;
  if (object->kind->drop != NULL) object->kind->drop(object);
  free(object);
}

static void *new_object(const Kind *kind, size_t size) {
  Object *object = malloc(size);
  if (object == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  object->count = 1;
  object->kind = kind;
  return object;
}

/* Large memory is kept for the next call. */

enum { KEPT_BLOCKS = 8, LARGE = 1 << 16 };
static const int64_t MOST_KEPT = (int64_t)1 << 28;
typedef struct {
  int64_t size;
  char rest[ALIGNMENT - sizeof(int64_t)];
} BlockHead;
static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;
static BlockHead *blocks[KEPT_BLOCKS];
static int64_t bytes_kept;

static BlockHead *kept_block(int64_t size) {
  BlockHead *block = NULL;
  pthread_mutex_lock(&blocks_lock);
  for (int i = 0; i < KEPT_BLOCKS && block == NULL; i++)
    if (blocks[i] != NULL && blocks[i]->size >= size && blocks[i]->size - size <= size / 4) {
      block = blocks[i];
      blocks[i] = NULL;
      bytes_kept -= block->size;
    }
  pthread_mutex_unlock(&blocks_lock);
  return block;
}

void *tirax_take(int64_t size) {
  if (size > INT64_MAX - 4 * ALIGNMENT) return NULL;
  int64_t whole = (size + (int64_t)sizeof(BlockHead) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  BlockHead *block = whole < LARGE ? NULL : kept_block(whole);
  if (block == NULL) {
    block = aligned_alloc(ALIGNMENT, (size_t)whole);
    if (block == NULL) return NULL;
    block->size = whole;
  }
  return block + 1;
}

void tirax_give(void *memory) {
  if (memory == NULL) return;
  BlockHead *block = (BlockHead *)memory - 1;
  if (block->size < LARGE) {
    free(block);
    return;
  }
  pthread_mutex_lock(&blocks_lock);
  for (int i = 0; i < KEPT_BLOCKS && block != NULL && bytes_kept + block->size <= MOST_KEPT; i++)
    if (blocks[i] == NULL) {
      blocks[i] = block;
      bytes_kept += block->size;
      block = NULL;
    }
  pthread_mutex_unlock(&blocks_lock);
  free(block);
}

/* Give it back, and what malloc keeps. */
static void release_blocks(void) {
  pthread_mutex_lock(&blocks_lock);
  for (int i = 0; i < KEPT_BLOCKS; i++) {
    free(blocks[i]);
    blocks[i] = NULL;
  }
  bytes_kept = 0;
  pthread_mutex_unlock(&blocks_lock);
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

/* Arrays. */

static void drop_array(Object *object) {
  Array *array = (Array *)object;
  if (array->owns) tirax_give(array->data);
  Py_DecRef(array->base);
}

static const Kind array_kind = {"array", drop_array, NULL};

static int64_t bytes_of(const Descr *descr, int32_t nd, const int64_t *dims) {
  int64_t size = descr->size;
  for (int32_t i = 0; i < nd; i++)
    if (__builtin_mul_overflow(size, dims[i], &size)) return -1;
  return size;
}

static Array *new_from_descr(const Kind *kind, Descr *descr, int nd, const int64_t *dims, const int64_t *strides,
                             void *data, int flags, Object *base) {
  (void)kind, (void)strides, (void)base;
  int64_t size = bytes_of(descr, nd, dims);
  Array *array = new_object(&array_kind, sizeof(Array) + sizeof(int64_t) * (size_t)nd);
  if (array == NULL) return NULL;
  bool owns = data == NULL;
  if (owns) data = size < 0 ? NULL : tirax_take(size);
  if (data == NULL) {
    free(array);
    return (Array *)PyErr_NoMemory();
  }
  Object head = array->head;
  *array = (Array){head, data, nd, array->extents, NULL, NULL, descr, owns ? CONTIGUOUS | ALIGNED | WRITEABLE : flags,
                   owns, false};
  if (nd > 0) memcpy(array->extents, dims, sizeof(int64_t) * (size_t)nd);
  return array;
}

Array *tirax_new_result(Descr *descr, int32_t nd, const int64_t *dims, int64_t size) {
  (void)size;
  return new_from_descr(NULL, descr, nd, dims, NULL, NULL, 0, NULL);
}

static Array *empty_array(int nd, const int64_t *dims, Descr *descr, int fortran) {
  (void)fortran;
  return new_from_descr(NULL, descr, nd, dims, NULL, NULL, 0, NULL);
}

static int set_base_object(Array *array, Object *base) {
  array->base = base;
  return 0;
}

/* Numbers and tuples. */

static const Kind long_kind = {"int", NULL, NULL}, float_kind = {"float", NULL, NULL}, bool_kind = {"bool", NULL, NULL};
static const Kind none_kind = {"None", NULL, NULL}, error_kind = {"error", NULL, NULL};
static Number true_object = {{FOREVER, &bool_kind}, {1}}, false_object = {{FOREVER, &bool_kind}, {0}};
static Object none_object = {FOREVER, &none_kind}, error_object = {FOREVER, &error_kind};

Object *PyErr_Occurred(void) { return error_set ? &error_object : NULL; }

Object *PyLong_FromLongLong(int64_t value) {
  Number *number = new_object(&long_kind, sizeof(Number));
  if (number != NULL) number->value.integer = value;
  return (Object *)number;
}

Object *PyLong_FromUnsignedLongLong(uint64_t value) { return PyLong_FromLongLong((int64_t)value); }
int64_t PyLong_AsLongLong(const Number *number) { return number->value.integer; }
uint64_t PyLong_AsUnsignedLongLong(const Number *number) { return (uint64_t)number->value.integer; }
Object *PyBool_FromLong(int64_t value) { return (Object *)(value ? &true_object : &false_object); }
double PyFloat_AsDouble(const Number *number) { return number->value.real; }

Object *PyFloat_FromDouble(double value) {
  Number *number = new_object(&float_kind, sizeof(Number));
  if (number != NULL) number->value.real = value;
  return (Object *)number;
}

static void drop_tuple(Object *object) {
  Tuple *tuple = (Tuple *)object;
  for (int64_t i = 0; i < tuple->size; i++) Py_DecRef(tuple->items[i]);
}

static const Kind tuple_kind = {"tuple", drop_tuple, NULL};

Object *PyTuple_New(int64_t size) {
  Tuple *tuple = new_object(&tuple_kind, sizeof(Tuple) + sizeof(Object *) * (size_t)size);
  if (tuple == NULL) return NULL;
  tuple->size = size;
  memset(tuple->items, 0, sizeof(Object *) * (size_t)size);
  return (Object *)tuple;
}

int PyTuple_SetItem(Tuple *tuple, int64_t index, Object *item) {
  tuple->items[index] = item;
  return 0;
}

Object *PySequence_GetItem(Tuple *tuple, int64_t index) {
  Py_IncRef(tuple->items[index]);
  return tuple->items[index];
}

/* What grows: the results of a loop's iterations. */

static void drop_bytes(Object *object) { free(((Bytes *)object)->bytes); }

static const Kind bytes_kind = {"bytes", drop_bytes, NULL};

Object *PyByteArray_FromStringAndSize(const char *text, int64_t size) {
  (void)text, (void)size; /* the code asks for empty ones */
  Bytes *bytes = new_object(&bytes_kind, sizeof(Bytes));
  if (bytes != NULL) bytes->bytes = NULL, bytes->size = bytes->room = 0;
  return (Object *)bytes;
}

int PyByteArray_Resize(Bytes *bytes, int64_t size) {
  if (size > bytes->room) {
    int64_t room = size + size / 2 + ALIGNMENT;
    char *grown = realloc(bytes->bytes, (size_t)room);
    if (grown == NULL) {
      PyErr_NoMemory();
      return -1;
    }
    bytes->bytes = grown, bytes->room = room;
  }
  bytes->size = size;
  return 0;
}

char *PyByteArray_AsString(Bytes *bytes) { return bytes->bytes; }

/* Calls: of what raises errors, and of what stacks the results of a loop. */

typedef struct {
  Object head;
  const char *message, *expected, *found; /* {0}, {1}, … stand for the integers of the call */
} Failure;

typedef struct {
  Object head;
  const Descr *descr;
} Stack;

static void add_text(char *text, size_t *length, size_t room, const char *format, ...) {
  va_list values;
  va_start(values, format);
  int written = vsnprintf(text + *length, room - *length, format, values);
  va_end(values);
  *length += written < 0 ? 0 : (size_t)written;
  if (*length >= room) *length = room - 1;
}

static void add_filled(char *text, size_t *length, size_t room, const char *template, Object *const *args,
                       int64_t count) {
  for (const char *c = template; *c != 0; c++) {
    if (c[0] == '{' && c[1] >= '0' && c[1] <= '9' && c[2] == '}') {
      int64_t index = c[1] - '0';
      if (index < count) add_text(text, length, room, "%" PRId64, ((Number *)args[index])->value.integer);
      c += 2;
    } else {
      add_text(text, length, room, "%c", *c);
    }
  }
}

static Object *raise_failure(Object *self, Object *const *args, int64_t count) {
  const Failure *failure = (Failure *)self;
  char text[sizeof error_text];
  size_t length = 0;
  add_filled(text, &length, sizeof text, failure->message, args, count);
  if (failure->expected != NULL) {
    add_text(text, &length, sizeof text, ", expected ");
    add_filled(text, &length, sizeof text, failure->expected, args, count);
  }
  if (failure->found != NULL) {
    add_text(text, &length, sizeof text, ", found ");
    add_filled(text, &length, sizeof text, failure->found, args, count);
  }
  fail("%s", text);
  return NULL;
}

static Object *stacked(Object *self, Object *const *args, int64_t count) {
  const Bytes *bytes = (Bytes *)args[0];
  int64_t dims[64];
  for (int64_t i = 1; i < count && i <= 64; i++) dims[i - 1] = ((Number *)args[i])->value.integer;
  Array *array = new_from_descr(NULL, (Descr *)((Stack *)self)->descr, (int)count - 1, dims, NULL, NULL, 0, NULL);
  if (array != NULL && bytes->size > 0) memcpy(array->data, bytes->bytes, (size_t)bytes->size);
  return (Object *)array;
}

/* What a function takes, where its arguments do not fit it. */
typedef struct {
  Object head;
  const char *signature;
} Explanation;

static void describe(char *text, size_t *length, size_t room, const Object *object) {
  const Array *array = (const Array *)object;
  if (object->kind != &array_kind) {
    add_text(text, length, room, "%s", object->kind->name);
    return;
  }
  add_text(text, length, room, "%s(", array->descr->name);
  for (int32_t i = 0; i < array->nd; i++) add_text(text, length, room, i == 0 ? "%" PRId64 : ", %" PRId64, array->dims[i]);
  add_text(text, length, room, ")");
}

static Object *explain(Object *self, Object *const *args, int64_t count) {
  char text[sizeof error_text];
  size_t length = 0;
  add_text(text, &length, sizeof text, "the arguments do not fit %s, found ", ((Explanation *)self)->signature);
  for (int64_t i = 0; i < count; i++) {
    if (i > 0) add_text(text, &length, sizeof text, ", ");
    describe(text, &length, sizeof text, args[i]);
  }
  fail("%s", text);
  return NULL;
}

static const Kind failure_kind = {"failure", NULL, raise_failure}, stack_kind = {"stack", NULL, stacked};
static const Kind explanation_kind = {"explanation", NULL, explain};

Object *PyObject_Vectorcall(Object *callable, Object *const *args, int64_t count, Object *names) {
  (void)names;
  return callable->kind->call(callable, args, count);
}

int PyCallable_Check(Object *object) { return object->kind->call != NULL; }

/* Threads: there is no lock, since nothing is shared. */

void *PyEval_SaveThread(void) { return NULL; }
void PyEval_RestoreThread(void *state) { (void)state; }
int PyGILState_Ensure(void) { return 0; }
void PyGILState_Release(int state) { (void)state; }

static _Thread_local uintptr_t stack_low, stack_size;

int32_t tirax_has_stack(void) {
  if (stack_size == 0) {
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 1;
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    stack_low = (uintptr_t)low, stack_size = size;
  }
  uintptr_t left = (uintptr_t)__builtin_frame_address(0) - stack_low;
  uintptr_t kept = stack_size / 2 < 262144 ? stack_size / 2 : 262144;
  return left > stack_size || left > kept; /* on another stack, or with enough of this one */
}

int Py_EnterRecursiveCall(const char *where) {
  if (tirax_has_stack()) return 0;
  fail("the stack is full%s", where);
  return -1;
}

void Py_LeaveRecursiveCall(void) {}

void pool_set_threads(int32_t count);
int32_t pool_threads(void);
void pool_reset(void);

static int usable_cores(void) {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

static void start_threads(void) {
  const char *said = getenv("TIRAX_NUM_THREADS");
  int count = said != NULL ? atoi(said) : 0;
  pool_set_threads(count >= 1 && count <= 1024 ? count : usable_cores());
  pthread_atfork(NULL, NULL, pool_reset);
}
