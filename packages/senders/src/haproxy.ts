import type { SenderKind } from "./kind.ts";

export const haproxy = {
  name: "haproxy",
  serves: "class",
  consumer: {
    usage: "haproxy=SOCKET",
    help: "runtime API, by the path of its Unix socket or HOST:PORT",
    reads: [
      {
        form: "haproxy=SOCKET`, `haproxy=HOST:PORT",
        what: "`show servers state` of the runtime API",
        letGoWhen: "each server with it is in maintenance",
        basis: "proof",
      },
    ],
  },
} as const satisfies SenderKind;
