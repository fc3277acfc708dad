import { parseDuration, unknownName, type Duration } from "@lameduck/drain";
import { messageOf, shown } from "@lameduck/drain/common";
import { sleep, type Clock } from "../clock.ts";
import { badOption, mistake, type LameduckError } from "../errors.ts";
import { nestedOptions } from "../options/nested-options.ts";
import type { HookOutcome } from "../events.ts";

export type HookPhase = HookOutcome["phase"];

export interface HookOptions {
  /** Default 5 s; never beyond the deadline. */
  timeout?: Duration;
  /** Names of hooks of the same phase that must have ended before this one begins. Others of a phase run in the order added. */
  after?: readonly string[];
}

/** `signal` aborts when the hook's time is over. */
export type HookFunction = (signal: AbortSignal) => unknown;

interface Hook {
  readonly name: string;
  readonly phase: HookPhase;
  readonly run: HookFunction;
  readonly timeout: number;
  readonly after: readonly string[];
}

const hookPhases: readonly string[] = ["lame-duck", "closing", "closed"];
const defaultTimeoutMs = 5_000;

/**
 * An application's hooks for each phase. The hooks of a phase run one after another, each with a time-out of its own. A hook that fails
 * keeps no other hook from running.
 */
export class Hooks {
  readonly #hooks: Hook[] = [];
  readonly #begun = new Set<HookPhase>();
  readonly #outcomes: HookOutcome[] = [];
  readonly #clock: Clock;
  readonly #warn: (problem: string) => void;

  constructor(clock: Clock, warn: (problem: string) => void) {
    this.#clock = clock;
    this.#warn = warn;
  }

  get outcomes(): readonly HookOutcome[] {
    return this.#outcomes;
  }

  hasBegun(phase: HookPhase): boolean {
    return this.#begun.has(phase);
  }

  /** Hooks of a phase that have not ended, as skipped. A process that ends before its hooks reports these. */
  unfinished(phase: HookPhase): HookOutcome[] {
    const ended = new Set(
      this.#outcomes.filter((outcome) => outcome.phase === phase).map(({ name }) => name),
    );
    return this.#of(phase)
      .filter(({ name }) => !ended.has(name))
      .map(({ name }) => ({ name, phase, result: "skipped", took: 0 }));
  }

  has(phase: HookPhase): boolean {
    return this.#hooks.some((hook) => hook.phase === phase);
  }

  /** @throws {LameduckError} */
  add(phase: HookPhase, name: string, run: HookFunction, options: HookOptions = {}): void {
    const bad = (problem: string): LameduckError => mistake("LAMEDUCK_BAD_HOOK", place, problem);
    const place = typeof name === "string" && name !== "" ? name : "hook";
    if (place !== name) throw bad(`${shown(name)} is no name`);
    if (!hookPhases.includes(phase)) throw bad(`${shown(phase)} is not lame-duck, closing or closed`);
    if (this.#begun.has(phase))
      throw mistake("LAMEDUCK_TERMINATING", name, `the hooks of ${phase} are already running`);
    if (typeof run !== "function") throw bad(`${shown(run)} is not a function`);
    const others = this.#of(phase);
    if (others.some((hook) => hook.name === name))
      throw bad(`there is already a hook of that name in ${phase}`);
    const { timeout = defaultTimeoutMs, after = [] } = nestedOptions(options, name, ["timeout", "after"]);
    if (!Array.isArray(after) || !after.every((other) => typeof other === "string"))
      throw badOption(`${name}.after`, `${shown(after)} is not a list of names of hooks`);
    const hook = { name, phase, run, timeout: parseDuration(timeout, `${name}.timeout`), after };
    inOrder([...others, hook]);
    this.#hooks.push(hook);
  }

  /** Runs a phase's hooks until all have ended or `until` is reached; a hook that could not begin by then is skipped. */
  async run(phase: HookPhase, until: number): Promise<void> {
    this.#begun.add(phase);
    for (const hook of this.#ordered(phase)) {
      const outcome = await this.#runOne(hook, until);
      this.#outcomes.push(outcome);
      if (outcome.result !== "done")
        this.#warn(`hook ${hook.name} ${outcome.result}${outcome.error ? `: ${outcome.error}` : ""}`);
    }
  }

  /** All hooks are known only now, so that wrong names in `after` show only now. A wrong name must not keep the hooks from running. */
  #ordered(phase: HookPhase): Hook[] {
    const hooks = this.#of(phase);
    const names = hooks.map(({ name }) => name);
    for (const { name, after } of hooks)
      for (const other of after.filter((each) => !names.includes(each))) {
        const { code, message, remedy } = mistake(
          "LAMEDUCK_BAD_HOOK",
          `${name}.after`,
          `${shown(other)} is ${unknownName(
            `hook of ${phase}`,
            other,
            names.filter((each) => each !== name),
          )}`,
        );
        this.#warn(`${code}: ${message}; ${remedy}`);
      }
    return inOrder(hooks);
  }

  #of(phase: HookPhase): Hook[] {
    return this.#hooks.filter((hook) => hook.phase === phase);
  }

  async #runOne(hook: Hook, until: number): Promise<HookOutcome> {
    const { name, phase } = hook;
    const from = this.#clock.now();
    const allowed = Math.min(hook.timeout, until - from);
    if (allowed <= 0) return { name, phase, result: "skipped", took: 0 };
    const over = new AbortController();
    const ended = new AbortController();
    const timeOut = sleep(allowed, ended.signal).then(() => "timed out" as const);
    try {
      const result = await Promise.race([run(hook, over.signal), timeOut]);
      const took = Math.round(this.#clock.now() - from);
      return { name, phase, result, took };
    } catch (error) {
      const took = Math.round(this.#clock.now() - from);
      return { name, phase, result: "failed", took, error: messageOf(error) };
    } finally {
      ended.abort();
      over.abort();
    }
  }
}

async function run(hook: Hook, signal: AbortSignal): Promise<"done"> {
  await hook.run(signal);
  return "done";
}

/** Hooks in the order added, but each after the hooks that it names. A name without a hook is ignored. @throws {LameduckError} for a circle. */
export function inOrder<H extends { readonly name: string; readonly after: readonly string[] }>(
  hooks: readonly H[],
): H[] {
  const byName = new Map(hooks.map((hook) => [hook.name, hook]));
  const path: string[] = [];
  const order = new Set<H>();
  const visit = (hook: H | undefined): void => {
    if (!hook || order.has(hook)) return;
    if (path.includes(hook.name))
      throw mistake(
        "LAMEDUCK_BAD_HOOK",
        hook.name,
        `waits for itself: ${[...path, hook.name].join(" after ")}`,
      );
    path.push(hook.name);
    for (const earlier of hook.after) visit(byName.get(earlier));
    path.pop();
    order.add(hook);
  };
  for (const hook of hooks) visit(hook);
  return [...order];
}
