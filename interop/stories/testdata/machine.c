// Gives a process a machine of its own, by LD_PRELOAD: a wall clock, and a disk whose power may
// fail. Both are in the file at STORIES_MACHINE, which others read and write at any time.
// Monotonic clocks are the system's.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile struct {
	int64_t ahead; // of the system's clock at that time, in ns
	int64_t since; // Unix time of the system's clock, in ns
	int64_t gains; // since then, in ns a second
	int64_t synced; // how much of the append-only file is on disk, in bytes
} *machine;

__attribute__((constructor)) static void start(void)
{
	const char *name = getenv("STORIES_MACHINE");
	int file = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
	void *at = file < 0 ? MAP_FAILED : mmap(0, sizeof *machine, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (at == MAP_FAILED)
		_exit(1);
	close(file);
	machine = at;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int failed = syscall(SYS_clock_gettime, clock, now);

	if (!failed && machine && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
		int64_t ns = now->tv_sec * INT64_C(1000000000) + now->tv_nsec;

		ns += machine->ahead + (ns - machine->since) / 1000 * machine->gains / 1000000;
		now->tv_sec = ns / 1000000000;
		now->tv_nsec = ns % 1000000000;
	}
	return failed;
}

int gettimeofday(struct timeval *now, void *zone)
{
	struct timespec exact;
	int failed = clock_gettime(CLOCK_REALTIME, &exact);

	(void)zone;
	now->tv_sec = exact.tv_sec;
	now->tv_usec = exact.tv_nsec / 1000;
	return failed;
}

time_t time(time_t *out)
{
	struct timespec exact;

	clock_gettime(CLOCK_REALTIME, &exact);
	if (out)
		*out = exact.tv_sec;
	return exact.tv_sec;
}

int fdatasync(int file)
{
	char link[64], name[4096] = "";
	struct stat before;
	int known, failed;

	snprintf(link, sizeof link, "/proc/self/fd/%d", file);
	known = readlink(link, name, sizeof name - 1) > 0 && strstr(name, ".incr.aof") && !fstat(file, &before);
	failed = syscall(SYS_fdatasync, file);
	if (!failed && known && machine)
		machine->synced = before.st_size;
	return failed;
}
