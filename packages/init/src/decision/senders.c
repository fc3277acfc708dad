#include "senders.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A mean of fewer gaps is chance. */
static const double fewest_recent_gaps = 4;
/*
 * The mean of the latest gaps is as certain as if it were learnt from this many gaps. The gaps of the aggregate grow, as one sender after the other
 * lets go, so its mean is less certain.
 */
static const double recent_gaps_of_one = 10;
static const double recent_gaps_of_aggregate = 5;
/* This many gaps of all senders together show how long their lulls usually are. */
static const double fewest_gaps_before = 50;
/* This many gaps in a hold give a rate. */
static const double enough_gaps = 8;
/*
 * A sender needs this many gaps to be separate while the table overflows. A sender that came twice by chance would seem to come more often than it
 * does.
 */
static const double fewest_gaps_once_overflowed = 24;

void senders_init(struct sender_table *table, size_t capacity, double prestop, double watching_from)
{
	*table = (struct sender_table){ .capacity = capacity, .prestop = prestop, .watching_from = watching_from,
					.overflowed_at = -INFINITY, .load_last = -INFINITY,
					.held_from = INFINITY, .prior = default_prior(), .coverage = 1 };
}

void senders_free(struct sender_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->senders[i].name);
	free(table->senders);
	*table = (struct sender_table){ 0 };
}

/* FNV-1a. */
static uint32_t hash_of(const char *name)
{
	uint32_t hash = 2166136261u;
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash;
}

static struct sender *find(const struct sender_table *table, const char *name)
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

/* NULL when memory is short. Then the arrival counts as the aggregate's only. */
static struct sender *add(struct sender_table *table, const char *name, double at)
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

static bool is_full(const struct sender_table *table)
{
	return table->count >= table->capacity;
}

