/* When connections of one kind came, and whether they come regularly, as probes do. */
#ifndef LAMEDUCK_RHYTHM_H
#define LAMEDUCK_RHYTHM_H

#include <stdbool.h>
#include <stddef.h>

enum { MOST_TIMES = 32 };

/* ms. IN_TIME: the deviation of a prober's regular ticks. LATEST: how late a busy node's probes may come. They never come early. */
enum { IN_TIME = 100, LATEST = 500 };

struct rhythm {
	double first;		  /* ms, of all noted */
	double times[MOST_TIMES]; /* a ring of the latest */
	size_t count;		  /* of all noted */
	double period;		  /* 0 while no regularity is known */
	size_t per_period;	  /* so many came in each when it was learnt */
};

void rhythm_note(struct rhythm *rhythm, double at);

size_t rhythm_kept(const struct rhythm *rhythm);
/* When a kept connection came; `age` 0 is the latest. */
double rhythm_time(const struct rhythm *rhythm, size_t age);

/* From the first to the latest, ms. */
double rhythm_span(const struct rhythm *rhythm);

/* Looks for a period; `complete`: every connection of this kind was noted. */
bool rhythm_learn(struct rhythm *rhythm, bool complete);

/* When a connection that came `at` was due; NAN where none was. `alone`: the address only probes, so a probe may be arbitrarily late. */
double rhythm_due(const struct rhythm *rhythm, double at, bool alone);

/* Whether no more connections have come per period lately than when the period was learnt. */
bool rhythm_keeps(const struct rhythm *rhythm);

/* Whether they come so often that a prober cannot be found among them, or have paused, as no prober does. */
bool rhythm_is_lost(const struct rhythm *rhythm);

/* Whether `at` is a whole number of periods from one that was not late. */
bool rhythm_explains(const struct rhythm *rhythm, double at);

#endif
