export { audit, type Audit, type AuditOptions } from "./audit.ts";
export { AuditError, auditErrors } from "./errors.ts";
export { factNames, factOf, type FactName, type Facts } from "./facts/facts.ts";
export { ownStopOf } from "./facts/lameduck.ts";
export { disks } from "./facts/second-pod.ts";
export { convergenceOf, sendersOf } from "./facts/senders.ts";
export { exposureOf, servingContainers } from "./facts/serving.ts";
export { delaySetting, drainSetting } from "./facts/settings.ts";
export { stopSignalOf } from "./facts/stop-signal.ts";
export { severities, type Finding, type Severity } from "./finding.ts";
export { fixesOf, withHarmlessFixes, type FixPlan } from "./fixes.ts";
export type { Container } from "./model/container.ts";
export { fileOf, liveObjects, liveTypes } from "./live/objects.ts";
export type { Inventory } from "./model/inventory.ts";
export { auditedTypes, spell } from "./model/object.ts";
export { onlySleep, type NoSleep, type OnlySleep } from "./model/only-sleep.ts";
export { observedPort } from "./model/ports.ts";
export { dockerHubs, repositoryOf } from "./model/image-name.ts";
export { frontImages, frontPrograms, sidecarImages, sidecarNames } from "./model/sidecars.ts";
export { programOf } from "./model/shell/commands.ts";
export {
  softwareOfImage,
  softwares,
  stopSignalOfImage,
  stopsGracefully,
  type Software,
} from "./model/software.ts";
export type { Workload } from "./model/workload.ts";
export { whyWindows } from "./model/windows.ts";
export { imagesOf, type ImageFile } from "./model/images.ts";
export { inOneGo, readInSteps, type InputFile } from "./reading.ts";
export { githubReport } from "./report/github.ts";
export { htmlReport } from "./report/html.ts";
export { jsonReport } from "./report/json.ts";
export { junitReport } from "./report/junit.ts";
export { markdownReport } from "./report/markdown.ts";
export { notJudged } from "./report/not-judged.ts";
export { sarifReport } from "./report/sarif.ts";
export { textReport } from "./report/text.ts";
export type { Rule, Symptom } from "./rule.ts";
export { ruleNamed, rules } from "./rules/index.ts";
export { noConfig, readConfig, type Config } from "./suppress/config.ts";
export { baselined, fingerprintOf, nothingSuppressed } from "./suppress/suppress.ts";
