/* Looks up the addresses of a host without blocking: driven by its caller's loop. One question at a time is under way. */
#pragma once

#include "resolver.h"

enum lookup_state { LOOKUP_GOING, LOOKUP_FOUND, LOOKUP_FAILED };

struct lookup {
	const char *host;
	bool known; /* the host is an address or stands in /etc/hosts, so that no server is asked */
	struct addresses found;
	int fd;			/* -1 where no answer is awaited */
	double again_at;	/* the time at which the question is asked again */
	struct resolver resolver;
	size_t name; /* the name of the resolver that is looked up */
	enum dns_type type;
	unsigned tries;	 /* the number of this question */
	unsigned server; /* the server that is asked; the next one after silence */
	uint8_t question[DNS_MESSAGE];
	size_t asked;
};

/* `host` must outlive the lookup. */
void lookup_begin(struct lookup *lookup, const char *host);
enum lookup_state lookup_step(struct lookup *lookup, double now);
/* Closes the socket. */
void lookup_end(struct lookup *lookup);
