/** `node --require` this file: the last line of standard error is then the CPU time of the process in microseconds. */
process.on('exit', () => {
  const { user, system } = process.cpuUsage()
  process.stderr.write(`\ncpu ${user + system}\n`)
})
