import { spawn, type ChildProcess } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { workloadAuditRights, heldDeletionRights, operatorRights, surgeRights } from "@lameduck/operator";
import {
  heldDeletionsConfiguration,
  mutatingConfiguration,
  surgeConfiguration,
  validatingConfiguration,
} from "@lameduck/webhook";
import { operatorNames } from "@lameduck/protocol";
import type { Cluster, Manifest } from "../cluster/index.ts";
import { onlyChild, type ProcessIdentity } from "../cluster/host/processes.ts";
import { apiPort, fabricAddress } from "../cluster/network/addresses.ts";

const main = join(import.meta.dirname, "..", "..", "packages", "operator", "src", "main.ts");
const port = 18_443;
const { namespace } = operatorNames;

export interface Running {
  readonly child: ChildProcess;
  readonly process: ProcessIdentity;
  readonly log: () => string;
}

/** The operator's process, from its sources, beside the API server. */
export async function startBeside(
  cluster: Cluster,
  kubeconfig: string,
  flags: readonly string[],
): Promise<Running> {
  const { program, args } = cluster.commandInside("fabric", [
    process.execPath,
    main,
    "webhook",
    `--kubeconfig=${kubeconfig}`,
    `--namespace=${namespace}`,
    `--address=${fabricAddress}`,
    `--port=${port}`,
    "--metrics-port=19090",
    `--serve-as=${fabricAddress}`,
    ...flags,
  ]);
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (log += text));
  const process_ = await onlyChild(
    child.pid ?? 0,
    () => child.exitCode === null && child.signalCode === null,
  );
  return { child, process: process_, log: () => log };
}

/** What the chart makes, but for the pods. */
export function operatorsObjects(
  options: { readonly holdsDeletions?: boolean; readonly surges?: boolean } = {},
): Manifest[] {
  const name = operatorNames.workload;
  const metadata = { name, namespace };
  const group = "rbac.authorization.k8s.io";
  const subjects = [{ kind: "ServiceAccount", name, namespace }];
  const url = `https://${fabricAddress}:${port}`;
  const { holdsDeletions: isHolding = false, surges = false } = options;
  const configurations = [
    mutatingConfiguration({ url }),
    validatingConfiguration({ url }),
    ...(isHolding ? [heldDeletionsConfiguration({ url })] : []),
    ...(surges ? [surgeConfiguration({ url })] : []),
  ] as unknown as Manifest[];
  const rules = [
    ...operatorRights.clusterRole,
    ...workloadAuditRights,
    ...(isHolding ? heldDeletionRights : []),
    ...(surges ? surgeRights : []),
  ];
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    {
      apiVersion: `${group}/v1`,
      kind: "Role",
      metadata,
      rules: [...operatorRights.role, ...operatorRights.certificates],
    },
    {
      apiVersion: `${group}/v1`,
      kind: "RoleBinding",
      metadata,
      subjects,
      roleRef: { apiGroup: group, kind: "Role", name },
    },
    { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata: { name }, rules },
    {
      apiVersion: `${group}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name },
      subjects,
      roleRef: { apiGroup: group, kind: "ClusterRole", name },
    },
    ...configurations,
  ];
}

/** The operator's own account, as the API server knows it. */
export async function leastKubeconfig(cluster: Cluster): Promise<string> {
  const { status } = await cluster.api.post<{ status: { token: string } }>(
    `/api/v1/namespaces/${namespace}/serviceaccounts/${operatorNames.workload}/token`,
    { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3_600 } },
  );
  const path = join(cluster.directory, "operator.kubeconfig");
  const ca = Buffer.from(cluster.api.connection.ca ?? "").toString("base64");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "operator",
    contexts: [{ name: "operator", context: { cluster: "c", user: "u" } }],
    clusters: [
      {
        name: "c",
        cluster: { server: `https://${fabricAddress}:${apiPort}`, "certificate-authority-data": ca },
      },
    ],
    users: [{ name: "u", user: { token: status.token } }],
  };
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}
