import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  apiPort,
  apiServiceAddress,
  clusterDomain,
  fabricAddress,
  nodeAddress,
  nodeName,
  serviceRange,
} from "./network/addresses.ts";
import type { ComponentPlan } from "./component.ts";
import { CertificateAuthority, type Identity, type KeyPair } from "./host/certificates.ts";
import type { Programs } from "./host/programs.ts";

/** Certificates and kubeconfigs of everybody who speaks to the API server. */
export interface Credentials {
  readonly authority: CertificateAuthority;
  readonly apiServer: KeyPair;
  readonly apiServerToKubelet: KeyPair;
  readonly serviceAccounts: { readonly key: string; readonly publicKey: string };
  /** Kubeconfig files by user. */
  readonly kubeconfig: Readonly<Record<string, string>>;
  readonly nodes: readonly KeyPair[];
}

/** The identities of a kubeadm cluster: RBAC's built-in roles are bound to these users and groups. */
const users = {
  admin: { user: "kubernetes-admin", groups: ["system:masters"] },
  "controller-manager": { user: "system:kube-controller-manager" },
  scheduler: { user: "system:kube-scheduler" },
  "kube-proxy": { user: "system:kube-proxy" },
  coredns: { user: "system:coredns" },
} as const;

export async function issueCredentials(
  directory: string,
  nodes: number,
  hostPort: number,
): Promise<Credentials> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const authority = await CertificateAuthority.create(directory);
  const inside = `https://${fabricAddress}:${apiPort}`;
  const kubeconfig: Record<string, string> = {};
  const addUser = async (identity: Identity): Promise<KeyPair> => {
    const { file } = identity;
    const pair = await authority.issue(identity);
    kubeconfig[file] = await authority.writeKubeconfig(join(directory, `${file}.kubeconfig`), inside, pair);
    if (file === "admin")
      kubeconfig["host"] = await authority.writeKubeconfig(
        join(directory, "host.kubeconfig"),
        `https://127.0.0.1:${hostPort}`,
        pair,
      );
    return pair;
  };
  const addNode = (number: number): Promise<KeyPair> => {
    const file = nodeName(number);
    const serves = [file, nodeAddress(number)];
    return addUser({ file, user: `system:node:${file}`, groups: ["system:nodes"], serves });
  };
  const services = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"];
  const [apiServer, apiServerToKubelet, serviceAccounts, nodePairs] = await Promise.all([
    authority.issue({
      file: "apiserver",
      user: "kube-apiserver",
      serves: [
        ...services,
        `kubernetes.default.svc.${clusterDomain}`,
        "localhost",
        fabricAddress,
        apiServiceAddress,
        "127.0.0.1",
      ],
    }),
    authority.issue({
      file: "apiserver-kubelet",
      user: "kube-apiserver-kubelet-client",
      groups: ["system:masters"],
    }),
    authority.createSigningKey("service-accounts"),
    Promise.all(Array.from({ length: nodes }, (_, index) => addNode(index + 1))),
    ...Object.entries(users).map(([file, who]) => addUser({ file, ...who })),
  ]);
  return { authority, apiServer, apiServerToKubelet, serviceAccounts, kubeconfig, nodes: nodePairs };
}

export interface ControlPlaneOptions {
  readonly state: string;
  readonly programs: Programs;
  readonly credentials: Credentials;
  readonly hostPort: number;
  readonly auditLog: string | undefined;
}

const etcdClient = "http://127.0.0.1:2379";

