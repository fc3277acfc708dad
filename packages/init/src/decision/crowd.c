#include "crowd.h"

#include <math.h>

/* Times of late senders are kept in classes, each a quarter wider than the one before, ms. */
static const double first_class = 50;
static const double wider = 1.25;
enum { CLASSES = 128 };

/* FNV-1a, and the finaliser of MurmurHash3. */
uint32_t hash_of(const char *name, uint32_t key)
{
	uint32_t hash = 2166136261u ^ key;
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	hash = (hash ^ (hash >> 16)) * 0x85ebca6bu;
	hash = (hash ^ (hash >> 13)) * 0xc2b2ae35u;
	return hash ^ (hash >> 16);
}

bool sample_has(double share, uint32_t hash)
{
	return hash < share * 4294967296.0;
}

void crowd_init(struct crowd *crowd, double from)
{
	*crowd = (struct crowd){ .used = true, .from = from, .last = from, .last_before = from, .late_share = 1 };
}

static void keep_sample(struct crowd *crowd)
{
	size_t kept = 0;
	for (size_t i = 0; i < crowd->late_count; i++)
		if (sample_has(crowd->late_share, crowd->late[i].hash))
			crowd->late[kept++] = crowd->late[i];
	crowd->late_count = kept;
}

static void came(struct crowd *crowd, uint32_t hash, double at, double since)
{
	crowd->last = fmax(crowd->last, at);
	if (isnan(since)) {
		crowd->last_before = fmax(crowd->last_before, at);
		return;
	}
	/* All hashes of a crowd are high; their last digits are not. */
	uint32_t mixed = hash * 0x9e3779b1u;
	if (!sample_has(crowd->late_share, mixed))
		return;
	size_t i = 0;
	while (i < crowd->late_count && crowd->late[i].hash != mixed)
		i++;
	if (i == crowd->late_count)
		crowd->late[crowd->late_count++] = (struct late){ .hash = mixed };
	crowd->late[i].since = fmax(crowd->late[i].since, since);
	while (crowd->late_count > MOST_LATE) {
		crowd->late_share /= 2;
		keep_sample(crowd);
	}
}

void crowd_arrival(struct crowd *crowd, uint32_t hash, double at, double since)
{
	double gap = fmax(0, at - crowd->last);
	/* In the hold, gaps grow because one sender after the other lets go: that tells of no bursts. */
	if (isnan(since))
		gaps_add(&crowd->gaps, gap, false, 1, fewest_of_one);
	else {
		gaps_take(&crowd->gaps, 1, gap);
		crowd->held++;
	}
	came(crowd, hash, at, since);
}

void crowd_join(struct crowd *crowd, uint32_t hash, const struct gaps *gaps, double last)
{
	gaps_take(&crowd->gaps, gaps->count + 1, fmax(0, last - crowd->last));
	came(crowd, hash, last, NAN);
}

double crowd_see(const struct crowd *crowd, struct environments *environments, double senders, double deleted_at)
{
	double idle = fmax(0, deleted_at - crowd->last);
	struct habit all = gaps_habit(&crowd->gaps, crowd->gaps.exposure, idle);
	/* As of a sender: silence before the deletion that had such a chance was its leaving. Then it is one that came once. */
	struct habit before = gaps_habit(&crowd->gaps, crowd->gaps.exposure, 0);
	bool left = habit_surprise(&before, idle) > left_surprise;
	double each = 1 / crowd->late_share;
	double silent = fmax(fmax(1, left ? 0 : senders), (double)crowd->late_count * each);
	double rate = left ? 1 / fmax(1, deleted_at - crowd->from) : all.rate / silent;
	/* They may all come again; but that those do not who came in the hold for the first time is no surprise. */
	double habitual = left ? 0 : 1 - crowd->held / fmax(1, crowd->gaps.count);
	struct habit one = steady_habit(rate, fmin(1, all.slope / all.rate) * rate * habitual);
	double counts[CLASSES] = { 0 }, sums[CLASSES] = { 0 };
	for (size_t i = 0; i < crowd->late_count; i++) {
		int class = 0;
		for (double end = first_class; end < crowd->late[i].since && class < CLASSES - 1; end *= wider)
			class++;
		counts[class]++;
		sums[class] += crowd->late[i].since;
	}
	for (int class = 0; class < CLASSES; class++) {
		if (counts[class] == 0)
			continue;
		environments_see(environments, &one, sums[class] / counts[class], counts[class] * each);
		silent -= counts[class] * each;
	}
	/* Nobody counted them between the deletion and SIGTERM: as many as are due, and all of them as late as they may have come. */
	double unseen = fmax(0, crowd->last_before - deleted_at);
	if (unseen > 0) {
		double came = silent * -expm1(-rate * unseen);
		environments_see(environments, &one, unseen, came);
		silent -= came;
	}
	if (silent > 0)
		environments_see(environments, &one, 0, silent);
	return all.rate;
}
