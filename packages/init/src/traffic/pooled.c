#include "pooled.h"

#include "../base/clock.h"

#include <math.h>

/* Requests on one connection, or of a sender that also opens new ones, that have gone on for so long will not end during a hold. */
static const double lasting_requests = 3000;
/* A sender that only uses connections it has may just not have converged: it gets 2.5 mean convergence times. */
static const double pinned_after = 2.5;
/*
 * A proxy or a client that has converged sends requests no longer than one answer takes. A sender that goes on half a second after the steady stream of its
 * new connections has stopped is a pool behind kube-proxy, whose connections outlive every change of routing.
 */
static const double outlived = 500;
/* The stream has stopped for sure when ten of the usual gaps have passed (e^-10 by chance), or three of the longest. */
static const double sure_gaps = 10;
static const double sure_longest_gaps = 3;
/*
 * What makes it steady. A proxy that fills its pool opens many at once, and then none for long while it still chooses this pod: the squares of its
 * gaps come to many times the square of their mean, those of gaps at random to twice as much. Many at once are also what a machine brings that
 * stood still, and one gap is longer than all others before the traffic began: neither must hide the habit.
 */
static const double at_once = 50;
static const unsigned steady_count = 10;
static const double steady_time = 1000;
static const double steady_mean_gap = 500;
static const double steady_squares = 4;
/* Rarer ones do as well where there are no more than four requests on old connections to one: a proxy with a pool opens far fewer. */
static const double most_segments_to_one_opened = 4;
/* An answer that takes longer, from when the program has accepted and could have read the request, is a long poll or a stream. */
static const double longest_request = 10000;
/* ms: a peer acknowledges an answer 40 ms after it came, if it has nothing to say. */
static const uint32_t delayed_acknowledgement = 50;
enum { MOST_ARRIVALS_PER_DUMP = 64 };

static double long_wait(const struct traffic *traffic)
{
	const struct drain_config *config = &traffic->drain->config;
	return pinned_after * (config->policy == POLICY_ADAPTIVE ? config->convergence : 4000);
}

void note_opening(struct traffic *traffic, const struct address *peer, double at)
{
	struct pooled_peer *pooled_peer = pooled_peers_find(&traffic->pooled_peers, peer);
	pooled_peer->active_since = NAN;
	double gap = at - pooled_peer->last_opened;
	if (gap < at_once)
		return;
	if (pooled_peer->opened++ == 0)
		pooled_peer->first_opened = at;
	else {
		pooled_peer->longest_gap = fmax(pooled_peer->longest_gap, gap);
		pooled_peer->squares += gap * gap;
	}
	pooled_peer->last_opened = at;
}

void forget_openings(struct traffic *traffic, const struct address *peer)
{
	struct pooled_peer *pooled_peer = pooled_peers_find(&traffic->pooled_peers, peer);
	pooled_peer->opened = 0;
	pooled_peer->longest_gap = pooled_peer->squares = 0;
	pooled_peer->last_opened = -INFINITY;
}

void note_pooled_requests(struct traffic *traffic, const struct tcp_row *row, struct connection *connection)
{
	uint32_t segments = row->segments_received - connection->segments;
	uint64_t bytes = row->bytes_received - connection->bytes;
	bool sent = traffic->settings->wait_for_streams && row->unacknowledged > 0;
	traffic->bytes += (double)bytes;
	traffic->alive = traffic->alive || row->bytes_sent > connection->sent;
	connection->segments = row->segments_received;
	connection->bytes = row->bytes_received;
	connection->sent = row->bytes_sent;
	if (segments == 0 && !sent) {
		connection->active_since = NAN;
		return;
	}
	if (isnan(connection->active_since))
		connection->active_since = traffic->dumped;
	struct pooled_peer *pooled_peer = pooled_peers_find(&traffic->pooled_peers, &row->peer);
	pooled_peer->segments += segments + sent;
	pooled_peer->segments_sent += segments + sent;
	pooled_peer->latest = fmax(pooled_peer->latest, clock_now() - row->since_received);
}

bool has_work(struct traffic *traffic, const struct tcp_row *row, const struct connection *connection, double now)
{
	if (row->state != STATE_ESTABLISHED && row->state != STATE_CLOSE_WAIT)
		return false;
	/* The end of the peer's data counts as a byte. */
	bool unread = row->unread > (row->state == STATE_CLOSE_WAIT);
	if (!row->has_info)
		return unread || row->unsent > 0;
	bool unanswered = row->bytes_received > 1 && (row->since_received < row->since_sent || row->bytes_sent == 0);
	bool leaving = row->unsent > 0 || (row->unacknowledged > 0 && row->since_sent > delayed_acknowledgement);
	if (!unread && !unanswered && !leaving)
		return false;
	if (traffic->settings->wait_for_streams)
		return true;
	double taken = isnan(connection->accepted_at) ? 0 : fmin(row->since_received, now - connection->accepted_at);
	return taken < longest_request && !(now - connection->active_since >= lasting_requests);
}

