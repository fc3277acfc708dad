#include "signals.h"

#include "../base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const names[] = {
	[SIGHUP] = "HUP",   [SIGINT] = "INT",	  [SIGQUIT] = "QUIT", [SIGILL] = "ILL",	    [SIGTRAP] = "TRAP",
	[SIGABRT] = "ABRT", [SIGBUS] = "BUS",	  [SIGFPE] = "FPE",   [SIGKILL] = "KILL",   [SIGUSR1] = "USR1",
	[SIGSEGV] = "SEGV", [SIGUSR2] = "USR2",	  [SIGPIPE] = "PIPE", [SIGALRM] = "ALRM",   [SIGTERM] = "TERM",
	[SIGSTKFLT] = "STKFLT", [SIGCHLD] = "CHLD", [SIGCONT] = "CONT", [SIGSTOP] = "STOP", [SIGTSTP] = "TSTP",
	[SIGTTIN] = "TTIN", [SIGTTOU] = "TTOU",	  [SIGURG] = "URG",   [SIGXCPU] = "XCPU",   [SIGXFSZ] = "XFSZ",
	[SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF", [SIGWINCH] = "WINCH", [SIGIO] = "IO",   [SIGPWR] = "PWR",
	[SIGSYS] = "SYS",
};

/* The numbers of glibc and its programs. musl keeps one more signal for itself. */
enum { FIRST_REAL_TIME = 34 };

static int number_in(const char *text, unsigned least, unsigned most)
{
	uint64_t number;
	return is_number(text, least, most, &number) ? (int)number : -1;
}

int signal_number(const char *name)
{
	if (strncasecmp(name, "SIG", 3) == 0)
		name += 3;
	int number = number_in(name, 1, HIGHEST_SIGNAL);
	if (number > 0)
		return number;
	for (size_t i = 1; i < sizeof names / sizeof *names; i++)
		if (names[i] && strcasecmp(names[i], name) == 0)
			return (int)i;
	static const struct {
		const char *name;
		int number;
	} aliases[] = { { "IOT", SIGABRT }, { "CLD", SIGCHLD }, { "POLL", SIGIO } };
	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		if (strcasecmp(aliases[i].name, name) == 0)
			return aliases[i].number;
	if (strcasecmp(name, "RTMIN") == 0)
		return FIRST_REAL_TIME;
	if (strcasecmp(name, "RTMAX") == 0)
		return HIGHEST_SIGNAL;
	if (strncasecmp(name, "RTMIN+", 6) == 0) {
		int offset = number_in(name + 6, 0, HIGHEST_SIGNAL - FIRST_REAL_TIME);
		return offset < 0 ? 0 : FIRST_REAL_TIME + offset;
	}
	if (strncasecmp(name, "RTMAX-", 6) == 0) {
		int offset = number_in(name + 6, 0, HIGHEST_SIGNAL - FIRST_REAL_TIME);
		return offset < 0 ? 0 : HIGHEST_SIGNAL - offset;
	}
	return 0;
}

const char *signal_name(int signal, char *buffer)
{
	if (signal > 0 && signal < (int)(sizeof names / sizeof *names) && names[signal])
		snprintf(buffer, 16, "SIG%s", names[signal]);
	else if (signal >= FIRST_REAL_TIME && signal <= HIGHEST_SIGNAL)
		snprintf(buffer, 16, "SIGRTMIN+%d", signal - FIRST_REAL_TIME);
	else
		snprintf(buffer, 16, "SIG%d", signal);
	return buffer;
}

void translation_init(struct translation *translation)
{
	memset(translation, 0, sizeof *translation);
	for (int signal = 1; signal <= HIGHEST_SIGNAL; signal++)
		translation->to[signal] = (uint8_t)signal;
}

bool translation_add(struct translation *translation, const char *text, int highest)
{
	char from[16];
	const char *separator = strpbrk(text, "=:");
	size_t length = separator ? (size_t)(separator - text) : sizeof from;
	if (length >= sizeof from)
		return false;
	memcpy(from, text, length);
	from[length] = '\0';
	const char *to = separator + 1;
	int received = signal_number(from);
	int sent = strcmp(to, "0") == 0 ? 0 : signal_number(to);
	if (received == 0 || (sent == 0 && strcmp(to, "0") != 0) || received > highest || sent > highest)
		return false;
	translation->to[received] = (uint8_t)sent;
	translation->chosen[received] = true;
	return true;
}

signal_mask set_signal_mask(signal_mask mask)
{
	signal_mask old = 0;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &old, sizeof mask);
	return old;
}

int open_signals(signal_mask mask)
{
	return (int)syscall(SYS_signalfd4, -1, &mask, sizeof mask, SFD_CLOEXEC);
}

struct arrived_signal next_signal(int fd)
{
	struct signalfd_siginfo info;
	ssize_t got;
	do
		got = read(fd, &info, sizeof info);
	while (got < 0 && errno == EINTR);
	if (got != sizeof info)
		return (struct arrived_signal){ 0 };
	return (struct arrived_signal){ .number = (int)info.ssi_signo, .from = (int)info.ssi_pid,
					.by_process = info.ssi_code == SI_USER || info.ssi_code == SI_QUEUE };
}
