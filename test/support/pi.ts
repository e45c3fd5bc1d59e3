import path from "node:path";

/** As much of pi's own class for sessions as is used here. */
export interface PiSession {
  getSessionId(): string;
  getSessionFile(): string;
  getSessionName(): string | undefined;
  getLeafId(): string | null;
  getEntries(): Record<string, any>[];
  getTree(): unknown[];
  getLabel(id: string): string | undefined;
  branch(id: string): void;
  buildSessionContext(): { messages: any[]; thinkingLevel: string; model: object | null };
  appendMessage(message: unknown): string;
  appendModelChange(provider: string, modelId: string): string;
  appendThinkingLevelChange(level: string): string;
  appendCompaction(summary: string, firstKeptEntryId: string, tokensBefore: number): string;
  appendCustomEntry(customType: string, data: unknown): string;
  appendCustomMessageEntry(customType: string, content: string, display: boolean): string;
  appendLabelChange(id: string, label: string | undefined): string;
  appendSessionInfo(name: string): string;
  appendContextEdit(id: string, replacement: unknown): string;
  branchWithSummary(id: string, summary: string): string;
  createBranchedSession(leafId: string): string;
}

interface PiSessions {
  create(cwd: string, dir: string): PiSession;
  open(file: string): PiSession;
  list(cwd: string, dir: string): Promise<{ id: string; name?: string; messageCount: number; firstMessage: string; cwd: string }[]>;
}

const packageDir = path.dirname(require.resolve("@earendil-works/pi-coding-agent/package.json"));

/** pi 1.6.0's own reading and writing of session files. */
export const { SessionManager } = (await import(path.join(packageDir, "dist/core/session-manager.js"))) as { SessionManager: PiSessions };
