import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { DEFAULT_CONNECTION_LIMITS, DEFAULT_RATE_LIMITS } from '../server/limits.ts'
import { type ConfigurationFile, listScrapydFiles, readConfiguration } from './read-files.ts'
import { plainHttpOn, refusePlainHttp } from './host-options.ts'
import { resolveServeOptions, describeConfiguration } from './resolve.ts'
import type { ServeFlags } from './serve-options.ts'
import { namesIn, OPTIONS } from './option-table.ts'
import { SCRAPYD_SERVICES } from './read-scrapyd-options.ts'

function aFolder(files: Record<string, string> = {}): string {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-config-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  return directory
}

const named = (path: string): ConfigurationFile => ({ path, origin: 'named' })

function resolve(
  text: string | null,
  over: { flags?: ServeFlags; environment?: Record<string, string>; files?: ConfigurationFile[] } = {}
) {
  const files = over.files ?? (text === null ? [] : [named(join(aFolder({ 'scrapyd.conf': text }), 'scrapyd.conf'))])
  return resolveServeOptions({
    flags: over.flags ?? {},
    environment: over.environment ?? {},
    configuration: readConfiguration(files),
    defaultDataDirectory: '/data',
    workingDirectory: '/work',
    cpuCount: 3
  })
}
const scrapyd = (lines: string, over?: Parameters<typeof resolve>[1]) => resolve(`[scrapyd]\n${lines}\n`, over).options

