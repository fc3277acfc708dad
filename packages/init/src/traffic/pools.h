/* Requests on open connections, by sender: who still sends some, and whether a longer hold would end them. */
#pragma once

#include "../kernel/address.h"
#include "tell.h"

enum { MOST_POOLS = 512 };

/* The connections of one sender. */
struct pool {
	struct address peer;
	bool used;
	unsigned opened; /* times; those of the last minute before the hold among them where they left a trace */
	double first_opened;
	double last_opened;
	double longest_gap; /* between two of them */
	double squares; /* of the gaps between openings, summed */
	uint32_t segments; /* with payload, since the last dump */
	double segments_sent; /* since the hold began */
	double latest; /* of the segments */
	double active_since; /* NAN while silent */
	double lasting_since; /* the time since which its requests are known not to end by waiting; NAN before */
};

struct pools {
	struct teller *teller;
	bool wait_for_streams;
	double began;
	double coverage; /* the share of the connections before the hold that was seen */
	struct pool slots[MOST_POOLS]; /* open addressing; senders beyond it share `others` */
	struct pool others;
	unsigned count;
	double used_at; /* the latest request or answer on connections of pools that last; -INFINITY for none */
	double use_told; /* what the decision was told of that */
};

void pools_begin(struct pools *pools, struct teller *teller, bool wait_for_streams, double began);

/* A sender has opened a connection. */
void pools_note_opening(struct pools *pools, const struct address *peer, double at);
void pools_forget_openings(struct pools *pools, const struct address *peer);

/* A sender has sent segments on a connection that was open before, the latest of them at `latest`. */
void pools_note_segments(struct pools *pools, const struct address *peer, uint32_t segments, double latest);

/* Whether the requests of a sender are known not to end during a hold. */
bool pools_sender_lasts(struct pools *pools, const struct address *peer);

/* A connection of a sender whose requests are known not to end was used at `at`. */
void pools_note_use(struct pools *pools, double at);

/* After a dump: tells of the requests since the one before. */
void pools_tell(struct pools *pools, double since, double now);

/* ms: requests on one connection, or of a sender that also opens new ones, that have gone on for so long will not end during a hold. */
extern const double lasting_requests_ms;
