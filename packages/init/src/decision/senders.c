#include "senders.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weight of the latest gap in the mean of recent ones; fewer than four are chance. */
static const double recency = 1.0 / 8;
static const double fewest_recent_gaps = 4;
/* Of all senders together, to know their lulls by. */
static const double fewest_gaps_before = 50;
/* Anybody can look for addresses whose hashes are low. A table that is full of them is no sample of ever so many senders. */
static const double least_share = 1.0 / 65536;
/* So many in a hold tell a rate. */
static const double enough_gaps = 8;
/* Silence before the deletion that has a chance of 1e-9. */
static const double left_surprise = 20.72326583694641;

void senders_init(struct sender_table *table, size_t capacity, double prestop, double watching_from)
{
	*table = (struct sender_table){ .capacity = capacity, .prestop = prestop, .watching_from = watching_from,
					.share = 1, .sampled_anew = -INFINITY, .load_last = -INFINITY,
					.held_from = INFINITY, .traced = 1 };
}

void senders_free(struct sender_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->senders[i].name);
	free(table->senders);
	free(table->index);
	*table = (struct sender_table){ 0 };
}

/* A silence that nobody watched is none. */
static double deleted_at(const struct sender_table *table)
{
	return fmax(table->held_from - table->prestop, table->watching_from);
}

static double since(const struct sender_table *table, double at)
{
	return fmax(0, at - deleted_at(table));
}

static struct sender *find(const struct sender_table *table, const char *name, uint32_t hash)
{
	if (table->index_size == 0)
		return NULL;
	for (size_t slot = hash;; slot++) {
		uint32_t position = table->index[slot & (table->index_size - 1)];
		if (position == 0)
			return NULL;
		if (strcmp(table->senders[position - 1].name, name) == 0)
			return &table->senders[position - 1];
	}
}

