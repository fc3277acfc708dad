#include "pools.h"

#include <math.h>
#include <string.h>

const double lasting_requests_ms = 3000;
/* A sender that only uses its open connections may just not have converged. It gets 2.5 mean convergence times. */
static const double pinned_after_convergences = 2.5;
/*
 * A proxy or a client that has converged sends requests no longer than one answer takes. A sender that goes on half a second after the steady stream of its
 * new connections has stopped is a pool behind kube-proxy, whose connections outlive every change of routing.
 */
static const double outlived_ms = 500;
/* The stream has stopped for sure when ten of the usual gaps have passed (e^-10 by chance), or three of the longest. */
static const double sure_gaps = 10;
static const double sure_longest_gaps = 3;
/*
 * What makes it steady. A proxy that fills its pool opens many connections at once, and then none for long while it still chooses this pod. The
 * squares of its gaps come to many times the square of their mean. With gaps at random they come to twice as much. Two things must not hide the
 * habit: a machine that stood still brings many connections at once, too, and the gap before the traffic began is longer than all others.
 */
static const double at_once_ms = 50;
static const unsigned steady_count = 10;
static const double steady_time_ms = 1000;
static const double steady_mean_gap_ms = 500;
static const double steady_squares = 4;
/* Fewer new connections are enough where there are at most four requests on old connections to each of them: a proxy with a pool opens far fewer. */
static const double most_segments_to_one_opened = 4;
/* The kernel counts the time since a segment in whole ms. */
static const double unit_ms = 1;
enum { MOST_ARRIVALS_PER_DUMP = 64 };

static struct pool fresh(const struct address *peer)
{
	return (struct pool){ .peer = *peer,
			      .used = true,
			      .last_opened = -INFINITY,
			      .latest = -INFINITY,
			      .active_since = NAN,
			      .lasting_since = NAN };
}

void pools_begin(struct pools *pools, struct teller *teller, bool wait_for_streams, double began)
{
	memset(pools, 0, sizeof *pools);
	const struct address no_address = { { 0 } };
	pools->teller = teller;
	pools->wait_for_streams = wait_for_streams;
	pools->began = began;
	pools->coverage = 1;
	pools->used_at = pools->use_told = -INFINITY;
	pools->others = fresh(&no_address);
}

static struct pool *find_or_add(struct pools *pools, const struct address *peer)
{
	uint32_t hash = 2166136261u;
	for (unsigned i = 0; i < sizeof peer->bytes; i++)
		hash = (hash ^ peer->bytes[i]) * 16777619u;
	for (unsigned step = 0; step < MOST_POOLS; step++) {
		struct pool *slot = &pools->slots[(hash + step) % MOST_POOLS];
		if (slot->used && address_equal(&slot->peer, peer))
			return slot;
		if (slot->used)
			continue;
		if (pools->count >= MOST_POOLS * 3 / 4)
			break;
		pools->count++;
		*slot = fresh(peer);
		return slot;
	}
	return &pools->others;
}

void pools_note_opening(struct pools *pools, const struct address *peer, double at)
{
	struct pool *pool = find_or_add(pools, peer);
	pool->active_since = NAN;
	double gap = at - pool->last_opened;
	if (gap < at_once_ms)
		return;
	if (pool->opened++ == 0)
		pool->first_opened = at;
	else {
		pool->longest_gap = fmax(pool->longest_gap, gap);
		pool->squares += gap * gap;
	}
	pool->last_opened = at;
}

void pools_forget_openings(struct pools *pools, const struct address *peer)
{
	struct pool *pool = find_or_add(pools, peer);
	pool->opened = 0;
	pool->longest_gap = pool->squares = 0;
	pool->last_opened = -INFINITY;
}

void pools_note_segments(struct pools *pools, const struct address *peer, uint32_t segments, double latest)
{
	struct pool *pool = find_or_add(pools, peer);
	pool->segments += segments;
	pool->segments_sent += segments;
	pool->latest = fmax(pool->latest, latest);
}

