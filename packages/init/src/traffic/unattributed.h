/*
 * New connections are counted by Tcp:PassiveOpens, which misses none but names nobody. Those whose address comes neither by an event nor by a dump are told
 * to the decision as those of one sender.
 */
#pragma once

#include "tell.h"

/* Of those that are told at once, and of those that can be taken back. */
enum { MOST_UNATTRIBUTED = 64 };

/* The name under which the decision knows their sender. */
extern const char unattributed_sender[];

struct told_connection {
	double at, since; /* it came between `since` and `at` */
};

struct unattributed {
	bool counted; /* there is a counter of this namespace */
	uint64_t opened; /* the counter, as last read */
	double last_opened; /* when it last grew */
	double read_at; /* when it was last read */
	double open; /* connections counted and not attributed so far; below 0 where the address came before the count */
	double attributed_until; /* all that were counted by then have been told, with or without an address */
	bool missed_events; /* connections have ended of which no event came */
	struct told_connection told[MOST_UNATTRIBUTED]; /* the latest without an address */
	size_t told_count;
};

void unattributed_begin(struct unattributed *unattributed, double now);
/* Counts from now on, where the counter is the `own` one of the pod. */
void unattributed_count_from_here(struct unattributed *unattributed, bool own);

/* Reads the counter. */
void unattributed_count(struct unattributed *unattributed, double now);

/* A connection has been attributed. Returns when it came, at the latest: only the counter knows, else `now`. */
double unattributed_explain(struct unattributed *unattributed, double now);

/* After a dump: tells of those whose address will never be known. `since`: when the dump before was. */
void unattributed_tell(struct unattributed *unattributed, struct teller *teller, bool with_events, double since, double now);

/* When all that were counted have been attributed as far as they ever will be. */
double unattributed_settles_at(const struct unattributed *unattributed);
