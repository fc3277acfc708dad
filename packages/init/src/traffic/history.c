#include "history.h"

#include <stdlib.h>
#include <string.h>

static const double time_wait = 60000;

void history_init(struct history *history, double until)
{
	history->count = 0;
	history->foreign = 0;
	history->complete_from = until - time_wait;
	history->until = until;
}

static int compare_times(const void *one, const void *other)
{
	double a = ((const struct past_connection *)one)->at, b = ((const struct past_connection *)other)->at;
	return (a > b) - (a < b);
}

void history_sort(struct history *history)
{
	qsort(history->past, history->count, sizeof *history->past, compare_times);
}

/* A busy server leaves 60,000 and more. The latest are kept: the older half adds no information. */
static void drop_older_half(struct history *history)
{
	history_sort(history);
	size_t dropped = history->count / 2;
	history->complete_from = history->past[dropped].at;
	history->count -= dropped;
	memmove(history->past, history->past + dropped, history->count * sizeof *history->past);
}

void history_take(struct history *history, const struct tcp_row *row, double now)
{
	if (row->expires > time_wait)
		return;
	double at = now - (time_wait - row->expires);
	if (at < history->complete_from || at > history->until)
		return;
	if (history->count == MOST_PAST)
		drop_older_half(history);
	history->past[history->count++] = (struct past_connection){ .at = at, .peer = row->peer };
}
