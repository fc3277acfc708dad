#include "report.h"

#include "../decision/duration.h"

#include <math.h>
#include <stdio.h>

/* Written by appending; what does not fit is cut. */
struct text {
	char *at;
	size_t left;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
	__builtin_va_list arguments;
	__builtin_va_start(arguments, format);
	int length = vsnprintf(text->at, text->left, format, arguments);
	__builtin_va_end(arguments);
	size_t taken = length < 0 ? 0 : (size_t)length < text->left ? (size_t)length : text->left - 1;
	text->at += taken;
	text->left -= taken;
}

static void add_evidence(struct text *text, unsigned evidence, const char *separator)
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
			add(text, "%s%s", before, kinds[i].name);
			before = separator;
		}
}

static void add_bytes(struct text *text, double bytes)
{
	if (bytes < 10e3)
		add(text, "%.0f B", bytes);
	else if (bytes < 10e6)
		add(text, "%.1f kB", bytes / 1e3);
	else
		add(text, "%.1f MB", bytes / 1e6);
}

static const char *reason_of(const struct hold *hold)
{
	return stop_reason_names[hold->decision.stop ? hold->decision.reason : STOP_FORCED];
}

static void add_counts(struct text *text, const struct hold *hold, double now)
{
	const struct traffic *traffic = &hold->traffic;
	add(text,
	    ",\"connections\":%.0f,\"bytes\":%.0f,\"in_flight\":%.0f,\"open\":%zu,\"probes\":%.0f,\"expected_loss\":%.6g",
	    traffic->connections_seen, traffic->bytes, traffic->in_flight, traffic->open, traffic->probes_seen,
	    drain_expected_loss(&hold->drain, now));
}

static void fields_of_end(const struct hold *hold, char *buffer, size_t size, double now)
{
	const struct traffic *traffic = &hold->traffic;
	struct text text = { buffer, size };
	char escaped[128];
	add(&text, "\"event\":\"hold-ended\",\"reason\":\"%s\"", reason_of(hold));
	if (hold->ended_by)
		add(&text, ",\"because\":\"%s\"", json_escape(hold->ended_by, escaped, sizeof escaped));
	add(&text, ",\"hold_ms\":%.0f,\"requests\":%.0f", now - hold->began, hold->drain.requests);
	add_counts(&text, hold, now);
	if (!isnan(traffic->last_arrival))
		add(&text, ",\"last_arrival_ms\":%.0f", traffic->last_arrival - hold->began);
	if (!isnan(traffic->rate_before))
		add(&text, ",\"rate_before\":%.3g", traffic->rate_before);
	const char *quote = traffic->evidence ? "\"" : "";
	add(&text, ",\"evidence\":[%s", quote);
	add_evidence(&text, traffic->evidence, "\",\"");
	add(&text, "%s]", quote);
}

void report_begin(const struct hold *hold, const char *why, double now)
{
	char fields[128], line[128], most[32];
	struct text text = { line, sizeof line }, field = { fields, sizeof fields };
	double left = fmax(0, hold->drain.terminated_at + hold->settings->decision.cap - now);
	add(&text, "%s: holding until traffic has moved away, for %s at most", why,
	    format_duration(floor(left), most, sizeof most));
	add(&field, "\"event\":\"hold-began\",\"on\":\"%s\",\"most_ms\":%.0f", why, left);
	log_with(hold->logger, LOG_NOTE, fields, line);
}

void report_end(const struct hold *hold, const char *and_then, double now)
{
	const struct traffic *traffic = &hold->traffic;
	char fields[768], line[768], duration[32];
	struct text text = { line, sizeof line };
	add(&text, "held for %s, %s", format_duration(floor(now - hold->began), duration, sizeof duration),
	    reason_of(hold));
	if (hold->ended_by)
		add(&text, " (%s)", hold->ended_by);
	add(&text, ": %.0f new connection%s and ", traffic->connections_seen,
	    traffic->connections_seen == 1 ? "" : "s");
	add_bytes(&text, traffic->bytes);
	add(&text, " received meanwhile");
	if (!isnan(traffic->last_arrival))
		add(&text, ", last arrival %s before the end",
		    format_duration(floor(now - traffic->last_arrival), duration, sizeof duration));
	add(&text, ", %.0f in flight, %zu open; %s", traffic->in_flight, traffic->open, and_then);
	if (!traffic->evidence)
		add(&text, " (no evidence: nothing tells of our ports, so only the floor was held)");
	fields_of_end(hold, fields, sizeof fields, now);
	log_with(hold->logger, LOG_NOTE, fields, line);
}

/* The sender whose silence proves least: the fewest of its usual gaps have passed. */
static const struct sender *least_proven(const struct drain *drain, double now)
{
	const struct sender *least = NULL;
	double fewest = INFINITY;
	for (size_t i = 0; i < drain->senders.count; i++) {
		const struct sender *sender = &drain->senders.senders[i];
		double silence = now - fmax(sender->last, drain->terminated_at);
		double rate = isnan(sender->rate) ? fmax(1, sender->gaps) / fmax(1, sender->exposure) : sender->rate;
		if (silence * rate < fewest) {
			fewest = silence * rate;
			least = sender;
		}
	}
	return least;
}

static void add_least_proven(struct text *text, const struct drain *drain, double now)
{
	const struct sender *sender = least_proven(drain, now);
	char silence[32];
	if (!sender)
		return;
	add(text, "; least sure of %s", sender->name);
	if (isfinite(sender->last))
		add(text, ", silent for %s",
		    format_duration(floor(fmax(0, now - sender->last)), silence, sizeof silence));
	if (isnan(sender->rate))
		add(text, ", %.0f gaps of %.0f ms before", sender->gaps, sender->exposure / fmax(1, sender->gaps));
	else
		add(text, ", %.3g a second before", sender->rate * 1000);
}

void report_now(const struct hold *hold, double now)
{
	const struct traffic *traffic = &hold->traffic;
	char line[768], fields[512], held[32], until[32];
	struct text text = { line, sizeof line };
	format_duration(floor(now - hold->began), held, sizeof held);
	add(&text, "%s: %.0f new, %zu open, %.0f in flight, ", held, traffic->connections_seen,
	    traffic->open, traffic->in_flight);
	add_bytes(&text, traffic->bytes);
	add(&text, " received, %zu senders, %.0f probes, expected loss %.4g", hold->drain.senders.count,
	    traffic->probes_seen, drain_expected_loss(&hold->drain, now));
	if (!hold->decision.stop)
		add(&text, "; waiting for %s, until %s at %s", waiting_for_names[hold->decision.waiting_for],
		    format_duration(hold->decision.until - hold->began, until, sizeof until),
		    hold->decision.waiting_for == WAIT_IN_FLIGHT ? "the latest" : "the earliest");
	add_least_proven(&text, &hold->drain, now);
	add(&text, "; sees ");
	add_evidence(&text, traffic->evidence, ", ");
	struct text field = { fields, sizeof fields };
	add(&field, "\"event\":\"seen\",\"held_ms\":%.0f,\"senders\":%zu", now - hold->began,
	    hold->drain.senders.count);
	add_counts(&field, hold, now);
	log_with(hold->logger, LOG_NOTE, fields, line);
}
