#include "senders.h"

#include "environments.h"
#include "evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double horizon = 120000;

/* Weight of the latest gap in the mean of recent ones; fewer than four are chance. */
static const double recency = 1.0 / 8;
static const double fewest_recent_gaps = 4;
/* So many in a hold tell a rate. */
static const double enough_gaps = 8;

void senders_init(struct sender_table *table, size_t capacity, double watching_from)
{
	*table = (struct sender_table){ .capacity = capacity, .watching_from = watching_from, .traced = 1,
					.held_from = INFINITY };
}

void senders_free(struct sender_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->senders[i].name);
	free(table->senders);
	free(table->index);
	*table = (struct sender_table){ 0 };
}

/* FNV-1a: names are addresses, a few dozen bytes; the table is bounded, so that chosen collisions cost at most its size. */
static uint32_t hash_of(const char *name)
{
	uint32_t hash = 2166136261u;
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash;
}

static struct sender *find(const struct sender_table *table, const char *name)
{
	if (table->index_size == 0)
		return NULL;
	for (size_t slot = hash_of(name);; slot++) {
		uint32_t position = table->index[slot & (table->index_size - 1)];
		if (position == 0)
			return NULL;
		if (strcmp(table->senders[position - 1].name, name) == 0)
			return &table->senders[position - 1];
	}
}

static void enter(struct sender_table *table, size_t position)
{
	size_t slot = hash_of(table->senders[position].name);
	while (table->index[slot & (table->index_size - 1)] != 0)
		slot++;
	table->index[slot & (table->index_size - 1)] = (uint32_t)(position + 1);
}

static void reindex(struct sender_table *table)
{
	memset(table->index, 0, table->index_size * sizeof *table->index);
	for (size_t i = 0; i < table->count; i++)
		enter(table, i);
}

static bool grow(struct sender_table *table)
{
	size_t allocated = table->allocated ? table->allocated * 2 : 16;
	struct sender *senders = realloc(table->senders, allocated * sizeof *senders);
	if (!senders)
		return false;
	table->senders = senders;
	uint32_t *index = realloc(table->index, allocated * 2 * sizeof *index);
	if (!index)
		return false;
	table->index = index;
	table->allocated = allocated;
	table->index_size = allocated * 2;
	reindex(table);
	return true;
}

/* False when memory is short: the caller then counts the arrival with the aggregate. */
static bool add(struct sender_table *table, const char *name, struct moment when, double rate)
{
	if (table->count == table->allocated && !grow(table))
		return false;
	char *copy = strdup(name);
	if (!copy)
		return false;
	table->senders[table->count] = (struct sender){ .name = copy, .last = when.seen, .last_at = when.at, .rate = rate };
	enter(table, table->count++);
	return true;
}

static void meet(const struct sender_table *table, struct sender *sender, struct moment when)
{
	if (isfinite(sender->last_at)) {
		double gap = fmax(0, when.at - sender->last_at);
		sender->gaps++;
		sender->exposure += gap;
		bool held = when.seen >= table->held_from;
		sender->held_gaps += held;
		sender->held_exposure += held ? gap : 0;
		sender->longest_gap = fmax(sender->longest_gap, held ? gap : gap * table->traced);
		sender->recent_gap += (sender->gaps == 1 ? 1 : recency) * (gap - sender->recent_gap);
		if (sender->exposure > horizon) {
			sender->gaps /= 2;
			sender->exposure /= 2;
			sender->previous_longest_gap = sender->longest_gap;
			sender->longest_gap = 0;
		}
	}
	sender->last = fmax(sender->last, when.seen);
	sender->last_at = fmax(sender->last_at, when.at);
}

static struct aggregate *aggregate_at(struct sender_table *table, double at)
{
	table->folded_since_sweep++;
	struct aggregate *aggregate = &table->aggregate;
	if (!aggregate->used)
		*aggregate = (struct aggregate){ .used = true, .from = table->watching_from, .last = -INFINITY };
	if (at - aggregate->from > horizon) {
		aggregate->from = at - (at - aggregate->from) / 2;
		aggregate->arrivals /= 2;
	}
	return aggregate;
}

