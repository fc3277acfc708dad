import { readFile } from "node:fs/promises";
import { appFiles, builtInit, requireInit } from "../../cluster/index.ts";

/** Where the init lies in the pods. */
export const deliveredInit = "/lameduck/lameduck-init";

const name = "lameduck-matrix";
const app = "/app";

/** A ConfigMap with everything that the test cluster has in its images, so that a cluster needs an image of Node and no more. */
export async function delivery(): Promise<{
  readonly configMap: object;
  /** What makes a pod find it. */
  readonly pod: { readonly volumes: readonly object[]; readonly volumeMounts: readonly object[] };
}> {
  const files = await appFiles();
  const contents = await Promise.all(
    files.map(async ({ from }, index) => [`file${index}`, await readFile(from ?? "", "utf8")] as const),
  );
  await requireInit();
  const init = await readFile(builtInit);
  return {
    configMap: {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name },
      data: Object.fromEntries(contents),
      binaryData: { init: init.toString("base64") },
    },
    pod: {
      volumes: [
        {
          name: "app",
          configMap: {
            name,
            items: files.map(({ to }, index) => ({ key: `file${index}`, path: to.slice(app.length + 1) })),
          },
        },
        {
          name: "init",
          configMap: { name, defaultMode: 0o755, items: [{ key: "init", path: "lameduck-init" }] },
        },
      ],
      volumeMounts: [
        { name: "app", mountPath: app },
        { name: "init", mountPath: "/lameduck" },
      ],
    },
  };
}
