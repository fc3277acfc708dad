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
	uint32_t hash = hash_of(name);
	for (size_t i = 0; i < table->count; i++)
		if (table->senders[i].hash == hash && strcmp(table->senders[i].name, name) == 0)
			return &table->senders[i];
	return NULL;
}

static bool grow(struct sender_table *table)
{
	size_t allocated = table->allocated ? table->allocated * 2 : 16;
	struct sender *senders = realloc(table->senders, allocated * sizeof *senders);
	if (!senders)
		return false;
	table->senders = senders;
	table->allocated = allocated;
	return true;
}

struct sender *table_add(struct sender_table *table, const char *name, double at)
{
	if (table->count == table->allocated && !grow(table))
		return NULL;
	char *copy = strdup(name);
	if (!copy)
		return NULL;
	struct sender *sender = &table->senders[table->count++];
	*sender = (struct sender){ .name = copy, .hash = hash_of(name), .last = at, .paused = table->paused, .counter = 1 };
	return sender;
}

void table_remove(struct sender_table *table, struct sender *sender)
{
	free(sender->name);
	*sender = table->senders[--table->count];
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
