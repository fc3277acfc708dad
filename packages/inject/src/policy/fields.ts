import { architectures, carriers, type InjectionSettings } from "./settings.ts";

export type SettingName = keyof InjectionSettings;

interface Common {
  /** After `lameduck.dev/`; undefined: workloads have no say in it. */
  readonly annotation?: string;
  /** Whether a DrainPolicy has the field. */
  readonly inPolicy: boolean;
  readonly does: string;
}

/** What a setting may be. Policies write seconds as a number, annotations with their unit. */
export type SettingField = Common &
  (
    | { readonly kind: "seconds"; readonly least: number; readonly most: number }
    | { readonly kind: "choice"; readonly choices: readonly string[] }
    | { readonly kind: "text"; readonly pattern: RegExp; readonly longest: number; readonly example: string }
    | { readonly kind: "switch" }
  );

const day = 86_400;
const hour = 3_600;

export const settingFields: Readonly<Record<SettingName, SettingField>> = {
  inject: {
    kind: "switch",
    annotation: "inject",
    inPolicy: true,
    does: "whether pods are injected at all",
  },
  floorSeconds: {
    kind: "seconds",
    least: 0,
    most: hour,
    annotation: "floor",
    inPolicy: true,
    does: "shortest hold",
  },
  capSeconds: {
    kind: "seconds",
    least: 1,
    most: hour,
    annotation: "cap",
    inPolicy: true,
    does: "longest hold; default: 1.5 x convergence, and 25 at least",
  },
  reserveSeconds: {
    kind: "seconds",
    least: 1,
    most: day,
    annotation: "reserve",
    inPolicy: true,
    does: "kept after the hold for the container's own shutdown; default: the grace period that the pod has today",
  },
  gracePeriodSeconds: {
    kind: "seconds",
    least: 1,
    most: day,
    annotation: "grace-period",
    inPolicy: true,
    does: "grace period of injected pods, where theirs is shorter; default: hold + reserve",
  },
  maxGracePeriodSeconds: {
    kind: "seconds",
    least: 1,
    most: day,
    inPolicy: true,
    does: "no grace period is raised above it",
  },
  convergenceSeconds: {
    kind: "seconds",
    least: 1,
    most: hour,
    annotation: "convergence",
    inPolicy: true,
    does: "how long senders may go on choosing a deleted pod; default: as the Services and Ingresses say, else 15",
  },
  carrier: {
    kind: "choice",
    choices: carriers,
    annotation: "carrier",
    inPolicy: true,
    does: "how lameduck-init comes into the container; none: the kubelet's own sleep instead",
  },
  carrierName: {
    kind: "text",
    pattern: /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/,
    longest: 253,
    example: "lameduck-init",
    inPolicy: true,
    does: "name of the ConfigMap that holds it",
  },
  carrierImage: {
    kind: "text",
    pattern: /^[a-z0-9](?:[\w./:@-]*\w)?$/,
    longest: 512,
    example: "ghcr.io/lameduck/lameduck:0.1.0",
    inPolicy: true,
    does: "image of carrier image-volume or init-container",
  },
  architecture: {
    kind: "choice",
    choices: architectures,
    inPolicy: true,
    does: "processor of nodes, for pods that do not select one by kubernetes.io/arch",
  },
  instrumentNode: {
    kind: "switch",
    annotation: "instrument-node",
    inPolicy: true,
    does: "load @lameduck/node into Node apps by NODE_OPTIONS, instead of a hook",
  },
  onlyExposed: {
    kind: "switch",
    inPolicy: true,
    does: "leave alone what nothing leads to and declares no port",
  },
  serves: {
    kind: "switch",
    annotation: "serves",
    inPolicy: false,
    does: "whether requests come to the pods, where nothing in the cluster tells",
  },
};

export const settingNames = Object.keys(settingFields) as SettingName[];

export const annotationPrefix = "lameduck.dev/";
