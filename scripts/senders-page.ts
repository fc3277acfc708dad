/**
 * Writes tables of pages: facts of the kinds of senders, reasons of an injection, and Events. `--check` only compares, and
 * exits with 1 where they differ.
 */
import { fileURLToPath } from "node:url";
import { pageWith } from "../packages/options/generate/pages.ts";
import { eventMeanings, eventReasons } from "../packages/cluster/src/events/reasons.ts";
import { defaultSettings, reasonCodes, timesOf, usualGrace } from "../packages/inject/src/index.ts";
import {
  environments,
  kinds,
  notices,
  presets,
  programs,
  recognised,
  type NodeEnvironment,
} from "../packages/senders/src/index.ts";
import { Random } from "../packages/simulator/src/kernel/random.ts";
import { startForwarder } from "../packages/simulator/src/model/forwarder.ts";
import { markdownTable as table, writeMade } from "./format-page.ts";

const read = kinds.flatMap(({ consumer }) =>
  (consumer?.reads ?? []).map(({ form = consumer?.usage, what, letGoWhen, basis = "proof" }) => [
    `\`${form}\``,
    what,
    letGoWhen,
    basis,
  ]),
);
const seen = kinds.flatMap(({ seen: senders = [] }) =>
  senders.map(({ name, knownBy, seconds, because }) => [name, knownBy, `${seconds} s`, because]),
);

const drawn = Object.entries(presets).map(([name, { summary, source, forwarder }]) => {
  const sorted = Array.from({ length: 4_000 }, (_, index) =>
    startForwarder(forwarder, new Random("presets", name, index)).learn(0),
  ).sort((a, b) => a - b);
  const within = (share: number): string =>
    `${Number(((sorted[share * sorted.length] ?? 0) / 1_000).toPrecision(2))} s`;
  // What follows in a source are its samples.
  return [`\`${name}\``, summary, within(0.5), within(0.9), source.split(/[:;] /)[0] ?? ""];
});

const nodes = (environments as readonly NodeEnvironment[]).map(
  ({ name, knownBy, noWatcher, follows = "", source }) => [
    name,
    knownBy,
    noWatcher === undefined ? "can run" : `cannot run as shipped: ${noWatcher}`,
    follows,
    source,
  ],
);
const shortly = notices.map(({ name, knownBy, seconds, source }) => [name, knownBy, `${seconds} s`, source]);
const times = kinds
  .flatMap(({ seen: senders = [] }) => senders)
  .toSorted((a, b) => b.seconds - a.seconds)
  .map(({ name, seconds, because }) => {
    const convergenceSeconds = { value: seconds, origin: name };
    const { hold, grace } = timesOf(usualGrace, "wait", defaultSettings, { convergenceSeconds }, true);
    return [name, `${seconds} s`, because, `${hold} s`, `${grace} s`];
  });
const asked = programs.map(({ who, classes, consumer, needs, isUntried, sharesProcesses }) => [
  who,
  classes.map((one) => `\`${one}\``).join(", "),
  consumer === undefined ? "" : `\`${consumer}\``,
  [
    needs ?? [],
    sharesProcesses ? "`shareProcessNamespace: true`" : [],
    isUntried ? "untried: off by default" : [],
  ]
    .flat()
    .join("; "),
]);
const reasons = Object.entries(reasonCodes).map(([code, meaning]) => [`\`${code}\``, meaning]);
const events = Object.entries(eventReasons).map(([reason, type]) => [
  `\`${reason}\``,
  type,
  eventMeanings[reason as keyof typeof eventReasons],
]);

const pages = [
  [
    "operate/watchers.md",
    "`--consumer`",
    table(["`--consumer`", "what is read", "an address gets no new connection when", "basis"], read),
  ],
  [
    "reference/senders.md",
    "name",
    table(
      [
        "name",
        "who",
        "known by a pod, a namespace or a Service",
        "known by objects of its own",
        "assumed",
        "because",
        "named in",
      ],
      recognised.map(({ need, who, converges, knownBy = "", objects = [], source }) => [
        `\`${need}\``,
        who,
        knownBy,
        [...new Set(objects.map(({ kind }) => `\`${kind}\``))].join(", "),
        `${converges.seconds} s`,
        converges.because,
        source,
      ]),
    ),
  ],
  ["tools/audit.md", "sender", table(["sender", "known by", "stops sending in", "because"], seen)],
  ["tools/simulate.md", "preset", table(["preset", "what", "half in", "90 % in", "source"], drawn)],
  [
    "operate/environments.md",
    "nodes",
    table(["nodes", "known by", "a watcher", "what follows", "source"], nodes),
  ],
  [
    "operate/environments.md",
    "at short notice",
    table(["at short notice", "known by", "a pod has", "source"], shortly),
  ],
  [
    "operate/environments.md",
    "slowest sender",
    table(["slowest sender", "stops sending in", "because", "cap", "grace"], times),
  ],
  [
    "operate/environments.md",
    "proxy",
    table(["proxy", "its classes are served by", "`--consumer`", "what must be so"], asked),
  ],
  ["operate/inject.md", "code", table(["code", "meaning"], reasons)],
  ["operate/drain-reports.md", "Event", table(["Event", "type", "meaning"], events)],
] as const;

for (const [page, firstCell, written] of pages) {
  const path = fileURLToPath(new URL(`../docs/${page}`, import.meta.url));
  const text = await pageWith(path, firstCell, written);
  writeMade(path, text, `docs/${page} is not what the facts say: run node scripts/senders-page.ts`);
}
