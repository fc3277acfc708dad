import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { hasStatus, KubernetesClient } from "@lameduck/kube";
import {
  coordinatorRights,
  flaggingRights,
  heldDeletionRights,
  operatorNames,
  operatorRights,
  type RoleRule,
} from "@lameduck/operator";
import { parseAllDocuments } from "yaml";
import { type Cluster, type Manifest, whyNot } from "../cluster/index.ts";
import { allQuestions, discovered, isGranted, type Question, type Served, spelt } from "./questions.ts";
import { apply, quietCluster } from "./support.ts";

const reason = await whyNot();
const { namespace, coordinator, watcher, workload } = operatorNames;
const manifests = join(
  import.meta.dirname,
  "..",
  "..",
  "docs",
  "install-acknowledgements-held-deletions.yaml",
);

/** One account of the chart, and what it needs: everywhere, and in its own namespace. */
interface Account {
  readonly namespace: string;
  readonly name: string;
  readonly everywhere: readonly RoleRule[];
  readonly own: readonly RoleRule[];
}

const accounts: readonly Account[] = [
  {
    namespace,
    name: workload,
    everywhere: [...operatorRights.clusterRole, ...flaggingRights, ...heldDeletionRights],
    own: [...operatorRights.role, ...operatorRights.certificates],
  },
  {
    namespace,
    name: coordinator.workload,
    everywhere: coordinatorRights.clusterRole,
    own: coordinatorRights.role,
  },
  // The nodes' watcher shows its token to the coordinator only.
  { namespace: watcher.namespace, name: watcher.workload, everywhere: [], own: [] },
];

/** What any account may do, because Kubernetes says so: ask what it may do itself. */
const nobody: Account = { namespace: "shop", name: "nobody", everywhere: [], own: [] };

/** Every verb on everything that the API server serves, asked with each account's own token. */
describe("the rights of the chart's accounts on a real API server", { skip: reason ?? false }, () => {
  let cluster: Cluster;
  let served: readonly Served[];
  let anybodys: ReadonlySet<string>;

  before(async () => {
    cluster = await quietCluster({ nodes: 1 });
    await apply(cluster, ...(await objectsOfAccess()));
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
  after(() => cluster?.[Symbol.asyncDispose]());

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
    it(`lets ${account.name} do what it needs, and nothing else`, async (t) => {
      const questions = questionsFor(account);
      const needed = questions.filter((one) => isGranted(one, account)).map(spelt);
      const own = (await allowed(account)).filter((one) => !anybodys.has(everywhere(one))).map(spelt);
      t.diagnostic(`${questions.length} questions, ${needed.length} of them needed`);
      assert.ok(questions.length > 5_000, "many questions, so that a rule with a * is seen");
      assert.deepEqual(own.sort(), needed.sort());
    });

  it("refuses what would harm others, also when it is tried", async () => {
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
});

/** Namespaces, accounts, roles and kinds of the manifest that users apply, without anything that runs. */
async function objectsOfAccess(): Promise<readonly Manifest[]> {
  const text = await readFile(manifests, "utf8");
  const all = parseAllDocuments(text).map((one) => one.toJS() as Manifest);
  const kinds = /^(?:Namespace|ServiceAccount|(?:Cluster)?Role(?:Binding)?|CustomResourceDefinition)$/;
  return all.filter(({ kind = "" }) => kinds.test(kind));
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
