// The house rules of docs/architecture.md: four storeys, arrows only downward.
const top = '^src/(cli|container|agent)/';
const rooms = '^src/(history|jobs|runs|work|hosted|egress|maintenance)/';
const doorways = '^src/(engine|pi|wire|agent-dir)/';
const lib = '^src/lib/';

module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'top-storey-is-separate',
      comment: 'cli, container and agent run on different machines: what they share lies in a lower storey',
      severity: 'error',
      from: { path: '^src/(cli|container|agent)/' },
      to: { path: top, pathNot: '^src/$1/' },
    },
    { name: 'rooms-look-down', severity: 'error', from: { path: rooms }, to: { path: top } },
    {
      name: 'rooms-are-separate',
      comment: 'only runs -> jobs, runs -> work and jobs -> work',
      severity: 'error',
      from: { path: '^src/(history|work|hosted|egress|maintenance)/' },
      to: { path: rooms, pathNot: '^src/$1/' },
    },
    {
      name: 'jobs-use-work',
      severity: 'error',
      from: { path: '^src/jobs/' },
      to: { path: rooms, pathNot: '^src/(jobs|work)/' },
    },
    {
      name: 'runs-use-jobs-and-work',
      severity: 'error',
      from: { path: '^src/runs/' },
      to: { path: rooms, pathNot: '^src/(runs|jobs|work)/' },
    },
    {
      name: 'doorways-look-down',
      severity: 'error',
      from: { path: '^src/(engine|pi|wire|agent-dir)/' },
      to: { path: `${top}|${rooms}|${doorways}`, pathNot: '^src/$1/' },
    },
    { name: 'lib-stands-alone', severity: 'error', from: { path: lib }, to: { path: '^src/', pathNot: lib } },
    {
      name: 'rooms-export-through-their-index',
      severity: 'error',
      from: { path: '^src/([^/]+)/' },
      to: {
        path: '^src/(history|jobs|runs|work|hosted|egress|maintenance|engine|pi|wire|agent-dir)/',
        pathNot: ['^src/$1/', '^src/[^/]+/index\\.ts$'],
      },
    },
    {
      name: 'dockerode-lives-in-engine',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/engine/' },
      to: { path: 'node_modules/(dockerode|docker-modem|@types/dockerode)' },
    },
    {
      name: 'not-to-dev-dep',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev'], pathNot: 'node_modules/@types/' },
    },
    {
      name: 'no-orphans',
      severity: 'error',
      from: { orphan: true, path: '^src/', pathNot: '\\.d\\.ts$' },
      to: {},
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.mjs', '.json'] },
  },
};
