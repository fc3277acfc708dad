import { unforeseen } from "@lameduck/drain";
import type { HeldBefore } from "../hold/holders.ts";
import type { Settings } from "../options/settings.ts";

/** What a crash leaves of the hold: time to accept the connections that wait already. */
const lastTurnsMs = 100;

/** The moments that bound a termination, on the process's clock. */
export interface Deadlines {
  /** Milliseconds of the signal's delay that count. */
  readonly late: number;
  /** The hold ends. */
  readonly cap: number;
  /** Time for lasting connections after the hold, and what is kept of the grace period after that. Milliseconds. */
  readonly spread: number;
  readonly reserve: number;
  /** Handlers of the program get the signal, though requests are still in flight. */
  readonly others: number;
  /** Requests in flight are cut. */
  readonly requests: number;
  /** Hooks, and handlers of the application, are waited for no longer. */
  readonly hooks: number;
  /** SIGKILL is due. */
  readonly kill: number;
}

export interface TerminationFacts {
  readonly from: number;
  /** How long ago the signal was sent, milliseconds. */
  readonly late: number;
  readonly isCrash: boolean;
  /** The init or a preStop hook has held before, within the same grace period. */
  readonly held: HeldBefore | undefined;
  /** Hooks that run after the last request. */
  readonly hasClosedHooks: boolean;
}

export function deadlinesOf(
  settings: Settings,
  { from, late, isCrash, held, hasClosedHooks }: TerminationFacts,
): Deadlines {
  // After a crash nobody knows for how long the process still works.
  const asked = isCrash ? 0 : settings.spread;
  const { drain, ramp } = settings;
  const deadline = settings.deadline - (isCrash ? settings.spread : 0);
  // However late the signal: the floor for senders and the reserve for requests in flight matter more than the estimated lateness.
  const counted = Math.min(late, drain.cap - drain.floor);
  const spent = isCrash ? Math.max(0, drain.cap - lastTurnsMs) : counted;
  const [cap, kill] = held
    ? afterAnother(held, from, { drain, deadline, ramp })
    : [from + drain.cap - spent, from + deadline - spent];
  const left = kill - cap;
  // Where the init has used up more than the cap, reserve and spread share what is left.
  const spread = asked === 0 ? 0 : left * (asked / (deadline - drain.cap));
  const reserve = left - spread;
  const hooks = kill - unforeseen(reserve);
  // Half of the reserve belongs to what comes after the last request.
  const half = kill - reserve / 2;
  const times = { late: counted, cap, spread, reserve, others: half };
  return { ...times, requests: hasClosedHooks ? half : hooks, hooks, kill };
}

/** What a program may take where nobody kills it: 20 days, within what a timer can wait. */
const noDeadlineMs = 20 * 24 * 3_600_000;

/** For a process that nobody kills: its program may take as long as it likes once it has the signal. */
export function withoutKill(by: Deadlines): Deadlines {
  return {
    ...by,
    cap: by.cap + noDeadlineMs,
    requests: by.requests + noDeadlineMs,
    hooks: by.hooks + noDeadlineMs,
  };
}

/** The grace period began with the hold of the init, or with the preStop hook. The rest of it is for asking clients to leave, and for closing. */
function afterAnother(
  { program, spent, isOver }: HeldBefore,
  from: number,
  { drain, deadline, ramp }: Pick<Settings, "drain" | "deadline" | "ramp">,
): [cap: number, kill: number] {
  const left = Math.max(0, drain.cap - spent);
  const whole = program === "wait" ? deadline + drain.prestop : deadline;
  return [from + (isOver ? Math.min(ramp, left) : left), from + Math.max(left, whole - spent)];
}
