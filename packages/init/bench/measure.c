/*
 * What needs a clock nearer than Node's.
 *
 *     measure startup N COMMAND...   starts it N times, one after the other; prints the microseconds of each
 *     measure forward N COMMAND...   starts it once (it shall run `measure echo`), sends N signals; prints the microseconds to the echo
 *     measure echo                   writes a byte to descriptor 3 for each SIGUSR1
 *     measure serve PORT             accepts and keeps connections
 *     measure connect N HOST PORT    opens N connections and keeps them
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static pid_t start(char *argv[])
{
	pid_t pid = fork();
	if (pid == 0) {
		execvp(argv[0], argv);
		_exit(127);
	}
	return pid;
}

static int startup(int count, char *argv[])
{
	for (int i = 0; i < count; i++) {
		double begun = now();
		int status;
		waitpid(start(argv), &status, 0);
		if (status != 0)
			return 1;
		printf("%.1f\n", now() - begun);
	}
	return 0;
}

static int forward(int count, char *argv[])
{
	int echo[2];
	char byte;
	if (pipe(echo) != 0)
		return 1;
	int from = fcntl(echo[0], F_DUPFD_CLOEXEC, 10); /* out of the way of 3 */
	int to = fcntl(echo[1], F_DUPFD_CLOEXEC, 10);
	close(echo[0]);
	close(echo[1]);
	if (from < 0 || dup2(to, 3) < 0)
		return 1;
	close(to);
	pid_t pid = start(argv);
	close(3);
	if (read(from, &byte, 1) != 1)
		return 1;
	for (int i = 0; i < count; i++) {
		/* Both shall sleep again, as they do between signals in life. */
		usleep(2000);
		double begun = now();
		kill(pid, SIGUSR1);
		if (read(from, &byte, 1) != 1)
			return 1;
		printf("%.1f\n", now() - begun);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

static int echo(void)
{
	sigset_t set;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* gone with the init, which `forward` kills */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (;;) {
		int signal;
		if (write(3, "!", 1) != 1 || sigwait(&set, &signal) != 0)
			return 0;
	}
}

static void allow_many_files(void)
{
	struct rlimit limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int serve(int port)
{
	allow_many_files();
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((unsigned short)port) };
	if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 4096) != 0)
		return 1;
	puts("listening");
	fflush(stdout);
	while (accept(fd, NULL, NULL) >= 0 || errno == ECONNABORTED)
		;
	return 1;
}

static int connect_many(int count, const char *host, int port)
{
	allow_many_files();
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((unsigned short)port) };
	inet_pton(AF_INET, host, &address.sin_addr);
	for (int i = 0; i < count; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
			return 1;
	}
	puts("connected");
	fflush(stdout);
	pause();
	return 0;
}

int main(int argc, char *argv[])
{
	const char *what = argc > 1 ? argv[1] : "";
	int number = argc > 2 ? atoi(argv[2]) : 0;
	if (strcmp(what, "startup") == 0)
		return startup(number, argv + 3);
	if (strcmp(what, "forward") == 0)
		return forward(number, argv + 3);
	if (strcmp(what, "serve") == 0)
		return serve(number);
	if (strcmp(what, "connect") == 0 && argc > 4)
		return connect_many(number, argv[3], atoi(argv[4]));
	return strcmp(what, "echo") == 0 ? echo() : 2;
}
