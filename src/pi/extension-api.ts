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
  /** Undefined when the user takes it back. */
  input(title: string, placeholder?: string): Promise<string | undefined>;
  confirm(title: string, message: string): Promise<boolean>;
  /** A screen of one's own in the editor's place; only with a terminal. */
  custom<Result>(screen: CustomScreen<Result>): Promise<Result>;
}

/** Makes a screen; `done` closes it with what it is for. */
export type CustomScreen<Result> = (
  tui: { requestRender(): void },
  theme: ScreenTheme,
  keys: { matches(data: string, action: string): boolean },
  done: (result: Result) => void,
) => ScreenComponent;

export interface ScreenTheme {
  /** The text in one of the theme's colours. */
  fg(colour: string, text: string): string;
}

export interface ScreenComponent {
  /** Lines of at most `width` columns. */
  render(width: number): string[];
  handleInput(data: string): void;
  invalidate(): void;
}

/** pi's own object; it is read, and only the lock extension's guard touches more of it. */
export interface SessionFacts {
  getSessionId(): string;
  /** Undefined for a Session that is kept in memory (`--no-session`). */
  getSessionFile(): string | undefined;
  getSessionName(): string | undefined;
  /** The last entry of the current branch; after loading, the last of the file. */
  getLeafId(): string | null;
  /** Every entry of the file, oldest first. */
  getEntries(): readonly SessionEntry[];
}

/** An entry as far as ours look at one. */
export interface SessionEntry {
  type: string;
  /** Of a `custom_message`. */
  customType?: string;
  details?: unknown;
  /** Of a `message`. */
  message?: { role: string; toolName?: string; details?: unknown };
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
  agent_settled: { event: object; answer: undefined };
  tool_execution_end: { event: { toolName: string }; answer: undefined };
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
  /** Puts a message of ours into the conversation; `followUp` waits for the end of what runs. */
  sendMessage(message: CustomMessage, options: { triggerTurn: boolean; deliverAs: 'followUp' }): void;
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
  execute(
    id: string,
    parameters: unknown,
    signal: AbortSignal | undefined,
    onUpdate: unknown,
    context: ExtensionContext,
  ): Promise<ToolResult>;
}

export interface ToolResult {
  content: { type: 'text'; text: string }[];
  details: object;
  /** What the call spent on models itself; pi adds it to the Session's totals. */
  usage?: ModelUsage;
}

/** Tokens, and US dollars. */
export interface ModelUsage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  totalTokens: number;
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
}

export interface CustomMessage {
  customType: string;
  content: string;
  /** Shown to the user too. */
  display: boolean;
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
  usage: ModelUsage;
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
