#include "pool.h"

#include <math.h>

static const double most_came_back = 1.5;
static const double by_chance = 5;
static const double together = 50;

static void add_gap(struct gaps *gaps, double gap)
{
	gaps->count++;
	gaps->exposure += gap;
	gaps->longest = fmax(gaps->longest, gap);
}

void pool_request(struct pool *pool, struct moment when)
{
	bool first = pool->requests++ == 0;
	pool->last = first ? when.seen : fmax(pool->last, when.seen);
	if (first)
		pool->burst_at = when.at;
	double gap = when.at - pool->burst_at;
	if (gap < together)
		return;
	add_gap(&pool->gaps, gap);
	pool->burst_at = when.at;
}

void pool_asked(struct pool *pool, double requests, double at)
{
	pool->asked++;
	pool->left += requests;
	pool->back_at = at;
	pool->back = (struct gaps){ 0 };
}

void pool_connection(struct pool *pool, double at)
{
	if (pool->asked == 0)
		return;
	pool->came_back++;
	add_gap(&pool->back, fmax(0, at - pool->back_at));
	pool->back_at = fmax(pool->back_at, at);
}

bool pool_habit(const struct pool *pool, struct gaps *habit)
{
	double kept = 1 - pool->left / pool->requests;
	if (!(pool->gaps.count * kept >= 1))
		return false;
	*habit = (struct gaps){ pool->gaps.count * kept, pool->gaps.exposure, pool->gaps.longest / kept };
	return true;
}

bool pool_returning(const struct pool *pool, struct gaps *habit)
{
	*habit = pool->back;
	return pool->back.count >= by_chance && pool->came_back >= most_came_back * pool->asked + by_chance;
}
