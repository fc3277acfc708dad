import type { Outcome } from "@lameduck/accounting";

/** What became of a request, in the words of the model. */
export interface Classification {
  readonly outcome: Outcome;
  readonly error?: string;
  /** The tool's words mean nothing to us; they are kept as they are. */
  readonly unknown?: boolean;
}

interface Rule {
  /** Errnos as Node, Java and others spell them; words as Go, Python and curl do. */
  readonly means: RegExp;
  readonly classify: (answerBegun: boolean, words: string) => Classification;
}

const always = (outcome: Outcome, error: string) => (): Classification => ({ outcome, error });
const cut =
  (error: string) =>
  (answerBegun: boolean): Classification => ({
    outcome: answerBegun ? "truncated" : "reset-before-response",
    error,
  });

/** Texts by which tools report a request that gave up before it had a connection. */
const connecting =
  /\bdial\b|while waiting for connection|connect(?:ion)? time|connecttimeout|UND_ERR_CONNECT_TIMEOUT/i;

/**
 * In this order: the first that fits decides. The words are those of Go's net, net/http and syscall packages, which k6, vegeta, hey and
 * fortio all pass on, and errnos.
 */
const rules: readonly Rule[] = [
  { means: /too many open files|\bE[MN]FILE\b/i, classify: always("not-sent", "EMFILE") },
  { means: /assign requested address|\bEADDRNOTAVAIL\b/i, classify: always("not-sent", "EADDRNOTAVAIL") },
  { means: /address already in use|\bEADDRINUSE\b/i, classify: always("not-sent", "EADDRINUSE") },
  { means: /no buffer space|\bENOBUFS\b/i, classify: always("not-sent", "ENOBUFS") },
  { means: /cannot allocate memory|\bENOMEM\b/i, classify: always("not-sent", "ENOMEM") },
  // The tool ended it itself, at the end of its run.
  {
    means: /context canceled|operation was canceled|\bECANCELED\b/i,
    classify: always("not-sent", "ECANCELED"),
  },
  {
    means: /connection refused|actively refused|\bECONNREFUSED\b/i,
    classify: always("refused", "ECONNREFUSED"),
  },
  { means: /no route to host|\bEHOSTUNREACH\b/i, classify: always("unreachable", "EHOSTUNREACH") },
  { means: /network is unreachable|\bENETUNREACH\b/i, classify: always("unreachable", "ENETUNREACH") },
  { means: /host is down|\bEHOSTDOWN\b/i, classify: always("unreachable", "EHOSTDOWN") },
  {
    means: /no such host|\blookup\b|name resolution|resolve host|\bENOTFOUND\b|\bEAI_AGAIN\b/i,
    classify: always("unreachable", "ENOTFOUND"),
  },
  {
    means: /time-?d? ?out|timeout|deadline exceeded|\bETIMEDOUT\b/i,
    classify: (_, words) => ({
      outcome: connecting.test(words) ? "unreachable" : "timeout",
      error: "ETIMEDOUT",
    }),
  },
  {
    means:
      /reset by peer|forcibly closed|socket hang up|connection aborted|\bECONNRESET\b|\bECONNABORTED\b|UND_ERR_SOCKET/i,
    classify: cut("ECONNRESET"),
  },
  { means: /broken pipe|\bEPIPE\b/i, classify: cut("EPIPE") },
  { means: /unexpected EOF|premature(?:ly)? clos|incomplete read/i, classify: always("truncated", "EOF") },
  {
    means: /\bEOF\b|closed idle connection|server disconnected|connection closed|client connection lost/i,
    classify: cut("EOF"),
  },
  { means: /\bgoaway\b/i, classify: cut("GOAWAY") },
  { means: /stream error|RST_STREAM|REFUSED_STREAM/i, classify: cut("RST_STREAM") },
  { means: /malformed HTTP|invalid HTTP|\bHPE_/i, classify: always("wrong-body", "NOT_HTTP") },
  { means: /\bx509\b|\btls\b|certificate|\bssl\b/i, classify: always("wrong-body", "ERR_TLS") },
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
  const rule = rules.find(({ means }) => means.test(words));
  if (rule) return rule.classify(answerBegun || status > 0, words);
  return { outcome: "wrong-body", error: words.slice(0, 80), unknown: true };
}
