import { options } from "@lameduck/options";
import type { Reason } from "./injection.ts";
import { mayBeRepeated } from "./node-options.ts";
import { hooksOf, type FormerSleep, type WhyKept } from "./former-sleep.ts";
import { mapsIn, preStopOf, textOf, type PodView } from "./pod.ts";
import { isFront, isInitHook, isNode, isSidecar, ownLameduck } from "./software.ts";

/**
 * What is done to a container. `hold`: by a hook. `instrument`: with the library. `follow`: a sidecar, or what is behind a front, follows
 * the holds of others. `own`: it brings Lameduck itself. `nothing`.
 */
export interface Action {
  readonly index: number;
  readonly name: string;
  readonly container: Readonly<Record<string, unknown>>;
  readonly does: "hold" | "instrument" | "follow" | "own" | "nothing";
  readonly because: string;
  /** It follows a front, and may be sent requests itself. */
  readonly isBehind?: true;
  /** Its own hook, in whose place ours comes. */
  readonly former?: FormerSleep;
}

/**
 * @param exposedBy what leads to the pod, as far as that is known.
 * @param replaces whether a hold comes in place of hooks that only sleep, or else why not.
 */
export function actionsOf(
  view: PodView,
  {
    mayInstrument,
    replaces,
    exposedBy: [leading] = [],
  }: {
    readonly mayInstrument: boolean;
    readonly replaces: true | WhyKept;
    readonly exposedBy?: readonly string[] | undefined;
  },
): { readonly actions: readonly Action[]; readonly reasons: readonly Reason[] } {
  const { containers, nativeSidecars, isInjected } = view;
  const hooks = hooksOf(view, replaces);
  const reasons: Reason[] = nativeSidecars.map((name) => ({
    code: "native-sidecar",
    container: name,
    text: "an init container with restartPolicy Always is stopped after the others",
  }));
  // A sidecar whose sleep is replaced waits for the file of a hook, which the library does not write.
  const mayBeNode =
    mayInstrument && ![...hooks.values()].some((one) => typeof one !== "string" && one.seconds > 0);
  // Alone, or among its like, a proxy is the app: a gateway.
  const hasApp = containers.some((one) => !isSidecar(one));
  const single = containers.map((container, index): Action => {
    const name = textOf(container["name"]);
    const act = (does: Action["does"], because: string): Action => ({
      index,
      name,
      container,
      does,
      because,
    });
    const leave = (code: Reason["code"], text: string, does: "own" | "nothing" = "nothing"): Action => {
      reasons.push({ code, container: name, text });
      return act(does, text);
    };
    // Only what another webhook has added since.
    if (isInjected && mapsIn(container["env"]).some(({ name: one }) => one === options.grace.variable))
      return leave("already-injected", "it was told the grace period before");
    const own = ownLameduck(container);
    if (own !== undefined) return leave("own-lameduck", own, "own");
    if (isInitHook(preStopOf(container) ?? {}))
      return leave("own-lameduck", "its preStop hook is lameduck-init", "own");
    const former = hooks.get(index);
    if (typeof former === "string") return leave("hook-kept", former);
    if (former?.seconds === 0) return leave("opted-out", "preStop sleeps for 0 seconds");
    const replacing = (one: Action): Action => (former === undefined ? one : { ...one, former });
    if (hasApp && isSidecar(container)) return replacing(act("follow", "a sidecar of the app"));
    if (mayBeNode && isNode(container) && canTakeNodeOptions(container))
      return act("instrument", "its program is node");
    const hasPorts = mapsIn(container["ports"]).length > 0;
    if (!hasPorts && containers.length > 1) return replacing(act("hold", "it is no known sidecar"));
    const otherwise = hasPorts ? "it declares ports" : "it is the only container";
    return replacing(act("hold", leading === undefined ? otherwise : `${leading} leads to its pod`));
  });
  return { actions: behindFronts(single), reasons };
}

/** What is behind a front must not stop before that. It holds as long as by itself, and longer where the front does. */
function behindFronts(actions: readonly Action[]): readonly Action[] {
  const fronts = actions.filter(({ does, container }) => does === "hold" && isFront(container));
  if (fronts.length === 0) return actions;
  return actions.map((one) =>
    one.does === "hold" && !fronts.includes(one)
      ? {
          ...one,
          does: "follow",
          isBehind: true,
          because: `it may be behind ${fronts.map(({ name }) => name).join(", ")}`,
        }
      : one,
  );
}

/** What `envFrom` holds is not to be seen here, and a variable of ours would hide it. */
function canTakeNodeOptions(container: Readonly<Record<string, unknown>>): boolean {
  if (mapsIn(container["envFrom"]).length > 0) return false;
  const known = mapsIn(container["env"]).filter(({ name }) => name === "NODE_OPTIONS");
  if (known.length === 0) return true;
  const [one = {}] = known;
  return known.length === 1 && !("valueFrom" in one) && mayBeRepeated(textOf(one["value"]));
}
