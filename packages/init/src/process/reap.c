#include "reap.h"

#include <errno.h>
#include <sys/wait.h>

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
