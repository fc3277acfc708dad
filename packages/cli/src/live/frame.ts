import { printable } from "@lameduck/drain/common";
import { count } from "@lameduck/accounting/words";
import type { PodCount } from "@lameduck/load";
import { isFinished, type PodLine, type PodState } from "./pods.ts";

interface Size {
  readonly columns: number;
  readonly rows: number;
}

export interface Shown {
  readonly heading: string;
  readonly pods: readonly PodLine[];
  /** Requests whose pods nobody knows. */
  readonly unknown?: PodCount | undefined;
}

/** A row of the frame: a pod, or several in one line. */
interface Row {
  readonly name: string;
  readonly state: string;
  /** Left out where there is no room for it. */
  readonly why?: string;
  readonly answered: number;
  readonly lost: number;
}

/** Below this width words give way to figures. */
const narrow = 60;
const gap = "  ";

/** The lines that show a run. Each is narrower than the terminal. They leave at least one of its rows to the cursor, which waits below them. */
export function frame({ heading, pods, unknown }: Shown, { columns, rows }: Size): string[] {
  const width = Math.max(1, columns - 1);
  const last: Row[] = unknown === undefined ? [] : [{ name: "pod not known", state: "", ...unknown }];
  const room = rows - 3 - last.length;
  const rowsOf = folded(pods, room, width < narrow ? 0 : 1);
  const table = room < 1 || pods.length === 0 ? [] : tableOf([...rowsOf, ...last], width);
  return [heading, ...table].slice(0, Math.max(1, rows - 1)).map((line) => cut(printable(line), width));
}

/** The most telling pods first to stay: what ends, then what begins, then what only serves. */
const urgency: readonly PodState[] = ["stopping", "holding", "starting", "not ready", "ready"];

/** As many rows as there is room for. What does not fit is folded, finished pods first. */
function folded(pods: readonly PodLine[], room: number, digits: number): Row[] {
  const rowOf = (pod: PodLine): Row => podRow(pod, digits);
  if (pods.length <= room) return pods.map(rowOf);
  const ended = pods.filter(isFinished);
  const going = pods.filter((pod) => !isFinished(pod));
  const summary = ended.length === 0 ? [] : [sum(ended)];
  if (going.length + summary.length <= room) return [...summary, ...going.map(rowOf)];
  const kept = new Set(
    going
      .toSorted((a, b) => urgency.indexOf(a.state) - urgency.indexOf(b.state))
      .slice(0, Math.max(0, room - summary.length - 1)),
  );
  return [...summary, ...[...kept].map(rowOf), sum(going.filter((pod) => !kept.has(pod)))].slice(0, room);
}

function podRow({ pod, state, ms, why, answered, lost }: PodLine, digits: number): Row {
  const time = state === "ready" || state === "not ready" ? "" : ` ${(ms / 1_000).toFixed(digits)} s`;
  return { name: pod, state: `${state}${time}`, ...(why === undefined ? {} : { why }), answered, lost };
}

function sum(pods: readonly PodLine[]): Row {
  const states = [...Map.groupBy(pods, ({ state }) => state)].map(([state, of]) => `${of.length} ${state}`);
  const total = (of: (pod: PodLine) => number): number => pods.reduce((all, pod) => all + of(pod), 0);
  return {
    name: count(pods.length, "pod"),
    state: states.join(", "),
    answered: total(({ answered }) => answered),
    lost: total(({ lost }) => lost),
  };
}

function tableOf(rows: readonly Row[], width: number): string[] {
  const whole = rows.map(({ name, state, why, answered, lost }) => [
    name,
    why === undefined ? state : `${state}, ${why}`,
    String(answered),
    String(lost),
  ]);
  const heads = ["pod", "state", width < narrow ? "ok" : "answered", "lost"];
  const widest = (column: number): number =>
    Math.max(...[heads, ...whole].map((cells) => cells[column]!.length));
  const name = Math.min(widest(0), Math.max(8, Math.floor(width * 0.3)));
  const [answered, lost] = [widest(2), widest(3)];
  const state = Math.max(0, Math.min(widest(1), width - name - answered - lost - 3 * gap.length));
  const fitting = whole.map(([pod = "", words = "", ...figures], i) => [
    pod,
    words.length > state ? rows[i]!.state : words,
    ...figures,
  ]);
  return [heads, ...fitting].map(([pod = "", words = "", ...figures]) =>
    [
      tail(pod, name).padEnd(name),
      cut(words, state).padEnd(state),
      figures[0]!.padStart(answered),
      figures[1]!.padStart(lost),
    ].join(gap),
  );
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`.slice(0, width);
}

/** Pods of one workload differ at the end of their names. */
function tail(text: string, width: number): string {
  return text.length <= width ? text : `…${text.slice(text.length - width + 1)}`;
}
