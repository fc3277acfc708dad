#include "rows.h"

#include "../base/clock.h"
#include "pooled.h"

#include <math.h>

/* A probe's request is a line and a few headers. */
static const uint64_t small = 2048;
/* ms that a probe takes at most: a kubelet's usual time-out. Nothing is decided in the first moment of what may be one. */
static const double longest_probe = 1000;
static const double moment = 250;
static const double time_wait = 60000;

static uint64_t size_of(const struct tcp_row *row)
{
	return row->has_info ? row->bytes_received : SIZE_UNKNOWN;
}

/* The end of the peer's data counts as a byte: one that sent nothing asked for nothing. */
static bool is_empty(const struct tcp_row *row)
{
	return row->has_info && row->bytes_received <= 1;
}

static bool is_probe(struct traffic *traffic, const struct tcp_row *row, double at)
{
	if (row->bytes_received >= small)
		return false;
	enum noted noted = probes_note(&traffic->probes, &row->peer, size_of(row), at);
	bool is = noted == A_PROBE || noted == FIRST_KNOWN_PROBE;
	/* A later connection may show that it is no probe. */
	if (is && !is_empty(row))
		arrivals_keep(&traffic->arrivals, &row->peer, size_of(row), at, at);
	if (noted == FIRST_KNOWN_PROBE || noted == NO_PROBER)
		judge_anew(traffic, &row->peer);
	return is;
}

/*
 * A probe is soon over, and most come without a byte: what a dump finds open is distinguished from traffic when it has ended, has brought
 * data, or has stayed.
 */
static void decide(struct traffic *traffic, const struct tcp_row *row, struct connection *connection, double now)
{
	bool prober = probes_expect(&traffic->probes, &row->peer, false);
	bool may_be_probe = prober ? row->bytes_received < small : row->bytes_received == 0;
	double since = connection->undecided_since;
	if (may_be_probe && now < since + longest_probe && traffic->evidence & EVIDENCE_EVENTS) {
		if (!prober)
			traffic->undecided_until = fmax(traffic->undecided_until, since + moment);
		return;
	}
	/* Without events dumps name a few addresses by chance. These would look like senders that hardly ever come. */
	if (!(traffic->evidence & EVIDENCE_EVENTS))
		traffic_arrive(traffic, "unknown", since, connection->came_after);
	else if (is_probe(traffic, row, since))
		traffic->probes_seen++;
	else
		traffic_arrive_from(traffic, &row->peer, size_of(row), since, connection->came_after);
	connection->undecided_since = NAN;
}

static struct connection *take_new(struct traffic *traffic, const struct tcp_row *row, bool beginning)
{
	struct connection *connection = connections_add(&traffic->connections, row);
	if (!connection)
		return NULL;
	connection->segments = row->segments_received;
	connection->bytes = row->bytes_received;
	connection->sent = row->bytes_sent;
	if (beginning)
		return connection;
	traffic->alive = traffic->alive || row->bytes_sent > 0;
	traffic->unnamed--;
	traffic->bytes += (double)row->bytes_received;
	/* Only the counters know when the latest one came. Without them it came since the dump before. */
	connection->undecided_since = traffic->evidence & EVIDENCE_COUNTERS ? traffic->last_opened : clock_now();
	connection->came_after = traffic_complete_until(traffic);
	return connection;
}

/* A connection to a port that is not ours. It is kept only to explain increments of the counters. */
static void take_foreign(struct traffic *traffic, const struct tcp_row *row, bool beginning)
{
	struct connection *connection = connections_find(&traffic->connections, row);
	if (!connection) {
		connection = connections_add(&traffic->connections, row);
		if (!beginning)
			traffic->unnamed--;
	}
	if (connection)
		connection->generation = traffic->generation;
}

/* A socket has no inode before accept(), nor after close(). */
static bool is_accepted(const struct tcp_row *row)
{
	return row->inode != 0 || (row->state != STATE_ESTABLISHED && row->state != STATE_CLOSE_WAIT);
}

static void note_accept(struct traffic *traffic, const struct tcp_row *row, struct connection *connection, bool beginning)
{
	if (!isnan(connection->accepted_at) || !is_accepted(row))
		return;
	connection->accepted_at = beginning ? -INFINITY : clock_now();
	traffic->alive = true;
}

static void take_own(struct traffic *traffic, const struct tcp_row *row, bool beginning)
{
	struct connection *connection = connections_find(&traffic->connections, row);
	if (connection)
		note_pooled_requests(traffic, row, connection);
	else
		connection = take_new(traffic, row, beginning);
	traffic->open++;
	if (!connection)
		return;
	connection->generation = traffic->generation;
	note_accept(traffic, row, connection, beginning);
	if (!isnan(connection->undecided_since))
		decide(traffic, row, connection, clock_now());
	if (!has_work(traffic, row, connection, clock_now()))
		return;
	if (of_lasting_pool(traffic, row))
		traffic->pools_busy++;
	else
		traffic->busy++;
}

void take_open(void *context, const struct tcp_row *row)
{
	struct traffic *traffic = context;
	bool beginning = traffic->generation == 1;
	if (listens_own(&traffic->listeners, row->local_port) && !probes_ignore(&traffic->probes, &row->peer))
		take_own(traffic, row, beginning);
	else if (listens_any(&traffic->listeners, row->local_port))
		take_foreign(traffic, row, beginning);
}

/* A connection from its beginning, between `since` and `at`, to its end. */
static void take_whole(struct traffic *traffic, const struct tcp_row *row, double at, double since, double ended_at)
{
	if (is_probe(traffic, row, ended_at) || is_empty(row))
		traffic->probes_seen++;
	else
		traffic_arrive_from(traffic, &row->peer, size_of(row), at, since);
}

static void take_end(struct traffic *traffic, const struct tcp_row *row, double ended_at)
{
	struct connection *known = connections_find(&traffic->connections, row);
	bool own = listens_own(&traffic->listeners, row->local_port) && !probes_ignore(&traffic->probes, &row->peer);
	bool decided = known && isnan(known->undecided_since);
	double at = known ? known->undecided_since : ended_at;
	double since = known ? known->came_after : traffic_complete_until(traffic);
	traffic->alive = traffic->alive || (own && row->bytes_sent > (known ? known->sent : 0));
	if (own && row->has_info)
		traffic->bytes += (double)(row->bytes_received - (known ? known->bytes : 0));
	if (known)
		connections_remove(&traffic->connections, known);
	/* Without a peer's port it is not a connection but a listener that was closed. */
	else if (row->peer_port != 0)
		traffic->unnamed--;
	if (own && !decided && row->peer_port != 0)
		take_whole(traffic, row, at, since, ended_at);
	else if (!known)
		traffic->ignored += probes_ignore(&traffic->probes, &row->peer);
}

/* A connection that has ended: the only trace of one that was opened and closed between two dumps. */
void take_ended(void *context, const struct tcp_row *row)
{
	struct traffic *traffic = context;
	traffic->ended++;
	if (listens_any(&traffic->listeners, row->local_port))
		take_end(traffic, row, clock_now());
}

/* Without events, the end of a connection that our side closed is still visible for a minute. */
void take_without_events(void *context, const struct tcp_row *row)
{
	struct traffic *traffic = context;
	if (row->state != STATE_TIME_WAIT) {
		take_open(context, row);
		return;
	}
	double at = clock_now() - (time_wait - row->expires);
	if (traffic->generation > 1 && at > traffic->dumped && listens_any(&traffic->listeners, row->local_port))
		take_end(traffic, row, at);
}
