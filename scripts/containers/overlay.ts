/**
 * Shell lines for a separate mount namespace: `$root`, mounted at `place` (quoted), shows the files of this
 * machine. Changes there disappear with the namespace.
 */
export const overlayOfThisMachine = (place: string): string[] => [
  `mkdir -p ${place}`,
  `mount -t tmpfs none ${place}`,
  `mkdir ${place}/upper ${place}/work ${place}/root`,
  `mount -t overlay overlay -o lowerdir=/,upperdir=${place}/upper,workdir=${place}/work ${place}/root`,
  `root=${place}/root`
]
