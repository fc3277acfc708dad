#include "personality.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/*
 * The kernel ends the init at a fault of its own, even where the signal is blocked. The same signal from another process is like any other. tini
 * leaves these signals out.
 */
static const signal_mask faults = (signal_mask)1 << (SIGFPE - 1) | (signal_mask)1 << (SIGILL - 1) |
				  (signal_mask)1 << (SIGSEGV - 1) | (signal_mask)1 << (SIGBUS - 1) |
				  (signal_mask)1 << (SIGABRT - 1) | (signal_mask)1 << (SIGTRAP - 1) |
				  (signal_mask)1 << (SIGSYS - 1);

signal_mask blocked_by(enum personality personality)
{
	const signal_mask terminal = mask_of(SIGTTIN) | mask_of(SIGTTOU);
	return personality == PERSONALITY_TINI ? all_signals & ~faults & ~terminal : all_signals;
}

enum child_group child_group_of(const struct settings *settings)
{
	if (settings->single_child)
		return CHILD_GROUP_SAME;
	return settings->personality == PERSONALITY_DUMB_INIT ? CHILD_GROUP_SESSION : CHILD_GROUP_OWN;
}

bool stops_terminal(int signal)
{
	return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

void adopt_orphans(const struct settings *settings, const struct logger *logger)
{
	if (getpid() == 1 || settings->personality == PERSONALITY_DUMB_INIT)
		return;
	/* tini adopts orphans on demand, and warns otherwise. There is no reason not to. */
	if (settings->subreaper || settings->personality == PERSONALITY_OWN) {
		if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
			log_line(logger, LOG_WARNING, "cannot adopt orphans: %s", strerror(errno));
		return;
	}
	int is_subreaper = 0;
	if (prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper)
		return;
	log_line(logger, LOG_WARNING,
	    "neither PID 1 nor child subreaper (-s): zombie reaping won't work");
}

/* dumb-init leaves the directory that it was started in, and the program starts there. */
int leave_directory(const struct logger *logger)
{
	int directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0 || chdir("/") != 0)
		log_line(logger, LOG_DETAIL, "cannot leave the working directory: %s", strerror(errno));
	return directory;
}
