import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { join } from 'node:path'
import { ensureControlPlane } from '../../scripts/setup/kubernetes.mjs'
import { until } from '../../src/engine/testing/until.ts'
import { createClusterApi } from './cluster-api.ts'
import { startKubelet } from './kubelet.ts'

export const TOKENS = { admin: 'token-of-the-admin', scrapdeck: 'token-of-scrapdeck', nobody: 'token-of-nobody' }

export async function startCluster(directory: string, python: string) {
  const { controlPlane, etcd } = await ensureControlPlane()
  mkdirSync(join(directory, 'tls'), { recursive: true })
  const [etcdPort, peerPort, apiPort] = [await freePort(), await freePort(), await freePort()]
  const server = `https://127.0.0.1:${apiPort}`
  const file = (name: string) => join(directory, name)
  const openssl = (...words: string[]) => execFileSync('openssl', words, { cwd: directory, stdio: 'ignore' })
  openssl('genrsa', '-out', 'accounts.key', '2048')
  for (const name of ['api', 'kubelet']) {
    const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1']
    openssl(
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '2',
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.crt`,
      ...subject
    )
  }
  writeFileSync(
    file('tokens.csv'),
    `${TOKENS.admin},admin,1,"system:masters"\n${TOKENS.scrapdeck},scrapdeck,2\n${TOKENS.nobody},nobody,3\n`
  )
  writeFileSync(
    file('admin.kubeconfig'),
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'test',
      clusters: [{ name: 'test', cluster: { server, 'certificate-authority': file('api.crt') } }],
      users: [{ name: 'admin', user: { token: TOKENS.admin } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }]
    })
  )
  const programs = new Map<string, ChildProcess>()
  // Kills the programs whenever this process ends, even after a failed start.
  process.on('exit', () => {
    for (const child of programs.values()) child.kill('SIGKILL')
  })
  const start = (name: string, program: string, words: string[]) => {
    const log = createWriteStream(file(`${name}.log`), { flags: 'a' })
    const child = spawn(program, words, { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.pipe(log)
    child.stderr.pipe(log)
    programs.set(name, child)
  }
  const end = async (name: string) => {
    const child = programs.get(name)
    programs.delete(name)
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await exited
  }
  const startApiServer = () =>
    start('kube-apiserver', controlPlane, [
      'kube-apiserver',
      `--etcd-servers=http://127.0.0.1:${etcdPort}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--secure-port=${apiPort}`,
      `--tls-cert-file=${file('api.crt')}`,
      `--tls-private-key-file=${file('api.key')}`,
      `--token-auth-file=${file('tokens.csv')}`,
      '--authorization-mode=RBAC',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${file('accounts.key')}`,
      `--service-account-signing-key-file=${file('accounts.key')}`,
      '--service-cluster-ip-range=10.0.0.0/24',
      '--kubelet-preferred-address-types=InternalIP',
      '--endpoint-reconciler-type=none',
      '--watch-cache=true'
    ])
  start('etcd', etcd, [
    `--data-dir=${file('etcd')}`,
    `--listen-client-urls=http://127.0.0.1:${etcdPort}`,
    `--advertise-client-urls=http://127.0.0.1:${etcdPort}`,
    `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${peerPort}`,
    `--initial-cluster=default=http://127.0.0.1:${peerPort}`,
    '--unsafe-no-fsync'
  ])
  startApiServer()
  const api = createClusterApi({ server, caFile: file('api.crt'), token: TOKENS.admin })
  const ready = () => until('the API server', () => api.isReady(), Boolean, 120_000)
  await ready()
  start('kube-controller-manager', controlPlane, [
    'kube-controller-manager',
    `--kubeconfig=${file('admin.kubeconfig')}`,
    '--leader-elect=false',
    '--secure-port=0',
    `--service-account-private-key-file=${file('accounts.key')}`,
    '--use-service-account-credentials=false',
    '--horizontal-pod-autoscaler-sync-period=1s',
    '--node-monitor-grace-period=600s'
  ])
  start('kube-scheduler', controlPlane, [
    'kube-scheduler',
    `--kubeconfig=${file('admin.kubeconfig')}`,
    '--leader-elect=false',
    '--secure-port=0'
  ])
  const kubelet = await startKubelet({
    api,
    name: 'stand-in',
    directory: file('pods'),
    python,
    memory: '16Gi',
    certificate: readFileSync(file('kubelet.crt'), 'utf8'),
    key: readFileSync(file('kubelet.key'), 'utf8')
  })
  return {
    server,
    api,
    kubelet,
    caCertificate: readFileSync(file('api.crt'), 'utf8'),
    directory,
    killApiServer: () => end('kube-apiserver'),
    async startApiServer() {
      startApiServer()
      await ready()
    },
    async stop() {
      await kubelet.stop()
      for (const name of [...programs.keys()].reverse()) await end(name)
      await api.close()
    }
  }
}

export type Cluster = Awaited<ReturnType<typeof startCluster>>

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as net.AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
