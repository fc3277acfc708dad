/*
 * The program that lameduck-init runs in the tests; it says on stdout what it sees.
 *
 *     witness exit N | die N          ends so
 *     witness signals [LAST]          each signal as a line with its number, until LAST comes, then exit 0
 *     witness group LAST              itself silent; a child in its process group, gone with it, prints "child N" for each signal
 *     witness status                  its own signal masks, process group, session, working directory and descriptors
 *     witness orphans N               leaves N processes to be adopted, which end at once; then waits for SIGTERM
 *     witness leftover                leaves a process that prints "leftover N" for each signal, and exits 7
 *     witness deaf PORT               listens and never accepts
 *     witness workers PORT COUNT      as many listening sockets on one port, as workers have that share it; answers on each; says "working" at the first
 *     witness senders PORT COUNT      connects in turn from as many addresses of the loopback, some 1,000 times a second, until it is ended
 *     witness slow PORT MS            a server with one worker: accepts, takes so long for each request, answers, and only then accepts again
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int block_all(void)
{
	uint64_t all = ~(uint64_t)0;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
	return (int)syscall(SYS_signalfd4, -1, &all, sizeof all, 0);
}

static void report(int fd, const char *prefix, unsigned last)
{
	struct signalfd_siginfo info;
	while (read(fd, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		printf("%s%u\n", prefix, info.ssi_signo);
		if (info.ssi_signo == last)
			exit(0);
	}
}

static void say_ready(void)
{
	puts("ready");
}

static void group(unsigned last)
{
	int fd = block_all();
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		say_ready();
		report(fd, "child ", last);
	}
	/* The leader takes all and says nothing. */
	struct signalfd_siginfo info;
	do
		if (read(fd, &info, sizeof info) != sizeof info)
			exit(1);
	while (info.ssi_signo != last);
}

static void status(void)
{
	char line[256];
	FILE *file = fopen("/proc/self/status", "r");
	while (file && fgets(line, sizeof line, file))
		if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0)
			fputs(line, stdout);
	if (file)
		fclose(file);
	printf("group %s\n", getpgrp() == getpid() ? "own" : "other");
	printf("session %s\n", getsid(0) == getpid() ? "own" : "other");
	printf("cwd %s\n", getcwd(line, sizeof line) ? line : "?");
	DIR *directory = opendir("/proc/self/fd");
	unsigned count = 0;
	for (struct dirent *entry; directory && (entry = readdir(directory));)
		count += entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(directory);
	printf("descriptors %u\n", count);
}

static void orphans(unsigned count)
{
	int fd = block_all();
	for (unsigned i = 0; i < count; i++) {
		pid_t between = fork();
		if (between == 0) {
			if (fork() == 0)
				_exit(0);
			_exit(0);
		}
	}
	/* Those in between are ours to collect; the others are init's. */
	for (unsigned i = 0; i < count; i++) {
		siginfo_t info;
		syscall(SYS_waitid, 0 /* P_ALL */, 0, &info, 4 /* WEXITED */, NULL);
	}
	say_ready();
	report(fd, "", SIGTERM);
}

static void leftover(void)
{
	int ready[2];
	char byte;
	if (pipe(ready) != 0)
		exit(1);
	int fd = block_all();
	if (fork() == 0) {
		close(ready[0]);
		if (write(ready[1], "!", 1) != 1)
			exit(1);
		close(ready[1]);
		report(fd, "leftover ", SIGTERM);
	}
	close(ready[1]);
	exit(read(ready[0], &byte, 1) == 1 ? 7 : 1);
}

static int listen_at(unsigned port, int backlog)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int yes = 1;
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
	if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, backlog) != 0)
		exit(1);
	return fd;
}

static void serve(int listener, unsigned milliseconds)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
	char request[4096];
	int client = accept(listener, NULL, NULL);
	if (client < 0)
		exit(1);
	if (read(client, request, sizeof request) > 0) {
		static bool said;
		if (!said)
			puts("working");
		said = true;
		usleep(milliseconds * 1000);
		if (write(client, answer, sizeof answer - 1) < 0)
			puts("client gone");
	}
	close(client);
}

static void workers(unsigned port, unsigned count)
{
	struct pollfd *sockets = calloc(count, sizeof *sockets);
	for (unsigned i = 0; sockets && i < count; i++)
		sockets[i] = (struct pollfd){ .fd = listen_at(port, 64), .events = POLLIN };
	say_ready();
	while (sockets && poll(sockets, count, -1) > 0)
		for (unsigned i = 0; i < count; i++)
			if (sockets[i].revents & POLLIN)
				serve(sockets[i].fd, 0);
}

static void deaf(unsigned port)
{
	listen_at(port, 16);
	int signals = block_all();
	say_ready();
	report(signals, "", SIGTERM);
}

static void senders(unsigned port, unsigned count)
{
	const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	say_ready();
	for (unsigned i = 0;; i = (i + 1) % count) {
		char answer[256];
		const struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 0x10000 + i) };
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		if (bind(fd, (const struct sockaddr *)&from, sizeof from) != 0 ||
		    connect(fd, (const struct sockaddr *)&to, sizeof to) != 0)
			exit(1);
		if (write(fd, "x", 1) == 1)
			while (read(fd, answer, sizeof answer) > 0)
				;
		close(fd);
		usleep(500);
	}
}

static void slow(unsigned port, unsigned milliseconds)
{
	int fd = listen_at(port, 64);
	say_ready();
	for (;;)
		serve(fd, milliseconds);
}

int main(int argc, char *argv[])
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	const char *what = argc > 1 ? argv[1] : "";
	unsigned number = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	if (strcmp(what, "exit") == 0)
		return (int)number;
	if (strcmp(what, "die") == 0) {
		const struct rlimit none = { 0, 0 };
		setrlimit(RLIMIT_CORE, &none);
		signal((int)number, SIG_DFL);
		uint64_t mask = 0;
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
		kill(getpid(), (int)number);
		return 99;
	}
	if (strcmp(what, "signals") == 0) {
		int fd = block_all();
		say_ready();
		report(fd, "", number);
	} else if (strcmp(what, "group") == 0) {
		group(number);
	} else if (strcmp(what, "status") == 0) {
		status();
	} else if (strcmp(what, "orphans") == 0) {
		orphans(number);
	} else if (strcmp(what, "leftover") == 0) {
		leftover();
	} else if (strcmp(what, "deaf") == 0) {
		deaf(number);
	} else if (strcmp(what, "workers") == 0) {
		workers(number, argc > 3 ? (unsigned)atoi(argv[3]) : 1);
	} else if (strcmp(what, "senders") == 0) {
		senders(number, argc > 3 ? (unsigned)atoi(argv[3]) : 1);
	} else if (strcmp(what, "slow") == 0) {
		slow(number, argc > 3 ? (unsigned)atoi(argv[3]) : 0);
	} else {
		return 2;
	}
	return 0;
}
