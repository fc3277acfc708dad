import type { SenderKind } from "./kind.ts";

export const nginx = {
  name: "nginx",
  serves: "class",
  consumer: {
    usage: "nginx=FILE[,PIDFILE]",
    help: "nginx.conf, and the file with its process id (/run/nginx.pid)",
    reads: [
      {
        what: "the configuration with what it includes, the master and its workers",
        letGoWhen: "no file names it, and none that the accepting workers have read did",
      },
    ],
  },
} as const satisfies SenderKind;
