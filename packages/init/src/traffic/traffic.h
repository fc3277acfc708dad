/*
 * Turns what the kernel shows into what the decision asks for: arrivals by sender, requests on old connections, work in flight.
 *
 * New connections are counted by Tcp:PassiveOpens, which misses none but names nobody; connections that end announce themselves
 * with their peer; those still open are found by a dump. A count that neither explains is an arrival of an unknown sender.
 */
#ifndef LAMEDUCK_TRAFFIC_H
#define LAMEDUCK_TRAFFIC_H

#include "../decision/drain.h"
#include "../trace/trace.h"
#include "arrivals.h"
#include "connections.h"
#include "listeners.h"
#include "probes.h"
#include "pooled_peers.h"
#include "unix_sockets.h"

struct traffic_settings {
	struct port_list ports;
	struct port_list ignored_ports;
	struct ignored_peers ignored_peers;
	struct ignored_sockets ignored_sockets;
	struct probe_periods probe_periods;
	bool wait_for_streams;
};

/* Counters at an earlier moment, from which the rate before the hold is learnt. */
struct baseline {
	bool known;
	double at;
	uint64_t opened;
	uint64_t data_sent;
};

/* Connections before the hold without an address. They are reported to the decision once it is known how many come from ignored peers. */
struct before {
	bool pending;
	double unnamed; /* connections */
	double named;
	double span; /* ms */
};

enum evidence {
	EVIDENCE_COUNTERS = 1,	/* PassiveOpens of this namespace */
	EVIDENCE_SOCKETS = 2,	/* connections, by sock_diag or procfs */
	EVIDENCE_DIAG = 4,	/* with tcp_info */
	EVIDENCE_EVENTS = 8,	/* connections that end */
};

enum { MOST_UNKNOWN = 64 };

struct unknown {
	double at; /* ms */
	double since; /* it came between then and `at` */
};

struct traffic {
	const struct traffic_settings *settings;
	const struct port_list *ports; /* chosen ones, unless nothing listens there */
	struct drain *drain;
	struct trace *trace;
	unsigned evidence; /* bits of enum evidence */
	bool host_network;
	double began;
	int events; /* file descriptor, or -1 */

	struct listeners listeners;
	struct connections connections;
	struct probes probes;
	struct arrivals arrivals;
	struct pooled_peers pooled_peers;
	struct unix_sockets unix_now, unix_before;

	uint64_t opened; /* PassiveOpens as last read */
	double last_opened;
	uint64_t overflowed; /* ListenOverflows as last read */
	double overflows_read;
	double retries_until; /* ms: clients that were turned away come back before */
	double undecided_until; /* ms: what connections are that were open for less than a moment is not known before */
	double glanced; /* when */
	double named_until; /* ms: all that were counted by then have been reported, with or without a name */
	double unnamed; /* of them, neither named by an event nor by a dump so far */
	struct unknown unknown[MOST_UNKNOWN]; /* connections that were reported without an address, a ring */
	size_t unknown_count;
	bool missed_events;
	struct before before;
	double ignored; /* connections of ignored peers that have ended since the hold began */
	uint16_t generation;
	double dumped; /* when */
	double next_dump;
	double dump_cost; /* ms */
	uint64_t ended; /* events read */
	size_t open; /* connections of our own, at the last dump */
	double busy; /* connections with work in flight, of the dump going on */
	unsigned pools_busy; /* of the last dump: those on connections of pools that never fall silent, which are not reported to the decision */
	double in_flight; /* as reported to the decision */
	uint32_t last_backlog;
	double backlog_since; /* ms, since when it has not shrunk and the program has shown no life; NAN while empty */
	bool alive; /* something was accepted or answered since the last dump */

	/* For the report. */
	double rate_before; /* new connections per second; NAN where unknown */
	double connections_seen;
	double probes_seen;
	double bytes;
	double last_arrival; /* NAN for none */
};

void traffic_observe(struct traffic *traffic, enum observation_type type, double at, const char *name, double value);
/* Corrections of earlier reports: see the functions of the same names in drain.h. */
void traffic_settle(struct traffic *traffic);
void traffic_traced(struct traffic *traffic, double share);
void traffic_forget(struct traffic *traffic, const char *sender);
void traffic_recall(struct traffic *traffic, const char *sender, double at, double since);

void traffic_begin(struct traffic *traffic, const struct traffic_settings *settings, struct drain *drain, struct trace *trace,
		   const struct baseline *baseline, double now);
void traffic_end(struct traffic *traffic);

/* One more connection of a sender known by address, that came between `since` and `at`, ms. */
void traffic_arrive_from(struct traffic *traffic, const struct address *peer, uint64_t size, double at, double since);
void traffic_arrive(struct traffic *traffic, const char *sender, double at, double since);
/* A request on an old connection, of a sender that opens so few that its requests decide. */
void traffic_request_on_old(struct traffic *traffic, const char *sender, double at);

/* ms: a connection that has not been seen so far came later. */
double traffic_complete_until(const struct traffic *traffic);

/* Cheap (about 30 us): counters and events. */
void traffic_glance(struct traffic *traffic, double now);
/* Dear (1 us a connection): everything that is open. */
void traffic_dump(struct traffic *traffic, double now);

/*
 * When all connections that were counted have been named as far as they ever will be, and those turned away have had the time to come
 * back: nothing is decided before.
 */
double traffic_settles_at(const struct traffic *traffic);
/* Dumps again soon, at most 1 % of a core: a request seen in flight is usually answered within milliseconds. */
void traffic_dump_soon(struct traffic *traffic);

/* Nothing listens on the chosen ports, but the program does on others: those are watched. */
bool traffic_elsewhere(const struct traffic *traffic);

/* Ports were chosen, and nothing listens on them. */
bool traffic_port_is_silent(const struct traffic *traffic);

/* Anything listens, or at least waits for datagrams. */
bool traffic_possible(const struct traffic *traffic);
/* Connections have been waiting for accept() for 20 s, and nothing was accepted or answered meanwhile: the program hangs. */
bool traffic_is_stuck(const struct traffic *traffic);

#endif
