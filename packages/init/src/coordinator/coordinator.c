#include "coordinator.h"

#include "../base/random.h"
#include "../base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The coordinator may delay its answer for WAIT_SECONDS. A coordinator that has not answered this much later has stopped. */
enum { WAIT_SECONDS = 5 };
static const double late_answer_ms = 2000;
static const double report_timeout_ms = 2000;
/* The pause before the next try is about this. It doubles with each failure. */
static const double first_pause_ms = 200;
static const double longest_pause_ms = 4000;
static const double first_report_pause_ms = 50;
/*
 * A Service may lead to a dead coordinator for a moment, so one failure is no silence yet. Three failures are a silence, and so is a second without
 * an answer after a failure.
 */
enum { MOST_FAILURES = 3 };
static const double longest_failing_ms = 1000;
/* A lookup that takes longer counts as silence. */
static const double longest_lookup_ms = 1000;
/* Between two questions, however soon the answer comes. */
static const double least_pause_ms = 250;
/* After a release the pod stops soon, so that there is little to ask. */
static const double pause_once_released_ms = 1000;

void coordinator_begin(struct coordinator *coordinator, const struct coordinator_place *place, const struct logger *logger, double now)
{
	coordinator->place = place;
	coordinator->logger = logger;
	coordinator->on = place->url != NULL;
	coordinator->found = coordinator->looking_up = coordinator->silent = coordinator->version_noted = false;
	coordinator->ends_hold = false;
	coordinator->status = (struct status){ .state = STATUS_NOTHING, .released = NAN, .consistency = place->consistency };
	coordinator->seen = STATUS_NOTHING;
	coordinator->assumed_until = -INFINITY;
	coordinator->turn = coordinator->failures = 0;
	coordinator->ask_at = coordinator->find_at = now;
	coordinator->report_until = INFINITY;
	coordinator->message[0] = '\0';
	coordinator->lookup.fd = coordinator->asking.fd = coordinator->reporting.fd = -1;
}

static void note_failure(struct coordinator *coordinator, const char *what)
{
	log_line(coordinator->logger, LOG_DETAIL, "coordinator %s: %s", coordinator->place->url, what);
	coordinator->turn++;
}

/* A random factor from 0.5 to 1.5: pods that lost the same coordinator do not all come at once. */
static double about(double pause)
{
	return pause * (0.5 + random_number() / (double)UINT32_MAX);
}

static void unanswered(struct coordinator *coordinator, const char *what, double now)
{
	note_failure(coordinator, what);
	if (coordinator->failures++ == 0)
		coordinator->failing_since = now;
	coordinator->ask_at = now + about(fmin(longest_pause_ms, ldexp(first_pause_ms, (int)coordinator->failures - 1)));
	if (coordinator->failures < MOST_FAILURES)
		return;
	coordinator->silent = true;
	/* Its addresses may have changed. */
	coordinator->found = false;
	coordinator->find_at = coordinator->ask_at;
}

static void not_understood(struct coordinator *coordinator, double now)
{
	unsigned version = status_other_version(coordinator->answer.body);
	if (version > 0 && !coordinator->version_noted) {
		coordinator->version_noted = true;
		log_line(coordinator->logger, LOG_WARNING,
			 "coordinator %s speaks version %u of the protocol, and lameduck-init version 1: it counts as silent; use releases one apart",
			 coordinator->place->url, version);
	}
	unanswered(coordinator, "an answer that is not understood", now);
}

/* Looks up the coordinator's addresses, as often as needed. */
static void find(struct coordinator *coordinator, double now)
{
	if (coordinator->found || now < coordinator->find_at)
		return;
	if (!coordinator->looking_up) {
		lookup_begin(&coordinator->lookup, coordinator->place->host);
		coordinator->lookup_began = now;
	}
	coordinator->looking_up = false;
	switch (lookup_step(&coordinator->lookup, now)) {
	case LOOKUP_GOING:
		coordinator->looking_up = true;
		coordinator->silent = coordinator->silent || now - coordinator->lookup_began > longest_lookup_ms;
		break;
	case LOOKUP_FOUND:
		coordinator->found = true;
		break;
	case LOOKUP_FAILED:
		coordinator->silent = true;
		unanswered(coordinator, "no address", now);
		coordinator->find_at = coordinator->ask_at;
		break;
	}
}

static struct writer request_line(const struct coordinator *coordinator, struct exchange *exchange, const char *method,
				  const char *more)
{
	const struct coordinator_place *place = coordinator->place;
	struct writer text = { exchange->request, sizeof exchange->request };
	text_add(&text, "%s /v1/pods/%s/%s?uid=%s%s HTTP/1.1\r\nHost: %.*s\r\nConnection: close\r\n", method,
		 place->pod_namespace, place->pod, place->pod_uid, more, place->authority_length, place->authority);
	return text;
}

static bool begin(struct coordinator *coordinator, struct exchange *exchange, const struct writer *request, double timeout_ms,
		  double now)
{
	const struct addresses *found = &coordinator->lookup.found;
	size_t length = (size_t)(request->at - exchange->request);
	return exchange_begin(exchange, &found->all[coordinator->turn % found->count], coordinator->place->port, length, timeout_ms,
			      now);
}