static bool has_overflowed(const struct sender_table *table, double at)
{
	return at - table->overflowed_at <= gaps_horizon_ms;
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

/*
 * Makes room for a newcomer before the hold. Senders that have long been silent go first. Where there are none, 1 is taken from each counter (Misra
 * and Gries 1982). A sender that makes more than one of `capacity` arrivals keeps its place.
 */
static void make_room(struct sender_table *table, double at)
{
	drop(table, at - gaps_horizon_ms, -INFINITY);
	if (!is_full(table))
		return;
	bool is_new = !has_overflowed(table, at);
	table->overflowed_at = at;
	for (size_t i = 0; i < table->count; i++) {
		struct sender *sender = &table->senders[i];
		sender->counter--;
		if (is_new && sender->gaps.count < fewest_gaps_once_overflowed)
			sender->is_separate = false;
	}
	drop(table, -INFINITY, 1);
}

/* Silence counts from the deletion, or from the beginning of the watch if that was later. */
static double deleted_at(const struct sender_table *table)
{
	return fmax(table->held_from - table->prestop, table->watching_from);
}

static double since(const struct sender_table *table, double at)
{
	return fmax(0, at - deleted_at(table));
}

/*
 * How long the load has paused since the latest arrival of `sender`. 0 where the other senders are silent for as long at times. Such a pause is no
 * habit of one sender.
 */
static double shared_pause(const struct sender_table *table, const struct sender *sender)
{
	const struct gaps *load = &table->load;
	double pause = table->paused - sender->paused;
	if (pause <= 0)
		return 0;
	struct habit others = learnt_habit(load->count - sender->gaps.count, load->exposure, gaps_longest(load));
	return habit_hazard(&others, pause) > left_hazard ? pause : 0;
}

static void arrived(const struct sender_table *table, struct sender *sender, double at)
{
	bool held = at >= table->held_from;
	double gap = fmax(0, at - sender->last - shared_pause(table, sender));
	gaps_add(&sender->gaps, gap, held, table->coverage, fewest_of_one);
	sender->held_gaps += held;
	sender->held_exposure += held ? gap : 0;
	sender->counter++;
	sender->last = fmax(sender->last, at);
	sender->paused = table->paused;
}

static void note_load(struct sender_table *table, double at)
{
	double gap = fmax(0, at - table->load_last);
	if (isfinite(table->load_last) && gaps_add(&table->load, gap, at >= table->held_from, 1, 0))
		table->paused += gap;
	table->load_last = fmax(table->load_last, at);
}

void senders_held_from(struct sender_table *table, double at)
{
	table->held_from = at;
	table->gaps_before = table->load.count;
}

static void aggregate_arrived(struct sender_table *table, double at)
{
	if (table->aggregate.counter > 0)
		arrived(table, &table->aggregate, at);
	else
		table->aggregate = (struct sender){ .last = at, .paused = table->paused, .counter = 1 };
}

/* Takes the arrivals of `sender` out of the aggregate. */
static void make_separate(struct sender_table *table, struct sender *sender)
{
	struct sender *aggregate = &table->aggregate;
	aggregate->counter -= sender->shared;
	aggregate->gaps.count = fmax(0, aggregate->gaps.count - sender->shared);
	sender->shared = 0;
	sender->is_separate = true;
}

void senders_arrival(struct sender_table *table, const char *name, double at)
{
	note_load(table, at);
	struct sender *sender = find(table, name);
	if (sender) {
		arrived(table, sender, at);
		if (sender->gaps.count >= (has_overflowed(table, at) ? fewest_gaps_once_overflowed : 1))
			make_separate(table, sender);
		if (sender->is_separate)
			return;
	} else {
		/* In a hold no sender is dropped for a new one: the hold may wait for it. */
		if (is_full(table) && isinf(table->held_from))
			make_room(table, at);
		if (!is_full(table))
			sender = add(table, name, at);
	}
	if (sender)
		sender->shared++;
	aggregate_arrived(table, at);
}

void senders_forget(struct sender_table *table, const char *name)
{
	struct sender *sender = find(table, name);
	if (!sender)
		return;
	make_separate(table, sender);
	free(sender->name);
	*sender = table->senders[--table->count];
}

void senders_settle(struct sender_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		table->senders[i].gaps = (struct gaps){ 0 };
	table->aggregate.gaps = table->load = (struct gaps){ 0 };
}

void senders_set_coverage(struct sender_table *table, double coverage)
{
	table->coverage = coverage;
	for (size_t i = 0; i < table->count; i++)
		gaps_set_coverage(&table->senders[i].gaps, coverage);
	gaps_set_coverage(&table->aggregate.gaps, coverage);
}

/*
 * The time that the gaps of `sender` sum up to. Perhaps only a part of the connections before the hold was seen. Then a sender that comes faster in
 * the hold than before it came as fast before: its time before the hold is shortened, but not below that part of it.
 */
static double exposure_of(const struct sender_table *table, const struct sender *sender)
{
	double exposure = sender->gaps.exposure;
	double before = exposure - sender->held_exposure;
	double gaps_before = sender->gaps.count - sender->held_gaps;
	if (table->coverage >= 1 || sender->held_gaps < enough_gaps || gaps_before <= 0 || before <= 0)
		return exposure;
	double part = sender->held_exposure / sender->held_gaps / (before / gaps_before);
	return sender->held_exposure + before * fmin(1, fmax(table->coverage, part));
}

/* The habit of `sender`. False where it left for good before the deletion. */
static bool judge(const struct sender_table *table, const struct sender *sender, struct habit *habit)
{
	double idle_before = fmax(0, deleted_at(table) - sender->last);
	struct habit before = gaps_habit(&sender->gaps, sender->gaps.exposure, 0);
	bool left = sender->gaps.count > 0 && habit_hazard(&before, idle_before) > left_hazard;
	bool long_standing = sender->gaps.longest_before > 0;
	if (left && long_standing)
		return false;
	if (left || sender->gaps.count == 0)
		*habit = learnt_habit(1, idle_before + fmax(1, sender->last - table->watching_from), 0);
	else
		*habit = gaps_habit(&sender->gaps, exposure_of(table, sender), idle_before);
	bool came_late = since(table, sender->last) > 0;
	if (sender->gaps.count >= fewest_recent_gaps && came_late && sender->gaps.recent * habit->rate > 1)
		habit->recent_gap = sender->gaps.recent;
	habit->recent_worth = sender == &table->aggregate ? recent_gaps_of_aggregate : recent_gaps_of_one;
	return true;
}

/* The separate senders, and then the aggregate; NULL after it. */
static const struct sender *next_judged(const struct sender_table *table, size_t *position, struct habit *habit)
{
	while (*position <= table->count) {
		size_t i = (*position)++;
		const struct sender *sender = i < table->count ? &table->senders[i] : &table->aggregate;
		if ((i < table->count ? sender->is_separate : sender->counter > 0) && judge(table, sender, habit))
			return sender;
	}
	return NULL;
}

static void begin(struct posterior *posterior, const struct sender_table *table, double now, double convergence)
{
	double rate = gaps_habit(&table->load, table->load.exposure, 0).rate;
	struct habit habit;
	size_t position = 0;
	/*
	 * A lone sender may pause at any time, and the lulls of a load that was hardly seen are unknown. In both cases the latest arrival says nothing about
	 * a delay.
	 */
	bool lone = next_judged(table, &position, &habit) && !next_judged(table, &position, &habit);
	bool unknown = lone || table->gaps_before < fewest_gaps_before;
	posterior_init(posterior, &table->prior, convergence, since(table, now),
		       unknown ? 0 : since(table, table->load_last), rate);
}

static void see_all(struct posterior *posterior, const struct sender_table *table)
{
	struct habit habit;
	size_t position = 0;
	for (const struct sender *sender; (sender = next_judged(table, &position, &habit));)
		posterior_update(posterior, &habit, since(table, sender->last));
}

double senders_expected_loss(const struct sender_table *table, double now, double convergence)
{
	struct posterior posterior;
	begin(&posterior, table, now, convergence);
	see_all(&posterior, table);
	return posterior_loss_under(&posterior, &posterior);
}

/* The name of the sender, where the aggregate has one arrival; else NULL. */
static const char *only_one(const struct sender_table *table)
{
	for (size_t i = 0; i < table->count && table->aggregate.counter == 1; i++)
		if (table->senders[i].shared > 0)
			return table->senders[i].name;
	return NULL;
}

struct pending_sender senders_pending(const struct sender_table *table, double now, double convergence)
{
	struct posterior all, one;
	begin(&all, table, now, convergence);
	see_all(&all, table);
	struct pending_sender most = { 0 };
	struct habit habit;
	size_t position = 0;
	for (const struct sender *sender; (sender = next_judged(table, &position, &habit));) {
		begin(&one, table, now, convergence);
		posterior_update(&one, &habit, since(table, sender->last));
		double loss = posterior_loss_under(&one, &all);
		if (most.any && loss <= most.expected_loss)
			continue;
		double silence = since(table, sender->last) > 0 ? now - sender->last : NAN;
		const char *name = sender == &table->aggregate ? only_one(table) : sender->name;
		most = (struct pending_sender){ name, true, habit.rate, silence, loss };
	}
	return most;
}
