#include "say.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const level_names[] = { "error", "warning", "note", "detail", "trace" };

const char *json_escape(const char *text, char *buffer, unsigned size)
{
	unsigned at = 0;
	for (; *text && at + 7 < size; text++) {
		unsigned char c = (unsigned char)*text;
		if (c == '"' || c == '\\')
			at += (unsigned)snprintf(buffer + at, size - at, "\\%c", c);
		else if (c < 0x20)
			at += (unsigned)snprintf(buffer + at, size - at, "\\u%04x", c);
		else
			buffer[at++] = (char)c;
	}
	buffer[at] = '\0';
	return buffer;
}

/* A pipe that polls writable takes 4096 bytes without blocking; a shared O_NONBLOCK would change the child's stderr too. */
static void emit(const char *line, size_t length)
{
	struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };
	if (poll(&out, 1, 0) == 1 && out.revents & POLLOUT && write(STDERR_FILENO, line, length) < 0)
		return; /* nobody to tell */
}

void say_with(const struct speaker *speaker, enum say_level level, const char *fields, const char *text)
{
	if (level > speaker->most)
		return;
	char line[2048];
	int length;
	if (speaker->json) {
		char escaped[1024];
		struct timespec now;
		clock_gettime(CLOCK_REALTIME, &now);
		length = snprintf(line, sizeof line - 1,
				  "{\"time\":%lld.%03ld,\"name\":\"lameduck-init\",\"level\":\"%s\",\"message\":\"%s\"%s%s}",
				  (long long)now.tv_sec, now.tv_nsec / 1000000, level_names[level],
				  json_escape(text, escaped, sizeof escaped), *fields ? "," : "", fields);
	} else {
		length = snprintf(line, sizeof line - 1, "%s: %s%s", speaker->name,
				  level <= SAY_WARNING ? (level == SAY_ERROR ? "error: " : "warning: ") : "", text);
	}
	if (length > (int)sizeof line - 2)
		length = (int)sizeof line - 2;
	line[length++] = '\n';
	emit(line, (size_t)length);
}

void say(const struct speaker *speaker, enum say_level level, const char *format, ...)
{
	if (level > speaker->most)
		return;
	char text[1024];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	say_with(speaker, level, "", text);
}
