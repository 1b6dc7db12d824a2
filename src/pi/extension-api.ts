/**
 * What our extensions use of pi 1.6.0's extension interface. Only types: an extension is handed the real thing.
 * Tests run them in a real pi, which is what proves these declarations.
 */

export type ExtensionMode = 'tui' | 'rpc' | 'json' | 'print';

export interface ExtensionUi {
  notify(message: string, type?: 'info' | 'warning' | 'error'): void;
  setStatus(key: string, text: string | undefined): void;
  setEditorText(text: string): void;
  getEditorText(): string;
}

/** pi's own object; it is read, and only the lock extension's guard touches more of it. */
export interface SessionFacts {
  getSessionId(): string;
  /** Undefined for a Session that is kept in memory (`--no-session`). */
  getSessionFile(): string | undefined;
  getSessionName(): string | undefined;
  /** The last entry of the current branch; after loading, the last of the file. */
  getLeafId(): string | null;
}

export interface ExtensionContext {
  ui: ExtensionUi;
  mode: ExtensionMode;
  sessionManager: SessionFacts;
  isIdle(): boolean;
  abort(): void;
}

export interface CommandContext extends ExtensionContext {
  switchSession(
    file: string,
    options?: { withSession?: (context: CommandContext) => Promise<void> },
  ): Promise<{ cancelled: boolean }>;
}

/** Each event with what it hands over and what a handler may answer. */
export interface ExtensionEvents {
  session_start: { event: { reason: 'startup' | 'reload' | 'new' | 'resume' | 'fork' }; answer: undefined };
  session_info_changed: { event: { name?: string | undefined }; answer: undefined };
  session_before_switch: { event: { targetSessionFile?: string }; answer: { cancel: boolean } };
  session_before_compact: { event: object; answer: { cancel: boolean } };
  session_before_tree: { event: object; answer: { cancel: boolean } };
  session_shutdown: { event: { reason: string; targetSessionFile?: string }; answer: undefined };
  input: { event: { text: string }; answer: { action: 'continue' | 'handled' } };
  /** `sections` is pi's own object: what is put in or taken out is in the prompt of this run, each in a tag of its name. */
  before_agent_start: {
    event: { systemPromptOptions: { sections: Record<string, string> } };
    answer: undefined;
  };
  agent_start: { event: object; answer: undefined };
  tool_call: { event: object; answer: { block: boolean; reason: string } };
  user_bash: { event: object; answer: { result: BashResult } };
}

export interface BashResult {
  output: string;
  exitCode: number;
  cancelled: boolean;
  truncated: boolean;
}

export type EventHandler<Name extends keyof ExtensionEvents> = (
  event: ExtensionEvents[Name]['event'],
  context: ExtensionContext,
) => ExtensionEvents[Name]['answer'] | undefined | Promise<ExtensionEvents[Name]['answer'] | undefined>;

export interface ExtensionApi {
  on<Name extends keyof ExtensionEvents>(name: Name, handler: EventHandler<Name>): unknown;
  registerCommand(
    name: string,
    options: { description: string; handler: (args: string, context: CommandContext) => Promise<void> },
  ): void;
  registerProvider(name: string, config: ProviderConfig): void;
  registerTool(tool: ToolDefinition): void;
  sendUserMessage(text: string, options: { expandPromptTemplates: boolean }): void;
  setSessionName(name: string): void;
}

export interface ToolDefinition {
  name: string;
  label: string;
  /** What the model is told of it. */
  description: string;
  /** Its line among the tools in the default prompt. */
  promptSnippet?: string;
  /** A JSON schema; pi checks a call's parameters against it. */
  parameters: object;
  /** What it throws is told to the model as the call's failure. */
  execute(id: string, parameters: unknown): Promise<ToolResult>;
}

export interface ToolResult {
  content: { type: 'text'; text: string }[];
  details: object;
}

export interface ChatModel {
  id: string;
  provider: string;
  api: string;
}

export interface ProviderConfig {
  name: string;
  baseUrl: string;
  apiKey: string;
  api: string;
  models: {
    id: string;
    name: string;
    reasoning: boolean;
    input: 'text'[];
    cost: { input: number; output: number; cacheRead: number; cacheWrite: number };
    contextWindow: number;
    maxTokens: number;
  }[];
  streamSimple(model: ChatModel, context: { messages: Message[] }, options?: StreamOptions): MessageStream;
}

export interface StreamOptions {
  signal?: AbortSignal;
  onPayload?(payload: unknown, model: ChatModel): unknown;
  onResponse?(response: { status: number; headers: Record<string, string> }, model: ChatModel): unknown;
}

export interface ToolCall {
  type: 'toolCall';
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

export type Block = { type: 'text'; text: string } | ToolCall | { type: 'thinking' | 'image' };

export interface Message {
  role: string;
  content?: string | Block[] | null | undefined;
  /** Of `system` messages: the tools declared with them. */
  toolsAdded?: { name: string }[];
  toolsRemoved?: { name: string }[];
  /** Of `toolResult` messages. */
  toolName?: string;
  isError?: boolean;
}

export interface AssistantMessage extends Message {
  role: 'assistant';
  content: Block[];
  api: string;
  provider: string;
  model: string;
  usage: {
    input: number;
    output: number;
    cacheRead: number;
    cacheWrite: number;
    totalTokens: number;
    cost: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
  };
  stopReason: 'pending' | 'stop' | 'toolUse' | 'aborted' | 'error';
  errorMessage?: string;
  timestamp: number;
}

export type StreamEvent =
  | { type: 'start'; partial: AssistantMessage }
  | { type: 'text_start' | 'toolcall_start'; contentIndex: number; partial: AssistantMessage }
  | { type: 'text_delta' | 'toolcall_delta'; contentIndex: number; delta: string; partial: AssistantMessage }
  | { type: 'text_end'; contentIndex: number; content: string; partial: AssistantMessage }
  | { type: 'toolcall_end'; contentIndex: number; toolCall: ToolCall; partial: AssistantMessage }
  | { type: 'done'; reason: 'stop' | 'toolUse'; message: AssistantMessage }
  | { type: 'error'; reason: 'aborted' | 'error'; error: AssistantMessage };

export interface MessageStream extends AsyncIterable<StreamEvent> {
  push(event: StreamEvent): void;
  end(): void;
  /** The final message. */
  result(): Promise<AssistantMessage>;
}
