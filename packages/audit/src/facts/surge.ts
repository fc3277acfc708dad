import type { Field } from "@lameduck/manifests";
import { byDefault, fromField, type Amount } from "../model/amount.ts";
import type { Workload } from "../model/workload.ts";

/** How many pods a rolling update may do without, and how many it may have besides: in pods. */
interface Surge {
  readonly unavailable: Amount;
  readonly surge: Amount;
  readonly unavailableField: Field;
  readonly surgeField: Field;
}

/** As the controllers round: unavailable down, surge up; where both come to 0, one pod may be unavailable. A StatefulSet has no surge. */
export function surgeOf({ object, spec, replicas }: Workload): Surge {
  const isOrdered = object.kind === "StatefulSet";
  const rolling = isOrdered
    ? spec.at("updateStrategy").at("rollingUpdate")
    : spec.at("strategy").at(object.kind === "Rollout" ? "canary" : "rollingUpdate");
  const unavailableField = rolling.at("maxUnavailable");
  const surgeField = rolling.at("maxSurge");
  const surge = isOrdered
    ? byDefault("maxSurge", 0, "StatefulSet")
    : resolve(surgeField, "maxSurge", replicas.value, Math.ceil);
  let unavailable = resolve(unavailableField, "maxUnavailable", replicas.value, Math.floor);
  if (surge.value === 0 && unavailable.value === 0) unavailable = { ...unavailable, value: 1 };
  // Pods below the partition stay as they are.
  const partition = isOrdered ? rolling.at("partition").whole(0, 0) : 0;
  const replaced = Math.max(0, replicas.value - partition);
  if (partition > 0 && replaced < unavailable.value)
    unavailable = { ...unavailable, name: `from partition ${partition} on`, value: replaced };
  return { unavailable, surge, unavailableField, surgeField };
}

function resolve(field: Field, name: string, replicas: number, round: (value: number) => number): Amount {
  const text = field.numberOrText() ?? "25%";
  const [, percent] = /^(\d+)%$/.exec(String(text)) ?? [];
  const value = percent === undefined ? Number(text) : round((Number(percent) * replicas) / 100);
  if (!Number.isInteger(value) || value < 0)
    field.fail("LAMEDUCK_MANIFEST_INVALID", `must be a count or a percentage, not ${text}`);
  const spelt = percent === undefined ? name : `${name} (${text} of ${replicas})`;
  return field.exists ? fromField(spelt, value, field) : byDefault(spelt, value, "Kubernetes");
}
