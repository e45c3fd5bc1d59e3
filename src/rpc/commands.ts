import type { Command } from "./command.ts";
import { dialogs } from "./commands/dialogs.ts";
import { loops } from "./commands/loops.ts";
import { models } from "./commands/models.ts";
import { processes } from "./commands/processes.ts";
import { prompting } from "./commands/prompting.ts";
import { session } from "./commands/session.ts";
import { shell } from "./commands/shell.ts";
import { state } from "./commands/state.ts";
import { todos } from "./commands/todos.ts";

/** Every command of the protocol by its `type`. */
export const commands: Record<string, Command> = {
  ...prompting,
  ...state,
  ...models,
  ...shell,
  ...session,
  ...todos,
  ...loops,
  ...processes,
  ...dialogs,
};
