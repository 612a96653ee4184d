/* A clock that is wrong: CLOCK_REALTIME is CHAOS_CLOCK seconds ahead. For LD_PRELOAD. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long ahead;

__attribute__((constructor)) static void begin(void) {
    const char *told = getenv("CHAOS_CLOCK");
    ahead = told ? atol(told) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && clock == CLOCK_REALTIME)
        now->tv_sec += ahead;
    return result;
}
