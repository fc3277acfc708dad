#include "release.h"

#include <math.h>
#include <string.h>

/* A connection that comes no later than this after the release was under way when the last consumer let go. */
static const double on_its_way_ms = 100;

void release_init(struct release *release, double settle)
{
	*release = (struct release){ .settle = settle, .latest_of_others = -INFINITY, .assumed_until = -INFINITY };
}

static void compare(struct release *release)
{
	const struct release_sender *surest = NULL;
	for (unsigned i = 0; i < release->sender_count; i++)
		if (!surest || release->senders[i].surest >= surest->surest)
			surest = &release->senders[i];
	if (release->overruled || !release->given || !surest || surest->surest <= release->given_at + on_its_way_ms)
		return;
	release->overruled = true;
	release->overruled_at = surest->surest_at;
	memcpy(release->overruled_by, surest->name, sizeof release->overruled_by);
}

void release_give(struct release *release, double at)
{
	release->local = false;
	if (!release->given)
		release->given_at = at;
	release->given = true;
	compare(release);
}

void release_withdraw(struct release *release, bool local, double at, double assumed)
{
	release->assumed_until = fmax(release->assumed_until, at + assumed);
	release->local = local;
	release->given = false;
}

static bool is_named(const char *name, const char *sender)
{
	return strncmp(name, sender, RELEASE_SENDER - 1) == 0;
}

static struct release_sender *find(struct release *release, const char *sender)
{
	for (unsigned i = 0; i < release->sender_count; i++)
		if (is_named(release->senders[i].name, sender))
			return &release->senders[i];
	return NULL;
}

/* A free place, or else the place of the sender with the oldest connections. */
static struct release_sender *room(struct release *release)
{
	if (release->sender_count < RELEASE_SENDERS)
		return &release->senders[release->sender_count++];
	struct release_sender *oldest = release->senders;
	for (unsigned i = 1; i < RELEASE_SENDERS; i++)
		if (release->senders[i].surest < oldest->surest)
			oldest = &release->senders[i];
	release->latest_of_others = fmax(release->latest_of_others, oldest->latest);
	return oldest;
}

static struct release_sender *find_or_add(struct release *release, const char *sender)
{
	struct release_sender *found = find(release, sender);
	if (found)
		return found;
	found = room(release);
	*found = (struct release_sender){ .latest = -INFINITY, .surest = -INFINITY };
	memcpy(found->name, sender, strnlen(sender, RELEASE_SENDER - 1));
	return found;
}

void release_connection(struct release *release, const char *sender, double at, double earlier)
{
	struct release_sender *known = find_or_add(release, sender);
	known->latest = fmax(known->latest, at);
	if (at - earlier < known->surest)
		return;
	known->surest = at - earlier;
	known->surest_at = at;
	compare(release);
}

void release_forget(struct release *release, const char *sender)
{
	struct release_sender *known = find(release, sender);
	if (known)
		*known = release->senders[--release->sender_count];
	if (is_named(release->overruled_by, sender))
		release->overruled = false;
	compare(release);
}

bool release_stands(const struct release *release)
{
	return release->given && !release->overruled;
}

double release_settled_at(const struct release *release)
{
	if (!release_stands(release))
		return INFINITY;
	double latest = release->latest_of_others;
	for (unsigned i = 0; i < release->sender_count; i++)
		latest = fmax(latest, release->senders[i].latest);
	return fmax(release->given_at, latest) + release->settle;
}

double release_assumed_until(const struct release *release)
{
	return fmin(release->assumed_until, release_settled_at(release));
}
