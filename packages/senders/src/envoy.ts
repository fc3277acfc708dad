import type { SenderKind } from "./kind.ts";

export const envoy = {
  name: "envoy",
  serves: "class",
  consumer: {
    usage: "envoy=URL",
    help: "administration interface, such as http://127.0.0.1:9901",
    reads: [
      {
        what: "`/clusters?format=json` of the administration interface",
        letGoWhen: "no cluster lists it, or EDS says that it drains",
      },
    ],
  },
} as const satisfies SenderKind;