/* The cluster reports that all senders have converged: further requests on old connections are a pool's, which no hold ends. */
static bool have_let_go(const struct pools *pools)
{
	return !pools->wait_for_streams && release_stands(pools->teller->release);
}

bool pools_sender_lasts(struct pools *pools, const struct address *peer)
{
	const struct pool *pool = find_or_add(pools, peer);
	return !isnan(pool->lasting_since) || (have_let_go(pools) && pool->segments_sent > 0);
}

void pools_note_use(struct pools *pools, double at)
{
	pools->used_at = fmax(pools->used_at, at);
}

/* Of the gaps without the longest one. */
static double mean_gap(const struct pool *pool)
{
	return (pool->last_opened - pool->first_opened - pool->longest_gap) / (pool->opened - 2.0);
}

static bool opens_evenly(const struct pool *pool)
{
	double mean = mean_gap(pool), gaps = pool->opened - 2.0;
	double squares = pool->squares - pool->longest_gap * pool->longest_gap;
	return pool->opened >= steady_count && mean * gaps >= steady_time_ms &&
	       squares <= steady_squares * mean * mean * gaps;
}

static bool opens_often(const struct pools *pools, const struct pool *pool, double now)
{
	double mean = mean_gap(pool) * pools->coverage;
	double segments_sent = pool->segments_sent * mean / fmax(1, now - pools->began);
	return opens_evenly(pool) && (mean <= steady_mean_gap_ms || segments_sent <= most_segments_to_one_opened);
}

static bool has_stopped_opening(const struct pools *pools, const struct pool *pool, double now)
{
	double usual = mean_gap(pool) * pools->coverage;
	double silence = now - fmax(pool->last_opened, pools->began);
	return silence >= fmax(outlived_ms, fmin(sure_gaps * usual, sure_longest_gaps * pool->longest_gap));
}

static bool will_last(const struct pools *pools, const struct pool *pool, double now)
{
	double active = now - pool->active_since;
	if (pools->wait_for_streams)
		return false;
	if (have_let_go(pools))
		return true;
	if (opens_evenly(pool) && has_stopped_opening(pools, pool, now))
		return true;
	return active >= (opens_often(pools, pool, now) ? lasting_requests_ms : pinned_after_convergences * pools->teller->convergence);
}

static void tell_of(struct pools *pools, struct pool *pool, double since, double now)
{
	if (pool->segments == 0) {
		/* A pool is idle at times. A sender that only uses existing connections gets its time once, however often it pauses. */
		if (opens_often(pools, pool, now))
			pool->active_since = NAN;
		return;
	}
	if (isnan(pool->active_since))
		pool->active_since = since;
	unsigned count = pool->segments < MOST_ARRIVALS_PER_DUMP ? pool->segments : MOST_ARRIVALS_PER_DUMP;
	pool->segments = 0;
	if (will_last(pools, pool, now)) {
		if (isnan(pool->lasting_since))
			pool->lasting_since = now;
		return;
	}
	pool->lasting_since = NAN;
	char name[ADDRESS_TEXT];
	address_format(&pool->peer, name);
	double latest = fmin(now, fmax(pool->latest, since));
	if (opens_often(pools, pool, now)) {
		/* Reporting these requests only for a while would look as if they fell silent. */
		tell(pools->teller, &(struct observation){ .type = SEEN_REQUEST, .at = latest, .name = name });
		return;
	}
	/* The sender opens too few connections. So its requests on old ones decide whether it still chooses this pod. */
	for (unsigned i = 1; i <= count; i++)
		tell_request_on_old(pools->teller, name, since + (latest - since) * i / count);
}

void pools_tell(struct pools *pools, double since, double now)
{
	for (size_t i = 0; i < MOST_POOLS; i++)
		if (pools->slots[i].used)
			tell_of(pools, &pools->slots[i], since, now);
	tell_of(pools, &pools->others, since, now);
	if (pools->used_at <= pools->use_told + unit_ms)
		return;
	pools->use_told = fmin(pools->used_at, now);
	tell(pools->teller, &(struct observation){ .type = SEEN_POOL, .at = pools->use_told });
}
