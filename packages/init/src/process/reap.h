#ifndef LAMEDUCK_REAP_H
#define LAMEDUCK_REAP_H

#include <stdbool.h>
#include <sys/types.h>

struct reaped {
	bool main_ended;
	int status; /* of the main child, as waitpid gives it */
	unsigned others;
	pid_t last_other;
};

/* Collects every child that has ended: one SIGCHLD may stand for thousands of them. */
struct reaped reap(pid_t main_child);

/* 0-255, or 128 + n for death by signal n. */
int exit_code_of(int status);

#endif
