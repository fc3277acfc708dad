#include "traffic.h"

#include "../base/clock.h"
#include "../kernel/counters.h"
#include "../kernel/destroy_events.h"
#include "../kernel/namespace.h"
#include "../kernel/proc_tcp.h"
#include "../kernel/sock_diag.h"
#include "before.h"
#include "rows.h"
#include "pooled.h"
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
/* A server with one worker accepts when it is done with a request. So this is at least the usual fixed delay. */
static const double stuck_after = 20000;
/* A SYN that was dropped is sent again after 1 s (RFC 6298), which timers of the kernel make a little longer. */
static const double first_retry = 1200;
/* As often as glances without an event: the file is three times as long as the other one with counters. */
static const double overflows_interval = 100;

static void observe(struct traffic *traffic, struct observation seen)
{
	drain_observe(traffic->drain, seen);
	trace_observed(traffic->trace, &seen);
}

void traffic_observe(struct traffic *traffic, enum observation_type type, double at, const char *name, double value)
{
	observe(traffic, (struct observation){ .type = type, .at = at, .name = name, .value = value });
}

void traffic_settle(struct traffic *traffic)
{
	drain_settle(traffic->drain);
	trace_settled(traffic->trace);
}

void traffic_traced(struct traffic *traffic, double share)
{
	drain_set_coverage(traffic->drain, share);
	trace_share(traffic->trace, share);
}

void traffic_forget(struct traffic *traffic, const char *sender)
{
	drain_forget(traffic->drain, sender);
	trace_forgotten(traffic->trace, sender);
}

void traffic_recall(struct traffic *traffic, const char *sender, double at, double since)
{
	double earlier = fmax(0, at - since);
	drain_recall(traffic->drain, sender, at, earlier);
	trace_recalled(traffic->trace, sender, at, earlier);
}

double traffic_complete_until(const struct traffic *traffic)
{
	return fmax(traffic->dumped, traffic->named_until);
}

void traffic_arrive(struct traffic *traffic, const char *sender, double at, double since)
{
	observe(traffic, (struct observation){ .type = SEEN_CONNECTION, .at = at, .name = sender, .earlier = fmax(0, at - since) });
	traffic->connections_seen++;
	traffic->last_arrival = isnan(traffic->last_arrival) ? at : fmax(traffic->last_arrival, at);
}

void traffic_request_on_old(struct traffic *traffic, const char *sender, double at)
{
	observe(traffic, (struct observation){ .type = SEEN_CONNECTION, .at = at, .name = sender, .old = true });
}

/*
 * In a young pod the kubelet's probes are not known yet. What may be one is an arrival like any other, but it disproves no release: it is told as if it
 * might have come before.
 */
void traffic_arrive_from(struct traffic *traffic, const struct address *peer, uint64_t size, double at, double since)
{
	char name[ADDRESS_TEXT];
	if (size != SIZE_UNKNOWN && probes_may_be(&traffic->probes, peer, at))
		since = 0;
	arrivals_keep(&traffic->arrivals, peer, size, at, since);
	note_opening(traffic, peer, at);
	traffic_arrive(traffic, address_format(peer, name), at, since);
}

/* A port that is mistyped must not be the end of all requests: the program's own listeners are watched where none is at those chosen. */
static bool find_listeners(struct traffic *traffic)
{
	static const struct port_list none;
	const struct traffic_settings *settings = traffic->settings;
	struct listeners *listeners = &traffic->listeners;
	traffic->ports = &settings->ports;
	bool read = listeners_read(listeners, traffic->ports, &settings->ignored_ports);
	if (!read || settings->ports.count == 0 || listeners->own_count > 0)
		return read;
	traffic->ports = &none;
	if (listeners_read(listeners, traffic->ports, &settings->ignored_ports) && listeners->attributed)
		return true;
	traffic->ports = &settings->ports;
	memset(listeners, 0, sizeof *listeners);
	return listeners_read(listeners, traffic->ports, &settings->ignored_ports);
}

bool traffic_elsewhere(const struct traffic *traffic)
{
	return traffic->ports != &traffic->settings->ports;
}

bool traffic_port_is_silent(const struct traffic *traffic)
{
	return traffic->settings->ports.count > 0 && (traffic->evidence & EVIDENCE_SOCKETS) != 0 &&
	       (traffic_elsewhere(traffic) || traffic->listeners.own_count == 0);
}

