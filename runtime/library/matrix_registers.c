
/* Linux gives registers that hold matrices to processes that ask for them: before any call, for all threads. */
#include <sys/syscall.h>
#include <unistd.h>

enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };

__attribute__((constructor)) static void ask_for_matrix_registers(void) {
  syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA);
}
