#include "unattributed.h"

#include "../kernel/counters.h"

#include <math.h>
#include <string.h>

/*
 * The kernel sends the event of a connection's end from a queue, and counter, events and dump are read at three moments. What was counted so long ago has
 * been attributed by now, or has left no trace.
 */
static const double settling_ms = 1000;
const char unattributed_sender[] = "unattributed";

void unattributed_begin(struct unattributed *unattributed, double now)
{
	*unattributed = (struct unattributed){ .last_opened = now, .read_at = now, .attributed_until = now };
}

void unattributed_count_from_here(struct unattributed *unattributed, bool own)
{
	unattributed->open = 0;
	unattributed->counted = own && read_passive_opens(&unattributed->opened);
}

void unattributed_count(struct unattributed *unattributed, double now)
{
	uint64_t opened;
	unattributed->read_at = now;
	if (!unattributed->counted || !read_passive_opens(&opened))
		return;
	if (opened != unattributed->opened) {
		unattributed->open += (double)(opened - unattributed->opened);
		unattributed->last_opened = now;
		unattributed->opened = opened;
	}
	if (unattributed->open <= 0)
		unattributed->attributed_until = now;
}

double unattributed_explain(struct unattributed *unattributed, double now)
{
	unattributed->open--;
	return unattributed->counted ? unattributed->last_opened : now;
}

double unattributed_settles_at(const struct unattributed *unattributed)
{
	return unattributed->open > 0 ? unattributed->last_opened + settling_ms : -INFINITY;
}

static void keep(struct unattributed *unattributed, struct told_connection told)
{
	if (unattributed->told_count == MOST_UNATTRIBUTED) {
		unattributed->told_count--;
		memmove(unattributed->told, unattributed->told + 1, unattributed->told_count * sizeof told);
	}
	unattributed->told[unattributed->told_count++] = told;
}

static void tell_all(struct unattributed *unattributed, struct teller *teller, double since)
{
	double count = fmin(unattributed->open, MOST_UNATTRIBUTED);
	double last = unattributed->last_opened, first = fmin(since, last);
	for (double i = 1; i <= count; i++) {
		struct told_connection told = { first + (last - first) * i / count, unattributed->attributed_until };
		keep(unattributed, told);
		tell_connection(teller, unattributed_sender, told.at, told.since);
	}
	unattributed->open = 0;
	unattributed->attributed_until = unattributed->read_at;
}

/* On a busy machine an address comes later than that. Then the latest that were told are taken back, as each has been told by its address. */
static void take_back(struct unattributed *unattributed, struct teller *teller)
{
	double late = fmin(-unattributed->open, unattributed->told_count);
	if (late <= 0)
		return;
	unattributed->open += late;
	unattributed->told_count -= (size_t)late;
	tell(teller, &(struct observation){ .type = SEEN_FORGOTTEN, .name = unattributed_sender });
	for (size_t i = 0; i < unattributed->told_count; i++)
		tell_again(teller, unattributed_sender, unattributed->told[i].at, unattributed->told[i].since);
}

void unattributed_tell(struct unattributed *unattributed, struct teller *teller, bool with_events, double since, double now)
{
	take_back(unattributed, teller);
	bool complete = with_events && !unattributed->missed_events;
	bool may_be_attributed = now - unattributed->last_opened < settling_ms && (complete || unattributed->open < 0);
	if (may_be_attributed)
		return;
	unattributed->missed_events = false;
	tell_all(unattributed, teller, since);
}
