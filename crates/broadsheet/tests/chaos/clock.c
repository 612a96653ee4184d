/* A machine that is not this one. CLOCK_REALTIME is CHAOS_CLOCK seconds ahead, and /proc/sys/kernel/random/boot_id has the text CHAOS_BOOT,
   if that is set. For LD_PRELOAD. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

static long ahead;
/* Open from the beginning: a thread that has confined itself can make none. */
static int boot = -1;

__attribute__((constructor)) static void begin(void) {
    const char *told = getenv("CHAOS_CLOCK");
    ahead = told ? atol(told) : 0;
    told = getenv("CHAOS_BOOT");
    if (told) {
        boot = memfd_create("boot_id", MFD_CLOEXEC);
        if (write(boot, told, strlen(told)) < 0)
            abort();
    }
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && clock == CLOCK_REALTIME)
        now->tv_sec += ahead;
    return result;
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int mode = va_arg(rest, int);
    va_end(rest);
    /* O_PATH: a rule of Landlock, which takes no memfd. */
    if (boot >= 0 && !(flags & O_PATH) && strcmp(path, BOOT_ID) == 0) {
        lseek(boot, 0, SEEK_SET);
        return fcntl(boot, F_DUPFD_CLOEXEC, 3);
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