static bool has_room(struct sender_table *table, double at)
{
	if (table->count < table->capacity)
		return true;
	if (table->folded_since_sweep < table->capacity)
		return false;
	table->folded_since_sweep = 0;
	size_t kept = 0;
	for (size_t i = 0; i < table->count; i++) {
		struct sender *sender = &table->senders[i];
		if (isnan(sender->rate) && at - sender->last > horizon)
			free(sender->name);
		else
			table->senders[kept++] = *sender;
	}
	table->count = kept;
	reindex(table);
	return table->count < table->capacity;
}

void senders_watching_from(struct sender_table *table, double at)
{
	table->watching_from = at;
}

void senders_held_from(struct sender_table *table, double at)
{
	table->held_from = at;
}

void senders_arrival(struct sender_table *table, const char *name, struct moment when)
{
	struct sender *sender = find(table, name);
	if (sender) {
		meet(table, sender, when);
		return;
	}
	if (has_room(table, when.seen) && add(table, name, when, NAN))
		return;
	struct aggregate *aggregate = aggregate_at(table, when.seen);
	aggregate->arrivals++;
	aggregate->late += when.seen >= table->held_from;
	aggregate->last = fmax(aggregate->last, when.seen);
}

void senders_forget(struct sender_table *table, const char *name)
{
	struct sender *sender = find(table, name);
	if (!sender)
		return;
	free(sender->name);
	*sender = table->senders[--table->count];
	reindex(table);
}

void senders_settle(struct sender_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		struct sender *sender = &table->senders[i];
		sender->gaps = sender->exposure = sender->longest_gap = 0;
	}
}

void senders_traced(struct sender_table *table, double share)
{
	table->traced = share;
	for (size_t i = 0; i < table->count; i++)
		table->senders[i].longest_gap *= share;
}

void senders_rate(struct sender_table *table, const char *name, double per_millisecond, double at)
{
	struct sender *sender = find(table, name);
	if (sender) {
		sender->rate = per_millisecond;
		return;
	}
	struct moment never = { .seen = -INFINITY, .at = -INFINITY };
	if (has_room(table, at) && add(table, name, never, per_millisecond))
		return;
	struct aggregate *aggregate = aggregate_at(table, at);
	aggregate->known++;
	aggregate->known_rate += per_millisecond;
}

/*
 * A sender whose silence before the deletion had a chance of 1e-9 had left by itself. One of long standing has left for good; else it was a visit,
 * as a burst is, and others like it will come.
 */
static const double left_surprise = 20.72326583694641;

/* Gaps between arrivals, and what they come to. */
struct gaps {
	double count;
	double exposure;
	double longest;
};

/* What a sender's silence is judged by. */
struct learnt {
	struct gaps connections;
	double recent_gap; /* 0 where the sender has not slowed down */
};

static struct habit after(const struct gaps *gaps, double silence)
{
	return learnt_habit(gaps->count, gaps->exposure, gaps->longest, silence);
}

static double learnt_surprise(const void *habit, double silence)
{
	const struct learnt *learnt = habit;
	double surprise = after(&learnt->connections, silence).surprise;
	if (learnt->recent_gap > 0)
		surprise = fmin(surprise, recent_surprise(learnt->recent_gap, silence));
	return surprise;
}

static double told_surprise(const void *habit, double silence)
{
	return *(const double *)habit * silence;
}

/*
 * The time in which its gaps were made. Where connections before the hold left no trace, a sender that is faster in the hold than in the trace of
 * it was no slower before: as far as others are not known to have left none.
 */
static double exposure_of(const struct sender_table *table, const struct sender *sender)
{
	double before = sender->exposure - sender->held_exposure;
	double gaps_before = sender->gaps - sender->held_gaps;
	if (table->traced >= 1 || sender->held_gaps < enough_gaps || gaps_before <= 0 || before <= 0)
		return sender->exposure;
	double part = sender->held_exposure / sender->held_gaps / (before / gaps_before);
	return sender->held_exposure + before * fmin(1, fmax(table->traced, part));
}

