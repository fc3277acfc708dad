#include "before.h"

#include "../kernel/counters.h"
#include "../kernel/namespace.h"
#include "../kernel/proc_tcp.h"
#include "../kernel/sock_diag.h"
#include "history.h"

#include <math.h>

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
		history_take(collection->history, row, collection->traffic->began);
}

/* Learns senders and probers from the connections of the last minute; returns the rate of all that are none of the unknown. */
static double learn_past(struct traffic *traffic, const struct baseline *baseline)
{
	static struct history history;
	struct collection collection = { &history, traffic };
	history_init(&history, traffic->began);
	if (traffic->evidence & EVIDENCE_DIAG)
		dump_sockets(1u << STATE_TIME_WAIT, false, collect_past, &collection);
	else if (traffic->evidence & EVIDENCE_SOCKETS)
		read_proc_tcp(1u << STATE_TIME_WAIT, collect_past, &collection);
	history_sort(&history);
	traffic_observe(traffic, SEEN_WATCHING, history.count > 0 ? history.complete_from : traffic->began, NULL, 0);
	for (size_t i = 0; i < history.count; i++)
		probes_note(&traffic->probes, &history.past[i].peer, history.past[i].at);
	for (size_t i = 0; i < history.count; i++) {
		const struct past_connection *past = &history.past[i];
		if (probes_ignore(&traffic->probes, &past->peer) || probes_expect(&traffic->probes, &past->peer))
			continue;
		char name[ADDRESS_TEXT];
		traffic_observe(traffic, SEEN_CONNECTION, past->at, address_format(&past->peer, name), 0);
	}
	double from = fmax(history.complete_from, baseline->known ? baseline->at : 0);
	return ((double)history.count + history.foreign) / fmax(1, traffic->began - from);
}

/*
 * The rate at which senders came before, less what probes and the senders known by name account for in the last minute. A
 * namespace that has sent no data has answered no request, whoever connected to it.
 */
static void learn_rate(struct traffic *traffic, const struct baseline *baseline, double known_rate)
{
	uint64_t data_sent;
	double span = traffic->began - baseline->at;
	if (!(traffic->evidence & EVIDENCE_COUNTERS) || !baseline->known || span <= 0)
		return;
	double rate = (double)(traffic->opened - baseline->opened) / span;
	traffic->rate_before = rate * 1000;
	double rest = rate - known_rate;
	if (read_data_sent(&data_sent))
		rest = fmin(rest, (double)(data_sent - baseline->data_sent) / span - known_rate);
	/* Probes that left no trace, and connections just being closed, must not look like a rare sender. */
	if (rest > 0.2 * known_rate && rest * span >= 3)
		traffic_observe(traffic, SEEN_RATE, traffic->began, "before", rest * 1000);
}

void learn_before(struct traffic *traffic, const struct baseline *baseline)
{
	learn_rate(traffic, baseline, learn_past(traffic, baseline));
}
