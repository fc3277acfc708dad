/*
 * New connections by sender, in bounded memory: the mirror of packages/drain/src/senders/senders.ts. The pools of that file are missing here: from
 * outside of a program it cannot be seen on which connections it has asked its clients to leave.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "posterior.h"
#include "gaps.h"

/* The sender that the hold waits for, or the aggregate. */
struct pending_sender {
	const char *sender;   /* NULL for the aggregate; valid until the next observation */
	bool any;	      /* false where no sender is waited for */
	double rate;	      /* new connections per ms, before the hold and in it */
	double silence;	      /* ms since the last new connection; NAN where that was before the deletion */
	double expected_loss; /* the part of the loss that the sender is expected to have */
};

struct sender {
	char *name;
	uint32_t hash;
	double last;
	struct gaps gaps;
	double held_gaps; /* new connections since the hold began */
	double held_exposure;
	double paused;	   /* the `paused` of the table at its latest arrival */
	bool is_separate; /* false: its arrivals count as those of the aggregate */
	double shared;	   /* the number of its arrivals that count as the aggregate's */
	double counter;	   /* the counter of Misra and Gries: at 0 the sender loses its place */
};

struct sender_table {
	size_t capacity;
	double prestop;
	size_t count;
	size_t allocated;
	struct sender *senders;
	struct sender aggregate; /* all senders that are not separate, as one; its counter is 0 where there are none */
	double overflowed_at;    /* when the table was last full for a new sender */
	struct gaps load; /* of all arrivals together */
	double load_last;
	double gaps_before; /* of the load, before the hold */
	double paused; /* ms in all pauses of the load: no arrivals at all, though many were due */
	double watching_from;
	double held_from; /* INFINITY before the hold */
	struct prior prior;
	double coverage;	  /* share of the connections before the hold that was seen */
};

void senders_init(struct sender_table *table, size_t capacity, double prestop, double watching_from);
void senders_free(struct sender_table *table);
void senders_held_from(struct sender_table *table, double at);
void senders_arrival(struct sender_table *table, const char *name, double at);
/* Habits are learnt from here on. That each sender has sent is still known. */
void senders_settle(struct sender_table *table);
/* Only this share of the connections before the hold was seen: the gaps between them were longer than the real ones. */
void senders_set_coverage(struct sender_table *table, double coverage);
/* Forgets the sender: its connections were no traffic. */
void senders_forget(struct sender_table *table, const char *name);
/* The sender whose expected loss is the largest. */
struct pending_sender senders_pending(const struct sender_table *table, double now, double convergence);
double senders_expected_loss(const struct sender_table *table, double now, double convergence);
