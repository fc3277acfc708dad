import { errorClass } from "@lameduck/drain/common";

/** Every way a manifest or a command line can be unfit, with what to do about it. */
export const manifestErrors = {
  LAMEDUCK_MANIFEST_NOT_YAML: "correct the YAML at this place",
  LAMEDUCK_MANIFEST_TEMPLATE:
    "render it first, by `helm template CHART` or `kubectl kustomize FOLDER`, and give what comes out on stdin",
  LAMEDUCK_MANIFEST_ALIASES: "replace the aliases by what they stand for",
  LAMEDUCK_MANIFEST_EMPTY: "give a manifest with a Deployment, a StatefulSet or a Pod",
  LAMEDUCK_MANIFEST_UNKNOWN_KIND: "give a Deployment, a StatefulSet or a Pod, with its Service if it has one",
  LAMEDUCK_MANIFEST_SEVERAL_WORKLOADS: "give one Deployment, StatefulSet or Pod at a time",
  LAMEDUCK_MANIFEST_NO_CONTAINER:
    "add the container under spec.containers (for a Deployment: spec.template.spec.containers)",
  LAMEDUCK_MANIFEST_NO_COMMAND:
    "add `image:` or `command:`, or give a program of this machine, as `lameduck lab -f FILE -- node server.js`",
  LAMEDUCK_MANIFEST_NO_PORT: "declare containerPort, or a Service with a targetPort",
  LAMEDUCK_MANIFEST_INVALID: "correct the field at this place",
  LAMEDUCK_MANIFEST_UNSUPPORTED: "remove the field, or measure in a cluster with lameduck rollout",
} as const;

export type ManifestErrorCode = keyof typeof manifestErrors;

/** A mistake in a manifest: `code` is stable, `place` is file:line:column or an option, `remedy` says what to do. */
export class ManifestError extends errorClass(manifestErrors) {}
