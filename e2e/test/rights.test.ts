import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { reportsOf } from "@lameduck/coordinator";
import { hasStatus, KubernetesClient } from "@lameduck/kube";
import { holdLabel, operatorNames } from "@lameduck/protocol";
import { parseAllDocuments } from "yaml";
import { type Cluster, type Manifest, until, whyNot } from "../cluster/index.ts";
import { deployment, service } from "../cluster/workload.ts";
import { coordinatorUrl } from "../acknowledged/installation.ts";
import { remedyOf, ways } from "../acknowledged/ways.ts";
import { chart, deliverImage, helm, lameduckDoes } from "../injected/installation.ts";
import { software } from "../injected/software.ts";
import { type Account, accounts } from "../rights/accounts.ts";
import {
  allQuestions,
  discovered,
  isGranted,
  type Question,
  type Served,
  spelt,
} from "../rights/questions.ts";
import { usedRights } from "../rights/used.ts";
import { apply, podNames, quietCluster, rolledOut } from "./support.ts";

const reason = await whyNot();
const { watcher, workload } = operatorNames;
const manifests = join(
  import.meta.dirname,
  "..",
  "..",
  "docs",
  "install-acknowledgements-held-deletions.yaml",
);

/** What any account may do, because Kubernetes says so: ask what it may do itself. */
const nobody: Account = { namespace: "shop", name: "nobody", everywhere: [], own: [] };

/** Every verb on everything that the API server serves, asked with each account's own token. */
describe("the rights of the chart's accounts on a real API server", { skip: reason ?? false }, () => {
  let directory: string;
  let cluster: Cluster;
  let served: readonly Served[];
  let anybodys: ReadonlySet<string>;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "lameduck-rights-"));
    cluster = await quietCluster({ nodes: 1, auditLog: join(directory, "audit.log") });
    await apply(cluster, ...(await objectsOfAccess()), ...(await objectsOfBalancers(cluster)));
    await apply(
      cluster,
      { apiVersion: "v1", kind: "Namespace", metadata: { name: nobody.namespace } },
      {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { namespace: nobody.namespace, name: nobody.name },
      },
    );
    served = await discovered(cluster.api);
    anybodys = new Set((await allowed(nobody)).map(everywhere));
  });
  after(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  async function as({ namespace: of, name }: Account): Promise<KubernetesClient> {
    const { status } = await cluster.api.post<{ status: { token: string } }>(
      `/api/v1/namespaces/${of}/serviceaccounts/${name}/token`,
      { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3_600 } },
    );
    const credentials = { authorization: `Bearer ${status.token}`, expires: Infinity };
    return new KubernetesClient({
      ...cluster.api.connection,
      credentials: () => Promise.resolve(credentials),
    });
  }

  function questionsFor({ everywhere, own, namespace: of }: Account): readonly Question[] {
    return allQuestions(served, [...everywhere, ...own], [of, "kube-system"]);
  }

  /** Of all questions those that the API server answers with yes. */
  async function allowed(account: Account): Promise<readonly Question[]> {
    const client = await as(account);
    const left = [...questionsFor(account)];
    const found: Question[] = [];
    const ask = async (): Promise<void> => {
      for (let one = left.pop(); one !== undefined; one = left.pop())
        if (await isAllowed(client, one)) found.push(one);
    };
    try {
      await Promise.all(Array.from({ length: 8 }, ask));
    } finally {
      client.close();
    }
    return found;
  }

  for (const account of accounts)
    it(`the API server lets ${account.name} do what it needs, and nothing else`, async (t) => {
      const questions = questionsFor(account);
      const needed = questions.filter((one) => isGranted(one, account)).map(spelt);
      const own = (await allowed(account)).filter((one) => !anybodys.has(everywhere(one))).map(spelt);
      t.diagnostic(`${questions.length} questions, ${needed.length} of them needed`);
      assert.ok(questions.length > 5_000, "many questions, so that a rule with a * is seen");
      assert.deepEqual(own.sort(), needed.sort());
    });

  it("the API server refuses what would harm others, also when it is tried", async () => {
    for (const account of accounts) {
      const client = await as(account);
      for (const path of forbiddenTo(account))
        await assert.rejects(client.get(path), (error) => hasStatus(error, 403), `${account.name}: ${path}`);
      await assert.rejects(client.delete("/api/v1/namespaces/shop/pods/web", {}), (error) =>
        hasStatus(error, 403),
      );
      client.close();
    }
  });

  it("the API server refuses nothing to the processes that are installed, which use most of their rights", async (t) => {
    const [library] = ways;
    assert.ok(library && software["nginx"]);
    await apply(
      cluster,
      service("held"),
      deployment({ ...software["nginx"].pod, name: "held", replicas: 2 }),
    );
    await rolledOut(cluster, "held");
    await cluster.kubectl(["label", "namespace", "default", `${holdLabel}=enabled`]);
    await deliverImage(cluster);
    const features = ["--acknowledgements", "--held-deletions", "--enable", "default"];
    await lameduckDoes(cluster, "install", "--yes", ...features);
    const { pod: hold } = remedyOf(library, coordinatorUrl);
    await apply(cluster, service("web"), deployment({ ...hold, name: "web", replicas: 1 }));
    await rolledOut(cluster, "web");
    for (const app of ["held", "web"]) {
      // The last endpoint of a Service is not held.
      const [pod = ""] = await podNames(cluster, app);
      await cluster.kubectl(["delete", "pod", pod, "--wait=false"]);
    }
    await until(async () => (await cluster.api.list(reportsOf("default"))).length > 1, {
      what: "reports of both pods",
    });
    for (const account of accounts) {
      const { requests, used, unused, forbidden } = await usedRights(
        join(directory, "audit.log"),
        account,
        true,
      );
      const count = Object.keys(used).length;
      t.diagnostic(
        `${account.name}: ${requests} requests, ${count} rights used; not used: ${unused.join(", ")}`,
      );
      assert.deepEqual(forbidden, [], account.name);
      assert.ok(account.name !== workload || "patch pods" in used, "a deletion was held");
      // Kinds that are not installed are asked for by nobody.
      const idle = unused.filter((right) =>
        served.some(({ group, resource }) =>
          right.endsWith(` ${resource}${group === "" ? "" : `.${group}`}`),
        ),
      );
      assert.ok(count >= idle.length, `${account.name} has not used ${idle.join(", ")}`);
    }
  });
});

