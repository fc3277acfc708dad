/*
 * Who holds in this container, or would at a signal: init, preStop hook and library may all be there, and one of them is to hold. Each says so in a
 * small file in /dev/shm, where programs of another user and with a read-only root may write, too. @lameduck/node writes and reads the same files:
 * packages/node/src/hold/holders.ts.
 */
#ifndef LAMEDUCK_HOLDERS_H
#define LAMEDUCK_HOLDERS_H

#include "container.h"

enum { MOST_HOLDERS = 32 };

struct holder {
	char program[8]; /* "library", "init", "wait" */
	pid_t pid;
	struct main_process with; /* the file counts while this process lives: the holder itself; for a hook the first process of the container */
	signal_mask signals;	  /* at which it holds */
	double longest;		  /* ms that it may hold */
	double began, ended;	  /* ms of clock_now(); 0: not yet */
};

/* Writes or replaces the file of `holder`. Where that is impossible, the others do not learn of it. */
void holder_write(const struct holder *holder);
void holder_remove(const struct holder *holder);

/* The holders of this container whose files count. */
size_t holders_read(struct holder holders[MOST_HOLDERS]);

/* Whether the process holds by itself at that signal, and its longest hold is between these, ms. */
bool holds_itself(pid_t pid, int signal, double least, double most);

/* The hold of an init above us, or of a hook for a process above us, that ended just before `now`, or is going on, or was killed, within `grace` ms. */
bool held_before(struct holder *found, double grace, double now);
/* Its hold has only just ended: the next program in line does not hold again. */
bool has_just_held(const struct holder *holder, double now);

/*
 * Hooks run at least once, not exactly once: the kubelet starts one again when it has been restarted, maybe beside the first, which still runs.
 * When the first of this life of the container began that has not ended; `now` where there is none. One that was killed counts until its longest hold is
 * over. One with another longest hold is another command.
 */
double hook_began(const struct holder *hook, double now);

/* `lameduck-init end` asks the holder by a file, too. */
bool holder_ask_to_end(const struct holder *holder);
/*
 * True once for each time that it was asked. Says that the hold has ended, and waits for a moment: when the first process of a container ends, whoever has
 * asked from inside is killed with it, and should have its answer.
 */
bool holder_is_asked(struct holder *holder);

#endif