static void enter(struct sender_table *table, size_t position)
{
	size_t slot = table->senders[position].hash;
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

/* False when memory is short: the caller then counts the arrival with the crowd. */
static bool add(struct sender_table *table, const char *name, uint32_t hash, double at, double rate)
{
	if (table->count == table->allocated && !grow(table))
		return false;
	char *copy = strdup(name);
	if (!copy)
		return false;
	table->senders[table->count] =
	    (struct sender){ .name = copy, .hash = hash, .last = at, .paused = table->paused, .rate = rate };
	enter(table, table->count++);
	return true;
}

/* What is the load's pause is no habit of a sender, unless it is most of the load. */
static void meet(const struct sender_table *table, struct sender *sender, double at)
{
	if (isfinite(sender->last)) {
		bool held = at >= table->held_from;
		double paused = 2 * sender->gaps.count > table->load.count ? 0 : table->paused - sender->paused;
		double gap = fmax(0, at - sender->last - paused);
		if (!gaps_add(&sender->gaps, gap, held, table->traced))
			sender->recent_gap += (sender->gaps.count == 1 ? 1 : recency) * (gap - sender->recent_gap);
		sender->held_gaps += held;
		sender->held_exposure += held ? gap : 0;
	}
	sender->last = fmax(sender->last, at);
	sender->paused = table->paused;
}

static void note_load(struct sender_table *table, double at)
{
	double gap = fmax(0, at - table->load_last);
	if (isfinite(table->load_last) && gaps_add(&table->load, gap, at >= table->held_from, 1))
		table->paused += gap;
	table->load_last = fmax(table->load_last, at);
}

static struct crowd *crowd_of(struct sender_table *table)
{
	if (!table->crowd.used)
		crowd_init(&table->crowd, table->watching_from);
	return &table->crowd;
}

static double late(const struct sender_table *table, double at)
{
	return at >= table->held_from ? since(table, at) : NAN;
}

/* Drops those that have long fallen silent, or those that are no more in the sample, which join the crowd. */
static void keep(struct sender_table *table, bool sampled, double at)
{
	size_t kept = 0;
	for (size_t i = 0; i < table->count; i++) {
		struct sender *sender = &table->senders[i];
		bool stays = !isnan(sender->rate) || (sampled ? sample_has(table->share, sender->hash)
							      : at - sender->last <= gaps_horizon);
		if (stays) {
			table->senders[kept++] = *sender;
			continue;
		}
		if (sampled)
			crowd_join(crowd_of(table), sender->hash, &sender->gaps, sender->last, late(table, sender->last));
		free(sender->name);
	}
	table->count = kept;
	reindex(table);
}

static bool is_full(const struct sender_table *table)
{
	return table->count >= table->capacity;
}

static void make_room(struct sender_table *table, double at)
{
	table->sampled_anew = at;
	keep(table, false, at);
	if ((double)table->count <= 0.75 * (double)table->capacity)
		return;
	table->share /= 2;
	keep(table, true, at);
}

/* A crowd that has gone leaves room for a larger share of those that come; its own part of the sample goes with it. */
static void use_room(struct sender_table *table, double at)
{
	if (at >= table->held_from || at - table->sampled_anew < gaps_horizon)
		return;
	table->sampled_anew = at;
	keep(table, false, at);
	for (double expected = (double)table->count; expected <= (double)table->capacity / 4; expected *= 2) {
		if (table->share >= 1)
			return;
		table->share *= 2;
	}
}

void senders_watching_from(struct sender_table *table, double at)
{
	table->watching_from = at;
}

void senders_held_from(struct sender_table *table, double at)
{
	table->held_from = at;
	table->gaps_before = table->load.count;
}

void senders_arrival(struct sender_table *table, const char *name, double at)
{
	uint32_t hash = hash_of(name);
	note_load(table, at);
	struct sender *sender = find(table, name, hash);
	if (sender) {
		meet(table, sender, at);
		return;
	}
	/* Whom the hold waits for is not given up for those that come only now: of these the crowd's own sample says how many they are. */
	bool held = at >= table->held_from;
	while (!held && sample_has(table->share, hash) && is_full(table) && table->share > least_share)
		make_room(table, at);
	if (sample_has(table->share, hash) && !is_full(table) && add(table, name, hash, at, NAN))
		return;
	crowd_arrival(crowd_of(table), hash, at, late(table, at));
	use_room(table, at);
}

void senders_forget(struct sender_table *table, const char *name)
{
	struct sender *sender = find(table, name, hash_of(name));
	if (!sender)
		return;
	free(sender->name);
	*sender = table->senders[--table->count];
	reindex(table);
}

void senders_settle(struct sender_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		table->senders[i].gaps = (struct gaps){ 0 };
	table->crowd.gaps = table->load = (struct gaps){ 0 };
}

void senders_traced(struct sender_table *table, double share)
{
	table->traced = share;
	for (size_t i = 0; i < table->count; i++)
		table->senders[i].gaps.longest *= share;
}

void senders_rate(struct sender_table *table, const char *name, double per_millisecond)
{
	uint32_t hash = hash_of(name);
	struct sender *sender = find(table, name, hash);
	if (sender)
		sender->rate = per_millisecond;
	else
		add(table, name, hash, -INFINITY, per_millisecond);
}

/*
 * The time in which its gaps were made. Where connections before the hold left no trace, a sender that is faster in the hold than in the trace of
 * it was no slower before: as far as others are not known to have left none.
 */
static double exposure_of(const struct sender_table *table, const struct sender *sender)
{
	double exposure = sender->gaps.exposure;
	double before = exposure - sender->held_exposure;
	double gaps_before = sender->gaps.count - sender->held_gaps;
	if (table->traced >= 1 || sender->held_gaps < enough_gaps || gaps_before <= 0 || before <= 0)
		return exposure;
	double part = sender->held_exposure / sender->held_gaps / (before / gaps_before);
	return sender->held_exposure + before * fmin(1, fmax(table->traced, part));
}

/* Its habit; false where it has left for good. */
static bool judge(const struct sender_table *table, const struct sender *sender, struct habit *habit)
{
	if (!isnan(sender->rate)) {
		*habit = steady_habit(sender->rate, sender->rate);
		return true;
	}
	double idle_before = fmax(0, deleted_at(table) - sender->last);
	struct habit before = gaps_habit(&sender->gaps, sender->gaps.exposure, 0);
	bool left = sender->gaps.count > 0 && habit_surprise(&before, idle_before) > left_surprise;
	bool long_standing = sender->gaps.longest_before > 0;
	if (left && long_standing)
		return false;
	if (left || sender->gaps.count == 0)
		*habit = learnt_habit(1, idle_before + fmax(1, sender->last - table->watching_from), 0);
	else
		*habit = gaps_habit(&sender->gaps, exposure_of(table, sender), idle_before);
	bool came_late = since(table, sender->last) > 0;
	if (sender->gaps.count >= fewest_recent_gaps && came_late && sender->recent_gap * habit->rate > 1)
		habit->recent_gap = sender->recent_gap;
	return true;
}

static void begin(struct environments *environments, const struct sender_table *table, double now, double convergence)
{
	double rate = table->load.count / fmax(1e-4, table->load.exposure);
	/* A lone sender may always have been about to go on, and of a load that was hardly seen before nobody knows its lulls. */
	bool unknown = (table->count == 1 && !table->crowd.used) || table->gaps_before < fewest_gaps_before;
	environments_init(environments, convergence, since(table, now), unknown ? 0 : since(table, table->load_last), rate);
}

static double see_crowd(struct environments *environments, const struct sender_table *table)
{
	return crowd_see(&table->crowd, environments, (double)table->count * (1 / table->share - 1), deleted_at(table));
}

static void see_all(struct environments *environments, const struct sender_table *table)
{
	struct habit habit;
	for (size_t i = 0; i < table->count; i++)
		if (judge(table, &table->senders[i], &habit))
			environments_see(environments, &habit, since(table, table->senders[i].last), 1);
	if (table->crowd.used)
		see_crowd(environments, table);
}

double senders_expected_loss(const struct sender_table *table, double now, double convergence)
{
	struct environments environments;
	begin(&environments, table, now, convergence);
	see_all(&environments, table);
	return environments_expected_loss(&environments);
}

struct suspect senders_suspect(const struct sender_table *table, double now, double convergence)
{
	struct environments all, one;
	begin(&all, table, now, convergence);
	see_all(&all, table);
	struct suspect most = { 0 };
	for (size_t i = 0; i <= table->count; i++) {
		bool crowd = i == table->count;
		struct suspect suspect = { .senders = 1 };
		struct habit habit;
		double last = table->crowd.last;
		begin(&one, table, now, convergence);
		if (crowd && !table->crowd.used)
			break;
		if (crowd) {
			suspect.senders = fmax(1, (double)table->count * (1 / table->share - 1));
			suspect.rate = see_crowd(&one, table);
		} else if (judge(table, &table->senders[i], &habit)) {
			last = table->senders[i].last;
			suspect.sender = table->senders[i].name;
			suspect.rate = habit.rate;
			environments_see(&one, &habit, since(table, last), 1);
		} else
			continue;
		suspect.silence = since(table, last) > 0 ? now - last : NAN;
		suspect.expected_loss = environments_loss_under(&one, &all);
		if (most.senders == 0 || suspect.expected_loss > most.expected_loss)
			most = suspect;
	}
	return most;
}