export async function etcdAndApiServer({
  state,
  programs,
  credentials,
  hostPort,
  auditLog,
}: ControlPlaneOptions): Promise<ComponentPlan[]> {
  const { authority, apiServer, apiServerToKubelet, serviceAccounts } = credentials;
  return [
    component(state, "etcd", join(programs.kubernetes, "etcd"), [
      `--data-dir=${join(state, "etcd")}`,
      `--listen-client-urls=${etcdClient}`,
      `--advertise-client-urls=${etcdClient}`,
      "--listen-peer-urls=http://127.0.0.1:2380",
      // Nothing here has to survive a power cut.
      "--unsafe-no-fsync",
      "--log-level=warn",
    ]),
    component(state, "apiserver", join(programs.kubernetes, "kube-apiserver"), [
      `--etcd-servers=${etcdClient}`,
      `--bind-address=${fabricAddress}`,
      `--secure-port=${apiPort}`,
      `--advertise-address=${fabricAddress}`,
      `--service-cluster-ip-range=${serviceRange}`,
      `--tls-cert-file=${apiServer.certificate}`,
      `--tls-private-key-file=${apiServer.key}`,
      `--client-ca-file=${authority.certificate}`,
      "--authorization-mode=Node,RBAC",
      "--enable-admission-plugins=NodeRestriction",
      `--kubelet-certificate-authority=${authority.certificate}`,
      `--kubelet-client-certificate=${apiServerToKubelet.certificate}`,
      `--kubelet-client-key=${apiServerToKubelet.key}`,
      "--kubelet-preferred-address-types=InternalIP",
      `--service-account-issuer=https://kubernetes.default.svc.${clusterDomain}`,
      `--service-account-key-file=${serviceAccounts.publicKey}`,
      `--service-account-signing-key-file=${serviceAccounts.key}`,
      "--allow-privileged",
      "--profiling=false",
      ...(auditLog === undefined ? [] : await auditFlags(state, auditLog)),
      "-v=2",
    ]),
    {
      ...component(state, "gateway", process.execPath, [
        join(import.meta.dirname, "network", "gateway.ts"),
        fabricAddress,
        String(apiPort),
      ]),
      listensOutside: hostPort,
    },
  ];
}

/** Requests of service accounts, without what they send or get; the controllers of kube-system are not asked about. */
async function auditFlags(state: string, log: string): Promise<string[]> {
  const policy = join(state, "audit-policy.json");
  const metadata = { level: "Metadata", userGroups: ["system:serviceaccounts"] };
  const rules = [
    { level: "None", userGroups: ["system:serviceaccounts:kube-system"] },
    // Anybody may ask what they may do, and tests ask it tens of thousands of times.
    {
      level: "None",
      resources: [{ group: "authorization.k8s.io", resources: ["selfsubjectaccessreviews"] }],
    },
    { ...metadata, omitStages: ["RequestReceived"] },
    { level: "None" },
  ];
  await writeFile(policy, JSON.stringify({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules }));
  return [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`];
}

export function controllers({ state, programs, credentials }: ControlPlaneOptions): ComponentPlan[] {
  const delegated = (kubeconfig: string | undefined): string[] => [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    "--leader-elect=false",
  ];
  return [
    component(state, "controller-manager", join(programs.kubernetes, "kube-controller-manager"), [
      ...delegated(credentials.kubeconfig["controller-manager"]),
      `--cert-dir=${join(state, "pki", "controller-manager")}`,
      "--use-service-account-credentials",
      `--service-account-private-key-file=${credentials.serviceAccounts.key}`,
      `--root-ca-file=${credentials.authority.certificate}`,
      "--allocate-node-cidrs=false",
      // The defaults (40 s without a heartbeat, 5 min until eviction) are kept: they are what users have.
      "-v=2",
    ]),
    component(state, "scheduler", join(programs.kubernetes, "kube-scheduler"), [
      ...delegated(credentials.kubeconfig["scheduler"]),
      `--cert-dir=${join(state, "pki", "scheduler")}`,
      "-v=2",
    ]),
  ];
}

/** CoreDNS runs beside the control plane rather than in a pod, so that it can be stopped by name like everything else. */
export async function domainNameServer({
  state,
  programs,
  credentials,
}: ControlPlaneOptions): Promise<ComponentPlan> {
  const corefile = join(state, "Corefile");
  await writeFile(
    corefile,
    `.:53 {
    bind ${fabricAddress}
    errors
    kubernetes ${clusterDomain} in-addr.arpa {
        kubeconfig ${credentials.kubeconfig["coredns"]} lameduck-e2e
        endpoint_pod_names
        ttl 5
    }
}
`,
  );
  return component(state, "coredns", join(programs.coredns, "coredns"), ["-conf", corefile]);
}

const ports: Readonly<Record<string, number>> = {
  etcd: 2379,
  apiserver: apiPort,
  "controller-manager": 10257,
  scheduler: 10259,
  coredns: 53,
};

function component(state: string, name: string, program: string, args: readonly string[]): ComponentPlan {
  const answersOn = ports[name];
  const plan = { name, sandbox: "fabric", program, args, log: join(state, "log", `${name}.log`) };
  return answersOn === undefined ? plan : { ...plan, answersOn };
}
