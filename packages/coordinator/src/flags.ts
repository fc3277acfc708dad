import { consumerAccount, operatorNames } from "@lameduck/protocol";
import { defaultRetention, type RetentionLimits } from "./records/writing/retention.ts";
import {
  badFlag,
  count,
  parseFlags,
  text,
  texts,
  time,
  serverFlags,
  type ServerFlags,
  serverHelp,
  serverOptions,
} from "@lameduck/program";

export interface CoordinatorFlags extends ServerFlags {
  /** ServiceAccounts that may report, as "NAMESPACE/NAME". */
  readonly consumerAccounts: readonly string[];
  /** The kinds that an account is limited to, such as "kube-proxy", where it is limited. */
  readonly consumerKinds: ReadonlyMap<string, readonly string[]>;
  /** ServiceAccounts that may ask whether a deletion can go on. */
  readonly holdAccounts: readonly string[];
  /** The headless Service by which replicas find each other. */
  readonly peers: string | undefined;
  /** The token that this replica shows to the others. */
  readonly tokenFile: string | undefined;
  /** How many DrainReports are kept, and how long. */
  readonly retention: RetentionLimits;
}

const { coordinator, watcher, workload, namespace: ownNamespace } = operatorNames;
const defaultConsumer = `${watcher.namespace}/${watcher.workload}`;

export const helpText = `lameduck-operator coordinator [flags]

Collects what senders have applied, and tells terminating pods when all senders have stopped sending.
Without it pods decide by their own evidence. More: docs/operate/acknowledgements.md

  lameduck-operator coordinator --consumer-account lameduck-node/lameduck-watcher=kube-proxy

Defaults are in brackets. A TIME has a unit: 30s, 24h. It runs until SIGTERM.

  --port PORT                    HTTP for pods and watchers (${coordinator.ports.protocol})
  --metrics-port PORT            HTTP with /metrics, /readyz, /livez and /status (${coordinator.ports.metrics})
  --address ADDRESS              address to listen on (all)
  --namespace NAME               namespace of the cluster's DrainPolicy (that of the service account)
  --consumer-account NS/NAME     ServiceAccount that may report; may be repeated (${defaultConsumer}).
                                 NS/NAME=KIND,KIND limits it to these kinds
  --hold-account NS/NAME         ServiceAccount that may ask about held deletions; may be repeated
                                 (${ownNamespace}/${workload})
  --peers NAME                   host name of all replicas; they pass reports of pods on to each other
  --token-file FILE              token for the other replicas; needed with --peers
  --report-age TIME              remove DrainReports after this time (24h)
  --reports-per-namespace COUNT  keep at most so many DrainReports in a namespace (${defaultRetention.perNamespace})
  --reports COUNT                keep at most so many DrainReports in all (${defaultRetention.inAll})
${serverHelp}
  --kubeconfig FILE              kubeconfig, outside a cluster (the service account)
`;

const options = {
  ...serverOptions,
  "consumer-account": texts,
  "hold-account": texts,
  peers: text,
  "token-file": text,
  "report-age": text,
  "reports-per-namespace": text,
  reports: text,
};

/** @throws {OperatorError} LAMEDUCK_OPERATOR_BAD_FLAG @returns none where help is asked for. */
export function parseCoordinatorFlags(
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): CoordinatorFlags | undefined {
  const values = parseFlags(args, options);
  if (values.help) return undefined;
  const consumers = consumersIn(values["consumer-account"] ?? [defaultConsumer]);
  if (values.peers !== undefined && values["token-file"] === undefined)
    throw badFlag("--token-file", "is missing: the other replicas accept nothing without a token");
  return {
    ...serverFlags(values, { port: coordinator.ports.protocol, metrics: coordinator.ports.metrics }, env),
    consumerAccounts: consumers.map(({ account }) => account),
    consumerKinds: new Map(
      consumers.flatMap(({ account, kinds }) => (kinds ? [[account, kinds] as const] : [])),
    ),
    holdAccounts: accounts(values["hold-account"] ?? [`${ownNamespace}/${workload}`]),
    peers: values.peers,
    tokenFile: values["token-file"],
    retention: {
      ageMs: time("--report-age", values["report-age"] ?? "24h"),
      perNamespace: count(
        "--reports-per-namespace",
        values["reports-per-namespace"],
        defaultRetention.perNamespace,
      ),
      inAll: count("--reports", values.reports, defaultRetention.inAll),
    },
  };
}

function consumersIn(
  values: readonly string[],
): readonly { readonly account: string; readonly kinds: readonly string[] | undefined }[] {
  return values.map((value) => {
    if (!consumerAccount.test(value))
      throw badFlag(
        "--consumer-account",
        `"${value}" is not of the form NAMESPACE/NAME or NAMESPACE/NAME=KIND`,
      );
    const [account = "", kinds] = value.split("=", 2);
    return { account, kinds: kinds?.split(",") };
  });
}

function accounts(values: readonly string[]): readonly string[] {
  const wrong = values.find((one) => one.includes("=") || !consumerAccount.test(one));
  if (wrong !== undefined) throw badFlag("--hold-account", `"${wrong}" is not of the form NAMESPACE/NAME`);
  return values;
}
