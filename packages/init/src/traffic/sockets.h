/*
 * Observes the pod's TCP sockets as the kernel lists them: which connections are new, which have ended, which carry requests, and which have work in
 * flight.
 */
#pragma once

#include "arrivals.h"
#include "connections.h"
#include "settings.h"
#include "unattributed.h"

enum evidence {
	EVIDENCE_COUNTERS = 1, /* PassiveOpens of this namespace */
	EVIDENCE_SOCKETS = 2, /* connections, by sock_diag or procfs */
	EVIDENCE_DIAG = 4, /* with tcp_info */
	EVIDENCE_EVENTS = 8, /* connections that end */
};

struct sockets {
	const struct traffic_settings *settings;
	const struct port_list *ports; /* those chosen, unless nothing listens there */
	struct arrivals *arrivals;
	struct pools *pools;
	struct unattributed *unattributed;
	unsigned evidence; /* bits of enum evidence, but for the counters */
	int events; /* descriptor, or -1 */

	struct listeners listeners;
	struct connections connections;
	uint16_t generation; /* of the latest dump */
	double dumped; /* when that was */
	double now; /* of what is being read */

	/* Of the latest dump. */
	size_t open; /* connections of our own */
	double busy; /* those with work in flight */
	unsigned pools_busy; /* those with work in flight of pools that last: the decision is not told of them */

	size_t unacknowledged; /* those whose peer has not acknowledged everything */
	size_t resent; /* of these, those on which it was sent again in vain */

	double resent_since; /* since when there are any such; NAN where there are none */
	double heard_at; /* when anybody last acknowledged anything; -INFINITY where that was not seen */

	bool alive; /* something was accepted or answered since the latest dump */
	uint32_t last_backlog;
	double backlog_since; /* since when it has not shrunk and the program has shown no life; NAN while it is empty */
	double bytes; /* received */
	double ignored; /* connections of ignored peers that have ended */
	uint64_t ended; /* connections */
};

/* Looks for listeners, and subscribes to connections that end. False where these are the sockets of a whole node: ours cannot be found among them. */
bool sockets_begin(struct sockets *sockets, const struct traffic_settings *settings, struct arrivals *arrivals, struct pools *pools,
		   struct unattributed *unattributed, double now);
void sockets_end(struct sockets *sockets);

/* Takes the connections that have ended: the only trace of those that were opened and closed between two dumps. */
void sockets_read_events(struct sockets *sockets);
/* Takes everything that is open. `dumped` is for the caller to set, when the events have been read that came meanwhile. */
void sockets_dump(struct sockets *sockets, double now);

/* Visits the connections that our side has closed in the last minute. */
void sockets_visit_past(const struct sockets *sockets, tcp_row_visitor *visit, void *context);

/* Connections have been waiting for accept() for 20 s, and nothing was accepted or answered meanwhile: the program hangs. */
bool sockets_are_stuck(const struct sockets *sockets);

/* Nothing listens on the chosen ports, but the program does on others: those are watched. */
bool sockets_are_elsewhere(const struct sockets *sockets);
