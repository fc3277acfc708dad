/* What a sender does on connections of before the hold: the mirror of packages/drain/src/pool.ts, which holds the reasons. */
#ifndef LAMEDUCK_POOL_H
#define LAMEDUCK_POOL_H

#include <stdbool.h>

/*
 * A time by a clock that stands still while nothing can be seen, and by one that goes on: no silence in the time between them counts, but what
 * arrives meanwhile waits and is seen afterwards, so that gaps are measured by the latter.
 */
struct moment {
	double seen;
	double at;
};

/* Gaps between arrivals, and what they come to. */
struct gaps {
	double count;
	double exposure;
	double longest;
};

struct pool {
	double last; /* of the last request on a connection that was not asked, as seen */
	double requests;
	double burst_at; /* requests soon after another count as one */
	struct gaps gaps;
	double left; /* of the requests: on connections that have since been asked */
	double asked; /* connections */
	double came_back; /* new connections since the first was asked */
	double back_at;
	struct gaps back; /* of them, since the latest was asked */
};

void pool_request(struct pool *pool, struct moment when);
void pool_asked(struct pool *pool, double requests, double at);
void pool_connection(struct pool *pool, double at);
/* Gaps of requests on connections that were not asked; false where too few are left. */
bool pool_habit(const struct pool *pool, struct gaps *habit);
/* Gaps of new connections in the place of requests; false where they are no more than a balancer of connections brings. */
bool pool_returning(const struct pool *pool, struct gaps *habit);

#endif
