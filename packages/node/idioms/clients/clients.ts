/** Those who talk to a program while it is terminated. Each notes what was answered, by a name that is the same in every run. */
import * as http from "./http.ts";
import * as sessions from "./sessions.ts";
import type { Client } from "./conversation.ts";

const { arrive: _arrive, ...overHttp } = http;

export const clients = { ...overHttp, ...sessions } as const satisfies Record<string, Client>;

export type ClientName = keyof typeof clients;
