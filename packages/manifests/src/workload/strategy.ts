import type { Field } from "../field.ts";
import type { CountOrShare, Strategy } from "./template.ts";

export const defaultStrategy: Strategy = { kind: "rolling", maxSurge: "25%", maxUnavailable: "25%" };

export function readDeploymentStrategy(spec: Field): Strategy {
  const strategy = spec.at("strategy");
  if (strategy.at("type").oneOf(["RollingUpdate", "Recreate"], "RollingUpdate") === "Recreate")
    return { kind: "recreate" };
  const rolling = strategy.at("rollingUpdate");
  const maxSurge = readCountOrShare(rolling.at("maxSurge"));
  const maxUnavailable = readCountOrShare(rolling.at("maxUnavailable"));
  if (Number.parseInt(String(maxSurge), 10) === 0 && Number.parseInt(String(maxUnavailable), 10) === 0)
    rolling.invalid("maxSurge and maxUnavailable must not both be zero");
  return { kind: "rolling", maxSurge, maxUnavailable };
}

export function readStatefulSetStrategy(spec: Field): Strategy {
  const strategy = spec.at("updateStrategy");
  if (strategy.at("type").oneOf(["RollingUpdate", "OnDelete"], "RollingUpdate") === "OnDelete")
    strategy.at("type").fail("LAMEDUCK_MANIFEST_UNSUPPORTED", "OnDelete never rolls by itself");
  strategy.at("rollingUpdate").onlyKnows(["partition"]);
  return {
    kind: "ordered",
    partition: strategy.at("rollingUpdate").at("partition").whole(0, 0),
    startTogether:
      spec.at("podManagementPolicy").oneOf(["OrderedReady", "Parallel"], "OrderedReady") === "Parallel",
  };
}

function readCountOrShare(field: Field): CountOrShare {
  const value = field.numberOrText() ?? "25%";
  if (typeof value === "number" && Number.isInteger(value) && value >= 0) return value;
  if (typeof value === "string" && /^\d+%$/.test(value)) return value as `${number}%`;
  return field.invalid(`must be a whole number or a share such as 25%, not ${value}`);
}
