import { hostname } from "node:os";
import type { ContainerTemplate, PodTemplate } from "@lameduck/manifests";
import type { Launch, PodNetwork } from "../network/network.ts";

/** The identity of a pod, as its containers can read it. */
export interface PodIdentity {
  /** Its name inside the pod; a StatefulSet's pods keep it over generations. */
  readonly hostname: string;
  readonly uid: string;
  readonly template: PodTemplate;
  readonly network: PodNetwork;
  readonly image: Readonly<Record<string, string>>;
  /** Where containers without a workingDir start. */
  readonly directory: string;
  /** For its temporary files, which are gone with it as everything is that a container wrote. */
  readonly temporary: string;
}

/** Ours and the test runner's own; a container must not take itself for one of them. */
const withheld = /^(LAMEDUCK_STAGE|NODE_TEST_CONTEXT|NODE_CHANNEL_|NODE_UNIQUE_ID|OLDPWD|_$)/;

/** The stage's environment plays the part of the image's. */
export function imageEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !withheld.test(entry[0]),
  );
  return Object.fromEntries(kept);
}

/** What to execute for a container, and in which environment and directory. */
export function launchIn(pod: PodIdentity, container: ContainerTemplate): Launch {
  const services = serviceVariables(pod.network.apiServer);
  const { root, security } = container;
  const env: Record<string, string> = {
    ...(root?.env ?? pod.image),
    ...services,
    HOSTNAME: pod.hostname,
    ...(root ? {} : { TMPDIR: pod.temporary }),
  };
  for (const [name, value] of Object.entries(pod.network.env)) set(env, name, value);
  // References see what the manifest has set before and the services, not the image's variables.
  const declared: Record<string, string> = { ...services };
  for (const entry of container.env) {
    const value = "value" in entry ? expand(entry.value, declared) : (fieldValue(entry.field, pod) ?? "");
    declared[entry.name] = value;
    set(env, entry.name, value);
  }
  // Command and args may refer to the environment of the container, not to that of the image.
  const names = [...Object.keys(declared), "HOSTNAME", ...Object.keys(pod.network.env)];
  const values = Object.fromEntries(names.map((name) => [name, env[name] ?? ""]));
  return {
    command: container.command.map((word) => expand(word, values)),
    env,
    directory: container.workingDirectory ?? pod.directory,
    ...(root
      ? {
          root: {
            ...root,
            isReadOnly: security?.isRootReadOnly ?? false,
            noNewPrivileges: security?.noNewPrivileges ?? false,
            droppedCapabilities: security?.droppedCapabilities ?? [],
          },
        }
      : {}),
  };
}

/**
 * The variables of the Service `kubernetes` that every pod gets. Programs detect a cluster by them (pkg/kubelet/envvars). Nobody
 * listens there.
 */
function serviceVariables({ host, port }: PodNetwork["apiServer"]): Record<string, string> {
  const url = `tcp://${host}:${port}`;
  return {
    KUBERNETES_SERVICE_HOST: host,
    KUBERNETES_SERVICE_PORT: String(port),
    KUBERNETES_SERVICE_PORT_HTTPS: String(port),
    KUBERNETES_PORT: url,
    [`KUBERNETES_PORT_${port}_TCP`]: url,
    [`KUBERNETES_PORT_${port}_TCP_PROTO`]: "tcp",
    [`KUBERNETES_PORT_${port}_TCP_PORT`]: String(port),
    [`KUBERNETES_PORT_${port}_TCP_ADDR`]: host,
  };
}

/** Node's own options add up: the preload that moves a port must survive a NODE_OPTIONS of the manifest. */
function set(env: Record<string, string>, name: string, value: string): void {
  const before = env[name];
  env[name] = name === "NODE_OPTIONS" && before && !before.includes(value) ? `${before} ${value}` : value;
}

/** Downward fields; undefined for those that mean nothing here (the reader of manifests refuses them). */
function fieldValue(
  field: string,
  { template, network, hostname: name, uid }: PodIdentity,
): string | undefined {
  const keyed = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(field);
  if (keyed) return (keyed[1] === "labels" ? template.labels : template.annotations)[keyed[2] ?? ""] ?? "";
  const values: Readonly<Record<string, string>> = {
    "metadata.name": name,
    "metadata.namespace": template.namespace,
    "metadata.uid": uid,
    "spec.nodeName": hostname(),
    "spec.serviceAccountName": "default",
    "status.podIP": network.address,
    "status.podIPs": network.address,
    "status.hostIP": network.address.startsWith("127.") ? "127.0.0.1" : "198.18.0.1",
    "status.hostIPs": network.address.startsWith("127.") ? "127.0.0.1" : "198.18.0.1",
    "lab.port": String(network.localPort(template.port)),
    "lab.host": network.listenHost,
  };
  return values[field];
}

/**
 * `$(NAME)` in command, args and env, by Kubernetes' rules: unknown names are left unchanged, `$$` is one dollar and protects what
 * follows (k8s.io/kubernetes/third_party/forked/golang/expansion).
 */
export function expand(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\$|\$\(([^)]*)\)/g, (whole: string, name: string | undefined) => {
    if (name === undefined) return "$";
    return values[name] ?? whole;
  });
}
