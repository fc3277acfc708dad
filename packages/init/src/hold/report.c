#include "report.h"

#include "../base/text.h"
#include "../decision/duration.h"
#include "timeline.h"

#include <math.h>
#include <string.h>

enum { MOST_SENDERS_REPORTED = 64 };

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

const char *report_reason(const struct report *report)
{
	return stop_reason_names[report->decision.stop ? report->decision.reason : STOP_FORCED];
}

/* Why the hold took as long as it did, and that its silence may be no silence of senders. */
static void add_words(struct writer *text, const struct report *report, const struct explanation *explanation, double now)
{
	const struct sockets *sockets = &report->traffic->sockets;
	timeline_add(text, report->drain, &report->coordinator->status, explanation, now);
	if (traffic_is_cut(report->traffic))
		text_add(text, ", the network was cut: %zu of %zu connections acknowledge nothing",
		    sockets->resent, sockets->open);
}

static void add_timeline_fields(struct writer *text, const struct report *report, const struct explanation *explanation, double now)
{
	char timeline[384], escaped[512];
	struct writer words = { timeline, sizeof timeline };
	add_words(&words, report, explanation, now);
	if (traffic_is_cut(report->traffic))
		text_add(text, ",\"network\":\"cut\"");
	text_add(text, ",\"explanation\":\"%s\"", json_escape(timeline, escaped, sizeof escaped));
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

/* A coordinator that has not answered in a hold of this length is reported as silent. */
static const double answer_due_ms = 500;

static bool is_silent(const struct report *report, double now)
{
	const struct coordinator *coordinator = report->coordinator;
	return coordinator->silent || (coordinator->status.state == STATUS_NOTHING && now - report->began >= answer_due_ms);
}

static const char *state_of_cluster(const struct report *report, double now)
{
	return is_silent(report, now) ? "silent" : status_state_names[report->coordinator->status.state];
}

static void add_cluster_fields(struct writer *text, const struct report *report, double now)
{
	const struct status *status = &report->coordinator->status;
	const struct release *release = &report->drain->release;
	char escaped[2 * STATUS_NAMES];
	if (!report->coordinator->on)
		return;
	text_add(text, ",\"cluster\":\"%s\",\"consumers\":\"%u/%u\"", state_of_cluster(report, now), status->reported, status->relevant);
	if (*status->behind)
		text_add(text, ",\"behind\":\"%s\"", json_escape(status->behind, escaped, sizeof escaped));
	if (release->given)
		text_add(text, ",\"released_ms\":%.0f", release->given_at - report->drain->terminated_at);
	if (release->overruled)
		text_add(text, ",\"overruled_by\":\"%s\"", json_escape(release->overruled_by, escaped, sizeof escaped));
}

/* "; the cluster: waiting, 4/5 senders, behind: kube-proxy/node5". */
static void add_cluster(struct writer *text, const struct report *report, double now)
{
	const struct status *status = &report->coordinator->status;
	if (!report->coordinator->on)
		return;
	text_add(text, "; the cluster: %s", state_of_cluster(report, now));
	if (status->relevant > 0)
		text_add(text, ", %u/%u senders", status->reported, status->relevant);
	if (*status->behind)
		text_add(text, ", behind: %s", status->behind);
}

static void add_counts(struct writer *text, const struct report *report, double now)
{
	const struct traffic *traffic = report->traffic;
	text_add(text,
	    ",\"connections\":%.0f,\"bytes\":%.0f,\"in_flight\":%.0f,\"open\":%zu,\"probes\":%.0f,\"expected_loss\":%.6g",
	    traffic->teller->connections, traffic->sockets.bytes, traffic->in_flight, traffic->sockets.open, traffic->arrivals.probes_seen,
	    drain_expected_loss(report->drain, now));
}

static void fields_of_end(const struct report *report, const struct explanation *explanation, char *buffer, size_t size, double now)
{
	const struct traffic *traffic = report->traffic;
	struct writer text = { buffer, size };
	char escaped[128];
	text_add(&text, "\"event\":\"hold-ended\",\"reason\":\"%s\"", report_reason(report));
	if (report->ended_by)
		text_add(&text, ",\"because\":\"%s\"", json_escape(report->ended_by, escaped, sizeof escaped));
	text_add(&text, ",\"hold_ms\":%.0f,\"requests\":%.0f", now - report->began, report->drain->requests);
	add_counts(&text, report, now);
	if (!isnan(traffic->teller->last_arrival))
		text_add(&text, ",\"last_arrival_ms\":%.0f", traffic->teller->last_arrival - report->began);
	if (!isnan(traffic->before.counted_rate))
		text_add(&text, ",\"rate_before\":%.3g", traffic->before.counted_rate);
	const char *quote = traffic_evidence(traffic) ? "\"" : "";
	text_add(&text, ",\"evidence\":[%s", quote);
	add_evidence(&text, traffic_evidence(traffic), "\",\"");
	text_add(&text, "%s]", quote);
	add_timeline_fields(&text, report, explanation, now);
	add_cluster_fields(&text, report, now);
}

void report_begin(const struct report *report, const char *why, double now)
{
	char fields[128], line[128], most[32];
	struct writer text = { line, sizeof line }, field = { fields, sizeof fields };
	double left = fmax(0, report->drain->terminated_at + report->drain->config.cap - now);
	text_add(&text, "%s: holding until traffic has moved away, for %s at most", why,
	    format_duration(floor(left), most, sizeof most));
	text_add(&field, "\"event\":\"hold-began\",\"on\":\"%s\",\"most_ms\":%.0f", why, left);
	log_with(report->logger, LOG_NOTE, fields, line);
}

void report_end(const struct report *report, const char *and_then, double now)
{
	const struct traffic *traffic = report->traffic;
	const struct explanation explanation = drain_explain(report->drain, now);
	char fields[2048], line[1024], duration[32];
	struct writer text = { line, sizeof line };
	text_add(&text, "held for %s, %s", format_duration(floor(now - report->began), duration, sizeof duration),
	    report_reason(report));
	if (report->ended_by)
		text_add(&text, " (%s)", report->ended_by);
	text_add(&text, ": ");
	add_words(&text, report, &explanation, now);
	text_add(&text, "; %.0f new connection%s and ", traffic->teller->connections,
	    traffic->teller->connections == 1 ? "" : "s");
	add_bytes(&text, traffic->sockets.bytes);
	text_add(&text, " received meanwhile");
	if (!isnan(traffic->teller->last_arrival))
		text_add(&text, ", last arrival %s before the end",
		    format_duration(floor(now - traffic->teller->last_arrival), duration, sizeof duration));
	text_add(&text, ", %.0f in flight, %zu open; %s", traffic->in_flight, traffic->sockets.open, and_then);
	if (report->coordinator->on && is_silent(report, now))
		text_add(&text, "; the cluster: silent, no answer of %s", report->coordinator->place->url);
	if (!traffic_evidence(traffic))
		text_add(&text, " (no evidence: nothing tells of our ports, so only the floor was held)");
	fields_of_end(report, &explanation, fields, sizeof fields, now);
	log_with(report->logger, LOG_NOTE, fields, line);
}

void report_now(const struct report *report, double now)
{
	const struct traffic *traffic = report->traffic;
	char line[1024], fields[1280], held[32], until[32];
	struct writer text = { line, sizeof line };
	format_duration(floor(now - report->began), held, sizeof held);
	text_add(&text, "%s: %.0f new, %zu open, %.0f in flight, ", held, traffic->teller->connections,
	    traffic->sockets.open, traffic->in_flight);
	add_bytes(&text, traffic->sockets.bytes);
	text_add(&text, " received, %zu senders, %.0f probes, expected loss %.4g", report->drain->senders.count,
	    traffic->arrivals.probes_seen, drain_expected_loss(report->drain, now));
	const struct explanation explanation = drain_explain(report->drain, now);
	text_add(&text, "; ");
	add_words(&text, report, &explanation, now);
	if (!report->decision.stop)
		text_add(&text, ", until %s at %s",
		    format_duration(report->decision.until - report->began, until, sizeof until),
		    report->decision.waiting_for == WAIT_IN_FLIGHT ? "the latest" : "the earliest");
	add_cluster(&text, report, now);
	text_add(&text, "; sees ");
	add_evidence(&text, traffic_evidence(traffic), ", ");
	struct writer field = { fields, sizeof fields };
	text_add(&field, "\"event\":\"seen\",\"held_ms\":%.0f,\"senders\":%zu", now - report->began,
	    report->drain->senders.count);
	add_counts(&field, report, now);
	add_cluster_fields(&field, report, now);
	log_with(report->logger, LOG_NOTE, fields, line);
}

static void add_hold(struct writer *text, const struct report *report, const char *phase)
{
	const struct drain_config *config = &report->drain->config;
	text_add(text, "phase: %s\nprogram: %s\npolicy: %s\nfloor-ms: %.0f\n", phase, report->program,
		 policy_names[config->policy], config->floor);
	if (report->drain->release.overruled)
		text_add(text, "overruled: %s\n", report->drain->release.overruled_by);
}

/* Addresses alone: socket files and unattributed connections have none. */
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

static void add_end(struct writer *text, const struct report *report, double now)
{
	const struct teller *teller = report->traffic->teller;
	const struct explanation explanation = drain_explain(report->drain, now);
	char timeline[384] = "";
	struct writer words = { timeline, sizeof timeline };
	add_words(&words, report, &explanation, now);
	text_add(text, "reason: %s\nheld-ms: %.0f\nconnections: %.0f\nrequests: %.0f\noldest-wait: %s\n", report_reason(report),
		 now - report->began, teller->connections, report->drain->requests, timeline);
	if (!isnan(teller->last_arrival))
		text_add(text, "last-arrival-ms: %.0f\n", now - teller->last_arrival);
}

void report_message(const struct report *report, bool ended, char message[MOST_MESSAGE], double now)
{
	struct writer text = { message, MOST_MESSAGE };
	add_hold(&text, report, ended ? "closing" : "lame-duck");
	if (ended)
		add_end(&text, report, now);
	add_senders(&text, &report->drain->senders);
}
