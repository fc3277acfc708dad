import type { SenderKind } from "./kind.ts";

export const haproxy = {
  name: "haproxy",
  serves: "class",
  consumer: {
    usage: "haproxy=SOCKET",
    help: "runtime API, by the path of its Unix socket or HOST:PORT",
    reads: [
      {
        what: "`show servers state` of the runtime API, at a Unix socket or `HOST:PORT`",
        letGoWhen: "each server with it is in maintenance",
      },
    ],
  },
} as const satisfies SenderKind;
