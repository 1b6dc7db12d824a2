/** The `.env` parser, loaded on demand; see `tar-stream.ts` for why it has a module of its own. */
export { parse } from 'dotenv';
