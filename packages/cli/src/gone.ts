/** What takes the place of options that there were, of one command or of all: the end of a sentence that begins with the option. */
const instead: Readonly<Record<string, string>> = {
  "--html": "use --out FILE.html",
  "--junit": "use --out FILE.xml",
  "--markdown": "use --out FILE.md, or --out markdown=FILE",
  "--patch": "use --out FILE.yaml",
  "--output": "use --out FILE",
  "audit --format": "use --json FILE or --out KIND=FILE, where - is stdout",
  "--as-group": "use as-groups of the kubeconfig's user",
  "audit --cluster": "use -n NAMESPACE or -A",
  "audit --kubernetes": "use kubernetes: of .lameduck-audit.yaml",
  "--dockerfile": "use --image [NAME=]FILE",
  "--image-config": "use --image [NAME=]FILE",
  "--no-local-images": "use --image NAME=SOURCE, which is asked first",
  "simulate --prestop": "use pod: { prestop: } of a scenario file",
  "simulate --max-surge": "use rollout: { maxSurge: } of a scenario file",
  "simulate --grace": "use pod: { grace: } of a scenario file",
  "simulate --acknowledgements": "use acknowledgements: of a scenario file",
  "--seed": "more runs say more than another seed",
  "simulate --container": "the container that serves gets the settings",
  "lab --compare": "use --remedies usual",
  "lab --ready-path": "a manifest (-f) says how readiness is probed",
  "lab --writable": "use --allow PATH",
  "--body-file": "use --body @FILE",
  "--message": "use --body TEXT",
  "rollout --duration": "the load ends with the rollout, and after --timeout at the latest",
  "rollout --request-timeout": "a request without an answer after 10 s is lost",
  "rollout --parallel": "use --in-cluster PODS",
  "uninstall --keep-labels": "install --enable NAMESPACE labels them again",
  "images --remove-all": "use --remove",
  "--write-baseline": "use --baseline FILE --write",
};

/** @param problem of commander, for a command. @returns it with what to use instead, where it names an option that is gone. */
export function withSuccessor(command: string, problem: string): string {
  const [, option = ""] = /^unknown option '(--[\w-]+)/.exec(problem) ?? [];
  const successor = instead[`${command} ${option}`] ?? instead[option];
  return successor === undefined ? problem : `${option} is gone: ${successor}`;
}
