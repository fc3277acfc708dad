/* Connections of the last minute that our side closed: the kernel keeps each as TIME_WAIT for 60 s, with its peer. */
#ifndef LAMEDUCK_HISTORY_H
#define LAMEDUCK_HISTORY_H

#include "../kernel/tcp_row.h"

enum { MOST_PAST = 4096 };

struct past_connection {
	double at; /* ms, when it was closed */
	struct address peer;
};

struct history {
	struct past_connection past[MOST_PAST];
	size_t count;
	double complete_from; /* ms */
	double until; /* ms: the ends of later ones are reported as events */
	double foreign; /* connections to other ports than ours */
};

void history_init(struct history *history, double until);
void history_take(struct history *history, const struct tcp_row *row, double now);
void history_sort(struct history *history);

#endif
