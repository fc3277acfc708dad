import type { Field } from "@lameduck/manifests";
import { selects } from "@lameduck/kube/objects";
import { repositoryOf } from "../model/image-name.ts";
import { programOf } from "../model/shell/commands.ts";
import { selectorOf } from "../model/inventory.ts";
import type { Workload } from "../model/workload.ts";

/** Why a second pod of a workload cannot run beside the first one, or cannot always. */
export interface Obstacle {
  /** "claim db is ReadWriteOnce" */
  readonly because: string;
  /** What would have to be true for a second pod all the same. */
  readonly unless: string;
  readonly at: Field;
  /** `alone`: there is one pod by design. `place`: a second one needs a place of its own. `unknown`: the input does not say. */
  readonly kind: "alone" | "place" | "unknown";
}

/** The first that is found, the hardest one first. A StatefulSet's pods have volumes of their own, and it has no surge. */
export function obstacleOf(workload: Workload): Obstacle | undefined {
  const found = [...ofVolumes(workload), ...ofSoftware(workload), ...ofPlaces(workload)];
  return found.find(({ kind }) => kind === "alone") ?? found.find(({ kind }) => kind === "place") ?? found[0];
}

/** Why no other pod can take the requests of a pod that stops; undefined where one does. */
export function whyAlone(workload: Workload): string | undefined {
  const { object, spec, replicas } = workload;
  if (replicas.value > 1) return undefined;
  if (object.kind === "StatefulSet") return "a StatefulSet of one pod";
  const obstacle = obstacleOf(workload);
  if (obstacle?.kind === "alone") return obstacle.because;
  return object.kind === "Deployment" && spec.at("strategy").at("type").text() === "Recreate"
    ? "its strategy is Recreate"
    : undefined;
}

/** A hold would only keep the next pod waiting. */
export const aloneRemedy =
  "let callers try again while it is replaced, or run it so that a second pod can take over";

/** Disks that one node has at a time. */
export const disks: readonly string[] =
  "awsElasticBlockStore azureDisk cinder fc flexVolume gcePersistentDisk iscsi photonPersistentDisk portworxVolume quobyte rbd scaleIO storageos vsphereVolume".split(
    " ",
  );
/** Folders of a node that hold no data of the pod. */
const ofTheNode =
  /^\/(?:boot|dev|etc|lib|proc|root|run|sys|tmp|usr|var\/(?:lib\/(?:docker|kubelet|containerd)|log|run))(?:\/|$)/;

function* ofVolumes({ object, pod, claim, replicas }: Workload): Iterable<Obstacle> {
  if (object.kind === "StatefulSet") return;
  // All pods that write one volume are on the node that has it.
  const kind = replicas.value > 1 ? "place" : "alone";
  for (const volume of pod.at("volumes").items()) {
    const claimed = volume.at("persistentVolumeClaim").at("claimName");
    if (claimed.exists) {
      const name = claimed.text() ?? "";
      const modes = claim(name)?.field.at("spec").at("accessModes").texts();
      const single = modes?.find((mode) => /^ReadWriteOnce(?:Pod)?$/.test(mode));
      const isShared = single === undefined || modes?.includes("ReadWriteMany");
      if (modes === undefined)
        yield {
          kind: "unknown",
          because: `whether two pods may write claim ${name} is not known: the input does not hold it`,
          unless: `claim ${name} is ReadWriteMany`,
          at: claimed,
        };
      else if (!isShared)
        yield {
          kind,
          because: `claim ${name} is ${single}`,
          unless: "its data are on a volume that several pods may write",
          at: claimed,
        };
      continue;
    }
    const disk = disks.find((one) => volume.at(one).exists && !volume.at(one).at("readOnly").isTrue());
    const path = volume.at("hostPath").at("path");
    const isData =
      path.exists &&
      !ofTheNode.test(path.text() ?? "") &&
      !/Socket|File|Device/.test(volume.at("hostPath").at("type").text() ?? "") &&
      isWritten(pod, volume.at("name").text());
    if (disk !== undefined || isData)
      yield {
        kind,
        because:
          disk === undefined
            ? `the folder ${path.text()} of the node holds its data`
            : `one node at a time has its ${disk}`,
        unless: "its data are on a volume that several pods may write",
        at: disk === undefined ? path : volume.at(disk),
      };
  }
}

