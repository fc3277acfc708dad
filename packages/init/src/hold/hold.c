#include "hold.h"

#include "../base/clock.h"
#include "../kernel/namespace.h"
#include "cluster.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 10 Hz, each about 100 us: 0.1 % of a core. */
static const double glance_interval = 100;
/* The kernel holds some 300 events for us: 10 ms at 30,000 connections per second. */
static const double event_interval = 10;
/* A dump is fresh for 20 times its own cost: deciding may then take up to 5 % of a core, for moments. */
static const double fresh_for = 20;
static const double trace_interval = 1000;
static const double longest_wait_for_pools = 500;
static const double between_requests = 10;
/* ms by which an exit is delayed until the coordinator has taken the last report. */
static const double longest_report = 200;

bool in_kubernetes(void)
{
	/* Set in every container, whatever its manifest says. */
	return getenv("KUBERNETES_SERVICE_HOST") != NULL;
}

static void warn_of_host_network(const struct hold_settings *settings, const struct logger *logger)
{
	if (is_host_network() && settings->traffic.ports.count == 0)
		log_line(logger, LOG_WARNING,
		    "this is the host's network: name the program's ports with --port; without it only listeners of processes seen from "
		    "here are watched, and without any only the floor is held");
}

void hold_warn(const struct hold_settings *settings, const struct logger *logger)
{
	/* Otherwise the host's network is not reported before it matters. */
	if (in_kubernetes())
		warn_of_host_network(settings, logger);
}

static void decide_now(struct hold *hold, double now)
{
	hold->decision = drain_decide(&hold->drain, now);
	hold->decided_on = hold->drain.revision;
	trace_decided(&hold->recording, &hold->decision, now);
}

static bool at_cap(const struct hold *hold, double now)
{
	return now >= hold->drain.terminated_at + hold->drain.config.cap;
}

/* What was decided holds until something is seen, or until the time that it named. */
static void decide(struct hold *hold, double now)
{
	if (hold->drain.revision != hold->decided_on || (!hold->decision.stop && now >= hold->decision.until))
		decide_now(hold, now);
}

void hold_begin(struct hold *hold, const struct hold_settings *settings, const struct logger *logger,
		const struct baseline *baseline, const char *why, double terminated_at, double now)
{
	hold->settings = settings;
	hold->logger = logger;
	hold->began = now;
	hold->next_glance = hold->events_from = now;
	hold->next_trace = now + trace_interval;
	hold->ready_since = NAN;
	hold->good_at = now;
	hold->ended_by = NULL;
	hold->forced = false;
	hold->order_missed = false;
	drain_init(&hold->drain, &settings->decision);
	trace_begin(&hold->recording, why ? settings->recording : NULL, why, logger, &hold->drain.config, terminated_at);
	traffic_begin(&hold->traffic, &settings->traffic, &hold->drain, &hold->recording, baseline, now);
	if (traffic_port_is_silent(&hold->traffic))
		log_line(logger, LOG_WARNING, "nothing listens on --port %u: %s", settings->traffic.ports.ports[0],
		    traffic_elsewhere(&hold->traffic) ? "the program's other ports are watched instead"
						      : "no other port of the program was found, either");
	traffic_observe(&hold->traffic, SEEN_TERMINATION, terminated_at, NULL, 0);
	decide_now(hold, now);
	cluster_begin(hold, why != NULL, now);
	hold->order_events = order_watch(&settings->order);
	if (!in_kubernetes())
		warn_of_host_network(settings, logger);
}

void hold_descriptors(const struct hold *hold, double now, struct pollfd descriptors[HOLD_DESCRIPTORS])
{
	int events = now >= hold->events_from ? hold->traffic.events : -1;
	descriptors[0] = (struct pollfd){ .fd = events, .events = POLLIN };
	descriptors[1] = (struct pollfd){ .fd = hold->order_events, .events = POLLIN };
	coordinator_descriptors(&hold->coordinator, now, descriptors + 2);
}

int hold_timeout(const struct hold *hold, double now)
{
	double wanted = hold->decision.stop ? hold->good_at : hold->decision.until;
	double until = hold->next_glance;
	/* Where a stop only waits for a file there is nothing to do before the next glance. */
	if (wanted < until && !(hold->decision.stop && wanted <= now))
		until = wanted;
	if (hold->events_from > now && hold->events_from < until)
		until = hold->events_from;
	return until <= now ? 0 : (int)ceil(until - now);
}

