/*
 * Between traffic and the decision. The decision is told here what was seen, and the recording of the hold gets the same: nothing reaches one without the
 * other. All that traffic may know of the decision is handed in with the teller: `config`, `convergence` and `release`.
 */
#pragma once

#include "../decision/drain.h"
#include "../trace/trace.h"

struct teller {
	struct drain *drain;
	struct trace *trace;
	double connections; /* new ones, as told */
	double last_arrival; /* NAN for none */
	const struct drain_config *config; /* what the decision is made by */
	double convergence; /* ms that senders are assumed to take on average */
	const struct release *release; /* what the cluster says of the senders, and whether an arrival has disproved it */
};

void tell(struct teller *teller, const struct observation *seen);

/* A new connection of `sender`, which came between `since` and `at`. */
void tell_connection(struct teller *teller, const char *sender, double at, double since);
/* Such a connection anew, after SEEN_FORGOTTEN. */
void tell_again(struct teller *teller, const char *sender, double at, double since);

/* A request on an old connection. Its sender opens so few that its requests decide. */
void tell_request_on_old(struct teller *teller, const char *sender, double at);
