#include "traffic.h"

#include "../base/clock.h"
#include "../kernel/counters.h"
#include "../kernel/destroy_events.h"
#include "../kernel/namespace.h"
#include "../kernel/proc_tcp.h"
#include "../kernel/sock_diag.h"
#include "before.h"
#include "talk.h"
#include "unnamed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const uint32_t open_states = 1u << STATE_ESTABLISHED | 1u << STATE_FIN_WAIT1 | 1u << STATE_FIN_WAIT2 |
				    1u << STATE_CLOSE_WAIT | 1u << STATE_LAST_ACK | 1u << STATE_CLOSING;
static const double dump_interval = 1000;
/* At 400 times its own cost between two, dumps take a quarter percent of a core however many connections there are. */
static const double dump_share = 400;
static const double blind_interval = 2000;
/* While a request is in flight: ms, and times the cost of a dump. */
static const double soon = 100;
static const double stuck_after = 3000;
/* A probe's request is a line and a few headers. */
static const uint64_t small = 2048;
/* ms that an empty probe takes at most on a busy machine, and one that the program answers. */
static const double moment = 250;
static const double longest_probe = 1000;
static const double time_wait = 60000;

void traffic_observe(struct traffic *traffic, enum observation_type type, double at, const char *name, double value)
{
	drain_observe(traffic->drain, (struct observation){ .type = type, .at = at, .name = name, .value = value });
}

void traffic_arrive(struct traffic *traffic, const char *sender, double at)
{
	traffic_observe(traffic, SEEN_CONNECTION, at, sender, 0);
	traffic->connections_seen++;
	traffic->last_arrival = isnan(traffic->last_arrival) ? at : fmax(traffic->last_arrival, at);
}

void traffic_arrive_from(struct traffic *traffic, const struct address *peer, double at)
{
	char name[ADDRESS_TEXT];
	note_opening(traffic, peer, at);
	traffic_arrive(traffic, address_format(peer, name), at);
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
	traffic->undecided_until = -INFINITY;
	traffic->probes.ignored = settings->ignored_peers;
	traffic->host_network = is_host_network();
	traffic->events = -1;
	talkers_init(&traffic->talkers);
	if (listeners_read(&traffic->listeners, &settings->ports, &settings->ignored_ports))
		traffic->evidence |= EVIDENCE_SOCKETS;
	if (traffic->host_network && settings->ports.count == 0 && !traffic->listeners.attributed) {
		/* The sockets of a whole node: what is ours among them nobody can tell. */
		traffic->evidence = 0;
		return;
	}
	traffic->events = subscribe_to_destroyed();
	if (traffic->events >= 0)
		traffic->evidence |= EVIDENCE_EVENTS | EVIDENCE_DIAG;
	traffic_dump(traffic, now);
	/* After the dump, so that none is counted that it has found. The counters of a node say nothing about one pod. */
	traffic->unnamed = 0;
	if (!traffic->host_network && read_passive_opens(&traffic->opened))
		traffic->evidence |= EVIDENCE_COUNTERS;
	learn_before(traffic, baseline);
}

void traffic_end(struct traffic *traffic)
{
	if (traffic->events >= 0)
		close(traffic->events);
	traffic->events = -1;
	connections_free(&traffic->connections);
}

/*
 * A probe is over in a moment, and most come without a byte: what a dump meets in the middle is told from traffic when it has ended, has
 * brought data, or has stayed. A prober's own may take as long as the kubelet's usual time-out.
 */
static void decide(struct traffic *traffic, const struct tcp_row *row, struct connection *connection, double now)
{
	bool prober = probes_expect(&traffic->probes, &row->peer);
	bool may_be_probe = prober ? row->bytes_received < small : row->bytes_received == 0;
	double until = connection->undecided_since + (prober ? longest_probe : moment);
	if (may_be_probe && now < until && traffic->evidence & EVIDENCE_EVENTS) {
		if (!prober)
			traffic->undecided_until = fmax(traffic->undecided_until, until);
		return;
	}
	/* Without events dumps name a few by chance, who would look like senders that hardly ever come. */
	if (traffic->evidence & EVIDENCE_EVENTS)
		traffic_arrive_from(traffic, &row->peer, connection->undecided_since);
	else
		traffic_arrive(traffic, "unknown", connection->undecided_since);
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
	traffic->answered = traffic->answered || row->bytes_sent > 0;
	traffic->unnamed--;
	traffic->bytes += (double)row->bytes_received;
	connection->undecided_since = traffic->last_opened;
	return connection;
}

/* A connection that is none of ours: known only so that the counters' increments are explained. */
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
	if (!isnan(connection->undecided_since))
		decide(traffic, row, connection, clock_now());
	if (!has_work(traffic, row, connection, clock_now()))
		return;
	if (of_lasting_pool(traffic, row))
		traffic->pools_busy++;
	else
		traffic->busy++;
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

/* A connection from its beginning to its end. */
static void take_whole(struct traffic *traffic, const struct tcp_row *row, double at, double ended_at)
{
	/* The end of the peer's data counts as a byte: one that sent nothing asked for nothing. */
	bool empty = row->has_info && row->bytes_received <= 1;
	bool regular = row->bytes_received < small && probes_note(&traffic->probes, &row->peer, ended_at);
	if (empty || regular)
		traffic->probes_seen++;
	else
		traffic_arrive_from(traffic, &row->peer, at);
}