describe('options of the service', () => {
  it('have default values', () => {
    expect(resolve(null).options).toEqual({
      dataDirectory: '/data',
      isPortNamed: false,
      bindAddress: '127.0.0.1',
      port: 6800,
      unixSocketPath: null,
      credentials: null,
      localSlots: null,
      configuredSlots: null,
      pythonPath: null,
      sshProgram: null,
      engineName: null,
      engineAddress: null,
      postgres: null,
      s3: null,
      blobsDirectory: null,
      cache: null,
      secretKeyFile: null,
      encryption: null,
      warmStarts: { isOn: true, mostParents: 4, waitMs: 0, mostParked: 1 },
      isolation: { way: 'off', users: { first: 60_706, last: 61_183 } },
      logLevel: null,
      allowedHosts: [],
      crawlCacheSeconds: 3_600,
      audit: { days: 400, syslog: null },
      cancelWaitsSeconds: null,
      directories: {},
      jobsToKeep: null,
      settingsProjects: {},
      scrapyd: {},
      discovery: [],
      plugins: [],
      webhookNetworks: '',
      alertCommands: [],
      clusterCredentialDirectories: [],
      heartbeat: null,
      secretFiles: [],
      trustedProxies: [],
      signIn: {
        oidc: null,
        jwt: null,
        proxy: null,
        pluginRoles: new Map(),
        publicUrl: null,
        requiresSecondFactor: false
      },
      trustedEngines: [],
      tls: null,
      redirectPort: null,
      behindProxy: false,
      allowPlainHttp: false,
      metrics: { isServed: true, prefix: 'scrapdeck', openTo: [] },
      rateLimits: DEFAULT_RATE_LIMITS,
      connectionLimits: DEFAULT_CONNECTION_LIMITS
    })
  })

  it('collect all files with secrets, which addresses of clusters cannot use', () => {
    const file = import.meta.filename
    const folder = aFolder({
      'scrapyd.conf': [
        ...['[scrapyd]', 'username = u', '[scrapdeck]', `password_file = ${file}`, 'secret_key_file = keys/seal'],
        ...['encryption_key_file = /k/e', 'blobs_credentials_file = /k/s3', `oidc_client_secret_file = ${file}`],
        ...['tls_certificate = /k/cert', 'tls_key = /k/tls']
      ].join('\n')
    })
    const path = join(folder, 'scrapyd.conf')
    const environment = {
      SCRAPDECK_ENCRYPTION_KEY_FILE: '/other/e',
      AWS_WEB_IDENTITY_TOKEN_FILE: '/run/aws/token',
      SCRAPDECK_CACHE_PASSWORD_FILE: '/k/cache'
    }
    const { secretFiles } = resolve(null, { environment, flags: { tlsKey: 'flag.key' }, files: [named(path)] }).options
    expect([...secretFiles].sort()).toEqual(
      [
        ...[path, file, '/work/keys/seal', '/other/e', '/k/e', '/k/s3', '/work/flag.key', '/k/tls'],
        ...['/run/aws/token', '/k/cache']
      ].sort()
    )
  })

  it('mark each one that names a file with a secret', () => {
    const marked = OPTIONS.filter(({ holdsSecret }) => holdsSecret).map(({ name }) => name)
    const likely = OPTIONS.map(({ name }) => name).filter((name) => /_(?:file|key)$/.test(name))
    expect(marked.sort()).toEqual(likely.sort())
  })

  it('limit the request rate of the API, as a number per second or with window and burst', () => {
    const api = (text: string) => resolve(`[scrapdeck]\n${text}\n`).options.rateLimits.api
    expect(api('api_requests_per_second = 0')).toBeNull()
    expect(api('api_requests_per_second = 20')).toEqual({ requests: 20, windowSeconds: 1, burst: 80 })
    expect(api('api_rate_limit = 600 per 60')).toEqual({ requests: 600, windowSeconds: 60, burst: 40 })
    expect(api('api_rate_limit = 600 per 60 burst 100')).toEqual({ requests: 600, windowSeconds: 60, burst: 100 })
    expect(api('api_rate_limit = 0')).toBeNull()
    for (const text of ['600', '600 per 0', '0 per 60', '600 / 60', 'many per second', '600 per 60 burst 0'])
      expect(() => api(`api_rate_limit = ${text}`)).toThrow('such as "600 per 60"')
    expect(() => api('api_requests_per_second = 5\napi_rate_limit = 5 per 1')).toThrow('Remove one of them')
    for (const text of ['-1', '1.5', 'many'])
      expect(() => resolve(`[scrapdeck]\napi_requests_per_second = ${text}\n`)).toThrow('whole number')
  })

  it('limit the request rate of the other endpoints, under our name or with the three options of [scrapyd]', () => {
    const limits = (text: string) => resolve(text).options.rateLimits
    expect(limits('[scrapdeck]\nrate_limit = 10 per 1\nopen_rate_limit = 0')).toMatchObject({
      endpoints: { requests: 10, windowSeconds: 1, burst: 40 },
      open: null
    })
    const three = 'rate_limiting_enabled = true\nrate_limit_max_requests = 100\nrate_limit_window = 30'
    expect(limits(`[scrapyd]\n${three}`).endpoints).toEqual({ requests: 100, windowSeconds: 30, burst: 100 })
    expect(limits('[scrapyd]\nrate_limiting_enabled = on').endpoints).toEqual({
      requests: 1000,
      windowSeconds: 60,
      burst: 1000
    })
    expect(limits('[scrapyd]\nrate_limiting_enabled = off').endpoints).toBeNull()
    const idle = resolve('[scrapyd]\nrate_limit_max_requests = 100')
    expect([idle.options.rateLimits.endpoints, idle.warnings]).toEqual([
      null,
      [expect.stringContaining('has no effect without rate_limiting_enabled = on')]
    ])
    expect(() => limits(`[scrapyd]\n${three}\n[scrapdeck]\nrate_limit = 1 per 1`)).toThrow('Remove one of them')
    expect(() => limits('[scrapyd]\nrate_limiting_enabled = on\nrate_limit_window = 0')).toThrow('whole number from 1')
  })

  it('name a certificate and its key, which belong together', () => {
    const tls = (text: string) => resolve(`[scrapdeck]\n${text}\n`).options.tls
    expect(tls('tls_certificate = /c.pem\ntls_key = /k.pem')).toEqual({
      files: { certificate: '/c.pem', key: '/k.pem' },
      clientAuthority: null
    })
    expect(tls('tls_self_made = on\ntls_client_ca = /ca.pem')).toEqual({
      files: 'self-made',
      clientAuthority: '/ca.pem'
    })
    expect(() => tls('tls_self_made = on\ntls_certificate = /c.pem\ntls_key = /k.pem')).toThrow('set one of them')
    expect(() => tls('tls_client_ca = /ca.pem')).toThrow('needs tls_certificate')
    const shared = 'tls_self_made = on\ntls_client_ca = /ca.pem\nstore = postgres://db.example/crawls'
    expect(() => tls(shared)).toThrow('PostgreSQL')
    const given = shared.replace('tls_self_made = on', 'tls_certificate = /c.pem\ntls_key = /k.pem')
    expect(tls(given)).toMatchObject({ clientAuthority: '/ca.pem' })
    expect(tls('tls_certificate =\ntls_key =')).toBeNull()
    for (const text of ['tls_certificate = /c.pem', 'tls_key = /k.pem', 'tls_certificate = /c.pem\ntls_key ='])
      expect(() => tls(text)).toThrow('belong together')
    expect(() => tls('http_redirect_port = 80')).toThrow('needs tls_certificate')
  })

  it.each([
    ['127.0.0.1', '', null],
    ['127.1.2.3', '', null],
    ['localhost', '', null],
    ['', 'unix_socket_path = /s', null],
    ['10.0.0.1', '', '10.0.0.1'],
    ['0.0.0.0', '', '0.0.0.0'],
    ['::', '', '::'],
    ['0.0.0.0', '[scrapdeck]\nbehind_proxy = on', null],
    ['0.0.0.0', '[scrapdeck]\ntls_certificate = /c\ntls_key = /k', null]
  ])('on %o with %o, say where plain HTTP is reachable, which needs consent', (bind, text, where) => {
    const { options } = resolve(`[scrapyd]\nbind_address = ${bind}\n${text}\n`)
    expect(plainHttpOn(options)).toBe(where)
    if (where === null) refusePlainHttp(options)
    else expect(() => refusePlainHttp(options)).toThrow(/tls_certificate.*behind_proxy.*--allow-plain-http/)
    const consent = resolve(`[scrapyd]\nbind_address = ${bind}\n${text}\n`, { flags: { allowPlainHttp: true } })
    refusePlainHttp(consent.options)
    expect(consent.warnings.filter((warning) => warning.includes('over plain HTTP'))).toHaveLength(
      where === null ? 0 : 1
    )
  })

  it('trust the proxy in front on this machine, unless another one is named', () => {
    const proxies = (text: string) => resolve(`[scrapdeck]\n${text}\n`).options.trustedProxies
    expect(proxies('behind_proxy = on')).toEqual(['127.0.0.1', '::1'])
    expect(proxies('behind_proxy = on\ntrusted_proxies = 10.0.0.1')).toEqual(['10.0.0.1'])
    expect(proxies('behind_proxy = off')).toEqual([])
  })

  it('name the proxies that are trusted, as addresses and networks but never everything', () => {
    const metrics = (text: string) => resolve(text).options.metrics
    expect(metrics('[metrics]\nenabled = off\nnamespace = scrapyd\n')).toMatchObject({
      isServed: false,
      prefix: 'scrapyd'
    })
    expect(metrics('[scrapdeck]\nmetrics_from = 10.1.0.0/16, ::1\n').openTo).toEqual(['10.1.0.0/16', '::1'])
    expect(() => metrics('[scrapdeck]\nmetrics_from = 0.0.0.0/0\n')).toThrow('metrics_from')
    expect(() => metrics('[scrapdeck]\nmetrics_prefix = a-b\n')).toThrow('a-b')
    const proxies = (text: string) => resolve(`[scrapdeck]\ntrusted_proxies = ${text}\n`).options.trustedProxies
    expect(proxies('127.0.0.1, ::1 10.1.0.0/16 fd00::/8')).toEqual(['127.0.0.1', '::1', '10.1.0.0/16', 'fd00::/8'])
    for (const text of ['0.0.0.0/0', '::/0', 'proxy.example', '10.0.0.0/33', '10.0.0', '10.0.0.1/8/8'])
      expect(() => proxies(text)).toThrow('addresses and networks')
  })

  it('configure external sign-in, and refuse settings that would let anyone in', () => {
    const signIn = (lines: string) => resolve(`[scrapdeck]\n${lines}\n`)
    const oidc =
      'oidc_issuer = https://id.example.org/realms/x\noidc_client_id = deck\noidc_client_secret = hush hush\npublic_url = https://deck.example.org/'
    const roles =
      'oidc_roles =\n  cn=crawlers,dc=example = operator\n  crawl admins = owner\n  crawl admins = viewer in a b\n  shop = deployer in shop\n  eu ops = admin of nodes eu\n  eu ops = operator  of nodes  us\n  shop = viewer in a of nodes b'
    const { options, listed } = signIn(`${oidc}\n${roles}`)
    expect(options.signIn).toMatchObject({
      oidc: {
        issuer: 'https://id.example.org/realms/x',
        clientId: 'deck',
        clientSecret: 'hush hush',
        label: 'id.example.org',
        sessionMs: 12 * 3_600_000,
        groupsClaim: 'groups',
        roles: new Map([
          ['cn=crawlers,dc=example', { role: 'operator', projects: {}, nodeGroups: {} }],
          ['crawl admins', { role: 'owner', projects: { 'a b': 'viewer' }, nodeGroups: {} }],
          ['shop', { role: null, projects: { shop: 'deployer', 'a of nodes b': 'viewer' }, nodeGroups: {} }],
          ['eu ops', { role: null, projects: {}, nodeGroups: { eu: 'admin', us: 'operator' } }]
        ])
      },
      jwt: null,
      proxy: null,
      pluginRoles: new Map(),
      publicUrl: 'https://deck.example.org'
    })
    expect(JSON.stringify(listed)).not.toContain('hush')
    expect(listed.find(({ name }) => name === 'oidc_roles')?.value).toContain('; eu ops = admin of nodes eu; ')
    const jwt = 'jwt_issuer = https://ci.example.org'
    const proxy = 'proxy_user_header = Remote-User\nproxy_groups_header = Remote-Groups\nproxy_roles = a = owner'
    for (const [lines, why] of [
      [oidc, 'oidc_roles says which groups'],
      [`${oidc}\noidc_roles = crawlers`, 'such as "scrapers = operator"'],
      [`${oidc}\noidc_roles = crawlers = Root!`, 'Roles are viewer'],
      [`${oidc}\noidc_roles = a = viewer; a = owner`, 'twice'],
      [`${oidc}\noidc_roles = a = viewer in b; a = operator in b`, 'twice for b'],
      [`${oidc}\noidc_roles = a = admin in b`, 'in one project, viewer, operator, deployer'],
      [`${oidc}\noidc_roles = a = deployer of nodes eu`, 'of nodes with one tag, viewer, operator, admin.'],
      [`${oidc}\noidc_roles = a = owner of nodes eu`, 'of nodes with one tag, viewer, operator, admin.'],
      [`${oidc}\noidc_roles = a = shop keeper of nodes eu`, 'of nodes with one tag, viewer, operator, admin.'],
      [`${oidc}\noidc_roles = a = viewer of nodes eu us`, 'A tag must not contain spaces, | or !'],
      [`${oidc}\noidc_roles = a = viewer of nodes !eu`, 'A tag must not contain spaces, | or !'],
      [`${oidc}\noidc_roles = a = viewer of nodes`, 'or "eu ops = admin of nodes eu", not "a = viewer of nodes"'],
      [`${oidc}\noidc_roles = a = viewer of nodes eu; a = admin of nodes eu`, 'twice for nodes eu'],
      [`${jwt}\njwt_audience = deck\njwt_roles = a = root of nodes eu`, 'of nodes with one tag'],
      [`${oidc}\n${roles}\noidc_scopes = profile`, 'the scope openid'],
      [`${oidc}\n${roles}\noidc_session_hours = 0`, 'at least 1'],
      [`${roles}\noidc_issuer = http://id.example.org\noidc_client_id = x`, 'https:// address'],
      [`${roles}\noidc_issuer = https://id.example.org`, 'needs oidc_client_id'],
      [`${jwt}\njwt_roles = a = viewer`, 'needs jwt_audience'],
      [`${jwt}\njwt_audience = deck`, 'jwt_roles says which groups'],
      ['plugin_roles = staff', 'plugin_roles takes lines such as'],
      [proxy, 'needs proxy_addresses'],
      [`${proxy}\nproxy_addresses = 0.0.0.0/0`, 'can be any user'],
      [`${proxy}\nproxy_addresses = 10.0.0.7\nproxy_groups_separator = ,;`, 'takes one of'],
      [`${proxy}\nproxy_addresses = 10.0.0.7\nproxy_groups_separator = toString`, 'takes one of'],
      [`${proxy.replace('Remote-User', 'Cookie')}\nproxy_addresses = 10.0.0.7`, 'cannot be the name of a header'],
      ['public_url = https://deck.example.org/path', 'where browsers reach']
    ] as const)
      expect(() => signIn(lines)).toThrow(why)
    expect(signIn(`${proxy}\nproxy_addresses = 10.0.0.7`).options.signIn.proxy).toMatchObject({
      userHeader: 'remote-user',
      groupsSeparator: ','
    })
    for (const [text, groupsSeparator] of [
      [',', ','],
      [';', ';'],
      ['|', '|'],
      ['space', ' '],
      ['', ',']
    ]) {
      const { proxy: read } = signIn(`${proxy}\nproxy_addresses = 10.0.0.7\nproxy_groups_separator = ${text}`).options
        .signIn
      expect(read, text).toMatchObject({ groupsSeparator })
    }
    expect(signIn(`${roles}\noidc_issuer = http://[::1]:9\noidc_client_id = x`).options.signIn.oidc).not.toBeNull()
  })

  it('name directories with credentials of clusters, by whole paths and never everything', () => {
    const given = (text: string) => resolve(`[scrapdeck]\ncluster_credential_directories = ${text}\n`).options
    expect(given('/etc/clusters/\n  /run/secrets/a b').clusterCredentialDirectories).toEqual([
      ...['/etc/clusters', '/run/secrets/a b']
    ])
    for (const text of ['/', 'clusters', './clusters', '//', '/etc/..'])
      expect(() => given(text), text).toThrow('takes absolute paths of directories')
  })

  it('name engines that the UI links to, by addresses without passwords', () => {
    const engines = (text: string) => resolve(`[scrapdeck]\ntrusted_engines = ${text}\n`).options.trustedEngines
    expect(engines('EU = https://eu.example.org/, \n  US west=http://10.0.0.1:6800/deck/')).toEqual([
      { name: 'EU', url: 'https://eu.example.org' },
      { name: 'US west', url: 'http://10.0.0.1:6800/deck' }
    ])
    for (const text of [
      'https://eu.example.org',
      'EU=ftp://x',
      'EU=javascript:alert(1)',
      'EU=https://me:geheim@x',
      '=http://x'
    ])
      expect(() => engines(text)).toThrow('NAME=URL')
    expect(() => engines('EU=https://me:geheim@x')).not.toThrow('geheim')
  })

  it('set the location of blobs, and refuse credentials in it', () => {
    const text = 'blobs = s3://crawls/a?region=eu-west-1\nblobs_credentials_file = /c\nblobs_cache_mb = 500'
    const { options, listed } = resolve(`[scrapdeck]\n${text}\n`)
    expect(options.s3).toMatchObject({
      address: { bucket: 'crawls', prefix: 'a/', region: 'eu-west-1', isPathStyle: false },
      credentialsFile: '/c',
      cacheBytes: 500_000_000
    })
    expect(listed).toContainEqual(expect.objectContaining({ name: 'blobs', value: 's3://crawls/a?region=eu-west-1' }))
    expect(resolve('[scrapdeck]\nblobs = files\n').options.s3).toBeNull()
    expect(resolve(null, { flags: { blobs: 's3://other' } }).options.s3?.address.name).toBe('s3://other/')
    expect(() => resolve('[scrapdeck]\nblobs_cache_mb = 10\n')).toThrow('at least 64')
    for (const [blobs, path] of [
      ['/mnt/share/scrapdeck/', '/mnt/share/scrapdeck'],
      ['/mnt/a//b/../c', '/mnt/a/c'],
      ['file:///mnt/my%20share', '/mnt/my share']
    ] as const) {
      const { options: shared, listed: lines } = resolve(null, { flags: { blobs } })
      expect([shared.s3, shared.blobsDirectory]).toEqual([null, path])
      expect(lines).toContainEqual(expect.objectContaining({ name: 'blobs', value: path }))
    }
    for (const blobs of ['share', './share', 'file://host/share', 'file:///a?b', 'https://x.example', 'file:///%zz'])
      expect(() => resolve(null, { flags: { blobs } })).toThrow('the absolute path of a shared directory')
    const secret = { environment: { SCRAPDECK_BLOBS: 's3://key:hidden@crawls' } }
    expect(() => resolve(null, secret)).toThrow('must not contain credentials')
    expect(() => resolve(null, secret)).not.toThrow('hidden')
  })

  it('limit connections', () => {
    const text = '[scrapdeck]\nmax_connections = 100\nmax_connections_per_address = 10\n'
    expect(resolve(text).options.connectionLimits).toEqual({ total: 100, perAddress: 10 })
    expect(() => resolve('[scrapdeck]\nmax_connections = 0\n')).toThrow('whole number from 1')
  })

  it("come from the command line, then our variables, then Scrapyd's, then the files", () => {
    const file = 'bind_address = 10.0.0.1\nhttp_port = 7003\nusername = f\npassword = f\nmax_proc = 9'
    const environment: Record<string, string> = {
      SCRAPDECK_DATA: '/from-environment',
      SCRAPYD_BIND_ADDRESS: '0.0.0.0',
      SCRAPDECK_PORT: '7001',
      SCRAPYD_HTTP_PORT: '7002',
      SCRAPYD_USERNAME: 'u',
      SCRAPYD_PASSWORD: 'p',
      SCRAPDECK_LOCAL_SLOTS: '3',
      SCRAPDECK_PYTHON: '/usr/bin/python3',
      SCRAPDECK_ALLOWED_HOST: 'a.example, b.example'
    }
    const fromEnvironment = {
      dataDirectory: '/from-environment',
      bindAddress: '0.0.0.0',
      port: 7001,
      credentials: { username: 'u', password: 'p' },
      localSlots: 3,
      configuredSlots: 9,
      pythonPath: '/usr/bin/python3',
      allowedHosts: ['a.example', 'b.example']
    }
    expect(scrapyd(file, { environment })).toMatchObject(fromEnvironment)
    const flags = { port: '0', localSlots: '0', data: '/d', bind: '::1', allowedHost: ['c.example'] }
    expect(scrapyd(file, { environment, flags })).toMatchObject({
      ...fromEnvironment,
      dataDirectory: '/d',
      bindAddress: '::1',
      port: 0,
      localSlots: 0,
      allowedHosts: ['c.example']
    })
    delete environment['SCRAPDECK_PORT']
    expect(scrapyd(file, { environment })).toMatchObject({ port: 7002 })
    expect(scrapyd(file)).toMatchObject({
      bindAddress: '10.0.0.1',
      port: 7003,
      credentials: { username: 'f', password: 'f' },
      localSlots: null,
      configuredSlots: 9
    })
  })

  it('an empty variable counts as unset, as in Scrapyd', () => {
    expect(resolve(null, { environment: { SCRAPDECK_PORT: '', SCRAPYD_HTTP_PORT: '7002' } }).options.port).toBe(7002)
    const environment = { SCRAPYD_USERNAME: '', SCRAPYD_PASSWORD: '' }
    expect(scrapyd('username = f\npassword = 100%%', { environment }).credentials).toEqual({
      username: 'f',
      password: '100%'
    })
  })

  it.each(['x', '-1', '65536', '1.5', ' '])('--port %j is rejected', (port) => {
    expect(() => resolve(null, { flags: { port } })).toThrow('--port must be a whole number from 0 to 65535')
  })

  it('the password can be the first line of a file, and any other setting overrides it', () => {
    const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-password-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    const file = join(directory, 'password')
    writeFileSync(file, 'geheim\nnot this\n')
    const environment = { SCRAPDECK_USERNAME: 'ann', SCRAPDECK_PASSWORD_FILE: file }
    const resolved = resolve(null, { environment })
    expect(resolved.options.credentials).toEqual({ username: 'ann', password: 'geheim' })
    expect(JSON.stringify(resolved.listed)).not.toContain('geheim')
    expect(resolve(null, { environment: { ...environment, SCRAPDECK_PASSWORD: 'p' } }).options.credentials).toEqual({
      username: 'ann',
      password: 'p'
    })
    expect(() => resolve(null, { environment: { SCRAPDECK_PASSWORD_FILE: file } })).toThrow('or neither')
    writeFileSync(file, '\n')
    expect(() => resolve(null, { environment })).toThrow('the first line of')
    rmSync(file)
    expect(() => resolve(null, { environment })).toThrow('cannot be read (ENOENT)')
  })

  it('a password without a user name is rejected, wherever it is set', () => {
    expect(() => resolve(null, { flags: { password: 'p' } })).toThrow('or neither')
    expect(() => scrapyd('username = ann')).toThrow('scrapyd.conf, line 2: Set both the user name and the password')
    expect(scrapyd('username = ann', { environment: { SCRAPYD_PASSWORD: 'p' } }).credentials).toEqual({
      username: 'ann',
      password: 'p'
    })
  })
})

