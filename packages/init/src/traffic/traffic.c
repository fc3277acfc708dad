#include "traffic.h"

#include "../base/clock.h"
#include "../kernel/counters.h"
#include "../kernel/namespace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double dump_interval_ms = 1000;
/* At 400 times its own cost between two, dumps take a quarter percent of a core however many connections there are. */
static const double dump_share = 400;
static const double longest_pause_without_events_ms = 2000;
/* While a request is in flight: ms, and times the cost of a dump. */
static const double soon_ms = 100;
static const double soon_share = 100;
/* A SYN that was dropped is sent again after 1 s (RFC 6298), which timers of the kernel make a little longer. */
static const double first_retry_ms = 1200;
/* As often as counters are polled without an event: the file is three times as long as the other one with counters. */
static const double overflows_interval_ms = 100;

void traffic_begin(struct traffic *traffic, const struct traffic_settings *settings, struct teller *teller, const struct baseline *baseline,
		   double now)
{
	struct address gateway;
	memset(traffic, 0, sizeof *traffic);
	traffic->teller = teller;
	traffic->before.counted_rate = NAN;
	pools_begin(&traffic->pools, teller, settings->wait_for_streams, now);
	unattributed_begin(&traffic->unattributed, now);
	arrivals_begin(&traffic->arrivals, teller, &traffic->pools, &settings->probe_periods);
	if (default_gateway(&gateway))
		probes_come_from(&traffic->arrivals.probes, &gateway);
	if (!sockets_begin(&traffic->sockets, settings, &traffic->arrivals, &traffic->pools, &traffic->unattributed, now))
		return;
	before_begin(&traffic->before, baseline, &traffic->sockets, now);
	traffic_dump_sockets(traffic, now);
	/* After the dump, so that none is counted that it has found. The counters of a node say nothing about one pod. */
	unattributed_count_from_here(&traffic->unattributed, !is_host_network());
	before_count(&traffic->before, baseline, &traffic->sockets);
}

void traffic_end(struct traffic *traffic)
{
	sockets_end(&traffic->sockets);
}

static void unix_arrived(void *context, const char *path)
{
	struct traffic *traffic = context;
	char name[UNIX_PATH + 8];
	snprintf(name, sizeof name, "unix:%s", path);
	tell_connection(traffic->teller, name, clock_now(), traffic->unattributed.read_at);
}

/* By sampling, as often as it is cheap: a connection that is over between two samples is not seen. */
static void sample_unix_sockets(struct traffic *traffic)
{
	traffic->unix_before = traffic->unix_now;
	unix_sockets_read(&traffic->unix_now, &traffic->unix_before, &traffic->sockets.settings->ignored_sockets, unix_arrived,
			  traffic);
}

/* Overflows before the hold may be recent. One of those clients may be about to try again. */
static void read_overflows(struct traffic *traffic, double now)
{
	uint64_t overflowed;
	traffic->overflows_read = now;
	if (!read_listen_overflows(&overflowed) || overflowed == traffic->overflowed)
		return;
	traffic->overflowed = overflowed;
	traffic->retries_until = now + first_retry_ms;
}

void traffic_poll_counters(struct traffic *traffic, double now)
{
	before_tell(&traffic->before, &traffic->sockets, now);
	/* Events first: a connection that comes and goes between the two reads is then attributed a moment later, not never. */
	sockets_read_events(&traffic->sockets);
	if (traffic->unix_now.listener_count > 0)
		sample_unix_sockets(traffic);
	unattributed_count(&traffic->unattributed, now);
	if (traffic->unattributed.counted && now - traffic->overflows_read >= overflows_interval_ms)
		read_overflows(traffic, now);
}

static void tell_in_flight(struct traffic *traffic, double now)
{
	double in_flight = traffic->sockets.busy + traffic->sockets.listeners.backlog;
	if (in_flight != traffic->in_flight)
		tell(traffic->teller, &(struct observation){ .type = SEEN_IN_FLIGHT, .at = now, .value = in_flight - traffic->in_flight });
	traffic->in_flight = in_flight;
}

void traffic_dump_sockets(struct traffic *traffic, double now)
{
	struct sockets *sockets = &traffic->sockets;
	bool first = sockets->generation == 0, with_events;
	/* The last thing before a stop is a dump. */
	if (traffic->unattributed.counted)
		read_overflows(traffic, now);
	double begun = clock_used(), since = sockets->dumped;
	sockets_dump(sockets, now);
	if (first)
		unix_sockets_read(&traffic->unix_now, NULL, &traffic->sockets.settings->ignored_sockets, NULL, NULL);
	else
		sample_unix_sockets(traffic);
	pools_tell(&traffic->pools, since, now);
	sockets_read_events(sockets);
	with_events = sockets->evidence & EVIDENCE_EVENTS;
	unattributed_tell(&traffic->unattributed, traffic->teller, with_events, since, now);
	tell_in_flight(traffic, now);
	sockets->dumped = now;
	/* Not the time that has passed: a busy machine would make dumps rare. */
	traffic->dump_cost_ms = clock_used() - begun;
	double pause = dump_share * traffic->dump_cost_ms;
	/* Where dumps are all that finds addresses they may take up to 2 % of a core. */
	if (!with_events)
		pause = fmin(pause, longest_pause_without_events_ms);
	traffic->next_dump = now + fmax(dump_interval_ms, pause);
}

void traffic_dump_soon(struct traffic *traffic)
{
	double soon = traffic->sockets.dumped + fmax(soon_ms, soon_share * traffic->dump_cost_ms);
	traffic->next_dump = fmin(traffic->next_dump, soon);
}

double traffic_settles_at(const struct traffic *traffic)
{
	return fmax(fmax(traffic->arrivals.undecided_until, traffic->retries_until), unattributed_settles_at(&traffic->unattributed));
}

unsigned traffic_evidence(const struct traffic *traffic)
{
	return traffic->sockets.evidence | (traffic->unattributed.counted ? EVIDENCE_COUNTERS : 0);
}

bool traffic_port_is_silent(const struct traffic *traffic)
{
	const struct sockets *sockets = &traffic->sockets;
	return traffic->sockets.settings->ports.count > 0 && (sockets->evidence & EVIDENCE_SOCKETS) != 0 &&
	       (sockets_are_elsewhere(sockets) || sockets->listeners.own_count == 0);
}

bool traffic_possible(const struct traffic *traffic)
{
	const struct sockets *sockets = &traffic->sockets;
	if (!(sockets->evidence & EVIDENCE_SOCKETS))
		return true;
	return sockets->listeners.own_count > 0 || traffic->unix_now.listener_count > 0 || awaits_datagrams();
}

bool traffic_is_cut(const struct traffic *traffic)
{
	const struct sockets *sockets = &traffic->sockets;
	bool alone = sockets->resent == 1 && sockets->open > 1;
	if (sockets->resent == 0 || sockets->resent < sockets->unacknowledged || alone)
		return false;
	double heard_at = sockets->evidence & EVIDENCE_DIAG ? sockets->heard_at : traffic->teller->last_arrival;
	return !(heard_at > sockets->resent_since);
}
