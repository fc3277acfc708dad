/* Looks up the addresses of a host without blocking: driven by its caller's loop. One question at a time is under way. */
#ifndef LAMEDUCK_LOOKUP_H
#define LAMEDUCK_LOOKUP_H

#include "resolver.h"

enum looked_up { LOOKING, LOOKED_FOUND, LOOKED_IN_VAIN };

struct lookup {
	const char *host;
	bool known; /* without a question */
	struct addresses found;
	int fd;			/* -1 where no answer is awaited */
	double again_at;	/* the question is asked again then */
	struct resolver resolver;
	size_t name; /* which of the resolver's names is looked up */
	enum dns_type type;
	unsigned tries;	 /* of this question */
	unsigned server; /* whom it is asked; the next one after silence */
	uint8_t question[DNS_MESSAGE];
	size_t asked;
};

/* `host` must outlive the lookup. */
void lookup_begin(struct lookup *lookup, const char *host);
enum looked_up lookup_step(struct lookup *lookup, double now);
void lookup_end(struct lookup *lookup);

#endif
