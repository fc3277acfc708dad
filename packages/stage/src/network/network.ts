import type { ContainerRoot } from "@lameduck/manifests";

type NetworkKind =
  | "network namespaces as root"
  | "network namespaces in a user namespace"
  | "shared loopback";

/** What lies between senders and pods. */
export interface Network {
  readonly kind: NetworkKind;
  /** Why no better network could be had. */
  readonly because?: string;
  /** Where the kubelet's probes come from. */
  readonly nodeAddress: string;
  /** What differs from a cluster on this kind of network, for the person who reads the results. */
  readonly limits: readonly string[];
  /** Where what pods write to files goes, in a sentence. */
  readonly files: string;
  /** Why no root file system of an image can be had; undefined where it can. */
  readonly noImages?: string;
  /** Files that pods write are discarded. */
  readonly keepsNothing: boolean;
  /** The address that pods get as the API server's. Nothing listens there. */
  readonly apiServer: { readonly host: string; readonly port: number };
  /** A directory for the pods' volumes, removed with the network. */
  readonly scratch: string;
  /** An address from which one sender connects, so that pods can distinguish senders. */
  senderAddress(name: string): Promise<string>;
  /** The sender that connects from there; undefined where no sender does, or all do. */
  senderAt(address: string): string | undefined;
  attachPod(name: string, options: AttachOptions): Promise<PodNetwork>;
  close(): Promise<void>;
}

interface AttachOptions {
  /** Every port that the pod's containers declare, the serving one included. */
  readonly ports: readonly number[];
}

/** A pod's place in the network, and how processes are started in it. */
export interface PodNetwork {
  readonly address: string;
  /** Whether each container is PID 1 of its own process namespace, as in a real pod. */
  readonly ownProcesses: boolean;
  /** The host on which a program of this pod should listen. */
  readonly listenHost: string;
  /** That of the network. */
  readonly apiServer: Network["apiServer"];
  /** The port that a program for `port` gets. It differs from `port` only where pods share one address. */
  localPort(port: number): number;
  /** Set for every container, over the environment of the stage and under that of the manifest. */
  readonly env: Readonly<Record<string, string>>;
  /** How to start a container's command here. */
  container(command: Launch, binds: readonly Bind[]): Launch;
  /** How to run a command beside a running container, given its process. */
  beside(pid: number, command: Launch): Launch;
  /** Whether the port has a listener at this moment. */
  listening(port: number): Listening;
  /** The loopback addresses on which a port listens, if it listens on no other address; else none. */
  loopbackOnly(port: number): readonly string[];
  /** Addresses of those who are connected to the port, one for each connection; undefined where the system does not tell. */
  connections(port: number): readonly string[] | undefined;
  /** Every port the pod listens on; nothing where all pods have one address (macOS). */
  listeningPorts(): readonly number[];
  /** Names a process group that is to be killed if the stage dies, where it would not die with its namespace. */
  watch(pid: number): { done(): void };
  detach(): Promise<void>;
}

export type Listening = "open" | "closed" | "unknown";

export interface Bind {
  readonly from: string;
  readonly to: string;
  readonly isFile?: boolean;
  /** On the root of an image, where nothing is known of the programs. */
  readonly isReadOnly?: boolean;
}

/** The root file system of an image. */
export interface LaunchRoot extends ContainerRoot {
  readonly isReadOnly: boolean;
  readonly noNewPrivileges: boolean;
  readonly droppedCapabilities: readonly string[];
}

/** What to execute, before and after it is wrapped for the place where it runs. */
export interface Launch {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly directory: string;
  /** Absent where files are this machine's. */
  readonly root?: LaunchRoot;
}

/** The name that has a value. */
export function nameAt(values: ReadonlyMap<string, string>, wanted: string): string | undefined {
  return [...values].find(([, value]) => value === wanted)?.[0];
}
