#include <dlfcn.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Weights in a file, which is mapped before the first call: 8 bytes of magic, 32 of a digest, zeros up to 64, the rest. */

enum { WEIGHTS_AT = 64 };
static const char weights_magic[] = "TIRAXWTS";
static pthread_mutex_t weights_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool weights_ready;

static const unsigned char *mapped(const char *path, int file) {
  struct stat about;
  unsigned char head[WEIGHTS_AT];
  if (fstat(file, &about) != 0 || about.st_size != WEIGHTS_AT + (int64_t)WEIGHTS_SIZE ||
      pread(file, head, sizeof head, 0) != sizeof head || memcmp(head, weights_magic, 8) != 0 ||
      memcmp(head + 8, weights_digest, sizeof weights_digest) != 0) {
    fail("%s does not hold the weights of this library", path);
    return NULL;
  }
  void *memory = mmap(NULL, WEIGHTS_AT + (size_t)WEIGHTS_SIZE, PROT_READ, MAP_PRIVATE, file, 0);
  if (memory == MAP_FAILED) {
    fail("cannot map the weights in %s: %s", path, strerror(errno));
    return NULL;
  }
  return (const unsigned char *)memory + WEIGHTS_AT;
}

static bool map_weights(const char *path) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    fail("cannot read the weights in %s: %s", path, strerror(errno));
    return false;
  }
  const unsigned char *weights = mapped(path, file);
  close(file);
  if (weights == NULL) return false;
  fill_table(weights);
  start_threads();
  return true;
}

static bool open_weights(const char *path) {
  if (path == NULL) {
    fail("the path of the weights is null");
    return false;
  }
  pthread_mutex_lock(&weights_lock);
  if (!weights_ready) weights_ready = map_weights(path);
  pthread_mutex_unlock(&weights_lock);
  return weights_ready;
}

/* The file of weights in the folder of this library or program. */
static bool open_beside(void) {
  char path[4096];
  Dl_info about;
  const char *self = dladdr(&weights_ready, &about) != 0 && about.dli_fname != NULL ? about.dli_fname : "";
  const char *slash = strrchr(self, '/');
  snprintf(path, sizeof path, "%.*s%s", slash == NULL ? 0 : (int)(slash - self) + 1, self, weights_file);
  return open_weights(path);
}

static inline bool ready(void) { return weights_ready || open_beside(); }
