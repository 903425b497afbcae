// For LD_PRELOAD: whoever waits for the disk waits as many milliseconds longer as the file $SLOW_DISK says (four octets, as the machine
// has them), which may change at any time.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const volatile uint32_t* delay;

__attribute__((constructor)) static void look(void) {
  const char* name = getenv("SLOW_DISK");
  const int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void* mapped = mmap(NULL, sizeof *delay, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) delay = mapped;
}

static int after_a_while(const char* name, int file) {
  const uint32_t ms = delay ? *delay : 0;
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
  if (ms) nanosleep(&time, NULL);
  return ((int (*)(int))dlsym(RTLD_NEXT, name))(file);
}

int fsync(int file) { return after_a_while("fsync", file); }
int fdatasync(int file) { return after_a_while("fdatasync", file); }
