import type { SenderKind } from "./kind.ts";

export const http = {
  name: "http",
  serves: "class",
  consumer: {
    usage: "http=URL",
    help: "your own endpoint, as docs/operate/watchers.md describes",
    reads: [
      {
        what: "an endpoint of yours, below",
        letGoWhen: "your answer does not name it",
      },
    ],
  },
} as const satisfies SenderKind;