static void ask(struct coordinator *coordinator, double now)
{
	char query[64] = "&wait=0";
	/* After a failure the question is for the state as it is. Another coordinator may answer, which does not know `seen`. */
	bool at_once = coordinator->seen == STATUS_NOTHING || coordinator->failures > 0 || coordinator->silent;
	if (!at_once)
		snprintf(query, sizeof query, "&wait=%d&seen=%s", WAIT_SECONDS, status_state_names[coordinator->seen]);
	struct writer request = request_line(coordinator, &coordinator->asking, "GET", query);
	text_add(&request, "\r\n");
	coordinator->ask_at = now + least_pause_ms;
	if (!begin(coordinator, &coordinator->asking, &request, (at_once ? 0 : WAIT_SECONDS * 1000) + late_answer_ms, now))
		unanswered(coordinator, "no connection", now);
}

static void report_failed(struct coordinator *coordinator, double now)
{
	note_failure(coordinator, "report not taken");
	coordinator->report_at = now + coordinator->report_pause;
	coordinator->report_pause = fmin(longest_pause_ms, 2 * coordinator->report_pause);
}

static void send_report(struct coordinator *coordinator, double now)
{
	struct writer request = request_line(coordinator, &coordinator->reporting, "POST", "");
	text_add(&request, "Content-Type: text/plain\r\nContent-Length: %zu\r\n\r\n%s", strlen(coordinator->message),
		 coordinator->message);
	if (!begin(coordinator, &coordinator->reporting, &request, report_timeout_ms, now))
		report_failed(coordinator, now);
}

/* A release stays valid, though another replica may not know of it yet. It ends only when the pod is published again. */
static bool keeps_release(const struct status *before, const struct status *status)
{
	return before->state == STATUS_RELEASED && status->state != STATUS_RELEASED && status->withdrawn;
}

static void take(struct coordinator *coordinator, const struct status *status, double now)
{
	coordinator->seen = status->state;
	if (status->assumed > 0)
		coordinator->assumed_until = fmax(coordinator->assumed_until, now + status->assumed);
	if (status->state == STATUS_RELEASED)
		coordinator->ask_at = now + pause_once_released_ms;
	if (!keeps_release(&coordinator->status, status))
		coordinator->status = *status;
}

static void take_answer(struct coordinator *coordinator, double now)
{
	struct status status = { .consistency = coordinator->status.consistency };
	switch (exchange_step(&coordinator->asking, &coordinator->answer, now)) {
	case EXCHANGE_ANSWERED:
		if (coordinator->answer.status != 200 || !status_parse(coordinator->answer.body, &status)) {
			not_understood(coordinator, now);
			break;
		}
		/* A request to end the hold counts even where the state is unknown. */
		coordinator->ends_hold = coordinator->ends_hold || status.end;
		/* Another replica may know the pod. */
		if (status.state == STATUS_UNKNOWN) {
			unanswered(coordinator, status.behind[0] ? status.behind : "the state is unknown", now);
			break;
		}
		take(coordinator, &status, now);
		coordinator->failures = 0;
		coordinator->silent = false;
		break;
	case EXCHANGE_FAILED:
		unanswered(coordinator, "no answer", now);
		break;
	case EXCHANGE_IDLE:
		if (coordinator->found && now >= coordinator->ask_at)
			ask(coordinator, now);
		break;
	case EXCHANGE_GOING:
		break;
	}
	if (coordinator->failures > 0 && now - coordinator->failing_since > longest_failing_ms)
		coordinator->silent = true;
}

static void say(struct coordinator *coordinator, double now)
{
	switch (exchange_step(&coordinator->reporting, &coordinator->answer, now)) {
	case EXCHANGE_ANSWERED:
		if (coordinator->answer.status != 200) {
			report_failed(coordinator, now);
			break;
		}
		coordinator->message[0] = '\0';
		break;
	case EXCHANGE_FAILED:
		report_failed(coordinator, now);
		break;
	case EXCHANGE_IDLE:
		if (coordinator->found && coordinator->message[0] && now >= coordinator->report_at)
			send_report(coordinator, now);
		break;
	case EXCHANGE_GOING:
		break;
	}
}

void coordinator_step(struct coordinator *coordinator, double now)
{
	if (!coordinator->on)
		return;
	find(coordinator, now);
	take_answer(coordinator, now);
	say(coordinator, now);
}

void coordinator_descriptors(const struct coordinator *coordinator, double now,
			     struct pollfd descriptors[COORDINATOR_DESCRIPTORS])
{
	const struct pollfd nothing = { .fd = -1 };
	descriptors[0] = descriptors[1] = nothing;
	if (!coordinator->on)
		return;
	descriptors[0] = exchange_descriptor(&coordinator->asking, now);
	descriptors[1] = exchange_descriptor(&coordinator->reporting, now);
	if (coordinator->looking_up)
		descriptors[0] = (struct pollfd){ .fd = coordinator->lookup.fd, .events = POLLIN };
}

void coordinator_report(struct coordinator *coordinator, const char *message)
{
	if (!coordinator->on)
		return;
	exchange_end(&coordinator->reporting);
	snprintf(coordinator->message, sizeof coordinator->message, "%s", message);
	coordinator->report_at = -INFINITY;
	coordinator->report_pause = first_report_pause_ms;
}

void coordinator_stop_asking(struct coordinator *coordinator, double report_until)
{
	if (!coordinator->on)
		return;
	exchange_end(&coordinator->asking);
	coordinator->ask_at = INFINITY;
	coordinator->report_until = report_until;
}

bool coordinator_is_reporting(const struct coordinator *coordinator, double now)
{
	return coordinator->on && coordinator->message[0] && now < coordinator->report_until;
}

void coordinator_end(struct coordinator *coordinator)
{
	if (!coordinator->on)
		return;
	coordinator->on = false;
	lookup_end(&coordinator->lookup);
	exchange_end(&coordinator->asking);
	exchange_end(&coordinator->reporting);
}
