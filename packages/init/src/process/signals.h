/* Signals by name and number, masks of all 64, and the table that translates what comes in to what goes on. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

enum { HIGHEST_STANDARD_SIGNAL = 31, HIGHEST_SIGNAL = 64 };

/* Kernel signal masks: libcs hide two or three real-time signals from sigset_t, which a program may use all the same. */
typedef uint64_t signal_mask;

static const signal_mask all_signals = ~(signal_mask)0;

static inline signal_mask mask_of(int signal)
{
	return (signal_mask)1 << (signal - 1);
}

/* "TERM", "SIGTERM", "15", "RTMIN+2", and whatever signal_name() writes: its number, or 0. */
int signal_number(const char *name);
/* "SIGTERM", "SIGRTMIN+3", and "SIG32" for what has no name. The buffer takes 16 bytes. */
const char *signal_name(int signal, char *buffer);

/* The signal to send on for each signal: the same at first, 0 to send none. */
struct translation {
	uint8_t to[HIGHEST_SIGNAL + 1];
	bool chosen[HIGHEST_SIGNAL + 1];
};

void translation_init(struct translation *translation);
/* "TERM=USR1" or "15:10", "15:0" to drop. False for signals above `highest`. */
bool translation_add(struct translation *translation, const char *text, int highest);

signal_mask set_signal_mask(signal_mask mask);
int open_signals(signal_mask mask);

struct arrived_signal {
	int number;
	int from; /* the process that sent it; 0 where unknown or outside */
	bool by_process; /* sent by a process, not by the kernel */
};

/* Blocks until a signal comes. */
struct arrived_signal next_signal(int fd);
