#include "child.h"

#include "execute.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

static void join_group(enum child_group child_group)
{
	if (child_group == CHILD_GROUP_OWN) {
		setpgid(0, 0);
		/* Fails without a terminal, which is the rule in containers. */
		if (isatty(STDIN_FILENO))
			tcsetpgrp(STDIN_FILENO, getpgrp());
	} else if (child_group == CHILD_GROUP_SESSION) {
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

static void reset_signals(void)
{
	for (int number = 1; number <= HIGHEST_STANDARD_SIGNAL; number++)
		signal(number, SIG_DFL);
	set_signal_mask(0);
}

_Noreturn static void become(const struct launch *launch, int report)
{
	join_group(launch->child_group);
	if (launch->directory >= 0 && fchdir(launch->directory) == 0)
		close(launch->directory);
	if (launch->with_defaults)
		reset_signals();
	else
		give_signals_back(&launch->inherited);
	execute(launch->argv);
	int error = errno;
	ssize_t written = write(report, &error, sizeof error);
	(void)written;
	_exit(launch->exec_failure_code >= 0 ? launch->exec_failure_code : error == ENOENT ? 127 : 126);
}

/* exec closes the pipe; before that the child may write why it failed. */
static int await_exec(int report, int signals)
{
	struct pollfd polled[] = { { .fd = report, .events = POLLIN }, { .fd = signals, .events = POLLIN } };
	while (poll(polled, 2, -1) < 0 && errno == EINTR)
		;
	int error = 0;
	if (!polled[0].revents || read(report, &error, sizeof error) != sizeof error)
		return 0;
	return error;
}

pid_t start_child(const struct launch *launch, int signals, int *exec_error)
{
	int report[2];
	*exec_error = 0;
	if (pipe2(report, O_CLOEXEC) < 0)
		return -1;
	pid_t child = fork();
	if (child == 0)
		become(launch, report[1]);
	int fork_error = errno;
	close(report[1]);
	if (child > 0)
		*exec_error = await_exec(report[0], signals);
	close(report[0]);
	errno = fork_error;
	return child;
}
