#include "log.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
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

/*
 * Whether `text` begins with a character that a terminal acts on: a control character, or one that changes the direction of text.
 * Returns its bytes, or 0.
 */
static unsigned obeyed(const unsigned char *text, unsigned *character)
{
	if (*text < 0x20 || *text == 0x7f) {
		*character = *text;
		return 1;
	}
	if (*text == 0xc2 && text[1] >= 0x80 && text[1] <= 0x9f) {
		*character = text[1];
		return 2;
	}
	if (*text != 0xe2 || (text[1] != 0x80 && text[1] != 0x81) || text[2] < 0x80)
		return 0;
	*character = 0x2000u | (text[1] & 0x3fu) << 6 | (text[2] & 0x3fu);
	return (*character >= 0x202a && *character <= 0x202e) || (*character >= 0x2066 && *character <= 0x2069) ? 3 : 0;
}

/* Text from outside (values, names of files, answers), escaped so that a line stays one line. Cuts what does not fit. */
static const char *printable(const char *text, char *buffer, unsigned size)
{
	const unsigned char *from = (const unsigned char *)text;
	unsigned at = 0, character;
	while (*from && at + 7 < size) {
		unsigned bytes = obeyed(from, &character);
		if (bytes > 0)
			at += (unsigned)snprintf(buffer + at, size - at, "\\u%04x", character);
		else
			buffer[at++] = (char)*from;
		from += bytes > 0 ? bytes : 1;
	}
	buffer[at] = '\0';
	return buffer;
}

static volatile sig_atomic_t alarm_of_others;

static void on_alarm(int number, siginfo_t *info, void *context)
{
	(void)number, (void)context;
	alarm_of_others = alarm_of_others || info->si_code != SI_KERNEL;
}

/*
 * A descriptor that polls writable may still block: a terminal takes a part of a line, and the program may fill a pipe before us.
 * O_NONBLOCK would also change the program's descriptor. So a timer ends the write. It repeats, in case the write begins after it.
 */
static void write_unless_stuck(int fd, const char *line, size_t length)
{
	const struct itimerval soon = { .it_interval.tv_usec = 20000, .it_value.tv_usec = 20000 }, never = { 0 };
	const struct sigaction interrupt = { .sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO };
	struct sigaction before;
	sigset_t alarm_alone, blocked;
	struct pollfd out = { .fd = fd, .events = POLLOUT };
	if (poll(&out, 1, 0) != 1 || !(out.revents & POLLOUT))
		return;
	sigemptyset(&alarm_alone);
	sigaddset(&alarm_alone, SIGALRM);
	alarm_of_others = 0;
	sigaction(SIGALRM, &interrupt, &before);
	sigprocmask(SIG_UNBLOCK, &alarm_alone, &blocked);
	setitimer(ITIMER_REAL, &soon, NULL);
	ssize_t written = write(fd, line, length);
	(void)written; /* an error here cannot be reported */
	setitimer(ITIMER_REAL, &never, NULL);
	if (sigismember(&blocked, SIGALRM))
		sigprocmask(SIG_BLOCK, &alarm_alone, NULL);
	sigaction(SIGALRM, &before, NULL);
	if (alarm_of_others)
		kill(getpid(), SIGALRM);
}

void log_with(const struct logger *logger, enum log_level level, const char *fields, const char *text)
{
	if (level > logger->most)
		return;
	char line[4096];
	int length;
	if (logger->json) {
		char escaped[1024];
		struct timespec now;
		clock_gettime(CLOCK_REALTIME, &now);
		length = snprintf(line, sizeof line - 1,
				  "{\"time\":%lld.%03ld,\"name\":\"lameduck-init\",\"level\":\"%s\",\"message\":\"%s\"%s%s}",
				  (long long)now.tv_sec, now.tv_nsec / 1000000, level_names[level],
				  json_escape(text, escaped, sizeof escaped), *fields ? "," : "", fields);
	} else {
		char shown[sizeof line];
		length = snprintf(line, sizeof line - 1, "%s: %s%s", logger->name,
				  level <= LOG_WARNING ? (level == LOG_ERROR ? "error: " : "warning: ") : "",
				  printable(text, shown, sizeof shown));
	}
	if (length > (int)sizeof line - 2)
		length = (int)sizeof line - 2;
	line[length++] = '\n';
	write_unless_stuck(STDERR_FILENO, line, (size_t)length);
	if (logger->also >= 0)
		write_unless_stuck(logger->also, line, (size_t)length);
}

void log_line(const struct logger *logger, enum log_level level, const char *format, ...)
{
	if (level > logger->most)
		return;
	char text[1024];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	log_with(logger, level, "", text);
}
