/* The requests of each sender on connections that it opened earlier, summed over one dump. */
#ifndef LAMEDUCK_POOLED_PEERS_H
#define LAMEDUCK_POOLED_PEERS_H

#include "../kernel/address.h"

enum { MOST_POOLED_PEERS = 512 };

struct pooled_peer {
	struct address peer;
	bool used;
	unsigned opened; /* times; those of the last minute before the hold among them where they left a trace */
	double first_opened; /* ms */
	double last_opened;
	double longest_gap; /* between two of them */
	double squares; /* of the gaps between openings, summed */
	uint32_t segments;  /* with payload, since the last dump */
	double segments_sent; /* such segments since the hold began */
	double latest;	    /* ms, of the latest of them */
	double active_since; /* ms; NAN while silent */
	double lasting_since; /* ms, since when its requests are known not to end by waiting; NAN before */
};

struct pooled_peers {
	struct pooled_peer slots[MOST_POOLED_PEERS]; /* open addressing; those beyond share `others` */
	struct pooled_peer others;
	unsigned count;
};

void pooled_peers_init(struct pooled_peers *pooled_peers);
struct pooled_peer *pooled_peers_find(struct pooled_peers *pooled_peers, const struct address *peer);

#endif
