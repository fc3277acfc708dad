import type { DrainOptions } from "@lameduck/drain";
import { shown } from "@lameduck/drain/common";
import type { Mode } from "@lameduck/protocol/pod";
import { badOption } from "../errors.ts";
import { choiceOf } from "./by-table.ts";
import type { Environment } from "./environment.ts";

/** Where the coordinator is asked, and for which pod. */
export interface CoordinatorPlace {
  readonly host: string;
  readonly port: number;
  /** Of the pod: "/v1/pods/shop/web-1?uid=...". */
  readonly path: string;
  /** Read at each request, as it is renewed. */
  readonly tokenFile: string | undefined;
}

export interface CoordinatorSettings {
  /** Undefined without a coordinator, or without a usable address. */
  readonly place: CoordinatorPlace | undefined;
  /** A coordinator was configured, usable or not. */
  readonly isMeant: boolean;
  readonly mode: Mode;
  readonly warnings: readonly string[];
}

/**
 * What a platform has injected must not keep a pod from starting: where it cannot be used, one line says so, and evidence decides.
 * @throws {LameduckError} for a mistake in code, or in the mode.
 */
export function parseCoordinator(
  inCode: unknown,
  mode: unknown,
  environment: Environment,
): CoordinatorSettings {
  const base = { mode: choiceOf("mode", mode, environment), place: undefined, isMeant: false, warnings: [] };
  if (inCode === false) return base;
  const injected = environment["LAMEDUCK_COORDINATOR"]?.trim();
  const given = inCode === undefined ? injected : inCode;
  if (given === undefined || given === "") return base;
  const address = typeof given === "string" ? addressIn(given) : undefined;
  if (!address && inCode !== undefined) throw badOption("coordinator", `${shown(inCode)} ${notAnAddress}`);
  const problem = address ? missingIn(environment) : `${shown(given)} ${notAnAddress}`;
  if (!address || problem !== undefined) {
    const name = inCode === undefined ? "LAMEDUCK_COORDINATOR" : "coordinator";
    return { ...base, isMeant: true, warnings: [`${name}: ${problem}; the pod's own evidence decides`] };
  }
  const [pod, namespace, uid] = ofPod.map((name) => encodeURIComponent(environment[name]?.trim() ?? ""));
  return {
    ...base,
    isMeant: true,
    place: {
      ...address,
      path: `/v1/pods/${namespace}/${pod}?uid=${uid}`,
      tokenFile: environment["LAMEDUCK_COORDINATOR_TOKEN_FILE"]?.trim() || undefined,
    },
  };
}

const notAnAddress = 'is not false or an address like "http://lameduck-coordinator.lameduck-system.svc:8070"';

const ofPod = ["LAMEDUCK_POD_NAME", "LAMEDUCK_POD_NAMESPACE", "LAMEDUCK_POD_UID"];

function missingIn(environment: Environment): string | undefined {
  const missing = ofPod.filter((name) => !environment[name]?.trim());
  return missing.length === 0 ? undefined : `the coordinator needs ${missing.join(", ")}, too`;
}

function addressIn(text: string): { host: string; port: number } | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" || url.hostname === "") return undefined;
  const isBare = url.pathname === "/" && `${url.search}${url.hash}${url.username}${url.password}` === "";
  if (!isBare) return undefined;
  return { host: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port || 80) };
}

/**
 * `acknowledged` is the cluster's word. Where acknowledgements are off, or the webhook was down when the pod was made, nobody can say it: whoever asks for
 * it must not keep the pod from starting.
 * @returns a warning.
 */
export function withoutCoordinator(
  { isMeant }: CoordinatorSettings,
  given: DrainOptions,
  inCode: DrainOptions,
): string[] {
  if (given.policy !== "acknowledged" || isMeant) return [];
  given.policy = "adaptive";
  const place = inCode.policy === undefined ? "LAMEDUCK_POLICY" : "policy";
  return [`${place}: acknowledged needs a coordinator (LAMEDUCK_COORDINATOR); adaptive decides`];
}
