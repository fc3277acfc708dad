#include "report.h"

#include "../base/text.h"
#include "../decision/duration.h"
#include "course.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void add_evidence(struct writer *text, unsigned evidence, const char *separator)
{
	static const struct {
		unsigned bit;
		const char *name;
	} kinds[] = {
		{ EVIDENCE_COUNTERS, "counters" },
		{ EVIDENCE_SOCKETS, "sockets" },
		{ EVIDENCE_DIAG, "tcp-info" },
		{ EVIDENCE_EVENTS, "events" },
	};
	const char *before = "";
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (evidence & kinds[i].bit) {
			text_add(text, "%s%s", before, kinds[i].name);
			before = separator;
		}
}

static void add_bytes(struct writer *text, double bytes)
{
	if (bytes < 10e3)
		text_add(text, "%.0f B", bytes);
	else if (bytes < 10e6)
		text_add(text, "%.1f kB", bytes / 1e3);
	else
		text_add(text, "%.1f MB", bytes / 1e6);
}

const char *report_reason(const struct hold *hold)
{
	return stop_reason_names[hold->decision.stop ? hold->decision.reason : STOP_FORCED];
}

static void add_course_fields(struct writer *text, const struct hold *hold, const struct explanation *explanation, double now)
{
	char course[256], escaped[384];
	struct writer words = { course, sizeof course };
	course_add(&words, hold, explanation, now);
	text_add(text, ",\"explanation\":\"%s\"", json_escape(course, escaped, sizeof escaped));
	if (explanation->pending.sender)
		text_add(text, ",\"waited_for\":\"%s\",\"waited_for_rate\":%.3g",
		    json_escape(explanation->pending.sender, escaped, sizeof escaped), explanation->pending.rate * 1000);
	const char *before = ",\"met_ms\":{";
	for (int kind = 0; kind < WAIT_KINDS; kind++)
		if (isfinite(explanation->met_at[kind])) {
			text_add(text, "%s\"%s\":%.0f", before, waiting_for_names[kind], explanation->met_at[kind]);
			before = ",";
		}
	if (strcmp(before, ",") == 0)
		text_add(text, "}");
	text_add(text, ",\"unmet\":[");
	before = "";
	for (int kind = 0; kind < WAIT_KINDS; kind++)
		if (isinf(explanation->met_at[kind])) {
			text_add(text, "%s\"%s\"", before, waiting_for_names[kind]);
			before = ",";
		}
	text_add(text, "]");
}

/* ms: whoever has not answered in a hold of this length is silent, also before that is certain. */
static const double answer_due = 500;

static bool is_silent(const struct hold *hold, double now)
{
	const struct coordinator *coordinator = &hold->coordinator;
	return coordinator->silent || (coordinator->status.state == STATUS_NOTHING && now - hold->began >= answer_due);
}

static const char *state_of_cluster(const struct hold *hold, double now)
{
	return is_silent(hold, now) ? "silent" : status_state_names[hold->coordinator.status.state];
}

static void add_cluster_fields(struct writer *text, const struct hold *hold, double now)
{
	const struct status *status = &hold->coordinator.status;
	const struct release *release = &hold->drain.release;
	char escaped[2 * STATUS_NAMES];
	if (!hold->coordinator.on)
		return;
	text_add(text, ",\"cluster\":\"%s\",\"consumers\":\"%u/%u\"", state_of_cluster(hold, now), status->reported, status->relevant);
	if (*status->behind)
		text_add(text, ",\"behind\":\"%s\"", json_escape(status->behind, escaped, sizeof escaped));
	if (release->given)
		text_add(text, ",\"released_ms\":%.0f", release->given_at - hold->drain.terminated_at);
	if (release->overruled)
		text_add(text, ",\"overruled_by\":\"%s\"", json_escape(release->overruled_by, escaped, sizeof escaped));
}

/* "; the cluster: waiting, 4/5 consumers, behind: kube-proxy/node5". */
static void add_cluster(struct writer *text, const struct hold *hold, double now)
{
	const struct status *status = &hold->coordinator.status;
	if (!hold->coordinator.on)
		return;
	text_add(text, "; the cluster: %s", state_of_cluster(hold, now));
	if (status->relevant > 0)
		text_add(text, ", %u/%u consumers", status->reported, status->relevant);
	if (*status->behind)
		text_add(text, ", behind: %s", status->behind);
}

static void add_counts(struct writer *text, const struct hold *hold, double now)
{
	const struct traffic *traffic = &hold->traffic;
	text_add(text,
	    ",\"connections\":%.0f,\"bytes\":%.0f,\"in_flight\":%.0f,\"open\":%zu,\"probes\":%.0f,\"expected_loss\":%.6g",
	    traffic->connections_seen, traffic->bytes, traffic->in_flight, traffic->open, traffic->probes_seen,
	    drain_expected_loss(&hold->drain, now));
}

