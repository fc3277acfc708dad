#include "traffic.h"

#include "../base/clock.h"
#include "../kernel/counters.h"
#include "../kernel/destroy_events.h"
#include "../kernel/namespace.h"
#include "../kernel/proc_tcp.h"
#include "../kernel/sock_diag.h"
#include "before.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const uint32_t open_states = 1u << STATE_ESTABLISHED | 1u << STATE_FIN_WAIT1 | 1u << STATE_FIN_WAIT2 |
				    1u << STATE_CLOSE_WAIT | 1u << STATE_LAST_ACK | 1u << STATE_CLOSING;
static const double dump_interval = 1000;
/* At 400 times its own cost between two, dumps take a quarter percent of a core however many connections there are. */
static const double dump_share = 400;
/* Talk on one connection, or of a sender that also opens new ones, that has gone on for so long will not end by waiting. */
static const double lasting_talk = 3000;
/* A sender that only uses connections it has may just not have converged: it gets 2.5 mean convergence times. */
static const double pinned_after = 2.5;
/* An answer that takes longer is a long poll or a stream. */
static const double longest_request = 10000;
static const double stuck_after = 3000;
/* A probe's request is a line and a few headers. */
static const uint64_t small = 2048;
enum { MOST_ARRIVALS_PER_DUMP = 64 };

void traffic_observe(struct traffic *traffic, enum observation_type type, double at, const char *name, double value)
{
	drain_observe(traffic->drain, (struct observation){ .type = type, .at = at, .name = name, .value = value });
}

static void arrive(struct traffic *traffic, const char *sender, double at)
{
	traffic_observe(traffic, SEEN_CONNECTION, at, sender, 0);
	traffic->connections_seen++;
	traffic->last_arrival = isnan(traffic->last_arrival) ? at : fmax(traffic->last_arrival, at);
}

static void arrive_from(struct traffic *traffic, const struct address *peer, double at)
{
	char name[ADDRESS_TEXT];
	arrive(traffic, address_format(peer, name), at);
}

static double long_wait(const struct traffic *traffic)
{
	const struct drain_config *config = &traffic->drain->config;
	return pinned_after * (config->policy == POLICY_ADAPTIVE ? config->convergence : 4000);
}

void traffic_begin(struct traffic *traffic, const struct traffic_settings *settings, struct drain *drain,
		   const struct baseline *baseline, double now)
{
	memset(traffic, 0, sizeof *traffic);
	traffic->settings = settings;
	traffic->drain = drain;
	traffic->began = now;
	traffic->last_opened = traffic->dumped = now;
	traffic->rate_before = traffic->last_arrival = traffic->backlog_since = NAN;
	traffic->probes.ignored = settings->ignored_peers;
	traffic->host_network = is_host_network();
	talkers_init(&traffic->talkers);
	if (listeners_read(&traffic->listeners, &settings->ports, &settings->ignored_ports))
		traffic->evidence |= EVIDENCE_SOCKETS;
	/* The counters of a node say nothing about one pod. */
	if (!traffic->host_network && read_passive_opens(&traffic->opened))
		traffic->evidence |= EVIDENCE_COUNTERS;
	traffic->events = subscribe_to_destroyed();
	if (traffic->events >= 0)
		traffic->evidence |= EVIDENCE_EVENTS | EVIDENCE_DIAG;
	learn_before(traffic, baseline);
	traffic_dump(traffic, now);
}

void traffic_end(struct traffic *traffic)
{
	if (traffic->events >= 0)
		close(traffic->events);
	traffic->events = -1;
	connections_free(&traffic->connections);
}

/* A request that nobody has read, or that was read and not answered, or an answer that has not left. */
static bool has_work(const struct traffic *traffic, const struct tcp_row *row, const struct connection *connection,
		     double now)
{
	if (row->state != STATE_ESTABLISHED && row->state != STATE_CLOSE_WAIT)
		return false;
	/* The end of the peer's data counts as a byte. */
	bool unread = row->unread > (row->state == STATE_CLOSE_WAIT);
	if (!row->has_info)
		return unread || row->unsent > 0;
	bool unanswered = row->bytes_received > 1 && (row->since_received < row->since_sent || row->bytes_sent == 0);
	if (!unread && !unanswered && row->unsent == 0 && row->unacknowledged == 0)
		return false;
	if (traffic->settings->wait_for_streams)
		return true;
	return row->since_received < longest_request && !(now - connection->talking_since >= lasting_talk);
}

