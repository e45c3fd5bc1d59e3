import pc from "picocolors";
import { shorten, textOf, type WireRecord } from "../test/support/wire.ts";

/** Tells a conversation over the wire for a person: one line a record, the deltas of a text joined as they come. */
export class Narrator {
  #write: (text: string) => unknown;
  #isInText = false;

  constructor(write: (text: string) => unknown) {
    this.#write = write;
  }

  title(text: string): void {
    this.#line(`\n${pc.dim(`# ${text}`)}`);
  }

  sent(record: object): void {
    this.#line(`${pc.cyan("→")} ${pc.cyan(JSON.stringify(record))}`);
  }

  heard(record: WireRecord): void {
    const delta = record["assistantMessageEvent"];
    if (delta?.type === "text_delta") {
      if (!this.#isInText) this.#line(`${pc.green("←")} message_update ${pc.dim("…")} `, "");
      this.#isInText = true;
      this.#write(pc.bold(delta.delta));
      return;
    }
    const words = this.#summary(record);
    if (words !== undefined) this.#line(`${pc.green("←")} ${words ? `${record.type} ${words}` : pc.dim(record.type)}`);
  }

  /** What a record says, in a few words; nothing for one that only repeats what was told already. */
  #summary(record: WireRecord): string | undefined {
    switch (record.type) {
      case "session_started":
        return pc.dim(`rpi ${record["data"].rpiVersion}, protocol ${record["data"].protocolVersion}, session ${record["data"].id}`);
      case "response":
        return record["success"] ? `${record["command"]} ${pc.green("ok")} ${json(record["data"])}` : `${record["command"]} ${pc.red(record["error"])}`;
      case "message_start":
      case "message_end": {
        const { role, stopReason } = record["message"];
        return record.type === "message_start" ? undefined : pc.dim(stopReason ? `${role}, ${stopReason}` : role);
      }
      case "message_update":
        return undefined;
      case "tool_execution_start":
        return `${pc.yellow(record["toolName"])} ${json(record["args"])}`;
      case "tool_execution_end":
        return `${pc.yellow(record["toolName"])} ${record["isError"] ? pc.red("failed") : pc.green("ok")} ${json(textOf(record["result"]))}`;
      case "agent_settled":
        return record["aborted"] ? pc.yellow("aborted") : pc.dim(String(record["stopReason"]));
      case "todo_updated":
        return record["phases"].flatMap((phase: any) => phase.tasks.map((task: any) => `${task.content}: ${pc.yellow(task.status)}`)).join(pc.dim(" · "));
      case "process_started":
      case "process_exited":
        return json({ argv: record["process"].argv, tty: record["process"].tty, state: record["process"].state });
      case "process_output":
        return json(Buffer.from(record["dataBase64"], "base64").toString());
      default:
        return "";
    }
  }

  #line(text: string, end = "\n"): void {
    this.#write(`${this.#isInText ? "\n" : ""}${text}${end}`);
    this.#isInText = false;
  }
}

const json = (value: unknown) => pc.dim(shorten(JSON.stringify(value), 140));