static void fields_of_end(const struct hold *hold, const struct explanation *explanation, char *buffer, size_t size, double now)
{
	const struct traffic *traffic = &hold->traffic;
	struct writer text = { buffer, size };
	char escaped[128];
	text_add(&text, "\"event\":\"hold-ended\",\"reason\":\"%s\"", report_reason(hold));
	if (hold->ended_by)
		text_add(&text, ",\"because\":\"%s\"", json_escape(hold->ended_by, escaped, sizeof escaped));
	text_add(&text, ",\"hold_ms\":%.0f,\"requests\":%.0f", now - hold->began, hold->drain.requests);
	add_counts(&text, hold, now);
	if (!isnan(traffic->last_arrival))
		text_add(&text, ",\"last_arrival_ms\":%.0f", traffic->last_arrival - hold->began);
	if (!isnan(traffic->rate_before))
		text_add(&text, ",\"rate_before\":%.3g", traffic->rate_before);
	const char *quote = traffic->evidence ? "\"" : "";
	text_add(&text, ",\"evidence\":[%s", quote);
	add_evidence(&text, traffic->evidence, "\",\"");
	text_add(&text, "%s]", quote);
	add_course_fields(&text, hold, explanation, now);
	add_cluster_fields(&text, hold, now);
}

void report_begin(const struct hold *hold, const char *why, double now)
{
	char fields[128], line[128], most[32];
	struct writer text = { line, sizeof line }, field = { fields, sizeof fields };
	double left = fmax(0, hold->drain.terminated_at + hold->settings->decision.cap - now);
	text_add(&text, "%s: holding until traffic has moved away, for %s at most", why,
	    format_duration(floor(left), most, sizeof most));
	text_add(&field, "\"event\":\"hold-began\",\"on\":\"%s\",\"most_ms\":%.0f", why, left);
	log_with(hold->logger, LOG_NOTE, fields, line);
}

void report_end(const struct hold *hold, const char *and_then, double now)
{
	const struct traffic *traffic = &hold->traffic;
	const struct explanation explanation = drain_explain(&hold->drain, now);
	char fields[2048], line[1024], duration[32];
	struct writer text = { line, sizeof line };
	text_add(&text, "held for %s, %s", format_duration(floor(now - hold->began), duration, sizeof duration),
	    report_reason(hold));
	if (hold->ended_by)
		text_add(&text, " (%s)", hold->ended_by);
	text_add(&text, ": ");
	course_add(&text, hold, &explanation, now);
	text_add(&text, "; %.0f new connection%s and ", traffic->connections_seen,
	    traffic->connections_seen == 1 ? "" : "s");
	add_bytes(&text, traffic->bytes);
	text_add(&text, " received meanwhile");
	if (!isnan(traffic->last_arrival))
		text_add(&text, ", last arrival %s before the end",
		    format_duration(floor(now - traffic->last_arrival), duration, sizeof duration));
	text_add(&text, ", %.0f in flight, %zu open; %s", traffic->in_flight, traffic->open, and_then);
	if (hold->coordinator.on && is_silent(hold, now))
		text_add(&text, "; the cluster: silent, no answer of %s", hold->coordinator.place->url);
	if (!traffic->evidence)
		text_add(&text, " (no evidence: nothing tells of our ports, so only the floor was held)");
	fields_of_end(hold, &explanation, fields, sizeof fields, now);
	log_with(hold->logger, LOG_NOTE, fields, line);
}

void report_now(const struct hold *hold, double now)
{
	const struct traffic *traffic = &hold->traffic;
	char line[1024], fields[1280], held[32], until[32];
	struct writer text = { line, sizeof line };
	format_duration(floor(now - hold->began), held, sizeof held);
	text_add(&text, "%s: %.0f new, %zu open, %.0f in flight, ", held, traffic->connections_seen,
	    traffic->open, traffic->in_flight);
	add_bytes(&text, traffic->bytes);
	text_add(&text, " received, %zu senders, %.0f probes, expected loss %.4g", hold->drain.senders.count,
	    traffic->probes_seen, drain_expected_loss(&hold->drain, now));
	const struct explanation explanation = drain_explain(&hold->drain, now);
	text_add(&text, "; ");
	course_add(&text, hold, &explanation, now);
	if (!hold->decision.stop)
		text_add(&text, ", until %s at %s",
		    format_duration(hold->decision.until - hold->began, until, sizeof until),
		    hold->decision.waiting_for == WAIT_IN_FLIGHT ? "the latest" : "the earliest");
	add_cluster(&text, hold, now);
	text_add(&text, "; sees ");
	add_evidence(&text, traffic->evidence, ", ");
	struct writer field = { fields, sizeof fields };
	text_add(&field, "\"event\":\"seen\",\"held_ms\":%.0f,\"senders\":%zu", now - hold->began,
	    hold->drain.senders.count);
	add_counts(&field, hold, now);
	add_cluster_fields(&field, hold, now);
	log_with(hold->logger, LOG_NOTE, fields, line);
}
