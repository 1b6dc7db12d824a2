import { type ModelServer, modelServer } from '../../setup/model-server.ts';
import { allOf, expectSuccess, expectThat } from '../commands.ts';
import type { FaultCase } from '../fault-case.ts';
import { DOMAINS, type Domain, type World } from '../world.ts';

/** Each domain's own, and none of them what pi would choose by itself, which is the first. */
const MODELS: Record<Domain, string> = { one: 'fake-2', two: 'fake-3' };
const LOCK = '"$PI_CODING_AGENT_DIR/settings.json.lock"';

let model: ModelServer | undefined;

function configure(world: World, server: ModelServer): void {
  const models = JSON.parse(server.models);
  for (const id of Object.values(MODELS))
    models.providers.fake.models.push({ ...models.providers.fake.models[0], id });
  world.configure('config/models.json', JSON.stringify(models));
  const settings = JSON.parse(server.settings);
  for (const domain of DOMAINS) {
    world.configure(
      `config/domains/${domain}/settings.json`,
      JSON.stringify({ ...settings, defaultModel: MODELS[domain] }),
    );
  }
}

export const rightSettings: FaultCase<World> = {
  name: 'right-settings',
  about:
    'starts of real pi in 4 sandboxes of 2 domains at once, one with a stale settings lock: each has the settings of its domain (S8)',
  tries: { usual: 5, few: 1 },
  async prepare(world) {
    model = await modelServer();
    configure(world, model);
  },
  async attempt(world, random, note, { crowd }) {
    const server = model;
    if (server === undefined) throw new Error('not prepared');
    const sandboxes = [0, 1, 2, 3].map((index) => ({
      project: world.project(),
      domain: DOMAINS[index % 2] ?? DOMAINS[0],
    }));
    const stale = random.below(sandboxes.length);
    const planted = sandboxes[stale];
    if (planted !== undefined) {
      const { project, domain } = planted;
      note(`a stale lock in sandbox ${stale}`);
      await expectSuccess(world.shell(project, ['sh', '-c', `mkdir ${LOCK}`], { domain }), 'planting failed');
    }
    const starts = Array.from({ length: crowd }, async (_, index) => {
      const { project, domain } = sandboxes[index % sandboxes.length] ?? { project: '', domain: DOMAINS[0] };
      const prompt = `who answers ${random.below(2 ** 30)}`;
      server.say(prompt, `I answer ${prompt}.`);
      const started = world.command(
        ['start', '--domain', domain, project, '--', '--mode', 'json', '-p', prompt],
        {
          patienceMs: 120_000,
        },
      );
      const outcome = await expectSuccess(started, 'pi failed');
      expectThat(outcome.stdout.includes(`I answer ${prompt}.`), 'not the answer of the model', outcome);
      const body = server.requests().find((request) => JSON.stringify(request).includes(prompt));
      const asked = JSON.stringify(body);
      expectThat(
        asked.includes(`"model":"${MODELS[domain]}"`),
        `another model than ${MODELS[domain]} of ${domain}: ${asked.slice(0, 300)}`,
      );
      expectThat(
        outcome.stdout.includes(`"model":"${MODELS[domain]}"`),
        'the Session names another model',
        outcome,
      );
    });
    await allOf(starts);
  },
  async finish() {
    await model?.stop();
    model = undefined;
  },
};
