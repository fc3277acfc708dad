#include "history.h"

#include <string.h>

static const double time_wait = 60000;

void history_init(struct history *history, double until)
{
	history->count = 0;
	history->foreign = 0;
	history->complete_from = until - time_wait;
	history->until = until;
}

static void sift_down(struct past_connection *heap, size_t root, size_t count)
{
	for (size_t child; (child = root * 2 + 1) < count; root = child) {
		if (child + 1 < count && heap[child].at < heap[child + 1].at)
			child++;
		if (heap[root].at >= heap[child].at)
			return;
		struct past_connection swapped = heap[root];
		heap[root] = heap[child];
		heap[child] = swapped;
	}
}

/* A heap sort: qsort of musl would be 2 kB of the binary. */
void history_sort(struct history *history)
{
	struct past_connection *past = history->past;
	for (size_t root = history->count / 2; root-- > 0;)
		sift_down(past, root, history->count);
	for (size_t last = history->count; last-- > 1;) {
		struct past_connection latest = past[0];
		past[0] = past[last];
		past[last] = latest;
		sift_down(past, 0, last);
	}
}

/* A busy server leaves 60,000 and more: the latest are kept, as the older half says nothing that they do not. */
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
