import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import {
  contourImage,
  envoyImage,
  prepareContour,
  type Cluster,
  type Manifest,
} from "../../cluster/index.ts";
import { say } from "../../program.ts";
import {
  applyInOrder,
  deliver,
  isInstalled,
  objectsInFile,
  requestHeader,
  rolledOut,
  type EnvoyControl,
} from "./gateway.ts";
import type { Beside } from "../watcher-beside.ts";

const namespace = "projectcontour";
/** As Contour's examples call it. */
const gatewayClass = "example";
export const contourGateway = { name: "contour", namespace };
/** Contour takes Ingresses and HTTPProxies of this class. */
export const contourClass = "contour";

const gatewayCrd = "gateways.gateway.networking.k8s.io";

/** The example files of an installation with a Gateway. */
const files = [
  "contour/00-common.yaml",
  "contour/01-crds.yaml",
  "contour/02-rbac.yaml",
  "contour/02-role-contour.yaml",
  "contour/02-job-certgen.yaml",
  "contour/02-service-contour.yaml",
  "contour/02-service-envoy.yaml",
  "contour/03-contour.yaml",
  "gateway/01-gatewayclass.yaml",
  "gateway/02-gateway.yaml",
] as const;
const configuration = "contour/01-contour-config.yaml";
const envoy = "deployment/03-envoy-deployment.yaml";

/** What a test adds to the example's configuration: its Gateway, and a log that tells the connection to the pod of each request. */
const additions = {
  gateway: { gatewayRef: contourGateway },
  "accesslog-format": "json",
  "json-fields": [
    `request=%REQ(${requestHeader.toUpperCase()})%`,
    "upstream_host",
    "upstream_local_address",
    "response_flags",
    "response_code_details",
  ],
  // For Ingresses: who answered is seen in the answer.
  policy: {
    applyToIngress: true,
    "response-headers": { set: { "x-lameduck-upstream": "%UPSTREAM_REMOTE_ADDRESS%" } },
  },
};

/** Contour, two of it and two Envoys, as its examples have it with Envoy as a Deployment. */
export const contour: EnvoyControl = {
  namespace,
  selector: "app=envoy",
  account: "envoy",
  port: 8080,
  admin: "http://127.0.0.1:9001",
  serves: [`ingress-class/${contourClass}`, "proxy/contour", `gateway-class/${gatewayClass}`],
  async install(cluster) {
    if (await isInstalled(cluster, namespace)) return;
    const { images, examples, gatewayCrds } = await prepareContour(say);
    await deliver(cluster, images);
    // Where newer ones are, they refuse to be replaced.
    const there = await cluster.kubectl(["get", "crd", gatewayCrd, "--ignore-not-found", "-o", "name"]);
    const crds =
      there === "" ? (await readdir(gatewayCrds)).filter((one) => one.startsWith("gateway.n")) : [];
    const definitions = await Promise.all(crds.map((name) => objectsInFile(join(gatewayCrds, name))));
    const objects = await Promise.all(files.map((name) => withImages(join(examples, name))));
    const settings = withAdditions(await withImages(join(examples, configuration)));
    await applyInOrder(cluster, [...definitions.flat(), ...objects.flat(), ...settings]);
    await deployEnvoy(cluster, examples, undefined);
    await rolledOut(cluster, namespace, "contour");
    await rolledOut(cluster, namespace, "envoy");
  },
  async beside(cluster, beside) {
    const { examples } = await prepareContour(say);
    await deployEnvoy(cluster, examples, beside);
    await rolledOut(cluster, namespace, "envoy");
  },
};

/** The example asks for no processor time. On a small machine its Envoy then stands still for seconds while pods start. */
const ofAnIngress = { requests: { cpu: "500m" } };

async function deployEnvoy(cluster: Cluster, examples: string, beside: Beside | undefined): Promise<void> {
  const [deployment] = await withImages(join(examples, envoy));
  if (deployment === undefined) throw new Error(`${envoy} has no Deployment`);
  const { spec } = (deployment["spec"] as { template: { spec: Record<string, object[]> } }).template;
  for (const container of spec["containers"] ?? []) Object.assign(container, { resources: ofAnIngress });
  if (beside !== undefined) {
    spec["initContainers"] = [...(spec["initContainers"] ?? []), beside.container];
    spec["volumes"] = [...(spec["volumes"] ?? []), beside.volume];
  }
  await applyInOrder(cluster, [deployment]);
}

const ours: readonly (readonly [RegExp, string])[] = [
  [/^ghcr\.io\/projectcontour\/contour:/, contourImage],
  [/^docker\.io\/envoyproxy\/envoy:/, envoyImage],
];

async function withImages(file: string): Promise<Manifest[]> {
  const replaced = (key: string, value: unknown): unknown =>
    key === "image" && typeof value === "string"
      ? (ours.find(([theirs]) => theirs.test(value))?.[1] ?? value)
      : value;
  return JSON.parse(JSON.stringify(await objectsInFile(file), replaced)) as Manifest[];
}

function withAdditions([settings]: readonly Manifest[]): Manifest[] {
  if (settings === undefined) throw new Error(`${configuration} has no ConfigMap`);
  const data = settings["data"] as Readonly<Record<string, string>>;
  const own = parse(data["contour.yaml"] ?? "") as object;
  return [{ ...settings, data: { ...data, "contour.yaml": JSON.stringify({ ...own, ...additions }) } }];
}
