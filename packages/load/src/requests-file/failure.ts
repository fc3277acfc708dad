import type { Outcome } from "@lameduck/accounting";

/** What became of a request, in the words of the model. */
export interface Classification {
  readonly outcome: Outcome;
  readonly error?: string;
  /** The tool's words mean nothing to us; they are kept as they are. */
  readonly unknown?: boolean;
}

/** Texts by which tools report a request that gave up before it had a connection. */
const connecting =
  /\bdial\b|while waiting for connection|connect(?:ion)? time|connecttimeout|UND_ERR_CONNECT_TIMEOUT/i;

type OutcomeOf = (answerBegun: boolean, words: string) => Outcome;
const cut: OutcomeOf = (answerBegun) => (answerBegun ? "truncated" : "reset-before-response");
const late: OutcomeOf = (_, words) => (connecting.test(words) ? "unreachable" : "timeout");

/**
 * In this order: the first that fits decides. The words are those of Go's net, net/http and syscall packages, which k6, vegeta, hey and
 * fortio all pass on; of Python and curl; and errnos as Node, Java and others spell them.
 */
const rules: readonly (readonly [words: RegExp, outcome: Outcome | OutcomeOf, error: string])[] = [
  [/too many open files|\bE[MN]FILE\b/i, "not-sent", "EMFILE"],
  [/assign requested address|\bEADDRNOTAVAIL\b/i, "not-sent", "EADDRNOTAVAIL"],
  [/address already in use|\bEADDRINUSE\b/i, "not-sent", "EADDRINUSE"],
  [/no buffer space|\bENOBUFS\b/i, "not-sent", "ENOBUFS"],
  [/cannot allocate memory|\bENOMEM\b/i, "not-sent", "ENOMEM"],
  // The tool ended it itself, at the end of its run.
  [/context canceled|operation was canceled|\bECANCELED\b/i, "not-sent", "ECANCELED"],
  [/connection refused|actively refused|\bECONNREFUSED\b/i, "refused", "ECONNREFUSED"],
  [/no route to host|\bEHOSTUNREACH\b/i, "unreachable", "EHOSTUNREACH"],
  [/network is unreachable|\bENETUNREACH\b/i, "unreachable", "ENETUNREACH"],
  [/host is down|\bEHOSTDOWN\b/i, "unreachable", "EHOSTDOWN"],
  [
    /no such host|\blookup\b|name resolution|resolve host|\bENOTFOUND\b|\bEAI_AGAIN\b/i,
    "unreachable",
    "ENOTFOUND",
  ],
  [/time-?d? ?out|timeout|deadline exceeded|\bETIMEDOUT\b/i, late, "ETIMEDOUT"],
  [
    /reset by peer|forcibly closed|socket hang up|connection aborted|\bECONNRESET\b|\bECONNABORTED\b|UND_ERR_SOCKET/i,
    cut,
    "ECONNRESET",
  ],
  [/broken pipe|\bEPIPE\b/i, cut, "EPIPE"],
  [/unexpected EOF|premature(?:ly)? clos|incomplete read/i, "truncated", "EOF"],
  [
    /\bEOF\b|closed idle connection|server disconnected|connection closed|client connection lost/i,
    cut,
    "EOF",
  ],
  [/\bgoaway\b/i, cut, "GOAWAY"],
  [/stream error|RST_STREAM|REFUSED_STREAM/i, cut, "RST_STREAM"],
  [/malformed HTTP|invalid HTTP|\bHPE_/i, "wrong-body", "NOT_HTTP"],
  [/\bx509\b|\btls\b|certificate|\bssl\b/i, "wrong-body", "ERR_TLS"],
];

/**
 * @param words the tool's own; "" if it has none
 * @param status 0 where no answer came
 */
export function classify(
  words: string,
  status: number,
  { answerBegun = false, meant = false }: { answerBegun?: boolean; meant?: boolean } = {},
): Classification {
  if (status >= 500) return meant ? { outcome: "ok" } : { outcome: "bad-status" };
  // vegeta repeats the status line as the error of every answer outside 200 to 399.
  if (words === "" || (status > 0 && words.startsWith(`${status} `))) {
    if (status > 0) return { outcome: "ok" };
    return { outcome: "wrong-body", error: "NO_ANSWER", unknown: true };
  }
  const [, outcome, error = ""] = rules.find(([means]) => means.test(words)) ?? [];
  if (typeof outcome === "function") return { outcome: outcome(answerBegun || status > 0, words), error };
  if (outcome) return { outcome, error };
  return { outcome: "wrong-body", error: words.slice(0, 80), unknown: true };
}