static void take_end(struct traffic *traffic, const struct tcp_row *row, double ended_at)
{
	struct connection *known = connections_find(&traffic->connections, row);
	bool own = listens_own(&traffic->listeners, row->local_port) && !probes_ignore(&traffic->probes, &row->peer);
	bool decided = known && isnan(known->undecided_since);
	double at = known ? known->undecided_since : ended_at;
	traffic->answered = traffic->answered || (own && row->bytes_sent > (known ? known->sent : 0));
	if (own && row->has_info)
		traffic->bytes += (double)(row->bytes_received - (known ? known->bytes : 0));
	if (known)
		connections_remove(&traffic->connections, known);
	/* Without a peer's port it is not a connection but a listener that was closed. */
	else if (row->peer_port != 0)
		traffic->unnamed--;
	if (own && !decided && row->peer_port != 0)
		take_whole(traffic, row, at, ended_at);
	else if (!known)
		traffic->ignored += probes_ignore(&traffic->probes, &row->peer);
}

/* A connection that has ended: the only trace of one that was opened and closed between two dumps. */
static void take_ended(void *context, const struct tcp_row *row)
{
	struct traffic *traffic = context;
	traffic->ended++;
	if (listens_any(&traffic->listeners, row->local_port))
		take_end(traffic, row, clock_now());
}

/* Where no event tells it, the end of a connection that our side closed still shows for a minute. */
static void take_without_events(void *context, const struct tcp_row *row)
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

static void read_events(struct traffic *traffic)
{
	if (traffic->events >= 0 && !read_destroyed(traffic->events, take_ended, traffic))
		traffic->missed_events = true;
}

static void unix_arrived(void *context, const char *path)
{
	struct traffic *traffic = context;
	char name[UNIX_PATH + 8];
	snprintf(name, sizeof name, "unix:%s", path);
	traffic_arrive(traffic, name, clock_now());
}

/* By sampling, as often as it is cheap: a connection that is over within a glance is not seen. */
static void look_at_unix_sockets(struct traffic *traffic)
{
	traffic->unix_before = traffic->unix_now;
	unix_sockets_read(&traffic->unix_now, &traffic->unix_before, unix_arrived, traffic);
}

void traffic_glance(struct traffic *traffic, double now)
{
	uint64_t opened;
	tell_before(traffic, now);
	/* Events first: a connection that comes and goes between the two reads is then named a moment later, not never. */
	read_events(traffic);
	if (traffic->unix_now.listener_count > 0)
		look_at_unix_sockets(traffic);
	if (!(traffic->evidence & EVIDENCE_COUNTERS) || !read_passive_opens(&opened))
		return;
	if (opened != traffic->opened) {
		traffic->unnamed += (double)(opened - traffic->opened);
		traffic->last_opened = now;
		traffic->opened = opened;
	}
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

static void look_at_sockets(struct traffic *traffic, double now)
{
	const struct traffic_settings *settings = traffic->settings;
	traffic->busy = 0;
	traffic->pools_busy = 0;
	traffic->open = 0;
	if (traffic->generation > 1)
		listeners_read(&traffic->listeners, &settings->ports, &settings->ignored_ports);
	if (!(traffic->evidence & EVIDENCE_DIAG) || !dump_sockets(open_states, true, take_open, traffic)) {
		traffic->evidence &= ~(unsigned)(EVIDENCE_DIAG | EVIDENCE_EVENTS);
		read_proc_tcp(open_states | 1u << STATE_TIME_WAIT, take_without_events, traffic);
	}
	connections_sweep(&traffic->connections, traffic->generation);
	watch_backlog(traffic, now);
}

void traffic_dump(struct traffic *traffic, double now)
{
	double begun = clock_used();
	bool first = traffic->generation == 0;
	traffic->generation++;
	if (traffic->evidence & EVIDENCE_SOCKETS)
		look_at_sockets(traffic, now);
	if (first)
		unix_sockets_read(&traffic->unix_now, NULL, NULL, NULL);
	else
		look_at_unix_sockets(traffic);
	weigh_talkers(traffic, now);
	read_events(traffic);
	weigh_unnamed(traffic, now);
	double in_flight = traffic->busy + traffic->listeners.backlog;
	if (in_flight != traffic->in_flight)
		traffic_observe(traffic, SEEN_IN_FLIGHT, now, NULL, in_flight - traffic->in_flight);
	traffic->in_flight = in_flight;
	traffic->dumped = now;
	/* Not the time that has passed: a busy machine would make dumps rare. */
	traffic->dump_cost = clock_used() - begun;
	double pause = dump_share * traffic->dump_cost;
	/* Where dumps are all that names anybody they may take up to 2 % of a core. */
	if (!(traffic->evidence & EVIDENCE_EVENTS))
		pause = fmin(pause, blind_interval);
	traffic->next_dump = now + fmax(dump_interval, pause);
}

void traffic_dump_soon(struct traffic *traffic)
{
	traffic->next_dump = fmin(traffic->next_dump, traffic->dumped + fmax(soon, soon * traffic->dump_cost));
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
