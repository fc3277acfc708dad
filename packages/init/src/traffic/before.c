#include "before.h"

#include "../base/clock.h"
#include "../kernel/counters.h"
#include "../kernel/namespace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Senders of a new pod come one by one, at irregular intervals. Their usual rates are those of the time after this. */
static const double beginning_ms = 10000;
/* Connections without a known peer may be of other senders: no sender is taken to have come more than twice as often as was seen. */
static const double least_coverage = 0.5;
/* This many arrivals are enough for a rate. */
static const double most_told = 256;
/* How often ignored peers come is known only once their connections are seen to end. */
static const double longest_watch_ms = 1000;

enum { MOST_PAST = 4096 };

/* The connections that our side has closed in the last minute, with their peers. */
struct history {
	const struct sockets *sockets;
	struct past_connection past[MOST_PAST];
	size_t count;
	double until; /* the ends of later connections come as events */
	double complete_from;
	double foreign; /* connections to other ports than ours */
};

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

static int compare_times(const void *one, const void *other)
{
	double a = ((const struct past_connection *)one)->at, b = ((const struct past_connection *)other)->at;
	return (a > b) - (a < b);
}

static void sort(struct history *history)
{
	qsort(history->past, history->count, sizeof *history->past, compare_times);
}

/* A busy server leaves 60,000 and more. The latest are kept: the older half adds no information. */
static void drop_older_half(struct history *history)
{
	sort(history);
	size_t dropped = history->count / 2;
	history->complete_from = history->past[dropped].at;
	history->count -= dropped;
	memmove(history->past, history->past + dropped, history->count * sizeof *history->past);
}

static void take_past(void *context, const struct tcp_row *row)
{
	struct history *history = context;
	const struct sockets *sockets = history->sockets;
	struct port_use use = port_use_of(&sockets->listeners, row->local_port);
	if (!use.own) {
		history->foreign += use.open;
		return;
	}
	double at = clock_now() - (TIME_WAIT_MS - (double)row->expires);
	if (row->expires > TIME_WAIT_MS || at < history->complete_from || at > history->until)
		return;
	if (history->count == MOST_PAST)
		drop_older_half(history);
	history->past[history->count++] = (struct past_connection){
		.at = at, .peer = row->peer, .ignored = is_ignored(&sockets->settings->ignored_peers, &row->peer)
	};
}

void before_begin(struct before *before, const struct baseline *baseline, const struct sockets *sockets, double began)
{
	static struct history history;
	struct arrivals *arrivals = sockets->arrivals;
	double now = clock_now();
	*before = (struct before){ .began = began, .counted_rate = NAN };
	history.sockets = sockets;
	history.count = 0;
	history.foreign = 0;
	history.until = now;
	history.complete_from = now - TIME_WAIT_MS;
	sockets_visit_past(sockets, take_past, &history);
	sort(&history);
	tell(arrivals->teller, &(struct observation){ .type = SEEN_WATCHING,
						     .at = history.count > 0 ? history.complete_from : began });
	double first = history.past[0].at;
	double settled_at = fmin(first + beginning_ms, (first + began) / 2);
	/* The whole life of a pod that has probes is still visible. */
	bool young = history.count > 0 && !arrivals->probes.periods.assumed && namespace_age() * 1000 < TIME_WAIT_MS;
	arrivals_take_past(arrivals, history.past, history.count, settled_at, young);
	double from = fmax(history.complete_from, baseline->known ? baseline->at : 0);
	before->rate_with_peer = ((double)history.count + history.foreign) / fmax(1, began - from);
}

/* A namespace that has sent no data has answered no request, even if it had connections. */
void before_count(struct before *before, const struct baseline *baseline, const struct sockets *sockets)
{
	uint64_t data_sent;
	double span = before->began - baseline->at;
	if (!sockets->unattributed->counted || !baseline->known || span <= 0)
		return;
	double rate = (double)(sockets->unattributed->opened - baseline->opened) / span;
	before->counted_rate = rate * 1000;
	if (read_data_sent(&data_sent))
		rate = fmin(rate, (double)(data_sent - baseline->data_sent) / span);
	/* The peers of open connections are known, too. */
	before->with_peer = before->rate_with_peer * span + (double)sockets->connections.count;
	before->without_peer = rate * span - before->with_peer;
	before->span = span;
	before->pending = true;
	before_tell(before, sockets, before->began);
}

void before_tell(struct before *before, const struct sockets *sockets, double now)
{
	struct teller *teller = sockets->arrivals->teller;
	double watched = now - before->began;
	bool any_ignored = sockets->settings->ignored_peers.count > 0;
	if (!before->pending || watched < (any_ignored ? fmin(longest_watch_ms, teller->config->floor) : 0))
		return;
	before->pending = false;
	double ignored = watched > 0 ? sockets->ignored / watched * before->span : 0;
	double rest = before->without_peer - fmin(before->without_peer, ignored);
	/* Probes that have left no trace, and connections that are just being closed, must not look like a rare sender. */
	if (rest <= 0.2 * before->with_peer || rest < 3)
		return;
	/* Of a connection that the peer closed first nothing is left: the gaps between the others are longer than the usual ones. */
	double coverage = fmax(least_coverage, before->with_peer / (before->with_peer + rest));
	sockets->pools->coverage = coverage;
	tell(teller, &(struct observation){ .type = SEEN_COVERAGE, .value = coverage });
	/* These connections count as one sender, at even gaps. They say nothing about a release, as the time of each is unknown. */
	double gap = before->span / rest;
	for (double ago = fmin(rest, most_told); ago >= 1; ago--)
		tell_request_on_old(teller, "before", before->began - ago * gap);
}
