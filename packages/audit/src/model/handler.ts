import type { Field } from "@lameduck/manifests";
import { fromField, wholeOr, type Amount } from "./amount.ts";
import { everyCommand } from "./shell/every-command.ts";
import { programOf, shellCommandOf, whyFails, type Failure, type Scripts } from "./shell/commands.ts";
import { dereferenced, type Variables } from "./shell/scope.ts";
import { signalSent, type Sent } from "./shell/signals.ts";
import { timeTaken } from "./shell/time.ts";

type HandlerKind = "exec" | "httpGet" | "tcpSocket" | "sleep" | "grpc";

const kinds: readonly HandlerKind[] = ["exec", "httpGet", "tcpSocket", "sleep", "grpc"];

/** What a probe or a hook does. */
interface Handler {
  readonly kind: HandlerKind;
  readonly field: Field;
  /** exec: the command. */
  readonly command: readonly string[];
}

/** A preStop hook: the kubelet waits for it before it sends the stop signal, and its time counts against the grace period. */
export interface Hook extends Handler {
  /** Why it fails at once, where that is certain. */
  readonly failure: Failure | undefined;
  /** The command, and the scripts of it that are files of the input. */
  readonly text: string;
  /** As long as it takes at least. */
  readonly least: Amount;
  /** How long of it the server still serves: until a command of it stops the server. */
  readonly serving: Amount;
  /** Whether `least` is all of it. */
  readonly isExact: boolean;
  /** Whether `serving` is all of that: a command that stops the server may itself take long. */
  readonly isServingExact: boolean;
  /** The number that a fix would change, if it stands alone. */
  readonly number?: Field;
  /** Signals that its commands send. */
  readonly signals: readonly Sent[];
  /** It runs a script that is a file: what that does is not known here. */
  readonly runsFile: boolean;
  /** Names of the variables that it reads. */
  readonly reads: ReadonlySet<string>;
}

export interface Probe extends Handler {
  readonly whole: Field;
  readonly initialDelay: Amount;
  readonly period: Amount;
  readonly timeout: Amount;
  readonly failures: Amount;
  readonly successes: Amount;
  /** The probe's own terminationGracePeriodSeconds. */
  readonly grace?: Amount;
}

/** @returns undefined where there is none, or none that the API server knows. */
function handlerOf(field: Field): Handler | undefined {
  const kind = kinds.find((one) => field.at(one).exists);
  if (kind === undefined) return undefined;
  const command = kind === "exec" ? field.at("exec").at("command").texts() : [];
  return { kind, field: field.at(kind), command };
}

/** Where a hook runs. */
interface Around {
  readonly variables: Variables;
  /** PID 1 is the pause process. */
  readonly isPidShared: boolean;
  readonly scripts: Scripts;
}

export function hookOf(lifecycle: Field, { variables, isPidShared, scripts }: Around): Hook | undefined {
  const handler = handlerOf(lifecycle.at("preStop"));
  if (handler === undefined) return undefined;
  const { kind, field, command } = handler;
  const argv = command.map((word) => dereferenced(word, variables.values));
  const texts = new Set([command.join(" ")]);
  const commands = everyCommand(argv, variables, (path, isProgram) => {
    const text = scripts(path, isProgram);
    if (text !== undefined) texts.add(text);
    return text;
  });
  const text = [...texts].join("\n");
  const known = {
    ...handler,
    failure: kind === "exec" ? whyFails(argv, scripts) : undefined,
    text,
    signals: commands.flatMap((one) => signalSent(one) ?? []),
    runsFile: commands.some(
      (words) => shellCommandOf(words) !== undefined || /\.(?:sh|bash)$/.test(words[0] ?? ""),
    ),
    reads: new Set([...text.matchAll(/\$[{(]?([A-Za-z_]\w*)/g)].map(([, name = ""]) => name)),
  };
  const named = (value: number, at: Field): Amount => fromField("preStop", value, at);
  if (kind === "sleep") {
    const number = field.at("seconds");
    const least = named(number.whole(0, 0), number);
    return { ...known, least, serving: least, isExact: true, isServingExact: true, number };
  }
  if (kind !== "exec")
    return {
      ...known,
      least: named(0, field),
      serving: named(0, field),
      isExact: false,
      isServingExact: false,
    };
  const { least, isExact, serving, isServingExact } = timeTaken(argv, { variables, isPidShared, scripts });
  const words = field.at("command").items();
  const at = words.find((word) => /\bsleep\b/.test(word.text() ?? "")) ?? words[0] ?? field;
  const alone = programOf(command[0]) === "sleep" && command.length === 2 ? words[1] : undefined;
  return {
    ...known,
    least: named(least, alone ?? at),
    serving: named(serving, alone ?? at),
    isExact,
    isServingExact,
    ...(alone ? { number: alone } : {}),
  };
}

export function probeOf(field: Field): Probe | undefined {
  const handler = handlerOf(field);
  if (handler === undefined) return undefined;
  const number = (key: string, least: number, otherwise: number): Amount =>
    wholeOr(field.at(key), least, key, otherwise);
  const grace = field.at("terminationGracePeriodSeconds");
  return {
    ...handler,
    whole: field,
    initialDelay: number("initialDelaySeconds", 0, 0),
    period: number("periodSeconds", 1, 10),
    timeout: number("timeoutSeconds", 1, 1),
    failures: number("failureThreshold", 1, 3),
    successes: number("successThreshold", 1, 1),
    ...(grace.exists ? { grace: fromField("the probe's own grace", grace.whole(0, 0), grace) } : {}),
  };
}

/** The same question asked the same way. */
export function isSameHandler(a: Handler, b: Handler): boolean {
  return a.kind === b.kind && plain(a.field) === plain(b.field);
}

function plain(field: Field): string {
  return JSON.stringify(field.plain());
}
