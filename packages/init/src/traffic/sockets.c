#include "sockets.h"

#include "../base/clock.h"
#include "../kernel/namespace.h"
#include "../kernel/proc_tcp.h"
#include "../kernel/sock_diag.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const uint32_t open_states = 1u << STATE_ESTABLISHED | 1u << STATE_FIN_WAIT1 | 1u << STATE_FIN_WAIT2 |
				    1u << STATE_CLOSE_WAIT | 1u << STATE_LAST_ACK | 1u << STATE_CLOSING;
/* An answer that takes longer, from when the program has accepted and could have read the request, is a long poll or a stream. */
static const double longest_request_ms = 10000;
/* A peer acknowledges an answer 40 ms after it came, if it has nothing to say. */
static const uint32_t delayed_acknowledgement_ms = 50;
/* A server with one worker accepts when it is done with a request. So this is at least the usual fixed delay. */
static const double stuck_after_ms = 20000;
/* Twice: what is lost by chance comes through at the first, after 200 ms or more. */
static const unsigned vain_after_resent = 2;

/* A mistyped port must not end all requests. Where no program listens on the chosen ports, the program's own listeners are watched. */
static bool find_listeners(struct sockets *sockets)
{
	static const struct port_list none;
	const struct traffic_settings *settings = sockets->settings;
	struct listeners *listeners = &sockets->listeners;
	sockets->ports = &settings->ports;
	bool read = listeners_read(listeners, sockets->ports, &settings->ignored_ports);
	if (!read || settings->ports.count == 0 || listeners->own_count > 0)
		return read;
	sockets->ports = &none;
	if (listeners_read(listeners, sockets->ports, &settings->ignored_ports) && listeners->attributed)
		return true;
	sockets->ports = &settings->ports;
	memset(listeners, 0, sizeof *listeners);
	return listeners_read(listeners, sockets->ports, &settings->ignored_ports);
}

bool sockets_are_elsewhere(const struct sockets *sockets)
{
	return sockets->ports != &sockets->settings->ports;
}

bool sockets_begin(struct sockets *sockets, const struct traffic_settings *settings, struct arrivals *arrivals, struct pools *pools,
		   struct unattributed *unattributed, double now)
{
	sockets->settings = settings;
	sockets->arrivals = arrivals;
	sockets->pools = pools;
	sockets->unattributed = unattributed;
	sockets->dumped = now;
	sockets->events = -1;
	sockets->backlog_since = sockets->resent_since = NAN;
	sockets->heard_at = -INFINITY;
	bool found = find_listeners(sockets);
	if (is_host_network() && sockets->ports->count == 0 && !sockets->listeners.attributed)
		return false;
	sockets->events = diag_subscribe_ended();
	sockets->evidence = (found ? EVIDENCE_SOCKETS : 0) | (sockets->events >= 0 ? EVIDENCE_EVENTS | EVIDENCE_DIAG : 0);
	return true;
}

void sockets_end(struct sockets *sockets)
{
	if (sockets->events >= 0)
		close(sockets->events);
	sockets->events = -1;
	connections_free(&sockets->connections);
}

/* Where a connection leads. A connection of an ignored peer counts as one to another port. */
static struct port_use use_of(const struct sockets *sockets, const struct tcp_row *row)
{
	struct port_use use = port_use_of(&sockets->listeners, row->local_port);
	use.own = use.own && !is_ignored(&sockets->settings->ignored_peers, &row->peer);
	return use;
}

static struct sighting sighting_of(const struct tcp_row *row, double at, double since)
{
	return (struct sighting){ .peer = row->peer,
				  .size = row->has_info ? row->bytes_received : SIZE_UNKNOWN,
				  .at = at,
				  .since = since };
}

/* A connection that was not seen before came later. */
static double seen_until(const struct sockets *sockets)
{
	return fmax(sockets->dumped, sockets->unattributed->attributed_until);
}

/*
 * Somebody has acknowledged an answer, or the second packet of a handshake. A request proves less: nodes that let nothing out of a pod any more let
 * requests on old connections in.
 */
static void note_heard(struct sockets *sockets, double at)
{
	sockets->heard_at = fmax(sockets->heard_at, at);
}

static struct connection *take_new(struct sockets *sockets, const struct tcp_row *row, bool beginning)
{
	struct connection *connection = connections_add(&sockets->connections, row);
	if (!connection)
		return NULL;
	connection->segments = row->segments_received;
	connection->bytes = row->bytes_received;
	connection->sent = row->bytes_sent;
	if (beginning)
		return connection;
	sockets->alive = sockets->alive || row->bytes_sent > 0;
	sockets->bytes += (double)row->bytes_received;
	note_heard(sockets, sockets->now);
	connection->came_after = seen_until(sockets);
	connection->undecided_since = unattributed_explain(sockets->unattributed, sockets->now);
	return connection;
}