const OF_ASYNCHRONOUS = [
  ...['rate_limiting_enabled', 'rate_limit_max_requests', 'rate_limit_window'],
  ...['process_pool_enabled', 'process_pool_size', 'process_startup_timeout'],
  ...['cache_backend', 'redis_url', 'redis_max_connections', 'redis_compression_threshold'],
  ...['cache_max_size', 'cache_default_ttl', 'execution_ref'],
  ...['aiohttp_connector_limit', 'aiohttp_connector_limit_per_host']
]

describe("Scrapyd's options", () => {
  it('all options in the default file of Scrapyd 1.6 are known, and none of its defaults is rejected', () => {
    const { options, warnings } = resolve(DEFAULT_FILE)
    // With an empty user name, Scrapyd requires no password. Scrapdeck does require one, and warns about it.
    expect(warnings).toEqual([
      expect.stringMatching(/line 6: username is empty: .* "scrapdeck credentials" shows them/)
    ])
    const names = [...DEFAULT_FILE.matchAll(/^(\w+) +=/gm)].map((match) => match[1])
    expect(namesIn('scrapyd').sort()).toEqual([...names, 'node_name', ...OF_ASYNCHRONOUS].sort())
    expect(options).toEqual({
      ...resolve(null).options,
      isPortNamed: true,
      secretFiles: [expect.stringMatching(/scrapyd\.conf$/)],
      configuredSlots: 12,
      directories: { eggs: '/work/eggs', logs: '/work/logs', items: null, jobs: null },
      jobsToKeep: 5,
      scrapyd: { debug: false, prefixHeader: 'x-forwarded-prefix', finishedToKeep: 100, hasItems: false }
    })
  })

  it.each([
    ['bind_address =', { port: null, unixSocketPath: '/s' }],
    ['http_port = 0', { port: null, unixSocketPath: '/s' }],
    ['http_port =', { port: null, unixSocketPath: '/s' }],
    ['http_port = 6801', { port: 6801, unixSocketPath: '/s' }]
  ])('%s with a socket', (line, expected) => {
    expect(scrapyd(`${line}\nunix_socket_path = /s`)).toMatchObject(expected)
  })

  it('port 0 means any free port on our command line, but no TCP in Scrapyd’s options', () => {
    expect(resolve(null, { flags: { port: '0' } }).options.port).toBe(0)
    const environment = { SCRAPYD_HTTP_PORT: '0', SCRAPYD_UNIX_SOCKET_PATH: 'deck.sock' }
    expect(resolve(null, { environment }).options).toMatchObject({ port: null, unixSocketPath: '/work/deck.sock' })
    expect(() => scrapyd('http_port = 0')).toThrow('Scrapdeck would not be reachable')
    expect(() => scrapyd('http_port = eighty')).toThrow(/^[^\n]*not "eighty"\.$/)
  })

  it.each([
    ['max_proc = 7', 7],
    ['max_proc = 0', 12],
    ['max_proc_per_cpu = 2', 6],
    ['max_proc = 7\nmax_proc_per_cpu = 2', 7],
    ['poll_interval = 1', null]
  ])('%j gives slots %j on 3 CPUs', (lines, slots) => {
    expect(scrapyd(lines).configuredSlots).toBe(slots)
  })

  it('local_slots = 0 turns the local node off, as --local-slots 0 does', () => {
    expect(resolve('[scrapdeck]\nlocal_slots = 0\n').options.localSlots).toBe(0)
  })

  it('directories are relative to where the service starts; empty ones are disabled; items can be a URL', () => {
    expect(scrapyd('logs_dir =\nitems_dir = out/items\njobs_dir = jobs\neggs_dir = /eggs')).toMatchObject({
      directories: { logs: null, items: '/work/out/items', jobs: '/work/jobs', eggs: '/eggs' },
      scrapyd: { hasLogs: false }
    })
    expect(scrapyd('items_dir = s3://bucket/a?b=c')).toMatchObject({
      directories: { items: 's3://bucket/a?b=c' },
      scrapyd: { hasItems: false }
    })
    expect(scrapyd('items_dir = file:///srv/my%%20items').directories.items).toBe('/srv/my items')
    expect(() => scrapyd('eggs_dir =')).toThrow('eggs_dir is empty')
  })

  it('isolates spiders only on request, with user ids that belong to no account', () => {
    const keep = (text: string) => resolve(`[scrapdeck]\n${text}\n`).options.isolation
    expect(keep('keep_spiders_apart = users\nspider_users = 70000-70100')).toEqual({
      way: 'users',
      users: { first: 70_000, last: 70_100 }
    })
    expect(() => keep('keep_spiders_apart = yes')).toThrow(
      'is one of off, auto, sandbox, users, if-possible, not "yes"'
    )
    for (const range of ['0-100', '70100-70000', '70000', '70000-99999999999']) {
      expect(() => keep(`spider_users = ${range}`), range).toThrow('spider_users takes two user ids')
    }
  })

  it('0 jobs_to_keep deletes nothing, as in Scrapyd', () => {
    expect(scrapyd('jobs_to_keep = 0').jobsToKeep).toBeNull()
    expect(scrapyd('jobs_to_keep = 7').jobsToKeep).toBe(7)
  })

  it("finished_to_keep = 0 keeps all or none, depending on Scrapyd's job storage", () => {
    expect(scrapyd('finished_to_keep = 0').scrapyd.finishedToKeep).toBe(Number.POSITIVE_INFINITY)
    const lines = 'finished_to_keep = 0\njobstorage = scrapyd.jobstorage.SqliteJobStorage'
    expect(scrapyd(lines).scrapyd.finishedToKeep).toBe(0)
  })

  it('options that Scrapyd clients see are passed to the Scrapyd API', () => {
    const lines = 'node_name = deck-1\nprefix_header = X-Base\ndebug = yes\nfinished_to_keep = 7'
    expect(scrapyd(lines).scrapyd).toEqual({
      nodeName: 'deck-1',
      prefixHeader: 'X-Base',
      debug: true,
      finishedToKeep: 7
    })
  })

  it.each([
    ['username = a:b\npassword = p', 'scrapyd.conf, line 2: username contains a colon'],
    ['launcher = mine.Launcher', 'launcher = mine.Launcher is not scrapyd.launcher.Launcher'],
    ['runner = mine', 'with a runner of its own'],
    ['jobstorage = mine.Storage', 'jobstorage = mine.Storage is not'],
    ['max_proc = many', 'max_proc must be a whole number'],
    ['debug = perhaps', 'debug is on or off'],
    [
      'logs_dir = %(nothing)s',
      'scrapyd.conf, line 2: logs_dir cannot be read: %(nothing)s refers to an option that is not set'
    ],
    ['nonsense', 'scrapyd.conf, line 2: it is neither']
  ])('%j is rejected by name', (lines, message) => {
    expect(() => scrapyd(lines)).toThrow(message)
  })

  it('all problems are reported at once', () => {
    expect(() => scrapyd('launcher = a.B\npoller = c.D')).toThrow(/poller = c\.D[^]*launcher = a\.B/)
  })

  it('unknown names cause a warning', () => {
    const { warnings } = resolve('[scrapyd]\nlogs_to_keep = 5\n[service]\na = b\n')
    expect(warnings).toEqual([
      expect.stringContaining('scrapyd.conf, line 2: Scrapyd has no option "logs_to_keep"'),
      expect.stringContaining('the section [service]')
    ])
  })
})

