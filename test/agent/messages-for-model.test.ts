import { describe, expect, test } from "bun:test";
import { bashText, messagesForModel } from "../../src/agent/messages-for-model.ts";
import type { AgentMessage, BashExecutionMessage } from "../../src/session/message.ts";
import { assistant, call, spec } from "./rig.ts";

const bash = (more: Partial<BashExecutionMessage>): BashExecutionMessage => ({ role: "bashExecution", command: "ls", output: "a\nb\n", exitCode: 0, cancelled: false, truncated: false, timestamp: 7, ...more });
const result = (toolCallId: string): AgentMessage => ({ role: "toolResult", toolCallId, toolName: "t", content: [], isError: false, timestamp: 1 });

describe("what the model is sent", () => {
  test("leaves failed answers out, with the results of their calls, and keeps the text of aborted ones", () => {
    const good = assistant(spec(), { content: [call("t", {}, "1")], stopReason: "toolUse" });
    const failed = assistant(spec(), { content: [{ type: "text", text: "half" }, call("t", {}, "1")], stopReason: "error" });
    const cut = assistant(spec(), { content: [{ type: "thinking", thinking: "hm" }, { type: "text", text: "as I" }, call("t", {}, "2")], stopReason: "aborted" });
    const empty = assistant(spec(), { stopReason: "aborted" });
    const user: AgentMessage = { role: "user", content: "hi", timestamp: 1 };
    expect(messagesForModel([user, failed, result("1"), good, result("1"), cut, result("2"), empty, user])).toEqual([
      user, good, result("1"), { ...cut, content: [{ type: "text", text: "as I" }] }, user,
    ] as never);
  });

  test("tells commands, custom messages and summaries as the user's, and keeps system messages and excluded commands back", () => {
    const sent = messagesForModel([
      { role: "system", content: "old", timestamp: 1 },
      { role: "compactionSummary", summary: "SUM", tokensBefore: 1, timestamp: 2 },
      { role: "branchSummary", summary: "WAY", fromId: "x", timestamp: 3 },
      { role: "custom", customType: "c", content: "note", display: false, timestamp: 4 },
      bash({}), bash({ excludeFromContext: true }),
    ]);
    expect(sent.map(({ role, timestamp }) => [role, timestamp])).toEqual([["user", 2], ["user", 3], ["user", 4], ["user", 7]]);
    expect(JSON.stringify(sent)).toMatch(/SUM.*WAY.*note.*\$ ls/);
  });

  test("says how a command ended", () => {
    expect(bashText(bash({}))).toBe("The user ran a command:\n\n$ ls\n\na\nb");
    expect(bashText(bash({ output: "", exitCode: 2 }))).toBe("The user ran a command:\n\n$ ls\n\n(no output)\n\n(Exit code 2.)");
    const cut = bash({ cancelled: true, truncated: true, fullOutputPath: "/tmp/full" });
    delete cut.exitCode;
    expect(bashText(cut)).toBe("The user ran a command:\n\n$ ls\n\na\nb\n\n(It was cancelled.)\n\n(Only the end of the output is shown; all of it is in /tmp/full.)");
  });
});
