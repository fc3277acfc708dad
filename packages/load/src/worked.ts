import type { RequestKind } from "@lameduck/accounting";
import { count, whole } from "@lameduck/accounting/words";
import { lastWords } from "./answer.ts";
import { LoadError } from "./errors.ts";
import type { Trial } from "./generator/trials.ts";
import type { LoadPlan } from "./plan.ts";
import { tokenPlace } from "./request-form.ts";

/** A trial with its sender's name. */
export type Tried = Omit<Trial, "sender"> & { readonly sender: string };

/** As many failures without a success are no chance. */
export const manyFailures = 10;

/** What the requests before the rollout say. */
export interface Judgement {
  /** It is still open whether some kind of request works at all: the first end of one is worth waiting for. */
  readonly undecided: boolean;
  /** LAMEDUCK_NEVER_WORKED: nothing can be measured. */
  readonly failure: LoadError | undefined;
  /** What is worth knowing of the answers, a sentence each. */
  readonly notes: readonly string[];
}

/**
 * @param output what the program wrote, where that is known.
 * @param least so many failures of a kind that never worked are its own. Fewer may be losses, once a rollout has begun.
 */
export function judge(
  trials: readonly Tried[],
  sent: Sent,
  output: readonly string[] = [],
  least = 1,
): Judgement {
  return {
    undecided: isUndecided(trials),
    failure: neverWorked(trials, sent, { output, least }),
    notes: aboutAnswers(trials, sent),
  };
}

function isUndecided(trials: readonly Tried[]): boolean {
  return [...byKind(trials).values()].some(
    (own) => sum(own, "due") > 0 && sum(own, "worked") === 0 && sum(own, "finished") < manyFailures,
  );
}

/** The requests that are all sent, as far as words need it. */
type Sent = Pick<LoadPlan, "protocol" | "request" | "paths">;

/** A kind of request never worked, through any sender or through one. */
function neverWorked(
  trials: readonly Tried[],
  sent: Sent,
  { output, least }: { readonly output: readonly string[]; readonly least: number },
): LoadError | undefined {
  for (const [kind, own] of byKind(trials)) {
    const all = sum(own, "finished");
    if (all >= least && sum(own, "worked") === 0) return failure(kind, own, { sent, output });
    const one = own.find(({ finished, worked }) => finished >= 2 * manyFailures && worked === 0);
    if (one && own.length > 1) return failure(kind, [one], { sent, output }, ` through ${one.sender}`);
  }
  return undefined;
}

function aboutAnswers(trials: readonly Tried[], sent: Sent): string[] {
  return [...byKind(trials)].flatMap(([kind, own]) => {
    const all = sum(own, "finished");
    const worked = sum(own, "worked");
    const ends = endsOf(own);
    const [most, times] = ends[0] ?? ["", 0];
    if (/^3\d\d$/.test(most) && times === all)
      return [`${request(kind, sent)} is answered with ${most} each time: where that leads to is not asked`];
    if (worked === all) return [];
    const bad = ends.filter(([words]) => !/^[23]\d\d$|^101$/.test(words));
    return [
      `${request(kind, sent)}: ${whole(all - worked)} of ${count(all, "request")} failed before the rollout: ${spell(bad, all - worked)}`,
    ];
  });
}

function failure(
  kind: RequestKind,
  own: readonly Tried[],
  { sent, output }: { readonly sent: Sent; readonly output: readonly string[] },
  through = "",
): LoadError {
  const all = sum(own, "finished");
  const ends = endsOf(own);
  const [most] = ends[0] ?? [""];
  return new LoadError(
    "LAMEDUCK_NEVER_WORKED",
    `${request(kind, sent)}${through}`,
    `it never worked before the rollout: ${spell(ends, all)}${/^5\d\d/.test(most) && output.length > 0 ? `; the program wrote: ${lastWords(output)}` : ""}`,
    { remedy: remedyFor(most, sent) },
  );
}

/** "401, 300 of 312 times; 404, 12 times" */
function spell(ends: readonly (readonly [string, number])[], all: number): string {
  return ends
    .slice(0, 3)
    .map(([words, times], nth) => `${words}, ${whole(times)}${nth === 0 ? ` of ${whole(all)}` : ""} times`)
    .join("; ");
}

function remedyFor(words: string, { protocol, request: { message, answer } }: Sent): string | undefined {
  const status = Number(/^\d+/.exec(words)?.[0]);
  const meant = `--expect-status ${status} if that is meant`;
  if (protocol === "ws" && words === "no answer in time")
    return answer === undefined
      ? `the server must answer ${message === tokenPlace ? "each message with one that has its text, as an echo does" : `"${message}" with a message that has its ${tokenPlace}`}; ` +
          "--body and --answer say what it understands"
      : `no message of the server contained "${answer}" (--answer)`;
  if (words.includes("instead of a WebSocket"))
    return "check the path, and --header, such as a cookie or a token";
  if (words.includes("UNIMPLEMENTED"))
    return "give a unary method that the server has as --path /package.Service/Method";
  if (status === 401 || status === 403 || words.includes("UNAUTHENTICATED"))
    return `give credentials, as --header 'authorization: ...'; or ${meant}`;
  if (status === 404) return `check the path and the Host header; or ${meant}`;
  if (status === 405) return `check --method; or ${meant}`;
  if (status >= 400 && status < 500)
    return `check --method, --body and --header, such as 'content-type: application/json'; or ${meant}`;
  if (status >= 500)
    return `see what the program itself writes; a longer --warm-up, if it needs time; or ${meant}`;
  if (words.startsWith("connection refused") || words.startsWith("no connection"))
    return "check the port and the address that the program listens on";
  if (words === "no answer in time" && protocol === "sse") return "the server must send events";
  if (words === "no answer in time") return "give a path that is answered sooner";
  return "check --protocol and the path";
}

function request(kind: RequestKind, { protocol, request: { method }, paths }: Sent): string {
  const path = kind === "session" ? paths.quick : paths[kind];
  const names = { ws: "WebSocket", sse: "event stream", grpc: "gRPC" } as const;
  return `${protocol in names ? names[protocol as keyof typeof names] : method} ${path}`;
}

function byKind(trials: readonly Tried[]): Map<RequestKind, Tried[]> {
  return Map.groupBy(trials, ({ kind }) => kind);
}

function sum(trials: readonly Tried[], field: "due" | "finished" | "worked"): number {
  return trials.reduce((total, trial) => total + trial[field], 0);
}

/** The most frequent first. */
function endsOf(trials: readonly Tried[]): [string, number][] {
  const all = new Map<string, number>();
  for (const { ends } of trials)
    for (const [words, times] of Object.entries(ends)) all.set(words, (all.get(words) ?? 0) + times);
  return [...all].sort((a, b) => b[1] - a[1]);
}