const VALUES: Record<string, string> = {
  bind_address: '::1',
  http_port: '7005',
  unix_socket_path: '/s',
  username: 'ann',
  password: 'p',
  node_name: 'n',
  eggs_dir: '/e',
  logs_dir: '/l',
  items_dir: '/i',
  jobs_dir: '/j',
  max_proc: '3',
  max_proc_per_cpu: '2',
  jobs_to_keep: '3',
  finished_to_keep: '4',
  debug: 'on',
  prefix_header: 'x-base',
  rate_limiting_enabled: 'on',
  rate_limit_max_requests: '10',
  rate_limit_window: '5',
  process_pool_enabled: 'off',
  process_pool_size: '4',
  process_startup_timeout: '3',
  warm_starts: 'off',
  warm_parents: '2',
  warm_parked: '3',
  warm_wait: '1',
  keep_spiders_apart: 'sandbox',
  spider_users: '70000-70100',
  crawl_cache_ttl: '60',
  audit_days: '90',
  audit_syslog: 'tls://siem.example',
  audit_syslog_ca: '/ca.pem',
  store: 'postgres://db.example/crawls',
  store_password_file: import.meta.filename,
  password_file: import.meta.filename,
  secret_key_file: '/k',
  encryption_key_file: '/e',
  encryption_key_command: 'cat /e',
  engine_name: 'north',
  engine_address: 'http://10.0.0.2:6800',
  blobs: 's3://crawls/a?endpoint=https://s3.example',
  blobs_credentials_file: '/c',
  blobs_cache_mb: '500',
  cache: 'redis://cache.example',
  cache_password_file: import.meta.filename,
  redis_url: 'redis://r',
  cache_backend: 'redis',
  cache_default_ttl: '9',
  redis_compression_threshold: '9',
  backend: 'redis',
  host: 'r',
  port: '6380',
  db: '1',
  compression_threshold: '9',
  default_ttl: '9',
  cache_ttl: '30',
  cache_max_size: '1000',
  cache_compression_threshold: '100',
  data: '/d',
  python: '/p',
  ssh_program: '/s',
  local_slots: '2',
  log_level: 'debug',
  allowed_hosts: 'a.example',
  nodes: 'http://a:1',
  cancel_waits: '5 2 1',
  discover: 'dns a.svc',
  plugins: import.meta.filename,
  webhook_networks: '10.0.0.0/8',
  alert_commands: `page=${process.execPath} -e 0`,
  cluster_credential_directories: '/etc/clusters',
  life_url: 'https://life.example/a',
  life_every: '30',
  tls_certificate: '/c.pem',
  tls_key: '/k.pem',
  http_redirect_port: '8080',
  tls_self_made: 'on',
  tls_client_ca: '/a.pem',
  behind_proxy: 'on',
  allow_plain_http: 'on',
  trusted_engines: 'EU=https://eu.example.org',
  trusted_proxies: '10.0.0.1',
  api_rate_limit: '5 per 1',
  rate_limit: '5 per 1',
  open_rate_limit: '5 per 1',
  api_requests_per_second: '5',
  max_connections: '5',
  max_connections_per_address: '5',
  public_url: 'https://deck.example.org',
  require_second_factor: 'on',
  oidc_issuer: 'https://id.example.org',
  oidc_client_id: 'scrapdeck',
  oidc_client_secret: 's',
  oidc_client_secret_file: import.meta.filename,
  oidc_scopes: 'openid groups',
  oidc_name_claim: 'nick',
  oidc_groups_claim: 'roles',
  oidc_roles: 'team = operator',
  oidc_label: 'Example',
  oidc_session_hours: '8',
  jwt_issuer: 'https://ci.example.org',
  jwt_audience: 'scrapdeck',
  jwt_jwks_url: 'https://ci.example.org/keys',
  jwt_name_claim: 'sub',
  jwt_groups_claim: 'project',
  jwt_roles: 'shop = deployer',
  proxy_user_header: 'x-user',
  proxy_groups_header: 'x-groups',
  proxy_addresses: '10.0.0.1',
  proxy_groups_separator: ';',
  proxy_roles: 'team = operator',
  plugin_roles: 'staff = viewer',
  metrics_prefix: 'mine',
  metrics_from: '10.0.0.1',
  enabled: 'off',
  namespace: 'scrapyd',
  SCRAPYD_URL: 'http://scrapyd:6800',
  LOG_LEVEL: 'WARNING'
}

