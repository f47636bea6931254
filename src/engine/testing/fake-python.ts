import { chmod, writeFile } from 'node:fs/promises'

/**
 * Writes a script that responds like a Python of this version when Scrapdeck inspects it, and that creates
 * environments whose Python has Scrapy. `pip`: a shell command to run in place of pip, with pip's real arguments.
 */
export async function writeFakePython(
  path: string,
  version: string,
  scrapy: string | null,
  over: { failure?: string; pip?: string } = {}
): Promise<string> {
  const facts = (own: string, scrapyVersion: string | null) =>
    JSON.stringify({ path: own, version, scrapyVersion, failure: over.failure ?? null })
  const script = `#!/bin/sh
if [ "$2" = venv ]; then
  mkdir -p "$3/bin"
  cat > "$3/bin/python" <<'END'
#!/bin/sh
if [ "$2" = venv ]; then exec '${path}' "$@"; fi
if [ "$2" = pip ]; then
  ${over.pip ?? 'echo Collecting Scrapy'}
  exit
fi
echo '${facts('PLACE', '2.19.0')}' | sed "s|PLACE|$0|"
END
  chmod +x "$3/bin/python"
  exit
fi
echo '${facts(path, scrapy)}'
`
  await writeFile(path, script)
  await chmod(path, 0o755)
  return path
}
