#include "table.h"

#include <math.h>
#include <stdlib.h>

/* So many senders are told apart for coming often, where they are not in the sample; each has made so many gaps at least. */
enum { MOST_REGULARS = 32 };
static const double fewest_of_regular = 8;

struct crowd *crowd_of(struct sender_table *table)
{
	if (!table->crowd.used)
		crowd_init(&table->crowd, table->watching_from);
	return &table->crowd;
}

static bool in_sample(const struct sender_table *table, const struct sender *sender)
{
	return !isnan(sender->rate) || sample_has(table->share, sender->hash);
}

static size_t count_sampled(const struct sender_table *table)
{
	size_t sampled = 0;
	for (size_t i = 0; i < table->count; i++)
		sampled += in_sample(table, &table->senders[i]);
	return sampled;
}

double crowd_size(const struct sender_table *table)
{
	double sampled = (double)count_sampled(table);
	return sampled * (1 / table->share - 1) - ((double)table->count - sampled);
}

static void drop_silent(struct sender_table *table, double at)
{
	size_t kept = 0;
	for (size_t i = 0; i < table->count; i++) {
		struct sender *sender = &table->senders[i];
		if (!isnan(sender->rate) || at - sender->last <= gaps_horizon)
			table->senders[kept++] = *sender;
		else
			free(sender->name);
	}
	table->count = kept;
	table_reindex(table);
}

/* Positions of those that are not in the sample and come most often, the most frequent first. */
static size_t find_regulars(const struct sender_table *table, size_t regulars[MOST_REGULARS])
{
	size_t most = table->capacity / 4 < MOST_REGULARS ? table->capacity / 4 : MOST_REGULARS;
	size_t found = 0;
	for (size_t i = 0; i < table->count; i++) {
		double count = table->senders[i].gaps.count;
		if (in_sample(table, &table->senders[i]) || count < fewest_of_regular)
			continue;
		size_t place = found < most ? found++ : most;
		for (; place > 0 && table->senders[regulars[place - 1]].gaps.count < count; place--)
			if (place < most)
				regulars[place] = regulars[place - 1];
		if (place < most)
			regulars[place] = i;
	}
	return found;
}

static bool is_among(const size_t *positions, size_t count, size_t position)
{
	for (size_t i = 0; i < count; i++)
		if (positions[i] == position)
			return true;
	return false;
}

/* Those that are no more in the sample join the crowd, but for those that come most often: a crowd that comes once must not hide them. */
static void leave_sample(struct sender_table *table)
{
	size_t regulars[MOST_REGULARS];
	size_t found = find_regulars(table, regulars);
	size_t kept = 0;
	for (size_t i = 0; i < table->count; i++) {
		struct sender *sender = &table->senders[i];
		if (in_sample(table, sender) || is_among(regulars, found, i)) {
			table->senders[kept++] = *sender;
			continue;
		}
		crowd_join(crowd_of(table), sender->hash, &sender->gaps, sender->last);
		free(sender->name);
	}
	table->count = kept;
	table_reindex(table);
}

bool is_full(const struct sender_table *table)
{
	return table->count >= table->capacity;
}

void make_room(struct sender_table *table, double at)
{
	table->sampled_anew = at;
	drop_silent(table, at);
	if ((double)table->count <= 0.75 * (double)table->capacity)
		return;
	table->share /= 2;
	leave_sample(table);
}

/* A crowd that has gone leaves room for a larger share of those that come; its own part of the sample goes with it. */
void use_room(struct sender_table *table, double at)
{
	if (at - table->sampled_anew < gaps_horizon)
		return;
	table->sampled_anew = at;
	drop_silent(table, at);
	for (double expected = (double)count_sampled(table); expected <= (double)table->capacity / 4; expected *= 2) {
		if (table->share >= 1)
			return;
		table->share *= 2;
	}
}