const NEEDED_BY: Record<string, string[]> = {
  oidc_issuer: ['oidc_client_id', 'oidc_roles'],
  jwt_issuer: ['jwt_audience', 'jwt_roles'],
  proxy_user_header: ['proxy_groups_header', 'proxy_addresses', 'proxy_roles']
}

describe('variables', () => {
  const honoured = OPTIONS.filter(({ meaning }) => meaning.kind === 'honoured')

  it.each(honoured.flatMap(({ name, variables }) => variables.map((variable) => [variable, name] as const)))(
    '%s sets %s, overriding the file and overridden by the command line',
    (variable, name) => {
      const environment: Record<string, string> = { [variable]: VALUES[name]! }
      if (name === 'store_password_file') environment['SCRAPDECK_STORE'] = VALUES['store']!
      if (name === 'audit_syslog_ca') environment['SCRAPDECK_AUDIT_SYSLOG'] = VALUES['audit_syslog']!
      if (name === 'tls_certificate') environment['SCRAPDECK_TLS_KEY'] = VALUES['tls_key']!
      if (name === 'http_redirect_port' || name === 'tls_client_ca') {
        environment['SCRAPDECK_TLS_CERTIFICATE'] = VALUES['tls_certificate']!
        environment['SCRAPDECK_TLS_KEY'] = VALUES['tls_key']!
      }
      if (name === 'tls_key') environment['SCRAPDECK_TLS_CERTIFICATE'] = VALUES['tls_certificate']!
      if (name === 'cache_password_file') environment['SCRAPDECK_CACHE'] = VALUES['cache']!
      for (const needed of NEEDED_BY[name] ?? []) environment[`SCRAPDECK_${needed.toUpperCase()}`] = VALUES[needed]!
      if (name === 'username') environment['SCRAPYD_PASSWORD'] = 'p'
      if (name === 'password' || name === 'password_file') environment['SCRAPYD_USERNAME'] = 'u'
      const { listed } = resolve('[scrapyd]\nmax_proc = 9\nnode_name = file\n', { environment })
      expect(listed.filter(({ from }) => from === variable)).not.toEqual([])
    }
  )

  it('of a crawl scheduler apply: its Scrapyd becomes a node unless it is this Scrapdeck, and the warning about Redis says what to use', () => {
    const { options, warnings } = resolve(null, {
      environment: { SCRAPYD_URL: 'http://scrapyd:6800', REDIS_HOST: 'redis', LOG_LEVEL: 'INFO', CRAWL_CACHE_TTL: '60' }
    })
    expect(options.logLevel).toBe('info')
    expect(options.discovery).toMatchObject([{ source: { kind: 'list', nodes: 'http://scrapyd:6800/' } }])
    expect(warnings).toEqual([
      expect.stringMatching(/^REDIS_HOST has no effect: .*store = postgres:.*cache = redis:\/\/HOST:6379\/0/)
    ])
    expect(options.crawlCacheSeconds).toBe(60)
    const secret = resolve(null, { environment: { SCRAPYD_URL: 'https://me:geheim@scrapyd/base' } })
    expect(secret.options.discovery).toMatchObject([
      { source: { nodes: 'https://scrapyd/base' }, username: 'me', password: 'geheim' }
    ])
    expect(JSON.stringify(secret.listed)).not.toContain('geheim')
    expect(() => resolve(null, { environment: { SCRAPYD_URL: 'scrapyd' } })).toThrow(
      'such as http://scrapyd:6800, not "scrapyd".'
    )
    expect(() => resolve(null, { environment: { SCRAPYD_URL: 'http://me:gehe/im@scrapyd:6800' } })).toThrow(
      'not "http://***@scrapyd:6800".'
    )
    const own = resolve(null, { environment: { SCRAPYD_URL: 'http://localhost:6800', LOG_LEVEL: 'chatty' } })
    expect(own.options.discovery).toEqual([])
    expect(own.warnings).toEqual([
      expect.stringContaining('LOG_LEVEL: log_level is one of debug, info, warn, error, not "chatty"'),
      expect.stringContaining('is the address of this Scrapdeck')
    ])
    expect(own.listed.find(({ name }) => name === 'log_level')).toMatchObject({ value: 'info', from: 'default' })
    expect(() => resolve(null, { environment: { SCRAPDECK_LOG_LEVEL: 'chatty' } })).toThrow('log_level is one of')
  })
})

