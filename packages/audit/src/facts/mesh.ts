import { ManifestError, readDocuments } from "@lameduck/manifests";
import { assumed, byDefault, fromField, type Amount } from "../model/amount.ts";
import type { Container } from "../model/container.ts";
import { annotationOf } from "../model/object.ts";
import type { Workload } from "../model/workload.ts";
import { secondsOf } from "./variables.ts";

/** How long the proxy of a mesh goes on after SIGTERM. */
interface ProxyHold {
  readonly amount: Amount;
  /** It goes on until its last connection has ended, for the amount at least. */
  readonly untilIdle: boolean;
}

/** @returns undefined for what is no proxy of Istio or Linkerd. */
export function proxyHoldOf(workload: Workload, container: Container): ProxyHold | undefined {
  const called = `${container.name} ${container.image ?? ""}`;
  if (/\bistio-proxy\b|\/proxyv2\b/.test(called)) return istio(workload, container);
  if (/\blinkerd-proxy\b/.test(called)) return linkerd(workload, container);
  return undefined;
}

/** https://istio.io/latest/docs/reference/config/istio.mesh.v1alpha1/#ProxyConfig */
function istio({ template }: Workload, { env, envFields, field, variables }: Container): ProxyHold {
  const annotation = annotationOf(template, "proxy.istio.io/config");
  const config = { ...mapOf(env.get("PROXY_CONFIG")), ...mapOf(annotation.text()) };
  const metadata = config["proxyMetadata"];
  const told =
    typeof metadata === "object" && metadata !== null ? (metadata as Readonly<Record<string, unknown>>) : {};
  const valueOf = (name: string): string | undefined => {
    const value = env.get(name) ?? told[name];
    return typeof value === "string" ? value : value === undefined ? undefined : JSON.stringify(value);
  };
  const named = (name: string, value: string | undefined): Amount | undefined => {
    const seconds = value === undefined ? undefined : secondsOf(value, name, "s");
    const at = envFields.get(name) ?? (annotation.exists ? annotation : envFields.get("PROXY_CONFIG"));
    return seconds === undefined ? undefined : fromField(name, seconds, at ?? field);
  };
  if (valueOf("EXIT_ON_ZERO_ACTIVE_CONNECTIONS") === "true")
    return {
      amount:
        named("MINIMUM_DRAIN_DURATION", valueOf("MINIMUM_DRAIN_DURATION")) ??
        byDefault("MINIMUM_DRAIN_DURATION", 5, "Istio"),
      untilIdle: true,
    };
  const drain = config["terminationDrainDuration"];
  const amount =
    named("terminationDrainDuration", typeof drain === "string" ? drain : undefined) ??
    named("TERMINATION_DRAIN_DURATION_SECONDS", valueOf("TERMINATION_DRAIN_DURATION_SECONDS"));
  const usual = variables.isPartial
    ? assumed("terminationDrainDuration", 5, "it is Istio's default")
    : byDefault("terminationDrainDuration", 5, "Istio");
  return { amount: amount ?? usual, untilIdle: false };
}

/** What the injector makes a preStop hook of. `shutdown-grace-period` is no hold: new requests are refused meanwhile. */
function linkerd({ template }: Workload, { hook }: Container): ProxyHold | undefined {
  const wait = annotationOf(template, "config.alpha.linkerd.io/proxy-wait-before-exit-seconds");
  const seconds =
    wait.exists && hook === undefined ? secondsOf(String(wait.numberOrText()), "seconds", "s") : undefined;
  return seconds === undefined
    ? undefined
    : { amount: fromField("proxy-wait-before-exit-seconds", seconds, wait), untilIdle: false };
}

/** YAML or JSON; empty for whatever is no mapping. */
function mapOf(text: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const value = text === undefined ? undefined : readDocuments(text, "").objects[0]?.plain();
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    return {};
  }
}