static void take_known(struct sockets *sockets, const struct tcp_row *row, struct connection *connection)
{
	uint32_t segments = row->segments_received - connection->segments;
	bool sent = sockets->settings->wait_for_streams && row->unacknowledged > 0;
	sockets->bytes += (double)(row->bytes_received - connection->bytes);
	sockets->alive = sockets->alive || row->bytes_sent > connection->sent;
	if (row->bytes_sent > connection->sent)
		note_heard(sockets, sockets->now - row->since_acknowledged);
	connection->segments = row->segments_received;
	connection->bytes = row->bytes_received;
	connection->sent = row->bytes_sent;
	if (segments == 0 && !sent) {
		connection->active_since = NAN;
		return;
	}
	if (isnan(connection->active_since))
		connection->active_since = sockets->dumped;
	pools_note_segments(sockets->pools, &row->peer, segments + sent, sockets->now - row->since_received);
}

/* A connection to a port that is not ours. It is kept only to explain increments of the counters. */
static void take_foreign(struct sockets *sockets, const struct tcp_row *row, bool beginning)
{
	struct connection *connection = connections_find(&sockets->connections, row);
	if (!connection) {
		connection = connections_add(&sockets->connections, row);
		if (!beginning)
			unattributed_explain(sockets->unattributed, sockets->now);
	}
	if (connection)
		connection->generation = sockets->generation;
}

/* A socket has no inode before accept(), nor after close(). */
static bool is_accepted(const struct tcp_row *row)
{
	return row->inode != 0 || (row->state != STATE_ESTABLISHED && row->state != STATE_CLOSE_WAIT);
}

static void note_accept(struct sockets *sockets, const struct tcp_row *row, struct connection *connection, bool beginning)
{
	if (!isnan(connection->accepted_at) || !is_accepted(row))
		return;
	connection->accepted_at = beginning ? -INFINITY : sockets->now;
	sockets->alive = true;
}

/* A request that was not read, or that was read and not answered, or an answer that has not left. */
static bool has_work(const struct sockets *sockets, const struct tcp_row *row, const struct connection *connection)
{
	if (row->state != STATE_ESTABLISHED && row->state != STATE_CLOSE_WAIT)
		return false;
	/* The end of the peer's data counts as a byte. */
	bool unread = row->unread > (row->state == STATE_CLOSE_WAIT);
	if (!row->has_info)
		return unread || row->unsent > 0;
	bool unanswered = row->bytes_received > 1 && (row->since_received < row->since_sent_ms || row->bytes_sent == 0);
	bool leaving = row->unsent > 0 || (row->unacknowledged > 0 && row->since_sent_ms > delayed_acknowledgement_ms);
	if (!unread && !unanswered && !leaving)
		return false;
	if (sockets->settings->wait_for_streams)
		return true;
	double now = sockets->now;
	double taken = isnan(connection->accepted_at) ? 0 : fmin(row->since_received, now - connection->accepted_at);
	return taken < longest_request_ms && !(now - connection->active_since >= lasting_requests_ms);
}

/* When the latest request or answer was under way; now while there is work. */
static double used_at(const struct sockets *sockets, const struct tcp_row *row, bool works)
{
	if (works)
		return sockets->now;
	return row->has_info ? sockets->now - fmin(row->since_received, row->since_sent_ms) : -INFINITY;
}

static void watch_network(struct sockets *sockets, const struct tcp_row *row)
{
	bool unacknowledged = row->unacknowledged > 0 || row->unsent > 0;
	sockets->unacknowledged += unacknowledged;
	sockets->resent += unacknowledged && row->resent >= vain_after_resent;
}

static void take_own(struct sockets *sockets, const struct tcp_row *row, bool beginning)
{
	struct connection *connection = connections_find(&sockets->connections, row);
	if (connection)
		take_known(sockets, row, connection);
	else
		connection = take_new(sockets, row, beginning);
	sockets->open++;
	watch_network(sockets, row);
	if (!connection)
		return;
	connection->generation = sockets->generation;
	note_accept(sockets, row, connection, beginning);
	const struct sighting sighting = sighting_of(row, connection->undecided_since, connection->came_after);
	if (!isnan(sighting.at) && arrivals_take_open(sockets->arrivals, &sighting, sockets->evidence & EVIDENCE_EVENTS, sockets->now))
		connection->undecided_since = NAN;
	bool works = has_work(sockets, row, connection);
	if (!pools_sender_lasts(sockets->pools, &row->peer)) {
		sockets->busy += works;
		return;
	}
	sockets->pools_busy += works;
	pools_note_use(sockets->pools, used_at(sockets, row, works));
}