describe('options and classes of other Scrapyds', () => {
  it('are printed without the passwords in their addresses', () => {
    const resolved = resolve(
      '[scrapyd]\nredis_url = redis://cache:geheim@redis:6379/0\nitems_dir = ftp://me:geheim@host/items\n'
    )
    const text = describeConfiguration(['/f.conf'], resolved)
    expect(text).toContain('redis_url = redis://***@redis:6379/0')
    expect(text).not.toContain('geheim')
  })

  it.each([
    ['application = scrapyd.async_app.create_app', 'Scrapdeck is an asynchronous service of its own'],
    ['spiderqueue = pgqueue.PostgresSpiderQueue', 'the queue is in a database in the data directory; several'],
    ['spiderqueue = PostgresSpiderQueue', 'store = postgres://USER@HOST:5432/DATABASE in [scrapdeck]'],
    ['spiderqueue = RedisSpiderQueue', 'store = postgres://USER@HOST:5432/DATABASE in [scrapdeck]'],
    ['spiderqueue = queues.RabbitMQSpiderQueue', 'store = postgres://USER@HOST:5432/DATABASE in [scrapdeck]'],
    ['jobstorage = pgqueue.PostgresJobStorage', 'the history is in a database in the data directory; several'],
    ['jobstorage = PostgreSQLJobStorage', 'store = postgres://USER@HOST:5432/DATABASE in [scrapdeck]'],
    ['eggstorage = scrapyd_s3.S3EggStorage', 'or on S3: blobs = s3://BUCKET/PREFIX?region=REGION in [scrapdeck]'],
    ['launcher = scrapyd.async_launcher.AsyncLauncher', 'the local node starts and watches spiders'],
    ['execution_ref = blue', 'store = postgres://USER@HOST:5432/DATABASE?namespace=NAME in [scrapdeck]'],
    ['aiohttp_connector_limit = 100\naiohttp_connector_limit_per_host = 30', 'for clients, set max_connections and'],
    ['cache_backend = memcached', 'a cache is in memory or in a Redis, not "memcached": cache = redis://HOST:6379/0']
  ])('%j does not prevent the start, and one warning says what to use instead', (lines, words) => {
    const { warnings } = resolve(`[scrapyd]\n${lines}\n`)
    expect(warnings).toEqual([expect.stringContaining(words)])
  })

  it.each(['REDIS_PORT', 'MONGO_URI', 'RABBITMQ_URL'])(
    'the warning about the variable %s says what to use instead',
    (name) => {
      const { warnings } = resolve(null, { environment: { [name]: 'x://geheim' } })
      expect(warnings).toEqual([expect.stringMatching(new RegExp(`^${name} has no effect: .*store = postgres://`))])
      expect(warnings[0]).not.toContain('geheim')
    }
  )

  it('no note refers to a later version', () => {
    expect(JSON.stringify(OPTIONS)).not.toMatch(/later version|not yet/)
  })

  const cacheOf = (text: string, over?: Parameters<typeof resolve>[1]) => {
    const { options, listed, warnings } = resolve(text, over)
    return { cache: options.cache, warnings, of: listed.find(({ name }) => name === 'cache') }
  }

  it.each([
    ['[scrapyd]\nredis_url = redis://r:6380/2', { host: 'r', port: 6380, database: 2 }],
    ['[scrapyd]\ncache_backend = redis\nredis_url = rediss://u:p@r/1', { host: 'r', isTls: true, password: 'p' }],
    ['[cache]\nbackend = Redis\nhost = r\nport = 6380\ndb = 2', { host: 'r', port: 6380, database: 2 }],
    ['[cache]\nhost = ::1', { host: '::1', port: 6379, database: 0 }],
    ['[scrapyd]\ncache_backend = redis', { host: 'localhost', port: 6379, database: 0 }],
    ['[scrapyd]\nredis_url = redis://r\n[cache]\nhost = other', { host: 'r' }]
  ])('the Redis of an asynchronous Scrapyd becomes the shared cache, with its origin: %j', (text, address) => {
    const { cache, of, warnings } = cacheOf(text)
    expect(cache?.address).toMatchObject(address)
    expect([of?.value, of?.from]).toEqual([expect.stringMatching(/^rediss?:/), expect.stringMatching(/, line \d$/)])
    expect(warnings).toEqual([])
  })

  it('the TTL and compression of such a cache apply to ours, unless [scrapdeck] sets its own', () => {
    const other = '[scrapyd]\nredis_url = redis://r\n[cache]\ndefault_ttl = 300\ncompression_threshold = 1024\n'
    expect(cacheOf(other).cache?.answers).toMatchObject({ ttlMs: 300_000, compressFromBytes: 1_024 })
    const older = '[scrapyd]\nredis_url = redis://r\ncache_default_ttl = 30\nredis_compression_threshold = 9\n'
    expect(cacheOf(older).cache?.answers).toMatchObject({ ttlMs: 30_000, compressFromBytes: 9 })
    expect(cacheOf(`${other}[scrapdeck]\ncache_ttl = 5\n`).cache?.answers).toMatchObject({ ttlMs: 5_000 })
    for (const [given, used] of [
      ['0', 1],
      ['604800', 86_400]
    ] as const) {
      const { cache, warnings } = cacheOf(`[cache]\nhost = r\ndefault_ttl = ${given}\n`)
      expect(cache?.answers.ttlMs).toBe(used * 1_000)
      const bounds = 'default_ttl is from 1 to 86400 here'
      expect(warnings).toEqual([expect.stringContaining(`${bounds}, so ${given} becomes ${used}`)])
    }
    expect(() => cacheOf('[cache]\nhost = r\ndefault_ttl = x\n')).toThrow('default_ttl must be a whole number')
    expect(() => cacheOf('[scrapdeck]\ncache = redis://r\ncache_ttl = 604800\n')).toThrow('from 0 to 86400')
    expect(() => cacheOf('[scrapyd]\nredis_url = http://r\n')).toThrow('Write redis://HOST:6379/0')
    const own = '[cache]\ndefault_ttl = 300\n[scrapdeck]\ncache = redis://own\n'
    expect(cacheOf(own).cache?.answers).toMatchObject({ ttlMs: 300_000 })
    // Responses in memory do not expire, so any default_ttl is accepted.
    expect(cacheOf('[cache]\nbackend = memory\ndefault_ttl = 0\n')).toMatchObject({ cache: null, warnings: [] })
  })

  it('the Redis of an asynchronous Scrapyd has no effect with cache in [scrapdeck] or the memory backend, and one warning says so', () => {
    const both = '[scrapyd]\ncache_backend = redis\nredis_url = redis://r\n[scrapdeck]\ncache = redis://own\n'
    expect(cacheOf(both)).toMatchObject({
      cache: { address: { host: 'own' } },
      of: { value: 'redis://own' },
      warnings: [expect.stringMatching(/cache_backend; .*redis_url have no effect: cache is set too \(.*line 5\)/)]
    })
    const memory = cacheOf('[cache]\nbackend = memory\nhost = r\nport = 1\n')
    expect(memory).toMatchObject({
      cache: null,
      warnings: [expect.stringMatching(/host; .*port have no effect: the backend is memory/)]
    })
  })

  it('the Redis in a file that was only found is not used: sessions would be stored there', () => {
    for (const text of ['[scrapyd]\nredis_url = redis://evil\n', '[cache]\nbackend = redis\nhost = evil\n']) {
      const files = listScrapydFiles({ directory: aFolder({ 'scrapyd.conf': text }), homeDirectory: aFolder() })
      expect(() => resolve(null, { files })).toThrow('which Scrapdeck takes only from a file that you name')
      // Nothing is sent to an address without effect, so it is accepted.
      const { options, warnings } = resolve(null, { files, flags: { cache: 'redis://own' } })
      expect(options.cache?.address).toMatchObject({ host: 'own' })
      expect(warnings.join()).toContain('no effect: cache is set too (--cache)')
    }
    const unused = { 'scrapyd.conf': '[scrapyd]\ncache_backend = memory\nredis_url = redis://evil\n' }
    const files = listScrapydFiles({ directory: aFolder(unused), homeDirectory: aFolder() })
    expect(resolve(null, { files }).options.cache).toBeNull()
  })

  it('options that match what Scrapdeck does anyway cause no warning', () => {
    const lines = '[scrapyd]\ncache_backend = memory\ncache_max_size = 9\n[cache]\nbackend = memory\ndefault_ttl = 5\n'
    expect(resolve(`${lines}[metrics]\nenabled = true\nregistry = x\nexport_interval = 15\n`).warnings).toEqual([])
  })

  it('several options with the same note cause one warning, which names a variable of two options once', () => {
    const { warnings, listed } = resolve('[scrapyd]\nredis_max_connections = 5\n[cache]\nport = 1\n', {
      environment: { SCRAPYD_CACHE_BACKEND: 'redis', SCRAPYD_REDIS_URL: 'redis://me:geheim@cache:6379/0' },
      flags: { cache: 'memory' }
    })
    expect(warnings).toEqual([
      expect.stringMatching(/^SCRAPYD_CACHE_BACKEND; SCRAPYD_REDIS_URL; .+ line 4: port have no effect: cache is set/)
    ])
    const valueOf = (wanted: string) => listed.find(({ name }) => name === wanted)!.value
    expect(valueOf('redis_url')).toContain('redis://***@cache:6379/0 (cache is set too (--cache))')
    expect(valueOf('redis_max_connections')).toContain('one connection')
    expect(JSON.stringify(listed)).not.toContain('geheim')
    const memory = resolve('[scrapyd]\ncache_backend = memory\n').listed
    expect(memory.find(({ name }) => name === 'cache_backend')!.value).toBe('memory')
  })

  it('an unknown variable with our prefix, or a misspelt one of Scrapyd, causes a warning', () => {
    const environment = {
      SCRAPDECK_WARM_PARKD: '3',
      SCRAPYD_MAXPROC: '4',
      SCRAPYD_SERVERS: 'x',
      SCRAPYD_JOB: '1',
      SCRAPDECK_URL: 'http://x',
      SCRAPDECK_NODE_PASSWORD: 'p'
    }
    expect(resolve(null, { environment }).warnings).toEqual([
      'SCRAPDECK_WARM_PARKD is not a variable of Scrapdeck; it has no effect. Did you mean "SCRAPDECK_WARM_PARKED" or "SCRAPDECK_WARM_PARENTS" or "SCRAPDECK_WARM_STARTS"?',
      expect.stringMatching(/^SCRAPYD_MAXPROC is not a variable .+ Did you mean "SCRAPYD_MAX_PROC"/)
    ])
  })

  it('an option that another one overrides or turns off causes a warning', () => {
    const both = resolve('[scrapyd]\nprocess_pool_size = 3\n[scrapdeck]\nwarm_parked = 2\n')
    expect(both.warnings).toEqual([expect.stringContaining('process_pool_size has no effect: warm_parked is set too')])
    expect(both.listed.find(({ name }) => name === 'process_pool_size')!.value).toBe('3 (warm_parked is set)')
    const off = resolve('[scrapyd]\nprocess_pool_enabled = false\nprocess_pool_size = 3\n')
    expect(off.warnings).toEqual([
      expect.stringContaining('process_pool_size has no effect while process_pool_enabled is off.')
    ])
    const all = resolve('[scrapdeck]\nwarm_starts = off\nwarm_parents = 2\nwarm_parked = 3\nwarm_wait = 1\n')
    expect(all.warnings).toEqual([
      expect.stringMatching(/warm_parents; .+warm_parked; .+warm_wait have no effect while warm_starts is off\.$/)
    ])
  })

  it('the process pool configures warm starts', () => {
    const pool = 'process_pool_enabled = false\nprocess_pool_size = 8\nprocess_startup_timeout = 2.5'
    expect(scrapyd(pool).warmStarts).toEqual({ isOn: false, mostParents: 4, waitMs: 2500, mostParked: 8 })
    const own = `[scrapyd]\n${pool}\n[scrapdeck]\nwarm_starts = on\nwarm_parents = 2\nwarm_parked = 0\nwarm_wait = 1\n`
    expect(resolve(own).options.warmStarts).toEqual({ isOn: true, mostParents: 2, waitMs: 1000, mostParked: 0 })
    expect(() => resolve('[scrapdeck]\nwarm_parents = 0\n')).toThrow('To turn it off: warm_starts = off')
    expect(() => scrapyd('process_pool_size = many')).toThrow('process_pool_size')
    expect(() => resolve('[scrapdeck]\nwarm_wait = soon\n')).toThrow('warm_wait takes seconds, from 0 to 600')
  })
})

