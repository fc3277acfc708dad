/*
 * The conversation with the cluster's coordinator during a hold: asks whether all that send to this pod have let go of it, and says how the pod gets on.
 * Nothing is opened before it begins, nothing in it waits, and whatever the other side does or does not costs the hold nothing.
 */
#ifndef LAMEDUCK_COORDINATOR_H
#define LAMEDUCK_COORDINATOR_H

#include "../base/log.h"
#include "exchange.h"
#include "lookup.h"
#include "said.h"
#include "where.h"

enum { COORDINATOR_DESCRIPTORS = 2, MOST_MESSAGE = 3072 };

struct coordinator {
	const struct where *where;
	const struct logger *logger;
	bool on;
	bool found; /* the addresses are known */
	bool looking;
	bool silent; /* no answer, though one is due */
	double looked_since;
	unsigned turn; /* which of the addresses comes next: another one after each failure */
	unsigned failures; /* of questions, since the latest answer */
	double failing_since;
	struct lookup lookup;
	struct exchange asking, telling;
	struct http_answer answer;
	struct said said; /* latest answer; SAID_NOTHING where there is none */
	double ask_at;
	double find_at;
	double tell_at;
	double tell_pause; /* until then, after the next failure */
	double tell_until;
	char message[MOST_MESSAGE]; /* not told yet; empty where there is none */
};

/* `where`: its url is NULL where nobody is to be asked. Then everything here returns at once. */
void coordinator_begin(struct coordinator *coordinator, const struct where *where, const struct logger *logger, double now);

void coordinator_step(struct coordinator *coordinator, double now);

/* What to poll for; a descriptor of -1 where there is nothing. */
void coordinator_descriptors(const struct coordinator *coordinator, double now,
			     struct pollfd descriptors[COORDINATOR_DESCRIPTORS]);

/* Says these lines; what was to be said before, and has not been, is left out: each message is complete. */
void coordinator_tell(struct coordinator *coordinator, const char *message);

/* Nothing more is asked. What is to be said is tried until then. */
void coordinator_stop_asking(struct coordinator *coordinator, double tell_until);
bool coordinator_is_telling(const struct coordinator *coordinator, double now);

void coordinator_end(struct coordinator *coordinator);

#endif
