/* The status of a pod, as a coordinator answers: see docs/contributing/acknowledgements-protocol.md. No I/O. */
#pragma once

#include <stdbool.h>

enum { STATUS_NAMES = 256 };

enum status_state { STATUS_NOTHING, STATUS_UNKNOWN, STATUS_WAITING, STATUS_INCOMPLETE, STATUS_RELEASED };

extern const char *const status_state_names[];

struct status {
	enum status_state state;
	bool withdrawn; /* it has left the ready endpoints */
	double released;  /* ms since then; NAN where it is not */
	double assumed; /* for so many ms yet senders for which nothing reports are assumed to choose the pod */
	unsigned reported, relevant; /* consumers; both 0 where the answer does not say */
	char behind[STATUS_NAMES];
	char last[STATUS_NAMES]; /* the consumer that let go last */
	bool end; /* somebody has asked for the end of the hold */
	bool consistency; /* silent consumers are waited for */
};

/* False for another protocol, or another major version of it. Unknown lines are ignored. Without a line for the mode, the mode of `status` stays. */
bool status_parse(const char *text, struct status *status);

/* The major version of an answer, where it is another one than ours; else 0. */
unsigned status_other_version(const char *text);
