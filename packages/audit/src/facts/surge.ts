import type { Field } from "@lameduck/manifests";
import { byDefault, fromField, type Amount } from "../model/amount.ts";
import type { Workload } from "../model/workload.ts";

/** How many pods a rolling update may do without, and how many it may have besides: in pods. */
export interface Surge {
  readonly unavailable: Amount;
  readonly surge: Amount;
  readonly unavailableField: Field;
  readonly surgeField: Field;
}

/** As the Deployment controller rounds: unavailable down, surge up; where both come to 0, one may be missing. */
export function surgeOf({ spec, replicas }: Workload): Surge {
  const rolling = spec.at("strategy").at("rollingUpdate");
  const unavailableField = rolling.at("maxUnavailable");
  const surgeField = rolling.at("maxSurge");
  const surge = resolve(surgeField, "maxSurge", replicas.value, Math.ceil);
  let unavailable = resolve(unavailableField, "maxUnavailable", replicas.value, Math.floor);
  if (surge.value === 0 && unavailable.value === 0) unavailable = { ...unavailable, value: 1 };
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
