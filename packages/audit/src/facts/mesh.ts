import { ManifestError, readDocuments, type Field } from "@lameduck/manifests";
import { assumed, byDefault, fromField, type Amount } from "../model/amount.ts";
import type { Container } from "../model/container.ts";
import type { Inventory } from "../model/inventory.ts";
import { annotationOf, namespaceOf } from "../model/object.ts";
import { noVariables } from "../model/shell/scope.ts";
import type { Workload } from "../model/workload.ts";
import { secondsOf } from "./variables.ts";

/** How long the proxy of a mesh goes on after SIGTERM. */
interface ProxyHold {
  readonly amount: Amount;
  /** It goes on until its last connection has ended, for the amount at least. */
  readonly untilIdle: boolean;
}

type Settings = Pick<Container, "env" | "envFields" | "field" | "variables" | "hook">;
const waitOfLinkerd = "config.alpha.linkerd.io/proxy-wait-before-exit-seconds";

/** @returns undefined for what is no proxy of Istio or Linkerd. */
export function proxyHoldOf(workload: Workload, container: Container): ProxyHold | undefined {
  const called = `${container.name} ${container.image ?? ""}`;
  if (/\bistio-proxy\b|\/proxyv2\b/.test(called)) return istio(workload, container);
  if (/\blinkerd-proxy\b/.test(called)) return linkerd(workload, container);
  return undefined;
}

/** https://istio.io/latest/docs/reference/config/istio.mesh.v1alpha1/#ProxyConfig */
function istio({ template }: Workload, { env, envFields, field, variables }: Settings): ProxyHold {
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
  const usual = (name: string, unread: unknown): Amount =>
    unread === undefined
      ? byDefault(name, 5, "Istio")
      : assumed(name, 5, `Istio's default, for ${JSON.stringify(unread)} is no duration such as 20s`);
  if (valueOf("EXIT_ON_ZERO_ACTIVE_CONNECTIONS") === "true") {
    const name = "MINIMUM_DRAIN_DURATION";
    return { amount: named(name, valueOf(name)) ?? usual(name, valueOf(name)), untilIdle: true };
  }
  const drain = config["terminationDrainDuration"];
  const ofVariable = valueOf("TERMINATION_DRAIN_DURATION_SECONDS");
  const amount =
    named("terminationDrainDuration", typeof drain === "string" ? drain : undefined) ??
    named("TERMINATION_DRAIN_DURATION_SECONDS", ofVariable) ??
    (variables.isPartial
      ? assumed("terminationDrainDuration", 5, "it is Istio's default")
      : usual("terminationDrainDuration", drain ?? ofVariable));
  return { amount, untilIdle: false };
}

/** What the injector makes a preStop hook of. `shutdown-grace-period` is no hold: new requests are refused meanwhile. */
function linkerd({ template }: Workload, { hook }: Settings): ProxyHold | undefined {
  const wait = annotationOf(template, waitOfLinkerd);
  const seconds =
    wait.exists && hook === undefined ? secondsOf(String(wait.numberOrText()), "seconds", "s") : undefined;
  return seconds === undefined
    ? undefined
    : { amount: fromField("proxy-wait-before-exit-seconds", seconds, wait), untilIdle: false };
}

/** A proxy that a mesh puts beside the containers when the pod is made. */
export interface InjectedProxy {
  readonly mesh: "Istio" | "Linkerd";
  readonly at: Field;
  readonly hold: ProxyHold;
  /** Annotations by which it lasts as long as the app. */
  readonly remedies: (seconds: number) => readonly string[];
}

/** @returns undefined where none is injected, where the input shows it, and where it is a native sidecar. */
export function injectedProxyOf(workload: Workload, { objects }: Inventory): InjectedProxy | undefined {
  const { containers, sidecars, object } = workload;
  if ([...containers, ...sidecars].some(({ name }) => /^(?:istio|linkerd)-proxy$/.test(name)))
    return undefined;
  const ofNamespace = namespaceOf(object, objects)?.at("metadata");
  return istioInjected(workload, ofNamespace) ?? linkerdInjected(workload, ofNamespace);
}

function istioInjected(workload: Workload, ofNamespace: Field | undefined): InjectedProxy | undefined {
  const { template, pod } = workload;
  const [inject, native] = ["sidecar.istio.io/inject", "sidecar.istio.io/nativeSidecar"] as const;
  const wish =
    template.at("metadata").at("labels").at(inject).text() ?? annotationOf(template, inject).text();
  const labels = ofNamespace?.at("labels");
  const byNamespace = isOn(labels?.at("istio-injection")) || labels?.at("istio.io/rev").exists === true;
  const isInjected = wish === "true" || (wish === undefined && byNamespace);
  if (!isInjected || isOn(annotationOf(template, native))) return undefined;
  return {
    mesh: "Istio",
    at: pod,
    hold: istio(workload, noContainer(template)),
    remedies: (seconds) => [
      `annotation ${native}: "true"`,
      `annotation proxy.istio.io/config: "terminationDrainDuration: ${seconds}s"`,
    ],
  };
}

function linkerdInjected(workload: Workload, ofNamespace: Field | undefined): InjectedProxy | undefined {
  const { template, pod } = workload;
  const inject = "linkerd.io/inject";
  const wish = annotationOf(template, inject).text() ?? ofNamespace?.at("annotations").at(inject).text();
  const native = (stage: string): string => `config.${stage}.linkerd.io/proxy-enable-native-sidecar`;
  const isNative = ["beta", "alpha"].some((stage) => isOn(annotationOf(template, native(stage))));
  if (!/^(?:enabled|ingress)$/.test(wish ?? "") || isNative) return undefined;
  return {
    mesh: "Linkerd",
    at: pod,
    hold: linkerd(workload, noContainer(template)) ?? {
      amount: byDefault("proxy-wait-before-exit-seconds", 0, "Linkerd"),
      untilIdle: false,
    },
    remedies: (seconds) => [
      `annotation ${native("beta")}: "true"`,
      `annotation ${waitOfLinkerd}: "${seconds}"`,
    ],
  };
}

const isOn = (field: Field | undefined): boolean => /^(?:true|enabled)$/.test(field?.text() ?? "");

/** The input has the annotations only. */
const noContainer = (field: Field): Settings => ({
  env: new Map(),
  envFields: new Map(),
  field,
  variables: noVariables,
  hook: undefined,
});

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
