/* What a coordinator says of a pod: the answer of docs/acknowledgements-protocol.md. No I/O. */
#ifndef LAMEDUCK_SAID_H
#define LAMEDUCK_SAID_H

#include <stdbool.h>

enum { SAID_NAMES = 256 };

enum said_state { SAID_NOTHING, SAID_UNKNOWN, SAID_WAITING, SAID_INCOMPLETE, SAID_RELEASED };

extern const char *const said_state_names[];

struct said {
	enum said_state state;
	double released;  /* ms since then; NAN where it is not */
	unsigned reported, relevant; /* consumers; 0 of 0 where it does not say */
	char behind[SAID_NAMES];
	char last[SAID_NAMES]; /* who let go last */
	bool consistency; /* nobody is left out for being silent */
};

/* False where the text is none of this protocol, or of another major version of it. Lines that are not known are left out. */
bool said_parse(const char *text, struct said *said);

#endif
