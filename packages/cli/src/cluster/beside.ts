import { manifestYaml } from "@lameduck/manifests";
import { operatorNames } from "@lameduck/protocol";
import { programOf, programs, recognisedBy } from "@lameduck/senders";
import { seenPod } from "@lameduck/cluster";
import { containersOf, type ClusterRead } from "./reading.ts";

/** A proxy of the cluster beside which a watcher can stand, and what puts it there. */
export interface BesideProxy {
  /** "Traefik" */
  readonly who: string;
  readonly namespace: string;
  /** "deployment/traefik" */
  readonly workload: string;
  /** "NAMESPACE/NAME=KIND": for --consumer-account of `lameduck install`. */
  readonly account: string;
  /** "ingress-class/traefik" */
  readonly serves: readonly string[];
  /** What must be so first. */
  readonly needs: string | undefined;
  /** The reader has never been run against this program: it is chosen by nobody but the user. */
  readonly isUntried: boolean;
  /** A strategic merge patch of the workload, as YAML. */
  readonly patch: string;
  /** A watcher stands there already. */
  readonly isThere: boolean;
}

/** For people, of what is left to them. */
export const untried =
  "its reader has never been run against this program, so that nothing chooses it but you: --consumer-account";

const watcher = "lameduck-watcher";
const tokenVolume = "lameduck-token";

/**
 * The proxies that a watcher beside them can read, each with its patch.
 * @param needs who may send to pods: "ingress-class/nginx".
 */
export function proxiesToRead(
  { workloads, classes }: Pick<ClusterRead, "workloads" | "classes">,
  needs: readonly string[],
  { namespace: ofLameduck, image }: { readonly namespace: string; readonly image: string },
): BesideProxy[] {
  return workloads.flatMap((one) => {
    const program = programs.find(
      ({ isProxy, consumer }) => consumer !== undefined && isProxy?.(seenPod(one.pod)),
    );
    if (program?.consumer === undefined) return [];
    const { who, consumer, sharesProcesses = false } = program;
    const [kind = ""] = consumer.split("=");
    const serves = [
      ...classes.filter(({ controller }) => programOf(controller)?.who === who).map(({ need }) => need),
      ...needs.filter((need) => recognisedBy(need)?.reader === consumer),
    ];
    const { serviceAccountName = "default" } = one.pod.spec;
    return [
      {
        who,
        namespace: one.namespace,
        workload: one.name,
        account: `${one.namespace}/${serviceAccountName}=${kind}`,
        serves,
        needs: program.needs,
        isUntried: program.isUntried === true,
        patch: patchOf({ consumer, serves, sharesProcesses, ofLameduck, image }),
        isThere: containersOf(one.pod).some(({ name }) => name === watcher),
      },
    ];
  });
}

interface PatchOptions {
  readonly consumer: string;
  readonly serves: readonly string[];
  readonly sharesProcesses: boolean;
  readonly ofLameduck: string;
  readonly image: string;
}

/** A sidecar, which ends after the proxy. docs/operate/watchers.md describes each field. */
function patchOf({ consumer, serves, sharesProcesses, ofLameduck, image }: PatchOptions): string {
  const { consumersService, ports, audience } = operatorNames.coordinator;
  const args = [
    "watcher",
    `--coordinator=http://${consumersService}.${ofLameduck}.svc:${ports.protocol}`,
    "--token-file=/token/token",
    `--consumer=${consumer}`,
    ...serves.map((one) => `--serves=${one}`),
  ];
  const serviceAccountToken = { path: "token", audience, expirationSeconds: 3_600 };
  const spec = {
    ...(sharesProcesses ? { shareProcessNamespace: true } : {}),
    initContainers: [
      {
        name: watcher,
        restartPolicy: "Always",
        image,
        args,
        volumeMounts: [{ name: tokenVolume, mountPath: "/token", readOnly: true }],
      },
    ],
    volumes: [{ name: tokenVolume, projected: { sources: [{ serviceAccountToken }] } }],
  };
  return manifestYaml({ spec: { template: { spec } } });
}
