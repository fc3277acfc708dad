import { emptyValue, fieldText, type Field } from "@lameduck/manifests";
import { undoAnnotation } from "../pod.ts";
import type { Plan } from "../plan.ts";

/**
 * What an injection filled or replaced, as it stood in the file. A value of a container such as `[]` is found by "web/env", one of the pod by
 * "/volumes". What a former hook did is found by "web/preStop".
 */
export type Empties = ReadonlyMap<string, string>;

/** The plan, and in its undo annotation what of the file it fills: "empty web/env=%5B%5D". */
export function withEmpties(plan: Plan, template: Field, text: string): Plan {
  const undo = plan.annotations[undoAnnotation];
  const found = undo === undefined ? [] : filledBy(plan, template, text);
  if (found.length === 0) return plan;
  const empty = `empty ${found.map(([at, was]) => `${at}=${encodeURIComponent(was)}`).join(" ")}`;
  const whole = undo === "" ? empty : `${undo}; ${empty}`;
  return { ...plan, annotations: { ...plan.annotations, [undoAnnotation]: whole } };
}

/** What withEmpties has written. */
export function emptiesIn(undo: string): Empties {
  const [, all = ""] = /(?:^|; )empty ([^;]+)/.exec(undo) ?? [];
  return new Map(
    [...all.matchAll(/(\S*\/\w+)=([\w%.!~*'()-]*)/g)].map(([, at = "", was = ""]) => [at, decoded(was)]),
  );
}

function filledBy(plan: Plan, template: Field, text: string): [string, string][] {
  const pod = template.at("spec");
  const metadata = template.at("metadata");
  const containers = pod.at("containers").items();
  const places: [string, Field, string, boolean][] = [
    ["", template, "metadata", true],
    ["", metadata, "annotations", true],
    ["", pod, "volumes", plan.volumes.length > 0],
    ["", pod, "initContainers", plan.initContainers.length > 0],
    ...plan.containers.flatMap(({ index, env, mounts, preStop }): [string, Field, string, boolean][] => {
      const container = containers[index]!;
      const name = container.at("name").text() ?? "";
      return [
        [name, container, "env", env.length > 0],
        [name, container, "volumeMounts", mounts.length > 0],
        [name, container, "lifecycle", preStop !== undefined],
      ];
    }),
  ];
  const replaced = plan.containers.flatMap(({ index, replaces }): [string, string][] => {
    const container = containers[index]!;
    const preStop = container.at("lifecycle").at("preStop");
    const [former] = replaces ? preStop.entries() : [];
    const was = former && fieldText(text, preStop.at(former[0]));
    return was === undefined ? [] : [[`${container.at("name").text() ?? ""}/preStop`, was]];
  });
  const filled = places.flatMap(([name, parent, key, isFilled]): [string, string][] => {
    const was = isFilled ? emptyValue(text, parent, key) : undefined;
    return was === undefined ? [] : [[`${name}/${key}`, was]];
  });
  return [...filled, ...replaced];
}

/** Somebody may have changed it by hand. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
