#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* To be separate while the table overflows: whoever came twice did so by chance, and seems to come more often than it does. */
const double fewest_once_overflowed = 24;

/* FNV-1a. */
static uint32_t hash_of(const char *name)
{
	uint32_t hash = 2166136261u;
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash;
}

struct sender *table_find(const struct sender_table *table, const char *name)
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

bool table_add(struct sender_table *table, const char *name, double at)
{
	if (table->count == table->allocated && !grow(table))
		return false;
	char *copy = strdup(name);
	if (!copy)
		return false;
	table->senders[table->count] = (struct sender){
		.name = copy, .hash = hash_of(name), .last = at, .paused = table->paused, .counter = 1
	};
	enter(table, table->count++);
	return true;
}

void table_remove(struct sender_table *table, struct sender *sender)
{
	free(sender->name);
	*sender = table->senders[--table->count];
	reindex(table);
}

bool table_is_full(const struct sender_table *table)
{
	return table->count >= table->capacity;
}

bool table_has_overflowed(const struct sender_table *table, double at)
{
	return at - table->overflowed_at <= gaps_horizon;
}

static void drop(struct sender_table *table, double silent_since, double least_counter)
{
	size_t kept = 0;
	for (size_t i = 0; i < table->count; i++) {
		struct sender *sender = &table->senders[i];
		if (sender->last >= silent_since && sender->counter >= least_counter)
			table->senders[kept++] = *sender;
		else
			free(sender->name);
	}
	table->count = kept;
	reindex(table);
}

/* A newcomer that finds no place takes one from each counter (Misra and Gries 1982): whoever makes more than one of `capacity` arrivals has a place. */
void table_make_room(struct sender_table *table, double at)
{
	drop(table, at - gaps_horizon, -INFINITY);
	if (!table_is_full(table))
		return;
	bool is_new = !table_has_overflowed(table, at);
	table->overflowed_at = at;
	for (size_t i = 0; i < table->count; i++) {
		struct sender *sender = &table->senders[i];
		sender->counter--;
		if (is_new && sender->gaps.count < fewest_once_overflowed)
			sender->is_separate = false;
	}
	drop(table, -INFINITY, 1);
}
