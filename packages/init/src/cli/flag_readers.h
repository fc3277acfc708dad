/* Readers of flags whose value is not just stored. False with `error` filled in. */
#pragma once

#include "settings.h"

typedef bool flag_reader(struct settings *settings, const char *value, struct error *error);

flag_reader read_version;
flag_reader read_help;
flag_reader read_license;
flag_reader read_verbose;
flag_reader read_expected_code;
flag_reader read_translation;
flag_reader read_rewrite;
flag_reader read_stop_signal;
flag_reader read_then;
flag_reader read_port;
flag_reader read_ignored_port;
flag_reader read_ignored_peer;
flag_reader read_probe_period;
flag_reader read_ignored_socket;
flag_reader read_wait_for;
flag_reader read_wait_gone;
