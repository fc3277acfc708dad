/** Headers that name the pod that answered, by the app or by a proxy on the way. */
export interface Reported {
  /** x-lameduck-pod: the app (or Lameduck in it) names its pod. */
  pod?: string;
  /** x-lameduck-upstream: the proxy names the pod, or its address, that it chose. */
  upstream?: string;
  /** x-pod-name and the like (see `claimHeaders`): worth something only where it can be compared with the names of pods. */
  claim?: string;
  /** x-lameduck-retries. */
  retries?: number;
  /** x-lameduck-error: errno of the proxy's failure towards the pod. */
  error?: string;
  /** x-lameduck-reused: the proxy's connection to the pod had carried a request before. */
  reused?: boolean;
  /** x-lameduck-connected: when the proxy's connection to the pod was made, on the run's clock. */
  connected?: number;
}

/** Headers in which apps and proxies call the pod by its name or address, the surest first. */
export const claimHeaders: readonly string[] = [
  "x-pod-name",
  "x-pod",
  "x-hostname",
  "x-served-by",
  "x-upstream-addr",
  "x-upstream",
  "x-backend",
];

/** The value of the surest of the headers that is there and says something, in whatever order they came. */
export function claimIn(valueOf: (name: string) => unknown): string | undefined {
  return claimHeaders
    .map((name) => valueOf(name))
    .find((value): value is string => typeof value === "string" && value !== "");
}

/** A complete answer, in whatever protocol it came. */
export interface Answer {
  readonly status: number;
  /** Bytes of body. */
  readonly body: number;
  /** The first bytes of the body, as far as they were asked for. */
  readonly text: string;
  readonly reported: Reported;
  /** What gRPC says in its trailers, where it is gRPC. */
  readonly grpcStatus?: number;
}

/**
 * What a dying program said, in one line: the line that names the error, where one does (a stack follows it in Node and precedes
 * it in Python), else its last three.
 */
export function lastWords(lines: readonly string[]): string {
  const named = lines.findLast((line) => /^\s*(\w+\.)*\w*(Error|Exception|Exit)\b.*[:\]]/.test(line));
  const mentioned = lines.findLast((line) => /\b(error|fatal|panic|cannot|denied|failed)\b/i.test(line));
  return (
    (
      named ??
      mentioned ??
      lines
        .slice(-3)
        .map((line) => line.trim())
        .join(" | ")
    ).trim() || "no output"
  );
}
