import { describe, expect, it } from 'vitest';
import {
  jobsEnvironment,
  loadConfig,
  passedEnvironment,
  settingFromFlag,
  terminalEnvironment,
} from '../../../src/cli/config/index.ts';
import { UsageError } from '../../../src/lib/errors.ts';

const config = await loadConfig({ env: { PI_SANDBOX_PASS_ENV: 'A_KEY,MISSING' }, home: '/nowhere' });

describe('what goes into a sandbox', () => {
  it('S10: only the variables that PASS_ENV names, for one process and never for the container', () => {
    expect(passedEnvironment(config, { A_KEY: 'a', B_KEY: 'b', PATH: '/bin' })).toEqual({
      process: { A_KEY: 'a' },
      container: {},
    });
  });

  it('S10: proxy variables in both spellings; one with a password is kept out of the container', () => {
    expect(
      passedEnvironment(config, { https_proxy: 'http://p:1', NO_PROXY: 'a', HTTP_PROXY: 'http://me:pw@p:1' }),
    ).toEqual({
      container: { HTTPS_PROXY: 'http://p:1', https_proxy: 'http://p:1', NO_PROXY: 'a', no_proxy: 'a' },
      process: { HTTP_PROXY: 'http://me:pw@p:1', http_proxy: 'http://me:pw@p:1' },
    });
  });

  it('J8, J16: the limits of jobs, those of the domain with it', async () => {
    const limited = await loadConfig({
      home: '/nowhere',
      env: {
        PI_SANDBOX_DOMAINS: 'acme,free',
        PI_SANDBOX_MULTI_AGENT_MAX_RUNNING: '24',
        PI_SANDBOX_DOMAIN_ACME_MAX_COST: '2.5',
      },
    });
    expect(jobsEnvironment(limited, 'acme')).toEqual({
      MULTI_AGENT_MAX_RUNNING: '24',
      MULTI_AGENT_MAX_DEPTH: '2',
      MULTI_AGENT_DAY_MAX_COST: '2.5',
      SESSIONS_RETENTION_DAYS: '30',
    });
    expect(jobsEnvironment(limited, 'free')).not.toHaveProperty('MULTI_AGENT_DAY_MAX_COST');
  });

  it('S20: terminal, language and time zone', () => {
    expect(
      terminalEnvironment({
        TERM: 'xterm',
        LANG: 'de_DE.UTF-8',
        TZ: 'Europe/Berlin',
        HOME: '/x',
        COLORTERM: '',
      }),
    ).toEqual({
      TERM: 'xterm',
      LANG: 'de_DE.UTF-8',
      LC_CTYPE: 'C.UTF-8',
      TZ: 'Europe/Berlin',
    });
    expect(terminalEnvironment({ LANG: 'C' })).toEqual({ LANG: 'C' });
    expect(terminalEnvironment({ TZ: ':/etc/localtime' })).toEqual({});
  });
});

describe('flags that override a key', () => {
  it('S14: take the same values and errors', () => {
    expect(settingFromFlag('MEMORY', '2g', '--memory')).toBe(2 * 1024 ** 3);
    expect(() => settingFromFlag('CPUS', 'all', '--cpus')).toThrow(UsageError);
    expect(() => settingFromFlag('CPUS', 'all', '--cpus')).toThrow(/^--cpus is "all"; allowed: a number/);
  });
});
