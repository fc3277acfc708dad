#include "senders.h"

#include "evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double horizon = 120000;

void senders_init(struct sender_table *table, size_t capacity, double watching_from)
{
	*table = (struct sender_table){ .capacity = capacity, .watching_from = watching_from };
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

/* False when memory is short: the caller then counts the arrival with the crowd. */
static bool add(struct sender_table *table, const char *name, double at, double rate)
{
	if (table->count == table->allocated && !grow(table))
		return false;
	char *copy = strdup(name);
	if (!copy)
		return false;
	table->senders[table->count] = (struct sender){ .name = copy, .last = at, .rate = rate };
	enter(table, table->count++);
	return true;
}

static void meet(struct sender *sender, double at)
{
	if (isfinite(sender->last)) {
		double gap = fmax(0, at - sender->last);
		sender->gaps++;
		sender->exposure += gap;
		sender->longest_gap = fmax(sender->longest_gap, gap);
		if (sender->exposure > horizon) {
			sender->gaps /= 2;
			sender->exposure /= 2;
			sender->previous_longest_gap = sender->longest_gap;
			sender->longest_gap = 0;
		}
	}
	sender->last = fmax(sender->last, at);
}

static struct crowd *crowd_at(struct sender_table *table, double at)
{
	table->folded_since_sweep++;
	struct crowd *crowd = &table->crowd;
	if (!crowd->used)
		*crowd = (struct crowd){ .used = true, .from = table->watching_from, .last = -INFINITY };
	if (at - crowd->from > horizon) {
		crowd->from = at - (at - crowd->from) / 2;
		crowd->arrivals /= 2;
	}
	return crowd;
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

void senders_arrival(struct sender_table *table, const char *name, double at)
{
	struct sender *sender = find(table, name);
	if (sender) {
		meet(sender, at);
		return;
	}
	if (has_room(table, at) && add(table, name, at, NAN))
		return;
	struct crowd *crowd = crowd_at(table, at);
	crowd->arrivals++;
	crowd->last = fmax(crowd->last, at);
}

void senders_rate(struct sender_table *table, const char *name, double per_millisecond, double at)
{
	struct sender *sender = find(table, name);
	if (sender) {
		sender->rate = per_millisecond;
		return;
	}
	if (has_room(table, at) && add(table, name, -INFINITY, per_millisecond))
		return;
	struct crowd *crowd = crowd_at(table, at);
	crowd->told++;
	crowd->told_rate += per_millisecond;
}

/* A sender whose silence before the deletion had a chance of 1e-9 has gone for reasons of its own. */
static const double gone_surprise = 20.72326583694641;

static double loss_of(const struct sender_table *table, const struct sender *sender, double now, double deleted_at,
		      double convergence)
{
	double silence = fmax(0, now - fmax(sender->last, deleted_at));
	if (!isnan(sender->rate))
		return expected_loss(known_habit(sender->rate, silence), silence, convergence);
	double idle_before = fmax(0, deleted_at - sender->last);
	if (sender->gaps == 0) {
		double exposure = fmax(1, sender->last - table->watching_from) + idle_before;
		return 2 * expected_loss(learnt_habit(1, exposure, 0, silence), silence, convergence);
	}
	double longest = fmax(sender->longest_gap, sender->previous_longest_gap);
	if (learnt_habit(sender->gaps, sender->exposure, longest, idle_before).surprise > gone_surprise)
		return 0;
	struct habit habit = learnt_habit(sender->gaps, sender->exposure + idle_before, longest, silence);
	return expected_loss(habit, silence, convergence);
}

static double loss_of_crowd(const struct crowd *crowd, double now, double deleted_at, double convergence)
{
	if (!crowd->used)
		return 0;
	double silence = fmax(0, now - fmax(crowd->last, deleted_at));
	double exposure = fmax(1, crowd->last - crowd->from);
	double arrivals = crowd->arrivals * pow(0.5, fmax(0, deleted_at - crowd->last) / horizon);
	double rate = arrivals / exposure + crowd->told_rate;
	return expected_loss_of_crowd(arrivals + crowd->told, rate, silence, convergence);
}

double senders_expected_loss(const struct sender_table *table, double now, double deleted, double convergence)
{
	double deleted_at = fmax(deleted, table->watching_from);
	double loss = 0;
	for (size_t i = 0; i < table->count; i++)
		loss += loss_of(table, &table->senders[i], now, deleted_at, convergence);
	return loss + loss_of_crowd(&table->crowd, now, deleted_at, convergence);
}
