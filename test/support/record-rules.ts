import { wellFormed } from "../../src/base/json.ts";
import type { Schemas } from "./schemas.ts";
import { shorten, type WireRecord } from "./wire.ts";

const CODES = new Set(["parse", "unknown_command", "invalid", "not_found", "busy", "unavailable", "cancelled", "internal"]);
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Holds every line on stdout to the rules that stand whatever a test is about. */
export class RecordRules {
  /** What broke them, for people. */
  readonly faults: string[] = [];
  #isFirst = true;
  #answered = new Set<string>();

  /** With `schemas`, the shape of each record is checked as well. */
  constructor(private readonly schemas?: Schemas) {}

  /** Gives the record of a line without its LF, or nothing when it is none. */
  check(line: Uint8Array): WireRecord | undefined {
    const fault = (what: string) => void this.faults.push(`${what}: ${shorten(Buffer.from(line).toString())}`);
    if (line.includes(0x1b)) fault("an escape character on stdout");
    const text = Buffer.from(line).toString();
    if (wellFormed(text) !== text) fault("half a surrogate pair on stdout");
    let record: unknown;
    try {
      record = JSON.parse(decoder.decode(line));
    } catch (error) {
      fault(`a line that is no JSON (${error})`);
      return undefined;
    }
    if (!isRecord(record)) return void fault("a line that is no object with a type");
    if (this.#isFirst && record.type !== "session_started" && record["command"] !== "initialize") fault("the first record is not session_started");
    this.#isFirst = false;
    if (record.type === "response") this.#checkResponse(record, fault);
    const shape = this.schemas?.fault(record);
    if (shape !== undefined) fault(`a record that is not as the schema says (${shape})`);
    return record;
  }

  #checkResponse(record: WireRecord, fault: (what: string) => void): void {
    if (typeof record["command"] !== "string") fault("a response without a command");
    if (record["success"] === true) {
      if (!("data" in record)) fault("a success without data");
    } else if (record["success"] === false) {
      if (typeof record["error"] !== "string" || record["error"] === "") fault("a failure without words");
      if (record["command"] !== "initialize" && !CODES.has(record["code"])) fault("a failure with none of the codes");
    } else fault("a response without success");

    // A dialog may be answered wrongly more than once, each time under its id.
    if (record["id"] === undefined || record["command"] === "extension_ui_response") return;
    const key = JSON.stringify(record["id"]);
    if (this.#answered.has(key)) fault("a second response for one id");
    this.#answered.add(key);
  }
}

function isRecord(value: unknown): value is WireRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value) && typeof (value as WireRecord).type === "string";
}
