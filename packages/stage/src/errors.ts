import { errorClass } from "@lameduck/drain/common";

/** Every way the local stage can fail by a mistake or a limit outside Lameduck, with what to do about it. */
export const stageErrors = {
  LAMEDUCK_NO_SUCH_COMMAND: "install the program, or correct its path; an image has only its own programs",
  LAMEDUCK_NO_NAMESPACES:
    "run as root, allow unprivileged user namespaces, or use `lameduck lab --network loopback`",
  LAMEDUCK_ALLOW_UNKNOWN_HOST: "give an address, or a name that this machine can look up",
  LAMEDUCK_NETWORK_FAILED: "run as root, or use `lameduck lab --network loopback`",
  LAMEDUCK_POD_CRASHED:
    "run the command without the lab, and see why it ends; --env NAME=VALUE sets a variable that it needs",
  LAMEDUCK_POD_NEVER_READY: "check --port and the readiness probe",
  LAMEDUCK_LOOPBACK_ONLY:
    'listen on every address, such as listen(port, "0.0.0.0") or, in Fastify, listen({ port, host: "0.0.0.0" }): senders come from outside the pod',
  LAMEDUCK_OTHER_PORT: "give the right port with --port, or in the manifest",
  LAMEDUCK_PORT_COLLISION:
    "make the program listen on the address and port in its environment (HOST, PORT), or run where network namespaces are allowed",
  LAMEDUCK_HOST_OUTSIDE: "remove httpGet.host: the probe or hook then asks the pod itself",
  LAMEDUCK_MOUNT_MISSING: "remove the volume, or run where network and mount namespaces are allowed",
  LAMEDUCK_BAD_STRATEGY: "give whole numbers or shares such as 25%, not both of them zero",
  LAMEDUCK_NO_SUCH_POD: "name a running pod",
  LAMEDUCK_STAGE_STOPPED: "start a new stage",
} as const;

export type StageErrorCode = keyof typeof stageErrors;

/** `code` is stable, `place` is the pod, container or option, `remedy` says what to do. */
export class StageError extends errorClass(stageErrors) {}

/** The program listens, but not where senders go. */
export class OtherPortError extends StageError {
  readonly ports: readonly number[];

  constructor(pod: string, wanted: number, ports: readonly number[]) {
    super(
      "LAMEDUCK_OTHER_PORT",
      pod,
      `nothing listens on port ${wanted}; the program listens on ${ports.join(", ")}`,
    );
    this.ports = ports;
  }
}
