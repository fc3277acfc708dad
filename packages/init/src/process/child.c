#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

void take_signals(struct inherited *inherited, signal_mask blocked, bool ignore_terminal)
{
	const struct sigaction standard = { .sa_handler = SIG_DFL };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	inherited->mask = set_signal_mask(blocked);
	sigaction(SIGCHLD, &standard, &inherited->on_child);
	/* Handing the terminal to the child makes us a background group, whose writes would stop us. */
	sigaction(SIGTTIN, ignore_terminal ? &ignore : NULL, &inherited->on_read);
	sigaction(SIGTTOU, ignore_terminal ? &ignore : NULL, &inherited->on_write);
}

static void take_standing(enum child_standing standing)
{
	if (standing == STANDING_GROUP) {
		setpgid(0, 0);
		/* Fails without a terminal, which is the rule in containers. */
		if (isatty(STDIN_FILENO))
			tcsetpgrp(STDIN_FILENO, getpgrp());
	} else if (standing == STANDING_SESSION) {
		setsid();
		if (isatty(STDIN_FILENO))
			ioctl(STDIN_FILENO, TIOCSCTTY, 0);
	}
}

static void give_signals_back(const struct inherited *inherited)
{
	sigaction(SIGCHLD, &inherited->on_child, NULL);
	sigaction(SIGTTIN, &inherited->on_read, NULL);
	sigaction(SIGTTOU, &inherited->on_write, NULL);
	set_signal_mask(inherited->mask);
}

_Noreturn static void become(char *const argv[], enum child_standing standing, const struct inherited *inherited,
			     int exec_failure_code, int report)
{
	take_standing(standing);
	give_signals_back(inherited);
	execvp(argv[0], argv);
	int error = errno;
	ssize_t written = write(report, &error, sizeof error);
	(void)written;
	_exit(exec_failure_code >= 0 ? exec_failure_code : error == ENOENT ? 127 : 126);
}

pid_t start_child(char *const argv[], enum child_standing standing, const struct inherited *inherited,
		  int exec_failure_code, int *exec_error)
{
	int report[2];
	*exec_error = 0;
	if (pipe2(report, O_CLOEXEC) < 0)
		return -1;
	pid_t child = fork();
	if (child == 0)
		become(argv, standing, inherited, exec_failure_code, report[1]);
	int fork_error = errno;
	close(report[1]);
	if (child > 0) {
		int error = 0;
		ssize_t got;
		/* Ends when exec closes the pipe. */
		do
			got = read(report[0], &error, sizeof error);
		while (got < 0 && errno == EINTR);
		if (got == sizeof error)
			*exec_error = error;
	}
	close(report[0]);
	errno = fork_error;
	return child;
}
