#include "cluster.h"

#include "../base/text.h"
#include "course.h"
#include "report.h"

#include <math.h>
#include <stdio.h>

enum { MOST_SENDERS_REPORTED = 64 };
/* ms for which the end is reported to a coordinator that does not answer. */
static const double end_reported_for = 2000;

static void add_hold(struct writer *text, const struct hold *hold, const char *phase)
{
	const struct drain_config *config = &hold->drain.config;
	text_add(text, "phase: %s\nprogram: %s\npolicy: %s\nfloor-ms: %.0f\n", phase, hold->settings->program,
		 policy_names[config->policy], config->floor);
	if (hold->drain.release.overruled)
		text_add(text, "overruled: %s\n", hold->drain.release.overruled_by);
}

/* Addresses alone: connections to socket files and those of unknown senders have none. */
static void add_senders(struct writer *text, const struct sender_table *senders)
{
	struct address address;
	size_t named = 0;
	for (size_t i = 0; i < senders->count && named < MOST_SENDERS_REPORTED; i++)
		if (address_parse(senders->senders[i].name, &address))
			text_add(text, "%s %s", named++ == 0 ? "senders:" : "", senders->senders[i].name);
	if (named > 0)
		text_add(text, "\n");
}

static void add_end(struct writer *text, const struct hold *hold, double now)
{
	const struct traffic *traffic = &hold->traffic;
	char course[256];
	text_add(text, "reason: %s\nheld-ms: %.0f\nconnections: %.0f\nrequests: %.0f\noldest-wait: %s\n", report_reason(hold),
		 now - hold->began, traffic->connections_seen, hold->drain.requests,
		 course_text(hold, course, sizeof course, now));
	if (!isnan(traffic->last_arrival))
		text_add(text, "last-arrival-ms: %.0f\n", now - traffic->last_arrival);
}

static void tell(struct hold *hold, bool ended, double now)
{
	char message[MOST_MESSAGE];
	struct writer text = { message, sizeof message };
	add_hold(&text, hold, ended ? "closing" : "lame-duck");
	if (ended)
		add_end(&text, hold, now);
	add_senders(&text, &hold->drain.senders);
	coordinator_report(&hold->coordinator, message);
}

void cluster_begin(struct hold *hold, bool real, double now)
{
	static const struct coordinator_place nobody;
	coordinator_begin(&hold->coordinator, real ? &hold->settings->place : &nobody, hold->logger, now);
	hold->cluster = CLUSTER_WAITS;
	hold->overrule_reported = false;
	if (hold->coordinator.on)
		tell(hold, false, now);
}

/*
 * A coordinator that falls silent does not withdraw its release: the pod's own evidence does. In the mode `consistency` the pod waits for an
 * answer, also of one that cannot release it yet, and does not stop on a release that an arrival has disproved.
 */
static enum cluster_says state_for_decision(const struct hold *hold)
{
	const struct coordinator *coordinator = &hold->coordinator;
	const struct status *status = &coordinator->status;
	if (hold->drain.release.overruled || (coordinator->silent && hold->cluster != CLUSTER_RELEASED))
		return status->consistency ? hold->cluster : CLUSTER_CANNOT_SAY;
	if (coordinator->silent)
		return CLUSTER_RELEASED;
	switch (status->state) {
	case STATUS_RELEASED:
		return CLUSTER_RELEASED;
	case STATUS_UNKNOWN:
	case STATUS_INCOMPLETE:
		return status->consistency ? CLUSTER_WAITS : CLUSTER_CANNOT_SAY;
	case STATUS_NOTHING:
	case STATUS_WAITING:
		break;
	}
	return CLUSTER_WAITS;
}

static void observe(struct hold *hold, double now)
{
	const struct status *status = &hold->coordinator.status;
	char consumers[32] = "";
	struct observation seen = { .type = SEEN_UNRELEASED, .at = now, .value = hold->cluster == CLUSTER_CANNOT_SAY };
	if (hold->cluster == CLUSTER_RELEASED) {
		if (status->relevant > 0)
			snprintf(consumers, sizeof consumers, "%u/%u", status->reported, status->relevant);
		seen = (struct observation){ .type = SEEN_RELEASED, .at = now - status->released, .name = status->last,
					     .consumers = consumers };
	}
	drain_observe(&hold->drain, seen);
	trace_observed(&hold->recording, &seen);
}

void cluster_step(struct hold *hold, double now)
{
	coordinator_step(&hold->coordinator, now);
	if (hold->coordinator.ends_hold && !hold->forced)
		hold_force(hold, "the coordinator was asked to end it", now);
	enum cluster_says says = state_for_decision(hold);
	if (says != hold->cluster) {
		hold->cluster = says;
		observe(hold, now);
		traffic_dump_soon(&hold->traffic);
	}
	if (hold->drain.release.overruled && !hold->overrule_reported) {
		hold->overrule_reported = true;
		tell(hold, false, now);
	}
}

void cluster_end(struct hold *hold, double now)
{
	coordinator_stop_asking(&hold->coordinator, now + end_reported_for);
	tell(hold, true, now);
	coordinator_step(&hold->coordinator, now);
}
