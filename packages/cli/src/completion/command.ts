import { Argument, Command } from "commander";
import { ending } from "../help/ending.ts";
import { completionScript, shells, type Shell } from "./scripts.ts";
import { shapesOf } from "./tree.ts";

/** `lameduck completion`: made of the very commands and options that are there. */
export function completion(): Command {
  return new Command("completion")
    .description("Print a script that completes commands and options in your shell.")
    .addArgument(new Argument("<shell>", "your shell").choices(shells))
    .addHelpText("after", examples)
    .action((shell: Shell, _options: unknown, { parent }: Command) => {
      if (parent) process.stdout.write(completionScript(shell, shapesOf(parent)));
    });
}

const examples = ending(
  `
Examples:
  $ source <(lameduck completion bash)      # in ~/.bashrc
  $ source <(lameduck completion zsh)       # in ~/.zshrc, after compinit
  $ lameduck completion fish | source       # in ~/.config/fish/config.fish`,
  "0 done, 2 usage",
  "docs/reference/options.md",
);
