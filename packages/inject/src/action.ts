import { options } from "@lameduck/options";
import { isMap } from "@lameduck/protocol";
import type { Reason } from "./injection.ts";
import { mayBeRepeated } from "./node-options.ts";
import { mapsIn, pathIn, preStopOf, textOf, type PodView } from "./pod.ts";
import { isNode, isSidecar, ownLameduck } from "./software.ts";

/**
 * What is done to a container. `hold`: by a hook. `instrument`: with the library. `follow`: a sidecar follows the holds of
 * others. `own`: it brings Lameduck itself. `nothing`.
 */
export interface Action {
  readonly index: number;
  readonly name: string;
  readonly container: Readonly<Record<string, unknown>>;
  readonly does: "hold" | "instrument" | "follow" | "own" | "nothing";
  readonly because: string;
}

export function actionsOf(
  { containers, nativeSidecars, isInjected }: PodView,
  mayInstrument: boolean,
): { readonly actions: readonly Action[]; readonly reasons: readonly Reason[] } {
  const reasons: Reason[] = nativeSidecars.map((name) => ({
    code: "native-sidecar",
    container: name,
    text: "an init container with restartPolicy Always is stopped after the others",
  }));
  // Alone, or among its like, a proxy is the app: a gateway.
  const hasApp = containers.some((one) => !isSidecar(one));
  const actions = containers.map((container, index): Action => {
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
    const preStop = preStopOf(container);
    const own = ownLameduck(container);
    if (own !== undefined) return leave("own-lameduck", own, "own");
    if (preStop !== undefined) {
      const sleep = preStop["sleep"];
      if (isMap(sleep) && (sleep["seconds"] === 0 || sleep["seconds"] === undefined))
        return leave("opted-out", "preStop sleeps for 0 seconds");
      const command = isMap(preStop["exec"]) ? preStop["exec"]["command"] : undefined;
      if (Array.isArray(command) && pathIn(command[0]).split("/").at(-1) === "lameduck-init")
        return leave("own-lameduck", "its preStop hook is lameduck-init", "own");
      return leave("hook-kept", "it has a preStop hook");
    }
    if (hasApp && isSidecar(container)) return act("follow", "a sidecar of the app");
    if (mayInstrument && isNode(container) && canTakeNodeOptions(container))
      return act("instrument", "its program is node");
    return act(
      "hold",
      mapsIn(container["ports"]).length > 0
        ? "it declares ports"
        : containers.length > 1
          ? "it is no known sidecar"
          : "it is the only container",
    );
  });
  return { actions, reasons };
}

/** What `envFrom` holds is not to be seen here, and a variable of ours would hide it. */
function canTakeNodeOptions(container: Readonly<Record<string, unknown>>): boolean {
  if (mapsIn(container["envFrom"]).length > 0) return false;
  const known = mapsIn(container["env"]).filter(({ name }) => name === "NODE_OPTIONS");
  if (known.length === 0) return true;
  const [one = {}] = known;
  return known.length === 1 && !("valueFrom" in one) && mayBeRepeated(textOf(one["value"]));
}
