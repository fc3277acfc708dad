import type { RequestRecord } from "@lameduck/accounting";

/** Numbers of requests by how their pod is known, for the report. */
export interface JoinCounts {
  readonly header: number;
  readonly proxy: number;
  readonly tuple: number;
  /** Requests whose pod only the accounting can infer, from the time. */
  readonly unknown: number;
}

interface Joined {
  readonly records: readonly RequestRecord[];
  readonly counts: JoinCounts;
  /** Routes whose connections stay with one pod, as behind kube-proxy. Other routes choose a pod for each request, or name none. */
  readonly sticky: readonly string[];
}

interface JoinOptions {
  /** The pod that has an address at a time of the run. */
  readonly podAt: (address: string, at: number) => string | undefined;
  /** The pod whose own address it was at a time of the run. */
  readonly ownerOf: (address: string, at: number) => string | undefined;
  readonly isPod: (name: string) => boolean;
  /** Addresses that routes were connected to, by name. */
  readonly addresses: ReadonlyMap<string, string>;
}

/** A route's behaviour may be concluded from this many connections with at least two answers. */
const enough = 5;

/**
 * Says for each request which pod it went to, and how that is known. The app may name the pod. A proxy may name the pod or its address. The
 * connection may lead to the pod's own address, or be a kept-alive one whose other requests all went to one pod. Other requests have no
 * pod.
 */
export function joinPods(records: readonly RequestRecord[], options: JoinOptions): Joined {
  const reported = records.map((record) => byAddress(record, options) ?? asReported(record, options));
  const answered = reported.filter(({ pod, connection }) => pod !== undefined && connection !== undefined);
  const sticky = stickyRoutes(answered);
  const owners = new Map(answered.map((record) => [connectionKey(record), record.pod]));
  const joined = reported.map((record): RequestRecord => {
    if (record.pod !== undefined) return record;
    const owner = sticky.has(record.sender) ? owners.get(connectionKey(record)) : undefined;
    return owner === undefined ? record : { ...record, pod: owner, podKnownBy: "tuple" };
  });
  const by = (how: RequestRecord["podKnownBy"]): number =>
    joined.filter(({ podKnownBy }) => podKnownBy === how).length;
  return {
    records: joined,
    counts: {
      header: by("header") + by("choice"),
      proxy: by("proxy"),
      tuple: by("tuple") + by("address"),
      unknown: by(undefined),
    },
    sticky: [...sticky],
  };
}

/** An address becomes the name of the target's pod that had it. Any other name is another service's, and is dropped. */
function asReported(record: RequestRecord, { podAt, isPod }: JoinOptions): RequestRecord {
  const { pod, podKnownBy: _, ...rest } = record;
  if (pod === undefined || isPod(pod)) return record;
  const address = pod.replace(/^\[?([^\]]*?)\]?(:\d+)?$/, "$1");
  const named = podAt(address, record.sent ?? record.intended);
  return named === undefined ? { ...rest, elsewhere: true } : { ...rest, pod: named, podKnownBy: "proxy" };
}

function connectionKey({ sender, connection }: RequestRecord): string {
  return `${sender} ${connection ?? ""}`;
}

/** Routes on which no connection was ever answered by two pods, although enough of them could have been. */
function stickyRoutes(answered: readonly RequestRecord[]): Set<string> {
  const sticky = new Set<string>();
  for (const [route, records] of Map.groupBy(answered, ({ sender }) => sender)) {
    const connections = [...Map.groupBy(records, ({ connection }) => connection).values()];
    const several = connections.filter(({ length }) => length > 1);
    const keepsPod = several.every((answers) => answers.every(({ pod }) => pod === answers[0]?.pod));
    if (several.length >= enough && keepsPod) sticky.add(route);
  }
  return sticky;
}

/** A route to a pod's own address needs no header to name the pod, and no proxy chooses there. */
function byAddress(record: RequestRecord, options: JoinOptions): RequestRecord | undefined {
  const address = options.addresses.get(record.sender);
  const pod = address === undefined ? undefined : options.ownerOf(address, record.sent ?? record.intended);
  return pod === undefined ? undefined : { ...record, pod, podKnownBy: "address" };
}
