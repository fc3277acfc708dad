#include "before.h"

#include "../base/clock.h"
#include "../kernel/counters.h"
#include "../kernel/namespace.h"
#include "../kernel/proc_tcp.h"
#include "../kernel/sock_diag.h"
#include "history.h"
#include "pooled.h"

#include <math.h>

/* ms. Senders of a new pod come one by one, at irregular intervals. Their usual rates are those of the time after. */
static const double beginning = 10000;

/* Seconds for which the kernel keeps the trace of a connection. */
static const double visible = 60;

/* Connections without a trace may be of other senders: no rate is taken for more than twice that of its trace. */
static const double least_traced = 0.5;

/* So many arrivals are enough for a rate. */
static const double most_reported = 256;

struct baseline baseline_read(double now)
{
	struct baseline baseline = { .at = now };
	baseline.known = read_passive_opens(&baseline.opened);
	if (!read_data_sent(&baseline.data_sent))
		baseline.data_sent = 0;
	return baseline;
}

struct baseline baseline_of_namespace(double now)
{
	double age = namespace_age();
	return (struct baseline){ .known = !isnan(age) && age > 0, .at = now - age * 1000 };
}

struct collection {
	struct history *history;
	const struct traffic *traffic;
};

static void collect_past(void *context, const struct tcp_row *row)
{
	struct collection *collection = context;
	if (!listens_own(&collection->traffic->listeners, row->local_port))
		collection->history->foreign += listens_any(&collection->traffic->listeners, row->local_port);
	else
		history_take(collection->history, row, clock_now());
}

static bool was_probe(struct probes *probes, const struct past_connection *past)
{
	return probes_explain(probes, &past->peer, SIZE_UNKNOWN, past->at) || probes_are_all(probes, &past->peer);
}

/*
 * Nobody sends to a pod before a probe has found it ready. So of a pod with a probe whose whole life is still visible, the first to connect was the
 * kubelet: many networks have a gateway from which it does not probe.
 */
static bool is_young(const struct traffic *traffic)
{
	return !traffic->probes.periods.assumed && namespace_age() < visible;
}

double learn_past(struct traffic *traffic, const struct baseline *baseline)
{
	static struct history history;
	struct collection collection = { &history, traffic };
	history_init(&history, clock_now());
	bool dumped = traffic->evidence & EVIDENCE_DIAG &&
		      dump_sockets(1u << STATE_TIME_WAIT, false, collect_past, &collection);
	if (!dumped && traffic->evidence & EVIDENCE_SOCKETS)
		read_proc_tcp(1u << STATE_TIME_WAIT, collect_past, &collection);
	history_sort(&history);
	traffic_observe(traffic, SEEN_WATCHING, history.count > 0 ? history.complete_from : traffic->began, NULL, 0);
	double first = history.past[0].at;
	double settled = fmin(first + beginning, (first + traffic->began) / 2);
	bool has_settled = false;
	if (history.count > 0 && is_young(traffic))
		probes_come_from(&traffic->probes, &history.past[0].peer);
	for (size_t i = 0; i < history.count; i++)
		probes_note(&traffic->probes, &history.past[i].peer, SIZE_UNKNOWN, history.past[i].at);
	for (size_t i = 0; i < history.count; i++) {
		const struct past_connection *past = &history.past[i];
		if (probes_ignore(&traffic->probes, &past->peer))
			continue;
		bool probe = was_probe(&traffic->probes, past);
		if (past->at >= settled && !probe && !has_settled) {
			has_settled = true;
			traffic_settle(traffic);
		}
		if (past->at >= settled)
			arrivals_keep(&traffic->arrivals, &past->peer, SIZE_UNKNOWN, past->at, past->at);
		if (probe)
			continue;
		if (has_settled)
			note_opening(traffic, &past->peer, past->at);
		char name[ADDRESS_TEXT];
		traffic_observe(traffic, SEEN_CONNECTION, past->at, address_format(&past->peer, name), 0);
	}
	double from = fmax(history.complete_from, baseline->known ? baseline->at : 0);
	return ((double)history.count + history.foreign) / fmax(1, traffic->began - from);
}

/* A namespace that has sent no data has answered no request, even if it had connections. */
void learn_rate(struct traffic *traffic, const struct baseline *baseline, double known_rate)
{
	uint64_t data_sent;
	double span = traffic->began - baseline->at;
	if (!(traffic->evidence & EVIDENCE_COUNTERS) || !baseline->known || span <= 0)
		return;
	double rate = (double)(traffic->opened - baseline->opened) / span;
	traffic->rate_before = rate * 1000;
	if (read_data_sent(&data_sent))
		rate = fmin(rate, (double)(data_sent - baseline->data_sent) / span);
	/* Open connections have a known peer, too. */
	double named = known_rate * span + (double)traffic->connections.count;
	traffic->before = (struct before){
		.pending = true,
		.unnamed = rate * span - named,
		.named = named,
		.span = span,
	};
	observe_before(traffic, traffic->began);
}

/* How often ignored peers come without a trace is known only once their connections are seen to end. */
static double watched_for(const struct traffic *traffic)
{
	return traffic->settings->ignored_peers.count > 0 ? fmin(1000, traffic->drain->config.floor) : 0;
}

/* As one sender, at even gaps. They say nothing of a release, as nobody knows when each of them came. */
static void tell_unnamed(struct traffic *traffic, double count, double gap)
{
	for (double before = fmin(count, most_reported); before >= 1; before--)
		traffic_request_on_old(traffic, "before", traffic->began - before * gap);
}

void observe_before(struct traffic *traffic, double now)
{
	struct before *before = &traffic->before;
	double watched = now - traffic->began;
	if (!before->pending || watched < watched_for(traffic))
		return;
	before->pending = false;
	double ignored = watched > 0 ? traffic->ignored / watched * before->span : 0;
	double rest = before->unnamed - fmin(before->unnamed, ignored);
	/* Probes that left no trace, and connections just being closed, must not look like a rare sender. */
	if (rest <= 0.2 * before->named || rest < 3)
		return;
	/* Connections that the peer closes first leave no trace: the gaps between the others are longer than its usual ones. */
	traffic_traced(traffic, fmax(least_traced, before->named / (before->named + rest)));
	tell_unnamed(traffic, rest, before->span / rest);
}
