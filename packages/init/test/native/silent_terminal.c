/* silent_terminal COMMAND...: runs it with stderr at a terminal whose other side nobody reads; ends as it does. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (argc < 2 || master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
		return 99;
	int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(slave, STDERR_FILENO);
		execvp(argv[1], argv + 1);
		_exit(98);
	}
	int status;
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
