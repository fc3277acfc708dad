#include "status.h"

#include "../base/text.h"

#include <math.h>
#include <string.h>

const char *const status_state_names[] = { "nothing", "unknown", "waiting", "incomplete", "released" };

static const char protocol[] = "lameduck ";
/* Digits of a version, so that none overflows. */
enum { MOST_DIGITS = 9 };
/* An hour: longer times add nothing. */
static const double longest_ms = 3600000;
static const uint64_t most_ms = 999999999999999;
static const uint64_t most_consumers = 1000000;

/* The text goes to logs: only printable ASCII is kept, and no space at its end. */
static void copy_plain(char *to, size_t size, const char *from, size_t length)
{
	size_t used = 0;
	for (size_t i = 0; i < length && used + 1 < size; i++)
		if (from[i] >= ' ' && from[i] <= '~')
			to[used++] = from[i];
	while (used > 0 && to[used - 1] == ' ')
		used--;
	to[used] = '\0';
}

/* Without the white space around it, and else byte by byte: a word with a stray byte is another word. */
static void copy_trimmed(char *to, size_t size, const char *from, size_t length)
{
	static const char white[] = " \t\v\f\r";
	while (length > 0 && strchr(white, *from)) {
		from++;
		length--;
	}
	while (length > 0 && strchr(white, from[length - 1]))
		length--;
	if (length >= size)
		length = size - 1;
	memcpy(to, from, length);
	to[length] = '\0';
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
	return is_number(text, 0, most_ms, &value) ? fmin((double)value, longest_ms) : NAN;
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
	else if (strcmp(key, "assumed-ms") == 0)
		status->assumed = fmax(0, milliseconds(value));
	else if (strcmp(key, "consumers") == 0)
		read_consumers(value, status);
	else if (strcmp(key, "behind") == 0)
		copy_plain(status->behind, sizeof status->behind, value, strlen(value));
	else if (strcmp(key, "last") == 0)
		copy_plain(status->last, sizeof status->last, value, strlen(value));
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
	copy_trimmed(key, sizeof key, line, (size_t)(colon - line));
	copy_trimmed(value, sizeof value, colon + 1, (size_t)(line + length - colon - 1));
	read_value(status, key, value);
}

static const char *read_version(const char *at, uint64_t *version)
{
	const char *end = read_decimal(at, version);
	return end && end - at <= MOST_DIGITS ? end : NULL;
}

/* The major version that the first line names, or -1. 1.2 is compatible with 1. */
static long version_of(const char *text)
{
	uint64_t major, minor;
	size_t name = sizeof protocol - 1;
	const char *end = strncmp(text, protocol, name) == 0 ? read_version(text + name, &major) : NULL;
	if (end && *end == '.')
		end = read_version(end + 1, &minor);
	if (!end)
		return -1;
	end += strspn(end, " \t\r");
	return *end == '\n' || *end == '\0' ? (long)major : -1;
}

bool status_parse(const char *text, struct status *status)
{
	*status = (struct status){ .state = STATUS_UNKNOWN, .released = NAN, .consistency = status->consistency };
	if (version_of(text) != 1)
		return false;
	for (const char *line = text + strcspn(text, "\n"); *line;) {
		line++;
		size_t length = strcspn(line, "\n");
		read_line(status, line, length);
		line += length;
	}
	if (status->state == STATUS_RELEASED)
		status->assumed = 0;
	if (status->state != STATUS_RELEASED)
		status->released = NAN;
	else if (isnan(status->released))
		status->released = 0;
	return true;
}

unsigned status_other_version(const char *text)
{
	long major = version_of(text);
	return major > 1 ? (unsigned)major : 0;
}
