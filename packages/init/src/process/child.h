/* Starting the program, with the signal mask and dispositions that we were given ourselves. */
#ifndef LAMEDUCK_CHILD_H
#define LAMEDUCK_CHILD_H

#include "signals.h"

#include <sys/types.h>

/* How the child stands towards the terminal and towards signals for groups. */
enum child_standing {
	STANDING_GROUP,	  /* leader of a group of its own, in the foreground of our terminal (tini) */
	STANDING_SESSION, /* leader of a session of its own that takes the terminal over (dumb-init) */
	STANDING_SAME,	  /* in our own group and session (dumb-init --single-child) */
};

/* What we were started with; given back to the child. */
struct inherited {
	signal_mask mask;
	struct sigaction on_child;
	struct sigaction on_read;  /* SIGTTIN */
	struct sigaction on_write; /* SIGTTOU */
};

/* Blocks `blocked`; a program that started us with SIGCHLD ignored would else have our children vanish unseen. */
void take_signals(struct inherited *inherited, signal_mask blocked, bool ignore_terminal);

/*
 * The new process, once it runs `argv` (a signal sent from then on reaches the program, not a half-made copy of us), or -1.
 * `exec_error` is 0 or why it could not be run; the child then ends by itself with `exec_failure_code`, or 126 or 127 if that is -1.
 */
pid_t start_child(char *const argv[], enum child_standing standing, const struct inherited *inherited,
		  int exec_failure_code, int *exec_error);

#endif
