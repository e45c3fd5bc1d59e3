import type { Zod } from "../../base/zod.ts";
import { RawJson } from "../../base/json.ts";
import { command } from "../command.ts";
import { entry, nothing } from "../shapes.ts";

const replaced = (z: Zod) => z.looseObject({ cancelled: z.boolean() });
const leafId = (z: Zod) => z.string().nullable();

export const session = {
  new_session: command({
    summary: "Begin an empty session; model and thinking level stay, loops and processes end.",
    when: "session",
    params: (z) => z.object({ parentSession: z.string().optional().describe("a session file to name as the one that this comes from") }),
    data: replaced,
    run: ({ sessions }, { parentSession }) => sessions.begin(parentSession),
  }),
  switch_session: command({
    summary: "Go on with the session of a file; loops and processes of this one end.",
    when: "session",
    params: (z) => z.object({ sessionPath: z.string().min(1).describe("a session file: a path of session_list, or any other") }),
    data: replaced,
    run: ({ sessions }, { sessionPath }) => sessions.switchTo(sessionPath),
  }),
  fork: command({
    summary: "Begin a session with the talk up to before a user message, whose text is given back; loops and processes end.",
    when: "session",
    params: (z) => z.object({ entryId: z.string().describe("one of get_fork_messages") }),
    data: (z) => replaced(z).extend({ text: z.string() }),
    run: ({ sessions }, { entryId }) => sessions.fork(entryId),
  }),
  clone: command({
    summary: "Begin a session with the whole active branch; loops and processes end.",
    when: "session",
    data: replaced,
    run: ({ sessions }) => sessions.clone(),
  }),
  get_fork_messages: command({
    summary: "All user messages of the file, for fork.",
    when: "now",
    data: (z) => z.looseObject({ messages: z.array(z.looseObject({ entryId: z.string(), text: z.string() })) }),
    run: ({ agent }) => ({ messages: agent.session.forkMessages() }),
  }),
  get_entries: command({
    summary: "The entries of the session file in its order, strictly after `since`.",
    when: "now",
    params: (z) => z.object({ since: z.string().optional().describe("id of an entry"), limit: z.number().int().min(1).optional().describe("how many at most; hasMore tells of more") }),
    data: (z) => z.looseObject({ entries: z.array(entry(z)), leafId: leafId(z), hasMore: z.boolean().optional() }),
    run: ({ agent }, { since, limit }) => {
      const { entries, ...rest } = agent.session.entriesJson(since, limit);
      return around("entries", entries, rest);
    },
  }),
  get_tree: command({
    summary: "The entries as a tree, or with `flat` as a list of nodes.",
    when: "now",
    params: (z) => z.object({ flat: z.boolean().optional() }),
    data: (z) => {
      const node = z.looseObject({ entry: entry(z), label: z.string().optional(), labelTimestamp: z.string().optional(), get children() { return z.array(node); } }).meta({ id: "TreeNode" });
      const flat = z.looseObject({ id: z.string(), parentId: z.string().nullable(), type: z.string(), label: z.string().optional() });
      return z.union([z.looseObject({ tree: z.array(node), leafId: leafId(z) }), z.looseObject({ nodes: z.array(flat), leafId: leafId(z) })]);
    },
    run: ({ agent: { session: current } }, { flat }) =>
      flat ? { nodes: current.flatTree(), leafId: current.leafId } : around("tree", current.treeJson(), { leafId: current.leafId }),
  }),
  session_list: command({
    summary: "The sessions of this folder, or of all, newest first.",
    when: "now",
    params: (z) => z.object({ scope: z.enum(["current", "all"]).optional().describe("default: current") }),
    data: (z) => z.looseObject({
      sessions: z.array(z.looseObject({
        path: z.string(), id: z.string(), name: z.string().optional(), cwd: z.string(), firstMessage: z.string(), messageCount: z.number(),
        createdAt: z.number(), modifiedAt: z.number(), size: z.number(),
      })),
    }),
    run: async ({ sessions }, { scope }) => ({ sessions: await sessions.list(scope ?? "current") }),
  }),
  set_session_name: command({
    summary: "Give the session a display name.",
    when: "now",
    params: (z) => z.object({ name: z.string() }),
    data: nothing,
    run: ({ agent }, { name }) => { agent.rename(name); },
  }),
};

/** `{"<name>":<json>,…rest}` of JSON that is in pieces already. */
function around(name: string, json: Iterable<Uint8Array>, rest: object): RawJson {
  return new RawJson([Buffer.from(`{"${name}":`), ...json, Buffer.from(`,${JSON.stringify(rest).slice(1)}`)]);
}
