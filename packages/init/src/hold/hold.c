#include "hold.h"

#include "../base/clock.h"
#include "../kernel/namespace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 10 Hz, each about 100 us: 0.1 % of a core. */
static const double poll_interval_ms = 100;
/* The kernel holds some 300 events for us: 10 ms at 30,000 connections per second. */
static const double event_interval_ms = 10;
/* A dump is fresh for 20 times its own cost: deciding may then take up to 5 % of a core, for moments. */
static const double fresh_for_costs = 20;
static const double progress_interval_ms = 1000;
static const double longest_wait_for_pools_ms = 500;
static const double between_requests_ms = 10;
/* An exit is delayed by this time at most, until the coordinator has taken the last report. */
static const double longest_report_ms = 200;
/* The end is reported for this time to a coordinator that does not answer. */
static const double end_reported_for_ms = 2000;

bool in_kubernetes(void)
{
	/* Kubernetes sets this variable in every container, whatever its manifest says. */
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
	/* Outside of Kubernetes the host's network is usual. The warning then comes with the hold. */
	if (in_kubernetes())
		warn_of_host_network(settings, logger);
}

static void decide_now(struct hold *hold, double now)
{
	hold->report.decision = drain_decide(&hold->drain, now);
	hold->decided_on = hold->drain.revision;
	trace_decided(&hold->recording, &hold->report.decision, now);
}

/* A decision is valid until something is observed, or until the time that it named. */
static void decide(struct hold *hold, double now)
{
	if (hold->drain.revision != hold->decided_on || (!hold->report.decision.stop && now >= hold->report.decision.until))
		decide_now(hold, now);
}

static void tell_coordinator(struct hold *hold, bool ended, double now)
{
	char message[MOST_MESSAGE];
	if (!hold->cluster.coordinator.on)
		return;
	report_message(&hold->report, ended, message, now);
	coordinator_report(&hold->cluster.coordinator, message);
}

void hold_begin(struct hold *hold, const struct hold_settings *settings, const struct logger *logger,
		const struct baseline *baseline, const char *why, double terminated_at, double now)
{
	hold->settings = settings;
	hold->report = (struct report){ .logger = logger,
					.program = settings->program,
					.drain = &hold->drain,
					.traffic = &hold->traffic,
					.coordinator = &hold->cluster.coordinator,
					.began = now };
	hold->next_poll = hold->events_from = now;
	hold->next_progress = now + progress_interval_ms;
	hold->ready_since = NAN;
	hold->good_at = now;
	hold->forced = hold->order_missed = hold->overrule_reported = false;
	drain_init(&hold->drain, &settings->decision);
	trace_begin(&hold->recording, why ? settings->recording : NULL, why, logger, &hold->drain.config, terminated_at);
	hold->teller = (struct teller){ .drain = &hold->drain, .trace = &hold->recording, .last_arrival = NAN,
					.config = &hold->drain.config, .convergence = drain_convergence(&hold->drain.config),
					.release = &hold->drain.release };
	traffic_begin(&hold->traffic, &settings->traffic, &hold->teller, baseline, now);
	if (traffic_port_is_silent(&hold->traffic))
		log_line(logger, LOG_WARNING, "nothing listens on --port %u: %s", settings->traffic.ports.ports[0],
		    sockets_are_elsewhere(&hold->traffic.sockets) ? "the program's other ports are watched instead"
						      : "no other port of the program was found, either");
	pressure_begin(&hold->pressure);
	tell(&hold->teller, &(struct observation){ .type = SEEN_TERMINATION, .at = terminated_at });
	decide_now(hold, now);
	cluster_begin(&hold->cluster, why ? &settings->place : NULL, logger, now);
	tell_coordinator(hold, false, now);
	hold->order_events = order_watch(&settings->order);
	if (!in_kubernetes())
		warn_of_host_network(settings, logger);
}

void hold_descriptors(const struct hold *hold, double now, struct pollfd descriptors[HOLD_DESCRIPTORS])
{
	int events = now >= hold->events_from ? hold->traffic.sockets.events : -1;
	descriptors[0] = (struct pollfd){ .fd = events, .events = POLLIN };
	descriptors[1] = (struct pollfd){ .fd = hold->order_events, .events = POLLIN };
	coordinator_descriptors(&hold->cluster.coordinator, now, descriptors + 2);
}

int hold_timeout(const struct hold *hold, double now)
{
	double wanted = hold->report.decision.stop ? hold->good_at : hold->report.decision.until;
	double until = hold->next_poll;
	/* Where a stop waits for a file only, there is nothing to do before the counters are polled again. */
	if (wanted < until && !(hold->report.decision.stop && wanted <= now))
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
	/* The cap counts from the termination. An earlier hook may have used a part of it. */
	bool late = now >= fmin(hold->report.began + hold->settings->order_timeout, hold->drain.terminated_at + hold->drain.config.cap);
	if (late && !hold->order_missed)
		log_line(hold->report.logger, LOG_WARNING, "waited for %s in vain", missing);
	hold->order_missed = hold->order_missed || late;
	return late;
}

/*
 * The decision allows to stop. The pod does not stop on the evidence of a second ago, nor while a connection is about to be attributed. Where pools left
 * no gap, it does not stop in the middle of their requests if possible: not all software answers them then.
 */
