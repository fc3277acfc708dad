#include "trace.h"

#include "../base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The size of a recording. Its last line comes after that. */
static const size_t most_written = 8u << 20;
/* A killed process leaves what was written until then. */
static const double flush_interval_ms = 1000;
enum { LONGEST_LINE = 4096, LONGEST_NAME = 512 };
enum { MOST_PATH = 1024 };
/* The beginning of every recording. A file that begins otherwise is not ours. */
static const char beginning[] = "{\"lameduck\":\"trace\"";

static bool fail(char *problem, size_t size, const char *path, const char *what)
{
	snprintf(problem, size, "%s: %s", path, what);
	return false;
}

static bool is_recording(int fd)
{
	char read_back[sizeof beginning - 1];
	ssize_t got = read(fd, read_back, sizeof read_back);
	return got >= 0 && memcmp(read_back, beginning, (size_t)got) == 0;
}

/* True where there is no file, or a recording. */
static bool may_go(const char *path, bool *there, char *problem, size_t size)
{
	struct stat status;
	*there = lstat(path, &status) == 0;
	if (!*there)
		return errno == ENOENT || fail(problem, size, path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return fail(problem, size, path, "is no regular file and is left as it is");
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return fail(problem, size, path, strerror(errno));
	bool ours = is_recording(fd);
	close(fd);
	return ours || fail(problem, size, path, "holds something else and is left as it is");
}

static bool keep_older(const char *path, char *problem, size_t size)
{
	char older[MOST_PATH + 2];
	bool there, older_there;
	if (!may_go(path, &there, problem, size))
		return false;
	if (!there)
		return true;
	snprintf(older, sizeof older, "%s.1", path);
	return may_go(older, &older_there, problem, size) &&
	       (rename(path, older) == 0 || fail(problem, size, path, strerror(errno)));
}

static void path_in(const char *place, char path[MOST_PATH])
{
	struct stat status;
	char host[HOST_NAME_MAX + 1] = "";
	if (stat(place, &status) != 0 || !S_ISDIR(status.st_mode)) {
		snprintf(path, MOST_PATH, "%s", place);
		return;
	}
	gethostname(host, sizeof host - 1);
	snprintf(path, MOST_PATH, "%s/lameduck-%s-%d.jsonl", place, host, (int)getpid());
}

/*
 * A file for a recording, made without following links, without waiting, and without touching other files: in a directory one for each process. A
 * recording that is there already is kept as "PATH.1". Returns the descriptor, or -1 with what is wrong in `problem`.
 */
static int make_file(const char *place, char *problem, size_t size)
{
	char path[MOST_PATH];
	path_in(place, path);
	if (!keep_older(path, problem, size))
		return -1;
	/* Addresses of clients are private. */
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		fail(problem, size, path, strerror(errno));
	return fd;
}

static void give_up(struct trace *trace, const char *problem)
{
	log_line(trace->logger, LOG_WARNING, "no recording: %s", problem);
	if (trace->fd >= 0)
		close(trace->fd);
	trace->fd = -1;
}

static void flush(struct trace *trace)
{
	size_t done = 0;
	while (trace->fd >= 0 && done < trace->used) {
		ssize_t wrote = write(trace->fd, trace->buffer + done, trace->used - done);
		if (wrote > 0)
			done += (size_t)wrote;
		else if (wrote == 0 || errno != EINTR)
			give_up(trace, strerror(wrote == 0 ? ENOSPC : errno));
	}
	trace->used = 0;
}

static void append(struct trace *trace, const char *line, size_t length)
{
	if (trace->used + length > sizeof trace->buffer)
		flush(trace);
	memcpy(trace->buffer + trace->used, line, length);
	trace->used += length;
	trace->written += length;
}

__attribute__((format(printf, 2, 3))) static void add(struct trace *trace, const char *format, ...)
{
	char line[LONGEST_LINE];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	/* Once a line was left out, all later ones are: a recording has no holes. */
	if (trace->left_out > 0 || length <= 0 || length >= (int)sizeof line ||
	    trace->written + (size_t)length > most_written)
		trace->left_out++;
	else
		append(trace, line, (size_t)length);
	double now = clock_now();
	if (now < trace->next_flush)
		return;
	trace->next_flush = now + flush_interval_ms;
	flush(trace);
}

static double since_epoch(double at)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6 - (clock_now() - at);
}

/* The numbers that count under the policy. */
static const char *number_fields(const struct drain_config *config, char *fields, size_t size)
{
	size_t length = 0;
	for (size_t i = 0; i < drain_number_count && length < size; i++)
		if (drain_number_counts(&drain_numbers[i], config->policy))
			length += (size_t)snprintf(fields + length, size - length, "\"%s\":%.17g,", drain_numbers[i].in_code,
						   drain_number_of(&drain_numbers[i], config));
	return fields;
}

void trace_begin(struct trace *trace, const char *place, const char *why, const struct logger *logger,
		 const struct drain_config *config, double terminated_at)
{
	char problem[MOST_PATH + 128], fields[512];
	*trace = (struct trace){ .fd = -1, .logger = logger, .from = terminated_at };
	if (!place)
		return;
	trace->fd = make_file(place, problem, sizeof problem);
	if (trace->fd < 0) {
		give_up(trace, problem);
		return;
	}
	trace->next_flush = clock_now() + flush_interval_ms;
	add(trace,
	    "{\"lameduck\":\"trace\",\"version\":1,\"by\":\"lameduck-init\",\"pid\":%d,\"on\":\"%s\",\"config\":{\"policy\":\"%s\","
	    "%s\"floor\":%.17g,\"cap\":%.17g,\"grace\":%.17g,\"prestop\":%.17g,\"reserve\":0},"
	    "\"clock\":{\"epoch\":%.0f,\"unit\":\"ms\"}}\n",
	    (int)getpid(), why, policy_names[config->policy], number_fields(config, fields, sizeof fields),
	    config->floor + config->prestop, config->cap, config->cap + config->prestop, config->prestop, since_epoch(terminated_at));
}

