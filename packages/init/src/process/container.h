/* The container that a hook runs in, seen from beside its program. */
#pragma once

#include "signals.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The container's first process. It distinguishes one run of a container from the next. */
struct main_process {
	pid_t pid;
	uint64_t started; /* ticks since boot; 0 where it cannot be read */
};

struct main_process process_of(pid_t pid);
/* False where the process has ended, and another process has its number now. */
bool is_alive(const struct main_process *process);

/* Whether a process is this process, its parent, or one further up. */
bool is_above_us(pid_t pid);

/*
 * The container's first process: PID 1, unless the pod shares one process namespace. There it is the oldest process in our cgroup that was started
 * from outside.
 */
struct main_process find_main_process(void);

/* Whether the kernel would drop the signal unseen, as it does for a PID 1 without a handler of its own. */
bool drops_signal(pid_t pid, int signal);

/* The first process's stderr, which is the container's log. -1 where it cannot be opened, or is our own stderr, too. */
int open_log_of(pid_t pid);