static bool is_good_moment(struct hold *hold, double now)
{
	struct traffic *traffic = &hold->traffic;
	if (now >= hold->drain.terminated_at + hold->drain.config.cap)
		return true;
	if (now - traffic->sockets.dumped > traffic->dump_cost_ms * fresh_for_costs) {
		traffic_dump_sockets(traffic, now);
		decide(hold, now);
		if (!hold->report.decision.stop) {
			hold->ready_since = NAN;
			return false;
		}
	}
	if (isnan(hold->ready_since))
		hold->ready_since = now;
	hold->good_at = traffic_settles_at(traffic);
	if (traffic->sockets.pools_busy > 0 && now - hold->ready_since < longest_wait_for_pools_ms)
		hold->good_at = fmax(hold->good_at, now + fmax(between_requests_ms, traffic->dump_cost_ms * fresh_for_costs));
	return now >= hold->good_at;
}

static void give_up(struct hold *hold, const char *why, double now)
{
	hold->report.ended_by = why;
	tell(&hold->teller, &(struct observation){ .type = SEEN_FORCE, .at = now });
}

void hold_force(struct hold *hold, const char *why, double now)
{
	hold->forced = true;
	give_up(hold, why, now);
}

static void ask_cluster(struct hold *hold, double now)
{
	bool is_new = cluster_step(&hold->cluster, &hold->teller, now);
	if (is_new)
		traffic_dump_soon(&hold->traffic);
	if (hold->cluster.coordinator.ends_hold && !hold->forced)
		hold_force(hold, "the coordinator was asked to end it", now);
	if (hold->drain.release.overruled && !hold->overrule_reported) {
		hold->overrule_reported = true;
		tell_coordinator(hold, false, now);
	}
}

static void observe(struct hold *hold, double now)
{
	struct traffic *traffic = &hold->traffic;
	uint64_t ended = traffic->sockets.ended;
	traffic_poll_counters(traffic, now);
	if (pressure_is_high(&hold->pressure, now))
		tell(&hold->teller, &(struct observation){ .type = SEEN_BUSY, .at = now });
	ask_cluster(hold, now);
	hold->events_from = traffic->sockets.ended == ended ? now : now + event_interval_ms;
	if (now >= hold->next_poll)
		hold->next_poll = now + poll_interval_ms;
	if (now >= traffic->next_dump)
		traffic_dump_sockets(traffic, now);
	decide(hold, now);
	if (!hold->report.decision.stop && hold->report.decision.waiting_for == WAIT_IN_FLIGHT)
		traffic_dump_soon(traffic);
	if (hold->settings->trace && now >= hold->next_progress) {
		report_now(&hold->report, now);
		hold->next_progress += progress_interval_ms;
	}
}

bool hold_step(struct hold *hold, double now)
{
	if (hold->order_events >= 0)
		order_drain(hold->order_events);
	observe(hold, now);
	if (!hold->report.decision.stop && !traffic_possible(&hold->traffic))
		give_up(hold, "nothing listens", now);
	else if (!hold->report.decision.stop && sockets_are_stuck(&hold->traffic.sockets))
		give_up(hold, "the program has accepted no connection for 20s", now);
	if (hold->report.ended_by) {
		decide(hold, now);
		/* A sidecar without traffic of its own still waits for the containers that have some. */
		return hold->forced || order_allows(hold, now);
	}
	return hold->report.decision.stop && order_allows(hold, now) && is_good_moment(hold, now);
}

void hold_log_begin(const struct hold *hold, const char *why, double now)
{
	report_begin(&hold->report, why, now);
}

void hold_end(struct hold *hold, const char *and_then, double now)
{
	report_end(&hold->report, and_then, now);
	coordinator_stop_asking(&hold->cluster.coordinator, now + end_reported_for_ms);
	tell_coordinator(hold, true, now);
	coordinator_step(&hold->cluster.coordinator, now);
	trace_end(&hold->recording, report_reason(&hold->report), now);
	traffic_end(&hold->traffic);
	drain_free(&hold->drain);
	if (hold->order_events >= 0)
		close(hold->order_events);
	hold->order_events = -1;
}

bool hold_is_reporting(const struct hold *hold, double now)
{
	return coordinator_is_reporting(&hold->cluster.coordinator, now);
}

void hold_report_step(struct hold *hold, double now)
{
	coordinator_step(&hold->cluster.coordinator, now);
	if (!hold_is_reporting(hold, now))
		coordinator_end(&hold->cluster.coordinator);
}

void hold_await_report(struct hold *hold)
{
	struct pollfd polled[HOLD_DESCRIPTORS];
	const struct coordinator *coordinator = &hold->cluster.coordinator;
	double now = clock_now(), until = now + longest_report_ms;
	bool answers = coordinator->status.state != STATUS_NOTHING && !coordinator->silent;
	while (answers && now < until && hold_is_reporting(hold, now)) {
		hold_descriptors(hold, now, polled);
		poll(polled, HOLD_DESCRIPTORS, (int)ceil(until - now));
		now = clock_now();
		hold_report_step(hold, now);
	}
	coordinator_end(&hold->cluster.coordinator);
}
