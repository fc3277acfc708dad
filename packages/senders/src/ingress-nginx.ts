import type { SeenContainer, SeenPod, SenderKind } from "./kind.ts";
import { watchDelay } from "./preset.ts";
import { wordsOf } from "./recognising.ts";

const isController = (one: SeenContainer): boolean =>
  /ingress-nginx\/controller/.test(one.image ?? "") ||
  wordsOf(one).some((word) => word.endsWith("/nginx-ingress-controller"));

/** It serves Ingresses without a class, or a class by its name, whatever controller the class has. */
const servesMore =
  /^--?(?:watch-ingress-without-class|ingress-class-by-name)(?:=(?!(?:0|f|F|false|False|FALSE)$)|$)/;

/** Of a name that the API server takes. */
const longestName = 253;

/**
 * The controller of its IngressClasses, and its class in Ingresses' annotations. The defaults are those of the program
 * (kubernetes/ingress-nginx: pkg/flags/flags.go).
 */
function servesOf({ containers }: SeenPod): readonly string[] | undefined {
  const all = containers.filter(isController).map(wordsOf);
  const found = all.map((words) => {
    // A shell's script may have flags within.
    if (words.some((word) => servesMore.test(word) || /\s--?\w/.test(word))) return undefined;
    const values = (
      [
        ["controller-class", "k8s.io/ingress-nginx"],
        ["ingress-class", "nginx"],
      ] as const
    ).map(([flag, usual]) => [flag, valueOf(words, flag) ?? usual] as const);
    // It is kept for each pod, and whoever makes a pod chooses how long it is.
    if (values.some(([, value]) => value.length > longestName)) return undefined;
    const texts = values.map((one) => one.join(" "));
    // A variable may hold anything, and a program that is told nothing may serve all.
    return texts.some((text) => /\$\(| $/.test(text)) ? undefined : texts;
  });
  return found.some((one) => one === undefined) ? undefined : found.flatMap((one) => one ?? []);
}

/** Of "--flag=value" or "--flag value", the last one. */
function valueOf(words: readonly string[], flag: string): string | undefined {
  const values = words.flatMap((word, at) => {
    const [, name, value] = /^--?([\w-]+)(?:=([^]*))?$/.exec(word) ?? [];
    return name === flag ? [value ?? words[at + 1] ?? ""] : [];
  });
  return values.at(-1);
}

export const ingressNginx = {
  name: "ingress-nginx",
  namesServices: ["nginx.ingress.kubernetes.io/default-backend"],
  serves: "class",
  consumer: {
    usage: "ingress-nginx[=URL]",
    help: "the status server of its pod (http://127.0.0.1:10246)",
    reads: [
      {
        what: "`/configuration/backends` of the status server, and nginx's workers",
        letGoWhen: "no backend lists it, and each worker has had the time to copy the list",
        basis: "evidence",
      },
    ],
  },
  programs: [
    {
      who: "ingress-nginx",
      classes: ["k8s.io/ingress-nginx"],
      names: /nginx/,
      keepsIdle: {
        name: "ingress-nginx",
        seconds: 60,
        defaultOf: "ingress-nginx (upstream-keepalive-timeout)",
      },
      isProxy: ({ containers }) => containers.some(isController),
      serves: servesOf,
      consumer: "ingress-nginx",
      sharesProcesses: true,
    },
  ],
  presets: {
    "ingress-nginx": {
      summary: "ingress-nginx: at most 0.3 syncs a second, then Lua workers that look every second",
      source: "ingress-nginx rootfs/etc/nginx/lua/balancer.lua, PR 1800",
      forwarder: {
        kind: "periodic",
        watch: watchDelay,
        every: 3_333,
        counted: "from-start",
        work: { uniform: [10, 50] },
        busy: true,
        dataPlane: { uniform: [0, 1_000] },
      },
    },
  },
} as const satisfies SenderKind;