function isWritten(pod: Field, volume: string | undefined): boolean {
  return pod
    .at("containers")
    .items()
    .flatMap((container) => container.at("volumeMounts").items())
    .some((mount) => mount.at("name").text() === volume && !mount.at("readOnly").isTrue());
}

/** Each keeps data that a second server beside it would not have, or would damage. */
const stores =
  /^(?:mysql|mysql-server|mariadb|mariadb-server|percona|percona-server|percona-xtradb-cluster|postgres|postgresql|postgis|pgvector|timescaledb|timescaledb-ha|mongo|mongodb|mongod|mongodb-community-server|redis|redis-stack|redis-stack-server|redis-server|valkey|valkey-server|keydb|dragonfly|etcd|zookeeper|kafka|cp-kafka|cp-zookeeper|rabbitmq|rabbitmq-server|elasticsearch|opensearch|cassandra|scylla|clickhouse|clickhouse-server|influxdb|influxd|prometheus|victoria-metrics|loki|tempo|minio|neo4j|couchdb|couchbase|mssql|sqlservr|oracle|cockroach|consul|vault|jenkins|sonarqube|nexus3|qdrant|weaviate|milvus|chroma|meilisearch|typesense|rethinkdb|arangodb|solr|nats-streaming|eventstore|surrealdb|questdb)$/;

/** "postgresql-16", "redis-cache" */
const variant = /-(?:v?\d[\w.]*|cache|store|alpine|community|single|standalone)$/;

/** A store is known by its program or image, and only where the workload has one pod: many pods are no store. */
function* ofSoftware({ object, replicas, containers }: Workload): Iterable<Obstacle> {
  if (object.kind === "DaemonSet" || replicas.value !== 1) return;
  for (const { served, image, field } of containers) {
    const path = image === undefined ? [] : repositoryOf(image).split("/");
    const name = [programOf(served?.argv[0]), path.at(-1) ?? "", path.at(-2) ?? ""].find(
      (one, index) => stores.test(one.replace(variant, "")) && (index < 2 || path.at(-1) === "server"),
    );
    if (name !== undefined)
      yield {
        kind: "alone",
        because: `a second ${name} beside it would not have its data`,
        unless: `this ${name} keeps nothing`,
        at: field.at("name"),
      };
  }
}

/** A second pod needs a node, or a device, that the first one has not taken. */
function* ofPlaces(workload: Workload): Iterable<Obstacle> {
  const { pod, template, containers } = workload;
  const place = (because: string, unless: string, at: Field): Obstacle => ({
    kind: "place",
    because,
    unless,
    at,
  });
  const port = onHost(workload);
  if (port)
    yield place(
      "its ports belong to the node",
      "there is one node more than replicas, on which the host's port is free",
      port,
    );
  const labels = template.at("metadata").at("labels").textMap();
  for (const term of pod
    .at("affinity")
    .at("podAntiAffinity")
    .at("requiredDuringSchedulingIgnoredDuringExecution")
    .items()) {
    const selector = term.at("labelSelector");
    if (!selector.exists || !selects(selectorOf(selector), labels)) continue;
    const key = term.at("topologyKey").text() ?? "";
    const where = key.endsWith("hostname") ? "node" : key.endsWith("zone") ? "zone" : key;
    yield place(
      `no two of its pods may be in one ${where}`,
      `there is one ${where} more than replicas`,
      term.at("topologyKey"),
    );
  }
  for (const { field } of containers)
    for (const [name, amount] of field.at("resources").at("limits").entries())
      if (/^[\w-]+(?:\.[\w-]+)+\//.test(name) && String(amount.numberOrText()) !== "0")
        yield place(`a pod takes ${name} of its node`, `a node has ${name} to spare`, amount);
}

/** Where the pod says that it takes ports of its node. */
export function onHost({ pod, containers }: Pick<Workload, "pod" | "containers">): Field | undefined {
  if (pod.at("hostNetwork").isTrue()) return pod.at("hostNetwork");
  return containers.flatMap(({ ports, field }) =>
    ports.some(({ host }) => host !== undefined) ? [field.at("ports")] : [],
  )[0];
}