describe('[services], [settings] and [scrapdeck]', () => {
  it('an empty service is disabled; the standard ones are accepted; others are rejected', () => {
    const standard = Object.entries(SCRAPYD_SERVICES).map(([name, value]) => `${name} = ${value}\n`)
    expect(resolve(`[services]\n${standard.join('')}`).options.scrapyd).toEqual({})
    expect(resolve('[services]\nDelProject.json =\ndelversion.json =\n').options.scrapyd.disabledServices).toEqual(
      new Set(['delproject.json', 'delversion.json'])
    )
    expect(() => resolve('[services]\nextra.json = my.Service\n')).toThrow('line 2: extra.json = my.Service is not')
  })

  it('projects without an egg name their settings module; project names are lower-cased, as in Scrapyd', () => {
    expect(resolve('[settings]\nShop = shop.settings\n').options.settingsProjects).toEqual({ shop: 'shop.settings' })
    expect(() => resolve('[settings]\nshop =\n')).toThrow('shop names no settings module')
  })

  it('our own options are accepted, and misspelt ones rejected', () => {
    const own = '[scrapdeck]\ndata = d\npython = /p\nlocal_slots = 2\nallowed_hosts = a.example\n  b.example\n'
    expect(resolve(own).options).toMatchObject({
      dataDirectory: '/work/d',
      pythonPath: '/p',
      configuredSlots: 2,
      allowedHosts: ['a.example', 'b.example']
    })
    expect(() => resolve('[scrapdeck]\nslots = 2\n')).toThrow('[scrapdeck] has no option "slots"')
  })

  it('the waits of a cancel are three numbers of seconds', () => {
    expect(resolve('[scrapdeck]\ncancel_waits = 5, 2 1\n').options.cancelWaitsSeconds).toEqual([5, 2, 1])
    expect(resolve('').options.cancelWaitsSeconds).toBeNull()
    for (const text of ['5', '5 0 1', 'a b c', '1 2 3 4']) {
      expect(() => resolve(`[scrapdeck]\ncancel_waits = ${text}\n`)).toThrow('three numbers of seconds')
    }
  })
})