/** Namespaces, accounts, roles and kinds of the manifest that users apply, without anything that runs. */
async function objectsOfAccess(): Promise<readonly Manifest[]> {
  return accessIn(await readFile(manifests, "utf8"));
}

/** Those of the Deployment for load balancers of clouds, which no manifest has. */
async function objectsOfBalancers(cluster: Cluster): Promise<readonly Manifest[]> {
  const switchedOn = ["acknowledgements.enabled=true", "acknowledgements.balancers.enabled=true"];
  const clouds = "acknowledgements.balancers.discover={aws,gcp}";
  const values = [...switchedOn, clouds].flatMap((one) => ["--set", one]);
  const made = await helm(cluster, "template", "lameduck", chart, "-n", operatorNames.namespace, ...values);
  return accessIn(made).filter(({ metadata }) => metadata.name === operatorNames.balancers.workload);
}

function accessIn(text: string): readonly Manifest[] {
  const all = parseAllDocuments(text).map((one) => one.toJS() as Manifest | null);
  const kinds = /^(?:Namespace|ServiceAccount|(?:Cluster)?Role(?:Binding)?|CustomResourceDefinition)$/;
  return all.filter((one) => one !== null && kinds.test(one.kind ?? "")) as readonly Manifest[];
}

function everywhere({ namespace: _namespace, ...question }: Question): string {
  return spelt(question);
}

function forbiddenTo({ name }: Account): readonly string[] {
  const secrets = ["/api/v1/secrets", `/api/v1/namespaces/shop/secrets/${operatorNames.certificateSecret}`];
  return name === watcher.workload ? [...secrets, "/api/v1/pods", "/api/v1/nodes"] : secrets;
}

async function isAllowed(client: KubernetesClient, question: Question): Promise<boolean> {
  const { status } = await client.post<{ status?: { allowed?: boolean } }>(
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: question },
    },
  );
  return status?.allowed === true;
}
