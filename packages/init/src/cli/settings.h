/* Everything a user can set, by flags or environment variables. */
#pragma once

#include "../hold/hold.h"
#include "../process/signals.h"

/* The name by which the init was called. It behaves as the program of that name does. */
enum personality { PERSONALITY_OWN, PERSONALITY_TINI, PERSONALITY_DUMB_INIT };

enum action { ACTION_RUN, ACTION_WAIT, ACTION_END, ACTION_HELP, ACTION_VERSION, ACTION_LICENSE };

struct settings {
	const char *name; /* by which the program was called */
	enum personality personality;
	enum action action;
	char *const *command;

	bool subreaper;
	bool group;
	bool single_child;
	bool warn_on_reap;
	int verbosity;
	const char *parent_death;
	int parent_death_signal;
	bool expected_codes[256]; /* exit codes that count as 0 */
	struct translation translation;
	int then_signal;	  /* the signal that the hook `wait` sends the container's first process after the hold; 0: none */
	signal_mask stop_signals; /* the signals that begin a hold; SIGTERM where none are named */

	bool no_hold;
	bool any_hold_option; /* tini and dumb-init hold only when asked */
	bool dry_run;
	bool json;
	struct drain_options decision;
	const char *log;
	const char *streams;
	const char *mode;
	const char *order_timeout;
	struct hold_settings hold;
	char notice[320]; /* an option that has no effect; empty if there is none */
};

/* Flags win over the environment. False with `error` filled in. */
bool settings_read(struct settings *settings, int argc, char *const *argv, struct error *error);
