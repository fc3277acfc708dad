/* Tells the decision what was seen. The recording of the hold gets the same: nothing reaches one without the other. */
#ifndef LAMEDUCK_TELL_H
#define LAMEDUCK_TELL_H

#include "../decision/drain.h"
#include "../trace/trace.h"

struct teller {
	struct drain *drain;
	struct trace *trace;
	double connections; /* new ones, as told */
	double last_arrival; /* NAN for none */
};

void tell(struct teller *teller, const struct observation *seen);

/* A new connection of `sender`, which came between `since` and `at`. */
void tell_connection(struct teller *teller, const char *sender, double at, double since);
/* Such a connection anew, after SEEN_FORGOTTEN. */
void tell_again(struct teller *teller, const char *sender, double at, double since);

/* A request on an old connection. Its sender opens so few that its requests decide. */
void tell_request_on_old(struct teller *teller, const char *sender, double at);

#endif