/* The cluster reports that all senders have converged: further requests on old connections are a pool's, which no hold ends. */
static bool have_let_go(const struct traffic *traffic)
{
	return !traffic->settings->wait_for_streams && release_stands(&traffic->drain->release);
}

bool of_lasting_pool(struct traffic *traffic, const struct tcp_row *row)
{
	const struct pooled_peer *pooled_peer = pooled_peers_find(&traffic->pooled_peers, &row->peer);
	return !isnan(pooled_peer->lasting_since) || (have_let_go(traffic) && pooled_peer->segments_sent > 0);
}

/* But for the longest. */
static double mean_gap(const struct pooled_peer *pooled_peer)
{
	return (pooled_peer->last_opened - pooled_peer->first_opened - pooled_peer->longest_gap) / (pooled_peer->opened - 2.0);
}

static bool opens_evenly(const struct pooled_peer *pooled_peer)
{
	double mean = mean_gap(pooled_peer), gaps = pooled_peer->opened - 2.0;
	double squares = pooled_peer->squares - pooled_peer->longest_gap * pooled_peer->longest_gap;
	return pooled_peer->opened >= steady_count && mean * gaps >= steady_time &&
	       squares <= steady_squares * mean * mean * gaps;
}

static bool opens_often(const struct traffic *traffic, const struct pooled_peer *pooled_peer, double now)
{
	double mean = mean_gap(pooled_peer) * drain_coverage(traffic->drain);
	double segments_sent = pooled_peer->segments_sent * mean / fmax(1, now - traffic->began);
	return opens_evenly(pooled_peer) && (mean <= steady_mean_gap || segments_sent <= most_segments_to_one_opened);
}

static bool has_stopped_opening(const struct traffic *traffic, const struct pooled_peer *pooled_peer, double now)
{
	double usual = mean_gap(pooled_peer) * drain_coverage(traffic->drain);
	double silence = now - fmax(pooled_peer->last_opened, traffic->began);
	return silence >= fmax(outlived, fmin(sure_gaps * usual, sure_longest_gaps * pooled_peer->longest_gap));
}

static bool will_last(const struct traffic *traffic, const struct pooled_peer *pooled_peer, double now)
{
	double active = now - pooled_peer->active_since;
	if (traffic->settings->wait_for_streams)
		return false;
	if (have_let_go(traffic))
		return true;
	if (opens_evenly(pooled_peer) && has_stopped_opening(traffic, pooled_peer, now))
		return true;
	return active >= (opens_often(traffic, pooled_peer, now) ? lasting_requests : long_wait(traffic));
}

static void weigh(struct traffic *traffic, struct pooled_peer *pooled_peer, double now)
{
	if (pooled_peer->segments == 0) {
		/* A pool is idle at times. A sender that only uses existing connections gets its time once, however often it pauses. */
		if (opens_often(traffic, pooled_peer, now))
			pooled_peer->active_since = NAN;
		return;
	}
	double since = traffic->dumped;
	if (isnan(pooled_peer->active_since))
		pooled_peer->active_since = since;
	unsigned count = pooled_peer->segments < MOST_ARRIVALS_PER_DUMP ? pooled_peer->segments : MOST_ARRIVALS_PER_DUMP;
	pooled_peer->segments = 0;
	if (will_last(traffic, pooled_peer, now)) {
		if (isnan(pooled_peer->lasting_since))
			pooled_peer->lasting_since = now;
		return;
	}
	pooled_peer->lasting_since = NAN;
	char name[ADDRESS_TEXT];
	address_format(&pooled_peer->peer, name);
	double latest = fmin(now, fmax(pooled_peer->latest, since));
	if (opens_often(traffic, pooled_peer, now)) {
		/* Reporting them only for a while would look as if they fell silent. */
		traffic_observe(traffic, SEEN_REQUEST, latest, name, 0);
		return;
	}
	/* It opens too few connections. So its requests on old ones decide whether it still chooses this pod. */
	for (unsigned i = 1; i <= count; i++)
		traffic_request_on_old(traffic, name, since + (latest - since) * i / count);
}

void weigh_pooled_peers(struct traffic *traffic, double now)
{
	for (size_t i = 0; i < MOST_POOLED_PEERS; i++)
		if (traffic->pooled_peers.slots[i].used)
			weigh(traffic, &traffic->pooled_peers.slots[i], now);
	weigh(traffic, &traffic->pooled_peers.others, now);
}
