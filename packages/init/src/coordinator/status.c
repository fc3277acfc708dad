#include "status.h"

#include "../base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const status_state_names[] = { "nothing", "unknown", "waiting", "incomplete", "released" };

static const char protocol[] = "lameduck 1";
static const uint64_t most_version = 9999;
/* ms, a day: older values belong to no current termination. */
static const uint64_t longest_ms = 86400000;
static const uint64_t most_consumers = 1000000;

/* The text goes to logs: only printable ASCII is kept. */
static void copy_plain(char *to, size_t size, const char *from, size_t length)
{
	size_t used = 0;
	for (size_t i = 0; i < length && used + 1 < size; i++)
		if (from[i] >= ' ' && from[i] <= '~')
			to[used++] = from[i];
	to[used] = '\0';
}

static enum status_state state_named(const char *name)
{
	for (int state = STATUS_UNKNOWN; state <= STATUS_RELEASED; state++)
		if (strcmp(name, status_state_names[state]) == 0)
			return (enum status_state)state;
	return STATUS_UNKNOWN;
}

static double milliseconds(const char *text)
{
	uint64_t value;
	return is_number(text, 0, longest_ms, &value) ? (double)value : NAN;
}

/* "4/5". */
static void read_consumers(const char *text, struct status *status)
{
	uint64_t reported, relevant;
	const char *slash = read_decimal(text, &reported);
	if (!slash || *slash != '/' || !is_number(slash + 1, 0, most_consumers, &relevant) || reported > relevant)
		return;
	status->reported = (unsigned)reported;
	status->relevant = (unsigned)relevant;
}

static void read_value(struct status *status, const char *key, const char *value)
{
	if (strcmp(key, "state") == 0)
		status->state = state_named(value);
	else if (strcmp(key, "withdrawn-ms") == 0)
		status->withdrawn = true;
	else if (strcmp(key, "released-ms") == 0)
		status->released = milliseconds(value);
	else if (strcmp(key, "consumers") == 0)
		read_consumers(value, status);
	else if (strcmp(key, "behind") == 0)
		memcpy(status->behind, value, sizeof status->behind);
	else if (strcmp(key, "last") == 0)
		memcpy(status->last, value, sizeof status->last);
	else if (strcmp(key, "end") == 0)
		status->end = strcmp(value, "now") == 0;
	else if (strcmp(key, "mode") == 0 && strcmp(value, "consistency") == 0)
		status->consistency = true;
	else if (strcmp(key, "mode") == 0 && strcmp(value, "availability") == 0)
		status->consistency = false;
}

static void read_line(struct status *status, const char *line, size_t length)
{
	char key[24], value[STATUS_NAMES];
	const char *colon = memchr(line, ':', length);
	if (!colon)
		return;
	copy_plain(key, sizeof key, line, (size_t)(colon - line));
	const char *from = colon + 1;
	while (from < line + length && *from == ' ')
		from++;
	copy_plain(value, sizeof value, from, (size_t)(line + length - from));
	read_value(status, key, value);
}

bool status_parse(const char *text, struct status *status)
{
	*status = (struct status){ .state = STATUS_UNKNOWN, .released = NAN, .consistency = status->consistency };
	size_t first = strcspn(text, "\n");
	size_t version = sizeof protocol - 1;
	/* 1.2 is compatible with 1, and 10 is not. */
	if (strncmp(text, protocol, version) != 0 || (text[version] >= '0' && text[version] <= '9'))
		return false;
	for (const char *line = text + first; *line;) {
		line++;
		size_t length = strcspn(line, "\n");
		read_line(status, line, length);
		line += length;
	}
	if (status->state != STATUS_RELEASED)
		status->released = NAN;
	else if (isnan(status->released))
		status->released = 0;
	return true;
}

unsigned status_other_version(const char *text)
{
	uint64_t major;
	size_t name = sizeof protocol - 2;
	const char *end = strncmp(text, protocol, name) == 0 ? read_decimal(text + name, &major) : NULL;
	return end && (*end == '\n' || *end == '\r' || *end == '.') && major != 1 && major <= most_version ? (unsigned)major : 0;
}