describe('configuration files', () => {
  it('later files override single keys, and the closest scrapy.cfg counts only with a [scrapyd] section', () => {
    const home = aFolder({ '.scrapyd.conf': '[scrapyd]\nhttp_port = 2\nmax_proc = 2\n' })
    const project = aFolder({
      'scrapy.cfg': '[scrapyd]\nmax_proc = 3\n[deploy]\nurl = x\n',
      'a/scrapyd.conf': '[scrapyd]\nhttp_port = 1\nmax_proc = 1\nnode_name = a\n',
      'b/scrapy.cfg': '[settings]\ndefault = b.settings\n'
    })
    const inFolder = (name: string) => listScrapydFiles({ directory: join(project, name), homeDirectory: home })
    expect(resolve(null, { files: inFolder('a') })).toMatchObject({
      options: { port: 2, configuredSlots: 3, scrapyd: { nodeName: 'a' } },
      warnings: []
    })
    const configuration = readConfiguration(inFolder('b'))
    expect(configuration.files).toEqual([join(home, '.scrapyd.conf')])
    expect(configuration.keys('settings')).toEqual([])
  })

  it('a file that another user may change is refused, with its name and what to do', () => {
    const folder = aFolder({ 'scrapy.cfg': '[scrapyd]\nmax_proc = 9\n', 'a/b/c.txt': '' })
    chmodSync(join(folder, 'scrapy.cfg'), 0o666)
    const files = listScrapydFiles({ directory: join(folder, 'a/b'), homeDirectory: aFolder() })
    expect(() => readConfiguration(files)).toThrow(
      `${join(folder, 'scrapy.cfg')} is not trusted: it can be written by every user. If it is yours: chmod go-w`
    )
  })

  it('a file found in the working directory or above sets no code, path or access; a named one does', () => {
    const lines =
      '[scrapyd]\nmax_proc = 9\neggs_dir = eggs\nusername = ann\nitems_dir =\n[settings]\nshop = shop.settings\n'
    const own = '[scrapdeck]\nplugins = evil.js\npython = evil\ndata = evil\ncancel_waits = 5 2 1\n'
    const folder = aFolder({ 'scrapyd.conf': lines + own, 'evil.js': '' })
    const files = listScrapydFiles({ directory: folder, homeDirectory: aFolder() })
    const refusals = (() => {
      try {
        return String(resolve(null, { files }))
      } catch (error) {
        return (error as Error).message
      }
    })().split('\n')
    const line = (number: number, name: string) =>
      `${join(folder, 'scrapyd.conf')}, line ${number}: ${name} sets a path, code or access, which Scrapdeck takes only from a file that you name: --config ${join(folder, 'scrapyd.conf')}`
    expect(refusals.sort()).toEqual(
      [
        ...[line(3, 'eggs_dir'), line(4, 'username'), line(7, 'shop')],
        ...[line(9, 'plugins'), line(10, 'python'), line(11, 'data')]
      ].sort()
    )
    const context = {
      environment: {},
      defaultDataDirectory: '/data',
      workingDirectory: '/work',
      cpuCount: 3,
      flags: {}
    }
    const configuration = readConfiguration(files)
    expect(() => resolveServeOptions({ ...context, configuration, configFlag: '--service-config' })).toThrow(
      `from a file that you name: --service-config ${join(folder, 'scrapyd.conf')}`
    )
    const harmless = aFolder({ 'scrapyd.conf': '[scrapyd]\nmax_proc = 9\nitems_dir =\n' })
    expect(
      resolve(null, { files: listScrapydFiles({ directory: harmless, homeDirectory: aFolder() }) }).options
    ).toMatchObject({ configuredSlots: 9, directories: { items: null } })
  })

  it('defaults in a file that was only found do not change the settings of a trusted file', () => {
    const home = aFolder({ '.scrapyd.conf': '[DEFAULT]\nroot = /srv\n[scrapyd]\neggs_dir = %(root)s/eggs\n' })
    const folder = aFolder({ 'scrapy.cfg': '[DEFAULT]\nroot = /evil\n[scrapyd]\nmax_proc = 1\n' })
    const files = listScrapydFiles({ directory: folder, homeDirectory: home })
    expect(resolve(null, { files }).options.directories).toEqual({ eggs: '/srv/eggs' })
  })

  it('a file given with --config must exist', () => {
    expect(() => readConfiguration([named('/nowhere/x.conf')])).toThrow('no file /nowhere/x.conf')
  })
})

describe('scrapdeck config', () => {
  it('shows every option with its origin, but no password', () => {
    const resolved = resolve('[scrapyd]\nhttp_port = 6801\nusername = ann\npassword = geheim\npoll_interval = 1\n', {
      flags: { bind: '::1' }
    })
    const text = describeConfiguration(['/f.conf'], resolved)
    expect(text).toContain('# Read: /f.conf')
    expect(text).toMatch(/^bind_address = ::1 +# --bind$/m)
    expect(text).toMatch(/^http_port = 6801 +# .*scrapyd\.conf, line 2$/m)
    expect(text).toMatch(/^poll_interval = 1 \(without effect: jobs start as soon as a slot is free\) +# .*line 5$/m)
    expect(text).not.toContain('geheim')
    for (const name of namesIn('scrapyd')) expect(text).toMatch(new RegExp(`^${name} = `, 'm'))
  })
})

const DEFAULT_FILE = `[scrapyd]
application       = scrapyd.app.application
bind_address      = 127.0.0.1
http_port         = 6800
unix_socket_path  =
username          =
password          =
spiderqueue       = scrapyd.spiderqueue.SqliteSpiderQueue
poller            = scrapyd.poller.QueuePoller
poll_interval     = 5.0
launcher          = scrapyd.launcher.Launcher
max_proc          = 0
max_proc_per_cpu  = 4
logs_dir          = logs
items_dir         =
jobs_dir          =
jobs_to_keep      = 5
runner            = scrapyd.runner
webroot           = scrapyd.website.Root
prefix_header     = x-forwarded-prefix
debug             = off
eggstorage        = scrapyd.eggstorage.FilesystemEggStorage
eggs_dir          = eggs
jobstorage        = scrapyd.jobstorage.MemoryJobStorage
finished_to_keep  = 100
dbs_dir           = dbs
`

describe('sources of nodes', () => {
  const conf = (lines: string) => resolve(`[scrapdeck]\n${lines}\n`)

  it('can be a list, a file or a name, each with options for its nodes', () => {
    const { options, listed } = conf(
      [
        'nodes =',
        '    http://eu-1:6800 name=first slots=8',
        '    # rented',
        '    eu-2',
        'discover =',
        '    file nodes.txt refresh=10 tags=a,b slots=2',
        '    dns scrapyd.crawl.svc record=srv scheme=https id=k8s username=u password=geheim'
      ].join('\n')
    )
    expect(options.discovery).toEqual([
      {
        id: 'configuration',
        source: { kind: 'list', nodes: 'http://eu-1:6800 name=first slots=8\neu-2' },
        refreshSeconds: 30,
        node: {}
      },
      {
        id: 'file-nodes-txt',
        source: { kind: 'file', path: '/work/nodes.txt' },
        refreshSeconds: 10,
        node: { slots: 2, tags: ['a', 'b'] },
        password: null
      },
      {
        id: 'k8s',
        source: {
          kind: 'dns',
          hostname: 'scrapyd.crawl.svc',
          record: 'SRV',
          scheme: 'https',
          port: 6800,
          basePath: '/'
        },
        refreshSeconds: 30,
        node: {},
        username: 'u',
        password: 'geheim'
      }
    ])
    expect(listed.find(({ name }) => name === 'nodes')?.value).toBe('2 listed')
    expect(JSON.stringify(listed)).not.toContain('geheim')
  })

  it.each([
    ['discover = consul x', 'a line is "file PATH" or "dns NAME"'],
    ['discover = file', 'a line is "file PATH" or "dns NAME"'],
    ['discover = file /n.txt port=1', 'after file stand id=, refresh='],
    ['discover = dns a.svc refresh=1', 'refresh: '],
    ['discover = dns a.svc record=MX', 'record: '],
    ['discover =\n  dns a.svc\n  dns a.svc', 'the id dns-a-svc stands twice'],
    ['discover = dns a.svc password=geheim oops', 'after dns stand']
  ])('reject %j and never show a password', (lines, words) => {
    expect(() => conf(lines)).toThrow(words)
    expect(() => conf(lines)).not.toThrow('geheim')
  })
})
