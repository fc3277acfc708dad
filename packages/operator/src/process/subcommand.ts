/** One of the processes that the operator's file can be. */
export interface Subcommand {
  readonly helpText: string;
  /** The arguments after its name. @throws {OperatorError} for wrong flags. */
  run(args: readonly string[]): Promise<void>;
}

/** For our own library: a Service of any name sets variables like ours, so that nothing but this one is passed on. */
export function ownEnvironment(): { readonly KUBERNETES_SERVICE_HOST: string | undefined } {
  return { KUBERNETES_SERVICE_HOST: process.env["KUBERNETES_SERVICE_HOST"] };
}
