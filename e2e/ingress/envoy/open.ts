import { setTimeout as sleep } from "node:timers/promises";
import type { RequestRecord } from "@lameduck/accounting";
import type { Manifest } from "../../cluster/index.ts";
import type { Numbered } from "../../matrix/load/plan.ts";
import type { Source } from "../../matrix/load/fleet.ts";
import type { Sender } from "../../matrix/observe/proxies.ts";
import type { RouteOptions } from "../../matrix/routes.ts";
import { say } from "../../program.ts";
import { apply } from "../../test/support.ts";
import { AccessLog, type Logged } from "./access-log.ts";
import { contour, contourClass, contourGateway } from "./contour.ts";
import { envoyGateway, envoyGatewayGateway } from "./envoy-gateway.ts";
import { EnvoyObserver, envoyPods } from "./envoy-pods.ts";
import type { EnvoyControl } from "./gateway.ts";
import { retold } from "./retold.ts";

/** Who keeps the Envoys, and by what it is told of the Service. */
export const envoyRoutes = {
  contour: {
    control: contour,
    kind: "ingress",
    object: (service: string): Manifest => ({
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: service, namespace: "default" },
      spec: {
        ingressClassName: contourClass,
        defaultBackend: { service: { name: service, port: { number: 80 } } },
      },
    }),
  },
  "contour-gateway": {
    control: contour,
    kind: "httproute",
    object: (service: string): Manifest => httpRoute(service, contourGateway),
  },
  "contour-httpproxy": {
    control: contour,
    kind: "httpproxy",
    object: (service: string): Manifest => ({
      apiVersion: "projectcontour.io/v1",
      kind: "HTTPProxy",
      metadata: { name: service, namespace: "default" },
      spec: {
        virtualhost: { fqdn: hostOf(service) },
        routes: [{ services: [{ name: service, port: 80 }], responseHeadersPolicy: { set: [named] } }],
      },
    }),
  },
  "envoy-gateway": {
    control: envoyGateway,
    kind: "httproute",
    object: (service: string): Manifest => httpRoute(service, envoyGatewayGateway),
  },
} as const;

export type EnvoyRoute = keyof typeof envoyRoutes;
export const isEnvoyRoute = (route: string): route is EnvoyRoute => Object.hasOwn(envoyRoutes, route);
export const controlOf = (route: EnvoyRoute): EnvoyControl => envoyRoutes[route].control;

function httpRoute(service: string, gateway: object): Manifest {
  const filters = [{ type: "ResponseHeaderModifier", responseHeaderModifier: { set: [named] } }];
  return {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: { name: service, namespace: "default" },
    spec: { parentRefs: [gateway], rules: [{ backendRefs: [{ name: service, port: 80 }], filters }] },
  };
}

/** The pod's address, in each answer. */
const named = { name: "x-lameduck-upstream", value: "%UPSTREAM_REMOTE_ADDRESS%" };
const hostOf = (service: string): string => `${service}.example`;

export interface OpenEnvoys extends AsyncDisposable {
  readonly sources: readonly Source[];
  readonly chooses: readonly Sender[];
  readonly retell: (records: readonly Numbered[]) => Promise<readonly RequestRecord[]>;
}

/** Its Envoys, one source of load for each, and what they say themselves of each request. */
export async function openEnvoys(route: EnvoyRoute, options: RouteOptions): Promise<OpenEnvoys> {
  const { cluster, clock, app, pods } = options;
  const { control, kind, object } = envoyRoutes[route];
  await control.install(cluster);
  await apply(cluster, object(app));
  await using stack = new AsyncDisposableStack();
  stack.defer(async () => void (await cluster.kubectl(["delete", kind, app, "--ignore-not-found"])));
  const podAt = (address: string): string | undefined => pods.podAt(address);
  const envoys = await envoyPods(cluster, control);
  const machine = cluster.nodeNames.at(-1) ?? "";
  const observers: EnvoyObserver[] = [];
  const logs: AccessLog[] = [];
  for (const pod of envoys) {
    observers.push(stack.use(await EnvoyObserver.of(cluster, pod, control.admin, clock, podAt)));
    logs.push(stack.use(await AccessLog.of(cluster, pod)));
  }
  const owned = stack.move();
  return {
    sources: envoys.map(({ name, address }, index) => ({
      machine,
      sender: name,
      url: `http://${address}:${control.port}/`,
      host: hostOf(app),
      // Each generator's requests have numbers of their own.
      firstNumber: index * 1e9,
    })),
    chooses: observers,
    retell: async (records) => {
      // Envoy writes its log each second at the latest.
      await sleep(2_000);
      return records.map(({ request, ...record }) => {
        const logged = request === undefined ? undefined : logs.map((log) => log.of(request)).find(Boolean);
        if (logged?.address === undefined) tellUnsent(request, record, logged);
        return retold(record, logged, podAt);
      });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** No cause can be found for what reached no pod: what both ends say of it is all that there is. */
function tellUnsent(request: number | undefined, record: RequestRecord, logged: Logged | undefined): void {
  if (record.outcome === "ok") return;
  const envoy = logged === undefined ? "not in its log" : `${logged.flags} ${logged.details}`;
  const client = `${record.outcome} ${record.error ?? record.status ?? ""}`.trim();
  say(`  request ${request} by ${record.sender} went to no pod; its client: ${client}; Envoy: ${envoy}`);
}