static void see_learnt(struct environments *environments, const struct sender_table *table, const struct sender *sender,
		       double now, double deleted_at)
{
	double idle_before = fmax(0, deleted_at - sender->last);
	double longest = fmax(sender->longest_gap, sender->previous_longest_gap);
	bool left = sender->gaps > 0 &&
		    learnt_habit(sender->gaps, sender->exposure, longest, idle_before).surprise > left_surprise;
	bool long_standing = sender->previous_longest_gap > 0;
	if (left && long_standing)
		return;
	bool came_once = left || sender->gaps == 0;
	double last = fmax(0, fmin(sender->last, now) - deleted_at);
	struct learnt learnt = {
		.connections = {
			.count = came_once ? 1 : sender->gaps,
			.exposure = idle_before + (came_once ? fmax(1, sender->last - table->watching_from)
							     : exposure_of(table, sender)),
			.longest = came_once ? 0 : longest,
		},
	};
	double rate = after(&learnt.connections, 0).rate;
	if (sender->gaps >= fewest_recent_gaps && last > 0 && sender->recent_gap * rate > 1)
		learnt.recent_gap = sender->recent_gap;
	struct seen seen = {
		.rate = rate,
		.rate_now = after(&learnt.connections, fmax(0, now - fmax(sender->last, deleted_at))).rate_now,
		.last = last,
		.surprise = learnt_surprise,
		.habit = &learnt,
	};
	environments_see(environments, &seen, came_once ? 2 : 1);
}

static void see_known(struct environments *environments, double per_ms, double last)
{
	double rate = known_habit(per_ms, 0).rate;
	struct seen seen = { .rate = rate, .rate_now = rate, .last = last, .surprise = told_surprise, .habit = &rate };
	environments_see(environments, &seen, 1);
}

static void see_aggregate(struct environments *environments, const struct sender_table *table, double now,
		      double deleted_at)
{
	const struct aggregate *aggregate = &table->aggregate;
	if (!aggregate->used)
		return;
	double exposure = fmax(1, aggregate->last - aggregate->from);
	double arrivals = aggregate->arrivals * exp(-M_LN2 * fmax(0, deleted_at - aggregate->last) / horizon);
	struct aggregate_seen seen = {
		.count = arrivals + aggregate->known,
		.rate = known_habit(arrivals / exposure + aggregate->known_rate, 0).rate,
		.last = fmax(0, fmin(aggregate->last, now) - deleted_at),
		.known = aggregate->known,
		.known_rate = aggregate->known_rate,
		.late = fmin(aggregate->known, deleted_at < table->held_from ? aggregate->arrivals : aggregate->late),
	};
	environments_see_aggregate(environments, &seen);
}

static void see(struct environments *environments, const struct sender_table *table, const struct sender *sender,
		double now, double deleted_at)
{
	if (isnan(sender->rate))
		see_learnt(environments, table, sender, now, deleted_at);
	else
		see_known(environments, sender->rate, fmax(0, fmin(sender->last, now) - deleted_at));
}

static void see_all(struct environments *environments, const struct sender_table *table, double now, double deleted_at)
{
	for (size_t i = 0; i < table->count; i++)
		see(environments, table, &table->senders[i], now, deleted_at);
	see_aggregate(environments, table, now, deleted_at);
}

double senders_expected_loss(const struct sender_table *table, double now, double deleted, double convergence)
{
	double deleted_at = fmax(deleted, table->watching_from);
	struct environments environments;
	environments_init(&environments, convergence, fmax(0, now - deleted_at));
	see_all(&environments, table, now, deleted_at);
	return environments_expected_loss(&environments);
}

struct suspect senders_suspect(const struct sender_table *table, double now, double deleted, double convergence)
{
	double deleted_at = fmax(deleted, table->watching_from);
	struct environments all, one;
	environments_init(&all, convergence, fmax(0, now - deleted_at));
	see_all(&all, table, now, deleted_at);
	struct suspect most = { 0 };
	for (size_t i = 0; i < table->count; i++) {
		const struct sender *sender = &table->senders[i];
		environments_init(&one, convergence, fmax(0, now - deleted_at));
		see(&one, table, sender, now, deleted_at);
		double loss = environments_loss_under(&one, &all);
		if (most.senders > 0 && loss <= most.expected_loss)
			continue;
		double rate = isnan(sender->rate) ? sender->gaps / fmax(1, sender->exposure) : sender->rate;
		double silence = sender->last > deleted_at ? now - sender->last : NAN;
		most = (struct suspect){ sender->name, 1, rate, silence, loss };
	}
	return most;
}
