import type { ErrorCode } from "./catalogue.ts";

/** What each code says of the situation; the catalogues say what to do about it. */
export const meanings: Readonly<Record<ErrorCode, string>> = {
  LAMEDUCK_ALLOW_UNKNOWN_HOST: "A name that --allow gives could not be looked up on this machine.",
  LAMEDUCK_API_FORBIDDEN: "The API server knows who you are, and does not allow the request (403).",
  LAMEDUCK_API_REFUSED: "The API server rejected a request, or its answer was no Kubernetes object.",
  LAMEDUCK_API_UNREACHABLE:
    "No connection to the API server could be made, or it broke and could not be made again.",
  LAMEDUCK_ATTACHED_TWICE: "lameduck() was called for a server that it already watches.",
  LAMEDUCK_AUDIT_BAD_ANNOTATION: "An annotation for the audit has a value that the audit cannot read.",
  LAMEDUCK_AUDIT_BAD_BASELINE: "The file of --baseline is no baseline, or cannot be read.",
  LAMEDUCK_AUDIT_BAD_CONFIG: "The configuration file of the audit has a wrong key or value.",
  LAMEDUCK_AUDIT_BAD_IMAGE: "A Dockerfile or the configuration of an image cannot be read.",
  LAMEDUCK_AUDIT_CHART:
    "A folder is a Helm chart, whose templates are no manifests before they are rendered.",
  LAMEDUCK_AUDIT_NO_NAMESPACE: "The cluster has no namespace of this name.",
  LAMEDUCK_AUDIT_NOT_PERMITTED:
    "You may not list objects of this kind in the cluster, so the audit leaves them out.",
  LAMEDUCK_AUDIT_UNKNOWN_RULE: "There is no rule of this name.",
  LAMEDUCK_OPERATOR_BAD_POLICY: "A field of a DrainPolicy has a wrong value.",
  LAMEDUCK_OPERATOR_BAD_ANNOTATION: "A `lameduck.dev/` annotation has a wrong value.",
  LAMEDUCK_OPERATOR_BAD_CERTIFICATE:
    "The operator cannot read the certificate that is mounted, or the key does not belong to it.",
  LAMEDUCK_OPERATOR_BAD_FLAG: "A flag of the operator is unknown, or its value has the wrong form.",
  LAMEDUCK_OPERATOR_NO_INIT_VOLUME:
    "The files that the operator copies into namespaces are missing, or too large for a ConfigMap.",
  LAMEDUCK_OPERATOR_FOREIGN_INIT_VOLUME:
    "A labelled namespace has a ConfigMap `lameduck-init` that the operator did not make. Injected pods find no lameduck-init in it.",
  LAMEDUCK_OPERATOR_UNREADABLE_CONSUMER:
    "The watcher cannot read a proxy, or does not understand its answer. It reports nothing as applied, so pods decide by their own evidence.",
  LAMEDUCK_OPERATOR_OTHER_VERSION:
    "A coordinator, or who asks it, speaks another major version of the protocol. It counts as silent.",
  LAMEDUCK_OPERATOR_CANNOT_EDIT:
    "A pod template shares parts with others in its file, so an edit would change those, too.",
  LAMEDUCK_AUDIT_UNREADABLE: "A file or a folder of manifests cannot be read.",
  LAMEDUCK_BAD_ADDRESS: "A value of an option of lameduck-init is no address, range or port.",
  LAMEDUCK_BAD_CHOICE: "An option of lameduck-init has a value that is not one of its choices.",
  LAMEDUCK_BAD_COORDINATOR:
    "The address of the coordinator is no http:// URL, or the pod's name, namespace or UID is missing.",
  LAMEDUCK_BAD_DURATION:
    "A value is no duration. A number needs a unit, because Kubernetes counts seconds and programs count milliseconds.",
  LAMEDUCK_BAD_HOOK:
    "A hook's name is taken, its value has the wrong kind, or it waits for one that does not exist.",
  LAMEDUCK_BAD_LOAD: "A value of the load is out of its range, or contradicts another.",
  LAMEDUCK_BAD_NUMBER: "A value is no number, or out of its range.",
  LAMEDUCK_BAD_OPTION: "An option is unknown, has a wrong value, or contradicts another.",
  LAMEDUCK_BAD_SENDER: "A sender is described wrongly: unknown kind, name used twice, or value out of range.",
  LAMEDUCK_BAD_SIGNAL: "An option of lameduck-init names a signal that does not exist.",
  LAMEDUCK_BAD_STRATEGY: "maxSurge or maxUnavailable is no whole number and no share, or both are zero.",
  LAMEDUCK_BAD_TARGET: "The target is not written as KIND/NAME, or its kind cannot be rolled.",
  LAMEDUCK_BAD_URL: "A --url is no http or https address.",
  LAMEDUCK_NO_REPORTS:
    "The cluster has no DrainReports: the coordinator was never installed, or its release is too old to write them.",
  LAMEDUCK_REPORTS_FORBIDDEN: "The API server does not let you list the DrainReports of this namespace.",
  LAMEDUCK_CANNOT_ROLL: "The target exists, but the action is not possible in its present state.",
  LAMEDUCK_CANNOT_WRITE: "A file that an option names cannot be written, or what stdout leads to.",
  LAMEDUCK_CAP_ABOVE_GRACE:
    "The cap is longer than the grace period: the kubelet would kill the pod during its hold.",
  LAMEDUCK_CLUSTER_TOO_OLD: "The cluster's Kubernetes is older than what this command needs.",
  LAMEDUCK_CREDENTIALS_FAILED:
    "The API server does not accept the credentials (401), or the program that fetches them failed.",
  LAMEDUCK_FLOOR_ABOVE_CAP: "The floor (shortest hold) is longer than the cap (longest hold).",
  LAMEDUCK_GENERATOR_DIED: "A process that generates load ended by itself.",
  LAMEDUCK_HOST_OUTSIDE: "A probe or hook names another host. The lab sends requests only to the pod.",
  LAMEDUCK_IMAGE_CACHE: "The folder for unpacked images cannot be used.",
  LAMEDUCK_IMAGE_ENGINE: "docker, podman or nerdctl has the image, and failed to hand it out.",
  LAMEDUCK_IMAGE_NEEDS_NAMESPACES:
    "Images run in namespaces of Linux with an overlay file system. This system has none, as macOS, or does not allow them, as some containers.",
  LAMEDUCK_IMAGE_NOT_HERE: "Neither docker, podman nor nerdctl of this machine has the image.",
  LAMEDUCK_IMAGE_NO_PROGRAM: "Neither the manifest nor the image says which program to start.",
  LAMEDUCK_IMAGE_OTHER_PLATFORM: "The image is for another processor or system than this machine's.",
  LAMEDUCK_IMAGE_REFUSED:
    "The image does what no honest image needs: paths or links that lead out of it, devices, or layers that are not those it names.",
  LAMEDUCK_IMAGE_STOP_SIGNAL: "The image asks to be stopped by a signal that the lab cannot send.",
  LAMEDUCK_IMAGE_TOO_LARGE:
    "The image is larger than any that is run, or grows too much when it is unpacked.",
  LAMEDUCK_IMAGE_UNREADABLE: "The file or folder is no image, or is not whole.",
  LAMEDUCK_IMAGE_USER: "The kubelet would not start the image as that user, or the image has no such user.",
  LAMEDUCK_INIT_NOT_BUILT: "The lameduck-init binary for this processor is missing from this installation.",
  LAMEDUCK_IN_CLUSTER_BAD_OPTION: "An option of the load in the cluster is missing or out of its range.",
  LAMEDUCK_IN_CLUSTER_NOT_STARTED: "The pods of the load did not start in the cluster.",
  LAMEDUCK_IN_CLUSTER_NO_PROGRAM: "The program of the load's pods is missing from this installation.",
  LAMEDUCK_IN_CLUSTER_PODS_LOST: "The pods of the load ended before the rollout did.",
  LAMEDUCK_IN_CLUSTER_URL: "The pods of the load cannot reach the URL from inside the cluster.",
  LAMEDUCK_KUBECONFIG_INVALID:
    "The kubeconfig is no YAML, or one of its entries is incomplete or contradictory.",
  LAMEDUCK_LOOPBACK_ONLY:
    "The program listens on 127.0.0.1 or ::1 only. Nothing outside its pod reaches it there, in the lab as in a cluster.",
  LAMEDUCK_MANIFEST_ALIASES: "A YAML document has so many aliases that reading it could exhaust memory.",
  LAMEDUCK_MANIFEST_EMPTY: "The file contains no workload.",
  LAMEDUCK_MANIFEST_INVALID: "A field of the manifest has the wrong kind of value.",
  LAMEDUCK_MANIFEST_NOT_YAML: "The file is neither YAML nor JSON.",
  LAMEDUCK_MANIFEST_NO_COMMAND: "A container names neither an image nor a command.",
  LAMEDUCK_MANIFEST_NO_CONTAINER: "The workload has no container.",
  LAMEDUCK_MANIFEST_NO_PORT: "The manifest does not say on which port the server listens.",
  LAMEDUCK_MANIFEST_SEVERAL_WORKLOADS: "The file contains more than one workload.",
  LAMEDUCK_MANIFEST_TEMPLATE: "The file is a template of Helm or another tool, not a rendered manifest.",
  LAMEDUCK_MANIFEST_UNKNOWN_KIND: "The file contains a kind of object that the lab cannot run.",
  LAMEDUCK_MANIFEST_UNSUPPORTED: "The manifest uses a field that the lab cannot imitate.",
  LAMEDUCK_MATCH_FAILED:
    "A function that recognises probes threw an error, or returned neither true nor false.",
  LAMEDUCK_MISSING_COMMAND: "lameduck-init was started without a program to run.",
  LAMEDUCK_MISSING_OPTION: "An option that the policy needs is missing, or an option lacks its value.",
  LAMEDUCK_MOUNT_MISSING: "The manifest mounts a volume, and mounts are not possible here.",
  LAMEDUCK_NETWORK_FAILED: "The network namespaces of the lab could not be set up.",
  LAMEDUCK_NEVER_WORKED:
    "No request was answered as it should be before the rollout began, such as 401 to each. What is lost in a rollout cannot be told then, so none began.",
  LAMEDUCK_NOT_A_SERVER: "lameduck() was given something that is no server.",
  LAMEDUCK_NOT_CONFIRMED: "The rollout was not confirmed, so nothing was done.",
  LAMEDUCK_NO_IMAGE: "No image of the operator is published for this release, and --image names none.",
  LAMEDUCK_NOT_READY: "What was installed was not ready or not in force in time.",
  LAMEDUCK_NOT_TAKEN_BACK:
    "Something that the command changed on the cluster, such as a cordon, could not be undone.",
  LAMEDUCK_NO_KUBECONFIG: "No kubeconfig was found and this is not a pod of a cluster.",
  LAMEDUCK_NO_NAMESPACES: "This machine does not let the lab create network namespaces.",
  LAMEDUCK_NO_SUCH_COMMAND: "The program to run does not exist on this machine.",
  LAMEDUCK_NO_SUCH_CONTEXT: "The kubeconfig has no context of that name.",
  LAMEDUCK_NO_SUCH_POD: "The lab has no pod of that name.",
  LAMEDUCK_BAD_RESULTS: "A file to compare cannot be read, or is no results document.",
  LAMEDUCK_NOT_TERMINATING: "The pod is not being deleted. Only a pod that is holds a stop signal.",
  LAMEDUCK_NO_SUCH_TARGET: "The cluster has no such object in that namespace.",
  LAMEDUCK_NO_TIME_TO_HOLD: "The preStop hook and the reserve use up the whole grace period.",
  LAMEDUCK_OF_HELM:
    "Helm has installed Lameduck in this cluster, so only Helm should change the installation.",
  LAMEDUCK_OLD_NODE: "This version of Node is too old for Lameduck.",
  LAMEDUCK_OTHER_PORT: "The program listens on another port than expected.",
  LAMEDUCK_POD_CRASHED: "The program ended before it was ready, or while it should have served.",
  LAMEDUCK_POD_NEVER_READY: "The program runs, but its port or its readiness probe never answered.",
  LAMEDUCK_PORT_COLLISION:
    "Pods share this machine's loopback addresses, and the program uses a fixed port that is already in use.",
  LAMEDUCK_PROXY_NOT_SUPPORTED: "The kubeconfig or environment names a proxy that this Node cannot use.",
  LAMEDUCK_REQUESTS_BAD_LINE: "A line of the requests file cannot be read.",
  LAMEDUCK_REQUESTS_BAD_TIME: "A time in the requests file has an unknown form.",
  LAMEDUCK_REQUESTS_EMPTY: "The requests file contains no request.",
  LAMEDUCK_REQUESTS_OTHER_TIME:
    "The requests in the file were sent at another time than the rollout was watched.",
  LAMEDUCK_REQUESTS_TOO_MANY: "The requests file contains more requests than fit into memory.",
  LAMEDUCK_REQUESTS_UNKNOWN_FORMAT: "The requests file has none of the known forms.",
  LAMEDUCK_REQUESTS_UNREADABLE: "The requests file does not exist, may not be read, or is a pipe.",
  LAMEDUCK_SCENARIO_IMPOSSIBLE: "Two values of the scenario exclude each other.",
  LAMEDUCK_SCENARIO_INVALID: "A field of the scenario is unknown, or has the wrong kind of value.",
  LAMEDUCK_SCENARIO_SYNTAX: "The scenario file is neither YAML nor JSON.",
  LAMEDUCK_SCENARIO_UNREADABLE: "The scenario file does not exist or may not be read.",
  LAMEDUCK_SENDER_BINARY_MISSING: "A sender of this kind is a program that is not installed here.",
  LAMEDUCK_SENDER_FAILED: "A sender did not start, or ended by itself.",
  LAMEDUCK_SENDER_PROTOCOL: "A sender of this kind does not speak the protocol of the load.",
  LAMEDUCK_STAGE_STOPPED: "The stage of the lab was used after it had been stopped.",
  LAMEDUCK_TARGET_NOT_LOCAL: "The load of the lab was directed to an address outside this machine.",
  LAMEDUCK_TERMINATING: "A server, a hook or a lease was attached after the termination had begun.",
  LAMEDUCK_TRACE_INVALID: "A file is no recording of a hold, or one of its lines has been changed.",
  LAMEDUCK_TRACE_UNREADABLE: "The recording of a hold does not exist or may not be read.",
  LAMEDUCK_TRACE_VERSION: "The recording of a hold was written by a release whose format differs.",
  LAMEDUCK_UNKNOWN_OPTION: "An option or field does not exist.",
  LAMEDUCK_UNKNOWN_POLICY: "There is no policy of that name.",
  LAMEDUCK_UNKNOWN_PRESET: "There are no senders of that name.",
  LAMEDUCK_UNKNOWN_PROPAGATION:
    "There is no propagation of that name, and it is neither a delay nor a range.",
  LAMEDUCK_UNKNOWN_REMEDY: "There is no remedy of that name.",
  LAMEDUCK_UNKNOWN_TOPIC: "There is no command and no error code of that name.",
  LAMEDUCK_URL_NOT_ANSWERING:
    "A URL did not answer before the rollout, so losses could not be told from its own failures.",
};