static void note_talk(struct traffic *traffic, const struct tcp_row *row, struct connection *connection)
{
	uint32_t segments = row->segments_received - connection->segments;
	uint64_t bytes = row->bytes_received - connection->bytes;
	bool sent = traffic->settings->wait_for_streams && row->unacknowledged > 0;
	traffic->bytes += (double)bytes;
	traffic->answered = traffic->answered || row->bytes_sent > connection->sent;
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
	talker->latest = fmax(talker->latest, clock_now() - row->since_received);
}

static struct connection *take_new(struct traffic *traffic, const struct tcp_row *row, bool beginning)
{
	struct connection *connection = connections_add(&traffic->connections, row);
	if (!connection)
		return NULL;
	connection->held = !beginning;
	connection->segments = row->segments_received;
	connection->bytes = row->bytes_received;
	connection->sent = row->bytes_sent;
	if (beginning)
		return connection;
	traffic->answered = traffic->answered || row->bytes_sent > 0;
	traffic->unexplained--;
	traffic->bytes += (double)row->bytes_received;
	talkers_find(&traffic->talkers, &row->peer)->opened = true;
	arrive_from(traffic, &row->peer, traffic->last_opened);
	return connection;
}

/* A connection that is none of ours: known only so that the counters' increments are explained. */
static void take_foreign(struct traffic *traffic, const struct tcp_row *row, bool beginning)
{
	struct connection *connection = connections_find(&traffic->connections, row);
	if (!connection) {
		connection = connections_add(&traffic->connections, row);
		if (!beginning)
			traffic->unexplained--;
	}
	if (connection)
		connection->generation = traffic->generation;
}

static void take_own(struct traffic *traffic, const struct tcp_row *row, bool beginning)
{
	struct connection *connection = connections_find(&traffic->connections, row);
	if (connection)
		note_talk(traffic, row, connection);
	else
		connection = take_new(traffic, row, beginning);
	traffic->open++;
	if (!connection)
		return;
	connection->generation = traffic->generation;
	traffic->busy += has_work(traffic, row, connection, clock_now());
}

static void take_open(void *context, const struct tcp_row *row)
{
	struct traffic *traffic = context;
	bool beginning = traffic->generation == 1;
	if (listens_own(&traffic->listeners, row->local_port) && !probes_ignore(&traffic->probes, &row->peer))
		take_own(traffic, row, beginning);
	else if (listens_any(&traffic->listeners, row->local_port))
		take_foreign(traffic, row, beginning);
}

/* A connection that has ended: the only trace of one that was opened and closed between two dumps. */
static void take_ended(void *context, const struct tcp_row *row)
{
	struct traffic *traffic = context;
	traffic->ended++;
	if (!listens_any(&traffic->listeners, row->local_port))
		return;
	struct connection *known = connections_find(&traffic->connections, row);
	bool own = listens_own(&traffic->listeners, row->local_port) && !probes_ignore(&traffic->probes, &row->peer);
	traffic->answered = traffic->answered || (own && row->bytes_sent > (known ? known->sent : 0));
	if (known) {
		if (own)
			traffic->bytes += (double)(row->bytes_received - known->bytes);
		connections_remove(&traffic->connections, known);
		return;
	}
	/* Without a peer's port it is not a connection but a listener that was closed. */
	if (row->peer_port == 0)
		return;
	traffic->unexplained--;
	if (!own)
		return;
	double now = clock_now();
	/* The end of the peer's data counts as a byte: one that sent nothing asked for nothing. */
	bool empty = row->has_info && row->bytes_received <= 1;
	bool regular = row->bytes_received < small && probes_note(&traffic->probes, &row->peer, now);
	if (empty || regular) {
		traffic->probes_seen++;
		return;
	}
	traffic->bytes += (double)row->bytes_received;
	talkers_find(&traffic->talkers, &row->peer)->opened = true;
	arrive_from(traffic, &row->peer, now);
}

void traffic_glance(struct traffic *traffic, double now)
{
	/* Events first: a connection that comes and goes between the two reads is then explained a moment later, not never. */
	if (traffic->events >= 0)
		read_destroyed(traffic->events, take_ended, traffic);
	uint64_t opened;
	if (!(traffic->evidence & EVIDENCE_COUNTERS) || !read_passive_opens(&opened))
		return;
	if (opened != traffic->opened) {
		traffic->unexplained += (double)(opened - traffic->opened);
		traffic->last_opened = now;
		traffic->opened = opened;
	}
}

