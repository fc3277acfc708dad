#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
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

/* The program that execvp has found: the first of that name in PATH that may be executed. */
static const char *find_in_path(const char *name, char *buffer, size_t size)
{
	if (strchr(name, '/'))
		return name;
	const char *at = getenv("PATH");
	while (at) {
		int length = (int)strcspn(at, ":");
		/* An empty entry is the working directory. */
		snprintf(buffer, size, "%.*s/%s", length ? length : 1, length ? at : ".", name);
		if (access(buffer, X_OK) == 0)
			return buffer;
		at = at[length] ? at + length + 1 : NULL;
	}
	return NULL;
}

static void run_as_script(const char *path, char *const argv[])
{
	size_t count = 0;
	while (argv[count])
		count++;
	char *with_shell[count + 2];
	with_shell[0] = "/bin/sh";
	with_shell[1] = (char *)path;
	memcpy(with_shell + 2, argv + 1, count * sizeof *argv);
	execv(with_shell[0], with_shell);
}

/*
 * Becomes the program, found in PATH where its name has no slash. A file without "#!" that is no binary is a script of /bin/sh, as
 * in execvp of most C libraries; musl's leaves that out. Returns only where nothing can be run, and errno says why.
 */
static void execute(char *const argv[])
{
	char buffer[PATH_MAX];
	execvp(argv[0], argv);
	if (errno != ENOEXEC)
		return;
	const char *path = find_in_path(argv[0], buffer, sizeof buffer);
	if (path)
		run_as_script(path, argv);
	errno = ENOEXEC;
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

struct reaped reap(pid_t main_child)
{
	struct reaped reaped = { 0 };
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid <= 0)
			return reaped;
		if (pid == main_child) {
			reaped.main_ended = true;
			reaped.status = status;
		} else {
			reaped.others++;
			reaped.last_other = pid;
		}
	}
}

int exit_code_of(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