/* When it happened; and when the decision was told, if that was later. */
static const char *times(const struct trace *trace, double at, char text[64])
{
	double told = clock_now();
	int length = snprintf(text, 64, "\"at\":%.3f", at - trace->from);
	if (told - at > 1)
		snprintf(text + length, 64 - (size_t)length, ",\"told\":%.3f", told - trace->from);
	return text;
}

/* ,"name":"value", or nothing where there is none. */
static const char *optional(const char *name, const char *value, char text[LONGEST_NAME])
{
	char escaped[LONGEST_NAME - 32];
	*text = '\0';
	if (value && *value)
		snprintf(text, LONGEST_NAME, ",\"%s\":\"%s\"", name, json_escape(value, escaped, sizeof escaped));
	return text;
}

static void add_connection(struct trace *trace, const char *sender, double at, double earlier, bool old)
{
	char text[64], more[48] = "", escaped[LONGEST_NAME];
	if (earlier > 0)
		snprintf(more, sizeof more, ",\"earlier\":%.17g", earlier);
	add(trace, "{\"type\":\"arrival\",%s,\"sender\":\"%s\",\"kind\":\"connection\"%s}\n", times(trace, at, text),
	    json_escape(sender, escaped, sizeof escaped), old ? ",\"old\":true" : more);
}

void trace_observed(struct trace *trace, const struct observation *seen)
{
	char text[64], escaped[LONGEST_NAME], last[LONGEST_NAME];
	if (trace->fd < 0)
		return;
	switch (seen->type) {
	case SEEN_WATCHING:
		add(trace, "{\"type\":\"watching\",%s}\n", times(trace, seen->at, text));
		return;
	case SEEN_TERMINATION:
		add(trace, "{\"type\":\"termination\",%s}\n", times(trace, seen->at, text));
		return;
	case SEEN_CONNECTION:
	case SEEN_AGAIN:
		add_connection(trace, seen->name, seen->at, seen->earlier, seen->old);
		return;
	case SEEN_REQUEST:
		/* From outside of the program it cannot be seen which connections it has asked to close: all requests count as such. */
		add(trace,
		    "{\"type\":\"arrival\",%s,\"sender\":\"%s\",\"kind\":\"request\",\"asked\":true,\"seen\":\"outside\"}\n",
		    times(trace, seen->at, text), json_escape(seen->name, escaped, sizeof escaped));
		return;
	case SEEN_IN_FLIGHT:
		add(trace, "{\"type\":\"in-flight\",%s,\"change\":%.17g}\n", times(trace, seen->at, text), seen->value);
		return;
	case SEEN_POOL:
		add(trace, "{\"type\":\"pool\",%s}\n", times(trace, seen->at, text));
		return;
	case SEEN_BUSY:
		add(trace, "{\"type\":\"busy\",%s}\n", times(trace, seen->at, text));
		return;
	case SEEN_RELEASED:
		add(trace, "{\"type\":\"released\",%s%s%s}\n", times(trace, seen->at, text),
		    optional("consumers", seen->consumers, escaped), optional("last", seen->name, last));
		return;
	case SEEN_UNRELEASED:
		if (seen->assumed > 0)
			snprintf(escaped, sizeof escaped, ",\"assumed\":%.17g", seen->assumed);
		add(trace, "{\"type\":\"unreleased\",%s%s%s}\n", times(trace, seen->at, text),
		    seen->value > 0 ? ",\"local\":true" : "", seen->assumed > 0 ? escaped : "");
		return;
	case SEEN_FORCE:
		add(trace, "{\"type\":\"force\",%s}\n", times(trace, seen->at, text));
		return;
	case SEEN_SETTLED:
		add(trace, "{\"type\":\"settled\",\"at\":%.3f}\n", clock_now() - trace->from);
		return;
	case SEEN_COVERAGE:
		add(trace, "{\"type\":\"share\",\"at\":%.3f,\"told\":%.17g}\n", clock_now() - trace->from, seen->value);
		return;
	case SEEN_FORGOTTEN:
		add(trace, "{\"type\":\"forgotten\",\"at\":%.3f,\"sender\":\"%s\"}\n", clock_now() - trace->from,
		    json_escape(seen->name, escaped, sizeof escaped));
		return;
	}
}

void trace_decided(struct trace *trace, const struct decision *decision, double now)
{
	if (trace->fd < 0)
		return;
	if (decision->stop)
		add(trace, "{\"type\":\"decision\",\"at\":%.3f,\"reason\":\"%s\"}\n", now - trace->from,
		    stop_reason_names[decision->reason]);
	else
		add(trace, "{\"type\":\"decision\",\"at\":%.3f,\"waitingFor\":\"%s\"}\n", now - trace->from,
		    waiting_for_names[decision->waiting_for]);
}

void trace_end(struct trace *trace, const char *reason, double now)
{
	char line[160];
	if (trace->fd < 0)
		return;
	int length = snprintf(line, sizeof line, "{\"type\":\"end\",\"at\":%.3f,\"reason\":\"%s\",\"leftOut\":%zu}\n",
			      now - trace->from, reason, trace->left_out);
	append(trace, line, (size_t)length);
	flush(trace);
	if (trace->fd >= 0)
		close(trace->fd);
	trace->fd = -1;
}
