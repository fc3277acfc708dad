/* Our children: the program is started with the signal mask and dispositions that we were given ourselves, and all are reaped. */
#pragma once

#include "signals.h"

#include <sys/types.h>

/* How the child stands towards the terminal and towards signals for groups. */
enum child_group {
	CHILD_GROUP_OWN,	  /* leader of a group of its own, in the foreground of our terminal (tini) */
	CHILD_GROUP_SESSION, /* leader of a session of its own that takes the terminal over (dumb-init) */
	CHILD_GROUP_SAME,	  /* in our own group and session (dumb-init --single-child) */
};

/* The signal mask and dispositions that the init was started with. The child gets them back. */
struct inherited {
	signal_mask mask;
	struct sigaction on_child;
	struct sigaction on_read;  /* SIGTTIN */
	struct sigaction on_write; /* SIGTTOU */
};

/* Blocks `blocked`; a program that started us with SIGCHLD ignored would else have our children vanish unseen. */
void take_signals(struct inherited *inherited, signal_mask blocked, bool ignore_terminal);

struct launch {
	char *const *argv;
	enum child_group child_group;
	struct inherited inherited;
	bool with_defaults;    /* no signal blocked nor any of 1 to 31 ignored, whatever we were started with (dumb-init) */
	int directory;	       /* where the child starts; -1: where we are */
	int exec_failure_code; /* -1; then the exit code is 127 where the program is not found, else 126 */
};

/*
 * The new process, or -1. The function returns once it runs the program, so that a signal is not passed to a half-made copy of the init. A signal
 * that becomes readable from `signals` ends that wait: a file system that hangs must not block the signals. `exec_error` is 0, or why the program
 * could not be run; the child then ends by itself.
 */
pid_t start_child(const struct launch *launch, int signals, int *exec_error);

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
