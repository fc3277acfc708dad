/*
 * Records what a kubelet does to a container: signals, preStop hooks and HTTP requests, one JSON line each with the wall clock in
 * milliseconds, appended to the file named by RECORD.
 *
 *   recorder serve                     a server on PORT (8080). Answers:
 *       /hook?SECONDS[&STATUS]         after SECONDS, with STATUS (200)
 *       anything else                  200; but 503 for paths starting with $SICK_PATH from $SICK_AFTER seconds after the start on
 *     on SIGTERM, by ON_TERM: "exit" (default) at once with 0, "ignore" never, or N: after N seconds (fractions allowed)
 *     EXIT_AFTER: ends by itself after so many seconds
 *   recorder hook SECONDS [STATUS]     an exec hook: waits and ends with STATUS (0)
 *
 * No library, no allocation after the start, one process per connection: so that the times are the kubelet's and not ours.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int record_file = -1;
static const char *container = "";

static double wall_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void record(const char *event, const char *detail) {
  char line[512];
  int length = snprintf(line, sizeof line, "{\"at\":%.3f,\"container\":\"%s\",\"event\":\"%s\",\"detail\":\"%s\"}\n", wall_clock(),
                        container, event, detail);
  if (length > 0 && (size_t)length < sizeof line && write(record_file, line, (size_t)length) < 0) perror("record");
}

static void wait_seconds(double seconds) {
  struct timespec left = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};
  while (nanosleep(&left, &left) < 0 && errno == EINTR) {
  }
}

static const char *setting(const char *name, const char *otherwise) {
  const char *value = getenv(name);
  return value && *value ? value : otherwise;
}

static int hook(int argc, char **argv) {
  record("hook-begun", "exec");
  wait_seconds(argc > 2 ? atof(argv[2]) : 0);
  record("hook-ended", "exec");
  return argc > 3 ? atoi(argv[3]) : 0;
}

static void reply(int connection, int status) {
  char answer[128];
  int length = snprintf(answer, sizeof answer, "HTTP/1.1 %d X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n", status);
  if (write(connection, answer, (size_t)length) < 0) record("reply-failed", strerror(errno));
}

static void serve_connection(int connection, double started) {
  char request[2048] = "", path[200] = "";
  ssize_t length = read(connection, request, sizeof request - 1);
  if (length <= 0 || sscanf(request, "%*s %199[^ \"\\]", path) != 1) return;
  const char *question = strchr(path, '?');
  if (strncmp(path, "/hook", 5) == 0) {
    record("hook-begun", "http");
    wait_seconds(question ? atof(question + 1) : 0);
    record("hook-ended", "http");
    const char *status = question ? strchr(question, '&') : NULL;
    reply(connection, status ? atoi(status + 1) : 200);
    return;
  }
  const char *sick = setting("SICK_PATH", "");
  int is_sick = *sick && strncmp(path, sick, strlen(sick)) == 0 &&
                wall_clock() - started > 1e3 * atof(setting("SICK_AFTER", "0"));
  record(is_sick ? "refused" : "answered", path);
  reply(connection, is_sick ? 503 : 200);
}

static int listener(void) {
  int one = 1, port = atoi(setting("PORT", "8080"));
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 128) < 0) {
    perror("listen");
    exit(1);
  }
  return fd;
}

static int serve(void) {
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGTERM);
  sigaddset(&watched, SIGINT);
  sigaddset(&watched, SIGCHLD);
  sigprocmask(SIG_BLOCK, &watched, NULL);
  const char *on_term = setting("ON_TERM", "exit");
  double started = wall_clock(), end = atof(setting("EXIT_AFTER", "1e9")) * 1e3 + started;
  struct pollfd inputs[2] = {{.fd = listener(), .events = POLLIN}, {.fd = signalfd(-1, &watched, SFD_CLOEXEC), .events = POLLIN}};
  record("started", "");
  for (;;) {
    double left = end - wall_clock();
    if (left <= 0) break;
    if (poll(inputs, 2, left > 60e3 ? 60000 : (int)left + 1) <= 0) continue;
    if (inputs[0].revents) {
      int connection = accept4(inputs[0].fd, NULL, NULL, SOCK_CLOEXEC);
      if (connection >= 0 && fork() == 0) {
        serve_connection(connection, started);
        _exit(0);
      }
      close(connection);
    }
    if (inputs[1].revents) {
      struct signalfd_siginfo info;
      if (read(inputs[1].fd, &info, sizeof info) != sizeof info) continue;
      while (waitpid(-1, NULL, WNOHANG) > 0) {
      }
      if (info.ssi_signo == SIGCHLD) continue;
      record("signal", info.ssi_signo == SIGTERM ? "SIGTERM" : "SIGINT");
      if (strcmp(on_term, "exit") == 0) break;
      if (strcmp(on_term, "ignore") != 0) end = wall_clock() + 1e3 * atof(on_term);
    }
  }
  record("exiting", "");
  return 0;
}

int main(int argc, char **argv) {
  record_file = open(setting("RECORD", "/dev/stdout"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  container = setting("CONTAINER", "");
  if (argc > 1 && strcmp(argv[1], "serve") == 0) return serve();
  if (argc > 1 && strcmp(argv[1], "hook") == 0) return hook(argc, argv);
  fprintf(stderr, "usage: recorder serve | recorder hook SECONDS [STATUS]\n");
  return 2;
}
