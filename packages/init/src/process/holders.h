/*
 * The holders of this container: init, preStop hook and library may all be there, and one of them is to hold. Each has a small file in /dev/shm,
 * where programs of another user and with a read-only root may write, too. @lameduck/node writes and reads the same files:
 * packages/node/src/hold/holders.ts.
 */
#pragma once

#include "container.h"

enum { MOST_HOLDERS = 32 };

struct holder {
	char program[8]; /* "library", "init", "wait" */
	pid_t pid;
	struct main_process with; /* the file counts while this process lives: the holder itself; for a hook the first process of the container */
	signal_mask signals;	  /* the signals at which it holds */
	double longest_ms;	  /* the longest hold */
	double began, ended;	  /* ms of clock_now(); 0: not yet */
};

/* Writes or replaces the file of `holder`. Where that is impossible, the others do not learn of it. */
void holder_write(const struct holder *holder);
void holder_remove(const struct holder *holder);

/* The holders of this container whose files count. */
size_t holders_read(struct holder holders[MOST_HOLDERS]);

/* Whether the process holds by itself at that signal, and its longest hold is between `least_ms` and `most_ms`. */
bool holds_itself(pid_t pid, int signal, double least_ms, double most_ms);

/*
 * The hold of an init above this process, or of a hook for a process above it. The hold is going on, or it ended just before `now`, or its holder was
 * killed within the last `grace` ms.
 */
bool held_before(struct holder *found, double grace, double now);
/* The hold has only just ended. The next program in line does not hold again. */
bool has_just_held(const struct holder *holder, double now);

/*
 * When the first hook of this container's run began that has not ended; `now` where there is none. The kubelet runs a hook at least once: after a
 * restart of its own it starts the hook again, maybe beside the first, which still runs. A hook that was killed counts until its longest hold is
 * over. A hook with another longest hold is another command.
 */
double hook_began(const struct holder *hook, double now);

/* `lameduck-init end` asks the holder by a file, too. */
bool holder_ask_to_end(const struct holder *holder);
/*
 * True once for each request. Writes that the hold has ended, and waits for a moment: when the first process of a container ends, a command inside of
 * it is killed, and should have its answer before.
 */
bool holder_is_asked(struct holder *holder);
