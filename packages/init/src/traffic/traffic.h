/*
 * Turns what the kernel shows into what the decision asks for: arrivals by sender, requests on old connections, work in flight. Sockets are observed
 * (sockets.h). New connections are classified (arrivals.h), and again when their address turns out to be a prober, or not to be one. Requests on older
 * connections are added up by sender (pools.h). Connections that were only counted are those of one sender (unattributed.h), and so are those of each
 * Unix socket. All of them tell the decision by tell.h.
 */
#pragma once

#include "before.h"

struct traffic {
	struct teller *teller;
	struct sockets sockets;
	struct unattributed unattributed;
	struct arrivals arrivals;
	struct pools pools;
	struct before before;
	struct unix_sockets unix_now, unix_before;

	uint64_t overflowed; /* ListenOverflows as last read */
	double overflows_read;
	double retries_until; /* clients that were turned away come back before */
	double next_dump;
	double dump_cost_ms;
	double in_flight; /* as told to the decision */
};

void traffic_begin(struct traffic *traffic, const struct traffic_settings *settings, struct teller *teller, const struct baseline *baseline,
		   double now);
void traffic_end(struct traffic *traffic);

/* Cheap (about 30 us): counters, and connections that have ended. */
void traffic_poll_counters(struct traffic *traffic, double now);
/* Dear (1 us a connection): everything that is open. */
void traffic_dump_sockets(struct traffic *traffic, double now);
/* Dumps again soon, at most 1 % of a core: a request seen in flight is usually answered within milliseconds. */
void traffic_dump_soon(struct traffic *traffic);

/*
 * The time before which nothing is decided. By then all connections that were counted are classified as far as they ever will be. Those that were
 * turned away have had the time to come back.
 */
double traffic_settles_at(const struct traffic *traffic);

/* Bits of enum evidence: what the kernel shows here. */
unsigned traffic_evidence(const struct traffic *traffic);

/* Ports were chosen, and nothing listens on them. */
bool traffic_port_is_silent(const struct traffic *traffic);

/*
 * Whether a node took the pod's network away: silence then says nothing of senders. The program's answers are sent again and again, and nobody has
 * acknowledged anything since before that. Without tcp_info, arrivals stand for acknowledgements. A peer that has vanished shows no cut while another
 * one was heard.
 */
bool traffic_is_cut(const struct traffic *traffic);

/* Anything listens, or at least waits for datagrams. */
bool traffic_possible(const struct traffic *traffic);
