/* What each sender says on connections that it opened earlier, added up over one dump. */
#ifndef LAMEDUCK_TALKERS_H
#define LAMEDUCK_TALKERS_H

#include "../kernel/address.h"

enum { MOST_TALKERS = 512 };

struct talker {
	struct address peer;
	bool used;
	bool opened; /* has opened a connection since the hold began: those tell better whether it still comes */
	uint32_t segments; /* with payload, since the last dump */
	double latest;	   /* ms, of the latest of them */
	double talking_since; /* ms; NAN while silent */
};

struct talkers {
	struct talker slots[MOST_TALKERS]; /* open addressing; those beyond share `others` */
	struct talker others;
	unsigned count;
};

void talkers_init(struct talkers *talkers);
struct talker *talkers_find(struct talkers *talkers, const struct address *peer);

#endif
