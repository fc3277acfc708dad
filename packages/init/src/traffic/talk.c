#include "talk.h"

#include "../base/clock.h"

#include <math.h>

/* Talk on one connection, or of a sender that also opens new ones, that has gone on for so long will not end by waiting. */
static const double lasting_talk = 3000;
/* A sender that only uses connections it has may just not have converged: it gets 2.5 mean convergence times. */
static const double pinned_after = 2.5;
/*
 * A proxy or a client that has converged talks no longer than one answer takes. Who talks on half a second after the steady stream of its
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
static const double most_said_to_one_opened = 4;
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
	struct talker *talker = talkers_find(&traffic->talkers, peer);
	talker->talking_since = NAN;
	double gap = at - talker->last_opened;
	if (gap < at_once)
		return;
	if (talker->opened++ == 0)
		talker->first_opened = at;
	else {
		talker->longest_gap = fmax(talker->longest_gap, gap);
		talker->squares += gap * gap;
	}
	talker->last_opened = at;
}

void forget_openings(struct traffic *traffic, const struct address *peer)
{
	struct talker *talker = talkers_find(&traffic->talkers, peer);
	talker->opened = 0;
	talker->longest_gap = talker->squares = 0;
	talker->last_opened = -INFINITY;
}

void note_talk(struct traffic *traffic, const struct tcp_row *row, struct connection *connection)
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
		connection->talking_since = NAN;
		return;
	}
	if (isnan(connection->talking_since))
		connection->talking_since = traffic->dumped;
	struct talker *talker = talkers_find(&traffic->talkers, &row->peer);
	talker->segments += segments + sent;
	talker->said += segments + sent;
	talker->latest = fmax(talker->latest, clock_now() - row->since_received);
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
	return taken < longest_request && !(now - connection->talking_since >= lasting_talk);
}

bool of_lasting_pool(struct traffic *traffic, const struct tcp_row *row)
{
	return !isnan(talkers_find(&traffic->talkers, &row->peer)->lasting_since);
}

/* But for the longest. */
static double mean_gap(const struct talker *talker)
{
	return (talker->last_opened - talker->first_opened - talker->longest_gap) / (talker->opened - 2.0);
}

static bool opens_evenly(const struct talker *talker)
{
	double mean = mean_gap(talker), gaps = talker->opened - 2.0;
	double squares = talker->squares - talker->longest_gap * talker->longest_gap;
	return talker->opened >= steady_count && mean * gaps >= steady_time &&
	       squares <= steady_squares * mean * mean * gaps;
}

static bool opens_often(const struct traffic *traffic, const struct talker *talker, double now)
{
	double mean = mean_gap(talker) * drain_traced_share(traffic->drain);
	double said = talker->said * mean / fmax(1, now - traffic->began);
	return opens_evenly(talker) && (mean <= steady_mean_gap || said <= most_said_to_one_opened);
}

static bool has_stopped_opening(const struct traffic *traffic, const struct talker *talker, double now)
{
	double usual = mean_gap(talker) * drain_traced_share(traffic->drain);
	double silence = now - fmax(talker->last_opened, traffic->began);
	return silence >= fmax(outlived, fmin(sure_gaps * usual, sure_longest_gaps * talker->longest_gap));
}

static bool will_last(const struct traffic *traffic, const struct talker *talker, double now)
{
	double talking = now - talker->talking_since;
	if (traffic->settings->wait_for_streams)
		return false;
	if (opens_evenly(talker) && has_stopped_opening(traffic, talker, now))
		return true;
	return talking >= (opens_often(traffic, talker, now) ? lasting_talk : long_wait(traffic));
}

static void weigh(struct traffic *traffic, struct talker *talker, double now)
{
	if (talker->segments == 0) {
		/* A pool rests at times. Who only uses connections that there are gets its time once, however often it pauses. */
		if (opens_often(traffic, talker, now))
			talker->talking_since = NAN;
		return;
	}
	double since = traffic->dumped;
	if (isnan(talker->talking_since))
		talker->talking_since = since;
	unsigned count = talker->segments < MOST_ARRIVALS_PER_DUMP ? talker->segments : MOST_ARRIVALS_PER_DUMP;
	talker->segments = 0;
	if (will_last(traffic, talker, now)) {
		if (isnan(talker->lasting_since))
			talker->lasting_since = now;
		return;
	}
	talker->lasting_since = NAN;
	char name[ADDRESS_TEXT];
	address_format(&talker->peer, name);
	double latest = fmin(now, fmax(talker->latest, since));
	if (opens_often(traffic, talker, now)) {
		/* That they are told of only for a while would look as if they fell silent. */
		traffic_observe(traffic, SEEN_REQUEST, latest, name, 0);
		return;
	}
	/* Its new connections tell too little, so what it says on old ones is what tells whether it still chooses this pod. */
	for (unsigned i = 1; i <= count; i++)
		traffic_observe(traffic, SEEN_CONNECTION, since + (latest - since) * i / count, name, 0);
}

void weigh_talkers(struct traffic *traffic, double now)
{
	for (size_t i = 0; i < MOST_TALKERS; i++)
		if (traffic->talkers.slots[i].used)
			weigh(traffic, &traffic->talkers.slots[i], now);
	weigh(traffic, &traffic->talkers.others, now);
}
