import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  clusterDomain,
  dnsServiceAddress,
  nodeAddress,
  nodeName,
  nodePodRange,
  podRange,
} from "./network/addresses.ts";
import type { ComponentPlan } from "./component.ts";
import type { Credentials } from "./control-plane.ts";
import { nodeCgroup } from "./host/cgroups.ts";
import type { Programs } from "./host/programs.ts";
import { pauseImage } from "./images/catalogue.ts";

export type ProxyMode = "iptables" | "nftables";

export interface NodeOptions {
  readonly number: number;
  readonly state: string;
  readonly programs: Programs;
  readonly runc: string;
  readonly credentials: Credentials;
  readonly proxyMode: ProxyMode;
  /** kube-proxy's minSyncPeriod: an upper bound of its lag while endpoints keep moving; an idle proxy syncs at once. */
  readonly proxyLag: string;
}

export interface NodePlan {
  readonly containerd: ComponentPlan;
  readonly kubelet: ComponentPlan;
  readonly kubeProxy: ComponentPlan;
}

/** The node's own /run, /var/lib and /var/log as seen from outside. */
export const nodeRoot = (state: string, number: number): string => join(state, nodeName(number));

/** The kubelet's configuration as a file that tests may change before they restart it. */
export const kubeletConfigurationFile = (state: string, number: number): string =>
  join(state, "etc", nodeName(number), "kubelet.json");

/** Writes the node's configuration files and says how its three daemons are started. */
export async function planNode(options: NodeOptions): Promise<NodePlan> {
  const { number, state, programs } = options;
  const configuration = join(state, "etc", nodeName(number));
  const networks = join(configuration, "cni");
  await mkdir(networks, { recursive: true });
  const write = async (file: string, content: string): Promise<string> => {
    const path = join(configuration, file);
    await writeFile(path, content);
    return path;
  };
  await write("cni/10-lameduck.conflist", json(podNetwork(number)));
  const containerd = await write(
    "containerd.toml",
    containerdConfiguration(programs, options.runc, networks),
  );
  const kubelet = await write("kubelet.json", json(kubeletConfiguration(options)));
  const proxy = await write("kube-proxy.json", json(proxyConfiguration(options)));
  return {
    containerd: component(options, "containerd", join(programs.runtime, "containerd"), ["-c", containerd]),
    kubelet: component(options, "kubelet", join(programs.kubernetes, "kubelet"), [
      `--config=${kubelet}`,
      `--kubeconfig=${options.credentials.kubeconfig[nodeName(number)]}`,
      `--hostname-override=${nodeName(number)}`,
      `--node-ip=${nodeAddress(number)}`,
      "-v=2",
    ]),
    kubeProxy: component(options, "kube-proxy", join(programs.kubernetes, "kube-proxy"), [
      `--config=${proxy}`,
      "-v=2",
    ]),
  };
}

const ports: Readonly<Record<string, number>> = { kubelet: 10250, "kube-proxy": 10256 };

function component(
  options: NodeOptions,
  name: string,
  program: string,
  args: readonly string[],
): ComponentPlan {
  const full = `${name}-${options.number}`;
  const answersOn = ports[name];
  return {
    ...(answersOn === undefined ? {} : { answersOn }),
    name: full,
    sandbox: nodeName(options.number),
    program,
    args,
    log: join(options.state, "log", `${full}.log`),
    // containerd finds its shim, and kube-proxy and the CNI plugins find iptables and nft, by PATH.
    environment: { PATH: `${options.programs.runtime}:${process.env["PATH"]}:/usr/sbin:/sbin` },
  };
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/**
 * Routed, not bridged: with a bridge the answer of a pod on the same node would bypass the node's NAT unless br_netfilter is loaded,
 * and a ClusterIP would not work between pods of one node.
 */
function podNetwork(number: number): object {
  const ipam = {
    type: "host-local",
    ranges: [[{ subnet: nodePodRange(number) }]],
    routes: [{ dst: "0.0.0.0/0" }],
  };
  return {
    cniVersion: "1.0.0",
    name: "lameduck",
    plugins: [
      { type: "ptp", ipMasq: false, ipam },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  };
}

function containerdConfiguration(programs: Programs, runc: string, networks: string): string {
  const disabled = [
    "nri.v1.nri",
    "snapshotter.v1.blockfile",
    "snapshotter.v1.btrfs",
    "snapshotter.v1.devmapper",
    "snapshotter.v1.zfs",
    "snapshotter.v1.erofs",
    "tracing.processor.v1.otlp",
    "internal.v1.tracing",
  ].map((plugin) => `"io.containerd.${plugin}"`);
  return `version = 3
disabled_plugins = [${disabled.join(", ")}]
[plugins."io.containerd.internal.v1.opt"]
path = "/var/lib/containerd-opt"
[plugins."io.containerd.cri.v1.images"]
snapshotter = "overlayfs"
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "${pauseImage}"
[plugins."io.containerd.cri.v1.runtime"]
# Without CAP_SYS_RESOURCE, common in sandboxes, no process may lower its OOM score.
restrict_oom_score_adj = true
disable_apparmor = true
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["${programs.runtime}"]
conf_dir = "${networks}"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
BinaryName = "${runc}"
SystemdCgroup = false
`;
}

function kubeletConfiguration({ number, credentials }: NodeOptions): object {
  const serving = credentials.nodes[number - 1];
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: credentials.authority.certificate },
    },
    authorization: { mode: "Webhook" },
    tlsCertFile: serving?.certificate,
    tlsPrivateKeyFile: serving?.key,
    address: nodeAddress(number),
    containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
    clusterDomain,
    clusterDNS: [dnsServiceAddress],
    resolvConf: "",
    cgroupDriver: "cgroupfs",
    cgroupRoot: nodeCgroup(nodeName(number)),
    // Since 1.35 the kubelet refuses cgroup v1, which hybrid hosts count as, unless told otherwise.
    failCgroupV1: false,
    failSwapOn: false,
    enforceNodeAllocatable: [],
    kernelMemcgNotification: false,
    makeIPTablesUtilChains: false,
    // All nodes share the disk and memory of this machine: only real exhaustion counts.
    evictionHard: {
      "memory.available": "50Mi",
      "nodefs.available": "1%",
      "imagefs.available": "1%",
      "nodefs.inodesFree": "1%",
    },
    // Not five minutes: a test of pressure goes on after it.
    evictionPressureTransitionPeriod: "5s",
    // Images are imported, not pulled: collected ones would never come back.
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
  };
}

function proxyConfiguration({ number, credentials, proxyMode, proxyLag }: NodeOptions): object {
  return {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: proxyMode,
    clientConnection: { kubeconfig: credentials.kubeconfig["kube-proxy"] },
    hostnameOverride: nodeName(number),
    bindAddress: nodeAddress(number),
    clusterCIDR: podRange,
    // Zero leaves the kernel's conntrack limits alone: they belong to the whole machine.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
    [proxyMode]: { minSyncPeriod: proxyLag },
  };
}
