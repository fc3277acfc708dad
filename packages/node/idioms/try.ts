/** An idiom in each mode, in a pod and on a machine, and what was less. */
import {
  modes,
  places,
  terminate,
  type Attempt,
  type Mode,
  type Outcome,
  type Place,
} from "./termination.ts";
import type { Idiom } from "./idiom.ts";
import { worse } from "./verdict.ts";

export interface Settings {
  readonly tree: string;
  readonly node: string;
  readonly handlersFirst?: boolean;
  readonly delayMs?: number;
}

export interface Tried {
  readonly idiom: Idiom;
  readonly place: Place;
  readonly mode: Mode;
  readonly without: Outcome;
  readonly withIt: Outcome;
  readonly problems: readonly string[];
}

const modesOf = (idiom: Idiom): readonly Mode[] =>
  modes.filter((mode) => mode !== "code" || !idiom.onlyImport);

async function tryIn(place: Place, idiom: Idiom, { tree, node, ...more }: Settings): Promise<Tried[]> {
  const { handlersFirst = false, delayMs = 0 } = more;
  const attempt = (mode: Mode): Promise<Outcome> =>
    terminate({ idiom, mode, place, tree, node, handlersFirst, delayMs } satisfies Attempt);
  const [without, ...others] = await Promise.all(
    modesOf(idiom).map(async (mode) => ({ mode, outcome: await attempt(mode) })),
  );
  return others.map(({ mode, outcome }) => ({
    idiom,
    place,
    mode,
    without: without!.outcome,
    withIt: outcome,
    problems: worse(idiom, mode, place, without!.outcome, outcome),
  }));
}

export async function tryIdiom(idiom: Idiom, settings: Settings): Promise<Tried[]> {
  const tried: Tried[] = [];
  for (const place of places) tried.push(...(await tryIn(place, idiom, settings)));
  return tried;
}

/** Runs so many at once: programs mostly wait. @yields what was tried, as it ends. */
export async function* atOnce<T, R>(
  limit: number,
  items: Iterable<T>,
  run: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const running = new Map<number, Promise<{ id: number; result: R }>>();
  let id = 0;
  for (const item of items) {
    const own = id++;
    running.set(
      own,
      run(item).then((result) => ({ id: own, result })),
    );
    if (running.size < limit) continue;
    const first = await Promise.race(running.values());
    running.delete(first.id);
    yield first.result;
  }
  while (running.size > 0) {
    const first = await Promise.race(running.values());
    running.delete(first.id);
    yield first.result;
  }
}
