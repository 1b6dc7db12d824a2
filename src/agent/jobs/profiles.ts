import { type FoundProfile, listProfiles } from '../../jobs/index.ts';
import { jsonText } from '../../lib/json-text.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { table } from '../../lib/table.ts';
import { jobContext } from './context.ts';
import { profilePlaces } from './prepare.ts';

/** The profiles that there are, and what is wrong with those that cannot be used: exit code 1 then. */
export async function profiles({ json = false }: { json?: boolean }): Promise<number> {
  const context = await jobContext();
  const { profiles: found, bad, untrusted } = await listProfiles(profilePlaces(context));
  if (json) {
    const facts = {
      version: 1,
      profiles: found.map(factsOf),
      bad: bad.map(({ file, message }) => ({ file, message })),
      untrusted,
    };
    process.stdout.write(`${jsonText(facts, 2)}\n`);
    return bad.length > 0 ? 1 : 0;
  }
  const rows = found.map(({ profile, source }) =>
    [profile.name, source, profile.model ?? '-', profile.description].map((cell) => safeForTerminal(cell)),
  );
  process.stdout.write(table(['profile', 'from', 'model', 'what it is for'], rows));
  for (const { message } of bad) process.stderr.write(`multi-agent: ${safeForTerminal(message)}\n`);
  if (untrusted) {
    process.stderr.write(
      `multi-agent: the profiles of ${safeForTerminal(context.project.directory)} are not read: pi does not trust it\n`,
    );
  }
  return bad.length > 0 ? 1 : 0;
}

function factsOf({ profile, source, file }: FoundProfile) {
  const { text: _text, ...facts } = profile;
  return { ...facts, source, file };
}