static void take_open(void *context, const struct tcp_row *row)
{
	struct sockets *sockets = context;
	bool beginning = sockets->generation == 1;
	struct port_use use = use_of(sockets, row);
	if (use.own)
		take_own(sockets, row, beginning);
	else if (use.open)
		take_foreign(sockets, row, beginning);
}

static void take_end(struct sockets *sockets, const struct tcp_row *row, double ended_at)
{
	struct port_use use = use_of(sockets, row);
	/* Without a peer's port it is not a connection but a listener that was closed. */
	bool is_connection = row->peer_port != 0, own = use.own;
	struct connection known;
	if (!use.open)
		return;
	bool was_known = connections_take(&sockets->connections, row, &known);
	uint64_t bytes_before = was_known ? known.bytes : 0, sent_before = was_known ? known.sent : 0;
	double since = was_known ? known.came_after : seen_until(sockets);
	sockets->alive = sockets->alive || (own && row->bytes_sent > sent_before);
	if (own && row->bytes_sent > sent_before)
		note_heard(sockets, ended_at);
	if (own && row->has_info)
		sockets->bytes += (double)(row->bytes_received - bytes_before);
	if (!was_known && is_connection)
		unattributed_explain(sockets->unattributed, sockets->now);
	if (own && is_connection && !(was_known && isnan(known.undecided_since))) {
		const struct sighting sighting = sighting_of(row, was_known ? known.undecided_since : ended_at, since);
		arrivals_take_ended(sockets->arrivals, &sighting, ended_at);
	} else if (!was_known && !own) {
		sockets->ignored += is_ignored(&sockets->settings->ignored_peers, &row->peer);
	}
}

static void take_ended(void *context, const struct tcp_row *row)
{
	struct sockets *sockets = context;
	sockets->ended++;
	take_end(sockets, row, sockets->now);
}

void sockets_read_events(struct sockets *sockets)
{
	sockets->now = clock_now();
	if (sockets->events >= 0 && !diag_read_ended(sockets->events, take_ended, sockets))
		sockets->unattributed->missed_events = true;
}

/* Without events, the end of a connection that our side closed is still visible for a minute. */
static void take_without_events(void *context, const struct tcp_row *row)
{
	struct sockets *sockets = context;
	if (row->state != STATE_TIME_WAIT) {
		take_open(context, row);
		return;
	}
	double at = sockets->now - (TIME_WAIT_MS - row->expires);
	if (sockets->generation > 1 && at > sockets->dumped)
		take_end(sockets, row, at);
}

static void watch_backlog(struct sockets *sockets, double now)
{
	uint32_t backlog = sockets->listeners.backlog;
	if (backlog == 0)
		sockets->backlog_since = NAN;
	else if (isnan(sockets->backlog_since) || backlog < sockets->last_backlog || sockets->alive)
		sockets->backlog_since = now;
	sockets->last_backlog = backlog;
	sockets->alive = false;
}

void sockets_dump(struct sockets *sockets, double now)
{
	sockets->generation++;
	if (!(sockets->evidence & EVIDENCE_SOCKETS))
		return;
	sockets->open = sockets->pools_busy = sockets->unacknowledged = sockets->resent = 0;
	sockets->busy = 0;
	if (sockets->generation > 1)
		listeners_read(&sockets->listeners, sockets->ports, &sockets->settings->ignored_ports);
	sockets->now = clock_now();
	if (!(sockets->evidence & EVIDENCE_DIAG) || !diag_dump(open_states, true, take_open, sockets)) {
		sockets->evidence &= ~(unsigned)(EVIDENCE_DIAG | EVIDENCE_EVENTS);
		read_proc_tcp(open_states | 1u << STATE_TIME_WAIT, take_without_events, sockets);
	}
	connections_sweep(&sockets->connections, sockets->generation);
	watch_backlog(sockets, now);
	if (sockets->resent == 0)
		sockets->resent_since = NAN;
	else if (isnan(sockets->resent_since))
		sockets->resent_since = sockets->now;
}

bool sockets_are_stuck(const struct sockets *sockets)
{
	return sockets->dumped - sockets->backlog_since >= stuck_after_ms;
}

void sockets_visit_past(const struct sockets *sockets, tcp_row_visitor *visit, void *context)
{
	bool dumped = sockets->evidence & EVIDENCE_DIAG && diag_dump(1u << STATE_TIME_WAIT, false, visit, context);
	if (!dumped && sockets->evidence & EVIDENCE_SOCKETS)
		read_proc_tcp(1u << STATE_TIME_WAIT, visit, context);
}