void traffic_begin(struct traffic *traffic, const struct traffic_settings *settings, struct drain *drain, struct trace *trace,
		   const struct baseline *baseline, double now)
{
	memset(traffic, 0, sizeof *traffic);
	traffic->settings = settings;
	traffic->drain = drain;
	traffic->trace = trace;
	traffic->began = now;
	traffic->last_opened = traffic->dumped = traffic->glanced = traffic->named_until = now;
	traffic->rate_before = traffic->last_arrival = traffic->backlog_since = NAN;
	traffic->undecided_until = -INFINITY;
	traffic->probes.ignored = settings->ignored_peers;
	traffic->probes.periods = settings->probe_periods;
	probe_periods_default(&traffic->probes.periods);
	struct address gateway;
	if (default_gateway(&gateway))
		probes_come_from(&traffic->probes, &gateway);
	traffic->host_network = is_host_network();
	traffic->events = -1;
	pooled_peers_init(&traffic->pooled_peers);
	if (find_listeners(traffic))
		traffic->evidence |= EVIDENCE_SOCKETS;
	if (traffic->host_network && traffic->ports->count == 0 && !traffic->listeners.attributed) {
		/* These are the sockets of a whole node. Ours cannot be found among them. */
		traffic->evidence = 0;
		return;
	}
	traffic->events = subscribe_to_destroyed();
	if (traffic->events >= 0)
		traffic->evidence |= EVIDENCE_EVENTS | EVIDENCE_DIAG;
	double known_rate = learn_past(traffic, baseline);
	traffic_dump(traffic, now);
	/* After the dump, so that none is counted that it has found. The counters of a node say nothing about one pod. */
	traffic->unnamed = 0;
	if (!traffic->host_network && read_passive_opens(&traffic->opened))
		traffic->evidence |= EVIDENCE_COUNTERS;
	learn_rate(traffic, baseline, known_rate);
}

void traffic_end(struct traffic *traffic)
{
	if (traffic->events >= 0)
		close(traffic->events);
	traffic->events = -1;
	connections_free(&traffic->connections);
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
	traffic_arrive(traffic, name, clock_now(), traffic->glanced);
}

/* By sampling, as often as it is cheap: a connection that is over within a glance is not seen. */
static void look_at_unix_sockets(struct traffic *traffic)
{
	traffic->unix_before = traffic->unix_now;
	unix_sockets_read(&traffic->unix_now, &traffic->unix_before, &traffic->settings->ignored_sockets, unix_arrived,
			  traffic);
}

/* Overflows before the hold may be recent. One of those clients may be about to try again. */
static void look_for_the_turned_away(struct traffic *traffic, double now)
{
	uint64_t overflowed;
	traffic->overflows_read = now;
	if (!read_listen_overflows(&overflowed) || overflowed == traffic->overflowed)
		return;
	traffic->overflowed = overflowed;
	traffic->retries_until = now + first_retry;
}

void traffic_glance(struct traffic *traffic, double now)
{
	uint64_t opened;
	observe_before(traffic, now);
	/* Events first: a connection that comes and goes between the two reads is then named a moment later, not never. */
	read_events(traffic);
	if (traffic->unix_now.listener_count > 0)
		look_at_unix_sockets(traffic);
	traffic->glanced = now;
	if (!(traffic->evidence & EVIDENCE_COUNTERS) || !read_passive_opens(&opened))
		return;
	if (now - traffic->overflows_read >= overflows_interval)
		look_for_the_turned_away(traffic, now);
	if (opened != traffic->opened) {
		traffic->unnamed += (double)(opened - traffic->opened);
		traffic->last_opened = now;
		traffic->opened = opened;
	}
	if (traffic->unnamed <= 0)
		traffic->named_until = now;
}

static void watch_backlog(struct traffic *traffic, double now)
{
	uint32_t backlog = traffic->listeners.backlog;
	if (backlog == 0)
		traffic->backlog_since = NAN;
	else if (isnan(traffic->backlog_since) || backlog < traffic->last_backlog || traffic->alive)
		traffic->backlog_since = now;
	traffic->last_backlog = backlog;
	traffic->alive = false;
}

static void look_at_sockets(struct traffic *traffic, double now)
{
	traffic->busy = 0;
	traffic->pools_busy = 0;
	traffic->open = 0;
	if (traffic->generation > 1)
		listeners_read(&traffic->listeners, traffic->ports, &traffic->settings->ignored_ports);
	if (!(traffic->evidence & EVIDENCE_DIAG) || !dump_sockets(open_states, true, take_open, traffic)) {
		traffic->evidence &= ~(unsigned)(EVIDENCE_DIAG | EVIDENCE_EVENTS);
		read_proc_tcp(open_states | 1u << STATE_TIME_WAIT, take_without_events, traffic);
	}
	connections_sweep(&traffic->connections, traffic->generation);
	watch_backlog(traffic, now);
}

void traffic_dump(struct traffic *traffic, double now)
{
	/* The last look before a stop is a dump. */
	if (traffic->evidence & EVIDENCE_COUNTERS)
		look_for_the_turned_away(traffic, now);
	double begun = clock_used();
	bool first = traffic->generation == 0;
	traffic->generation++;
	if (traffic->evidence & EVIDENCE_SOCKETS)
		look_at_sockets(traffic, now);
	if (first)
		unix_sockets_read(&traffic->unix_now, NULL, &traffic->settings->ignored_sockets, NULL, NULL);
	else
		look_at_unix_sockets(traffic);
	weigh_pooled_peers(traffic, now);
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