static bool order_allows(struct hold *hold, double now)
{
	const char *missing = order_missing(&hold->settings->order);
	if (!missing)
		return true;
	bool late = now - hold->began >= fmin(hold->settings->order_timeout, hold->settings->decision.cap);
	if (late && !hold->order_missed)
		log_line(hold->logger, LOG_WARNING, "waited for %s in vain", missing);
	hold->order_missed = hold->order_missed || late;
	return late;
}

/*
 * The decision allows to stop; but nothing is stopped on the evidence of a second ago, nor while a connection is about to be named, nor, if it can be
 * helped, in the middle of a request on one of those pools that never fall silent: the next gap between two of them is only milliseconds away.
 */
static bool is_good_moment(struct hold *hold, double now)
{
	struct traffic *traffic = &hold->traffic;
	if (at_cap(hold, now))
		return true;
	if (now - traffic->dumped > traffic->dump_cost * fresh_for) {
		traffic_dump(traffic, now);
		decide(hold, now);
		if (!hold->decision.stop)
			return false;
	}
	if (isnan(hold->ready_since))
		hold->ready_since = now;
	hold->good_at = traffic_settles_at(traffic);
	if (traffic->pools_busy > 0 && now - hold->ready_since < longest_wait_for_pools)
		hold->good_at = fmax(hold->good_at, now + fmax(between_requests, traffic->dump_cost * fresh_for));
	return now >= hold->good_at;
}

static void look(struct hold *hold, double now)
{
	struct traffic *traffic = &hold->traffic;
	uint64_t ended = traffic->ended;
	traffic_glance(traffic, now);
	cluster_step(hold, now);
	hold->events_from = traffic->ended == ended ? now : now + event_interval;
	if (now >= hold->next_glance)
		hold->next_glance = now + glance_interval;
	if (now >= traffic->next_dump)
		traffic_dump(traffic, now);
	decide(hold, now);
	if (!hold->decision.stop && hold->decision.waiting_for == WAIT_IN_FLIGHT)
		traffic_dump_soon(traffic);
	if (hold->settings->trace && now >= hold->next_trace) {
		report_now(hold, now);
		hold->next_trace += trace_interval;
	}
}

static void give_up(struct hold *hold, const char *why, double now)
{
	hold->ended_by = why;
	traffic_observe(&hold->traffic, SEEN_FORCE, now, NULL, 0);
}

void hold_force(struct hold *hold, const char *why, double now)
{
	hold->forced = true;
	give_up(hold, why, now);
}

bool hold_step(struct hold *hold, double now)
{
	if (hold->order_events >= 0)
		order_drain(hold->order_events);
	look(hold, now);
	if (!hold->decision.stop && !traffic_possible(&hold->traffic))
		give_up(hold, "nothing listens", now);
	else if (!hold->decision.stop && traffic_is_stuck(&hold->traffic))
		give_up(hold, "the program has accepted no connection for 20s", now);
	if (hold->ended_by) {
		decide(hold, now);
		/* A sidecar without traffic of its own still waits for those that have some. */
		return hold->forced || order_allows(hold, now);
	}
	return hold->decision.stop && order_allows(hold, now) && is_good_moment(hold, now);
}

void hold_end(struct hold *hold, const char *and_then, double now)
{
	report_end(hold, and_then, now);
	cluster_end(hold, now);
	trace_end(&hold->recording, report_reason(hold), now);
	traffic_end(&hold->traffic);
	drain_free(&hold->drain);
	if (hold->order_events >= 0)
		close(hold->order_events);
	hold->order_events = -1;
}

bool hold_is_reporting(const struct hold *hold, double now)
{
	return coordinator_is_reporting(&hold->coordinator, now);
}

void hold_report_step(struct hold *hold, double now)
{
	coordinator_step(&hold->coordinator, now);
	if (!hold_is_reporting(hold, now))
		coordinator_end(&hold->coordinator);
}

void hold_report_end(struct hold *hold)
{
	struct pollfd polled[HOLD_DESCRIPTORS];
	const struct coordinator *coordinator = &hold->coordinator;
	double now = clock_now(), until = now + longest_report;
	bool answers = coordinator->status.state != STATUS_NOTHING && !coordinator->silent;
	while (answers && now < until && hold_is_reporting(hold, now)) {
		hold_descriptors(hold, now, polled);
		poll(polled, HOLD_DESCRIPTORS, (int)ceil(until - now));
		now = clock_now();
		hold_report_step(hold, now);
	}
	coordinator_end(&hold->coordinator);
}
