/* What each sender says on connections that it opened earlier, added up over one dump. */
#ifndef LAMEDUCK_TALKERS_H
#define LAMEDUCK_TALKERS_H

#include "../kernel/address.h"

enum { MOST_TALKERS = 512 };

struct talker {
	struct address peer;
	bool used;
	unsigned opened; /* times; those of the last minute before the hold among them where they left a trace */
	double first_opened; /* ms */
	double last_opened;
	double longest_gap; /* between two of them */
	double squares; /* of the gaps between openings, summed */
	uint32_t segments;  /* with payload, since the last dump */
	double said; /* such segments since the hold began */
	double latest;	    /* ms, of the latest of them */
	double talking_since; /* ms; NAN while silent */
	double lasting_since; /* ms, since when its talk is known not to end by waiting; NAN before */
};

struct talkers {
	struct talker slots[MOST_TALKERS]; /* open addressing; those beyond share `others` */
	struct talker others;
	unsigned count;
};

void talkers_init(struct talkers *talkers);
struct talker *talkers_find(struct talkers *talkers, const struct address *peer);

#endif
