import { envoyImage, prepareEnvoyGateway, type Cluster, type Manifest } from "../../cluster/index.ts";
import { say } from "../../program.ts";
import {
  applyInOrder,
  deliver,
  isInstalled,
  objectsIn,
  requestHeader,
  rolledOut,
  type EnvoyControl,
} from "./gateway.ts";
import type { Beside } from "../watcher-beside.ts";

const namespace = "envoy-gateway-system";
const name = "edge";
const controller = "gateway.envoyproxy.io/gatewayclass-controller";
export const envoyGatewayGateway = { name, namespace };

/** Envoy Gateway with two Envoys, by its chart, and a Gateway. Its log tells the connection to the pod of each request. */
export const envoyGateway: EnvoyControl = {
  namespace,
  selector: `gateway.envoyproxy.io/owning-gateway-name=${name}`,
  account: name,
  // A Gateway's port below 1024 is 10,000 higher in Envoy's pod.
  port: 10_080,
  admin: "http://127.0.0.1:19000",
  serves: [`gateway-class/${name}`],
  async install(cluster) {
    if (await isInstalled(cluster, namespace)) return;
    const { images, manifests } = await prepareEnvoyGateway(say);
    await deliver(cluster, images);
    const own = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
    await applyInOrder(cluster, [own, ...objectsIn(manifests)]);
    await rolledOut(cluster, namespace, "envoy-gateway");
    await applyInOrder(cluster, [proxy(undefined), ...gateway]);
    await cluster.kubectl(["wait", "--for=create", `deployment/${name}`, "-n", namespace, "--timeout=60s"]);
    await rolledOut(cluster, namespace, name);
  },
  async beside(cluster, beside) {
    const generation = await generationOf(cluster);
    await applyInOrder(cluster, [proxy(beside)]);
    // The controller changes the Deployment some time after.
    const changed = `--for=jsonpath={.metadata.generation}=${generation + 1}`;
    await cluster.kubectl(["wait", changed, `deployment/${name}`, "-n", namespace, "--timeout=60s"]);
    await rolledOut(cluster, namespace, name);
  },
};

const generationOf = async (cluster: Cluster): Promise<number> =>
  Number(await cluster.field(["deployment", name, "-n", namespace], "{.metadata.generation}"));

const gateway: readonly Manifest[] = [
  {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "GatewayClass",
    metadata: { name },
    spec: {
      controllerName: controller,
      parametersRef: { group: "gateway.envoyproxy.io", kind: "EnvoyProxy", name, namespace },
    },
  },
  {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "Gateway",
    metadata: envoyGatewayGateway,
    spec: {
      gatewayClassName: name,
      listeners: [
        { name: "http", protocol: "HTTP", port: 80, allowedRoutes: { namespaces: { from: "All" } } },
      ],
    },
  },
];

const log = {
  request: `%REQ(${requestHeader.toUpperCase()})%`,
  upstream_host: "%UPSTREAM_HOST%",
  upstream_local_address: "%UPSTREAM_LOCAL_ADDRESS%",
  response_flags: "%RESPONSE_FLAGS%",
  response_code_details: "%RESPONSE_CODE_DETAILS%",
};

const proxy = (beside: Beside | undefined): Manifest => ({
  apiVersion: "gateway.envoyproxy.io/v1alpha1",
  kind: "EnvoyProxy",
  metadata: { name, namespace },
  spec: {
    provider: {
      type: "Kubernetes",
      kubernetes: {
        envoyService: { type: "ClusterIP" },
        envoyServiceAccount: { name },
        envoyDeployment: {
          name,
          replicas: 2,
          container: { image: envoyImage },
          ...(beside === undefined
            ? {}
            : { initContainers: [beside.container], pod: { volumes: [beside.volume] } }),
        },
      },
    },
    telemetry: {
      accessLog: {
        settings: [
          { format: { type: "JSON", json: log }, sinks: [{ type: "File", file: { path: "/dev/stdout" } }] },
        ],
      },
    },
  },
});
