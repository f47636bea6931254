/**
 * A machine that Debian's systemd boots, with separate namespaces for processes, mounts, control groups and the host
 * name. Its root is an overlay over this machine's root. It shares this machine's kernel and network. Needs root and
 * Linux.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { until } from '../../src/engine/testing/until.ts'
import { overlayOfThisMachine } from './overlay.ts'

export interface Machine {
  run(...command: string[]): { status: number | null; output: string }
  /** Like `run`, but throws if the command fails. Returns what the command printed. */
  demand(...command: string[]): string
  /** The path on this machine of a path in the booted machine. */
  at(path: string): string
  stop(): Promise<void>
}

const BOOT_LIMIT_MS = 60_000
/** Units that are disabled, because they would change the kernel, which both machines share, or wait for devices. */
const MASKED = [
  ...['systemd-sysctl', 'systemd-modules-load', 'systemd-binfmt', 'systemd-udevd', 'systemd-udev-trigger'],
  ...['systemd-random-seed', 'systemd-timesyncd', 'systemd-networkd', 'systemd-resolved', 'systemd-remount-fs']
]
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty']

/** `prepare` contains shell lines that fill the machine's root, `$root`, before it boots. */
export async function bootMachine(directory: string, prepare: readonly string[]): Promise<Machine> {
  const group = `scrapdeck-machine-${process.pid}`
  const groups = path.join(directory, 'groups')
  fs.mkdirSync(groups)
  const [outer, inner] = ['outer.sh', 'inner.sh'].map((name) => path.join(directory, name)) as [string, string]
  fs.writeFileSync(outer, outerScript({ groups, group, inner }))
  fs.writeFileSync(inner, innerScript(path.join(directory, 'place'), prepare))
  const log = path.join(directory, 'boot.log')
  const output = fs.openSync(log, 'w')
  const child = spawn('unshare', ['--mount', '--kill-child', '--fork', '/bin/sh', outer], {
    stdio: ['ignore', output, output]
  })
  const end = async () => {
    const exited = once(child, 'exit')
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await exited
    }
    const clear = `mount -t cgroup2 none "${groups}"; find "${groups}/${group}" -depth -type d -exec rmdir {} +`
    await until(
      'its processes to end',
      () => spawnSync('unshare', ['--mount', '/bin/sh', '-c', clear]).status === 0,
      Boolean,
      10_000
    ).catch(() => {})
  }
  const pidOfInit = () => {
    const init = findInit(child)
    if (init === null) throw new Error(`The machine does not run. It printed:\n${fs.readFileSync(log, 'utf8')}`)
    return init
  }
  const run: Machine['run'] = (...command) => {
    const into = ['--target', pidOfInit(), '--mount', '--uts', '--ipc', '--pid', '--cgroup', '--root', '--wd=/', '--']
    const { status, stdout, stderr } = spawnSync('nsenter', [...into, ...command], {
      encoding: 'utf8',
      timeout: 120_000
    })
    return { status, output: stdout + stderr }
  }
  try {
    await until(
      'systemd to have booted',
      () => findInit(child) !== null && /running|degraded/.test(run('systemctl', 'is-system-running').output),
      Boolean,
      BOOT_LIMIT_MS
    )
  } catch (error) {
    const printed = fs.readFileSync(log, 'utf8')
    await end()
    throw new Error(`${(error as Error).message} It printed:\n${printed}`, { cause: error })
  }
  return {
    run,
    demand(...command) {
      const { status, output: printed } = run(...command)
      if (status !== 0) throw new Error(`${command.join(' ')} failed: ${printed}`)
      return printed
    },
    at: (inside) => path.join('/proc', pidOfInit(), 'root', inside),
    stop: end
  }
}

/**
 * Returns the pid of the machine's process 1. The only child of our shell is unshare, and the child of unshare is
 * process 1.
 */
function findInit(child: ChildProcess): string | null {
  let pid = String(child.pid)
  for (let depth = 0; depth < 4; depth += 1) {
    try {
      const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8')
      if (/^NSpid:\s+\d+\s+1$/m.test(status) && /^Name:\s+systemd$/m.test(status)) return pid
      pid = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0] ?? ''
    } catch {
      return null
    }
  }
  return null
}

/** Runs the machine in its own control group, which the machine sees as the root. */
function outerScript({ groups, group, inner }: { groups: string; group: string; inner: string }): string {
  return [
    'set -e',
    'mount --make-rprivate /',
    `mount -t cgroup2 none "${groups}"`,
    `mkdir -p "${groups}/${group}"`,
    `echo $$ > "${groups}/${group}/cgroup.procs"`,
    `exec unshare --fork --kill-child --pid --mount --cgroup --uts --ipc /bin/sh "${inner}"`,
    ''
  ].join('\n')
}

function innerScript(place: string, prepare: readonly string[]): string {
  return [
    'set -e',
    ...overlayOfThisMachine(place),
    ...prepare,
    'mount -t proc proc "$root/proc"',
    'mount -t sysfs -o ro sysfs "$root/sys"',
    'mount -t cgroup2 none "$root/sys/fs/cgroup"',
    'for name in run tmp; do mount -t tmpfs -o mode=755 none "$root/$name"; done; chmod 1777 "$root/tmp"',
    'mount -t tmpfs -o mode=755 none "$root/dev"',
    `for name in ${DEVICES.join(' ')}; do touch "$root/dev/$name"; mount --bind "/dev/$name" "$root/dev/$name"; done`,
    'mkdir "$root/dev/pts" "$root/dev/shm"',
    'mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"',
    'mount -t tmpfs -o mode=1777 none "$root/dev/shm"',
    'ln -s pts/ptmx "$root/dev/ptmx"; ln -s /proc/self/fd "$root/dev/fd"',
    // Disables units that this machine starts at boot or that affect the kernel.
    'rm -rf "$root"/etc/systemd/system/*.wants',
    `for unit in ${MASKED.join(' ')}; do ln -sf /dev/null "$root/etc/systemd/system/$unit.service"; done`,
    'ln -sf /lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target"',
    'hostname scrapdeck-machine',
    'cd "$root"; mkdir -p .old; pivot_root . .old; umount -l /.old; rmdir /.old',
    'exec env -i container=scrapdeck PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system',
    ''
  ].join('\n')
}