static void weigh_talker(struct traffic *traffic, struct talker *talker, double now)
{
	if (talker->segments == 0) {
		talker->talking_since = NAN;
		return;
	}
	double since = traffic->dumped;
	if (isnan(talker->talking_since))
		talker->talking_since = since;
	double bound = talker->opened ? lasting_talk : long_wait(traffic);
	bool lasting = !traffic->settings->wait_for_streams && now - talker->talking_since >= bound;
	char name[ADDRESS_TEXT];
	address_format(&talker->peer, name);
	double latest = fmin(now, fmax(talker->latest, since));
	if (!lasting && talker->opened) {
		traffic_observe(traffic, SEEN_REQUEST, latest, name, 0);
	} else if (!lasting) {
		/* It opens no connections, so what it says on old ones is all that tells whether it still chooses this pod. */
		unsigned count = talker->segments < MOST_ARRIVALS_PER_DUMP ? talker->segments : MOST_ARRIVALS_PER_DUMP;
		for (unsigned i = 1; i <= count; i++)
			traffic_observe(traffic, SEEN_CONNECTION, since + (latest - since) * i / count, name, 0);
	}
	talker->segments = 0;
}

static void unix_arrived(void *context, const char *path)
{
	struct traffic *traffic = context;
	char name[UNIX_PATH + 8];
	snprintf(name, sizeof name, "unix:%s", path);
	arrive(traffic, name, traffic->dumped);
}

static void watch_backlog(struct traffic *traffic, double now)
{
	uint32_t backlog = traffic->listeners.backlog;
	if (backlog == 0)
		traffic->backlog_since = NAN;
	else if (isnan(traffic->backlog_since) || backlog < traffic->last_backlog || traffic->answered)
		traffic->backlog_since = now;
	traffic->last_backlog = backlog;
	traffic->answered = false;
}

void traffic_dump(struct traffic *traffic, double now)
{
	double begun = clock_now();
	bool first = traffic->generation == 0;
	traffic->generation++;
	traffic->busy = 0;
	traffic->open = 0;
	const struct traffic_settings *settings = traffic->settings;
	if (!first)
		listeners_read(&traffic->listeners, &settings->ports, &settings->ignored_ports);
	if (!(traffic->evidence & EVIDENCE_DIAG) || !dump_sockets(open_states, true, take_open, traffic)) {
		traffic->evidence &= ~(unsigned)(EVIDENCE_DIAG | EVIDENCE_EVENTS);
		read_proc_tcp(open_states, take_open, traffic);
	}
	connections_sweep(&traffic->connections, traffic->generation);
	watch_backlog(traffic, now);
	if (first) {
		unix_sockets_read(&traffic->unix_now, NULL, NULL, NULL);
	} else {
		traffic->unix_before = traffic->unix_now;
		unix_sockets_read(&traffic->unix_now, &traffic->unix_before, unix_arrived, traffic);
	}
	for (size_t i = 0; i < MOST_TALKERS; i++)
		if (traffic->talkers.slots[i].used)
			weigh_talker(traffic, &traffic->talkers.slots[i], now);
	weigh_talker(traffic, &traffic->talkers.others, now);
	/* What the dump has not found came and went without a trace: an arrival all the same. */
	if (!first && traffic->unexplained > 0 && traffic->last_opened < now)
		arrive(traffic, "unknown", traffic->last_opened);
	if (traffic->last_opened < now)
		traffic->unexplained = 0;
	double in_flight = traffic->busy + traffic->listeners.backlog;
	if (in_flight != traffic->in_flight)
		traffic_observe(traffic, SEEN_IN_FLIGHT, now, NULL, in_flight - traffic->in_flight);
	traffic->in_flight = in_flight;
	traffic->dumped = now;
	traffic->dump_cost = clock_now() - begun;
	traffic->next_dump = now + fmax(dump_interval, dump_share * traffic->dump_cost);
}

bool traffic_possible(const struct traffic *traffic)
{
	if (!(traffic->evidence & EVIDENCE_SOCKETS))
		return true;
	return traffic->listeners.own_count > 0 || traffic->unix_now.listener_count > 0 || awaits_datagrams();
}

bool traffic_is_stuck(const struct traffic *traffic)
{
	return traffic->dumped - traffic->backlog_since >= stuck_after;
}
